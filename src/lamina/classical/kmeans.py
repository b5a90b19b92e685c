r"""k-means clustering (§1.2 of the notes): N points, k centroids, two half steps in turn.

The half steps `assign` and `update` take any number of leading axes on the centroids, so that many runs from different
starts are one computation: axis `restart` in what follows. The loop can be watched half step by half step
(`half_steps`), which is the specification, or run to its end (`fit`), which `kernels.kmeans` does.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from lamina._errors import ArgumentError, ShapeError, at_least, choice
from lamina._types import Float, Int, Seed, Tensor
from lamina.classical._checks import finite
from lamina.functional.random import as_generator
from lamina.kernels import kmeans as fast
from lamina.kernels.loading import with_triton

STARTS = ("random", "k-means++")
"""The ways to choose initial centroids among the points."""

EMPTY = ("keep", "farthest")
"""What happens to the centroid of an empty cluster: it stays, or it moves to the point with the largest distance."""

_CHUNK = 2**24  # at most so many differences of coordinates are held at a time


@dataclass(frozen=True)
class HalfStep:
    """What one half step left behind: one frame of the notes' figure.

    Notes: N1.34 (§1.2, Fig. 4).

    Args:
        kind: "assign" or "update".
        centroids: the centroids mu.
        labels: the cluster c of each point, counted from 0.
        distortion: L(c, mu).
    """

    kind: str
    centroids: Float[Tensor, "*restart cluster feature"]
    labels: Int[Tensor, "*restart batch"]
    distortion: Float[Tensor, "*restart"]


@dataclass(frozen=True)
class KMeansFit:
    """The best of several runs.

    Notes: N1.30 (§1.2, Ex. 1.3).

    Args:
        centroids: the centroids mu of the best run.
        labels: the cluster c of each point, counted from 0.
        distortion: the distortion L(c, mu).
        history: the distortion after each half step of that run, assign first.
        iterations: how often that run updated its centroids.
        converged: whether its assignment stopped changing.
        distortions: the final distortion of every run.
    """

    centroids: Float[Tensor, "cluster feature"]
    labels: Int[Tensor, " batch"]
    distortion: float
    history: Float[Tensor, " half_step"]
    iterations: int
    converged: bool
    distortions: Float[Tensor, " restart"]

    def predict(self, points: Float[Tensor, "batch feature"]) -> Int[Tensor, " batch"]:
        """Return the nearest centroid of each point."""
        return assign(points, self.centroids)


def assign(
    points: Float[Tensor, "batch feature"], centroids: Float[Tensor, "*restart cluster feature"]
) -> Int[Tensor, "*restart batch"]:
    r"""Give each point to its nearest centroid, the first of several equally near ones.

    $$c^{(i)} = \arg\min_j \|u^{(i)} - \mu_j\|^2$$
    with u = `points`, mu = `centroids`.

    Notes: N1.31 (§1.2, Alg. 1).
    Corrects: E13, ties need a rule.

    >>> assign(torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([[0.0], [2.0]])).tolist()
    [0, 0, 1]
    """
    rows = max(1, _CHUNK // max(1, centroids.numel()))
    return torch.cat([_squared_distances(some, centroids).argmin(-1) for some in points.split(rows)], -1)


def update(
    points: Float[Tensor, "batch feature"],
    labels: Int[Tensor, "*restart batch"],
    centroids: Float[Tensor, "*restart cluster feature"],
    empty: str = "keep",
) -> Float[Tensor, "*restart cluster feature"]:
    r"""Move each centroid to the mean of its points.

    $$\mu_j = \frac{\sum_i 1_{\{c^{(i)} = j\}} u^{(i)}}{\sum_i 1_{\{c^{(i)} = j\}}}$$
    with u = `points`, c = `labels`.

    Notes: N1.31 (§1.2, Alg. 1).
    Corrects: E13, the mean of an empty cluster is 0/0.

    Args:
        points: one point per row.
        labels: the cluster of each point.
        centroids: the centroids before the step; an empty cluster may keep its own.
        empty: one of `EMPTY`; with "farthest" the m-th empty cluster gets the m-th farthest point from its centroid.

    >>> points, labels = torch.tensor([[0.0], [1.0], [5.0]]), torch.tensor([0, 0, 0])
    >>> update(points, labels, torch.tensor([[0.0], [9.0]])).tolist()
    [[2.0], [9.0]]
    >>> update(points, labels, torch.tensor([[0.0], [9.0]]), empty="farthest").tolist()
    [[2.0], [5.0]]
    """
    choice("empty", empty, EMPTY)
    member = (labels.unsqueeze(-1) == torch.arange(centroids.shape[-2], device=labels.device)).to(points.dtype)
    count = member.sum(-2).unsqueeze(-1)
    means = torch.where(count > 0, member.mT @ points / count.clamp(min=1), centroids)
    if empty == "keep":
        return means
    order = _own_distances(points, labels, means).argsort(dim=-1, descending=True, stable=True)
    vacant = count.squeeze(-1) == 0
    rank = (vacant.cumsum(-1) - 1).clamp(min=0, max=len(points) - 1)
    return torch.where(vacant.unsqueeze(-1), points[order.gather(-1, rank)], means)


def distortion(
    points: Float[Tensor, "batch feature"],
    labels: Int[Tensor, "*restart batch"],
    centroids: Float[Tensor, "*restart cluster feature"],
) -> Float[Tensor, "*restart"]:
    r"""Sum the squared distances of the points to their centroids; neither half step can raise it.

    $$\mathcal L(c, \mu) = \sum_{i=1}^N \|u^{(i)} - \mu_{c^{(i)}}\|^2$$

    Notes: N1.32 (§1.2, Ex. 1.3).
    Corrects: E13, it is not convex in (c, mu): that is why runs stop at local minima.

    >>> distortion(torch.tensor([[0.0], [2.0]]), torch.tensor([0, 0]), torch.tensor([[1.0]])).item()
    2.0
    """
    rows = max(1, _CHUNK // max(1, 16 * centroids.numel()))
    parts = zip(points.split(rows), labels.split(rows, -1), strict=True)
    return torch.stack([_own_distances(some, c, centroids).sum(-1) for some, c in parts]).sum(0)


def first_centroids(
    points: Float[Tensor, "batch feature"], clusters: int, start: str = "random", restarts: int = 1, seed: Seed = 0
) -> Float[Tensor, "restart cluster feature"]:
    r"""Choose different points as first centroids, for each of several runs.

    "random" takes them with equal probability. "k-means++" takes them one by one, each with a probability proportional
    to its squared distance from the nearest one chosen before.

    Notes: N1.31, N1.34 (§1.2, Alg. 1, Fig. 4).

    Args:
        points: one point per row.
        clusters: the number k of centroids.
        start: one of `STARTS`.
        restarts: the number of runs.
        seed: an integer or a generator; numbers are drawn on the CPU.

    >>> first_centroids(torch.tensor([[1.0], [1.0]]), 2, restarts=3).squeeze(-1).tolist()
    [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """
    _check(points, clusters)
    choice("start", start, STARTS)
    at_least("restarts", restarts, 1)
    generator = as_generator(seed)
    if start == "random":
        places = torch.tensor([_different(len(points), clusters, generator) for _ in range(restarts)])
    else:
        chances = torch.rand(clusters, restarts, generator=generator, dtype=torch.float64)
        places = _plus_plus(points, chances.to(points.device))
    return points[places.to(points.device)]


def half_steps(
    points: Float[Tensor, "batch feature"],
    centroids: Float[Tensor, "*restart cluster feature"],
    empty: str = "keep",
) -> Iterator[HalfStep]:
    """Run Alg. 1 without end, one half step at a time.

    Notes: N1.31, N1.34 (§1.2, Alg. 1, Fig. 4).

    Args:
        points: one point per row.
        centroids: the first centroids.
        empty: one of `EMPTY`.

    Yields:
        The state after each half step, assign first.

    >>> steps = half_steps(torch.tensor([[0.0], [1.0], [4.0]]), torch.tensor([[0.0], [1.0]]))
    >>> [next(steps).distortion.item() for _ in range(4)]
    [9.0, 4.5, 3.25, 0.5]
    """
    while True:
        labels = assign(points, centroids)
        yield HalfStep("assign", centroids, labels, distortion(points, labels, centroids))
        centroids = update(points, labels, centroids, empty)
        yield HalfStep("update", centroids, labels, distortion(points, labels, centroids))


def fit(
    points: Float[Tensor, "batch feature"],
    clusters: int,
    *,
    start: str | Float[Tensor, "*restart cluster feature"] = "random",
    restarts: int = 10,
    empty: str = "keep",
    max_iterations: int = 300,
    seed: Seed = 0,
) -> KMeansFit:
    """Cluster points by k-means from several starts, all at once, and keep the run of smallest distortion.

    A run has converged when its assignment no longer changes, which happens after finitely many steps.

    Notes: N1.29, N1.30, N1.31, N1.33 (§1.2, Alg. 1).
    Corrects: E13, restarts make a bad local minimum less likely; they do not rule it out.
    Differs: scikit-learn starts with "k-means++" and moves the centroid of an empty cluster.

    Args:
        points: N points, one per row.
        clusters: the number k of clusters, at most N.
        start: one of `STARTS`, or the first centroids of one run or of several.
        restarts: the number of runs when `start` is a name.
        empty: one of `EMPTY`.
        max_iterations: the most updates of a run.
        seed: an integer or a generator for the starts.

    Returns:
        The best run; the first of several equally good ones.

    >>> points = torch.tensor([[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]])
    >>> result = fit(points, 2, restarts=20)
    >>> result.distortion, result.converged
    (1.0, True)
    """
    _check(points, clusters)
    choice("empty", empty, EMPTY)
    at_least("max_iterations", max_iterations, 1)
    if isinstance(start, str):
        mu = first_centroids(points, clusters, start, restarts, seed)
    else:
        mu = _given(start, clusters, points.shape[1])
    ends = _lloyd(points, mu, empty, max_iterations)
    # Means of all points of a cluster anew, so that they do not depend on the way to them; a group of runs at a time.
    group = max(1, _CHUNK // (len(points) * max(clusters, points.shape[1])))
    settled = torch.tensor(ends.settled, device=mu.device)[:, None, None]
    parts = [part.split(group) for part in (ends.labels, ends.centroids, settled)]
    centroids = torch.cat([torch.where(s, update(points, c, mu, empty), mu) for c, mu, s in zip(*parts, strict=True)])
    pairs = zip(parts[0], centroids.split(group), strict=True)
    distortions = torch.cat([distortion(points, c, mu) for c, mu in pairs])
    best = int(distortions.argmin())
    return KMeansFit(
        centroids=centroids[best],
        labels=ends.labels[best],
        distortion=float(distortions[best]),
        history=torch.cat([distortions.new_tensor(ends.histories[best][:-1]), distortions[best : best + 1]]),
        iterations=ends.iterations[best],
        converged=ends.settled[best],
        distortions=distortions,
    )


def _lloyd(points: Tensor, centroids: Tensor, empty: str, max_iterations: int) -> fast.Ends:
    """Run Alg. 1 from each start, by the kernel that serves these points."""
    fits = points.is_cuda and points.dtype == torch.float32 and max(centroids.shape[1:]) <= fast.WIDEST
    kernels = with_triton("_kmeans_triton") if fits else None
    ends: fast.Ends | None = None if kernels is None else kernels.lloyd(points, centroids, empty, max_iterations)
    return fast.lloyd(points, centroids, empty, max_iterations) if ends is None else ends


def _different(count: int, number: int, generator: torch.Generator) -> list[int]:
    """Draw different numbers below `count`: as many first swaps of a shuffle as are needed."""
    swapped: dict[int, int] = {}
    chosen = []
    for i, large in enumerate(torch.randint(2**62, (number,), generator=generator).tolist()):
        j = i + large % (count - i)
        chosen.append(swapped.get(j, j))
        swapped[j] = swapped.get(i, i)
    return chosen


def _plus_plus(points: Tensor, chances: Tensor) -> Tensor:
    """Choose points one by one, each in proportion to its squared distance from the nearest one chosen before."""
    centered = points - points.mean(0)
    squares = centered.square().sum(1)
    runs = torch.arange(chances.shape[1], device=points.device).unsqueeze(1)
    free = torch.ones(len(runs), len(points), dtype=torch.float64, device=points.device)
    nearest, weights, places = torch.full_like(free, torch.inf), free, []
    for chance in chances.unsqueeze(-1):
        upto = weights.cumsum(-1)
        place = torch.searchsorted(upto, chance * upto[:, -1:], right=True).clamp_(max=len(points) - 1)
        places.append(place)
        free = free.scatter(-1, place, 0)
        u = centered[place.squeeze(-1)]
        distances = torch.addmm(squares, u, centered.T, alpha=-2) + u.square().sum(1, keepdim=True)
        # Small ones are computed anew: points on a chosen one have no distance, not that of rounding errors.
        run, near = (distances <= 1e-2 * squares).nonzero().unbind(1)
        distances[run, near] = (points[near] - points[place.squeeze(-1)][run]).square().sum(-1)
        nearest = nearest.minimum(distances) * free
        # Where every point lies on a chosen one, any point not yet chosen will do.
        weights = torch.where(nearest.sum(-1, keepdim=True) > 0, nearest, free)
    return torch.cat(places, -1)


def _squared_distances(points: Tensor, centroids: Tensor) -> Tensor:
    """Return ||u_i - mu_j||^2 as [*restart, batch, cluster]; by differences, so that ties are exact."""
    return (points.unsqueeze(-2) - centroids.unsqueeze(-3)).square().sum(-1)


def _own_distances(points: Tensor, labels: Tensor, centroids: Tensor) -> Tensor:
    own = centroids.gather(-2, labels.unsqueeze(-1).expand(*labels.shape, points.shape[-1]))
    return (points - own).square().sum(-1)


def _check(points: Tensor, clusters: int) -> None:
    finite("points", points)
    at_least("clusters", clusters, 1)
    if clusters > len(points):
        raise ArgumentError(
            f"`clusters` must be at most the number of points ({len(points)}), got {clusters}: ask for fewer clusters."
        )


def _given(start: Tensor, clusters: int, features: int) -> Tensor:
    if start.ndim not in (2, 3) or start.shape[-2:] != (clusters, features):
        raise ShapeError(
            f"`start` must hold {clusters} centroids of {features} coordinates, as (clusters, features) or "
            f"(restarts, clusters, features), got {tuple(start.shape)}."
        )
    finite("start", start)
    return start.reshape(-1, clusters, features)
