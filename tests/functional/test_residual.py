"""Eq. (9) with step size, projection and outer weight; what E54 and E56 say about products of Jacobians."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lamina._errors import ArgumentError, ShapeError
from lamina.functional.activations import get_activation, relu, sigmoid, tanh
from lamina.functional.dense import layer
from lamina.functional.initialization import draw
from lamina.functional.residual import product_bounds, residual_branch, residual_step, zero_pad_projection

DEPTH, WIDTH, EXAMPLES = 20, 64, 128


def rand(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.notes("N4.04")
def test_equation_9_by_hand():
    y = torch.tensor([1.0, -2.0], dtype=torch.float64)
    W = torch.tensor([[0.5, 0.25], [1.0, 1.0]], dtype=torch.float64)
    b = torch.tensor([0.5, 2.0], dtype=torch.float64)
    # W y + b = (0.5, 1); tanh of it is added
    expected = torch.tensor([1 + math.tanh(0.5), -2 + math.tanh(1.0)], dtype=torch.float64)
    torch.testing.assert_close(residual_step(y, W, b, tanh), expected, rtol=0, atol=1e-14)


@pytest.mark.notes("N4.04")
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6), st.sampled_from(["relu", "tanh", "leaky_relu", "identity"])
)
def test_zero_branch_returns_the_input(values, name):
    y = torch.tensor(values, dtype=torch.float64)
    n = len(values)
    W, b = torch.zeros(n, n, dtype=torch.float64), torch.zeros(n, dtype=torch.float64)
    assert torch.equal(residual_step(y, W, b, get_activation(name)), y)


@pytest.mark.notes("N4.14")
def test_step_size_one_is_equation_9_and_the_difference_quotient_is_the_branch():
    y, W, b = rand(7, 5), rand(5, 5, seed=1), rand(5, seed=2)
    assert torch.equal(residual_step(y, W, b, tanh, step_size=1.0), residual_step(y, W, b, tanh))
    quotient = (residual_step(y, W, b, tanh, step_size=0.125) - y) / 0.125
    torch.testing.assert_close(quotient, torch.tanh(y @ W.T + b), rtol=0, atol=1e-14)


@pytest.mark.notes("N4.06")
def test_projection_learned_and_fixed():
    y, W, b, P = rand(4, 3), rand(5, 3, seed=1), rand(5, seed=2), rand(5, 3, seed=3)
    expected = y @ P.T + torch.tanh(y @ W.T + b)
    torch.testing.assert_close(residual_step(y, W, b, tanh, projection=P), expected, rtol=0, atol=1e-14)
    pad = zero_pad_projection(3, 5).double()
    padded = residual_step(y, torch.zeros_like(W), torch.zeros_like(b), tanh, projection=pad)
    assert torch.equal(padded, torch.nn.functional.pad(y, (0, 2)))
    assert torch.equal(padded @ zero_pad_projection(5, 3).double().T, y)  # cutting undoes padding
    assert torch.equal(zero_pad_projection(4, 4), torch.eye(4))


@pytest.mark.notes("N4.06")
def test_width_sequence_3_5_5_2():
    widths, y = (3, 5, 5, 2), rand(4, 3)
    for index, (n_in, n_out) in enumerate(itertools.pairwise(widths)):
        P = None if n_in == n_out else zero_pad_projection(n_in, n_out).double()
        y = residual_step(
            y, torch.zeros(n_out, n_in, dtype=torch.float64), rand(n_out, seed=index), torch.relu, projection=P
        )
    # with zero weights only the biases are added: 3 -> 5 pads, 5 -> 2 keeps the first two
    added = sum(torch.relu(rand(n, seed=i))[:2] for i, n in enumerate((5, 5, 2)))
    torch.testing.assert_close(y, rand(4, 3)[:, :2] + added, rtol=0, atol=1e-14)


@pytest.mark.notes("N4.26")
def test_weight_outside_the_activation():
    y, W, b, W2 = rand(4, 3), rand(6, 3, seed=1), rand(6, seed=2), rand(3, 6, seed=3)
    expected = y + torch.tanh(y @ W.T + b) @ W2.T
    torch.testing.assert_close(residual_step(y, W, b, tanh, outer_weight=W2), expected, rtol=0, atol=1e-14)
    assert torch.equal(residual_step(y, W, b, sigmoid, outer_weight=torch.zeros_like(W2)), y)


@pytest.mark.notes("N4.17")
def test_gradient_of_the_step_size():
    y, W, b, cotangent = rand(7, 5), rand(5, 5, seed=1), rand(5, seed=2), rand(7, 5, seed=3)
    tau = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(residual_step(y, W, b, tanh, step_size=tau), tau, cotangent)
    torch.testing.assert_close(gradient, (cotangent * residual_branch(y, W, b, tanh)).sum(), rtol=1e-13, atol=0)


def test_gradcheck():
    y, W, b, tau, P, W2 = (
        rand(2, 3),
        rand(4, 3),
        rand(4),
        torch.tensor(0.7, dtype=torch.float64),
        rand(2, 3),
        rand(2, 4),
    )
    arguments = [t.clone().requires_grad_() for t in (y, W, b, tau, P, W2)]
    assert torch.autograd.gradcheck(lambda y, W, b, t, P, W2: residual_step(y, W, b, tanh, t, P, W2), arguments)


def test_widths_that_do_not_fit():
    with pytest.raises(
        ShapeError, match=r"skip connection has width 3 and the branch has width 5: give a `projection`"
    ):
        residual_step(torch.zeros(2, 3), torch.zeros(5, 3), None, tanh)
    with pytest.raises(ArgumentError, match=r"`in_features` must be at least 1, got 0"):
        zero_pad_projection(0, 3)
    with pytest.raises(ArgumentError, match=r"`out_features` must be at least 1, got 0"):
        zero_pad_projection(3, 0)


def scalar_product(factors):
    """The bounds for one node per layer, where both are the absolute value of the product."""
    low, high = product_bounds(torch.as_tensor(factors, dtype=torch.float64).reshape(-1, 1, 1))
    assert low == high
    return high.item()


@pytest.mark.notes("N4.02")
def test_factors_below_one_need_a_uniform_bound_to_vanish():
    j = torch.arange(2, 10**6, dtype=torch.float64)
    product = scalar_product(1 - j**-2)
    assert abs(product - 0.5) < 1e-5
    assert scalar_product([-2.0] * 20) == 2.0**20  # each factor is below 1
    assert scalar_product([0.9] * 200) < 1e-9


@pytest.mark.notes("N4.03")
def test_factors_above_one_need_a_uniform_bound_to_explode():
    j = torch.arange(1, 10**6, dtype=torch.float64)
    product = scalar_product(1 + j**-2)
    assert abs(product - math.sinh(math.pi) / math.pi) < 1e-4 and round(product, 3) == 3.676
    assert scalar_product([1.1] * 200) > 1e8


@pytest.mark.notes("N4.02", "N4.03")
def test_product_bounds_hold_for_matrices():
    factors, v = rand(6, 5, 5), rand(5, seed=1)
    stretched = v
    for factor in factors:
        stretched = factor @ stretched
    low, high = product_bounds(factors)
    assert low <= stretched.norm() / v.norm() <= high
    q = torch.linalg.qr(factors).Q  # orthogonal: the norm is kept exactly
    torch.testing.assert_close(torch.stack(product_bounds(0.5 * q)), torch.full((2,), 0.5**6, dtype=torch.float64))


@pytest.mark.notes("N4.11")
def test_residual_gradients_can_vanish():
    assert scalar_product([1 - 0.9] * DEPTH) == pytest.approx(1e-20, rel=1e-12)
    assert scalar_product([1 - 1.0] * DEPTH) == 0
    assert round(scalar_product([1 + 0.2] * DEPTH), 2) == 38.34
    weights = torch.full((DEPTH, 1, 1), -0.9, dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1e-3], dtype=torch.float64)
    for W in weights:
        y = residual_step(y, W, None, tanh)
    (gradient,) = torch.autograd.grad((0.5 * (y - 1) ** 2).sum(), weights)
    assert 1e-23 < gradient[0].abs() < 1e-21  # measured 1e-22


@pytest.mark.notes("N4.11")
def test_dead_relu_gets_no_gradient_although_the_skip_is_open():
    weights = torch.tensor([-1.0, 0.5], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([2.0], dtype=torch.float64)
    for W in weights:
        y = residual_step(y, W.reshape(1, 1), None, relu)
    (gradient,) = torch.autograd.grad((0.5 * (y - 1) ** 2).sum(), weights)
    assert gradient.tolist() == [0.0, 4.0]  # y = 2, 3: dL/dW1 = (3 - 1) * 2


def gradient_norms(activation, std, residual, seed):
    """Weight-gradient norms and state-gradient norms of a depth-20 width-64 net on Gaussian data with MSE."""
    g = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=g, dtype=torch.float64)

    weights = [(normal(WIDTH, WIDTH) * std).requires_grad_() for _ in range(DEPTH)]
    states, targets = [normal(EXAMPLES, WIDTH).requires_grad_()], normal(EXAMPLES, WIDTH)
    step = residual_step if residual else layer
    for W in weights:
        states.append(step(states[-1], W, None, activation))
    loss = ((states[-1] - targets) ** 2).sum() / (2 * EXAMPLES)
    norms = [gradient.norm().item() for gradient in torch.autograd.grad(loss, [*weights, *states])]
    return norms[:DEPTH], norms[DEPTH:]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(activation, std, residual):
    """First weight gradient, ratio first to last weight gradient, ratio of state gradients; mean over five seeds."""
    runs = [gradient_norms(activation, std, residual, seed) for seed in range(5)]
    first = geometric_mean([w[0] for w, _ in runs])
    return first, geometric_mean([w[0] / w[-1] for w, _ in runs]), geometric_mean([y[0] / y[-1] for _, y in runs])


@pytest.mark.notes("N4.12")
def test_gradient_norms_sigmoid_xavier():
    xavier = 1 / math.sqrt(WIDTH)
    _, weight_fnn, state_fnn = summary(sigmoid, xavier, residual=False)
    _, weight_res, state_res = summary(sigmoid, xavier, residual=True)
    assert state_fnn == pytest.approx(2.4e-13, rel=0.05) and state_res == pytest.approx(1.2, rel=0.05)
    assert weight_fnn == pytest.approx(3.6e-13, rel=0.05) and weight_res == pytest.approx(3.4e-2, rel=0.05)


@pytest.mark.notes("N4.12")
def test_gradient_norms_tanh_small_weights():
    assert summary(tanh, 0.01, residual=False)[2] == pytest.approx(1.1e-22, rel=0.05)
    assert summary(tanh, 0.01, residual=True)[2] == pytest.approx(1.1, rel=0.05)


@pytest.mark.notes("N4.03", "N4.11")
def test_gradients_explode_with_and_without_skips():
    assert summary(lambda z: z, 0.2, residual=False)[0] == pytest.approx(4.6e9, rel=0.05)
    assert summary(relu, math.sqrt(2 / WIDTH), residual=True)[0] == pytest.approx(9.8e9, rel=0.05)


@pytest.mark.notes("N4.14")
def test_step_size_one_over_depth_cures_the_explosion():
    outputs = {}
    for depth in (10, 100, 400):
        y, g = rand(16, WIDTH), torch.Generator().manual_seed(1)
        for _ in range(depth):
            y = residual_step(y, draw("he", (WIDTH, WIDTH), g).double(), None, relu, step_size=1 / depth)
        outputs[depth] = y.norm().item() / rand(16, WIDTH).norm().item()
    assert all(1 < ratio < 2 for ratio in outputs.values())
