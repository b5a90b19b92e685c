"""Scripts and commands in the process of the tests, where torch is imported already, instead of one of their own."""

import contextlib
import io
import runpy
import sys
from dataclasses import dataclass
from pathlib import Path

import jaxtyping
import pytest

from lamina.cli import main


@dataclass(frozen=True)
class Done:
    """How it ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


def script(path: Path, *options: object) -> Done:
    """Run a script of Python as `python PATH OPTIONS` would, without the shape checker."""
    return _done(lambda: runpy.run_path(str(path), run_name="__main__"), str(path), *options)


def command(*words: object) -> Done:
    """Type `lamina` and more words, without the shape checker."""
    return _done(main, "lamina", *words)


def _done(work, *words: object) -> Done:
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", list(map(str, words)))
        patch.setattr(sys, "path", [*sys.path])
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                work()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
                if isinstance(end.code, str):
                    print(end.code, file=err)
    return Done(code, out.getvalue(), err.getvalue())
