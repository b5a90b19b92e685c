"""The drawings of the page ch2/backpropagation: numbers by hand, and what the notes say of them."""

from dataclasses import replace
from math import hypot

import pytest

from lamina.drawing.scene import Circle, Text, box
from lamina.pages.chapters.ch2.backpropagation._drawing import counted_network


def test_numbers_of_a_network_stand_where_they_belong():
    scene = counted_network(
        (2, 1), [["1", "2"], ["3"]], [["", ""], ["z̄ 4"]], [[["5", "6"]]], [["7"]], active=[1], passed=[0]
    )
    words = [shape.content for shape in scene.shapes if isinstance(shape, Text)]
    assert {"1", "2", "3", "5", "6", "7", "z̄ 4"} <= set(words)
    titles = {shape.title: shape.content for shape in scene.shapes if isinstance(shape, Text) and shape.title}
    assert titles == {
        "y[0](1)": "1",
        "y[0](2)": "2",
        "y[1](1)": "3",
        "b[0](1)": "7",
        "W[0](1,1)": "5",
        "W[0](1,2)": "6",
    }


@pytest.mark.parametrize("slim", [False, True])
def test_four_digits_and_a_sign_fit_into_a_node(slim):
    scene = counted_network(
        (2, 2, 1), [["1", "2"], ["0", "−0.6351"], ["0"]], [["", ""], ["", ""], [""]], [[["1", "1"]] * 2, [["1", "1"]]],
        [["0", "−1.1"], ["0"]], active=[1],
    )  # fmt: skip
    scene = scene.narrower() if slim else scene
    node = next(s for s in scene.shapes if isinstance(s, Circle) and s.title == "y[1](2)")
    word = next(s for s in scene.shapes if isinstance(s, Text) and s.content == "−0.6351")
    grown = max(1.0, 11.0 / word.size * scene.width / 300.0) if slim else 1.0  # as the style sheet does on a phone
    left, _, right, _ = box(replace(word, size=grown * word.size))
    high = 0.36 * word.size  # half the height of a digit
    corner = hypot((right - left) / 2, node.center[1] - word.at[1] + high)
    assert corner < node.radius - node.stroke.width / 2
