"""The report as Markdown: the same content in tables, without pictures."""

from collections.abc import Callable

from lamina._tables import Table
from lamina._tables import in_markdown as text
from lamina.report import _commands as commands
from lamina.report import _findings as findings
from lamina.report import _settings as settings
from lamina.report import _story as story
from lamina.report import _weights as weights
from lamina.report._checks import blame
from lamina.report._formatting import percent
from lamina.report._record import Record
from lamina.report._results import weighing


def markdown(record: Record) -> str:
    """Write the whole report."""
    parts: list[tuple[str, Callable[[Record], list[str]]]] = [
        ("config.toml", _header),
        ("history.jsonl", _history),
        ("evaluation.json", _results),
        ("weights.safetensors", _weights),
        ("config.toml", _making),
        ("config.toml", _again),
    ]
    lines: list[str] = []
    for file, make in parts:
        with blame(record.path / file):
            lines += make(record)
    return "\n".join(lines).rstrip() + "\n"


def _header(record: Record) -> list[str]:
    first = story.headline(record)
    lines = [f"# {text(story.title(record))}", "", text(story.subject(record)), "", text(story.note(record)), ""]
    sure = f" ({text(first.note)})" if first.note else ""
    lines += [f"**{text(first.label)}: {text(first.value)}**{sure}", ""]
    facts = story.facts(record)
    lines += Table(("what", "value"), tuple(facts), (1,)).markdown() if facts else []
    return [*lines, text(str(story.ending(record))), "", text(story.opening(record)), ""]


def _history(record: Record) -> list[str]:
    if not record.rows:
        return []
    lines = ["## Learning curves", "", *findings.history(record).markdown()]
    found = findings.gradients(record)
    return [*lines, "## Gradients by layer", "", *found.markdown()] if found else lines


def _results(record: Record) -> list[str]:
    if record.evaluation is None:
        return []
    lines = ["## On the test split", "", *([text(words), ""] if (words := weighing(record)) else [])]
    scores = findings.per_class(record)
    shown = [
        ("Against the baseline", findings.baselines(record)),
        ("Confusion", findings.confusion(record)),
        (f"By {scores.head[0]}" if scores else "", scores),
        ("Calibration", findings.calibration(record)),
        ("Importance of the columns", findings.importances(record)),
        ("Worst mistakes", findings.worst(record)),
    ]
    for name, table in shown:
        if table is not None:
            lines += [f"### {name}", "", *table.markdown()]
        if name == "Against the baseline" and table is not None:
            lines += [text(record.verdict), "", *([text(record.simpler), ""] if record.simpler else [])]
        if name == "Calibration" and table is not None:
            lines += [f"Expected calibration error {percent(record.evaluation['calibration']['error'])}.", ""]
        if name.startswith("Importance") and (found := findings.importance(record)) is not None:
            lines += [text(found[2]), ""]
    said = findings.coverage(record)
    return [*lines, "### Coverage", "", text(said), ""] if said else lines


def _weights(record: Record) -> list[str]:
    return ["## Parameters", "", *weights.table(record.weights).markdown()] if record.weights else []


def _making(record: Record) -> list[str]:
    lines = ["## How it was made", ""]
    shown = [
        ("Recipe", settings.recipe(record)),
        ("Network", settings.architecture(record)),
        ("Preprocessing", settings.preprocess(record)),
        ("Columns", settings.columns(record)),
        ("Environment", settings.environment(record)),
    ]
    for name, table in shown:
        if table is not None:
            lines += [f"### {name}", "", *table.markdown()]
    return lines


def _again(record: Record) -> list[str]:
    words, remarks = commands.train(record)
    then, more = commands.longer(record) if words else ([], [])
    remarks += more
    lines = ["## Do it again", ""]
    again = [("Train it again", words), *(("Then continue it", line) for line in then)]
    for name, command in (*again, *commands.use(record)):
        if command:
            lines += [f"{name}:", "", *(f"    {line}" for line in commands.spell(command).splitlines()), ""]
    return lines + [part for remark in remarks for part in (text(remark), "")]
