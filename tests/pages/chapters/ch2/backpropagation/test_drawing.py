"""The drawings of the page ch2/backpropagation: numbers by hand, and what the notes say of them."""

from lamina.drawing.scene import Text
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
