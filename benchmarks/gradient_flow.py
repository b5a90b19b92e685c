"""What does `GradientFlowObserver` cost at its default interval, every 200 updates?

FNN 784-128-10 and LeNet-5 (ReLU, max pooling), batch 128, Adam, synthetic 28x28 pictures, inside `lamina.fit`; on CUDA
the update is a captured one. Runs with and without the observer take turns; an epoch is the median of a run's epochs
from the second on, and the claim is the median of the ratios with / without. At most 1.05 is wanted.

python benchmarks/gradient_flow.py                  # CPU
python benchmarks/gradient_flow.py --device cuda
"""

import argparse
import itertools
import statistics
import tempfile
import time
import warnings

import torch
from peers import network
from record import FOLDER, write
from small_networks import BATCH, pictures, prepared

import lamina
from lamina.inspection.flow_observer import GradientFlowObserver
from lamina.training.runtime import Runtime

WANTED = 1.05
warnings.simplefilter("ignore")


def epoch(kind: str, split, device: str, observers: list, epochs: int) -> float:
    """Train and give the seconds of an epoch: the median from the second one on."""
    stamps: list[float] = []

    def watch(event) -> None:
        if event.row is not None:
            stamps.append(time.perf_counter())

    recipe = lamina.Recipe(lamina.Adam(), epochs=epochs, batch_size=BATCH)
    with tempfile.TemporaryDirectory() as folder:
        runtime = Runtime(device, step="captured" if device == "cuda" else "eager")
        run = lamina.fit(
            network(kind), split, recipe, folder=f"{folder}/run", observers=[*observers, watch], runtime=runtime
        )
    assert run.reason.name == "epochs"
    return statistics.median(b - a for a, b in itertools.pairwise(stamps))


def measure(kind: str, split, device: str, rounds: int, epochs: int) -> dict:
    """Take turns and give the row of one network."""
    updates = len(split.train) // BATCH
    times: dict[str, list[float]] = {"without": [], "with": []}
    looked = GradientFlowObserver()
    epoch(kind, split, device, [looked], 2)  # to warm up
    for number in range(rounds):
        order = ("without", "with") if number % 2 == 0 else ("with", "without")
        for who in order:
            observers = [GradientFlowObserver()] if who == "with" else []
            times[who].append(epoch(kind, split, device, observers, epochs) / updates)
    ratios = [b / a for a, b in zip(times["without"], times["with"], strict=True)]
    return {
        "network": kind,
        "every": looked.every,
        "updates_an_epoch": updates,
        "microseconds_without": 1e6 * statistics.median(times["without"]),
        "microseconds_with": 1e6 * statistics.median(times["with"]),
        "ratio": statistics.median(ratios),
        "spread": statistics.stdev(ratios) if len(ratios) > 1 else 0.0,
        "n": rounds,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--examples", type=int, help="12,800 on the CPU, 59,904 on CUDA by default")
    parser.add_argument("--show", action="store_true", help="print the record too")
    options = parser.parse_args()
    device = options.device
    split = prepared(pictures(options.examples or (12_800 if device == "cpu" else 59_904)))
    name = "gradient_flow-cuda" if device == "cuda" else "gradient_flow"
    rows = []
    for kind in ("fnn", "lenet5"):
        rows.append(measure(kind, split, device, options.rounds, options.epochs))
        row = rows[-1]
        print(
            f"{kind:7} {row['microseconds_without']:8.1f} us an update, {row['microseconds_with']:8.1f} us with the "
            f"observer every {row['every']}: {row['ratio']:.3f} x (wanted: at most {WANTED})",
            flush=True,
        )
    where = {"gpu": torch.cuda.get_device_name()} if device == "cuda" else {"threads": torch.get_num_threads()}
    write(name, rows, device=device, examples=len(split.train), batch=BATCH, wanted=WANTED, **where)
    if options.show:
        print((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
