import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from lamina._errors import ArgumentError, ShapeError
from lamina.classical import kmeans

F64 = torch.float64
RECTANGLE = torch.tensor([[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]], dtype=F64)


def blobs():
    """The four blobs of check `kmeans` and its fifty starts."""
    rng = np.random.default_rng(0)
    U = np.concatenate([rng.normal(m, 0.4, size=(40, 2)) for m in ([0, 0], [3, 0], [0, 3], [3, 3])])
    starts = np.stack([U[np.random.default_rng(s).choice(len(U), 4, replace=False)] for s in range(50)])
    return torch.from_numpy(U), torch.from_numpy(starts)


def cloud(seed, count, features):
    # Multiples of 1/4 bring ties and equal points.
    g = torch.Generator().manual_seed(seed)
    return torch.randint(-8, 9, (count, features), generator=g).to(F64) / 4


@pytest.mark.notes("N1.30", "N1.33")
def test_the_rectangle_has_fixed_points_of_distortion_one_and_sixteen():
    starts = torch.tensor([[[2.0, 0.0], [2.0, 1.0]], [[0.0, 0.5], [4.0, 0.5]]], dtype=F64)
    result = kmeans.fit(RECTANGLE, 2, start=starts)
    assert result.distortions.tolist() == [16.0, 1.0]
    assert result.distortion == 1.0 and result.converged
    assert result.labels.tolist() == [0, 0, 1, 1] and result.centroids.tolist() == [[0, 0.5], [4, 0.5]]
    stuck = kmeans.fit(RECTANGLE, 2, start=starts[0])
    assert stuck.distortion == 16.0 and stuck.labels.tolist() == [0, 1, 0, 1] and stuck.iterations == 1
    assert stuck.predict(RECTANGLE).equal(stuck.labels)


@pytest.mark.notes("N1.32", "N1.33")
def test_four_blobs_and_fifty_restarts_in_one_batch():
    U, starts = blobs()
    result = kmeans.fit(U, 4, start=starts)
    ends = result.distortions
    assert ends.min().item() == pytest.approx(52.2, abs=0.05) == result.distortion
    assert ends.max().item() == pytest.approx(236.5, abs=0.05)
    assert (ends < ends.min() + 1e-6).double().mean().item() == pytest.approx(0.74)
    assert ends.tolist() == pytest.approx([kmeans.fit(U, 4, start=one).distortion for one in starts], rel=1e-12)
    steps = list(itertools.islice(kmeans.half_steps(U, starts), 40))
    for before, after in itertools.pairwise(steps):
        assert (after.distortion <= before.distortion + 1e-9).all()


@pytest.mark.notes("N1.29", "N1.31")
@pytest.mark.parametrize("empty", kmeans.EMPTY)
@pytest.mark.parametrize("start", kmeans.STARTS)
def test_the_end_is_a_fixed_point(start, empty):
    U, _ = blobs()
    result = kmeans.fit(U, 4, start=start, restarts=5, empty=empty, seed=3)
    assert result.converged
    assert kmeans.assign(U, result.centroids).equal(result.labels)
    updated = kmeans.update(U, result.labels, result.centroids, empty)
    torch.testing.assert_close(updated, result.centroids, rtol=0, atol=1e-13)  # sums in another order
    for j in range(4):
        torch.testing.assert_close(result.centroids[j], U[result.labels == j].mean(0), rtol=0, atol=1e-13)
    assert result.distortion == pytest.approx(kmeans.distortion(U, result.labels, result.centroids).item(), rel=1e-13)
    assert result.distortion == result.distortions.min().item() == result.history[-1].item()
    assert len(result.history) == 2 * result.iterations + 1 and len(result.distortions) == 5


@pytest.mark.notes("N1.31", "N1.33")
@given(seed=st.integers(0, 10_000), count=st.integers(3, 7), clusters=st.integers(1, 3), features=st.integers(1, 2))
@settings(max_examples=30, deadline=None)
def test_restarts_find_the_best_partition_of_tiny_sets(seed, count, clusters, features):
    points = torch.randn(count, features, generator=torch.Generator().manual_seed(seed), dtype=F64)
    best = min(
        sum(
            float((part - part.mean(0)).square().sum())
            for j in range(clusters)
            if len(part := points[torch.tensor(labels) == j])
        )
        for labels in itertools.product(range(clusters), repeat=count)
    )
    # From every choice of points as a start, and from some that are no points.
    g = torch.Generator().manual_seed(seed)
    starts = torch.stack([points[list(c)] for c in itertools.combinations(range(count), clusters)])
    free = torch.randn(200, clusters, features, generator=g, dtype=F64)
    result = kmeans.fit(points, clusters, start=torch.cat([starts, free]), empty="farthest")
    assert result.distortion == pytest.approx(best, abs=1e-10)
    assert (result.distortions >= best - 1e-10).all()


@pytest.mark.notes("N1.32")
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(1, 20),
    features=st.integers(1, 3),
    clusters=st.integers(1, 6),
    empty=st.sampled_from(kmeans.EMPTY),
    start=st.sampled_from(kmeans.STARTS),
)
@settings(max_examples=60, deadline=None)
def test_the_distortion_never_rises(seed, count, features, clusters, empty, start):
    points, clusters = cloud(seed, count, features), min(clusters, count)
    result = kmeans.fit(points, clusters, start=start, restarts=3, empty=empty, seed=seed)
    assert result.converged and result.centroids.isfinite().all()
    assert all(after <= before + 1e-9 for before, after in itertools.pairwise(result.history.tolist()))
    assert set(result.labels.tolist()) <= set(range(clusters))


@pytest.mark.notes("N1.31")
@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_labels_and_inertia_equal_scikit_learn(seed):
    g = torch.Generator().manual_seed(seed)
    points = torch.randn(60, 3, generator=g, dtype=F64)
    start = kmeans.first_centroids(points, 5, seed=seed)[0]
    ours = kmeans.fit(points, 5, start=start)
    theirs = KMeans(5, init=start.numpy(), n_init=1, algorithm="lloyd", tol=0).fit(points.numpy())
    assert ours.labels.tolist() == theirs.labels_.tolist()
    assert ours.distortion == pytest.approx(theirs.inertia_, rel=1e-12)
    np.testing.assert_allclose(ours.centroids.numpy(), theirs.cluster_centers_, atol=1e-12)


@pytest.mark.notes("N1.34")
def test_the_six_panels():
    """Data, first centroids, assign, update, assign, update: computed by hand for five points on a line."""
    points = torch.tensor([[0.0], [1.0], [2.0], [8.0], [9.0]], dtype=F64)
    steps = kmeans.half_steps(points, torch.tensor([[1.0], [2.0]], dtype=F64))
    third, fourth, fifth, sixth = itertools.islice(steps, 4)
    assert [s.kind for s in (third, fourth, fifth, sixth)] == ["assign", "update", "assign", "update"]
    assert third.labels.tolist() == [0, 0, 1, 1, 1] and third.distortion == 1 + 0 + 0 + 36 + 49
    assert fourth.centroids.squeeze(-1).tolist() == [0.5, 19 / 3]
    assert fifth.labels.tolist() == [0, 0, 0, 1, 1]
    assert sixth.centroids.squeeze(-1).tolist() == [1.0, 8.5] and sixth.distortion == 2.5
    assert sixth.distortion <= third.distortion
    U, _ = blobs()
    seeded = kmeans.half_steps(U, kmeans.first_centroids(U, 2, seed=1)[0])
    panels = list(itertools.islice(seeded, 4))
    assert panels[3].distortion <= panels[0].distortion


@pytest.mark.notes("N1.31")
def test_the_literal_update_of_an_empty_cluster_is_nan_and_ours_is_not():
    labels = torch.zeros(4, dtype=torch.int64)
    one = (labels == 1).to(F64)
    assert ((RECTANGLE * one[:, None]).sum(0) / one.sum()).isnan().all()
    centroids = torch.tensor([[2.0, 0.5], [99.0, 0.0], [98.0, 0.0]], dtype=F64)
    kept = kmeans.update(RECTANGLE, labels, centroids)
    assert kept.tolist() == [[2, 0.5], [99, 0], [98, 0]]
    moved = kmeans.update(RECTANGLE, labels, centroids, empty="farthest")
    # All four corners are equally far from the mean: the first two of them.
    assert moved.tolist() == [[2, 0.5], [0, 0], [0, 1]]


@pytest.mark.notes("N1.31")
def test_the_rules_for_empty_clusters_end_differently():
    start = torch.tensor([[2.0, 0.5], [99.0, 0.0]], dtype=F64)
    keep = kmeans.fit(RECTANGLE, 2, start=start, empty="keep")
    assert keep.distortion == 17.0 and keep.labels.tolist() == [0, 0, 0, 0] and keep.converged
    farthest = kmeans.fit(RECTANGLE, 2, start=start, empty="farthest")
    assert farthest.distortion < 17.0 and set(farthest.labels.tolist()) == {0, 1}


@pytest.mark.notes("N1.31")
def test_ties_go_to_the_first_centroid():
    points, centroids = torch.tensor([[1.0]], dtype=F64), torch.tensor([[2.0], [0.0], [1.5], [0.5]], dtype=F64)
    assert kmeans.assign(points, centroids[:2]).item() == 0
    assert kmeans.assign(points, centroids[[1, 0]]).item() == 0
    assert kmeans.assign(points, centroids).item() == 2


def test_assignment_in_chunks_is_the_same(monkeypatch):
    U, starts = blobs()
    whole = kmeans.assign(U, starts)
    monkeypatch.setattr(kmeans, "_CHUNK", 3000)
    assert kmeans.assign(U, starts).equal(whole)


def test_a_limit_on_iterations_is_kept_and_told(monkeypatch):
    limits = []
    lloyd = kmeans.fast.lloyd
    monkeypatch.setattr(kmeans.fast, "lloyd", lambda *all_: limits.append(all_[3]) or lloyd(*all_))
    assert len(kmeans.fit(RECTANGLE, 2).distortions) == 10 and limits == [KMeans().max_iter] == [300]
    U, starts = blobs()
    result = kmeans.fit(U, 4, start=starts[0], max_iterations=1)
    assert result.iterations == 1 and not result.converged and len(result.history) == 3
    assert result.labels.equal(kmeans.assign(U, result.centroids))


def test_as_many_clusters_as_points_leave_no_distortion():
    result = kmeans.fit(RECTANGLE, 4)
    assert result.distortion == 0 and sorted(result.labels.tolist()) == [0, 1, 2, 3]
    assert kmeans.fit(RECTANGLE, 1).centroids.tolist() == [[2.0, 0.5]]


def test_starts_are_different_points_and_follow_the_seed():
    points = torch.arange(6, dtype=F64)[:, None]
    for start in kmeans.STARTS:
        first = kmeans.first_centroids(points, 4, start, restarts=50, seed=7)
        assert all(len(set(run.flatten().tolist())) == 4 for run in first)
        assert first.equal(kmeans.first_centroids(points, 4, start, restarts=50, seed=7))
        assert not first.equal(kmeans.first_centroids(points, 4, start, restarts=50, seed=8))
    # Three times the same point and another: all must be taken for k = 4.
    same = torch.tensor([[0.0], [0.0], [0.0], [5.0]], dtype=F64)
    taken = kmeans.first_centroids(same, 4, "k-means++", restarts=20)
    assert (taken.squeeze(-1).sort(-1).values == torch.tensor([0, 0, 0, 5], dtype=F64)).all()


def test_random_starts_come_from_all_points_alike():
    """3000 draws from 1000 points: none too often, and a mean within four standard deviations of the middle."""
    points = torch.arange(1000.0, dtype=F64)[:, None]
    starts = kmeans.first_centroids(points, 3, "random", 1000, 5)
    assert all(len(one.unique()) == 3 for one in starts)
    assert abs(starts.mean().item() - 499.5) < 4 * 1000 / 12**0.5 / 3000**0.5
    assert starts.flatten().long().bincount(minlength=1000).max() < 15 and starts.max() > 980


def test_k_means_plus_plus_draws_in_proportion_to_the_squared_distance():
    points = torch.tensor([[0.0], [1.0], [2.0]], dtype=F64)
    runs = kmeans.first_centroids(points, 2, "k-means++", restarts=30_000, seed=0).squeeze(-1)
    after_zero = runs[runs[:, 0] == 0, 1]
    assert len(after_zero) == pytest.approx(10_000, rel=0.05)
    assert (after_zero == 2).double().mean().item() == pytest.approx(0.8, abs=0.02)  # 4 to 1
    equal = kmeans.first_centroids(points, 2, "random", restarts=30_000, seed=0).squeeze(-1)
    assert (equal[equal[:, 0] == 0, 1] == 2).double().mean().item() == pytest.approx(0.5, abs=0.02)


def test_wrong_arguments(as_user):
    with pytest.raises(
        ArgumentError, match=r"`clusters` must be at most the number of points \(4\), got 5: ask for fewer"
    ):
        kmeans.fit(RECTANGLE, 5)
    with pytest.raises(ArgumentError, match="`clusters` must be at least 1, got 0"):
        kmeans.fit(RECTANGLE, 0)
    with pytest.raises(ArgumentError, match="`points` must be finite, got 8 NaN"):
        kmeans.fit(RECTANGLE * float("nan"), 2)
    with pytest.raises(ArgumentError, match="`empty` must be one of 'keep', 'farthest', got 'drop'"):
        kmeans.fit(RECTANGLE, 2, empty="drop")
    with pytest.raises(ArgumentError, match="`empty` must be one of"):
        kmeans.update(RECTANGLE, torch.zeros(4, dtype=torch.int64), RECTANGLE[:2], empty="drop")
    with pytest.raises(ArgumentError, match=r"`start` must be one of 'random', 'k-means\+\+', got 'grid'"):
        kmeans.fit(RECTANGLE, 2, start="grid")
    with pytest.raises(ArgumentError, match="`restarts` must be at least 1, got 0"):
        kmeans.fit(RECTANGLE, 2, restarts=0)
    with pytest.raises(ArgumentError, match="`max_iterations` must be at least 1, got 0"):
        kmeans.fit(RECTANGLE, 2, max_iterations=0)
    with pytest.raises(ShapeError, match=r"`start` must hold 2 centroids of 2 coordinates.*got \(3, 2\)"):
        kmeans.fit(RECTANGLE, 2, start=RECTANGLE[:3])
    with pytest.raises(ArgumentError, match="`start` must be finite"):
        kmeans.fit(RECTANGLE, 2, start=RECTANGLE[:2] * float("inf"))


@pytest.mark.slow
def test_every_restart_ends_like_scikit_learn_at_size(as_user):
    g = torch.Generator().manual_seed(0)
    points = torch.randn(20_000, 20, generator=g, dtype=F64)
    points += torch.randn(10, 20, generator=g, dtype=F64)[torch.randint(10, (20_000,), generator=g)]
    starts = kmeans.first_centroids(points, 10, restarts=4)
    result = kmeans.fit(points, 10, start=starts)
    for start, ours in zip(starts, result.distortions.tolist(), strict=True):
        theirs = KMeans(10, init=start.numpy(), n_init=1, algorithm="lloyd", tol=0).fit(points.numpy())
        assert ours == pytest.approx(theirs.inertia_, rel=1e-9)
