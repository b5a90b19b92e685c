"""Say how far files have been read, and what was odd about the data."""

import re
import sys
import time
import warnings
from collections.abc import Collection
from typing import Any

from lamina._errors import DataWarning, RunWarning
from lamina.cli._voice import say

_SHOWN = (DataWarning, RunWarning)


class Reading:
    """Say how far files have been read, if that takes longer than two seconds: on a live line, or every ten seconds."""

    what, began, said = "", 0.0, 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        """Write to the standard error output, when it is time."""
        now, live = time.monotonic(), sys.stderr.isatty()
        if what != self.what or done <= 1:
            self.what, self.began, self.said = what, now, 0.0
        text = f"{what}: {done:,} of {total:,}"
        if self.said and live and done == total:
            print(f"\r{'':{len(text)}}\r", end="", file=sys.stderr, flush=True)
        elif now - self.began >= 2 and now - self.said >= (0.2 if live else 10) and done < total:
            self.said = now
            print(f"\r{text}" if live else text, end="" if live else "\n", file=sys.stderr, flush=True)


class Warnings:
    """Catch warnings about data and runs, and show each once, as a sentence."""

    def __enter__(self) -> None:
        self._catcher = warnings.catch_warnings(record=True)
        self._caught = self._catcher.__enter__()
        for kind in _SHOWN:
            warnings.simplefilter("always", kind)

    def __exit__(self, *error: Any) -> None:
        self._messages = list(
            dict.fromkeys(str(w.message) for w in self._caught or () if issubclass(w.category, _SHOWN))
        )
        self._catcher.__exit__(*error)

    def show(self, quiet: bool = False, told: Collection[str] = ()) -> None:
        """Print what was caught and has not been told yet, unless only errors are wanted."""
        notes = " ".join(told)
        for message in () if quiet else self._messages:
            if re.sub("^`[^`]*`: ", "", message) not in notes:  # a note does not name the file again
                say(f"note: {message}", stream=sys.stderr)
