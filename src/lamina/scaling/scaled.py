"""What an update takes on n ranks: a model made of what one device was measured to do, and of the links between them.

The whole batch stays the same however many ranks share it, so each computes a smaller part, and the fixed cost of an
update, the slowest rank and the sums over all ranks decide how far that goes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lamina._errors import ArgumentError, above, at_least, choice, whole
from lamina._errors import between as bounded
from lamina.scaling.collectives import Link, all_reduce
from lamina.scaling.stragglers import SHAPES, slowest

BACKWARD = 2 / 3
"""The share of an update in which gradients are computed: about twice the work of the forward pass."""

NORMS = ("global", "local")
"""Over which examples batch normalization takes its means: those of all ranks, or those of each."""

PASSES = 4
"""All-reduces that a batch-norm layer needs: sums and centered squares forward, and one for each of them backward."""

COUNTS = 16
"""Bytes of the sums of an evaluation."""


@dataclass(frozen=True)
class Together:
    """What an update takes on some ranks of one machine that were measured while they made it together, in seconds.

    Args:
        ranks: how many.
        computing: between their sums, on the average.
        waiting: for the one that comes to a sum last.
        gradients: for the sum of the gradients, from when the last one has come.
        norms: for all other sums of an update, likewise.
        small: for the sum of a few numbers after an update, likewise.
    """

    ranks: int
    computing: float
    waiting: float
    gradients: float
    norms: float
    small: float

    def __post_init__(self) -> None:
        whole("ranks", self.ranks, 2)
        above("computing", self.computing, 0)
        for name in ("waiting", "gradients", "norms", "small"):
            at_least(name, getattr(self, name), 0)


@dataclass(frozen=True)
class Workload:
    """A training, as one device was measured to do it.

    Args:
        batch: how many examples an update takes on all ranks together.
        updates: how many updates make an epoch.
        epochs: how many epochs make a run.
        timings: pairs of a number of examples and the seconds of an update with them on one rank, rising.
        gradient_bytes: the bytes of all gradients.
        jitter: the standard deviation of the seconds of an update, as a share of them.
        norms: the channels of each batch-norm layer.
        value_bytes: the bytes of one number.
        evaluation: the seconds of a check after each epoch on one rank.
        checkpoint: the seconds that a checkpoint takes.
        tail: the examples of the last update of an epoch, if it has fewer than the others; 0 if not.
        apart: as `timings`, for one of several ranks: beside others on its machine, and with batch normalization over
            all of them, which is computed in steps; `timings` if there are none.
        together: of the ranks of one machine that were measured as they are, sums and all.
    """

    batch: int
    updates: int
    epochs: int
    timings: tuple[tuple[int, float], ...]
    gradient_bytes: int
    jitter: float = 0.0
    norms: tuple[int, ...] = ()
    value_bytes: int = 4
    evaluation: float = 0.0
    checkpoint: float = 0.0
    tail: int = 0
    apart: tuple[tuple[int, float], ...] = ()
    together: tuple[Together, ...] = ()

    def __post_init__(self) -> None:
        for name in ("batch", "updates", "epochs"):
            whole(name, getattr(self, name), 1)
        for name in ("gradient_bytes", "jitter", "evaluation", "checkpoint"):
            at_least(name, getattr(self, name), 0)
        whole("tail", self.tail, 0, self.batch - 1)
        if not self.timings:
            raise ArgumentError("`timings` must hold at least 1 pair of examples and seconds, got none.")
        for name in ("timings", "apart"):
            for examples, seconds in getattr(self, name):
                whole(name, examples, 1)
                above(name, seconds, 0)
            sizes = [examples for examples, _ in getattr(self, name)]
            if sizes != sorted({*sizes}):
                raise ArgumentError(f"`{name}` must name each number of examples once, rising, got {sizes}.")

    def seconds(self, examples: int, ranks: int = 1) -> float:
        """Return the seconds of an update with so many examples on one of some ranks.

        Between two timings it lies on their line, beyond them on the nearest one; a single timing is taken as
        proportional to the examples, which is the best case.

        >>> Workload(64, 1, 1, ((16, 0.02), (64, 0.05)), 0).seconds(32)
        0.03
        """
        whole("examples", examples, 1)
        timings = self.apart if ranks > 1 and self.apart else self.timings
        if len(timings) == 1:
            (known, seconds), *_ = timings
            return seconds * examples / known
        lines = list(pairwise(timings))
        (x0, t0), (x1, t1) = next((line for line in lines if examples <= line[1][0]), lines[-1])
        found = t0 + (t1 - t0) * (examples - x0) / (x1 - x0)
        (least, first), (most, last) = timings[0], timings[-1]
        if examples < least:
            return max(found, first * examples / least)
        return max(found, last) if examples > most else found

    @property
    def fixed(self) -> tuple[float, float]:
        """The seconds of an update that do not shrink with the batch, and the seconds per example: a fitted line.

        >>> fixed, each = Workload(64, 1, 1, ((16, 0.02), (32, 0.03), (64, 0.05)), 0).fixed
        >>> round(fixed, 9), round(each, 9)
        (0.01, 0.000625)
        """
        if len(self.timings) == 1:
            return 0.0, self.timings[0][1] / self.timings[0][0]
        sizes, seconds = np.array(self.timings, dtype=np.float64).T
        rows = np.stack([1 / seconds, sizes / seconds], 1)  # relative errors count, not absolute ones
        (fixed, each), *_ = np.linalg.lstsq(rows, np.ones(len(sizes)), rcond=None)
        return max(0.0, float(fixed)), max(0.0, float(each))

    @property
    def small(self) -> int:
        """The examples per rank below which more than half of computing is the fixed part, at most one more than all.

        >>> Workload(64, 1, 1, ((16, 0.02), (64, 0.05)), 0).small
        16
        """
        fixed, each = self.fixed
        return math.ceil(min(fixed / each, self.batch + 1) - 1e-9) if each > 0 else self.batch + 1


@dataclass(frozen=True)
class Cluster:
    """Where the ranks run.

    Args:
        per_node: the ranks of a node.
        inside: the link between two ranks of a node.
        between: the link of a rank to another node.
        cores: how many ranks of a node compute at once; 0 where each has a device of its own.
        overlap: the share of the backward pass in which gradients can be summed already; 0 sums them after it.
        batch_norm: "global" (over the examples of all ranks, as one process would) or "local".
        reading: the examples per second that a node can read; infinite for data that lie on the device.
        shape: how the seconds of an update are distributed, "exponential" or "normal".
        mtbf: the mean hours between two failures of one device.
        restart: the seconds from a failure until work goes on.
        price: of a device for an hour.
    """

    per_node: int
    inside: Link
    between: Link
    cores: int = 0
    overlap: float = 0.0
    batch_norm: str = "global"
    reading: float = math.inf
    shape: str = "exponential"
    mtbf: float = math.inf
    restart: float = 60.0
    price: float = 0.0

    def __post_init__(self) -> None:
        whole("per_node", self.per_node, 1)
        whole("cores", self.cores, 0)
        bounded("overlap", self.overlap, 0, 1)
        choice("batch_norm", self.batch_norm, NORMS)
        choice("shape", self.shape, SHAPES)
        for name in ("reading", "mtbf"):
            above(name, getattr(self, name), 0)
        for name in ("restart", "price"):
            at_least(name, getattr(self, name), 0)

    def sharing(self, ranks: int) -> float:
        """Return how many times longer a rank computes because ranks share the cores of a node.

        >>> link = Link(0.0, 1e9)
        >>> [Cluster(4, link, link, cores=2).sharing(ranks) for ranks in (1, 2, 4, 8)]
        [1.0, 1.0, 2.0, 2.0]
        """
        return max(1.0, min(ranks, self.per_node) / self.cores) if self.cores else 1.0

    def reduced(self, ranks: int, size: float) -> tuple[float, str]:
        """Return the seconds of the fastest all-reduce of so many bytes, and its name."""
        return all_reduce(ranks, size, self.inside, self.between, self.per_node)


@dataclass(frozen=True)
class Scaled:
    """What a training takes on so many ranks, in seconds.

    Args:
        ranks: how many.
        batch: the examples of the rank that has most.
        computing: of an update, on one rank.
        waiting: for the slowest rank.
        gradients: for the sum of the gradients, as far as nothing is computed meanwhile.
        norms: for the sums of batch normalization.
        reading: for data, beyond all of this.
        evaluation: of a check after an epoch.
        epoch: of an epoch.
        run: of all epochs, without failures and checkpoints.
        rate: the examples per second.
        efficiency: the speed, as a share of `ranks` times that of one rank.
        device_hours: of all devices for the run.
        cost: of the run.
        how: the way in which gradients are summed: "none", "ring", "tree" or "nested".
    """

    ranks: int
    batch: int
    computing: float
    waiting: float
    gradients: float
    norms: float
    reading: float
    evaluation: float
    epoch: float
    run: float
    rate: float
    efficiency: float
    device_hours: float
    cost: float
    how: str

    @property
    def step(self) -> float:
        """The seconds of an update."""
        return self.computing + self.waiting + self.gradients + self.norms + self.reading


def scaled(work: Workload, cluster: Cluster, ranks: int) -> Scaled:
    """Predict what a training takes on so many ranks.

    Args:
        work: the training, as one device does it.
        cluster: where the ranks run.
        ranks: how many.

    >>> link = Link(latency=1e-3, bandwidth=1e9)
    >>> work = Workload(64, 10, 1, ((32, 0.3), (64, 0.5)), gradient_bytes=10**8)
    >>> two = scaled(work, Cluster(8, link, link), 2)
    >>> two.batch, two.computing, round(two.gradients, 6), round(two.step, 6)  # 2 messages of half the gradients
    (32, 0.3, 0.102, 0.402)
    """
    parts = _parts(work, cluster, ranks, work.batch)
    evaluation = work.evaluation * cluster.sharing(ranks) / ranks + cluster.reduced(ranks, COUNTS)[0]
    epoch = _updates(work, cluster, ranks) + evaluation
    alone = _updates(work, cluster, 1) + work.evaluation
    hours = epoch * work.epochs * ranks / 3600
    return Scaled(
        ranks=ranks,
        batch=math.ceil(work.batch / ranks),
        **parts,
        evaluation=evaluation,
        epoch=epoch,
        run=epoch * work.epochs,
        rate=work.batch / sum(parts.values()),
        efficiency=alone / (ranks * epoch),
        device_hours=hours,
        cost=hours * cluster.price,
        how=cluster.reduced(ranks, work.gradient_bytes)[1],
    )


def unevenness(work: Workload, cluster: Cluster) -> float:
    r"""Return how many times longer ranks wait for the slowest than if they met once per update.

    They meet m times, for the gradients and for each sum of batch normalization. The variance of an update is that of
    its m pieces together, so that each piece deviates by $1 / \sqrt m$ of what an update does.

    >>> link, work = Link(0.0, 1e9), Workload(64, 1, 1, ((64, 0.1),), 0, norms=(8, 8))
    >>> unevenness(work, Cluster(2, link, link)), unevenness(work, Cluster(2, link, link, batch_norm="local"))
    (3.0, 1.0)
    """
    return math.sqrt(1 + PASSES * len(work.norms) * (cluster.batch_norm == "global"))


def counts(most: int) -> tuple[int, ...]:
    """Give the numbers of ranks of a table: powers of two, and the largest.

    >>> counts(6)
    (1, 2, 4, 6)
    """
    whole("ranks", most, 1)
    return tuple(sorted({most, *(2**i for i in range(most.bit_length()))}))


def recommended(rows: Sequence[Scaled], least: float = 0.5) -> Scaled:
    """Give the row with the most ranks whose efficiency is not below a bound.

    Args:
        rows: one per number of ranks, rising, the first for one rank.
        least: the bound.
    """
    bounded("efficiency", least, 0, 1)
    return next((row for row in reversed(rows) if row.efficiency >= least), rows[0])


def _parts(work: Workload, cluster: Cluster, ranks: int, examples: int) -> dict[str, float]:
    """Give the parts of an update with so many examples on all ranks, in seconds."""
    whole("ranks", ranks, 1)
    batch = math.ceil(examples / ranks)
    met = next((met for met in work.together if met.ranks == ranks <= cluster.per_node), None)
    if met is not None:
        share = work.seconds(batch, ranks) / work.seconds(math.ceil(work.batch / ranks), ranks)
        computing, waiting, summed, norms = met.computing * share, met.waiting * share, met.gradients, met.norms
    else:
        computing = work.seconds(batch, ranks) * cluster.sharing(ranks)
        deviation = work.jitter * computing * unevenness(work, cluster)
        waiting = slowest(ranks, computing, deviation, cluster.shape) - computing
        summed, _ = cluster.reduced(ranks, work.gradient_bytes)
        norms = 0.0
        if cluster.batch_norm == "global":
            norms = PASSES * sum(cluster.reduced(ranks, channels * work.value_bytes)[0] for channels in work.norms)
    gradients = max(0.0, summed - cluster.overlap * BACKWARD * computing)
    read = min(ranks, cluster.per_node) * batch / cluster.reading
    reading = max(0.0, read - computing - waiting - gradients - norms)
    return {
        "computing": computing,
        "waiting": waiting,
        "gradients": gradients,
        "norms": norms,
        "reading": reading,
    }


def _updates(work: Workload, cluster: Cluster, ranks: int) -> float:
    """Add up the seconds of the updates of an epoch, of which the last may have fewer examples."""
    full = work.updates - (work.tail > 0)
    last = sum(_parts(work, cluster, ranks, work.tail).values()) if work.tail else 0.0
    return full * sum(_parts(work, cluster, ranks, work.batch).values()) + last
