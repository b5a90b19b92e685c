"""Alg. 1 for many starts at once against the specification, half step by half step."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.points import cloud
from lamina.classical import kmeans
from lamina.kernels import kmeans as fast
from lamina.kernels import native, nearest

F64 = torch.float64


@pytest.fixture(
    params=["products", pytest.param("compiled", marks=pytest.mark.skipif(not native.works(), reason="needs g++"))],
    autouse=True,
    scope="module",
)
def way(request):
    """Let matrix products, or compiled code, find the nearest centroids, however few points there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "_WORTH", 0 if request.param == "compiled" else torch.inf)
        yield request.param


def by_half_steps(points, start, empty, most=300):
    """Alg. 1 read off the specification: one run, half step by half step."""
    steps = kmeans.half_steps(points, start, empty)
    assigned, history = next(steps), []
    history.append(assigned.distortion.item())
    for iteration in range(1, most + 1):
        updated, assigned = next(steps), next(steps)
        history += [updated.distortion.item(), assigned.distortion.item()]
        if assigned.labels.equal(updated.labels):
            return assigned, history, iteration, True
    return assigned, history, most, False


def assert_like_half_steps(points, starts, empty="keep", most=300):
    ends = fast.lloyd(points, starts, empty, most)
    for run, start in enumerate(starts):
        end, history, iterations, settled = by_half_steps(points, start, empty, most)
        assert (ends.iterations[run], ends.settled[run]) == (iterations, settled)
        assert ends.labels[run].equal(end.labels)
        torch.testing.assert_close(ends.centroids[run], end.centroids, rtol=1e-11, atol=1e-11)
        assert ends.histories[run] == pytest.approx(history, rel=1e-9, abs=1e-9)


@given(
    seed=st.integers(0, 10_000),
    count=st.integers(1, 40),
    features=st.integers(1, 2),  # a sum of two squares has no order, so that ties stay ties in any shape
    clusters=st.integers(1, 8),
    empty=st.sampled_from(kmeans.EMPTY),
    far=st.sampled_from([0.0, 1024.0]),
)
@settings(max_examples=40, deadline=None)
def test_the_fast_path_is_the_specification_with_ties_and_equal_points(seed, count, features, clusters, empty, far):
    points = cloud(seed, count, features) + far
    starts = kmeans.first_centroids(points, min(clusters, count), restarts=3, seed=seed)
    starts = torch.cat([starts, starts[:1] + 50])  # clusters that run empty
    assert_like_half_steps(points, starts, empty)


@pytest.mark.parametrize("threads_share", [False, True])
def test_the_fast_path_is_the_specification_in_chunks_with_sure_points_left_out(monkeypatch, as_user, threads_share):
    g = torch.Generator().manual_seed(5)
    points = torch.randn(1500, 4, generator=g, dtype=F64) + 3 * torch.randint(0, 3, (1500, 1), generator=g)
    starts = kmeans.first_centroids(points, 6, restarts=5, seed=1)
    monkeypatch.setitem(fast._PRODUCT, "cpu", 1000)
    monkeypatch.setitem(fast._PAGE, "cpu", 2000)
    monkeypatch.setattr(fast, "_CARRIED", 50)
    monkeypatch.setattr(fast, "_MANY", 1)
    monkeypatch.setattr(fast, "_PARALLEL", 1 if threads_share else torch.inf)
    seen = []
    some = fast.Runs._assign_some
    monkeypatch.setattr(fast.Runs, "_assign_some", lambda *a: seen.append(len(a[2])) or some(*a))
    before = torch.get_num_threads()
    assert_like_half_steps(points, starts)
    assert_like_half_steps(points, starts, most=3)
    assert seen and max(seen) <= 375 and torch.get_num_threads() == before
    # The same runs alone end the same.
    alone = [kmeans.fit(points, 6, start=one) for one in starts]
    together = kmeans.fit(points, 6, start=starts)
    assert together.distortions.tolist() == pytest.approx([one.distortion for one in alone], rel=1e-12)
    best = alone[int(together.distortions.argmin())].centroids
    torch.testing.assert_close(together.centroids, best, rtol=0, atol=1e-11)


@pytest.mark.parametrize("clusters", [1, 2, 9, 21])  # whole tiles of centroids, pairs and a last one
@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_labels_and_gaps_are_those_of_all_distances(clusters, dtype, way, as_user):
    g = torch.Generator().manual_seed(3)
    points, mu = torch.randn(83, 7, generator=g, dtype=dtype) + 5, torch.randn(2, clusters, 7, generator=g, dtype=dtype)
    runs = fast.Runs(fast.Points(points, mu.numel(), threads=2), mu + 5)
    runs.travel[:] = torch.arange(2 * (clusters + 1)).view(2, -1)
    distances = torch.cdist(points.double(), mu.double() + 5, compute_mode="donot_use_mm_for_euclid_dist")
    chosen = torch.tensor([80, 3, 41, 3, 7])
    for where, seen in (
        (slice(0, 83), distances),
        (slice(33, 70), distances[:, 33:70]),
        (chosen, distances[:, chosen]),
    ):
        labels, gaps = runs._nearest(torch.arange(2), where, True)
        assert labels.equal(seen.argmin(-1).int())
        two = seen.sort(-1).values[..., :2]
        wanted = two[..., 1] - two[..., 0] if clusters > 1 else torch.full(labels.shape, torch.inf)
        travel = runs.travel.gather(1, labels.long())
        slack = 1e-4 if dtype == torch.float32 else 1e-12
        if clusters > 1:  # a lower bound, and a close one
            assert (gaps.double() - travel <= wanted + slack).all() and (gaps.double() - travel > wanted - slack).all()
        else:
            assert (gaps > 1e3).all()


@pytest.mark.parametrize("allowed", ["ieee", "bf16"])
def test_float32_labels_are_those_of_the_specification_even_when_products_may_round(allowed, as_user):
    g = torch.Generator().manual_seed(7)
    points = torch.randn(4000, 20, generator=g) + 100
    starts = kmeans.first_centroids(points, 10, restarts=3, seed=2)
    products = torch.backends.mkldnn.matmul
    before, products.fp32_precision = products.fp32_precision, allowed
    try:
        ends = fast.lloyd(points, starts, "keep", 25)
    finally:
        products.fp32_precision = before
    assert ends.labels.equal(kmeans.assign(points, ends.centroids))
    for run in range(3):
        inertia = kmeans.distortion(points.double(), ends.labels[run], ends.centroids[run].double()).item()
        assert ends.histories[run][-1] == pytest.approx(inertia, rel=1e-5)


def test_squares_that_overflow_are_assigned_by_differences(as_user):
    points = torch.tensor([[1e20], [1.1e20], [3e20], [3.1e20]])
    ends = fast.lloyd(points, points[None, [0, 2]], "keep", 2)
    assert ends.labels.tolist() == [kmeans.assign(points, ends.centroids[0]).tolist()]
