"""The drawings of the page ch5/gates: numbers by hand, and what the notes say of them."""

import pytest
import torch

from lamina.drawing.cells import CELLS
from lamina.drawing.scene import Text
from lamina.pages.chapters.ch5.gates._drawing import live_cell


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_live_cell_writes_every_number_once(kind):
    values = {part.name: torch.tensor([number / 100]) for number, part in enumerate(CELLS[kind].parts)}
    words = [shape.content for shape in live_cell(kind, values).shapes if isinstance(shape, Text)]
    for part in CELLS[kind].parts:
        shown = f"{values[part.name].item():.2f}"
        wanted = 0 if part.kind == "concatenate" or part.name == "squash" else 1
        assert sum(word.endswith(shown) for word in words) == wanted, part.name
