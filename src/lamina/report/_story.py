"""What a run is and how it went, in sentences and the one number that counts."""

from dataclasses import dataclass
from typing import Any

from lamina.report import _commands as commands
from lamina.report._findings import metric, metric_name, wilson
from lamina.report._formatting import duration, finite, number, percent
from lamina.report._record import Record


@dataclass(frozen=True)
class Headline:
    """The number to look at first: its text, what it is, and how sure it is."""

    value: str
    label: str
    note: str = ""
    bad: bool = False


@dataclass(frozen=True)
class Ending:
    """How a run ended: "done", "stopped", "failed" or "open"; the point, what follows it, how to go on."""

    kind: str
    point: str
    sentence: str
    command: str = ""

    def __str__(self) -> str:
        return f"{self.point} {self.sentence}" + (f" Continue with: {self.command}" if self.command else "")


def title(record: Record) -> str:
    """Name what was trained on what."""
    stored = record.config["architecture"]
    found = commands.entry(stored)
    return f"{found.name if found else stored.get('code') or stored.get('network', 'network')} on {record.data}"


def subject(record: Record) -> str:
    """Describe the network in one sentence."""
    found = commands.entry(record.config["architecture"])
    what = f"{_capital(found.title)} ({found.place})" if found else "A network written in Python"
    count = sum(w.count for w in record.weights)
    return f"{what} with {number(count)} parameters." if count else f"{what}."


def note(record: Record) -> str:
    """Describe the data and their split."""
    return record.clean(str(record.config.get("note", "")))


def ending(record: Record) -> Ending:
    """Say how the run ended."""
    state = str(record.status.get("state", "running"))
    sentence = record.clean(str(record.status.get("sentence", ""))).rstrip(".") + "."
    command = commands.spell(commands.resume(record))
    if state == "running":
        return Ending("open", "The run has not ended.", "It is still running, or it was killed.", command)
    if state == "interrupted":
        return Ending("stopped", "The run was stopped:", sentence, command)
    return (
        Ending("failed", "The run diverged:", sentence)
        if state == "diverged"
        else Ending("done", "Training ended:", sentence)
    )


def opening(record: Record) -> str:
    """Say how often the test split was opened."""
    if record.evaluation is None:
        return "The test split has not been opened."
    examples, times = int(record.evaluation["examples"]), int(record.evaluation.get("openings", 1))
    if times > 1:
        return (
            f"The test split ({number(examples)} examples) was opened {times} times. Choices made after "
            "looking at it are fitted to it, so these numbers may be too good."
        )
    return f"The test split ({number(examples)} examples) was opened once, after training."


def reopened(record: Record) -> bool:
    """Say whether the test split was opened more than once."""
    return record.evaluation is not None and int(record.evaluation.get("openings", 1)) > 1


def headline(record: Record) -> Headline:
    """Choose the number to look at first: a test score, else the best validation score, else how it failed."""
    if record.evaluation is not None:
        values = record.evaluation["metrics"]
        key = record.headline
        return Headline(metric(key, values.get(key)), f"test {metric_name(key)}", _interval(record, key))
    row = record.rows[record.best] if record.best is not None else None
    for key in (record.metric, "loss"):
        if row is not None and finite(row.get(f"validation_{key}")) is not None:
            note = "at the best check; the test split is still sealed"
            return Headline(metric(key, row[f"validation_{key}"]), f"validation {metric_name(key)}", note)
    if record.status.get("state") == "diverged":
        return Headline("diverged", "before the first check", bad=True)
    return Headline("–", "nothing has been measured yet")


def facts(record: Record) -> list[tuple[str, str]]:
    """List the other numbers of the first screen."""
    rows: list[tuple[str, str]] = []
    if record.evaluation is not None:
        first = record.headline
        values: dict[str, Any] = record.evaluation["metrics"]
        names = {"loss": "loss, standardized"} if "rmse" in values else {}
        rows += [(f"test {names.get(k, metric_name(k))}", metric(k, v)) for k, v in values.items() if k != first]
    if record.best is not None:
        axis, clock = record.clock
        rows.append((f"best {axis}", f"{number(clock[record.best])} of {number(clock[-1])}"))
    if record.seconds is not None:
        rows.append(("training time", duration(record.seconds)))
    return rows


def _interval(record: Record, key: str) -> str:
    evaluation = record.evaluation or {}
    share, examples = finite(evaluation["metrics"].get(key)), int(evaluation["examples"])
    if key != "accuracy" or share is None or examples < 1 or record.weight:
        return f"on {number(examples)} examples"
    low, high = wilson(share, examples)
    return f"95% interval {percent(low)} to {percent(high)}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
