"""Drawing by name and by model."""

import pytest

import lamina
from lamina._errors import ArgumentError
from lamina.drawing.of_model import drawing_of


def test_a_model_a_name_and_the_files(tmp_path):
    network = lamina.build("lenet5")
    scene = lamina.draw(network, tmp_path / "net.svg", str(tmp_path / "net.tex"))
    assert scene == drawing_of(network) and lamina.draw("lenet5").title == "LeNet-5"
    assert "61,706 parameters" in scene.description
    assert (tmp_path / "net.svg").read_text().startswith("<svg")
    assert "\\begin{tikzpicture}" in (tmp_path / "net.tex").read_text()


def test_options_reach_the_maker():
    narrow, wide = lamina.draw("fnn", widths=(1, 2, 1)), lamina.draw("fnn", widths=(4, 2, 1))
    assert len(wide.shapes) > len(narrow.shapes)
    assert lamina.draw("cifar-resnet", style="boxes") == drawing_of(lamina.build("cifar-resnet"), style="boxes")
    assert lamina.draw("cifar-resnet", style="boxes") != lamina.draw("cifar-resnet")
    with pytest.raises(ArgumentError, match="the drawing 'gru' has no option 'foo': its options are legend."):
        lamina.draw("gru", foo=1)
    with pytest.raises(ArgumentError, match="'lenet' is not a drawing, an architecture .* Did you mean 'lenet5"):
        lamina.draw("lenet")
