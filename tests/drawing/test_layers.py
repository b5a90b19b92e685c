"""Layers and stages of a stack, and what they refuse."""

import pytest

from lamina._errors import ArgumentError
from lamina.drawing._layers import Layer, Stage, flat, in_lines

DENSE = Layer("dense", (10,))


def test_layers_and_stages_name_themselves():
    assert str(DENSE) == "fully connected 10" and in_lines((96, 55, 55)) == ("96", "55×55")
    assert str(Stage("6 blocks", (Layer("block", (32, 4, 4)),), count=6)) == "6 residual blocks 32×4×4"
    assert list(flat([DENSE, Stage("s", (DENSE, DENSE))])) == [DENSE] * 3


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Layer("dense", ()), r"`shape` must have at least 1 axis, got \(\)"),
        (lambda: Stage("s", ()), "`layers` of the stage 's' must be at least 1, got 0"),
        (
            lambda: Stage("s", (DENSE,), ((0, 0),), projected=(1,)),
            "`projected` must be numbers of the 1 skips .*, got 1",
        ),
        (lambda: Stage("s", (DENSE,), ((0, 1),)), r"`skips` must be pairs of places from 0 to 0, got \(0, 1\)"),
    ],
)
def test_what_is_no_layer_is_refused(make, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        make()
