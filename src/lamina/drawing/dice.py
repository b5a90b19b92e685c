"""Two dice as two rows of cells, the lower one turned around and shifted: discrete convolution without formulas."""

from fractions import Fraction

from lamina._errors import at_least, between
from lamina.drawing.parts import LINE, Board
from lamina.drawing.scene import Path, Point, Rectangle, Scene, Stroke
from lamina.functional.convolution import dice_sum_distribution

CELL = 34.0


def _pairs(total: int = 9, sides: int = 6) -> list[tuple[int, int]]:
    """List the rolls of two dice that add to `total`."""
    at_least("sides", sides, 1)
    between("total", total, 2, 2 * sides)
    return [(x, total - x) for x in range(1, sides + 1) if 1 <= total - x <= sides]


def dice_rows(total: int = 9, *, sides: int = 6, probabilities: bool = False, result: bool = True) -> Scene:
    """Draw the outcomes of two dice so that those which add to `total` stand above each other.

    The second row is turned around and shifted by total - sides - 1 cells. With `probabilities` the cells hold 1/sides
    instead; the products of the columns add to the probability of the total.

    Notes: N3.16, N3.17 (§3.1, Ex. 3.4).

    Args:
        total: the sum of both dice.
        sides: how many sides each die has.
        probabilities: write the probability of each outcome, not the outcome.
        result: write the sum of the products below.

    >>> dice_rows(9).description
    'The rows overlap in 4 cells: (3, 6), (4, 5), (5, 4), (6, 3).'
    """
    found = _pairs(total, sides)
    upper, lower = {x for x, _ in found}, {z for _, z in found}
    board = Board()
    for x in range(1, sides + 1):
        _cell(board, x - 1, 0, x, sides, probabilities, hit=x in upper)
        _cell(board, total - x - 1, 1, x, sides, probabilities, hit=x in lower)
    left, right = min(0, total - sides - 1) * CELL, max(sides, total - 1) * CELL
    if result:
        chance = dice_sum_distribution(2, sides)[total]
        each = Fraction(1, sides * sides)
        board.text(
            ((left + right) / 2, 2 * CELL + 24),
            rf"$P(X + Y = {total}) = {len(found)} \cdot {each} = {chance}$",
            size=14,
        )
    words = ", ".join(map(str, found))
    return board.scene(f"Two dice that add to {total}", f"The rows overlap in {len(found)} cells: {words}.")


def _cell(board: Board, column: int, row: int, outcome: int, sides: int, probabilities: bool, *, hit: bool) -> None:
    at = (column * CELL, row * CELL)
    fill = "pooling!30" if hit else "paper"
    name = f"{'upper' if row == 0 else 'lower'} {outcome}"
    board.add(Rectangle(at, (CELL, CELL), fill, Stroke("ink", LINE), title=name))
    center = (at[0] + CELL / 2, at[1] + CELL / 2)
    if probabilities:
        _stacked_fraction(board, center, sides)
    else:
        board.text(center, str(outcome), size=15)


def _stacked_fraction(board: Board, center: Point, sides: int) -> None:
    """Write 1 over the number of sides."""
    x, y = center
    board.text((x, y - 8), "1", size=12)
    board.add(Path(((x - 7, y), (x + 7, y)), Stroke("ink", 1.1)))
    board.text((x, y + 8.5), str(sides), size=12)
