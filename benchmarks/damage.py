"""Damage single bytes of a small run and a small study: is every damage said, repaired, or without any effect?

    python benchmarks/damage.py                  5,000 sampled places of each; benchmarks/records/damage.json
    python benchmarks/damage.py --places 200 --no-record

A place is a byte of a file, and one of four ways to damage it (`tests/faults/damage.py`). Parts of the work are written
to --state as soon as they are known: the same command continues what was interrupted.
"""

import argparse
import json
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import record

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
BAR = {"silent": 0, "traceback": 0}
PART = 250


def swept(kind: str, number: int, count: int) -> dict[str, Any]:
    """Damage some places of a run or a study, one after another."""
    from faults import damage

    begun, draw = time.monotonic(), random.Random(f"{kind} {number}")
    make, read = {"run": (damage.make_run, damage.said), "study": (damage.make_study, damage.said_of_study)}[kind]
    with tempfile.TemporaryDirectory() as place:
        home = make(Path(place, "iris"))
        chosen, size = damage.sampled(home, draw, count), len(damage.places(home))
        found = damage.sweep(home, Path(place, "copy"), chosen, read)
    files = Counter(str(name if name.parent.name != "checkpoints" else name.parent) for (name, _), _ in chosen)
    return {"of": kind, "part": number, "places": count, **found.counts, "bytes": size, "files": files,
            "faults": found.faults, "seconds": round(time.monotonic() - begun, 1)}  # fmt: skip


def main() -> None:
    import torch

    import lamina.training.manifest

    parser = argparse.ArgumentParser()
    parser.add_argument("--places", type=int, default=5000)
    parser.add_argument("--no-record", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no part after so long")
    parser.add_argument("--state", type=Path, default=Path(__file__).parents[1] / "build" / "damage.jsonl")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    lamina.training.manifest._PAUSE = 0.0  # nobody writes beside us, so nothing is worth waiting for
    kept = not asked.no_record and asked.state.exists()
    lines = asked.state.read_text(encoding="utf-8").splitlines() if kept else []
    known, begun = {(row["of"], row["part"], row["places"]): row for row in map(json.loads, lines)}, time.monotonic()
    counts = [min(PART, asked.places - first) for first in range(0, asked.places, PART)]
    keys = [(kind, number, count) for kind in ("run", "study") for number, count in enumerate(counts)]
    for key in keys:
        if key in known:
            continue
        if time.monotonic() - begun > asked.seconds:
            sys.exit(f"{len(known)} of {len(keys)} parts are done: the same command goes on")
        known[key] = swept(*key)
        print(json.dumps(known[key]), flush=True)
        if not asked.no_record:
            asked.state.parent.mkdir(exist_ok=True)
            with open(asked.state, "a", encoding="utf-8") as file:
                file.write(json.dumps(known[key]) + "\n")
    rows = []
    for kind in ("run", "study"):
        parts = [known[key] for key in keys if key[0] == kind]
        words = [word for word, value in parts[0].items() if isinstance(value, int) and word not in ("part", "bytes")]
        files = sum((Counter(part["files"]) for part in parts), Counter())
        rows.append({"of": kind, **{word: sum(part[word] for part in parts) for word in words},
                     "bytes": max(part["bytes"] for part in parts), "files": files,
                     "faults": [fault for part in parts for fault in part["faults"]]})  # fmt: skip
    total = {word: sum(row[word] for row in rows) for word in words}
    print(json.dumps(total))
    if not asked.no_record:
        record.write("damage", rows, total=total, bar=BAR)
    sys.exit(any(total[word] > most for word, most in BAR.items()))


if __name__ == "__main__":
    main()
