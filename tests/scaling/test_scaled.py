"""The model of an update on n ranks: its parts by hand, its limits, and its laws."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError
from lamina.scaling.collectives import Link
from lamina.scaling.scaled import Cluster, Together, Workload, counts, recommended, scaled

LAWS = settings(max_examples=50, deadline=None)

LINK = Link(latency=1e-3, bandwidth=1e9)
WORK = Workload(
    batch=64,
    updates=10,
    epochs=3,
    timings=((8, 0.09), (16, 0.1), (64, 0.4)),
    gradient_bytes=10**8,
    norms=(250, 500),
    evaluation=2.0,
)
HERE = Cluster(per_node=8, inside=LINK, between=LINK, price=36.0)


def test_four_ranks_by_hand():
    found = scaled(WORK, HERE, 4)
    assert (found.ranks, found.batch, found.computing, found.waiting) == (4, 16, 0.1, 0)
    assert found.gradients == pytest.approx(6e-3 + 0.15) and found.how == "ring"
    # batch norm: four all-reduces of 1 kB and four of 2 kB, small enough for a tree of two levels
    assert found.norms == pytest.approx(4 * (4e-3 + 2e-6) + 4 * (4e-3 + 4e-6), rel=1e-12)
    step = 0.1 + 0.156 + 8 * 4e-3 + 24e-6
    assert found.step == pytest.approx(step, rel=1e-12)
    assert found.evaluation == pytest.approx(2.0 / 4 + 4e-3 + 3.2e-8, rel=1e-9)
    epoch = 10 * step + found.evaluation
    assert found.epoch == pytest.approx(epoch, rel=1e-12) and found.run == pytest.approx(3 * epoch, rel=1e-12)
    assert found.rate == pytest.approx(64 / step, rel=1e-12)
    assert found.efficiency == pytest.approx((10 * 0.4 + 2.0) / (4 * epoch), rel=1e-12)
    assert found.device_hours == pytest.approx(3 * epoch * 4 / 3600) and found.cost == pytest.approx(
        found.device_hours * 36
    )


def test_one_rank_is_what_was_measured():
    found = scaled(WORK, HERE, 1)
    assert found.step == found.computing == 0.4 and found.how == "none" and found.efficiency == 1
    assert (found.waiting, found.gradients, found.norms, found.reading) == (0, 0, 0, 0)
    assert found.evaluation == 2.0 and found.epoch == 6.0


def test_the_last_update_of_an_epoch_may_have_fewer_examples():
    found = scaled(replace(WORK, tail=32), HERE, 4)
    step = scaled(WORK, HERE, 4).step
    assert found.step == step  # that of the others
    assert found.epoch == pytest.approx(9 * step + (step - 0.1 + 0.09) + found.evaluation)  # 8 instead of 16 each
    assert scaled(replace(WORK, tail=32), HERE, 1).epoch == pytest.approx(9 * 0.4 + 0.2 + 2.0)


def test_slow_ranks_by_hand():
    once = replace(HERE, batch_norm="local")
    found = scaled(replace(WORK, jitter=0.2), once, 4)
    assert found.waiting == pytest.approx(0.2 * 0.1 * (1 / 2 + 1 / 3 + 1 / 4))
    found = scaled(replace(WORK, jitter=0.2), replace(once, shape="normal"), 2)
    assert found.waiting == pytest.approx(0.2 * 0.2 / math.sqrt(math.pi))  # of batches of 32, which take 0.2 s
    # They meet for the gradients and for eight sums of batch normalization: nine pieces that deviate by a third each.
    found = scaled(replace(WORK, jitter=0.2), HERE, 4)
    assert found.waiting == pytest.approx(9 * (0.2 * 0.1 / 3) * (1 / 2 + 1 / 3 + 1 / 4))


def test_one_of_several_ranks_takes_what_was_measured_beside_others():
    work = replace(WORK, apart=((16, 0.15), (32, 0.25)))
    assert [scaled(work, HERE, n).computing for n in (1, 2, 4)] == [0.4, 0.25, 0.15]
    assert scaled(work, replace(HERE, cores=2), 4).computing == 0.3 and work.seconds(24, 2) == pytest.approx(0.2)
    with pytest.raises(ArgumentError, match=r"`apart` must name each number of examples once, rising, got \[2, 1\]"):
        replace(WORK, apart=((2, 0.1), (1, 0.1)))
    with pytest.raises(ArgumentError, match="`apart` must be greater than 0, got 0.0"):
        replace(WORK, apart=((2, 0.0),))


def test_ranks_that_were_measured_together_take_what_they_took():
    met = Together(4, computing=0.5, waiting=0.25, gradients=0.125, norms=0.0625, small=0.03125)
    work = replace(WORK, together=(met,), jitter=0.5)
    found = scaled(work, HERE, 4)
    assert (found.computing, found.waiting, found.gradients, found.norms) == (0.5, 0.25, 0.125, 0.0625)
    assert found.step == 0.9375 and found.epoch == 9.375 + found.evaluation
    # A last update with half as many examples: alone it takes 0.09 instead of 0.1 s, and sums are as many.
    assert scaled(replace(work, tail=32), HERE, 4).epoch == pytest.approx(9.375 - 0.75 * 0.1 + found.evaluation)
    assert scaled(work, replace(HERE, overlap=0.15), 4).gradients == pytest.approx(0.125 - 0.15 * 2 / 3 * 0.5)
    for ranks, place in ((2, HERE), (4, replace(HERE, per_node=2))):  # others, or those of two nodes
        assert scaled(work, place, ranks) == scaled(replace(work, together=()), place, ranks)
    for change, sentence in (
        ({"ranks": 1}, "`ranks` must be at least 2"),
        ({"norms": -1}, "`norms` must be at least 0"),
    ):
        with pytest.raises(ArgumentError, match=sentence):
            replace(met, **change)


def test_what_is_computed_meanwhile_hides_gradients():
    plain = scaled(WORK, HERE, 4).gradients
    assert scaled(WORK, replace(HERE, overlap=0.6), 4).gradients == pytest.approx(plain - 0.6 * 2 / 3 * 0.1)
    assert scaled(replace(WORK, gradient_bytes=10**5), replace(HERE, overlap=1.0), 4).gradients == 0


def test_local_batch_norm_sends_nothing():
    assert scaled(WORK, replace(HERE, batch_norm="local"), 4).norms == 0


def test_ranks_beyond_the_cores_share_them():
    two = replace(HERE, cores=2)
    assert scaled(WORK, two, 2).computing == scaled(WORK, HERE, 2).computing
    assert scaled(WORK, two, 4).computing == 2 * scaled(WORK, HERE, 4).computing
    assert scaled(WORK, two, 32).computing == pytest.approx(4 * 0.0825)  # 8 ranks of a node on 2 cores, batches of 2


def test_reading_can_be_the_slowest_part():
    bound = scaled(WORK, replace(HERE, reading=10.0, batch_norm="local"), 4)
    assert bound.step == pytest.approx(64 / 10)  # one node reads the whole batch
    assert scaled(WORK, replace(HERE, reading=1e6), 4).reading == 0


def test_timings_between_and_beyond():
    assert [WORK.seconds(n) for n in (8, 16, 64)] == [0.09, 0.1, 0.4]
    assert WORK.seconds(12) == pytest.approx(0.095) and WORK.seconds(40) == pytest.approx(0.25)
    assert WORK.seconds(128) == pytest.approx(0.8)
    assert WORK.seconds(4) == pytest.approx(0.085)
    steep = replace(WORK, timings=((8, 0.1), (16, 0.3)))  # a line through it would reach 0 at 4
    assert steep.seconds(4) == pytest.approx(0.05)
    falling = replace(WORK, timings=((8, 0.3), (16, 0.2)))
    assert falling.seconds(32) == 0.2
    one = replace(WORK, timings=((32, 0.4),))
    assert one.seconds(8) == pytest.approx(0.1) and one.fixed == (0.0, 0.0125) and one.small == 0


def test_the_fixed_part_and_the_batch_that_is_too_small():
    line = replace(WORK, timings=tuple((n, 0.03 + 0.002 * n) for n in (1, 4, 16, 64)))
    assert line.fixed == pytest.approx((0.03, 0.002)) and line.small == 15
    assert replace(WORK, timings=((1, 0.1), (64, 0.1))).small == 65  # whatever the batch, it is overhead


def test_the_counts_of_a_table():
    assert counts(1) == (1,) and counts(1000) == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)


def test_the_most_ranks_that_are_used_well_are_recommended():
    rows = [scaled(WORK, HERE, n) for n in counts(64)]
    assert [row.efficiency >= 0.5 for row in rows] == [True] * 2 + [False] * 5  # 1, 0.72, 0.44, ...
    assert recommended(rows).ranks == 2 and recommended(rows, 1.0).ranks == 1 and recommended(rows, 0).ranks == 64


affine = st.builds(
    lambda fixed, each, size, norms, jitter: Workload(
        batch=256,
        updates=7,
        epochs=2,
        timings=tuple((n, fixed + each * n) for n in (1, 16, 256)),
        gradient_bytes=size,
        norms=norms,
        jitter=jitter,
        evaluation=1.0,
    ),
    st.floats(0, 1),
    st.floats(1e-6, 1),
    st.integers(0, 10**9),
    st.lists(st.integers(1, 1000), max_size=3).map(tuple),
    st.floats(0, 0.5),
)
clusters = st.builds(
    Cluster,
    st.integers(1, 16),
    st.builds(Link, st.floats(0, 1e-3), st.floats(1e8, 1e12)),
    st.builds(Link, st.floats(0, 1e-3), st.floats(1e8, 1e12)),
    cores=st.integers(0, 4),
    overlap=st.floats(0, 1),
    reading=st.floats(1e3, 1e9),
)


@LAWS
@given(affine, clusters, st.integers(0, 10))
def test_laws(work, cluster, power):
    one, found = scaled(work, cluster, 1), scaled(work, cluster, 2**power)
    assert one.gradients == one.norms == one.waiting == 0 and one.efficiency == 1
    assert found.efficiency <= 1 + 1e-9 and found.device_hours >= one.device_hours * (1 - 1e-9)
    assert found.step >= work.seconds(found.batch)
    assert found.run == pytest.approx(work.epochs * found.epoch) and found.batch * 2**power >= work.batch
    hidden, local = replace(cluster, overlap=1.0), replace(cluster, batch_norm="local")
    assert scaled(work, hidden, 2**power).step <= found.step * (1 + 1e-12)
    assert scaled(work, local, 2**power).step <= found.step * (1 + 1e-12)


@LAWS
@given(affine)
def test_without_communication_and_fixed_costs_scaling_is_ideal(work):
    free = replace(
        work, jitter=0.0, gradient_bytes=0, norms=(), timings=((1, work.fixed[1]), (256, 256 * work.fixed[1]))
    )
    nothing = Cluster(8, Link(0.0, math.inf), Link(0.0, math.inf))
    for n in (2, 16, 256):
        assert scaled(replace(free, evaluation=0.0), nothing, n).efficiency == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"batch": 0}, "`batch` must be at least 1, got 0"),
        ({"updates": 0}, "`updates` must be at least 1, got 0"),
        ({"epochs": 0}, "`epochs` must be at least 1, got 0"),
        ({"jitter": -1}, "`jitter` must be at least 0, got -1"),
        ({"gradient_bytes": -1}, "`gradient_bytes` must be at least 0, got -1"),
        ({"tail": 64}, "`tail` must be at most 63, got 64"),
        ({"timings": ()}, "`timings` must hold at least 1 pair of examples and seconds, got none"),
        ({"timings": ((0, 1.0),)}, "`timings` must be at least 1, got 0"),
        ({"timings": ((1, 0.0),)}, "`timings` must be greater than 0, got 0.0"),
        ({"timings": ((2, 1.0), (1, 1.0))}, r"must name each number of examples once, rising, got \[2, 1\]"),
    ],
)
def test_bad_workloads(change, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        replace(WORK, **change)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"per_node": 0}, "`per_node` must be at least 1, got 0"),
        ({"cores": -1}, "`cores` must be at least 0, got -1"),
        ({"overlap": 1.5}, r"`overlap` must be in \[0, 1\], got 1.5"),
        ({"batch_norm": "none"}, "`batch_norm` must be one of 'global', 'local', got 'none'"),
        ({"shape": "flat"}, "`shape` must be one of 'exponential', 'normal', got 'flat'"),
        ({"mtbf": 0}, "`mtbf` must be greater than 0, got 0"),
        ({"reading": 0}, "`reading` must be greater than 0, got 0"),
        ({"restart": -1}, "`restart` must be at least 0, got -1"),
        ({"price": -1}, "`price` must be at least 0, got -1"),
    ],
)
def test_bad_clusters(change, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        replace(HERE, **change)


def test_bad_numbers_of_ranks():
    for function in (lambda: scaled(WORK, HERE, 0), lambda: counts(0)):
        with pytest.raises(ArgumentError, match="`ranks` must be at least 1, got 0"):
            function()
    with pytest.raises(ArgumentError, match="`examples` must be at least 1, got 0"):
        WORK.seconds(0)
    with pytest.raises(ArgumentError, match=r"`efficiency` must be in \[0, 1\], got 2"):
        recommended([scaled(WORK, HERE, 1)], 2)
