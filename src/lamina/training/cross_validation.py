"""k-fold cross-validation: every example is judged once by a network that was neither trained nor stopped with it."""

import itertools
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from lamina._errors import RunError, at_least
from lamina.data.dataset import Dataset
from lamina.data.identity import identity
from lamina.data.splits import Sealed, Split, folds
from lamina.training.files import as_json, parse_json
from lamina.training.fit import fit, resume
from lamina.training.folder import RunFolder
from lamina.training.loop import Observer, _stop_on_signal
from lamina.training.manifest import Manifest
from lamina.training.rebuild import describe
from lamina.training.recipe import Recipe, as_dict
from lamina.training.run import Run
from lamina.training.runtime import Runtime
from lamina.training.tasks.kinds import headline_of, task_of
from lamina.training.tasks.task import Task

Prepare = Callable[[Split, int], tuple[nn.Module, Task, Recipe]]
"""Makes network, task and recipe of a split, numbered from 0 over all repeats."""
FILE = "cross_validation.json"


@dataclass(frozen=True)
class Fold:
    """One network, judged on the fold that it has not seen.

    Args:
        repeat: which division, from 1.
        fold: which part of it, from 1.
        examples: how many trained the network, chose its epoch, and judged it.
        metrics: what the network reaches on the fold, errors in the units of the targets.
        baseline: what the most frequent class, or the mean, of the training examples reaches there.
        epoch: the epoch whose weights were judged.
        seconds: how long it took.
    """

    repeat: int
    fold: int
    examples: tuple[int, int, int]
    metrics: dict[str, float]
    baseline: dict[str, float]
    epoch: int
    seconds: float


@dataclass(frozen=True)
class CrossValidation:
    """The folds of a cross-validation.

    Args:
        folds: one record per network.
        metric: the number to look at first.
        total: how many folds there are to be.
    """

    folds: tuple[Fold, ...]
    metric: str
    total: int

    def of(self, metric: str, kind: str = "metrics") -> tuple[float, float]:
        """Give mean and standard deviation (divisor n - 1) of a metric over the folds; NaN where it is unknown."""
        values = [getattr(fold, kind).get(metric, float("nan")) for fold in self.folds]
        return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else float("nan")

    @property
    def scores(self) -> list[float]:
        """The metric of every fold."""
        return [fold.metrics[self.metric] for fold in self.folds]

    @property
    def mean(self) -> float:
        """The mean of the scores."""
        return self.of(self.metric)[0]

    @property
    def spread(self) -> float:
        """Their standard deviation."""
        return self.of(self.metric)[1]

    def __str__(self) -> str:
        known = any(self.metric in fold.baseline for fold in self.folds)
        rest = f"; the baseline reaches {self.of(self.metric, 'baseline')[0]:.4f}" if known else ""
        return f"{self.metric} {self.mean:.4f} ± {self.spread:.4f} over {len(self.folds)} folds{rest}"


def cross_validate(
    make: Callable[[int], nn.Module],
    data: Dataset,
    recipe: Recipe,
    k: int = 5,
    repeats: int = 1,
    *,
    folder: str | Path | None = None,
    runtime: Runtime | None = None,
) -> CrossValidation:
    """Divide data into k parts and judge k networks, each on the part that it has not seen.

    Of the other k - 1 parts a fifth chooses the epoch, so that the judged part has no influence at all; the preparation
    is fitted anew on the rest. Folds are stratified by class, keep groups together, and of a series are stretches of
    time, each of them judged by a network that was trained on what came before. An official test set is not touched.

    Args:
        make: builds the network of a fold, numbered from 0 over all repeats.
        data: what to divide.
        recipe: how to train; its seed divides, and each network has another one.
        k: how many parts.
        repeats: how many divisions.
        folder: where runs and results are kept, so that the same call continues after an interruption; by default
            nothing is kept.
        runtime: device, threads and flags.

    >>> import lamina
    >>> found = cross_validate(
    ...     lambda fold: lamina.build("fnn", inputs=2, outputs=2, hidden=8, seed=fold),
    ...     lamina.load("moons", count=60),
    ...     lamina.Recipe(epochs=2),
    ...     k=3,
    ... )
    >>> len(found.scores), [sum(fold.examples) for fold in found.folds]
    (3, [60, 60, 60])
    """

    def prepare(split: Split, number: int) -> tuple[nn.Module, Task, Recipe]:
        return make(number), task_of(split), replace(recipe, seed=recipe.seed + number)

    kept = {} if folder is None else {"recipe": as_dict(recipe), "network": describe(make(0))}
    with tempfile.TemporaryDirectory() as place:
        home = Crossing(prepare, data, k, repeats, recipe.seed, Path(folder or place), kept)
        for _ in home.run(runtime=runtime):
            pass
    if len(home.done) < home.total:
        raise RunError(f"the cross-validation was interrupted after {len(home.done)} of {home.total} folds.")
    return home.result


class Crossing:
    """A cross-validation in a folder: a run for each fold, and a file with the results so far.

    Args:
        prepare: makes network, task and recipe of a fold.
        data: what to divide.
        k: how many parts.
        repeats: how many divisions.
        seed: of the first division.
        folder: where it is kept; the same settings continue there.
        settings: what else decides the results, as plain values.
    """

    def __init__(
        self,
        prepare: Prepare,
        data: Dataset,
        k: int,
        repeats: int,
        seed: int,
        folder: Path,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        at_least("k", k, 2)
        at_least("repeats", repeats, 1)
        self.prepare, self.data, self.k, self.repeats, self.seed = prepare, data, k, repeats, seed
        self.folder, self.total = folder, k * repeats
        plain = _plain({**(settings or {}), "k": k, "repeats": repeats, "seed": seed})
        self.record: dict[str, Any] = {"settings": plain, "data": _fingerprint(data)}
        self.record |= {"metric": headline_of(data.spec), "folds": []}
        before = stored(folder)
        if before is not None:
            if before["settings"] != self.record["settings"]:
                raise RunError(f"{folder} holds another cross-validation: choose another folder.")
            if before["data"] != self.record["data"]:
                raise RunError(
                    f"the data have changed since the cross-validation in {folder} began: remove it, or choose another "
                    "folder."
                )
            self.record = before

    @property
    def done(self) -> tuple[Fold, ...]:
        """The folds that are finished."""
        return tuple(Fold(**{**row, "examples": tuple(row["examples"])}) for row in self.record["folds"])

    @property
    def result(self) -> CrossValidation:
        """What was found so far."""
        return CrossValidation(self.done, self.record["metric"], self.total)

    def run(self, observers: Sequence[Observer] = (), runtime: Runtime | None = None) -> Generator[Fold, None, None]:
        """Train the folds that are not finished, one after another; Ctrl-C ends it, and the next call continues.

        Yields:
            Each fold as soon as it is finished and written.
        """
        with _stop_on_signal() as stop:
            for repeat in range(self.repeats):
                if len(self.record["folds"]) >= (repeat + 1) * self.k:
                    continue
                for fold, split in enumerate(folds(self.data, self.k, self.seed + repeat)):
                    number = repeat * self.k + fold
                    if number < len(self.record["folds"]):
                        continue
                    row = None if stop() else self._fold(repeat, fold, split, observers, runtime)
                    if row is None:
                        return
                    self.record["folds"].append(asdict(row))
                    _manifest(self.folder).write(FILE, as_json(self.record))
                    yield row

    def _fold(
        self, repeat: int, fold: int, split: Split, observers: Sequence[Observer], runtime: Runtime | None
    ) -> Fold | None:
        """Train and judge one network; None when it was interrupted."""
        begun = time.monotonic()
        number = repeat * self.k + fold
        model, task, recipe = self.prepare(split, number)  # refuses bad options before anything is written
        self.folder.mkdir(parents=True, exist_ok=True)
        _manifest(self.folder).write(FILE, as_json(self.record))
        place = self.folder / f"fold-{number + 1}"
        if all((place / name).is_file() for name in ("config.toml", "preprocess.json")):
            run = resume(
                place, model=model, data=split, optimizer=recipe.optimizer, observers=observers, progress=False,
                loss=recipe.loss if callable(recipe.loss) else None, metrics=recipe.metrics,
            )  # fmt: skip
        else:
            shutil.rmtree(place, ignore_errors=True)  # what a kill left of its first moment
            run = fit(model, task, recipe, folder=place, observers=observers, runtime=runtime, progress=False)
        if run.reason.name == "interrupted":
            return None
        if run.reason.failed:
            raise RunError(f"fold {fold + 1} of {self.k} failed: {run.reason.sentence}.")
        if not run.rows:
            raise RunError(f"fold {fold + 1} of {self.k} has no result: {run.reason.sentence}, before its first check.")
        test = split.open_test()
        metrics = run.task.judge(run, test)["metrics"]
        best = RunFolder(place).status()["best_row"]
        sizes = len(split.train), len(split.validation), len(test)
        epoch, seconds = int(run.rows[best]["epoch"]), round(time.monotonic() - begun, 3)
        return Fold(repeat + 1, fold + 1, sizes, metrics, _baseline(run, split.train, test), epoch, seconds)


def stored(folder: Path) -> dict[str, Any] | None:
    """Read what a cross-validation wrote into a folder; None where there is none."""
    try:
        content = _manifest(folder).read(FILE)
    except FileNotFoundError:
        return None
    values = parse_json(content, folder / FILE)
    if not isinstance(values, dict) or not {"settings", "data", "metric", "folds"} <= values.keys():
        raise RunError(f"{folder / FILE} is damaged: restore it from a copy, or remove the folder and begin again.")
    return values


def _manifest(folder: Path) -> Manifest:
    return Manifest(folder, "cross-validation")


def place_of(base: Path, settings: Mapping[str, Any]) -> Path:
    """Find the folder to continue in: the first of `base`, `base-2`, ... that is new or holds these settings."""
    others = (base.with_name(f"{base.name}-{number}") for number in itertools.count(2))

    def fits(place: Path) -> bool:
        before = stored(place)
        return not place.exists() or (before is not None and before["settings"] == _plain(settings))

    return next(place for place in itertools.chain([base], others) if fits(place))


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(json.dumps(settings, default=str))
    return values


def _baseline(run: Run, train: Dataset, test: Dataset) -> dict[str, float]:
    """Judge an answer that does not look at the example: the most frequent class, or the mean, of training."""
    if not run.task.plain:
        return {}
    task = run.task
    return task.baselines(task.usual(train), test)[0].metrics


def _fingerprint(data: Dataset) -> str:
    found = identity(Split(data, data, Sealed(data), ""))
    return f"{found['names']}-{found['contents']}"
