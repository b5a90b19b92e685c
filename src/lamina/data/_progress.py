"""Tell whoever watches how far a long reading has come. This module imports no torch."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

_WATCHER: ContextVar[Progress | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Let a function be told while files are read inside of the `with` statement.

    >>> with watched(print):
    ...     tell("reading", 3, 5)
    reading 3 5
    """
    token = _WATCHER.set(progress)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def tell(what: str, done: int, total: int) -> None:
    """Tell the one who watches, if there is one."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(what, done, total)
