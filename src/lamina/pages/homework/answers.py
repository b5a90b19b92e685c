"""The answers of a class as a CSV file: one line a hand-in, complete or absent, whenever the machine stops.

A line is written at once and reaches the disk before its sender is told. What a killed process left of a line is cut
off at the next start. A cell that a spreadsheet would compute (=, +, -, @ first) gets an apostrophe, unless it is a
number, which it need not compute.
"""

import csv
import io
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lamina._errors import ArgumentError, RunError
from lamina._system import lock
from lamina.pages.homework.exercises import number

TRIES, LINES = 20, 20_000
"""How often one name may hand in, and how many lines the file may have."""


class FullError(RunError):
    """No more is taken; the sentence says why."""


def safe(cell: str) -> str:
    r"""Make a cell that no spreadsheet takes for a formula, on one line.

    >>> safe("=1+1"), safe("-0.5"), safe("-1/2"), safe("@a"), safe("Ada"), safe("a\nb")
    ("'=1+1", '-0.5', "'-1/2", "'@a", 'Ada', 'a b')
    """
    plain = " ".join(re.sub(r"[\x00-\x1f\x7f\u2028\u2029]", " ", cell).split())
    harmless = number(plain) is not None and "/" not in plain
    return f"'{plain}" if plain[:1] in tuple("=+-@|%＝＋－＠") and not harmless else plain


class Answers:
    """The file, open and locked as long as this lives.

    Args:
        path: of the CSV file; it is made, or goes on.
        count: how many questions there are.

    Raises:
        ArgumentError: it holds something else, or another server writes to it.
    """

    def __init__(self, path: Path, count: int) -> None:
        answers = [name for i in range(1, count + 1) for name in (f"q{i}", f"q{i} right")]
        self._head = ["time", "name", "try", "right", "of", *answers]
        self._lock, self._tries, self._lines = threading.Lock(), Counter[str](), 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        except OSError as error:
            raise ArgumentError(f"`--collect` {path} cannot be written: {error.strerror or error}.") from None
        try:
            lock(self._handle, wait=False)
        except OSError:
            os.close(self._handle)
            raise ArgumentError(
                f"`--collect` {path} is being written by another server: choose another file."
            ) from None
        try:
            self._go_on(path)
        except BaseException:
            os.close(self._handle)
            raise

    def _go_on(self, path: Path) -> None:
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if content and not whole and not _line(self._head).startswith(content):
            whole = content
        try:
            rows = list(csv.reader(whole.decode().splitlines()))
        except (UnicodeDecodeError, csv.Error):
            rows = [[]]
        if rows and rows[0] != self._head:
            raise ArgumentError(
                f"`--collect` {path} holds something else than answers to these {(len(self._head) - 5) // 2} "
                "questions: choose another file."
            )
        os.ftruncate(self._handle, len(whole))
        if not rows:
            self._write(_line(self._head))
        for row in rows[1:]:
            self._tries[_key(row[1])] += 1
        self._lines = max(0, len(rows) - 1)

    def add(self, name: str, given: Sequence[str], right: Sequence[bool]) -> int:
        """Keep what somebody has handed in.

        Args:
            name: who.
            given: the answers.
            right: whether each is right.

        Returns:
            The number of this try.

        Raises:
            FullError: the name has had all of its tries, or the file is full.
            RunError: the disk does not take it.
        """
        with self._lock:
            tries = self._tries[_key(safe(name))] + 1
            if tries > TRIES:
                raise FullError(f"{TRIES} tries have been handed in under this name, and that is the limit.")
            if self._lines >= LINES:
                raise FullError(f"{LINES} tries have been handed in, and that is all that is collected.")
            cells = [cell for answer, good in zip(given, right, strict=True) for cell in (safe(answer), str(int(good)))]
            when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            self._write(_line([when, safe(name), str(tries), str(sum(right)), str(len(right)), *cells]))
            self._tries[_key(safe(name))], self._lines = tries, self._lines + 1
            return tries

    def _write(self, line: bytes) -> None:
        before = os.fstat(self._handle).st_size
        try:
            if os.write(self._handle, line) != len(line):
                raise OSError("no space left")
            os.fsync(self._handle)
        except OSError as error:
            os.ftruncate(self._handle, before)
            raise RunError(f"the answers could not be kept ({error.strerror or error}): tell your teacher.") from None

    def close(self) -> None:
        """Let others write."""
        os.close(self._handle)


def _key(name: str) -> str:
    return " ".join(name.casefold().split())


def _line(cells: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()
