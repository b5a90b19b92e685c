"""The feedforward network is Eq. (2): counts, composition, last layer, batch norm, dropout, many networks as one."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lamina._errors import ArgumentError, ShapeError
from lamina.architectures.fnn import FNN, FNNConfig, fnn_from_weights
from lamina.functional.activations import get_activation
from lamina.functional.dense import collapse_affine, depth, feedforward, is_deep, layer, parameter_count
from lamina.functional.losses import mse_half
from lamina.layers.dropout import load_run_state_, run_state


def rand(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.notes("N2.12", "N2.13", "N2.08")
@pytest.mark.parametrize(
    ("widths", "length"), [((3, 5, 5, 5, 1), 86), ((2, 2, 1), 9), ((3, 1), 4), ((784, 128, 64, 32, 10), 111146)]
)
def test_length_of_theta(widths, length):
    net = FNN(FNNConfig(widths[0], widths[-1], hidden=widths[1:-1]))
    assert net.config.widths == widths and count(net) == parameter_count(widths) == length


@pytest.mark.notes("N2.12")
@given(st.lists(st.integers(1, 9), min_size=2, max_size=6))
def test_length_of_theta_for_any_widths(widths):
    net = FNN(FNNConfig(widths[0], widths[-1], hidden=tuple(widths[1:-1])))
    assert count(net) == sum(a * b for a, b in itertools.pairwise(widths)) + sum(widths[1:])


@pytest.mark.notes("N2.08", "N2.13")
@pytest.mark.parametrize(
    ("hidden", "inputs", "nodes", "arrows", "biases", "layers"), [((2,), 2, 5, 6, 3, 2), ((5, 5, 5), 3, 19, 70, 16, 4)]
)
def test_counts_of_the_drawings(hidden, inputs, nodes, arrows, biases, layers):
    net = FNN(FNNConfig(inputs, 1, hidden=hidden))
    assert sum(net.config.widths) == nodes and depth(net.config.widths) == len(net.layers) == layers
    assert sum(W.numel() for W in net.weights) == arrows and sum(b.numel() for b in net.biases) == biases


@pytest.mark.notes("N2.01")
def test_depth_and_deep():
    deep, xor = FNNConfig(3, 1, hidden=(5, 5, 5)), FNNConfig(2, 1, hidden=(2,))
    assert depth(deep.widths) == 4 and len(deep.widths) - 2 == 3
    assert is_deep(deep.widths) and not is_deep(xor.widths)


@pytest.mark.notes("N2.02", "N2.04")
def test_equals_the_formula_and_nn_sequential():
    names = ("tanh", "relu", "sigmoid")
    net = FNN(FNNConfig(3, 2, hidden=(5, 4, 6), activation=names, last_activation="tanh"), seed=1).double()
    with torch.no_grad():
        for index, b in enumerate(net.biases):
            b.copy_(rand(len(b), seed=index))
    u, sigmas = rand(8, 3), [get_activation(name) for name in (*names, "tanh")]
    torch.testing.assert_close(net(u), feedforward(u, net.weights, net.biases, sigmas), rtol=0, atol=1e-14)
    modules = [nn.Tanh(), nn.ReLU(), nn.Sigmoid(), nn.Tanh()]
    plain = nn.Sequential(*[part for f, sigma in zip(net.layers, modules, strict=True) for part in (f.affine, sigma)])
    torch.testing.assert_close(net(u), plain(u), rtol=0, atol=1e-14)
    assert [tuple(W.shape) for W in net.weights] == [(5, 3), (4, 5), (6, 4), (2, 6)]


@pytest.mark.notes("N2.04", "N2.05")
def test_features_and_composition():
    net, u = FNN(FNNConfig(3, 2, hidden=(5, 4), activation="tanh"), seed=1).double(), rand(8, 3)
    y, features = u, net.features(u)
    assert torch.equal(features[0], u) and len(features) == 4
    for index, name in enumerate(net.config.activations):
        y = layer(y, net.weights[index], net.biases[index], get_activation(name))
        torch.testing.assert_close(features[index + 1], y, rtol=0, atol=1e-14)
    f1, f2, f3 = net.layers
    assert torch.equal(net(u), f3(f2(f1(u))))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        f3(f1(u))  # the composition as printed skips a layer


@pytest.mark.notes("N2.06")
def test_linear_network_cannot_learn_xor():
    u = torch.tensor([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=torch.float64)
    s = torch.tensor([[0], [1], [1], [0]], dtype=torch.float64)
    best = torch.linalg.lstsq(torch.cat([u, torch.ones(4, 1, dtype=torch.float64)], 1), s).solution
    torch.testing.assert_close(best.flatten(), torch.tensor([0, 0, 0.5], dtype=torch.float64), rtol=0, atol=1e-14)
    net = FNN(FNNConfig(2, 1, hidden=(2,), activation="identity"), seed=3).double()
    W, b = collapse_affine(net.weights, net.biases)
    torch.testing.assert_close(net(u), u @ W.T + b, rtol=0, atol=1e-14)  # the hidden layer adds nothing
    assert mse_half(net(u), s) > 0.125
    weights = [torch.eye(2, dtype=torch.float64), best[:2].T]
    optimal = fnn_from_weights(weights, [torch.zeros(2, dtype=torch.float64), best[2]], "identity")
    torch.testing.assert_close(optimal(u), torch.full((4, 1), 0.5, dtype=torch.float64), rtol=0, atol=1e-14)
    assert mse_half(optimal(u), s).item() == pytest.approx(1 / 8, abs=1e-14)


@pytest.mark.notes("N2.07")
def test_linear_last_layer():
    u = rand(50, 3)
    free, squashed = (
        FNN(FNNConfig(3, 1, hidden=(8,), activation="sigmoid", last_activation=last, scale=20.0), seed=2).double()
        for last in ("identity", "sigmoid")
    )
    assert free(u).min() < -1 and free(u).max() > 2  # not limited to the range of sigma
    assert squashed(u).min() >= 0 and squashed(u).max() <= 1
    torch.testing.assert_close(torch.sigmoid(free(u)), squashed(u), rtol=0, atol=1e-14)
    without = FNN(FNNConfig(3, 2, hidden=(4,), activation="relu", last_bias=False))
    assert without.biases[-1] is None and count(without) == 3 * 4 + 4 + 4 * 2
    dead = torch.zeros(1, 4)
    assert without.layers[-1](dead).tolist() == [[0.0, 0.0]]  # zero features force the output to zero


@pytest.mark.notes("N2.45")
def test_no_bias_before_batch_norm():
    net, u = FNN(FNNConfig(3, 2, hidden=(5, 4), batch_norm=True), seed=1).double(), rand(16, 3)
    assert [b is None for b in net.biases] == [True, True, False]
    assert [list(dict(f.named_children())) for f in net.layers] == [["affine", "norm", "activation"]] * 2 + [["affine"]]
    assert count(net) == 3 * 5 + 2 * 5 + 5 * 4 + 2 * 4 + 4 * 2 + 2
    first = net.layers[0]
    z = first.affine(u)
    torch.testing.assert_close(first.norm(z + 7), first.norm(z), rtol=0, atol=1e-12)


@pytest.mark.notes("N2.59")
@pytest.mark.parametrize("hidden", [(5, 5, 5), (128, 64, 32)])
def test_classification_of_digits_has_free_hidden_widths(hidden):
    net = FNN(FNNConfig((1, 28, 28), 10, hidden=hidden), seed=1)
    assert depth(net.config.widths) == 4 and (net.config.widths[0], net.config.widths[-1]) == (784, 10)
    pictures = torch.rand(2, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(net(pictures), net.layers(pictures.reshape(2, 784)))


@pytest.mark.notes("N1.65")
def test_hyperparameters_are_not_parameters():
    one, two = (FNN(FNNConfig(3, 2, hidden=(5,), dropout=rate, scale=1.0), seed=1) for rate in (0.1, 0.5))
    assert [name for name, _ in one.named_parameters()] == [name for name, _ in two.named_parameters()]
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    with pytest.raises(AttributeError):
        one.config.dropout = 0.2


def test_initialization_follows_each_activation():
    net = FNN(FNNConfig(400, 400, hidden=(400, 400), activation=("relu", "tanh")), seed=1)
    deviations = [W.std().item() * 20 for W in net.weights]  # sqrt(n_in) = 20
    assert deviations == pytest.approx([2**0.5, 1.0, 1.0], rel=0.02)
    assert all(b.eq(0).all() for b in net.biases)
    constant = FNN(FNNConfig(3, 2, hidden=4, initialization="constant", scale=0.5))
    assert all(W.eq(0.5).all() for W in constant.weights) and constant.config.widths == (3, 4, 2)


def test_dropout_is_counted_and_off_in_evaluation():
    config = FNNConfig(3, 2, hidden=(50, 50), dropout=0.5)
    one, two, u = FNN(config, seed=1), FNN(config, seed=1), torch.ones(4, 3)
    first, second = one(u), one(u)
    assert torch.equal(first, two(u)) and not torch.equal(first, second)
    hidden = one.features(u)
    assert 0.6 < hidden[1].eq(0).float().mean() < 0.9 and not torch.equal(hidden[1].eq(0), hidden[2].eq(0))
    plain = FNN(FNNConfig(3, 2, hidden=(50, 50)), seed=1)
    torch.testing.assert_close(one.eval()(u), plain(u), rtol=0, atol=0)


@pytest.mark.parametrize("training", [True, False])
def test_vmap_of_three_members_equals_three_runs(training):
    config = FNNConfig(3, 2, hidden=(6, 5), activation="tanh", batch_norm=True, dropout=0.3)
    members = [FNN(config, seed=seed).double().train(training) for seed in range(3)]
    skeleton, u = FNN(config).double().train(training), rand(8, 3)
    parameters, buffers = torch.func.stack_module_state(members)

    def run(parameters, buffers):
        return torch.func.functional_call(skeleton, (parameters, buffers), (u,))

    together = torch.func.vmap(run)(parameters, buffers)
    torch.testing.assert_close(together, torch.stack([member(u) for member in members]), rtol=0, atol=1e-13)


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_same_seed_and_round_trip(seed):
    config = FNNConfig(3, 2, hidden=(4,), dropout=0.5, batch_norm=True)
    net, other = FNN(config, seed=seed), FNN(config, seed=seed + 1)
    load_run_state_(other, run_state(net))
    u = torch.randn(5, 3, generator=torch.Generator().manual_seed(seed))
    assert torch.equal(net(u), other(u)) and torch.equal(net(u), other(u))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outputs": 0}, r"`outputs` must be at least 1, got 0"),
        ({"hidden": (3, 0)}, r"`hidden` must be at least 1, got 0"),
        (
            {"activation": ("relu",)},
            r"`activation` must be one name or one name for each of the 2 hidden layers, got 1",
        ),
        ({"activation": "swish"}, r"`activation` must be one of .*, got 'swish'"),
        ({"activation": ("relu", "swish")}, r"`activation` must be one of .*, got 'swish'"),
        ({"last_activation": "softmax"}, r"`last_activation` must be one of .*, got 'softmax'"),
        ({"dropout": 1.0}, r"`dropout` must be in \[0, 1\), got 1.0"),
        ({"initialization": "lecun"}, r"`initialization` must be one of .*, got 'lecun'"),
        ({"scale": -1.0}, r"`scale` must be at least 0, got -1.0"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ArgumentError, match=message):
        FNNConfig(**{"inputs": 3, "outputs": 2, **options})


def test_wrong_weights_and_inputs():
    W, b = torch.ones(2, 2), torch.ones(2)
    with pytest.raises(ArgumentError, match=r"`weights` and `biases` must be equally long and not empty, got 2 and 1"):
        fnn_from_weights([W, W], [b], "relu")
    with pytest.raises(
        ArgumentError, match=r"`weights` must fit together, got 2 outputs of matrix 0 and 3 inputs of matrix 1"
    ):
        fnn_from_weights([W, torch.ones(1, 3)], [b, torch.ones(1)], "relu")
    with pytest.raises(ShapeError, match=r"each example must have the shape \(3,\)"):
        FNN(FNNConfig(3, 1))(torch.zeros(2, 4))
