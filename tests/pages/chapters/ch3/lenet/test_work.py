"""The work of the page ch3/lenet: strokes of a pen become ink."""

import pytest

from lamina._errors import ArgumentError
from lamina.pages.chapters.ch3.lenet._work import STROKES, inked


def test_ink_lies_within_half_a_pen_of_the_line():
    ink = inked([[(0.5, 0.1), (0.5, 0.9)]], side=20, pen=0.09)
    assert ink[10, 7:13].tolist() == pytest.approx([0, 0.8, 1, 1, 0.8, 0], abs=1e-5) and ink[:, 0].sum() == 0
    assert all(0.02 < inked(strokes, side=28).mean() < 0.3 for strokes in STROKES)


def test_strokes_without_a_line_are_refused():
    with pytest.raises(ArgumentError, match="at least 2 places, got 1 without one"):
        inked([[(0.5, 0.5)]])
