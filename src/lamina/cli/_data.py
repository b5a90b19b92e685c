"""`lamina data`: list, get and show data sets."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from lamina.cli._names import EMBEDDED, datasets
from lamina.cli._options import Json, Read, Target
from lamina.cli._tables import show as show_table
from lamina.cli._tables import show_json
from lamina.cli._usage import number
from lamina.cli._values import reading
from lamina.cli._voice import say

if TYPE_CHECKING:
    from rich.console import Console
    from torch import Tensor

    from lamina.data.dataset import Dataset

data_app = typer.Typer(help="List, download and look at data sets.", no_args_is_help=True)

_BAR, _CLASSES, _SIDE = 30, 20, 28


@data_app.command("list")
def _list(as_json: Json = False) -> None:
    """List the data sets that have a name, with their size and where they are stored."""
    from lamina.data.store import SETS, find

    rows: list[dict[str, Any]] = [
        {"name": name, "kind": kind, "what": what, "bytes": 0, "present": True, "path": None}
        for name, (kind, what) in EMBEDDED.items()
    ]
    for named in SETS.values():
        found = find(named.name)
        where = {"present": found is not None, "path": None if found is None else str(found.path)}
        rows.append({"name": named.name, "kind": named.kind, "what": named.title, "bytes": named.size, **where})
    if as_json:
        show_json(rows)
        return
    lines = [
        (
            *(row["name"], row["kind"], row["what"]),
            f"{row['bytes'] / 1e6:,.1f} MB" if row["bytes"] else "",
            (row["path"] or "built in") if row["present"] else "not downloaded",
        )
        for row in rows
    ]
    show_table(("name", "kind", "what", "download", "where"), lines, right=(3,))
    missing = [row["name"] for row in rows if not row["present"] and row["kind"] != "weights"]
    if missing:
        say(f"next: lamina data get {' '.join(missing)}")


@data_app.command()
def get(
    names: Annotated[
        list[str], Argument(metavar="NAME...", help="Names from `lamina data list`.", autocompletion=datasets)
    ],
    to: Annotated[Path | None, Option(help="The folder to download to; the user's cache by default.")] = None,
    as_json: Json = False,
) -> None:
    """Download data sets and verify them; finished downloads are only verified, interrupted ones are continued."""
    from lamina._errors import choice
    from lamina.data.store import SETS, get

    wanted = [name for name in dict.fromkeys(names) if name not in EMBEDDED]
    for name in wanted:
        choice("NAME", name, (*EMBEDDED, *SETS))
    places = dict.fromkeys(names, "built in")
    for name in wanted:
        with _progress(quiet=as_json) as tell:
            places[name] = str(get(name, to=to, progress=tell).path)
    if as_json:
        show_json(places)
        return
    for name, place in places.items():
        print(f"{name} is {place}" if name in EMBEDDED else f"{name} is in {place}")
    first = next(iter(places))
    network = SETS[first].architecture if first in SETS else ""
    say(
        f"next: lamina train {network} --weights {first} --data FOLDER"
        if network
        else f"next: lamina data show {first}"
    )


@data_app.command()
def show(
    what: Annotated[
        str,
        Argument(
            metavar="DATA",
            help="A name from `lamina data list`, a folder of pictures, or a table.",
            autocompletion=datasets,
        ),
    ],
    target: Target = None,
    read: Read = None,
    task: Annotated[str | None, Option(help="classification, multilabel or regression; inferred by default.")] = None,
    samples: Annotated[int, number(help="Number of examples to show.")] = 4,
    as_json: Json = False,
) -> None:
    """Describe a data set: its sizes, its class balance, and a few examples as pictures or rows."""
    from rich.console import Console

    from lamina.cli._progress import Warnings
    from lamina.data.dataset import Subset
    from lamina.data.describe import describe
    from lamina.data.load import load

    with (said := Warnings()):
        data = load(what, **reading(read, what, target, task=task))
    said.show(told=data.spec.notes)
    chosen = Subset(data, _spread(data, samples))
    if as_json:
        show_json(_facts(data, chosen))
        return
    for line in describe(data, samples=0):
        say(*(_bars(data) if line.startswith(("classes: ", "labels: ")) else (line,)))
    if len(chosen) and data.spec.kind == "image" and sys.stdout.isatty() and _has_blocks():
        _draw(Console(), chosen)
    elif len(chosen):
        lines = describe(chosen, samples=len(chosen))
        say(*lines[lines.index("samples:") :])
    typed = [
        what,
        *(["--target", target] if target else ()),
        *(word for pair in read or () for word in ("--read", pair)),
    ]
    say(f"next: lamina train {_network_for(data.spec.kind, data.spec.task)} --data {shlex.join(typed)}")


def _network_for(kind: str, task: str) -> str:
    """Name an architecture that reads such data.

    >>> _network_for("image", "classification"), _network_for("table", "regression"), _network_for("pairs", "x")
    ('lenet5', 'fnn', 'seq2seq')
    """
    if task == "description":
        return "one-to-many"
    if kind in ("series", "tokens", "text"):
        return "many-to-many" if task in ("structured", "language") else "many-to-one"
    return {"image": "lenet5", "pairs": "seq2seq"}.get(kind, "fnn")


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Give a function that draws how much has been downloaded; only a terminal gets a drawing."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    shown = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*shown, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def tell(name: str, have: int, size: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=size)
            bars.update(tasks[name], completed=have)

        yield tell


def _has_blocks() -> bool:
    return "utf" in (sys.stdout.encoding or "").lower()


def _counts(data: "Dataset") -> dict[str, int]:
    from lamina.data.dataset import all_targets

    targets = all_targets(data)
    counts = (targets.bincount(minlength=data.spec.outputs) if targets.ndim == 1 else targets.sum(0).long()).tolist()
    return dict(zip(data.spec.classes, counts, strict=True))


def _bars(data: "Dataset") -> list[str]:
    """Draw how many examples each class has."""
    counts = _counts(data)
    most, total, mark = max(counts.values()), len(data), "█" if _has_blocks() else "#"
    order = list(counts) if len(counts) <= _CLASSES else sorted(counts, key=lambda name: -counts[name])[:_CLASSES]
    wide, bar = max(len(name) for name in order), {name: mark * round(_BAR * counts[name] / most) for name in order}
    lines = [f"  {name:{wide}} {counts[name]:>9,} {counts[name] / total:6.1%}  {bar[name]}".rstrip() for name in order]
    if len(counts) > len(order):
        least = min(counts, key=lambda name: counts[name])
        lines.append(f"  and {len(counts) - len(order)} smaller classes, the smallest {least!r} with {counts[least]:,}")
    return lines


def _spread(data: "Dataset", samples: int) -> "Tensor":
    """Choose examples to show: the first of each class in turn, or just the first ones."""
    import torch

    from lamina.data.dataset import all_targets

    spec = data.spec
    if spec.task != "classification" or getattr(data, "streamed", False):
        return torch.arange(min(samples, len(data)))
    targets = all_targets(data)
    places = [(targets == label).nonzero().flatten()[:samples].tolist() for label in range(spec.outputs)]
    chosen = [place[turn] for turn in range(samples) for place in places if turn < len(place)]
    return torch.tensor(chosen[:samples], dtype=torch.int64)


def _facts(data: "Dataset", chosen: "Dataset") -> dict[str, Any]:
    import torch

    from lamina.data.text.texts import text_of

    spec, test = data.spec, getattr(data, "official_test", None)
    facts = {"examples": len(data), "official_test": None if test is None else len(test), **spec.as_dict()}
    if spec.task in ("classification", "multilabel") and not getattr(data, "streamed", False):
        facts["balance"] = _counts(data)
    if spec.kind in ("text", "pairs", "tokens"):
        from lamina.data.describe import example_lines

        facts["sample"] = example_lines(spec, *chosen.take(torch.arange(len(chosen))))
    elif spec.kind not in ("image", "series") and spec.task != "structured":
        inputs, targets = chosen.take(torch.arange(len(chosen)))
        shown = [text_of(row) for row in targets] if spec.task == "description" else targets.tolist()
        facts["sample"] = [
            {"inputs": row, "target": target} for row, target in zip(inputs.tolist(), shown, strict=True)
        ]
    return facts


def _draw(console: "Console", chosen: "Dataset") -> None:
    """Draw pictures side by side, each under its class."""
    import torch

    from lamina.data.text.texts import text_of

    inputs, targets = chosen.take(torch.arange(len(chosen)))
    pictures = [_small(picture) for picture in inputs]
    width, spec = pictures[0].shape[1], chosen.spec
    names = [
        spec.classes[int(t)] if spec.task == "classification" else text_of(t) if spec.task == "description" else ""
        for t in targets
    ]
    across = max(1, console.width // (width + 2))
    for begin in range(0, len(pictures), across):
        console.print("  ".join(f"{name[:width]:{width}}" for name in names[begin : begin + across]), highlight=False)
        console.print(_half_blocks(pictures[begin : begin + across]), no_wrap=True, crop=False)


def _small(picture: "Tensor") -> "Tensor":
    """Give colors as bytes (height, width, 3) that fit the terminal: at most 28 per side, an even number of rows."""
    import torch

    values = picture.float()
    if picture.dtype != torch.uint8:
        values = (values - values.min()) / (values.max() - values.min()).clamp_min(1e-30) * 255
    values = values if len(values) == 3 else values.mean(0).expand(3, -1, -1)
    height, width = (min(_SIDE, side) for side in values.shape[1:])
    scale = min(height / values.shape[1], width / values.shape[2])
    size = max(2, 2 * round(values.shape[1] * scale / 2)), max(1, round(values.shape[2] * scale))
    values = torch.nn.functional.interpolate(values[None], size, mode="area")[0]
    return values.round().to(torch.uint8).permute(1, 2, 0)


def _half_blocks(pictures: "list[Tensor]") -> Any:
    """Draw two rows of pixels a line: the upper one as the color of a half block, the lower one as its background."""
    from rich.text import Text

    drawn = Text()
    for row in range(0, len(pictures[0]), 2):
        for picture in pictures:
            for upper, lower in zip(picture[row].tolist(), picture[row + 1].tolist(), strict=True):
                drawn.append("▀", f"rgb({','.join(map(str, upper))}) on rgb({','.join(map(str, lower))})")
            drawn.append("  ")
        drawn.append("\n")
    return drawn
