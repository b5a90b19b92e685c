import pytest
import torch

from lamina.kernels import native
from lamina.layers import Dropout
from lamina.populations._masks import stacked_dropout
from lamina.populations.stacked import _stack_modules
from populations.masks import COUNTER, RATE, SEED, layouts


def test_without_a_compiler_the_masks_are_the_same(monkeypatch):
    values = next(layouts(torch.float32))
    first = stacked_dropout(values, RATE, SEED, COUNTER, 1)
    monkeypatch.setattr(native, "works", lambda: False)
    assert torch.equal(first, stacked_dropout(values, RATE, SEED, COUNTER, 1))


@pytest.mark.parametrize("compiled", (True, False))
def test_in_float64_members_scale_by_their_rate_in_float64(compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(native, "works", lambda: False)
    rates = (0.3, 0.7)
    stacked = _stack_modules([Dropout(rate, seed=k) for k, rate in enumerate(rates)]).double()
    outputs = stacked(torch.ones(1, 2, 50, dtype=torch.float64))
    for k, rate in enumerate(rates):
        assert outputs[0, k].max().item() == pytest.approx(1 / (1 - rate), rel=1e-15)
