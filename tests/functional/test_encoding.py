import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError
from lamina.functional.encoding import embedding, one_hot


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.notes("N5.44")
def test_the_is_the_8367th_word():
    e = one_hot(torch.tensor(8367 - 1), 10_001, torch.float64)
    assert e.shape == (10_001,)
    assert e.sum() == 1
    assert e.nonzero().tolist() == [[8366]]
    W = normal(4, 10_001)
    assert torch.equal(W @ e, W[:, 8366])
    assert torch.equal(embedding(torch.tensor(8366), W), W[:, 8366])


@pytest.mark.notes("N5.44")
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.lists(st.integers(0, 3), max_size=3), st.integers(0, 999))
def test_lookup_is_the_product_with_unit_vectors(size, shape, seed):
    indices = torch.randint(size, shape, generator=torch.Generator().manual_seed(seed))
    W = normal(5, size, seed=seed)
    units = one_hot(indices, size, torch.float64)
    assert units.shape == (*shape, size)
    assert torch.equal(units.sum(-1), torch.ones(shape, dtype=torch.float64))
    assert torch.equal(units.argmax(-1), indices)
    assert torch.equal(embedding(indices, W), units @ W.T)


def test_one_hot_is_torchs_in_floating_point():
    indices = torch.tensor([[3, 0], [1, 1]])
    assert one_hot(indices, 4).dtype == torch.float32
    assert torch.equal(one_hot(indices, 4).long(), torch.nn.functional.one_hot(indices, 4))
    assert torch.equal(one_hot(indices.to(torch.int32), 4), one_hot(indices, 4))


def test_gradient_reaches_the_columns_that_were_picked():
    W = normal(2, 4).requires_grad_()
    indices = torch.tensor([3, 1, 3])
    assert torch.autograd.gradcheck(lambda w: embedding(indices, w), [W])
    (gradient,) = torch.autograd.grad(embedding(indices, W).sum(), W)
    assert gradient.tolist() == [[0, 1, 0, 2], [0, 1, 0, 2]]


def test_population():
    indices, W = torch.tensor([[0, 2], [1, 1], [2, 0]]), normal(3, 4, 3)
    units = torch.func.vmap(lambda i: one_hot(i, 3))(indices)
    assert torch.equal(units, one_hot(indices, 3))
    columns = torch.func.vmap(embedding)(indices, W)
    assert torch.equal(columns, torch.stack([embedding(i, w) for i, w in zip(indices, W, strict=True)]))
    shared = torch.func.vmap(embedding, in_dims=(None, 0))(indices, W)
    assert torch.equal(shared, torch.stack([embedding(indices, w) for w in W]))


@pytest.mark.parametrize("bad", [4, 9, -1])
def test_words_outside_the_dictionary_are_refused(bad):
    indices = torch.tensor([0, bad, 3])
    sentence = rf"`indices` must be in \[0, 3\], got {bad}: the k-th word has index k - 1"
    with pytest.raises(ArgumentError, match=sentence):
        one_hot(indices, 4)
    with pytest.raises(ArgumentError, match=sentence):
        embedding(indices, normal(2, 4))


def test_words_outside_the_dictionary_are_refused_under_vmap():
    indices, W = torch.tensor([[0], [4]]), normal(2, 4)
    for look in (lambda i: one_hot(i, 4), lambda i: embedding(i, W)):
        with pytest.raises(ArgumentError, match=r"`indices` must be in \[0, 3\], got one outside"):
            torch.func.vmap(look)(indices)


def test_other_failures_of_scatter_are_not_renamed(monkeypatch):
    def fail(*_):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(torch.Tensor, "scatter", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        one_hot(torch.tensor([0]), 4)


def test_an_empty_dictionary_is_refused():
    with pytest.raises(ArgumentError, match="`size` must be at least 1, got 0"):
        one_hot(torch.tensor([0]), 0)
