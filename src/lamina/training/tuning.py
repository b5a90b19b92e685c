"""How an update runs on the CPU when nothing is said: how many threads, eager or compiled.

Fixed rules decide wherever they can, so that short runs depend on nothing that was measured. Only a run that will last
for minutes looks at the clock: it times both kinds of step, keeps the faster and records what it found; a resume takes
what was recorded.
"""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from lamina._types import Tensor
from lamina.data.dataset import Dataset
from lamina.data.preprocess import Preprocess
from lamina.data.source import Source
from lamina.training.compiled import make_compiled, why_not
from lamina.training.objective import Objective
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.step import EagerStep, batch_size

THREAD_OPERATIONS = 20e6
"""Floating point operations of an update that occupy one thread; with fewer, waiting for each other costs more."""

OVERHEAD, SPEED = 1e-4, 2e10
"""Of the fixed estimate: seconds an update takes at least, and operations a second beyond that."""

SHORT = 30.0
"""Estimated seconds up to which a run is eager without any measurement."""

REPAID = 60.0
"""Measured seconds of eager training from which on compiling is tried, as it takes 5 to 20 seconds itself."""


def operations(model: nn.Module, example: Tensor) -> float:
    """Count the floating point operations of the products for one example, forward and backward.

    A layer uses its weights once for every position of its output; backward takes twice as many as forward.

    Args:
        model: a network.
        example: one prepared example, with its batch axis.

    >>> operations(nn.Linear(784, 10), torch.zeros(1, 784)) == 6 * 7840
    True
    >>> operations(nn.Conv2d(1, 6, 5, padding=2), torch.zeros(1, 1, 28, 28)) == 6 * 150 * 784
    True
    """
    found = 0.0

    def count(module: nn.Module, _: Any, outputs: Any) -> None:
        nonlocal found
        first = outputs[0] if isinstance(outputs, tuple) else outputs
        weights = [p for p in module.parameters(recurse=False) if p.ndim > 1]
        if not weights or not isinstance(first, Tensor):
            return
        features = len(weights[0]) if isinstance(module, nn.Linear | nn.Conv2d) else first.shape[-1]
        positions = first.numel() / max(1, features * len(first))
        found += 6 * positions * sum(p.numel() for p in weights)

    hooks = [module.register_forward_hook(count) for module in model.modules()]
    was_training = model.training
    try:
        with torch.no_grad():
            model.eval()(example)
    finally:
        model.train(was_training)
        for hook in hooks:
            hook.remove()
    return found


def threads_for(work: float, available: int) -> int:
    """Say how many threads an update of so many operations can use.

    >>> threads_for(1e6, 8), threads_for(78e6, 2), threads_for(78e6, 64)
    (1, 2, 4)
    """
    return max(1, min(available, math.ceil(work / THREAD_OPERATIONS)))


def with_threads(runtime: Runtime, model: nn.Module, train: Dataset, preprocess: Preprocess, recipe: Recipe) -> Runtime:
    """Fill in the number of threads on the CPU, unless it is given: by a fixed rule from the work of an update."""
    if runtime.threads or runtime.device != "cpu":
        return runtime
    try:
        parameter = next(model.parameters())
        example = preprocess.apply(train.take(torch.zeros(1, dtype=torch.int64))[0])
        work = operations(model, example.to(parameter.device, parameter.dtype))
    except Exception:  # the step that is made next says what does not fit
        return runtime
    work *= batch_size(recipe, len(train))
    return replace(runtime, threads=threads_for(work, torch.get_num_threads()))


def tuned_step(
    model: nn.Module, train: Source, validation: Source | None, objective: Objective, recipe: Recipe
) -> EagerStep:
    """Choose between the eager and the compiled update on the CPU.

    Args:
        model: the network.
        train: the training examples.
        validation: the validation examples, or None.
        objective: what is minimized.
        recipe: how.

    Returns:
        The step; its `reason` says what was decided if the run was long enough to ask.
    """
    parts = model, train, validation, objective, recipe
    eager = EagerStep(*parts)
    updates = recipe.epochs * eager.batches
    updates = min(updates, recipe.stopping.max_steps or updates)
    if train.inputs is None or updates * _estimate(eager) < SHORT:
        return eager
    eager.reason = why_not(model, train, recipe)
    if eager.reason:
        return eager
    expected = updates * timed([eager])[0]
    if expected < REPAID:
        eager.reason = f"about {expected:.0f} s of updates do not repay compiling"
        return eager
    compiled = make_compiled(*parts)
    if compiled.kind != "compiled":
        return compiled
    times = timed([eager, compiled])
    chosen = eager if times[0] < times[1] else compiled
    chosen.reason = f"measured: {1e3 * times[1]:.3g} ms an update compiled, {1e3 * times[0]:.3g} ms eagerly"
    return chosen


def _estimate(step: EagerStep) -> float:
    """Give seconds an update by a rule that measures nothing."""
    inputs, _ = step.train.batch(torch.zeros(1, dtype=torch.int64))
    return OVERHEAD + operations(step.model, inputs.to(step.recipe.dtype)) * step.batch_size / SPEED


def timed(
    steps: list[EagerStep], seconds: float = 0.5, rounds: int = 3, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Measure seconds an update of several steps of one network, taking turns; all are left as they were.

    Args:
        steps: which.
        seconds: how long each may run in a round.
        rounds: how often; the best one counts.
        clock: gives seconds.
    """
    best = [math.inf] * len(steps)
    for _ in range(rounds):
        for number, step in enumerate(steps):
            before = {name: value.clone() for name, value in step.state().items()}
            count = step.step
            step.begin(0)
            step()  # to warm up
            start, made = clock(), 0
            while made == 0 or (clock() - start < seconds and made + 2 < step.batches):
                step()
                made += 1
            best[number] = min(best[number], (clock() - start) / made)
            step.restore(before, count)
    return best
