"""Fuzz every parser: how many inputs, tracebacks, hangs over 2 s, and how much memory, each parser in its own process.

    python benchmarks/fuzz.py --inputs 1000000             the record of all parsers, benchmarks/records/fuzz.json
    python benchmarks/fuzz.py --only CSV --inputs 5000     one parser, no record

Each parser gets an equal share of the inputs; an input that ends the process counts as a death. The shortest input of
each kind of traceback is written to --findings.
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
from typing import Any

import record

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
BAR = {"tracebacks": 0, "hangs": 0, "deaths": 0, "megabytes": 1000}


def fuzzed(name: str, first: int, count: int, seed: int, box: float, place: str) -> None:
    """Fuzz one parser in this process, from an input on; write each input before it is tried, and what came of all."""
    import torch

    from faults.fuzzers import FUZZERS, inputs, run
    from faults.messages import VISITOR

    torch.set_num_threads(1)
    fuzzer, home, begun = FUZZERS[name], Path(place), time.monotonic()

    def boxed() -> Iterator[bytes]:
        for number, content in enumerate(inputs(fuzzer, count, seed)):
            if time.monotonic() - begun > box:
                return
            if number >= first:
                (home / "last").write_bytes(content)
                (home / "number").write_text(str(number), encoding="utf-8")
                yield content

    (home / "work").mkdir(exist_ok=True)
    try:
        found = run(fuzzer, home / "work", boxed())
    finally:
        VISITOR.close()
    said = {"inputs": found.inputs, "read": found.read, "refused": found.refused, "tracebacks": found.traced,
            "hangs": found.hangs, "slowest_seconds": round(found.slowest, 3),
            "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "kinds": {key: [content.hex(), text] for key, (content, text) in found.tracebacks.items()}}  # fmt: skip
    (home / "said").write_text(json.dumps(said), encoding="utf-8")


def watched(name: str, count: int, seed: int, box: float, findings: str | None) -> dict[str, Any]:
    """Fuzz one parser in processes of its own: the next one goes on behind an input that ended its process."""
    begun, first, deaths, shm = time.monotonic(), 0, 0, Path("/dev/shm")
    kinds: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as place:
        while True:
            left = max(0.0, box - (time.monotonic() - begun))
            words = [sys.executable, __file__, "--worker", name, str(first), str(count), str(seed), str(left), place]
            with open(os.devnull, "wb") as nowhere:  # polars prints its panics
                code = subprocess.run(words, stderr=nowhere).returncode
            said = Path(place, "said")
            if code == 0 and said.exists():
                break
            deaths += 1
            first = int(Path(place, "number").read_text(encoding="utf-8")) + 1
            kinds[f"process ended with exit code {code} at input {first - 1}"] = [
                Path(place, "last").read_bytes().hex(),
                "",
            ]
        row = json.loads(said.read_text(encoding="utf-8"))
    kinds |= row.pop("kinds")
    for key, (content, text) in kinds.items() if findings is not None else ():
        file = (
            Path(findings or ".")
            / f"{name.strip('-').replace(' ', '-')}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
        )
        file.with_suffix(".input").write_bytes(bytes.fromhex(content))
        file.with_suffix(".txt").write_text(f"{key}\n{text}", encoding="utf-8", errors="backslashreplace")
    row["inputs"] += first  # those before the last death; what they came to is known of that part only
    return {
        "parser": name,
        **row,
        "deaths": deaths,
        "kinds": sorted(kinds),
        "seconds": round(time.monotonic() - begun, 1),
    }


def main() -> None:
    from faults.fuzzers import FUZZERS

    if sys.argv[1:2] == ["--worker"]:
        name, first, count, seed, box, place = sys.argv[2:]
        fuzzed(name, int(first), int(count), int(seed), float(box), place)
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=24_000)
    parser.add_argument("--only", action="append", choices=FUZZERS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most so long for each parser")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--findings", help="a folder for the shortest input of each kind of traceback")
    asked = parser.parse_args()
    if asked.findings is not None:
        Path(asked.findings).mkdir(parents=True, exist_ok=True)
    names = asked.only or list(FUZZERS)
    share = -(-asked.inputs // len(names))
    jobs = [(name, share, asked.seed, asked.seconds, asked.findings) for name in names]
    rows = []
    with ThreadPoolExecutor(asked.processes) as pool:
        for row in pool.map(lambda job: watched(*job), jobs):
            rows.append(row)
            print(json.dumps(row), flush=True)
    total = {key: sum(row[key] for row in rows) for key in ("inputs", "tracebacks", "hangs", "deaths")}
    total["megabytes"] = max(row["megabytes"] for row in rows)
    print(json.dumps(total))
    if asked.only is None:
        record.write("fuzz", rows, seed=asked.seed, total=total, bar=BAR)
    sys.exit(any(total[key] > most for key, most in BAR.items()))


if __name__ == "__main__":
    main()
