"""Does a network in a stack feel its place, its neighbors or the width of the stack? Compared bit for bit.

Six networks are trained for two epochs; then in another order, among others, as two with four copies beside them, and
in stacks of 2 and 3. "even" sizes fill whole 64 bytes (widths and batches of 16), "odd" ones do not (9 and 19).

Where our own kernels compute, FNN and LeNet-5, a network is also trained at the first and the last place of stacks of 2
to 256 and compared with a stack of one, and an update is timed against the same by torch's products, in turns.
`member_bits.json` is a CPU's record; `--device cuda` writes `member_bits-cuda.json`.
"""

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from population import population, split_of, timed
from record import write

import lamina
from lamina.architectures.build import configure
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.kernels import ordered
from lamina.populations._chunks import Data, make_stack
from lamina.populations.members import Member, MemberResult
from lamina.populations.population import train_together
from lamina.training.loop import drain
from lamina.training.recipe import Adam, Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays

ORDER = (5, 2, 4, 0, 1, 3)


def wave() -> Split:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wave.csv"
        rows = "".join(f"{i},{math.sin(i / 3) + 0.1 * math.sin(i)}\n" for i in range(220))
        path.write_text("t,y\n" + rows, encoding="utf-8")
        return lamina.load(path, kind="series", window=7).split()


def cases(width: int) -> dict[str, tuple[str, Split, dict[str, Any]]]:
    iris, digits, series = lamina.load("iris").split(), lamina.load("digits").split(), wave()
    rows = {"inputs": 4, "outputs": 3}
    vectors = {"inputs": 64, "outputs": 10, "hidden": (2 * width, width)}
    pictures = {"inputs": (1, 28, 28), "outputs": 10}
    steps = {"inputs": series.train.spec.inputs[-1], "outputs": series.train.spec.outputs, "hidden": width}
    return {
        "fnn": ("fnn", iris, {**rows, "hidden": (width,)}),
        "fnn, tanh": ("fnn", digits, {**vectors, "activation": "tanh"}),
        "fnn, batch norm": ("fnn", digits, {**vectors, "batch_norm": True}),
        "fnn, dropout": ("fnn", digits, {**vectors, "dropout": 0.3}),
        "perceptron": ("perceptron", lamina.load("moons").split(), {"inputs": 2, "activation": "identity"}),
        "lenet5": ("lenet5", digits, pictures),
        "lenet5, relu": ("lenet5", digits, {**pictures, "activation": "relu", "pooling": "max"}),
        "dense-resnet": ("dense-resnet", iris, rows),
        "neural-ode": ("neural-ode", iris, rows),
        "cifar-resnet": ("cifar-resnet", digits, {**pictures, "inputs": (1, 8, 8), "depth": 8, "width": 0.25}),
        **{f"many-to-one, {cell}": ("many-to-one", series, {**steps, "cell": cell}) for cell in ("rnn", "gru", "lstm")},
    }


def equal(mine: list[MemberResult], others: list[MemberResult]) -> bool:
    return all(
        a.rows == b.rows and all(torch.equal(t, b.weights[name]) for name, t in a.weights.items())
        for a, b in zip(mine, others, strict=True)
    )


def row(name: str, case: tuple[str, Split, dict[str, Any]], batch: int, runtime: Runtime) -> dict[str, Any]:
    architecture, split, options = case
    config = configure(architecture, **options)

    def member(rate: float, seed: int) -> Member:
        return Member(Recipe(Adam(rate), epochs=2, batch_size=batch), config, seed)

    def trained(members: list[Member], width: int) -> list[MemberResult]:
        return drain(train_together(members, split, runtime=runtime, chunk=width, padded=True))

    members = [member(rate, seed) for rate in (1e-3, 3e-3, 1e-2) for seed in (0, 1)]
    base = trained(members, 6)
    return {
        "network": name,
        "threads": runtime.threads,
        "place": equal([base[k] for k in ORDER], trained([members[k] for k in ORDER], 6)),
        "neighbors": equal(base[:1], trained([members[0], *[member(0.05, 9)] * 5], 6)[:1]),
        "padding": equal(base[:2], trained(members[:2], 6)),
        "width": equal(base[:3], trained(members[:3], 3)) and equal(base[:2], trained(members[:2], 2)),
    }


def own_kernels() -> dict[str, tuple[Any, Split, int]]:
    """Give networks with 784 inputs for FNN, 28 x 28 pixels for LeNet-5, and odd sizes, with how many are timed."""
    g = torch.Generator().manual_seed(0)
    pictures = split_of(torch.randint(256, (4000, 1, 28, 28), generator=g, dtype=torch.uint8))
    rows = split_of(torch.randn(4000, 11, generator=g))
    wide = {"inputs": (1, 28, 28), "outputs": 10, "hidden": (128,)}
    return {
        "fnn 784-128-10": (configure("fnn", **wide), pictures, 1024),
        "fnn 784-128-10, tanh, dropout": (configure("fnn", **wide, activation="tanh", dropout=0.2), pictures, 1024),
        "fnn 11-7-13-10": (configure("fnn", inputs=11, outputs=10, hidden=(7, 13)), rows, 1024),
        "lenet5": (configure("lenet5"), pictures, 256),
        "lenet5, relu, max": (configure("lenet5", activation="relu", pooling="max"), pictures, 256),
    }


def after_updates(members: list[Member], split: Split, place: int, device: str, updates: int) -> list[torch.Tensor]:
    """Give what a member of a stack has become: weights, moments, sums and validation values."""
    recipe = members[0].recipe
    task = Arrays(Preprocess.fit(split.train, members[0].config.inputs), split)
    with Runtime(device).applied(recipe.precision) as used:
        stack = make_stack(members, Data.of(task, recipe, used))
        stack.begin(0)
        for _ in range(updates):
            stack()
        values = [torch.tensor(value[place]) for value in stack.evaluate().values()]
        return [*(t[place].cpu() for name, t in stack.state().items() if name != "step/norms"), *values]


def width_row(name: str, device: str, precision: str, batch: int = 75, updates: int = 10) -> dict[str, Any]:
    """Compare a network in a stack of one with itself at both ends of wider ones."""
    config, split, _ = own_kernels()[name]
    part = lamina.data.dataset.Subset(split.train, torch.arange(300))
    split = Split(split.train, part, split.test, "benchmark")
    widths = (2, 16, 64, 256) if device == "cuda" else (2, 16, 64)

    def member(k: int) -> Member:
        return Member(Recipe(Adam(1e-3 * (k % 7 + 1)), batch_size=batch, precision=precision), config, k % 8)

    alone = after_updates([member(0)], split, 0, device, updates)
    same = {}
    for width in widths:
        for place in (0, width - 1):
            others = [member(k) for k in range(1, width)]
            found = after_updates([*others[:place], member(0), *others[place:]], split, place, device, updates)
            same[f"place {place} of {width}"] = all(map(torch.equal, alone, found))
    return {"network": name, "precision": precision, "equal to a stack of one": same}


def busy(update: Callable[[], None], updates: int, device: str) -> float:
    """Give the seconds that a CPU is busy with one update."""
    start = time.process_time()
    for _ in range(updates):
        update()
    return (time.process_time() - start) / updates


def cost_row(name: str, device: str, precision: str, count: int, rounds: int = 7) -> dict[str, Any]:
    """Time an update by our kernels and by torch's, in turns; on a CPU by the seconds that one thread is busy."""
    config, split, _ = own_kernels()[name]
    seconds = timed if device == "cuda" else busy
    updates, times = {}, {}
    for own in (True, False):
        ordered.WANTED[device] = own
        updates[own], times[own] = population(config, split, count, 128, device, precision), list[float]()
        seconds(updates[own], 3, device)
    repeats = max(3, min(100, int(0.1 / seconds(updates[False], 3, device))))
    for _ in range(rounds):
        for own in (True, False):
            ordered.WANTED[device] = own
            times[own].append(seconds(updates[own], repeats, device))
    ordered.WANTED[device] = True
    ratios = [ours / theirs for ours, theirs in zip(times[True], times[False], strict=True)]
    return {
        "network": name,
        "precision": precision,
        "members": count,
        "milliseconds": 1e3 * statistics.median(times[True]),
        "milliseconds by torch": 1e3 * statistics.median(times[False]),
        "ratio": statistics.median(ratios),
        "spread": statistics.stdev(ratios),
        "n": rounds,
    }


def kernels(device: str) -> list[dict[str, Any]]:
    """Ask all of `own_kernels`: are the bits the same, and what does that cost?"""
    rows = []
    for precision in ("tf32", "float32") if device == "cuda" else ("float32",):
        tf32 = precision == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        for name, (_, _, most) in own_kernels().items():
            ordered.WANTED[device] = True
            rows.append(width_row(name, device, precision))
            print(rows[-1], flush=True)
            torch.set_num_threads(1)
            for count in (64, most) if device == "cuda" else (4 if "lenet5" in name else 32,):
                rows.append(cost_row(name, device, precision, count))
                print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--kernels", action="store_true", help="FNN and LeNet-5 by our own kernels alone")
    options = parser.parse_args()
    own, rows, cuda = kernels(options.device), [], options.device == "cuda"
    for sizes, width, batch in () if options.kernels else (("odd", 9, 19), ("even", 16, 16)):
        for name, case in cases(width).items():
            rows.append({"sizes": sizes, **row(name, case, batch, Runtime(options.device, 0 if cuda else 2))})
            print(rows[-1], flush=True)
    facts = {"device": torch.cuda.get_device_name() if cuda else "CPU"}
    facts["capability"] = torch.backends.cpu.get_cpu_capability()
    write("member_bits-cuda" if cuda else "member_bits", [*rows, *own], **facts)


if __name__ == "__main__":
    main()
