"""The drawing that suits a model."""

import pytest
from torch import nn

import lamina
from lamina._errors import ArgumentError
from lamina.drawing.of_model import drawing_of
from lamina.drawing.scene import Text


def words(scene):
    return [s.content for s in scene.shapes if isinstance(s, Text)]


def test_a_drawing_suits_its_model():
    assert drawing_of(lamina.build("fnn", inputs=2, outputs=1, hidden=3)).title == "Network 2-3-1"
    assert drawing_of(lamina.build("fnn", inputs=2, outputs=1, hidden=3), style="boxes").description == (
        "input 2, fully connected 3, fully connected 1, 13 parameters."
    )
    assert drawing_of(lamina.build("lenet5")).title == "LeNet5"
    recurrent = drawing_of(lamina.build("many-to-one", hidden=3, layers=2, cell="lstm", bidirectional=True))
    assert "ManyToOne" in words(recurrent)
    numbers = sum(
        p.numel() for p in lamina.build("many-to-one", hidden=3, layers=2, cell="lstm", bidirectional=True).parameters()
    )
    assert recurrent.description == (
        f"LSTM cells unrolled in time, 2 layers of 3 units, in both directions, {numbers} parameters."
    )
    with pytest.raises(ArgumentError, match="`inputs` must be the shape of one example or a batch: Sequential"):
        drawing_of(nn.Sequential(nn.Conv2d(1, 1, 1)))
