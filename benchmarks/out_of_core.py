"""Do data that do not fit in memory train at 0.9 of the slower of reading and computing, in bounded memory?

A Parquet folder of 20 columns is read by one worker with one thread of polars, while torch computes with one thread:
one core each. "Alone" is reading the batches of an epoch without computing, and computing with the same network and the
same step on rows that lie in memory. A folder of tiny pictures (hard links to a few files) is opened and split; its
bytes per picture are the growth of anonymous memory from a folder of a tenth of the size.

    python benchmarks/out_of_core.py --rows 100000000 --pictures 1000000
"""

import argparse
import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import statistics
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import torch
from PIL import Image
from record import write

import lamina
from lamina._errors import DataWarning
from lamina.data import block_source
from lamina.data.dataset import ArrayDataset
from lamina.data.images import ImageFolder
from lamina.data.source import Batches
from lamina.data.splits import Sealed, Split
from lamina.training.executors.choose import learner
from lamina.training.loop import drain, observed
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays

COLUMNS, PART = 20, 2_000_000
RESIDENT = 1_000_000  # rows with which computing alone is measured
LINKS = 20_000  # hard links to one file


def anonymous() -> float:
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    return float(next(line.split()[1] for line in text.splitlines() if line.startswith("RssAnon"))) / 1024


def table(folder: Path, rows: int) -> None:
    folder.mkdir()
    for number in range(-(-rows // PART)):
        draw = np.random.default_rng(number)
        x = draw.standard_normal((min(PART, rows - number * PART), COLUMNS), dtype=np.float32)
        frame = pl.DataFrame({f"x{j}": x[:, j] for j in range(COLUMNS)})
        frame = frame.with_columns(y=pl.Series((x[:, :3].sum(1) + x[:, 3] * x[:, 4] > 0).astype(np.int64)))
        frame.write_parquet(folder / f"part-{number:04d}.parquet", row_group_size=2**17)


def trained(split: Split, options: argparse.Namespace):
    net = lamina.build("fnn", inputs=COLUMNS, outputs=2, hidden=(options.hidden,) * 2)
    task = Arrays.fit(split).for_network(net)
    recipe = lamina.Recipe(epochs=100, batch_size=options.batch)
    step = learner(net, task, recipe, Runtime(threads=1, step=options.step))
    step.validation = None
    return step


def rate(action, rows: int) -> float:
    start = time.perf_counter()
    action()
    return rows / (time.perf_counter() - start)


def parquet(folder: Path, options: argparse.Namespace) -> list[dict]:
    block_source._WORKERS = 1
    start = time.perf_counter()
    data = lamina.load(folder, target="y", stream=True)
    split = data.split()
    prepared = time.perf_counter() - start
    rows = len(split.train)
    few = ArrayDataset(*split.train.take(torch.arange(min(RESIDENT, rows))), split.train.spec)
    streamed = trained(split, options)
    resident = trained(Split(few, split.validation, Sealed(split.validation), ""), options)
    source = streamed.feed.source

    def read(epoch: int) -> None:
        batches = Batches(source.order(options.batch, 0, epoch), 0, options.batch)
        source.prefetch(batches)
        for indices in batches:
            source.batch(indices, None)

    found: dict[str, list[float]] = {"reading alone": [], "computing alone": [], "together": []}
    drain(observed(resident, 1))
    before = anonymous()
    for turn in range(options.rounds):
        found["reading alone"].append(rate(lambda turn=turn: read(turn), rows))
        found["computing alone"].append(rate(lambda: drain(observed(resident, 1)), len(few)))
        found["together"].append(rate(lambda: drain(observed(streamed, 1)), rows))
    ratios = [c / min(a, b) for a, b, c in zip(*found.values(), strict=True)]
    spread = statistics.stdev if options.rounds > 1 else lambda values: 0.0
    n = options.rounds
    measured = [
        {"what": key, "rows_per_second": statistics.median(v), "spread": spread(v), "n": n} for key, v in found.items()
    ]
    return [
        {"what": "opening, splitting and fitting, seconds", "rows": len(data), "seconds": prepared},
        *measured,
        {"what": "together / slower alone", "ratio": statistics.median(ratios), "spread": spread(ratios), "n": n},
        {
            "what": "memory of training, MiB",
            "held at most": source.peak / 2**20,
            "limit": source.limit / 2**20,
            "growth of anonymous memory": anonymous() - before,
            "the rows as float32": rows * COLUMNS * 4 / 2**20,
        },
    ]


def pictures(home: Path, count: int) -> list[dict]:
    homes = []
    for total in (count // 10, count):
        folder = home / f"pictures-{total}"
        for label in range(10):
            (folder / f"class{label}").mkdir(parents=True)
        for i in range(total):
            if i % LINKS == 0:
                file = home / f"base-{total}-{i}.png"
                pixels = np.random.default_rng(i).integers(0, 255, (16, 16, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(file)
            os.link(file, folder / f"class{i % 10}" / f"picture-{i:07d}.png")
        homes.append(folder)
    grown, seconds = [], []
    for folder in homes:
        before, start = anonymous(), time.perf_counter()
        data = ImageFolder(folder, budget=0)
        data.split()
        seconds.append(time.perf_counter() - start)
        grown.append(anonymous() - before)
    each = (grown[1] - grown[0]) * 2**20 / (count - count // 10)
    start = time.perf_counter()
    ImageFolder(homes[1], budget=0, damaged="late").split()
    return [
        {"what": "opening a folder of pictures", "pictures": count, "seconds": seconds[1], "bytes a picture": each},
        {"what": "opening it with damaged=late", "pictures": count, "seconds": time.perf_counter() - start},
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, value in (("rows", 3_000_000), ("pictures", 50_000), ("rounds", 3), ("batch", 512), ("hidden", 64)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--step", default="eager")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", DataWarning)
    with tempfile.TemporaryDirectory() as name:
        rows = pictures(Path(name), options.pictures)  # first: what the other gives back would count
        table(Path(name) / "table", options.rows)
        rows += parquet(Path(name) / "table", options)
    for row in rows:
        print(row)
    write("out_of_core", rows, threads=1, workers=1, dtype="float32", device="cpu", options=vars(options))


if __name__ == "__main__":
    main()
