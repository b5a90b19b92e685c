"""Is the mean of 32 networks better than one on the tables of `tables.py`, and how much longer does it take?

    OMP_WAIT_POLICY=PASSIVE python benchmarks/ensembles.py

Each seed sets a sixth of a table aside for testing, stratified by class, and fits both estimators to the rest with
their defaults: first one network, then 32 as one stack, in the same process. Scores are compared seed by seed. The time
of a fit is that of the clock and that of all threads of the process together; both estimators choose their threads by
themselves, up to `--threads`. Small tables have more seeds, since the score of a few test rows is a coarse one. Threads
that spin while they wait, as those of OpenMP do unless told otherwise, take the cores from each other on a machine that
others use, too.
"""

import argparse
import os
import statistics
import time
from typing import Any

import numpy as np
import torch
from record import write
from sklearn.model_selection import train_test_split
from tables import TABLES

from lamina.estimators import EnsembleClassifier, EnsembleRegressor, NetworkClassifier, NetworkRegressor

SMALL, LARGE = 1000, 5000
"""Rows below which a table has more seeds, and from which on it has fewer."""


def fitted(estimator: Any, rows: np.ndarray, targets: np.ndarray) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    estimator.fit(rows, targets)
    return estimator, time.perf_counter() - wall, time.process_time() - cpu


def compare(name: str, made: tuple[np.ndarray, np.ndarray], seeds: int, members: int) -> dict[str, Any]:
    inputs, targets = made
    classes = np.issubdtype(targets.dtype, np.integer)
    one, many = (NetworkClassifier, EnsembleClassifier) if classes else (NetworkRegressor, EnsembleRegressor)
    scores, seconds, cpu = [], [], []
    for seed in range(seeds):
        train, test, wanted, truth = train_test_split(
            inputs.astype("float32"), targets, test_size=1 / 6, random_state=seed, stratify=targets if classes else None
        )
        pair = [
            fitted(each, train, wanted) for each in (one(random_state=seed), many(n_members=members, random_state=seed))
        ]
        scores.append([estimator.score(test, truth) for estimator, _, _ in pair])
        seconds.append([wall for _, wall, _ in pair])
        cpu.append([used for _, _, used in pair])
    ahead = [together - alone for alone, together in scores]
    return {
        "table": name,
        "rows": len(inputs),
        "columns": inputs.shape[1],
        "measure": "accuracy" if classes else "r2",
        "n": seeds,
        "means": [statistics.mean(values) for values in zip(*scores, strict=True)],
        "ahead": statistics.mean(ahead),
        "standard_error": statistics.stdev(ahead) / seeds**0.5 if seeds > 1 else None,
        "seconds": [statistics.median(values) for values in zip(*seconds, strict=True)],
        "cpu_seconds": [statistics.median(values) for values in zip(*cpu, strict=True)],
        "times": statistics.median(together / alone for alone, together in seconds),
        "cpu_times": statistics.median(together / alone for alone, together in cpu),
        "scores": scores,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small-seeds", type=int, default=20, help=f"of tables with less than {SMALL:,} rows")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--large-seeds", type=int, default=3, help=f"of tables with {LARGE:,} rows or more")
    parser.add_argument("--members", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="tables, separated by commas; nothing is recorded then")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    warm = TABLES["wine"]()
    EnsembleClassifier(n_members=2, epochs=1, random_state=0).fit(*warm)  # what is imported and compiled once
    rows = []
    for name, make in TABLES.items():
        if options.only and name not in options.only.split(","):
            continue
        made = make()
        size = len(made[0])
        seeds = options.large_seeds if size >= LARGE else options.small_seeds if size < SMALL else options.seeds
        rows.append(compare(name, made, seeds, options.members))
        row = rows[-1]
        print(f"{name}: one {row['means'][0]:.4f}, {options.members} {row['means'][1]:.4f}, ahead {row['ahead']:.4f} ± "
              f"{row['standard_error'] or 0:.4f}; {row['seconds'][0]:.1f} s and {row['seconds'][1]:.1f} s, "
              f"{row['times']:.2f} times as long, {row['cpu_times']:.2f} in CPU time", flush=True)  # fmt: skip
    if not options.only:
        waiting = os.environ.get("OMP_WAIT_POLICY", "not set")
        write("ensembles", rows, threads=options.threads, members=options.members, waiting=waiting, dtype="float32",
              device="cpu")  # fmt: skip


if __name__ == "__main__":
    main()
