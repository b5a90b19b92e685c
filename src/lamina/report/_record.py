"""Read everything that a report shows from the folder of a run; no network is built and no data are loaded."""

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from lamina.data.dataset import Spec
from lamina.report._checks import blame, check_evaluation, check_numbers, check_preprocess, expect
from lamina.report._formatting import base_name, finite, scrub
from lamina.report._tensors import Weight, trained_weights
from lamina.training.folder import RunFolder
from lamina.training.tasks._baselines import beaten, verdict
from lamina.training.tasks._linear import simpler
from lamina.training.tasks.kinds import headline_of, metric_of

Row = dict[str, Any]


@dataclass(frozen=True)
class Record:
    """A run as its files tell it."""

    path: Path
    name: str
    config: dict[str, Any]
    preprocess: dict[str, Any] | None
    environment: dict[str, Any] | None
    status: dict[str, Any]
    rows: tuple[Row, ...]
    seconds: float | None
    ended: datetime | None
    evaluation: dict[str, Any] | None
    weights: tuple[Weight, ...]

    @property
    def source(self) -> str:
        """The name or path of the data, as it was given."""
        return str(self.config.get("data", {}).get("source") or "data")

    @property
    def data(self) -> str:
        """The data's name without the machine's folders."""
        return base_name(self.source)

    def clean(self, text: str) -> str:
        """Take the machine's folders out of a sentence."""
        return scrub(text, self.source)

    @property
    def examples(self) -> tuple[int, int, int] | None:
        """How many training, validation and test examples there are; None if unknown, or if all parts are one."""
        if not self.config.get("examples") or (self.preprocess and self.preprocess["spec"].get("complete")):
            return None
        train, validation, test = self.config["examples"]
        return int(train), int(validation), int(test)

    @property
    def metric(self) -> str:
        """The score in the history beside the loss."""
        found = "" if self.preprocess is None else metric_of(Spec.from_dict(self.preprocess["spec"]))
        if found in ("", "rmse"):  # runs of version 0.1 have squared errors of standardized targets instead
            kept = (name for name in ("rmse", "mse") if any(name in row for row in self.rows))
            return next(kept, found or "accuracy")
        return found

    @property
    def unit(self) -> str:
        """The target in whose units errors are; "" when it has no name, or outputs have units of their own."""
        return str((self.preprocess or {}).get("spec", {}).get("target", "")) if self.one_unit else ""

    @property
    def verdict(self) -> str:
        """A sentence about the strongest baseline; "" for runs without one."""
        found = self.evaluation or {}
        return verdict(found.get("baselines") or (), int(found.get("examples", 0)))

    @property
    def simpler(self) -> str:
        """A sentence that says that a linear model does as well as the network; "" where it does not."""
        return simpler((self.evaluation or {}).get("linear"))

    @property
    def beaten(self) -> bool | None:
        """Whether the network beats the strongest baseline; None if that cannot be told."""
        return beaten((self.evaluation or {}).get("baselines") or ())

    @property
    def one_unit(self) -> bool:
        """Whether all outputs were standardized alike, so that an error is in the units of the data."""
        std = (self.preprocess or {}).get("target_std")
        return not isinstance(std, list) or len(set(std)) == 1

    @property
    def classifies(self) -> bool:
        """Whether classes were learned."""
        return self.metric == "accuracy"

    @property
    def weight(self) -> str:
        """The column by which examples are weighted, or nothing."""
        return str((self.preprocess or {}).get("spec", {}).get("weight", ""))

    @property
    def headline(self) -> str:
        """The metric of the test split to look at first."""
        if self.preprocess is not None:
            return headline_of(Spec.from_dict(self.preprocess["spec"]))
        return "accuracy" if self.classifies else "r2"

    @property
    def best(self) -> int | None:
        """The row whose weights were kept: the smallest validation loss, or training loss without validation."""
        stored = self.status.get("best_row", -1)
        if isinstance(stored, int) and 0 <= stored < len(self.rows):
            return stored
        losses = [finite(row.get("validation_loss", row.get("loss"))) for row in self.rows]
        known = [(loss, index) for index, loss in enumerate(losses) if loss is not None]
        return min(known)[1] if known else None

    @property
    def clock(self) -> tuple[str, list[float]]:
        """What the history is drawn over: epochs, or steps when an epoch has several rows."""
        epochs = [float(row["epoch"]) for row in self.rows]
        if all(a < b for a, b in pairwise(epochs)):
            return "epoch", epochs
        return "step", [float(row["step"]) for row in self.rows]


def read(folder: str | Path) -> Record:
    """Read a run folder."""
    home = RunFolder.open(folder)
    config = _with_sizes(home.config())
    with blame(home.path / "config.toml"):
        for part in ("architecture", "data", "recipe"):
            expect(isinstance(config[part], dict), f"{part} is not a table")
    preprocess = _values(home, "preprocess")
    with blame(home.path / "preprocess.json"):
        if preprocess is not None:
            preprocess = check_preprocess(preprocess)
    evaluation = _values(home, "evaluation")
    with blame(home.path / "evaluation.json"):
        if evaluation is not None:
            check_evaluation(evaluation)
    return Record(
        home.path,
        _name(home.path),
        config,
        preprocess,
        _values(home, "environment"),
        home.status(),
        _history(home),
        *_timings(home),
        evaluation,
        trained_weights(home),
    )


def _with_sizes(config: dict[str, Any]) -> dict[str, Any]:
    """Add how many examples each part has to the config of Lamina 0.1, which says it in its sentence only."""
    said = re.search(r"(\d+) training, (\d+) validation and (\d+) (?:official )?test examples", str(config.get("note")))
    return {"examples": [int(number) for number in said.groups()], **config} if said else config


def _name(path: Path) -> str:
    whole = path.resolve()
    return f"runs/{whole.name}" if whole.parent.name == "runs" else whole.name


def _history(home: RunFolder) -> tuple[Row, ...]:
    rows = home.lines("history")
    with blame(home.history):
        for row in rows:
            expect(None not in (finite(row["epoch"]), finite(row["step"])), "a row lacks its epoch or step")
            check_numbers({key: value for key, value in row.items() if key != "gradients"})
            check_numbers(row.get("gradients") or {})
    return tuple(rows)


def _values(home: RunFolder, name: str) -> dict[str, Any] | None:
    if not home.has(f"{name}.json"):
        return None
    values = home.json(name)
    with blame(home.path / f"{name}.json"):
        expect(isinstance(values, dict), "it does not map names to values")
    return dict(values)


def _timings(home: RunFolder) -> tuple[float | None, datetime | None]:
    """Add up the sessions: the clock of a resumed run starts again at 0."""
    rows = home.lines("timings")
    if not rows:
        return None, None
    with blame(home.timings):
        clock = [float(row["seconds"]) for row in rows]
        last = [a for a, b in zip(clock, [*clock[1:], -math.inf], strict=True) if b < a]
        at = finite(rows[-1].get("at"))
        return sum(last), None if at is None else datetime.fromtimestamp(at, UTC)
