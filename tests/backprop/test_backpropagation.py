import inspect
import itertools

import pytest
import torch

from lamina._errors import ArgumentError, ShapeError
from lamina.backprop import backpropagation as bp
from lamina.classical.descent import learning_problem
from lamina.functional.activations import get_activation, softmax, softmax_vjp
from lamina.functional.chain_rule import affine_pullback, chain_gradients
from lamina.functional.dense import parameter_count
from lamina.functional.losses import binary_cross_entropy, mse_half, negative_log_likelihood

F64 = torch.float64
SMOOTH = ("sigmoid", "tanh", "identity", "relu", "leaky_relu", "gelu", "gelu_tanh")


def network(widths, seed=0, samples=6):
    g = torch.Generator().manual_seed(seed)
    weights = [torch.randn(b, a, generator=g, dtype=F64) for a, b in itertools.pairwise(widths)]
    biases = [torch.randn(b, generator=g, dtype=F64) for b in widths[1:]]
    return weights, biases, torch.randn(samples, widths[0], generator=g, dtype=F64), g


def supervision(loss, samples, outputs, g):
    if loss == "nll":
        return torch.randint(outputs, (samples,), generator=g)
    if loss == "bce":
        return torch.randint(2, (samples, outputs), generator=g).to(F64)
    return torch.randn(samples, outputs, generator=g, dtype=F64)


def loss_of(weights, biases, activations, inputs, targets, loss):
    """The same network from torch's own functions, for autograd."""
    y = inputs
    for W, b, name in zip(weights, biases, activations, strict=True):
        z = torch.nn.functional.linear(y, W, b)
        if name == "softmax":
            y = torch.softmax(z, -1)
        elif name == "leaky_relu":
            y = torch.nn.functional.leaky_relu(z, 0.1)
        elif name in ("gelu", "gelu_tanh"):
            y = torch.nn.functional.gelu(z, approximate=name[5:] or "none")
        else:
            y = z if name == "identity" else getattr(torch, name)(z)
    if loss == "bce":
        return torch.nn.functional.binary_cross_entropy_with_logits(z, targets)
    if loss == "nll":
        return torch.nn.functional.cross_entropy(z, targets)
    return (y - targets).square().sum() / (2 * len(y))


def by_autograd(weights, biases, *rest):
    leaves = [p.clone().requires_grad_() for p in (*weights, *biases)]
    value = loss_of(leaves[: len(weights)], leaves[len(weights) :], *rest)
    return value.detach(), torch.autograd.grad(value, leaves)


def largest_difference(ours, reference):
    return max((a - b).abs().max().item() for a, b in zip((*ours.weights, *ours.biases), reference, strict=True))


CASES = [
    *[("mse", (hidden, "tanh", last)) for hidden in SMOOTH for last in SMOOTH],
    ("mse", ("tanh", "sigmoid", "softmax")),
    ("mse", ("softmax", "tanh", "identity")),
    *[("bce", (hidden, "tanh", "sigmoid")) for hidden in SMOOTH],
    *[("nll", (hidden, "relu", "softmax")) for hidden in SMOOTH],
]


@pytest.mark.notes("N2.77", "N2.80")
@pytest.mark.parametrize(("loss", "activations"), CASES)
def test_alg_6_equals_autograd(loss, activations):
    weights, biases, inputs, g = network([3, 5, 4, 2])
    problem = activations, inputs, supervision(loss, 6, 2, g), loss
    ours = bp.backpropagate(weights, biases, *problem)
    value, reference = by_autograd(weights, biases, *problem)
    assert ours.loss.item() == pytest.approx(value.item(), rel=1e-14)
    assert largest_difference(ours, reference) < 1e-14  # values of size 5, sums in another order


@pytest.mark.notes("N2.80")
def test_the_example_of_the_notes_agrees_to_the_last_bits():
    """The data of check `backpropagation`: three tanh layers, half squared error, 6e-17 from autograd."""
    g = torch.Generator().manual_seed(0)
    widths = [3, 5, 4, 2]
    weights = [torch.randn(b, a, generator=g, dtype=F64) for a, b in itertools.pairwise(widths)]
    biases = [torch.randn(b, generator=g, dtype=F64) for b in widths[1:]]
    inputs, targets = torch.randn(6, 3, generator=g, dtype=F64), torch.randn(6, 2, generator=g, dtype=F64)
    problem = ["tanh"] * 3, inputs, targets, "mse"
    assert (
        largest_difference(bp.backpropagate(weights, biases, *problem), by_autograd(weights, biases, *problem)[1])
        < 1e-14
    )


@pytest.mark.notes("N2.80")
@pytest.mark.parametrize(
    ("loss", "activations"),
    [("mse", ("tanh", "sigmoid")), ("bce", ("tanh", "sigmoid")), ("nll", ("sigmoid", "softmax"))],
)
def test_alg_6_equals_finite_differences(loss, activations):
    widths = [3, 4, 2]
    weights, biases, inputs, g = network(widths)
    targets = supervision(loss, 6, 2, g)
    theta = bp.flatten(weights, biases)

    def value(vector):
        return bp.backpropagate(*bp.unflatten(vector, widths), activations, inputs, targets, loss).loss

    steps = 1e-5 * torch.eye(len(theta), dtype=F64)
    slopes = torch.stack([(value(theta + step) - value(theta - step)) / 2e-5 for step in steps])
    gradient = bp.backpropagate(weights, biases, activations, inputs, targets, loss).flatten()
    torch.testing.assert_close(gradient, slopes, rtol=0, atol=1e-6)


@pytest.mark.notes("N2.12", "N2.65")
@pytest.mark.parametrize(
    ("widths", "length"), [([3, 1], 4), ([2, 2, 1], 9), ([3, 5, 5, 5, 1], 86), ([784, 128, 64, 32, 10], 111_146)]
)
def test_the_gradient_is_a_vector_as_long_as_theta(widths, length):
    weights, biases, inputs, g = network(widths, samples=2)
    activations = ["tanh"] * (len(widths) - 1)
    gradient = bp.backpropagate(weights, biases, activations, inputs, supervision("mse", 2, widths[-1], g)).flatten()
    assert gradient.shape == (length,) and parameter_count(widths) == length
    back = bp.unflatten(bp.flatten(weights, biases), widths)
    assert all(a.equal(b) for a, b in zip((*weights, *biases), (*back[0], *back[1]), strict=True))
    layers = torch.nn.Sequential(*[torch.nn.Linear(a, b, dtype=F64) for a, b in itertools.pairwise(widths)])
    with torch.no_grad():
        for layer, W, b in zip(layers, weights, biases, strict=True):
            layer.weight.copy_(W)
            layer.bias.copy_(b)
    assert bp.flatten(weights, biases).equal(torch.nn.utils.parameters_to_vector(layers.parameters()).detach())


@pytest.mark.notes("N2.65", "N2.70")
def test_forward_propagation_keeps_both_z_and_y():
    weights, biases, inputs, _ = network([3, 5, 2])
    cache = bp.forward(weights, biases, ["tanh", "softmax"], inputs)
    z1 = inputs @ weights[0].T + biases[0]
    z2 = torch.tanh(z1) @ weights[1].T + biases[1]
    assert [y.shape for y in cache.features] == [(6, 3), (6, 5), (6, 2)] and cache.features[0] is inputs
    torch.testing.assert_close(cache.pre_activations, (z1, z2), rtol=0, atol=1e-14)
    torch.testing.assert_close(cache.outputs, torch.softmax(z2, -1), rtol=0, atol=1e-14)


@pytest.mark.notes("N2.67")
def test_the_scalar_chain_of_example_2_3():
    """dL/dW^[0] = (y3 - S) * s'(z3) W2 * s'(z2) W1 * s'(z1) y0, without biases, written out for all three weights."""
    w = torch.tensor([0.7, -1.2, 0.4], dtype=F64)
    y = [torch.tensor(0.8, dtype=F64)]
    for k in range(3):
        y.append(torch.tanh(w[k] * y[-1]))
    slope = [1 - y[k + 1] ** 2 for k in range(3)]
    first, second, third = y[3] - 1, slope[2] * w[2], slope[1] * w[1]
    expected = [first * second * third * slope[0] * y[0], first * second * slope[1] * y[1], first * slope[2] * y[2]]
    ours = bp.backpropagate(
        [v.reshape(1, 1) for v in w],
        [torch.zeros(1, dtype=F64)] * 3,
        ["tanh"] * 3,
        y[0].reshape(1, 1),
        torch.ones(1, 1, dtype=F64),
    )
    leaf = w.clone().requires_grad_()
    loss = 0.5 * (torch.tanh(leaf[2] * torch.tanh(leaf[1] * torch.tanh(leaf[0] * 0.8))) - 1) ** 2
    (reference,) = torch.autograd.grad(loss, leaf)
    for l in range(3):
        assert ours.weights[l].item() == pytest.approx(expected[l].item(), abs=1e-14)
        assert ours.weights[l].item() == pytest.approx(reference[l].item(), abs=1e-14)


@pytest.mark.notes("N2.68", "N2.72")
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_products_of_jacobians_equal_backpropagation_at_any_depth(depth):
    widths = [3, 4, 2, 5, 3, 2][: depth + 1]
    weights, biases, inputs, g = network(widths, seed=depth, samples=1)
    activations = ["tanh", "sigmoid", "leaky_relu", "tanh", "identity"][:depth]
    targets = supervision("mse", 1, widths[-1], g)
    cache = bp.forward(weights, biases, activations, inputs)
    products = chain_gradients(
        (cache.outputs - targets)[0],
        [y[0] for y in cache.features],
        [z[0] for z in cache.pre_activations],
        weights,
        [get_activation(name).derivative for name in activations],
    )
    ours = bp.backpropagate(weights, biases, activations, inputs, targets)
    assert largest_difference(ours, [*products[0], *products[1]]) < 1e-14
    reference = by_autograd(weights, biases, activations, inputs, targets, "mse")[1]
    assert largest_difference(ours, reference) < 1e-14


@pytest.mark.notes("N2.69")
@pytest.mark.parametrize("depth", [1, 2, 4, 7])
def test_the_sweep_makes_one_step_a_layer(depth, monkeypatch):
    """Of the L pullbacks the last one's y_bar is dropped: L - 1 products with layer derivatives are passed on."""
    weights, biases, inputs, g = network([2] * (depth + 1))
    calls = {"affine": 0, "activation": 0}

    def affine(*arguments):
        calls["affine"] += 1
        return affine_pullback(*arguments)

    activation = bp.activation_pullback

    def through(*arguments):
        calls["activation"] += 1
        return activation(*arguments)

    monkeypatch.setattr(bp, "affine_pullback", affine)
    monkeypatch.setattr(bp, "activation_pullback", through)
    bp.backpropagate(weights, biases, ["tanh"] * depth, inputs, supervision("mse", 6, 2, g))
    assert calls == {"affine": depth, "activation": depth}


@pytest.mark.notes("N2.71")
def test_a_loss_sees_the_last_layer_and_the_supervision_only():
    """Two networks with one output have one loss, whatever the layers before; the losses take nothing else."""
    weights, biases, inputs, g = network([3, 4, 2])
    targets = supervision("mse", 6, 2, g)
    deep = bp.backpropagate(weights, biases, ["tanh", "identity"], inputs, targets)
    hidden = bp.forward(weights, biases, ["tanh", "identity"], inputs).features[1]
    shallow = bp.backpropagate(weights[1:], biases[1:], ["identity"], hidden, targets)
    assert deep.loss.equal(shallow.loss)
    assert deep.weights[1].equal(shallow.weights[0]) and deep.biases[1].equal(shallow.biases[0])
    for function in (mse_half, binary_cross_entropy, negative_log_likelihood):
        assert len([p for p in inspect.signature(function).parameters.values() if p.default is p.empty]) == 2


@pytest.mark.notes("N2.77")
def test_the_bar_recursion_written_out():
    weights, biases, inputs, g = network([3, 4, 2])
    targets = supervision("mse", 6, 2, g)
    cache = bp.forward(weights, biases, ["tanh", "sigmoid"], inputs)
    (y0, y1, y2), (z1, z2) = cache.features, cache.pre_activations
    z2_bar = (y2 - targets) / 6 * torch.sigmoid(z2) * (1 - torch.sigmoid(z2))
    y1_bar = (weights[1].T @ z2_bar.T).T
    z1_bar = y1_bar * (1 - torch.tanh(z1) ** 2)
    ours = bp.backpropagate(weights, biases, ["tanh", "sigmoid"], inputs, targets)
    expected = [
        sum(torch.outer(z, y) for z, y in zip(z_bar, y_in, strict=True)) for z_bar, y_in in ((z1_bar, y0), (z2_bar, y1))
    ]
    torch.testing.assert_close(ours.weights, tuple(expected), rtol=0, atol=1e-14)
    torch.testing.assert_close(ours.biases, (z1_bar.sum(0), z2_bar.sum(0)), rtol=0, atol=1e-14)


@pytest.mark.notes("N2.79")
@pytest.mark.parametrize(
    ("loss", "activations"), [("mse", ("tanh", "relu")), ("bce", ("tanh", "sigmoid")), ("nll", ("relu", "softmax"))]
)
def test_the_batch_equals_the_loop_over_samples(loss, activations):
    weights, biases, inputs, g = network([3, 4, 3])
    targets = supervision(loss, 6, 3, g)
    batch = bp.backpropagate(weights, biases, activations, inputs, targets, loss)
    loop = bp.backpropagate_by_sample(weights, biases, activations, inputs, targets, loss)
    assert loop.loss.item() == pytest.approx(batch.loss.item(), rel=1e-14)
    assert largest_difference(loop, [*batch.weights, *batch.biases]) < 1e-14


def test_fused_rules_equal_the_loss_pulled_back_through_the_activation():
    weights, biases, inputs, g = network([3, 4])
    cache = bp.forward(weights, biases, ["softmax"], inputs)
    labels = supervision("nll", 6, 4, g)
    one_hot = torch.nn.functional.one_hot(labels, 4)
    unfused = softmax_vjp(cache.outputs, -one_hot / cache.outputs / 6)
    value, z_bar = bp.output_gradient(cache, "softmax", labels, "nll")
    torch.testing.assert_close(z_bar, unfused, rtol=0, atol=1e-14)
    torch.testing.assert_close(z_bar, (softmax(cache.pre_activations[-1]) - one_hot) / 6, rtol=0, atol=1e-15)
    cache = bp.forward(weights, biases, ["sigmoid"], inputs)
    y, S = cache.outputs, supervision("bce", 6, 4, g)
    value, z_bar = bp.output_gradient(cache, "sigmoid", S, "bce")
    torch.testing.assert_close(z_bar, (y - S) / (y * (1 - y)) / 24 * y * (1 - y), rtol=0, atol=1e-14)
    # A saturated output has a finite loss and gradient, where the quotient is 0/0.
    cache = bp.forward(
        [torch.full((1, 1), 800.0, dtype=F64)], [torch.zeros(1, dtype=F64)], ["sigmoid"], torch.ones(1, 1, dtype=F64)
    )
    value, z_bar = bp.output_gradient(cache, "sigmoid", torch.zeros(1, 1, dtype=F64), "bce")
    assert (value.item(), z_bar.item()) == (800.0, 1.0)


def test_the_hadamard_rule_is_wrong_for_softmax():
    z = torch.tensor([[0.5, -1.0, 2.0]], dtype=F64)
    p, y_bar = torch.softmax(z, -1), torch.tensor([[1.0, -2.0, 0.5]], dtype=F64)
    jacobian = torch.autograd.functional.jacobian(lambda v: torch.softmax(v, 0), z[0])
    ours = bp.pull_through_activation("softmax", z, p, y_bar)[0]
    torch.testing.assert_close(ours, jacobian.T @ y_bar[0], rtol=0, atol=1e-14)
    assert ((y_bar * p * (1 - p))[0] - ours).abs().max() > 0.05


@pytest.mark.notes("N2.11")
def test_the_objective_by_hand_is_the_one_by_autograd():
    weights, biases, inputs, g = network([3, 4, 2])
    targets = supervision("mse", 6, 2, g)
    params = bp.name_parameters(weights, biases)

    def same(p, u):
        return torch.sigmoid(torch.tanh(u @ p["W0"].T + p["b0"]) @ p["W1"].T + p["b1"])

    value, gradient = bp.objective(["tanh", "sigmoid"], inputs, targets)(params)
    expected, reference = learning_problem(same, mse_half, inputs, targets)(params)
    assert value.item() == pytest.approx(expected.item(), rel=1e-14) and gradient.keys() == reference.keys()
    for name in params:
        torch.testing.assert_close(gradient[name], reference[name], rtol=0, atol=1e-14)


@pytest.mark.parametrize("loss", ["mse", "bce"])
def test_a_population_is_mapped(loss):
    members = [network([3, 4, 2], seed) for seed in range(3)]
    inputs, targets = members[0][2], supervision(loss, 6, 2, members[0][3])
    weights = [torch.stack(layer) for layer in zip(*[m[0] for m in members], strict=True)]
    biases = [torch.stack(layer) for layer in zip(*[m[1] for m in members], strict=True)]

    def gradient(W, b):
        return bp.backpropagate(W, b, ["tanh", "sigmoid"], inputs, targets, loss).flatten()

    together = torch.vmap(gradient)(weights, biases)
    for row, member in zip(together, members, strict=True):
        torch.testing.assert_close(row, gradient(member[0], member[1]), rtol=0, atol=1e-14)


def test_wrong_arguments(as_user):
    weights, biases, inputs, g = network([3, 4, 2])
    targets = supervision("mse", 6, 2, g)
    with pytest.raises(ArgumentError, match="`loss` must be one of 'mse', 'bce', 'nll', got 'hinge'"):
        bp.backpropagate(weights, biases, ["tanh", "tanh"], inputs, targets, "hinge")
    with pytest.raises(ArgumentError, match="`loss` 'bce' must follow the activation 'sigmoid', got 'tanh'"):
        bp.backpropagate(weights, biases, ["tanh", "tanh"], inputs, targets, "bce")
    with pytest.raises(ArgumentError, match="`loss` 'nll' must follow the activation 'softmax', got 'sigmoid'"):
        bp.backpropagate(weights, biases, ["tanh", "sigmoid"], inputs, targets, "nll")
    with pytest.raises(ArgumentError, match=r"`activations` must be one of 'heaviside', .*'softmax', got 'swish'"):
        bp.forward(weights, biases, ["swish", "tanh"], inputs)
    with pytest.raises(ArgumentError, match="must have one entry per layer, at least one, got 2, 2 and 1"):
        bp.forward(weights, biases, ["tanh"], inputs)
    with pytest.raises(ArgumentError, match="at least one, got 0, 0 and 0"):
        bp.forward([], [], [], inputs)
    with pytest.raises(
        ShapeError, match=r"Layer 2 must have a weight \(n, 4\) and a bias \(n,\), got \(4, 3\) and \(4,\)"
    ):
        bp.forward([weights[0], weights[0]], [biases[0], biases[0]], ["tanh", "tanh"], inputs)
    with pytest.raises(ShapeError, match=r"Layer 1 must have a weight .* got \(4, 3\) and \(2,\)"):
        bp.forward(weights, biases[::-1], ["tanh", "tanh"], inputs)
    with pytest.raises(ShapeError, match=r"`inputs` must be \(samples, features\) with at least 1 sample, got \(3,\)"):
        bp.forward(weights, biases, ["tanh", "tanh"], inputs[0])
    with pytest.raises(ShapeError, match=r"`targets` must have the shape of `outputs`, \(6, 2\), got \(6, 1\)"):
        bp.backpropagate(weights, biases, ["tanh", "tanh"], inputs, targets[:, :1])
    with pytest.raises(ArgumentError, match=r"`targets` must be in \[0, 1\], got 0 to 2: classes are counted from 0"):
        bp.backpropagate(weights, biases, ["tanh", "softmax"], inputs, torch.tensor([0, 1, 2, 0, 1, 2]), "nll")
    with pytest.raises(ArgumentError, match=r"`targets` must be in \[0, 1\], got -1.0 to -1.0"):
        bp.backpropagate(weights, biases, ["tanh", "sigmoid"], inputs, -torch.ones(6, 2, dtype=F64), "bce")
    with pytest.raises(ArgumentError, match=r"`targets` must be class numbers for the loss 'nll', got torch.float64"):
        bp.backpropagate(weights, biases, ["tanh", "softmax"], inputs, targets[:, 0], "nll")
    with pytest.raises(ShapeError, match="`inputs` and `targets` must hold the same number of examples, got 6 and 5"):
        bp.backpropagate_by_sample(weights, biases, ["tanh", "tanh"], inputs, targets[:5])
    with pytest.raises(ShapeError, match=r"`vector` must have 9 entries for the widths \[2, 2, 1\], got 8"):
        bp.unflatten(torch.zeros(8), [2, 2, 1])
