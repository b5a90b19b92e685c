"""The report as one HTML file that needs nothing else: no network, no script, no other file."""

from collections.abc import Sequence
from colorsys import hls_to_rgb
from typing import Any

from lamina._markup import Markup, join, tag
from lamina._tables import Table
from lamina.report import _commands as commands
from lamina.report import _figures as figures
from lamina.report import _findings as findings
from lamina.report import _settings as settings
from lamina.report import _story as story
from lamina.report import _weights as weights
from lamina.report._blocks import below, card, command, document, folded, section
from lamina.report._checks import blame
from lamina.report._figures import Line
from lamina.report._findings import metric
from lamina.report._formatting import finite, number
from lamina.report._network import network
from lamina.report._record import Record
from lamina.report._results import results

_LISTED = 24


def page(record: Record) -> str:
    """Write the whole page."""
    parts = [
        ("config.toml", header),
        ("history.jsonl", curves),
        ("evaluation.json", results),
        ("history.jsonl", gradients),
        ("weights.safetensors", network),
        ("weights.safetensors", parameters),
        ("config.toml", making),
        ("config.toml", again),
    ]
    sections = []
    for file, make in parts:
        with blame(record.path / file):
            sections.append(make(record))
    version = (record.environment or {}).get("lamina")
    written = f"Lamina{f' {version}' if version else ''} wrote this report from the files of {record.name} alone."
    return document(story.title(record), ["style.css"], sections, written)


def header(record: Record) -> Markup:
    """Say what was trained on what, how well it does, and how it ended."""
    first = story.headline(record)
    facts = [tag("div", tag("dt", name), tag("dd", value)) for name, value in story.facts(record)]
    score = tag(
        "div",
        tag("span", first.value, class_="value bad" if first.bad else "value"),
        tag("span", first.label, class_="label"),
        tag("span", first.note, class_="sure"),
        tag("dl", facts, class_="facts") if facts else None,
        class_="score card",
    )
    what = tag(
        "div",
        tag("p", "Run ", tag("code", record.name), class_="eyebrow"),
        tag("h1", story.title(record)),
        tag("p", story.subject(record), class_="lead"),
        tag("p", story.note(record), class_="lead"),
        _split(record),
    )
    end = story.ending(record)
    words: list[Any] = [tag("strong", end.point), " ", end.sentence]
    words += [" Continue with ", tag("code", end.command)] if end.command else []
    ended = tag("p", words, class_=f"say {end.kind}")
    opened = tag("p", story.opening(record), class_="say warn" if story.reopened(record) else "say")
    return join([tag("header", what, score, class_="hero"), tag("div", ended, opened, _against(record), class_="said")])


def _against(record: Record) -> Markup | None:
    """Say whether the network beats the baseline, and what that is."""
    if not record.verdict:
        return None
    words = findings.strongest((record.evaluation or {})["baselines"], record.metric, record.headline)
    line = tag("p", tag("strong", record.verdict), f" {words}", class_="say" if record.beaten else "say warn")
    if not record.simpler:
        return line
    command = commands.spell(commands.linear(record))
    more = [" Train one with ", tag("code", command)] if command else []
    return join([line, tag("p", tag("strong", record.simpler), more, class_="say warn")])


def _split(record: Record) -> Markup | None:
    if record.examples is None:
        return None
    parts = list(zip(("train", "valid", "test"), ("training", "validation", "test"), record.examples, strict=True))
    bar = tag("div", [tag("i", "", class_=kind, style=f"--n:{n}") for kind, _, n in parts if n], class_="split")
    words = [tag("li", tag("i", "", class_=kind), name, " ", tag("b", number(n))) for kind, name, n in parts]
    return join([bar, tag("ul", words, class_="key")])


def curves(record: Record) -> Markup | None:
    """Draw loss, score and learning rate over the checks."""
    if not record.rows:
        return None
    axis, xs = record.clock
    best = None if record.best is None else xs[record.best]
    score, titles = (
        record.metric,
        {
            "accuracy": "Accuracy",
            "rmse": "Root mean squared error" + (f", {record.unit}" if record.unit else ""),
            "mse": "Mean squared error",
            "token_accuracy": "Words right",
        },
    )
    drawn = [
        _curve(record, "Loss", {"loss": "training", "validation_loss": "validation"}, best),
        _curve(record, titles[score], {score: "training", f"validation_{score}": "validation"}, best),
        _curve(record, "Learning rate", {"learning_rate": "learning rate"}, None),
    ]
    words = f"Training values are means over an {axis}, during which the weights change; validation follows at its end."
    if record.headline == "micro_f1":
        words += " Accuracy is the mean over the labels."
    if record.metric == "mse":
        words += " Errors are those of standardized targets."
    if record.metric == "rmse":
        words += " The loss is half the squared error of standardized targets"
        words += (
            ", the root mean squared error is in the units of the target."
            if record.one_unit
            else ("; each output has units of its own, so the root mean squared error is in standard deviations too.")
        )
    if len(record.rows) == 1:
        words = f"There is only one check. {words}"
    numbers = folded("The numbers", findings.history(record).html())
    return section("Learning curves", tag("div", drawn, class_="grid three"), tag("p", words, class_="small"), numbers)


def _curve(record: Record, name: str, columns: dict[str, str], best: float | None) -> Markup | None:
    axis, xs = record.clock
    kinds = {"training": "train", "validation": "valid", "learning rate": "rate"}
    lines = [Line(word, [finite(row.get(key)) for row in record.rows], kinds[word]) for key, word in columns.items()]
    lines = [line for line in lines if any(v is not None for v in line.values)]
    drawing = figures.curves(xs, lines, axis=axis, label=name, best=best)
    if not drawing:
        return None
    at = -1 if best is None or record.best is None else record.best
    key = next(iter(columns))
    legend = [
        tag("li", tag("i", "", class_=line.color), line.name, " ", tag("b", metric(key, line.values[at])))
        for line in lines
    ]
    when = f"at the best {axis}" if best is not None else "at the end"
    return card(name, drawing, tag("ul", legend, class_="key"), more=when, figure=True)


def gradients(record: Record) -> Markup | None:
    """Draw the gradient's norm in each layer over the checks."""
    axis, xs = record.clock
    rows = [(x, row["gradients"]) for x, row in zip(xs, record.rows, strict=True) if row.get("gradients")]
    names = list(dict.fromkeys(str(name) for _, norms in rows for name in norms))
    if not names:
        return None
    last = len(names) - 1
    colors = [_rainbow(i / max(1, last)) for i in range(len(names))]
    lines = [
        Line(name, [finite(norms.get(name)) for _, norms in rows], color)
        for name, color in zip(names, colors, strict=True)
    ]
    drawing = figures.curves([x for x, _ in rows], lines, axis=axis, label="gradient norms", log=True)
    if not drawing:
        return None
    listed: Sequence[int] = range(len(names))
    if len(names) > _LISTED:
        listed = [round(last * k / (_LISTED - 1)) for k in range(_LISTED)]
    legend = [
        tag("li", tag("i", "", style=f"--c:{colors[i]}"), tag("code", names[i]), " ",
            tag("b", number(lines[i].values[-1], 3)))
        for i in listed
    ]  # fmt: skip
    words = f"Colors run from violet for the first layers to orange for the last; values are those of the last {axis}."
    if len(names) > _LISTED:
        words += f" {_LISTED} of {len(names)} are named."
    beside = tag(
        "div", tag("p", words, class_="small"), tag("ul", legend, class_="key column" if len(listed) <= 12 else "key")
    )
    both = tag("div", drawing, beside, class_="beside")
    return section("Gradients by layer", card("Norm of the gradient", both, figure=True))


def _rainbow(share: float) -> str:
    """Give a color between violet (0) and orange (1)."""
    channels = hls_to_rgb((265 - 245 * share) / 360, 0.54, 0.62)
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)


def parameters(record: Record) -> Markup | None:
    """List the trained tensors."""
    if not record.weights:
        return None
    shown = tag("div", weights.table(record.weights).html("totalled"), class_="card long")
    every = None
    if len(record.weights) > weights.LIMIT:
        whole = weights.table(record.weights, limit=None).html("totalled")
        every = folded(f"All {number(len(record.weights))} tensors", whole)
    return section("Parameters", shown, every)


def making(record: Record) -> Markup | None:
    """List recipe, network, preprocessing and environment."""
    left = tag("div", _pairs("Recipe", settings.recipe(record)), class_="stack")
    right = tag(
        "div",
        _pairs("Network", settings.architecture(record)),
        _pairs("Preprocessing", settings.preprocess(record), "fitted on the training examples"),
        _pairs("Environment", settings.environment(record)),
        class_="stack",
    )
    table = settings.columns(record)
    columns = None if table is None else below(card("Columns", table.html(), kind="card long"))
    return section("How it was made", tag("div", left, right, class_="grid"), columns)


def _pairs(name: str, table: Table | None, more: str = "") -> Markup | None:
    return None if table is None else card(name, table.html("pairs", head=False), more=more)


def again(record: Record) -> Markup | None:
    """Give the commands that repeat, continue and use the run."""
    words, remarks = commands.train(record)
    parts: list[Markup | None] = []
    then, more = commands.longer(record) if words else ([], [])
    if words:
        parts += [tag("h3", "Train it again"), *(command(commands.spell(line)) for line in (words, *then))]
    parts += [tag("p", remark, class_="small") for remark in (*remarks, *more)]
    for name, line in commands.use(record):
        parts += [tag("h3", name), command(commands.spell(line))]
    return section("Do it again", *parts)
