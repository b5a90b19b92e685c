"""Examples with several labels and examples with weights, from the table to the report."""

import csv
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn import metrics as sk

import lamina
from lamina._errors import ArgumentError, RunError, ShapeError
from lamina.data.arrays import from_arrays
from lamina.data.dataset import ArrayDataset
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Sealed, Split
from lamina.report.render import render
from lamina.training.fit import fit, resume
from lamina.training.recipe import GD, SGD, Adam, Recipe, Stopping
from lamina.training.run import Run
from lamina.training.tasks.kinds import headline_of, metric_of, task_of
from lamina.training.train import train

NAMES = ("rain", "snow", "wind")


def labels_of(inputs):
    """Give labels that a line each decides, but for a few rows."""
    lines = torch.tensor([[2.0, 0.0, 0.5], [-1.0, 1.0, 0.0], [0.0, 1.5, -1.0]], dtype=inputs.dtype)
    return inputs @ lines.T + torch.tensor([0.0, -1.0, 0.5]) > 0


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Write a table with a column of lists, columns of 0 and 1, weights and groups."""
    g = torch.Generator().manual_seed(0)
    inputs = torch.randn(180, 3, generator=g).double().mul(100).round() / 100
    bits = labels_of(inputs).tolist()
    lists = ["; ".join(name for name, there in zip(NAMES, row, strict=True) if there) for row in bits]
    path = tmp_path_factory.mktemp("labels") / "weather.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "survey", "house", *NAMES, "weather"])
        for i, row in enumerate(zip(inputs.tolist(), bits, lists, strict=True)):
            writer.writerow([*row[0], i % 4, i // 3, *map(int, row[1]), row[2]])
    return path


@pytest.fixture(scope="module")
def run(table):
    data = lamina.load(table, target="weather", drop=NAMES, weight="survey", group="house")
    net = lamina.build("fnn", inputs=3, outputs=3, hidden=(16,))
    return fit(net, data, Recipe(Adam(0.02), epochs=25, batch_size=16), folder=table.parent / "run")


def test_a_run_learns_labels_and_weighs_its_scores(run):
    spec = run.preprocess.spec
    assert (spec.task, spec.classes, spec.weight, spec.group) == ("multilabel", NAMES, "survey", "house")
    assert (metric_of(spec), headline_of(spec)) == ("accuracy", "micro_f1")
    test = run.split.test._dataset
    inputs, targets = test.take(torch.arange(len(test)))
    found = run.predict(inputs)
    p, there, w = found.values.double().numpy(), targets.numpy(), test.weights.numpy()
    guesses, judged = p >= 0.5, run.evaluate()
    same = pytest.approx
    assert judged.metrics["accuracy"] == same(1 - sk.hamming_loss(there, guesses, sample_weight=w), rel=1e-12)
    assert judged.metrics["exact"] == same(sk.accuracy_score(there, guesses, sample_weight=w), rel=1e-12)
    for name, average in (("micro_f1", "micro"), ("f1", "macro")):
        assert judged.metrics[name] == same(sk.f1_score(there, guesses, average=average, sample_weight=w), rel=1e-12)
    # The probabilities of a prediction are in float32, those that are ranked in float64: ties could differ.
    areas = [sk.average_precision_score(there[:, k], p[:, k], sample_weight=w) for k in range(3)]
    assert judged.metrics["average_precision"] == same(np.mean(areas), rel=1e-9)
    assert [row["average_precision"] for row in judged.per_class] == same(areas, rel=1e-9)
    assert [row["prevalence"] for row in judged.per_class] == same(list(w @ there / w.sum()), rel=1e-12)
    assert [row["examples"] for row in judged.per_class] == there.sum(0).tolist()
    outputs = run.outputs(inputs).double().numpy()
    losses = (np.logaddexp(0, outputs) - there * outputs).mean(1)
    assert judged.metrics["loss"] == same(w @ losses / w.sum(), rel=1e-5)
    assert judged.metrics["micro_f1"] > 0.85 and judged.confusion is None


def test_validation_is_weighted(run):
    part = run.split.validation
    inputs, targets = part.take(torch.arange(len(part)))
    outputs, w = run.outputs(inputs).double(), part.weights
    each = torch.nn.functional.binary_cross_entropy_with_logits(outputs, targets.double(), reduction="none").mean(1)
    best = min(row["validation_loss"] for row in run.rows)
    assert best == pytest.approx((w @ each / w.sum()).item(), rel=1e-5)
    row = min(run.rows, key=lambda row: row["validation_loss"])
    right = ((outputs >= 0) == (targets > 0.5)).double().mean(1)
    assert row["validation_accuracy"] == pytest.approx((w @ right / w.sum()).item(), rel=1e-6)


def test_predictions_name_the_labels(run, table):
    found = Run.load(run.folder).predict(table)
    assert found.classes == NAMES and found.values.shape == (180, 3)
    by_hand = ["; ".join(np.array(NAMES)[row >= 0.5]) or "none" for row in found.values.numpy()]
    assert found.labels == list(found.texts) == by_hand and "none" in by_hand and any(";" in text for text in by_hand)
    assert run.task.truth(torch.tensor([1.0, 0.0, 1.0])) == "rain; wind"


def test_the_report_lists_the_labels(run):
    run.evaluate()
    page, text = render(run.folder), render(run.folder, "md")
    assert "<h3>By label" in page and "test micro F1" in page and "prevalence" in page
    assert "| label | examples | prevalence | precision | recall | F1 | AP |" in text
    row = run.evaluate().per_class[0]
    shown = [f"{row[key]:.3f}" for key in ("prevalence", "precision", "recall", "f1", "average_precision")]
    assert f"| rain | {row['examples']} | {' | '.join(shown)} |" in text
    assert "grouped by 'house', weighted by 'survey', seed 0." in text
    said = "Scores weigh the examples by 'survey'; where examples are counted or drawn, each counts once."
    assert said in text and said.replace("'", "&#39;") in page.replace("&#x27;", "&#39;")
    assert "Accuracy is the mean over the labels." in page and "the labels → the guess, most confident first" in page
    assert "### By label" in text and "on 30 examples" in text  # no interval for weighted examples
    assert "--target weather" in text and "--read weight=survey" in text and "--read group=house" in text


def test_an_interrupted_run_goes_on_bit_for_bit(run, table, tmp_path):
    def stop(event):
        if event.step == 20:
            raise KeyboardInterrupt

    data = lamina.load(table, target="weather", drop=NAMES, weight="survey", group="house")
    net = lamina.build("fnn", inputs=3, outputs=3, hidden=(16,))
    recipe = Recipe(Adam(0.02), epochs=25, batch_size=16)
    try:
        fit(net, data, recipe, folder=tmp_path / "run", observers=(stop,))
    except KeyboardInterrupt:
        pass
    whole = resume(tmp_path / "run")
    assert whole.rows == run.rows
    text = table.read_text()
    try:
        table.write_text(text.replace(",3,", ",2,"))  # other weights, the same labels
        with pytest.raises(RunError, match="have changed since the run began"):
            Run.load(tmp_path / "run").evaluate()
    finally:
        table.write_text(text)


def test_columns_of_0_and_1_are_the_same_as_lists(table):
    lists = lamina.load(table, target="weather", drop=[*NAMES, "survey", "house"])
    columns = lamina.load(table, target="rain,snow,wind", drop=["weather", "survey", "house"])
    assert torch.equal(lists.targets, columns.targets) and lists.spec.classes == columns.spec.classes == NAMES


def test_several_numbers_are_predicted(table, tmp_path):
    data = lamina.load(table, target=["a", "b"], drop=[*NAMES, "weather"])
    assert data.spec.task == "regression" and data.spec.outputs == 2
    run = fit(lamina.build("fnn", inputs=3, outputs=2), data, Recipe(epochs=3), folder=tmp_path / "run")
    test = run.split.test._dataset
    inputs, targets = test.take(torch.arange(len(test)))
    values = run.predict(inputs).values.double()
    judged = run.evaluate().metrics
    errors = values - targets
    apart = errors / torch.tensor(run.preprocess.target_std, dtype=torch.float64)  # one error for both units
    assert judged["mse"] == pytest.approx(apart.square().mean().item(), rel=1e-5)
    assert judged["rmse a"] == pytest.approx(errors[:, 0].square().mean().sqrt().item(), rel=1e-5)
    assert judged["r2"] == pytest.approx(sk.r2_score(targets, values), rel=1e-5)
    assert "--target a,b" in render(run.folder, "md")


def test_a_perceptron_has_an_output_for_each_of_two_labels(table):
    data = lamina.load(table, target="rain,snow", drop=["weather", "survey", "house", "wind"])
    task = task_of(data)
    assert task.sizes("perceptron", {})["outputs"] == 2
    with pytest.raises(ShapeError, match="gives 1 outputs, but the data have 2 labels: build it with outputs=2"):
        task.objective(lamina.build("fnn", inputs=3, outputs=1), Recipe())


# Weights


def as_split(data):
    return Split(data, data, Sealed(data), "all")


def trained(data, recipe, outputs, preprocess):
    """Train from the same start, with the same preparation; return rows and weights."""
    from lamina.training.loop import Progress, drain

    net, at = lamina.build("fnn", inputs=2, outputs=outputs, hidden=(5,), seed=1), Progress()
    drain(train(net, task_of(as_split(data), preprocess=preprocess), recipe, at=at))
    return at.rows, at.best


@pytest.mark.parametrize("task", ("classification", "multilabel", "regression"))
@pytest.mark.parametrize("class_weights", (None, "balanced"))
def test_a_weight_of_n_trains_like_n_copies(task, class_weights):
    g = torch.Generator().manual_seed(2)
    inputs, times = torch.randn(12, 2, generator=g), torch.randint(4, (12,), generator=g)
    targets = torch.randint(3, (12,), generator=g) if task == "classification" else torch.rand(12, 3, generator=g)
    targets = (targets > 0.5).float() if task == "multilabel" else targets
    data = from_arrays(inputs, targets, task=task, weights=times)
    again = torch.arange(12).repeat_interleave(times)
    # the preparation is fitted to the rows, whatever they weigh
    plain = replace(data.spec, weight="")
    copies = ArrayDataset(data.inputs[again], data.targets[again], plain)
    recipe = Recipe(
        GD(0.5), epochs=20, precision="float64", class_weights=None if task == "regression" else class_weights
    )
    rows, weights = trained(data, recipe, data.spec.outputs, Preprocess.fit(data))
    expected, theirs = trained(copies, recipe, data.spec.outputs, replace(Preprocess.fit(data), spec=plain))
    for ours, other in zip(rows, expected, strict=True):
        assert {k: v for k, v in ours.items() if k != "gradients"} == pytest.approx(
            {k: v for k, v in other.items() if k != "gradients"}, rel=1e-6
        )  # weights are kept in float32
    for name, value in theirs.items():
        torch.testing.assert_close(weights[name], value, rtol=1e-5, atol=1e-7)


def test_single_examples_keep_their_weight():
    data = from_arrays(torch.eye(2), [1.0, -1.0], weights=[1, 0])
    recipe = Recipe(SGD(0.1), epochs=1, stopping=Stopping(max_steps=1))
    spec = replace(data.spec, weight="")
    first = trained(data, recipe, 1, Preprocess.fit(data))[0][0]["gradients"]
    half = trained(ArrayDataset(data.inputs, data.targets, spec), recipe, 1, replace(Preprocess.fit(data), spec=spec))[
        0
    ][0]["gradients"]
    factor = {round(first[name] / half[name], 5) for name in half}
    assert factor in ({2.0}, {0.0})  # the mean weight is 1


@pytest.mark.parametrize("target", ("p", "q"))
def test_weighted_test_metrics_are_those_of_scikit_learn(target, tmp_path):
    g = np.random.default_rng(0)
    drawn = zip(*g.normal(size=(2, 150)), g.random(150), g.normal(size=150), strict=True)
    rows = [f"{a:.3f},{b:.3f},{w:.2f},{'yn'[int(a + b + e > 0)]},{a - b + e:.3f}" for a, b, w, e in drawn]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,w,p,q", *rows]) + "\n")
    data = lamina.load(tmp_path / "t.csv", target=target, drop=["q" if target == "p" else "p"], weight="w")
    net = lamina.build("fnn", inputs=2, outputs=data.spec.outputs)
    run = fit(net, data, Recipe(Adam(0.01), epochs=3), folder=tmp_path / "run")
    test, judged = run.split.test._dataset, run.evaluate()
    inputs, targets = test.take(torch.arange(len(test)))
    values, w, same = run.predict(inputs).values.double(), test.weights.numpy(), pytest.approx
    if target == "q":
        y = values[:, 0]
        assert judged.metrics["mse"] == same(sk.mean_squared_error(targets, y, sample_weight=w), rel=1e-6)
        assert judged.metrics["mae"] == same(sk.mean_absolute_error(targets, y, sample_weight=w), rel=1e-6)
        assert judged.metrics["r2"] == same(sk.r2_score(targets, y, sample_weight=w), rel=1e-6)
        return
    guesses = values.argmax(1)
    assert judged.metrics["loss"] == same(sk.log_loss(targets, values / values.sum(1, True), sample_weight=w), rel=1e-5)
    assert judged.metrics["accuracy"] == same(sk.accuracy_score(targets, guesses, sample_weight=w), rel=1e-12)
    assert judged.metrics["f1"] == same(sk.f1_score(targets, guesses, average="macro", sample_weight=w), rel=1e-12)
    assert judged.metrics["auc"] == same(sk.roc_auc_score(targets, values[:, 1], sample_weight=w), rel=1e-9)
    assert [row["precision"] for row in judged.per_class] == same(
        sk.precision_score(targets, guesses, average=None, sample_weight=w).tolist(), rel=1e-12
    )
    assert judged.confusion == sk.confusion_matrix(targets, guesses).tolist()  # it counts examples


# Searches


def test_a_search_trains_labels_and_weights_as_one(table, tmp_path):
    data = lamina.load(table, target="weather", drop=[*NAMES, "house"], weight="survey")
    study = lamina.search("fnn", data, {"learning_rate": [1e-4, 0.02]}, epochs=6, folder=tmp_path / "study")
    assert study.best.values == {"learning_rate": 0.02} and study.metric == "validation_accuracy"
    assert study.test["metrics"]["micro_f1"] > 0.7
    with pytest.raises(ArgumentError, match="`label_noise` exchanges classes, got 0.1 for a multilabel task: leave it"):
        lamina.search("fnn", data, {"label_noise": [0.1]}, epochs=1, folder=tmp_path / "noise")
