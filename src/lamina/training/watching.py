"""Observers that look into updates: what they measure becomes part of an update before that is recorded.

Most observers are called after a step. A `Watcher` is there while it is made, in the steps that it asks for, and keeps
what it measures on the device; the numbers are read where the run waits for the device anyway: at checks and when a
checkpoint is written.
"""

from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from torch import nn

from lamina.training.folder import RunFolder
from lamina.training.lines import append_lines, as_line
from lamina.training.loop import Event


@runtime_checkable
class Watcher(Protocol):
    """An observer that is there while an update is made."""

    file: str
    """The name of the file in the run's folder that gets the rows."""

    rows: list[dict[str, Any]]
    """What was read so far, each with its "step"."""

    def __call__(self, event: Event) -> None:
        """Hear about a step or a check, as all observers do."""

    def attach(self, model: nn.Module) -> None:
        """Get to know the network."""

    def due(self, step: int) -> bool:
        """Say whether to look at the update that follows after `step` updates."""

    def looking(self) -> AbstractContextManager[None]:
        """Measure the update that is made inside, without a question to the host, into tensors that stay."""

    def keep(self, step: int) -> None:
        """Keep what was measured in update number `step`, without a question to the host."""

    def read(self) -> None:
        """Bring what was kept to the host."""


class _WatchedRows:
    """An observer that writes what a watcher found into the folder of the run."""

    def __init__(self, home: RunFolder, watcher: Watcher, step: int) -> None:
        self._watcher, self._path, self._written = watcher, home.path / watcher.file, len(watcher.rows)
        if self._path.is_file():
            kept = [row for row in home.lines(self._path.stem) if row["step"] <= step]
            home.write(self._path.name, "".join(map(as_line, kept)).encode())

    def flush(self) -> None:
        """Read what the watcher kept and append it."""
        self._watcher.read()
        new = self._watcher.rows[self._written :]
        if new:
            append_lines(self._path, new)
        self._written = len(self._watcher.rows)

    def __call__(self, event: Event) -> None:
        """Write at each check."""
        if event.row is not None:
            self.flush()
