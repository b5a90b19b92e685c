"""Weights brought from torch and back; that the numbers agree for all layers and directions is in `test_recurrent`."""

import pytest
import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina.layers.recurrent import Recurrent, gru, lstm, rnn
from lamina.layers.torch_weights import from_torch, load_torch_weights_, to_torch


def make(kind, generator, *sizes, **options):
    module = kind(*sizes, batch_first=True, dtype=torch.float64, device="meta", **options).to_empty(device="cpu")
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-1, 1, generator=generator)
    return module


@pytest.mark.notes("N5.05", "N5.37")
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (nn.RNN, {"nonlinearity": "relu"}),
        (nn.RNN, {"bias": False}),
        (nn.GRU, {"bias": False, "num_layers": 2}),
        (nn.LSTM, {"bias": False, "bidirectional": True}),
        (nn.LSTM, {"num_layers": 2, "dropout": 0.5}),
    ],
)
def test_every_form_of_a_torch_module_comes_over(generator, kind, options):
    theirs = make(kind, generator, 3, 5, **options).eval()
    ours = from_torch(theirs).eval()
    u = torch.randn(2, 6, 3, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(ours(u)[0], theirs(u)[0], rtol=1e-14, atol=1e-14)
    assert [drop.rate.item() for drop in ours.dropouts] == ([0.5] if "dropout" in options else [])
    assert all(p.dtype == torch.float64 and p.requires_grad for p in ours.parameters())
    theirs.weight_hh_l0.data.zero_()
    assert ours.cells[0].weight[:, :5].any()  # a copy, not a view


@pytest.mark.notes("N5.05", "N5.22", "N5.37")
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize(
    ("cell", "options"), [("rnn", {}), ("rnn", {"activation": "relu"}), ("gru", {"reset": "after"}), ("lstm", {})]
)
def test_ours_goes_to_torch_and_back(generator, cell, options, layers, bidirectional):
    ours = Recurrent(cell, 3, 4, layers=layers, bidirectional=bidirectional, seed=generator, **options).double().eval()
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.uniform_(-0.5, 0.5, generator=generator)  # biases too
    drawn = torch.get_rng_state()
    theirs = to_torch(ours)
    assert torch.equal(drawn, torch.get_rng_state())
    assert type(theirs) is {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[cell] and not theirs.training
    u = torch.randn(2, 6, 3, generator=generator, dtype=torch.float64)
    (outputs, end), (expected, expected_end) = theirs(u), ours(u)
    torch.testing.assert_close(outputs, expected, rtol=1e-13, atol=1e-13)  # 18 steps of sums in another order
    torch.testing.assert_close(end, expected_end, rtol=1e-13, atol=1e-13)
    back = from_torch(theirs).state_dict()
    assert back.keys() == ours.state_dict().keys()
    assert all(torch.equal(back[name], value) for name, value in ours.state_dict().items())  # rows move, b + 0 = b
    theirs.weight_hh_l0.data.zero_()
    assert ours.cells[0].weight[:, :4].any()  # a copy, not a view


def test_torch_to_ours_and_back_sums_the_biases(generator):
    theirs = make(nn.GRU, generator, 3, 4, num_layers=2, dropout=0.5)
    back = to_torch(from_torch(theirs))
    assert back.training and back.dropout == 0.5 and back.batch_first
    for name, value in theirs.named_parameters():
        if name.startswith("weight"):
            assert torch.equal(getattr(back, name), value)
    # The two biases of a gate only occur as their sum; those of the candidate, behind and before the reset, remain two.
    for layer in range(2):
        ours, torchs = (
            [getattr(module, f"bias_{part}_l{layer}") for part in ("ih", "hh")] for module in (back, theirs)
        )
        assert torch.equal(sum(ours)[:8], sum(torchs)[:8]) and not ours[1][:8].any()
        assert torch.equal(ours[0][8:], torchs[0][8:]) and torch.equal(ours[1][8:], torchs[1][8:])


def test_formulas_that_torch_lacks_are_refused():
    with pytest.raises(ArgumentError, match="`recurrent` must have reset='after', got 'before': torch's GRU resets"):
        to_torch(gru(3, 4))
    with pytest.raises(ArgumentError, match="must have activation='tanh' or 'relu', got 'sigmoid': torch's RNN has"):
        to_torch(rnn(3, 4, activation="sigmoid"))


def test_weights_are_loaded_in_place(generator):
    theirs = make(nn.LSTM, generator, 3, 4, num_layers=2)
    ours = lstm(3, 4, layers=2)
    before = list(ours.parameters())
    assert load_torch_weights_(ours, theirs) is ours
    assert all(a is b for a, b in zip(before, ours.parameters(), strict=True))
    torch.testing.assert_close(ours.cells[1].weight[:4, 4:], theirs.weight_ih_l1[4:8].float())  # the forget gate


def test_what_does_not_fit_gets_a_sentence(generator):
    theirs = make(nn.GRU, generator, 3, 4)
    with pytest.raises(ArgumentError, match="`module` must have reset = 'before' as `recurrent` has, got 'after'"):
        load_torch_weights_(gru(3, 4), theirs)
    with pytest.raises(
        ArgumentError, match="`module` must have cell = 'lstm' as `recurrent` has, got 'gru': `from_torch"
    ):
        load_torch_weights_(lstm(3, 4), theirs)
    with pytest.raises(ArgumentError, match="`module` must have hidden_size = 5"):
        load_torch_weights_(gru(3, 5, reset="after"), theirs)
    with pytest.raises(ArgumentError, match="`module` must have input_size = 2"):
        load_torch_weights_(gru(2, 4, reset="after"), theirs)
    with pytest.raises(ArgumentError, match="`module` must have layers = 2"):
        load_torch_weights_(gru(3, 4, layers=2, reset="after"), theirs)
    with pytest.raises(ArgumentError, match="`module` must have directions = 2"):
        load_torch_weights_(gru(3, 4, bidirectional=True, reset="after"), theirs)
    with pytest.raises(ArgumentError, match="`module` must have activation = 'tanh' as `recurrent` has, got 'relu'"):
        load_torch_weights_(rnn(3, 4), make(nn.RNN, generator, 3, 4, nonlinearity="relu"))
    with pytest.raises(ArgumentError, match="`module` must have proj_size=0, got 2: our LSTM has no projection"):
        from_torch(make(nn.LSTM, generator, 3, 4, proj_size=2))
    with pytest.raises(ArgumentError, match=r"`module` must be a torch.nn.RNN, GRU or LSTM, got RNNBase"):
        from_torch(nn.RNNBase("GRU", 3, 4, device="meta"))
