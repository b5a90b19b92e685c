import copy

import torch
from torch import nn
from torch.nn.functional import conv2d, linear

from lamina.architectures.resnet import CifarResNet, CifarResNetConfig
from lamina.layers.half_weights import HalfWeights


def run(model, u, half):
    with torch.autocast("cpu", torch.bfloat16):
        if half is None:
            y = model(u)
        else:
            with half:
                y = model(u)
    y.float().square().sum().backward()
    return y


def test_values_and_gradients_are_those_of_autocast(generator):
    u = torch.randn(4, 3, 8, 8, generator=generator)
    for layout in (torch.channels_last, torch.contiguous_format):
        one = CifarResNet(CifarResNetConfig(depth=11, bottleneck=True, block="preactivation", width=0.25))
        one = one.to(memory_format=layout)
        two = copy.deepcopy(one)
        half, names = HalfWeights(two), list(two.state_dict())
        for _ in range(2):
            assert torch.equal(run(one, u, None), run(two, u, half))
        for p, q in zip(one.parameters(), two.parameters(), strict=True):
            assert isinstance(q, nn.Parameter)
            assert q.grad.dtype == torch.float32
            assert q.grad.stride() == q.stride()
            assert torch.equal(p.grad, q.grad)
        assert list(two.state_dict()) == names


def test_inside_the_weights_are_rounded_once_and_outside_they_are_themselves():
    layer = nn.Linear(2, 2)
    weight = layer.weight
    with HalfWeights(layer):
        assert torch.equal(layer.weight, weight.bfloat16())
        assert layer.weight.data_ptr() % 16 == layer.bias.data_ptr() % 16 == 0
    assert layer.weight is weight


def test_shared_and_frozen_parameters(generator):
    one, two, norm = nn.Linear(3, 3), nn.Linear(3, 3), nn.LayerNorm(3)
    two.weight = one.weight
    two.bias.requires_grad_(False)
    u = torch.randn(5, 3, generator=generator)
    model = nn.Sequential(one, norm, two)
    run(model, u, HalfWeights(model))
    assert two.bias.grad is None
    assert norm.weight.dtype == torch.float32
    found, one.weight.grad = one.weight.grad, None
    run(model, u, None)
    torch.testing.assert_close(found, one.weight.grad, rtol=0.02, atol=0.02)  # autocast adds the two parts in float32


def test_a_gradient_of_another_layout(generator):
    layer = nn.Conv2d(2, 3, 3, bias=False).to(memory_format=torch.channels_last)
    u = torch.randn(2, 2, 5, 5, generator=generator)
    with HalfWeights(layer):
        half = layer.weight
        conv2d(u, half.float().contiguous()).square().sum().backward()
    exact = layer.weight.detach().bfloat16().float().requires_grad_()
    conv2d(u, exact.contiguous()).square().sum().backward()
    torch.testing.assert_close(layer.weight.grad, exact.grad, rtol=0.01, atol=0.01)


def test_an_unused_layer_and_an_empty_network(generator):
    model = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    with HalfWeights(model):
        linear(torch.ones(1, 2).bfloat16(), model[0].weight).sum().backward()
    assert model[1].weight.grad is None
    assert model[0].weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with HalfWeights(nn.Tanh()):
        pass
