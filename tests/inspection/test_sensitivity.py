"""Sensitivity over time and gates: by hand, against jacrev, and the catalogue's numbers."""

import math

import pytest
import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError
from lamina.architectures.build import build
from lamina.functional.recurrent import rnn_step
from lamina.inspection.sensitivity import gates, sensitivity, step_sensitivity
from lamina.layers.cells import GRUCell, LSTMCell, RNNCell
from lamina.layers.recurrent import Recurrent

F64 = torch.float64


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("both", [False, True])
def test_it_equals_the_whole_jacobian(cell, both):
    layer = Recurrent(cell, 2, 3, layers=2, bidirectional=both, seed=1).double()
    u = draw(2, 5, 2)
    found = sensitivity(layer, u)
    wanted = torch.stack([torch.func.jacrev(lambda x: layer(x[None])[0][0])(row) for row in u])
    torch.testing.assert_close(found.norms, wanted.square().sum((2, 4)).sqrt().mean(0))
    assert bool((found.norms.triu(1) == 0).all()) != both
    assert found.times == (1, 2, 3, 4, 5) and not any(c._forward_hooks for c in layer.cells)


@pytest.mark.notes("N5.26")
def test_a_linear_cell_grows_by_its_singular_values():
    torch_generator = torch.Generator().manual_seed(0)
    orthogonal = torch.linalg.qr(torch.randn(6, 6, generator=torch_generator, dtype=F64))[0]
    weight = torch.cat([1.3 * orthogonal, 0.3 * torch.ones(6, 2, dtype=F64)], 1)
    found = step_sensitivity(
        lambda u, h: rnn_step(u, h, weight, weight.new_zeros(6), lambda z: z), draw(1, 8, 2), weight.new_zeros(1, 6)
    )
    first = found.to(1)
    assert [x / first[0] for x in first] == pytest.approx([1.3**t for t in range(8)])
    assert found.factor == pytest.approx(1.3)


@pytest.mark.notes("N5.26", "N5.31")
def test_plain_cells_forget_and_open_memories_do_not():
    plain = RNNCell(4, 16, seed=0).double()
    with torch.no_grad():
        recurrent = plain.weight[:, :16]
        recurrent *= 0.5 / torch.linalg.eigvals(recurrent).abs().max()
    u = draw(1, 30, 4)
    u[:, 1:] *= 0.1
    faded = sensitivity(plain, u).to(1)
    assert faded[-1] < 1e-6 * faded[0]
    for cell in (LSTMCell(4, 16, memory_bias=6.0, seed=0), GRUCell(4, 16, memory_bias=6.0, seed=0)):
        kept = sensitivity(cell.double(), u).to(1)
        assert kept[-1] > 0.1 * kept[0]


@pytest.mark.notes("N5.19")
def test_two_directions_are_most_sensitive_near_the_own_time():
    found = torch.stack(
        [torch.tensor(sensitivity(Recurrent("rnn", 3, 16, bidirectional=True, scale=0.6, seed=seed).double(),
                                  draw(4, 21, 3), times=[11]).relative(11)) for seed in range(3)]
    )  # fmt: skip
    mean = found.mean(0)
    assert bool((found.argmax(1) == 10).all()) and bool((found > 0).all())
    assert bool((mean[:10].diff() > 0).all() and (mean[10:].diff() < 0).all())
    assert 0.05 < mean[9] < 0.7 and mean[0] < 0.05


def test_networks_with_words_are_seen_through_their_vectors():
    net = build("many-to-many", inputs=9, outputs=9, hidden=5, embedding=4, cell="gru")
    words = torch.tensor([[1, 5, 3, 2]])
    found = sensitivity(net, words)
    own = sensitivity(net.recurrent, net.encoding(words).detach())
    torch.testing.assert_close(found.norms, own.norms)
    assert net.training


def test_padding_has_no_influence():
    layer = Recurrent("gru", 2, 3, bidirectional=True).double()
    found = sensitivity(layer, draw(1, 6, 2), lengths=[4])
    assert bool((found.norms[4:] == 0).all() and (found.norms[:, 4:] == 0).all() and (found.norms[:4, :4] > 0).all())


def test_gates_by_hand():
    cell = LSTMCell(1, 1, memory_bias=0.0, initialization="constant", scale=1.0).double()
    u = torch.tensor([[[0.0], [2.0]]], dtype=F64)
    found = gates(cell, u).cells[0]
    sigmoid = lambda z: 1 / (1 + math.exp(-z))  # noqa: E731
    h = 0.0  # u = 0: the candidate is 0
    assert found.values["forget"][0, :, 0].tolist() == pytest.approx([0.5, sigmoid(h + 2)])
    c = sigmoid(2) * math.tanh(2)
    assert found.states[0, 1, 0].item() == pytest.approx(sigmoid(2) * math.tanh(c))
    assert list(found.values) == ["forget", "input", "output"]
    assert found.kept[0].tolist() == pytest.approx([0.5, sigmoid(2)])


@pytest.mark.notes("N5.33")
def test_gru_states_follow_from_the_gates():
    layer = Recurrent("gru", 3, 4, bidirectional=True, seed=2).double()
    u = draw(2, 5, 3)
    found = gates(layer, u)
    forward, backward = found.cells
    assert (forward.name, backward.name) == ("layer 1", "layer 1 backward")
    outputs, _ = layer(u)
    torch.testing.assert_close(torch.cat([forward.states, backward.states], -1), outputs)
    n, cell = 4, layer.cells[1]
    after = torch.cat([backward.states[:, 1:], torch.zeros(2, 1, n, dtype=F64)], 1)
    update, reset = backward.values["update"], backward.values["reset"]
    candidate = torch.tanh(torch.cat([reset * after, u], -1) @ cell.weight[2 * n :].T + cell.bias[2 * n :])
    torch.testing.assert_close(backward.states, update * candidate + (1 - update) * after)
    torch.testing.assert_close(backward.kept, 1 - update.mean(-1))


def test_open_and_closed_gates_are_counted_and_printed():
    found = gates(GRUCell(2, 3, memory_bias=100.0), torch.ones(1, 2, 2), words=("the", "cat"))
    assert (found.cells[0].values["update"] <= 0.5).all()
    lines = str(found).splitlines()
    assert lines[0] == "layer 1, first sequence, means over 3 units"
    assert lines[1].split() == ["reads", "reset", "update", "kept"]
    assert lines[2].split()[0] == "the" and lines[3].split()[-1] == "1"


def test_errors_say_what_to_do():
    with pytest.raises(ArgumentError, match="convert a layer of torch with `layers.from_torch`"):
        sensitivity(nn.GRU(2, 3), torch.zeros(1, 2, 2))
    with pytest.raises(ArgumentError, match="use cell='gru' or 'lstm'"):
        gates(RNNCell(2, 3), torch.zeros(1, 2, 2))
    with pytest.raises(ArgumentError, match="`times` must be in \\[1, 2\\], the steps of the sequence, got 3"):
        sensitivity(RNNCell(2, 3), torch.zeros(1, 2, 2), times=[3])
    with pytest.raises(ShapeError, match="`words` must name each of the 2 steps, got 1 names"):
        gates(GRUCell(2, 3), torch.zeros(1, 2, 2), words=("a",))
    found = sensitivity(RNNCell(2, 3), torch.zeros(1, 2, 2), times=[2])
    with pytest.raises(ArgumentError, match="`time` must be one of the times 2 that were computed, got 1"):
        found.of(1)
    with pytest.raises(ArgumentError, match="`source` must be in \\[1, 2\\], got 0"):
        found.to(0)
    assert math.isnan(found.factor)
