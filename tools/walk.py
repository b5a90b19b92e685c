"""Walk the way of one command through the house: which files run, and how often the way changes from file to file.

    python tools/walk.py train lenet5 --epochs 1

Counted are functions of `src/lamina` that are called after everything is imported (the command runs once before, in a
folder of its own, so that late imports do not count); reports of runs and studies, and what they call, are left out.
"""

import json
import shutil
import sys
import tempfile
import threading
from contextlib import chdir
from pathlib import Path
from types import FrameType
from typing import Any

HOME = Path(__file__).resolve().parent.parent / "src" / "lamina"
LEFT_OUT = (f"{HOME}/report/", f"{HOME}/studies/report.py")


class Walk:
    """Files in the order in which they are first entered, and hops between files."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self.hops, self._here = 0, ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note a call; what `sys.setprofile` asks for."""
        if event != "call" or frame.f_code.co_name == "<module>":
            return
        name = frame.f_code.co_filename
        if not name.startswith(f"{HOME}/"):
            return
        if _below(frame, LEFT_OUT):
            return
        name = name.removeprefix(f"{HOME}/")
        self.files[name] = self.files.get(name, 0) + 1
        self.hops += name != self._here
        self._here = name


def _below(frame: FrameType | None, places: tuple[str, ...]) -> bool:
    """Say whether a call, or one that led to it, is in one of these places."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(places):
            return True
        frame = frame.f_back
    return False


def walk(arguments: list[str]) -> Walk:
    """Run a command twice, each time in an empty folder, and watch it the second time."""
    from typer.testing import CliRunner

    from lamina.cli import app

    watched = Walk()
    for watch in (False, True):
        folder = tempfile.mkdtemp()
        try:
            with chdir(folder):
                if watch:
                    threading.setprofile(watched)
                    sys.setprofile(watched)
                done = CliRunner().invoke(app, arguments)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            shutil.rmtree(folder)
        if done.exit_code:
            raise SystemExit(f"{' '.join(arguments)} ended with {done.exit_code}:\n{done.output}")
    return watched


def main() -> None:
    """Print files with their calls, then the two numbers."""
    as_json = "--json" in sys.argv
    found = walk([word for word in sys.argv[1:] if word != "--json"])
    if as_json:
        print(json.dumps({"files": len(found.files), "hops": found.hops, "calls": found.files}, indent=1))
        return
    for name, calls in found.files.items():
        print(f"{calls:8,}  {name}")
    print(f"{len(found.files)} files, {found.hops:,} hops between files")


if __name__ == "__main__":
    main()
