"""Train a network: `fit` starts a run, `resume` continues one, both through the same few lines."""

import shutil
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lamina import _screen
from lamina._errors import ArgumentError, RunError
from lamina._types import Tensor
from lamina.architectures.adapt import mark_new
from lamina.data.identity import identity
from lamina.layers.dropout import mask_state
from lamina.training import checkpoint
from lamina.training import recipe as recipes
from lamina.training.continuing import Place, begin, continued, recorded
from lamina.training.executors.choose import learner
from lamina.training.folder import RunFolder, blamed, config_text, slug
from lamina.training.learner import Learner
from lamina.training.lock import only_writer
from lamina.training.loop import Event, Observer, Progress, _stop_on_signal, drain, released
from lamina.training.objective import Judged, Objective
from lamina.training.plan import Plan, plan
from lamina.training.ranks import ALONE, PATIENCE, Accord, Ranks, found_again, join, listening, remembered
from lamina.training.rebuild import describe, rebuild, reload
from lamina.training.recipe import Optimizer, Recipe
from lamina.training.run import Run
from lamina.training.runtime import Runtime, environment
from lamina.training.saving import seldom
from lamina.training.stopping import StopReason
from lamina.training.tasks.kinds import split_of, task_of, usable_task
from lamina.training.tasks.task import Task
from lamina.training.tracking import Tracker, tracked
from lamina.training.watching import Watcher, _WatchedRows

CHECKPOINT_SECONDS = 30.0
_UNFINISHED = ("running", "interrupted", "diverged", "observer")


def fit(
    model: nn.Module | str,
    data: Any,
    recipe: Recipe | None = None,
    *,
    epochs: int | None = None,
    options: Mapping[str, Any] | None = None,
    folder: str | Path | None = None,
    observers: Sequence[Observer] = (),
    runtime: Runtime | None = None,
    start: dict[str, Any] | None = None,
    progress: bool | None = None,
) -> Run:
    """Train a network on data and return the run.

    The data are split 4:1:1 unless they come as a `Split`; preprocessing is fitted on the training part; after every
    epoch the validation part is looked at and the best weights are kept; the test part stays sealed until
    `Run.evaluate`. Continue a killed run with `lamina resume`.

    Notes: N1.19, N2.11 (§1, §2).

    Args:
        model: a name from `lamina list`, whose sizes follow from the data, or any torch module; those of `lamina.build`
            can be rebuilt from the run folder.
        data: a dataset or what `lamina.load` reads ("digits", "table.csv", a pair of arrays, any torch `Dataset`), a
            split, a torch `DataLoader` or a tuple of them for training, validation and test, `Loaders`, or a task.
        recipe: how to train; by default what is recommended for a name and the data, or Adam for 10 epochs.
        epochs: how many epochs.
        options: flat names of the recipe such as `learning_rate`, and of a network that is named, such as `hidden`.
        folder: where the run is kept; `runs/<network>-<data>` by default.
        observers: called after each step and each check; one that returns True ends the run there, which `resume` may
            continue. A `Watcher`, such as `inspection.GradientFlowObserver`, also looks into the updates that it asks
            for, and a tracker, such as `tracking.TensorBoard`, is told of the end.
        runtime: device, threads and flags.
        start: where the initial weights came from, for the record: {"weights": ..., "freeze": ...}.
        progress: whether to show how far the run is; by default in a terminal and in a notebook.

    Returns:
        The run, with the best weights in `run.model`.
    """
    ranks = join()
    job = _planned(model, data, recipe, epochs, options or {}, folder)
    with (
        _shown(progress if ranks.first else False, job.task, job.recipe) as watch,
        _stop_on_signal(PATIENCE if ranks.many else 0.0) as stop,
    ):
        watch.say(*job.notes)
        more: dict[str, Any] = {"observers": (*observers, watch), "runtime": runtime, "start": start}
        more["stop"] = _until(stop, watch)
        return drain(fitting(job.model, job.task, job.recipe, folder=job.folder, ranks=ranks, **more))


def _planned(
    model: nn.Module | str,
    data: Any,
    recipe: Recipe | None,
    epochs: int | None,
    options: Mapping[str, Any],
    folder: str | Path | None,
) -> Plan:
    """Build a network that is named and choose its recipe; a module is taken as it is."""
    if recipe is not None:
        _expect("recipe", recipe, Recipe, "for example Recipe(epochs=10)")
    if isinstance(model, str):
        given = dict(options)
        seed = given.pop("seed", recipe.seed if recipe else 0)
        return plan(model, data, recipe, options=given, epochs=epochs, seed=seed, out=folder)
    _expect(
        "model", model, nn.Module, "name one, such as 'lenet5', or make one with lamina.build('lenet5', outputs=10)"
    )
    recipe = recipes.with_options(recipe or Recipe(), **options)
    recipe = recipe if epochs is None else replace(recipe, epochs=epochs)
    return Plan(model, task_of(data, seed=recipe.seed), recipe, folder)


def _shown(show: bool | None, task: Task, recipe: Recipe) -> _screen.Quiet:
    """Choose how a run is shown while it goes."""
    return _screen.progress(show, recipe.epochs, task.updates(recipe), task.unit)


def _until(stop: Callable[[], bool], watch: _screen.Quiet) -> Callable[[], bool]:
    """End a run by a signal, and when whoever read what it prints has gone."""
    return lambda: stop() or watch.unread


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
    ranks: Ranks = ALONE,
) -> Generator[Event, None, Run]:
    """Do what `fit` does, with the same arguments, as a generator for whoever wants to look in between.

    Yields:
        Events after checks and, if `every` is given, after every so many updates; nothing is held between two of them.

    Returns:
        The run; it ends before its time when `stop` says so.
    """
    recipe = recipe or Recipe()
    task, runtime = _ready(model, data, recipe, runtime, ranks)
    home, saved, config, status = ranks.shared(partial(_opened, model, task, folder, ranks.agents))
    home, progress = ranks.folder(home), _progress(saved)
    with _writing(home, ranks):
        if saved is not None and status["state"] not in _UNFINISHED:
            reason = StopReason(status["state"], status["sentence"])
            return _ended(home, model.to(recipe.dtype), task, task.objective(model, recipe), progress, reason)
        try:
            if saved is None:
                ranks.shared(partial(_begin, home, model, task, recipe, runtime, start))
            how = observers, progress, saved, every, stop, config, ranks
            return (yield from _train(model, task, recipe, runtime, home, *how))
        except Exception:
            if (progress.epoch, progress.batch) == (0, 0) and ranks.first:  # not a single update was made
                shutil.rmtree(home.path, ignore_errors=True)
            raise


def _opened(
    model: nn.Module, task: Task, folder: str | Path | None, agents: Sequence[str]
) -> tuple[RunFolder, checkpoint._Checkpoint | None, dict[str, Any] | None, dict[str, Any]]:
    """Make the folder of a run; where torchrun restarts one, find it, with its last checkpoint and its description."""
    base = _path(model, task, folder)
    home = found_again(base, agents)
    if home is not None:
        saved = checkpoint.load(home.checkpoints) if home.has("config.toml") else None
        if saved is not None and not saved.plain.get("initial"):
            return home, saved, home.config(), home.status()
        shutil.rmtree(home.path)  # it died before its first update was saved
        base = home.path
    return remembered(RunFolder.create(base), agents), None, None, {}


def _path(model: nn.Module, task: Task, folder: str | Path | None) -> Path:
    return Path(folder or Path("runs") / slug(f"{type(model).__name__}-{task.split.train.spec.source}"))


@contextmanager
def _writing(home: RunFolder, ranks: Ranks) -> Iterator[None]:
    """Be the only ones who write to the folder of a run; the first rank keeps its lock, for all."""
    with ExitStack() as stack:
        ranks.shared(lambda: stack.enter_context(only_writer(home.path)))
        yield


def _progress(saved: checkpoint._Checkpoint | None) -> Progress:
    """Say where a checkpoint stands."""
    if saved is None:
        return Progress()
    plain = saved.plain
    best = {name.removeprefix("best/"): t for name, t in saved.tensors.items() if name.startswith("best/")}
    return Progress(plain["epoch"], plain["batch"], plain["rows"], best, plain["best_row"])


def _begin(
    home: RunFolder,
    model: nn.Module,
    task: Task,
    recipe: Recipe,
    runtime: Runtime,
    start: dict[str, Any] | None = None,
    *,
    why: str = "",
    trained: bool = False,
) -> None:
    """Write what a run will be; its description comes last, so that what has one can be continued.

    The first checkpoint holds the initial weights alone: they may come from another run or another seed, which no file
    names.
    """
    split = task.split
    origin = {**(split.origin or {"source": split.train.spec.source}), "reload": split.origin is not None}
    origin["fingerprint"] = identity(split)
    examples = [len(split.train), len(split.validation), len(split.test)]
    made = {
        "note": split.note,
        "examples": examples if examples[0] else [],  # nobody knows how long a stream is
        "architecture": describe(model),
        "data": origin,
        "recipe": recipes.as_dict(recipe),
    }
    made |= {"start": start} if start else {}
    home.write_json("environment", environment(runtime, why))
    home.write_json("preprocess", task.as_dict())
    if not trained:
        plain = {"initial": True, "copies": home.copies() | {"config.toml": config_text(made)}}
        checkpoint.save(home.checkpoints, 0, _initial(model), plain)
    home.write_config(made)


def _initial(model: nn.Module) -> dict[str, Tensor]:
    """Give the live tensors of a network before its first update: weights, and what dropout draws from."""
    masks = {f"masks/{name}": t for name, t in mask_state(model).items()}
    return {f"model/{name}": t for name, t in model.state_dict().items()} | masks


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
    home = RunFolder.create(_path(model, task, folder))
    with only_writer(home.path):
        _begin(home, model, task, recipe, (runtime or Runtime()).ready(recipe.precision), why=why, trained=True)
        home.reset_history(progress.rows)
        return _ended(home, model.to(recipe.dtype), task, task.objective(model, recipe), progress, reason)


def resume(
    folder: str | Path,
    *,
    model: nn.Module | None = None,
    data: Any = None,
    optimizer: Optimizer | None = None,
    loss: Judged | None = None,
    metrics: Mapping[str, Judged] | None = None,
    observers: Sequence[Observer] = (),
    epochs: int | None = None,
    options: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> Run:
    """Continue a run that was killed or interrupted, bit for bit as if nothing had happened, or train it longer.

    Args:
        folder: the folder of the run.
        model: the network, if it was not made by `lamina.build`.
        data: what was given to `fit`, if it was made in memory: arrays, a dataset, loaders, or their split.
        optimizer: the optimizer, if it was a function of the caller's.
        loss: the loss, if it was one.
        metrics: the metrics, if there were some.
        observers: called after each step and each check; one that returns True ends the run there.
        epochs: train up to so many epochs instead of those of the recipe.
        options: go on with other numbers, by their flat names, such as {"learning_rate": 1e-4}: those of the optimizer,
            the schedule, the penalty, clipping, stopping and augmentation. The run records the recipe of each stretch.
        progress: whether to show how far the run is; by default in a terminal and in a notebook.
    """
    ranks = join()
    home = ranks.folder(ranks.shared(partial(RunFolder.open, folder)))
    with _writing(home, ranks):
        config, found, then, prepared, status = ranks.shared(partial(_read, home))
        with blamed(home.path / "config.toml"):
            recipe = recipes.from_dict(config["recipe"], optimizer, loss, metrics)
        saved = None if found is None or found.plain.get("initial") else found
        at, place = _progress(saved), Place()
        if saved is not None:
            place = Place(at.epoch, at.batch, saved.plain["step"], len(at.rows))
        wanted = continued(recipe, epochs, options or {}, place)
        with blamed(home.path / "environment.json"):
            runtime = Runtime(**{f.name: then[f.name] for f in fields(Runtime) if f.name in then}).here()
            others = then.get("ranks", 1) != ranks.size
        runtime = ranks.runtime(replace(runtime, threads=0) if others else runtime)
        given = None if data is None else split_of(data, recipe.seed)
        with blamed(home.path / "config.toml"):
            model = mark_new(model or rebuild(config["architecture"]), config["architecture"].get("new", ()))
            split = reload(config["data"], given)
        if saved is None and found is not None:
            with torch.no_grad(), blamed(home.checkpoints):
                for name, tensor in _initial(model).items():
                    tensor.copy_(found.tensors[name])
        with blamed(home.path / "preprocess.json"):
            task = usable_task(prepared, split)
        home.seal()
        runtime = task.threads(runtime, model, recipe)
        notes = [f"a damaged checkpoint was skipped ({why})" for why in (saved.skipped if saved else ())]
        if wanted == recipe and saved and not saved.skipped and status["state"] not in _UNFINISHED:
            reason = StopReason(status["state"], status["sentence"])
            return _ended(home, model.to(recipe.dtype), task, task.objective(model, recipe), at, reason)
        if wanted != recipe:
            recipe, config = wanted, recorded(config, wanted, place)
        at.since = begin(config).rows
        with runtime.applied(recipe.precision) as used:
            number = [f"ranks was {then.get('ranks', 1)} and is now {ranks.size}"] if others else []
            differences = [*number, *used.differences(then)]
            notes += [f"{difference}: the result may differ in the last bits" for difference in differences]
        for note in notes if ranks.first else ():
            print(f"note: {note}", file=sys.stderr)
        with (
            _shown(progress if ranks.first else False, task, recipe) as watch,
            _stop_on_signal(PATIENCE if ranks.many else 0.0) as stop,
        ):
            seen: list[Observer] = [*observers, watch]
            how = seen, at, saved, None, _until(stop, watch), config, ranks
            return drain(_train(model, task, recipe, runtime, home, *how))


def _read(home: RunFolder) -> tuple[dict[str, Any], checkpoint._Checkpoint | None, Any, Any, Any]:
    """Read what a resume needs from the folder of a run."""
    config, saved = home.config(), checkpoint.load(home.checkpoints)
    if saved is None and home.weights.is_file():
        raise RunError(
            f"{home.path} has no checkpoint to continue from, since its network was trained in a search or its "
            "checkpoints were removed: train the configuration separately; `lamina report` shows the command."
        )
    then = home.json("environment") if home.has("environment.json") else {}
    return config, saved, then, home.json("preprocess"), home.status()


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
    config: dict[str, Any] | None = None,
    ranks: Ranks = ALONE,
) -> Generator[Event, None, Run]:
    """Do what `fit` and `resume` share; the description of a run that continues is written when nothing can fail."""
    if saved is not None and recipe.micro_batch is None:  # the pieces in which batches turned out to fit
        recipe = replace(recipe, micro_batch=saved.plain.get("micro_batch"))
    with runtime.applied(recipe.precision) as used:
        step = learner(model, task, recipe, used, ranks)
    if saved is None:
        number = {"ranks": ranks.size} if ranks.joined else {}
        home.write_json("environment", environment(replace(used, step=step.kind), step.reason) | number)
    else:
        step.restore(saved.tensors, saved.plain["step"])
    ranks.align_(list(step.state().values()))  # a module of the caller's may have begun elsewhere on each rank
    watchers = [observer for observer in observers if isinstance(observer, Watcher)]
    if watchers and ranks.many:
        raise ArgumentError(
            f"a watcher such as {type(watchers[0]).__name__} looks into whole updates, of which each of {ranks.size} "
            "ranks makes a part: leave it out, or train with one rank."
        )
    for watcher in watchers:
        step.watch(watcher)
    watched = [_WatchedRows(home, watcher, step.step) for watcher in watchers]
    save = partial(_save, home, step, watched)
    seen: list[Observer] = [_Recorder(home), *observers, *watched]
    due, ask = seldom(CHECKPOINT_SECONDS, save), stop
    if ranks.many:
        silent = [observer for observer in observers if isinstance(observer, _screen.Quiet | Tracker)]
        asking = [observer for observer in observers if observer not in silent]
        seen, accord = (
            [listening(ranks, asking, [_Recorder(home), *silent])],
            Accord(ranks, save, CHECKPOINT_SECONDS, stop),
        )
        due, ask, observers = accord.save, accord.stop, observers if ranks.first else ()
    home.write_json("status", {"state": "running"})
    if config is not None:  # after the status: killed in between, the run must not seem to have ended as described
        home.write_config(config)
        home.reset_history(progress.rows)
        then = home.json("environment") if ranks.first and home.has("environment.json") else {}
        if then.get("ranks", 1) != ranks.size:
            home.write_json("environment", then | {"ranks": ranks.size})
    run = step.trained(progress, seen, due, ask)
    with tracked(observers, home, step.step) as told:
        reason = told((yield from released(run, used, recipe.precision, every)))
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
        mark_new(model, ())  # from here on all of it is trained
    home.settle()
    home.write_json("status", status)
    return Run(home.path, model.eval(), task, objective.plain, tuple(progress.rows), reason, task.split)


def _ready(
    model: nn.Module, data: Any, recipe: Recipe, runtime: Runtime | None = None, ranks: Ranks = ALONE
) -> tuple[Task, Runtime]:
    """Divide the data, fit how they are prepared and choose the threads, as far as they are not given."""
    runtime = runtime or Runtime()
    _expect("model", model, nn.Module, "make one with lamina.build('lenet5', outputs=10)")
    _expect("recipe", recipe, Recipe, "for example Recipe(epochs=10)")
    _expect("runtime", runtime, Runtime, "for example Runtime(device='cuda')")
    runtime = ranks.runtime(runtime.ready(recipe.precision))
    task = task_of(data, seed=recipe.seed).for_network(model)
    return task, task.threads(runtime, model, recipe)


def _expect(name: str, value: Any, kind: type, hint: str) -> None:
    """Refuse an argument of another type, by its name."""
    if not isinstance(value, kind):
        home = kind.__module__.split(".")[0]
        raise ArgumentError(f"`{name}` must be a {home} {kind.__name__}, got {value!r}: {hint}.")


def _save(home: RunFolder, step: Learner, watched: Sequence[_WatchedRows], at: Progress) -> None:
    """Write a checkpoint of everything that a resume needs; all ranks give theirs, and the first one writes."""
    step.feed.collect()
    if not step.feed.ranks.first:
        return
    tensors = {**step.state(), **{f"best/{name}": t for name, t in at.best.items()}}
    plain = {"epoch": at.epoch, "batch": at.batch, "step": step.step, "rows": at.rows, "best_row": at.best_row}
    if step.feed.micro_batch is not None:
        plain["micro_batch"] = step.feed.micro_batch
        found = home.json("environment")
        if found.get("micro_batch") != step.feed.micro_batch:
            home.write_json("environment", found | {"micro_batch": step.feed.micro_batch})
    for rows in watched:
        rows.flush()
    checkpoint.save(home.checkpoints, step.step, tensors, plain | {"copies": home.copies()})


class _Recorder:
    """The first observer: writes each check to the history."""

    def __init__(self, home: RunFolder) -> None:
        self.home, self.start = home, time.monotonic()

    def __call__(self, event: Event) -> None:
        if event.row is not None:
            self.home.append_row(event.row, time.monotonic() - self.start)
