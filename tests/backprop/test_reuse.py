import itertools

import pytest
import torch

from lamina.backprop import backpropagation as bp
from lamina.backprop.reuse import layer_gradients
from lamina.functional.activations import get_activation
from lamina.functional.chain_rule import layer_jacobian

F64 = torch.float64


@pytest.mark.notes("N2.69")
@pytest.mark.parametrize("depth", range(1, 9))
def test_reuse_needs_one_product_a_layer_and_no_reuse_a_triangle_of_them(depth):
    g = torch.Generator().manual_seed(depth)
    jacobians = list(torch.randn(depth - 1, 3, 3, generator=g, dtype=F64))
    output_gradient = torch.randn(3, generator=g, dtype=F64)
    with_reuse = layer_gradients(output_gradient, jacobians)
    without = layer_gradients(output_gradient, jacobians, reuse=False)
    assert with_reuse.multiplications == depth - 1
    assert without.multiplications == depth * (depth - 1) // 2
    assert len(with_reuse.features) == len(without.features) == depth
    torch.testing.assert_close(with_reuse.features, without.features, rtol=1e-13, atol=1e-13)


@pytest.mark.notes("N2.69")
def test_the_counted_products_are_the_gradients_of_a_network():
    g = torch.Generator().manual_seed(0)
    widths, activations = [2, 4, 3, 2], ["tanh", "sigmoid", "identity"]
    weights = [torch.randn(b, a, generator=g, dtype=F64) for a, b in itertools.pairwise(widths)]
    biases = [torch.randn(b, generator=g, dtype=F64) for b in widths[1:]]
    cache = bp.forward(weights, biases, activations, torch.randn(1, 2, generator=g, dtype=F64))
    jacobians = [
        layer_jacobian(z[0], W, get_activation(name).derivative)
        for z, W, name in zip(cache.pre_activations[1:], weights[1:], activations[1:], strict=True)
    ]
    target = torch.ones(2, dtype=F64)
    bars = layer_gradients(cache.outputs[0] - target, jacobians).features
    for l in (1, 2, 3):
        leaf = cache.features[l][0].clone().requires_grad_()
        y = leaf
        for W, b, name in list(zip(weights, biases, activations, strict=True))[l:]:
            y = get_activation(name)(W @ y + b)
        (reference,) = torch.autograd.grad((y - target).square().sum() / 2, leaf)
        torch.testing.assert_close(bars[l - 1], reference, rtol=0, atol=1e-14)
