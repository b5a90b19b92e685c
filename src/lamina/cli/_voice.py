"""How much a command says: everything, what matters, or the path of the result alone; in lines that fit the window."""

import shutil
import sys
import textwrap
from dataclasses import dataclass
from typing import TextIO


def width(stream: TextIO | None = None) -> int | None:
    """Give the columns of the window; a pipe has no bound."""
    return max(20, shutil.get_terminal_size().columns) if (stream or sys.stdout).isatty() else None


def say(*lines: str, stream: TextIO | None = None) -> None:
    """Print lines, each folded where the window ends, to the standard output unless another stream is given.

    >>> say("short")
    short
    """
    columns = width(stream)
    for line in lines:
        for part in line.split("\n"):
            if columns is None or len(part) <= columns:
                print(part, file=stream)
            else:
                print(textwrap.fill(part, columns, subsequent_indent="  ", break_on_hyphens=False,
                                    break_long_words=False, drop_whitespace=True), file=stream)  # fmt: skip


@dataclass(frozen=True)
class Voice:
    """What a command says beside its result.

    Args:
        quiet: only the path of the result, and errors.
        verbose: also what was decided and why.
        as_json: only the result, as JSON.
    """

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False

    @property
    def silent(self) -> bool:
        """Whether nothing but the result is said."""
        return self.quiet or self.as_json

    def say(self, *lines: str) -> None:
        """Say what everybody wants to know."""
        if not self.silent:
            say(*lines)

    def more(self, *lines: str) -> None:
        """Say what only those want to know who asked for more."""
        if self.verbose and not self.as_json:
            say(*lines)

    def next(self, *commands: str) -> None:
        """Say what to do next."""
        self.say(*(f"next: {command}" for command in commands))
