import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from lamina._errors import ArgumentError
from lamina.functional.normalization import local_response_norm, local_response_norm_within
from lamina.kernels.norm import recorded_kernels
from lamina.layers._fused import _norm_fits, unobserved
from lamina.layers.initialized import linear
from lamina.layers.normalization import (
    FullAffineBatchNorm,
    LocalResponseNorm,
    LocalResponseNormWithin,
    norm_relu,
    norm_relu_and_skip,
    normalized,
)

RESPONSE = [(LocalResponseNorm, local_response_norm), (LocalResponseNormWithin, local_response_norm_within)]


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.notes("N3.51", "N3.54", "N3.52")
@pytest.mark.parametrize(("layer", "function"), RESPONSE)
def test_responses_call_the_functions(layer, function):
    Y = normal(2, 6, 4, 5) * 20
    assert torch.equal(layer()(Y), function(Y, size=5, kappa=2.0, gamma=1e-4, beta=0.75))
    assert torch.equal(layer(2, 1.0, 0.3, 0.5)(Y), function(Y, 2, 1.0, 0.3, 0.5))
    assert torch.equal(layer()(Y[0]), layer()(Y)[0])


@pytest.mark.notes("N3.51", "N3.52")
def test_alexnet_constants_in_torchs_words():
    Y = normal(2, 96, 3, 3) * 50
    torchs = nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2.0)
    torch.testing.assert_close(LocalResponseNorm()(Y), torchs(Y), rtol=1e-14, atol=1e-14)


@pytest.mark.notes("N3.55")
@pytest.mark.parametrize(("layer", "function"), RESPONSE)
def test_responses_have_nothing_to_learn_or_keep(layer, function):
    assert sum(p.numel() for p in layer().parameters()) == 0
    assert layer().state_dict() == {}
    Y = normal(2, 6, 4, 5)
    assert torch.equal(layer().train()(Y), layer().eval()(Y))


@pytest.mark.parametrize(("layer", "function"), RESPONSE)
def test_responses_refuse_and_show_their_constants(layer, function):
    with pytest.raises(ArgumentError, match="`size` must be at least 1, got 0"):
        layer(0)
    with pytest.raises(ArgumentError, match=r"`kappa` must be greater than 0, got -1\.0"):
        layer(kappa=-1.0)
    assert repr(layer()) == f"{layer.__name__}(5, kappa=2.0, gamma=0.0001, beta=0.75)"


@pytest.mark.notes("N2.40")
def test_printed_batch_norm_is_the_printed_formula():
    layer = FullAffineBatchNorm(5, 3, eps=1e-3, seed=4).double()
    with torch.no_grad():
        layer.affine.bias.copy_(normal(3, seed=1))
    W, b = layer.affine.weight, layer.affine.bias
    assert W.shape == (3, 5)
    y = normal(8, 5, seed=2) * 3 + 1
    outputs = layer(y)
    mu = sum(y) / 8
    variance = sum((y_j - mu) ** 2 for y_j in y) / 8
    for j in range(8):
        hat = (y[j] - mu) / (variance + 1e-3).sqrt()
        torch.testing.assert_close(outputs[j], W @ hat + b, rtol=0, atol=1e-13)


@pytest.mark.notes("N2.40", "N2.42")
def test_printed_batch_norm_is_batch_norm_and_a_dense_layer():
    layer = FullAffineBatchNorm(5, seed=3)
    assert sum(p.numel() for p in layer.parameters()) == 30
    assert sum(p.numel() for p in nn.BatchNorm1d(5).parameters()) == 10
    pair = nn.Sequential(nn.BatchNorm1d(5), linear(5, 5, seed=3)).double()
    layer = layer.double()
    for step in range(3):
        y = normal(8, 5, seed=step) * 3 + 1
        torch.testing.assert_close(layer(y), pair(y), rtol=0, atol=1e-14)
    y = normal(1, 5, seed=9)
    torch.testing.assert_close(layer.eval()(y), pair.eval()(y), rtol=0, atol=1e-14)


def test_printed_batch_norm_learns_and_is_saved():
    layer, y = FullAffineBatchNorm(4, 2, seed=1).double(), normal(8, 4)
    layer(y).square().sum().backward()
    assert all(p.grad.isfinite().all() and p.grad.abs().max() > 0 for p in layer.parameters() if p.ndim == 2)
    other = FullAffineBatchNorm(4, 2, seed=2).double()
    other.load_state_dict(copy.deepcopy(layer.state_dict()))
    assert torch.equal(layer.eval()(y), other.eval()(y))
    assert torch.equal(FullAffineBatchNorm(4, seed=6).affine.weight, linear(4, 4, seed=6).weight)


def test_population_of_printed_batch_norms():
    members = [FullAffineBatchNorm(4, 3, seed=seed).double() for seed in range(3)]
    parameters, buffers = stack_module_state(members)
    y = normal(6, 4)
    together = vmap(lambda p, b: functional_call(members[0], (p, b), (y,)))(parameters, buffers)
    alone = torch.stack([member(y) for member in members])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-13)
    for name, buffer in buffers.items():
        torch.testing.assert_close(buffer, torch.stack([dict(member.named_buffers())[name] for member in members]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0,), "`features` must be at least 1, got 0"), ((2, 0), "`out_features` must be at least 1, got 0")],
)
def test_printed_batch_norm_re_norm_fits(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        FullAffineBatchNorm(*arguments)


def test_norm_relu_is_the_module_and_relu(generator):
    u, r = (torch.randn(3, 4, 5, 5, generator=generator, dtype=torch.float64) for _ in range(2))
    for residual in (None, r):
        ours, theirs = nn.BatchNorm2d(4).double(), nn.BatchNorm2d(4).double()
        expected = theirs(u) if residual is None else residual + theirs(u)
        assert torch.equal(norm_relu(ours, u, residual), torch.relu(expected))
        assert torch.equal(ours.running_var, theirs.running_var)
    active, skip = norm_relu_and_skip(nn.BatchNorm2d(4).double(), u)
    assert skip is u
    assert torch.equal(active, torch.relu(nn.BatchNorm2d(4).double()(u)))
    assert torch.equal(normalized(nn.BatchNorm2d(4).double(), u), nn.BatchNorm2d(4).double()(u))


@pytest.mark.parametrize("training", (True, False))
def test_what_is_rectified_where_it_lies_has_the_same_bits(training, generator):
    """On a CPU; whoever looks at the normalized maps finds them as they were."""
    u, r = (torch.randn(3, 4, 5, 5, generator=generator) for _ in range(2))
    for residual in (None, r):
        results = []
        for watched in (True, False):
            norm, seen, leaf = nn.BatchNorm2d(4).train(training), [], u.clone().requires_grad_()
            if watched:
                norm.register_forward_hook(lambda module, given, result, seen=seen: seen.append(result))
            more = None if residual is None else residual.clone().requires_grad_()
            y = norm_relu(norm, leaf, more)
            if residual is None:
                y = y + norm_relu_and_skip(norm, leaf)[0]
            y.square().sum().backward()
            assert [bool((values < 0).any()) for values in seen] == [True] * len(seen) and bool(seen) == watched
            results.append([y, leaf.grad, norm.weight.grad, norm.running_mean, *([] if more is None else [more.grad])])
            assert torch.equal(leaf, u) and (more is None or torch.equal(more, residual))
        assert all(map(torch.equal, *results))


def test_who_watches_a_module_sees_its_calls(generator):
    norm, seen = nn.BatchNorm2d(2), []
    assert unobserved(norm)
    handle = norm.register_forward_hook(lambda *_: seen.append(1))
    assert not unobserved(norm)
    norm_relu(norm, torch.randn(2, 2, 3, 3, generator=generator))
    assert seen == [1]
    handle.remove()
    assert unobserved(norm)
    inside = []
    torch.vmap(lambda u: inside.append(unobserved(norm)) or u)(torch.zeros(2, 2))
    assert inside == [False]


@pytest.mark.cuda
def test_kernels_stand_in_only_where_they_equal_the_module(generator):
    u = torch.randn(4, 8, 6, 6, generator=generator).cuda().contiguous(memory_format=torch.channels_last)
    norm = nn.BatchNorm2d(8).cuda()
    assert not _norm_fits(norm, u)
    with recorded_kernels():
        assert _norm_fits(norm, u)
        assert not _norm_fits(norm, u.contiguous())
        assert not _norm_fits(norm, u.double())
        assert not _norm_fits(norm.eval(), u)
        assert not _norm_fits(nn.BatchNorm2d(8, affine=False).cuda(), u)
        assert not _norm_fits(nn.BatchNorm2d(8, momentum=None).cuda(), u)
        assert not _norm_fits(nn.InstanceNorm2d(8, affine=True).cuda(), u)
