"""The nearest centroids of points as one call of compiled code, for the CPU; see `nearest.cpp`."""

import ctypes

import torch

from lamina._types import Float, Int, Tensor
from lamina.kernels import native

_WORTH = 2**23
"""Below this number of products compiling, half a second once, costs more than it brings."""


def pays(points: Tensor, products: int) -> bool:
    """Say whether this many products of coordinates of points are computed here."""
    known = points.dtype in (torch.float32, torch.float64) and not points.is_cuda
    return known and products >= _WORTH and native.works()


class Nearest:
    """Points in the order of their memory, whose nearest centroids are asked for again and again.

    Args:
        points: one point per row, centered.
        roots: their norms.
        product_error: of a squared distance by products, relative to the square of the sum of both norms.
        relative_error: of a distance.
    """

    def __init__(
        self,
        points: Float[Tensor, "batch feature"],
        roots: Float[Tensor, " batch"],
        product_error: float,
        relative_error: float,
    ) -> None:
        self._points, self._roots = points.contiguous(), roots.contiguous()
        self._real = ctypes.c_double if points.dtype == torch.float64 else ctypes.c_float
        self._errors = self._real(product_error), self._real(relative_error)
        self._call = native.library("nearest.cpp", (("DOUBLE", int(points.dtype == torch.float64)),)).nearest
        self._call.restype = None

    def __call__(
        self,
        centroids: Float[Tensor, "runs cluster feature"],
        travel: Float[Tensor, "runs cluster"],
        where: slice | Int[Tensor, " some"],
        threads: int,
    ) -> tuple[Int[Tensor, "runs some"], Float[Tensor, "runs some"]]:
        """Find the nearest centroid of some points, and by how much it is nearest, at least, plus its travel.

        Args:
            centroids: of each run, about the same origin as the points.
            travel: a number for each centroid.
            where: consecutive points, or their numbers.
            threads: which share them; they do not change the result.

        Returns:
            The label of each point, -1 where rounding errors leave a doubt, and the gap, minus infinity there.
        """
        runs, clusters, features = centroids.shape
        norms = centroids.square().sum(-1)
        tops, matrix = norms.amax(1).sqrt(), (-2 * centroids).contiguous()
        travel = travel.contiguous()
        first, places = (where.start, None) if isinstance(where, slice) else (0, where.contiguous())
        count = where.stop - where.start if isinstance(where, slice) else len(where)
        labels = torch.empty((runs, count), dtype=torch.int32)
        gaps = torch.empty((runs, count), dtype=self._points.dtype)
        given = (self._points[first:], self._roots[first:], places, matrix, norms, travel, tops)
        self._call(
            *map(ctypes.c_longlong, (runs, clusters, features, count)),
            *map(native.pointer, given),
            *self._errors,
            native.pointer(labels),
            native.pointer(gaps),
            ctypes.c_longlong(threads),
        )
        return labels, gaps
