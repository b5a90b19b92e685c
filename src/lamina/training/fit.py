"""Train a network: `fit` starts a run, `resume` continues one, both through the same few lines."""

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from lamina._errors import ArgumentError, RunError
from lamina.data.splits import Split
from lamina.training import checkpoint
from lamina.training import recipe as recipes
from lamina.training.executors.choose import learner
from lamina.training.folder import RunFolder, slug
from lamina.training.learner import Learner
from lamina.training.loop import Event, Observer, Progress, _stop_on_signal, drain, released
from lamina.training.loop import every as at_most_every
from lamina.training.objective import Objective
from lamina.training.rebuild import describe, fingerprint, rebuild, reload
from lamina.training.recipe import Optimizer, Recipe
from lamina.training.run import Run
from lamina.training.runtime import Runtime, environment
from lamina.training.stopping import StopReason
from lamina.training.tasks.kinds import read_task, task_of
from lamina.training.tasks.task import Task
from lamina.training.watching import Watcher, _WatchedRows

CHECKPOINT_SECONDS = 30.0


def fit(
    model: nn.Module,
    data: Any,
    recipe: Recipe | None = None,
    *,
    folder: str | Path | None = None,
    observers: Sequence[Observer] = (),
    runtime: Runtime | None = None,
    start: dict[str, Any] | None = None,
) -> Run:
    """Train a network on data and return the run.

    The data are split 4:1:1 unless they come as a `Split`; preprocessing is fitted on the training part; after every
    epoch the validation part is looked at and the best weights are kept; the test part stays sealed until
    `Run.evaluate`. Continue a killed run with `lamina resume`.

    Notes: N1.19, N2.11 (§1, §2).

    Args:
        model: any torch module; those of `lamina.build` can be rebuilt from the run folder.
        data: a dataset or what `lamina.load` reads ("digits", "table.csv", a pair of arrays), a split, or a task.
        recipe: how to train; Adam for 10 epochs by default.
        folder: where the run is kept; `runs/<network>-<data>` by default.
        observers: called after each step and each check; a `Watcher`, such as `inspection.GradientFlowObserver`, also
            looks into the updates that it asks for.
        runtime: device, threads and flags.
        start: where the initial weights came from, for the record: {"weights": ..., "freeze": ...}.

    Returns:
        The run, with the best weights in `run.model`.
    """
    options: dict[str, Any] = {"folder": folder, "observers": observers, "runtime": runtime, "start": start}
    with _stop_on_signal() as stop:
        return drain(fitting(model, data, recipe, stop=stop, **options))


def fitting(
    model: nn.Module,
    data: Any,
    recipe: Recipe | None = None,
    *,
    every: int | None = None,
    folder: str | Path | None = None,
    observers: Sequence[Observer] = (),
    runtime: Runtime | None = None,
    start: dict[str, Any] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Generator[Event, None, Run]:
    """Do what `fit` does, with the same arguments, as a generator for whoever wants to look in between.

    Yields:
        Events after checks and, if `every` is given, after every so many updates; nothing is held between two of them.

    Returns:
        The run; it ends before its time when `stop` says so.
    """
    recipe = recipe or Recipe()
    task, runtime = _ready(model, data, recipe, runtime)
    home = _begun(model, task, recipe, folder, start)
    return (yield from _train(model, task, recipe, runtime, home, observers, Progress(), None, every, stop))


def _begun(
    model: nn.Module, task: Task, recipe: Recipe, folder: str | Path | None, start: dict[str, Any] | None = None
) -> RunFolder:
    """Make the folder of a run and write what it will be."""
    split = task.split
    home = RunFolder.create(folder or Path("runs") / slug(f"{type(model).__name__}-{split.train.spec.source}"))
    origin = {**(split.origin or {"source": split.train.spec.source}), "reload": split.origin is not None}
    origin["fingerprint"] = fingerprint(split)
    made = {
        "note": split.note,
        "examples": [len(split.train), len(split.validation), len(split.test)],
        "architecture": describe(model),
        "data": origin,
        "recipe": recipes.as_dict(recipe),
    }
    home.write_config(made | ({"start": start} if start else {}))
    home.write_json("preprocess", task.as_dict())
    return home


def adopt(
    model: nn.Module,
    data: Any,
    recipe: Recipe,
    progress: Progress,
    reason: StopReason,
    *,
    folder: str | Path,
    runtime: Runtime | None = None,
    why: str = "",
) -> Run:
    """Make a run of a network that was trained elsewhere, such as in a stack; nothing is trained.

    Args:
        model: the network; it gets the best weights.
        data: what it was trained on.
        recipe: how.
        progress: its rows, its best weights and their row.
        reason: why its training ended.
        folder: where the run is kept.
        runtime: how it was computed.
        why: a sentence about that.
    """
    task = task_of(data, seed=recipe.seed).for_network(model)
    home = _begun(model, task, recipe, folder)
    home.write_json("environment", environment((runtime or Runtime()).ready(recipe.precision), why))
    home.reset_history(progress.rows)
    return _ended(home, model.to(recipe.dtype), task, task.objective(model, recipe), progress, reason)


def resume(
    folder: str | Path,
    *,
    model: nn.Module | None = None,
    data: Split | None = None,
    optimizer: Optimizer | None = None,
    observers: Sequence[Observer] = (),
    epochs: int | None = None,
) -> Run:
    """Continue a run that was killed or interrupted, bit for bit as if nothing had happened.

    Args:
        folder: the folder of the run.
        model: the network, if it was not made by `lamina.build`.
        data: the split, if it was made of arrays in memory.
        optimizer: the optimizer, if it was a function of the caller's.
        observers: called after each step and each check.
        epochs: train up to so many epochs instead of those of the recipe.
    """
    home = RunFolder.open(folder)
    config = home.config()
    recipe = recipes.from_dict(config["recipe"], optimizer)
    if epochs is not None:
        recipe = replace(recipe, epochs=epochs)
    recorded = home.json("environment")
    runtime = Runtime(**{f.name: recorded[f.name] for f in fields(Runtime) if f.name in recorded}).here()
    model = model or rebuild(config["architecture"])
    split = data or reload(config["data"])
    task = read_task(home.json("preprocess"), split)
    runtime = task.threads(runtime, model, recipe)
    saved = checkpoint.load(home.checkpoints)
    if saved is None and home.weights.is_file():
        raise RunError(
            f"{folder} has no checkpoint to continue from, since its network was trained in a search: train the "
            "configuration separately; `lamina report` shows the command."
        )
    for reason in saved.skipped if saved else ():
        print(f"note: a damaged checkpoint was skipped ({reason})")
    progress = Progress()
    if saved is not None:
        plain = saved.plain
        best = {name.removeprefix("best/"): t for name, t in saved.tensors.items() if name.startswith("best/")}
        progress = Progress(plain["epoch"], plain["batch"], plain["rows"], best, plain["best_row"])
    home.reset_history(progress.rows)
    with runtime.applied(recipe.precision) as used:
        for difference in used.differences(recorded):
            print(f"note: {difference}: the result may differ in the last bits")
    with _stop_on_signal() as stop:
        return drain(_train(model, task, recipe, runtime, home, observers, progress, saved, every=None, stop=stop))


def _train(
    model: nn.Module,
    task: Task,
    recipe: Recipe,
    runtime: Runtime,
    home: RunFolder,
    observers: Sequence[Observer],
    progress: Progress,
    saved: checkpoint._Checkpoint | None,
    every: int | None,
    stop: Callable[[], bool],
) -> Generator[Event, None, Run]:
    """Do what `fit` and `resume` share."""
    with runtime.applied(recipe.precision) as used:
        step = learner(model, task, recipe, used)
    if saved is None:
        home.write_json("environment", environment(replace(used, step=step.kind), step.reason))
    else:
        step.restore(saved.tensors, saved.plain["step"])
    watchers = [observer for observer in observers if isinstance(observer, Watcher)]
    for watcher in watchers:
        step.watch(watcher)
    watched = [_WatchedRows(home, watcher, step.step) for watcher in watchers]
    save = partial(_save, home, step, watched)
    seen: list[Observer] = [_Recorder(home), *observers, *watched]
    home.write_json("status", {"state": "running"})
    run = step.trained(progress, seen, at_most_every(CHECKPOINT_SECONDS, save), stop)
    reason = yield from released(run, used, recipe.precision, every)
    if reason.name == "diverged":
        for rows in watched:
            rows.flush()
    else:
        save(progress)
    return _ended(home, model, task, step.objective, progress, reason)


def _ended(
    home: RunFolder, model: nn.Module, task: Task, objective: Objective, progress: Progress, reason: StopReason
) -> Run:
    """Give the network its best weights and write how the run ended."""
    if progress.best:
        model.load_state_dict({**model.state_dict(), **progress.best})
    status = {"state": reason.name, "sentence": reason.sentence, "best_row": progress.best_row}
    if not reason.failed:
        status["weights"] = home.write_weights(model.state_dict())
    home.write_json("status", status)
    return Run(home.path, model.eval(), task, objective, tuple(progress.rows), reason, task.split)


def _ready(model: nn.Module, data: Any, recipe: Recipe, runtime: Runtime | None = None) -> tuple[Task, Runtime]:
    """Divide the data, fit how they are prepared and choose the threads, as far as they are not given."""
    runtime = runtime or Runtime()
    _expect("model", model, nn.Module, "make one with lamina.build('lenet5', outputs=10)")
    _expect("recipe", recipe, Recipe, "for example Recipe(epochs=10)")
    _expect("runtime", runtime, Runtime, "for example Runtime(device='cuda')")
    runtime = runtime.ready(recipe.precision)
    task = task_of(data, seed=recipe.seed).for_network(model)
    return task, task.threads(runtime, model, recipe)


def _expect(name: str, value: Any, kind: type, hint: str) -> None:
    """Refuse an argument of another type, by its name."""
    if not isinstance(value, kind):
        home = kind.__module__.split(".")[0]
        raise ArgumentError(f"`{name}` must be a {home} {kind.__name__}, got {value!r}: {hint}.")


def _save(home: RunFolder, step: Learner, watched: Sequence[_WatchedRows], at: Progress) -> None:
    """Write a checkpoint of everything that a resume needs."""
    tensors = {**step.state(), **{f"best/{name}": t for name, t in at.best.items()}}
    plain = {"epoch": at.epoch, "batch": at.batch, "step": step.step, "rows": at.rows, "best_row": at.best_row}
    for rows in watched:
        rows.flush()
    checkpoint.save(home.checkpoints, step.step, tensors, plain)


class _Recorder:
    """The first observer: writes each check to the history."""

    def __init__(self, home: RunFolder) -> None:
        self.home, self.start = home, time.monotonic()

    def __call__(self, event: Event) -> None:
        if event.row is not None:
            self.home.append_row(event.row, time.monotonic() - self.start)
