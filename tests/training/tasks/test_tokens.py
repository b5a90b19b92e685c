"""Whole runs on texts, tokens and series: fit, kill, resume, load, predict, write, evaluate; what does not fit."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy

import lamina
from lamina._errors import ArgumentError, DataError, ShapeError
from lamina.data.load import load
from lamina.data.series import _as_series
from lamina.data.text.texts import PairDataset, RunningText, TextDataset
from lamina.data.text.tokens import TextPreprocess
from lamina.data.text.vocabulary import Vocabulary
from lamina.experiments.trained import parts
from lamina.report.render import render
from lamina.training import fit as fit_module
from lamina.training.fit import fit, resume
from lamina.training.recipe import Adam, Recipe, Stopping
from lamina.training.run import Run
from lamina.training.runtime import Runtime
from lamina.training.tasks.kinds import task_of
from lamina.training.tasks.texts import _texts_from, copied, unknown_words

NUMBERS = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}
NOUNS = {"dogs": "Hunde", "cats": "Katzen", "birds": "Vögel", "cows": "Kühe", "bears": "Bären"}
VERBS = {"sleep": "schlafen", "eat": "essen", "play": "spielen", "sing": "singen"}


def book():
    rows = [
        (f"{a} {b} {c}", f"{x} {y} {z}") for a, x in NUMBERS.items() for b, y in NOUNS.items() for c, z in VERBS.items()
    ]
    return PairDataset.of([a for a, _ in rows], [b for _, b in rows])


def sized(name, data, **options):
    """Build a network that fits the data, and split them."""
    split = data.split(seed=0)
    if data.spec.kind in ("text", "pairs"):
        prepare = TextPreprocess.fit(split.train)
        sizes = {"inputs": prepare.input_size, "outputs": prepare.output_size}
    else:
        sizes = {"inputs": len(data.spec.symbols) or data.spec.inputs[-1], "outputs": data.spec.outputs}
    return lamina.build(name, **{**sizes, "hidden": 16, **options}), split


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    model, split = sized("seq2seq", book(), hidden=48, embedding=24, padding=0, output_bias=True)
    recipe = Recipe(Adam(0.01), epochs=25, batch_size=16)
    return fit(model, split, recipe, folder=tmp_path_factory.mktemp("runs") / "book")


@pytest.fixture(scope="module")
def poet(tmp_path_factory):
    data = RunningText.of("abcd efgh\n" * 120)
    model, split = sized("many-to-many", data, embedding=8, hidden=24)
    recipe = Recipe(Adam(0.02), epochs=6, batch_size=4, window=10)
    return fit(model, split, recipe, folder=tmp_path_factory.mktemp("runs") / "poem")


@pytest.fixture(scope="module")
def critic(tmp_path_factory):
    good, bad = ("fine", "great", "lovely"), ("dull", "poor", "awful")
    rows = [(f"the film {i} was {w}", int(w in good)) for i in range(20) for w in (*good, *bad)]
    data = TextDataset.of([a for a, _ in rows], torch.tensor([b for _, b in rows]), ("bad", "good"))
    model, split = sized("many-to-one", data, embedding=8, padding=0, output_bias=True)
    recipe = Recipe(Adam(0.02), epochs=6, batch_size=16, label_smoothing=0.05)
    return fit(model, split, recipe, folder=tmp_path_factory.mktemp("runs") / "films")


@pytest.mark.notes("N5.03")
def test_a_small_book_is_translated_and_every_answer_ends_by_itself(translator):
    found = translator.evaluate()
    assert found.metrics["exact"] >= 0.95 and found.examples == 16 and found.confusion is None
    assert found.metrics["perplexity"] == pytest.approx(math.exp(found.metrics["loss"]))
    assert translator.predict("Two dogs sing").texts == ("zwei Hunde singen",)
    beams = translator.predict(["two dogs sing", "five bears eat"], beams=4, length_penalty=0.6)
    assert beams.texts == ("zwei Hunde singen", "fünf Bären essen") and beams.names[0] == "two dogs sing"
    assert beams.values.shape == (2, 1) and (beams.values <= 0).all()
    page = render(translator.folder)
    assert "exactly right" in page and "dictionary of the answers" in page


def test_the_loss_on_the_test_split_is_that_of_the_true_words_before(translator):
    test = translator.split.test._dataset
    inputs, targets = translator.preprocess.encode(test).take(torch.arange(len(test)))
    heard = torch.cat([torch.full((len(targets), 1), 2), targets[:, :-1]], 1)
    outputs = translator.model(inputs, heard)
    loss = cross_entropy(outputs.flatten(0, 1), targets.flatten(), ignore_index=0).item()
    assert translator.evaluate().metrics["loss"] == pytest.approx(loss, rel=1e-5)


def test_unknown_words_are_copied_in_order():
    vocabulary = Vocabulary.fit(["the sun and the moon"])
    assert unknown_words(vocabulary, "The Rigi and Pilatus") == ["Rigi", "Pilatus"]
    assert unknown_words(Vocabulary.fit(["ab"], vocabulary.wording), "") == []
    assert copied("<unk> und <unk>", ["Rigi", "Pilatus", "Titlis"]) == "Rigi und Pilatus"
    assert copied("<unk> und <unk>", ["Rigi"]) == "Rigi und <unk>" and copied("nichts", ["x"]) == "nichts"


def test_translations_copy_unknown_words_unless_told_not_to(translator, monkeypatch):
    import lamina.training.tasks.texts as texts

    def writes_unknown(write, state, start, end, steps, **options):
        return torch.tensor([[1, 5, 1, 3]]).expand(len(start), -1), torch.zeros(len(start))

    monkeypatch.setattr(texts, "beam_search", writes_unknown)
    word = translator.preprocess.answer_vocabulary.tokens[5]
    shown = translator.preprocess.answer_vocabulary.forms.get(word, word)
    assert translator.predict("two Kangaroos sleep").texts == (f"Kangaroos {shown} <unk>",)
    assert translator.predict("two Kangaroos sleep", copy_unknown=False).texts == (f"<unk> {shown} <unk>",)


def test_a_loaded_run_says_the_same(translator, poet, critic):
    texts = ["two cats play", "", "one two three", "Zürich 🙂 ست"]
    loaded = Run.load(translator.folder)
    mine, theirs = translator.predict(texts), loaded.predict(texts)
    assert mine.texts == theirs.texts and torch.equal(mine.values, theirs.values)
    assert loaded.objective == translator.objective and loaded.preprocess == translator.preprocess
    assert Run.load(poet.folder).write("ab", 20, seed=3) == poet.write("ab", 20, seed=3)
    assert torch.equal(Run.load(critic.folder).predict(texts).values, critic.predict(texts).values)


def test_texts_are_judged_each_for_itself_whatever_stands_beside_them(critic):
    together = critic.predict(["a great film", "the film was dull and poor and awful, all of it", ""])
    alone = torch.cat([critic.predict(text).values for text in together.names])
    torch.testing.assert_close(together.values, alone)
    assert critic.predict("the film was great").labels == ["good"] and together.classes == ("bad", "good")
    found = critic.evaluate()
    assert found.metrics["accuracy"] == 1.0 and found.examples == 20 and found.calibration is not None
    assert "Confusion" in render(critic.folder)


def test_a_language_model_writes_on(poet):
    assert poet.write("ab", 8, temperature=0) == "abcd efgh\n"
    assert poet.write("", 4, temperature=0) == "abcd"
    assert poet.write("abcd", 30, seed=1) == poet.write("abcd", 30, seed=1)
    assert len(poet.write("x", 5, top_k=2)) == 6
    found = poet.evaluate()
    assert found.metrics["token_accuracy"] > 0.95 and found.examples == 200
    assert found.metrics["perplexity"] == pytest.approx(math.exp(found.metrics["loss"]))
    assert "perplexity" in render(poet.folder)


def test_who_predicts_and_who_writes(poet, translator, critic):
    with pytest.raises(ArgumentError, match="is a language model, which continues a text: use `write`"):
        poet.predict("ab")
    with pytest.raises(ArgumentError, match="was trained for translation: use `predict`"):
        translator.write("ab")
    with pytest.raises(DataError, match="no text to read, got an empty list"):
        translator.predict([])
    with pytest.raises(DataError, match="trained on texts, got int: give a text"):
        critic.predict(3)
    with pytest.raises(ArgumentError, match="`beams` must be at least 1, got 0"):
        translator.predict("one", beams=0)
    with pytest.raises(ArgumentError, match="`top_k` must be at least 1, got 0"):
        poet.write("a", top_k=0)


def test_texts_come_from_files_too(tmp_path):
    (tmp_path / "a.txt").write_text("first\n\nsecond\tzweite\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,review\nx,a long text here\ny,\n", encoding="utf-8")
    assert _texts_from([tmp_path / "a.txt", "third", str(tmp_path / "b.csv")]) == [
        "first",
        "second",
        "third",
        "a long text here",
        "",
    ]
    assert _texts_from("word " * 5000) == ["word " * 5000] and _texts_from("a\0b") == ["a\0b"]
    with pytest.raises(DataError, match="no.csv does not exist: check the name"):
        _texts_from("no.csv")
    with pytest.raises(DataError, match=r"empty.txt holds no text"):
        (tmp_path / "empty.txt").write_text("\n")
        _texts_from(tmp_path / "empty.txt")
    with pytest.raises(DataError, match="has no column of text"):
        (tmp_path / "numbers.csv").write_text("a,b\n1,2\n3,4\n")
        _texts_from(tmp_path / "numbers.csv")


class Killed(Exception):
    """Stands for a power cut."""


@pytest.mark.parametrize("kind", ["seq2seq", "many-to-many"])
def test_a_killed_run_goes_on_bit_for_bit_from_the_middle_of_an_epoch(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(fit_module, "CHECKPOINT_SECONDS", 0.0)
    data = book() if kind == "seq2seq" else RunningText.of("abcd efgh\n" * 120)
    recipe = Recipe(Adam(0.01), epochs=3, batch_size=8, window=10, teacher_forcing=0.5, label_smoothing=0.1)
    options = {"embedding": 8, "input_dropout": 0.2, "cell": "lstm", "padding": 0 if kind == "seq2seq" else None}
    model, split = sized(kind, data, **options)
    whole = fit(model, split, recipe, folder=tmp_path / "whole")
    stop = whole.rows[-1]["step"] // 2 + 1

    def kill(event):
        if event.step == stop and event.row is None:
            raise Killed

    with pytest.raises(Killed):
        fit(sized(kind, data, **options)[0], split, recipe, folder=tmp_path / "killed", observers=(kill,))
    resumed = resume(tmp_path / "killed", data=split)
    assert resumed.rows == whole.rows
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name


def test_early_stopping_keeps_the_best_words(tmp_path):
    texts = [f"{a} {b} {c}" for a in NUMBERS for b in NOUNS for c in VERBS]
    labels = torch.randint(2, (len(texts),), generator=torch.Generator().manual_seed(0))  # nothing to learn
    model, split = sized("many-to-one", TextDataset.of(texts, labels, ("a", "b")), embedding=8, padding=0)
    run = fit(model, split, Recipe(Adam(0.05), epochs=50, stopping=Stopping(patience=2)), folder=tmp_path / "run")
    assert run.reason.name != "epochs" and len(run.rows) < 50
    best = min(row["validation_loss"] for row in run.rows)
    assert best < run.rows[-1]["validation_loss"]
    inputs, labels = split.validation.take(torch.arange(len(split.validation)))
    assert cross_entropy(run.outputs(inputs), labels).item() == pytest.approx(best, rel=1e-5)


def test_labels_at_every_step_are_predicted_and_judged(tmp_path):
    model, split = sized("many-to-many", load("copy", count=60, delay=2, memory=2, symbols=3), embedding=8)
    run = fit(model, split, Recipe(Adam(0.02), epochs=2), folder=tmp_path / "run")
    test = split.test._dataset
    inputs, targets = test.take(torch.arange(len(test)))
    guesses = run.model(inputs).argmax(-1)
    found = run.evaluate()
    assert found.metrics["token_accuracy"] == pytest.approx((guesses == targets).double().mean().item())
    assert found.metrics["exact"] == pytest.approx((guesses == targets).all(1).double().mean().item())
    told = run.predict(inputs[:2])
    assert told.texts[0].split() == [split.train.spec.classes[i] for i in guesses[0].tolist()]
    assert 0 < told.values.min() and told.values.shape == (2, 1)
    with pytest.raises(DataError, match="trained on tokens of copy: give an array of them"):
        (tmp_path / "rows.csv").write_text("a\n1\n")
        run.predict(tmp_path / "rows.csv")
    assert "words right" in render(run.folder)


def test_a_series_is_forecast_in_its_units_and_against_the_last_value(tmp_path):
    values = 100 + 10 * torch.sin(torch.arange(200.0, dtype=torch.float64) / 3)[:, None]
    data = _as_series(values, window=8, features=("sales",))
    model, split = sized("many-to-one", data)
    run = fit(model, split, Recipe(Adam(0.02), epochs=15, batch_size=16), folder=tmp_path / "run")
    test = split.test._dataset
    inputs, targets = test.take(torch.arange(len(test)))
    given = run.predict(inputs).values.double()
    found = run.evaluate().metrics
    mae, naive = (given - targets).abs().mean().item(), (inputs[:, -1] - targets).abs().mean().item()
    step = (inputs[:, 1:] - inputs[:, :-1]).abs().mean().item()
    assert found["mae"] == pytest.approx(mae, rel=1e-4) and found["naive_mae"] == pytest.approx(naive, rel=1e-4)
    assert found["mase"] == pytest.approx(mae / step, rel=1e-4) and found["mase"] < 0.5
    assert found["rmse"] == pytest.approx(math.sqrt(found["mse"]), rel=1e-4)
    rows = "\n".join(f"{day},{x}" for day, x in enumerate(values[:, 0].tolist()))
    (tmp_path / "sales.csv").write_text(f"day,sales\n{rows}\n")
    told = Run.load(run.folder).predict(tmp_path / "sales.csv")
    torch.testing.assert_close(told.values, run.predict(values[-8:][None]).values)
    assert 85 < told.values.item() < 115
    with pytest.raises(DataError, match="must have the columns sales of the training series, got price"):
        (tmp_path / "other.csv").write_text(f"day,price\n{rows}\n")
        run.predict(tmp_path / "other.csv")
    with pytest.raises(DataError, match="has 4 moments, but the network looks back 8"):
        (tmp_path / "short.csv").write_text("day,sales\n1,1.5\n2,2.5\n3,3.5\n4,4.5\n")
        run.predict(tmp_path / "short.csv")


def test_an_answer_at_every_step_of_a_series(tmp_path):
    data = load("wave", steps=300, window=10, each_step=True)
    model, split = sized("many-to-many", data, outputs=1)
    run = fit(model, split, Recipe(Adam(0.02), epochs=2), folder=tmp_path / "run")
    test = split.test._dataset
    inputs, targets = test.take(torch.arange(len(test)))
    naive = (inputs - targets).abs().mean().item()
    assert run.evaluate().metrics["naive_mae"] == pytest.approx(naive, rel=1e-6)


def test_numbers_of_texts_come_back_in_their_units(tmp_path):
    texts = [f"{a} {b}" for a in NUMBERS for b in NOUNS]
    stars = torch.tensor([1000.0 + len(text) for text in texts])
    model, split = sized("many-to-one", TextDataset.of(texts, stars), embedding=8, padding=0)
    run = fit(model, split, Recipe(Adam(0.02), epochs=3), folder=tmp_path / "run")
    assert 990 < run.predict("two dogs").values.item() < 1020 and "mae" in run.evaluate().metrics


def test_networks_that_do_not_fit_are_refused_with_a_way_out(tmp_path):
    data = book()
    for name, options, match in (
        ("many-to-one", {"inputs": 40, "outputs": 2, "embedding": 4}, "does not fit ManyToOne: use seq2seq"),
        ("seq2seq", {"inputs": 5, "outputs": 19, "padding": 0}, "the network reads 5 words, but the data have 18"),
        ("seq2seq", {"inputs": 18, "outputs": 5}, "gives 5 outputs, but the data have 18 words"),
        ("seq2seq", {"inputs": 18, "outputs": 18, "embedding": None}, "reads vectors, but the data are words"),
    ):
        with pytest.raises(ShapeError, match=match):
            fit(lamina.build(name, **options), data, folder=tmp_path / "run")
    tokens = load("order", count=60)
    with pytest.raises(ShapeError, match="a classification task asks for one answer per text.*use many-to-one"):
        fit(lamina.build("many-to-many", inputs=10, outputs=2, embedding=4), tokens, folder=tmp_path / "run")
    with pytest.raises(ShapeError, match="a classification task does not fit EncoderDecoder"):
        fit(lamina.build("seq2seq", inputs=10, outputs=2), tokens, folder=tmp_path / "run")
    with pytest.raises(ArgumentError, match="is for texts and tokens, got 0.1 for data of kind 'image'"):
        net = lamina.build("fnn", inputs=64, outputs=10)
        fit(net, load("digits"), Recipe(label_smoothing=0.1), folder=tmp_path / "run")


def test_texts_of_no_one_and_ten_thousand_words_are_read(critic, translator):
    texts = ["", "film", "the film was fine " * 2500, "Ω≈ç√ ☃", "שלום the film"]
    found = critic.predict(texts)
    assert torch.isfinite(found.values).all() and len(found) == 5
    assert len(translator.predict(["", "one " * 300]).texts) == 2


def test_threads_follow_the_work_of_one_time_step(monkeypatch):
    data = load("order", count=60)
    small = lamina.build("many-to-one", inputs=10, outputs=2, embedding=4, hidden=16)
    large = lamina.build("many-to-one", inputs=10, outputs=2, embedding=4, hidden=300)
    task = task_of(parts(data))
    assert task.threads(Runtime(), small, Recipe()).threads == 1
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    # 2 * 3 * 300 * 304 * 60 operations a product are more than one thread's 20 million.
    assert task.threads(Runtime(), large, Recipe()).threads == 2
    assert task.threads(Runtime(threads=5), small, Recipe()).threads == 5
