"""The pieces of a stack: sides that grow with the logarithm, thin layers behind the one that they follow."""

from lamina.drawing._layers import Layer
from lamina.drawing._pieces import grouped, link, sides


def test_sides_of_blocks():
    assert [round(side) for side in sides(Layer("input", (1, 28, 28)))] == [8, 92, 17]
    assert sides(Layer("detector", (6, 28, 28)))[0] == 7.0


def test_thin_layers_follow_those_of_their_shape():
    layers = [Layer("convolution", (6, 4, 4)), Layer("detector", (6, 4, 4)), Layer("pooling", (6, 2, 2))]
    assert grouped(layers) == [[0, 1], [2]]


def test_an_arrow_needs_room():
    assert link(0.0, 8.0) == [] and link(0.0, 20.0)[0].points == ((1.5, 0.0), (18.5, 0.0))
