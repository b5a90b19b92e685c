import copy

import pytest
import torch
from torch import nn

from lamina.kernels.bottleneck import block_kernels_apply
from lamina.kernels.norm import recorded_kernels
from lamina.layers.bottleneck import PreActBottleneck
from lamina.layers.half_weights import HalfWeights

WEIGHTS = [torch.zeros(16, 64, 1, 1), torch.zeros(16, 16, 3, 3), torch.zeros(64, 16, 1, 1)]


def test_not_on_the_cpu():
    maps = torch.zeros(1, 64, 4, 4, dtype=torch.bfloat16).contiguous(memory_format=torch.channels_last)
    weights = [w.contiguous(memory_format=torch.channels_last) for w in WEIGHTS]
    with recorded_kernels():
        assert not block_kernels_apply(maps, weights)


def block(channels, generator):
    made = PreActBottleneck(channels, channels, seed=generator)
    for norm in (made.bn1, made.bn2, made.bn3):
        norm.weight.data.copy_(torch.rand(len(norm.weight), generator=generator) + 0.5)
        norm.bias.data.copy_(torch.randn(len(norm.bias), generator=generator) / 2)
    return made.cuda().to(memory_format=torch.channels_last)


def maps(generator, *shape):
    made = torch.randn(shape, generator=generator).cuda().bfloat16()
    return made.contiguous(memory_format=torch.channels_last)


def run(model, y, d, autocast=True):
    leaf = y.clone().requires_grad_()
    with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
        outputs = model(leaf)
    outputs.backward(d)
    running = [(n.running_mean, n.running_var) for n in (model.bn1, model.bn2, model.bn3)]
    values = [outputs.detach() - y, leaf.grad, *(p.grad for p in model.parameters()), *sum(running, ())]
    return outputs.grad_fn, values


def distance(found, exact):
    return [((one - two).norm() / two.norm()).item() for one, two in zip(found, exact, strict=True)]


@pytest.mark.cuda
@pytest.mark.parametrize("shape", [(32, 64, 8, 8), (3, 64, 5, 7), (8, 128, 6, 6), (9, 256, 4, 4)])
def test_as_near_to_double_precision_as_the_plain_block(shape, generator):
    made = block(shape[1], generator)
    y, d = maps(generator, *shape), maps(generator, *shape)
    _, exact = run(copy.deepcopy(made).double(), y.double(), d.double(), autocast=False)
    _, plain = run(copy.deepcopy(made), y, d)
    with recorded_kernels():
        node, found = run(copy.deepcopy(made), y, d)
    assert type(node).__name__ == "_BottleneckBackward"
    for ours, theirs in zip(distance(found, exact), distance(plain, exact), strict=True):
        assert ours <= 1.3 * theirs + 1e-3


@pytest.mark.cuda
def test_repeats_records_and_takes_half_weights(generator):
    made = block(64, generator)
    y, d = maps(generator, 16, 64, 8, 8), maps(generator, 16, 64, 8, 8)

    def update(model):
        leaf = y.clone().requires_grad_()
        with recorded_kernels(), HalfWeights(model), torch.autocast("cuda", torch.bfloat16):
            outputs = model(leaf)
            found = torch.autograd.grad(outputs, [leaf, model.bn1.weight, model.conv2.weight], d)
        return [outputs.detach(), *found]  # no graph of this stream may outlive the call

    first = update(made)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        again = update(made)
    graph.replay()
    assert all(torch.equal(one, two) for one, two in zip(first, again, strict=True))


@pytest.mark.cuda
def test_a_hook_sees_the_parts(generator):
    made, seen = block(64, generator), []
    made.conv2.register_forward_hook(lambda *_: seen.append("conv2"))
    y = maps(generator, 4, 64, 8, 8)
    with recorded_kernels(), torch.autocast("cuda", torch.bfloat16):
        made(y)
    assert seen == ["conv2"]
    assert isinstance(made.downsample, nn.Identity)
