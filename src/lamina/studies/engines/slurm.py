"""Nodes of a SLURM cluster: each is a job whose processes are workers of a Dask scheduler in this process."""

import re
import shutil
import signal
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, fields
from typing import Any

from lamina._errors import ArgumentError, MissingExtraError, RunError, RunWarning, at_least, nearest
from lamina.studies.engines.dask import Dask
from lamina.studies.engines.job import Job


@dataclass(frozen=True)
class Nodes:
    """What is asked of SLURM.

    Args:
        nodes: how many jobs, each on one node.
        time: how long each may run, as SLURM writes it.
        cores: per node.
        memory: per node.
        gpus: per node; each has a worker of its own.
        partition: where; the cluster's default if it is not given.
        account: who pays; the user's default if it is not given.
        interface: the network interface over which workers reach this machine, such as ib0.

    >>> Nodes.read("nodes=4,time=00:30:00,gpus=2").workers
    8
    """

    nodes: int = 1
    time: str = "01:00:00"
    cores: int = 1
    memory: str = "8GB"
    gpus: int = 0
    partition: str = ""
    account: str = ""
    interface: str = ""

    def __post_init__(self) -> None:
        for name, bound in (("nodes", 1), ("cores", 1), ("gpus", 0)):
            at_least(name, getattr(self, name), bound)
        if not re.fullmatch(r"(\d+-)?\d+(:\d\d){0,2}", self.time):
            raise ArgumentError(
                f"`time` must be written as hours:minutes:seconds, such as 01:00:00, got {self.time!r}."
            )
        if not re.fullmatch(r"\d+(\.\d+)? ?[KMGT]i?B", self.memory):
            raise ArgumentError(f"`memory` must be written with its unit, such as 8GB, got {self.memory!r}.")

    @classmethod
    def read(cls, text: str) -> "Nodes":
        """Read what follows "slurm:"."""
        kinds: dict[str, Any] = {each.name: each.type for each in fields(cls)}
        given: dict[str, Any] = {}
        for word in filter(None, text.split(",")):
            name, equals, value = word.partition("=")
            if not equals or name not in kinds:
                raise ArgumentError(
                    f"`on` takes slurm with {', '.join(kinds)}, such as slurm:nodes=4,time=01:00:00, got "
                    f"{word!r}{nearest(name, kinds)}"
                )
            if kinds[name] is int and not value.isdecimal():
                raise ArgumentError(f"`{name}` of slurm must be a whole number, got {value!r}.")
            given[name] = int(value) if kinds[name] is int else value
        return cls(**given)

    @property
    def workers(self) -> int:
        """How many workers all nodes have."""
        return self.nodes * max(1, self.gpus)

    def cluster(self, refused: Callable[[str], object] = lambda why: None) -> Any:
        """Make the cluster, which has no nodes yet.

        Args:
            refused: hears why SLURM did not take a job; Dask alone would print a traceback and wait for the node.
        """
        heard = signal.getsignal(signal.SIGINT)
        try:
            from dask_jobqueue.slurm import SLURMCluster, SLURMJob
        except ImportError as error:
            raise MissingExtraError("dask-jobqueue", "cluster", "a search on SLURM") from error
        signal.signal(signal.SIGINT, heard)  # the import has put a handler of its own there: Ctrl-C is ours
        from distributed.core import Status

        class Node(SLURMJob):
            async def start(self) -> None:
                try:
                    await super().start()
                except Exception as error:
                    self.status = Status.running  # for the cluster, which ends it in its time
                    refused(str(error).strip().splitlines()[-1])

        try:
            return self._made(SLURMCluster, Node)
        except RuntimeError as error:
            raise RunError(
                f"`on` slurm cannot start a scheduler on this machine: {error.__cause__ or error}."
            ) from error

    def _made(self, kind: Any, node: Any) -> Any:
        return kind(
            job_cls=node,
            cores=max(self.cores, self.gpus, 1),
            processes=max(1, self.gpus),
            memory=self.memory,
            walltime=self.time,
            queue=self.partition or None,
            account=self.account or None,
            interface=self.interface or None,
            job_name="lamina-search",
            job_extra_directives=[f"--gres=gpu:{self.gpus}"] if self.gpus else [],
            scheduler_options={"dashboard": False, "dashboard_address": ":0"},
        )


def need_slurm() -> None:
    """Refuse a machine from which SLURM cannot be asked."""
    if shutil.which("sbatch") is None:
        raise RunError(
            "`on` slurm needs the program sbatch, which is not on this machine: run the command on a login node of the "
            "cluster, or submit an array of jobs with --part."
        )


def on_slurm(nodes: Nodes, job: Job) -> Dask:
    """Ask SLURM for nodes and give the engine that trains on them."""
    need_slurm()
    refused, said = list[str](), list[str]()

    def check() -> None:
        if len(refused) >= nodes.nodes:
            raise RunError(f"SLURM did not take the job ({refused[0]}): change what `--on` asks for when you continue.")
        if refused and not said:
            said.append(f"SLURM took only {nodes.nodes - len(refused)} of {nodes.nodes} jobs ({refused[0]}).")
            warnings.warn(said[0], RunWarning, stacklevel=2)

    with ExitStack() as ending:
        cluster = ending.enter_context(nodes.cluster(refused.append))
        from distributed import Client

        client = ending.enter_context(Client(cluster, set_as_default=False))
        cluster.scale(jobs=nodes.nodes)
        return Dask(client, job, expected=nodes.workers, ending=ending.pop_all(), check=check)
    raise AssertionError
