"""What does it cost to be one rank of one, and what do two ranks gain on two cores? With --cuda: one rank with NCCL.

A step is a whole update of LeNet-5, as `lamina train` makes it: taking the batch, forward, backward, Adam, counting.
One rank is compared with a plain process in one and the same process, taking turns. Ranks have one thread each. Two
ranks share every batch, which stays as large as it was: so the time of a step says how much faster the training is.

    python benchmarks/ranks.py            # CPU, about 2 minutes on a quiet machine with 2 cores
    python benchmarks/ranks.py --cuda     # one GPU, captured steps, less than 2 minutes; needs no network
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from typing import Any

import torch
from record import write

import lamina
from lamina.data.arrays import from_arrays
from lamina.training.executors.choose import learner
from lamina.training.learner import Learner
from lamina.training.ranks import ALONE, Ranks, join
from lamina.training.recipe import Adam, MiniBatch, Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.kinds import task_of

BATCH = 512


def step_for(name: str, batch: int, ranks: Ranks, device: str = "cpu", **options: Any) -> Learner:
    shape = (3, 32, 32) if "resnet" in name else (1, 28, 28)
    g = torch.Generator().manual_seed(0)
    images = torch.randint(256, (12 * batch, *shape), generator=g, dtype=torch.uint8)
    split = from_arrays(images, torch.arange(len(images)) % 10).split(seed=0)
    net = lamina.build(name, outputs=10, **({} if "resnet" in name else {"inputs": shape}))
    task = task_of(split, seed=0).for_network(net)
    half = {"precision": "bfloat16"} if "resnet" in name else {}
    how = MiniBatch(0.01, momentum=0.9) if "resnet" in name else Adam(1e-3)
    recipe = Recipe(how, epochs=1000, batch_size=batch, **half, **options)
    runtime = ranks.runtime(Runtime(device, threads=1, step="captured" if device == "cuda" else "eager"))
    with runtime.applied(recipe.precision) as used:
        step = learner(net, task, recipe, used, ranks)
    assert step.kind == runtime.step, step.reason
    return step


def seconds(step: Learner, updates: int) -> float:
    """Time whole batches of an epoch: seconds an update."""
    step.begin(0)
    step()
    if step.feed.device.type == "cuda":
        torch.cuda.synchronize()
    start, made = time.perf_counter(), 0
    while made < updates:
        if step.feed.size < step.feed.batch_size:
            step.begin(0)
        step()
        made += 1
    if step.feed.device.type == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / updates


def compared(name: str, batch: int, updates: int, rounds: int, device: str = "cpu") -> dict[str, Any]:
    """Compare one rank with a plain process, taking turns; the smaller half of the times counts."""
    ranks = join()
    steps = {"plain": step_for(name, batch, ALONE, device), "one rank": step_for(name, batch, ranks, device)}
    times: dict[str, list[float]] = {key: [] for key in steps}
    for _ in range(rounds):
        for key, step in steps.items():
            times[key].append(seconds(step, updates))
    best = {key: statistics.median(sorted(found)[: (len(found) + 1) // 2]) for key, found in times.items()}
    return {
        "network": name,
        "batch": batch,
        "device": device,
        "plain ms": round(1e3 * best["plain"], 4),
        "one rank ms": round(1e3 * best["one rank"], 4),
        "overhead": round(best["one rank"] / best["plain"] - 1, 4),
    }


def started(size: int, *words: str) -> str:
    """Start this file once for each rank, as torchrun does, and give what the first one prints."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    command = [sys.executable, __file__, *words]
    ranks = [
        subprocess.Popen(command, env=common | {"RANK": str(rank), "LOCAL_RANK": str(rank)}, stdout=subprocess.PIPE)
        for rank in range(size)
    ]
    said = [rank.communicate()[0].decode() for rank in ranks]
    assert not any(rank.returncode for rank in ranks)
    return said[0]


def worker(what: str, name: str, rounds: int) -> None:
    """Measure as one of the ranks, and print it as JSON."""
    torch.set_num_threads(1)
    if what == "overhead":
        device = "cuda" if name.endswith("-on-cuda") else "cpu"
        name = name.removesuffix("-on-cuda")
        batch, updates = (128, 100) if "resnet" in name else (BATCH, 400 if device == "cuda" else 8)
        print(json.dumps(compared(name, batch, updates, rounds, device)))
        return
    step = step_for(name, BATCH, join())
    print(json.dumps([seconds(step, 8) for _ in range(rounds)]))


def main(cuda: bool, rounds: int) -> None:
    if cuda:
        rows = [
            json.loads(started(1, "overhead", f"{name}-on-cuda", str(rounds))) for name in ("lenet5", "resnet18-cifar")
        ]
        for row in rows:
            print(row)
        write("ranks-cuda", rows, gpu=torch.cuda.get_device_name())
        return
    rows = [json.loads(started(1, "overhead", "lenet5", str(rounds)))]
    print(rows[0])
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(2):  # taking turns
        for size in times:
            times[size] += json.loads(started(size, "speed", "lenet5", str(rounds)))
    best = {size: statistics.median(sorted(found)[: len(found) // 2]) for size, found in times.items()}
    rows += [{"network": "lenet5", "batch": BATCH, "ranks": size, "ms": round(1e3 * t, 3)} for size, t in best.items()]
    rows.append({"network": "lenet5", "batch": BATCH, "2 ranks against 1": round(best[1] / best[2], 3)})
    for row in rows[1:]:
        print(row)
    write("ranks", rows, cores=os.cpu_count(), threads_a_rank=1)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ("overhead", "speed"):
        worker(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
        main("--cuda" in sys.argv, numbers[0] if numbers else 12)
