"""Measure on the device at hand what one rank would do: a few updates at each size of batch, a check, a checkpoint."""

import copy
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from lamina._types import Tensor
from lamina.scaling.scaled import BACKWARD, Workload
from lamina.training import checkpoint
from lamina.training.executors.choose import learner
from lamina.training.learner import Learner
from lamina.training.plan import Plan
from lamina.training.ranks import ALONE, Ranks
from lamina.training.recipe import GD, MiniBatch, Recipe, Schedule, Stopping
from lamina.training.runtime import Runtime

Result = TypeVar("Result")
Timings = tuple[tuple[int, float], ...]
"""Pairs of a number of examples and the seconds of an update with them."""

WARM, LEAST, MOST = 2, 3, 30
"""Updates before the first that counts, and how many count at least and at most."""

QUARTILES = 1.349
"""How many standard deviations the quartiles of normal numbers are apart."""


class Apart(Ranks):
    """The first of some ranks, which computes its part and leaves out what it would hear from the others."""

    def sum_(self, tensor: Tensor) -> Tensor:
        """Add nothing."""
        return tensor

    def align_(self, tensors: Sequence[Tensor]) -> None:
        """Change nothing."""

    def gathered(self, value: Any) -> list[Any]:
        """Take all others to have the same."""
        return [value] * self.size

    def shared(self, make: Callable[[], Result]) -> Result:
        """Make it."""
        return make()


def of_rank(job: Plan, size: int, runtime: Runtime, ranks: int = 2) -> Learner:
    """Make what computes the updates of one of several ranks, each of which has so many examples.

    Batch normalization over all ranks is computed in steps, unless `runtime` says "local".
    """
    return of_ranks(job, ranks * size, runtime, Apart(0, ranks, joined=True) if ranks > 1 else ALONE)


def of_ranks(job: Plan, batch: int, runtime: Runtime, ranks: Ranks) -> Learner:
    """Make what computes updates with so many examples on all ranks together."""
    return learner(copy.deepcopy(job.model), job.task, _brief(job.recipe, batch), runtime, ranks)


def norm_channels(model: nn.Module) -> tuple[int, ...]:
    """List the channels of the batch-norm layers of a network.

    >>> norm_channels(nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU()))
    (4,)
    """
    layers = (module for module in model.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm))
    return tuple(layer.num_features for layer in layers)


def gradient_bytes(model: nn.Module, recipe: Recipe) -> int:
    """Count the bytes of all gradients.

    >>> gradient_bytes(nn.Linear(3, 2), Recipe(precision="float64"))
    64
    """
    return sum(p.numel() for p in model.parameters() if p.requires_grad) * recipe.dtype.itemsize


def workload(job: Plan, timings: Sequence[tuple[int, float]], **measured: Any) -> Workload:
    """Describe a training with timings that are known.

    Args:
        job: network, data and recipe.
        timings: pairs of a number of examples and the seconds of an update with them.
        measured: `jitter`, `evaluation` and `checkpoint`, as far as they are known.
    """
    examples, updates, batch = len(job.split.train), job.task.updates(job.recipe), job.task.examples(job.recipe)
    return Workload(
        batch=batch,
        updates=updates,
        tail=examples % batch if updates == -(-examples // batch) else 0,
        epochs=job.recipe.epochs,
        timings=tuple(sorted(timings)),
        gradient_bytes=gradient_bytes(job.model, job.recipe),
        norms=norm_channels(job.model),
        value_bytes=job.recipe.dtype.itemsize,
        **measured,
    )


def least(job: Plan) -> int:
    """Return the fewest examples that can be measured: one alone has no variance, and none to be mixed with."""
    augment = job.recipe.augment
    return 2 if norm_channels(job.model) or (augment is not None and augment.mixes) else 1


def measured(job: Plan, sizes: Sequence[int], runtime: Runtime, seconds: float = 30.0, *, ranks: int = 1) -> Workload:
    """Measure a training on one device.

    The smallest batch comes first, then the largest for which the time suffices, then those between. What is left out
    is extrapolated by the workload.

    Args:
        job: network, data and recipe; the network is not changed.
        sizes: the numbers of examples that a rank may have to compute.
        runtime: device, threads and flags.
        seconds: how long this may take, about.
        ranks: 1 for a process alone; 2 for one of several ranks that have so many examples each.
    """
    began, timings, spreads = time.perf_counter(), dict[int, float](), list[float]()
    left = sorted({max(size, least(job)) for size in sizes})
    evaluation = written = 0.0
    while left:
        remaining = seconds - (time.perf_counter() - began)
        size = _following(timings, left, remaining)
        if size is None:
            break
        left.remove(size)
        share = max(remaining, 0.0) / (len(left) + 1)
        with runtime.applied(job.recipe.precision) as used:
            step = of_rank(job, size, used, ranks)
            try:
                found = updates(step, share)
                timings[size] = statistics.median(found)
                spreads.append(spread(found))
                written = written or _written(step)
                if size == max(timings):
                    evaluation = _check(step, (size, timings[size]), share)
            finally:
                step.feed.source.close()
    jitter = statistics.median(spreads)
    return workload(job, rising(sorted(timings.items())), jitter=jitter, evaluation=evaluation, checkpoint=written)


def rising(timings: Sequence[tuple[int, float]]) -> Timings:
    """Let no batch take longer than a larger one did: what disturbs a measurement only adds to it.

    >>> rising([(1, 5.0), (2, 3.0), (4, 6.0)])
    ((1, 3.0), (2, 3.0), (4, 6.0))
    """
    return tuple((size, min(t for _, t in timings[place:])) for place, (size, _) in enumerate(timings))


def _following(timings: Mapping[int, float], left: Sequence[int], seconds: float) -> int | None:
    """Choose the size to measure next: the smallest, then the largest that the time allows, which it always does once.

    >>> [_following({2: 1.0}, [4, 8, 16], seconds) for seconds in (60.0, 30.0, 0.0)]
    [16, 8, 4]
    """
    if not timings:
        return left[0]
    known = max(timings)
    fits = [size for size in left if _most(timings, size) * (WARM + LEAST) <= seconds]
    above = [size for size in fits if size > known]
    if above or len(timings) == 1:
        return max(above, default=left[0])
    return fits[len(fits) // 2] if fits else None


def _most(timings: Mapping[int, float], size: int) -> float:
    """Return what an update takes at most: as much per example as with the nearest smaller batch."""
    nearest = max(known for known in timings if known <= size)
    return timings[nearest] * size / nearest


def _brief(recipe: Recipe, size: int) -> Recipe:
    """Give the recipe of a few updates with batches of this size."""
    optimizer = recipe.optimizer
    if isinstance(optimizer, GD):  # a rank takes a part of all examples
        optimizer = MiniBatch(learning_rate=optimizer.learning_rate)
    return replace(
        recipe, optimizer=optimizer, batch_size=size, epochs=1, schedule=Schedule(), stopping=Stopping(), check_every=1
    )


def updates(step: Learner, seconds: float, most: float = MOST) -> list[float]:
    """Time updates one by one, until there are enough or the time is over."""
    found, make = list[float](), endless(step)
    began = time.perf_counter()
    while len(found) < WARM + LEAST or (len(found) < WARM + most and time.perf_counter() - began < seconds):
        found.append(next(make))
    return found[WARM:]


def endless(step: Learner) -> Iterator[float]:
    """Make update after update and give the seconds of each, but not the last of an epoch, which may be a small one."""
    for epoch in count():
        step.begin(epoch)
        for _ in range(max(1, step.batches - 1)):
            _wait(step)
            start = time.perf_counter()
            step()
            _wait(step)
            yield time.perf_counter() - start


def _wait(step: Learner) -> None:
    """Wait until the device has done what it was told."""
    if step.feed.device.type == "cuda":
        torch.cuda.synchronize(step.feed.device)


def spread(found: Sequence[float]) -> float:
    """Give the spread of timings as a share of them, from their quartiles: a busy moment is no noise.

    >>> round(spread([1.0, 2.0, 3.0, 4.0, 100.0]), 3)
    0.494
    """
    low, middle, high = statistics.quantiles(found, n=4, method="inclusive")
    return (high - low) / QUARTILES / middle


def _check(step: Learner, timing: tuple[int, float], seconds: float) -> float:
    """Time a check; one that would take longer than this is guessed: per example it is the forward part of an update.

    Args:
        step: the training.
        timing: a number of examples, and the seconds of an update with them.
        seconds: how long it may take.
    """
    if step.validation is None or not len(step.validation):
        return 0.0
    size, update = timing
    guess = (1 - BACKWARD) * update / size * len(step.validation)
    if guess > seconds:
        return guess
    start = time.perf_counter()
    step.evaluate()
    return time.perf_counter() - start


def _written(step: Learner) -> float:
    """Time a checkpoint, of the state and of the best weights beside it."""
    state = step.state()
    state |= {f"best/{name}": t.detach().clone() for name, t in state.items() if name.startswith("model/")}
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        checkpoint.save(Path(folder), 0, state, {})
        return time.perf_counter() - start
