"""Find the engine that a word, or a client of Dask, asks for."""

import os
import re
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from lamina._errors import ArgumentError
from lamina.studies.engines.chunk import Engine
from lamina.studies.engines.dask import Dask, connect
from lamina.studies.engines.here import Here
from lamina.studies.engines.job import Job, halving_of, on_threads
from lamina.studies.engines.processes import MOST, Processes
from lamina.studies.engines.slurm import Nodes, need_slurm, on_slurm
from lamina.studies.problem import Problem
from lamina.studies.study import Study
from lamina.training.runtime import Runtime


class Place:
    """Where a search should run.

    Args:
        on: None for this process, "processes:4", "dask://HOST:PORT", "slurm" or "slurm:nodes=4,time=01:00:00", or a
            `distributed.Client`.

    >>> Place("processes:4").away, Place("dask://10.0.0.1:8786").away, str(Place(None))
    (False, True, 'this process')
    """

    def __init__(self, on: Any = None) -> None:
        kind, colon, rest = on.partition(":") if isinstance(on, str) else ("client", "", "")
        self.kind, self._rest, self._on = kind if on is not None else "", rest, on
        if on is None or (kind == "client" and all(hasattr(on, name) for name in ("submit", "nthreads", "cancel"))):
            return
        if kind == "processes" and rest.isdecimal():
            self._count = int(rest)
            if not 1 <= self._count <= MOST:
                raise ArgumentError(f"`on` must name from 1 to {MOST:,} processes, got {self._count}.")
        elif kind == "dask" and re.fullmatch(r"//[^/\s]+:\d+", rest):
            self._rest = rest.removeprefix("//")
            if not 1 <= (port := int(rest.rpartition(":")[2])) <= 65535:
                raise ArgumentError(f"`on` must name a port from 1 to 65,535 after dask://HOST:, got {port}.")
        elif kind == "slurm" and (rest or not colon):
            self._nodes = Nodes.read(rest)
        else:
            raise ArgumentError(
                "`on` must be processes:N, dask://HOST:PORT, slurm or, in Python, a client of Dask, "
                f"got {repr(on) if isinstance(on, str) else type(on).__name__}."
            )

    @property
    def away(self) -> bool:
        """Whether it is on other machines, whose devices are not known here."""
        return self.kind in ("client", "dask", "slurm")

    def __str__(self) -> str:
        return "this process" if self._on is None else self._on if isinstance(self._on, str) else "a Dask cluster"

    def runtime(self, runtime: Runtime, precision: str = "float32") -> Runtime:
        """Fill in what this process computes with, before anything is written; only workers know their devices."""
        if self.kind == "slurm":
            need_slurm()
        if not self.away:
            return runtime.ready(precision, stacked=True)
        return replace(runtime, device="auto").ready(precision, stacked=True)

    def engine(self, study: Study, problem: Problem, runtime: Runtime) -> Engine:
        """Make the engine of a study.

        Args:
            study: what is searched.
            problem: what it is about.
            runtime: device, threads and flags of the workers.
        """
        if self.kind == "":
            score = study.metric, study.direction
            return Here(Job({}, score, halving_of(study), runtime).trainer(problem))
        if self.kind == "processes":
            ready = runtime.ready(problem.recipe.precision, stacked=True)
            return Processes(self._count, Job.of(study, on_threads(ready, (os.cpu_count() or 1) // self._count)))
        job = Job.of(study, runtime)
        if self.kind == "slurm":
            return on_slurm(self._nodes, job)
        if self.kind == "client":
            return Dask(self._on, job)
        ending = ExitStack()
        return Dask(ending.enter_context(connect(self._rest)), job, ending=ending)
