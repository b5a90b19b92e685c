"""How fast is k-means with 10 restarts beside scikit-learn, on the same points from the same first centroids?

100,000 points with 50 coordinates, k = 20, at most 100 updates a run, no tolerance: a run ends when no label changes.
Once there are 20 overlapping clusters to find, once there is nothing to find and no run converges. Both sides are
given the same 10 starts. The last case draws 10 starts by k-means++, without greedy trials on both sides. After a
warm-up all take turns. float32; scikit-learn's Lloyd algorithm. On a machine with a GPU the points lie there before
the clock starts ("from memory": not), and the record is `kmeans-cuda`; scikit-learn always uses the CPU, all threads.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from record import write
from sklearn.cluster import KMeans, kmeans_plusplus

from lamina.classical import kmeans

N, FEATURES, K, RESTARTS, UPDATES = 100_000, 50, 20, 10, 100
SEEDING = "k-means++ starts alone"
Contestant = Callable[[], tuple[torch.Tensor, torch.Tensor]]
warnings.simplefilter("ignore")  # scikit-learn says that runs did not converge


def points(kind: str) -> torch.Tensor:
    g = torch.Generator().manual_seed(0)
    noise = torch.randn(N, FEATURES, generator=g)
    if kind == "nothing to find":
        return noise
    centers = torch.randn(K, FEATURES, generator=g)
    return noise + centers[torch.randint(K, (N,), generator=g)]


def sklearn(x: torch.Tensor, places: torch.Tensor | None) -> Contestant:
    values = x.numpy()

    def seed() -> tuple[torch.Tensor, torch.Tensor]:
        starts = [kmeans_plusplus(values, K, random_state=r, n_local_trials=1)[0] for r in range(RESTARTS)]
        return torch.from_numpy(starts[0]), torch.zeros(N, dtype=torch.int64)

    def run() -> tuple[torch.Tensor, torch.Tensor]:
        left = iter(() if places is None else places.numpy())
        # It hands over points from which it has taken their mean.
        init: Any = lambda centered, *_, **__: centered[next(left)]  # noqa: E731
        found = KMeans(K, init=init, n_init=RESTARTS, algorithm="lloyd", tol=0, max_iter=UPDATES)
        found.fit(values)
        return torch.from_numpy(found.cluster_centers_), torch.from_numpy(found.labels_.astype(np.int64))

    return seed if places is None else run


def ours(x: torch.Tensor, places: torch.Tensor | None, device: str, resident: bool = True) -> Contestant:
    there = x.to(device) if resident else x

    def seed() -> tuple[torch.Tensor, torch.Tensor]:
        starts = kmeans.first_centroids(there.to(device), K, "k-means++", RESTARTS)[0].cpu()
        return starts, torch.zeros(N, dtype=torch.int64)

    def run() -> tuple[torch.Tensor, torch.Tensor]:
        found = kmeans.fit(there.to(device), K, start=start, max_iterations=UPDATES)
        return found.centroids.cpu(), found.labels.cpu()

    if places is None:
        return seed
    start = x[places].to(device)
    return run


def contestants(x: torch.Tensor, places: torch.Tensor | None) -> dict[str, Contestant]:
    found = {"scikit-learn": sklearn(x, places), "lamina, CPU": ours(x, places, "cpu")}
    if torch.cuda.is_available():
        found |= {"lamina, GPU": ours(x, places, "cuda"), "lamina, GPU, from memory": ours(x, places, "cuda", False)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=4)
    rounds = parser.parse_args().rounds
    on_gpu, first, rows = torch.cuda.is_available(), 0.0, []
    g = torch.Generator().manual_seed(1)
    places = torch.stack([torch.randperm(N, generator=g)[:K] for _ in range(RESTARTS)])
    if on_gpu:
        start = time.perf_counter()
        ours(points("nothing to find"), places, "cuda")()
        first = time.perf_counter() - start
    for case in ("20 clusters", "nothing to find", SEEDING):
        x = points(case)
        runs = contestants(x, None if case == SEEDING else places)
        times: dict[str, list[float]] = {who: [] for who in runs}
        ends = {}
        for round_ in range(rounds + 1):
            for who, run in runs.items():
                if round_ or "GPU" in who or case == "20 clusters":
                    start = time.perf_counter()
                    ends[who] = run()
                    if round_:  # round 0 warms up
                        times[who].append(time.perf_counter() - start)
        inertia = {who: kmeans.distortion(x.double(), c, mu.double()).item() for who, (mu, c) in ends.items()}
        for who, found in times.items():
            faster = [b / a for a, b in zip(found, times["scikit-learn"], strict=True)]
            row = {
                "case": case,
                "who": who,
                "seconds": statistics.median(found),
                "seconds_spread": statistics.stdev(found) if rounds > 1 else 0.0,
                "faster": statistics.median(faster),
                "spread": statistics.stdev(faster) if rounds > 1 else 0.0,
                "distortion_beside_sklearn": None if case == SEEDING else inertia[who] / inertia["scikit-learn"] - 1,
                "n": rounds,
            }
            rows.append(row)
            print(
                f"{case:24} {who:25} {row['seconds']:8.4f} s ± {row['seconds_spread']:.4f}  "
                f"{row['faster']:6.2f} x ± {row['spread']:.2f}  distortion {row['distortion_beside_sklearn']}",
                flush=True,
            )
    write(
        "kmeans" + "-cuda" * on_gpu,
        rows,
        points=N,
        features=FEATURES,
        clusters=K,
        restarts=RESTARTS,
        updates=UPDATES,
        dtype="float32",
        products="float32 on a CPU; three TF32 products, as exact as float32, on a GPU",
        threads=torch.get_num_threads(),
        device=torch.cuda.get_device_name() if on_gpu else "cpu",
        first_call_seconds=first,
    )


if __name__ == "__main__":
    main()
