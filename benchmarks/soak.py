"""Does anything grow or stay behind after many runs and pages: memory, open files, threads, processes, temporary files?

    python benchmarks/soak.py                   1,000 runs and 100 studies, in one process and in parallel; 2,000 pages
    python benchmarks/soak.py --runs 40 --studies 4 --pages 40 --no-record

Memory is the resident set of the process after each tenth of the work, once freed memory was given back; growth is
that of the last tenth over the second one, since the first loads what is needed once.
"""

import argparse
import gc
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import record

BAR = {"growth": 0.05, "files": 0, "threads": 0, "processes": 0, "left": 0}
TENTHS = 10


def held(process: psutil.Process) -> dict[str, int]:
    """Say what a process holds now."""
    return {
        "files": process.num_fds(),
        "threads": process.num_threads(),
        "processes": len(process.children(recursive=True)),
    }


def soaked(name: str, work: Callable[[int], None], count: int, process: psutil.Process) -> dict[str, Any]:
    """Do some work again and again, and say what grew."""
    from lamina._system import give_back

    memory, begun, before = [], time.monotonic(), None
    for number in range(count):
        work(number)
        if (number + 1) % max(1, count // TENTHS) == 0:
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


def one_study(number: int) -> None:
    """Search, test the winner."""
    import lamina

    with tempfile.TemporaryDirectory() as place:
        space = {"learning_rate": [1e-3, 1e-2]}
        options = {"epochs": 2, "hidden": 4, "seed": number}
        lamina.search("fnn", lamina.load("iris"), space, options=options, folder=f"{place}/study")


def here(runs: int, studies: int) -> list[dict[str, Any]]:
    """Do everything in one process, this one."""
    import torch

    torch.set_num_threads(1)
    me = psutil.Process()
    return [soaked("runs", one_run, runs, me), soaked("studies", one_study, studies, me)]


def beside(runs: int, studies: int, processes: int) -> list[dict[str, Any]]:
    """Do everything in several processes at once; give the worst of them."""
    share = max(TENTHS, runs // processes), max(2, studies // processes)
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        found = [job.result() for job in [pool.submit(here, *share) for _ in range(processes)]]
    return [
        {**max((rows[place] for rows in found), key=lambda row: row["growth"]), "processes at once": processes}
        for place in range(2)
    ]


def visited(pages: int) -> dict[str, Any]:
    """Load pages of a server, four visitors at once, and say what the server holds."""
    from lamina.pages.site.contents import pages as contents

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "lamina", "notes", "--no-browser", "--port", str(port)]
    with open(os.devnull, "wb") as nowhere:
        server = subprocess.Popen(words, stdout=nowhere, stderr=nowhere)
    names = [page.path for page in contents()]
    try:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20).close()
                break
            except OSError:
                time.sleep(0.2)

        def visit(number: int) -> None:
            def load(place: int) -> None:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/{names[place % len(names)]}", timeout=60) as page:
                    assert page.status == 200 and page.read()

            visitors = [threading.Thread(target=load, args=(4 * number + each,)) for each in range(4)]
            for visitor in visitors:
                visitor.start()
            for visitor in visitors:
                visitor.join()

        _settled(psutil.Process(server.pid))
        row = soaked("pages, four at once", visit, -(-pages // 4), psutil.Process(server.pid))
        return {**row, "count": 4 * row["count"]}
    finally:
        server.terminate()
        server.wait(60)


def _settled(server: psutil.Process) -> None:
    """Wait until the server has loaded everything and its first views are made, by a process that ends then."""
    quiet, before = 0, -1
    while quiet < 20:
        time.sleep(1.0)
        now = len(server.children(recursive=True))
        quiet, before = (quiet + 1 if now == before else 0), now


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--no-record", action="store_true")
    asked = parser.parse_args()
    cache = tempfile.TemporaryDirectory()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache.name  # torch keeps it for the next process
    before = set(Path(tempfile.gettempdir()).iterdir())
    rows = here(asked.runs, asked.studies)
    rows += beside(asked.runs, asked.studies, asked.processes)
    rows += [visited(asked.pages)] if asked.pages else []
    total = {
        "growth": max(row["growth"] for row in rows),
        **{key: max(row[key] for row in rows) for key in ("files", "threads", "processes")},
        "left": len(set(Path(tempfile.gettempdir()).iterdir()) - before),
    }
    print(json.dumps(total))
    if not asked.no_record:
        record.write("soak", rows, total=total, bar=BAR)
    sys.exit(any(total[key] > most for key, most in BAR.items()))


if __name__ == "__main__":
    main()
