"""Whole runs on texts, tokens and series: kill, resume, load, predict; what does not fit."""

import pytest
import torch
from torch.nn.functional import cross_entropy

import lamina
from lamina._errors import DataError, ShapeError
from lamina.data.load import load
from lamina.data.text.texts import RunningText, TextDataset
from lamina.experiments.trained import parts
from lamina.report.render import render
from lamina.training import fit as fit_module
from lamina.training.fit import fit, resume
from lamina.training.recipe import Adam, Recipe, Stopping
from lamina.training.run import Run
from lamina.training.runtime import Runtime
from lamina.training.tasks.kinds import task_of
from training.tasks.words import NOUNS, NUMBERS, VERBS, book, sized


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


def test_threads_follow_the_work_of_one_time_step(monkeypatch):
    data = load("order", count=60)
    small = lamina.build("many-to-one", inputs=10, outputs=2, embedding=4, hidden=16)
    large = lamina.build("many-to-one", inputs=10, outputs=2, embedding=4, hidden=300)
    task = task_of(parts(data))
    assert task.threads(Runtime("cpu"), small, Recipe()).threads == 1
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    # 2 * 3 * 300 * 304 * 60 operations a product are more than one thread's 20 million.
    assert task.threads(Runtime("cpu"), large, Recipe()).threads == 2
    assert task.threads(Runtime(threads=5), small, Recipe()).threads == 5
