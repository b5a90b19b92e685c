"""K recurrent networks as one equal each by itself."""

import pytest
import torch

from conformance.checks import floats, squares
from lamina import layers
from lamina._errors import ShapeError
from lamina.architectures.build import build
from lamina.populations.stacked import _stack_modules
from populations.separate import K, assert_equals_separate, normal, of_member


def test_one_recurrent_network_refuses_an_axis_of_members_and_a_stack_wants_it():
    net, rows = build("many-to-one", inputs=3, outputs=2), torch.zeros(4, 5, 3)
    with pytest.raises(ShapeError, match=r"float of shape \[batch, time, 3\], got float32 of shape \[4, 1, 5, 3\]"):
        net(rows.unsqueeze(1))
    with pytest.raises(
        ShapeError, match=r"float of shape \[batch, members, time, 3\], got float32 of shape \[4, 5, 3\]"
    ):
        _stack_modules([net])(rows)
    with pytest.raises(ShapeError, match=r"must have the shape \[batch, time, 3\] with time at least 1"):
        net.recurrent(rows.unsqueeze(1))
    with pytest.raises(ShapeError, match=r"must have the shape \[batch, members, time, 3\] with time at least 1"):
        _stack_modules([net.recurrent])(rows)
    with pytest.raises(ShapeError, match=r"one number for each of the 4 sequences, got shape \(4, 1\)"):
        net.recurrent(rows, lengths=torch.ones(4, 1, dtype=torch.long))
    with pytest.raises(ShapeError, match=r"`state` must be one tensor h of shape \(1, 4, 64\)"):
        net.recurrent(rows, state=torch.zeros(1, 4, 1, 64))


@pytest.mark.parametrize("own", (True, False))
@pytest.mark.parametrize("name", ("many-to-one", "many-to-many"))
@pytest.mark.parametrize("pooling", ("last", "mean", "max"))
def test_padded_words_and_dropout_around_cells(name, own, pooling):
    more = {"embedding": 3, "padding": 0, "input_dropout": 0.3, "output_dropout": 0.2, "bidirectional": True}
    if pooling != "last":
        more |= {"word_dropout": 0.4, **({"pooling": pooling} if name == "many-to-one" else {})}
    nets = [build(name, inputs=5, outputs=2, hidden=4, seed=k, **more).double() for k in range(K)]
    words = torch.tensor([[1, 2, 3, 4], [3, 2, 0, 0], [4, 0, 0, 0]])
    inputs = torch.stack([words.roll(k, 0) for k in range(K)], 1) if own else words
    assert_equals_separate(nets, (inputs,), own=own)


@pytest.mark.parametrize("feedback", (True, False))
def test_one_to_many_with_and_without_feedback(feedback):
    nets = [
        build("one-to-many", inputs=3, outputs=3, hidden=4, steps=4, feedback=feedback, seed=k).double()
        for k in range(K)
    ]
    assert_equals_separate(nets, (torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)),))


@pytest.mark.parametrize("reset", ("before", "after"))
def test_lengths_and_resets_of_gated_units(reset):
    modules = [layers.gru(3, 4, bidirectional=True, reset=reset, seed=k).double() for k in range(K)]
    inputs = torch.randn(4, 6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    stacked = _stack_modules(modules)
    lengths = [6, 2, 4, 1]
    outputs, state = stacked(inputs.unsqueeze(1), lengths=lengths)
    for k, module in enumerate(modules):
        expected, last = module(inputs, lengths=lengths)
        torch.testing.assert_close(outputs[:, k], expected)
        torch.testing.assert_close(state[:, :, k], last)
    single = stacked.cells[0](inputs[:, :1])
    torch.testing.assert_close(single[:, 1], modules[1].cells[0](inputs[:, 0]))


@pytest.mark.parametrize("cell", ("rnn", "gru", "lstm"))
def test_without_a_compiled_step_cells_advance_one_by_one(cell, monkeypatch):
    modules = [layers.Recurrent(cell, 3, 4, layers=2, bidirectional=True, seed=k).double() for k in range(K)]
    inputs, lengths = normal(4, 6, 3), torch.tensor([6, 2, 4, 1])
    results = []
    for compiled in (True, False):
        stacked = _stack_modules(modules)
        with monkeypatch.context() as patch:
            if not compiled:
                patch.setattr("lamina.populations._sequences.can_scan", lambda *_: False)
            outputs = stacked(inputs.unsqueeze(1), lengths=lengths)
        sum(squares(of_member(outputs, k, 4)) for k in range(K)).backward()
        results.append([*floats(outputs), *(p.grad for p in stacked.parameters())])
    torch.testing.assert_close(*results, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(results[1][0][:, 1], modules[1](inputs, lengths=lengths)[0], rtol=1e-10, atol=1e-12)


def test_numbers_of_two_kinds_are_refused_as_torch_refuses_them():
    stacked = _stack_modules([layers.gru(3, 4, seed=k).double() for k in range(K)])
    with pytest.raises(RuntimeError, match="type|Double"):
        stacked(torch.zeros(2, 1, 5, 3))
