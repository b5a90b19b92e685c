"""How do time and memory of an update grow with members, depth, length and examples, beside plain PyTorch?

    python benchmarks/growth.py --device cuda            # all sizes, about 150 s; record growth-cuda
    python benchmarks/growth.py --device cpu --quick     # record growth, with smaller largest sizes
    python benchmarks/growth.py --device cuda --draw docs/figures/growth-cuda.svg    # from the record alone

- members: K FNNs as one population, beside K `nn.Sequential` models with K fused Adams, updated one after another.
- depth: the pre-activation bottleneck ResNet for CIFAR, depth 9n + 2, beside the same network of torch modules.
- length: the notes' GRU along T steps, beside a loop over its steps with two `nn.Linear`, and beside `nn.GRU`, which
  computes another cell (reset after the product) and is cuDNN's on a GPU.
- examples: an epoch of an FNN on a table of N rows and 10 columns, batch 1000, beside a hand-written loop.

Ours is the step that `lamina.fit` or a search takes: captured on a GPU, eager on a CPU. All sides do the same updates
on data that lie on the device, in the same precision, and take turns; what is built, compiled or captured and the
first updates count as warm-up. Memory is the peak of what somebody adds from the building on: on a GPU what torch
allocates there, on a CPU the resident memory of the process, which knows pages only and is coarse below some MiB. The
exponent is the slope of the least-squares line in log-log over the upper half of the sizes, the middle one included. A
CPU computes with one thread: two of them would wait for each other most of the time of such small updates.
"""

import argparse
import ctypes
import gc
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from population import population, split_of
from record import FOLDER, write
from resnet import PlainResNet
from resnet import network as deep_network
from torch import nn
from torch.nn import functional as F

import lamina
from lamina.architectures.build import configure
from lamina.data.arrays import from_arrays
from lamina.data.dataset import Subset
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Sealed, Split
from lamina.training.executors.choose import learner
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays

Work = Callable[[], None]
Makers = dict[str, Callable[[], Work]]
OURS, PLAIN = "Lamina", "plain PyTorch"
SIZES = {
    "members": (1, 4, 16, 64, 256, 1024, 4096),
    "depth": (20, 38, 74, 146, 290, 578, 1001),
    "length": (32, 64, 128, 256, 512, 1024, 2048, 4096),
    "examples": (1_000, 10_000, 100_000, 1_000_000, 10_000_000),
}
QUICK = {"members": 1024, "depth": 290, "length": 1024, "examples": 1_000_000}
SYMBOLS = {"members": "K", "depth": "depth", "length": "T", "examples": "N"}
ENOUGH = 0.15
"""Seconds that a turn takes at least, unless one update or epoch is longer."""
LONG = 2.0
"""Seconds of a first update or epoch after which a second one is not needed to be warm."""


@dataclass(frozen=True)
class Place:
    """Where it is measured."""

    device: str

    @property
    def cuda(self) -> bool:
        return self.device == "cuda"

    def wait(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    def memory(self) -> int:
        """Give the bytes in use now, and count the peak anew from here on."""
        gc.collect()
        if self.cuda:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            return torch.cuda.memory_allocated()
        ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back, so that it is not used again unseen
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
        return _status("VmRSS")

    def peak(self) -> int:
        return torch.cuda.max_memory_allocated() if self.cuda else _status("VmHWM")


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key))


def batches(count: int, batch: int, device: str) -> Iterator[torch.Tensor]:
    """Give the indices of batches for ever, in a new order for each epoch."""
    while True:
        yield from torch.randperm(count, device=device)[: count // batch * batch].split(batch)


def updating(step: Any) -> Work:
    """Make a learner's next update when called."""
    done = 0

    def update() -> None:
        nonlocal done
        if done % step.batches == 0:
            step.begin(done // step.batches)
        step()
        done += 1

    return update


def split_for(inputs: torch.Tensor, targets: torch.Tensor, kind: str | None = None) -> Split:
    data = from_arrays(inputs, targets, kind=kind)
    return Split(data, Subset(data, torch.zeros(0, dtype=torch.int64)), Sealed(data), "benchmark")


def members(size: int, place: Place) -> Makers:
    """K FNNs, each with its own learning rate."""
    widths, batch = ((784, 128, 10), 128) if place.cuda else ((64, 32, 10), 64)
    split = split_of(torch.randn(16_384, widths[0], generator=torch.Generator().manual_seed(0)))
    config = configure("fnn", inputs=widths[0], outputs=10, hidden=widths[1:-1], activation="relu")

    def plain() -> Work:
        x, y = (t.to(place.device) for t in split.train.take(torch.arange(len(split.train))))
        nets = [
            nn.Sequential(nn.Linear(widths[0], widths[1]), nn.ReLU(), nn.Linear(widths[1], 10)) for _ in range(size)
        ]
        rates = [10 ** (-4 + 2 * (k % 32) / 31) for k in range(size)]
        adams = [
            torch.optim.Adam(net.to(place.device).parameters(), lr=rate, fused=True)
            for net, rate in zip(nets, rates, strict=True)
        ]
        loss, order = nn.CrossEntropyLoss(), batches(len(x), batch, place.device)

        def update() -> None:
            index = next(order)
            inputs, targets = x[index], y[index]
            for net, adam in zip(nets, adams, strict=True):
                adam.zero_grad()
                loss(net(inputs), targets).backward()
                adam.step()

        return update

    precision = "tf32" if place.cuda else "float32"
    return {PLAIN: plain, OURS: lambda: population(config, split, size, batch, place.device, precision)}


def depth(size: int, place: Place) -> Makers:
    """One deep residual network."""
    batch, pictures = (128, 12_800) if place.cuda else (8, 800)
    g = torch.Generator().manual_seed(0)
    x = torch.randint(256, (pictures, 3, 32, 32), generator=g, dtype=torch.uint8)
    y = torch.randint(10, (pictures,), generator=g)
    precision = "bfloat16" if place.cuda else "float32"

    def plain() -> Work:
        net = PlainResNet(size).to(place.device, memory_format=torch.channels_last).train()
        sgd = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, fused=True)
        there = x.to(place.device).contiguous(memory_format=torch.channels_last)
        labels, order = y.to(place.device), batches(pictures, batch, place.device)

        def update() -> None:
            index = next(order)
            inputs = (there[index].float() - 127.5) / 73.9
            sgd.zero_grad()
            with torch.autocast(place.device, torch.bfloat16, enabled=place.cuda):
                loss = F.cross_entropy(net(inputs), labels[index])
            loss.backward()
            sgd.step()

        return update

    def ours() -> Work:
        split = split_for(x, y)
        recipe = lamina.Recipe(lamina.MiniBatch(0.01, momentum=0.9), epochs=1000, batch_size=batch, precision=precision)
        runtime = Runtime(place.device, step="captured" if place.cuda else "eager")
        task = Arrays(Preprocess.fit(split.train, (3, 32, 32)), split)
        return updating(learner(deep_network(size), task, recipe, runtime))

    return {PLAIN: plain, OURS: ours}


class NotesGRU(nn.Module):
    """The notes' GRU as one writes it with torch modules: two products a step, the reset before the second."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.gates, self.candidate = nn.Linear(hidden + features, 2 * hidden), nn.Linear(hidden + features, hidden)
        self.output = nn.Linear(hidden, 2)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        h = inputs.new_zeros(len(inputs), self.hidden)
        for u in inputs.unbind(1):
            r, z = torch.sigmoid(self.gates(torch.cat([h, u], 1))).chunk(2, 1)
            h = z * torch.tanh(self.candidate(torch.cat([r * h, u], 1))) + (1 - z) * h
        return self.output(h)


class TorchGRU(nn.Module):
    """What torch has: another cell, with cuDNN on a GPU."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.cell, self.output = nn.GRU(features, hidden, batch_first=True), nn.Linear(hidden, 2)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.output(self.cell(inputs)[0][:, -1])


def length(size: int, place: Place) -> Makers:
    """One recurrent network along a sequence."""
    features, hidden, batch = (16, 256, 32) if place.cuda else (16, 64, 16)
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(16 * batch, size, features, generator=g), torch.randint(2, (16 * batch,), generator=g)
    precision = "tf32" if place.cuda else "float32"

    def plain(make: Callable[[int, int], nn.Module]) -> Work:
        net = make(features, hidden).to(place.device)
        adam, loss = torch.optim.Adam(net.parameters(), fused=True), nn.CrossEntropyLoss()
        there, labels = x.to(place.device), y.to(place.device)
        order = batches(len(x), batch, place.device)

        def update() -> None:
            index = next(order)
            adam.zero_grad()
            loss(net(there[index]), labels[index]).backward()
            adam.step()

        return update

    def ours() -> Work:
        split = split_for(x, y, "vector")
        recipe = lamina.Recipe(lamina.Adam(), epochs=1000, batch_size=batch, precision=precision)
        runtime = Runtime(place.device, step="captured" if place.cuda else "eager")
        net = lamina.build("many-to-one", inputs=features, outputs=2, hidden=hidden, cell="gru")
        return updating(learner(net, Arrays(Preprocess.fit(split.train), split), recipe, runtime))

    return {PLAIN: lambda: plain(NotesGRU), "nn.GRU": lambda: plain(TorchGRU), OURS: ours}


def examples(size: int, place: Place) -> Makers:
    """One epoch over a table."""
    columns, batch, hidden = 10, 1000, 64
    g = torch.Generator().manual_seed(0)
    x = torch.randn(size, columns, generator=g)
    y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).long()
    precision = "tf32" if place.cuda else "float32"

    def plain() -> Work:
        net = nn.Sequential(nn.Linear(columns, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                            nn.Linear(hidden, 2)).to(place.device)  # fmt: skip
        adam, loss = torch.optim.Adam(net.parameters(), fused=True), nn.CrossEntropyLoss()
        there, labels = ((x - x.mean(0)) / x.std(0)).to(place.device), y.to(place.device)

        def epoch() -> None:
            for index in torch.randperm(size, device=place.device).split(batch):
                adam.zero_grad()
                loss(net(there[index]), labels[index]).backward()
                adam.step()

        return epoch

    def ours() -> Work:
        split = split_for(x, y)
        recipe = lamina.Recipe(lamina.Adam(), epochs=1000, batch_size=batch, precision=precision)
        runtime = Runtime(place.device, step="captured" if place.cuda else "eager")
        net = lamina.build("fnn", inputs=columns, outputs=2, hidden=(hidden, hidden), activation="relu")
        step = learner(net, Arrays(Preprocess.fit(split.train), split), recipe, runtime)
        done = 0

        def epoch() -> None:
            nonlocal done
            step.begin(done)
            for _ in range(step.batches):
                step()
            done += 1

        return epoch

    return {PLAIN: plain, OURS: ours}


QUESTIONS: dict[str, Callable[[int, Place], Makers]] = {
    "members": members, "depth": depth, "length": length, "examples": examples,
}  # fmt: skip


def turn(work: Work, times: int, place: Place) -> float:
    """Give the seconds of one update or epoch."""
    place.wait()
    start = time.perf_counter()
    for _ in range(times):
        work()
    place.wait()
    return (time.perf_counter() - start) / times


def measure(question: str, size: int, place: Place, rounds: int) -> list[dict[str, Any]]:
    """Build everybody, note the memory of each, then let them take turns."""
    makers, works, counts, rows = QUESTIONS[question](size, place), {}, {}, []
    for who, make in makers.items():
        before, begun = place.memory(), time.perf_counter()
        works[who] = make()
        took = turn(works[who], 1, place)
        ready = time.perf_counter() - begun
        if took < LONG:
            took = turn(works[who], 1, place)
        counts[who] = max(1, min(200, int(ENOUGH / took)))
        peak = max(place.peak() - before, 0)
        rows.append({"question": question, "size": size, "who": who, "ready_seconds": ready, "bytes": peak})
    times: dict[str, list[float]] = {who: [] for who in works}
    for _ in range(rounds):
        for who, work in works.items():
            times[who].append(turn(work, counts[who], place))
    for row in rows:
        found = times[row["who"]]
        ratios = [a / b for a, b in zip(times[PLAIN], found, strict=True)]
        row |= {"seconds": statistics.median(found), "spread": statistics.stdev(found), "n": rounds,
                "speed": statistics.median(ratios), "updates": counts[row["who"]]}  # fmt: skip
        print(
            f"{question:8} {size:9,} {row['who']:14} {1e3 * row['seconds']:11.3f} ms ± {1e3 * row['spread']:.3f} "
            f"{row['speed']:8.2f} x {row['bytes'] / 2**20:10.1f} MiB  ready after {row['ready_seconds']:.1f} s",
            flush=True,
        )
    return rows


def exponent(sizes: list[int], costs: list[float]) -> float | None:
    """Fit cost = c size^p by least squares in log-log over the upper half of the sizes; None with less than two."""
    pairs = sorted((s, c) for s, c in zip(sizes, costs, strict=True) if c > 0)
    upper = pairs[len(pairs) // 2 :]
    if len(upper) < 2:
        return None
    xs, ys = ([math.log(pair[i]) for pair in upper] for i in (0, 1))
    return statistics.linear_regression(xs, ys).slope


def fits(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the exponents of time and memory for each question and contestant, and the sizes that they are fitted to."""
    found = []
    for question, who in dict.fromkeys((row["question"], row["who"]) for row in rows):
        ours = [row for row in rows if (row["question"], row["who"]) == (question, who)]
        sizes = sorted(row["size"] for row in ours)
        found.append({"question": question, "who": who, "from": sizes[len(sizes) // 2], "to": sizes[-1],
                      "time": exponent([r["size"] for r in ours], [r["seconds"] for r in ours]),
                      "memory": exponent([r["size"] for r in ours], [r["bytes"] for r in ours])})  # fmt: skip
    return found


TITLES = {
    "members": "an update of K networks",
    "depth": "an update of a ResNet",
    "length": "an update of a GRU along T steps",
    "examples": "an epoch over N rows",
}
COLORS = {OURS: "line1", PLAIN: "line2", "nn.GRU": "line3"}


def draw(record: dict[str, Any], path: str) -> None:
    """Draw time and memory over each size, log-log, with the exponents in the legend."""
    from lamina.drawing.charts import Series, chart
    from lamina.drawing.panels import panels
    from lamina.drawing.save import save

    scenes = []
    for question in dict.fromkeys(row["question"] for row in record["rows"]):
        for cost, unit, factor, key in (("time", "seconds", 1.0, "seconds"), ("memory", "MiB", 2.0**-20, "bytes")):
            lines = []
            for fit in record["exponents"]:
                if fit["question"] == question:
                    rows = [r for r in record["rows"] if (r["question"], r["who"]) == (question, fit["who"])]
                    slope = "" if fit[cost] is None else f": {SYMBOLS[question]}^{fit[cost]:.2f}"
                    values = [factor * row[key] or None for row in rows]
                    lines.append(Series(fit["who"] + slope, [r["size"] for r in rows], values, COLORS[fit["who"]]))
            dots = [Series("", line.xs, line.ys, line.color) for line in lines]
            scenes.append(chart(lines, dots, title=f"{TITLES[question]}: {cost}", x_label=SYMBOLS[question],
                                y_label=unit, log_x=True, log_y=True, width=400.0, height=250.0))  # fmt: skip
    threads = f"{record['threads']} CPU thread{'s' * (record['threads'] > 1)}"
    where = threads if record["device"] == "cpu" else record["device"]
    title = f"How time and memory grow, {where}"
    save(panels(scenes, 2, title=title, description=f"{title}: measured by benchmarks/growth.py."), path)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of the CPU")
    parser.add_argument("--quick", action="store_true", help=f"sizes up to {QUICK}")
    parser.add_argument("--only", nargs="+", choices=QUESTIONS, help="measure these; the others stay as recorded")
    for question, sizes in SIZES.items():
        parser.add_argument(f"--largest-{question}", type=int, metavar="N", help=f"at most {sizes[-1]:,}")
    parser.add_argument("--draw", metavar="FILE", help="draw the record of the device instead of measuring")
    parser.add_argument("--no-record", action="store_true")
    options = parser.parse_args()
    place = Place(options.device)
    name = "growth-cuda" if place.cuda else "growth"
    if options.draw:
        draw(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")), options.draw)
        return
    torch.set_num_threads(options.threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    rows: list[dict[str, Any]] = []
    begun = time.perf_counter()
    for question in QUESTIONS:
        if options.only and question not in options.only:
            path = FOLDER / f"{name}.json"
            old = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
            rows += [row for row in old if row["question"] == question]
            continue
        most = getattr(options, f"largest_{question}") or (QUICK[question] if options.quick else SIZES[question][-1])
        chosen = [size for size in SIZES[question] if size <= most]
        measure(question, chosen[0], Place(options.device), 2)  # imports, kernels and libraries of both sides
        print("  (that was the warm-up)", flush=True)
        for size in chosen:
            rows += measure(question, size, place, options.rounds)
    found = fits(rows)
    for fit in found:
        shown = ", ".join(f"{c} {'-' if fit[c] is None else format(fit[c], '.2f')}" for c in ("time", "memory"))
        print(f"{fit['question']:8} {fit['who']:14} exponents from {fit['from']:,} on: {shown}")
    print(f"{time.perf_counter() - begun:.0f} s")
    if not options.no_record:
        where = torch.cuda.get_device_name() if place.cuda else "cpu"
        dtype = (
            "depth: bfloat16 by autocast, parameters float32; else float32 with TF32 products, on both sides"
            if place.cuda
            else "float32"
        )
        write(name, rows, device=where, dtype=dtype, tf32=place.cuda, threads=torch.get_num_threads(), exponents=found)


if __name__ == "__main__":
    main()
