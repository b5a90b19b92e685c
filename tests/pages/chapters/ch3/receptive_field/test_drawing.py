"""The drawing of the page ch3/receptive_field: what a unit sees of a picture."""

import torch

from lamina.drawing.scene import Rectangle
from lamina.pages.chapters.ch3.receptive_field._drawing import seen_pixels


def test_the_frame_holds_what_the_unit_sees():
    scene = seen_pixels(torch.rand(28, 28, generator=torch.Generator().manual_seed(0)), ((0, 13), (6, 21)))
    assert "rows 0 to 13 and columns 6 to 21" in scene.description
    (frame,) = [shape for shape in scene.shapes if isinstance(shape, Rectangle)]
    assert frame.size == (16 * 11.0, 14 * 11.0)
