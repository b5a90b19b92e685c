"""Choose how updates are executed: what was asked for, or the best for device, task and length of the run.

Fixed rules decide wherever they can, so that short runs depend on nothing that was measured.
"""

from torch import nn

from lamina.layers.memory_format import to_channels_last
from lamina.training.executors._small import few_channels
from lamina.training.executors._tuning import tuned
from lamina.training.executors.captured import captured
from lamina.training.executors.compiled import compiled
from lamina.training.learner import Learner
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.task import Task

OVERHEAD, SPEED = 1e-4, 2e10
"""The fixed estimate: the least number of seconds per update, and the operations per second beyond that."""

SHORT = 30.0
"""Estimated seconds up to which a run is eager without any measurement."""


def learner(model: nn.Module, task: Task, recipe: Recipe, runtime: Runtime) -> Learner:
    """Bring network and data together on a device, and check that they fit.

    Args:
        model: the network.
        task: what is learned from which data.
        recipe: how.
        runtime: where, and how updates are executed.
    """
    runtime = runtime.ready(recipe.precision)
    model.to(runtime.device, recipe.dtype)
    if runtime.device == "cpu" or not few_channels(model):
        to_channels_last(model)
    objective = task.objective(model, recipe)
    source = task.source(task.split.train, recipe, runtime.device)
    apart = task.split.validation
    validation = task.source(apart, recipe, runtime.device, check=True) if len(apart) else None
    feed = task.feed(source, model, recipe)
    parts = model, feed, validation, objective, recipe
    if runtime.step == "compiled":
        return compiled(*parts)
    if runtime.step == "captured" or (runtime.step == "auto" and feed.device.type == "cuda"):
        return captured(*parts)
    updates = recipe.epochs * feed.batches
    updates = min(updates, recipe.stopping.max_steps or updates)
    seconds = updates * (OVERHEAD + task.look(model).operations * feed.batch_size / SPEED)
    if runtime.step == "eager" or not feed.gathers or seconds < SHORT or feed.device.type != "cpu":
        return Learner(*parts)
    return tuned(*parts, updates)
