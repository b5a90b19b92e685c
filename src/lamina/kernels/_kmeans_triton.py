"""Alg. 1 for many starts at once as two Triton kernels, for float32 on a CUDA device.

`lamina.classical.kmeans` is the specification. One kernel assigns: a program holds a block of points and goes through
all runs, so that the points are read once a step and no distance is written to memory. Distances come from a matrix
product of three TF32 products, which is as exact as float32; where the two smallest are closer than its rounding error,
they are computed anew from differences. Points that change their cluster are carried from sum to sum by atomic
additions in float64. The other kernel moves the centroids and says which runs have converged, so that the host need
not look in between.
"""

from collections.abc import Callable
from typing import no_type_check

import torch
import triton
import triton.language as tl

from lamina._types import Tensor
from lamina.kernels.kmeans import Ends

_ROWS, _WARPS = 64, 4  # of the measured ones the fastest
_GROUP = 8  # steps after which the host looks whether all runs are done


@triton.jit
@no_type_check
def _assign_kernel(
    points, centroids, norms, largest, labels, sums, counts, changed, done, count, clusters, features, runs,
    error_factor, ROWS: tl.constexpr, K: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Assign a block of points in all runs that are not done, and carry points that change their cluster."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = row < count
    column, cluster = tl.arange(0, D), tl.arange(0, K)
    u = tl.load(points + row[:, None].to(tl.int64) * D + column[None, :], mask=inside[:, None], other=0.0)
    length = tl.sqrt(tl.sum(u * u, 1))
    used = (column < features)[None, :]
    for run in range(runs):
        if tl.load(done + run) == 0:
            mu = tl.load(centroids + (run * K + cluster)[None, :] * D + column[:, None])
            norm = tl.load(norms + run * K + cluster)
            distances = norm[None, :] - 2 * tl.dot(u, mu, input_precision="tf32x3")
            nearest = tl.min(distances, 1)
            label = tl.argmin(distances, 1)
            second = tl.min(tl.where(cluster[None, :] == label[:, None], float("inf"), distances), 1)
            longest = tl.sqrt(tl.load(largest + run))
            margin = error_factor * (2 * length * longest + longest * longest)
            unsure = inside & ~(second - nearest > margin)
            if tl.sum(unsure.to(tl.int32), 0) > 0:
                best = tl.full([ROWS], float("inf"), tl.float32)
                place = tl.zeros([ROWS], tl.int32)
                for j in range(clusters):
                    way = u - tl.load(centroids + (run * K + j) * D + column)[None, :]
                    distance = tl.sum(way * way, 1)
                    place = tl.where(distance < best, j, place)
                    best = tl.minimum(best, distance)
                label = tl.where(unsure, place, label)
            kept = labels + tl.cast(run, tl.int64) * count + row
            old = tl.load(kept, mask=inside, other=0)
            differs = inside & (label != old)
            number = tl.sum(differs.to(tl.int32), 0)
            if number > 0:
                tl.store(kept, label, mask=differs)
                tl.atomic_add(changed + run, number, sem="relaxed")
                known = differs & (old >= 0)
                value = u.to(tl.float64)
                into = sums + (run * K + label)[:, None] * D + column[None, :]
                tl.atomic_add(into, value, mask=differs[:, None] & used, sem="relaxed")
                out = sums + (run * K + old)[:, None] * D + column[None, :]
                tl.atomic_add(out, -value, mask=known[:, None] & used, sem="relaxed")
                one = tl.full([ROWS], 1, tl.int32)
                tl.atomic_add(counts + run * K + label, one, mask=differs, sem="relaxed")
                tl.atomic_add(counts + run * K + old, -one, mask=known, sem="relaxed")


@triton.jit
@no_type_check
def _update_kernel(
    centroids, norms, largest, sums, counts, changed, done, settled, emptied, steps, history, total, clusters, limit,
    K: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Note the distortion of a run, and end it or move its centroids to the means of their points."""
    run = tl.program_id(0)
    cluster, column = tl.arange(0, K), tl.arange(0, D)
    real = cluster < clusters
    if tl.load(done + run) == 0:
        place = (run * K + cluster)[:, None] * D + column[None, :]
        total_sum, number = tl.load(sums + place), tl.load(counts + run * K + cluster).to(tl.float64)[:, None]
        old = tl.load(centroids + place)
        wide = old.to(tl.float64)
        step = tl.load(steps + run)
        written = history + (run * (limit + 1) + step) * 2
        all_squares = tl.load(total)
        tl.store(written, all_squares + tl.sum(tl.sum((number * wide - 2 * total_sum) * wide, 1), 0))
        still = tl.load(changed + run) == 0
        if still | (step == limit):
            tl.store(done + run, 1)
            tl.store(settled + run, still.to(tl.int32))
        else:
            new = tl.where(number > 0, total_sum / tl.maximum(number, 1.0), wide).to(tl.float32)
            tl.store(centroids + place, new)
            norm = tl.sum(new * new, 1)
            tl.store(norms + run * K + cluster, norm, mask=real)
            tl.store(largest + run, tl.max(tl.where(real, norm, 0.0), 0))
            wide = new.to(tl.float64)
            tl.store(written + 1, all_squares + tl.sum(tl.sum((number * wide - 2 * total_sum) * wide, 1), 0))
            tl.store(steps + run, step + 1)
            tl.store(changed + run, 0)
            if tl.sum((real & (tl.load(counts + run * K + cluster) == 0)).to(tl.int32), 0) > 0:
                tl.store(emptied + run, 1)


def lloyd(points: Tensor, centroids: Tensor, empty: str, max_iterations: int) -> Ends | None:
    """Run Alg. 1 from each start; None if a cluster ran empty and should not keep its centroid."""
    (runs, clusters, features), count = centroids.shape, len(points)
    K, D = (max(16, triton.next_power_of_2(size)) for size in (clusters, features))
    mean, spread = points.mean(0), points.std(0, correction=0).amax().clamp(min=torch.finfo(points.dtype).tiny)
    # The origin has few digits, so that differences of points with few digits stay exact, and with them ties.
    unit = spread.log2().round().exp2()
    origin = (mean / unit).round() * unit
    u = torch.nn.functional.pad(points - origin, (0, D - features))
    mu = torch.nn.functional.pad(centroids - origin, (0, D - features, 0, K - clusters)).contiguous()
    norms = mu.square().sum(-1)
    largest = norms.amax(1)
    norms[:, clusters:] = torch.inf
    total = u.square().sum(dtype=torch.float64)
    labels = torch.full((runs, count), -1, dtype=torch.int32, device=u.device)
    sums = torch.zeros(runs, K, D, dtype=torch.float64, device=u.device)
    counts = torch.zeros(runs, K, dtype=torch.int32, device=u.device)
    changed, done, settled, emptied, steps = torch.zeros(5, runs, dtype=torch.int32, device=u.device)
    history = torch.zeros(runs, max_iterations + 1, 2, dtype=torch.float64, device=u.device)
    factor = 2 * (features + 8) * torch.finfo(torch.float32).eps
    grid = (triton.cdiv(count, _ROWS),)

    def step() -> None:
        _assign_kernel[grid](
            u, mu, norms, largest, labels, sums, counts, changed, done, count, clusters, features, runs, factor,
            ROWS=_ROWS, K=K, D=D, num_warps=_WARPS,
        )  # fmt: skip
        _update_kernel[(runs,)](
            mu, norms, largest, sums, counts, changed, done, settled, emptied, steps, history, total, clusters,
            max_iterations, K=K, D=D, num_warps=_WARPS,
        )  # fmt: skip

    _until(step, done, max_iterations + 1)
    if empty != "keep" and emptied.any():
        return None
    iterations: list[int] = steps.tolist()
    histories = [values[: 2 * n + 1] for values, n in zip(history.flatten(1).tolist(), iterations, strict=True)]
    ends = mu[:, :clusters, :features] + origin
    return Ends(ends, labels.long(), iterations, settled.bool().tolist(), histories)


def _until(step: Callable[[], None], done: Tensor, most: int) -> None:
    """Make steps until all runs are done; the host reads that one group of steps late, so that the GPU never waits."""
    if not done.is_cuda:  # triton's interpreter
        for _ in range(most):
            step()
        return
    groups = triton.cdiv(most, _GROUP)
    flags, events = torch.empty(groups, dtype=torch.int32, pin_memory=True), []
    for group in range(groups):
        for _ in range(min(_GROUP, most - group * _GROUP)):
            step()
        flags[group : group + 1].copy_(done.amin(0, keepdim=True), non_blocking=True)
        events.append(torch.cuda.Event())
        events[-1].record()
        if group:
            events[group - 1].synchronize()
            if flags[group - 1]:
                return
