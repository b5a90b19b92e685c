"""The drawings of the page ch1/logic: numbers by hand, and what the notes say of them."""

import pytest

from lamina.pages.chapters.ch1.logic._drawing import _firing


@pytest.mark.notes("N1.74")
@pytest.mark.parametrize(
    ("weight", "bias", "inside", "outside"),
    [
        ((1.0, 1.0), -0.5, (1.0, 1.0), (0.0, 0.0)),
        ((1.0, -1.0), 0.0, (1.0, 0.0), (0.0, 1.0)),
        ((2.0, 0.0), -1.0, (1.0, 0.0), (0.0, 0.0)),
        ((-2.0, 0.0), 1.0, (0.0, 1.0), (1.0, 1.0)),
        ((0.0, -1.0), 0.5, (0.0, 0.0), (1.0, 1.0)),
    ],
)
def test_half_planes_fill_the_side_that_fires(weight, bias, inside, outside):
    (band,), border = _firing(weight, bias)

    def covered(x, y):
        pieces = zip(band.xs, band.xs[1:], band.low, band.low[1:], band.high, band.high[1:], strict=False)
        for a, b, low_a, low_b, high_a, high_b in pieces:
            if a <= x <= b:
                share = (x - a) / (b - a)
                return low_a + share * (low_b - low_a) <= y <= high_a + share * (high_b - high_a)
        return False

    assert covered(*inside) and not covered(*outside) and len(border) == 1
    for x, y in zip(border[0].xs, border[0].ys, strict=True):
        assert weight[0] * x + weight[1] * y + bias == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("bias", "bands"), [(0.0, 1), (-1.0, 0)])
def test_without_weights_the_bias_decides(bias, bands):
    filled, border = _firing((0.0, 0.0), bias)
    assert len(filled) == bands and border == []
