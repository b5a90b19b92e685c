"""Pullbacks and products of Jacobians against autograd and hand numbers."""

import math
from itertools import pairwise

import jaxtyping
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import jacrev, vmap

from lamina._errors import ArgumentError, ShapeError
from lamina.functional import chain_rule as C
from lamina.functional.activations import get_activation, identity, softmax, softmax_jacobian, softmax_vjp, tanh
from lamina.functional.activations import tanh_derivative as d_tanh
from lamina.functional.dense import affine, forward_propagation

D = torch.float64


def close(first, second, tolerance=1e-14):
    torch.testing.assert_close(first, second, rtol=tolerance, atol=tolerance)


def randn(generator, *shape):
    return torch.randn(*shape, dtype=D, generator=generator)


def forward(u, weights, biases, activations, residual):
    """Compute features and pre-activations of a plain or a residual network."""
    if not residual:
        return forward_propagation(u, weights, biases, activations)
    y, z = [u], []
    for W, b, sigma in zip(weights, biases, activations, strict=True):
        z.append(affine(y[-1], W, b))
        y.append(y[-1] + sigma(z[-1]))
    return y, z


@pytest.fixture
def unchecked(monkeypatch):
    """Switch the shape checker off, so that the library's own message is reached."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.mark.notes("N2.73")
def test_hadamard_product():
    A = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=D)
    B = torch.tensor([[5.0, 6.0], [7.0, 8.0]], dtype=D)
    assert C.hadamard(A, B).tolist() == [[5, 12], [21, 32]]
    assert torch.equal(C.hadamard(A, B), C.hadamard(B, A))
    for other in (torch.ones(2, dtype=D), torch.ones(1, 2, dtype=D), torch.ones((), dtype=D)):
        with pytest.raises(
            ShapeError, match=r"`second` must have the shape of `first`, \(2, 2\), got .* not broadcast"
        ):
            C.hadamard(A, other)


@pytest.mark.notes("N2.75")
@pytest.mark.parametrize("name", ["sigmoid", "tanh", "relu", "leaky_relu", "gelu", "gelu_tanh", "identity"])
def test_activation_pullback_equals_autograd(name, generator):
    sigma = get_activation(name)
    z, cotangent = randn(generator, 2, 4, 5)
    z.requires_grad_()
    (expected,) = torch.autograd.grad((sigma(z) * cotangent).sum(), z)
    close(C.activation_pullback(cotangent, z.detach(), sigma.derivative), expected, 1e-15)


@pytest.mark.notes("N2.75")
def test_the_hadamard_rule_is_wrong_for_softmax():
    z = torch.tensor([-2.1647, -0.2294, 0.4943, 1.5146], dtype=D)
    g = torch.tensor([0.0351, 0.9427, -0.3698, -1.6349], dtype=D)
    p = softmax(z)
    wrong = C.activation_pullback(g, z, lambda z: softmax(z) * (1 - softmax(z)))
    right = softmax_jacobian(p).T @ g
    assert (wrong - right).abs().max().item() == pytest.approx(0.22, abs=0.005)
    close(softmax_vjp(p, g), right, 1e-15)


@pytest.mark.notes("N2.76")
@pytest.mark.parametrize("batch", [(), (6,), (2, 3)])
def test_affine_pullback_equals_autograd(batch, generator):
    y, cotangent = randn(generator, *batch, 3), randn(generator, *batch, 4)
    W, b = randn(generator, 4, 3), randn(generator, 4)
    inputs = [t.requires_grad_() for t in (y, W, b)]
    expected = torch.autograd.grad((affine(y, W, b) * cotangent).sum(), inputs)
    y_bar, W_bar, b_bar = C.affine_pullback(cotangent, y.detach(), W.detach())
    assert (y_bar.shape, W_bar.shape, b_bar.shape) == ((*batch, 3), (4, 3), (4,))
    for ours, theirs in zip((y_bar, W_bar, b_bar), expected, strict=True):
        close(ours, theirs)
    if not batch:
        close(y_bar, W.detach().T @ cotangent)
        assert torch.equal(b_bar, cotangent)
        close(W_bar, cotangent[:, None] @ y.detach()[None, :])


def scalar_chain(residual):
    """Ex. 2.3 and Ex. 4.2: one node per layer, no biases, the loss (y_3 - 1)^2 / 2."""
    w = torch.tensor([0.7, -1.2, 0.4], dtype=D, requires_grad=True)
    y = [torch.tensor(0.8, dtype=D)]
    for k in range(3):
        a = torch.tanh(w[k] * y[-1])
        y.append(y[-1] + a if residual else a)
    (gradient,) = torch.autograd.grad((y[-1] - 1) ** 2 / 2, w)
    return w.detach(), [v.detach() for v in y], gradient


@pytest.mark.notes("N2.67", "N2.68", "N4.01", "N4.08")
@pytest.mark.parametrize(
    ("residual", "expected"),
    [
        (False, [0.23244819928299082, -0.16577517966088912, 0.6300090187220602]),
        (True, [-0.30299394306643446, -0.1313836153598692, -0.1731872096138542]),
    ],
)
def test_scalar_chains_of_the_examples(residual, expected):
    w, y, gradient = scalar_chain(residual)
    assert gradient.tolist() == pytest.approx(expected, abs=1e-14)
    z = [w[k] * y[k] for k in range(3)]
    # the factors one by one, as printed
    slope = [1 - math.tanh(v) ** 2 for v in z]
    da = [w[k].item() * slope[k] for k in range(3)]
    factor = [1 + d if residual else d for d in da]
    by_hand = [
        (y[3] - 1).item() * factor[2] * factor[1] * slope[0] * y[0].item(),
        (y[3] - 1).item() * factor[2] * slope[1] * y[1].item(),
        (y[3] - 1).item() * slope[2] * y[2].item(),
    ]
    assert gradient.tolist() == pytest.approx(by_hand, abs=1e-14)
    columns = [v.reshape(1) for v in y], [v.reshape(1) for v in z], [v.reshape(1, 1) for v in w]
    W_bar, _ = C.chain_gradients((y[3] - 1).reshape(1), *columns, [d_tanh] * 3, residual)
    close(torch.cat(W_bar).flatten(), gradient)


@pytest.mark.notes("N2.68", "N2.72", "N4.01", "N4.09")
@pytest.mark.parametrize(
    ("widths", "residual"),
    [([3, 5, 4, 2], False), *(([3] * (L + 1), residual) for L in (1, 2, 5) for residual in (False, True))],
)
def test_chain_gradients_equal_autograd(widths, residual, generator):
    names = ["tanh", "sigmoid", "relu", "leaky_relu", "identity"][: len(widths) - 1]
    activations = [get_activation(name) for name in names]
    weights = [randn(generator, m, n).requires_grad_() for n, m in pairwise(widths)]
    biases = [randn(generator, m).requires_grad_() for m in widths[1:]]
    u, S = randn(generator, widths[0]), randn(generator, widths[-1])
    y, z = forward(u, weights, biases, activations, residual)
    expected = torch.autograd.grad((y[-1] - S).square().sum() / 2, weights + biases)
    with torch.no_grad():
        W_bar, b_bar = C.chain_gradients(y[-1] - S, y, z, weights, [a.derivative for a in activations], residual)
    for ours, theirs in zip(W_bar + b_bar, expected, strict=True):
        assert (ours - theirs).abs().max() <= 1e-14 * max(1, theirs.abs().max().item())


@pytest.mark.notes("N2.72")
def test_order_and_transposes_matter(generator):
    J, K, g = randn(generator, 2, 4), randn(generator, 4, 3), randn(generator, 2)
    close(C.chain_product(g, [K, J]), g @ J @ K, 1e-15)
    close(C.chain_product(g, [K, J]), K.T @ (J.T @ g))
    assert torch.equal(C.chain_product(g, []), g)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        C.chain_product(g, [J, K])
    # a column times a Jacobian, as printed, does not conform
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        g[:, None] @ J


@pytest.mark.notes("N4.10")
@pytest.mark.parametrize("residual", [False, True])
def test_product_of_factors_is_the_jacobian_of_the_network(residual, generator):
    weights, biases = list(randn(generator, 6, 4, 4) / 2), list(randn(generator, 6, 4))
    u = randn(generator, 4)
    _, z = forward(u, weights, biases, [tanh] * 6, residual)
    factors = [C.layer_jacobian(z[l], weights[l], d_tanh, residual) for l in range(6)]
    product = C.chain_product(torch.eye(4, dtype=D), factors)
    jacobian = jacrev(lambda u: forward(u, weights, biases, [tanh] * 6, residual)[0][-1])(u)
    close(product, jacobian)
    if residual:
        plain = [C.layer_jacobian(z[l], weights[l], d_tanh) for l in range(6)]
        assert all(torch.equal(f, torch.eye(4, dtype=D) + p) for f, p in zip(factors, plain, strict=True))


@pytest.mark.notes("N2.22")
def test_products_of_sigmoid_layers_shrink(generator):
    sigma = get_activation("sigmoid")
    weights = [randn(generator, 64, 64) / 8 for _ in range(20)]
    _, z = forward(randn(generator, 64), weights, [None] * 20, [sigma] * 20, False)
    factors = [C.layer_jacobian(z[l], weights[l], sigma.derivative) for l in range(20)]
    norms = [torch.linalg.matrix_norm(C.chain_product(torch.eye(64, dtype=D), factors[:n]), 2) for n in (1, 10, 20)]
    bound = torch.stack([torch.linalg.matrix_norm(W, 2) / 4 for W in weights]).prod()
    assert norms[2] <= bound and norms[0] > 1e-1 > 1e-4 > norms[1] and norms[2] < 1e-9


def test_a_residual_network_whose_gradient_vanishes():
    w, y = torch.full((20,), -0.9, dtype=D, requires_grad=True), [torch.tensor(1e-3, dtype=D)]
    for k in range(20):
        y.append(y[-1] + torch.tanh(w[k] * y[-1]))
    (gradient,) = torch.autograd.grad((y[-1] - 1) ** 2 / 2, w)
    features, W = [v.detach().reshape(1) for v in y], list(w.detach().reshape(20, 1, 1))
    z = [W[k][0] * features[k] for k in range(20)]
    W_bar, _ = C.chain_gradients(features[-1] - 1, features, z, W, [d_tanh] * 20, residual=True)
    assert W_bar[0].abs().item() < 1e-19
    torch.testing.assert_close(torch.cat(W_bar).flatten(), gradient, rtol=1e-10, atol=0)


def test_functions_under_vmap(generator):
    weights, biases = randn(generator, 3, 4, 4), randn(generator, 3, 4)
    u = randn(generator, 5, 4)

    def gradients(u):
        y, z = forward(u, weights, biases, [tanh, identity, tanh], True)
        derivatives = [get_activation(name).derivative for name in ("tanh", "identity", "tanh")]
        return C.chain_gradients(y[-1], y, z, list(weights), derivatives, residual=True)

    W_bar, b_bar = vmap(gradients)(u)
    for k in range(5):
        alone = gradients(u[k])
        for l in range(3):
            close(W_bar[l][k], alone[0][l])
            close(b_bar[l][k], alone[1][l])
    cotangent, y = randn(generator, 2, 5, 4)
    together = vmap(C.affine_pullback, in_dims=(0, 0, None))(cotangent, y, weights[0])
    summed = C.affine_pullback(cotangent, y, weights[0])
    close(together[0], summed[0])
    close(together[1].sum(0), summed[1])
    close(together[2].sum(0), summed[2])
    assert torch.equal(vmap(C.hadamard)(cotangent, y), cotangent * y)
    pulled = vmap(lambda c, z: C.activation_pullback(c, z, d_tanh))(cotangent, y)
    close(pulled, C.activation_pullback(cotangent, y, d_tanh), 1e-15)


def test_shapes_and_lengths_are_checked():
    vector, W = torch.ones(2), torch.ones(2, 3)
    with pytest.raises(
        ShapeError, match=r"`weight` must be square in a residual layer, got \(2, 3\): widths may change"
    ):
        C.layer_jacobian(vector, W, d_tanh, residual=True)
    message = (
        r"must have one entry per layer and `features` one more, got 1, 1, 1 and 1: `features` starts with the input"
    )
    with pytest.raises(ArgumentError, match=message):
        C.chain_gradients(vector, [vector], [vector], [W], [d_tanh])


def test_the_hadamard_rule_refuses_a_derivative_of_another_shape(unchecked):
    with pytest.raises(ShapeError, match="does not broadcast"):
        C.activation_pullback(torch.ones(3), torch.ones(3), lambda z: z.sum())


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 4), st.floats(-2, 2))
def test_pullbacks_are_linear_in_the_cotangent(seed, n, m, t):
    generator = torch.Generator().manual_seed(seed)
    W, y = randn(generator, m, n), randn(generator, n)
    a, b = randn(generator, 2, m)
    sums = C.affine_pullback(a + t * b, y, W)
    parts = zip(C.affine_pullback(a, y, W), C.affine_pullback(b, y, W), strict=True)
    for whole, (first, second) in zip(sums, parts, strict=True):
        close(whole, first + t * second, 1e-13)
