"""Truth tables by printed and robust weights, ties at zero, and what no perceptron can compute."""

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.architectures.fnn import FNN
from lamina.architectures.logic import (
    GATES,
    TRUTH_INPUTS,
    TRUTH_TABLES,
    LogicGate,
    LogicGateConfig,
    logic_gate,
    pre_activations,
)
from lamina.architectures.perceptron import Perceptron
from lamina.functional.dense import feedforward

U = torch.tensor(TRUTH_INPUTS, dtype=torch.float64)


def half_at_zero(z):
    return torch.where(z == 0, 0.5, (z > 0).to(z.dtype))


def zero_at_zero(z):
    return (z > 0).to(z.dtype)


def table(network):
    return tuple(network(U).flatten().tolist())


def matrices(gate, robust):
    net = logic_gate(gate, robust).double()
    if isinstance(net, Perceptron):
        return [net.affine.weight], [net.affine.bias]
    return net.weights, net.biases


@pytest.mark.notes("N1.73", "N1.77")
def test_truth_tables_in_the_order_of_the_notes():
    assert TRUTH_INPUTS == ((0, 0), (1, 0), (0, 1), (1, 1))
    assert TRUTH_TABLES["or"] == tuple(int(a or b) for a, b in TRUTH_INPUTS) == (0, 1, 1, 1)
    assert TRUTH_TABLES["xor"] == tuple(a ^ b for a, b in TRUTH_INPUTS) == (0, 1, 1, 0)
    assert TRUTH_TABLES["and"] == tuple(a & b for a, b in TRUTH_INPUTS)
    assert TRUTH_TABLES["nand"] == tuple(1 - (a & b) for a, b in TRUTH_INPUTS)


@pytest.mark.notes("N1.74", "N1.75", "N1.76", "N2.09")
@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("gate", GATES)
def test_gates_compute_their_tables(gate, robust):
    net = logic_gate(gate, robust).double()
    assert isinstance(net, FNN if gate == "xor" else Perceptron)
    assert table(net) == TRUTH_TABLES[gate]
    assert table(LogicGate(LogicGateConfig(gate=gate, robust=robust)).double()) == TRUTH_TABLES[gate]


@pytest.mark.notes("N1.75", "N1.76")
def test_printed_perceptron_weights():
    for gate, printed, robust in (("or", -1.0, -0.5), ("and", -2.0, -1.5)):
        assert [W.tolist() for W in matrices(gate, False)[0]] == [[[1.0, 1.0]]]
        assert matrices(gate, False)[1][0].item() == printed and matrices(gate, True)[1][0].item() == robust
    assert pre_activations("or").flatten().tolist() == [-1.0, 0.0, 0.0, 1.0]
    assert pre_activations("and", robust=True).abs().min() == 0.5


@pytest.mark.notes("N1.75", "N2.09")
@pytest.mark.parametrize("gate", ["or", "and", "xor"])
@pytest.mark.parametrize("sigma", [half_at_zero, zero_at_zero])
def test_printed_weights_rest_on_the_value_at_zero(gate, sigma):
    for robust in (False, True):
        weights, biases = matrices(gate, robust)
        outputs = feedforward(U, weights, biases, [sigma] * len(weights)).flatten().tolist()
        assert (tuple(outputs) == TRUTH_TABLES[gate]) is robust


@pytest.mark.notes("N2.08", "N2.09")
def test_xor_network_has_no_margin_as_printed():
    net = logic_gate("xor")
    assert net.config.widths == (2, 2, 1) and sum(p.numel() for p in net.parameters()) == 9
    assert [W.tolist() for W in net.weights] == [[[1, 1], [-1, -1]], [[1, 1]]]
    assert [b.tolist() for b in net.biases] == [[-1, 1], [-2]]
    assert [b.tolist() for b in logic_gate("xor", robust=True).biases] == [[-0.5, 1.5], [-1.5]]
    printed, robust = pre_activations("xor"), pre_activations("xor", robust=True)
    assert printed.numel() == 12 and int(printed.eq(0).sum()) == 6
    assert robust.abs().min() == 0.5


@pytest.mark.notes("N2.09")
def test_a_tiny_disturbance_breaks_the_printed_weights_only():
    for robust in (False, True):
        net = logic_gate("xor", robust).double()
        with torch.no_grad():
            for b in net.biases[:1]:
                b.sub_(1e-9)
        assert (table(net) == TRUTH_TABLES["xor"]) is robust


@pytest.mark.notes("N2.10")
@pytest.mark.parametrize("robust", [False, True])
def test_hidden_values_are_or_and_nand(robust):
    net = logic_gate("xor", robust).double()
    _, hidden, output = net.features(U)
    assert hidden.tolist() == [[0, 1], [1, 1], [1, 1], [1, 0]] and output.flatten().tolist() == [0, 1, 1, 0]
    assert tuple(hidden[:, 0].tolist()) == TRUTH_TABLES["or"] and tuple(hidden[:, 1].tolist()) == TRUTH_TABLES["nand"]
    assert torch.equal(logic_gate("and", robust).double()(hidden), output)


@pytest.mark.notes("N2.14")
def test_sharpened_sigmoid():
    net = logic_gate("xor", robust=True, activation="sigmoid", gain=10.0).double()
    assert [round(value, 3) for value in table(net)] == [0.007, 0.992, 0.992, 0.007]
    net.zero_grad()
    net(U).sum().backward()
    assert all(p.grad.isfinite().all() and p.grad.ne(0).any() for p in net.parameters())


@pytest.mark.notes("N1.78")
def test_xor_contradicts_itself():
    # three rows right (b < 0, W1 + b >= 0, W2 + b >= 0) make the fourth sum positive, so that its row is wrong
    W1, W2, b = (
        6 * torch.rand(3, 100_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 3
    ).unbind()
    right = (b < 0) & (W1 + b >= 0) & (W2 + b >= 0)
    assert right.sum() > 1000 and (W1 + W2 + b)[right].min() > 0


def test_as_an_architecture():
    gate = LogicGate(LogicGateConfig(2, 1))
    assert gate.config.robust and gate.config.gate == "xor" and sum(p.numel() for p in gate.parameters()) == 9
    assert next(name for name, _ in gate.named_parameters()) == "network.layers.0.affine.weight"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": 3}, r"a logic gate must have `inputs` 2 and `outputs` 1, got 3 and 1: for more inputs see"),
        ({"outputs": 2}, r"a logic gate must have `inputs` 2 and `outputs` 1, got 2 and 2"),
        ({"gate": "nor"}, r"`gate` must be one of 'or', 'and', 'nand', 'xor', got 'nor'"),
        ({"activation": "step"}, r"`activation` must be one of .*, got 'step'"),
        ({"gain": 0.0}, r"`gain` must be greater than 0, got 0.0"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ArgumentError, match=message):
        LogicGateConfig(**options)
    if not {"inputs", "outputs"} & options.keys():
        with pytest.raises(ArgumentError, match=message):
            logic_gate(**{"gate": "or", **options})


def test_wrong_arguments():
    with pytest.raises(ArgumentError, match=r"`gate` must be one of"):
        pre_activations("nor")
