"""One call of a network, followed operation by operation."""

import pytest
import torch
from torch import nn

import lamina
from lamina._errors import ShapeError
from lamina.inspection.summary import summary


def test_looking_changes_nothing():
    net = lamina.build("cifar-resnet", depth=8).train()
    net.bn1.eval()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    summary(net), summary(net, batch=3)
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
    assert net.training and not net.bn1.training and net.layer1.training
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in net.modules())
    assert all(p.grad is None for p in net.parameters())


def test_networks_that_look_at_values_are_called_for_real():
    class Looks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, u):
            return self.layer(u) if u.sum().item() == 0 else u

    assert summary(Looks(), batch=4).flops == 2 * 4 * 9


def test_inputs_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match=r"Linear cannot be called with inputs of shape \(1, 3\) \(mat1 and mat2"):
        summary(nn.Linear(2, 2), (3,))
    with pytest.raises(ShapeError, match="each picture must have the shape"):
        summary(lamina.build("lenet5"), (1, 14, 14))
