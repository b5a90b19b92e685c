"""Which columns a run relies on, on data whose answer is known."""

import pytest
import torch

import lamina
from lamina._errors import ArgumentError
from lamina.functional.importance import permutation
from lamina.training import importance as module
from lamina.training.fit import fit
from lamina.training.recipe import Adam, Recipe
from lamina.training.run import Run


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table in which y needs a and the color, and not b."""
    home = tmp_path_factory.mktemp("table")
    g = torch.Generator().manual_seed(0)
    a, b = torch.rand(2, 240, generator=g).tolist()
    colors = torch.randint(2, (240,), generator=g).tolist()
    rows = [f"{x},{z},{'red' if c else 'blue'},{100 * x + 40 * c}" for x, z, c in zip(a, b, colors, strict=True)]
    (home / "t.csv").write_text("\n".join(["a,b,color,y", *rows]))
    task = lamina.task_of(lamina.load(home / "t.csv", target="y"))
    net = lamina.build("fnn", **task.sizes("fnn", {"hidden": (16,)}))
    return fit(net, task, Recipe(Adam(0.02), epochs=60, batch_size=32), folder=home / "run")


def test_the_rise_in_error_is_in_the_units_of_the_target(table):
    data = table.split.validation
    found = table.importance(data, repeats=3, seed=1)
    inputs, targets = data.take(torch.arange(len(data)))

    def error(rows):
        return (table.predict(rows).values[:, 0].double() - targets.double().flatten()).abs().mean().item()

    by_hand = []
    for j in range(3):
        shuffled = inputs.clone()
        shuffled[:, j] = inputs[permutation(len(inputs), 1, j, 2), j]
        by_hand.append(error(shuffled) - error(inputs))
    assert found.drops[:, 2].tolist() == pytest.approx(by_hand, rel=1e-9, abs=1e-9)
    assert (
        found.columns == ("a", "b", "color") and found.metric == "mae" and found.value == pytest.approx(error(inputs))
    )
    assert found.mean == pytest.approx(found.drops.mean(1).tolist())
    assert found.spread == pytest.approx(found.drops.std(1, correction=0).tolist())
    # |x - x'| of two uniform numbers is 1/3 on average, so a costs about 33; another color half the time, so about 20
    a, b, color = found.mean
    assert 20 < a < 45 and 10 < color < 30 and abs(b) < 3


def test_the_evaluation_measures_it_on_the_test_part(table):
    found = table.evaluate().importance
    test = table.split.test._dataset
    again = Run.load(table.folder).importance(test)
    assert [row["column"] for row in found["columns"]] == ["a", "color", "b"]
    assert found == again.as_dict() and found["examples"] == 40 and found["repeats"] == 5
    assert found["columns"][0]["mean"] == pytest.approx(again.mean[0])


def test_accuracy_drops(tmp_path):
    net = lamina.build("fnn", inputs=2, outputs=2, hidden=16)
    run = fit(net, lamina.load("moons", count=300), Recipe(Adam(0.02), epochs=30), folder=tmp_path / "run")
    found = run.importance(run.split.validation)
    assert found.metric == "accuracy" and found.columns == ("x1", "x2") and found.value > 0.8
    assert 0.1 < found.mean[1] < 0.7


def test_a_feature_of_a_series_is_exchanged_window_by_window(tmp_path):
    data = lamina.load("adding", count=120, length=5)
    task = lamina.task_of(data)
    net = lamina.build("many-to-one", **task.sizes("many-to-one", {"hidden": 4}))
    run = fit(net, task, Recipe(epochs=1), folder=tmp_path / "run")
    found = run.importance(run.split.validation, repeats=2)
    inputs, targets = run.split.validation.take(torch.arange(20))
    shuffled = inputs.clone()
    shuffled[..., 1] = inputs[permutation(20, 0, 1, 1)][..., 1]
    errors = [
        (run.predict(x).values[:, 0].double() - targets.double().flatten()).abs().mean() for x in (shuffled, inputs)
    ]
    assert len(found.columns) == 2 and found.drops[1, 1].item() == pytest.approx(
        (errors[0] - errors[1]).item(), abs=1e-9
    )


def test_what_costs_too_much_takes_fewer_examples_or_is_left_out(table, monkeypatch):
    test = table.split.test._dataset
    each = table.task.look(table.model).operations + 200 * 3
    monkeypatch.setattr(module, "LEAST", 10)
    monkeypatch.setattr(module, "WORK", 12.5 * 3 * 5 * each)
    found = module.affordable(table, test)
    few = lamina.data.dataset.Subset(test, permutation(40)[:12].sort().values)
    assert found["examples"] == 12 and found == table.importance(few).as_dict()
    monkeypatch.setattr(module, "WORK", 9.5 * 3 * 5 * each)
    assert module.affordable(table, test) is None


def test_pictures_have_no_columns(digits):
    with pytest.raises(
        ArgumentError,
        match="importance is for the columns of tables, vectors and series, but data of kind 'image' have",
    ):
        digits.importance(digits.split.validation)
    assert digits.evaluate().importance is None


def test_an_answer_at_every_step_has_none(tmp_path):
    data = lamina.load("wave", steps=120, window=8, each_step=True)
    task = lamina.task_of(data)
    net = lamina.build("many-to-many", **task.sizes("many-to-many", {"hidden": 4}))
    run = fit(net, task, Recipe(epochs=1), folder=tmp_path / "run")
    with pytest.raises(
        ArgumentError, match="importance is for one class or numbers as an answer, but the run was trained"
    ):
        run.importance(run.split.validation)
    assert run.evaluate().importance is None
