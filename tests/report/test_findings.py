"""Tables: the texts of known numbers."""

import pytest
import scipy.stats

from lamina.report import _findings as findings
from lamina.report._record import read
from report.samples import EVALUATION, PREPROCESS, ROWS, SPEC, regression


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


def test_worst_mistakes_are_called_by_their_names(make):
    worst = [{"index": 7, "name": "cats/1.png", "label": "a", "guess": "b", "confidence": 0.5}]
    table = findings.worst(read(make(evaluation={**EVALUATION, "worst": worst})))
    assert table.rows == (("cats/1.png", "a", "b", "50.0%"),)


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


def test_names_and_texts_of_metrics():
    assert (findings.metric_name("f1"), findings.metric_name("relative_step")) == ("macro F1", "relative step")
    assert [findings.metric(key, 0.5) for key in ("accuracy", "loss", "learning_rate")] == ["50.0%", "0.5000", "0.5"]
    pairs = findings.confused_pairs(["cat", "dog"], [[8, 2], [1, 9]])
    assert pairs.rows == (("cat", "dog", "2", "20.0%"), ("dog", "cat", "1", "10.0%"))
