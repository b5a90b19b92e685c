"""The drawing of the page on AlexNet: dropout."""

from collections.abc import Sequence

from lamina.drawing.parts import Board, Spot
from lamina.drawing.scene import Circle, Path, Scene, Stroke


def thinned_network(kept: Sequence[Sequence[bool]]) -> Scene:
    """Draw a dense network in which dropout has removed some units with all their arrows.

    >>> thinned_network([[True, True], [True, False]]).description
    'Of 4 units 1 is dropped; 2 of 4 arrows are left.'
    """
    board = Board()
    tallest = max(map(len, kept))
    spots: list[list[Spot]] = []
    for layer, units in enumerate(kept):
        role = "input" if layer == 0 else "output" if layer == len(kept) - 1 else "hidden"
        row = []
        for k, there in enumerate(units):
            at = (100.0 * layer, 38.0 * (k + (tallest - len(units)) / 2))
            row.append(board.node(at, "", role, name=f"unit {layer}.{k + 1}", radius=13) if there else _gone(board, at))
        spots.append(row)
    count = left = 0
    for layer in range(len(kept) - 1):
        for a, here in zip(spots[layer], kept[layer], strict=True):
            for b, there in zip(spots[layer + 1], kept[layer + 1], strict=True):
                count += 1
                if here and there:
                    left += 1
                    board.link(a, b, line=0.9)
    total, dropped = sum(map(len, kept)), sum(not there for units in kept for there in units)
    verb = "is" if dropped == 1 else "are"
    words = f"Of {total} units {dropped} {verb} dropped; {left} of {count} arrows are left."
    return board.scene("A network with dropout", words)


def _gone(board: Board, at: tuple[float, float]) -> Spot:
    """Put down a unit that is dropped: a dashed circle with a cross."""
    x, y = at
    gray = Stroke("stage", 1.1, (2.5, 2.0))
    board.add(Circle(at, 13, None, gray, title="dropped"))
    for slope in (1, -1):
        board.add(Path(((x - 6, y - 6 * slope), (x + 6, y + 6 * slope)), Stroke("output", 1.6)))
    return Spot("dropped", at, (13, 13), round=True)
