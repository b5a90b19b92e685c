"""Train a network: `fit` starts a run, `resume` goes on with one, both through the same few lines."""

import math
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from lamina._errors import ArgumentError, RunError, ShapeError
from lamina._types import Tensor
from lamina.architectures.table import TABLE
from lamina.data.dataset import Dataset, all_targets
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.data.tokens import TextPreprocess
from lamina.layers.memory_format import to_channels_last
from lamina.training import checkpoint
from lamina.training import recipe as recipes
from lamina.training.captured import make_captured
from lamina.training.compiled import make_compiled
from lamina.training.diagnosis import remembered
from lamina.training.files import digest
from lamina.training.folder import RunFolder, slug
from lamina.training.freezing import freeze, frozen
from lamina.training.kernels import few_channels
from lamina.training.loop import Event, Observer, Progress, drain, released, stop_on_signal
from lamina.training.loop import every as at_most_every
from lamina.training.objective import Objective, choose
from lamina.training.preparation import (
    Preparation,
    fit_preparation,
    of_words,
    read_preparation,
    reads_sequences,
    step_for_words,
    with_threads_for_words,
)
from lamina.training.recipe import Optimizer, Recipe
from lamina.training.run import Run
from lamina.training.runtime import Runtime, environment
from lamina.training.step import EagerStep
from lamina.training.tuning import tuned_step, with_threads
from lamina.training.watching import WatchedRows, Watcher

CHECKPOINT_SECONDS = 30.0
MAKERS = {"eager": EagerStep, "compiled": make_compiled, "captured": make_captured, "tuned": tuned_step}


def fit(
    model: nn.Module,
    data: Dataset | Split,
    recipe: Recipe | None = None,
    *,
    folder: str | Path | None = None,
    observers: Sequence[Observer] = (),
    runtime: Runtime | None = None,
    start: dict[str, Any] | None = None,
    preprocess: Preparation | None = None,
) -> Run:
    """Train a network on data and return the run.

    The data are split 4:1:1 unless they come as a `Split`; preprocessing is fitted on the training part; after every
    epoch the validation part is looked at and the best weights are kept; the test part stays sealed until
    `Run.evaluate`. A killed run goes on with `lamina resume`.

    Notes: N1.19, N2.11 (§1, §2).

    Args:
        model: any torch module; those of `lamina.build` can be rebuilt from the run folder.
        data: a dataset, or its split.
        recipe: how to train; Adam for 10 epochs by default.
        folder: where the run is kept; `runs/<network>-<data>` by default.
        observers: called after each step and each check; a `Watcher`, such as `inspection.GradientFlowObserver`, also
            looks into the updates that it asks for.
        runtime: device, threads and flags.
        start: where the first weights came from, for the record: {"weights": ..., "freeze": ...}.
        preprocess: how inputs are prepared, fitted to the training part already; for texts whose dictionary is not
            the usual one.

    Returns:
        The run, with the best weights in `run.model`.
    """
    options: dict[str, Any] = {"runtime": runtime, "start": start, "preprocess": preprocess}
    with stop_on_signal() as stop:
        return drain(fitting(model, data, recipe, folder=folder, observers=observers, stop=stop, **options))


def fitting(
    model: nn.Module,
    data: Dataset | Split,
    recipe: Recipe | None = None,
    *,
    every: int | None = None,
    folder: str | Path | None = None,
    observers: Sequence[Observer] = (),
    runtime: Runtime | None = None,
    start: dict[str, Any] | None = None,
    preprocess: Preparation | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Generator[Event, None, Run]:
    """Do what `fit` does as a generator, for whoever wants to look in between; the arguments are those of `fit`.

    Args:
        model: any torch module.
        data: a dataset, or its split.
        recipe: how to train.
        every: also yield after so many updates; None yields after checks only.
        folder: where the run is kept.
        observers: called after each step and each check.
        runtime: device, threads and flags.
        start: where the first weights came from.
        preprocess: how inputs are prepared.
        stop: says whether the run is to end before its time.

    Yields:
        Events, as `train` does; nothing is held between two of them.

    Returns:
        The run.
    """
    recipe = recipe or Recipe()
    split, preprocess, runtime = ready(model, data, recipe, runtime, preprocess)
    home = RunFolder.create(folder or Path("runs") / slug(f"{type(model).__name__}-{split.train.spec.source}"))
    origin = {**(split.origin or {"source": split.train.spec.source}), "reload": split.origin is not None}
    origin["fingerprint"] = fingerprint(split)
    begun = {"start": start} if start else {}
    home.write_config(
        {
            "note": split.note,
            "architecture": describe(model),
            "data": origin,
            "recipe": recipes.as_dict(recipe),
            **begun,
        }
    )
    home.write_json("preprocess", preprocess.as_dict())
    return (
        yield from _train(model, split, preprocess, recipe, runtime, home, observers, Progress(), None, every, stop)
    )


def resume(
    folder: str | Path,
    *,
    model: nn.Module | None = None,
    data: Split | None = None,
    optimizer: Optimizer | None = None,
    observers: Sequence[Observer] = (),
    epochs: int | None = None,
) -> Run:
    """Go on with a run that was killed or interrupted, bit for bit as if nothing had happened.

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
    runtime = Runtime(**{f.name: recorded[f.name] for f in fields(Runtime) if f.name in recorded})
    model = model or rebuild(config["architecture"])
    split = data or reload(config["data"])
    preprocess = read_preparation(home.json("preprocess"))
    saved = checkpoint.load(home.checkpoints)
    for reason in saved.skipped if saved else ():
        print(f"note: a damaged checkpoint was passed over ({reason})")
    progress = Progress()
    if saved is not None:
        plain = saved.plain
        best = {name.removeprefix("best/"): t for name, t in saved.tensors.items() if name.startswith("best/")}
        progress = Progress(plain["epoch"], plain["batch"], plain["rows"], best, plain["best_row"])
    home.reset_history(progress.rows)
    with runtime.applied(recipe.precision) as used:
        for difference in used.differences(recorded):
            print(f"note: {difference}: the result may differ in the last bits")
    with stop_on_signal() as stop:
        parts = model, split, preprocess, recipe, runtime, home, observers, progress, saved
        return drain(_train(*parts, every=None, stop=stop))


def _train(
    model: nn.Module,
    split: Split,
    preprocess: Preparation,
    recipe: Recipe,
    runtime: Runtime,
    home: RunFolder,
    observers: Sequence[Observer],
    progress: Progress,
    saved: checkpoint.Checkpoint | None,
    every: int | None,
    stop: Callable[[], bool],
) -> Generator[Event, None, Run]:
    """Do what `fit` and `resume` share."""
    with runtime.applied(recipe.precision) as used:
        step = make_step(model, split, preprocess, recipe, used)
    if saved is None:
        home.write_json("environment", environment(replace(used, step=step.kind), step.reason))
    else:
        step.restore(saved.tensors, saved.plain["step"])
    watchers = [observer for observer in observers if isinstance(observer, Watcher)]
    for watcher in watchers:
        step.watch(watcher)
    watched = WatchedRows(home, watchers, step.step)
    save = partial(_save, home, step, watched)
    seen: list[Observer] = [_Recorder(home), *observers, *([watched] if watchers else [])]
    home.write_json("status", {"state": "running"})
    run = remembered(step, recipe, progress, seen, at_most_every(CHECKPOINT_SECONDS, save), stop)
    reason = yield from released(run, used, recipe.precision, every)
    if reason.name == "diverged":
        watched.flush()
    else:
        save(progress)
    if progress.best:
        model.load_state_dict({**model.state_dict(), **progress.best})
    status = {"state": reason.name, "sentence": reason.sentence, "best_row": progress.best_row}
    if not reason.failed:
        status["weights"] = home.write_weights(model.state_dict())
    home.write_json("status", status)
    return Run(home.path, model.eval(), preprocess, step.objective, tuple(progress.rows), reason, split)


def ready(
    model: nn.Module,
    data: Dataset | Split,
    recipe: Recipe,
    runtime: Runtime | None = None,
    preprocess: Preparation | None = None,
) -> tuple[Split, Preparation, Runtime]:
    """Divide the data, fit the preparation and choose the threads, as far as they are not given."""
    split = data if isinstance(data, Split) else data.split(seed=recipe.seed)  # type: ignore[attr-defined]
    runtime = runtime or Runtime()
    runtime.check(recipe.precision)
    preprocess = preprocess or fit_preparation(split.train, model)
    if of_words(split.train.spec):
        return split, preprocess, with_threads_for_words(runtime, model, split.train, recipe)
    return split, preprocess, with_threads(runtime, model, split.train, cast(Preprocess, preprocess), recipe)


def make_step(model: nn.Module, split: Split, preprocess: Preparation, recipe: Recipe, runtime: Runtime) -> EagerStep:
    """Bring network and data together on a device, and check that they fit."""
    if isinstance(preprocess, TextPreprocess) or of_words(split.train.spec):
        return step_for_words(model, split, preprocess, recipe, runtime)
    model.to(runtime.device, recipe.dtype)
    if runtime.device == "cpu" or not few_channels(model):
        to_channels_last(model)
    train = preprocess.source(split.train, runtime.device, augment=recipe.augment)
    validation = preprocess.source(split.validation, runtime.device) if len(split.validation) else None
    if runtime.device == "cpu":
        train, validation = train.finished(), validation and validation.finished()
    objective = objective_for(model, split.train, preprocess, recipe)
    # A compiler unrolls a loop over time: it takes long and gains nothing over the fused layers.
    automatic = "captured" if train.device.type == "cuda" else "eager" if reads_sequences(model) else "tuned"
    make = MAKERS[automatic if runtime.step == "auto" else runtime.step]
    return make(model, train, validation, objective, recipe)


def objective_for(model: nn.Module, train: Dataset, preprocess: Preprocess, recipe: Recipe) -> Objective:
    """Look at what the network gives for one example and choose the loss of the task."""
    if recipe.label_smoothing:
        raise ArgumentError(
            f"`label_smoothing` is for texts and tokens, got {recipe.label_smoothing} for data of kind "
            f"{train.spec.kind!r}: leave it out."
        )
    spec = train.spec
    device = next(model.parameters()).device
    was_training = model.training
    with torch.no_grad():
        example = preprocess.apply(train.take(torch.zeros(1, dtype=torch.int64))[0]).to(device)
        outputs = model.eval()(example.to(next(model.parameters()).dtype))
    model.train(was_training)
    if not isinstance(outputs, Tensor) or len(outputs) != 1:
        raise ShapeError("the network must return one tensor with one row an example.")
    given = math.prod(outputs.shape[1:])
    wanted = (1, 2) if spec.task == "classification" and spec.outputs == 2 else (spec.outputs,)
    if given not in wanted:
        what = "classes" if spec.task == "classification" else "outputs"
        raise ShapeError(
            f"the network gives {given} outputs, but the data have {spec.outputs} {what}: "
            f"build it with outputs={spec.outputs}."
        )
    chosen = choose(spec.task, given, recipe.loss, recipe.class_weights, all_targets(train))
    weights = None if chosen.weights is None else chosen.weights.to(device, recipe.dtype)
    return replace(chosen, weights=weights)


def _save(home: RunFolder, step: EagerStep, watched: WatchedRows, at: Progress) -> None:
    """Write a checkpoint of everything that a resume needs."""
    tensors = {**step.state(), **{f"best/{name}": t for name, t in at.best.items()}}
    plain = {"epoch": at.epoch, "batch": at.batch, "step": step.step, "rows": at.rows, "best_row": at.best_row}
    watched.flush()
    checkpoint.save(home.checkpoints, step.step, tensors, plain)


class _Recorder:
    """The first observer: writes each check to the history."""

    def __init__(self, home: RunFolder) -> None:
        self.home, self.start = home, time.monotonic()

    def __call__(self, event: Event) -> None:
        if event.row is not None:
            self.home.append_row(event.row, time.monotonic() - self.start)


def describe(model: nn.Module) -> dict[str, Any]:
    """Say in plain values how to build a network again."""
    config = getattr(model, "config", None)
    known = {entry.network for entry in TABLE.values()}
    if not is_dataclass(config) or type(model).__name__ not in known:
        return {"network": "custom", "code": type(model).__qualname__}
    values: dict[str, Any] = asdict(config)  # type: ignore[arg-type]
    held, unset = frozen(model), [name for name, value in values.items() if value is None]
    return {
        "network": type(model).__name__,
        **({"frozen": held} if held else {}),
        **({"unset": unset} if unset else {}),  # TOML has no word for None
        "config": values,
    }


def rebuild(values: dict[str, Any]) -> nn.Module:
    """Build a network from what `describe` gave; only those of the table can be named."""
    entry = next((e for e in TABLE.values() if e.network == values["network"]), None)
    if entry is None:
        name = values.get("code", values["network"])
        raise RunError(
            f"the run was trained with the network {name!r}, which a file cannot hold: give it again as `model`."
        )
    module = import_module(entry.module)
    options = {key: tuple(v) if isinstance(v, list) else v for key, v in values["config"].items()}
    options |= dict.fromkeys(values.get("unset", ()))
    network: nn.Module = getattr(module, entry.network)(getattr(module, entry.config)(**options))
    return freeze(network, values["frozen"]) if values.get("frozen") else network


def reload(origin: dict[str, Any]) -> Split:
    """Load and split the data of a run again."""
    if not origin.get("reload", False):
        raise RunError(
            f"the data of this run ({origin.get('source') or 'arrays'}) were given in memory: "
            "give their split again as `data`."
        )
    dataset = load(origin["source"], **origin.get("options", {}))
    split: Split = dataset.split(seed=origin["seed"], ratios=tuple(origin["ratios"]))  # type: ignore[attr-defined]
    if origin["fingerprint"] != fingerprint(split):
        raise RunError(
            f"the data in {origin['source']} have changed since the run began: bring the old ones back, or train anew."
        )
    return split


def fingerprint(split: Split) -> str:
    """Give a short text that changes when training or validation targets do, so that a resume notices other data."""
    targets = [all_targets(part).contiguous().numpy().tobytes() for part in (split.train, split.validation)]
    return digest(b"|".join(targets))
