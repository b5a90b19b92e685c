"""Questions of a homework: those of a page, with numbers from the teacher's table, or the teacher's own.

Everybody gets other numbers: which rows of the table somebody works with follows from the name, so that it is the same
each time. The right answers are computed by the functions that the page shows.
"""

import csv
import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from lamina._errors import ArgumentError, DataError
from lamina.backprop.backpropagation import unflatten
from lamina.backprop.sweep import sweep
from lamina.classical.linear_regression import fit
from lamina.functional.initialization import gaussian
from lamina.pages.site.contents import Page, find

TOLERANCE = 0.01
"""How far from the right number an answer may be, relative to it, unless the table of questions says otherwise."""
SMALLEST = 5e-4
"""How far it may always be: four digits are shown."""
QUESTIONS, ROWS, BYTES = 40, 10_000, 5_000_000
"""The most questions, the most rows of a table, and the most bytes of its file."""
OWN = ("question", "answer")
"""The columns by which a table of the teacher's own questions is known; `tolerance` may be a third."""


@dataclass(frozen=True)
class Question:
    """One question.

    Args:
        text: what is asked, plain words.
        answer: what is right: a number as text, or words.
        tolerance: how far a number may be from it, relative to it.
    """

    text: str
    answer: str
    tolerance: float = TOLERANCE

    def right(self, given: str) -> bool:
        """Say whether an answer is right: a number within the tolerance, words but for capitals and spaces.

        >>> Question("", "0.35").right("0,351"), Question("", "0.35").right("0.4"), Question("", "ReLU").right(" relu ")
        (True, False, True)
        """
        wanted, got = number(self.answer), number(given)
        if wanted is None:
            return _words(given) == _words(self.answer)
        return got is not None and abs(got - wanted) <= max(SMALLEST, self.tolerance * abs(wanted))


def number(text: str) -> float | None:
    """Read a number as people write it, None where it is none.

    >>> number("−1,5"), number("2e-3"), number("1,000.5"), number("nan"), number("")
    (-1.5, 0.002, None, None, None)
    """
    plain = text.strip().replace("−", "-")
    if "." not in plain:
        plain = plain.replace(",", ".", 1)
    if not re.fullmatch(r"[+-]?(\d{1,40}\.?\d{0,40}|\.\d{1,40})([eE][+-]?\d{1,3})?", plain, re.ASCII):
        return None
    value = float(plain)
    return value if math.isfinite(value) else None


def _words(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@dataclass(frozen=True)
class Assignment:
    """A homework.

    Args:
        page: the page that it belongs to.
        count: how many questions it has.
        asked: gives what somebody is told first, and the questions, by the name.
    """

    page: Page
    count: int
    asked: Callable[[str], tuple[str, list[Question]]]


def assign(path: str, data: Path | None = None) -> Assignment:
    """Make a homework for a page.

    Args:
        path: the link of the page.
        data: a CSV file: the teacher's questions (columns `question` and `answer`), or numbers for those of the page.

    Raises:
        ArgumentError: there is no such page, or no question for it.
        DataError: the table cannot be read, or does not fit the page.
    """
    page = find(path)
    head, rows = _read(data) if data is not None else ([], [])
    if {*OWN} <= {*head}:
        questions = _own(head, rows)
        return Assignment(page, len(questions), lambda name: ("", questions))
    if page.path not in _EXERCISES:
        raise ArgumentError(
            f"`--assign` has no questions for {page.path}, only for {', '.join(_EXERCISES)}: give your own with "
            "--data, a CSV file with the columns question and answer."
        )
    make, least, columns = _EXERCISES[page.path]
    table = _numbers(head, rows, columns) if data is not None else _DEFAULT[page.path]
    if len(table) < least:
        raise DataError(f"`--data` must have at least {least} rows of numbers for {page.path}, got {len(table)}.")

    def asked(name: str) -> tuple[str, list[Question]]:
        place = int.from_bytes(hashlib.sha256(_words(name).encode()).digest()[:8], "big")
        return make(table, place)

    return Assignment(page, len(asked("")[1]), asked)


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        if path.stat().st_size > BYTES:
            raise DataError(f"`--data` may have at most {BYTES / 1e6:.0f} MB, got {path.stat().st_size / 1e6:.1f} MB.")
        lines = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"`--data` {path} cannot be read as a CSV file in UTF-8: {error}.") from None
    rows = [row for row in lines if any(cell.strip() for cell in row)]
    if len(rows) < 2 or len(rows) > ROWS + 1:
        raise DataError(f"`--data` must have a line of names and 1 to {ROWS} rows, got {max(0, len(rows) - 1)} rows.")
    return [name.strip().lower() for name in rows[0]], rows[1:]


def _own(head: list[str], rows: list[list[str]]) -> list[Question]:
    if len(rows) > QUESTIONS:
        raise DataError(f"`--data` may have at most {QUESTIONS} questions, got {len(rows)}.")
    found = []
    for line, row in enumerate(rows, 2):
        cells = dict(zip(head, (cell.strip() for cell in row), strict=False))
        tolerance = number(cells.get("tolerance") or str(TOLERANCE))
        if not cells.get("question") or not cells.get("answer") or tolerance is None or tolerance < 0:
            raise DataError(
                f"line {line} of `--data` must have a question, an answer and, if any, a tolerance of at least 0, got "
                f"{', '.join(row)[:60]!r}."
            )
        found.append(Question(cells["question"], cells["answer"], tolerance))
    return found


def _numbers(head: list[str], rows: list[list[str]], columns: int) -> list[list[float]]:
    """Take the columns in which every cell is a number: the first ones are inputs, the last one is the target."""
    wide = [i for i in range(len(head)) if all(i < len(row) and number(row[i]) is not None for row in rows)]
    if len(wide) < columns:
        raise DataError(
            f"`--data` must have at least {columns} columns of numbers, got {len(wide)}, or the columns question and "
            "answer."
        )
    return [[number(row[i]) or 0.0 for i in (*wide[: columns - 1], wide[-1])] for row in rows]


def _backpropagation(table: Sequence[Sequence[float]], place: int) -> tuple[str, list[Question]]:
    first, second, target = table[place % len(table)]
    if bad := [row[-1] for row in table if not 0 <= row[-1] <= 1]:
        raise DataError(f"the last column of `--data` is what the network should answer, from 0 to 1, got {bad[0]:g}.")
    theta = (10 * gaussian((1, 9), 0.8, place // len(table) % 1000)[0].double()).round() / 10
    weights, biases = unflatten(theta, (2, 2, 1))
    u, wanted = torch.tensor([[first, second]], dtype=torch.float64), torch.tensor([[target]], dtype=torch.float64)
    found = sweep(weights, biases, ["tanh", "sigmoid"], u, wanted, "bce")
    lines = {(line.name, line.layer): line.value.flatten().tolist() for line in found}
    told = (
        "A network 2-2-1 with tanh in the hidden layer, a sigmoid at the end and the cross entropy as loss. Your "
        f"sample: u = ({first:g}, {second:g}), wanted S = {target:g}. W[0] = {_matrix(weights[0])}, "
        f"b[0] = {_row(biases[0])}, W[1] = {_matrix(weights[1])}, b[1] = {_row(biases[1])}."
    )
    asked = (
        ("What is y₁[1], the first hidden value?", lines["y", 1][0]),
        ("What is y₂[1], the second hidden value?", lines["y", 1][1]),
        ("What does the network answer, y[2]?", lines["y", 2][0]),
        ("What is the loss?", lines["loss", 2][0]),
        ("What is z̄[2], the gradient of the loss by z[2]?", lines["z_bar", 2][0]),
        ("What is W̄₁₂[1], the gradient by the second weight of the last layer?", lines["W_bar", 2][1]),
        ("What is z̄₁[1], the gradient by the first hidden sum?", lines["z_bar", 1][0]),
        ("What is W̄₁₁[0], the gradient by the weight from u₁ to the first hidden node?", lines["W_bar", 1][0]),
    )
    return told, [Question(text, repr(value)) for text, value in asked]


def _regression(table: Sequence[Sequence[float]], place: int) -> tuple[str, list[Question]]:
    parts = [[table[(first + i) % len(table)] for i in range(min(5, len(table)))] for first in range(len(table))]
    if any(len({x for x, _ in part}) < 2 for part in parts):
        raise DataError("the first column of `--data` must differ among any 5 rows in a row, or no line is the best.")
    rows = parts[place % len(table)]
    inputs = torch.tensor([[1.0, x] for x, _ in rows], dtype=torch.float64)
    found = fit(inputs, torch.tensor([y for _, y in rows], dtype=torch.float64))
    pairs = ", ".join(f"({x:g}, {y:g})" for x, y in rows)
    told = f"Your points (u, S): {pairs}. The line is y = b + w u, the loss 1/(2N) Σ (y − S)²."
    asked = (
        ("What is w of the line with the smallest loss?", found.weight[1].item()),
        ("What is its b?", found.weight[0].item()),
        ("What is the loss of this line?", found.loss),
        (f"What does it answer for u = {rows[0][0]:g}?", found.predict(inputs[:1])[0].item()),
    )
    return told, [Question(text, repr(value)) for text, value in asked]


def _row(values: torch.Tensor) -> str:
    return "(" + ", ".join(f"{value + 0.0:g}" for value in values.tolist()) + ")"


def _matrix(values: torch.Tensor) -> str:
    return "(" + "; ".join(", ".join(f"{value + 0.0:g}" for value in row) for row in values.tolist()) + ")"


_EXERCISES = {"ch2/backpropagation": (_backpropagation, 1, 3), "ch1/regression": (_regression, 3, 2)}
_DEFAULT: dict[str, list[list[float]]] = {
    "ch2/backpropagation": [[1, -0.5, 1], [-1, 0.5, 0], [0.5, 2, 1], [-0.5, -1, 0], [2, 1, 1], [1.5, -2, 0]],
    "ch1/regression": [[0, 1], [1, 1.5], [2, 3.5], [3, 3], [4, 5], [5, 4.5], [6, 7], [7, 6.5]],
}
"""Numbers for those who bring none."""
