"""Failures: what they cost, how often to write a checkpoint, and a simulation of whole runs.

A device fails at a constant rate, so that n of them fail n times as often, and a run that waits for all of them stops
with the first. It then starts again from its last checkpoint.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamina._errors import ArgumentError, above, at_least, choice, whole
from lamina.scaling.stragglers import SHAPES, Numbers, draw_slowest, largest, largest_variance, quantile

MOST = 1_000_000
"""Attempts after which a simulated run is given up: it would hardly ever end."""

SINGLE = 64
"""Up to so many updates between two checkpoints each is drawn; the sum of more is normal."""


def young(checkpoint: float, mtbf: float) -> float:
    r"""Return Young's time between two checkpoints, the first approximation of the best one.

    $$\tau = \sqrt{2 C M}$$
    with C = `checkpoint` and M = `mtbf` (Young, 1974).

    Args:
        checkpoint: the seconds that writing one takes.
        mtbf: the mean seconds between two failures of the whole run.

    >>> young(checkpoint=2.0, mtbf=10_000.0)
    200.0
    """
    above("checkpoint", checkpoint, 0)
    above("mtbf", mtbf, 0)
    return math.sqrt(2 * checkpoint * mtbf)


def daly(checkpoint: float, mtbf: float) -> float:
    r"""Return Daly's time between two checkpoints, which stays right when failures are frequent.

    $$\tau = \sqrt{2 C M} \left(1 + \frac{1}{3} \sqrt{\frac{C}{2M}} + \frac{C}{18 M}\right) - C$$
    for C < 2 M, else M (Daly, 2006, eq. 37).

    Args:
        checkpoint: C, the seconds that writing one takes.
        mtbf: M, the mean seconds between two failures of the whole run.

    >>> round(daly(checkpoint=2.0, mtbf=10_000.0), 3)
    198.669
    """
    if checkpoint >= 2 * mtbf:
        return mtbf
    return (
        young(checkpoint, mtbf) * (1 + math.sqrt(checkpoint / (2 * mtbf)) / 3 + checkpoint / (18 * mtbf)) - checkpoint
    )


def expected_time(work: float, interval: float, checkpoint: float, restart: float, mtbf: float) -> float:
    r"""Return the expected seconds of a run that fails now and then.

    $$T = M e^{R/M} \left(e^{(\tau + C)/M} - 1\right) \frac{W}{\tau}$$
    with W = `work`, tau = `interval`, C = `checkpoint`, R = `restart`, M = `mtbf` (Daly, 2006, eq. 20): exact for
    exponential failures, which may also come while a checkpoint is written or the run starts again.

    Args:
        work: the seconds of the run without failures and checkpoints.
        interval: the seconds of work between two checkpoints.
        checkpoint: the seconds that writing one takes.
        restart: the seconds from a failure until work goes on.
        mtbf: the mean seconds between two failures of the whole run; infinite if there are none.

    >>> expected_time(100.0, 10.0, 1.0, 5.0, math.inf)
    110.0
    """
    at_least("work", work, 0)
    above("interval", interval, 0)
    at_least("checkpoint", checkpoint, 0)
    at_least("restart", restart, 0)
    above("mtbf", mtbf, 0)
    if math.isinf(mtbf):
        return work / interval * (interval + checkpoint)
    try:
        return mtbf * math.exp(restart / mtbf) * math.expm1((interval + checkpoint) / mtbf) * work / interval
    except OverflowError:
        return math.inf


@dataclass(frozen=True)
class Course:
    """How runs went in a simulation.

    Args:
        seconds: the mean time from the start to the end of a run.
        deviation: the standard deviation.
        low: 5 % of the runs took less.
        high: 5 % of the runs took more.
        failures: the mean number of failures.
        lost: the share of the time that was neither work that lasted nor checkpoints.
        runs: how many were simulated.
        interval: the updates between two checkpoints.
    """

    seconds: float
    deviation: float
    low: float
    high: float
    failures: float
    lost: float
    runs: int
    interval: int


def simulate(
    updates: int,
    ranks: int,
    mean: float,
    *,
    deviation: float = 0.0,
    shape: str = "exponential",
    interval: int = 1000,
    checkpoint: float = 0.0,
    restart: float = 0.0,
    mtbf: float = math.inf,
    runs: int = 200,
    seed: int = 0,
) -> Course:
    """Simulate runs with slow ranks and failures; the result is a function of the arguments alone.

    An update takes as long as the slowest rank. After every `interval` updates, and after the last, a checkpoint is
    written. A failure loses what was done since the last one, and takes `restart` seconds, in which the next may come.

    Args:
        updates: how many make a run.
        ranks: how many devices compute each update, and can fail.
        mean: the mean seconds of an update on one rank, what all ranks do together included.
        deviation: the standard deviation of these seconds among ranks and updates.
        shape: how they are distributed, "exponential" or "normal".
        interval: the updates between two checkpoints.
        checkpoint: the seconds that writing one takes.
        restart: the seconds from a failure until work goes on.
        mtbf: the mean seconds between two failures of one device.
        runs: how many runs are simulated.
        seed: the seed of all draws.

    >>> found = simulate(100, 4, 0.5, interval=10, checkpoint=1.0, runs=2)
    >>> found.seconds, found.failures  # 50 s of work and 10 checkpoints
    (60.0, 0.0)
    """
    for name, count in (("updates", updates), ("ranks", ranks), ("interval", interval), ("runs", runs)):
        whole(name, count, 1)
    above("mean", mean, 0)
    above("mtbf", mtbf, 0)
    for name, seconds in (("deviation", deviation), ("checkpoint", checkpoint), ("restart", restart)):
        at_least(name, seconds, 0)
    choice("shape", shape, SHAPES)
    whole("seed", seed, 0)
    generator, between = np.random.Generator(np.random.PCG64(seed)), mtbf / ranks
    slow, spread = mean + deviation * largest(ranks, shape), deviation**2 * largest_variance(ranks, shape)
    needed = expected_time(updates * slow, min(interval, updates) * slow, checkpoint, restart, between)
    if needed / min(interval * slow + checkpoint, between) > MOST:
        raise ArgumentError(
            f"`mtbf` {mtbf:.4g} s for each of {ranks:,} devices is too short: a failure comes about every "
            f"{between:.3g} s, and the run would need more than {MOST:,} attempts. Write checkpoints more often "
            "(`interval`), or use fewer devices."
        )
    done, down = np.zeros(runs, dtype=np.int64), np.zeros(runs, dtype=bool)
    elapsed, kept, failed = np.zeros((3, runs))
    while (active := done < updates).any():
        steps = np.minimum(updates - done, interval)
        worked = _worked(steps, ranks, (mean, deviation, shape), (slow, spread), generator)
        needs = np.where(down, restart, worked + checkpoint)
        lives = -np.log(_uniform(generator, runs)) * between if math.isfinite(between) else np.full(runs, np.inf)
        fails = active & (lives < needs)
        lasts = active & ~fails & ~down
        elapsed += np.where(active, np.minimum(lives, needs), 0.0)
        kept += np.where(lasts, needs, 0.0)
        done += np.where(lasts, steps, 0)
        failed += fails
        down = fails
    low, high = np.quantile(elapsed, (0.05, 0.95)).tolist()
    return Course(
        seconds=float(elapsed.mean()),
        deviation=float(elapsed.std()),
        low=low,
        high=high,
        failures=float(failed.mean()),
        lost=max(0.0, 1 - float(kept.sum() / elapsed.sum())),
        runs=runs,
        interval=interval,
    )


def _worked(
    steps: NDArray[np.int64],
    ranks: int,
    one: tuple[float, float, str],
    all_of_them: tuple[float, float],
    generator: np.random.Generator,
) -> Numbers:
    """Draw the seconds of so many updates in each run: one by one, or where they are many, their sum."""
    most, (slow, spread) = int(steps.max()), all_of_them
    if most > SINGLE:
        z = quantile(_uniform(generator, len(steps)))
        return np.asarray(np.maximum(steps * slow + np.sqrt(steps * spread) * z, 0.0))
    drawn = draw_slowest(_uniform(generator, (len(steps), most)), ranks, *one)
    return np.asarray((drawn * (np.arange(most) < steps[:, None])).sum(1))


def _uniform(generator: np.random.Generator, size: int | tuple[int, int]) -> Numbers:
    """Draw numbers between 0 and 1, without 0 and 1."""
    return generator.random(size) * (1 - 2**-52) + 2**-54
