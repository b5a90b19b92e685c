"""The report of a cross-validation as one HTML file that needs nothing else."""

from pathlib import Path

from lamina._markup import Markup, join, tag
from lamina._tables import Table
from lamina.report import _figures as figures
from lamina.report._blocks import card, document, section
from lamina.report._checks import blame
from lamina.report._findings import metric, metric_name
from lamina.report._formatting import base_name, duration, number
from lamina.training.cross_validation import FILE, CrossValidation, Fold, stored


def cross_validation_page(folder: Path) -> str:
    """Write the whole page."""
    with blame(folder / FILE):
        record = stored(folder) or {}
        settings = record["settings"]
        rows = tuple(Fold(**{**row, "examples": tuple(row["examples"])}) for row in record["folds"])
        found = CrossValidation(rows, record["metric"], settings["k"] * settings["repeats"])
        data = base_name(str(settings.get("data", "data")))
        title = f"{settings.get('architecture', 'A network')} on {data}"
        sections = [_header(found, title, settings["k"], settings["repeats"]), _folds(found)]
    written = f"Lamina wrote this report from the files of {folder.name} alone."
    return document(f"{title}, cross-validated", ["style.css"], sections, written)


def _header(found: CrossValidation, title: str, k: int, repeats: int) -> Markup:
    key = found.metric
    parts = f"{k} folds" + (f", divided {repeats} times" if repeats > 1 else "")
    what = tag(
        "div",
        tag("p", "Cross-validation", class_="eyebrow"),
        tag("h1", title),
        tag(
            "p",
            f"{parts}. Each fold is judged by a network that was neither trained nor stopped with it.",
            class_="lead",
        ),
    )
    if not found.folds:
        return tag("header", what, class_="hero")
    facts = [("standard deviation over folds", metric(key, found.spread))]
    for name in found.folds[0].baseline:
        if name != "mse":
            facts.append((f"baseline {metric_name(name)}", metric(name, found.of(name, "baseline")[0])))
    facts.append(("time", duration(sum(fold.seconds for fold in found.folds))))
    score = tag(
        "div",
        tag("span", metric(key, found.mean), class_="value"),
        tag("span", f"mean {metric_name(key)}", class_="label"),
        tag("span", f"over {len(found.folds)} folds", class_="sure"),
        tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts], class_="facts"),
        class_="score card",
    )
    words = "The folds share training examples, so their spread says how much results vary, not how sure the mean is."
    if len(found.folds) < found.total:
        words = f"Only {len(found.folds)} of {found.total} folds are finished: the same command continues. {words}"
    return join([tag("header", what, score, class_="hero"), tag("div", tag("p", words, class_="say"), class_="said")])


def _name(fold: Fold, found: CrossValidation) -> str:
    return f"{fold.repeat}.{fold.fold}" if found.folds[-1].repeat > 1 else str(fold.fold)


def _folds(found: CrossValidation) -> Markup | None:
    if not found.folds:
        return None
    names = [name for name in found.folds[0].metrics if name != "mse"]
    head = ("fold", "training", "validation", "test", "epoch", *map(metric_name, names))
    rows = [
        (
            _name(fold, found),
            *map(number, (*fold.examples, fold.epoch)),
            *(metric(name, fold.metrics[name]) for name in names),
        )
        for fold in found.folds
    ]
    rows.append(("mean", "", "", "", "", *(metric(name, found.of(name)[0]) for name in names)))
    rows.append(("spread", "", "", "", "", *(metric(name, found.of(name)[1]) for name in names)))
    table = Table(head, tuple(rows), range(1, len(head)))
    bars = [(_name(fold, found), fold.metrics[found.metric], 0.0) for fold in found.folds]
    drawing = figures.bars(bars, "score of each fold", metric_name(found.metric))
    return section(
        "The folds", card("Scores", drawing, figure=True), tag("div", table.html(), class_="card long below")
    )
