"""Changed weights land where they belong; what cannot be read is said."""

import pytest
import torch

from lamina._errors import DataError
from lamina.pages.chapters.ch2.backpropagation._changes import changed

W, b = [torch.zeros(2, 2), torch.zeros(1, 2)], [torch.zeros(2), torch.zeros(1)]


def test_changes_are_put_into_copies():
    weights, biases = changed("W1 1 2=0.5; b0 2 = −1 ;W0 2 1=3; W7 1 1=9; W0 3 1=9", W, b)
    assert weights[1].tolist() == [[0.0, 0.5]] and weights[0].tolist() == [[0.0, 0.0], [3.0, 0.0]]
    assert biases[0].tolist() == [0.0, -1.0] and biases[1].tolist() == [0.0]
    assert not any(part.any() for part in (*W, *b)), "the others stay"


@pytest.mark.parametrize("text", ["W0 1=2", "b0 1 1=2", "w0 1 1=2", "W0 1 1=x", "W0 1 1=nan", "W0 1 1=1e9"])
def test_nonsense_is_said(text):
    with pytest.raises(DataError, match=r"must look like W0 1 2=0.5 or b0 1=-1, got "):
        changed(text, W, b)
