"""What chapter 5 ships and computes: the translator step by step, gates on a sentence, recorded results, live work."""

import json
from importlib.resources import files

import pytest
import torch

from lamina._errors import ArgumentError, DataError
from lamina.data.sequences import agreement
from lamina.drawing.cells import CELLS
from lamina.drawing.scene import Text
from lamina.experiments import registry
from lamina.experiments.translation_toy import PAIRS
from lamina.inspection.sensitivity import gates
from lamina.pages.kit import recorded
from lamina.pages.site.contents import PAGES
from lamina.pages.chapters.ch5.shared import cell_grid, live_cell
from lamina.pages.kit.shipped import shipped
from lamina.pages.chapters.ch5.translation.translator import follow
from lamina.pages.chapters.ch5.characters.work import text_of, thinned, write, writer
from lamina.pages.chapters.ch5.long_term.work import cats
from lamina.pages.chapters.ch5.translation.work import by_heart
from lamina.training.texts import translate

SENTENCES = (
    ("The sun is shining today", "Heute scheint die Sonne"),
    ("Is the sun shining?", "Scheint die Sonne?"),
    ("The cats are sleeping in the garden", "Die Katzen schlafen im Garten"),
    ("I am laughing because the sun is shining", "Ich lache, weil die Sonne scheint"),
)


@pytest.fixture(scope="module")
def translator():
    return shipped("seq2seq-phrasebook")


@pytest.mark.notes("N5.03", "N5.49")
@pytest.mark.parametrize(("english", "german"), SENTENCES)
def test_shipped_translator_answers_step_by_step_as_at_once(translator, english, german):
    network, record = translator
    found = follow(network, record.preprocess, english)
    (at_once,), _ = translate(network, record.preprocess, [english])
    assert found.text == at_once == german
    assert found.ended and not found.unknown
    assert found.steps[0].reads == "<start>" and found.words[-1] == "<end>"
    for step, later in zip(found.steps, found.steps[1:], strict=False):
        assert later.reads == step.writes
        assert step.best[0][0] == step.writes and 0.3 < step.best[0][1] <= 1
    assert found.written_states.shape == (len(found.steps), 192)


@pytest.mark.notes("N5.46")
def test_unknown_words_are_named_and_copied(translator):
    network, record = translator
    found = follow(network, record.preprocess, "The Zebra is sleeping")
    assert found.unknown == ("Zebra",)
    assert found.words[1] == "<unk>"


def test_a_sentence_too_long_to_follow_is_refused(translator):
    network, record = translator
    with pytest.raises(DataError, match="has 41 words, at most 40 fit: shorten it"):
        follow(network, record.preprocess, "sun " * 41)


def test_record_says_what_was_measured(translator):
    _, record = translator
    assert record.command == "lamina train seq2seq --data phrasebook"
    assert record.metrics["exact"] == 0.9715 and record.metrics["examples"] == 2000


@pytest.mark.notes("N5.30", "N5.33")
@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_shipped_cats_are_right_over_any_gap(kind):
    network, _ = shipped(f"cats-{kind}")
    for gap in (1, 5, 10, 22, 60):
        data = agreement(200, gap, seed=gap)
        assert torch.equal(network(data.inputs).argmax(1), data.targets)


@pytest.mark.notes("N5.33")
def test_update_gate_of_the_shipped_gru_opens_at_the_noun():
    network, record = shipped("cats-gru")
    words = "the cats which we saw".split()
    tokens = torch.tensor([[record.preprocess.spec.symbols.index(word) for word in words]])
    opened = gates(network, tokens).cells[0].mean("update")[0]
    assert opened.argmax() == 1 and opened[1] > 0.8 and opened[2:].max() < 0.25


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_live_cell_writes_every_number_once(kind):
    values = {part.name: torch.tensor([number / 100]) for number, part in enumerate(CELLS[kind].parts)}
    words = [shape.content for shape in live_cell(kind, values).shapes if isinstance(shape, Text)]
    for part in CELLS[kind].parts:
        shown = f"{values[part.name].item():.2f}"
        wanted = 0 if part.kind == "concatenate" or part.name == "squash" else 1
        assert sum(word.endswith(shown) for word in words) == wanted, part.name


def test_words_of_a_visitor_are_no_formulas():
    scene = cell_grid([[0.0, 1.0]], ["$x", "averyveryverylongword"])
    words = [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    assert words == ["unit", r"\$x", "averyv…"]


def test_recorded_results_are_those_of_experiments_and_their_claims_hold():
    known = {function.__name__ for function in registry().values()}
    for name in recorded.names():
        assert name in known
        found = recorded.result(name)
        assert found.rows and all(claim.holds for claim in found.claims)
        assert name in recorded.show(name).text


def test_unknown_record_names_the_command():
    with pytest.raises(ArgumentError, match="record it with `lamina experiment nothing --json`"):
        recorded.result("nothing")
    with pytest.raises(ArgumentError, match="`columns` must be one of"):
        recorded.show("order_counts", ["speed"])


def test_every_row_of_the_chapter_is_on_a_page():
    from lamina._catalogue import items

    written = "".join(page.file.read_text(encoding="utf-8") for page in PAGES if page.chapter == "ch5")
    missing = [key for key in items() if key.startswith("N5.") and f'"{key}"' not in written]
    assert missing == []


@pytest.mark.notes("N5.24")
def test_cats_over_a_short_gap_are_learned():
    rows = list(cats("gru", 3, 3.0, steps=200, hidden=16))
    assert rows[0]["accuracy"] < 0.8 and rows[-1]["accuracy"] == 1.0


@pytest.mark.slow
@pytest.mark.notes("N5.49")
def test_twelve_sentences_are_learned_by_heart():
    last = list(by_heart("gru"))[-1]
    assert last["right"] == 12
    assert last["said"] == [german for _, german in PAIRS]


def test_character_model_learns_and_writes():
    rows = list(writer("own", "abcd" * 200, hidden=16, steps=120, every=100.0))
    assert [row["step"] for row in rows] == [0, 120]
    assert rows[-1]["losses"][-1] < 0.2 < 1.2 < rows[0]["losses"][0]
    assert write(rows[-1]["network"], "ab", steps=10, temperature=0.0) == "abcdabcdabcd"
    assert rows[-1]["samples"][0] == write(rows[-1]["network"], "", steps=160, temperature=0.0)


def test_texts_of_the_character_model():
    assert text_of("english").startswith("The sun is shining today\n")
    assert "def rnn_step(" in text_of("code")
    with pytest.raises(DataError, match="has 3 characters, but 400 to 2,000,000 are needed"):
        text_of("own", "abc")
    with pytest.raises(ArgumentError, match="`source` must be one of"):
        text_of("french")
    assert thinned([1.0] * 1000) == [1.0] * 250


def test_shipped_records_are_plain_json():
    folder = files("lamina.pages").joinpath("shipped")
    for name in ("seq2seq-phrasebook", "cats-gru", "cats-lstm"):
        values = json.loads(folder.joinpath(f"{name}.json").read_text(encoding="utf-8"))
        assert values["command"].startswith("lamina train ")
