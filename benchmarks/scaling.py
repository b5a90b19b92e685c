"""Does what `lamina plan` predicts for 1, 2 and 4 ranks agree with what `lamina train --ranks N` takes?

The prediction knows what a rank takes for its part of a batch, with one thread and operation by operation, as ranks on
a CPU compute: alone, and beside as many others as there are cores, none of which hears from another; what a gloo
all-reduce between as many idle processes takes, from which latency and bandwidth follow; and the number of cores, which
ranks beyond it share. The measurement is the time between two checks in the timings of the run: the updates of some
epochs and one check. Nothing of the run enters the prediction.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import torch
import torch.distributed as dist
from record import write

from lamina.scaling.collectives import Link
from lamina.scaling.planning import of_device, plan_ranks
from lamina.scaling.scaled import scaled
from lamina.training.runtime import Runtime

RANKS = (1, 2, 4)
NETWORKS = {
    "lenet5": {"batch_size": 512},
    "cifar-resnet": {"batch_size": 128, "depth": 8, "width": 0.5},
}
"""One without batch normalization, and one with seven of them."""

SMALL, CHECKS = 256, 4


def summing(rank: int, ranks: int, store: str, size: int, answers: str) -> None:
    """Be one of the processes whose all-reduces are timed."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    found = {}
    for count in (SMALL, size):
        values, times = torch.zeros(count // 4), []
        for _ in range(40):
            dist.barrier()
            start = time.perf_counter()
            dist.all_reduce(values)
            times.append(time.perf_counter() - start)
        found[count] = statistics.median(times[5:])
    if rank == 0:
        Path(answers).write_text(json.dumps(found), encoding="utf-8")
    dist.destroy_process_group()


def link(ranks: int, size: int) -> tuple[Link, dict[str, float]]:
    """Give the link that explains the seconds of a small and of a large all-reduce around a ring, and these."""
    if ranks == 1:
        return Link(0.0, 1e9), {}
    with tempfile.TemporaryDirectory() as folder:
        arguments = (ranks, f"{folder}/store", size, f"{folder}/answers")
        torch.multiprocessing.spawn(summing, arguments, nprocs=ranks)
        small, large = json.loads(Path(folder, "answers").read_text(encoding="utf-8")).values()
    latency = small / (2 * (ranks - 1))
    bandwidth = 2 * (ranks - 1) / ranks * size / max(large - small, 1e-9)
    return Link(latency, bandwidth), {"small_seconds": small, "gradient_seconds": large}


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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a few updates only, and no record")
    quick = parser.parse_args().quick
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo" if sys.platform == "linux" else "lo0")
    os.environ["OMP_NUM_THREADS"] = "1"
    rows = []
    for name, settings in NETWORKS.items():
        here = replace(of_device("cpu"), per_node=max(RANKS))
        how = {"options": settings, "runtime": Runtime("cpu", threads=1, step="eager")}
        work = plan_ranks(name, "digits", max(RANKS), cluster=here, seconds=20 if quick else 40, **how).work
        every = max(1, round((6 if quick else 30) / work.updates))
        with tempfile.TemporaryDirectory() as folder:
            for ranks in RANKS:
                found, seen = link(ranks, work.gradient_bytes)
                cluster = replace(of_device("cpu"), per_node=ranks, inside=found, between=found)
                row = scaled(work, cluster, ranks)
                expected = (every * (row.epoch - row.evaluation) + row.evaluation) / (every * work.updates)
                taken = trained(name, ranks, every, Path(folder))
                rows.append(
                    {
                        "network": name,
                        "ranks": ranks,
                        "batch_per_rank": row.batch,
                        "predicted_ms": 1e3 * expected,
                        "measured_ms": 1e3 * taken,
                        "error": expected / taken - 1,
                        "computing_ms": 1e3 * row.computing,
                        "waiting_ms": 1e3 * row.waiting,
                        "gradients_ms": 1e3 * row.gradients,
                        "norms_ms": 1e3 * row.norms,
                        "latency_us": 1e6 * found.latency,
                        "bandwidth_gb": found.bandwidth / 1e9,
                        **seen,
                    }
                )
                print(rows[-1], flush=True)
    if not quick:
        write("scaling", rows, cores=os.cpu_count(), threads_per_rank=1, dtype="float32", device="cpu", data="digits")


if __name__ == "__main__":
    main()
