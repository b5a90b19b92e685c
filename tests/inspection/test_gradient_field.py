"""Receptive fields seen by gradients."""

import pytest
import torch
from torch import nn

from lamina.inspection.gradient_field import effective_field, field_hull
from lamina.inspection.receptive_field import receptive_field


@pytest.mark.notes("N3.36")
def test_the_effective_field_is_smaller_and_round():
    net = nn.Sequential(*[nn.Conv2d(1, 1, 3, padding=1, bias=False) for _ in range(6)])
    for layer in net:
        nn.init.constant_(layer.weight, 1 / 9)
    effect = effective_field(net, (1, 21, 21))
    assert field_hull(effect > 0) == ((4, 16), (4, 16)) == receptive_field(net, (1, 21, 21)).last.window()
    assert torch.allclose(effect.sum(), torch.ones((), dtype=torch.float64)) and effect.argmax() == 10 * 21 + 10
    assert torch.allclose(effect, effect.T) and torch.allclose(effect, effect.flip(0))
    # A random walk of 6 steps of variance 2/3: variance 4 along each axis.
    place = torch.arange(21.0, dtype=torch.float64) - 10
    assert torch.isclose((effect.sum(0) * place**2).sum(), torch.tensor(4.0, dtype=torch.float64))
