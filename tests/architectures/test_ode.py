"""The neural ODE: its Euler form is the residual network, RK4 and torchdiffeq agree, adjoint gradients are right."""

import itertools
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError, MissingExtraError
from lamina.architectures.dense_resnet import DenseResNet, DenseResNetConfig
from lamina.architectures.ode import NeuralODE, NeuralODEConfig


def rand(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def ode(seed=1, **options):
    """A network in float64 with biases that are not zero and knots that differ."""
    net = NeuralODE(NeuralODEConfig(**{"inputs": 4, "outputs": 2, **options}), seed=seed).double()
    with torch.no_grad():
        net.bias.copy_(rand(*net.bias.shape, seed=7))
        net.weight.add_(0.3 * rand(*net.weight.shape, seed=8))
    return net


def residual_twin(net, steps):
    """The residual network whose layers are the Euler steps of `net`."""
    twin = DenseResNet(DenseResNetConfig(4, 2, hidden=4, depth=steps, step_size="1/L")).double()
    with torch.no_grad():
        for index, layer in enumerate(twin.layers):
            knot = index if net.config.knots > 1 else 0
            layer.affine.weight.copy_(net.weight[knot])
            layer.affine.bias.copy_(net.bias[knot])
        twin.readout.load_state_dict(net.readout.state_dict())
    return twin


@pytest.mark.notes("N4.15", "N4.16")
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40))
def test_euler_with_shared_weights_is_a_residual_network_bit_for_bit(steps):
    net, u = ode(steps=steps), rand(6, 4)
    assert torch.equal(net(u), residual_twin(net, steps)(u))


@pytest.mark.notes("N4.15", "N4.16")
@pytest.mark.parametrize("steps", [5, 16, 49])
def test_knots_make_layers_with_their_own_weights(steps):
    net, u = ode(steps=steps, knots=steps + 1), rand(6, 4)
    torch.testing.assert_close(net(u), residual_twin(net, steps)(u), rtol=0, atol=1e-13)


@pytest.mark.notes("N4.16")
def test_gradients_equal_those_of_the_residual_network():
    net, u = ode(steps=8), rand(6, 4)
    twin = residual_twin(net, 8)
    net(u).square().sum().backward()
    twin(u).square().sum().backward()
    shared = sum(layer.affine.weight.grad for layer in twin.layers)
    torch.testing.assert_close(net.weight.grad[0], shared, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(net.readout.weight.grad, twin.readout.weight.grad, rtol=0, atol=1e-13)


@pytest.mark.notes("N4.16")
def test_euler_approaches_the_rk4_reference_with_first_order():
    exact, u = ode(method="rk4", steps=200), rand(6, 4)
    errors = [(ode(steps=L)(u) - exact(u)).norm().item() for L in (16, 32, 64)]
    assert all(1.8 < a / b < 2.2 for a, b in itertools.pairwise(errors))


@pytest.mark.notes("N4.16")
@pytest.mark.parametrize("options", [{}, {"knots": 3, "duration": 2.0}, {"width": 6, "activation": "sigmoid"}])
def test_adaptive_agrees_with_many_rk4_steps(options):
    u = rand(6, 4)
    fixed, adaptive = ode(method="rk4", steps=200, **options), ode(method="adaptive", tolerance=1e-8, **options)
    torch.testing.assert_close(adaptive(u), fixed(u), rtol=0, atol=1e-6)


@pytest.mark.notes("N4.16")
def test_adjoint_gradients_agree_with_automatic_ones():
    u, gradients = rand(6, 4), []
    for options in ({"method": "rk4", "steps": 200}, {"method": "adaptive"}, {"method": "adaptive", "adjoint": True}):
        net = ode(width=5, tolerance=1e-9, **options)
        net(u).square().sum().backward()
        gradients.append([p.grad for p in net.parameters()])
    for fixed, automatic, adjoint in zip(*gradients, strict=True):
        torch.testing.assert_close(automatic, fixed, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(adjoint, fixed, rtol=1e-6, atol=1e-6)


def test_initial_state():
    u = rand(3, 4)
    assert torch.equal(ode().initial_state(u), u)
    assert torch.equal(ode(width=6, projection="zero-pad").initial_state(u), torch.nn.functional.pad(u, (0, 2)))
    learned = ode(width=6)
    assert torch.equal(learned.initial_state(u), u @ learned.projection.weight.T)
    image = NeuralODE(NeuralODEConfig((1, 2, 2), 3)).double()
    assert torch.equal(image.initial_state(u.reshape(3, 1, 2, 2)), u)


def test_zero_right_hand_side_stands_still_and_knots_start_equal():
    net = NeuralODE(NeuralODEConfig(4, 2, knots=3, initialization="constant", scale=0.0, method="rk4")).double()
    u = rand(3, 4)
    assert torch.equal(net.final_state(u), u) and torch.equal(net(u), net.readout(u))
    drawn = NeuralODE(NeuralODEConfig(4, 2, knots=3), seed=1)
    one = NeuralODE(NeuralODEConfig(4, 2), seed=1)
    assert all(torch.equal(knot, one.weight[0]) for knot in drawn.weight)
    assert sum(p.numel() for p in drawn.parameters()) == 3 * (16 + 4) + 4 * 2 + 2


@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_vmap_of_three_members_equals_three_runs(method):
    config = NeuralODEConfig(3, 2, width=5, projection="zero-pad", knots=2, steps=4, method=method)
    members, u = [NeuralODE(config, seed=seed).double() for seed in range(3)], rand(8, 3)
    state = torch.func.stack_module_state(members)
    together = torch.func.vmap(lambda p, b: torch.func.functional_call(members[0], (p, b), (u,)))(*state)
    torch.testing.assert_close(together, torch.stack([member(u) for member in members]), rtol=0, atol=1e-13)


def test_round_trip_and_finite_gradients():
    config = NeuralODEConfig(3, 2, width=5, knots=2, method="rk4")
    net, other, u = NeuralODE(config, seed=1), NeuralODE(config, seed=2), torch.ones(2, 3)
    other.load_state_dict(net.state_dict())
    assert torch.equal(net(u), other(u))
    net(u).sum().backward()
    assert all(p.grad.isfinite().all() and p.grad.ne(0).any() for p in net.parameters())


def test_adaptive_without_torchdiffeq(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchdiffeq", None)
    message = r"A neural ODE with `method=\"adaptive\"` needs the package 'torchdiffeq': install .*'lamina-nn\[ode\]'"
    with pytest.raises(MissingExtraError, match=message):
        NeuralODE(NeuralODEConfig(3, 1, method="adaptive"))
    NeuralODE(NeuralODEConfig(3, 1, method="rk4"))(torch.zeros(2, 3))  # the fixed steps are our own


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outputs": 0}, r"`outputs` must be at least 1, got 0"),
        ({"width": 0}, r"`width` must be at least 1, got 0"),
        ({"steps": 0}, r"`steps` must be at least 1, got 0"),
        ({"method": "heun"}, r"`method` must be one of 'euler', 'rk4', 'adaptive', got 'heun'"),
        ({"adjoint": True}, r"`adjoint` needs `method=\"adaptive\"`, got 'euler': the fixed steps are differentiated"),
        ({"activation": "swish"}, r"`activation` must be one of .*, got 'swish'"),
        ({"knots": 0}, r"`knots` must be at least 1, got 0"),
        ({"duration": 0.0}, r"`duration` must be greater than 0, got 0.0"),
        ({"projection": "random"}, r"`projection` must be one of 'learned', 'zero-pad', got 'random'"),
        ({"tolerance": 0.0}, r"`tolerance` must be greater than 0, got 0.0"),
        ({"initialization": "lecun"}, r"`initialization` must be one of .*, got 'lecun'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ArgumentError, match=message):
        NeuralODEConfig(**{"inputs": 3, "outputs": 2, **options})
