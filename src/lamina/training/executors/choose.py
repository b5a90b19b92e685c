"""Choose how updates are executed: what was asked for, or the best for device, task and length of the run.

Fixed rules decide wherever they can, so that short runs depend on nothing that was measured.
"""

from functools import partial

import torch
from torch import nn

from lamina.layers.memory_format import to_channels_last
from lamina.training._global_norm import attach
from lamina.training.executors._eager import Eager, by_kernels
from lamina.training.executors._small import few_channels
from lamina.training.executors._tuning import tuned
from lamina.training.executors.captured import captured
from lamina.training.executors.compiled import compiled
from lamina.training.learner import Learner
from lamina.training.memory import free_bytes, kept_bytes, piece, say_split
from lamina.training.ranks import ALONE, Ranks
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.task import Task

OVERHEAD, SPEED = 1e-4, 2e10
"""The fixed estimate: the least number of seconds per update, and the operations per second beyond that."""

LARGE = 1e9
"""Operations of an update from which on its memory is forecast; smaller ones fit everywhere."""

SHORT = 30.0
"""Estimated seconds up to which a run is eager without any measurement."""


def learner(model: nn.Module, task: Task, recipe: Recipe, runtime: Runtime, ranks: Ranks = ALONE) -> Learner:
    """Bring network and data together on a device, and check that they fit.

    Args:
        model: the network.
        task: what is learned from which data.
        recipe: how.
        runtime: where, and how updates are executed.
        ranks: who trains together.
    """
    runtime = runtime.ready(recipe.precision)
    model.to(runtime.device, recipe.dtype)
    if not _rows_behind_rows(model, runtime):
        to_channels_last(model)
    objective = task.objective(model, recipe)
    source = task.source(task.split.train, recipe, runtime.device)
    if recipe.augment is not None and source.augment is None:
        recipe.augment.check(task.spec.kind, task.spec.inputs, whole=True)
    apart = task.split.validation
    validation = task.source(apart, recipe, runtime.device, check=True) if len(apart) else None
    feed = task.feed(source, model, recipe)
    feed.ranks = ranks
    if runtime.batch_norm == "global":
        attach(model, ranks)
    work = task.look(model).operations * feed.batch_size
    if feed.micro_batch is None and feed.device.type == "cpu" and work > LARGE:
        feed.micro_batch = _forecast(model, task, ranks.largest(feed.batch_size), ranks)
    parts = model, feed, validation, objective, recipe
    if ranks.joined and feed.device.type != "cuda":
        reason = "ranks add their gradients in the middle of an update" if runtime.step == "compiled" else ""
        return Learner(*parts, partial(Eager, reason=reason))
    if runtime.step == "compiled":
        return compiled(*parts)
    if runtime.step == "captured" or (runtime.step == "auto" and feed.device.type == "cuda"):
        return captured(*parts)
    updates = recipe.epochs * feed.batches
    updates = min(updates, recipe.stopping.max_steps or updates)
    seconds = updates * (OVERHEAD + work / SPEED)
    if runtime.step == "eager" or not feed.even or seconds < SHORT or feed.device.type != "cpu":
        return Learner(*parts)
    return tuned(*parts, updates)


def _rows_behind_rows(model: nn.Module, runtime: Runtime) -> bool:
    """Say whether maps stay channel by channel, as our kernels read them; all else is faster channels-last."""
    if runtime.device != "cpu":
        return few_channels(model)
    return runtime.step != "compiled" and bool(by_kernels(model))


def _forecast(model: nn.Module, task: Task, examples: int, ranks: Ranks = ALONE) -> int | None:
    """Say into which pieces a batch must be divided to fit into the memory of a CPU; None if it fits."""
    was_training = model.training
    each = kept_bytes(model.eval(), *task.example(model))
    model.train(was_training)
    size = min(ranks.gathered(piece(examples, each, free_bytes(torch.device("cpu")) // ranks.beside)))
    if size == examples:
        return None
    say_split(model, examples, size)
    return size
