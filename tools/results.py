"""Run rows of results/rows.toml and write their records; tools/readme.py makes the tables.

    python tools/results.py resnet18-cifar10-30          # all seeds, each in a process of its own
    python tools/results.py fnn-mnist --seeds 2 --out /tmp/try
    python tools/results.py dropout                      # a comparison: one population

A seed's seconds are those of the whole command, from the start of its process to its end; `training` is the time from
the first batch to the last check, as the run wrote it. One process goes first, unmeasured, for one epoch, so that
bytecode, file cache and compiled kernels are there, as they are on a machine that is used. Joules are those of the
card, as its driver says them (the power drawn, sampled ten times a second), for the whole command.
"""

import argparse
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "results"


def rows(kind: str = "row") -> dict[str, dict[str, Any]]:
    """Read the rows, or the comparisons, by name."""
    text = (FOLDER / "rows.toml").read_text(encoding="utf-8")
    return {row["name"]: row for row in tomllib.loads(text)[kind]}


def words(row: dict[str, Any], seed: int, out: str | Path) -> list[str]:
    """Give the words behind `lamina` of a row's command for one seed."""
    program, *rest = shlex.split(row["command"])
    assert program == "lamina", row["command"]
    return [*rest, "--seed", str(seed), "--out", str(out), "--json"]


class Power:
    """Adds up what a card draws while something runs; None joules where no card says it."""

    def __enter__(self) -> "Power":
        self.watts: list[tuple[float, float]] = []
        self._driver: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        if shutil.which("nvidia-smi"):
            asked = ["nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits", "--id=0", "-lms", "100"]
            self._driver = subprocess.Popen(asked, stdout=subprocess.PIPE, encoding="utf-8")
            self._thread = threading.Thread(target=self._sample, daemon=True)
            self._thread.start()
        return self

    def _sample(self) -> None:
        assert self._driver is not None and self._driver.stdout is not None
        for line in self._driver.stdout:
            self.watts.append((time.monotonic(), float(line)))

    def __exit__(self, *error: object) -> None:
        if self._driver is not None and self._thread is not None:
            self._driver.terminate()
            self._thread.join()
            self._driver.wait()

    @property
    def joules(self) -> float | None:
        """The integral of the samples by the trapezoidal rule."""
        pairs = zip(self.watts, self.watts[1:], strict=False)
        return sum((t - s) * (v + w) / 2 for (s, v), (t, w) in pairs) if len(self.watts) > 1 else None


def measure(row: dict[str, Any], seed: int, epochs: int | None = None) -> dict[str, Any]:
    """Run the command of a row with one seed in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        typed = words(row, seed, Path(folder) / "run")
        typed += [] if epochs is None else ["--epochs", str(epochs), "--set", f"check_every={epochs}"]
        begun = time.perf_counter()
        with Power() as power:
            done = subprocess.run([sys.executable, "-m", "lamina", *typed], capture_output=True, encoding="utf-8")
        seconds = time.perf_counter() - begun
        if done.returncode:
            sys.exit(f"{shlex.join(['lamina', *typed])} failed:\n{done.stderr}")
        test = json.loads(done.stdout)["test"]
        timings = [
            json.loads(line) for line in (Path(folder) / "run/timings.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        environment = json.loads((Path(folder) / "run/environment.json").read_text(encoding="utf-8"))
    return {
        "seed": seed, "accuracy": test["accuracy"], "loss": test["loss"], "seconds": round(seconds, 2),
        "training": timings[-1]["seconds"], "joules": power.joules and round(power.joules), "environment": environment,
    }  # fmt: skip


def record(row: dict[str, Any], found: list[dict[str, Any]]) -> dict[str, Any]:
    """Bring the seeds of a row together."""
    environment = found[0]["environment"]
    runs = [{key: value for key, value in each.items() if key != "environment"} for each in found]
    shares = [100 * (1 - run["accuracy"] if row["shows"] == "error" else run["accuracy"]) for run in runs]
    return {
        "row": row["name"],
        "command": row["command"],
        "shows": row["shows"],
        "n": len(runs),
        "mean": statistics.mean(shares),
        "std": statistics.stdev(shares) if len(shares) > 1 else None,
        "seconds": statistics.median(run["seconds"] for run in runs),
        "training": statistics.median(run["training"] for run in runs),
        "joules": statistics.median(run["joules"] for run in runs) if runs[0]["joules"] else None,
        "python": platform.python_version(),
        "packages": {name: version(name) for name in ("torch", "numpy")},
        "lamina": environment.get("lamina"),
        "device": environment.get("gpu") or environment.get("device"),
        "step": environment.get("step"),
        "runs": runs,
    }


def _seeds(row: dict[str, Any], count: int) -> list[dict[str, Any]]:
    measure(row, 0, epochs=1)
    found = []
    for seed in range(count):
        found.append(measure(row, seed))
        last = found[-1]
        print(f"{row['name']} seed {seed}: accuracy {last['accuracy']:.4f}, {last['seconds']} s, training "
              f"{last['training']} s, {last['joules']} J", flush=True)  # fmt: skip
    return found


def compare(row: dict[str, Any]) -> dict[str, Any]:
    """Run the command of a comparison, and give the accuracy on validation data of every configuration and seed."""
    with tempfile.TemporaryDirectory() as folder:
        typed = [*shlex.split(row["command"])[1:], "--device", "cpu", "--folder", f"{folder}/study", "--json"]
        begun = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "lamina", *typed], capture_output=True, encoding="utf-8")
        if done.returncode:
            sys.exit(f"{shlex.join(['lamina', *typed])} failed:\n{done.stderr}")
        seconds = time.perf_counter() - begun
        journal = Path(folder, "study/journal.jsonl").read_text(encoding="utf-8").splitlines()
    found = [event for event in map(json.loads, journal) if event["event"] == "result"]
    return {
        "row": row["name"],
        "command": row["command"],
        "seconds": round(seconds, 1),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in ("torch", "numpy")},
        "rows": [{"values": event["values"], "scores": event["spread"]} for event in found],
        "test": json.loads(done.stdout)["test"],
    }


def main() -> None:
    """Run one row."""
    comparisons = rows("comparison")
    parser = argparse.ArgumentParser()
    parser.add_argument("row", choices=sorted({**rows(), **comparisons}))
    parser.add_argument("--seeds", type=int, help="fewer or more than the row says")
    parser.add_argument("--out", type=Path, default=FOLDER / "records", help="where the record goes")
    options = parser.parse_args()
    row = {**rows(), **comparisons}[options.row]
    os.environ.setdefault("PYTHONPATH", str(ROOT / "src"))
    with tempfile.TemporaryDirectory() as bytecode:  # also where Python is told to leave none, as in some containers
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = bytecode
        done = compare(row) if row["name"] in comparisons else record(row, _seeds(row, options.seeds or row["seeds"]))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{row['name']}.json"
    path.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
