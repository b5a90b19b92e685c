"""What does it cost to search elsewhere, and what does a second worker bring?

*Overhead*: the same small chunks (one network, few updates) in this process and on one Dask worker and one process of
this machine, which have everything loaded; the number is milliseconds per chunk beyond those of this process.
*Scaling*: a search of larger chunks on one and on two workers with one thread each; the number is how many times as
fast two are. All take turns. A search on Dask should cost at most 10 ms per chunk more, and two workers on two cores
should be at least 1.7 times as fast as one.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from record import write

from lamina.data.load import load
from lamina.studies._dispatch import Dispatcher
from lamina.studies.engines.choose import Place
from lamina.studies.search import plan
from lamina.training.runtime import Runtime

ONE_THREAD = Runtime(device="cpu", threads=1)


def seconds(place: Path, on: Any, trials: int, epochs: int, data: str, batch: int) -> float:
    """Time a search without its beginning: a first one of the same kind starts the workers and loads everything."""
    rates = [1e-4 * (1 + i) for i in range(trials + 8)]
    problem, study = plan("fnn", load(data), {"learning_rate": rates}, options={"epochs": epochs}, folder=place)
    with Place(on).engine(study, problem, ONE_THREAD) as engine, study.writing() as journal:
        dispatcher = Dispatcher(study, problem, engine, batch=batch)
        for some in (study.trials[trials:], study.trials[:trials]):
            start = time.perf_counter()
            for outcomes in dispatcher.evaluate(some):
                study._record(journal, outcomes)
            taken = time.perf_counter() - start
    assert len(study.results) == trials + 8
    return taken


def main() -> None:
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--chunks", type=int, default=50, help="of the measured search")
    parser.add_argument("--epochs", type=int, default=30, help="of the search that two workers share")
    given = parser.parse_args()
    how = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "host": "127.0.0.1"}
    small = {"trials": given.chunks, "epochs": 1, "data": "moons", "batch": 1}
    large = {"trials": 32, "epochs": given.epochs, "data": "digits", "batch": 4}
    with (
        LocalCluster(n_workers=1, **how) as one, LocalCluster(n_workers=2, **how) as two,
        Client(one, set_as_default=False) as single, Client(two, set_as_default=False) as double,
    ):  # fmt: skip
        searches: dict[str, tuple[Any, dict[str, Any]]] = {
            "small, here": (None, small),
            "small, processes:1": ("processes:1", small),
            "small, Dask, 1 worker": (single, small),
            "large, Dask, 1 worker": (single, large),
            "large, Dask, 2 workers": (double, large),
            "large, processes:1": ("processes:1", large),
            "large, processes:2": ("processes:2", large),
        }
        times: dict[str, list[float]] = {name: [] for name in searches}
        for turn in range(given.rounds):
            for name, (on, what) in searches.items():
                with tempfile.TemporaryDirectory() as folder:
                    times[name].append(seconds(Path(folder) / "study", on, **what))
                print(f"round {turn + 1}: {name} {times[name][-1]:.2f} s", flush=True)
    rows = []

    def row(question: str, who: str, found: list[float], **more: Any) -> None:
        spread = statistics.stdev(found) if len(found) > 1 else 0.0
        rows.append({"question": question, "who": who, "value": statistics.median(found), "spread": spread,
                     "n": len(found), **more})  # fmt: skip
        print(f"{question}, {who}: {rows[-1]['value']:.2f} ± {spread:.2f}, n = {len(found)}")

    for who, name in (("Dask", "small, Dask, 1 worker"), ("processes", "small, processes:1")):
        pairs = zip(times[name], times["small, here"], strict=True)
        row("overhead in ms per chunk", who, [(away - here) / given.chunks * 1e3 for away, here in pairs], bar=10.0)
    for who, name in (("Dask", "large, Dask, {}"), ("processes", "large, processes:{}")):
        words = ("1 worker", "2 workers") if who == "Dask" else ("1", "2")
        first, second = (times[name.format(word)] for word in words)
        pairs = zip(first, second, strict=True)
        row("two workers against one", who, [alone / both for alone, both in pairs], bar=1.7)
    write("engines", rows, device="cpu", chunks=given.chunks, epochs=given.epochs,
          seconds={name: statistics.median(found) for name, found in times.items()})  # fmt: skip


if __name__ == "__main__":
    main()
