"""The layer computes Eq. (9) with its variants; a learned step size starts exactly and stays positive."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lamina._errors import ArgumentError
from lamina.functional.activations import get_activation
from lamina.layers.dropout import Dropout
from lamina.layers.residual import SimpleResNetLayer, check_step_size


def rand(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.notes("N4.04")
@pytest.mark.parametrize("name", ["tanh", "relu", "sigmoid", "leaky_relu", "gelu", "identity"])
def test_layer_is_equation_9(name):
    layer, y = SimpleResNetLayer(4, 4, name, seed=3).double(), rand(7, 4)
    expected = y + get_activation(name)(torch.nn.functional.linear(y, layer.affine.weight, layer.affine.bias))
    assert torch.equal(layer(y), expected)
    assert sum(p.numel() for p in layer.parameters()) == 4 * 4 + 4


@pytest.mark.notes("N4.04")
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5), st.sampled_from(["tanh", "relu"]), st.booleans())
def test_zero_weights_are_the_identity(values, name, learned):
    n, y = len(values), torch.tensor(values, dtype=torch.float64)
    step_size = "learned" if learned else 0.5
    layer = SimpleResNetLayer(n, n, name, step_size=step_size, initialization="constant", scale=0.0)
    assert torch.equal(layer.double()(y), y)


@pytest.mark.notes("N4.24")
def test_no_activation_follows_the_sum():
    layer = SimpleResNetLayer(3, 3, "relu", initialization="constant", scale=0.0)
    assert layer(torch.tensor([-1.0, -2.0, 3.0])).tolist() == [-1.0, -2.0, 3.0]  # an original block gives ReLU of it
    assert type(layer).__name__ == "SimpleResNetLayer"


@pytest.mark.notes("N4.06")
def test_projections():
    y = rand(5, 3)
    learned = SimpleResNetLayer(3, 5, seed=1).double()
    branch = torch.tanh(y @ learned.affine.weight.T + learned.affine.bias)
    torch.testing.assert_close(learned(y), y @ learned.projection.weight.T + branch, rtol=0, atol=1e-14)
    assert learned.projection.bias is None
    fixed = SimpleResNetLayer(3, 5, projection="zero-pad", seed=1).double()
    assert torch.equal(fixed.affine.weight, learned.affine.weight)
    torch.testing.assert_close(fixed(y), torch.nn.functional.pad(y, (0, 2)) + branch, rtol=0, atol=1e-14)
    assert [name for name, _ in fixed.named_parameters()] == ["affine.weight", "affine.bias"]
    cut = SimpleResNetLayer(5, 2, projection="zero-pad", initialization="constant", scale=0.0).double()
    assert torch.equal(cut(rand(4, 5)), rand(4, 5)[:, :2])
    assert SimpleResNetLayer(3, 3).projection is None and not SimpleResNetLayer(3, 3, projection="zero-pad").padded


@pytest.mark.notes("N4.26")
def test_outer_weight():
    layer, y = SimpleResNetLayer(4, 4, outer=True, seed=2).double(), rand(6, 4)
    expected = y + torch.tanh(y @ layer.affine.weight.T + layer.affine.bias) @ layer.outer.weight.T
    torch.testing.assert_close(layer(y), expected, rtol=0, atol=1e-14)
    torch.nn.init.zeros_(layer.outer.weight)
    assert torch.equal(layer(y), y)


@pytest.mark.notes("N4.14")
def test_fixed_step_size():
    one, half = SimpleResNetLayer(4, 4, seed=2).double(), SimpleResNetLayer(4, 4, step_size=0.5, seed=2).double()
    y = rand(6, 4)
    torch.testing.assert_close((half(y) - y) / 0.5, one(y) - y, rtol=0, atol=1e-14)
    assert half.step_size == 0.5 and half.raw_step_size is None


@pytest.mark.notes("N4.17")
@given(st.floats(2**-20, 2**10, width=32), st.sampled_from([torch.float32, torch.float64]))
def test_learned_step_size_starts_exactly(start, dtype):
    layer = SimpleResNetLayer(2, 2, step_size="learned", initial_step_size=start).to(dtype)
    assert layer.step_size.item() == start


@pytest.mark.notes("N4.17")
def test_learned_step_size_gradient_and_sign():
    layer, y, cotangent = (
        SimpleResNetLayer(4, 4, step_size="learned", initial_step_size=0.3).double(),
        rand(6, 4),
        rand(6, 4, seed=1),
    )
    tau, branch = layer.step_size, torch.tanh(y @ layer.affine.weight.T + layer.affine.bias)
    (rho_bar,) = torch.autograd.grad(layer(y), layer.raw_step_size, cotangent, retain_graph=True)
    (slope,) = torch.autograd.grad(tau, layer.raw_step_size)
    torch.testing.assert_close(rho_bar, (cotangent * branch).sum() * slope, rtol=1e-12, atol=0)
    for raw in (-50.0, -5.0, 5.0, 50.0):
        torch.nn.init.constant_(layer.raw_step_size, raw)
        assert layer.step_size > 0


def test_dropout_acts_on_the_branch_only():
    layer = SimpleResNetLayer(50, 50, dropout=Dropout(0.5, seed=1), seed=2).double()
    y = rand(20, 50)
    added, kept = layer(y) - y, layer.eval()(y) - y
    dropped = added.abs() < 1e-14
    assert 0.4 < dropped.double().mean() < 0.6
    torch.testing.assert_close(added[~dropped], 2 * kept[~dropped], rtol=0, atol=1e-13)


def test_same_seed_same_layer_and_representation():
    one, two = (SimpleResNetLayer(3, 5, outer=True, step_size="learned", seed=4) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    assert "'tanh', step_size=learned" in repr(one)
    assert "'relu', step_size=0.5, projection='zero-pad'" in repr(
        SimpleResNetLayer(2, 3, "relu", step_size=0.5, projection="zero-pad")
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"in_features": 0}, r"`in_features` must be at least 1, got 0"),
        ({"out_features": 0}, r"`out_features` must be at least 1, got 0"),
        ({"activation": "softmax"}, r"`activation` must be one of .*, got 'softmax'"),
        ({"step_size": 0.0}, r"`step_size` must be greater than 0, got 0.0"),
        ({"step_size": "1/L"}, r"`step_size` must be a positive number or 'learned', got '1/L'"),
        ({"initial_step_size": -1.0}, r"`initial_step_size` must be greater than 0, got -1.0"),
        ({"projection": "random"}, r"`projection` must be one of 'learned', 'zero-pad', got 'random'"),
        ({"initialization": "lecun"}, r"`initialization` must be one of .*, got 'lecun'"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        SimpleResNetLayer(**{"in_features": 2, "out_features": 2, **arguments})


def test_step_size_without_words():
    with pytest.raises(ArgumentError, match=r"`tau` must be a positive number or no word, got 'big'"):
        check_step_size("tau", "big", ())
