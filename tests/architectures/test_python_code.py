"""The written program runs with torch alone and answers as the network does."""

import subprocess
import sys

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.architectures.fnn import FNN, FNNConfig
from lamina.architectures.python_code import _folded, python_code

POINTS = [[0.3, -1.2], [2.5, 0.1], [-0.7, 0.7]]


def executed(code: str) -> dict:
    space: dict = {"__name__": "exported"}
    exec(compile(code, "network.py", "exec"), space)
    return space


def prepared(mean, std):
    u, m, s = (torch.tensor(numbers, dtype=torch.float64) for numbers in (POINTS, mean, std))
    return ((u - m) / s).float()


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "relu", "leaky_relu", "gelu", "gelu_tanh"])
def test_probabilities_are_those_of_the_network_to_the_last_bit(activation):
    network = FNN(FNNConfig(2, 3, hidden=(17, 5), activation=activation), seed=3)
    mean, std = (0.1, 1 / 3), (2.0, 0.7)
    code = python_code(network, mean=mean, std=std, classes=("a", "b", "it's c"), made="lamina.fit(...)")
    with torch.no_grad():
        wanted = network(prepared(mean, std)).softmax(1)
    space = executed(code)
    assert space["predict"](POINTS).equal(wanted)
    assert space["CLASSES"] == ("a", "b", "it's c") and "# lamina.fit(...)" in code
    assert max(map(len, code.splitlines())) <= 120


def test_one_output_is_two_classes_or_a_number_in_units_of_the_target():
    network = FNN(FNNConfig(2, 1, hidden=(4,)), seed=1)
    with torch.no_grad():
        z = network(prepared((0.0, 0.0), (1.0, 1.0)))
    both = executed(python_code(network, classes=("no", "yes")))["predict"](POINTS)
    assert torch.allclose(both, torch.cat([1 - z.sigmoid(), z.sigmoid()], 1), atol=1e-6)
    number = executed(python_code(network, target=(10.0, 2.0)))["predict"](POINTS)
    assert torch.allclose(number, 2 * z + 10, atol=1e-5)
    assert torch.allclose(executed(python_code(network))["predict"](POINTS), z, atol=1e-6)  # as it is, without units


def test_batch_norm_is_folded_into_the_layer_before():
    network = FNN(FNNConfig(2, 2, hidden=(6, 6), batch_norm=True), seed=2)
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        network(3 + 2 * torch.randn(32, 2, generator=generator))
    with torch.no_grad():
        for layer in network.layers[:-1]:
            layer.norm.weight.uniform_(0.5, 2, generator=generator)
            layer.norm.bias.normal_(generator=generator)
        network.eval()
        wanted = network(prepared((0.0, 0.0), (1.0, 1.0))).softmax(1)
    assert torch.allclose(executed(python_code(network, classes=("0", "1")))["predict"](POINTS), wanted, atol=1e-5)
    assert [tuple(W.shape) for W, _ in _folded(network)] == [(6, 2), (6, 6), (2, 6)]


def test_it_runs_as_a_program_without_lamina(tmp_path):
    network = FNN(FNNConfig(2, 2, hidden=(3,)), seed=0)
    path = tmp_path / "network.py"
    path.write_text(python_code(network, classes=("left", "right"), features=("x", "y")), encoding="utf-8")
    done = subprocess.run([sys.executable, "-I", path, "0.3", "-1.2"], capture_output=True, text=True, check=True)
    with torch.no_grad():
        wanted = network(torch.tensor([[0.3, -1.2]])).softmax(1)[0]
    assert done.stdout == f"left: {wanted[0]:.6f}\nright: {wanted[1]:.6f}\n"
    assert "lamina" not in path.read_text().split("'''", 2)[2]


@pytest.mark.parametrize(
    ("network", "options", "message"),
    [
        (FNNConfig(2, 1, hidden=(2,), activation="heaviside"), {}, "or identity to be written, got heaviside"),
        (FNNConfig(2, 1), {"mean": (1.0,)}, "`mean` and `std` must have 2 numbers each, got 1 and 2"),
    ],
)
def test_what_cannot_be_written(network, options, message):
    with pytest.raises(ArgumentError, match=message):
        python_code(FNN(network), **options)
