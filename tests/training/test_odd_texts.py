"""Texts that people really have: empty, one letter, 10,000 words, other alphabets and directions, emoji."""

import math

import pytest
import torch

import lamina
from lamina.data.splits import Sealed, Split
from lamina.data.text.texts import PairDataset, RunningText, TextDataset
from lamina.data.text.tokens import TextPreprocess
from lamina.data.text.vocabulary import Wording
from lamina.training.fit import fit
from lamina.training.recipe import Adam, Clip, Recipe
from lamina.training.tasks.kinds import task_of

LONG = "word " * 10_000
ODD = [
    "",
    "a",
    LONG,
    "плохо",
    "שלום world",
    "سلام 12 دنیا",
    "👩‍🚀 good 😀",
    "中文",
    "bad\ud800",
    "e\u0301 é",
    "\t \u200f",
]
PAIRS = {
    "hello": "שלום",
    "peace to you": "سلام عليكم",
    "你好 world": "hello 世界",
    "😀 now": "jetzt 👩‍🚀!",
    "שלום abc 12": "abc 12 שלום",
    "1": "eins",
    "?": "!",
    "плохо": "bad",
}


def whole(data):
    """All examples train, validate and test."""
    return Split(data, data, Sealed(data), "all")


@pytest.fixture(scope="module", params=["word", "character"])
def critic(request, tmp_path_factory):
    data = TextDataset.of([*ODD, "good", "bad"], torch.arange(len(ODD) + 2) % 2, ("no", "yes"))
    words = TextPreprocess.fit(data, Wording(request.param), longest=None if request.param == "word" else 300)
    net = lamina.build(
        "many-to-one", inputs=words.input_size, outputs=2, embedding=4, hidden=6, padding=0, bidirectional=True
    )
    folder = tmp_path_factory.mktemp("odd") / request.param
    task = task_of(whole(data), preprocess=words)
    return fit(net, task, Recipe(Adam(0.01), epochs=1, batch_size=4), folder=folder)


def test_odd_texts_are_trained_on_and_judged_one_by_one_as_together(critic):
    assert all(math.isfinite(row["loss"]) and math.isfinite(row["validation_loss"]) for row in critic.rows)
    together = critic.predict([*ODD, "漢字 never seen", "\u202eabc"])
    alone = torch.cat([critic.predict([text]).values for text in [*ODD, "漢字 never seen", "\u202eabc"]])
    torch.testing.assert_close(together.values, alone, atol=1e-5, rtol=1e-5)
    assert together.names[:2] == ("", "a") and together.values.sum(1).sub(1).abs().max() < 1e-6


def test_pairs_of_mixed_directions_and_emoji_are_learned_exactly(tmp_path):
    data = PairDataset.of(list(PAIRS), list(PAIRS.values()))
    words = TextPreprocess.fit(data)
    sizes = {"inputs": words.input_size, "outputs": words.output_size}
    net = lamina.build("seq2seq", **sizes, embedding=16, hidden=32, padding=0, output_bias=True)
    recipe = Recipe(Adam(0.02), epochs=40, batch_size=8, clip=Clip(1.0))
    run = fit(net, task_of(whole(data), preprocess=words), recipe, folder=tmp_path / "run")
    # The training texts begin with small letters, so nothing is changed for display.
    assert run.predict(list(PAIRS)).texts == tuple(PAIRS.values())
    assert run.predict(list(PAIRS), beams=3).texts == tuple(PAIRS.values())
    odd = run.predict(["", "漢字 ελληνικά 🦊", "x"])
    assert len(odd.texts) == 3 and odd.values.isfinite().all()
    assert not any("<unk>" in text for text in run.predict(ODD[:2]).texts)


@pytest.mark.slow
def test_a_sentence_of_ten_thousand_words_is_translated_and_ends(tmp_path):
    data = PairDataset.of(["a b", "b a", "a a", "b b"], ["x y", "y x", "x x", "y y"])
    net = lamina.build("seq2seq", inputs=6, outputs=6, embedding=4, hidden=8, padding=0)
    run = fit(net, whole(data), Recipe(Adam(0.02), epochs=20, batch_size=4), folder=tmp_path / "run")
    found = run.predict("a b " * 5_000)
    assert len(found.texts[0].split()) <= 2 * 10_001 + 20 and found.values.isfinite().all()


def test_running_texts_with_any_characters_and_long_prompts(tmp_path):
    text = "שלום 😀 ab\n" * 60
    data = RunningText.of(text)
    words = TextPreprocess.fit(data)
    net = lamina.build(
        "many-to-many", inputs=words.input_size, outputs=words.output_size, embedding=8, hidden=24, output_bias=True
    )
    run = fit(net, whole(data), Recipe(Adam(0.02), epochs=8, batch_size=4, window=11), folder=tmp_path / "run")
    assert run.write("שלום 😀", 12, temperature=0) == "שלום 😀 ab\nשלום 😀 a"[: len("שלום 😀") + 12]
    for prompt in ("", "漢", "a", text * 15):  # 9,900 characters
        assert run.write(prompt, 5, temperature=0).startswith(prompt) and len(run.write(prompt, 5)) == len(prompt) + 5
