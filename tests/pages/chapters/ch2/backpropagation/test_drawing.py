"""The drawings of the page ch2/backpropagation: numbers by hand, and what the notes say of them."""

from math import hypot

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


def test_four_digits_and_a_sign_fit_into_a_node():
    scene = counted_network((2, 1), [["1", "2"], ["−0.6351"]], [["", ""], [""]], [[["1", "1"]]], [["−1.1"]])
    node = next(s for s in scene.shapes if isinstance(s, Circle) and s.title == "y[1](1)")
    word = next(s for s in scene.shapes if isinstance(s, Text) and s.content == "−0.6351")
    left, _, right, _ = box(word)
    high = 0.36 * word.size  # half the height of a digit
    corner = hypot((right - left) / 2, node.center[1] - word.at[1] + high)
    assert corner < node.radius - node.stroke.width / 2
