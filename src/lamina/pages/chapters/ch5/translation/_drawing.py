"""The drawing of the page on translation: the words that go in and come out of an unrolled network."""

from collections.abc import Sequence
from functools import partial

from lamina.drawing.parts import Board, Spot
from lamina.drawing.scene import FROM, Scene, Text
from lamina.drawing.text import width as text_width

SIZE, ROW, RADIUS, SMALL = 12.0, 46.0, 10.0, 6.5
WIDEST = 760.0
"""The width from which on words stand upright."""


def conversation(read: Sequence[str], written: Sequence[str], *, upright: bool = False) -> Scene:
    """Draw an encoder with the words that it reads below it, and a decoder with the words that it writes above it.

    >>> from lamina.drawing.parts import edges
    >>> edges(conversation(["the", "<end>"], ["die"]))[-2:]
    [('h<2>', 'h<3>'), ('h<3>', 'y<3>')]
    """
    lengths = [text_width(_plain(word), SIZE) for word in (*read, *written)]
    radius = SMALL if upright else RADIUS
    step = 2 * radius + 10 if upright else max(2 * radius + 14, max(lengths) + 12)
    steps = len(read) + len(written)
    if not upright and step * steps > WIDEST:
        return conversation(read, written, upright=True)
    board, before = Board(), None
    for t, word in enumerate((*read, *written), 1):
        x, reads = step * (t - 1), t <= len(read)
        h = board.node((x, 0), "", "hidden", name=f"h<{t}>", radius=radius)
        end = (x, ROW) if reads else (x, -ROW)
        other = board.node(end, "", "input" if reads else "output", name=f"{'u' if reads else 'y'}<{t}>", radius=radius)
        if reads:
            board.link(other, h)
        if before is not None:
            board.link(before, h)
        if not reads:
            board.link(h, other)
        board.add(_word(word, other, below=reads, upright=upright))
        before = h
    made = board.scene(
        "an encoder and a decoder", f"It reads {len(read)} tokens, one at each step, and writes {len(written)}."
    )
    if upright or made.width <= FROM:
        return made
    return Scene(
        made.width, made.height, made.shapes, made.title, made.description,
        partial(conversation, read, written, upright=True),
    )  # fmt: skip


def _plain(word: str) -> str:
    return word.replace("\\", "").replace("$", r"\$")  # what a visitor typed is no formula


def _word(word: str, node: Spot, *, below: bool, upright: bool) -> Text:
    x, y = node.bottom if below else node.top
    side = 1 if below else -1
    if upright:
        return Text((x, y + 5 * side), _plain(word), SIZE, "ink", "end" if below else "start", angle=90.0)
    return Text((x, y + (SIZE / 2 + 4) * side), _plain(word), SIZE, "ink", "middle")
