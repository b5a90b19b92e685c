"""Several contexts as one."""

from contextlib import AbstractContextManager
from typing import Any


class Together(AbstractContextManager[None]):
    """Several contexts as one that can be entered again and again."""

    def __init__(self, *parts: Any) -> None:
        self._parts = parts

    def __enter__(self) -> None:
        for part in self._parts:
            part.__enter__()

    def __exit__(self, *error: Any) -> None:
        for part in reversed(self._parts):
            part.__exit__(*error)
