"""The one table writer: rows of texts under a head, as plain text, as Markdown or as HTML."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lamina._markup import Markup, tag

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~$&])")


@dataclass(frozen=True)
class Table:
    """Rows of texts under a head.

    Args:
        head: the names of the columns.
        rows: the texts.
        right: which columns are numbers and stand at the right.
        code: which columns are names to be typed.
        bars: column -> share of 1 for each row, drawn behind the number on a page.

    >>> print(Table(("layer", "norm"), (("first", "0.5"), ("last", "-")), right=(1,)).text())
    layer  norm
    first   0.5
    last      -
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: Sequence[int] = ()
    code: tuple[int, ...] = ()
    bars: tuple[tuple[int, tuple[float, ...]], ...] = ()

    def first(self, count: int) -> "Table":
        """Give the table with its first rows only."""
        return replace(self, rows=self.rows[:count])

    def text(self) -> str:
        """Write the table as lines of plain text with aligned columns."""
        cells = (self.head, *self.rows)
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(f"{word:{'>' if j in self.right else '<'}{widths[j]}}" for j, word in enumerate(row)).rstrip()
            for row in cells
        ]
        return "\n".join(lines)

    def markdown(self) -> list[str]:
        """Write the table as lines of Markdown, the last of them empty."""
        marks = ["---:" if j in self.right else "---" for j in range(len(self.head))]
        rows = [list(map(in_markdown, row)) for row in (self.head, *self.rows)]
        return [*("| " + " | ".join(row) + " |" for row in (rows[0], marks, *rows[1:])), ""]

    def html(self, kind: str = "", *, head: bool = True) -> Markup:
        """Write the table as HTML; numbers stand at the right, shares get a bar behind them."""
        names = [tag("th", name, class_=self._side(j), scope="col") for j, name in enumerate(self.head)]
        top = tag("thead", tag("tr", names)) if head else None
        rows = [tag("tr", [self._cell(i, j) for j in range(len(row))]) for i, row in enumerate(self.rows)]
        return tag("div", tag("table", top, tag("tbody", rows), class_=kind or None), class_="scroll")

    def _side(self, column: int) -> str | None:
        return "right" if column in self.right else None

    def _cell(self, i: int, j: int) -> Markup:
        text: Any = self.rows[i][j]
        if j in self.code and text:
            text = tag("code", text)
        share = dict(self.bars).get(j, ())
        if share and share[i] > 0:
            return tag("td", tag("span", text), class_="right barred", style=f"--v:{share[i]:.3f}")
        return tag("td", text, class_=self._side(j))


def in_markdown(value: str) -> str:
    r"""Write a text so that Markdown and HTML see no more in it.

    >>> print(in_markdown("<b>|`x`\n_y_"))
    \<b\>\|\`x\` \_y\_
    """
    return _SPECIAL.sub(r"\\\1", " ".join(value.split()))


def table(columns: Sequence[str], rows: Sequence[Sequence[str | float]], left: int = 1) -> str:
    """Write a table as plain text: numbers with three digits at the right, the first `left` columns at the left.

    >>> print(table(("layer", "norm"), [("first", 1 / 3), ("last", float("nan"))]))
    layer   norm
    first  0.333
    last       -
    """
    texts = tuple(tuple(_written(value) for value in row) for row in rows)
    return Table(tuple(columns), texts, range(left, len(columns))).text()


def _written(value: str | float) -> str:
    if not isinstance(value, float):
        return str(value)
    return "-" if value != value else f"{value:.3g}"


_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int = 8) -> str:
    """Draw a part of a whole as a bar, to an eighth of a letter; what is not zero is never invisible.

    >>> bar(0.5, 4), bar(1.0, 4), bar(0.001, 4), bar(0.0, 4)
    ('██', '████', '▏', '')
    """
    eighths = round(min(max(share, 0.0), 1.0) * 8 * width)
    if share > 0:
        eighths = max(eighths, 1)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
