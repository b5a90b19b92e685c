"""Does what `lamina plan` predicts for 1, 2 and 4 ranks agree with what `lamina train --ranks N` takes?

A plan makes updates for some seconds: alone with one thread, and in as many processes as ranks, which add up their sums
as ranks do. It says what an epoch would take. The measurement is the time between two checks in the timings of the run:
the updates of some epochs and one check. Nothing of the run enters the prediction.

Both are made in turns, so that a machine whose speed changes is noticed. What other processes take meanwhile is
measured too, in processors.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from record import write

from lamina.scaling.planning import of_device, plan_ranks
from lamina.scaling.scaled import Cluster, Workload, scaled
from lamina.training.runtime import Runtime

RANKS = (1, 2, 4)
NETWORKS = {
    "lenet5": {"batch_size": 512},
    "cifar-resnet": {"batch_size": 128, "depth": 8, "width": 0.5},
}
"""One without batch normalization, and one with seven of them."""

CHECKS = 4

PARTS = ("computing", "waiting", "gradients", "norms")


def busy() -> float:
    """Give the seconds that processors have computed for anybody else than this process and its children of before."""
    ticks = [int(number) for number in Path("/proc/stat").read_text(encoding="utf-8").split("\n")[0].split()[1:]]
    return (sum(ticks[:3]) + sum(ticks[5:7])) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


@contextmanager
def watched(found: list[float]) -> Iterator[None]:
    """Add how many processors others took meanwhile."""
    before, start = busy(), time.perf_counter()
    yield
    found.append((busy() - before) / (time.perf_counter() - start))


def trained(name: str, ranks: int, every: int, folder: Path) -> float:
    """Train as a user would, and give the seconds of an update, its part of a check included."""
    settings = {**NETWORKS[name], "check_every": every, "patience": "none"}
    words = [f"--set={key}={value}" for key, value in settings.items()]
    command = [sys.executable, "-m", "lamina", "train", name, "--ranks", str(ranks), "--data", "digits", "--device",
               "cpu", "--threads", "1", "--step", "eager", "--epochs", str(CHECKS * every), "--out",
               str(folder / f"{name}-{ranks}"), "--quiet", *words]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=240)
    if done.returncode:
        sys.exit(f"{' '.join(command[2:])}: {done.stderr}")
    text = (folder / f"{name}-{ranks}" / "timings.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    pieces = [(b["seconds"] - a["seconds"]) / (b["step"] - a["step"]) for a, b in pairwise(rows)]
    return statistics.median(pieces)


def expected(work: Workload, cluster: Cluster, ranks: int, every: int) -> float:
    """Give the seconds of an update, its part of a check after so many epochs included."""
    row = scaled(work, cluster, ranks)
    return (every * (row.epoch - row.evaluation) + row.evaluation) / (every * work.updates)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a few updates only, and no record")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    quick, rows = options.quick, []
    for name, settings in NETWORKS.items():
        here = replace(of_device("cpu"), per_node=max(RANKS))
        how = {"options": settings, "runtime": Runtime("cpu", threads=1, step="eager")}
        predicted, taken, batches, parts = ({ranks: [] for ranks in RANKS} for _ in range(4))
        planning, training = list[float](), list[float]()
        for _ in range(1 if quick else options.rounds):
            with watched(planning):
                plan = plan_ranks(name, "digits", max(RANKS), cluster=here, seconds=20 if quick else 30, **how)
            every = max(1, round((6 if quick else 30) / plan.work.updates))
            with tempfile.TemporaryDirectory() as folder, watched(training):
                for ranks in RANKS:
                    taken[ranks].append(trained(name, ranks, every, Path(folder)))
            for row in plan.rows:
                predicted[row.ranks].append(expected(plan.work, plan.cluster, row.ranks, every))
                parts[row.ranks].append([getattr(row, part) for part in PARTS])
                batches[row.ranks] = row.batch
        for ranks in RANKS:
            errors = [p / t - 1 for p, t in zip(predicted[ranks], taken[ranks], strict=True)]
            rows.append(
                {
                    "network": name,
                    "ranks": ranks,
                    "batch_per_rank": batches[ranks],
                    "predicted_ms": 1e3 * statistics.median(predicted[ranks]),
                    "measured_ms": 1e3 * statistics.median(taken[ranks]),
                    "error": statistics.median(errors),
                    "errors": errors,
                    **{
                        f"{part}_ms": 1e3 * statistics.median(values)
                        for part, values in zip(PARTS, zip(*parts[ranks], strict=True), strict=True)
                    },
                    "processors_of_others": {"planning": planning, "training": training},
                }
            )
            print(rows[-1], flush=True)
    if not quick:
        more = {"rounds": options.rounds, "threads_per_rank": 1, "dtype": "float32", "device": "cpu", "data": "digits"}
        write("scaling", rows, cores=os.cpu_count(), **more)


if __name__ == "__main__":
    main()
