"""The perceptron: Eq. (1) in both forms, its counts, linear regression, Heaviside with >=."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lamina._errors import ArgumentError, ShapeError
from lamina.architectures._dense import as_vectors
from lamina.architectures.perceptron import Perceptron, PerceptronConfig


def rand(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.notes("N1.02")
def test_sum_form_equals_product_form():
    net, u = Perceptron(PerceptronConfig(5, activation="tanh"), seed=1).double(), rand(9, 5)
    torch.nn.init.constant_(net.affine.bias, 0.3)
    W, b = net.affine.weight[0], net.affine.bias[0]
    sums = torch.stack([torch.tanh(sum(W[i] * row[i] for i in range(5)) + b) for row in u])
    torch.testing.assert_close(net(u)[:, 0], sums, rtol=0, atol=1e-14)


@pytest.mark.notes("N1.02")
@given(st.integers(1, 20))
def test_n_plus_one_parameters(n):
    assert sum(p.numel() for p in Perceptron(PerceptronConfig(n)).parameters()) == n + 1


@pytest.mark.notes("N1.02")
@pytest.mark.parametrize("name", ["sigmoid", "tanh", "relu"])
def test_gradients(name):
    net, u = Perceptron(PerceptronConfig(3, 2, activation=name), seed=1).double(), rand(4, 3)
    W, b = (p.detach().requires_grad_() for p in (net.affine.weight, net.affine.bias))
    call = torch.func.functional_call
    assert torch.autograd.gradcheck(lambda W, b: call(net, {"affine.weight": W, "affine.bias": b}, (u,)), (W, b))


@pytest.mark.notes("N1.03", "N1.72")
@pytest.mark.parametrize(("inputs", "nodes", "arrows", "parameters"), [(3, 4, 3, 4), (2, 3, 2, 3)])
def test_counts_of_the_drawings(inputs, nodes, arrows, parameters):
    net = Perceptron(PerceptronConfig(inputs))
    assert sum(net.config.widths) == nodes and net.affine.weight.numel() == arrows
    assert sum(p.numel() for p in net.parameters()) == parameters


@pytest.mark.notes("N1.22")
def test_linear_regression_is_a_perceptron_without_bias():
    U, W = rand(20, 4), rand(4, 1, seed=1)
    net = Perceptron(PerceptronConfig(4, activation="identity", bias=False)).double()
    assert net.affine.bias is None
    with torch.no_grad():
        net.affine.weight.copy_(torch.linalg.lstsq(U, U @ W).solution.T)
    torch.testing.assert_close(net(U), U @ W, rtol=0, atol=1e-13)


@pytest.mark.notes("N1.74")
def test_fires_at_zero_exactly():
    net = Perceptron(PerceptronConfig(2))
    with torch.no_grad():
        net.affine.weight.copy_(torch.tensor([[1.0, 1.0]]))
        net.affine.bias.copy_(torch.tensor([-1.0]))
    below = torch.nextafter(torch.tensor(1.0), torch.tensor(0.0)).item()
    assert net(torch.tensor([[1.0, 0.0], [below, 0.0]])).flatten().tolist() == [1.0, 0.0]


def test_images_are_read_as_vectors_and_seeds_count():
    net = Perceptron(PerceptronConfig((1, 2, 3), 4, activation="identity"), seed=5)
    u = torch.arange(12.0).reshape(2, 1, 2, 3)
    torch.testing.assert_close(net(u), u.reshape(2, 6) @ net.affine.weight.T)
    again, other = (Perceptron(net.config, seed=seed) for seed in (5, 6))
    assert torch.equal(net.affine.weight, again.affine.weight) and not torch.equal(
        net.affine.weight, other.affine.weight
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": 0}, r"`inputs` must be at least 1, got 0"),
        ({"inputs": ()}, r"`inputs` must be a number of features or the shape of an image, got the empty shape"),
        ({"inputs": (1, 0, 3)}, r"`inputs` must be at least 1, got 0"),
        ({"outputs": 0}, r"`outputs` must be at least 1, got 0"),
        ({"activation": "softmax"}, r"`activation` must be one of .*, got 'softmax'"),
        ({"initialization": "lecun"}, r"`initialization` must be one of .*, got 'lecun'"),
        ({"scale": -1.0}, r"`scale` must be at least 0, got -1.0"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ArgumentError, match=message):
        PerceptronConfig(**{"inputs": 3, **options})


def test_wrong_inputs():
    message = r"each example must have the shape \(3,\) that the network was built for, got inputs of shape \(5, 2\)"
    with pytest.raises(ShapeError, match=message):
        Perceptron(PerceptronConfig(3))(torch.zeros(5, 2))
    with pytest.raises(
        ShapeError, match=r"shape \(1, 2, 2\).* got inputs of shape \(5, 4\): build it with other `inputs`"
    ):
        as_vectors(torch.zeros(5, 4), (1, 2, 2))
