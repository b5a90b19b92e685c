import pytest
import torch
from torch import nn

from lamina.layers.dense_blocks import DenseOriginalBlock, DensePreActBlock
from lamina.populations.stacked import _has_rule


def test_populations_can_be_made_of_them():
    assert _has_rule(DenseOriginalBlock(3)) and _has_rule(DensePreActBlock(3))


def norm(part, y):
    return part.weight * (y - y.mean(0)) / (y.var(0, correction=0) + 1e-5).sqrt() + part.bias


def prepared(make, generator):
    block = make(6, seed=generator).double()
    for part in block.modules():
        if isinstance(part, nn.BatchNorm1d):
            part.weight.data.copy_(torch.rand(6, generator=generator) + 0.5)
            part.bias.data.copy_(torch.randn(6, generator=generator))
    return block, torch.randn(16, 6, generator=generator, dtype=torch.float64)


@pytest.mark.notes("N4.19")
def test_original_is_its_formula(generator):
    block, y = prepared(DenseOriginalBlock, generator)
    W1, W2 = block.dense1.weight, block.dense2.weight
    by_hand = torch.relu(y + norm(block.bn2, torch.relu(norm(block.bn1, y @ W1.T)) @ W2.T))
    assert torch.allclose(block(y), by_hand, rtol=0, atol=1e-12)
    assert (block(y) >= 0).all()


@pytest.mark.notes("N4.23")
def test_preactivation_is_its_formula(generator):
    block, y = prepared(DensePreActBlock, generator)
    W1, W2 = block.dense1.weight, block.dense2.weight
    by_hand = y + torch.relu(norm(block.bn2, torch.relu(norm(block.bn1, y)) @ W1.T)) @ W2.T
    assert torch.allclose(block(y), by_hand, rtol=0, atol=1e-12)
    assert (block(y) < 0).any()


@pytest.mark.notes("N4.19", "N4.23")
def test_zero_weights_leave_relu_or_the_identity(generator):
    for make in (DenseOriginalBlock, DensePreActBlock):
        block = make(6).double()
        block.dense1.weight.data.zero_()
        block.dense2.weight.data.zero_()
        y = torch.randn(16, 6, generator=generator, dtype=torch.float64)
        assert torch.equal(block(y), torch.relu(y) if make is DenseOriginalBlock else y)


@pytest.mark.parametrize("make", [DenseOriginalBlock, DensePreActBlock])
def test_gradients_counts_and_seeds(make, generator):
    block = make(3, seed=generator).double()
    y = torch.randn(4, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(block, (y,))
    assert sum(p.numel() for p in block.parameters()) == 2 * 9 + 4 * 3
    assert torch.equal(make(3, seed=5).dense2.weight, make(3, seed=5).dense2.weight)
