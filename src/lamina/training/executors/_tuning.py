"""How an update runs on the CPU when nothing is said and a run will last for minutes: eager or compiled.

Such a run looks at the clock: it times both kinds of update, keeps the faster and records what it found; a resume takes
what was recorded.
"""

import math
import time
from collections.abc import Callable

from torch import nn

from lamina.data.source import Source
from lamina.training.executors.compiled import _why_not, compiled
from lamina.training.learner import Learner
from lamina.training.objective import Objective
from lamina.training.recipe import Recipe
from lamina.training.tasks.feed import Feed

REPAID = 60.0
"""Measured seconds of eager training from which on compiling is tried, as it takes 5 to 20 seconds itself."""


def tuned(
    model: nn.Module,
    feed: Feed,
    validation: Source | None,
    objective: Objective,
    recipe: Recipe,
    updates: int,
) -> Learner:
    """Choose between the eager and the compiled update on the CPU."""
    parts = model, feed, validation, objective, recipe
    eager = Learner(*parts)
    eager.reason = _why_not(model, feed, recipe)
    if eager.reason:
        return eager
    expected = updates * timed([eager])[0]
    if expected < REPAID:
        eager.reason = f"about {expected:.0f} s of updates do not repay compiling"
        return eager
    other = compiled(*parts)
    if other.kind != "compiled":
        return other
    times = timed([eager, other])
    chosen = eager if times[0] < times[1] else other
    chosen.reason = f"measured: {1e3 * times[1]:.3g} ms per update compiled, {1e3 * times[0]:.3g} ms eager"
    return chosen


def timed(
    steps: list[Learner], seconds: float = 0.5, rounds: int = 3, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Measure seconds an update of several steps of one network, taking turns; all are left as they were."""
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
