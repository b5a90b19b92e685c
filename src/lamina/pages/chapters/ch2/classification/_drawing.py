"""The drawing of the page on classification."""

from collections.abc import Sequence

from lamina.drawing.scene import Rectangle, Scene, Shape, Stroke, Text


def counted_grid(matrix: Sequence[Sequence[int]], names: Sequence[str], *, cell: float = 30.0) -> Scene:
    """Draw a confusion matrix: rows are what it is, columns what it was taken for; right answers green, others red.

    >>> counted_grid([[3, 1], [0, 4]], ("no", "yes")).description
    '7 of 8 are right.'
    """
    left, top = 46.0, 40.0
    shapes: list[Shape] = [
        Text((left + len(names) * cell / 2, 10.0), "taken for", 12, "muted", "middle"),
        Text((9.0, top + len(names) * cell / 2), "is", 12, "muted", "middle", angle=90.0),
    ]
    for place, name in enumerate(names):
        shapes.append(Text((left + (place + 0.5) * cell, top - 11), name, 12, "ink", "middle"))
        shapes.append(Text((left - 8, top + (place + 0.5) * cell), name, 12, "ink", "end"))
    for i, row in enumerate(matrix):
        total = max(1, sum(row))
        for j, count in enumerate(row):
            share = round(100 * (count / total) ** 0.6)
            color = "input" if i == j else "output"
            fill = f"{color}!{min(45, share if i == j else 2 * share)}" if count else "paper"
            corner = (left + j * cell, top + i * cell)
            shapes.append(Rectangle(corner, (cell, cell), fill, Stroke("grid", 0.8)))
            if count:
                shapes.append(Text((corner[0] + cell / 2, corner[1] + cell / 2), f"{count:,}", 11, "ink", "middle"))
    right = sum(row[i] for i, row in enumerate(matrix))
    words = f"{right} of {sum(map(sum, matrix))} are right."
    size = (left + len(names) * cell + 6, top + len(names) * cell + 6)
    return Scene(*size, tuple(shapes), "confusion matrix", words)
