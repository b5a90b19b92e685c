"""Starting weights: their rules, and what signals and gradients do in deep networks that start with them."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from lamina._errors import ArgumentError
from lamina.functional import initialization as I
from lamina.functional.activations import get_activation, identity
from lamina.functional.dense import feedforward, forward_propagation
from lamina.functional.losses import mse_half

D = torch.float64


def deep(activation, std, *, depth=20, width=64, samples=128, seed=0):
    """Give weight gradients, state gradients and the last features of a deep network without biases."""
    g = torch.Generator().manual_seed(seed)
    weights = [I.gaussian((width, width), std, g).to(D).requires_grad_() for _ in range(depth)]
    u, S = torch.randn(2, samples, width, dtype=D, generator=g)
    y, _ = forward_propagation(u.requires_grad_(), weights, [None] * depth, [get_activation(activation)] * depth)
    gradients = torch.autograd.grad(mse_half(y[-1], S), weights + y)
    norms = [gradient.norm().item() for gradient in gradients]
    return norms[:depth], norms[depth:], y[-1].detach()


def geometric_mean(numbers):
    return math.exp(np.mean(np.log(numbers)))


def profile(activation, rule, *, width=512, depth=20, samples=256):
    """Give the features of every layer of a network that starts by a rule."""
    g = torch.Generator().manual_seed(0)
    y = torch.randn(samples, width, generator=g)
    layers = []
    for _ in range(depth):
        y = activation(y @ rule((width, width), g).T)
        layers.append(y.to(D))
    return layers


@pytest.mark.notes("N2.27")
def test_constant_weights_share_gradients_by_rows_not_by_columns(generator):
    u, S = torch.randn(32, 3, dtype=D, generator=generator), torch.randn(32, 2, dtype=D, generator=generator)
    shapes = [(4, 3), (4, 4), (2, 4)]
    weights = [I.constant(shape, 0.5).to(D).requires_grad_() for shape in shapes]
    biases = [torch.full((shape[0],), 0.5, dtype=D, requires_grad=True) for shape in shapes]
    activations = [get_activation(name) for name in ("tanh", "tanh", "identity")]
    gradient = torch.autograd.grad(mse_half(feedforward(u, weights, biases, activations), S), weights)[0]
    torch.testing.assert_close(gradient, gradient[:1].expand_as(gradient), rtol=1e-12, atol=1e-14)
    assert (gradient[:, 0] - gradient[:, 1]).abs().min() > 1e-3


def trained(weights, biases, u, S, steps=300):
    theta = [p.requires_grad_() for p in weights + biases]
    for _ in range(steps):
        outputs = feedforward(u, theta[:2], theta[2:], [get_activation("tanh"), identity])
        gradients = torch.autograd.grad((outputs - S).square().mean(), theta)
        theta = [(p - 0.1 * g).detach().requires_grad_() for p, g in zip(theta, gradients, strict=True)]
    return theta[0].detach()


@pytest.mark.notes("N2.27", "N2.29")
def test_constant_neurons_stay_identical_and_random_ones_do_not(generator):
    u, S = torch.randn(32, 3, dtype=D, generator=generator), torch.randn(32, 1, dtype=D, generator=generator)
    constant = [I.constant((4, 3), 0.5).to(D), I.constant((1, 4), 0.5).to(D)]
    W = trained(constant, [torch.full((n,), 0.5, dtype=D) for n in (4, 1)], u, S)
    assert (W[0] - 0.5).abs().max() > 0.05  # it did train
    torch.testing.assert_close(W, W[:1].expand_as(W), rtol=0, atol=1e-12)
    assert torch.linalg.matrix_rank(W, atol=1e-10) == 1
    random = [I.gaussian((4, 3), 0.5, generator).to(D), I.gaussian((1, 4), 0.5, generator).to(D)]
    W = trained(random, [torch.zeros(n, dtype=D) for n in (4, 1)], u, S)
    assert torch.linalg.matrix_rank(W, atol=1e-3) == 3


@pytest.mark.notes("N2.28")
def test_zero_biases_break_no_symmetry_breaking(generator):
    u, S = torch.randn(32, 3, dtype=D, generator=generator), torch.randn(32, 1, dtype=D, generator=generator)
    weights = [I.xavier(shape, generator).to(D).requires_grad_() for shape in ((4, 3), (1, 4))]
    biases = [torch.zeros(n, dtype=D) for n in (4, 1)]
    outputs = feedforward(u, weights, biases, [get_activation("tanh"), identity])
    gradient = torch.autograd.grad(mse_half(outputs, S), weights)[0]
    assert torch.pdist(gradient).min() > 1e-3


@pytest.mark.notes("N2.26")
@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_zero_weights_move_only_the_last_bias(name, generator):
    u, S = torch.randn(32, 3, dtype=D, generator=generator), torch.randn(32, 2, dtype=D, generator=generator)
    shapes = [(4, 3), (4, 4), (2, 4)]
    weights = [I.constant(shape).to(D).requires_grad_() for shape in shapes]
    biases = [torch.zeros(shape[0], dtype=D, requires_grad=True) for shape in shapes]
    outputs = feedforward(u, weights, biases, [get_activation(name), get_activation(name), identity])
    gradients = torch.autograd.grad(mse_half(outputs, S), weights + biases)
    assert [bool(gradient.any()) for gradient in gradients] == [False] * 5 + [True]


@pytest.mark.notes("N2.26")
def test_starting_points_lead_to_different_results():
    data = torch.Generator().manual_seed(0)
    u, S = torch.randn(32, 3, dtype=D, generator=data), torch.randn(32, 1, dtype=D, generator=data)
    ends = []
    for seed in (1, 2):
        g = torch.Generator().manual_seed(seed)
        weights = [I.xavier((4, 3), g).to(D), I.xavier((1, 4), g).to(D)]
        ends.append(trained(weights, [torch.zeros(n, dtype=D) for n in (4, 1)], u, S))
    assert (ends[0] - ends[1]).abs().max() > 0.1


@pytest.mark.notes("N2.22")
def test_early_gradients_of_a_deep_sigmoid_network_are_tiny():
    runs = [deep("sigmoid", 1 / 8, seed=seed) for seed in range(5)]
    first, last = (geometric_mean([run[0][l] for run in runs]) for l in (0, 19))
    assert 1e-13 < first < 1e-11 and 1 < last < 10  # 1.5e-12 and 4.1 in the notes' trial
    assert first / last == pytest.approx(3.6e-13, rel=0.5)


@pytest.mark.notes("N2.30")
def test_small_weights_make_all_gradients_vanish():
    runs = [deep("tanh", 0.01, seed=seed) for seed in range(5)]
    states = geometric_mean([run[1][0] / run[1][-1] for run in runs])
    first, last = (geometric_mean([run[0][l] for run in runs]) for l in (0, 19))
    assert states == pytest.approx(1.1e-22, rel=0.5)
    assert first == pytest.approx(7.8e-21, rel=0.5) and first / last == pytest.approx(1, abs=0.2)


@pytest.mark.notes("N2.31")
def test_large_weights_explode_only_in_wide_layers():
    def mean_square(activation, width):
        lasts = [deep(activation, 0.2, width=width, samples=32, seed=seed)[2] for seed in range(10)]
        return geometric_mean([y.square().mean().item() for y in lasts])

    relu = {width: mean_square("relu", width) for width in (10, 100)}
    linear = {width: mean_square("identity", width) for width in (10, 25, 100)}
    # orders of magnitude of the notes' trial: 1.2e-16, 5.2e5 for ReLU and 1.8e-8, 1.2, 1.1e12 for the identity
    assert 1e-18 < relu[10] < 1e-14 and 5e4 < relu[100] < 5e6
    assert 1e-10 < linear[10] < 1e-6 and 0.1 < linear[25] < 10 and 1e11 < linear[100] < 1e13


@pytest.mark.notes("N2.31")
def test_large_weights_overflow_to_nan_in_float32():
    g = torch.Generator().manual_seed(0)
    weights = [I.gaussian((256, 256), 0.2, g).requires_grad_() for _ in range(100)]
    y = torch.randn(8, 256, generator=g)
    for W in weights:
        y = torch.relu(y @ W.T)
    gradient = torch.autograd.grad(y.square().sum() / 16, weights[:1])[0]
    assert gradient.isnan().double().mean() > 0.9


@pytest.mark.notes("N2.32")
def test_large_weights_saturate_tanh():
    saturated = {
        width: (deep("tanh", 0.2, width=width, samples=32)[2].abs() > 0.99).double().mean() for width in (25, 400)
    }
    assert saturated[25] == 0 and saturated[400].item() == pytest.approx(0.45, abs=0.03)


@pytest.mark.notes("N2.33")
def test_xavier_counts_inputs_glorot_counts_both():
    shape = (400, 100)
    assert I.xavier(shape, 0).std().item() == pytest.approx(0.1, rel=0.02)
    assert I.glorot(shape, 0).std().item() == pytest.approx(0.0632, rel=0.02)
    theirs = torch.nn.init.xavier_normal_(torch.empty(shape), generator=torch.Generator().manual_seed(0))
    assert torch.equal(I.glorot(shape, 0), theirs)
    torch.testing.assert_close(I.xavier((50, 50), 3), I.glorot((50, 50), 3))
    assert I.xavier((10, 784), 0).std().item() == pytest.approx(0.0357, rel=0.05)
    assert I.glorot((10, 784), 0).std().item() == pytest.approx(0.0502, rel=0.05)
    # one draw, scaled: the rules differ by their factor only
    torch.testing.assert_close(I.xavier(shape, 7) / 0.1, I.glorot(shape, 7) / math.sqrt(2 / 500))
    torch.testing.assert_close(I.xavier(shape, 7, scale=3.0), 3 * I.xavier(shape, 7))


@pytest.mark.notes("N2.34")
def test_xavier_keeps_the_variance_for_the_identity_only():
    linear = profile(identity, I.xavier)
    assert linear[19].var().item() == pytest.approx(1, abs=0.2)
    tanh = profile(torch.tanh, I.xavier)
    assert [tanh[l].var().item() for l in (0, 4, 19)] == pytest.approx([0.395, 0.104, 0.026], rel=0.06)


@pytest.mark.notes("N2.35")
def test_xavier_does_not_suit_activations_that_are_not_centered():
    relu = profile(torch.relu, I.xavier)
    moments = [y.square().mean().item() for y in relu]
    assert moments[0] == pytest.approx(0.5, rel=0.03)
    ratios = [b / a for a, b in pairwise(moments)]
    assert np.mean(ratios) == pytest.approx(0.5, abs=0.02)
    assert moments[19] == pytest.approx(2**-20, rel=0.3)
    sigmoid = profile(torch.sigmoid, I.xavier)
    assert all(y.mean().item() == pytest.approx(0.5, abs=0.02) for y in sigmoid)


@pytest.mark.notes("N2.36")
def test_he_keeps_the_second_moment_of_relu():
    relu = profile(torch.relu, I.he)
    moments = [y.square().mean().item() for y in relu]
    assert moments[19] == pytest.approx(1, abs=0.3) and all(0.6 < moment < 1.5 for moment in moments)
    theirs = torch.nn.init.kaiming_normal_(
        torch.empty(500, 400), nonlinearity="relu", generator=torch.Generator().manual_seed(0)
    )
    torch.testing.assert_close(I.he((500, 400), 0), theirs, rtol=1e-6, atol=0)
    assert theirs.std().item() == pytest.approx(0.0707, rel=0.01)


def test_rules_count_the_entries_of_kernels():
    assert I.fans((6, 1, 5, 5)) == (25, 150) and I.fans((7, 3)) == (3, 7)
    assert I.he((64, 8, 3, 3), 0).std().item() == pytest.approx(math.sqrt(2 / 72), rel=0.05)
    theirs = torch.nn.init.kaiming_normal_(
        torch.empty(64, 8, 3, 3), nonlinearity="relu", generator=torch.Generator().manual_seed(0)
    )
    torch.testing.assert_close(I.he((64, 8, 3, 3), 0), theirs, rtol=1e-6, atol=0)
    with pytest.raises(ArgumentError, match=r"`shape` must have at least 2 axes \(outputs, inputs\), got \(3,\)"):
        I.fans((3,))


@pytest.mark.parametrize("kind", I.INITIALIZATIONS)
def test_draws_are_repeatable_and_advance_a_generator(kind):
    first, second = I.draw(kind, (4, 3), 5), I.draw(kind, (4, 3), 5)
    assert torch.equal(first, second) and first.dtype == torch.float32 and not first.requires_grad
    g = torch.Generator().manual_seed(5)
    assert torch.equal(I.draw(kind, (4, 3), g), first)
    assert torch.equal(I.draw(kind, (4, 3), g), first) == (kind == "constant")
    state = torch.random.get_rng_state()
    I.draw(kind, (4, 3), 5)
    assert torch.equal(state, torch.random.get_rng_state())  # the global generator is left alone


def test_draw_by_name():
    shape, seed = (4, 3), 9
    assert torch.equal(I.draw("xavier", shape, seed, 2.0), I.xavier(shape, seed, 2.0))
    assert torch.equal(I.draw("glorot", shape, seed, 2.0), I.glorot(shape, seed, 2.0))
    assert torch.equal(I.draw("he", shape, seed, 2.0), I.he(shape, seed, 2.0))
    assert torch.equal(I.draw("gaussian", shape, seed, 0.01), I.gaussian(shape, 0.01, seed))
    assert torch.equal(I.draw("constant", shape, seed, 0.3), I.constant(shape, 0.3))
    with pytest.raises(ArgumentError, match=r"`initialization` must be one of 'xavier', .*, got 'orthogonal'"):
        I.draw("orthogonal", shape, seed)


def test_memory_bias_opens_the_gates_in_the_notes_order():
    assert I.memory_bias("lstm", 2, 3.0).tolist() == [3, 3, 0, 0, 0, 0, 0, 0]  # f, i, o, c
    assert I.memory_bias("gru", 2, 3.0).tolist() == [0, 0, -3, -3, 0, 0]  # r, u, c
    kept = torch.sigmoid(I.memory_bias("lstm", 1, 3.0)[0]), 1 - torch.sigmoid(I.memory_bias("gru", 1, 3.0)[1])
    assert kept[0].item() == pytest.approx(0.9526, abs=1e-4) and kept[1].item() == pytest.approx(0.9526, abs=1e-4)
    with pytest.raises(ArgumentError, match="`cell` must be one of 'gru', 'lstm', got 'rnn'"):
        I.memory_bias("rnn", 2, 3.0)
