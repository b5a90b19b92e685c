"""What the pages share in ch3: numbers by hand, and what the notes say of them."""

import torch

from lamina.drawing.palettes import signed
from lamina.pages.chapters.ch3._shared import pixels, shades


def test_colors_and_pixels():
    assert pixels(torch.tensor([[[0.0]], [[0.5]], [[1.0]]])) == [[[0, 128, 255]]]
    assert shades(torch.tensor([[1.0, -0.5]]), 1.0) == [[signed(1.0), signed(-0.5)]]
    assert shades(torch.zeros(1, 1)) == [[signed(0.0)]]
