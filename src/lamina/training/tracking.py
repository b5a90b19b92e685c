"""Observers that tell a tracker how a run goes: TensorBoard, MLflow, Weights & Biases, or one of your own.

A `Tracker` is an observer that also hears where the run begins and how it ends. What it gets is what the run folder
keeps: the description of the run as flat names, and the numbers of every check.
"""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from lamina._errors import MissingExtraError, RunError, choice
from lamina.training.folder import RunFolder
from lamina.training.loop import Event, Observer
from lamina.training.stopping import StopReason


@runtime_checkable
class Tracker(Protocol):
    """An observer that hears about the beginning and the end of a run too."""

    def begin(self, home: RunFolder, step: int) -> None:
        """Begin after `step` updates: 0 for a new run, more for one that is continued."""

    def __call__(self, event: Event) -> None:
        """Hear about a step or a check, as all observers do."""

    def end(self, reason: StopReason | None) -> None:
        """Hear why the run ended; None when an error broke it."""


def flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Give nested values flat names.

    >>> flat({"recipe": {"epochs": 3, "optimizer": {"name": "adam"}}, "examples": [4, 1]})
    {'recipe.epochs': 3, 'recipe.optimizer.name': 'adam', 'examples': '[4, 1]'}
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{before}{name}.")
        else:
            found[before + name] = value if isinstance(value, int | float | str) else str(value)
    return found


def numbers(row: Mapping[str, Any]) -> dict[str, float]:
    """Give the numbers of a check, without the place where it was made.

    >>> numbers({"epoch": 1, "step": 7, "loss": 0.5, "gradients": {"a": 1.0}, "best": None})
    {'epoch': 1.0, 'loss': 0.5, 'gradients.a': 1.0}
    """
    found = flat({name: value for name, value in row.items() if name != "step" and value is not None})
    return {name: float(value) for name, value in found.items() if isinstance(value, int | float)}


@contextmanager
def tracked(
    observers: Sequence[Observer], home: RunFolder, step: int
) -> Generator[Callable[[StopReason], StopReason], None, None]:
    """Tell the trackers among the observers that a run begins, and in any case that it ended."""
    trackers = [each for each in observers if isinstance(each, Tracker)]
    begun: list[Tracker] = []
    told: list[StopReason] = []

    def tell(reason: StopReason) -> StopReason:
        told.append(reason)
        return reason

    try:
        for tracker in trackers:
            tracker.begin(home, step)
            begun.append(tracker)
        yield tell
    finally:
        for tracker in begun:
            tracker.end(told[0] if told else None)


class TensorBoard:
    """Writes the files of TensorBoard into the folder of the run: `tensorboard --logdir runs` shows all runs.

    Args:
        folder: where the files go; `tensorboard` in the folder of the run by default.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder = folder
        self._writer: Any = None

    def begin(self, home: RunFolder, step: int) -> None:
        """Open a file; what a killed run wrote after its last checkpoint is not shown any more."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise MissingExtraError("tensorboard", "tracking", "TensorBoard") from error
        folder = Path(self._folder or home.path / "tensorboard")
        again = folder.is_dir()
        self._writer = SummaryWriter(str(folder), purge_step=step + 1 if again else None)
        if not again:
            table = "".join(f"| {name} | {value} |\n" for name, value in flat(home.config()).items())
            self._writer.add_text("run", f"| name | value |\n| --- | --- |\n{table}", 0)

    def __call__(self, event: Event) -> None:
        """Write the numbers of a check; those of the validation part are drawn beside those of the training part."""
        found = numbers(event.row or {})
        for name, value in found.items():
            label = name.replace(".", "/")
            if name.startswith("validation_"):
                label = f"{label.removeprefix('validation_')}/validation"
            elif f"validation_{name}" in found:
                label += "/training"
            self._writer.add_scalar(label, value, event.step)

    def end(self, reason: StopReason | None) -> None:
        """Close the file."""
        self._writer.add_text("end", reason.sentence if reason else "an error broke the run")
        self._writer.close()


class MLflow:
    """Logs a run to MLflow, and goes on in the same MLflow run when it is resumed.

    Args:
        experiment: the name of the experiment; it is made when it is not there.
        uri: where MLflow keeps its runs, such as "sqlite:///mlflow.db" or a server's address; MLflow's own choice
            (`MLFLOW_TRACKING_URI`) by default.
    """

    def __init__(self, experiment: str = "lamina", uri: str | None = None) -> None:
        self._experiment, self._uri = experiment, uri
        self._client: Any = None
        self._run = ""

    def begin(self, home: RunFolder, step: int) -> None:
        """Find or make the experiment and the run."""
        try:
            from mlflow import MlflowClient
            from mlflow.entities import Param
        except ImportError as error:
            raise MissingExtraError("mlflow", "tracking", "MLflow") from error
        try:
            self._client = client = MlflowClient(self._uri)
            self._run = _known(home, "mlflow")
            if self._run:
                client.update_run(self._run, status="RUNNING")
                return
            there = client.get_experiment_by_name(self._experiment)
            experiment = there.experiment_id if there else client.create_experiment(self._experiment)
            tags = {"lamina.folder": str(home.path)}
            self._run = client.create_run(experiment, run_name=home.path.name, tags=tags).info.run_id
            described = [Param(name, str(value)[:500]) for name, value in flat(home.config()).items()]
            for first in range(0, len(described), 100):  # at most so many in one request
                client.log_batch(self._run, params=described[first : first + 100])
        except Exception as error:
            raise RunError(
                f"MLflow cannot log to {self._uri or 'its own place'} ({error}): name another place, such as "
                "MLFLOW_TRACKING_URI=sqlite:///mlflow.db"
            ) from error
        _remember(home, "mlflow", self._run)

    def __call__(self, event: Event) -> None:
        """Log the numbers of a check."""
        if event.row is not None:
            from mlflow.entities import Metric

            now = int(time.time() * 1000)
            metrics = [Metric(name, value, now, event.step) for name, value in numbers(event.row).items()]
            for first in range(0, len(metrics), 1000):
                self._client.log_batch(self._run, metrics=metrics[first : first + 1000])

    def end(self, reason: StopReason | None) -> None:
        """Say how the run ended."""
        if reason:
            self._client.set_tag(self._run, "lamina.end", reason.sentence)
        states = {"interrupted": "KILLED"}
        state = "FAILED" if reason is None or reason.failed else states.get(reason.name, "FINISHED")
        self._client.set_terminated(self._run, state)


class WeightsAndBiases:
    """Logs a run to Weights & Biases, or to its files in the folder of the run (`WANDB_MODE=offline`).

    Args:
        project: the name of the project.
        options: further arguments of `wandb.init`.
    """

    def __init__(self, project: str = "lamina", **options: Any) -> None:
        self._options = {"project": project, **options}
        self._run: Any = None

    def begin(self, home: RunFolder, step: int) -> None:
        """Begin a run, or go on with it."""
        try:
            import wandb
        except ImportError as error:
            raise MissingExtraError("wandb", "tracking", "Weights & Biases") from error
        known = _known(home, "wandb")
        options: dict[str, Any] = {"id": known, "resume": "allow"} if known else {}
        settings = wandb.Settings(silent=True, console="off")
        self._run = wandb.init(
            name=home.path.name,
            dir=home.path,
            config=flat(home.config()),
            settings=settings,
            **options,
            **self._options,
        )
        self._run.define_metric("*", step_metric="update")
        _remember(home, "wandb", self._run.id)

    def __call__(self, event: Event) -> None:
        """Log the numbers of a check."""
        if event.row is not None:
            self._run.log({"update": event.step, **numbers(event.row)})

    def end(self, reason: StopReason | None) -> None:
        """Say how the run ended."""
        if reason:
            self._run.summary["end"] = reason.sentence
        self._run.finish(exit_code=int(reason is None or reason.failed))


def _known(home: RunFolder, name: str) -> str:
    """Give the name that a tracker gave to the run, "" if it never heard of it."""
    return str(home.json("tracking").get(name, "")) if home.has("tracking.json") else ""


def _remember(home: RunFolder, name: str, identifier: str) -> None:
    """Keep the name that a tracker gave to the run."""
    home.write_json("tracking", (home.json("tracking") if home.has("tracking.json") else {}) | {name: identifier})


TRACKERS: dict[str, Callable[[], Tracker]] = {
    "tensorboard": TensorBoard,
    "mlflow": MLflow,
    "wandb": WeightsAndBiases,
}


def trackers(names: Sequence[str]) -> tuple[Tracker, ...]:
    """Make trackers by their names."""
    for name in names:
        choice("track", name, tuple(TRACKERS))
    return tuple(TRACKERS[name]() for name in dict.fromkeys(names))
