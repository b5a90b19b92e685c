"""The passes of batch norm + ReLU as Triton kernels for channels-last tensors; see `norm` for the formulas.

A channels-last tensor is a matrix with one row a pixel and one column a channel. A matrix narrower than `COLUMNS` is
read as one of `COLUMNS` columns (several pixels a row), so that one compiled kernel serves every width. Sums over the
batch are made in two stages, without atomic additions: each program adds up its rows, and a second kernel adds up what
the programs found, in fixed order. The result is the same every time.
"""

from typing import no_type_check

import torch
import triton
import triton.language as tl

from lamina._types import Tensor

COLUMNS = 64
SUM_ROWS, SUM_WARPS, SUM_PROGRAMS, SUM_STAGES = 64, 4, 264, 4
APPLY_ROWS, APPLY_WARPS = 64, 4
FINISH_PARTS, FINISH_CHANNELS = 512, 16
Running = tuple[Tensor, Tensor, Tensor] | None


@triton.jit
@no_type_check
def _channel(mean, rstd, weight, bias, channel, inside):
    """Load mean, 1 / standard deviation, scale and shift of channels."""
    sigma = tl.load(rstd + channel, mask=inside, other=0.0)
    scale = sigma * tl.load(weight + channel, mask=inside, other=0.0)
    beta = tl.load(bias + channel, mask=inside, other=0.0)
    return tl.load(mean + channel, mask=inside, other=0.0), sigma, scale, beta


@triton.jit
@no_type_check
def _store_sums(partial, one, two, width, columns, inside):
    """Store what one program adds to two sums over all pixels."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    tl.store(partial + program * width + columns, tl.sum(one, 0), mask=inside)
    tl.store(partial + (programs + program) * width + columns, tl.sum(two, 0), mask=inside)


@triton.jit
@no_type_check
def _sums_kernel(
    inputs, partial, rows, width, channels, ROWS: tl.constexpr, COLS: tl.constexpr, STAGES: tl.constexpr
):  # fmt: skip
    """Add up (u - the first pixel) and its square: no cancellation when the mean is far from zero."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    columns = tl.program_id(1) * COLS + tl.arange(0, COLS)
    inside = columns < width
    shift = tl.load(inputs + columns % channels, mask=inside, other=0.0).to(tl.float32)
    one = tl.zeros([ROWS, COLS], tl.float32)
    two = tl.zeros([ROWS, COLS], tl.float32)
    for start in tl.range(program * ROWS, rows, programs * ROWS, num_stages=STAGES):
        row = start + tl.arange(0, ROWS)
        keep = (row < rows)[:, None] & inside[None, :]
        u = tl.load(inputs + row[:, None] * width + columns[None, :], mask=keep, other=0.0).to(tl.float32)
        u = tl.where(keep, u - shift[None, :], 0.0)
        one += u
        two += u * u
    _store_sums(partial, one, two, width, columns, inside)


@triton.jit
@no_type_check
def _total(partial, parts, channels, channel, inside, PARTS: tl.constexpr):
    """Add up two matrices of partial sums, one below the other, over their rows in fixed order."""
    part = tl.arange(0, PARTS)
    one = tl.zeros([PARTS, channel.shape[0]], tl.float32)
    two = tl.zeros([PARTS, channel.shape[0]], tl.float32)
    for start in range(0, parts, PARTS):
        keep = (start + part < parts)[:, None] & inside[None, :]
        place = (start + part)[:, None] * channels + channel[None, :]
        one += tl.load(partial + place, mask=keep, other=0.0)
        two += tl.load(partial + parts * channels + place, mask=keep, other=0.0)
    return tl.sum(one, 0), tl.sum(two, 0)


@triton.jit
@no_type_check
def _statistics(
    partial, first, running_mean, running_variance, count, parts, channels, values, eps, momentum, channel, inside,
    SHIFT: tl.constexpr, TRACK: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """Mean and 1 / standard deviation from partial sums; running statistics as torch moves them."""
    if TRACK:
        old_mean = tl.load(running_mean + channel, mask=inside)
        old_variance = tl.load(running_variance + channel, mask=inside)
        number = tl.load(count)
    if SHIFT:
        shift = tl.load(first + channel, mask=inside, other=0.0).to(tl.float32)
    one, mean_square = _total(partial, parts, channels, channel, inside, PARTS)
    one /= values
    variance = tl.maximum(mean_square / values - one * one, 0.0)
    mu = one
    if SHIFT:
        mu += shift
    if TRACK:
        unbiased = variance * (values / (values - 1.0))
        tl.store(running_mean + channel, (1.0 - momentum) * old_mean + momentum * mu, mask=inside)
        tl.store(running_variance + channel, (1.0 - momentum) * old_variance + momentum * unbiased, mask=inside)
        if tl.program_id(0) == 0:
            tl.store(count, number + 1)
    return mu, 1.0 / tl.sqrt_rn(variance + eps)


@triton.jit
@no_type_check
def _finish_statistics_kernel(
    partial, first, mean, rstd, running_mean, running_variance, count, parts, channels, values, eps, momentum,
    TRACK: tl.constexpr, PARTS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Mean and 1 / standard deviation from partial sums."""
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    inside = channel < channels
    mu, sigma = _statistics(
        partial, first, running_mean, running_variance, count, parts, channels, values, eps, momentum, channel, inside,
        True, TRACK, PARTS,
    )  # fmt: skip
    tl.store(mean + channel, mu, mask=inside)
    tl.store(rstd + channel, sigma, mask=inside)


@triton.jit
@no_type_check
def _apply_kernel(
    inputs, residual, mean, rstd, weight, bias, outputs, rows, width, channels,
    RESIDUAL: tl.constexpr, RELU: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    columns = tl.program_id(1) * COLS + tl.arange(0, COLS)
    inside = columns < width
    channel = columns % channels
    mu, _, scale, beta = _channel(mean, rstd, weight, bias, channel, inside)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    keep = (row < rows)[:, None] & inside[None, :]
    place = row[:, None] * width + columns[None, :]
    u = tl.load(inputs + place, mask=keep, other=0.0).to(tl.float32)
    z = (u - mu[None, :]) * scale[None, :] + beta[None, :]
    if RESIDUAL:
        z += tl.load(residual + place, mask=keep, other=0.0).to(tl.float32)
    if RELU:
        z = tl.where(z < 0.0, 0.0, z)  # not maximum: a NaN must stay
    tl.store(outputs + place, z.to(outputs.dtype.element_ty), mask=keep)


@triton.jit
@no_type_check
def _gradient_sums_kernel(
    gradient, inputs, outputs, mean, rstd, weight, bias, partial, masked, rows, width, channels,
    MASK: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Add up the gradient g behind the ReLU and g (u - mean)."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    columns = tl.program_id(1) * COLS + tl.arange(0, COLS)
    inside = columns < width
    channel = columns % channels
    mu, _, scale, beta = _channel(mean, rstd, weight, bias, channel, inside)
    one = tl.zeros([ROWS, COLS], tl.float32)
    two = tl.zeros([ROWS, COLS], tl.float32)
    for start in tl.range(program * ROWS, rows, programs * ROWS, num_stages=STAGES):
        row = start + tl.arange(0, ROWS)
        keep = (row < rows)[:, None] & inside[None, :]
        place = row[:, None] * width + columns[None, :]
        g = tl.load(gradient + place, mask=keep, other=0.0)
        centered = tl.load(inputs + place, mask=keep, other=0.0).to(tl.float32) - mu[None, :]
        if MASK == 1:  # the sign of the output is recomputed
            g = tl.where(centered * scale[None, :] + beta[None, :] <= 0.0, 0.0, g)
        if MASK == 2:  # a residual was added: the sign is read, and the masked gradient is that of the residual
            g = tl.where(tl.load(outputs + place, mask=keep, other=0.0) <= 0.0, 0.0, g)
            tl.store(masked + place, g, mask=keep)
        g = g.to(tl.float32)
        one += g
        two += g * centered
    _store_sums(partial, one, two, width, columns, inside)


@triton.jit
@no_type_check
def _finish_gradients_kernel(
    partial, rstd, bias_gradient, weight_gradient, parts, channels,
    PARTS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Make the gradients of bias and weight of partial sums."""
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    inside = channel < channels
    one, two = _total(partial, parts, channels, channel, inside, PARTS)
    tl.store(bias_gradient + channel, one, mask=inside)
    tl.store(weight_gradient + channel, two * tl.load(rstd + channel, mask=inside, other=0.0), mask=inside)


@triton.jit
@no_type_check
def _input_gradient_kernel(
    gradient, inputs, skip, mean, rstd, weight, bias, bias_gradient, weight_gradient, result,
    rows, width, channels, values,
    MASK: tl.constexpr, SKIP: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    columns = tl.program_id(1) * COLS + tl.arange(0, COLS)
    inside = columns < width
    channel = columns % channels
    mu, sigma, scale, beta = _channel(mean, rstd, weight, bias, channel, inside)
    one = tl.load(bias_gradient + channel, mask=inside, other=0.0) / values
    two = tl.load(weight_gradient + channel, mask=inside, other=0.0) * sigma / values
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    keep = (row < rows)[:, None] & inside[None, :]
    place = row[:, None] * width + columns[None, :]
    g = tl.load(gradient + place, mask=keep, other=0.0).to(tl.float32)
    centered = tl.load(inputs + place, mask=keep, other=0.0).to(tl.float32) - mu[None, :]
    if MASK:
        g = tl.where(centered * scale[None, :] + beta[None, :] <= 0.0, 0.0, g)
    d = scale[None, :] * (g - one[None, :] - centered * two[None, :])
    if SKIP:
        d += tl.load(skip + place, mask=keep, other=0.0).to(tl.float32)
    tl.store(result + place, d.to(result.dtype.element_ty), mask=keep)


def _shape(inputs: Tensor) -> tuple[int, int, int]:
    """Return rows and columns of the matrix that a kernel sees, and the number of channels."""
    channels, elements = inputs.shape[1], inputs.numel()
    fold = channels < COLUMNS and COLUMNS % channels == 0 and elements % COLUMNS == 0
    width = COLUMNS if fold else channels
    return elements // width, width, channels


def _summing(rows: int, width: int, channels: int, device: torch.device) -> tuple[tuple[int, int], Tensor]:
    """Return the grid of a sum over rows and the room for what its programs find."""
    blocks = triton.cdiv(width, COLUMNS)
    wanted = SUM_PROGRAMS * channels // width // blocks
    programs = max(1, min(triton.cdiv(rows, SUM_ROWS), wanted))
    return (programs, blocks), torch.empty(2 * programs * width, device=device)


def partial_sums(inputs: Tensor) -> Tensor:
    """Return sums of (u - the first pixel) and of its square, one row of each for every program."""
    rows, width, channels = _shape(inputs)
    grid, partial = _summing(rows, width, channels, inputs.device)
    _sums_kernel[grid](inputs, partial, rows, width, channels, ROWS=SUM_ROWS, COLS=COLUMNS, STAGES=SUM_STAGES,
                       num_warps=SUM_WARPS)  # fmt: skip
    return partial


def statistics(inputs: Tensor, running: Running, momentum: float, eps: float) -> tuple[Tensor, Tensor]:
    """Return mean and 1 / standard deviation of every channel; move the running statistics."""
    partial, channels = partial_sums(inputs), inputs.shape[1]
    mean, rstd = torch.empty(2, channels, device=inputs.device).unbind()
    _finish_statistics_kernel[(triton.cdiv(channels, FINISH_CHANNELS),)](
        partial, inputs, mean, rstd, *(running or (mean, mean, mean)),
        partial.numel() // (2 * channels), channels, inputs.numel() // channels, eps, momentum,
        TRACK=running is not None, PARTS=FINISH_PARTS, CHANNELS=FINISH_CHANNELS,
    )  # fmt: skip
    return mean, rstd


def apply(
    inputs: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor, bias: Tensor, residual: Tensor | None, relu: bool
) -> Tensor:
    """Normalize, scale, shift, add the residual, rectify."""
    outputs, (rows, width, channels) = torch.empty_like(inputs), _shape(inputs)
    grid = (triton.cdiv(rows, APPLY_ROWS), triton.cdiv(width, COLUMNS))
    _apply_kernel[grid](
        inputs, inputs if residual is None else residual, mean, rstd, weight, bias, outputs, rows, width, channels,
        RESIDUAL=residual is not None, RELU=relu, ROWS=APPLY_ROWS, COLS=COLUMNS, num_warps=APPLY_WARPS,
    )  # fmt: skip
    return outputs


def reduce(
    gradient: Tensor, inputs: Tensor, outputs: Tensor | None, mean: Tensor, rstd: Tensor, weight: Tensor, bias: Tensor,
    relu: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the gradients of bias and weight, and the gradient behind the ReLU where `outputs` tell its sign."""
    rows, width, channels = _shape(inputs)
    grid, partial = _summing(rows, width, channels, inputs.device)
    masked = gradient if outputs is None else torch.empty_like(gradient)
    _gradient_sums_kernel[grid](
        gradient, inputs, inputs if outputs is None else outputs, mean, rstd, weight, bias, partial, masked,
        rows, width, channels,
        MASK=0 if not relu else 1 if outputs is None else 2, ROWS=SUM_ROWS, COLS=COLUMNS, STAGES=SUM_STAGES,
        num_warps=SUM_WARPS,
    )  # fmt: skip
    of_bias, of_weight = torch.empty(2, channels, device=inputs.device).unbind()
    _finish_gradients_kernel[(triton.cdiv(channels, FINISH_CHANNELS),)](
        partial, rstd, of_bias, of_weight, partial.numel() // (2 * channels), channels,
        PARTS=FINISH_PARTS, CHANNELS=FINISH_CHANNELS,
    )  # fmt: skip
    return of_bias, of_weight, masked


def input_gradient(
    gradient: Tensor, inputs: Tensor, skip: Tensor | None, mean: Tensor, rstd: Tensor, weight: Tensor, bias: Tensor,
    bias_gradient: Tensor, weight_gradient: Tensor, relu: bool,
) -> Tensor:  # fmt: skip
    """Return the gradient of the inputs, plus `skip` when that is given."""
    result, (rows, width, channels) = torch.empty_like(inputs), _shape(inputs)
    grid = (triton.cdiv(rows, APPLY_ROWS), triton.cdiv(width, COLUMNS))
    _input_gradient_kernel[grid](
        gradient, inputs, inputs if skip is None else skip, mean, rstd, weight, bias, bias_gradient, weight_gradient,
        result, rows, width, channels, inputs.numel() // channels,
        MASK=relu, SKIP=skip is not None, ROWS=APPLY_ROWS, COLS=COLUMNS, num_warps=APPLY_WARPS,
    )  # fmt: skip
    return result
