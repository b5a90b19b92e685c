"""The verb plan."""

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from lamina._errors import ArgumentError
from lamina.cli._names import architectures
from lamina.cli._options import Data, Device, Epochs, Json, Quiet, Read, Settings, Target
from lamina.cli._tables import show, show_json
from lamina.cli._usage import number
from lamina.cli._values import reading, settings
from lamina.cli._voice import Voice

if TYPE_CHECKING:
    from lamina.scaling.planning import RankPlan


def _real(*flags: str, help: str, positive: bool = False) -> Any:
    """Declare an option that is a number of at least 0, or greater than 0."""
    return number(*flags, help=help, kind=float, metavar="X", positive=positive)


def plan(
    architecture: Annotated[
        str, Argument(metavar="ARCH", help="A name from `lamina list`.", autocompletion=architectures)
    ],
    ranks: Annotated[
        int,
        number("--gpus", "--ranks", help="The largest number of ranks, one for each GPU.", least=1, most=1_000_000),
    ] = 8,
    data: Data = "digits",
    target: Target = None,
    read: Read = None,
    epochs: Epochs = None,
    set_: Settings = None,
    examples: Annotated[
        int | None,
        number(help="Number of training examples, if there are more than the data here hold.", least=1),
    ] = None,
    step_time: Annotated[
        list[str] | None,
        Option(
            metavar="EXAMPLES=SECONDS",
            help="Time of an update with so many examples on one device, instead of measuring; may be repeated.",
        ),
    ] = None,
    per_node: Annotated[
        int | None, number("--gpus-per-node", help="Ranks of a node; 8 for GPUs, the cores for a CPU.", least=1)
    ] = None,
    bandwidth: Annotated[
        float | None, _real(help="GB/s that a rank sends to another node; 50 for GPUs, 1 for a CPU.", positive=True)
    ] = None,
    latency: Annotated[
        float | None, _real(help="Microseconds of a message to another node; 9.6 for GPUs, 150 for a CPU.")
    ] = None,
    bandwidth_inside: Annotated[
        float | None, _real(help="GB/s that a rank sends within a node; 450 for GPUs, 1 for a CPU.", positive=True)
    ] = None,
    latency_inside: Annotated[
        float | None, _real(help="Microseconds of a message within a node; 3.4 for GPUs, 150 for a CPU.")
    ] = None,
    overlap: Annotated[
        float,
        number(
            help="Share of the backward pass in which gradients are already summed.", kind=float, most=1, metavar="X"
        ),
    ] = 0.0,
    batch_norm: Annotated[
        str, Option(help="Normalize over the examples of all ranks (global) or of each rank (local).")
    ] = "global",
    reading_rate: Annotated[
        float | None,
        _real("--reading", help="Examples per second that a node can read; no bound by default.", positive=True),
    ] = None,
    jitter: Annotated[
        float | None, _real(help="Standard deviation of an update as a share of its time; measured by default.")
    ] = None,
    mtbf: Annotated[
        float | None,
        _real(help="Mean hours between two failures of one device; 50,677 for GPUs, none for a CPU.", positive=True),
    ] = None,
    restart: Annotated[float, _real(help="Seconds from a failure until training continues.")] = 60.0,
    checkpoint: Annotated[
        float | None, _real(help="Seconds that writing a checkpoint takes; measured by default.")
    ] = None,
    price: Annotated[float, _real(help="Price of a device for an hour.")] = 0.0,
    efficiency: Annotated[
        float,
        number(help="Recommend the most ranks that are used this well.", kind=float, most=1, metavar="X"),
    ] = 0.5,
    seed: Annotated[int, number(help="Random seed for the split, the weights and the simulation.")] = 0,
    seconds: Annotated[float, _real(help="About how long measuring may take.")] = 30.0,
    device: Device = "auto",
    output: Annotated[Path | None, Option("-o", "--output", help="Draw to this file, such as plan.svg.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Predict time, efficiency and cost of a training on many ranks, from a few updates on the device at hand."""
    from lamina.cli._progress import Warnings
    from lamina.drawing.save import suffix_of
    from lamina.scaling.collectives import Link
    from lamina.scaling.planning import assumptions, of_device, plan_ranks
    from lamina.training.plan import check_options, option_types
    from lamina.training.runtime import Runtime

    if output is not None:
        suffix_of(output)
    chosen = settings(set_, option_types(architecture), flags=("epochs", "seed", "data"))
    check_options(architecture, chosen, epochs, seed)
    timings, voice, said = _timings(step_time), Voice(quiet, as_json=as_json), Warnings()
    runtime = Runtime(device=device).ready(chosen.get("precision", "float32"))
    kind = "cuda" if timings and device == "auto" else runtime.device
    assumed = of_device(kind)
    cluster = replace(
        assumed,
        per_node=per_node or assumed.per_node,
        inside=_link(Link, assumed.inside, latency_inside, bandwidth_inside),
        between=_link(Link, assumed.between, latency, bandwidth),
        overlap=overlap,
        batch_norm=batch_norm,
        reading=math.inf if reading_rate is None else reading_rate,
        mtbf=assumed.mtbf if mtbf is None else mtbf,
        restart=restart,
        price=price,
    )
    if not timings:
        voice.say(f"measuring updates of {architecture} {runtime}, for about {seconds:g} s")
    with said:
        found = plan_ranks(
            architecture,
            data,
            ranks,
            cluster=cluster,
            timings=timings,
            jitter=jitter,
            checkpoint=checkpoint,
            examples=examples,
            least=efficiency,
            options=chosen,
            data_options=reading(read, data, target),
            epochs=epochs,
            seed=seed,
            runtime=runtime,
            seconds=seconds,
        )
    said.show(quiet)
    sources = assumptions(found.cluster, kind)
    drawn = found.save(output) if output is not None else None
    if as_json:
        show_json({**found.as_dict(), "assumed": sources, "drawing": str(drawn) if drawn else None})
        return
    if quiet:
        print(drawn or found.best.ranks)
        return
    _table(found)
    if not timings and assumed.cores and ranks > assumed.cores:
        voice.say("All ranks are CPUs like this one. For GPUs, give the time of an update on one by --step-time.")
    voice.say(*_sentences(found), *found.notes, *(f"assumed: {source}" for source in sources))
    if drawn:
        voice.say(f"drawn to {drawn}")


def _timings(words: list[str] | None) -> list[tuple[int, float]]:
    """Read pairs such as 128=0.02."""
    found = []
    for word in words or ():
        examples, _, seconds = word.partition("=")
        try:
            pair = int(examples), float(seconds)
        except ValueError:
            pair = 0, 0.0
        if pair[0] < 1 or not 0 < pair[1] < math.inf:
            raise ArgumentError(
                f"`--step-time` must be a number of examples and the seconds of an update with them, both positive, "
                f"such as 128=0.02, got {word!r}."
            )
        found.append(pair)
    return found


def _link(make: Any, assumed: Any, microseconds: float | None, gigabytes: float | None) -> Any:
    """Change what was given about a link."""
    return make(
        assumed.latency if microseconds is None else microseconds * 1e-6,
        assumed.bandwidth if gigabytes is None else gigabytes * 1e9,
    )


def _table(found: "RankPlan") -> None:
    """Show a row for each number of ranks."""
    priced = found.cluster.price > 0
    rows = [
        (
            f"{row.ranks:,}{' *' if row == found.best else ''}",
            f"{row.batch:,}",
            _duration(row.step),
            f"{row.rate:,.0f}",
            f"{row.efficiency:.{0 if row.efficiency >= 0.1 else 1}%}",
            _duration(row.epoch),
            _duration(row.run),
            f"{row.cost:,.2f}" if priced else _hours(row.device_hours),
        )
        for row in found.rows
    ]
    head = ("ranks", "batch", "update", "examples/s", "efficiency", "epoch", "run", "cost" if priced else "hours")
    show(head, rows, right=tuple(range(8)))


def _sentences(found: "RankPlan") -> list[str]:
    """Say what the table means."""
    best, course, work = found.best, found.course, found.work
    measured = f", measured {found.device}" if found.device else ", from the timings given"
    fixed, each = work.fixed
    lines = [
        f"{found.name}: {work.batch:,} examples per update, {work.updates:,} updates per epoch, {work.epochs} "
        f"epoch{'s' * (work.epochs != 1)}; {_bytes(work.gradient_bytes)} of gradients{measured}",
        f"recommended: {best.ranks:,} rank{'s' * (best.ranks != 1)} (*), the most with an efficiency of at least "
        f"{found.least:.0%}; a run takes {_duration(best.run)} and {_hours(best.device_hours)} device hours",
    ]
    if found.fastest.ranks != best.ranks:
        lines.append(f"fastest: {found.fastest.ranks:,} ranks, {_duration(found.fastest.run)}")
    if work.small > work.batch:
        lines.append(f"batch: an update takes {_duration(fixed)} however few examples it has: more ranks hardly help")
    elif work.small > 1:
        where = f" (from {found.too_small.ranks:,} ranks on)" if found.too_small else ""
        lines.append(
            f"batch: {_duration(fixed)} of an update do not shrink with the batch, {_duration(each)} per example do; "
            f"with fewer than {work.small:,} examples per rank{where} more than half of computing is overhead"
        )
    low, high = _duration(course.low), _duration(course.high)
    lines.append(
        f"with slow ranks and failures: {_duration(course.seconds)} on {best.ranks:,} "
        f"rank{'s' * (best.ranks != 1)}, {low} to {high} in 90 % of {course.runs} simulated runs, "
        f"{course.failures:.2g} failures each"
    )
    if math.isfinite(found.cluster.mtbf) and work.checkpoint > 0:
        lines.append(
            f"checkpoints: one takes {_duration(work.checkpoint)}; one every {_duration(found.interval)} loses least "
            "time (Daly)"
        )
    return lines


def _duration(seconds: float) -> str:
    """Say how long something takes, with three digits.

    >>> [_duration(s) for s in (0.0000034, 0.0123, 1.5, 119.0, 7200.0, 864000.0)]
    ['3.4 us', '12.3 ms', '1.5 s', '119 s', '2 h', '10 d']
    """
    for unit, size, most in (("us", 1e-6, 1e-3), ("ms", 1e-3, 1.0), ("s", 1.0, 120.0), ("min", 60.0, 7200.0)):
        if seconds < most:
            return f"{float(f'{seconds / size:.3g}'):g} {unit}"
    size, unit = (3600.0, "h") if seconds < 2 * 86400 else (86400.0, "d")
    return f"{float(f'{seconds / size:.3g}'):,g} {unit}"


def _hours(count: float) -> str:
    """Write a number with three digits, and whole ones in full.

    >>> _hours(0.01234), _hours(1675.3)
    ('0.0123', '1,675')
    """
    return f"{count:.3g}" if count < 100 else f"{count:,.0f}"


def _bytes(count: float) -> str:
    """Say how much something is, with three digits.

    >>> [_bytes(count) for count in (268, 44_700_000, 2.5e9)]
    ['268 B', '44.7 MB', '2.5 GB']
    """
    size, unit = next(pair for pair in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (0, "B")) if count >= pair[0])
    return f"{float(f'{count / (size or 1):.3g}'):g} {unit}"
