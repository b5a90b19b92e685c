"""What built networks prove: approximation by width, parity and the tent map by depth, pieces counted exactly."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError, ShapeError
from lamina.architectures.constructions import (
    approximate,
    approximation_errors,
    linear_pieces,
    output_bound,
    parity_tree,
    shallow_parity,
    shallow_tent_map,
    smooth_step,
    tent_map,
)
from lamina.architectures.fnn import FNN, FNNConfig, fnn_from_weights


def wave(u):
    return torch.sin(4 * math.pi * u) + u


def all_inputs(bits):
    return torch.tensor(list(itertools.product((0.0, 1.0), repeat=bits)))


@pytest.mark.notes("N2.15")
def test_sup_error_falls_with_width():
    four, sixteen, many, most = approximation_errors(wave, (4, 16, 64, 256), seed=1)
    assert four == pytest.approx(1.3, abs=0.05) and sixteen == pytest.approx(3.0e-3, rel=0.02)
    # without full rank the last digits are rounding: the order of magnitude is what repeats
    assert 7.6e-10 / 3 < many < 7.6e-10 * 3 and 4.3e-11 / 10 < most < 4.3e-11 * 10


@pytest.mark.notes("N2.15")
def test_the_fit_is_a_network_with_one_hidden_layer_and_least_squares_output():
    u = torch.linspace(0, 1, 50, dtype=torch.float64)[:, None]
    net = approximate(u, wave(u), 5, seed=3)
    assert isinstance(net, FNN) and net.config.widths == (1, 5, 1) and net.config.last_activation == "identity"
    hidden = torch.cat([net.features(u)[1], torch.ones(50, 1, dtype=torch.float64)], 1)
    residual = net(u) - wave(u)
    torch.testing.assert_close(hidden.T @ residual, torch.zeros(6, 1, dtype=torch.float64), rtol=0, atol=1e-10)


def test_approximation_in_two_dimensions_and_with_several_outputs():
    u = 4 * torch.rand(600, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 2
    targets = torch.stack([u[:, 0] * u[:, 1], torch.sin(u[:, 0])], 1)
    net = approximate(u, targets, 200, activation="tanh", gain=0.5, seed=1)
    assert (net(u) - targets).abs().max() < 1e-5
    polynomial = approximate(u, targets, 200, activation="identity", seed=1)  # polynomials of degree one stay that
    assert (polynomial(u) - targets).abs().max() > 1


@pytest.mark.notes("N2.16")
def test_error_against_width_is_monotone_on_average():
    widths = (4, 8, 16, 32, 64)
    curves = torch.tensor([approximation_errors(wave, widths, seed=seed) for seed in range(8)], dtype=torch.float64)
    means = curves.log().mean(0)
    assert (means.diff() < 0).all()
    assert approximation_errors(wave, ()) == []


@pytest.mark.notes("N2.15")
def test_a_jump_forces_half_an_error_uniformly_but_not_in_the_mean():
    t = torch.linspace(-1, 1, 200001, dtype=torch.float64)[:, None]
    step = (t >= 0).double()
    for gain, mean in ((10.0, 0.139), (100.0, 0.0139), (1000.0, 0.00139)):
        error = (smooth_step(gain).double()(t) - step).abs()
        assert error.max().item() == pytest.approx(0.5, abs=1e-12)
        assert 2 * error.mean().item() == pytest.approx(mean, rel=0.01)


@pytest.mark.notes("N2.15")
def test_bounded_activations_are_bounded_on_the_line():
    a, b, c = torch.randn(3, 200, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    zero = torch.zeros(1, dtype=torch.float64)
    net = fnn_from_weights([a[:, None], c[None]], [b, zero], "sigmoid")
    bound, x = output_bound(net).item(), torch.tensor([[1e2], [1e4], [1e6]], dtype=torch.float64)
    assert round(bound) == 161 and (net(x).abs() <= bound).all()
    assert (x - net(x))[-1].abs() > 1e6 - 162  # the error to f(x) = x
    squashed = fnn_from_weights([a[:, None], c[None]], [b, zero], "sigmoid", "sigmoid")
    assert (2 - squashed(x)).min() >= 1  # a sigmoid output cannot come closer to f = 2
    biased = fnn_from_weights([a[:, None], c[None]], [b, zero + 3], "tanh")
    assert output_bound(biased).item() == pytest.approx(bound + 3)
    without = FNN(FNNConfig(1, 1, hidden=(2,), activation="tanh", last_bias=False, initialization="constant"))
    assert output_bound(without).item() == 2


@pytest.mark.notes("N2.18", "N2.19")
@pytest.mark.parametrize(
    ("bits", "shallow_units", "deep_units", "layers"), [(2, 2, 3, 2), (4, 8, 9, 4), (8, 128, 21, 6)]
)
def test_parity_on_all_inputs(bits, shallow_units, deep_units, layers):
    u = all_inputs(bits)
    parity = u.sum(1, keepdim=True) % 2
    shallow, tree = shallow_parity(bits), parity_tree(bits)
    assert torch.equal(shallow(u), parity) and torch.equal(tree(u), parity)
    assert shallow.config.widths == (bits, shallow_units, 1) and shallow_units == 2 ** (bits - 1)
    assert sum(tree.config.widths[1:]) == deep_units == 3 * (bits - 1)
    assert len(tree.layers) == layers == 2 * math.log2(bits)


@pytest.mark.notes("N2.18", "N2.19")
@settings(max_examples=30)
@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=8, max_size=8), st.integers(0, 7))
def test_one_bit_flips_the_parity(bits, place):
    flipped = [1 - bit if index == place else bit for index, bit in enumerate(bits)]
    for network in (shallow_parity(8), parity_tree(8)):
        one, other = network(torch.tensor([bits, flipped])).flatten().tolist()
        assert one + other == 1


def test_shallow_parity_of_odd_sizes():
    for bits in (1, 3, 5):
        u = all_inputs(bits)
        assert torch.equal(shallow_parity(bits)(u), u.sum(1, keepdim=True) % 2)


@pytest.mark.notes("N2.19")
@pytest.mark.parametrize("k", range(1, 9))
def test_tent_map_has_two_to_the_k_pieces(k):
    net = tent_map(k)
    assert net.config.widths == (1, *(2,) * k, 1) and linear_pieces(net) == 2**k
    u = torch.linspace(0, 1, 2**12 + 1)[:, None]
    y = u
    for _ in range(k):
        y = torch.minimum(2 * y, 2 - 2 * y)
    assert torch.equal(net(u), y)


@pytest.mark.notes("N2.19")
@settings(max_examples=50)
@given(st.integers(1, 8), st.integers(0, 2**12))
def test_tent_map_is_symmetric(k, place):
    u = torch.tensor([[place / 2**12], [1 - place / 2**12]])
    left, right = tent_map(k)(u).flatten().tolist()
    assert left == right and 0 <= left <= 1


@pytest.mark.notes("N2.19")
@pytest.mark.parametrize("k", [1, 3, 6])
def test_one_hidden_layer_computes_the_same_zigzag_with_two_to_the_k_units(k):
    shallow, u = shallow_tent_map(k), torch.linspace(0, 1, 2**10 + 1)[:, None]
    assert torch.equal(shallow(u), tent_map(k)(u))
    assert shallow.config.widths == (1, 2**k, 1) and linear_pieces(shallow) == 2**k


@pytest.mark.notes("N2.19")
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10_000))
def test_one_hidden_relu_layer_has_at_most_width_plus_one_pieces(width, seed):
    g = torch.Generator().manual_seed(seed)
    weights = [torch.randn(width, 1, generator=g), torch.randn(1, width, generator=g)]
    net = fnn_from_weights(weights, [torch.randn(width, generator=g), torch.randn(1, generator=g)], "relu")
    assert linear_pieces(net, -1.0, 1.0) <= linear_pieces(net, -1e6, 1e6) <= width + 1
    crossings = (-net.biases[0].double() / net.weights[0][:, 0].double()).tolist()
    inside = sum(-1 < t < 1 for t in crossings)
    assert linear_pieces(net, -1.0, 1.0) == inside + 1  # random corners do not cancel


def test_pieces_are_counted_exactly():
    one, zero = torch.ones(1, 1), torch.zeros(1)
    # relu(u) - relu(-u) = u: both corners cancel
    identity = fnn_from_weights(
        [torch.tensor([[1.0], [-1.0]]), torch.tensor([[1.0, -1.0]])], [torch.zeros(2), zero], "relu"
    )
    assert linear_pieces(identity, -1.0, 1.0) == 1
    # a corner closer to the next one than any grid
    near = fnn_from_weights([torch.ones(2, 1), torch.ones(1, 2)], [torch.tensor([-0.5, -0.5 - 2.0**-20]), zero], "relu")
    assert linear_pieces(near) == 3
    assert linear_pieces(fnn_from_weights([one], [zero], "relu", "relu"), -1.0, 1.0) == 2
    assert linear_pieces(FNN(FNNConfig(1, 1, hidden=(3,), last_bias=False, initialization="constant"))) == 1


def test_deep_random_networks_agree_with_a_fine_grid():
    g = torch.Generator().manual_seed(4)
    shapes = [(4, 1), (4, 4), (1, 4)]
    net = fnn_from_weights(
        [torch.randn(shape, generator=g) for shape in shapes], [torch.randn(n, generator=g) for n, _ in shapes], "relu"
    ).double()
    u = torch.linspace(-3, 3, 200_001, dtype=torch.float64)[:, None]
    slopes = net(u).diff(dim=0) / u.diff(dim=0)
    # a corner inside a grid cell spoils that one cell: two changes of slope in a row are one corner
    changes = (slopes.diff(dim=0).abs() > 1e-7).flatten()
    corners = int((changes[1:] & ~changes[:-1]).sum() + changes[0])
    assert linear_pieces(net, -3.0, 3.0) == corners + 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: approximation_errors(wave, [0]), r"`width` must be at least 1, got 0"),
        (lambda: approximation_errors(wave, [1], gain=0.0), r"`gain` must be greater than 0, got 0.0"),
        (lambda: approximation_errors(wave, [1], activation="swish"), r"`activation` must be one of .*, got 'swish'"),
        (lambda: approximation_errors(wave, [1], points=1), r"`points` must be at least 2, got 1"),
        (lambda: smooth_step(0.0), r"`gain` must be greater than 0, got 0.0"),
        (lambda: output_bound(tent_map(1)), r"`activation` must be one of 'heaviside', 'sigmoid', 'tanh', got 'relu'"),
        (lambda: output_bound(FNN(FNNConfig(1, 1, hidden=()))), r"`activation` must be one of .*, got 'identity'"),
        (lambda: output_bound(shallow_parity(2)), r"`last_activation` must be one of 'identity', got 'heaviside'"),
        (lambda: shallow_parity(0), r"`bits` must be at least 1, got 0"),
        (lambda: parity_tree(1), r"`bits` must be at least 2, got 1"),
        (lambda: parity_tree(6), r"`bits` must be a power of two, got 6: add inputs that are always 0"),
        (lambda: tent_map(0), r"`layers` must be at least 1, got 0"),
        (lambda: shallow_tent_map(0), r"`layers` must be at least 1, got 0"),
        (lambda: linear_pieces(tent_map(1), 1.0, 0.0), r"`high` must be greater than 1.0, got 0.0"),
        (
            lambda: linear_pieces(shallow_parity(2)),
            r"`network` must have one input, one output and no batch norm, got widths",
        ),
        (lambda: linear_pieces(smooth_step(1.0)), r"`activation` must be one of 'relu', 'identity', got 'sigmoid'"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_targets_must_fit():
    with pytest.raises(ShapeError, match=r"`targets` must have one row per input \(3\), got 2"):
        approximate(torch.zeros(3, 1), torch.zeros(2, 1), 4)
