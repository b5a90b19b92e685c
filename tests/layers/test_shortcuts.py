import pytest
import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina.layers.shortcuts import ZeroPadShortcut, make_shortcut


@pytest.mark.notes("N4.06")
def test_zero_padding_keeps_every_second_pixel_and_appends_zeros():
    y = torch.arange(18.0, dtype=torch.float64).reshape(1, 2, 3, 3)
    outputs = ZeroPadShortcut(2, 3, 2)(y)
    assert outputs.tolist() == [[[[0, 2], [6, 8]], [[9, 11], [15, 17]], [[0, 0], [0, 0]]]]
    assert torch.equal(ZeroPadShortcut(2, 2)(y), y)


@pytest.mark.notes("N4.06")
def test_identity_when_sizes_agree_else_fixed_or_learned(generator):
    assert isinstance(make_shortcut("projection", 4, 4, 1), nn.Identity)
    assert isinstance(make_shortcut("zero-pad", 4, 4, 1), nn.Identity)
    assert isinstance(make_shortcut("zero-pad", 4, 8, 1), ZeroPadShortcut)
    learned = make_shortcut("projection", 2, 3, 2, norm=False).double()
    y = torch.randn(1, 2, 5, 5, generator=generator, dtype=torch.float64)
    by_hand = torch.einsum("oi,bihw->bohw", learned.weight[:, :, 0, 0], y[:, :, ::2, ::2])
    assert torch.allclose(learned(y), by_hand, rtol=0, atol=1e-14)
    assert [type(part).__name__ for part in make_shortcut("projection", 2, 2, 2)] == ["Conv2d", "BatchNorm2d"]


def test_errors_name_the_way_out():
    with pytest.raises(ArgumentError, match="`shortcut` must be one of 'projection', 'zero-pad', got 'option A'"):
        make_shortcut("option A", 1, 2, 1)
    with pytest.raises(ArgumentError, match=r'at least `in_channels` \(4\), got 2: .* use shortcut="projection"'):
        ZeroPadShortcut(4, 2)
    with pytest.raises(ArgumentError, match="`stride` must be at least 1, got 0"):
        ZeroPadShortcut(4, 4, 0)
    assert ZeroPadShortcut(4, 6, 2).extra_repr() == "extra=2, stride=2"
