"""Recurrent layers in a trace: every cell, masks, states, and the operators that torch translates wrongly."""

import onnx
import pytest
import torch
from torch import nn

import lamina
from lamina.export._recurrent import with_free_time
from lamina.export.onnx_file import as_onnx, check, traced
from lamina.export.save import deployed_network
from lamina.layers.recurrent import Recurrent
from lamina.training.deployment import Deployed, Port, Steps, below


def both(layer, inputs, lengths):
    outputs, state = layer(inputs, None, lengths)
    return outputs, *((state,) if isinstance(state, torch.Tensor) else state)


@pytest.mark.parametrize("masked", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_cell_that_onnx_does_not_know_becomes_a_scan(masked):
    layer = Recurrent("rnn", 3, 4, bidirectional=True, activation="leaky_relu")
    nn.init.normal_(layer.cells[0].bias)
    lengths = (Port("lengths", ("batch",), below(10)),) if masked else ()
    call = both if masked else lambda layer, inputs: both(layer, inputs, None)
    deployed = Deployed(Steps(layer, call), (Port("inputs", ("batch", "time", 3)), *lengths), ("outputs", "h"))
    content = as_onnx(deployed)
    assert "Scan" in [node.op_type for node in onnx.load_from_string(content).graph.node]
    assert check(content, deployed) < 1e-6


@pytest.mark.parametrize("activation", ["relu", "sigmoid", "tanh"])
def test_activations_that_onnx_knows(activation):
    layer = Recurrent("rnn", 3, 4, activation=activation)
    call = lambda layer, inputs: layer(inputs)[0]  # noqa: E731
    deployed = Deployed(Steps(layer, call), (Port("inputs", ("batch", "time", 3)),))
    model = onnx.load_from_string(as_onnx(deployed))
    (node,) = [node for node in model.graph.node if node.op_type == "RNN"]
    names = [name for attribute in node.attribute for name in attribute.strings]
    assert names == [activation.capitalize().encode()]


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_states_go_in_and_out(cell):
    """A sequence in two halves, the state carried over, is the whole sequence."""
    network = lamina.build("many-to-many", inputs=3, outputs=2, hidden=4, cell=cell, layers=2).eval()
    names = ("h", "c") if cell == "lstm" else ("h",)

    def read(network, inputs, *state):
        outputs, after = network.read(inputs, state if len(state) == 2 else state[0])
        return outputs, *(after if len(state) == 2 else (after,))

    ports = (Port("inputs", ("batch", "time", 3)), *(Port(name, (2, "batch", 4)) for name in names))
    content = as_onnx(Deployed(Steps(network, read), ports, ("outputs", *(f"{name}_after" for name in names))))
    import onnxruntime

    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    inputs = torch.randn(2, 9, 3, generator=torch.Generator().manual_seed(0))
    zeros = {name: torch.zeros(2, 2, 4).numpy() for name in names}
    first, *state = session.run(None, {"inputs": inputs[:, :4].numpy(), **zeros})
    second = session.run(None, {"inputs": inputs[:, 4:].numpy(), **dict(zip(names, state, strict=True))})[0]
    with torch.no_grad():
        wanted = network(inputs)
    torch.testing.assert_close(torch.cat([*map(torch.from_numpy, (first, second))], 1), wanted, rtol=0, atol=1e-5)


def test_the_network_stays_as_it_is():
    network = lamina.build("many-to-many", inputs=3, outputs=2, hidden=4).eval()
    before, inputs = set(network.state_dict()), torch.ones(2, 5, 3)
    wanted = network(inputs)
    copied = with_free_time(network, onnx=True)
    assert set(network.state_dict()) == before and network(inputs).equal(wanted)
    assert "run_layer" not in vars(network.recurrent) and "run_layer" in vars(copied.recurrent)


def test_a_loop_traced_before_with_a_fixed_number_of_steps_does_not_bind_the_next():
    network = lamina.build("many-to-many", inputs=3, outputs=2, hidden=4)
    traced(Deployed(network, (Port("inputs", ("batch", 6, 3)),)))
    program = traced(deployed_network(network)).module()
    for time in (1, 6, 7):
        inputs = torch.randn(2, time, 3, generator=torch.Generator().manual_seed(time))
        with torch.no_grad():
            torch.testing.assert_close(program(inputs), network(inputs), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "pool",
    [
        nn.AvgPool2d(2, divisor_override=1),
        nn.AvgPool2d((3, 2), stride=(2, 1), padding=1, divisor_override=5),
        nn.AvgPool2d(3, padding=1, count_include_pad=False),
        nn.AvgPool2d(3, stride=2, ceil_mode=True),
    ],
    ids=["sum", "odd", "without padding", "ceil"],
)
def test_average_pooling(pool):
    deployed = Deployed(pool, (Port("inputs", ("batch", 2, 7, 8)),))
    assert check(as_onnx(deployed), deployed) < 1e-6
