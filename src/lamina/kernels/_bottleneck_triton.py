"""Launch the kernels of a pre-activation bottleneck block; see `bottleneck` for the formulas."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
import triton

from lamina._types import Tensor
from lamina.kernels import _bottleneck_kernels_triton
from lamina.kernels._norm_triton import FINISH_CHANNELS, FINISH_PARTS, Running, partial_sums

Norm = tuple[Tensor, Tensor, Tensor, Tensor]
"""Mean, 1 / standard deviation, scale and offset of a normalization."""
Tracked = tuple[Running, float, float]
"""Running statistics, momentum and eps of a normalization."""

CHUNK = 64
"""How many wide channels a program handles at a time."""
PARTS = {16: 512, 32: 256, 64: 128}
"""How many programs share the pixels in a kernel that sums, by the number of narrow channels."""
TILES = {
    "narrow": {16: (64, 4, 3), 32: (64, 4, 3), 64: (64, 4, 3)},
    "middle": {16: (64, 4, 3), 32: (64, 4, 3), 64: (64, 8, 3)},
    "widen": {16: (64, 4, 1), 32: (64, 4, 1), 64: (64, 4, 1)},
    "widen_backward": {16: (64, 4, 3), 32: (64, 4, 3), 64: (64, 8, 1)},
    "middle_backward": {16: (32, 2, 1), 32: (64, 4, 1), 64: (64, 8, 1)},
    "middle_weight": {16: (32, 4, 1), 32: (32, 4, 1), 64: (32, 4, 1)},
    "narrow_backward": {16: (32, 4, 3), 32: (32, 4, 1), 64: (32, 4, 3)},
    "input_gradient": {16: (32, 2, 1), 32: (32, 4, 1), 64: (64, 4, 1)},
}
"""Pixels at a time, warps and stages of loads in flight, by kernel and number of narrow channels; chosen on an H200."""
RUNS = {
    "middle": {16: 1, 32: 1, 64: 1},
    "middle_backward": {16: 3, 32: 3, 64: 1},
    "middle_weight": {16: 3, 32: 3, 64: 3},
}
"""Neighboring pixels that are read at once."""
_PREPARED: set[Any] = set()
_preparing = False


def _launch(name: str, grid: tuple[int, ...], *arguments: Any, **options: Any) -> None:
    """Run a kernel, or only have it compiled."""
    kernel = getattr(_bottleneck_kernels_triton, f"_{name}_kernel")
    if _preparing:
        kernel.warmup(*arguments, grid=grid, **options)
    else:
        kernel[grid](*arguments, **options)


def prepare(inputs: Tensor, weights: Sequence[Tensor]) -> None:
    """Have all kernels for blocks of this shape compiled, many at a time: one by one they take half a second each."""
    global _preparing
    size = weights[0].shape[0]
    kind = (inputs.device, inputs.shape, weights[0].dtype)
    if kind in _PREPARED:
        return
    _PREPARED.add(kind)
    vectors = [(torch.empty(n, device=inputs.device),) * 2 for n in (4 * size, size, size)]
    count = torch.empty((), dtype=torch.int64, device=inputs.device)
    _preparing = True
    try:
        with ThreadPoolExecutor() as pool, triton.AsyncCompileMode(pool):
            tracked = [((mean, mean, count), 0.1, 1e-5) for mean, _ in vectors]
            outputs, maps, norms = forward(inputs, vectors, weights, tracked)
            backward(outputs, maps, norms, weights)
    finally:
        _preparing = False


def _tile(kernel: str, size: int) -> tuple[int, dict[str, Any]]:
    """Return how many pixels a program has in hand at a time, and the options of a launch."""
    rows, warps, stages = TILES[kernel][size]
    return rows, {"NARROW": size, "ROWS": rows, "num_warps": warps, "num_stages": stages}


def _neighbors(kernel: str, inputs: Tensor) -> dict[str, int]:
    """Return the options of a 3x3 convolution."""
    size, height, width = inputs.shape[1:]
    run = RUNS[kernel][size]
    return {"HEIGHT": height, "WIDTH": width, "RUN": run, "WINDOW": 4 * size if run == 3 else size}


def _rows(inputs: Tensor) -> int:
    """Return the number of pixels."""
    return inputs.numel() // inputs.shape[1]


def _parts(inputs: Tensor, size: int, tile: int) -> int:
    return min(triton.cdiv(_rows(inputs), tile), PARTS[size])


def _maps(like: Tensor, channels: int) -> Tensor:
    batch, _, height, width = like.shape
    return torch.empty(
        (batch, channels, height, width), dtype=like.dtype, device=like.device, memory_format=torch.channels_last
    )


def _fold_statistics(
    partial: Tensor, first: Tensor | None, like: Tensor, affine: tuple[Tensor, Tensor], tracked: Tracked
) -> Norm:
    """Return what normalizes the channels of a tensor; move the running statistics."""
    channels, (running, momentum, eps) = like.shape[1], tracked
    mean, rstd, scale, offset = torch.empty(4, channels, device=like.device).unbind()
    _launch(
        "fold_statistics", (triton.cdiv(channels, FINISH_CHANNELS),),
        partial, partial if first is None else first, *affine, mean, rstd, scale, offset,
        *(running or (mean, mean, mean)), partial.numel() // (2 * channels), channels, _rows(like), eps, momentum,
        SHIFT=first is not None, TRACK=running is not None, PARTS=FINISH_PARTS, CHANNELS=FINISH_CHANNELS,
    )  # fmt: skip
    return mean, rstd, scale, offset


def _fold(partial: Tensor, norm: Norm, values: int) -> list[Tensor]:
    """Return the gradients of bias and weight, the slope and the constant of a normalization's backward pass."""
    mean, rstd, scale, _ = norm
    channels = len(mean)
    results = torch.empty(4, channels, device=mean.device).unbind()
    _launch(
        "fold_gradients", (triton.cdiv(channels, FINISH_CHANNELS),),
        partial, mean, rstd, scale, *results, partial.numel() // (2 * channels), channels, values,
        PARTS=FINISH_PARTS, CHANNELS=FINISH_CHANNELS,
    )  # fmt: skip
    return list(results)


def forward(
    inputs: Tensor, affine: Sequence[tuple[Tensor, Tensor]], weights: Sequence[Tensor], tracked: Sequence[Tracked]
) -> tuple[Tensor, list[Tensor], list[Norm]]:
    """Run a block; return its output, the tensors before its three normalizations and what normalized them."""
    size, rows = weights[0].shape[0], _rows(inputs)
    wide = {"WIDE": 4 * size, "CHUNK": CHUNK}
    first = _fold_statistics(partial_sums(inputs), inputs, inputs, affine[0], tracked[0])
    tile, options = _tile("narrow", size)
    parts = _parts(inputs, size, tile)
    u1, partial = _maps(inputs, size), torch.empty(2 * parts * size, device=inputs.device)
    _launch("narrow", (parts,), inputs, *first[2:], weights[0], u1, partial, rows, **wide, **options)
    second = _fold_statistics(partial, None, u1, affine[1], tracked[1])
    tile, options = _tile("middle", size)
    parts = _parts(inputs, size, tile)
    u2, partial = _maps(inputs, size), torch.empty(2 * parts * size, device=inputs.device)
    near = _neighbors("middle", u1)
    _launch("middle", (parts,), u1, *second[2:], weights[1], u2, partial, rows, **near, **options)
    third = _fold_statistics(partial, None, u2, affine[2], tracked[2])
    tile, options = _tile("widen", size)
    outputs, grid = torch.empty_like(inputs), (triton.cdiv(rows, tile), 4 * size // CHUNK)
    _launch("widen", grid, u2, *third[2:], weights[2], inputs, outputs, rows, **wide, **options)
    return outputs, [inputs, u1, u2], [first, second, third]


def backward(
    gradient: Tensor, maps: Sequence[Tensor], norms: Sequence[Norm], weights: Sequence[Tensor]
) -> tuple[Tensor, list[tuple[Tensor, Tensor]], list[Tensor]]:
    """Return the gradients of a block's input, of its scales and shifts and of its kernels."""
    (y, u1, u2), (first, second, third) = maps, norms
    size, rows = u1.shape[1], _rows(y)
    wide = {"WIDE": 4 * size, "CHUNK": CHUNK}

    def room(*sizes: int) -> Tensor:
        return torch.empty(sizes, device=y.device)

    tile, options = _tile("widen_backward", size)
    parts = _parts(y, size, tile)
    g2, of_third, partial = torch.empty_like(u2), room(parts, 4 * size * size), room(2 * parts, size)
    _launch(
        "widen_backward", (parts,), gradient, u2, third[0], *third[2:], weights[2], g2, of_third, partial, rows,
        WIDE=4 * size, **options,
    )  # fmt: skip
    bias3, weight3, *line = _fold(partial, third, rows)
    after = (g2, u2, third[2], *line)
    tile, options = _tile("middle_backward", size)
    parts = _parts(y, size, tile)
    g1, of_second, partial = torch.empty_like(u1), room(parts, 9 * size * size), room(2 * parts, size)
    _launch(
        "middle_backward", (parts,),
        *after, u1, second[0], *second[2:], weights[1], g1, of_second, partial, rows,
        **_neighbors("middle_backward", u1), **options,
    )  # fmt: skip
    if RUNS["middle_backward"][size] == 1:
        tile, options = _tile("middle_weight", size)
        of_second = room(max(1, _parts(y, size, tile) // 2), 9 * size * size)
        near = _neighbors("middle_weight", u1)
        _launch("middle_weight", (len(of_second), 3), *after, u1, *second[2:], of_second, rows, **near, **options)
    bias2, weight2, *line = _fold(partial, second, rows)
    before = (g1, u1, second[2], *line)
    tile, options = _tile("narrow_backward", size)
    parts = _parts(y, size, tile)
    of_first, sums = room(parts, 4 * size * size), room(2 * parts, 4 * size)
    _launch(
        "narrow_backward", (parts, 4 * size // CHUNK), *before, y, first[0], *first[2:], weights[0], of_first,
        sums, rows, **wide, **options,
    )  # fmt: skip
    kernels, (bias1, weight1, *line) = _totals(of_first, of_second, of_third, sums, first, rows, weights[0].dtype)
    tile, options = _tile("input_gradient", size)
    result, grid = torch.empty_like(y), (triton.cdiv(rows, tile), 4 * size // CHUNK)
    _launch(
        "input_gradient", grid, *before, y, *first[2:], *line, weights[0], gradient, result, rows,
        **wide, **options,
    )  # fmt: skip
    affine = [(weight1, bias1), (weight2, bias2), (weight3, bias3)]
    return result, affine, [g.as_strided(w.shape, w.stride()) for g, w in zip(kernels, weights, strict=True)]


def _totals(
    first: Tensor, second: Tensor, third: Tensor, sums: Tensor, norm: Norm, values: int, dtype: torch.dtype
) -> tuple[list[Tensor], list[Tensor]]:
    """Return the gradients of the three kernels, and what `_fold` returns for the first normalization."""
    partial, channels = (first, second, third), sums.shape[1]
    sizes = [p.shape[1] for p in partial]
    kernels = torch.empty(sum(sizes), dtype=dtype, device=sums.device)
    folded = torch.empty(4, channels, device=sums.device).unbind()
    _launch(
        "total", (sum(sizes) // 32 + triton.cdiv(channels, FINISH_CHANNELS),), *partial, sums, *norm[:3], kernels,
        *folded, *sizes, channels, *map(len, partial), len(sums) // 2, values,
        PARTS=256, COLUMNS=32, CHANNELS=FINISH_CHANNELS, num_warps=8,
    )  # fmt: skip
    return list(kernels.split(sizes)), list(folded)
