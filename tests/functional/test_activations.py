"""Values, derivatives and laws of the activation functions."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import jacrev, vmap

from lamina._errors import ArgumentError
from lamina.functional import activations as A

D = torch.float64
GRID = torch.linspace(-5, 5, 1001, dtype=D)
numbers = st.floats(-50, 50)
vectors = st.lists(numbers, min_size=1, max_size=6)
laws = settings(deadline=None, derandomize=True, max_examples=50)


def close(first, second, tolerance=1e-14):
    torch.testing.assert_close(first, second, rtol=tolerance, atol=tolerance)


def tensor(*values):
    return torch.tensor(values, dtype=D)


@pytest.mark.notes("N1.04")
def test_heaviside_is_one_from_zero_on_and_carries_no_gradient():
    y = tensor(-2, -1e-300, 0, 1e-300, 3).requires_grad_()
    assert A.heaviside(y).tolist() == [0, 0, 1, 1, 1]
    assert torch.equal(A.heaviside(y), torch.heaviside(y.detach(), torch.ones((), dtype=D)))
    assert not A.heaviside(y).requires_grad
    with pytest.raises(RuntimeError, match="heaviside is not implemented"):
        torch.heaviside(y, torch.ones((), dtype=D)).sum().backward()


@pytest.mark.notes("N1.05", "N2.48")
def test_sigmoid_has_both_printed_forms_and_is_stable():
    y = GRID
    close(A.sigmoid(y), 1 / (1 + (-y).exp()))
    close(A.sigmoid(y), y.exp() / (y.exp() + 1))
    assert A.sigmoid(tensor(0)).item() == 0.5
    close(A.sigmoid(-y), 1 - A.sigmoid(y))
    assert A.sigmoid(tensor(-1e3, 1e3)).tolist() == [0, 1]
    # each printed form is stable for one sign only
    assert (tensor(1e3).exp() / (tensor(1e3).exp() + 1)).isnan().all()
    close(A.sigmoid(tensor(-700)), tensor(-700).exp(), 1e-14)


@pytest.mark.notes("N2.49")
def test_sigmoid_reaches_one_in_floating_point():
    assert torch.sigmoid(torch.tensor(17.4)) == 1 and A.sigmoid(torch.tensor(17.4)) == 1
    assert A.sigmoid(tensor(36.8)) == 1 and A.sigmoid(tensor(36)) < 1 and A.sigmoid(torch.tensor(16.0)) < 1
    assert (-torch.log(1 - A.sigmoid(tensor(36.8)))).isinf()


@pytest.mark.notes("N1.06")
def test_tanh_is_odd_and_does_not_overflow():
    y = GRID
    close(A.tanh(y), (y.exp() - (-y).exp()) / (y.exp() + (-y).exp()))
    close(A.tanh(y), 2 * A.sigmoid(2 * y) - 1)
    close(A.tanh(-y), -A.tanh(y))
    large = tensor(711)
    assert ((large.exp() - (-large).exp()) / (large.exp() + (-large).exp())).isnan().all()
    assert A.tanh(large).item() == 1


@pytest.mark.notes("N1.07", "N1.16")
def test_relu_is_unbounded_with_derivative_one():
    assert A.relu(tensor(-1, 0, 2)).tolist() == [0, 0, 2]
    large = tensor(1e-300, 1, 1e10, 1e300)
    assert torch.equal(A.relu(large), large)
    assert A.relu_derivative(large).tolist() == [1, 1, 1, 1]


@pytest.mark.notes("N1.08")
def test_leaky_relu_is_the_maximum_for_slopes_below_one():
    y = tensor(-2, 2)
    for slope in (0.0, 0.1, 0.5, 0.99):
        assert torch.equal(A.leaky_relu(y, slope), torch.maximum(slope * y, y))
    assert A.leaky_relu(y).tolist() == [-0.2, 2]
    # beyond 1 the two definitions part, so such slopes are refused
    assert torch.maximum(2 * y, y).tolist() == [-2, 4]
    assert torch.nn.functional.leaky_relu(y, 2.0).tolist() == [-4, 2]


@pytest.mark.parametrize("function", [A.leaky_relu, A.leaky_relu_derivative])
@pytest.mark.parametrize("slope", [1.0, 2.0, -0.1])
def test_slopes_outside_the_unit_interval_are_refused(function, slope):
    with pytest.raises(ArgumentError, match=r"`slope` must be in \[0, 1\), got"):
        function(tensor(1), slope)


@pytest.mark.notes("N1.10")
def test_all_are_monotone_and_only_heaviside_jumps():
    y = torch.linspace(-5, 5, 100_001, dtype=D)
    steps = {name: A.get_activation(name)(y).diff() for name in ("heaviside", "sigmoid", "tanh", "relu", "leaky_relu")}
    assert all((step >= 0).all() for step in steps.values())
    assert [name for name, step in steps.items() if step.max() > 2e-4] == ["heaviside"]


@pytest.mark.notes("N1.12")
def test_steep_sigmoids_approach_heaviside():
    errors = [abs(A.sigmoid(k * tensor(0.1)).item() - 1) for k in (1, 10, 100)]
    assert errors == pytest.approx([0.48, 0.27, 4.5e-5], rel=0.02)
    y = tensor(-3, -0.1, 0.1, 3)
    close(A.sigmoid(1000 * y), A.heaviside(y))


@pytest.mark.notes("N1.14")
def test_tanh_is_closer_to_the_identity_than_sigmoid():
    zero = tensor(0)
    assert (A.tanh(zero).item(), A.tanh_derivative(zero).item()) == (0, 1)
    assert (A.sigmoid(zero).item(), A.sigmoid_derivative(zero).item()) == (0.5, 0.25)


@pytest.mark.notes("N1.15")
def test_derivatives_vanish():
    assert A.sigmoid_derivative(tensor(10)).item() == pytest.approx(4.5e-5, rel=0.01)
    assert A.tanh_derivative(tensor(10)).item() == pytest.approx(8.2e-9, rel=0.01)
    assert not A.heaviside_derivative(GRID).any()


@pytest.mark.notes("N2.23")
def test_bounds_of_derivatives():
    y = torch.linspace(-50, 50, 200_001, dtype=D)
    assert A.sigmoid_derivative(y).max() == 0.25 and y[A.sigmoid_derivative(y).argmax()].abs() < 1e-9
    assert A.tanh_derivative(y).max() == 1
    assert set(A.relu_derivative(y).tolist()) == {0, 1}


@pytest.mark.notes("N1.18")
def test_derivatives_at_zero_are_torchs():
    def at_zero(function):
        z = tensor(0).requires_grad_()
        return torch.autograd.grad(function(z).sum(), z)[0].item()

    assert at_zero(A.relu) == 0 == A.relu_derivative(tensor(0)).item()
    assert at_zero(A.leaky_relu) == 0.1 == A.leaky_relu_derivative(tensor(0)).item()
    assert at_zero(lambda z: torch.maximum(0.1 * z, z)) == pytest.approx(0.55, abs=1e-14)


@pytest.mark.notes("N2.74")
@pytest.mark.parametrize("name", [name for name in A.ACTIVATIONS if name != "heaviside"])
def test_derivatives_equal_autograd_and_finite_differences(name):
    sigma = A.get_activation(name)
    z = torch.cat([GRID, tensor(0)]).requires_grad_()
    close(sigma.derivative(z.detach()), torch.autograd.grad(sigma(z).sum(), z)[0])
    smooth = torch.linspace(-4.05, 4.06, 31, dtype=D)  # keeps a distance from the corner at 0
    differences = (sigma(smooth + 1e-6) - sigma(smooth - 1e-6)) / 2e-6
    close(sigma.derivative(smooth), differences, 1e-8)


@pytest.mark.notes("N1.17")
@pytest.mark.parametrize(("name", "factor"), [("relu", 0.0), ("leaky_relu", 0.1)])
def test_a_dead_unit_recovers_only_with_leaky_relu(name, factor):
    sigma, u, target = A.get_activation(name), tensor(1.0, 2.0, 3.0), 1.0
    w = tensor(-1.0)

    def gradient(w):
        z = w * u
        return ((sigma(z) - target) * sigma.derivative(z) * u).mean()

    assert (w * u < 0).all()
    slopes = factor * ((factor * w * u - target) * u).mean()
    close(gradient(w), slopes)
    start = w.clone()
    for _ in range(200):
        w = w - 0.1 * gradient(w)
    assert torch.equal(w, start) if name == "relu" else (w * u > 0).all()


@pytest.mark.notes("N2.03")
@pytest.mark.parametrize("name", A.ACTIVATIONS)
def test_activations_act_on_each_component_alone(name, generator):
    sigma = A.get_activation(name)
    y = torch.randn(5, dtype=D, generator=generator)
    close(sigma(y), torch.stack([sigma(component) for component in y]))
    close(jacrev(sigma)(y), torch.diag(sigma.derivative(y)))
    assert sigma.zero_centered == bool(((sigma(GRID) + sigma(-GRID)).abs() < 1e-14).all())


@pytest.mark.notes("N3.38")
@pytest.mark.parametrize("name", A.ACTIVATIONS)
def test_detector_layers_act_on_each_entry_of_a_tensor(name, generator):
    sigma = A.get_activation(name)
    feature_maps = torch.randn(2, 3, 4, 5, dtype=D, generator=generator)
    entries = [sigma(entry).item() for entry in feature_maps.flatten()]
    close(sigma(feature_maps), torch.tensor(entries, dtype=D).reshape(2, 3, 4, 5))


@pytest.mark.notes("N2.60")
def test_softmax_is_a_distribution_and_stable():
    y = tensor(1, -2, 0.5, 3)
    close(A.softmax(y), y.exp() / y.exp().sum())
    assert ((A.softmax(y) > 0) & (A.softmax(y) < 1)).all()
    close(A.softmax(y).sum(), torch.ones((), dtype=D))
    huge = tensor(1000, 0)
    assert (huge.exp() / huge.exp().sum())[0].isnan()
    assert A.softmax(huge).tolist() == [1, 0]


@pytest.mark.notes("N2.61")
def test_softmax_of_two_is_sigmoid():
    pairs = torch.stack([GRID, torch.zeros_like(GRID)], -1)
    close(A.softmax(pairs)[:, 0], A.sigmoid(GRID), 2e-16)


def test_softmax_jacobian_and_vjp_equal_autograd(generator):
    z, g = torch.randn(2, 3, 4, dtype=D, generator=generator)
    p = A.softmax(z)
    jacobian = vmap(jacrev(A.softmax))(z)
    close(A.softmax_jacobian(p), jacobian)
    close(A.softmax_vjp(p, g), torch.einsum("bij,bi->bj", jacobian, g))
    inputs = z.requires_grad_(), g.requires_grad_()
    assert torch.autograd.gradcheck(lambda z, g: A.softmax_vjp(A.softmax(z), g), inputs)


@pytest.mark.notes("N2.46", "N2.47")
def test_probabilities_of_one_output_and_of_several(generator):
    z = 5 * torch.randn(7, 1, dtype=D, generator=generator)
    p = A.probabilities(z)
    close(p[:, 1:], A.sigmoid(z))
    close(p[:, :1], 1 - A.sigmoid(z))
    close(p, A.softmax(torch.cat([torch.zeros_like(z), z], -1)))
    close(p.sum(-1), torch.ones(7, dtype=D))
    several = torch.randn(7, 3, dtype=D, generator=generator)
    assert torch.equal(A.probabilities(several), A.softmax(several))
    close(A.probabilities(tensor(-50)), tensor(1, math.exp(-50)), 1e-15)


@pytest.mark.parametrize("name", A.ACTIVATIONS)
def test_component_wise_functions_under_vmap(name, generator):
    y = torch.randn(3, 4, dtype=D, generator=generator)
    sigma = A.get_activation(name)
    assert torch.equal(vmap(sigma)(y), sigma(y))
    assert torch.equal(vmap(sigma.derivative)(y), sigma.derivative(y))


def test_softmax_functions_under_vmap(generator):
    y, g = torch.randn(2, 3, 4, 5, dtype=D, generator=generator)
    assert torch.equal(vmap(A.softmax)(y), A.softmax(y))
    assert torch.equal(vmap(A.softmax_vjp)(A.softmax(y), g), A.softmax_vjp(A.softmax(y), g))
    assert torch.equal(vmap(A.softmax_jacobian)(y), A.softmax_jacobian(y))
    assert torch.equal(vmap(A.probabilities)(y[..., :1]), A.probabilities(y[..., :1]))


def test_gelu_by_hand_and_by_torch():
    y = GRID
    normal = torch.distributions.Normal(torch.zeros((), dtype=D), 1.0)
    close(A.gelu(y), y * normal.cdf(y), 1e-14)
    close(A.gelu(y), torch.nn.GELU()(y))
    tanh = y / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))
    close(A.gelu_tanh(y), tanh, 1e-14)
    close(A.gelu_tanh(y), torch.nn.GELU("tanh")(y))
    assert 1e-4 < (A.gelu(y) - A.gelu_tanh(y)).abs().max() < 5e-4
    # half of the second moment that He's rule counts on is kept up to a sixth
    points = torch.linspace(-12, 12, 100_001, dtype=D)
    moment = (A.gelu(points).square() * normal.log_prob(points).exp()).sum() * (points[1] - points[0])
    assert moment.item() == pytest.approx(0.4252, abs=1e-4)


def test_names_and_starting_rules():
    assert list(A.ACTIVATIONS) == [
        "heaviside",
        "sigmoid",
        "tanh",
        "relu",
        "leaky_relu",
        "gelu",
        "gelu_tanh",
        "identity",
    ]
    assert all(sigma.name == name for name, sigma in A.ACTIVATIONS.items())
    assert {name for name in A.ACTIVATIONS if A.default_initialization(name) == "he"} == {
        "relu", "leaky_relu", "gelu", "gelu_tanh"
    }  # fmt: skip
    assert A.default_initialization("sigmoid") == "xavier"
    for lookup in (A.get_activation, A.default_initialization):
        with pytest.raises(ArgumentError, match=r"`activation` must be one of 'heaviside', .*, got 'softmax'"):
            lookup("softmax")


def test_identity_returns_its_input():
    assert A.identity(GRID) is GRID
    assert A.identity_derivative(GRID).unique().tolist() == [1]


@laws
@given(vectors, numbers)
def test_softmax_ignores_a_shift(values, shift):
    y = torch.tensor(values, dtype=D)
    close(A.softmax(y + shift), A.softmax(y), 1e-12)
    close(A.softmax(y).sum(), torch.ones((), dtype=D), 1e-14)


@laws
@given(vectors, vectors)
def test_softmax_vjp_sums_to_zero(values, cotangents):
    n = min(len(values), len(cotangents))
    p, g = A.softmax(torch.tensor(values[:n], dtype=D)), torch.tensor(cotangents[:n], dtype=D)
    assert abs(A.softmax_vjp(p, g).sum().item()) < 1e-12


@laws
@given(numbers)
def test_symmetries_of_sigmoid_and_tanh(value):
    y = tensor(value)
    close(A.sigmoid(y) + A.sigmoid(-y), tensor(1))
    close(A.tanh(y), 2 * A.sigmoid(2 * y) - 1)
    assert 0 <= A.sigmoid_derivative(y).item() <= 0.25


@laws
@given(numbers, st.floats(0, 0.99))
def test_leaky_relu_is_a_maximum(value, slope):
    y = tensor(value)
    assert torch.equal(A.leaky_relu(y, slope), torch.maximum(slope * y, y))
