"""Plan a training on more ranks than there are: a table, a recommendation, a chart, and what failures would cost."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamina._errors import ArgumentError, RunError, whole
from lamina.scaling.beside import LEAST, MOST, Asked, Beside
from lamina.scaling.collectives import Link
from lamina.scaling.failures import Course, daly, simulate
from lamina.scaling.measure import least, measured, workload
from lamina.scaling.scaled import PASSES, Cluster, Scaled, Together, Workload, counts, recommended, scaled, unevenness
from lamina.scaling.stragglers import largest
from lamina.training.plan import Plan
from lamina.training.runtime import Runtime

if TYPE_CHECKING:
    from lamina.drawing.scene import Scene

GPUS = Cluster(
    per_node=8,
    inside=Link(latency=3.4e-6, bandwidth=450e9),
    between=Link(latency=9.6e-6, bandwidth=50e9),
    mtbf=54 * 24 * 16384 / 419,
)
"""Nodes of 8 GPUs of NVIDIA's H100 kind."""

CPUS = Cluster(per_node=1, inside=Link(latency=150e-6, bandwidth=1e9), between=Link(latency=150e-6, bandwidth=1e9))
"""Processes on the cores of machines such as this one; the number of cores is filled in."""

SOURCES = {
    "cuda": {
        "inside": "within a node 450 GB/s, what NVLink of an H100 sends one way by its data sheet, and 3.4 us, NCCL's "
        "own estimate for a message of a ring (tuning.cc)",
        "between": "between nodes 50 GB/s, a port of 400 Gb/s for each GPU, and 9.6 us, NCCL's own estimate",
        "mtbf": "a failure of a GPU in 50,677 hours: 419 in 54 days on 16,384 (The Llama 3 Herd of Models, 2024)",
    },
    "cpu": {
        "inside": "within a node 1 GB/s and 150 us, as gloo was measured over loopback on a machine of 2 busy cores",
        "between": "between nodes the same as within a node, which was measured on no network",
        "mtbf": "no failures",
    },
}
"""Where the numbers of `GPUS` and `CPUS` come from."""

SIMULATED = 200


@dataclass(frozen=True)
class RankPlan:
    """What a training would take on 1, 2, 4, ... ranks.

    Args:
        name: network and data.
        device: what was measured, for people; "" where all numbers were given.
        work: the training, as one device does it.
        cluster: where the ranks would run.
        rows: one per number of ranks.
        least: the efficiency that is asked for.
        course: the simulated runs on the recommended number of ranks.
        notes: what was assumed.
    """

    name: str
    device: str
    work: Workload
    cluster: Cluster
    rows: tuple[Scaled, ...]
    least: float
    course: Course
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> Scaled:
        """The row with the most ranks that are used efficiently enough."""
        return recommended(self.rows, self.least)

    @property
    def fastest(self) -> Scaled:
        """The row of the shortest run."""
        return min(self.rows, key=lambda row: row.run)

    @property
    def too_small(self) -> Scaled | None:
        """The first row in which more than half of computing does not shrink with the batch; None if there is none."""
        return next((row for row in self.rows if row.batch < self.work.small), None)

    @property
    def interval(self) -> float:
        """The seconds of work between two checkpoints that lose least time, on the recommended number of ranks."""
        return self.course.interval * self.best.step

    def as_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        rows = [asdict(row) | {"step": row.step} for row in self.rows]
        found = {**asdict(self), "rows": rows, "recommended": self.best.ranks, "fastest": self.fastest.ranks}
        return found | {"small_batch": self.work.small, "checkpoint_interval": self.interval}

    def scene(self) -> "Scene":
        """Draw the speed and the parts of an update over the number of ranks."""
        from lamina.drawing.charts import Series, chart
        from lamina.drawing.panels import panels

        xs, best = [row.ranks for row in self.rows], self.best
        one = self.rows[0].rate
        speed = chart(
            [
                Series("ideal", xs, [one * n for n in xs], "muted", "dashed"),
                Series("predicted", xs, [row.rate for row in self.rows], "line1"),
            ],
            [Series(f"recommended, {best.ranks:,}", [best.ranks], [best.rate], "line2", size=4.5)],
            title="speed",
            description=f"Examples per second on up to {xs[-1]:,} ranks; {best.ranks:,} are recommended.",
            x_label="ranks",
            y_label="examples per second",
            log_x=True,
            log_y=True,
            width=440,
            height=300,
        )
        parts = {"computing": "line1", "waiting": "line3", "gradients": "line2", "norms": "line4", "reading": "line5"}
        names = {"norms": "batch norm", "waiting": "slowest rank"}
        shown = {part: [1e3 * getattr(row, part) for row in self.rows] for part in parts}
        update = chart(
            [
                Series(names.get(part, part), xs, [ms if ms > 0 else None for ms in values], parts[part])
                for part, values in shown.items()
                if max(values) > 0
            ],
            title="parts of an update",
            description="Milliseconds of each part of an update over the number of ranks.",
            x_label="ranks",
            y_label="milliseconds",
            log_x=True,
            log_y=True,
            width=440,
            height=300,
        )
        return panels([speed, update], 2, title=f"{self.name} on up to {xs[-1]:,} ranks")

    def save(self, path: str | Path) -> Path:
        """Draw it to a file: .svg, .tex, .pdf or .png."""
        from lamina.drawing.save import save

        return save(self.scene(), path)


def plan_ranks(
    name: str,
    data: Any,
    ranks: int,
    *,
    cluster: Cluster | None = None,
    timings: Sequence[tuple[int, float]] = (),
    jitter: float | None = None,
    checkpoint: float | None = None,
    examples: int | None = None,
    least: float = 0.5,
    options: Mapping[str, Any] | None = None,
    data_options: Mapping[str, Any] | None = None,
    epochs: int | None = None,
    seed: int = 0,
    runtime: Runtime | None = None,
    seconds: float = 30.0,
) -> RankPlan:
    """Predict what a training takes on 1, 2, 4, ... ranks, from a few updates on the device at hand.

    The whole batch is that of the recipe on any number of ranks. Updates are measured for every batch that a rank would
    get, unless their timings are given. One rank on a CPU computes with one thread.

    Args:
        name: a name from `lamina list`.
        data: what `lamina.load` reads, or a split.
        ranks: the largest number of ranks.
        cluster: where they run; `GPUS` or `CPUS` by default, as the device is.
        timings: pairs of a number of examples and the seconds of an update with them; measured by default.
        jitter: the standard deviation of an update as a share of its time; measured by default, 0 with timings.
        checkpoint: the seconds that a checkpoint takes; measured by default, 0 with timings.
        examples: the number of training examples, if it is not that of the data.
        least: the efficiency from which on a number of ranks is recommended.
        options: flat names of the recipe and of the architecture.
        data_options: how to read the data.
        epochs: how many epochs; chosen to suit the data by default.
        seed: of the split, the weights and the simulation.
        runtime: device, threads and flags.
        seconds: how long measuring may take, about.

    >>> import lamina
    >>> found = plan_ranks("fnn", lamina.load("iris").split(), 4, timings=[(1, 1e-3), (32, 2e-3)], epochs=2)
    >>> [row.ranks for row in found.rows], found.rows[0].efficiency
    ([1, 2, 4], 1.0)
    """
    whole("ranks", ranks, 1)
    runtime = (runtime or Runtime()).ready((options or {}).get("precision", "float32"))
    place = cluster or of_device(runtime.device)
    runtime = replace(runtime, batch_norm=place.batch_norm)
    asked = Asked(name, data, dict(data_options or {}), dict(options or {}), epochs, seed)
    job = asked.job()
    if runtime.device == "cpu" and not runtime.threads:
        runtime = replace(runtime, threads=1)
    if runtime.device == "cpu" and runtime.step == "auto":
        runtime = replace(runtime, step="eager")
    notes = list[str]()
    if timings:
        work, device = workload(job, timings, jitter=jitter or 0.0, checkpoint=checkpoint or 0.0), ""
        if len(timings) == 1 and ranks > 1:
            notes.append("Only one timing was given: computing is taken as proportional to the batch, the best case.")
    else:
        whole_batch = job.task.examples(job.recipe)
        sizes = [math.ceil(whole_batch / n) for n in counts(ranks)]
        device = str(runtime)
        shares = seconds / 2 if ranks > 1 else seconds
        work = measured(job, sizes, runtime, shares)
        work, place, said = _of_several(work, asked, job, ranks, place, runtime, shares)
        notes += said
        work = replace(
            work,
            jitter=work.jitter if jitter is None else jitter,
            checkpoint=work.checkpoint if checkpoint is None else checkpoint,
        )
        if work.timings[-1][0] < whole_batch:
            notes.append(
                f"Batches of more than {work.timings[-1][0]} examples were not measured, for lack of time, but "
                "extrapolated: give measuring more of it."
            )
    if examples is not None:
        work = _with_examples(work, job, examples)
    return planned(f"{name}, {job.split.train.spec.source}", work, place, ranks, least, seed, device, notes)


def _of_several(
    work: Workload, asked: Asked, job: Plan, ranks: int, cluster: Cluster, runtime: Runtime, seconds: float
) -> tuple[Workload, Cluster, list[str]]:
    """Measure also what one of several ranks takes, where that is not what one alone does; say what could not be.

    On a CPU as many as a node has, up to `beside.MOST`, make updates together, from which it also follows how long
    their sums take. The parts of more ranks are computed beside each other, as many as a node has cores.
    """
    cores = min(cluster.cores or 1, cluster.per_node, os.cpu_count() or 1, MOST) if runtime.device == "cpu" else 1
    several, said = [n for n in counts(ranks) if n > 1], list[str]()
    if several and cores > 1 and seconds >= LEAST:
        here = cluster.cores == os.cpu_count() and cluster.inside == CPUS.inside
        groups = [n for n in several if n <= min(cluster.per_node, MOST, work.batch)] if here else []
        sizes = {max(least(job), math.ceil(work.batch / n)): min(n, cores) for n in several if n not in groups}
        each = seconds / (len(groups) + len(sizes))
        try:
            with Beside(asked, runtime, max((*sizes.values(), *groups))) as those:
                if sizes:
                    apart, jitter = those.apart(sizes, each * len(sizes))
                    work = replace(work, apart=apart, jitter=jitter)
                work = replace(work, together=tuple(those.together(n, work.batch, each) for n in groups))
            return _met(work, cluster)
        except RunError as error:
            said.append(f"Ranks were not measured beside each other, but alone: {error}")
    elif several and cores > 1:
        said.append(
            f"Ranks were not measured beside each other, for lack of time, but alone, where they have more of the "
            f"machine: give measuring at least {2 * LEAST:g} s."
        )
    if several and work.norms and runtime.batch_norm == "global":
        sizes_alone = [max(least(job), math.ceil(work.batch / n)) for n in several]
        work = replace(work, apart=measured(job, sizes_alone, runtime, seconds, ranks=2).timings)
    return work, cluster, said


def _met(work: Workload, cluster: Cluster) -> tuple[Workload, Cluster, list[str]]:
    """Take the links and the unevenness from the ranks that were measured together, where a node has most of them."""
    if not work.together:
        return work, cluster, []
    last = work.together[-1]
    if last.norms and work.norms:  # which are sums of a few numbers, too, at the places where they happen
        last = replace(last, small=last.norms / (PASSES * len(work.norms)))
    link, same = link_of(last, work.gradient_bytes), cluster.between == CPUS.between
    waited = last.waiting / (last.computing * largest(last.ranks, cluster.shape) * unevenness(work, cluster))
    said = (
        f"A sum over {last.ranks} ranks of this machine was measured between the computing of updates: "
        f"{1e3 * last.small:.3g} ms for a few numbers, {1e3 * last.gradients:.3g} ms for all gradients."
    )
    if same:
        said += " Between nodes the same is assumed, which was measured on no network."
    cluster = replace(cluster, inside=link, between=link if same else cluster.between)
    return replace(work, jitter=waited), cluster, [said]


def link_of(met: Together, size: int) -> Link:
    """Give the link that explains how long ranks took for a sum of a few numbers and for one of so many bytes.

    >>> link = link_of(Together(2, 1.0, 0.0, gradients=0.125, norms=0.0, small=0.0625), 1000)
    >>> link.latency, link.bandwidth  # 2 messages of half the bytes
    (0.03125, 16000.0)
    """
    n = met.ranks
    latency = met.small / min(2 * (n - 1), 2 * math.ceil(math.log2(n)))
    left = met.gradients - 2 * (n - 1) * latency
    fastest = 2 * (n - 1) / n * size / met.gradients if met.gradients else math.inf
    return Link(latency, 2 * (n - 1) / n * size / left if left > 0 else fastest)


def planned(
    name: str,
    work: Workload,
    cluster: Cluster,
    ranks: int,
    least: float = 0.5,
    seed: int = 0,
    device: str = "",
    notes: Sequence[str] = (),
) -> RankPlan:
    """Make a plan of a training that was measured already.

    Args:
        name: network and data, for people.
        work: the training, as one device does it.
        cluster: where the ranks would run.
        ranks: the largest number of them.
        least: the efficiency that is asked for.
        seed: of the simulation.
        device: what was measured, for people.
        notes: what was assumed.
    """
    rows = tuple(scaled(work, cluster, n) for n in counts(ranks))
    best, said = recommended(rows, least), list(notes)
    if ranks > work.batch:
        said.append(
            f"A batch of {work.batch} examples leaves ranks beyond {work.batch} without any: a larger `batch_size` "
            "would use them, but it is another training."
        )
    return RankPlan(name, device, work, cluster, rows, least, _course(work, cluster, best, seed), tuple(said))


def of_device(device: str) -> Cluster:
    """Give the cluster that is assumed for a device.

    >>> of_device("cuda:1") is GPUS
    True
    """
    if device.startswith("cuda"):
        return GPUS
    cores = os.cpu_count() or 1
    return replace(CPUS, cores=cores, per_node=cores)


def assumptions(cluster: Cluster, device: str) -> list[str]:
    """Say what was assumed about a cluster, as far as it is what `of_device` gives, and where that comes from.

    >>> assumptions(replace(GPUS, inside=Link(0.0, 1e9), between=Link(0.0, 1e9)), "cuda")[0][:36]
    'a failure of a GPU in 50,677 hours: '
    """
    usual, sources = of_device(device), SOURCES["cuda" if device.startswith("cuda") else "cpu"]
    return [why for name, why in sources.items() if getattr(cluster, name) == getattr(usual, name)]


def _course(work: Workload, cluster: Cluster, row: Scaled, seed: int) -> Course:
    """Simulate runs on some ranks, with the interval between checkpoints that loses least time."""
    updates, mtbf = work.updates * work.epochs, cluster.mtbf * 3600
    interval = updates
    if math.isfinite(mtbf) and work.checkpoint > 0:
        interval = max(1, min(updates, round(daly(work.checkpoint, mtbf / row.ranks) / row.step)))
    elif math.isfinite(mtbf):
        interval = 1  # what costs nothing is done after every update
    # A check belongs to the updates of its epoch, and what ranks do together is as long for all of them. They wait for
    # each other at every sum, but the pieces between sums make up for each other.
    slow, deviation = largest(row.ranks, cluster.shape), work.jitter * row.computing
    if row.ranks > 1:
        deviation = min(deviation, row.waiting / slow)
    return simulate(
        updates,
        row.ranks,
        max(row.epoch / work.updates - deviation * slow, row.computing),
        deviation=deviation,
        shape=cluster.shape,
        interval=interval,
        checkpoint=work.checkpoint,
        restart=cluster.restart,
        mtbf=mtbf,
        runs=SIMULATED,
        seed=seed,
    )


def _with_examples(work: Workload, job: Plan, examples: int) -> Workload:
    """Give the workload of the same updates on another number of training examples."""
    whole("examples", examples, 1)
    if work.batch > examples:
        raise ArgumentError(f"`examples` must be at least the batch ({work.batch}), got {examples}: lower batch_size.")
    train = len(job.split.train)
    if work.updates not in (train // work.batch, -(-train // work.batch)):
        raise ArgumentError(
            "`examples` is for data whose examples stand by themselves, and a running text has windows: leave it out, "
            "and use a longer text."
        )
    share = examples / train
    updates = math.ceil(examples / work.batch)
    return replace(work, updates=updates, tail=examples % work.batch, evaluation=work.evaluation * share)
