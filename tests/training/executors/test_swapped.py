"""Modules compute by other functions for as long as a block lasts, and as before afterwards."""

import pytest
import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode

from lamina.training.executors._swapped import Swapped, followed, plain


def test_functions_take_the_place_of_layers_and_leave_it():
    net = nn.Sequential(nn.ReLU(), nn.Tanh())
    swapped, x = Swapped([(net[0], lambda inputs: inputs - 1), (net[1], lambda inputs: 3 * inputs)]), torch.ones(2)
    for _ in range(2):  # in every update
        with swapped:
            assert net(2 * x).tolist() == [3.0, 3.0]
        torch.testing.assert_close(net(x), x.tanh())


def test_an_error_leaves_the_layers_as_they_were():
    net = nn.Sequential(nn.ReLU())
    with pytest.raises(KeyError, match="lost"), Swapped([(net[0], lambda inputs: {}[inputs])]):
        net("lost")
    assert plain([net, *net]) and net(-torch.ones(1)).item() == 0


def test_hooks_hear_what_is_computed_instead():
    layer, heard = nn.ReLU(), []
    layer.register_forward_hook(lambda module, given, found: heard.append(found))
    with Swapped([(layer, lambda inputs: inputs + 1)]):
        layer(-torch.ones(1))
    assert heard == [torch.zeros(1)]


class Nothing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **kwargs or {})


def test_who_follows_operations_is_noticed():
    assert not followed()
    with Nothing():
        assert followed()
    with saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
        assert followed()
    assert torch.func.vmap(lambda x: x + followed())(torch.zeros(2)).tolist() == [1.0, 1.0] and not followed()
