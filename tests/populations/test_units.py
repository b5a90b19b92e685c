"""K dense layers, normalizations, dropouts and tables of words as one equal each by itself."""

import pytest
import torch
from torch import nn

from lamina import layers
from lamina.architectures.build import build
from lamina.populations.stacked import _stack_modules
from populations.separate import K, assert_equals_separate


def test_residual_layers_with_projection_outer_weight_and_learned_steps():
    inputs = (torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)),)
    for options in ({"projection": "zero-pad"}, {"outer": True, "step_size": "learned"}, {"dropout": 0.4}):
        nets = [build("dense-resnet", inputs=3, outputs=2, hidden=(5, 5), seed=k, **options).double() for k in range(K)]
        assert_equals_separate(nets, inputs)
    for options in ({"knots": 3, "width": 4}, {"width": 4, "projection": "zero-pad", "method": "rk4"}):
        nets = [build("neural-ode", inputs=3, outputs=2, seed=k, **options).double() for k in range(K)]
        assert_equals_separate(nets, inputs)
    for block in (layers.DenseOriginalBlock, layers.DensePreActBlock):
        assert_equals_separate([block(3, seed=k).double() for k in range(K)], inputs)


def test_every_member_is_normalized_by_its_own_statistics():
    stacked = _stack_modules([nn.BatchNorm1d(1, eps=1e-12, momentum=0.5).double() for _ in range(2)])
    with torch.no_grad():
        stacked.weight.copy_(torch.tensor([[1.0], [10.0]]))
    values = torch.tensor([[[1.0], [0.0]], [[3.0], [8.0]]], dtype=torch.float64)  # means 2 and 4, deviations 1 and 4
    assert stacked(values).flatten().tolist() == pytest.approx([-1.0, -10.0, 1.0, 10.0], rel=1e-9)
    assert stacked.running_mean.tolist() == [[1.0], [2.0]]
    assert stacked.running_var.tolist() == [[0.5 + 0.5 * 2], [0.5 + 0.5 * 32]]


def test_every_member_looks_words_up_in_its_own_table():
    stacked = _stack_modules([layers.Embedding(2, 2, seed=k) for k in range(2)])
    with torch.no_grad():
        stacked.weight.copy_(torch.arange(8.0).reshape(2, 2, 2))
    assert stacked(torch.tensor([[[1, 0]]])).tolist() == [[[[2.0, 3.0], [0.0, 1.0]], [[6.0, 7.0], [4.0, 5.0]]]]
