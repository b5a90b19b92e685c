"""Intervals and sets of a run: as computed by hand, kept with the run, refused where they make no sense."""

import json
import re
from pathlib import Path

import pytest
import torch

import lamina
from lamina._errors import ArgumentError, RunError
from lamina.functional.conformal import conformal_quantile
from lamina.training.conformal import covered, scores_of, validation_scores
from lamina.training.fit import fit
from lamina.training.recipe import Adam, Recipe
from lamina.training.run import Run
from lamina.training.tasks.task import Predictions


def test_intervals_are_the_predictions_and_the_quantile_of_the_errors(curve):
    inputs, targets = curve.split.validation.take(torch.arange(len(curve.split.validation)))
    errors = (curve.predict(inputs).values[:, 0].double() - targets.double().flatten()).abs()
    n = len(errors)
    rank = -(-(n + 1) * 4 // 5)  # the ceiling of (n + 1) * 0.8
    reach = errors.sort().values[rank - 1]
    found = Run.load(curve.folder).predict(inputs[:5], coverage=0.8)
    torch.testing.assert_close(found.upper - found.values.double(), reach.expand(5, 1), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(found.values.double() - found.lower, reach.expand(5, 1), rtol=1e-9, atol=1e-12)
    assert found.sets == () and curve.predict(inputs[:5]).lower is None


def test_sets_hold_the_most_likely_classes_first(digits):
    inputs, _ = digits.split.validation.take(torch.arange(60))
    found = digits.predict(inputs, coverage=0.99)
    q = conformal_quantile(validation_scores(digits), 0.99).item()
    for row, names in zip(found.values.double(), found.sets, strict=True):
        order = row.argsort(descending=True, stable=True)
        wanted = [str(int(k)) for k in order if 1 - row[k] <= q or k == order[0]]
        assert list(names) == wanted
    assert found.labels == [names[0] for names in found.sets] and found.lower is None


def test_sets_by_hand():
    told = Predictions(("x", "y"), ("a", "b", "c"), torch.tensor([[0.25, 0.125, 0.625], [0.5, 0.25, 0.25]]))
    scores = torch.tensor([[0.1], [0.75], [0.2], [0.3]])
    assert covered(told, scores, 0.8).sets == (("c", "a"), ("a", "b", "c"))
    assert covered(told, scores, 0.5).sets == (("c",), ("a",))


def test_scores_are_kept_with_the_run_and_belong_to_its_weights(tmp_path, monkeypatch):
    from lamina.training import conformal
    from lamina.training.fit import resume

    net = lamina.build("fnn", inputs=2, outputs=2, hidden=8)
    run = fit(net, lamina.load("moons", count=120), Recipe(Adam(0.05), epochs=1), folder=tmp_path / "run")
    first = validation_scores(run)
    torch.testing.assert_close(first, scores_of(run, run.split.validation), rtol=0, atol=0)
    with monkeypatch.context() as m:
        m.setattr(conformal, "scores_of", lambda *_: pytest.fail("the data were asked for again"))
        assert torch.equal(validation_scores(Run.load(run.folder)), first)
    longer = resume(run.folder, epochs=6)
    assert not torch.equal(validation_scores(longer), first)


def test_the_evaluation_measures_the_coverage(curve):
    found = curve.evaluate().conformal
    inputs, targets = curve.split.test._dataset.take(torch.arange(len(curve.split.test)))
    told = curve.predict(inputs, coverage=0.9)
    inside = (told.lower <= targets.reshape(-1, 1)) & (targets.reshape(-1, 1) <= told.upper)
    assert found["measured"] == [pytest.approx(inside.double().mean().item())]
    assert found["asked"] == 0.9 and found["examples"] == len(curve.split.validation)
    assert found["size"] == [pytest.approx((told.upper - told.lower).mean().item())]
    assert found["quantile"] == [pytest.approx(found["size"][0] / 2)]


def test_the_evaluation_of_classes_measures_the_coverage(digits):
    found = digits.evaluate().conformal
    inputs, labels = digits.split.test._dataset.take(torch.arange(len(digits.split.test)))
    sets = digits.predict(inputs, coverage=0.9).sets
    held = sum(str(label) in names for label, names in zip(labels.tolist(), sets, strict=True))
    assert found["measured"] == [pytest.approx(held / len(sets))]
    assert found["size"] == [pytest.approx(sum(map(len, sets)) / len(sets))]


def test_the_network_sees_the_test_part_once(tmp_path):
    net = lamina.build("lenet5", outputs=10)
    run = fit(net, lamina.load("digits"), Recipe(Adam(0.01), epochs=1), folder=tmp_path / "run")
    seen = []
    run.model.register_forward_hook(lambda _, inputs, __: seen.append(len(inputs[0])))
    found = run.evaluate()
    shown = sum("why" in each for each in found.worst)  # each is looked at by itself
    assert found.conformal is not None and shown > 0
    assert sum(each for each in seen if each > 1) == len(run.split.validation) + found.examples
    assert seen.count(1) >= shown


def test_a_calibration_of_its_own(curve):
    fresh = lamina.load("linear", seed=7)
    told = curve.predict(fresh.inputs[:4], coverage=0.9, calibration=fresh)
    reach = conformal_quantile(scores_of(curve, fresh), 0.9)
    torch.testing.assert_close(told.upper - told.values.double(), reach.expand(4, 1), rtol=1e-9, atol=1e-12)
    with pytest.raises(ArgumentError, match="`calibration` says what to calibrate on: give the `coverage` too"):
        curve.predict(fresh.inputs[:4], calibration=fresh)


def test_too_few_validation_examples(tmp_path):
    net = lamina.build("fnn", inputs=2, outputs=2, hidden=4)
    run = fit(net, lamina.load("moons", count=42), Recipe(epochs=1), folder=tmp_path / "run")
    with pytest.raises(ArgumentError, match=r"`coverage` 0.9 needs at least 9 calibration examples .*, got 7"):
        run.predict(torch.zeros(1, 2), coverage=0.9)
    assert run.evaluate().conformal is None


def test_answers_that_are_no_class_and_no_number(tmp_path):
    data = lamina.load("next-input", count=40, length=5)
    task = lamina.task_of(data)
    net = lamina.build("many-to-many", **task.sizes("many-to-many", {"hidden": 4}))
    run = fit(net, task, Recipe(epochs=1), folder=tmp_path / "run")
    with pytest.raises(
        ArgumentError, match="`coverage` is for one class or numbers as an answer, but the run was trained for tagging"
    ):
        run.predict(data.take(torch.arange(2))[0], coverage=0.9)
    assert run.evaluate().conformal is None


def test_a_truth_table_has_no_new_examples(tmp_path):
    net = lamina.build("fnn", inputs=2, outputs=2, hidden=4)
    run = fit(net, lamina.load("xor"), Recipe(epochs=1), folder=tmp_path / "run")
    with pytest.raises(ArgumentError, match="`coverage` needs examples that were not trained on, but the run was"):
        run.predict(torch.zeros(1, 2), coverage=0.5)


def test_data_in_memory_are_needed_once(tmp_path):
    inputs = torch.arange(120.0).reshape(60, 2)
    data = lamina.load(inputs, torch.arange(60) % 2)
    net = lamina.build("fnn", inputs=2, outputs=2, hidden=4)
    run = fit(net, data, Recipe(epochs=1), folder=tmp_path / "run")
    with pytest.raises(
        RunError, match="were given in memory, and no errors on its validation part were kept: give lab"
    ):
        Run.load(run.folder).predict(inputs[:1], coverage=0.9)
    run.evaluate()
    assert len(Run.load(run.folder).predict(inputs[:1], coverage=0.9).sets) == 1


def test_the_docs_say_what_was_measured():
    root = Path(__file__).parents[2]
    rows = json.loads((root / "benchmarks/records/coverage.json").read_text())["rows"]
    text = " ".join((root / "docs/training.md").read_text(encoding="utf-8").split())
    said = re.search(
        r"held (0\.\d+) to (0\.\d+) of new examples, against (0\.\d+) to (0\.\d+) with a part", text
    ).groups()
    for part, ends in (("validation", said[:2]), ("its own", said[2:])):
        found = [r["coverage"] for r in rows if r["calibrated on"] == part and r["calibration examples"] == 50]
        assert list(ends) == [f"{min(found):.3f}", f"{max(found):.3f}"]
