"""Does anything grow or stay behind after many runs and pages: memory, open files, threads, processes, temporary files?

    python benchmarks/soak.py                   1,000 runs and 100 studies, in one process and in parallel;
                                                100 runs of a large network; 2,000 pages
    python benchmarks/soak.py --runs 40 --studies 4 --pages 40 --no-record

Each of these parts is written to --state as soon as it is known: the same command goes on behind an interruption.
Memory is the resident set of the process after each tenth of the work, once freed memory was given back; growth is
that of the last tenth over the second one, since the first loads what is needed once. A page is opened as a browser
does it: its first view, then a session whose cells all run. A closed page can come back within 45 seconds, so a server
is looked at when none of its closed pages can.
"""

import argparse
import gc
import json
import multiprocessing
import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import record

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from visiting import Page, serving

BAR = {"growth": 0.05, "files": 0, "threads": 0, "processes": 0, "left": 0}
TENTHS = 10


def held(process: psutil.Process) -> dict[str, int]:
    """Say what a process holds now."""
    return {
        "files": process.num_fds(),
        "threads": process.num_threads(),
        "processes": len(process.children(recursive=True)),
    }


def soaked(
    name: str,
    work: Callable[[int], None],
    count: int,
    process: psutil.Process,
    rest: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Do some work again and again, and say what grew; `rest` comes before every look."""
    from lamina._system import give_back

    memory, begun, before = [], time.monotonic(), None
    for number in range(count):
        work(number)
        if (number + 1) % max(1, count // TENTHS) == 0:
            rest()
            gc.collect()
            give_back()
            memory.append(process.memory_info().rss)
            before = before or held(process)
    after = held(process)
    assert before is not None
    second = memory[min(1, len(memory) - 1)]
    row = {
        "work": name,
        "count": count,
        "seconds": round(time.monotonic() - begun, 1),
        "megabytes": [round(each / 2**20, 1) for each in memory],
        "growth": round(memory[-1] / second - 1, 4),
        **{key: after[key] - before[key] for key in after},
    }
    print(json.dumps(row), flush=True)
    return row


def one_run(number: int) -> None:
    """Train, judge, predict, load again."""
    import lamina

    with tempfile.TemporaryDirectory() as place:
        data = lamina.load("iris")
        net = lamina.build("fnn", inputs=4, outputs=3, hidden=4)
        run = lamina.fit(net, data, lamina.Recipe(epochs=2, seed=number), folder=f"{place}/run", progress=False)
        run.evaluate()
        lamina.Run.load(run.folder).predict(data.inputs[:3])


def one_large_run(number: int) -> None:
    """Train a network of 2.4 million numbers and look at it: of one with four units nobody sees that it is kept."""
    import lamina

    with tempfile.TemporaryDirectory() as place:
        data = lamina.load("digits")
        net = lamina.build("fnn", inputs=64, outputs=10, hidden=(1500, 1500))
        recipe = lamina.Recipe(epochs=1, batch_size=600, seed=number)
        run = lamina.fit(net, data, recipe, folder=f"{place}/run", progress=False)
        assert lamina.summary(run.model, data.inputs[:1].flatten(1).float()).parameters > 2_000_000


def one_study(number: int) -> None:
    """Search, test the winner."""
    import lamina

    with tempfile.TemporaryDirectory() as place:
        space = {"learning_rate": [1e-3, 1e-2]}
        options = {"epochs": 2, "hidden": 4, "seed": number}
        lamina.search("fnn", lamina.load("iris"), space, options=options, folder=f"{place}/study")


def here(work: str, count: int) -> dict[str, Any]:
    """Do some work in one process, this one."""
    import torch

    torch.set_num_threads(1)
    kinds = {"runs": one_run, "runs of a large network": one_large_run, "studies": one_study}
    return soaked(work, kinds[work], count, psutil.Process())


def beside(work: str, count: int, processes: int) -> dict[str, Any]:
    """Do some work in several processes at once; give the worst of them."""
    share = max(TENTHS, count // processes)
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        found = [job.result() for job in [pool.submit(here, work, share) for _ in range(processes)]]
    return {**max(found, key=lambda row: row["growth"]), "processes at once": processes}


def visited(pages: int) -> dict[str, Any]:
    """Open pages of a server until all of their cells have run, four visitors at once; say what the server holds."""
    from lamina.pages.site.contents import pages as contents

    names = [page.path for page in contents()]
    with serving() as (address, process):
        server = psutil.Process(process.pid)

        def visit(number: int) -> None:
            with ThreadPoolExecutor(4) as visitors:
                list(visitors.map(load, range(4 * number, 4 * number + 4)))

        def load(place: int) -> None:
            page = Page(address, names[place % len(names)], who=f"192.0.2.{place % 200 + 1}")
            with urllib.request.urlopen(f"{address}/{page.path}/", timeout=60) as first:
                assert first.status == 200 and first.read()
            try:
                page.open()
                assert "lamina" in page.seen
            finally:
                page.close()

        _settled(server)
        row = soaked("pages, four at once", visit, -(-pages // 4), server, lambda: _settled(server, 60))
        return {**row, "count": 4 * row["count"]}


def _settled(server: psutil.Process, seconds: int = 20) -> None:
    """Wait until the server has loaded everything, its first views are made and its closed pages forgotten."""
    quiet, before = 0, (-1, -1)
    while quiet < seconds:
        time.sleep(1.0)
        now = len(server.children(recursive=True)), server.num_threads()
        quiet, before = (quiet + 1 if now == before else 0), now


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--no-record", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no part after so long")
    parser.add_argument("--state", type=Path, default=Path(__file__).parents[1] / "build" / "soak.jsonl")
    asked = parser.parse_args()
    cache, place, begun = tempfile.TemporaryDirectory(), tempfile.TemporaryDirectory(), time.monotonic()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache.name  # torch keeps it for the next process
    os.environ["TMPDIR"] = tempfile.tempdir = place.name  # where nobody else leaves anything
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "runs": lambda: here("runs", asked.runs),
        "large runs": lambda: here("runs of a large network", max(TENTHS, asked.runs // 10)),
        "studies": lambda: here("studies", asked.studies),
        "runs at once": lambda: beside("runs", asked.runs, asked.processes),
        "studies at once": lambda: beside("studies", asked.studies, asked.processes),
        **({"pages": lambda: visited(asked.pages)} if asked.pages else {}),
    }
    kept = not asked.no_record and asked.state.exists()
    known = {row["part"]: row for row in map(json.loads, asked.state.open(encoding="utf-8"))} if kept else {}
    for part, work in parts.items():
        if part in known:
            continue
        if time.monotonic() - begun > asked.seconds:
            break
        before = set(Path(place.name).iterdir())
        row = {"part": part, **work()}
        known[part] = {**row, "left": len(set(Path(place.name).iterdir()) - before)}
        if not asked.no_record:
            asked.state.parent.mkdir(exist_ok=True)
            with open(asked.state, "a", encoding="utf-8") as file:
                file.write(json.dumps(known[part]) + "\n")
    rows, missing = [known[part] for part in parts if part in known], [part for part in parts if part not in known]
    total = {
        "growth": max(row["growth"] for row in rows),
        **{key: max(row[key] for row in rows) for key in ("files", "threads", "processes", "left")},
    }
    print(json.dumps(total))
    if not asked.no_record:
        record.write("soak", rows, total=total, bar=BAR, missing=missing)
    if missing:
        sys.exit(f"not yet done: {', '.join(missing)}; the same command goes on")
    sys.exit(any(total[key] > most for key, most in BAR.items()))


if __name__ == "__main__":
    main()
