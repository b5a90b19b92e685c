"""Several contexts as one."""

from contextlib import AbstractContextManager, ExitStack
from typing import Any


class Contexts(AbstractContextManager[None]):
    """Several contexts as one that can be entered again and again."""

    def __init__(self, *parts: Any) -> None:
        self._parts, self._entered = parts, ExitStack()

    def __enter__(self) -> None:
        with ExitStack() as entered:
            for part in self._parts:
                entered.enter_context(part)
            self._entered = entered.pop_all()

    def __exit__(self, *error: Any) -> None:
        self._entered.__exit__(*error)
