"""Cross-validation: every example is judged once, by a network that has not seen it; interrupted, it continues."""

import json
import signal
import statistics

import pytest
import torch

import lamina
from lamina._errors import ArgumentError, RunError
from lamina.data.dataset import ArrayDataset, Spec
from lamina.data.splits import folds
from lamina.training.cross_validation import FILE, Crossing, CrossValidation, Fold, cross_validate, place_of
from lamina.training.recipe import Adam, Recipe
from lamina.training.run import Run
from lamina.training.tasks.kinds import task_of

RECIPE = Recipe(Adam(0.02), epochs=15, batch_size=16)


def make(fold):
    return lamina.build("fnn", inputs=2, outputs=2, hidden=8, seed=fold)


def moons():
    return lamina.load("moons", count=90, seed=0)


def test_scores_are_those_of_separate_runs(tmp_path):
    found = cross_validate(make, moons(), RECIPE, k=3, folder=tmp_path / "cv")
    for number, split in enumerate(folds(moons(), 3, seed=0)):
        test = split.open_test()
        inputs, labels = test.take(torch.arange(len(test)))
        run = Run.load(tmp_path / "cv" / f"fold-{number + 1}")
        guesses = run.predict(inputs).values.argmax(1)
        assert found.scores[number] == pytest.approx((guesses == labels).double().mean().item())
        counts = torch.bincount(labels)
        usual = torch.bincount(split.train.targets).argmax()
        assert found.folds[number].baseline == {"accuracy": pytest.approx((counts[usual] / counts.sum()).item())}
        assert found.folds[number].examples == (48, 12, 30)
        losses = [row["validation_loss"] for row in run.rows]
        assert found.folds[number].epoch == run.rows[losses.index(min(losses))]["epoch"]
    assert found.mean == pytest.approx(sum(found.scores) / 3) and 0.7 < found.mean <= 1
    assert found.spread == pytest.approx(torch.tensor(found.scores, dtype=torch.float64).std().item())
    base = statistics.fmean(fold.baseline["accuracy"] for fold in found.folds)
    assert str(found) == (
        f"accuracy {found.mean:.4f} ± {found.spread:.4f} over 3 folds; the baseline reaches {base:.4f}"
    )


def test_the_same_call_gives_the_same_and_repeats_divide_anew():
    first = cross_validate(make, moons(), RECIPE, k=3, repeats=2)
    again = cross_validate(make, moons(), RECIPE, k=3)
    assert len(first.scores) == 6 and [f.repeat for f in first.folds] == [1, 1, 1, 2, 2, 2]
    assert [f.metrics for f in first.folds[:3]] == [f.metrics for f in again.folds]
    assert [f.metrics for f in first.folds[:3]] != [f.metrics for f in first.folds[3:]]


def test_numbers_are_in_the_units_of_the_target(tmp_path):
    inputs = torch.linspace(-1, 1, 60)[:, None]
    data = ArrayDataset(inputs, 1000 * inputs[:, 0] + 5000, Spec("vector", "regression", (1,), 1))

    def linear(fold):
        return lamina.build("fnn", inputs=1, outputs=1, hidden=4, seed=fold)

    found = cross_validate(linear, data, Recipe(epochs=1), k=3, folder=tmp_path / "cv")
    split = folds(data, 3, seed=0)[1]
    test = split.open_test()
    x, y = test.take(torch.arange(20))
    told = Run.load(tmp_path / "cv" / "fold-2").predict(x).values[:, 0]
    assert found.metric == "r2" and found.folds[1].metrics["mae"] == pytest.approx((told - y).abs().mean().item())
    mean = split.train.targets.double().mean()
    assert found.folds[1].baseline["mae"] == pytest.approx((y.double() - mean).abs().mean().item())
    assert found.folds[1].baseline["mse"] == pytest.approx((y.double() - mean).square().mean().item())
    assert found.of("mae")[0] == pytest.approx(statistics.fmean(fold.metrics["mae"] for fold in found.folds))
    assert found.folds[1].baseline["r2"] <= 0


class _Stop:
    """Ask for an end, as Ctrl-C does, at a moment of a fold."""

    def __init__(self, fold, epoch):
        self.fold, self.epoch, self.seen = fold, epoch, 0

    def __call__(self, event):
        self.seen += event.row is not None and event.epoch == 1
        if event.row is not None and (self.seen, event.epoch) == (self.fold, self.epoch):
            signal.raise_signal(signal.SIGINT)


def crossing(folder, recipe=RECIPE, data=None, **settings):
    def prepare(split, number):
        return make(number), task_of(split), recipe

    return Crossing(prepare, data or moons(), 3, 1, 0, folder, settings)


def test_ctrl_c_keeps_finished_folds_and_continues_within_the_fold(tmp_path):
    whole = crossing(tmp_path / "whole")
    assert len(list(whole.run())) == 3
    first = crossing(tmp_path / "cut")
    assert len(list(first.run([_Stop(fold=2, epoch=6)]))) == 1 and len(first.done) == 1
    assert Run.load(tmp_path / "cut" / "fold-2").reason.name == "interrupted"
    second = crossing(tmp_path / "cut")
    assert [fold.fold for fold in second.run()] == [2, 3]  # the first is not trained again
    assert [f.metrics for f in second.done] == [f.metrics for f in whole.done]
    name = "fold-2/weights.safetensors"
    assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert list(crossing(tmp_path / "cut").run()) == []


def test_a_loss_and_metrics_of_ones_own_are_continued_with(tmp_path):
    loss, metrics = torch.nn.functional.cross_entropy, {"top": lambda outputs, labels: outputs.max()}
    recipe = Recipe(epochs=4, loss=loss, metrics=metrics)
    assert list(crossing(tmp_path / "cv", recipe).run([_Stop(fold=1, epoch=2)])) == []
    found = list(crossing(tmp_path / "cv", recipe).run())
    assert len(found) == 3 and Run.load(tmp_path / "cv" / "fold-1").rows[-1]["epoch"] == 4
    assert all("top" in fold.metrics for fold in found)


def test_what_a_kill_left_of_the_first_moment_is_made_anew(tmp_path):
    (tmp_path / "cv" / "fold-1").mkdir(parents=True)
    (tmp_path / "cv" / "fold-1" / "config.toml").write_text("version = 1\n")
    assert len(list(crossing(tmp_path / "cv").run())) == 3


def test_an_interrupted_call_in_python_says_so(monkeypatch):
    monkeypatch.setattr(Crossing, "run", lambda *_, **__: iter(()))
    with pytest.raises(RunError, match="the cross-validation was interrupted after 0 of 3 folds"):
        cross_validate(make, moons(), RECIPE, k=3)


def test_another_cross_validation_in_the_folder(tmp_path):
    list(crossing(tmp_path / "cv", width=8).run([_Stop(1, 1)]))
    with pytest.raises(RunError, match="cv holds another cross-validation: choose another folder"):
        crossing(tmp_path / "cv", width=9)
    with pytest.raises(RunError, match="the data have changed since the cross-validation in .* began: remove it"):
        crossing(tmp_path / "cv", data=lamina.load("moons", count=90, seed=1), width=8)


def test_another_recipe_or_network_in_python_is_noticed(tmp_path):
    short = Recipe(epochs=1)
    first = cross_validate(make, moons(), short, k=2, folder=tmp_path)
    assert cross_validate(make, moons(), short, k=2, folder=tmp_path) == first  # also in seconds: nothing was trained
    for other, recipe in ((make, Recipe(epochs=2)), (lambda fold: lamina.build("fnn", inputs=2, outputs=2), short)):
        with pytest.raises(RunError, match="holds another cross-validation"):
            cross_validate(other, moons(), recipe, k=2, folder=tmp_path)


def test_the_folder_is_the_first_that_is_new_or_fits(tmp_path):
    base = tmp_path / "cv"
    mine, other = {"k": 3, "set": {"hidden": (8, 4)}}, {"k": 3, "set": {"hidden": (8,)}}
    assert place_of(base, mine) == base
    base.mkdir()
    assert place_of(base, mine) == tmp_path / "cv-2"  # something else lies there
    (tmp_path / "cv-2").mkdir()
    (tmp_path / "cv-2" / FILE).write_text(json.dumps({"settings": other, "data": "", "metric": "", "folds": []}))
    assert place_of(base, mine) == tmp_path / "cv-3" and place_of(base, other) == tmp_path / "cv-2"


def test_a_network_that_diverges(tmp_path):
    with pytest.raises(RunError, match=r"fold 1 of 3 failed: .*not.* finite"):
        cross_validate(make, moons(), Recipe(lamina.GD(1e30), epochs=5), k=3)


def test_bad_numbers_are_refused():
    with pytest.raises(ArgumentError, match="`k` must be at least 2, got 1"):
        cross_validate(make, moons(), Recipe(), k=1)
    with pytest.raises(ArgumentError, match="`repeats` must be at least 1, got 0"):
        cross_validate(make, moons(), Recipe(), repeats=0)


def test_the_mean_by_hand():
    rows = [Fold(1, i + 1, (8, 2, 5), {"accuracy": a}, {}, 1, 0.5) for i, a in enumerate((0.5, 0.75, 1.0))]
    found = CrossValidation(tuple(rows), "accuracy", 3)
    assert (found.mean, found.spread) == (0.75, 0.25) and str(found) == "accuracy 0.7500 ± 0.2500 over 3 folds"
