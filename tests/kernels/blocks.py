"""Bottleneck blocks on a GPU, and what an update of one gives."""

import torch

from lamina.layers.bottleneck import PreActBottleneck


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
