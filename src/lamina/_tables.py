"""Plain text tables, as the records of this package print themselves."""

from collections.abc import Sequence

Cell = str | int | float


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], left: int = 1) -> str:
    """Lay out rows under their headings; numbers to the right, the first `left` columns to the left.

    >>> print(table(("layer", "norm"), [("first", 0.5), ("last", float("nan"))]))
    layer  norm
    first   0.5
    last      -
    """
    cells = [list(columns), *([_text(value) for value in row] for row in rows)]
    widths = [max(len(row[j]) for row in cells) for j in range(len(columns))]

    def line(row: Sequence[str]) -> str:
        parts = [
            text.ljust(w) if j < left else text.rjust(w) for j, (text, w) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(parts).rstrip()

    return "\n".join(line(row) for row in cells)


def _text(value: Cell) -> str:
    if not isinstance(value, float):
        return str(value)
    return "-" if value != value else f"{value:.3g}"
