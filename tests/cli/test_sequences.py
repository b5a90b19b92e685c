"""Texts, pairs, running text and series as they are typed: train, predict, and what bad input gets."""

import io
import json
import math
import sys
from dataclasses import replace

import pytest
import torch

from lamina._errors import ArgumentError, DataError
from lamina.data.dataset import ArrayDataset, Spec
from lamina.data.text.texts import PairDataset, RunningText, TextDataset
from lamina.data.text.tokens import TextPreprocess
from lamina.experiments.trained import parts
from lamina.report import _commands as commands
from lamina.report._record import read
from lamina.training.plan import plan
from lamina.training.tasks._pairs import Pairs
from lamina.training.tasks._running import RunningText as Running
from lamina.training.tasks.kinds import _row, task_of
from lamina.training.tasks.recommended import FITTING, check_fit
from lamina.training.tasks.tokens import _Texts


@pytest.fixture
def files(tmp_path):
    """One small file of each kind."""
    words = [("good", "fine"), ("bad", "dull"), ("good", "great"), ("bad", "poor")]
    reviews = [f"{label},the film number {i} was {word}" for i in range(12) for label, word in words]
    (tmp_path / "reviews.csv").write_text("label,review\n" + "\n".join(reviews) + "\n")
    numbers, nouns = ("one", "two", "three", "four"), ("dogs", "cats", "birds", "cows", "fish")
    pairs = [f"{a} {b}\t{b.upper()} {a.upper()}" for a in numbers for b in nouns]
    (tmp_path / "pairs.tsv").write_text("\n".join(pairs) + "\n")
    (tmp_path / "text.txt").write_text("to be or not to be\n" * 60)
    rows = [f"{day},{math.sin(day / 3):.4f},{math.cos(day / 3):.4f}" for day in range(150)]
    (tmp_path / "series.csv").write_text("day,height,speed\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_texts_with_labels(typed, files, monkeypatch):
    small = ("--set", "hidden=8", "--set", "embedding=8", "--set", "min_count=2")
    code, out, _ = typed("train", "many-to-one", "--data", "reviews.csv", "--epochs", "3", *small, "--out", "run")
    lines = out.splitlines()
    assert code == 0 and lines[2].startswith("dictionary: ") and "words of the training texts" in lines[2]
    assert "changed: min_count=2, hidden=8" in lines[3] and lines[-5].startswith("test: loss ")
    assert lines[-4].startswith("baseline, always ")
    code, out, _ = typed("predict", "run", "the film was great", "")
    assert code == 0 and [line.split(": ")[0] for line in out.splitlines()] == ["the film was great", ""]
    assert "good" in out and "%" in out
    assert json.loads(typed("predict", "run", "a fine film", "--json")[1])[0]["label"] in ("good", "bad")
    code, out, _ = typed("predict", "run", "reviews.csv", "-o", "found.csv")
    first, row = (files / "found.csv").read_text().splitlines()[:2]
    assert code == 0 and first == "label,review,predicted,probability,p(bad),p(good)"
    assert row.startswith("good,the film number 0 was fine,")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the film was fine\n\nso poor\n"), "utf-8"))
    code, out, _ = typed("predict", "run", "-")
    found = out.split("\n")
    assert code == 0 and len(found) == 4 and found[1] == "" and {found[0], found[2]} <= {"good", "bad"}
    code, _, err = typed("predict", "run", "-", "more.txt")
    assert code == 2 and "`-` reads standard input and must be the only INPUT" in err
    code, _, err = typed("predict", "run", "reviews.csv", "-o", "found.doc")
    assert code == 2 and "got `found.doc`: choose one of these endings" in err
    code, _, err = typed("predict", "run")
    assert code == 2 and "`INPUT` is missing" in err
    code, _, err = typed("predict", "run", "x", "--prompt", "y")
    assert code == 2 and "`--prompt` is for language models, but the run was trained for classification" in err
    report = (files / "run/report.html").read_text()
    assert "--set min_count=2" in report.replace("\n", " ") or "min_count=2" in report


def test_one_to_many_writes_a_text_for_a_row_or_a_picture(typed, files):
    rows = [f"{a},{n},{t} {a}" for _ in range(8) for a in ("cat", "dog") for n, t in (("one", "a"), ("many", "some"))]
    (files / "sounds.csv").write_text("animal,how,says\n" + "\n".join(rows) + "\n")
    (files / "new.csv").write_text("how,animal\nmany,dog\none,cat\n")
    code, out, err = typed("train", "one-to-many", "--data", "sounds.csv", "--set", "hidden=24", "--out", "run")
    assert code == 0, err
    assert "to write, texts of up to 9 steps" in out and "exact 1.0000" in out
    code, out, _ = typed("predict", "run", "new.csv")
    assert code == 0 and out.splitlines() == ["1: some dog", "2: a cat"]
    small = ("--set", "hidden=8", "--read", "language=german")
    code, out, _ = typed("train", "one-to-many", "--data", "digit-words", "--epochs", "1", *small, "--out", "digits")
    assert code == 0 and "dictionary: 18 characters to write, texts of up to 7 steps" in out
    code, _, err = typed("train", "one-to-many", "--data", "iris")
    assert code == 2 and "one-to-many writes a text for each thing, but the data of kind 'table' have no texts" in err
    code, _, err = typed("train", "lenet5", "--data", "digit-words")
    assert code == 2 and "lenet5 does not read pictures with a text to write: use one-to-many." in err


def test_pairs_of_texts(typed, files):
    small = ("--set", "hidden=16", "--set", "embedding=8", "--set", "teacher_forcing=0.8")
    code, out, err = typed("train", "seq2seq", "--data", "pairs.tsv", "--epochs", "2", *small, "--out", "run")
    assert code == 0, err
    assert "dictionaries: 9 words to read, 9 to write" in out and "exact" in out.splitlines()[-5]
    assert out.splitlines()[-4].startswith("baseline, the frequencies of words in training: loss ")
    code, out, _ = typed("predict", "run", "two dogs", "--beams", "3", "--length-penalty", "0.5")
    assert code == 0 and len(out.splitlines()) == 1
    code, out, _ = typed("predict", "run", "two dogs", "one cat", "--no-copy")
    assert code == 0 and out.startswith("two dogs: ")
    words, _ = commands.train(read(files / "run"))
    # With many pairs labels are smoothed unless the command says otherwise, so it always does.
    assert "label_smoothing=0.0" in words and "teacher_forcing=0.8" in words
    row = json.loads(typed("predict", "run", "two dogs", "--json")[1])[0]
    assert row["name"] == "two dogs" and row["value"] <= 0
    typed("predict", "run", "pairs.tsv", "-o", "found.csv")
    assert len((files / "found.csv").read_text().splitlines()) == 21


def test_a_running_text(typed, files):
    small = ("--set", "hidden=16", "--set", "embedding=8", "--set", "window=10", "--set", "batch_size=4")
    code, out, err = typed("train", "many-to-many", "--data", "text.txt", "--epochs", "2", *small, "--out", "run")
    assert code == 0, err
    assert "characters of the training texts" in out and "perplexity" in out.splitlines()[-5]
    assert "the frequencies of characters in training" in out.splitlines()[-4]
    code, out, _ = typed("predict", "run", "--prompt", "to ", "--length", "12", "--temperature", "0")
    assert code == 0 and out.startswith("to ") and len(out.rstrip("\n")) <= 15
    first, second = (typed("predict", "run", "to", "--top-k", "3", "--seed", "1")[1] for _ in range(2))
    assert first == second and len(typed("predict", "run", "--json")[1]) > 200


def test_a_series(typed, files):
    small = ("--epochs", "2", "--set", "hidden=8", "--target", "height", "--read", "window=6", "--read", "horizon=2")
    code, out, err = typed("train", "many-to-one", "--data", "series.csv", *small, "--out", "run")
    assert code == 0, err
    test, *baselines, verdict, _, _ = out.splitlines()[-6:]
    assert test.startswith("test: rmse ") and "(height)" in test and "mase" in test
    assert sorted(line.split(":")[0] for line in baselines) == [
        "baseline, the last value",
        "baseline, the mean of the training targets",
    ]
    assert "the strongest baseline" in verdict
    code, out, _ = typed("predict", "run", "series.csv")
    assert code == 0 and [line.split(": ")[0] for line in out.splitlines()] == ["150", "151"]
    assert json.loads(typed("predict", "run", "series.csv", "--json")[1])[0]["moments"] == ["150", "151"]
    typed("predict", "run", "series.csv", "-o", "next.csv")
    assert (files / "next.csv").read_text().startswith("name,moment,height\nseries.csv,150,")
    code, _, err = typed("train", "many-to-many", "--data", "series.csv", "--epochs", "1", "--out", "each")
    assert code == 0, err


def test_tokens(typed):
    code, out, err = typed("train", "many-to-one", "--data", "agreement", "--read", "count=200", "--epochs", "2")
    assert code == 0 and "accuracy" in out.splitlines()[-5], err


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("fnn", "pairs.tsv", "fnn does not read pairs of texts: use seq2seq"),
        ("many-to-one", "pairs.tsv", "many-to-one does not read pairs of texts: use seq2seq"),
        ("seq2seq", "agreement", "seq2seq does not read rows of tokens with a label each: use many-to-one"),
        ("many-to-many", "wave", "many-to-many does not read a series with values to forecast: use many-to-one"),
        ("seq2seq", "text.txt", "seq2seq does not read a running text: use many-to-many"),
        ("lenet5", "reviews.csv", "lenet5 does not read texts with labels: use many-to-one"),
        ("seq2seq", "digits", "seq2seq reads sequences, but the data are of kind 'image'"),
    ],
)
def test_an_architecture_that_does_not_fit_names_one_that_does(typed, files, name, data, sentence):
    code, _, err = typed("train", name, "--data", data)
    assert code == 2 and sentence in err and len(err.splitlines()) == 1


def test_bad_input_gets_one_sentence(typed, files):
    def refused(*words: str) -> str:
        code, _, err = typed("train", *words)
        assert code == 2 and len(err.splitlines()) == 1, err
        return err

    assert "`--read` takes key=value, got 'window': for example --read window=24" in refused(
        "many-to-one", "--data", "series.csv", "--read", "window"
    )
    assert "those of texts are level, fold, punctuation" in refused(
        "many-to-one", "--data", "reviews.csv", "--set", "hiden=3"
    )
    (files / "mixed.csv").write_text("id,review,label\n" + "".join(f"{i},a text {i},x\n" for i in range(20)))
    assert "Texts with labels are read with --read kind=text" in refused("many-to-one", "--data", "mixed.csv")
    (files / "short.txt").write_text("To be\n")
    assert "a text of 6 characters is too short to split" in refused("many-to-many", "--data", "short.txt")


def test_words_are_prepared_as_asked(files, monkeypatch):
    monkeypatch.chdir(files)
    job = plan("many-to-one", "reviews.csv", options={"level": "character", "size": 5, "longest": 9, "hidden": 4})
    assert len(job.task.preprocess.vocabulary.words) == 5 and job.task.preprocess.longest == 9
    assert job.model.config.inputs == 9 and job.model.config.padding == 0 and job.model.config.hidden == 4
    assert job.batches == 2
    job = plan("many-to-many", "text.txt", options={"batch_size": 4, "window": 10})
    assert job.batches == math.ceil((760 - 1) // 4 / 10) and job.task.preprocess.vocabulary.wording.level == "character"
    with pytest.raises(ArgumentError, match="many-to-one has no option 'windw'"):
        plan("many-to-one", "reviews.csv", options={"windw": 4})
    with pytest.raises(DataError, match="kind"):
        plan("many-to-one", "reviews.csv", data_options={"kinds": "text"})


def recommended(name, spec, examples, characters=0):
    """Recommend for as many examples, or characters of a running text, as are said."""
    if spec.task == "language":
        train = RunningText.of("x" * characters)
    else:
        train = ArrayDataset(torch.zeros(examples, *spec.inputs), torch.zeros(examples), spec)
    return _row(spec)[0](None, parts(train)).recommend(name, {})


def test_every_kind_has_a_recipe_and_a_network():
    for (kind, task), (name, _) in FITTING.items():
        shape = {"series": (4, 1), "image": (1, 2, 2)}.get(kind, (4,))
        extra = {"target_shape": (4, 1)} if task == "structured" else {}
        spec = Spec(kind, task, shape, 4 if task == "structured" else 2, **extra)
        check_fit(name, spec)
        found = recommended(name, spec, 1000, 50_000)
        assert f"{found.recipe.epochs} epochs" in found.sentence and found.recipe.clip.limit == 1
    assert recommended("many-to-many", Spec("text", "language", (9,), 1), 1, 40).recipe.batch_size == 1


def test_many_texts_get_a_larger_network_or_more_dropout():
    pairs = PairDataset.of(["good morning", "yes"], ["guten Morgen", "ja"])
    few = TextPreprocess.fit(pairs)
    many = replace(few, fitted_on=29_000)
    small, large = (Pairs(prepared).sizes("seq2seq", {}) for prepared in (few, many))
    assert (small["hidden"], large["hidden"]) == (192, 768) and "context" not in small
    chosen = [large[key] for key in ("context", "tied", "bidirectional", "embedding_std")]
    assert chosen == ["mean", True, True, 0.1]
    assert Pairs(many).sizes("seq2seq", {"mode": "notes"})["hidden"] == 192  # it has no such parts
    text = TextPreprocess.fit(RunningText.of("to be or not to be"))
    assert text.fitted_on == 18 and few.fitted_on == 2
    long = Running(replace(text, fitted_on=1_000_000))
    options = long.sizes("many-to-many", {})
    assert (options["hidden"], options["layers"], options["dropout"]) == (512, 2, 0.5) and "cell" not in options
    assert "dropout" not in long.sizes("many-to-many", {"layers": 1})
    assert Running(text).sizes("many-to-many", {})["hidden"] == 256
    films = TextPreprocess.fit(TextDataset.of(["fine", "dull"], torch.tensor([1, 0]), ("bad", "good")))
    drops = [_Texts(replace(films, fitted_on=n)).sizes("many-to-one", {}) for n in (2, 6920)]
    assert ["word_dropout" in options for options in drops] == [False, True]
    assert all(options["embedding_std"] == 0.1 for options in drops)


def test_rare_words_of_many_pairs_are_unknown(monkeypatch):
    monkeypatch.setattr(Pairs, "many", 2)
    pairs = PairDataset.of(["a b", "a c", "b a"], ["x", "x", "y"])
    split = parts(pairs)

    def fit_words(**wording):
        return task_of(split, **wording).preprocess

    found = fit_words()
    assert found.vocabulary.words == ("a", "b") and found.answer_vocabulary.words == ("x",)
    assert fit_words(min_count=1).vocabulary.words == ("a", "b", "c")
    assert fit_words(level="character").vocabulary.words == (" ", "a", "b", "c")
    spec = Spec("pairs", "translation", (9,), 1)
    monkeypatch.undo()
    choices = [recommended("seq2seq", spec, n).recipe for n in (2, 29_000)]
    assert [recipe.label_smoothing for recipe in choices] == [0.0, 0.1] and choices[1].epochs == 14
