"""Processes of ours that are spoken to through pipes: how they begin, and what is theirs to say.

They import from where this process does, not from the folder in which it works, where a file `random.py` may lie. What
others print while a process begins is not taken for what it says.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

_HELLO = b"\0lamina speaks\n"


def command(module: str) -> list[str]:
    """Give the command of a process that runs `main` of a module.

    Args:
        module: its name, which the command ends with.

    >>> command("lamina.data.reader")[-1]
    'lamina.data.reader'
    """
    places = [os.fspath(place) for place in sys.path]
    code = f"import sys; sys.path[:] = {places!r}; from {module} import main; main()"
    return [sys.executable, "-P", "-c", code, module]


def voice() -> IO[bytes]:
    """In such a process: give where it speaks; what is printed goes among the complaints from here on."""
    sys.stdout.flush()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    out.write(_HELLO)
    out.flush()
    return out


def hear_hello(stream: IO[bytes]) -> None:
    """Leave out what others print before such a process speaks.

    Args:
        stream: what comes from it.

    Raises:
        EOFError: it ended before.
    """
    while not (line := stream.readline()).endswith(_HELLO):
        if not line:
            raise EOFError


def listening(take: Callable[[], Any], put: Callable[[Any], object]) -> Callable[[], None]:
    """In such a process: give a thread's work, which passes on what it is told and ends the process with its pipe.

    Args:
        take: waits for the next thing.
        put: passes it on.
    """

    def listen() -> None:
        try:
            while True:
                put(take())
        except EOFError:
            os._exit(0)
        except BaseException:  # nobody else would hear of it
            give_up()

    return listen


def give_up() -> None:
    """In such a process: write what has failed among the complaints, and end at once."""
    import traceback

    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)


def end_of(process: "subprocess.Popen[bytes]", patience: float = 10.0) -> int:
    """Give the exit status of a process that says nothing any more; it has time to complain.

    Args:
        process: which one.
        patience: seconds after which it is ended.
    """
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def last_words(log: IO[bytes], code: int | None, silent: str = "no message") -> str:
    """Say why such a process ended: by a signal, or as the last line of its complaints has it.

    Args:
        log: its complaints.
        code: its exit status, if that is known.
        silent: said when it did not complain.
    """
    if code is not None and code < 0:
        return f"exit code {code}"
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else silent


class Talk:
    """What is said to such a process and heard from it in pickles, by the one that started it.

    Args:
        process: which one.
        log: its complaints.
        silent: said when it ended and did not complain; its exit code by default.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", log: IO[bytes], silent: str = "") -> None:
        self._process, self._log, self._silent, self._speaks = process, log, silent, False

    def say(self, words: bytes) -> None:
        """Say something that is pickled."""
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended, which `hear` says
            self._process.stdin.write(words)
            self._process.stdin.flush()

    def hear(self) -> Any:
        """Wait for what it says next.

        Raises:
            EOFError: it has ended; the reason.
        """
        assert self._process.stdout is not None
        try:
            if not self._speaks:
                hear_hello(self._process.stdout)
                self._speaks = True
            return pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError) as error:
            code = end_of(self._process)
            raise EOFError(last_words(self._log, code, self._silent or f"exit code {code}")) from error
