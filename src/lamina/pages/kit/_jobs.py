"""Work in other processes, such as training, that a page watches while it runs.

All visitors share one process, and Python runs one of its threads at a time; a training loop there would stop every
page. So work runs in a process of its own, a few at once, the rest wait in line. It sends rows back in batches, about
ten a second, and it ends when the page is closed.

The line is fair: the next place goes to the visitor who has the fewest jobs running, and of those to the one who has
waited longest since the last. One visitor has at most half of the places. A job may take so much memory and time.
Files of visitors are read in such processes, too, in a short line of their own.
"""

import multiprocessing
import os
import pickle
import shutil
import tempfile
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import spawn
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from typing import TYPE_CHECKING, Any

from lamina._errors import DataError, LaminaError, choice
from lamina._system import free_memory, limit_memory, step_back
from lamina.pages.kit._keeping import SHELF, visitor
from lamina.pages.kit._runs import recorded_rows

if TYPE_CHECKING:
    from marimo import Html

EVERY = 0.1
"""Seconds between two batches of rows."""
PLACES = max(2, (os.cpu_count() or 2) - 1)
"""How many jobs run at once."""
READERS = 2
"""How many files of visitors are read at once."""
LONGEST, TURN, READING = 1800.0, 300.0, 30.0
"""Seconds that a job may take, that it may take while others wait for its place, and that reading a file may take."""
MEMORY = 2 * 2**30
"""Bytes that a job may take, or its share of what is free if that is less."""
RESTING = 4
"""How many jobs of one visitor may be paused."""
WAITING = 8
"""How many jobs of one visitor may wait."""
FORGOTTEN = 3.0
"""Seconds after which a waiting job that nobody asks about loses its place in line."""
GRACE = 1.5
"""Seconds for which a job keeps running while its cell is rebuilt."""
PRELOADED = ("torch", "torch._dynamo", "lamina.functional", "lamina.data.load", "lamina.pages.kit")
"""What every page and job needs, loaded once in the server and once where jobs fork; no thread starts.

The first gradient of a function loads `torch._dynamo` anyway, which takes two seconds.
"""
_KEEP = ("all", "last")
_STARTING = threading.local()


def context() -> BaseContext:
    """Return the way processes start: forked from a small server that has torch loaded, where that exists."""
    if "forkserver" in multiprocessing.get_all_start_methods():
        made = multiprocessing.get_context("forkserver")
        made.set_forkserver_preload(list(PRELOADED))
        return made
    return multiprocessing.get_context("spawn")


def prepare() -> None:
    """Start the server that forks jobs, which takes seconds, before the first job needs it."""
    if context().get_start_method() == "forkserver":
        from multiprocessing.forkserver import ensure_running

        ensure_running()


def leave_nothing() -> None:
    """Remove the folder of the sockets through which jobs start, for a process that ends without Python's help."""
    folder = getattr(multiprocessing.current_process(), "_config", {}).get("tempdir")
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _neutral_main() -> Iterator[None]:
    """Hide the notebook while a process starts: a new process runs the main module again, here the whole page.

    It is not taken out of `sys.modules`: there marimo puts the notebook of a session that opens, at any moment.
    """
    _STARTING.neutral = True
    try:
        yield
    finally:
        _STARTING.neutral = False


def _prepared(name: str, whole: Callable[[str], dict[str, Any]] = spawn.get_preparation_data) -> dict[str, Any]:
    """Say what a new process begins with: without the main module where this thread starts a job."""
    neutral = getattr(_STARTING, "neutral", False)
    return {key: value for key, value in whole(name).items() if not (neutral and key.startswith("init_main"))}


vars(spawn)["get_preparation_data"] = _prepared


class Job:
    """Work in another process that yields rows.

    Args:
        work: a generator function that another process can import, so one of a module, not of a notebook.
        keep: "all" rows, or only the "last" one when rows are large.
        line: whether it waits for its turn; otherwise `start` starts it.
        quick: whether it stands in the short line of those who read a file.
        pause_after: how many rows; -1 for never.
        arguments: what `work` is called with; they are pickled.

    Attributes:
        rows: the rows that have come so far.
        state: waiting, running, paused, done, stopped or failed.
        error: what went wrong, in one sentence.
    """

    def __init__(
        self,
        work: Callable[..., Iterator[Any]],
        *,
        keep: str = "all",
        line: bool = True,
        quick: bool = False,
        pause_after: int = -1,
        **arguments: Any,
    ) -> None:
        choice("keep", keep, _KEEP)
        self._work, self._keep, self._steps, self._arguments = work, keep, pause_after, arguments
        self._told = 0
        self._line, self._limited, self._begun = _READERS if quick else _LINE, line, 0.0
        self.visitor = visitor() if line else ""
        self._lock = threading.RLock()  # a watcher may start the process while the page stops it
        self._process: Any = None
        self._wire: Connection | None = None
        self.watcher: object = None
        self.rows: list[Any] = []
        self.state = "waiting"
        self.error = ""
        if line and not self._line.join(self):
            self.state = "failed"
            self.error = f"You have {WAITING} jobs waiting already: stop one of them first."

    def poll(self) -> bool:
        """Take what has come; return whether anything changed."""
        with self._lock:
            if self.state == "waiting":
                return self._line.admit(self)
            if self.state != "running" or self._wire is None:
                return False
            changed = False
            try:
                while self._wire.poll():
                    self._take(*self._wire.recv())
                    changed = True
                    if self.state != "running":
                        break
            except (EOFError, OSError):
                self._end("failed", "The work ended without a message; perhaps it ran out of memory.")
                changed = True
            if self.state == "running" and self._limited and (sentence := self._line.overdue(self, self._begun)):
                self._end("failed", sentence)
                changed = True
            return changed

    def _take(self, kind: str, value: Any) -> None:
        if kind == "rows":
            self.rows = (value or self.rows) if self._keep == "last" else self.rows + value
        elif kind == "paused":
            if value == self._told:  # otherwise it has been told to go on since
                self.state = kind
                self._line.rest(self)
        else:
            self._end(kind, value)

    def start(self) -> None:
        """Start the process, or let it go on; the line calls this when there is a place."""
        with self._lock:
            self._begun = time.monotonic()
            if self._wire is not None:
                self._tell()
                return
            ctx: Any = context()
            self._wire, sender = ctx.Pipe()
            limits = memory() if self._limited else 0, str(SHELF.root)
            target = (sender, self._work, self._arguments, self._keep, self._steps, *limits)
            self._process = ctx.Process(target=_run, args=target, daemon=True)
            with _neutral_main():
                self._process.start()
            sender.close()
            self.state = "running"

    def here(self) -> Iterator[Any]:
        """Give up the place in line and do the work in this process instead, for a page without readers."""
        self._line.leave(self)
        return self._work(**self._arguments)

    def pause(self) -> None:
        """Let the work rest after its next row; it keeps its memory and gives up its place."""
        with self._lock:
            self._steps = 0
            if self.state == "running":
                self._tell()

    def go_on(self, steps: int = -1) -> None:
        """Let paused work go on, when there is a place.

        Args:
            steps: after how many rows it pauses again; -1 for never.
        """
        with self._lock:
            self._steps = steps
            if self.state == "running":  # it was told to pause, and has not come to it
                self._tell()
            elif self.state == "paused" and self._line.join(self):
                self.state = "waiting"

    def _tell(self) -> None:
        self.state = "running"
        with suppress(OSError):  # it has just ended, as the next look will show
            assert self._wire is not None
            self._wire.send(self._steps)
            self._told += 1

    def stop(self) -> None:
        """End the work; the rows stay."""
        with self._lock:
            if self.state == "running":
                self.poll()
            if self.state in ("waiting", "running", "paused"):
                self._end("stopped")

    def _end(self, state: str, error: str = "") -> None:
        self.state, self.error = state, error
        if self._process is not None:
            if self._process.is_alive():
                self._process.terminate()
            self._process.join(1.0)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
            self._process.close()
            self._process = None
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        self._line.leave(self)

    @property
    def words(self) -> str:
        """What the job is doing, for the reader."""
        before = self._line.before(self)
        return {
            "waiting": f"waiting for a free place; {before} ahead of you" if before else "starting",
            "running": "running",
            "paused": "paused",
            "done": "done",
            "stopped": "stopped",
            "failed": self.error,
        }[self.state]

    def __del__(self) -> None:
        if getattr(self, "state", "") in ("waiting", "running", "paused"):
            self._end("stopped")


@dataclass
class _Place:
    """A place in line: whose it is, and when somebody last asked about it."""

    visitor: str
    seen: float


class _Line:
    """Who runs and who waits.

    Args:
        places: gives how many run at once.
        longest: gives the seconds that a job may take, and while others wait.
    """

    def __init__(self, places: Callable[[], int], longest: Callable[[], tuple[float, float]]) -> None:
        self._places, self._longest = places, longest
        self._lock = threading.RLock()
        self._waiting: dict[int, _Place] = {}
        self._running: dict[int, tuple[str, weakref.ref[Job]]] = {}
        self._served: dict[str, float] = {}
        self._resting: dict[int, tuple[str, weakref.ref[Job]]] = {}

    def join(self, job: Job) -> bool:
        """Take a place at the end, unless the visitor has enough of them."""
        with self._lock:
            self._forget()
            if job.visitor and sum(place.visitor == job.visitor for place in self._waiting.values()) >= WAITING:
                return False
            self._waiting[id(job)] = _Place(job.visitor, time.monotonic())
            return True

    def _forget(self) -> None:
        now = time.monotonic()
        for other, place in list(self._waiting.items()):
            if now - place.seen > FORGOTTEN:
                del self._waiting[other]

    def _order(self) -> list[int]:
        """Return those who wait, the next one first; visitors who have their share already come last of all."""
        counts = Counter(who for who, _ in self._running.values())
        served, left, order = dict(self._served), dict(self._waiting), []
        while left:
            first = min(left, key=lambda one: (counts[left[one].visitor], served.get(left[one].visitor, 0.0)))
            who = left.pop(first).visitor
            if who:
                counts[who] += 1
                served[who] = time.monotonic()
            order.append(first)
        return order

    def _may(self, who: str) -> bool:
        """Say whether there is a place for a visitor: nobody has more than half of them."""
        mine = sum(other == who for other, _ in self._running.values())
        return len(self._running) < self._places() and (not who or mine < max(1, self._places() // 2))

    def admit(self, job: Job) -> bool:
        """Start the job if it is its turn."""
        with self._lock:
            if id(job) not in self._waiting:
                self._waiting[id(job)] = _Place(job.visitor, 0.0)
            self._waiting[id(job)].seen = time.monotonic()
            self._forget()
            if not self._may(job.visitor) or self._order()[0] != id(job):
                return False
            del self._waiting[id(job)]
            self._resting.pop(id(job), None)
            self._running[id(job)] = job.visitor, weakref.ref(job)
            if job.visitor:
                present = {job.visitor, *(place.visitor for place in self._waiting.values())}
                self._served = {who: when for who, when in self._served.items() if who in present}
                self._served[job.visitor] = time.monotonic()
        job.start()
        return True

    def overdue(self, job: Job, begun: float) -> str:
        """Say why a job has to end, "" while it need not."""
        longest, turn = self._longest()
        took = time.monotonic() - begun
        if took > longest:
            return f"The work was stopped after {longest:g} seconds, the most that a page has: use the command line."
        with self._lock:
            others = any(place.visitor != job.visitor for place in self._waiting.values())
            if took > turn and others and len(self._running) >= self._places():
                return f"The work was stopped after {turn:g} seconds, since others are waiting: use the command line."
        return ""

    def leave(self, job: Job) -> None:
        with self._lock:
            self._waiting.pop(id(job), None)
            self._running.pop(id(job), None)
            self._resting.pop(id(job), None)

    def rest(self, job: Job) -> None:
        """Give up a place for a while; of more paused jobs than a visitor may have, the first ends: memory."""
        self.leave(job)
        with self._lock:
            self._resting[id(job)] = job.visitor, weakref.ref(job)
            mine = [reference() for who, reference in self._resting.values() if who and who == job.visitor]
        for other in mine[:-RESTING]:
            if other is not None:
                other.stop()

    def close(self) -> None:
        """End all work."""
        with self._lock:
            running = [reference() for _, reference in (*self._running.values(), *self._resting.values())]
        for job in running:
            if job is not None:
                job.stop()

    def before(self, job: Job) -> int:
        with self._lock:
            return self._order().index(id(job)) if id(job) in self._waiting else 0


_LINE = _Line(lambda: PLACES, lambda: (LONGEST, TURN))
_READERS = _Line(lambda: READERS, lambda: (READING, READING))


def stop_all() -> None:
    """End the work of all pages, as the server does when it closes."""
    _LINE.close()
    _READERS.close()


def memory() -> int:
    """Return the bytes that a job may take: all of them together leave something free."""
    return max(2**28, min(MEMORY, free_memory() // (PLACES + READERS + 1)))


def apart(function: Callable[..., Any], **arguments: Any) -> Any:
    """Call a function in a process of its own, which may take some memory and time, and return what it returns.

    The page that asks waits; all others go on. Outside of a page the function is simply called.

    Args:
        function: one of a module, since another process imports it.
        arguments: what it is called with; they are pickled.

    Raises:
        DataError: the function raised an error of ours, or took too much.

    >>> apart(dict, a=1)
    {'a': 1}
    """
    import marimo as mo

    return _apart(function, arguments) if mo.running_in_notebook() else function(**arguments)


def _apart(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    job = Job(_called, keep="last", quick=True, function=function, arguments=arguments)
    while job.state in ("waiting", "running"):
        job.poll()
        time.sleep(0.01)
    if job.state != "done":
        raise DataError(job.error or "Reading was stopped: try again.")
    kind, value = job.rows[-1]
    if kind == "refused":
        raise DataError(value)
    return pickle.loads(value)


def _called(function: Callable[..., Any], arguments: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what a function returns, as bytes: a tensor would be shared with this process, which ends."""
    try:
        yield "value", pickle.dumps(function(**arguments))
    except LaminaError as error:
        yield "refused", str(error)


_LEFT = {"rows": -1}
"""In the process of a job: how many rows it may still give before it pauses, -1 for any number."""


def by_steps() -> bool:
    """Say, in the process of a job, whether the reader goes step by step and wants to see each of them."""
    return _LEFT["rows"] >= 0


def _run(
    wire: Connection,
    work: Callable[..., Iterator[Any]],
    arguments: dict[str, Any],
    keep: str,
    steps: int,
    most: int,
    home: str,
) -> None:
    """Do the work and send its rows; this is the other process, whose temporary files are removed with the shelf."""
    import torch

    tempfile.tempdir = home

    torch.set_num_threads(1)
    step_back(10)
    if most:
        limit_memory(most)
    batch: list[Any] = []
    sent, heard = 0.0, 0
    _LEFT["rows"] = steps
    try:
        for row in work(**arguments):
            batch = [row] if keep == "last" else [*batch, row]
            while wire.poll():
                steps, heard = wire.recv(), heard + 1
            steps -= steps > 0
            if steps == 0 or time.monotonic() - sent >= EVERY:
                wire.send(("rows", batch))
                batch, sent = [], time.monotonic()
            while steps == 0:
                wire.send(("paused", heard))
                steps, heard = wire.recv(), heard + 1
            _LEFT["rows"] = steps
        if batch:
            wire.send(("rows", batch))
        wire.send(("done", ""))
    except (BrokenPipeError, ConnectionResetError, EOFError, KeyboardInterrupt):
        return
    except Exception as error:  # the page says what went wrong, whatever it was
        wire.send(("rows", batch))
        wire.send(("failed", _sentence(error, most)))


def _sentence(error: Exception, most: int) -> str:
    """Say what went wrong in the other process.

    >>> _sentence(ValueError("no"), 0), _sentence(MemoryError(), 2**30)
    ('ValueError: no', 'The work needs more than 1.1 GB of memory, the most that a page has: use the command line.')
    """
    if most and (isinstance(error, MemoryError) or "can't allocate memory" in str(error)):
        return (
            f"The work needs more than {most / 1e9:.1f} GB of memory, the most that a page has: use the command line."
        )
    return f"{type(error).__name__}: {error}"


class train:  # noqa: N801  (reads as a verb on a page: kit.train(work))
    """Work that buttons start, pause and step, shown live in a cell.

    Make it in the cell of the widgets, show it in the next::

        go, training = kit.play("Learn"), kit.train(work)          # one cell
        training.show(draw, running=go, width=width.value)         # the next one

    Args:
        work: a generator function of an importable module that yields rows.
        keep: "all" rows, or only the "last" one when rows are large.
    """

    def __init__(self, work: Callable[..., Iterator[Any]], *, keep: str = "all") -> None:
        self._work, self._keep = work, keep
        self._job: Job | None = None
        self._settings: dict[str, Any] | None = None
        self._count = 0

    def show(self, draw: "Callable[[Job], Html]", *, running: Any, **settings: Any) -> "Html":
        """Start, stop or continue to show the work; what is drawn changes while rows come.

        Args:
            draw: makes a block from the job: its `rows`, its `state` and its `words`.
            running: the buttons of `play`; or whether to run, where False stops the work and keeps the last picture.
            settings: the arguments of the work; other settings start it afresh.
        """
        if not isinstance(running, bool):
            return self._played(draw, running, settings)
        if not running:
            self.stop()
            if self._job is None or settings != self._settings:
                self._job, self._settings = None, None
                return draw(self._idle(settings))
            return draw(self._job)
        if self._job is None or settings != self._settings or self._job.state in ("stopped", "failed"):
            self._begin(settings)
        assert self._job is not None
        return _watch(self._job, draw)

    def _played(self, draw: "Callable[[Job], Html]", buttons: Any, settings: dict[str, Any]) -> "Html":
        verb, count = buttons.value
        pressed, self._count = count != self._count, count
        other = self._job is None or settings != self._settings

        def drawn(job: Any) -> "Html":
            buttons.state = job.state
            return draw(job)

        if verb in ("", "pause") or (verb == "step" and other and not pressed):
            if other:
                self.stop()
                self._job, self._settings = None, None
                return drawn(self._idle(settings))
            assert self._job is not None
            self._job.pause()
        elif other or (verb == "again" and pressed) or (pressed and self._finished):
            self._begin(settings, 1 if verb == "step" else -1)
        elif pressed:
            assert self._job is not None
            self._job.go_on(1 if verb == "step" else -1)
        assert self._job is not None
        return _watch(self._job, drawn)

    def _idle(self, settings: dict[str, Any]) -> Any:
        """Give what is shown before the first press: the recorded run with these settings, if there is one."""
        return _Idle(recorded_rows(self._work, settings))

    @property
    def _finished(self) -> bool:
        return self._job is not None and self._job.state in ("done", "stopped", "failed")

    def _begin(self, settings: dict[str, Any], steps: int = -1) -> None:
        self.stop()
        self._job, self._settings = Job(self._work, keep=self._keep, pause_after=steps, **settings), settings

    def last(self, **settings: Any) -> Any:
        """Give the last row that has come with these settings, for another cell; None before the first."""
        if self._job is None or settings != self._settings or not self._job.rows:
            return None
        return self._job.rows[-1]

    def stop(self) -> None:
        """End the work if there is any."""
        if self._job is not None:
            self._job.stop()

    def forget(self) -> None:
        """Be as before the first press."""
        self.stop()
        self._job, self._settings, self._count = None, None, 0


RECORDED = "a recorded run; press the button to run it here"
"""What a page says of the run that it shows before anything has been pressed."""


class _Idle:
    """What `draw` gets before anything has run: the rows of a recorded run, if there is one."""

    state, error = "idle", ""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows
        self.words = RECORDED if rows else "not started"


def _hand_over(job: Job, watcher: object) -> None:
    """Stop a job whose watcher has to go, unless the cell runs again and another one watches it now."""
    end = time.monotonic() + GRACE
    while time.monotonic() < end and job.watcher is watcher:
        job.poll()
        time.sleep(EVERY / 2)
    if job.watcher is watcher:
        job.stop()


watched: "Callable[[Job, Callable[[Job], Html]], Html] | None" = None
"""Takes the place of a session, outside of a server: a book records the work here."""


def _watch(job: Job, draw: "Callable[[Job], Html]") -> "Html":
    """Replace the output of the running cell whenever rows have come, from a thread of the session."""
    import marimo as mo

    if watched is not None:
        return watched(job, draw)
    if not mo.running_in_notebook():
        while job.state in ("waiting", "running"):
            job.poll()
            time.sleep(EVERY / 4)
        return draw(job)

    me = job.watcher = object()

    def follow() -> None:
        thread = mo.current_thread()
        mo.output.replace(draw(job))
        while job.state in ("waiting", "running"):
            if thread.should_exit:
                _hand_over(job, me)
                return
            if job.poll():
                mo.output.replace(draw(job))
            time.sleep(EVERY / 2)
        mo.output.replace(draw(job))

    mo.Thread(target=follow, daemon=True).start()
    return draw(job)
