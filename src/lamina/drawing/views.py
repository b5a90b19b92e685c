"""A convolutional layer seen in two ways: one layer of three stages, or three layers."""

import itertools
from dataclasses import replace
from functools import partial

from lamina.drawing.parts import Board, Spot
from lamina.drawing.scene import Rectangle, Scene, Stroke, Text

_PARTS = (("Convolution", "weights"), ("Detector", "activation"), ("Pooling", "pooling"))
WIDE, HIGH, DOWN = 152.0, 36.0, 64.0
FAR, NEAR = 290.0, 184.0
"""The distance of the two views, and that on a phone."""


def two_views(apart: float = FAR) -> Scene:
    """Draw convolution, detector and pooling as stages of one gray layer, and as layers of their own.

    Notes: N3.10 (§3, Remark 3.1, Fig. 18).

    Args:
        apart: the distance of the two views; on a phone it is less.

    >>> from lamina.drawing.parts import named
    >>> [name for name in named(two_views()) if "stage" in name]
    ['Convolution stage', 'Detector stage', 'Pooling stage']
    """
    board = Board()
    height = 2 * DOWN + HIGH
    gray = Stroke("stage", 1.4)
    board.add(Rectangle((-122, 36), (214, height + 56), "stage!25", gray, radius=8, title="Convolutional layer"))
    board.add(Text((-104, 64 + height / 2), "Convolutional layer", 13.0, anchor="middle", angle=90.0, bold=True))
    _column(board, 0, "stage")
    _column(board, apart, "layer")
    board.text((0, -58), "one layer with stages", size=13, color="muted")
    board.text((apart, -58), "three layers", size=13, color="muted")
    scene = board.scene(
        "Two views of a convolutional layer", "Left: one layer of three stages. Right: the three operations as layers."
    )
    return replace(scene, narrower=partial(two_views, NEAR)) if apart > NEAR else scene


def _column(board: Board, x: float, word: str) -> None:
    spots: list[Spot] = [_end(board, x, -20, "Input")]
    for place, (name, role) in enumerate(_PARTS):
        label = f"{name} {word}"
        label, y = label.replace("Convolution layer", "Convolutional layer"), 82 + place * DOWN
        spots.append(board.plate((x, y), label, role, name=label, wide=WIDE, high=HIGH, shade=25, size=13))
    spots.append(_end(board, x, 82 + 2 * DOWN + 90, "Next layer"))
    for one, two in itertools.pairwise(spots):
        board.link(one, two)


def _end(board: Board, x: float, y: float, label: str) -> Spot:
    return board.plate((x, y), label, "input" if label == "Input" else "hidden", name=label, wide=100, high=30, size=13)
