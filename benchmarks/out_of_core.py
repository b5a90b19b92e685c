"""Do data that do not fit in memory train at 0.9 of the slower of reading and computing, in bounded memory?

A Parquet folder of 20 columns is read by one worker with one thread of polars, while torch computes with one thread:
one core each. Who reads is decided by the size of the table, or by `--reader`. "Alone" is reading the batches of an
epoch without computing, and computing with the same network and the same step on rows that lie in memory. Who reads is
started anew for each measurement, and the start is part of it; how long the first batch takes stands beside it. What
other processes of the machine take meanwhile is measured too, in processors.

A folder of JPEG files of 64x64 pixels, no two of them alike, is opened and split; its bytes per picture are the
growth of anonymous memory from a folder of a tenth of the size. LeNet-5 learns it with one decoding thread beside one
thread of torch, measured as the table is, for the first `--batches` batches of examples (all of them with 0): what is
decoded for a batch is forgotten after it, so a whole epoch would say the same for longer. With 0 rows or 0 pictures,
what is on record of these stays.

    python benchmarks/out_of_core.py --rows 100000000 --pictures 1000000
"""

import argparse
import json
import math
import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import statistics
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import psutil
import torch
from PIL import Image
from record import FOLDER, write

import lamina
from lamina._errors import DataWarning
from lamina.data import block_source, streaming
from lamina.data.dataset import ArrayDataset, Subset
from lamina.data.images import ImageFolder
from lamina.data.preprocess import Preprocess
from lamina.data.source import Batches
from lamina.data.splits import Sealed, Split
from lamina.training.executors.choose import learner
from lamina.training.loop import drain, observed
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays

COLUMNS, PART = 20, 2_000_000
RESIDENT, EPOCHS = 1_000_000, 8  # rows with which computing alone is measured, and how often it goes through them
SIDE = 64  # pixels of a picture


def anonymous() -> float:
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    return float(next(line.split()[1] for line in text.splitlines() if line.startswith("RssAnon"))) / 1024


def others() -> float:
    """Give the seconds that processors have computed for anybody else than this process and its children."""
    ticks = [int(number) for number in Path("/proc/stat").read_text(encoding="utf-8").split("\n")[0].split()[1:]]
    mine = [psutil.Process(), *psutil.Process().children()]
    own = sum(sum(each.cpu_times()[:2]) for each in mine) + sum(os.times()[2:4])
    return (sum(ticks[:3]) + sum(ticks[5:7])) / os.sysconf("SC_CLK_TCK") - own


def table(folder: Path, rows: int) -> None:
    folder.mkdir()
    for number in range(-(-rows // PART)):
        draw = np.random.default_rng(number)
        x = draw.standard_normal((min(PART, rows - number * PART), COLUMNS), dtype=np.float32)
        frame = pl.DataFrame({f"x{j}": x[:, j] for j in range(COLUMNS)})
        frame = frame.with_columns(y=pl.Series((x[:, :3].sum(1) + x[:, 3] * x[:, 4] > 0).astype(np.int64)))
        frame.write_parquet(folder / f"part-{number:04d}.parquet", row_group_size=2**17)


def trained(split: Split, net: torch.nn.Module, options: argparse.Namespace):
    task = Arrays.fit(split).for_network(net)
    recipe = lamina.Recipe(epochs=100, batch_size=options.batch)
    step = learner(net, task, recipe, Runtime(threads=1, step=options.step))
    step.validation = None
    return step


def rate(action, rows: int) -> tuple[float, float]:
    """Give rows per second, and the processors that others took meanwhile."""
    before, start = others(), time.perf_counter()
    action()
    seconds = time.perf_counter() - start
    return rows / seconds, (others() - before) / seconds


def mean(*measured: tuple[float, float]) -> tuple[float, float]:
    """Give the rate of the same work measured several times, and the processors that others took meanwhile."""
    rates, beside = zip(*measured, strict=True)
    return statistics.harmonic_mean(rates), statistics.fmean(beside)


def alone(resident, take: int, epochs: int):
    """Give what computes this often with examples that lie in memory."""

    def compute() -> None:
        for _ in range(epochs):
            drain(observed(resident, 1))

    drain(observed(resident, 1))
    return compute, take * epochs


def compared(read, both, compute, examples: int, computed: int, rounds: int, what: str, unit: str) -> list[dict]:
    """Measure reading, computing and both in turns; computing before and after, since a machine's speed changes."""
    found: dict[str, list[tuple[float, float]]] = {"reading alone": [], "computing alone": [], "together": []}
    for turn in range(rounds):
        found["reading alone"].append(rate(lambda turn=turn: read(turn), examples))
        first = rate(compute, computed)
        found["together"].append(rate(both, examples))
        found["computing alone"].append(mean(first, rate(compute, computed)))
    spread = statistics.stdev if rounds > 1 else lambda values: 0.0
    measured = []
    for key, pairs in found.items():
        rates, beside = zip(*pairs, strict=True)
        numbers = {f"{unit}_per_second": statistics.median(rates), "spread": spread(rates), "n": rounds}
        measured.append({"what": what + key, **numbers, "processors of others": statistics.median(beside)})
    ratios = [c[0] / min(a[0], b[0]) for a, b, c in zip(*found.values(), strict=True)]
    ratio = {"ratio": statistics.median(ratios), "spread": spread(ratios), "n": rounds}
    return [*measured, {"what": what + "together / slower alone", **ratio}]


def parquet(folder: Path, options: argparse.Namespace) -> list[dict]:
    block_source.WORKERS = 1
    start = time.perf_counter()
    data = lamina.load(folder, target="y", stream=True)
    split = data.split()
    prepared = time.perf_counter() - start
    rows = len(split.train)
    few = ArrayDataset(*split.train.take(torch.arange(min(RESIDENT, rows))), split.train.spec)
    networks = (lamina.build("fnn", inputs=COLUMNS, outputs=2, hidden=(options.hidden,) * 2) for _ in range(2))
    streamed = trained(split, next(networks), options)
    resident = trained(Split(few, split.validation, Sealed(split.validation), ""), next(networks), options)
    source = streamed.feed.source
    source.apart = {"auto": source.apart, "thread": False, "process": True}[options.reader]
    heads: list[float] = []

    def read(epoch: int) -> None:
        start = time.perf_counter()
        batches = Batches(source.order(options.batch, 0, epoch), 0, options.batch)
        source.prefetch(batches)
        for number in range(len(batches)):
            source.following(batches, number)
            if not number:
                heads.append(time.perf_counter() - start)
        source.close()

    def both() -> None:
        drain(observed(streamed, 1))
        source.close()

    compute, computed = alone(resident, len(few), EPOCHS)
    before = anonymous()
    measured = compared(read, both, compute, rows, computed, options.rounds, "", "rows")
    seconds = {"seconds": statistics.median(heads), "spread": statistics.pstdev(heads), "n": options.rounds}
    return [
        {"what": "opening, splitting and fitting, seconds", "rows": len(data), "seconds": prepared},
        *measured,
        {"what": "the first batch, seconds", **seconds},
        {
            "what": "memory of training, MiB",
            "reader": "process" if source.apart else "thread",
            "held at most": source.peak / 2**20,
            "limit": source.limit / 2**20,
            "growth of anonymous memory": anonymous() - before,
            "the rows as float32": rows * COLUMNS * 4 / 2**20,
        },
    ]


def album(home: Path, count: int) -> Path:
    """Write a folder of pictures, all of them different; their classes differ in how bright they are."""
    folder = home / f"pictures-{count}"
    if folder.exists():
        return folder
    draft = folder.with_suffix(".draft")  # so that a folder whose making was interrupted is not taken for it
    for label in range(10):
        (draft / f"class{label}").mkdir(parents=True, exist_ok=True)
    for i in range(count):
        noise = np.random.default_rng(i).normal(60 + 15 * (i % 10), 20, (SIDE // 8, SIDE // 8, 3))
        pixels = Image.fromarray(noise.clip(0, 255).astype(np.uint8)).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        pixels.save(draft / f"class{i % 10}" / f"picture-{i:07d}.jpg")
    return draft.rename(folder)


def opened(folder: Path, damaged: str) -> tuple[Split, dict[str, float], float]:
    """Give a folder's division, how long it took, and the anonymous memory that it needs, in MiB."""
    before, start, beside = anonymous(), time.perf_counter(), others()
    split = ImageFolder(folder, budget=0, damaged=damaged).split()
    seconds = time.perf_counter() - start
    return split, {"seconds": seconds, "processors of others": (others() - beside) / seconds}, anonymous() - before


def pictures(home: Path, options: argparse.Namespace) -> list[dict]:
    streaming.worker_count = lambda: 1
    count = options.pictures
    few, many = album(home, count // 10), album(home, count)
    rows, little = [], opened(few, "late")[2]
    split, late, much = opened(many, "late")
    each = (much - little) * 2**20 / (count - count // 10)
    rows.append({"what": "opening it with damaged=late", "pictures": count, **late, "bytes a picture": each})
    if not options.late:
        _, took, _ = opened(many, "skip")
        rows.append({"what": "opening a folder of pictures", "pictures": count, **took})
    examples = min(len(split.train), options.batches * options.batch or len(split.train))
    train = Subset(split.train, torch.arange(examples))
    resident = ArrayDataset(*train.take(torch.arange(min(RESIDENT // 50, len(train)))), train.spec)
    networks = (lamina.build("lenet5", inputs=train.spec.inputs, outputs=10) for _ in range(2))
    Preprocess.source.__defaults__ = ("cpu", 0, None)  # nothing lies prepared in memory, however few there are
    streamed = trained(Split(train, split.validation, Sealed(split.validation), ""), next(networks), options)
    Preprocess.source.__defaults__ = ("cpu", 2 * 2**30, None)
    kept = trained(Split(resident, split.validation, Sealed(split.validation), ""), next(networks), options)
    source, feed = streamed.feed.source, streamed.feed

    def read(epoch: int) -> None:
        feed.begin(epoch, 0, 0)
        for step in range(feed.batches):
            feed.next(step)
        source.close()

    def both() -> None:
        drain(observed(streamed, 1))
        source.close()

    compute, computed = alone(kept, len(resident), EPOCHS // 4)
    before = anonymous()
    measured = compared(read, both, compute, examples, computed, options.rounds, "pictures, ", "pictures")
    return [
        *rows,
        *measured,
        {
            "what": "pictures, memory of training, MiB",
            "growth of anonymous memory": anonymous() - before,
            "the pictures as bytes": examples * math.prod(train.spec.inputs) / 2**20,
        },
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    numbers = {"rows": 3_000_000, "pictures": 50_000, "rounds": 3, "batch": 512, "hidden": 64, "batches": 0}
    for name, value in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--home", help="a folder in which the table is found again")
    parser.add_argument("--late", action="store_true", help="do not measure opening with every picture decoded")
    parser.add_argument("--step", default="eager")
    parser.add_argument("--reader", choices=("auto", "thread", "process"), default="auto")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", DataWarning)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        home = Path(options.home or name)
        if options.pictures:  # first: what the other gives back would count
            rows += pictures(home, options)
        if options.rows:
            if not (home / "table").exists():
                table(home / "table", options.rows)
            rows += parquet(home / "table", options)
    for row in rows:
        print(row)
    before = json.loads((FOLDER / "out_of_core.json").read_text(encoding="utf-8"))
    measured = {(row["what"], row.get("pictures")) for row in rows}
    asked = {name: value for name, value in vars(options).items() if value}
    rows = [row for row in before["rows"] if (row["what"], row.get("pictures")) not in measured] + rows
    asked = before["options"] | {name: value for name, value in asked.items() if name != "home"}
    write("out_of_core", rows, threads=1, workers=1, dtype="float32", device="cpu", options=asked)


if __name__ == "__main__":
    main()
