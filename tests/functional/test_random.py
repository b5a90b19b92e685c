"""Counted random numbers: pure, uniform, independent, equal under vmap; dropout made of them."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch.func import vmap

from lamina._errors import ArgumentError
from lamina.functional.random import _hash_bits, as_generator, dropout, uniform

N = 100_000
laws = settings(deadline=None, derandomize=True, max_examples=40)


def correlation(first, second):
    return torch.corrcoef(torch.stack([first, second]))[0, 1].abs().item()


def test_generators_from_seeds():
    g = torch.Generator().manual_seed(1)
    assert as_generator(g) is g
    assert torch.equal(torch.rand(3, generator=as_generator(7)), torch.rand(3, generator=as_generator(7)))
    assert not torch.equal(torch.rand(3, generator=as_generator(7)), torch.rand(3, generator=as_generator(8)))


def test_the_same_arguments_give_the_same_numbers_and_no_generator_is_touched():
    state = torch.random.get_rng_state()
    first, second = uniform((100,), 1, 2, 3), uniform((100,), 1, 2, 3)
    assert torch.equal(first, second) and torch.equal(state, torch.random.get_rng_state())
    for other in ((2, 2, 3), (1, 3, 3), (1, 2, 4), (2, 1, 3), (3, 2, 1)):
        assert not torch.equal(first, uniform((100,), *other))


def test_a_number_depends_on_its_index_alone():
    assert torch.equal(uniform((1000,), 5)[:10], uniform((10,), 5))
    assert torch.equal(uniform((20, 50), 5).flatten(), uniform((1000,), 5))
    assert uniform((), 5).shape == () and uniform((0, 3), 5).shape == (0, 3)


def test_python_numbers_and_tensors_mean_the_same():
    tensors = [torch.tensor(value) for value in (2**31 + 5, -3, 7)]
    assert torch.equal(uniform((50,), 2**31 + 5, -3, 7), uniform((50,), *tensors))
    assert torch.equal(uniform((50,), 2**32 + 1), uniform((50,), 1))  # seeds count modulo 2^32


def test_known_values_do_not_change():
    # A change of the hash would change every experiment; these are the numbers of version 0.1.
    assert _hash_bits((4,), seed=0).tolist() == [994626023, 448626172, -291626904, 754166353]
    assert _hash_bits((3,), seed=1, stream=2, counter=3).tolist() == [1369111436, 394402919, 1341833959]


def reference_bits(index, seed, stream, counter):
    """The hash once more in Python integers modulo 2^32."""

    def mix(x):
        x = (x ^ (x >> 16)) * 0x7FEB352D % 2**32
        x = (x ^ (x >> 15)) * 0x846CA68B % 2**32
        return x ^ (x >> 16)

    step, key = 0x9E3779B9, seed % 2**32
    for part in (stream, counter):
        key = mix((key + step) % 2**32) ^ (part % 2**32)
    bits = mix(mix((index + mix((key + step) % 2**32)) % 2**32) ^ key)
    return bits - 2**32 if bits >= 2**31 else bits


@laws
@given(*[st.integers(-(2**31), 2**31 - 1)] * 3)
def test_int32_arithmetic_wraps_as_intended(seed, stream, counter):
    bits = _hash_bits((5,), seed, stream, counter).tolist()
    assert bits == [reference_bits(i, seed, stream, counter) for i in range(5)]


@pytest.mark.parametrize("arguments", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (123456, 7, 89), (-1, -1, -1)])
def test_numbers_are_uniform(arguments):
    u = uniform((N,), *arguments).double()
    assert u.min() >= 0 and u.max() < 1
    assert torch.equal(u * 2**24, (u * 2**24).round())
    assert stats.kstest(u.numpy(), "uniform").pvalue > 1e-3
    counts = torch.histc(u, bins=100, min=0, max=1)
    assert stats.chisquare(counts.numpy()).pvalue > 1e-3
    assert u.mean().item() == pytest.approx(0.5, abs=4 / math.sqrt(12 * N))
    assert u.var().item() == pytest.approx(1 / 12, rel=0.02)
    # every bit is a fair coin, also the low ones
    bits = _hash_bits((N,), *arguments).long() & 0xFFFFFFFF
    shares = [((bits >> k) & 1).double().mean().item() for k in range(32)]
    assert shares == pytest.approx([0.5] * 32, abs=5 / math.sqrt(4 * N))


def test_neighbors_streams_counters_and_seeds_are_independent():
    u = uniform((N,), 3, 1, 1)
    bound = 4.5 / math.sqrt(N)
    for lag in (1, 2, 3, 10, 64, 1000):
        assert correlation(u[:-lag], u[lag:]) < bound
    for other in [(3, 1, c) for c in (0, 2, 3, 100)] + [(3, s, 1) for s in (0, 2, 3)] + [(s, 1, 1) for s in (0, 2, 4)]:
        assert correlation(u, uniform((N,), *other)) < bound
    # one place over many steps, as a dropout mask sees it, is as random as one step over many places
    over_steps = vmap(lambda counter: uniform((2,), 3, 1, counter))(torch.arange(N))
    assert stats.kstest(over_steps[:, 0].double().numpy(), "uniform").pvalue > 1e-3
    assert correlation(over_steps[1:, 0], over_steps[:-1, 0]) < bound
    assert correlation(over_steps[:, 0], over_steps[:, 1]) < bound


def test_pairs_fill_the_square():
    u = uniform((2 * N,), 11)
    cells = (u[:N] * 16).long() * 16 + (u[N:] * 16).long()
    assert stats.chisquare(torch.bincount(cells, minlength=256).numpy()).pvalue > 1e-3


def test_one_flipped_bit_of_the_seed_flips_half_of_the_output():
    base = _hash_bits((1000,), 42).long() & 0xFFFFFFFF
    for bit in (0, 1, 7, 15, 31):
        changed = base ^ (_hash_bits((1000,), 42 ^ (1 << bit)).long() & 0xFFFFFFFF)
        flips = sum(((changed >> k) & 1).double().mean().item() for k in range(32)) / 32
        assert flips == pytest.approx(0.5, abs=0.02)


def test_vmap_equals_separate_calls():
    seeds, counters = torch.arange(4), torch.tensor([5, 6, 7, 8])
    together = vmap(lambda s, c: uniform((3, 2), s, 1, c))(seeds, counters)
    separate = torch.stack([uniform((3, 2), s.item(), 1, c.item()) for s, c in zip(seeds, counters, strict=True)])
    assert torch.equal(together, separate)


@pytest.mark.notes("N3.08")
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_values_and_mean(rate):
    y = dropout(torch.ones(N, dtype=torch.float64), rate, seed=4)
    assert sorted(set(y.tolist())) == pytest.approx([0, 1 / (1 - rate)])
    deviation = math.sqrt(rate / (1 - rate) / N)
    assert y.mean().item() == pytest.approx(1, abs=4 * deviation)
    assert (y == 0).double().mean().item() == pytest.approx(rate, abs=4 * math.sqrt(rate * (1 - rate) / N))


@pytest.mark.notes("N3.08")
def test_dropout_scales_what_it_keeps_and_passes_gradients_through_it(generator):
    y = torch.randn(6, 7, dtype=torch.float64, generator=generator).requires_grad_()
    dropped = dropout(y, 0.25, seed=1, stream=2, counter=3)
    kept = uniform((6, 7), 1, 2, 3) >= 0.25
    assert 0 < kept.sum() < 42
    assert torch.equal(dropped, torch.where(kept, y / 0.75, 0))
    (gradient,) = torch.autograd.grad(dropped.sum(), y)
    torch.testing.assert_close(gradient, kept.double() / 0.75)
    assert torch.equal(dropout(y, 0.0, seed=1), y)
    infinite = torch.full((100,), torch.inf)
    assert set(dropout(infinite, 0.5, seed=1).tolist()) == {0.0, math.inf}  # a dropped unit is gone, not 0 * inf


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rate_dtype", [torch.float32, torch.float64])
def test_dropout_rates_of_members_under_vmap(dtype, rate_dtype):
    rates = torch.tensor([0.0, 0.25, 0.5], dtype=rate_dtype)  # no rounding between the precisions
    seeds, y = torch.tensor([1, 2, 3]), torch.ones(3, 200, dtype=dtype)
    together = vmap(lambda y, rate, seed: dropout(y, rate, seed, 1, 5))(y, rates, seeds)
    separate = torch.stack([dropout(y[k], rates[k].item(), k + 1, 1, 5) for k in range(3)])
    assert together.dtype == dtype and torch.equal(together, separate)
    assert torch.equal(dropout(y[1], rates[1], 2, 1, 5), separate[1])


@pytest.mark.parametrize("rate", [1.0, -0.1, float("nan")])
def test_rates_are_checked(rate):
    with pytest.raises(ArgumentError, match=r"`rate` must be in \[0, 1\), got"):
        dropout(torch.ones(3), rate, seed=0)


@laws
@given(st.floats(0, 0.95), st.integers(-(2**31), 2**31 - 1), st.integers(0, 1000), st.integers(0, 10**6))
def test_dropout_gives_zero_or_the_scaled_input(rate, seed, stream, counter):
    y = torch.linspace(1, 2, 37, dtype=torch.float64)
    dropped = dropout(y, rate, seed, stream, counter)
    assert torch.equal(dropped[dropped != 0], (y / (1 - rate))[dropped != 0])


def test_uniform_numbers_are_the_upper_24_bits():
    bits = torch.tensor([reference_bits(i, 1, 2, 3) % 2**32 >> 8 for i in range(64)])
    assert bits.remainder(2).any()  # the last of them counts, too
    assert torch.equal(uniform((64,), 1, 2, 3).double() * 2**24, bits.double())


def test_stream_and_counter_start_at_zero():
    ones = torch.ones(50)
    assert torch.equal(dropout(ones, 0.5, 3), dropout(ones, 0.5, 3, 0, 0))
    assert torch.equal(uniform((50,), 3), uniform((50,), 3, 0, 0)) and _hash_bits((50,), 3).equal(
        _hash_bits((50,), 3, 0, 0)
    )
