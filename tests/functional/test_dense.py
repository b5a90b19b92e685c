"""The neuron, the layer, the network as a composition, and counts of its parameters."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.func import vmap

from lamina._errors import ArgumentError
from lamina.functional import dense as N
from lamina.functional.activations import get_activation, heaviside, identity, sigmoid, tanh

D = torch.float64
XOR = torch.tensor([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=D)


def close(first, second, tolerance=1e-14):
    torch.testing.assert_close(first, second, rtol=tolerance, atol=tolerance)


def network(generator, widths):
    weights = [torch.randn(m, n, dtype=D, generator=generator) for n, m in pairwise(widths)]
    biases = [torch.randn(m, dtype=D, generator=generator) for m in widths[1:]]
    return weights, biases


@pytest.mark.notes("N1.02")
@pytest.mark.parametrize("name", ["heaviside", "sigmoid", "tanh", "relu", "identity"])
def test_neuron_sum_form_equals_dot_product_form(name, generator):
    sigma = get_activation(name)
    u, W = torch.randn(2, 5, dtype=D, generator=generator)
    b = torch.randn((), dtype=D, generator=generator)
    total = sum(W[i] * u[i] for i in range(5)) + b
    close(N.neuron(u, W, b, sigma), sigma(total), 1e-15)
    assert W.numel() + b.numel() == N.parameter_count([5, 1]) == 6


@pytest.mark.notes("N1.02")
@pytest.mark.parametrize("sigma", [sigmoid, tanh])
def test_gradient_of_a_neuron(sigma, generator):
    u = torch.randn(4, 3, dtype=D, generator=generator)
    W, b = torch.randn(3, dtype=D, generator=generator), torch.randn((), dtype=D, generator=generator)
    assert torch.autograd.gradcheck(lambda u, W, b: N.neuron(u, W, b, sigma), [t.requires_grad_() for t in (u, W, b)])
    gradient = torch.autograd.grad(N.neuron(u, W, b, sigma)[0], [W, b])
    derivative = get_activation(sigma.__name__).derivative((u[0] @ W + b).detach())
    close(gradient[0], derivative * u[0])
    close(gradient[1], derivative)


@pytest.mark.notes("N2.01")
def test_depth_and_deep():
    assert N.depth([3, 5, 5, 5, 1]) == 4
    assert N.depth([3, 5, 5, 5, 1]) - 1 == 3  # hidden layers
    assert not N.is_deep([2, 2, 1]) and N.is_deep([3, 5, 5, 5, 1]) and N.is_deep([2, 2, 2, 1])
    assert not N.is_deep([3, 1])


@pytest.mark.notes("N2.02", "N2.04", "N2.05")
def test_feedforward_equals_sequential_and_the_composition_of_layers(generator):
    widths, names = [3, 5, 4, 2], ["relu", "tanh", "sigmoid"]
    weights, biases = network(generator, widths)
    layers = [nn.utils.skip_init(nn.Linear, n, m, dtype=D) for n, m in pairwise(widths)]
    for layer, W, b in zip(layers, weights, biases, strict=True):
        assert layer.weight.shape == W.shape
        layer.weight.data, layer.bias.data = W, b
    modules = [m for pair in zip(layers, [nn.ReLU(), nn.Tanh(), nn.Sigmoid()], strict=True) for m in pair]
    activations = [get_activation(name) for name in names]
    u = torch.randn(6, 3, dtype=D, generator=generator)
    outputs = N.feedforward(u, weights, biases, activations)
    close(outputs, nn.Sequential(*modules)(u).detach())
    by_hand = u
    for W, b, sigma in zip(weights, biases, activations, strict=True):
        by_hand = sigma(torch.stack([W @ row + b for row in by_hand]))
    close(outputs, by_hand)
    f = [lambda y, l=l: N.layer(y, weights[l], biases[l], activations[l]) for l in range(3)]
    assert torch.equal(outputs, f[2](f[1](f[0](u))))
    # as printed, without f_2, the shapes do not fit
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        torch.nn.functional.linear(f[0](u), weights[2], biases[2])


@pytest.mark.notes("N2.70", "N2.65")
def test_forward_propagation_keeps_features_and_pre_activations(generator):
    weights, biases = network(generator, [3, 5, 4, 2])
    u = torch.randn(6, 3, dtype=D, generator=generator)
    y, z = N.forward_propagation(u, weights, biases, [tanh, sigmoid, identity])
    assert torch.equal(y[0], u) and len(y) == 4 and len(z) == 3
    for l, sigma in enumerate([tanh, sigmoid, identity]):
        close(z[l], y[l] @ weights[l].T + biases[l])
        assert torch.equal(y[l + 1], sigma(z[l]))


@pytest.mark.notes("N2.07")
def test_a_linear_last_layer_leaves_the_range_of_sigma(generator):
    weights, biases = network(generator, [2, 8, 1])
    u = torch.randn(50, 2, dtype=D, generator=generator)
    squashed = N.feedforward(u, weights, biases, [sigmoid, sigmoid])
    linear = N.feedforward(u, weights, [biases[0], None], [sigmoid, identity])
    assert ((squashed > 0) & (squashed < 1)).all()
    assert (linear < 0).any() or (linear > 1).any()
    close(linear, sigmoid(u @ weights[0].T + biases[0]) @ weights[1].T)
    # without a bias, zero features force the output zero
    assert N.affine(torch.zeros(8, dtype=D), weights[1]).item() == 0
    assert N.affine(torch.zeros(8, dtype=D), weights[1], biases[1]).item() == biases[1].item()


@pytest.mark.notes("N2.12", "N2.65")
@pytest.mark.parametrize(
    ("widths", "count"), [([3, 1], 4), ([2, 2, 1], 9), ([3, 5, 5, 5, 1], 86), ([784, 128, 64, 32, 10], 111_146)]
)
def test_length_of_theta_and_of_its_gradient(widths, count, generator):
    assert N.parameter_count(widths) == count
    weights, biases = network(generator, widths)
    theta = [p.requires_grad_() for p in weights + biases]
    u = torch.randn(2, widths[0], dtype=D, generator=generator)
    loss = N.feedforward(u, weights, biases, [sigmoid] * len(weights)).square().sum()
    assert torch.cat([g.flatten() for g in torch.autograd.grad(loss, theta)]).shape == (count,)


@pytest.mark.notes("N1.11", "N2.06")
def test_identity_activations_collapse_to_one_affine_map(generator):
    weights, biases = network(generator, [3, 5, 4, 2])
    W, b = N.collapse_affine(weights, biases)
    W0, W1, W2 = weights
    b0, b1, b2 = biases
    close(W, W2 @ W1 @ W0, 1e-14)
    close(b, W2 @ (W1 @ b0 + b1) + b2, 1e-14)
    u = torch.randn(7, 3, dtype=D, generator=generator)
    outputs = N.feedforward(u, weights, biases, [identity] * 3)
    close(outputs, N.affine(u, W, b), 1e-14)
    # affine, not linear: the image of 0 is b
    assert N.affine(torch.zeros(3, dtype=D), W, b).abs().max() > 0.1


@pytest.mark.notes("N1.11")
def test_collapse_with_small_weights_is_exact_to_rounding():
    generator = torch.Generator().manual_seed(0)
    weights, biases = network(generator, [3, 5, 4, 2])
    weights, biases = [0.3 * W for W in weights], [0.3 * b for b in biases]
    u = torch.randn(7, 3, dtype=D, generator=generator)
    outputs = N.feedforward(u, weights, biases, [identity] * 3)
    assert (outputs - N.affine(u, *N.collapse_affine(weights, biases))).abs().max() < 1e-14


@pytest.mark.notes("N2.06")
def test_a_linear_network_predicts_one_half_for_xor():
    generator = torch.Generator().manual_seed(1)
    weights, biases = network(generator, [2, 2, 1])
    theta = [p.requires_grad_() for p in weights + biases]
    targets = torch.tensor([[0.0], [1.0], [1.0], [0.0]], dtype=D)
    for _ in range(2000):
        outputs = N.feedforward(XOR, theta[:2], theta[2:], [identity, identity])
        loss = (outputs - targets).square().sum() / 8
        gradients = torch.autograd.grad(loss, theta)
        theta = [(p - 0.2 * g).detach().requires_grad_() for p, g in zip(theta, gradients, strict=True)]
    close(outputs.detach(), torch.full((4, 1), 0.5, dtype=D), 1e-6)
    assert loss.item() == pytest.approx(1 / 8, abs=1e-12)
    # and no affine map does better
    design = torch.cat([XOR, torch.ones(4, 1, dtype=D)], 1)
    best = torch.linalg.lstsq(design, targets).solution
    assert ((design @ best - targets).square().sum() / 8).item() == pytest.approx(1 / 8, abs=1e-14)


def test_the_xor_network_of_the_notes():
    weights = [torch.tensor([[1, 1], [-1, -1]], dtype=D), torch.tensor([[1, 1]], dtype=D)]
    biases = [torch.tensor([-1, 1], dtype=D), torch.tensor([-2], dtype=D)]
    assert N.feedforward(XOR, weights, biases, [heaviside, heaviside]).flatten().tolist() == [0, 1, 1, 0]


def test_functions_under_vmap(generator):
    stacked = [torch.stack(p) for p in zip(*(network(generator, [3, 4, 2])[0] for _ in range(3)), strict=True)]
    biases = [torch.randn(3, m, dtype=D, generator=generator) for m in (4, 2)]
    u = torch.randn(5, 3, dtype=D, generator=generator)

    def run(weights, biases):
        return N.feedforward(u, weights, biases, [tanh, identity])

    together = vmap(run)(stacked, biases)
    separate = [run([W[k] for W in stacked], [b[k] for b in biases]) for k in range(3)]
    close(together, torch.stack(separate))
    W, b = vmap(lambda W, b: N.collapse_affine(W, b))(stacked, biases)
    close(W, stacked[1] @ stacked[0], 1e-14)
    close(b, torch.einsum("kij,kj->ki", stacked[1], biases[0]) + biases[1], 1e-14)
    single = vmap(lambda W, b: N.neuron(u, W, b, tanh))(stacked[0][:, 0], biases[0][:, 0])
    close(single[1], N.neuron(u, stacked[0][1, 0], biases[0][1, 0], tanh))


@pytest.mark.parametrize("function", [N.parameter_count, N.depth, N.is_deep])
def test_widths_are_checked(function):
    with pytest.raises(
        ArgumentError, match=r"`widths` must name at least 2 layers, the input and the output, got \[3\]"
    ):
        function([3])
    with pytest.raises(ArgumentError, match="`widths` must be at least 1, got 0"):
        function([3, 0, 1])


def test_lengths_are_checked():
    W, b = torch.ones(2, 2), torch.ones(2)
    message = r"`weights`, `biases` and `activations` must have one entry per layer, got 2, 1 and 2: use None"
    for function in (N.feedforward, N.forward_propagation):
        with pytest.raises(ArgumentError, match=message):
            function(b, [W, W], [b], [tanh, tanh])
    with pytest.raises(ArgumentError, match="`weights` and `biases` must be equally long and not empty, got 1 and 2"):
        N.collapse_affine([W], [b, b])
    with pytest.raises(ArgumentError, match="not empty, got 0 and 0"):
        N.collapse_affine([], [])


laws = settings(deadline=None, derandomize=True, max_examples=50)


@laws
@given(st.lists(st.integers(1, 30), min_size=2, max_size=6))
def test_parameter_count_adds_up_over_layers(widths):
    pairs = [N.parameter_count([n, m]) for n, m in pairwise(widths)]
    assert N.parameter_count(widths) == sum(pairs)
    assert N.depth(widths) == len(pairs)


@laws
@given(st.integers(0, 10_000), st.floats(-3, 3))
def test_affine_maps_keep_affine_combinations(seed, t):
    generator = torch.Generator().manual_seed(seed)
    weights, biases = network(generator, [3, 2])
    u, v = torch.randn(2, 3, dtype=D, generator=generator)
    left = N.affine(t * u + (1 - t) * v, weights[0], biases[0])
    right = t * N.affine(u, weights[0], biases[0]) + (1 - t) * N.affine(v, weights[0], biases[0])
    assert math.isclose((left - right).abs().max().item(), 0, abs_tol=1e-12)
