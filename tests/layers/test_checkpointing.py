import copy

import pytest
import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina.layers.checkpointing import _Again, run_blocks
from lamina.layers.dropout import Dropout
from lamina.layers.residual_blocks import PreActBlock


def chain(generator):
    parts = []
    for place in range(4):
        parts += [PreActBlock(3, 3, seed=generator), Dropout(0.4, seed=5, place=place)]
    return nn.Sequential(*parts).double()


def gradients(blocks, u, every, times=1):
    u = u.clone().requires_grad_()
    outputs = [run_blocks(blocks, u, every) for _ in range(times)]
    for y in outputs:
        y.square().sum().backward()
    return outputs, [u.grad, *(p.grad for p in blocks.parameters())]


@pytest.mark.parametrize("every", [1, 3, 8, 100])
@pytest.mark.parametrize("times", [1, 2])
def test_equal_outputs_gradients_and_state(every, times, generator):
    one, u = chain(generator), torch.randn(4, 3, 5, 5, generator=generator, dtype=torch.float64)
    two = copy.deepcopy(one)
    outputs, expected = gradients(one, u, 0, times)
    again, found = gradients(two, u, every, times)
    assert all(torch.equal(y, z) for y, z in zip(outputs, again, strict=True))
    assert all(torch.equal(g, h) for g, h in zip(expected, found, strict=True))
    # Running statistics moved once, counters advanced once a forward pass.
    state = two.state_dict()
    assert all(torch.equal(value, state[name]) for name, value in one.state_dict().items())
    assert two[1].counter.item() == two[0].bn1.num_batches_tracked.item() == times


def test_a_second_backward_pass_drops_the_same_units(generator):
    blocks, u = chain(generator), torch.randn(4, 3, 5, 5, generator=generator, dtype=torch.float64)
    leaf = u.requires_grad_()
    loss = run_blocks(blocks, leaf, 2).square().sum()
    first = torch.autograd.grad(loss, leaf, retain_graph=True)
    assert torch.equal(first[0], torch.autograd.grad(loss, leaf)[0])


def test_activities_are_not_kept(generator):
    blocks, u = chain(generator), torch.randn(4, 3, 5, 5, generator=generator, dtype=torch.float64)
    kept = {}
    for every in (0, 4):
        sizes = []

        def pack(tensor, sizes=sizes):
            sizes.append(tensor.numel() if tensor.shape == u.shape else 0)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            run_blocks(blocks, u, every)
        kept[every] = sum(sizes) // u.numel()
    assert kept[4] <= 2 < 20 < kept[0]  # what enters each of the two groups, at most


def test_no_gradient_no_checkpoint(generator):
    blocks, u = chain(generator).eval(), torch.randn(2, 3, 5, 5, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        assert torch.equal(run_blocks(blocks, u, 2), blocks(u))
    batched = torch.vmap(lambda x: run_blocks(blocks, x, 2))(u[None])
    assert torch.allclose(batched[0], blocks(u), rtol=0, atol=1e-12)


def test_a_negative_number_is_refused():
    with pytest.raises(ArgumentError, match="`every` must be at least 0, got -1"):
        run_blocks(nn.Sequential(nn.Tanh()), torch.zeros(1), -1)


@pytest.mark.cuda
def test_recorded_in_a_graph(generator):
    blocks = (
        nn.Sequential(*(PreActBlock(8, 8, seed=generator) for _ in range(4)))
        .cuda()
        .to(memory_format=torch.channels_last)
    )
    u = torch.randn(16, 8, 8, 8, generator=generator).cuda()
    start = {name: t.clone() for name, t in blocks.state_dict().items()}
    expected = gradients(blocks, u, 2)[1]  # its outputs would keep the graph of this stream alive
    after = {name: t.clone() for name, t in blocks.state_dict().items()}
    blocks.load_state_dict(start)
    blocks.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = gradients(blocks, u, 2)[1]
    graph.replay()
    assert all(torch.allclose(g, h, rtol=1e-4, atol=1e-5) for g, h in zip(expected, found, strict=True))
    assert all(torch.allclose(t, after[name]) for name, t in blocks.state_dict().items())


def test_only_what_a_later_computation_reads_is_remembered():
    """Batch norm in training reads no buffer, unless it averages over all batches and needs their number."""
    norm, average, drop = nn.BatchNorm2d(2), nn.BatchNorm2d(2, momentum=None), Dropout(0.5)
    again = _Again(nn.Sequential(norm, average, drop, nn.Tanh()))
    assert again.blind == [norm] and again.seen.keys() == {average, drop}
    asleep = _Again(nn.Sequential(norm).eval())
    assert not asleep.blind and asleep.seen.keys() == {norm}
