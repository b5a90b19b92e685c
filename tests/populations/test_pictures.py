"""K networks for pictures as one equal each by itself."""

import pytest
import torch
from torch import nn

from lamina import layers
from lamina._errors import ShapeError
from lamina.architectures.build import build
from lamina.populations.stacked import _stack_modules, notes
from populations.separate import K, assert_equals_separate, normal


def test_recomputed_blocks_stack():
    nets = [build("cifar-resnet", depth=8, width=0.25, recompute=1, seed=k).double() for k in range(K)]
    assert notes(assert_equals_separate(nets, (normal(3, 3, 8, 8),))) == ()


@pytest.mark.parametrize("name", ("lenet5", "lenet5-1998", "alexnet", "resnet18", "cifar-resnet"))
def test_one_network_refuses_an_axis_of_members_and_a_stack_wants_it(name):
    net = build(name)
    pictures = torch.zeros(2, *net.config.inputs)
    with pytest.raises(
        ShapeError, match=r"each picture must have .* bring the data to \(batch, channels, height, width"
    ):
        net(pictures.unsqueeze(1))
    with pytest.raises(ShapeError, match=r"bring the data to \(batch, members, channels, height, width\)"):
        _stack_modules([net])(pictures)


@pytest.mark.parametrize("own", (True, False))
def test_a_convolution_and_what_follows_it_by_hand(own):
    nets = [nn.Sequential(nn.Conv2d(1, 1, 2, bias=False), layers.Detector("relu"), nn.MaxPool2d(2)) for _ in range(2)]
    stacked = _stack_modules(nets)
    with torch.no_grad():
        stacked[0].weight.copy_(torch.tensor([[1.0, 0.0, 0.0, -1.0], [-1.0, 0.0, 0.0, 1.0]]).reshape(2, 1, 1, 2, 2))
    picture = torch.tensor([[1.0, 5.0, 2.0], [0.0, 3.0, 1.0], [4.0, 0.0, 2.0]])
    # Entries minus their lower right neighbors: -2, 4, 0, 1; the second member has the opposite.
    inputs = torch.stack([picture, picture.T])[None, :, None] if own else picture[None, None, None]
    assert stacked(inputs).flatten().tolist() == [4.0, 2.0]
