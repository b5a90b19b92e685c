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
from lamina.drawing.scene import Scene
from lamina.functional.initialization import gaussian
from lamina.pages.chapters.ch2.backpropagation._drawing import counted_network
from lamina.pages.site.contents import Page, find

TOLERANCE = 0.01
"""How far from the right number an answer may be, relative to it, unless the table of questions says otherwise."""
SMALLEST = 5e-4
"""How far from a computed number it may always be: four digits are shown."""
QUESTIONS, ROWS, BYTES = 40, 10_000, 5_000_000
"""The most questions, the most rows of a table, and the most bytes of its file."""
_DASHES = re.compile("[−–‒﹣－]")
_FRACTION = re.compile(r"([^/]{1,60})/([^/]{1,60})")
OWN = ("question", "answer")
"""The columns by which a table of the teacher's own questions is known; `tolerance` may be a third."""


@dataclass(frozen=True)
class Question:
    """One question.

    Args:
        text: what is asked, plain words.
        answer: what is right: a number as text, or words.
        tolerance: how far a number may be from it, relative to it.
        least: how far it may always be.
    """

    text: str
    answer: str
    tolerance: float = TOLERANCE
    least: float = 0.0

    def right(self, given: str) -> bool:
        """Say whether an answer is right: a number within the tolerance, words but for capitals and spaces.

        >>> Question("", "0.35").right("0,351"), Question("", "0.35").right("0.4"), Question("", "ReLU").right(" relu ")
        (True, False, True)
        >>> Question("", "61,706").right("61706"), Question("", "0.5").right("50 %"), Question("", "0.5").right("1/2")
        (True, True, True)
        """
        wanted = readings(self.answer)
        if not wanted:
            return _words(given) == _words(self.answer)
        return any(
            abs(got - value) <= max(self.least, self.tolerance * abs(value), 1e-12 * abs(value))
            for got in readings(given)
            for value in wanted
        )


def number(text: str) -> float | None:
    """Read a number as people write it, None where it is none; it may be a fraction.

    >>> number("−1,5"), number("2e-3"), number("–3/4"), number("1,000.5"), number("nan"), number("1/0"), number("")
    (-1.5, 0.002, -0.75, None, None, None, None)
    """
    plain = _DASHES.sub("-", text).strip()
    if found := _FRACTION.fullmatch(plain):
        above, below = number(found[1]), number(found[2])
        return above / below if above is not None and below else None
    if "." not in plain:
        plain = plain.replace(",", ".", 1)
    if not re.fullmatch(r"[+-]?(\d{1,40}\.?\d{0,40}|\.\d{1,40})([eE][+-]?\d{1,3})?", plain, re.ASCII):
        return None
    value = float(plain)
    return value if math.isfinite(value) else None


def readings(text: str) -> list[float]:
    """Give all numbers that a text may mean: thousands may be apart, per cent are a number or a share.

    >>> readings("≈ 0,35"), readings("1,500"), readings("61 706"), readings("2·10^-3"), readings("5 %"), readings("x")
    ([0.35], [1.5, 1500.0], [61706.0], [0.002], [0.05, 5.0], [])
    """
    plain = _DASHES.sub("-", text).strip().lstrip("=≈~ ").strip()
    share, plain = plain.endswith("%"), plain.removesuffix("%").strip()
    power = re.sub(r"\s*[·×*x]\s*10\s*\^\s*\(?([+-]?\d{1,3})\)?$", r"e\1", plain)
    meant = {number(power)}
    if re.fullmatch(r"[+-]?[1-9]\d{0,2}([,\s'’]\d{3})+(\.\d{0,40})?", plain):
        meant.add(number(re.sub(r"[,\s'’]", "", plain)))
    found = sorted(value for value in meant if value is not None)
    return [value / 100 for value in found] + found if share else found


def _words(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@dataclass(frozen=True)
class Assignment:
    """A homework.

    Args:
        page: the page that it belongs to.
        count: how many questions it has.
        asked: gives what somebody is told first, and the questions, by the name.
        drawn: gives a drawing of what somebody is told, by the name, where there is one.
    """

    page: Page
    count: int
    asked: Callable[[str], tuple[str, list[Question]]]
    drawn: Callable[[str], Scene | None] = lambda name: None


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

    def place(name: str) -> int:
        return int.from_bytes(hashlib.sha256(_words(name).encode()).digest()[:8], "big")

    def drawn(name: str) -> Scene | None:
        return _network(table, place(name)) if make is _backpropagation else None

    return Assignment(page, len(make(table, 0)[1]), lambda name: make(table, place(name)), drawn)


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    if not path.is_file():
        raise DataError(f"`--data` must be a CSV file, but {str(path)!r} is no file.")
    try:
        if path.stat().st_size > BYTES:
            raise DataError(f"`--data` may have at most {BYTES / 1e6:.0f} MB, got {path.stat().st_size / 1e6:.1f} MB.")
        text = path.read_text(encoding="utf-8-sig").splitlines()
        head = text[0] if text else ""
        lines = list(csv.reader(text, delimiter=max(",;\t", key=head.count)))  # some spreadsheets write semicolons
    except OSError as error:
        raise DataError(f"`--data` {path} cannot be read: {error.strerror or error}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"`--data` {path} must be a CSV file in UTF-8: {error}.") from None
    rows = [row for row in lines if any(cell.strip() for cell in row)]
    if len(rows) < 2 or len(rows) > ROWS + 1:
        raise DataError(f"`--data` must have a line of names and 1 to {ROWS} rows, got {max(0, len(rows) - 1)} rows.")
    return [name.strip().lower() for name in rows[0]], rows[1:]


def _own(head: list[str], rows: list[list[str]]) -> list[Question]:
    """Take questions of the teacher's; a whole number without a tolerance has to be exact."""
    if len(rows) > QUESTIONS:
        raise DataError(f"`--data` may have at most {QUESTIONS} questions, got {len(rows)}.")
    found = []
    for line, row in enumerate(rows, 2):
        if len(row) > len(head):
            raise DataError(
                f"line {line} of `--data` has {len(row)} cells, and the first line has {len(head)}: put a text with a "
                f"comma between quotation marks, got {', '.join(row)[:60]!r}."
            )
        cells = dict(zip(head, (cell.strip() for cell in row), strict=False))
        usual = 0.0 if cells.get("answer", "").isdecimal() else TOLERANCE
        tolerance = number(cells["tolerance"]) if cells.get("tolerance") else usual
        if not cells.get("question") or not cells.get("answer") or tolerance is None or tolerance < 0:
            raise DataError(
                f"line {line} of `--data` must have a question, an answer and, if any, a tolerance of at least 0, got "
                f"{', '.join(row)[:60]!r}."
            )
        found.append(Question(cells["question"], cells["answer"], tolerance))
    return found


def _numbers(head: list[str], rows: list[list[str]], columns: int) -> list[list[float]]:
    """Take the columns in which every cell is a number: the first ones are inputs, the last one is the target."""
    cells = [[row[i] if i < len(row) else "" for row in rows] for i in range(len(head))]
    wide = [i for i, column in enumerate(cells) if all(number(cell) is not None for cell in column)]
    if len(wide) < columns:
        other = [(head[i], next(c for c in cells[i] if number(c) is None)) for i in range(len(head)) if i not in wide]
        why = f" (column {other[0][0]!r} has {other[0][1][:30]!r})" if other else ""
        raise DataError(
            f"`--data` must have at least {columns} columns of numbers, or the columns question and answer; it has "
            f"{len(wide)} of numbers{why}."
        )
    return [[number(row[i]) or 0.0 for i in (*wide[: columns - 1], wide[-1])] for row in rows]


def _backpropagation(table: Sequence[Sequence[float]], place: int) -> tuple[str, list[Question]]:
    first, second, target = table[place % len(table)]
    if bad := [row[-1] for row in table if not 0 <= row[-1] <= 1]:
        raise DataError(f"the last column of `--data` is what the network should answer, from 0 to 1, got {bad[0]:g}.")
    weights, biases = _parameters(table, place)
    u, wanted = torch.tensor([[first, second]], dtype=torch.float64), torch.tensor([[target]], dtype=torch.float64)
    found = sweep(weights, biases, ["tanh", "sigmoid"], u, wanted, "bce")
    lines = {(line.name, line.layer): line.value.flatten().tolist() for line in found}
    told = (
        "A 2-2-1 network with tanh in the hidden layer, a sigmoid at the end and the cross entropy as its loss. Your "
        f"sample is u = ({first:g}, {second:g}) with the wanted answer S = {target:g}. W[0] = {_matrix(weights[0])}, "
        f"b[0] = {_row(biases[0])}, W[1] = {_matrix(weights[1])}, b[1] = {_row(biases[1])}."
    )
    asked = (
        ("What is y₁[1], the first hidden value?", lines["y", 1][0]),
        ("What is y₂[1], the second hidden value?", lines["y", 1][1]),
        ("What does the network answer, y[2]?", lines["y", 2][0]),
        ("What is the loss?", lines["loss", 2][0]),
        ("What is z̄[2], the derivative of the loss with respect to the last sum z[2]?", lines["z_bar", 2][0]),
        ("What is W̄₁₂[1], the derivative with respect to the second weight of the last layer?", lines["W_bar", 2][1]),
        ("What is z̄₁[1], the derivative with respect to the first hidden sum?", lines["z_bar", 1][0]),
        (
            "What is W̄₁₁[0], the derivative with respect to the weight from u₁ to the first hidden node?",
            lines["W_bar", 1][0],
        ),
    )
    return told, [Question(text, repr(value), least=SMALLEST) for text, value in asked]


def _parameters(table: Sequence[Sequence[float]], place: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    theta = (10 * gaussian((1, 9), 0.8, place // len(table) % 1000)[0].double()).round() / 10
    weights, biases = unflatten(theta, (2, 2, 1))
    return [*weights], [*biases]


def _network(table: Sequence[Sequence[float]], place: int) -> Scene:
    """Draw the network of somebody: what is given stands where it belongs, and what is asked is left open."""
    weights, biases = _parameters(table, place)
    word = lambda value: f"{value + 0.0:g}".replace("-", "−")  # noqa: E731
    inputs = [word(value) for value in table[place % len(table)][:2]]
    shown = [[[word(value) for value in row] for row in matrix.tolist()] for matrix in weights]
    beside = [[word(value) for value in row.tolist()] for row in biases]
    return counted_network((2, 2, 1), [inputs, ["?", "?"], ["?"]], [["", ""], ["", ""], [""]], shown, beside)


def _regression(table: Sequence[Sequence[float]], place: int) -> tuple[str, list[Question]]:
    parts = [[table[(first + i) % len(table)] for i in range(min(5, len(table)))] for first in range(len(table))]
    if any(len({x for x, _ in part}) < 2 for part in parts):
        raise DataError("the first column of `--data` must differ among any 5 rows in a row, or no line is the best.")
    rows = parts[place % len(table)]
    inputs = torch.tensor([[1.0, x] for x, _ in rows], dtype=torch.float64)
    found = fit(inputs, torch.tensor([y for _, y in rows], dtype=torch.float64))
    pairs = ", ".join(f"({x:g}, {y:g})" for x, y in rows)
    told = f"Your points (u, S): {pairs}. The line is y = b + w u, and its loss is 1/(2N) Σ (y − S)²."
    asked = (
        ("What is w of the line with the smallest loss?", found.weight[1].item()),
        ("What is its b?", found.weight[0].item()),
        ("What is the loss of this line?", found.loss),
        (f"What does it answer for u = {rows[0][0]:g}?", found.predict(inputs[:1])[0].item()),
    )
    return told, [Question(text, repr(value), least=SMALLEST) for text, value in asked]


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
