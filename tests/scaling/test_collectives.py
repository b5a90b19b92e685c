"""Seconds of an all-reduce, computed by hand, and the laws that every way of doing it obeys."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError
from lamina.scaling.collectives import Link, all_reduce, nested, ring, tree

LAWS = settings(max_examples=50, deadline=None)

links = st.builds(Link, st.floats(0, 1e-2), st.floats(1e6, 1e12))
sizes = st.integers(0, 10**12).map(float)


def test_a_ring_by_hand():
    # 4 ranks: 6 rounds of 2 ms and of a quarter of 80 MB at 100 MB/s, 0.2 s
    assert ring(4, 80e6, Link(2e-3, 100e6)) == pytest.approx(6 * 2e-3 + 6 * 0.2, rel=1e-15)
    # the closed form of the textbooks
    assert ring(7, 3e6, Link(1e-4, 2e9)) == pytest.approx(2 * 6 * 1e-4 + 2 * 6 / 7 * 3e6 / 2e9, rel=1e-15)


def test_a_tree_by_hand():
    # 5 ranks: 3 levels up and 3 down of 2 ms, and all bytes twice
    assert tree(5, 80e6, Link(2e-3, 100e6)) == pytest.approx(6 * 2e-3 + 1.6, rel=1e-15)


def test_nodes_by_hand():
    inside, between = Link(1e-6, 10e9), Link(1e-5, 1e9)
    # 8 MB over 4 nodes of 2, scattered: a ring of 2 (2 us + 0.8 ms), then 4 MB between 4 nodes, a ring of 60 us + 6 ms
    assert nested(8, 8e6, inside, between, per_node=2) == pytest.approx(2e-6 + 0.8e-3 + 6e-5 + 6e-3, rel=1e-12)
    # 4 bytes, led: 3 levels of 8 ranks at 1 us, and 1 level between 2 nodes at 10 us, up and down
    small = 2 * 3 * 1e-6 + 2 * 4 / 10e9 + 2 * 1e-5 + 4 / 1e9
    assert nested(16, 4, inside, between, per_node=8) == pytest.approx(small, rel=1e-12)
    assert all_reduce(16, 4, inside, between, per_node=8) == (pytest.approx(small, rel=1e-12), "nested")


def test_a_flat_ring_is_as_slow_as_its_slowest_link():
    inside, between = Link(1e-3, 1e9), Link(1e-6, 1e8)
    found, name = all_reduce(2, 1e8, inside, between, per_node=1)
    assert name == "ring" and found == pytest.approx(2 * (1e-3 + 0.5), rel=1e-12)


@LAWS
@given(links, links, sizes, st.integers(1, 4096), st.integers(1, 16))
def test_laws(inside, between, size, ranks, per_node):
    found, name = all_reduce(ranks, size, inside, between, per_node)
    assert all_reduce(1, size, inside, between, per_node) == (0.0, "none")
    assert found >= 0 and (name == "none") == (ranks == 1)
    assert all_reduce(ranks, 2 * size, inside, between, per_node)[0] >= found * (1 - 1e-12)
    faster = Link(inside.latency / 2, inside.bandwidth * 2), Link(between.latency / 2, between.bandwidth * 2)
    assert all_reduce(ranks, size, *faster, per_node)[0] == pytest.approx(found / 2, rel=1e-9, abs=1e-300)


@LAWS
@given(links, sizes, st.integers(2, 1_000_000))
def test_a_ring_never_sends_more_than_twice_the_bytes_and_a_tree_never_less(link, size, ranks):
    bytes_alone = Link(0.0, link.bandwidth)
    assert ring(ranks, size, bytes_alone) <= 2 * size / link.bandwidth * (1 + 1e-12)
    assert tree(ranks, size, bytes_alone) == pytest.approx(2 * size / link.bandwidth, rel=1e-12)
    waits = Link(1.0, math.inf)
    assert ring(ranks, size, waits) == 2 * (ranks - 1) >= tree(ranks, size, waits) == 2 * (ranks - 1).bit_length()


@LAWS
@given(links, sizes, st.integers(1, 64))
def test_a_node_of_its_own_size_is_a_ring_or_a_tree(link, size, ranks):
    alone = min(ring(ranks, size, link), tree(ranks, size, link))
    assert all_reduce(ranks, size, link, Link(1.0, 1.0), per_node=ranks)[0] == alone


def test_bad_values():
    link = Link(0.0, 1.0)
    with pytest.raises(ArgumentError, match="`latency` must be at least 0, got -1"):
        Link(-1, 1)
    with pytest.raises(ArgumentError, match="`bandwidth` must be greater than 0, got 0"):
        Link(0, 0)
    for function in (ring, tree):
        with pytest.raises(ArgumentError, match="`ranks` must be at least 1, got 0"):
            function(0, 1.0, link)
        with pytest.raises(ArgumentError, match="`size` must be at least 0, got -1"):
            function(2, -1, link)
    for function in (nested, all_reduce):
        with pytest.raises(ArgumentError, match="`per_node` must be at least 1, got 0"):
            function(2, 1.0, link, link, 0)
    with pytest.raises(ArgumentError, match="`ranks` must be a whole number of at least 1, got 1.5"):
        all_reduce(1.5, 1.0, link, link, 1)
