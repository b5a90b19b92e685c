"""How much faster is a population than training its members one after another?

`population.json`, on the CPU: 64 FNNs 64-32-10, 32 MLPs and 64 GRUs with batch 64, against the same networks one after
another in a plain PyTorch loop (eager, fused Adam, data in memory), and against hand-batched `baddbmm` products with
one Adam over the stacked tensors. `population-cuda.json`, with `--cuda`: 1024 FNNs 784-128-10 on MNIST-sized pictures
with TF32 products, with one and with five numbers that vary, 256 LeNets, 64 LSTMs and 64 GRUs; the recurrent networks
by themselves are cuDNN's. All members have their own learning rates, the batch order is shared. The sequential time is
*extrapolated*: the measured time of one network's update times the number of networks. Claims are ratios measured in
turns; ten epochs of MNIST with batch 128 are 4690 updates.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from record import write
from torch import nn

import lamina
from lamina.architectures.build import configure
from lamina.architectures.fnn import FNN
from lamina.data.arrays import from_arrays
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Sealed, Split
from lamina.populations._chunks import Data, make_stack
from lamina.populations.population import Member
from lamina.training.recipe import Adam, Penalty, Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays


def split_of(inputs: torch.Tensor, classes: int = 10) -> Split:
    g = torch.Generator().manual_seed(1)
    kind = "vector" if inputs.ndim < 4 else None
    data = from_arrays(inputs, torch.randint(classes, (len(inputs),), generator=g), kind=kind)
    none = lamina.data.dataset.Subset(data, torch.zeros(0, dtype=torch.int64))
    return Split(data, none, Sealed(none), "benchmark")


def population(
    config, split: Split, count: int, batch: int, device: str, precision: str, five: bool = False
) -> Callable[[], None]:
    """Give one update of `count` members; on CUDA it is a recorded graph."""
    members = []
    for k in range(count):
        rate, penalty = 10 ** (-4 + 2 * (k % 32) / 31), 10.0 ** -(k % 5 + 2) if five else 0.0
        chosen = (
            configure("fnn", **vars(config) | {"dropout": 0.05 * (k % 4 + 1), "scale": 0.5 + 0.5 * (k % 3)})
            if five
            else config
        )
        adam = Adam(rate, beta1=0.85 + 0.03 * (k % 4)) if five else Adam(rate)
        members.append(
            Member(
                Recipe(adam, batch_size=batch, epochs=1000, precision=precision, penalty=Penalty(penalty)),
                chosen,
                k % 8,
            )
        )
    shape = None if split.train.spec.inputs[-1:] == (config.inputs,) else config.inputs
    data = Data.of(Arrays(Preprocess.fit(split.train, shape), split), members[0].recipe, Runtime(device))
    step = make_stack(members, data)
    step.begin(0)
    place = [0]

    def update() -> None:
        if place[0] >= step.batches - 1:
            place[0] = 0
            step.begin(0)
        step()
        place[0] += 1

    update.step = step
    return update


def sequential(network: nn.Module, split: Split, batch: int, device: str) -> Callable[[], None]:
    """Give one update of one network by itself, as one writes it by hand."""
    inputs, targets = split.train.take(torch.arange(len(split.train)))
    inputs = (inputs.float() / (255 if inputs.dtype == torch.uint8 else 1)).to(device)
    targets, network = targets.to(device), network.to(device).train()
    optimizer, loss = torch.optim.Adam(network.parameters(), fused=True), nn.CrossEntropyLoss()
    order, place, total = (
        torch.randperm(len(inputs), generator=torch.Generator().manual_seed(0)).to(device),
        [0],
        torch.zeros((), device=device),
    )

    def update() -> None:
        index = order[place[0] : place[0] + batch]
        place[0] = (place[0] + batch) % (len(inputs) - batch)
        optimizer.zero_grad()
        value = loss(network(inputs[index]), targets[index])
        value.backward()
        optimizer.step()
        total.add_(value.detach())

    return update


def hand_batched(widths: tuple[int, ...], split: Split, count: int, batch: int) -> Callable[[], None]:
    """Give one update of K multilayer perceptrons by `baddbmm` and one Adam over the stacked tensors."""
    inputs, targets = split.train.take(torch.arange(len(split.train)))
    g = torch.Generator().manual_seed(0)
    params = []
    for n_in, n_out in pairwise(widths):
        params.append(nn.Parameter(torch.randn(count, n_in, n_out, generator=g) * n_in**-0.5))
        params.append(nn.Parameter(torch.zeros(count, 1, n_out)))
    optimizer = torch.optim.Adam(params, fused=True)
    order, place = torch.randperm(len(inputs), generator=g), [0]

    def update() -> None:
        index = order[place[0] : place[0] + batch]
        place[0] = (place[0] + batch) % (len(inputs) - batch)
        y = inputs[index].expand(count, -1, -1)
        for layer in range(len(params) // 2):
            y = torch.baddbmm(params[2 * layer + 1], y, params[2 * layer])
            y = torch.relu(y) if layer < len(params) // 2 - 1 else y
        optimizer.zero_grad()
        labels = targets[index].expand(count, -1).reshape(-1)
        (nn.functional.cross_entropy(y.flatten(0, 1), labels) * count).backward()
        optimizer.step()

    return update


def timed(update: Callable[[], None], updates: int, device: str) -> float:
    """Give the seconds of one update."""
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(updates):
        update()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / updates


def compare(
    what: str, count: int, contestants: dict[str, Callable[[], None]], rounds: int, device: str
) -> list[dict[str, object]]:
    """Let all take turns and give a row for each; `alone` is one network, counted `count` times."""
    for update in contestants.values():
        timed(update, 5, device)
    updates = {name: max(3, min(200, int(0.1 / timed(update, 5, device)))) for name, update in contestants.items()}
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, update in contestants.items():
            times[name].append(timed(update, updates[name], device) * (count if name == "alone" else 1))
    rows: list[dict[str, Any]] = []
    for name, found in times.items():
        ratios = [a / b for a, b in zip(times["alone"], found, strict=True)]
        row = {"what": what, "members": count, "who": name, "milliseconds": 1e3 * statistics.median(found),
               "speedup": statistics.median(ratios), "spread": statistics.stdev(ratios), "n": rounds,
               "extrapolated": name == "alone"}  # fmt: skip
        rows.append(row)
        print(f"{what:22} {count:5} {name:13}", end=" ")
        print(f"{row['milliseconds']:9.3f} ms  {row['speedup']:7.1f}x ± {row['spread']:.1f}", flush=True)
    return rows


def on_cpu(rounds: int) -> list[dict[str, object]]:
    g, rows = torch.Generator().manual_seed(0), []
    for count, widths in ((64, (64, 32, 10)), (32, (20, 64, 64, 2)), (32, (784, 128, 10))):
        split = split_of(torch.randn(4000, widths[0], generator=g), widths[-1])
        config = configure("fnn", inputs=widths[0], outputs=widths[-1], hidden=widths[1:-1])
        rows += compare(f"FNN {'-'.join(map(str, widths))}", count, {
            "alone": sequential(FNN(config), split, 64, "cpu"),
            "hand-batched": hand_batched(widths, split, count, 64),
            "population": population(config, split, count, 64, "cpu", "float32"),
        }, rounds, "cpu")  # fmt: skip
    split = split_of(torch.randn(2000, 16, 8, generator=g), 2)
    config = configure("many-to-one", inputs=8, outputs=2, hidden=32)
    rows += compare("GRU T=16 H=32", 64, {
        "alone": sequential(lamina.build("many-to-one", inputs=8, outputs=2, hidden=32), split, 64, "cpu"),
        "population": population(config, split, 64, 64, "cpu", "float32"),
    }, rounds, "cpu")  # fmt: skip
    return rows


def on_cuda(rounds: int) -> list[dict[str, object]]:
    g, rows = torch.Generator().manual_seed(0), []
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    pictures = split_of(torch.randint(256, (60000, 1, 28, 28), generator=g, dtype=torch.uint8))
    config = configure("fnn", inputs=(1, 28, 28), outputs=10, hidden=(128,))
    for five in (False, True):
        rows += compare("FNN 784-128-10" + (", 5 numbers" if five else ""), 1024, {
            "alone": sequential(FNN(config), pictures, 128, "cuda"),
            "population": population(config, pictures, 1024, 128, "cuda", "tf32", five),
        }, rounds, "cuda")  # fmt: skip
    rows += compare("LeNet-5", 256, {
        "alone": sequential(lamina.build("lenet5"), pictures, 128, "cuda"),
        "population": population(configure("lenet5"), pictures, 256, 128, "cuda", "tf32"),
    }, rounds, "cuda")  # fmt: skip
    split = split_of(torch.randn(6400, 64, 64, generator=g), 2)
    for cell in ("lstm", "gru"):
        config = configure("many-to-one", inputs=64, outputs=2, hidden=64, cell=cell)
        torch_cell = nn.LSTM if cell == "lstm" else nn.GRU

        class Alone(nn.Module):
            """The fastest that torch has: cuDNN's cell."""

            def __init__(self, kind=torch_cell) -> None:
                super().__init__()
                self.cell, self.output = kind(64, 64, batch_first=True), nn.Linear(64, 2)

            def forward(self, inputs):
                return self.output(self.cell(inputs)[0][:, -1])

        rows += compare(f"{cell.upper()} T=64 H=64", 64, {
            "alone": sequential(Alone(), split, 64, "cuda"),
            "population": population(config, split, 64, 64, "cuda", "tf32"),
        }, rounds, "cuda")  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cuda", action="store_true")
    options = parser.parse_args()
    if options.cuda:
        facts = {"device": torch.cuda.get_device_name(), "dtype": "float32 with TF32 products on both sides"}
        write("population-cuda", on_cuda(options.rounds), **facts)
    else:
        write("population", on_cpu(options.rounds), device="cpu", dtype="float32", threads=torch.get_num_threads())


if __name__ == "__main__":
    main()
