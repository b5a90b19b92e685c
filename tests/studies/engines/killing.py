"""Searches whose workers and whose own process are killed in the middle, as a user would type them."""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import psutil

from lamina.data.load import load
from lamina.studies.search import go_on, plan
from lamina.studies.study import Study
from lamina.training.runtime import Runtime
from studies.small import recorded

BATCH = 2
"""How many networks a chunk has."""


def rates(trials):
    return {"learning_rate": [1e-3 * (1 + i) for i in range(trials)]}


def straight(folder, trials, epochs):
    """Search in this process, undisturbed."""
    problem, study = plan("fnn", load("moons"), rates(trials), options={"epochs": epochs}, folder=folder)
    return go_on(study, problem, batch=BATCH, runtime=Runtime(threads=1))


def typed(*words, **more):
    """Start a command."""
    return subprocess.Popen(
        [sys.executable, "-m", "lamina", "search", *words, "--threads", "1", "--batch", str(BATCH)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more,
    )  # fmt: skip


def begin(folder, trials, epochs, on, **more):
    """Start a search."""
    values = ",".join(map(repr, rates(trials)["learning_rate"]))
    return typed("fnn", f"learning_rate={values}", "--data", "moons", "--epochs", str(epochs),
                 "--folder", str(folder), "--on", on, **more)  # fmt: skip


def wait_for(what, process=None, seconds=240):
    """Wait until something holds."""
    until = time.monotonic() + seconds
    while not what():
        if process is not None and process.poll() is not None:
            raise AssertionError(f"the search has ended: {process.communicate()[0]}")
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.005)


def count(folder):
    """How many results are on record."""
    path = folder / "journal.jsonl"
    return path.read_bytes().count(b'"event": "result"') if path.exists() else 0


def survive(folder, on, workers, kills, own, epochs, seed=0):
    """Search while workers and the search itself are killed, each time after something more is on record.

    Args:
        folder: of the study.
        on: where it runs.
        workers: gives the process numbers of the workers, from that of the search.
        kills: of workers.
        own: of the search itself.
        epochs: of a trial.
        seed: of the choice.

    Returns:
        The study, how many trials it has, what the search said at its end, and how many kills hit somebody.
    """
    trials = BATCH * (2 * (kills + own) + 5)  # enough are left when the last victim is found on a busy machine
    chance = random.Random(seed)
    victims = ["worker"] * kills + ["search"] * own
    chance.shuffle(victims)
    last = len(victims) - 1 - victims[::-1].index("worker")
    victims[last], victims[-1] = victims[-1], victims[last]  # the search that ends has lost a worker
    process, hit, gone = begin(folder, trials, epochs, on), 0, set[int]()
    try:
        for victim in victims:
            before, alive = count(folder), set[int]()
            if victim == "worker":  # found first, since that may take longer than a chunk
                wait_for(lambda alive=alive, pid=process.pid: alive.update({*workers(pid)} - gone) or alive, process)
            wait_for(lambda before=before: count(folder) > before, process)
            if victim == "worker":
                gone.add(chosen := chance.choice(sorted(alive)))
                hit += kill(chosen)
                continue
            children = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            process.communicate()
            hit += 1
            psutil.wait_procs(children, timeout=60)
            assert not [each for each in children if each.is_running()]  # nobody is left behind
            process = typed("--resume", str(folder), "--on", on)
        out, _ = process.communicate(timeout=600)
        assert process.returncode == 0, out
        assert re.search(
            r"note: \d+ workers? (was|were) lost during the search; what (it|they) had begun was trained", out
        ), out
        assert re.search(
            r"configurations  best [01]\.\d+  \(\d workers?, [\d,]+ networks x updates per second\)", out
        ), out
    finally:
        process.kill()
        process.wait()
    return Study.open(folder), trials, out, hit


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


def outcomes(study):
    """Everything that a search must find again, whoever computed it: all but the time it took."""
    return [(r.number, r.values, {**r.outcome.as_dict(), "seconds": 0}) for r in study.results]


def same(study, reference, trials):
    """Assert that nothing is lost, nothing is there twice, and every byte of the winner is that of the reference."""
    assert recorded(study) == dict.fromkeys(range(trials), 1)
    assert outcomes(study) == outcomes(reference)
    files = [each.folder / "best/weights.safetensors" for each in (study, reference)]
    assert files[0].read_bytes() == files[1].read_bytes()
    rows = [(each.folder / "best/history.jsonl").read_bytes() for each in (study, reference)]
    assert rows[0] == rows[1] and study.test["metrics"] == reference.test["metrics"]
    assert len(list((study.folder / "kept").iterdir())) == 1


CLUSTER = """
import sys
import dask
from distributed import LocalCluster

if __name__ == "__main__":
    dask.config.set({
        "distributed.comm.timeouts.connect": "120s",  # also where many tests run at once
        # A worker that is away 15 s after it was lost, since it was killed again, is given up for good by default.
        "distributed.deploy.lost-worker-timeout": "1h",
    })
    how = dict(n_workers=int(sys.argv[1]), threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
    with LocalCluster(processes=True, worker_dashboard_address=None, **how) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@contextmanager
def cluster(workers):
    """A Dask cluster of processes; it restarts those that end. Gives its address as HOST:PORT."""
    with tempfile.TemporaryDirectory() as place:
        program = Path(place) / "cluster.py"
        program.write_text(CLUSTER)
        with open(os.environ.get("LAMINA_CLUSTER_LOG", os.devnull), "ab") as log:
            process = subprocess.Popen([sys.executable, program, str(workers)], cwd=place, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=log, text=True)  # fmt: skip
        try:
            yield process.stdout.readline().strip().removeprefix("tcp://")
        finally:
            process.communicate()
