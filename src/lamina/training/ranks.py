"""Ranks: processes that train one network together, each with its part of every batch.

A rank is a piece of a batch, as `update` knows them: rank r of R takes the r-th contiguous part of each batch of the
one seeded order, and its gradient times its share of the mean is added to those of the others by one flat sum over all
ranks. So the number of ranks changes nothing but the rounding: batches, masks and random changes are those of one
process, parts may have different sizes, the last batch may leave ranks without any example, and a mean over words is
one over all words. torch's DistributedDataParallel divides by the number of ranks whatever they hold, and
adds in buckets whose order follows that of the first backward pass; one flat sum has a fixed order.

`torchrun` starts the processes, watches over them and starts them again; here they find each other. The first rank
writes and prints.
"""

import atexit
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import torch
import torch.distributed as dist

from lamina._errors import ArgumentError, RunError, whole
from lamina._system import birth, boot, end_with, free_memory, keep_to_cores, let_others_finish
from lamina._types import Tensor
from lamina.training.folder import RunFolder
from lamina.training.saving import Pace

if TYPE_CHECKING:
    from lamina.training.loop import Event, Observer, Progress
    from lamina.training.runtime import Runtime

Result = TypeVar("Result")

TIMEOUT = timedelta(minutes=10)
"""How long a rank waits for the others."""

ACCORD = 0.25
"""Seconds after which ranks ask each other again whether to save or to stop."""

AGENT = "LAMINA_AGENT"
"""The variable that names the process which started the ranks."""

LEAST = 100 * 2**20
"""Bytes of memory that a rank takes at least; torch alone takes more."""

_HANDS_OVER = "gloo_tcp_loop"
"""What gloo calls its thread that hears the other ranks."""

PATIENCE = 5.0
"""Seconds for which further requests to stop are not heard: the terminal, and torchrun after it, send one to each."""


class Ranks:
    """The processes that train together, seen from one of them; one alone by default.

    Args:
        rank: the number of this one.
        size: how many there are.
        local: the number of this one on its machine.
        beside: how many there are on its machine.
        joined: whether they can speak to each other; one that torchrun started alone can, too.
        group: how tensors reach the others; None for all processes of torchrun.
        talk: how plain values reach them; GPUs would have to wait.

    >>> Ranks().part(7), Ranks(1, 3).part(7)
    (slice(0, 7, None), slice(3, 5, None))
    """

    def __init__(
        self,
        rank: int = 0,
        size: int = 1,
        local: int = 0,
        beside: int = 1,
        joined: bool = False,
        group: Any = None,
        talk: Any = None,
    ) -> None:
        self.rank, self.size, self.local, self.beside, self.joined = rank, size, local, beside, joined
        self._group, self._talk = group, talk
        self.agents: tuple[str, ...] = ()
        """Who started the ranks, where torchrun did; see `agent`."""

        self.blank = False
        """Whether what is computed now has no share in the batch: a rank without examples takes part with another's."""

    @property
    def first(self) -> bool:
        """Whether this rank writes and prints."""
        return self.rank == 0

    @property
    def many(self) -> bool:
        """Whether there are others."""
        return self.size > 1

    def part(self, examples: int) -> slice:
        """Give the part of a batch that is this rank's; that of the last ones may be empty."""
        each, more = divmod(examples, self.size)
        start = self.rank * each + min(self.rank, more)
        return slice(start, start + each + (self.rank < more))

    def own(self, examples: int) -> slice:
        """Give the part of a batch that this rank computes: its own, or two examples of another's, without a share."""
        self.blank = self.rank >= examples
        return self.taken(examples)

    def taken(self, examples: int) -> slice:
        """Say what `own` gives, for who reads ahead."""
        part = self.part(examples)
        return slice(0, min(2, examples)) if part.start == part.stop else part

    def largest(self, examples: int) -> int:
        """Return how many examples the largest part of a batch has."""
        return -(-examples // self.size)

    def sum_(self, tensor: Tensor) -> Tensor:
        """Add up a tensor over all ranks, in place and in a fixed order; all get the same bits."""
        if self.joined:
            with _together():
                dist.all_reduce(tensor, group=self._group)
        return tensor

    def align_(self, tensors: Sequence[Tensor]) -> None:
        """Give tensors the values that they have on the first rank."""
        for tensor in tensors if self.many else ():
            with _together():
                if tensor.is_contiguous():
                    dist.broadcast(tensor, 0, group=self._group)
                    continue
                dense = tensor.contiguous()
                dist.broadcast(dense, 0, group=self._group)
                tensor.copy_(dense)

    def gathered(self, value: Any) -> list[Any]:
        """Give the values of all ranks, in their order, to all."""
        if not self.many:
            return [value]
        found: list[Any] = [None] * self.size
        with _together():
            dist.all_gather_object(found, value, group=self._talk)
        return found

    def shared(self, make: Callable[[], Result]) -> Result:
        """Let the first rank make something and give it to all; an error of its ends all, and it alone says so."""
        if not self.many:
            return make()
        parcel: list[Any] = [None, None]
        failed: BaseException | None = None
        if self.first:
            try:
                parcel = [make(), None]
            except Exception as error:
                failed = error
                parcel = [None, str(error)]
        with _together():
            dist.broadcast_object_list(parcel, 0, group=self._talk)
        if failed is not None:
            raise failed
        if parcel[1] is not None:
            raise RanksError(parcel[1])
        made: Result = parcel[0]
        return made

    def runtime(self, runtime: "Runtime") -> "Runtime":
        """Give each of several ranks on a machine a core and a runtime with one thread; refuse what they cannot share.

        A rank that waits for the others sleeps, and what wakes it up are two threads of gloo: one hands a lock to the
        other, and spins until the next tick of the clock if it has interrupted the one that holds it.
        """
        kind, _, index = runtime.device.partition(":")
        if kind == "mps" and self.many:
            raise ArgumentError("`device` 'mps' is one for all, but ranks need one each: use device='cpu'.")
        if kind == "cuda" and self.joined:
            there = torch.cuda.device_count()
            if index and self.beside > 1:
                raise ArgumentError(
                    f"`device` {runtime.device!r} names one GPU, but {self.beside} ranks on a machine take one each: "
                    "use 'cuda', and choose them by CUDA_VISIBLE_DEVICES."
                )
            if self.beside > there:
                raise ArgumentError(
                    f"{self.beside} ranks on a machine need a GPU each, got {there}: use fewer ranks or device='cpu'."
                )
            torch.cuda.set_device(int(index) if index else self.local)
        if kind != "cpu" or self.beside == 1:
            return runtime
        found = replace(runtime, threads=runtime.threads or 1)
        if self.joined:
            keep_to_cores(self.local, self.beside, found.threads)
            let_others_finish(_HANDS_OVER)
        return found

    def folder(self, home: RunFolder) -> RunFolder:
        """Give the folder of a run, in which only the first rank writes."""
        return home if self.first else _Unwritten(home.path)

    def notes(self, device: str, batch: int, step: str = "auto") -> list[str]:
        """Say what more ranks than a machine or a batch has room for mean, and what they cannot do, for people.

        Args:
            device: on which they compute.
            batch: how many examples an update takes.
            step: how updates should be executed.

        >>> Ranks(size=6).notes("cuda", 4)
        ['a batch of 4 examples leaves 2 of the 6 ranks without any: raise `batch_size` or use 4 ranks']
        """
        found, cores = list[str](), os.cpu_count() or 1
        if self.joined and step == "compiled":
            found.append("updates are not compiled: ranks add their gradients in the middle of one")
        if device == "cpu" and self.beside > cores:
            found.append(f"{self.beside} ranks share {cores} cores, which is no faster than {cores} ranks")
        if self.size > batch:
            found.append(
                f"a batch of {batch} examples leaves {self.size - batch} of the {self.size} ranks without any: raise "
                f"`batch_size` or use {batch} ranks"
            )
        return found

    @property
    def option(self) -> str:
        """What `lamina resume` takes so that as many ranks continue, where `--ranks` started these; else ""."""
        return f" --ranks {self.size}" if self.joined and AGENT in os.environ else ""

    def __str__(self) -> str:
        """Say how many there are, for people; "" for one alone."""
        return f", {self.size} ranks" if self.many else ""


ALONE = Ranks()
"""What a process is that nobody else trains with."""

_joined: list[Ranks] = []


class _Unwritten(RunFolder):
    """The folder of a run for a rank that does not write."""

    def write(self, name: str, content: bytes) -> None:
        """Write nothing."""

    def append_row(self, row: dict[str, Any], seconds: float) -> None:
        """Write nothing."""

    def write_weights(self, tensors: dict[str, Tensor]) -> str:
        """Write nothing."""
        return ""

    def seal(self) -> None:
        """Write nothing."""

    def settle(self) -> None:
        """Write nothing."""


class RanksError(RunError):
    """Another rank has ended, or cannot be reached."""


@contextmanager
def _together() -> Iterator[None]:
    """Say in a sentence that the others do not answer."""
    try:
        yield
    except RuntimeError as error:
        raise RanksError(
            f"another rank has ended or does not answer ({str(error).splitlines()[0][:200]}): what it said tells why. "
            "Continue the run with `lamina resume`, with as many ranks as there are."
        ) from error


def started_by_torchrun() -> bool:
    """Say whether torchrun, or something that sets the same variables, started this process."""
    return all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))


def join() -> Ranks:
    """Meet the other ranks, once in a process; a process that torchrun did not start is alone."""
    if _joined:
        return _joined[0]
    if not started_by_torchrun():
        return ALONE
    _end_with_agent()
    if not dist.is_available():
        raise ArgumentError("this torch was built without torch.distributed: start the command without torchrun.")
    local = int(os.environ.get("LOCAL_RANK", 0))
    if torch.cuda.is_available() and local < torch.cuda.device_count():
        torch.cuda.set_device(local)
    if not dist.is_initialized():
        from torch.distributed import distributed_c10d  # absent where torch was built without it
        from torch.distributed.rendezvous import rendezvous

        gpus = torch.cuda.is_available() and dist.is_nccl_available()
        with _together():
            store, rank, size = next(rendezvous("env://", timeout=TIMEOUT))
            store = distributed_c10d.PrefixStore(_met(store, rank, size), store)
            backend = "cpu:gloo,cuda:nccl" if gpus else "gloo"
            dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=TIMEOUT)
        atexit.register(_leave)
    with _together():
        talk = dist.new_group(backend="gloo", timeout=TIMEOUT)
    beside = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    _joined.append(Ranks(dist.get_rank(), dist.get_world_size(), local, beside, joined=True, talk=talk))
    if job():
        _joined[0].agents = tuple(_joined[0].gathered(agent()))
    return _joined[0]


def _met(store: Any, rank: int, size: int, timeout: timedelta = TIMEOUT) -> str:
    """Agree with the ranks that live now on a name for this meeting.

    torchrun keeps its store when it starts ranks anew, and what dead ones left there would lead to them. So the first
    rank calls the others by a name that never was before; each answers with such a name of its own; and the first one
    says that it heard these very answers.

    Args:
        store: where all can read and write.
        rank: the number of this one.
        size: how many there are.
        timeout: how long to wait for the others.
    """
    own, until, call = uuid4().hex, time.monotonic() + timeout.total_seconds(), ""
    answers: dict[int, str] = {}
    if rank == 0:
        store.set("lamina/call", own)
    while time.monotonic() < until:
        if rank == 0:
            for other in range(1, size):
                said = store.get(key).decode() if store.check([key := f"lamina/answer/{other}"]) else ""
                answers[other] = said.removeprefix(f"{own} ") if said.startswith(own) else ""
            if all(answers.values()):
                store.set(f"lamina/heard/{own}", " ".join(answers.values()))
                return own
        elif store.check(["lamina/call"]):
            if (now := store.get("lamina/call").decode()) != call:
                call = now
                store.set(f"lamina/answer/{rank}", f"{call} {own}")
            if store.check([f"lamina/heard/{call}"]) and own in store.get(f"lamina/heard/{call}").decode().split():
                return call
        time.sleep(0.01)
    raise RuntimeError(f"only some of {size} ranks came within {timeout.total_seconds():g} s")


def _leave() -> None:
    """Say goodbye; a rank that ends because of an error does not wait for the others."""
    if dist.is_initialized():
        dist.destroy_process_group()


def said_already(why: object) -> bool:
    """Say whether another rank has printed the same error, or the one that this is a consequence of."""
    if not (_joined and _joined[0].many):
        return False
    try:
        store: Any = dist.distributed_c10d._get_default_store()
        if isinstance(why, RanksError):
            time.sleep(0.5)  # for the one that it comes from
            return int(store.add("lamina/said", 1)) > 1
        store.add("lamina/said", 1)
        return int(store.add(f"lamina/said/{why}", 1)) > 1
    except RuntimeError:  # the one that kept it has gone
        return False


class Accord:
    """Lets all ranks save and stop after the same update; they ask each other about four times a second.

    Args:
        ranks: who.
        save: writes a checkpoint; all ranks call it together.
        seconds: between two checkpoints.
        stop: says whether this rank was asked to stop; one is enough.
    """

    def __init__(
        self, ranks: Ranks, save: "Callable[[Progress], None]", seconds: float, stop: Callable[[], bool]
    ) -> None:
        self._ranks, self._save, self._stop = ranks, save, stop
        self._often, self._pace = min(ACCORD, seconds), Pace(seconds)
        self._left = self._pause = 1
        self._asked = time.monotonic()
        self._stopping = False

    def save(self, progress: "Progress") -> None:
        """Hear that an update was made after which a resume could begin."""
        self._left -= 1
        if self._left > 0:
            return
        now = time.monotonic()
        each = (now - self._asked) / self._pause
        pause = int(self._often / max(each, 1e-6))
        pause = max(1, min(pause, 2 * self._pause, 10_000))
        mine = [float(self._stop()), *((float(self._pace.due), float(pause)) if self._ranks.first
                                       else (0.0, 0.0))]  # fmt: skip
        stopping, due, pause = (int(value) for value in self._ranks.sum_(torch.tensor(mine)).tolist())
        self._left, self._pause, self._asked, self._stopping = pause, pause, now, stopping > 0
        if due:
            self._pace(self._save, progress)

    def stop(self) -> bool:
        """Say whether a rank was asked to stop."""
        return self._stopping


def listening(ranks: Ranks, observers: "Sequence[Observer]", own: "Sequence[Observer]") -> "Observer":
    """Give one observer for many: the first rank tells them, and all ranks hear whether one asks to stop.

    Args:
        ranks: who trains.
        observers: those of the user, who may answer.
        own: others, whose answers do not matter.
    """
    from lamina.training.loop import _says_stop

    def told(event: "Event") -> bool:
        asked = False
        if ranks.first:
            for observer in own:
                observer(event)
            asked = any([_says_stop(observer(event)) for observer in observers])
        return bool(ranks.sum_(torch.tensor([float(asked)])).item()) if observers else False

    return told


# Elastic restarts


def _end_with_agent() -> None:
    """Let this rank end with the process that started it: torch leaves ranks behind when their agent is killed."""
    if AGENT in os.environ or job():
        end_with(int(os.environ.get(AGENT, os.getppid())))


def agent() -> str:
    """Name the torchrun that started this process; it starts processes anew, and stays the same itself."""
    return f"{boot()} {os.getppid()} {birth(os.getppid())}"


def job() -> str:
    """Name what torchrun started, the same for all its restarts; "" for a process that it did not start."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return ""
    name = os.environ["TORCHELASTIC_RUN_ID"]
    return name if name not in ("", "none") else agent()


def restarted() -> bool:
    """Say whether torchrun starts this process anew, after one of the ranks had died."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)) > 0


def remembered(home: RunFolder, agents: Sequence[str] = ()) -> RunFolder:
    """Write into a new folder whose it is, so that a restart finds it."""
    if name := job():
        home.write_json("ranks", {"job": name, "agents": sorted(set(agents))})
    return home


def found_again(base: Path, agents: Sequence[str] = ()) -> RunFolder | None:
    """Find the folder that this job made before its restart: that of `base`, or with the highest number.

    torchrun counts the restarts after a death, but not those when a node comes or goes: then an agent of it is known.
    A folder in which nothing was written is the job's own, too, after a death: it died while making it.

    Args:
        base: the folder that was asked for.
        agents: those of all ranks; see `agent`.
    """
    if not job():
        return None
    numbered = [
        base,
        *(path for path in base.parent.glob(f"{base.name}-*") if path.name[len(base.name) + 1 :].isdigit()),
    ]
    for path in sorted(numbered, key=lambda path: int("0" + path.name[len(base.name) + 1 :]), reverse=True):
        home = RunFolder(path)
        mark = home.json("ranks") if home.has("ranks.json") else {}
        if mark.get("job") == job() and (restarted() or not set(mark.get("agents", ())).isdisjoint(agents)):
            return home
        if restarted() and path.is_dir() and not any(part.is_file() for part in path.rglob("*")):
            return home
    return None


# One machine


def _gib(size: float) -> str:
    """Write bytes in GiB, with three digits, and large numbers in full.

    >>> _gib(2**29), _gib(10_000 * 2**30)
    ('0.5', '10,000')
    """
    return f"{size / 2**30:.3g}" if size < 1000 * 2**30 else f"{size / 2**30:,.0f}"


def surroundings() -> dict[str, str]:
    """Give the variables that ranks on one machine start with: a thread each, and sums that stay on the machine."""
    loopback = {"linux": "lo", "darwin": "lo0"}.get(sys.platform)
    wanted = {"OMP_NUM_THREADS": "1"} | ({"GLOO_SOCKET_IFNAME": loopback} if loopback else {})
    return {name: os.environ.get(name, value) for name, value in wanted.items()}


def launch(ranks: int, restarts: int = 0) -> int:
    """Start this command once for each rank on this machine, as torchrun does, and return the exit code.

    Args:
        ranks: how many.
        restarts: how often all are started anew when one has died.
    """
    whole("ranks", ranks, 1)
    room = free_memory() // LEAST
    if ranks > max(1, room):
        raise ArgumentError(
            f"`ranks` {ranks} need at least {_gib(ranks * LEAST)} GiB of memory, a process each, but "
            f"{_gib(room * LEAST)} GiB are free: use fewer."
        )

    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    for name in [name for name in logging.root.manager.loggerDict if name.startswith("torch.distributed.elastic")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # some have a level of their own
    os.environ.update(surroundings())
    os.environ[AGENT] = str(os.getpid())
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=ranks,
        run_id=f"lamina-{os.getpid()}-{birth(os.getpid())}",
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        local_addr="127.0.0.1",
        max_restarts=restarts,
    )
    try:
        elastic_launch(config, sys.executable)(*sys.orig_argv[1:])
    except ChildFailedError as error:
        number, failure = error.get_first_failure()
        if failure.exitcode < 0:
            name = signal.Signals(-failure.exitcode).name
            print(f"lamina: rank {number} was ended by {name}: see how much memory and time it may use, and continue "
                  "the run with `lamina resume`.", file=sys.stderr)  # fmt: skip
            return 1
        return int(failure.exitcode)
    except SignalException:
        return 1
    return 0
