"""The recurrent cells as modules: their parameters, starting values, equations and sentences."""

import pytest
import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError
from lamina.functional.recurrent import gru_step, lstm_step, rnn_step
from lamina.layers.cells import GRUCell, LSTMCell, RNNCell, _check_cell_options


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.notes("N5.05", "N5.35", "N5.39")
def test_parameter_counts_are_those_of_the_notes():
    assert [count(cell(64, 128)) for cell in (RNNCell, GRUCell, LSTMCell)] == [24_704, 74_112, 98_816]
    assert count(GRUCell(64, 128, reset="after")) == 74_112 + 128
    for cell, gates in ((RNNCell, 1), (GRUCell, 3), (LSTMCell, 4)):
        assert count(cell(3, 5)) == gates * (5 * (5 + 3) + 5)
        assert dict(cell(3, 5).named_parameters()).keys() == {"weight", "bias"}


def test_weights_start_by_the_notes_rule_on_both_state_and_input():
    weight = LSTMCell(300, 100, seed=0).weight
    assert weight.std().item() == pytest.approx(1 / 20, rel=0.02)  # fan-in 400
    assert RNNCell(2, 2, initialization="constant", scale=0.5).weight.eq(0.5).all()
    assert torch.equal(GRUCell(3, 4, seed=5).weight, GRUCell(3, 4, seed=5).weight)
    assert not torch.equal(GRUCell(3, 4, seed=5).weight, GRUCell(3, 4, seed=6).weight)
    state = torch.random.get_rng_state()
    LSTMCell(3, 4)
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.notes("N5.31")
def test_memory_bias_opens_the_memory():
    assert GRUCell(3, 2, memory_bias=3.0).bias.tolist() == [0, 0, -3, -3, 0, 0]
    assert LSTMCell(3, 2, memory_bias=3.0).bias.tolist() == [3, 3, 0, 0, 0, 0, 0, 0]
    assert not GRUCell(3, 2).bias.any() and not LSTMCell(3, 2).bias.any() and not RNNCell(3, 2).bias.any()


@pytest.mark.notes("N5.07")
def test_the_first_state_is_zero_for_any_batch_shape(generator):
    for shape in ((3,), (2, 3), (5, 2, 3)):
        u = normal(generator, *shape)
        zero = torch.zeros(*shape[:-1], 4, dtype=torch.float64)
        for cell in (RNNCell(3, 4).double(), GRUCell(3, 4).double()):
            assert torch.equal(cell(u), cell(u, zero))
        cell = LSTMCell(3, 4).double()
        for a, b in zip(cell(u), cell(u, (zero, zero)), strict=True):
            assert torch.equal(a, b)


@pytest.mark.notes("N5.05", "N5.15", "N5.32", "N5.37")
def test_cells_compute_their_step(generator):
    u, h, c = normal(generator, 2, 3), normal(generator, 2, 4), normal(generator, 2, 4)
    cell = RNNCell(3, 4).double()
    assert torch.equal(cell(u, h), rnn_step(u, h, cell.weight, cell.bias))
    cell = RNNCell(3, 4, activation="relu").double()
    assert torch.equal(cell(u, h), torch.relu(torch.cat([h, u], -1) @ cell.weight.T))
    cell = GRUCell(3, 4).double()
    assert torch.equal(cell(u, h), gru_step(u, h, cell.weight, cell.bias))
    cell = GRUCell(3, 4, reset="after").double()
    nn.init.constant_(cell.hidden_bias, 0.7)
    assert torch.equal(cell(u, h), gru_step(u, h, cell.weight, cell.bias, "after", cell.hidden_bias))
    cell = LSTMCell(3, 4).double()
    for a, b in zip(cell(u, (h, c)), lstm_step(u, (h, c), cell.weight, cell.bias), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RNNCell(3, 4),
        lambda: RNNCell(3, 4, activation="identity"),
        lambda: GRUCell(3, 4),
        lambda: GRUCell(3, 4, reset="after"),
        lambda: LSTMCell(3, 4),
    ],
)
def test_cells_pass_gradcheck_in_inputs_state_and_parameters(generator, make):
    cell = make().double()
    names = [name for name, _ in cell.named_parameters()]
    parts = [normal(generator, 2, 3), *(normal(generator, 2, 4) for _ in range(2 if isinstance(cell, LSTMCell) else 1))]
    parameters = [normal(generator, *p.shape) for p in cell.parameters()]

    def call(*tensors):
        values = dict(zip(names, tensors[len(parts) :], strict=True))
        u, *state = tensors[: len(parts)]
        return torch.func.functional_call(cell, values, (u, tuple(state) if len(state) == 2 else state[0]))

    assert torch.autograd.gradcheck(call, [t.requires_grad_() for t in (*parts, *parameters)])


def test_printed_cells_say_their_sizes():
    assert repr(RNNCell(3, 4)) == "RNNCell(3, 4, activation='tanh')"
    assert repr(GRUCell(3, 4)) == "GRUCell(3, 4, reset='before')"
    assert repr(LSTMCell(3, 4)) == "LSTMCell(3, 4)"


def test_wrong_arguments_get_a_sentence():
    for cell in (RNNCell, GRUCell, LSTMCell):
        with pytest.raises(ArgumentError, match="`input_size` must be at least 1, got 0"):
            cell(0, 4)
        with pytest.raises(ArgumentError, match="`hidden_size` must be at least 1, got -4"):
            cell(3, -4)
        with pytest.raises(ArgumentError, match="`initialization` must be one of"):
            cell(3, 4, initialization="magic")
        with pytest.raises(
            ShapeError, match=r"must have 3 features on the last axis.*\(2, 5\): make the cell with input_size=5"
        ):
            cell(3, 4)(torch.zeros(2, 5))
    with pytest.raises(ArgumentError, match="`activation` must be one of"):
        RNNCell(3, 4, activation="softmax")
    with pytest.raises(ArgumentError, match="`reset` must be one of 'before', 'after', got 'never'"):
        GRUCell(3, 4, reset="never")
    with pytest.raises(
        ShapeError, match=r"`state` must have the shape \(2, 4\) for inputs of shape \(2, 3\), got \(4,\)"
    ):
        GRUCell(3, 4)(torch.zeros(2, 3), torch.zeros(4))
    with pytest.raises(ShapeError, match=r"`state` must have the shape \(2, 4\).*got \(2, 5\)"):
        LSTMCell(3, 4)(torch.zeros(2, 3), (torch.zeros(2, 4), torch.zeros(2, 5)))


def test_options_that_a_cell_does_not_have_get_a_sentence():
    with pytest.raises(ArgumentError, match="`cell` must be one of 'rnn', 'gru', 'lstm', got 'mgu'"):
        _check_cell_options("mgu", ())
    with pytest.raises(
        ArgumentError, match="`memory_bias` is not an option of the cell 'rnn': only 'gru' and 'lstm' have"
    ):
        _check_cell_options("rnn", ("memory_bias",))
    with pytest.raises(ArgumentError, match="`activation` is not an option of the cell 'gru': only 'rnn' has it"):
        _check_cell_options("gru", ("reset", "activation"))
    with pytest.raises(ArgumentError, match="`peephole` is not an option of the cell 'lstm': no cell has it"):
        _check_cell_options("lstm", ("scale", "initialization", "peephole"))
