"""The table of layers: parameters by hand, FLOPs as torch counts them, memory as autograd keeps it."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import lamina
from lamina._errors import ArgumentError
from lamina.architectures.table import TABLE
from lamina.inspection._example import example_inputs, random_batch
from lamina.inspection.summary import ITSELF, summary

SMALL = [name for name in TABLE if not name.startswith(("alexnet", "resnet"))]


def torch_flops(model, example) -> int:
    """Count as torch does, with the readable loop where a recurrent network would run as one kernel."""
    hooks = [m.register_forward_hook(lambda *_: None) for m in model.modules()]
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model.eval()(*example)
    for hook in hooks:
        hook.remove()
    return counter.get_total_flops()


@pytest.mark.parametrize("name", SMALL)
def test_parameters_and_flops_of_our_architectures(name):
    net = lamina.build(name)
    table = summary(net, batch=2)
    assert table.parameters == TABLE[name].parameters
    assert sum(row.own_parameters for row in table.rows) == TABLE[name].parameters
    assert table.flops == torch_flops(net, example_inputs(net, batch=2))
    assert sum(row.own_flops for row in table.rows) == table.flops
    assert sum(row.own_memory for row in table.rows) == table.memory > 0
    assert table.guessed == ()


@pytest.mark.notes("N3.50", "N4.33")
@pytest.mark.parametrize("name", ["alexnet-2012", "resnet18"])
def test_large_architectures(name):
    net = lamina.build(name)
    table = summary(net)
    assert table.parameters == TABLE[name].parameters
    assert table.flops == torch_flops(net, example_inputs(net))


@pytest.mark.notes("N4.33")
def test_blocks_of_resnet18_by_hand():
    table = summary(lamina.build("resnet18"))
    counts = [table[name].parameters for name in ("layer1", "layer2", "layer3", "layer4", "fc")]
    assert counts == [147_968, 525_568, 2_099_712, 8_393_728, 513_000]
    assert table["conv1"].parameters + table["bn1"].parameters == 9_536
    assert table.flops == 3_628_146_688
    assert table["layer2.0"].own_parameters == 0 and table["layer2.0.downsample.0"].parameters == 64 * 128


@pytest.mark.notes("N3.07", "N3.35")
def test_lenet_by_hand():
    table = summary(lamina.build("lenet5"))
    own = {row.name: row.own_parameters for row in table.rows if row.own_parameters}
    assert list(own.values()) == [156, 2416, 48120, 10164, 850]
    flops = [2 * 28 * 28 * 6 * 25, 2 * 100 * 16 * 6 * 25, 2 * 400 * 120, 2 * 120 * 84, 2 * 84 * 10]
    assert [row.own_flops for row in table.rows if row.own_flops] == flops
    # Autograd keeps the input of every convolution, dense layer and pooling, and the output of every sigmoid.
    assert table.memory == 4 * (784 + 6 * 784 + 6 * 196 + 1600 + 400 + 120 + 84)
    assert table["features"].output == (1, 16, 5, 5) and table["classifier.1"].share == 48120 / 61706
    assert table["features"].field.size == (16, 16) and table["classifier.1"].field.whole


def test_ten_examples_cost_ten_times_one():
    net = lamina.build("lenet5", dropout=0.5)
    one, ten = summary(net), summary(net, batch=10)
    assert (ten.flops, ten.memory, ten.parameters) == (10 * one.flops, 10 * one.memory, one.parameters)
    assert ten["features"].field.size == (16, 16) and ten.output == (10, 10)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_recurrent_products_are_those_of_a_step_times_the_steps(cell):
    net = lamina.build("many-to-many", inputs=3, outputs=2, hidden=5, cell=cell, layers=2, bidirectional=True)
    table = summary(net, (7, 3), batch=4)
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[cell]
    step = 2 * 4 * gates * 5 * ((5 + 3) + (5 + 10))  # batch, gates, hidden, inputs of both layers
    assert table.flops == 2 * 7 * step + 2 * 4 * 7 * 10 * 2
    assert table["recurrent.cells.0"].calls == 7
    assert table["recurrent"].parameters == 2 * gates * 5 * (5 + 3 + 1 + 5 + 10 + 1)


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize("batch_first", [True, False])
def test_recurrent_networks_of_torch(kind, batch_first):
    net = kind(3, 4, num_layers=2, batch_first=batch_first)
    table = summary(net, (6, 3), batch=5)
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind.__name__]
    assert table.flops == 2 * 5 * 6 * gates * 4 * (3 + 4 + 4 + 4)
    assert table.parameters == gates * 4 * (3 + 4 + 4 + 4 + 4)
    assert table.inputs == (((5, 6, 3) if batch_first else (6, 5, 3)),)
    assert table.output == ((5, 6, 4) if batch_first else (6, 5, 4))
    assert table.rows[0].name == ITSELF and table.rows[0].field.window(2) == ((0, 2),)


def test_shared_weights_count_once():
    shared = nn.Linear(4, 4)
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), shared, nn.ReLU(), shared)
    net[1].weight = net[0].weight
    table = summary(net)
    assert table.parameters == 16 + 4 + 4 + 20
    assert (table["1"].parameters, table["1"].shared) == (4, 16)
    assert table["2"].calls == 2 and table["2"].flops == 2 * 2 * 16
    assert "4 + shared" in str(table) and "(2 calls)" in str(table)
    tied = summary(lamina.build("seq2seq", tied=True))
    assert tied.parameters == sum(p.numel() for p in lamina.build("seq2seq", tied=True).parameters())


def test_work_outside_of_layers_has_its_own_row():
    ode = summary(lamina.build("neural-ode", steps=7, method="rk4"), batch=3)
    assert ode[ITSELF].parameters == 6 and ode[ITSELF].flops == 7 * 4 * 2 * 3 * 4 and ode["readout"].flops == 24
    dense = summary(lamina.build("dense-resnet", step_size="learned"))
    assert dense["layers.0"].parameters == 32 * 2 + 32 + 32 * 2 + 1 and dense["layers.0"].own_parameters == 1
    assert summary(lamina.build("perceptron")).rows[0].parameters == 4


def test_frozen_weights_are_told_apart_and_keep_less():
    net = lamina.build("lenet5")
    whole = summary(net)
    net.features.requires_grad_(False)
    table = summary(net)
    assert (table.parameters, table.trainable) == (61706, 59134)
    assert "59,134 of them trainable" in table.total()
    assert table["features"].memory == 0 < whole["features"].memory


def test_transposed_grouped_and_one_dimensional_convolutions_count_as_in_torch():
    net = nn.Sequential(nn.Conv1d(4, 6, 3, stride=2, groups=2), nn.ConvTranspose1d(6, 4, 4, stride=2, groups=2))
    assert summary(net, (4, 21), batch=3).flops == torch_flops(net, (torch.zeros(3, 4, 21),))
    cube = nn.Sequential(nn.Conv3d(1, 2, 3), nn.Flatten(), nn.Linear(2 * 27, 3))
    assert summary(cube, (1, 5, 5, 5)).flops == torch_flops(cube, (torch.zeros(1, 1, 5, 5, 5),))


def test_examples_may_be_given_as_tensors():
    net = lamina.build("seq2seq", hidden=8)
    words = torch.ones(2, 5, dtype=torch.long)
    table = summary(net, (words, words[:, :3]))
    assert table.inputs == ((2, 5), (2, 3)) and table.output == (2, 3, 32)
    assert summary(nn.Bilinear(2, 3, 4), (torch.zeros(1, 2), torch.zeros(1, 3))).parameters == 28


def test_table_is_aligned_and_limited_in_depth():
    table = summary(lamina.build("resnet18", inputs=(3, 32, 32), outputs=10, width=0.125))
    lines = str(table).splitlines()
    assert lines[0] == "ResNet: 3×32×32 to 10"
    assert lines[2].split() == ["layer", "kind", "output", "parameters", "FLOPs", "memory", "sees", "share"]
    column = lines[2].index("parameters") + len("parameters")
    assert all(line[column - 1].isdigit() and line[column] == " " for line in lines[3:-2])
    assert "Identity" not in str(table) and "  downsample.0" in str(table)
    assert len(table.cells(1)) == 10 and [table.depth_for(n) for n in (9, 20, 99)] == [1, 2, 3]
    assert table.cells(2)[5][0] == "  0" and table.cells(1, bars=False)[-1][-1] == f"{650 / 177362:.1%}"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: summary("lenet5"), "`model` must be a torch module or a run, got str"),
        (lambda: summary(nn.Conv2d(1, 1, 3)), "`inputs` is missing: Conv2d does not say what it reads"),
        (lambda: summary(nn.Linear(2, 2), "big"), "`inputs` must be a shape such as"),
        (lambda: summary(nn.Linear(2, 2), (0,)), "`inputs` must be at least 1, got 0"),
        (lambda: summary(nn.Linear(2, 2), batch=0), "`batch` must be at least 1, got 0"),
        (lambda: summary(nn.Linear(2, 2)).shown(0), "`depth` must be at least 1, got 0"),
        (lambda: summary(nn.Linear(2, 2))["x"], r"`name` must be that of a layer \(\(itself\)\), got 'x'"),
        (lambda: random_batch(lamina.build("seq2seq")), "`model` must read one tensor, but EncoderDecoder reads 2"),
    ],
)
def test_bad_arguments_are_refused_with_a_sentence(call, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        call()


def test_a_run_is_summarized_by_its_network():
    assert summary(SimpleNamespace(model=lamina.build("perceptron"))).parameters == 4


def test_recomputed_blocks_keep_less_and_change_nothing_else():
    plain, again = (summary(lamina.build("cifar-resnet", depth=20, recompute=every)) for every in (0, 1))
    assert again.memory < plain.memory / 2
    assert (again.flops, again.parameters, again["layer2"].field.size) == (
        plain.flops, plain.parameters, plain["layer2"].field.size,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "alexnet",
        "alexnet-torchvision",
        "alexnet-cifar",
        "resnet34",
        "resnet50",
        "resnet18-cifar",
        "resnet164",
        "resnet1001",
    ],
)
def test_the_other_large_architectures(name):
    net = lamina.build(name)
    table = summary(net)
    assert table.parameters == TABLE[name].parameters
    assert table.flops == torch_flops(net, example_inputs(net))


@pytest.mark.slow
def test_resnet110_by_hand():
    assert summary(lamina.build("cifar-resnet", depth=110)).parameters == 1_727_962
