"""Weights brought from torch; that the numbers agree for all layers and directions is in `test_recurrent`."""

import pytest
import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina.layers.recurrent import gru, lstm, rnn
from lamina.layers.torch_weights import from_torch, load_torch_weights_


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
