"""What the hooks see of one update."""

import pytest
import torch
from torch import nn

from lamina.inspection._probe import NUMBERS, Probe, activation_of, kind_of, shares, tensors_of
from lamina.layers.recurrent import Recurrent


def test_names_of_activations_and_kinds():
    assert [activation_of(m) for m in (nn.ReLU(), nn.Sigmoid(), nn.Conv2d(1, 1, 1))] == ["relu", "sigmoid", None]
    kinds = [Recurrent("rnn", 2, 2), Recurrent("rnn", 2, 2, activation="relu"), nn.LSTM(2, 2), nn.RNN(2, 2)]
    assert [kind_of(m) for m in kinds] == ["rnn", "relu", "lstm", "rnn"]


def test_a_look_ahead_without_gradient_is_not_measured():
    net = nn.Linear(2, 2, bias=False)
    probe = Probe(net)
    with probe.looking():
        with torch.no_grad():
            net(100 * torch.ones(1, 2))
        net(torch.ones(1, 2)).sum().backward()
    assert probe.names == ("network",)
    wanted = net(torch.ones(1, 2)).square().mean().item()
    assert probe.numbers[0, NUMBERS.index("mean_square")].item() == pytest.approx(wanted)


def test_dead_units_and_saturated_values_by_hand():
    dead, saturated = shares(torch.tensor([[0.0, 1.0], [0.0, 0.5]]), "tanh", 1)
    assert (dead.item(), saturated.item()) == (0.5, 0.25)
    assert shares(torch.ones(2, 2), "relu", 1)[1].isnan()


def test_tensors_of_what_a_recurrent_layer_gives():
    assert len(tensors_of((torch.ones(2), (torch.ones(1), torch.ones(1), torch.tensor([1]))))) == 3
