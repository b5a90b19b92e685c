import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from lamina._errors import ArgumentError
from lamina.layers.encoding import Embedding, OneHot
from lamina.populations.stacked import _has_rule

SENTENCE = torch.tensor([[0, 4, 2], [2, 2, 1]])


def test_populations_can_be_made_of_encodings():
    assert _has_rule(OneHot(5)) and _has_rule(Embedding(5, 2))


@pytest.mark.notes("N5.44")
def test_one_hot_marks_the_index():
    units = OneHot(10_001)(torch.tensor([8366]))
    assert units.shape == (1, 10_001)
    assert units.nonzero().tolist() == [[0, 8366]]
    assert units.dtype == torch.float32
    assert repr(OneHot(5)) == "OneHot(5)"


def test_one_hot_follows_the_precision_of_its_network_and_saves_nothing():
    network = nn.Sequential(OneHot(5), nn.Tanh())
    assert network(SENTENCE).dtype == torch.float32
    assert network.double()(SENTENCE).dtype == torch.float64
    assert network.state_dict() == {}
    assert sum(p.numel() for p in network.parameters()) == 0


@pytest.mark.notes("N5.44")
def test_embedding_is_a_matrix_times_unit_vectors():
    layer = Embedding(5, 3, seed=2).double()
    W = layer.weight.T
    vectors = layer(SENTENCE)
    assert vectors.shape == (2, 3, 3)
    assert torch.equal(vectors, OneHot(5).double()(SENTENCE) @ W.T)
    assert torch.equal(vectors[0, 1], W[:, 4])
    table = nn.Embedding.from_pretrained(layer.weight.detach())
    assert torch.equal(vectors, table(SENTENCE))


def test_embedding_starts_from_the_seed_with_the_given_spread():
    layer = Embedding(2000, 30, seed=1)
    assert torch.equal(layer.weight, Embedding(2000, 30, seed=1).weight)
    assert not torch.equal(layer.weight, Embedding(2000, 30, seed=2).weight)
    assert layer.weight.mean().item() == pytest.approx(0, abs=0.02)
    assert layer.weight.std().item() == pytest.approx(1, abs=0.02)
    assert Embedding(2000, 30, std=0.1).weight.std().item() == pytest.approx(0.1, abs=0.002)
    assert repr(layer) == "Embedding(2000, 30)"
    generator = torch.Generator().manual_seed(1)
    first, second = Embedding(5, 3, seed=generator), Embedding(5, 3, seed=generator)
    assert torch.equal(first.weight, Embedding(5, 3, seed=1).weight)
    assert not torch.equal(first.weight, second.weight)


def test_embedding_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    Embedding(5, 3)
    assert torch.equal(before, torch.get_rng_state())


def test_embedding_is_saved():
    layer, other = Embedding(5, 3, seed=1), Embedding(5, 3, seed=2)
    other.load_state_dict(copy.deepcopy(layer.state_dict()))
    assert torch.equal(layer(SENTENCE), other(SENTENCE))


def test_gradient_counts_the_words():
    layer = Embedding(5, 2)
    layer(SENTENCE).sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [1, 1], [3, 3], [0, 0], [1, 1]]


@pytest.mark.parametrize("make", [lambda seed: Embedding(5, 3, seed=seed), lambda seed: OneHot(5)])
def test_population(make):
    members = [make(seed) for seed in range(3)]
    parameters, buffers = stack_module_state(members)
    together = vmap(lambda p, b: functional_call(members[0], (p, b), (SENTENCE,)))(parameters, buffers)
    assert torch.equal(together, torch.stack([member(SENTENCE) for member in members]))


def test_refusals():
    for layer in (OneHot(5), Embedding(5, 3)):
        with pytest.raises(ArgumentError, match=r"`indices` must be in \[0, 4\], got 5"):
            layer(torch.tensor([5]))
    with pytest.raises(ArgumentError, match="`size` must be at least 1, got 0"):
        OneHot(0)
    with pytest.raises(ArgumentError, match="`vocab` must be at least 1, got 0"):
        Embedding(0, 3)
    with pytest.raises(ArgumentError, match="`features` must be at least 1, got 0"):
        Embedding(5, 0)
