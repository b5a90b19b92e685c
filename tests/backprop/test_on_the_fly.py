import itertools

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.backprop import backpropagation as bp
from lamina.backprop.on_the_fly import train_on_the_fly
from lamina.classical.descent import descend
from lamina.functional.optimizers import OPTIMIZERS, Adam, GradientDescent, Momentum, iterate

F64 = torch.float64
TANH = ["tanh"] * 3


def example():
    """The network and the data of check `backpropagation`."""
    g = torch.Generator().manual_seed(0)
    widths = [3, 5, 4, 2]
    weights = [torch.randn(b, a, generator=g, dtype=F64) for a, b in itertools.pairwise(widths)]
    biases = [torch.randn(b, generator=g, dtype=F64) for b in widths[1:]]
    return weights, biases, torch.randn(6, 3, generator=g, dtype=F64), torch.randn(6, 2, generator=g, dtype=F64)


def largest_difference(one, other):
    assert one.keys() == other.keys()
    return max((one[name] - other[name]).abs().max().item() for name in one)


@pytest.mark.notes("N2.78")
def test_one_sweep_is_one_full_step():
    weights, biases, inputs, targets = example()
    g = bp.backpropagate(weights, biases, TANH, inputs, targets)
    full = bp.name_parameters(
        [W - 0.1 * d for W, d in zip(weights, g.weights, strict=True)],
        [b - 0.1 * d for b, d in zip(biases, g.biases, strict=True)],
    )
    fly = train_on_the_fly(weights, biases, TANH, inputs, targets, hyper=GradientDescent(0.1))
    assert largest_difference(fly.params, full) < 1e-15  # the step is one fused operation
    usual = train_on_the_fly(weights, biases, TANH, inputs, targets)  # the rate of the notes' experiments
    assert largest_difference(usual.params, fly.params) == 0
    assert fly.losses[0].equal(g.loss) and fly.losses[1] < fly.losses[0]


@pytest.mark.notes("N2.78")
def test_the_wrong_order_is_another_step():
    """Overwriting a weight before the gradient has passed through it: 2.8e-4 off in the notes' example."""
    weights, biases, inputs, targets = example()
    cache = bp.forward(weights, biases, TANH, inputs)
    _, z_bar = bp.output_gradient(cache, "tanh", targets, "mse")
    W, b = list(weights), list(biases)
    for l in (3, 2, 1):
        W[l - 1] = W[l - 1] - 0.1 * z_bar.T @ cache.features[l - 1]
        b[l - 1] = b[l - 1] - 0.1 * z_bar.sum(0)
        if l > 1:
            y_bar = z_bar @ W[l - 1]  # the new weight
            z_bar = bp.pull_through_activation("tanh", cache.pre_activations[l - 2], cache.features[l - 1], y_bar)
    right = train_on_the_fly(weights, biases, TANH, inputs, targets, hyper=GradientDescent(0.1)).params
    off = max((right[f"W{l}"] - W[l]).abs().max().item() for l in range(3))
    assert off == pytest.approx(2.8e-4, rel=0.02)


@pytest.mark.notes("N2.78")
@pytest.mark.parametrize(
    ("name", "hyper"), [("gd", GradientDescent(0.1)), ("momentum", Momentum(0.1)), ("adam", Adam(0.01))]
)
def test_twenty_sweeps_equal_the_ordinary_optimizer_exactly(name, hyper):
    weights, biases, inputs, targets = example()
    objective = bp.objective(TANH, inputs, targets)
    start = bp.name_parameters(weights, biases)
    ordinary = iterate(lambda p: objective(p)[1], start, OPTIMIZERS[name], hyper, steps=20)
    fly = train_on_the_fly(weights, biases, TANH, inputs, targets, optimizer=OPTIMIZERS[name], hyper=hyper, steps=20)
    assert largest_difference(fly.params, ordinary) == 0.0
    assert largest_difference(fly.params, start) > 0.1 and len(fly.losses) == 21


@pytest.mark.notes("N2.78")
def test_on_the_fly_adam_equals_torch_adam():
    weights, biases, inputs, targets = example()
    layers = [torch.nn.Linear(W.shape[1], W.shape[0], dtype=F64) for W in weights]
    model = torch.nn.Sequential(*itertools.chain.from_iterable((layer, torch.nn.Tanh()) for layer in layers))
    with torch.no_grad():
        for layer, W, b in zip(layers, weights, biases, strict=True):
            layer.weight.copy_(W)
            layer.bias.copy_(b)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(20):
        optimizer.zero_grad()
        ((model(inputs) - targets).square().sum() / 12).backward()
        optimizer.step()
    fly = train_on_the_fly(weights, biases, TANH, inputs, targets, optimizer=OPTIMIZERS["adam"], hyper=Adam(), steps=20)
    theirs = bp.name_parameters([layer.weight.detach() for layer in layers], [layer.bias.detach() for layer in layers])
    assert largest_difference(fly.params, theirs) < 1e-12


@pytest.mark.notes("N2.78")
@pytest.mark.parametrize(("loss", "last"), [("bce", "sigmoid"), ("nll", "softmax")])
def test_classification_on_the_fly_equals_plain_descent(loss, last):
    weights, biases, inputs, _ = example()
    targets = torch.tensor([0, 1, 1, 0, 0, 1])
    if loss == "bce":
        targets = torch.nn.functional.one_hot(targets).to(F64)
    activations = ["relu", "tanh", last]
    fly = train_on_the_fly(weights, biases, activations, inputs, targets, loss, hyper=GradientDescent(0.5), steps=50)
    plain = descend(bp.objective(activations, inputs, targets, loss), bp.name_parameters(weights, biases), 0.5, 50)
    assert largest_difference(fly.params, plain.params) == 0.0 and fly.losses.equal(plain.losses)
    assert fly.losses[-1] < 0.5 * fly.losses[0]


def test_wrong_arguments():
    weights, biases, inputs, targets = example()
    with pytest.raises(ArgumentError, match="`steps` must be at least 0, got -1"):
        train_on_the_fly(weights, biases, TANH, inputs, targets, steps=-1)
