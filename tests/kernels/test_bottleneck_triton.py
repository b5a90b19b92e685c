"""The launches of a bottleneck block repeat to the bit and can be recorded."""

import pytest
import torch

from kernels.blocks import block, maps
from lamina.kernels.norm import recorded_kernels
from lamina.layers.half_weights import HalfWeights


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
