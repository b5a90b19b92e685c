"""Is this tree as fast as another? The benchmarks of both, each with its own files, in processes that take turns.

    git worktree add /tmp/before 0ba9e5e              # the last commit before the engine was rebuilt
    python benchmarks/rebuild.py --before /tmp/before --commit 0ba9e5e --device cuda --turns 2

A row is one row of a benchmark that both trees have: the medians of this tree and of the other, and their ratio, above
1 where this tree is slower. Rows of peers (a hand-written loop, nn.GRU) show how much is the machine's doing.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from record import write

HERE = Path(__file__).resolve().parent.parent
BENCHMARKS = {
    "cuda": {
        "small_networks": ["--device", "cuda", "--rounds", "3"],
        "population": ["--cuda", "--rounds", "3"],
        "gru": ["--first"],
        "resnet": ["--rounds", "3", "--depths", "18", "--batches", "128", "512"],
        "tokens": ["--device", "cuda"],
    },
    "cpu": {
        "small_networks": ["--rounds", "3"],
        "population": ["--rounds", "3"],
        "gru": ["--device", "cpu", "--first"],
        "tokens": ["--threads", "2"],
        "pages": [],
    },
}
TIMES, RATES = ("seconds", "milliseconds", "microseconds"), ("pictures_per_s", "lamina")
Rows = dict[str, float]


def times(rows: list[dict[str, Any]]) -> Rows:
    """Give the time of every row, or the reciprocal of its rate, under a name made of what is no measurement."""
    found = {}
    for row in rows:
        label = ", ".join(str(v) for v in row.values() if isinstance(v, str))
        sizes = "x".join(str(row[k]) for k in ("time", "members", "batch", "hidden") if k in row)
        key = next((k for k in (*TIMES, *RATES) if k in row), None)
        if key is not None and row[key]:
            found[f"{label} {sizes}".strip()] = 1 / row[key] if key in RATES else row[key]
    return found


def run(tree: Path, name: str, options: list[str], device: str, place: Path) -> Rows:
    """Run one benchmark of a tree in a copy of its folder, so that its own records stay as they are."""
    shutil.copytree(tree / "benchmarks", place / "benchmarks", ignore=shutil.ignore_patterns("records"))
    (place / "tests").symlink_to(tree / "tests")
    paths = [str(tree / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, str(place / "benchmarks" / f"{name}.py"), *options]
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8")
    if done.returncode:
        print(done.stderr[-800:], file=sys.stderr)
        return {}
    records = place / "benchmarks" / "records"
    own = records / f"{name}-{device}.json"
    return times(json.loads((own if own.exists() else records / f"{name}.json").read_text(encoding="utf-8"))["rows"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", type=Path, required=True, help="the root of the other tree")
    parser.add_argument("--commit", required=True, help="which commit that tree is, for the record")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--only", nargs="+", help="these benchmarks")
    parser.add_argument("--turns", type=int, default=2)
    options = parser.parse_args()
    trees = {"before": options.before.resolve(), "after": HERE}
    wanted = {n: o for n, o in BENCHMARKS[options.device].items() if not options.only or n in options.only}
    record = HERE / "benchmarks" / "records" / f"rebuild{'-cuda' if options.device == 'cuda' else ''}.json"
    rows = json.loads(record.read_text(encoding="utf-8"))["rows"] if record.exists() else []
    rows = [row for row in rows if row["benchmark"] not in wanted]
    for name, arguments in wanted.items():
        taken: dict[str, list[Rows]] = {"before": [], "after": []}
        began = time.perf_counter()
        for turn in range(options.turns):
            for which in list(trees)[:: 1 if turn % 2 == 0 else -1]:
                with tempfile.TemporaryDirectory() as place:
                    taken[which].append(run(trees[which], name, arguments, options.device, Path(place)))
        for label in taken["after"][0]:
            values = {w: [rows_of[label] for rows_of in taken[w] if label in rows_of] for w in trees}
            if not values["before"]:
                continue
            medians = {w: statistics.median(v) for w, v in values.items()}
            spread = max((max(v) - min(v)) / medians[w] for w, v in values.items())
            ratio = round(medians["after"] / medians["before"], 3)
            facts = {"ratio": ratio, "spread": round(spread, 3), "turns": options.turns}
            rows.append({"benchmark": name, "row": label, **medians, **facts})
            print(f"{name:16} {ratio:6.3f} ± {spread:5.3f}  {label}", flush=True)
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
        write(record.stem, rows, device=options.device, before_tree=options.commit)


if __name__ == "__main__":
    main()
