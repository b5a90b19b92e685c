"""Tables: the texts of known numbers."""

import math

import pytest
import scipy.stats
import torch

from lamina.report import _findings as findings
from lamina.report import _settings as settings
from lamina.report import _weights as weights
from lamina.report._record import Weight, read
from report.samples import CONFIG, EVALUATION, PREPROCESS, ROWS, SPEC, WEIGHTS, regression


def test_history_lists_every_check_and_marks_the_best(make):
    table = findings.history(read(make()))
    assert table.head == (
        "epoch",
        "step",
        "loss",
        "accuracy",
        "learning rate",
        "validation loss",
        "validation accuracy",
    )
    assert table.rows[1] == ("2 (best)", "14", "0.5000", "75.0%", "0.01", "0.4000", "80.0%")
    assert [row[0] for row in table.rows] == ["1", "2 (best)", "3"]


def test_a_long_history_keeps_first_best_and_last(make):
    rows = [{"epoch": i + 1, "step": i + 1, "loss": 1.0, "validation_loss": abs(i - 501)} for i in range(1000)]
    table = findings.history(read(make(rows=rows, status={"state": "running"})))
    numbers = [row[0] for row in table.rows]
    assert len(numbers) <= 32 and numbers[0] == "1" and numbers[-1] == "1,000" and "502 (best)" in numbers


def test_nothing_measured_is_a_dash(make):
    table = findings.history(read(make(rows=[{"epoch": 1, "step": 1, "loss": None}])))
    assert table.rows == (("1", "1", "–"),)


def test_confusion_has_totals_of_rows_and_columns(make):
    table = findings.confusion(read(make()))
    assert table.head == ("class", "setosa", "versicolor", "virginica", "total")
    assert table.rows == (
        ("setosa", "7", "0", "0", "7"),
        ("versicolor", "0", "6", "1", "7"),
        ("virginica", "0", "2", "4", "6"),
        ("total", "7", "8", "5", "20"),
    )


def many_classes(count):
    counts = [[9 if i == j else 0 for j in range(count)] for i in range(count)]
    counts[3][4], counts[7][1], counts[2][0] = 5, 1, 5
    names = [f"c{i}" for i in range(count)]
    spec = {**SPEC, "classes": names, "outputs": count}
    scores = [
        {"class": n, "examples": 9, "precision": 1.0, "recall": 1.0, "f1": i / count} for i, n in enumerate(names)
    ]
    evaluation = {**EVALUATION, "confusion": counts, "per_class": scores[::-1]}
    return {"preprocess": {**PREPROCESS, "spec": spec}, "evaluation": evaluation}


def test_very_many_classes_show_the_most_confused_pairs_and_the_weakest_first(make):
    record = read(make(**many_classes(26)))
    table = findings.confusion(record)
    assert table.rows == (("c2", "c0", "5", "35.7%"), ("c3", "c4", "5", "35.7%"), ("c7", "c1", "1", "10.0%"))
    assert [row[0] for row in findings.per_class(record).rows][:2] == ["c0", "c1"]
    assert len(findings.confusion(read(make(**many_classes(25)))).rows) == 26


def test_per_class_scores(make):
    table = findings.per_class(read(make()))
    assert table.rows[1] == ("versicolor", "7", "0.750", "0.857", "0.800")
    assert table.bars[2] == (4, (1.0, 0.8, 8 / 11))


def test_worst_mistakes_with_their_values(make):
    table = findings.worst(read(make()))
    assert table.head == ("example", "is", "taken for", "sure", "a", "b")
    assert table.rows[0] == ("3", "virginica", "versicolor", "91.0%", "6.1", "–")
    table = findings.worst(read(make(**regression())))
    assert table.rows == (("2", "2", "1.5", "-0.5", "1"),)


def test_worst_mistakes_in_words_stand_at_the_left(make):
    worst = [{"index": 0, "label": "a", "guess": "b", "confidence": 0.5, "values": {"color": "red", "size": 2.0}}]
    table = findings.worst(read(make(evaluation={**EVALUATION, "worst": worst})))
    assert table.rows[0][4:] == ("red", "2") and table.right == (0, 3, 5)


def test_calibration_and_gradients(make):
    rows = [{**row, "gradients": {"first": 10.0**-i, "last": None}} for i, row in enumerate(ROWS)]
    record = read(make(rows=rows))
    assert findings.calibration(record).rows == (("50.0%", "25.0%", "4"), ("90.0%", "100%", "16"))
    assert findings.gradients(record).head == ("layer", "epoch 1", "epoch 2", "epoch 3")
    assert findings.gradients(record).rows == (("first", "1", "0.1", "0.01"), ("last", "–", "–", "–"))
    assert findings.gradients(read(make())) is None


@pytest.mark.parametrize(("right", "examples"), [(85, 100), (20, 20), (0, 3), (7, 9)])
def test_interval_agrees_with_scipy(right, examples):
    known = scipy.stats.binomtest(right, examples).proportion_ci(method="wilson")
    assert findings.wilson(right / examples, examples) == pytest.approx((known.low, known.high), abs=1e-12)


def test_weights_table_has_shares_and_a_total(make):
    table = weights.table(read(make()).weights)
    assert table.head == ("name", "shape", "count", "norm", "share")
    assert table.rows[0] == ("layers.0.affine.weight", "5×4", "20", "2.236", "46.5%")
    assert table.rows[3] == ("layers.1.affine.bias", "3", "3", "5", "7.0%")
    assert table.rows[-1] == ("total", "", "43", "6.708", "100%")  # sqrt(5 + 15 + 25)
    assert len(table.rows) == len(WEIGHTS) + 1


def test_weights_of_a_deep_network_are_joined_by_part():
    tensors = [Weight(f"layer{i}.{j}.weight", (2, 3), 6, 3.0) for i in range(3) for j in range(30)]
    tensors.append(Weight("fc.weight", (4,), 4, 1.0))
    table = weights.table(tensors)
    assert table.rows[0] == ("layer0", "several", "180", number(math.sqrt(30 * 9)), "33.1%")
    assert table.rows[-2] == ("fc.weight", "4", "4", "1", "0.7%") and table.rows[-1][2] == "544"
    assert len(weights.table(tensors, limit=None).rows) == 92


def number(value):
    return f"{value:.4g}"


def test_recipe_under_its_flat_names(make):
    rows = dict(settings.recipe(read(make())).rows)
    assert rows["optimizer"] == "adam" and rows["learning_rate"] == "0.01" and rows["eps"] == "1e-08"
    assert rows["penalty"] == "0" and rows["penalty_norm"] == "2" and rows["epochs"] == "3"


def test_network_of_the_users(make):
    config = {**CONFIG, "architecture": {"network": "custom", "code": "MyNet"}}
    assert settings.architecture(read(make(config=config))).rows == (("network", "MyNet"),)


def test_preprocessing_of_a_table(make):
    record = read(make())
    rows = dict(settings.preprocess(record).rows)
    assert rows == {"examples": "table", "stored shape": "4", "prepared shape": "4"}
    assert settings.columns(record).rows[3] == ("d", "number", "1.2", "0.7", "filled and marked")


def test_columns_with_categories(make):
    levels = [f"l{i}" for i in range(12)]
    spec = {**SPEC, "levels": [[], levels, [], []]}
    fitted = {**PREPROCESS, "spec": spec, "seen": [[], list(range(11)), [], []], "mean": [1, 2, 3], "std": [1, 1, 1]}
    rows = settings.columns(read(make(preprocess=fitted))).rows
    assert rows[1][1] == "category: l0, l1, l2, l3, l4, l5, l6, l7 and 3 more" and rows[2][2] == "2"


def test_preprocessing_of_pictures_and_real_targets(make):
    spec = {**SPEC, "kind": "image", "inputs": [3, 40, 30], "features": [], "levels": [], "notes": ["from /a/b/photos"]}
    fitted = {**PREPROCESS, "spec": spec, "inputs": [3, 32, 32], "kept": [3, 32, 32], "resize": "crop"}
    fitted |= {"mean": [0.1, 0.2, 0.3], "std": [1.0, 2.0, 3.0], "seen": [], "missing": []}
    rows = settings.preprocess(read(make(preprocess=fitted))).rows
    assert (
        ("resizing", "middle cut out") in rows and ("mean", "0.1, 0.2, 0.3") in rows and ("note", "from photos") in rows
    )
    rows = settings.preprocess(read(make(**regression()))).rows
    assert ("target mean", "1.75") in rows and ("target standard deviation", "1.5") in rows


def test_preprocessing_of_long_vectors(make):
    spec = {**SPEC, "kind": "vector", "task": "structured", "classes": [], "inputs": [6], "features": [], "levels": []}
    spec |= {"target_shape": [5], "outputs": 5}
    fitted = {**PREPROCESS, "spec": spec, "inputs": [6], "kept": [6], "mean": [0.0] * 6, "std": [1.0] * 6}
    fitted |= {"target_mean": [0.0] * 5, "target_std": [1.0] * 5, "seen": [], "missing": []}
    rows = dict(settings.preprocess(read(make(preprocess=fitted, evaluation=None))).rows)
    assert rows["standardized"] == "each of 6 components" and rows["target mean"] == "5 numbers"


def test_environment_tells_time_and_date(make):
    rows = dict(settings.environment(read(make())).rows)
    assert rows["training time"] == "3.2 s" and rows["last check"] == "2023-11-14 22:13 UTC" and rows["threads"] == "2"
    assert settings.environment(read(make(environment=None, timings=None))) is None


def test_infinite_weights_do_not_hurt(make):
    table = weights.table(read(make(weights={"w": torch.tensor([math.inf, 1.0])})).weights)
    assert table.rows[0] == ("w", "2", "2", "–", "100%")
