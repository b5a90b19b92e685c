"""Whether a linear model does as well: data that are linear, data that are not, and where nothing can be said."""

import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

import lamina
from lamina import Recipe
from lamina.data.arrays import from_arrays
from lamina.training.tasks import _linear
from lamina.training.tasks._linear import linear_baseline, simpler
from lamina.training.tasks.kinds import task_of


def rows(count=240, columns=4, seed=0):
    return torch.randn(count, columns, generator=torch.Generator().manual_seed(seed)) * 3 + 1


def noise(count=240, seed=1):
    return torch.randn(count, generator=torch.Generator().manual_seed(seed))


def trained(tmp_path, data, name="fnn", epochs=30):
    """Train as `lamina train` does."""
    from lamina.training.plan import plan

    job = plan(name, data.split(seed=0), out=tmp_path / "run", epochs=epochs)
    return lamina.fit(job.model, job.task, job.recipe, folder=job.folder)


def test_truly_linear_numbers(tmp_path):
    u = rows()
    found = trained(tmp_path, from_arrays(u, u @ torch.tensor([1.0, -2.0, 0.5, 0.0]) + 4 * noise())).evaluate()
    assert found.linear["metric"] == "r2" and found.linear["examples"] == 40
    assert found.linear["linear"] >= found.linear["network"] - 0.1
    assert found.context[-1] == simpler(found.linear) and found.context[-1].startswith("A linear model does ")
    assert f"R² {found.linear['linear']:.1f}"[:-1] in found.context[-1] and "on 40 validation" in found.context[-1]


def test_scores_that_look_alike_get_more_digits():
    found = {"metric": "r2", "linear": 0.9991, "network": 0.9978, "ahead": -1.0, "p": 1e-6, "examples": 40}
    assert simpler(found) == "A linear model does better (R² 0.9991 against 0.9978 on 40 validation examples)."


def test_numbers_that_are_not_linear(tmp_path):
    u = rows(600)
    found = trained(tmp_path, from_arrays(u, u[:, 0].abs() + 0.1 * noise(600))).evaluate()
    assert found.linear["linear"] < 0.5 < found.linear["network"] and found.linear["p"] < 0.001
    assert simpler(found.linear) == "" and found.context[-1] == "The network beats the baseline."


def test_truly_linear_classes(tmp_path):
    u = rows()
    found = trained(tmp_path, from_arrays(u, (u[:, 0] + u[:, 1] + noise() > 2).long())).evaluate()
    assert found.linear["metric"] == "accuracy" and found.linear["linear"] > 0.8
    assert "A linear model does as well (accuracy " in found.context[-1]


def test_classes_that_are_not_linear(tmp_path):
    u = rows(600, 2)
    found = trained(tmp_path, from_arrays(u, ((u[:, 0] > 1) ^ (u[:, 1] > 1)).long())).evaluate()
    assert found.linear["linear"] < 0.7 < 0.85 < found.linear["network"] and simpler(found.linear) == ""


def parts(data):
    split = data.split(seed=0)
    train, held = split.train, split.validation
    pairs = [part.take(torch.arange(len(part))) for part in (train, held)]
    scale = StandardScaler().fit(pairs[0][0])
    (u, s), (v, t) = [(scale.transform(inputs), targets.numpy()) for inputs, targets in pairs]
    return linear_baseline(task_of(split).preprocess, split), u, s, v, t


def test_numbers_are_those_of_scikit_learn():
    u = rows()
    found, u, s, v, t = parts(from_arrays(u, 50 + u @ torch.tensor([1.0, -2.0, 0.5, 0.0]) + noise()))
    mean, std = s.mean(), s.std()
    given = Ridge(1.0).fit(u, (s - mean) / std).predict(v) * std + mean
    assert found.metrics["mse"] == pytest.approx(((given.ravel() - t.ravel()) ** 2).mean(), rel=1e-4)
    assert found.costs.mean().item() == found.cost == found.metrics["mse"]


def test_classes_are_those_of_scikit_learn():
    found, u, s, v, t = parts(lamina.load("iris"))
    assert found.metrics == {"accuracy": pytest.approx(LogisticRegression(C=1.0).fit(u, s).score(v, t))}


def test_long_tables_are_thinned_and_wide_or_short_ones_left_out(monkeypatch):
    u = rows()
    data = from_arrays(u, u[:, 0] + 0.1 * noise())
    split = data.split(seed=0)
    prepare, whole = task_of(split).preprocess, linear_baseline(task_of(split).preprocess, split).cost
    monkeypatch.setattr(_linear, "ROWS", 8)
    assert linear_baseline(prepare, split).cost > 1.5 * whole
    monkeypatch.setattr(_linear, "COLUMNS", 3)
    assert linear_baseline(prepare, split) is None
    monkeypatch.undo()
    monkeypatch.setattr(_linear, "FEWEST", 41)
    assert len(split.validation) == 40 and linear_baseline(prepare, split) is None


def test_weights_of_examples_count():
    import polars as pl

    x = rows(columns=1).flatten() - 1
    right = torch.arange(240) % 3 > 0
    table = pl.DataFrame({"x": x.tolist(), "y": torch.where(right, x, -x).tolist(), "w": (right * 99.0 + 1).tolist()})
    data = lamina.load(table, target="y", weight="w")
    split = data.split(seed=0)
    found = linear_baseline(task_of(split).preprocess, split)
    plain = lamina.load(table.drop("w"), target="y").split(seed=0)
    assert found.metrics["r2"] > 0.9 > 0.5 > linear_baseline(task_of(plain).preprocess, plain).metrics["r2"]


def test_what_is_linear_itself_and_what_is_no_table_has_nothing_to_say(tmp_path):
    u = rows()
    line = trained(tmp_path, from_arrays(u, u[:, 0] + noise()), "perceptron", epochs=2)
    assert line.evaluate().linear is None and simpler(None) == ""
    pictures = trained(tmp_path / "pictures", lamina.load("digits"), epochs=1)
    assert pictures.evaluate().linear is None
    labels = from_arrays(u, (u[:, :2] > 0).float(), task="multilabel")
    net = lamina.build("fnn", inputs=4, outputs=2)
    assert lamina.fit(net, labels, Recipe(epochs=1), folder=tmp_path / "labels").evaluate().linear is None


def test_sentences():
    facts = {"metric": "accuracy", "linear": 0.91, "network": 0.92, "ahead": 0.01, "p": 0.5, "examples": 1200}
    said = "A linear model does as well (accuracy 91.0% against 92.0% on 1,200 validation examples)."
    assert simpler(facts) == said and simpler(facts | {"p": 0.2}) == ""
    assert simpler(facts | {"ahead": -0.02, "p": 0.2}) == said
    assert "A linear model does better (" in simpler(facts | {"ahead": -0.02, "p": 0.01})
