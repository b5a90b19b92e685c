"""How long does one update of a small network take: FNN 784-128-10 and LeNet-5 (ReLU, max pooling), batch 128, Adam?

Pictures are synthetic, 28x28 bytes. Ours is timed inside `lamina.fit`, from the second epoch on, with everything that
a run does (order, sums, history on disk), and as the bare step. The plain PyTorch loop finds its pictures normalized,
as floats, on the device. Everybody warms up, then all take turns; claims are ratios to the plain loop. On the CPU that
loop uses fused Adam; on CUDA ratios to the default and to the fused Adam are given, with the same TF32 policy on both
sides. Peers that are not installed are left out, and the record says so.

python benchmarks/small_networks.py                  # CPU; --only lenet5 leaves the other network as recorded
python benchmarks/small_networks.py --device cuda    # about 45 s; with --extras the eager step and torch.compile too
"""

import argparse
import importlib
import itertools
import json
import logging
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from peers import keras_torch, network, sklearn, skorch
from peers import lightning as lightning_cpu
from record import FOLDER, write
from torch import nn

import lamina
from lamina.data.arrays import from_arrays
from lamina.data.dataset import Subset
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Sealed, Split
from lamina.training.executors.choose import learner
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays

BATCH = 128
NETWORKS = ("fnn", "lenet5")
warnings.simplefilter("ignore")


@dataclass
class Contestant:
    """Somebody who trains: `epoch` returns the seconds that an epoch took."""

    who: str
    precision: str
    epoch: Callable[[], float]
    updates: int
    setup: float = 0.0
    times: list[float] = field(default_factory=list)


def pictures(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(0)
    images = torch.randint(256, (count, 1, 28, 28), dtype=torch.uint8, generator=g)
    return images, torch.randint(10, (count,), generator=g)


def settle(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def allow_tf32(on: bool) -> None:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = on


def timed(work: Callable[[], None], device: str) -> Callable[[], float]:
    def epoch() -> float:
        settle(device)
        start = time.perf_counter()
        work()
        settle(device)
        return time.perf_counter() - start

    return epoch


def plain(kind: str, data, device: str, fused: bool, tf32: bool = False, mode: str | None = None) -> Contestant:
    """The loop that everybody writes first, with its data on the device."""
    images, labels = data
    x, y = ((images.float() / 255 - 0.5) / 0.29).to(device), labels.to(device)
    net, loss = network(kind).to(device), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters(), fused=fused or None)
    forward = torch.compile(net, mode=mode) if mode else net

    def work() -> None:
        allow_tf32(tf32)
        order, total = torch.randperm(len(x), device=device), torch.zeros((), device=device)
        for start in range(0, len(x) - BATCH + 1, BATCH):
            index = order[start : start + BATCH]
            optimizer.zero_grad()
            value = loss(forward(x[index]), y[index])
            value.backward()
            optimizer.step()
            total += value.detach()
        float(total)

    setup = 0.0
    if mode:
        began = time.perf_counter()
        work()
        setup = time.perf_counter() - began
    name = f"torch.compile({mode}), fused Adam" if mode else f"plain PyTorch, {'fused' if fused else 'default'} Adam"
    return Contestant(name, "tf32" if tf32 else "float32", timed(work, device), len(x) // BATCH, setup)


def loader(kind: str, data, device: str) -> Contestant:
    """The same loop with a DataLoader, as tutorials have it."""
    images, labels = data
    dataset = torch.utils.data.TensorDataset((images.float() / 255 - 0.5) / 0.29, labels)
    batches = torch.utils.data.DataLoader(dataset, batch_size=BATCH, shuffle=True, drop_last=True)
    net, loss = network(kind).to(device), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters())

    def work() -> None:
        allow_tf32(False)
        total = torch.zeros((), device=device)
        for inputs, targets in batches:
            optimizer.zero_grad()
            value = loss(net(inputs.to(device)), targets.to(device))
            value.backward()
            optimizer.step()
            total += value.detach()
        float(total)

    return Contestant("PyTorch with DataLoader", "float32", timed(work, device), len(batches))


def prepared(data) -> Split:
    dataset = from_arrays(*data)
    return Split(dataset, Subset(dataset, torch.zeros(0, dtype=torch.int64)), Sealed(dataset), "benchmark")


def in_fit(kind: str, data, device: str, step: str, precision: str = "float32", epochs: int = 3) -> Contestant:
    """Our update inside `lamina.fit`: the median of its epochs from the second on."""
    split = prepared(data)
    recipe = lamina.Recipe(lamina.Adam(), epochs=epochs, batch_size=BATCH, precision=precision)

    def epoch() -> float:
        stamps: list[float] = []

        def watch(event) -> None:
            if event.row is not None:
                stamps.append(time.perf_counter())

        with tempfile.TemporaryDirectory() as folder:
            runtime = Runtime(device, step=step)
            run = lamina.fit(network(kind), split, recipe, folder=f"{folder}/run", observers=(watch,), runtime=runtime)
        assert run.reason.name == "epochs"
        return statistics.median(b - a for a, b in itertools.pairwise(stamps))

    return Contestant(f"lamina.fit, {step}", precision, epoch, len(data[0]) // BATCH)


def bare(kind: str, data, device: str, step: str, precision: str = "float32") -> Contestant:
    """Our update by itself; making it (capturing, compiling) is the setup."""
    split = prepared(data)
    recipe = lamina.Recipe(lamina.Adam(), epochs=10_000, batch_size=BATCH, precision=precision)
    preprocess = Preprocess.fit(split.train, (1, 28, 28))
    runtime = Runtime(device, step=step)
    began = time.perf_counter()
    with runtime.applied(precision) as used:
        made = learner(network(kind), Arrays(preprocess, split), recipe, used)
        settle(device)
        setup = time.perf_counter() - began
        if step != made.kind:
            raise ImportError(f"no {step} step here: {made.reason}")

    def work() -> None:
        with runtime.applied(precision):
            made.begin(0)
            for _ in range(made.batches):
                made()
            made.totals()

    return Contestant(f"lamina step alone, {step}", precision, timed(work, device), made.batches, setup)


def lightning_cuda(kind: str, data, device: str) -> Contestant:
    try:
        L = importlib.import_module("lightning")
    except ImportError:
        L = importlib.import_module("pytorch_lightning")
    for name in ("lightning.pytorch", "pytorch_lightning", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)

    class Module(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.loss = network(kind), nn.CrossEntropyLoss()

        def training_step(self, batch, _):
            return self.loss(self.net(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters())

        def on_train_epoch_start(self) -> None:
            settle(device)
            self.began = time.perf_counter()

        def on_train_epoch_end(self) -> None:
            settle(device)
            self.seconds = time.perf_counter() - self.began

    images, labels = data
    dataset = torch.utils.data.TensorDataset((images.float() / 255 - 0.5) / 0.29, labels)
    batches = torch.utils.data.DataLoader(dataset, batch_size=BATCH, shuffle=True)
    module = Module()

    def epoch() -> float:
        allow_tf32(False)
        trainer = L.Trainer(
            max_epochs=1,
            accelerator="gpu",
            devices=1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(module, batches)
        return module.seconds

    return Contestant("Lightning", "float32", epoch, len(batches))


def peer(name: str, make: Callable) -> Callable[..., Contestant]:
    """Wrap a contestant of `peers`."""

    def made(kind: str, data, device: str) -> Contestant:
        images, labels = data
        work = make(kind, (images.float() / 255 - 0.5) / 0.29, labels)
        if work is None:
            raise ImportError("it has no such network")
        return Contestant(name, "float32", timed(work, device), len(images) // BATCH)

    return made


def field_of(device: str, extras: bool) -> list[tuple[str, bool, Callable[[str, tuple, str], Contestant]]]:
    """List names, whether they get all the data (the slow ones on CUDA get less), and makers."""

    def ours(maker, step, precision="float32", full=True):
        return f"ours, {step}, {precision}", full, lambda k, d, v: maker(k, d, v, step, precision)

    def loop(fused, **options):
        return "plain", False, lambda k, d, v: plain(k, d, v, fused, **options)

    if device == "cpu":
        return [
            loop(True),
            loop(False),
            ours(in_fit, "eager"),
            ours(in_fit, "compiled"),
            ours(bare, "eager"),
            ours(bare, "compiled"),
            ("DataLoader", False, loader),
            ("skorch", False, peer("skorch", skorch)),
            ("Lightning", False, peer("Lightning", lightning_cpu)),
            ("Keras on torch", False, peer("Keras on torch", keras_torch)),
            ("scikit-learn", False, peer("scikit-learn", sklearn)),
        ]
    precisions = ("float32", "tf32", "bfloat16")
    more = [ours(in_fit, "eager", full=False), loop(True, mode="reduce-overhead")] if extras else []
    return [
        loop(False),
        loop(True),
        loop(False, tf32=True),
        loop(True, tf32=True),
        *(ours(in_fit, "captured", precision) for precision in precisions),
        *(ours(bare, "captured", precision) for precision in precisions),
        ("DataLoader", False, loader),
        ("Lightning", False, lightning_cuda),
        *more,
    ]


def rows_of(kind: str, field_: list[Contestant], rounds: int, device: str) -> list[dict]:
    rows = []
    plain_times = {(c.who, c.precision): c.times for c in field_ if c.who.startswith("plain")}
    for c in field_:
        policy = "tf32" if c.precision == "tf32" and device == "cuda" else "float32"
        row = {"network": kind, "who": c.who, "precision": c.precision, "setup_seconds": round(c.setup, 2)}
        row["microseconds"] = 1e6 * statistics.median(c.times)
        for adam in ("default", "fused"):
            against = plain_times[f"plain PyTorch, {adam} Adam", policy]
            ratios = [a / b for a, b in zip(against, c.times, strict=True)]
            row[f"times_{adam}"] = statistics.median(ratios)
            row[f"spread_{adam}"] = statistics.stdev(ratios) if len(ratios) > 1 else 0.0
        rows.append({**row, "n": rounds})
        print(
            f"{kind:7} {c.who:34} {c.precision:9} {row['microseconds']:8.1f} us an update; "
            f"{row['times_default']:5.2f} x default Adam, {row['times_fused']:5.2f} x fused; setup {c.setup:.1f} s",
            flush=True,
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--examples", type=int, help="19,968 on the CPU, 59,904 on CUDA by default")
    parser.add_argument("--extras", action="store_true", help="on CUDA: the eager step and torch.compile, too")
    parser.add_argument("--only", choices=NETWORKS, help="measure this one; the other stays as recorded")
    parser.add_argument("--show", action="store_true", help="print the record too")
    options = parser.parse_args()
    device = options.device
    data = pictures(options.examples or (19_968 if device == "cpu" else 59_904))
    less = data if device == "cpu" else tuple(part[: 100 * BATCH] for part in data)
    name = "small_networks-cuda" if device == "cuda" else "small_networks"
    path = FOLDER / f"{name}.json"
    old = json.loads(path.read_text(encoding="utf-8")) if options.only else {"rows": [], "absent": []}
    rows: list[dict] = []
    absent: list[str] = []
    for kind in NETWORKS:
        if options.only not in (None, kind):
            rows += [row for row in old["rows"] if row["network"] == kind]
            absent += [line for line in old["absent"] if f" ({kind}): " in line]
            continue
        field_: list[Contestant] = []
        for who, full, make in field_of(device, options.extras):
            try:
                contestant = make(kind, data if full else less, device)
                contestant.epoch()
                field_.append(contestant)
            except ImportError as error:
                absent.append(f"{who} ({kind}): {str(error).splitlines()[0]}")
                print(f"absent: {absent[-1]}", flush=True)
        for _ in range(options.rounds):
            for contestant in field_:
                contestant.times.append(contestant.epoch() / contestant.updates)
        rows += rows_of(kind, field_, options.rounds, device)
    where = {"gpu": torch.cuda.get_device_name()} if device == "cuda" else {"threads": torch.get_num_threads()}
    write(name, rows, device=device, examples=len(data[0]), batch=BATCH, absent=absent, **where)
    if options.show:
        print(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
