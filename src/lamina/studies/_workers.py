"""Several processes on one machine: each opens the folder and takes what is free, none knows of the others."""

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import IO

from lamina._errors import LaminaError, RunError
from lamina._system import birth
from lamina.studies.study import Study, Watch
from lamina.training.runtime import Runtime

LOOK_SECONDS = 0.2


def run_workers(
    study: Study,
    processes: int,
    *,
    runtime: Runtime,
    batch: int | None = None,
    release: bool = False,
    watch: Watch = lambda study, moment: None,
) -> Study:
    """Start workers, watch the journal, and return when they have ended.

    A worker that dies leaves its work to the others. Only when all have ended and something is left, that is an error.
    """
    if not study.description["problem"]["data"].get("reload", False):
        raise RunError("the data of this study were given in memory, which other processes cannot see: use 1 process.")
    threads = runtime.threads or max(1, (os.cpu_count() or 1) // processes)
    how = {"processes": processes, "batch": batch, "release": release, "parent": [os.getpid(), birth(os.getpid())]}
    settings = json.dumps({"runtime": asdict(replace(runtime, threads=threads)), **how})
    command = [sys.executable, "-m", "lamina.studies._workers", str(study.folder), settings]
    with ExitStack() as stack:
        logs: list[IO[bytes]] = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(processes)]
        workers = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log) for log in logs]
        try:
            while any(worker.poll() is None for worker in workers):
                watch(study.refresh(), None)
                time.sleep(LOOK_SECONDS)
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.wait()
        if not study.refresh().complete:
            raise RunError(
                f"all {processes} workers have ended, but not everything was tried ({_last_words(logs)}): "
                f"continue it with  {study.resume_command}"
            )
    return study


def _last_words(logs: list[IO[bytes]]) -> str:
    for log in logs:
        log.seek(0)
        lines = log.read().decode(errors="replace").strip().splitlines()
        if lines:
            return lines[-1].removeprefix("lamina: ")
    return "they left no message"


def main(folder: str, settings: str) -> None:
    """Be a worker that ends with its parent."""
    from lamina.studies.search import open_problem, work

    how = json.loads(settings)
    runtime, (parent, born) = Runtime(**how.pop("runtime")), how.pop("parent")
    study = Study.open(folder)
    work(study, open_problem(study), runtime=runtime, go_on=lambda: birth(parent) == born, **how)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except LaminaError as error:
        print(f"lamina: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(1)
