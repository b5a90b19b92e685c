"""A run judged on new labeled data: the same metrics and baselines, and the record of the test split untouched."""

import math
import warnings

import pytest
import torch
from PIL import Image

import lamina
from lamina._errors import ArgumentError, DataError, DataWarning
from lamina.training.run import Evaluation, Run, context, in_words


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("scoring")


def trained(home, name, architecture, data, epochs=2, **options):
    from lamina.training.plan import plan

    job = plan(architecture, str(data), epochs=epochs, out=home / name, data_options=options)
    return lamina.fit(job.model, job.task, job.recipe, folder=job.folder)


@pytest.fixture(scope="module")
def houses(home):
    rows = [f"{a},{'yes' if a % 3 else 'no'},{100 * a + (a % 7)}" for a in range(60)]
    (home / "houses.csv").write_text("area,garden,price\n" + "\n".join(rows) + "\n")
    return trained(home, "houses", "fnn", home / "houses.csv", target="price")


def test_a_table_of_numbers_is_scored_by_hand(home, houses):
    (home / "new.csv").write_text("garden,price,area,note\nyes,500,5,a\nno,900,9,b\nyes,2000,20,c\n")
    record = houses.folder / "evaluation.json"
    before = houses.split.openings, record.exists()
    found = houses.evaluate(home / "new.csv")
    given = houses.predict(home / "new.csv").values[:, 0].double()
    wanted = torch.tensor([500.0, 900.0, 2000.0], dtype=torch.float64)
    assert found.examples == 3 and found.data == str(home / "new.csv") and found.unit == "price"
    assert found.metrics["rmse"] == pytest.approx((given - wanted).square().mean().sqrt().item(), rel=1e-6)
    mean = lamina.data.dataset.all_targets(houses.split.train).double().mean()
    (one,) = found.baselines
    assert one["metrics"]["mae"] == pytest.approx((mean - wanted).abs().mean().item(), rel=1e-6)
    assert (houses.split.openings, record.exists()) == before


def test_the_record_of_the_test_split_stays_and_gives_the_baseline(home, houses):
    (home / "new.csv").write_text("garden,price,area\nyes,500,5\nno,900,9\n")
    first = houses.evaluate()
    before = (houses.folder / "evaluation.json").read_bytes()
    moved = Run.load(houses.folder)
    (home / "houses.csv").rename(home / "away.csv")  # the training data are not needed any more
    found = moved.evaluate(home / "new.csv")
    (home / "away.csv").rename(home / "houses.csv")
    assert found.usual == first.usual and (houses.folder / "evaluation.json").read_bytes() == before
    assert found.openings == 1 and "on 2 examples" in str(found) and "on 10 test examples" in str(first)
    with pytest.raises(ArgumentError, match="`again` opens the test split, but other data are given"):
        houses.evaluate(home / "new.csv", again=True)
    with pytest.warns(DataWarning, match="was trained on a part of .*houses.csv: this says little about new data"):
        houses.evaluate(str(home / "houses.csv"))


def test_arrays_datasets_and_names(home):
    run = trained(home, "iris", "fnn", "iris")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = run.evaluate(lamina.load("iris"))
    assert whole.examples == 150 and [row["examples"] for row in whole.per_class] == [50, 50, 50]
    assert whole.baselines[0]["metrics"] == {"accuracy": pytest.approx(1 / 3)} and whole.data == "data in memory"
    with pytest.raises(DataError, match=r"`wine` has examples of shape \(13,\)"):
        run.evaluate("wine")
    moons = trained(home, "moons", "fnn", "moons", count=60)
    assert moons.evaluate((torch.randn(8, 2), torch.tensor([0, 1] * 4))).examples == 8


def test_a_folder_of_pictures(home):
    for kind, value in (("dark", 30), ("light", 220)):
        (home / "photos" / kind).mkdir(parents=True)
        for i in range(12):
            Image.new("L", (8, 8), value + i).save(home / "photos" / kind / f"{i}.png")
    (home / "more/light").mkdir(parents=True)
    for i in range(3):
        Image.new("RGB", (16, 12), (200 + i,) * 3).save(home / "more/light" / f"{i}.png")
    run = trained(home, "photos-run", "fnn", home / "photos", epochs=20)
    found = run.evaluate(home / "more")
    assert found.examples == 3 and found.confusion[0] == [0, 0] and sum(found.confusion[1]) == 3
    (home / "more/light").rename(home / "more/gray")
    with pytest.raises(DataError, match="has the class 'gray', which the run was not trained on"):
        run.evaluate(home / "more")


def test_texts_pairs_and_a_running_text(home):
    words = [("good", "fine"), ("bad", "dull"), ("good", "great"), ("bad", "poor")]
    rows = [f"{label},the film number {i} was {word}" for i in range(6) for label, word in words]
    (home / "reviews.csv").write_text("label,review\n" + "\n".join(rows) + "\n")
    (home / "later.csv").write_text("review,label\nit was great,good\nso dull and poor,good\n")
    found = trained(home, "reviews", "many-to-one", home / "reviews.csv").evaluate(home / "later.csv")
    assert found.examples == 2 and "always " in found.baselines[0]["name"] and found.confusion[0] == [0, 0]
    pairs = [f"{a} {b}\t{b.upper()} {a.upper()}" for a in ("one", "two", "six") for b in ("dogs", "cats", "cows")]
    (home / "pairs.tsv").write_text("\n".join(pairs) + "\n")
    (home / "more.tsv").write_text("one dogs\tDOGS ONE\ntwo cats\tCATS TWO\n")
    found = trained(home, "pairs", "seq2seq", home / "pairs.tsv", epochs=1).evaluate(home / "more.tsv")
    assert found.examples == 2 and found.baselines[0]["name"] == "the frequencies of words in training"
    (home / "text.txt").write_text("to be or not to be\n" * 60)
    (home / "end.txt").write_text("to be that is not the question\n" * 9)
    found = trained(home, "text", "many-to-many", home / "text.txt", epochs=1).evaluate(home / "end.txt")
    assert found.metrics["perplexity"] > 1 and found.baselines[0]["metrics"]["perplexity"] < 40


def test_a_series_with_dates(home):
    rows = [f"2024-{1 + i // 28:02}-{1 + i % 28:02},{math.sin(i / 3):.4f}" for i in range(120)]
    (home / "sales.csv").write_text("date,sales\n" + "\n".join(rows) + "\n")
    run = trained(home, "sales", "many-to-one", home / "sales.csv", window=6, horizon=2)
    test = run.evaluate()
    assert test.moments[0] == "2024-04-17" and len(test.moments) == test.examples == 19 and test.unit == "sales"
    (home / "next.csv").write_text("date,sales\n" + "".join(f"2024-06-{i + 1:02},{i / 10}\n" for i in range(9)))
    found = run.evaluate(home / "next.csv")
    assert found.examples == 2 and found.moments == ["2024-06-07", "2024-06-08"]
    last = next(each for each in found.baselines if each["name"] == "the last value")
    assert last["metrics"]["mae"] == pytest.approx(0.15, rel=1e-5)
    told = Run.load(run.folder).predict(home / "next.csv")
    assert told.moments == (("2024-06-10", "2024-06-11"),) and told.columns == ("sales",)
    assert [(name, moment) for name, moment, _ in told.forecasts()] == [
        ("next.csv", "2024-06-10"),
        ("next.csv", "2024-06-11"),
    ]
    held = run.predict(home / "next.csv", coverage=0.5)
    table = held.frame()
    assert table.columns == ["name", "moment", "sales", "lower sales", "upper sales"]
    assert table["sales"].to_list() == pytest.approx(held.values[0].tolist())
    assert table["upper sales"].to_list() == pytest.approx(held.upper[0].tolist())
    assert (table["lower sales"] < table["sales"]).all() and (table["sales"] < table["upper sales"]).all()
    with pytest.warns(DataWarning, match="odd.csv: the moments do not follow each other at equal steps"):
        rows = [f"2024-06-{d:02},1\n" for d in (1, 2, 4, 8, 9, 15)]
        (home / "odd.csv").write_text("date,sales\n" + "".join(rows))
        assert run.predict([str(home / "odd.csv")]).forecasts()[1][1] == "2024-06-15 +2"
    assert run.predict(torch.zeros(1, 6, 1)).forecasts() == []


def test_what_is_printed():
    found = Evaluation(3, {"loss": 9.0, "mse": 4.0, "mae": 1.5, "r2": 0.5, "rmse": 2.0}, unit="price")
    assert str(found) == "rmse 2.0000 and mae 1.5000 (price), r2 0.5000 on 3 test examples"
    assert found.context == [] and found.verdict == "" and found.beaten is None
    worse = {"name": "the mean", "metrics": {"accuracy": 0.75}, "ahead": -0.25, "p": 0.5}
    assert context([worse], 4) == ["baseline, the mean: accuracy 0.7500", "The network does not beat the baseline."]
    assert in_words({"loss": 123456.789, "f1": float("nan"), "auc": None, "x": 2e-5}) == (
        "loss 123,457, f1 undefined, auc undefined, x 2e-05"
    )
