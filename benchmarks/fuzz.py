"""Fuzz every parser: how many inputs, tracebacks, hangs over 2 s, and how much memory, in processes of their own.

    python benchmarks/fuzz.py --inputs 1000000             the record of all parsers, benchmarks/records/fuzz.json
    python benchmarks/fuzz.py --only CSV --inputs 5000     one parser, no record

Each parser gets an equal share of the inputs, but for those of `LESS`, and works through it in pieces, each in a
process and with a seed of its own. A piece is written to --state as soon as it is known: the same command continues
what was interrupted, and repeats a parser whose lines were taken out. An input that ends the process counts as a
death. The shortest input of each kind of traceback is written to --findings.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

import record

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
BAR = {"tracebacks": 0, "hangs": 0, "deaths": 0, "megabytes": 1000}
PIECES = {"page messages": 1_000}
LESS = {"page messages": 5_000}
"""Parsers that get no more inputs than this: a message waits for a server, some 100 milliseconds."""


def fuzzed(name: str, first: int, count: int, seed: int, place: str) -> None:
    """Fuzz one parser in this process, from an input on; write each input before it is tried, and what came of all."""
    import torch

    from faults.fuzzers import FUZZERS, inputs, run
    from faults.messages import VISITOR

    torch.set_num_threads(1)
    fuzzer, home = FUZZERS[name], Path(place)

    def behind() -> Iterator[bytes]:
        for number, content in enumerate(inputs(fuzzer, count, seed)):
            if number >= first:
                (home / "last").write_bytes(content)
                (home / "number").write_text(str(number), encoding="utf-8")
                yield content

    (home / "work").mkdir(exist_ok=True)
    try:
        found = run(fuzzer, home / "work", behind())
    finally:
        VISITOR.close()
    said = {"inputs": found.inputs, "read": found.read, "refused": found.refused, "tracebacks": found.traced,
            "hangs": found.hangs, "slowest_seconds": round(found.slowest, 3),
            "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "kinds": {key: [content.hex(), text] for key, (content, text) in found.tracebacks.items()}}  # fmt: skip
    (home / "said").write_text(json.dumps(said), encoding="utf-8")


def watched(name: str, piece: int, count: int, seed: int, findings: Path) -> dict[str, Any]:
    """Fuzz one parser with one piece of its inputs: the next process goes on behind an input that ended the last."""
    begun, first, deaths, shm = time.monotonic(), 0, 0, Path("/dev/shm")
    kinds: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as place:
        while True:
            words = [sys.executable, __file__, "--worker", name, str(first), str(count), f"{seed}{piece:03d}", place]
            with open(os.devnull, "wb") as nowhere:  # polars prints its panics
                code = subprocess.run(words, stderr=nowhere).returncode
            said = Path(place, "said")
            if code == 0 and said.exists():
                break
            deaths += 1
            first = int(Path(place, "number").read_text(encoding="utf-8")) + 1
            last = Path(place, "last").read_bytes()
            kinds[f"process ended with exit code {code} at input {first - 1}"] = [last.hex(), ""]
        row = json.loads(said.read_text(encoding="utf-8"))
    kinds |= row.pop("kinds")
    for key, (content, text) in kinds.items():
        file = findings / f"{name.strip('-').replace(' ', '-')}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
        file.with_suffix(".input").write_bytes(bytes.fromhex(content))
        file.with_suffix(".txt").write_text(f"{key}\n{text}", encoding="utf-8", errors="backslashreplace")
    row["inputs"] += first  # those before the last death; what they came to is known of that part only
    seconds = round(time.monotonic() - begun, 1)
    return {"parser": name, "piece": piece, **row, "deaths": deaths, "kinds": sorted(kinds), "seconds": seconds}


def shares(names: list[str], inputs: int) -> dict[str, int]:
    """Say how many inputs each parser gets: so many in all, at least."""
    less = {name: min(inputs // len(names), LESS[name]) for name in names if name in LESS}
    others = len(names) - len(less)
    return {name: less[name] if name in less else -(-(inputs - sum(less.values())) // others) for name in names}


def together(name: str, pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """Give what came of all pieces of a parser."""
    summed = ("inputs", "read", "refused", "tracebacks", "hangs", "deaths")
    return {
        "parser": name,
        "pieces": len(pieces),
        **{key: sum(piece[key] for piece in pieces) for key in summed},
        **{key: max(piece[key] for piece in pieces) for key in ("slowest_seconds", "megabytes")},
        "kinds": sorted({kind for piece in pieces for kind in piece["kinds"]}),
        "seconds": round(sum(piece["seconds"] for piece in pieces), 1),
    }


def main() -> None:
    from faults.fuzzers import FUZZERS

    if sys.argv[1:2] == ["--worker"]:
        name, first, count, seed, place = sys.argv[2:]
        fuzzed(name, int(first), int(count), int(seed), place)
        return
    build = Path(__file__).parents[1] / "build"
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=24_000)
    parser.add_argument("--only", action="append", choices=FUZZERS, help="these alone; they get all of the inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long; call again to go on")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--state", type=Path, help="build/fuzz.jsonl, or none with --only")
    parser.add_argument("--findings", type=Path, default=build / "findings")
    asked = parser.parse_args()
    asked.findings.mkdir(parents=True, exist_ok=True)
    state = asked.state or (build / "fuzz.jsonl" if asked.only is None else None)
    lines = state.read_text(encoding="utf-8").splitlines() if state is not None and state.exists() else []
    known = {(row["parser"], row["piece"], row["count"], row["seed"]): row for row in map(json.loads, lines)}
    begun, lock = time.monotonic(), Lock()

    def piece(name: str, number: int, count: int) -> None:
        key = name, number, count, asked.seed
        if key in known or time.monotonic() - begun > asked.seconds:
            return
        row = {**watched(name, number, count, asked.seed, asked.findings), "count": count, "seed": asked.seed}
        with lock:
            known[key] = row
            print(json.dumps(row), flush=True)
            if state is not None:
                with open(state, "a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")

    parts = {
        name: [min(size, share - first) for first in range(0, share, size)]
        for name, share in shares(asked.only or list(FUZZERS), asked.inputs).items()
        for size in [PIECES.get(name, 20_000)]
    }
    with ThreadPoolExecutor(asked.processes) as pool:
        jobs = [pool.submit(piece, name, i, n) for name, counts in parts.items() for i, n in enumerate(counts)]
        for job in jobs:
            job.result()
    keys = {name: [(name, i, n, asked.seed) for i, n in enumerate(counts)] for name, counts in parts.items()}
    missing = sum(key not in known for pieces in keys.values() for key in pieces)
    if missing:
        sys.exit(f"{missing} of {len(jobs)} pieces are left: the same command goes on")
    rows = [together(name, [known[key] for key in pieces]) for name, pieces in keys.items()]
    total = {key: sum(row[key] for row in rows) for key in ("inputs", "tracebacks", "hangs", "deaths")}
    total["megabytes"] = max(row["megabytes"] for row in rows)
    print(json.dumps(total))
    if asked.only is None:
        record.write("fuzz", rows, seed=asked.seed, total=total, bar=BAR)
    sys.exit(any(total[key] > most for key, most in BAR.items()))


if __name__ == "__main__":
    main()
