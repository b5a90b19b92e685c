"""The part of a page that shows what a network gets right and wrong on the test split."""

import re
from typing import Any

from lamina._markup import Markup, tag
from lamina._tables import Table
from lamina.report import _figures as figures
from lamina.report import _findings as findings
from lamina.report._blocks import FEW, below, card, confusion_matrix, folded, section
from lamina.report._formatting import finite, number, percent
from lamina.report._record import Record

_PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")
BESIDE = 12
"""The largest number of classes for which the confusion matrix leaves room for a figure beside it."""


def results(record: Record) -> Markup | None:
    """Show confusion, scores by class and calibration, or predictions and errors; then the worst mistakes."""
    if record.evaluation is None:
        return None
    parts = _classes(record) if record.classifies else [*_numbers(record), below(_baselines(record))]
    words = weighing(record)
    about = tag("p", words, class_="small") if words else None
    said = findings.coverage(record)
    sure = below(card("Coverage", tag("p", said, class_="small"))) if said else None
    return section("On the test split", about, *parts, _importance(record), sure, _worst(record))


def weighing(record: Record) -> str:
    """Say which numbers are weighted, where examples have weights."""
    if not record.weight:
        return ""
    return f"Scores weigh the examples by {record.weight!r}; where examples are counted or drawn, each counts once."


def _importance(record: Record) -> Markup | None:
    found = findings.importance(record)
    if found is None:
        return None
    rows, label, words = found
    drawing = figures.bars(rows, "importance of the columns", label)
    return below(card("Importance of the columns", drawing, tag("figcaption", words), figure=True))


def _baselines(record: Record) -> Markup | None:
    """Compare the network with answers that need no look at the inputs."""
    table = findings.baselines(record)
    if table is None:
        return None
    words = tag("p", record.verdict, class_="small")
    return card("Against the baseline", table.html(), words, more=record.unit)


def _classes(record: Record) -> list[Markup | None]:
    matrix, scores, calibrated = findings.matrix(record), findings.per_class(record), _calibration(record)
    guesses = None
    if matrix is not None and len(matrix[0]) <= findings.CLASSES:
        guesses = card("Confusion", confusion_matrix(*matrix), more="rows: the class; columns: the guess")
    elif matrix is not None:
        guesses = card("Most confused classes", findings.confused_pairs(*matrix).html())
    by_class, compared = None if scores is None else _by_class(scores), _baselines(record)
    if matrix is not None and BESIDE < len(matrix[0]) <= findings.CLASSES:
        beside = tag("div", calibrated, compared, class_="stack")
        return [guesses, tag("div", by_class, beside, class_="grid wide below")]
    if guesses is None and calibrated is None:
        return [below(by_class), below(compared)]
    few = matrix is None or len(matrix[0]) <= FEW  # then both columns are of about one height without it
    columns = (guesses, by_class), (calibrated, None if few else compared)
    both = tag("div", [tag("div", *parts, class_="stack") for parts in columns], class_="grid wide")
    return [both, below(compared) if few else None]


def _by_class(scores: Table) -> Markup:
    if len(scores.rows) <= findings.CLASSES:
        return card(f"By {scores.head[0]}", scores.html(), kind="card long")
    shown, every = (
        scores.first(findings.CLASSES).html(),
        folded(f"All {len(scores.rows)} classes", scores.html()),
    )
    return card("By class", shown, every, more=f"the {findings.CLASSES} weakest", kind="card long")


def _calibration(record: Record) -> Markup | None:
    found = (record.evaluation or {}).get("calibration")
    if not found:
        return None
    drawing = figures.calibration(found["confidence"], found["accuracy"], found["count"])
    words = (
        f"Expected calibration error {percent(found['error'])}. On the dashed line, the network is right as often as "
        "it is confident; below the line it is overconfident, above it underconfident. Circles grow with the number of "
        "examples."
    )
    return card("Calibration", drawing, tag("figcaption", words), figure=True)


def _numbers(record: Record) -> list[Markup | None]:
    stored = (record.evaluation or {}).get("predictions") or []
    pairs = [(t, y) for a, b in stored if (t := finite(a)) is not None and (y := finite(b)) is not None]
    if not pairs:
        return []
    words = f"{number(len(pairs))} examples"
    words += f", at most {number(figures.DOTS)} of them drawn" if len(pairs) > figures.DOTS else ""
    if len(pairs) < len(stored):
        words += f"; {number(len(stored) - len(pairs))} without a finite value are left out"
    several = record.preprocess is not None and record.preprocess["spec"]["outputs"] > 1
    target = str((record.evaluation or {}).get("unit") or "")
    unit = f" ({target})" if target and not several else ""
    errors = [y - t for t, y in pairs]
    mean = f"Mean error {number(sum(errors) / len(errors), 3)}; a mean far from 0 is a bias."
    left = card(
        "Predictions against targets",
        figures.scatter(pairs, unit),
        tag("figcaption", f"{words}. On the dashed line, predictions are exact."),
        more="first output" if several else "",
        figure=True,
    )
    right = card("Errors", figures.histogram(errors, unit), tag("figcaption", mean), figure=True)
    return [_forecast(record, target, several), tag("div", left, right, class_="grid below")]


def _forecast(record: Record, target: str, several: bool) -> Markup | None:
    """Draw the test stretch of a series whose moments have names."""
    found = record.evaluation or {}
    moments, stored = found.get("moments"), found.get("predictions") or []
    if not moments or len(moments) != len(stored):
        return None
    pairs = [(finite(a), finite(b)) for a, b in stored]
    drawing = figures.forecast([str(moment) for moment in moments], pairs, target.split(", ")[0])
    colors = ("train", "what came"), ("valid", "forecast")
    key = tag("ul", [tag("li", tag("i", "", class_=kind), name) for kind, name in colors], class_="key")
    span = f"{moments[-figures.DOTS :][0]} to {moments[-1]}"
    words = "Every forecast is made from what was known just before it."
    if several:
        words = "Every forecast is the first of those made from what was known just before it."
    shown = tag("div", drawing, class_="scroll"), key, tag("figcaption", words)
    return card("Forecasts over the test stretch", *shown, more=span, figure=True)


def _worst(record: Record) -> Markup | None:
    rows, table = (record.evaluation or {}).get("worst"), findings.worst(record)
    if not rows or table is None:
        right = record.classifies and rows is not None
        return tag("p", "There are no mistakes on the test split.", class_="small") if right else None
    sure = "largest errors first"
    if record.classifies:
        what = "class" if record.headline == "accuracy" else "labels"
        sure = f"the {what} → the guess, most confident first"
    elif isinstance(rows[0].get("output"), str):
        sure = "most confident first"
    if all(_PICTURE.fullmatch(str(row.get("picture", ""))) for row in rows):
        kind = "mistakes named" if any(row.get("name") for row in rows) else "mistakes"
        shown = tag("div", [_mistake(record, row) for row in rows], class_=kind)
        sure += "; below, in red, what speaks for the guess" if any(row.get("why") for row in rows) else ""
    else:
        shown = table.html()
    return below(card("Worst mistakes", shown, more=sure))


def _mistake(record: Record, row: dict[str, Any]) -> Markup:
    if record.classifies:
        label, guess = str(row["label"]), str(row["guess"])
        alt = f"{label} taken for {guess}"
        sure = percent(row["confidence"])
        words = [tag("b", label), " → ", tag("span", guess, class_="wrong"), tag("br"), sure]
    elif isinstance(row["output"], str):
        alt = f"{row['target']}, written {row['output']}"
        words = [tag("b", str(row["target"])), " → ", tag("span", str(row["output"]), class_="wrong")]
    else:
        alt = f"target {number(row['target'])}, prediction {number(row['output'])}"
        words = [alt]
    if row.get("name"):
        words.append(tag("span", str(row["name"]), class_="name"))
    pictures = [tag("img", src=row["picture"], alt=alt)]
    if _PICTURE.fullmatch(str(row.get("why", ""))):
        pictures.append(tag("img", src=row["why"], alt=f"in red what speaks for {row['guess']}", class_="why"))
    return tag("figure", pictures, tag("figcaption", words))
