import pytest
import torch

from lamina._errors import ArgumentError
from lamina.backprop.autograd_graph import autograd_graph
from lamina.backprop.backpropagation import backpropagate

F64 = torch.float64


def net():
    g = torch.Generator().manual_seed(0)
    weights = [torch.randn(3, 2, generator=g, dtype=F64), torch.randn(1, 3, generator=g, dtype=F64)]
    biases = [torch.randn(3, generator=g, dtype=F64), torch.randn(1, generator=g, dtype=F64)]
    params = {"W0": weights[0], "b0": biases[0], "W1": weights[1], "b1": biases[1]}
    params = {name: p.requires_grad_() for name, p in params.items()}
    inputs, targets = torch.randn(4, 2, generator=g, dtype=F64), torch.randn(4, 1, generator=g, dtype=F64)
    y = torch.tanh(torch.tanh(inputs @ params["W0"].t() + params["b0"]) @ params["W1"].t() + params["b1"])
    return params, inputs, targets, (y - targets).square().sum() / 8


@pytest.mark.notes("N2.81")
def test_the_graph_is_acyclic_with_the_loss_as_root_and_the_parameters_as_leaves():
    params, _, _, loss = net()
    graph = autograd_graph(loss, params)
    assert sorted(graph.leaves) == ["W0", "W1", "b0", "b1"]
    # Every edge leads to a later place: there is no cycle, and node 0 is the only one without an incoming edge.
    assert all(start < end for start, end in graph.edges)
    assert {end for _, end in graph.edges} == set(range(1, len(graph.nodes)))
    # A leaf passes nothing on, and every operation does.
    starts = {start for start, _ in graph.edges}
    assert all(node.leaf == (place not in starts) for place, node in enumerate(graph.nodes))
    names = [node.name for node in graph.nodes if not node.leaf]
    assert names[:3] == ["DivBackward0", "SumBackward0", "PowBackward0"] and names.count("TanhBackward0") == 2


@pytest.mark.notes("N2.81")
def test_its_gradients_agree_with_alg_6():
    params, inputs, targets, loss = net()
    loss.backward()
    with torch.no_grad():
        by_hand = backpropagate(
            [params["W0"], params["W1"]], [params["b0"], params["b1"]], ["tanh", "tanh"], inputs, targets
        )
    torch.testing.assert_close(by_hand.weights, (params["W0"].grad, params["W1"].grad), rtol=0, atol=1e-14)
    torch.testing.assert_close(by_hand.biases, (params["b0"].grad, params["b1"].grad), rtol=0, atol=1e-14)


@pytest.mark.notes("N2.81")
def test_the_printed_tree():
    params, _, _, loss = net()
    assert autograd_graph(loss, params).text().splitlines() == [
        "DivBackward0",
        "  SumBackward0",
        "    PowBackward0",
        "      SubBackward0",
        "        TanhBackward0",
        "          AddBackward0",
        "            MmBackward0",
        "              TanhBackward0",
        "                AddBackward0",
        "                  MmBackward0",
        "                    TBackward0",
        "                      [W0]",
        "                  [b0]",
        "              TBackward0",
        "                [W1]",
        "            [b1]",
    ]


def test_a_shared_operation_is_one_node_and_is_drawn_once():
    w = torch.tensor([2.0], requires_grad=True)
    square = w * w
    graph = autograd_graph((square.exp() + square.sin()).sum(), {})
    assert sum(node.name == "MulBackward0" for node in graph.nodes) == 1
    assert graph.leaves == ("leaf (1,)",)
    lines = graph.text().splitlines()
    assert lines.count("      MulBackward0") == 1 and lines.count("      MulBackward0 *") == 1
    assert lines.count("        [leaf (1,)]") == 2


def test_a_deep_graph_needs_no_deep_recursion():
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(3000):
        y = y * 1.0
    graph = autograd_graph(y, {"x": x})
    assert len(graph.nodes) == 3001 and graph.leaves == ("x",) and len(graph.text().splitlines()) == 3001


def test_a_module_names_its_leaves():
    model = torch.nn.Linear(2, 1)
    graph = autograd_graph(model(torch.ones(1, 2)).sum(), dict(model.named_parameters()))
    assert sorted(graph.leaves) == ["bias", "weight"]


def test_wrong_arguments():
    with pytest.raises(ArgumentError, match="`output` must be computed from tensors that require gradients"):
        autograd_graph(torch.ones(1), {})
