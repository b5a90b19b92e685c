"""How accurate is what `lamina train` gives by default, over several seeds, and how long does a run take?

    python benchmarks/accuracy.py                    # embedded digits
    LAMINA_DATA=... python benchmarks/accuracy.py --mnist

Each run is the command in a fresh process and an empty folder; the time is that of the whole process.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from record import write

DIGITS = ["train lenet5"]
MNIST = [
    "train lenet5 --data mnist",
    "train lenet5 --data mnist --set activation=relu --set pooling=max",
    "train fnn --data mnist --set hidden=300,100",
]


def run(command: str, seed: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        words = [sys.executable, "-m", "lamina", *command.split(), "--seed", str(seed), "--json"]
        done = subprocess.run(words, capture_output=True, encoding="utf-8", cwd=folder, check=True)
        return json.loads(done.stdout)["test"]["accuracy"], time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mnist", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    rows = []
    for command in DIGITS + (MNIST if options.mnist else []):
        found = [run(command, seed) for seed in range(options.seeds)]
        scores, seconds = zip(*found, strict=True)
        rows.append(
            {
                "command": f"lamina {command}",
                "mean": statistics.mean(scores),
                "spread": statistics.stdev(scores),
                "scores": scores,
                "seconds": statistics.median(seconds),
                "n": options.seeds,
            }
        )
        print(f"{command}: {rows[-1]['mean']:.4f} ± {rows[-1]['spread']:.4f}, {rows[-1]['seconds']:.1f} s", flush=True)
    write("accuracy", rows, threads=torch.get_num_threads(), dtype="float32", device="cpu")


if __name__ == "__main__":
    main()
