"""Recurrent networks over time: rolled up and unrolled, the four shapes, both directions, several layers, shading."""

from collections.abc import Sequence

from lamina._errors import ArgumentError, at_least, between
from lamina.drawing.parts import Board, Spot
from lamina.drawing.scene import Scene, Text, beside, fitted

STEP, ROW = 56.0, 62.0
"""The distance between time steps and between the rows of inputs, states and outputs."""
STRONGEST = 80
"""The percentage of color of the strongest node: letters on it stay readable."""
SHAPES = {
    "one to many": (1, 3, 3),
    "many to one": (3, 3, 1),
    "many to many, late": (3, 5, 2),
    "many to many": (3, 3, 3),
}
"""The four shapes of the notes: how many inputs, cells and outputs each has."""


def _label(letter: str, t: int) -> str:
    return f"${letter}^{{<{t}>}}$"


def unrolled(
    steps: int = 3,
    *,
    inputs: Sequence[int] | None = None,
    outputs: Sequence[int] | None = None,
    labels: bool = True,
    dots: bool = False,
    radius: float = 18.0,
    title: str = "RNN unrolled",
) -> Scene:
    """Draw a recurrent network unrolled in time: inputs below, states in the middle, outputs on top.

    Notes: N5.04 (§5, Fig. 33).

    Args:
        steps: how many time steps, that is cells.
        inputs: the times (from 1) that have an input; all without it.
        outputs: the times that have an output; all without it.
        labels: write u, h, y with their time into the nodes.
        dots: end with an arrow to an ellipsis.
        radius: of the nodes, in points.
        title: of the scene.

    >>> from lamina.drawing.parts import edges
    >>> edges(unrolled(2))
    [('u<1>', 'h<1>'), ('h<1>', 'y<1>'), ('u<2>', 'h<2>'), ('h<1>', 'h<2>'), ('h<2>', 'y<2>')]
    """
    board = Board()
    _unroll(board, steps, inputs, outputs, labels=labels, dots=dots, radius=radius)
    return board.scene(title, f"{steps} cells that share their weights, one for each time step.")


def _times(name: str, given: Sequence[int] | None, steps: int) -> tuple[int, ...]:
    times = tuple(range(1, steps + 1)) if given is None else tuple(given)
    for t in times:
        between(name, t, 1, steps)
    return times


def _unroll(
    board: Board,
    steps: int,
    inputs: Sequence[int] | None = None,
    outputs: Sequence[int] | None = None,
    *,
    labels: bool = True,
    dots: bool = False,
    radius: float = 18.0,
    left: float = 0.0,
    step: float = STEP,
) -> None:
    at_least("steps", steps, 1)
    inputs, outputs = _times("inputs", inputs, steps), _times("outputs", outputs, steps)

    def put(letter: str, t: int, row: int, role: str) -> Spot:
        label = _label(letter, t) if labels else ""
        at = (left + (t - 1) * step, -row * ROW)
        return board.node(at, label, role, name=f"{letter}<{t}>", radius=radius)

    before = None
    for t in range(1, steps + 1):
        h = put("h", t, 1, "hidden")
        if t in inputs:
            board.link(put("u", t, 0, "input"), h)
        if before:
            board.link(before, h)
        if t in outputs:
            board.link(h, put("y", t, 2, "output"))
        before = h
    if dots and before:
        x, y = before.right[0], before.center[1]
        board.arrow(((x + 1, y), (x + 22, y)), title=f"{before.name} to later")
        board.text((x + 26, y), r"$\cdots$", size=16, anchor="start")


def _column(board: Board, x: float, words: str, loop: bool) -> None:
    """Draw u, h and y above each other, with a loop at h for a recurrent network."""
    nodes = ("u", "input"), ("h", "hidden"), ("y", "output")
    spots = [
        board.node(
            (x, -row * ROW), f"${letter}$", role, name=letter if not loop else f"{letter} of RNN", size=13, radius=18
        )
        for row, (letter, role) in enumerate(nodes)
    ]
    board.link(spots[0], spots[1])
    board.link(spots[1], spots[2])
    if loop:
        (cx, cy), r = spots[1].center, spots[1].half[0]
        start, end = (cx + 0.78 * r, cy - 0.66 * r), (cx + 0.8 * r + 1, cy + 0.68 * r)
        bend = (cx + 2.9 * r, cy - 1.5 * r), (cx + 2.9 * r, cy + 1.5 * r)
        board.arrow((start, *bend, end), title="h of RNN to h of RNN", curve=True)
    board.text((x, -2 * ROW - 36), words, size=13)


def fnn_and_rnn(steps: int = 3) -> Scene:
    """Draw a feedforward column, the same with a loop at its hidden node, and the loop unrolled in time.

    Notes: N5.04 (§5, Fig. 33).

    Args:
        steps: how many time steps are unrolled.

    >>> from lamina.drawing.parts import edges
    >>> ("h of RNN", "h of RNN") in edges(fnn_and_rnn())
    True
    """
    board = Board()
    _column(board, 0, "FNN", loop=False)
    _column(board, 110, "RNN", loop=True)
    _unroll(board, steps, dots=True, left=240)
    board.text((240 + STEP * (steps - 1) / 2, -2 * ROW - 36), "RNN unrolled", size=13)
    return board.scene(
        "FNN, RNN and unrolled RNN",
        "A feedforward network passes its input once; a recurrent one feeds its state back: unrolled, a chain.",
    )


def sequence_shape(inputs: int, cells: int, outputs: int, words: str = "") -> Scene:
    """Draw a recurrent network that reads at its first steps and answers at its last ones.

    Notes: N5.13 (§5, Fig. 35).

    Args:
        inputs: how many inputs, at the first cells.
        cells: how many time steps.
        outputs: how many outputs, at the last cells.
        words: what stands above.

    >>> from lamina.drawing.parts import named
    >>> named(sequence_shape(1, 2, 1))
    ['h<1>', 'u<1>', 'h<2>', 'y<2>']
    """
    at_least("cells", cells, 1)
    for name, value in (("inputs", inputs), ("outputs", outputs)):
        if not 0 <= value <= cells:
            raise ArgumentError(f"`{name}` must be between 0 and `cells` ({cells}), got {value}: add cells.")
    board, step = Board(), 36.0
    late = range(cells - outputs + 1, cells + 1)
    _unroll(board, cells, range(1, inputs + 1), late, labels=False, radius=11, step=step)
    if words:
        board.text((step * (cells - 1) / 2, -2 * ROW - 26), words, size=13)
    return board.scene(words or f"{inputs} inputs, {cells} cells, {outputs} outputs")


def four_shapes() -> Scene:
    """Draw the four shapes of recurrent networks: one to many, many to one, and many to many in two ways.

    Notes: N5.13 (§5, Fig. 35).

    >>> four_shapes().title
    'Four shapes of recurrent networks'
    """
    scenes = [sequence_shape(*counts, words.split(",")[0]) for words, counts in SHAPES.items()]
    return beside(*scenes, gap=28, align="bottom", title="Four shapes of recurrent networks")


def shaded(sensitivities: Sequence[float], outputs: Sequence[float] | None = None) -> Scene:
    """Draw an unrolled network in which a node is darker the more it feels the first input.

    The largest sensitivity has the strongest color, as the first input itself; zero is white.

    Notes: N5.29 (§5.2, Fig. 37).

    Args:
        sensitivities: one number for each state, for example the norms of the derivatives by the first input.
        outputs: the same for the outputs; those of the states without it.

    >>> shades = shaded([1.0, 0.7, 0.5])
    >>> [s.fill for s in shades.shapes if getattr(s, "title", "").startswith("h<") and " " not in s.title]
    ['accent!80', 'accent!56', 'accent!40']
    """
    rows = {"h": list(sensitivities), "y": list(sensitivities if outputs is None else outputs)}
    for name, row in rows.items():
        if not row or len(row) != len(rows["h"]):
            raise ArgumentError(
                f"`outputs` must have as many numbers as `sensitivities` ({len(rows['h'])}, at least 1), "
                f"got {len(row)}."
            )
        for value in row:
            at_least(f"sensitivities of {name}", value, 0)
    board, before = Board(), None
    for t in range(1, len(rows["h"]) + 1):
        u, h, y = (_shade(board, letter, t, row, rows) for row, letter in enumerate("uhy"))
        board.link(u, h)
        if before:
            board.link(before, h)
        board.link(h, y)
        before = h
    return board.scene(
        "Sensitivity to the first input", "The darker a node, the stronger it depends on the first input; it fades."
    )


def _shade(board: Board, letter: str, t: int, row: int, rows: dict[str, list[float]]) -> Spot:
    if letter == "u":
        shade = STRONGEST if t == 1 else 0
    else:
        values = rows[letter]
        shade = round(STRONGEST * values[t - 1] / (max(values) or 1.0))
    at, ink = ((t - 1) * STEP, -row * ROW), "#16181d" if shade >= 60 else "ink"
    spot = board.node(at, "", "accent", name=f"{letter}<{t}>", shade=shade)
    board.text(at, _label(letter, t), color=ink)
    return spot


def bidirectional(steps: int = 3, *, letter: str = "u") -> Scene:
    """Draw a bidirectional network: a chain of states forward in time, one backward, and outputs that read both.

    Notes: N5.23 (§5.1, Fig. 36).

    Args:
        steps: how many time steps.
        letter: what the inputs are called; the figure of the notes says x.

    >>> from lamina.drawing.parts import edges
    >>> edges(bidirectional(2))[-2:]
    [('h<1>', 'h<2>'), ('g<2>', 'g<1>')]
    """
    at_least("steps", steps, 1)
    board, step, shift = Board(), 104.0, 22.0
    states: dict[str, list[Spot]] = {"h": [], "g": []}
    for t in range(1, steps + 1):
        x = (t - 1) * step
        u = board.node((x, 0), _label(letter, t), "input", name=f"{letter}<{t}>")
        h = board.node((x - shift, -ROW), _label("h", t), "hidden", name=f"h<{t}>")
        g = board.node((x + shift, -2 * ROW), _label("g", t), "hidden", name=f"g<{t}>")
        y = board.node((x, -3 * ROW), _label("y", t), "output", name=f"y<{t}>")
        for start, end in ((u, h), (u, g), (h, y), (g, y)):
            board.link(start, end)
        states["h"].append(h)
        states["g"].append(g)
    for one, two in zip(states["h"][:-1], states["h"][1:], strict=True):
        board.link(one, two)
    for one, two in zip(states["g"][:-1], states["g"][1:], strict=True):
        board.link(two, one)
    left, right = -shift - 18, (steps - 1) * step + shift + 18
    board.text((left - 8, -ROW), "forward", size=11, color="muted", anchor="end")
    board.text((right + 8, -2 * ROW), "backward", size=11, color="muted", anchor="start")
    return board.scene(
        "Bidirectional RNN", "Each output reads a state that has seen the past and one that has seen the future."
    )


def deep(layers: int = 3, steps: int = 3, *, letter: str = "u") -> Scene:
    """Draw a deep recurrent network: layers of cells above each other, each reading the states of the one below.

    Notes: N5.23 (§5.1, Fig. 36).

    Args:
        layers: how many layers of cells.
        steps: how many time steps.
        letter: what the inputs are called; the figure of the notes says x.

    >>> from lamina.drawing.parts import edges
    >>> len(edges(deep(2, 3)))
    13
    """
    at_least("layers", layers, 1)
    at_least("steps", steps, 1)
    board, step = Board(), 66.0
    before: list[Spot] = []
    for t in range(1, steps + 1):
        x, column = (t - 1) * step, []
        below = board.node((x, 0), _label(letter, t), "input", name=f"{letter}<{t}>", radius=18)
        for layer in range(1, layers + 1):
            label = f"$h_{{{layer}}}^{{<{t}>}}$"
            spot = board.node((x, -layer * ROW), label, "hidden", name=f"h{layer}<{t}>", radius=18)
            board.link(below, spot)
            if before:
                board.link(before[layer - 1], spot)
            column.append(spot)
            below = spot
        top = (x, -(layers + 1) * ROW)
        board.link(below, board.node(top, _label("y", t), "output", name=f"y<{t}>", radius=18))
        before = column
    return board.scene(
        "Deep RNN", f"{layers} layers of cells; each reads the states of the layer below at the same time."
    )


def variants(steps: int = 3, layers: int = 2, *, letter: str = "x") -> Scene:
    """Draw a bidirectional and a deep recurrent network side by side.

    Notes: N5.23 (§5.1, Fig. 36).

    >>> variants().title
    'Bidirectional RNN; Deep RNN'
    """
    scenes = (bidirectional(steps, letter=letter), deep(layers, steps, letter=letter))
    titled = []
    for scene in scenes:
        heading = Text((scene.width / 2, -4), scene.title, 14.0, anchor="middle")
        titled.append(fitted((*scene.shapes, heading), title=scene.title, description=scene.description))
    return beside(*titled, gap=36, align="bottom")
