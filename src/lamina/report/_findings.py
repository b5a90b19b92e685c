"""What was found, as tables of plain texts that the page and the Markdown file share."""

import math
from collections.abc import Sequence
from typing import Any

from lamina._tables import Table
from lamina.report._formatting import finite, number, percent
from lamina.report._record import Record

CLASSES = 25
"""The most classes for which the confusion matrix is readable; beyond that, the most confused pairs say more."""
_METRICS = {
    "loss": "loss",
    "accuracy": "accuracy",
    "f1": "macro F1",
    "micro_f1": "micro F1",
    "average_precision": "mean average precision",
    "auc": "AUC",
    "mse": "MSE",
    "mae": "mean |error|",
    "r2": "R²",
    "token_accuracy": "words right",
    "exact": "exactly right",
    "perplexity": "perplexity",
    "bleu": "BLEU",
    "chrf": "chrF",
    "rmse": "RMSE",
    "mase": "MASE",
    "naive_mae": "mean |error| of the naive forecast",
}
COLUMNS = 20
"""The number of columns whose importance is shown."""
WORST = 12
"""The number of worst mistakes that are listed as rows; as pictures, all are shown."""


def metric_name(key: str) -> str:
    """Name a metric for people."""
    return _METRICS.get(key, key.replace("_", " "))


def metric(key: str, value: Any) -> str:
    """Write a metric: shares of right answers in percent, everything else as a number."""
    if key == "r2" and finite(value) is not None:
        value = round(float(value), 4)  # what is smaller is 0
    return percent(value) if key in ("accuracy", "token_accuracy", "exact") else number(value, padded=key in _METRICS)


def wilson(share: float, examples: int) -> tuple[float, float]:
    """Give the 95% interval of Wilson for a share that was found on so many independent examples."""
    z = 1.959963984540054
    center = share + z * z / (2 * examples)
    spread = z * math.sqrt(share * (1 - share) / examples + z * z / (4 * examples**2))
    scale = 1 + z * z / examples
    return max(0.0, (center - spread) / scale), min(1.0, (center + spread) / scale)


def history(record: Record, limit: int = 30) -> Table:
    """List the checks; a long history is thinned, but keeps its first, best and last."""
    rows = record.rows
    names = [n for n in dict.fromkeys(key for row in rows for key in row) if n not in ("epoch", "step", "gradients")]
    every = math.ceil(len(rows) / limit)
    best = record.best
    chosen = [i for i in range(len(rows)) if i % every == 0 or i in (best, len(rows) - 1)]
    texts = [
        (
            number(rows[i].get("epoch")) + (" (best)" if i == best else ""),
            number(rows[i].get("step")),
            *(metric(n.removeprefix("validation_"), rows[i].get(n)) for n in names),
        )
        for i in chosen
    ]
    head = ("epoch", "step", *(n.replace("_", " ") for n in names))
    return Table(head, tuple(texts), tuple(range(len(head))))


def classes(record: Record) -> list[str]:
    """Name the classes in the order of their labels."""
    if record.preprocess is not None and record.preprocess["spec"].get("classes"):
        return [str(name) for name in record.preprocess["spec"]["classes"]]
    evaluation = record.evaluation or {}
    return [str(row["class"]) for row in evaluation.get("per_class") or []]


def matrix(record: Record) -> tuple[list[str], list[list[int]]] | None:
    """Give the names of the classes and the confusion counts; None when there are none."""
    counts = (record.evaluation or {}).get("confusion")
    if not counts:
        return None
    names = classes(record)
    if any(len(row) != len(counts) for row in counts) or len(names) != len(counts):
        raise ValueError("the confusion matrix does not fit the classes")
    return names, [[int(n) for n in row] for row in counts]


def confusion(record: Record) -> Table | None:
    """Lay out the confusion matrix with totals, or the most confused pairs of very many classes."""
    found = matrix(record)
    if found is None:
        return None
    names, counts = found
    if len(names) > CLASSES:
        return confused_pairs(names, counts)
    head = ("class", *names, "total")
    rows = [(name, *map(number, row), number(sum(row))) for name, row in zip(names, counts, strict=True)]
    columns = [sum(column) for column in zip(*counts, strict=True)]
    rows.append(("total", *map(number, columns), number(sum(columns))))
    return Table(head, tuple(rows), tuple(range(1, len(head))))


def confused_pairs(names: Sequence[str], counts: Sequence[Sequence[int]], limit: int = 20) -> Table:
    """List the pairs of classes that were confused most often."""
    pairs = [(n, i, j) for i, row in enumerate(counts) for j, n in enumerate(row) if i != j and n]
    pairs.sort(key=lambda pair: (-pair[0], pair[1], pair[2]))
    rows = [(names[i], names[j], number(n), percent(n / sum(counts[i]))) for n, i, j in pairs[:limit]]
    return Table(("class", "taken for", "times", "of its examples"), tuple(rows), (2, 3))


def per_class(record: Record) -> Table | None:
    """List precision, recall and F1 of each class, of labels also prevalence and AP; the weakest of many first."""
    rows = (record.evaluation or {}).get("per_class")
    if not rows:
        return None
    if len(rows) > CLASSES:
        rows = sorted(rows, key=lambda row: float(row["f1"]))
    shown = {"prevalence": "prevalence", "precision": "precision", "recall": "recall", "f1": "F1"}
    shown = {key: name for key, name in {**shown, "average_precision": "AP"}.items() if key in rows[0]}
    values = [[finite(row[key]) for key in shown] for row in rows]
    texts = tuple(
        (str(row["class"]), number(int(row["examples"])), *("–" if v is None else f"{v:.3f}" for v in found))
        for row, found in zip(rows, values, strict=True)
    )
    bars = tuple((j, tuple(v or 0.0 for v in column)) for j, column in enumerate(zip(*values, strict=True), 2))
    first = "label" if "prevalence" in shown else "class"
    head = (first, "examples", *shown.values())
    return Table(head, texts, tuple(range(1, len(head))), (), bars)


def strongest(found: Sequence[dict[str, Any]], *keys: str) -> str:
    """Say what the strongest baseline is and what it reaches, in the first of these metrics that it has."""
    values = found[0]["metrics"]
    name = next((key for key in (*keys, "accuracy", "rmse", "perplexity") if key in values), "loss")
    return f"The baseline is {found[0]['name']}: {metric_name(name)} {metric(name, values.get(name))}."


def baselines(record: Record) -> Table | None:
    """List what the network and the baselines reach on the test split, in the metrics that they share."""
    evaluation = record.evaluation or {}
    found = evaluation.get("baselines")
    if not found:
        return None
    names = [name for name in found[0]["metrics"] if name not in ("loss", "mse")]
    answers = [("the network", evaluation["metrics"]), *((str(each["name"]), each["metrics"]) for each in found)]
    rows = tuple((words, *(metric(name, values.get(name)) for name in names)) for words, values in answers)
    return Table(("answer", *map(metric_name, names)), rows, tuple(range(1, len(names) + 1)))


def worst(record: Record) -> Table | None:
    """List the worst mistakes: what was wanted, what was given, and the example's values where it has names."""
    rows = (record.evaluation or {}).get("worst")
    if not rows:
        return None
    rows = rows[:WORST]
    if "text" in rows[0]:
        told = [(number(r["index"]), *(str(r[key]) for key in ("text", "target", "output"))) for r in rows]
        return Table(("example", "text", "wanted", "written"), tuple(told), (0,))
    known = [row.get("values") or {} for row in rows]
    names = list(dict.fromkeys(name for values in known for name in values))
    head: tuple[str, ...]
    right: tuple[int, ...]
    texts: list[tuple[str, ...]]
    if isinstance(rows[0].get("output"), str):
        head, right = ("wanted", "written"), (0,)
        texts = [(str(r["target"]), str(r["output"])) for r in rows]
    else:
        if record.classifies:
            head, right = ("is", "taken for", "sure"), (0, 3)
            texts = [(str(r["label"]), str(r["guess"]), percent(r["confidence"])) for r in rows]
        else:
            head, right = ("target", "prediction", "error"), (0, 1, 2, 3)
            pairs = [(r["target"], r["output"]) for r in rows]
            texts = [(number(target), number(output), number(_minus(output, target))) for target, output in pairs]
        numeric = (4 + j for j, n in enumerate(names) if not any(isinstance(v.get(n), str) for v in known))
        right = (*right, *numeric)
    joined = tuple(
        (str(row.get("name") or number(row["index"])), *text, *(_cell(values.get(name)) for name in names))
        for row, text, values in zip(rows, texts, known, strict=True)
    )
    return Table(("example", *head, *names), joined, right)


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else number(value)


def _minus(a: Any, b: Any) -> float | None:
    left, right = finite(a), finite(b)
    return None if left is None or right is None else left - right


def calibration(record: Record) -> Table | None:
    """List confidence and accuracy of the bins of the calibration diagram."""
    found = (record.evaluation or {}).get("calibration")
    if not found:
        return None
    bins = zip(found["confidence"], found["accuracy"], found["count"], strict=True)
    rows = tuple((percent(p), percent(a), number(int(n))) for p, a, n in bins)
    return Table(("mean confidence", "right", "examples"), rows, (0, 1, 2))


def importance(record: Record) -> tuple[list[tuple[str, float, float]], str, str] | None:
    """Give name, mean and spread of the most important columns, what is measured, and how to read it."""
    found = (record.evaluation or {}).get("importance")
    if not found or not found["columns"]:
        return None
    rows = [(str(row["column"]), float(row["mean"]), float(row["spread"])) for row in found["columns"]]
    label = "drop in accuracy" if found["metric"] == "accuracy" else f"rise in {metric_name(found['metric'])}"
    first = f" The {COLUMNS} most important of {number(len(rows))} columns are shown." if len(rows) > COLUMNS else ""
    words = (
        f"The {label} when one column is shuffled among {number(int(found['examples']))} test examples: mean and "
        f"standard deviation over {number(int(found['repeats']))} shuffles.{first} Columns that carry the same "
        "information can replace each other, so each of them looks less important than they are together."
    )
    return rows[:COLUMNS], label, words


def importances(record: Record) -> Table | None:
    """List the importance of the columns with its spread."""
    found = importance(record)
    if found is None:
        return None
    rows = tuple((name, number(mean, 3), number(spread, 3)) for name, mean, spread in found[0])
    return Table(("column", found[1], "spread"), rows, (1, 2))


def coverage(record: Record) -> str:
    """Say how often intervals or sets of classes held the truth, and how large they are; "" where there are none."""
    evaluation = record.evaluation or {}
    found = evaluation.get("conformal")
    if not found:
        return ""
    share, size = (sum(found[key]) / len(found[key]) for key in ("measured", "size"))
    examples = int(evaluation["examples"])
    low, high = wilson(share, examples)
    sure = f" (95% interval {percent(low)} to {percent(high)})" if len(found["measured"]) == 1 else " on average"
    if record.classifies:
        what, large = "Sets of classes", f"They have {number(size, 3)} classes on average."
    else:
        what, large = "Intervals", f"They reach {number(size / 2, 3)} to each side of a prediction."
    return (
        f"{what} that are to hold the truth for {percent(found['asked'])} of new examples held it for "
        f"{percent(share)} of the {number(examples)} test examples{sure}. {large} They were calibrated on "
        f"{number(int(found['examples']))} validation examples, which also chose the epoch. The option --coverage of "
        "lamina predict gives them for new examples."
    )


def gradients(record: Record) -> Table | None:
    """List the norm of the gradient in each layer at the first, best and last check."""
    rows = record.rows
    chosen = list(dict.fromkeys((0, len(rows) - 1 if record.best is None else record.best, len(rows) - 1)))
    names = list(dict.fromkeys(str(name) for i in chosen for name in rows[i].get("gradients") or {}))
    if not names:
        return None
    axis, clock = record.clock
    texts = [(name, *(number((rows[i].get("gradients") or {}).get(name)) for i in chosen)) for name in names]
    return Table(("layer", *(f"{axis} {number(clock[i])}" for i in chosen)), tuple(texts), (1, 2, 3), (0,))
