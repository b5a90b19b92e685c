r"""Alg. 1 for many starts at once, without the work that cannot change a label.

`lamina.classical.kmeans` is the specification; this is its fast path, with the same labels and, but for the order of
sums, the same centroids. Six things make it fast:

- The distances of a chunk of points to the centroids of all runs are one matrix product, $\|u\|^2 - 2 u \cdot \mu +
  \|\mu\|^2$. Its rounding error is bounded; where the two smallest distances are closer than that, the point is
  assigned by the differences $u - \mu$, as the specification does.
- A point keeps its label while its centroid and the others have moved, together, less than the second nearest centroid
  was farther away than the nearest (G. Hamerly, *Making k-means even faster*, 2010). Such points are not looked at.
- Sums over clusters change by the points that change their cluster; they are kept in float64.
- On a CPU with a compiler, `nearest.cpp` finds the nearest centroid and the gap while the products are in registers.
- Runs that have converged are left out.
- On a CPU, threads share the runs instead of each operation.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import torch

from lamina._processor import require_bfloat16
from lamina._types import Float, Int, Tensor
from lamina.kernels.nearest import Nearest, pays

WIDEST = 128
"""The most clusters, and the most coordinates, for which a program of `_kmeans_triton` can hold its block of points."""

_PRODUCT = {"cpu": 2**18, "cuda": 2**26}  # distances held at a time: on a CPU they stay in its cache
_PAGE = {"cpu": 2**16, "cuda": 2**26}  # labels found at a time, likewise
_CARRIED = 2**13  # points carried to another cluster at a time, likewise
_MANY = 2**13  # with fewer points, picking some never pays
_FEW = 0.25  # below this share of the points, picking them costs less than computing with all
_REFRESH = 4  # as long as all points are assigned, their gaps are computed so often
_CHUNK = 2**24  # differences of coordinates held at a time
_PARALLEL = 2**23  # below this number of differences of coordinates, threads cost more than they bring
_ROUNDING = {"tf32": 2.0**-11, "bf16": 2.0**-8}  # of the factors of a matrix product, where the user allows it


@dataclass(frozen=True)
class Ends:
    """Where runs ended, and how.

    Args:
        centroids: the centroids.
        labels: the cluster of each point.
        iterations: how often each run updated its centroids.
        settled: whether its labels stopped changing.
        histories: its distortions, one after each half step.
    """

    centroids: Float[Tensor, "restart cluster feature"]
    labels: Int[Tensor, "restart batch"]
    iterations: list[int]
    settled: list[bool]
    histories: list[list[float]]


def lloyd(
    points: Float[Tensor, "batch feature"],
    centroids: Float[Tensor, "restart cluster feature"],
    empty: str,
    max_iterations: int,
) -> Ends:
    """Run Alg. 1 from each start until no label changes.

    Notes: N1.31 (§1.2, Alg. 1).

    Args:
        points: one point per row.
        centroids: the first centroids of each run.
        empty: "keep" the centroid of an empty cluster, or move it to the point "farthest" from its own.
        max_iterations: the most updates of a run.

    Returns:
        The end of each run.

    >>> ends = lloyd(torch.tensor([[0.0], [1.0], [4.0]]), torch.tensor([[[0.0], [1.0]]]), "keep", 10)
    >>> ends.labels.tolist(), [round(value, 4) for value in ends.histories[0]]
    ([[0, 0, 1]], [9.0, 4.5, 3.25, 0.5, 0.5])
    """
    threads = torch.get_num_threads()
    workers = min(threads, len(centroids))
    if points.is_cuda or workers == 1 or len(points) * centroids.numel() < _PARALLEL:
        return _run(Points(points, centroids.numel(), threads), centroids, empty, max_iterations)
    shares, prepared = [centroids[first::workers] for first in range(workers)], Points(points, centroids.numel())
    with _each_with(threads // workers), ThreadPoolExecutor(workers) as pool:
        parts = list(pool.map(lambda share: _run(prepared, share, empty, max_iterations), shares))
    return _interleaved(parts, len(centroids))


@contextmanager
def _each_with(threads: int) -> Iterator[None]:
    """Let every operation of torch use so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _interleaved(parts: list[Ends], runs: int) -> Ends:
    """Put runs back in order that were dealt out in turn."""
    order = [(run % len(parts), run // len(parts)) for run in range(runs)]
    return Ends(
        torch.stack([parts[part].centroids[place] for part, place in order]),
        torch.stack([parts[part].labels[place] for part, place in order]),
        [parts[part].iterations[place] for part, place in order],
        [parts[part].settled[place] for part, place in order],
        [parts[part].histories[place] for part, place in order],
    )


def _run(points: "Points", centroids: Tensor, empty: str, max_iterations: int) -> Ends:
    """Run Alg. 1 from each start."""
    runs, live = Runs(points, centroids), list(range(len(centroids)))
    histories: list[list[float]] = [[] for _ in live]
    iterations = [max_iterations] * len(live)

    def note() -> None:
        for run, value in zip(live, runs.distortion(live), strict=True):
            histories[run].append(value)

    runs.assign(live)
    note()
    for iteration in range(1, max_iterations + 1):
        runs.update(live, empty)
        note()
        changed = runs.assign(live)
        note()
        for run in live:
            if run not in changed:
                iterations[run] = iteration
        live = changed
        if not live:
            break
    settled = [run not in live for run in range(len(centroids))]
    return Ends(runs.centroids, runs.labels.long(), iterations, settled, histories)


class Points:
    """The points with what all runs need of them.

    Args:
        values: one point per row.
        coordinates: of all centroids that they are compared with.
        threads: which may share the points.
    """

    def __init__(self, values: Float[Tensor, "batch feature"], coordinates: int, threads: int = 1) -> None:
        self.values, self.threads = values, threads
        # Distances do not depend on the origin, but their rounding errors do.
        self.origin = values.mean(0)
        self.centered = values - self.origin
        self.squares = self.centered.square().sum(1)
        self.total = self.squares.sum(dtype=torch.float64)
        self.relative_error = (values.shape[1] + 8) * torch.finfo(values.dtype).eps
        self.nearest: Nearest | None = None
        if pays(values, len(values) * coordinates):
            self.nearest = Nearest(self.centered, self.squares.sqrt(), self.relative_error, self.relative_error)

    @cached_property
    def rounding(self) -> float:
        """By how much a matrix product rounds its factors."""
        return _rounding_of_factors(self.values)

    @cached_property
    def product_error(self) -> float:
        """Of a distance by a matrix product, relative to the square of the sum of both norms; worst case."""
        return self.relative_error + 4 * self.rounding

    @cached_property
    def extended(self) -> Tensor:
        """The points with a 1 behind their coordinates, which takes the square of a centroid into the product."""
        return torch.cat([self.centered, torch.ones_like(self.values[:, :1])], 1)


class Runs:
    """Where runs stand; the first axis counts them, and cluster k holds the points not yet assigned.

    Args:
        points: the points u.
        centroids: the first centroids mu.
    """

    def __init__(self, points: Points, centroids: Float[Tensor, "restart cluster feature"]) -> None:
        self.points, self.centroids, self.turn = points, centroids.clone(), 0
        restarts, self.clusters, features = centroids.shape
        count = len(points.values)
        self.labels = centroids.new_full((restarts, count), self.clusters, dtype=torch.int32)
        self.sums = centroids.new_zeros(restarts, self.clusters + 1, features, dtype=torch.float64)
        self.counts = torch.zeros_like(self.sums[..., 0])
        # A label is sure as long as the gap of its point is above the travel of its cluster.
        self.gaps = centroids.new_full((restarts, count), -torch.inf)
        self.travel = torch.zeros_like(self.counts)
        self.sparse: set[int] = set()

    def assign(self, live: list[int]) -> list[int]:
        """Assign the points of some runs anew, and return those of these runs in which a label changed."""
        doubtful = {run: self._doubtful(run) for run in live}
        self.sparse = {run for run, places in doubtful.items() if places is not None}
        dense = [run for run in live if run not in self.sparse]
        changed = self._assign_all(dense) if dense else set()
        for run, places in doubtful.items():
            if places is not None and self._assign_some(run, places):
                changed.add(run)
        self.turn += 1
        return [run for run in live if run in changed]

    def update(self, live: list[int], empty: str) -> None:
        """Move the centroids of some runs to the means of their points."""
        runs = self._index(live)
        old, sums, count = self.centroids[runs], self.sums[runs, :-1], self.counts[runs, :-1].unsqueeze(-1)
        new = torch.where(count > 0, (sums / count.clamp(min=1)).to(old.dtype), old)
        if empty != "keep":
            u, vacant = self.points.values, (count == 0).squeeze(-1)
            for place in vacant.any(1).nonzero().flatten().tolist():
                own = (u - new[place].index_select(0, self.labels[live[place]])).square().sum(1)
                farthest = own.argsort(descending=True, stable=True)[: int(vacant[place].sum())]
                new[place, vacant[place]] = u[farthest]
        self.centroids[runs] = new
        way = (new - old).double().norm(dim=-1)
        longest = way.topk(min(2, self.clusters), dim=1)
        of_others = longest.values[:, :1].repeat(1, self.clusters)
        of_others.scatter_(1, longest.indices[:, :1], longest.values[:, -1:])
        self.travel[runs, :-1] += way + of_others

    def distortion(self, live: list[int]) -> list[float]:
        """Sum the squared distances of the points to their centroids, from the sums over clusters alone."""
        runs, origin = self._index(live), self.points.origin
        count = self.counts[runs, :-1].unsqueeze(-1)
        mu, sums = self.centroids[runs].double() - origin, self.sums[runs, :-1] - count * origin
        values: list[float] = (self.points.total + ((count * mu - 2 * sums) * mu).sum((-2, -1))).clamp_(min=0).tolist()
        return values

    def _index(self, runs: list[int]) -> Tensor:
        return torch.tensor(runs, device=self.centroids.device)

    def _doubtful(self, run: int) -> Tensor | None:
        """Return the points whose label may change, or nothing if that is not known or picking them does not pay."""
        gaps, asked = self.gaps[run], run in self.sparse or self.turn % _REFRESH == 1
        if gaps.is_cuda or len(gaps) < _MANY or not asked:
            return None
        travel = (self.travel[run] * (1 + 8 * torch.finfo(gaps.dtype).eps)).to(gaps.dtype)
        sure = gaps > travel.index_select(0, self.labels[run])  # a gap that is NaN is not sure
        if int(sure.sum()) < (1 - _FEW) * len(sure):
            return None
        return sure.logical_not_().nonzero().squeeze(1)

    def _assign_all(self, live: list[int]) -> set[int]:
        """Assign all points of some runs, and return the runs in which a label changed."""
        runs, changed = self._index(live), set[int]()
        refresh = self.turn % _REFRESH == 0
        every = torch.arange(len(self.points.values), device=runs.device)
        for places in every.split(max(1, _PAGE[runs.device.type] // len(live))):
            page = slice(int(places[0]), int(places[-1]) + 1)
            labels, gaps = self._nearest(runs, page, refresh)
            old = self.labels[:, page].index_select(0, runs)
            if gaps is not None:
                self.gaps[:, page].index_copy_(0, runs, gaps)
            places_changed, which = self._carry(runs, places, old, labels)
            if not len(which):
                continue
            self.labels[:, page].index_copy_(0, runs, labels)
            if gaps is None:
                self.gaps[runs.index_select(0, which), places_changed] = -torch.inf
            changed.update(live[place] for place in which.unique_consecutive().tolist())
        return changed

    def _assign_some(self, run: int, doubtful: Tensor) -> bool:
        """Assign some points of one run, and say whether a label changed."""
        runs, changed = self._index([run]), False
        for places in doubtful.split(max(1, _PRODUCT["cpu"] // self.clusters)):
            labels, gaps = self._nearest(runs, places, True)
            old = self.labels[run].index_select(0, places).unsqueeze(0)
            self.gaps[run].scatter_(0, places, cast(Tensor, gaps)[0])
            self.labels[run].scatter_(0, places, labels[0])
            changed |= len(self._carry(runs, places, old, labels)[0]) > 0
        return changed

    def _nearest(
        self, runs: Tensor, where: slice | Int[Tensor, " some"], with_gaps: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Return the nearest centroid of each run for some points, and by how much it is nearest, at least."""
        mu, travel = self.centroids[runs] - self.points.origin, self.travel[runs].to(self.centroids.dtype)
        gaps: Tensor | None
        if self.points.nearest is not None:
            labels, gaps = self.points.nearest(mu, travel[:, :-1], where, self.points.threads)
        else:
            labels, gaps = self._by_products(mu, travel, where, with_gaps)
        unsure = (labels < 0).flatten().nonzero().squeeze(1)
        if len(unsure):
            which = unsure.div(labels.shape[1], rounding_mode="floor")
            places = unsure - which * labels.shape[1]
            places = places + where.start if isinstance(where, slice) else where.index_select(0, places)
            labels.view(-1).index_copy_(0, unsure, self._by_differences(runs.index_select(0, which), places))
        return labels, gaps

    def _by_products(
        self, mu: Tensor, travel: Tensor, where: slice | Tensor, with_gaps: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Do the same by matrix products, with label -1 where rounding errors leave a doubt."""
        extended, squares = (
            values[where] if isinstance(where, slice) else values.index_select(0, where)
            for values in (self.points.extended, self.points.squares)
        )
        norms = mu.square().sum(-1)
        matrix = torch.cat([-2 * mu, norms.unsqueeze(-1)], -1)
        error = (squares.sqrt() + norms.amax(1, keepdim=True).sqrt()).square_().mul_(self.points.product_error)
        found, nearest, second = _find(matrix, extended, 2 * error, with_gaps, exact=not self.points.rounding)
        labels = found.int().sub_(self.clusters)
        unsure = (labels < 0).logical_or_(labels >= self.clusters)  # nothing is found where squares overflow
        labels.masked_fill_(unsure, -1)
        if second is None:
            return labels, None
        gaps = second.add_(squares).sub_(error).clamp_(min=0).sqrt_().mul_(1 - 2 * self.points.relative_error)
        gaps -= nearest.add_(squares).add_(error).clamp_(min=0).sqrt_()
        gaps += travel.flatten().index_select(0, _flat(labels.clamp(min=0), self.clusters + 1).flatten()).view_as(gaps)
        return labels, gaps.masked_fill_(unsure, -torch.inf)

    def _by_differences(self, runs: Tensor, places: Tensor) -> Tensor:
        """Assign pairs of a run and a point as the specification does."""
        most = max(1, _CHUNK // self.centroids[0].numel())
        found = [
            (self.points.values[i].unsqueeze(-2) - self.centroids[r]).square().sum(-1).argmin(-1)
            for r, i in zip(runs.split(most), places.split(most), strict=True)
        ]
        return torch.cat(found).int()

    def _carry(self, runs: Tensor, places: Tensor, old: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
        """Carry the points that change their cluster from sum to sum; return them, each with the place of its run."""
        changed = (old != new).flatten().nonzero().squeeze(1)
        which = changed.div(len(places), rounding_mode="floor")
        moved = places.index_select(0, changed - which * len(places))
        if not len(moved):
            return moved, which
        first = runs.index_select(0, which) * (self.clusters + 1)
        before, after = (first + labels.flatten().index_select(0, changed) for labels in (old, new))
        sums, counts = self.sums.flatten(0, 1), self.counts.flatten()
        for some, out, into in zip(moved.split(_CARRIED), before.split(_CARRIED), after.split(_CARRIED), strict=True):
            values = self.points.values.index_select(0, some).double()
            sums.index_add_(0, out, values, alpha=-1).index_add_(0, into, values)
        counts += after.bincount(minlength=len(counts)) - before.bincount(minlength=len(counts))
        return moved, which


def _find(
    matrix: Tensor, extended: Tensor, margin: Tensor, with_second: bool, exact: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Find the row j of each run whose product with a point is smallest, among k rows.

    Returns:
        k + j, or at least 2 k where a second row comes closer than the margin; the smallest product; the next.
    """
    runs, clusters, _ = matrix.shape
    rows, far = matrix.flatten(0, 1), torch.finfo(matrix.dtype).max / 4
    finder = torch.arange(clusters, 2 * clusters).to(matrix).expand(runs, 1, -1)
    found, smallest = torch.empty_like(margin), torch.empty_like(margin)
    next_smallest = torch.empty_like(margin) if with_second else None
    first = 0
    for some in extended.split(max(1, _PRODUCT[matrix.device.type] // len(rows))):
        here = slice(first, first + len(some))
        first += len(some)
        products = (rows @ some.T).unflatten(0, (runs, clusters))
        torch.amin(products, 1, out=smallest[:, here])
        near = (smallest[:, here] + margin[:, here]).unsqueeze(1)
        member = torch.le(products, near, out=torch.empty_like(products) if with_second or not exact else products)
        if exact:  # one more product finds the row sooner than argmax
            found[:, None, here] = finder @ member
        else:
            found[:, here] = torch.where(member.sum(1) > 1, 2 * clusters, clusters + products.argmin(1))
        if next_smallest is not None:
            torch.amin(products.add_(member, alpha=far), 1, out=next_smallest[:, here])
    return found, smallest, next_smallest


def _flat(labels: Tensor, clusters: int) -> Tensor:
    """Count clusters through all runs."""
    first = torch.arange(0, len(labels) * clusters, clusters, device=labels.device, dtype=labels.dtype)
    return labels + first.unsqueeze(1)


def _rounding_of_factors(values: Tensor) -> float:
    """Return by how much a matrix product of such values may round its factors."""
    allowed = (torch.backends.cuda if values.is_cuda else torch.backends.mkldnn).matmul.fp32_precision
    if values.dtype != torch.float32:
        return 0.0
    if allowed == "bf16" and not values.is_cuda:
        require_bfloat16()
    return _ROUNDING.get(allowed, 0.0)
