"""Fuzz every parser: how many inputs, tracebacks, hangs over 2 s, and how much memory, each parser in its own process.

    python benchmarks/fuzz.py --inputs 1000000             the record of all parsers, benchmarks/records/fuzz.json
    python benchmarks/fuzz.py --only CSV --inputs 5000     one parser, no record

Each parser gets an equal share of the inputs. The shortest input of each kind of traceback is written to --findings.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import record

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
BAR = {"tracebacks": 0, "hangs": 0, "megabytes": 1000}


def fuzzed(name: str, count: int, seed: int, box: float, findings: str | None) -> dict[str, Any]:
    """Fuzz one parser in this process."""
    import torch

    from faults.fuzzers import FUZZERS, inputs, run

    torch.set_num_threads(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # polars prints its panics
    fuzzer, begun = FUZZERS[name], time.monotonic()

    def boxed() -> Any:
        for content in inputs(fuzzer, count, seed):
            if time.monotonic() - begun > box:
                return
            yield content

    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as folder:
        found = run(fuzzer, Path(folder), boxed())
    for key, (content, text) in found.tracebacks.items():
        if findings is not None:
            place = (
                Path(findings) / f"{name.strip('-').replace(' ', '-')}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
            )
            place.with_suffix(".input").write_bytes(content)
            place.with_suffix(".txt").write_text(text, encoding="utf-8", errors="backslashreplace")
    return {
        "parser": name,
        "inputs": found.inputs,
        "read": found.read,
        "refused": found.refused,
        "tracebacks": found.traced,
        "kinds": sorted(found.tracebacks),
        "hangs": found.hangs,
        "slowest_seconds": round(found.slowest, 3),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "seconds": round(time.monotonic() - begun, 1),
    }


def main() -> None:
    from faults.fuzzers import FUZZERS

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
    # A process for each parser, so that memory is its own.
    apart = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(asked.processes, apart, max_tasks_per_child=1) as pool:
        for row in [pool.submit(fuzzed, *job) for job in jobs]:
            rows.append(row.result())  # a parser that ends its process ends all
            print(json.dumps(rows[-1]), flush=True)
    total = {key: sum(row[key] for row in rows) for key in ("inputs", "tracebacks", "hangs")}
    total["megabytes"] = max(row["megabytes"] for row in rows)
    print(json.dumps(total))
    if asked.only is None:
        record.write("fuzz", rows, seed=asked.seed, total=total, bar=BAR)
    sys.exit(any(total[key] > most for key, most in BAR.items()))


if __name__ == "__main__":
    main()
