"""What one example tells: operations, counted by hand."""

import pytest
import torch
from torch import nn

import lamina
from lamina.training._look import look


def test_operations_are_counted_by_hand():
    fnn = lamina.build("fnn", inputs=(1, 28, 28), outputs=10, hidden=(128,))
    assert look(fnn, torch.zeros(1, 1, 28, 28)).operations == 6 * (784 * 128 + 128 * 10)
    lenet = lamina.build("lenet5")
    products = 784 * 150 + 100 * 2400 + 400 * 120 + 120 * 84 + 84 * 10
    assert look(lenet, torch.zeros(1, 1, 28, 28)).operations == 6 * products
    assert lenet.training and not any(m._forward_hooks for m in lenet.modules())
    # An LSTM uses its two matrices [4H, D] and [4H, H] at each of 5 times.
    assert look(nn.LSTM(3, 4, batch_first=True), torch.zeros(1, 5, 3)).operations == 6 * 5 * (16 * 3 + 16 * 4)


def test_a_network_in_training_mode_stays_so_when_it_refuses_an_example():
    net = nn.Linear(3, 2)
    with pytest.raises(RuntimeError):
        look(net, torch.zeros(1, 4))
    assert net.training and not net._forward_hooks
