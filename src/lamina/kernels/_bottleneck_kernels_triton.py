"""Triton kernels for a pre-activation bottleneck block in bfloat16; see `bottleneck` for the formulas.

In ResNet-1001 every tensor is so small, and every convolution so narrow (16 to 64 channels), that a GPU waits for
memory and for launches. Here the normalization and ReLU before a convolution are computed when its input is loaded, and
the sums that the next normalization needs when its output is stored: half the launches, and only the three tensors
before the normalizations are ever written. `WIDE` is the number of channels that enter and leave a block, `NARROW` a
quarter of it.

A normalization is folded into two numbers a channel, norm(u) = scale u + offset, and so is its backward pass: the
gradient before it is scale g + slope u + constant. The 3x3 convolution reads `RUN` (1 or 3) neighboring pixels of a row
as one run of channels-last memory; a run of 3 NARROW numbers is padded to `WINDOW` = 4 NARROW columns.
"""

from typing import no_type_check

import triton
import triton.language as tl

from lamina.kernels._norm_triton import _statistics, _total


@triton.jit
@no_type_check
def _fold_statistics_kernel(
    partial, first, gamma, beta, mean, rstd, scale, offset, running_mean, running_variance, count,
    parts, channels, values, eps, momentum,
    SHIFT: tl.constexpr, TRACK: tl.constexpr, PARTS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Statistics from partial sums, and the two numbers that normalize a channel."""
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    inside = channel < channels
    weight = tl.load(gamma + channel, mask=inside, other=0.0)
    bias = tl.load(beta + channel, mask=inside, other=0.0)
    mu, sigma = _statistics(
        partial, first, running_mean, running_variance, count, parts, channels, values, eps, momentum, channel, inside,
        SHIFT, TRACK, PARTS,
    )  # fmt: skip
    tl.store(mean + channel, mu, mask=inside)
    tl.store(rstd + channel, sigma, mask=inside)
    tl.store(scale + channel, sigma * weight, mask=inside)
    tl.store(offset + channel, bias - mu * sigma * weight, mask=inside)


@triton.jit
@no_type_check
def _fold_gradients(
    partial, mean, rstd, scale, bias_gradient, weight_gradient, slope, constant, parts, channels, values,
    channel, inside, PARTS: tl.constexpr,
):  # fmt: skip
    """Make the gradients of a normalization's bias and weight of partial sums, and fold its backward pass."""
    mu = tl.load(mean + channel, mask=inside, other=0.0)
    sigma = tl.load(rstd + channel, mask=inside, other=0.0)
    factor = tl.load(scale + channel, mask=inside, other=0.0)
    of_bias, of_weight = _total(partial, parts, channels, channel, inside, PARTS)
    of_weight *= sigma
    steep = -factor * sigma * of_weight / values
    tl.store(bias_gradient + channel, of_bias, mask=inside)
    tl.store(weight_gradient + channel, of_weight, mask=inside)
    tl.store(slope + channel, steep, mask=inside)
    tl.store(constant + channel, -factor * of_bias / values - steep * mu, mask=inside)


@triton.jit
@no_type_check
def _fold_gradients_kernel(
    partial, mean, rstd, scale, bias_gradient, weight_gradient, slope, constant, parts, channels, values,
    PARTS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Fold the backward pass of a normalization."""
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    _fold_gradients(
        partial, mean, rstd, scale, bias_gradient, weight_gradient, slope, constant, parts, channels, values,
        channel, channel < channels, PARTS,
    )  # fmt: skip


@triton.jit
@no_type_check
def _active(u, scale, offset):
    """Normalize and rectify, in bfloat16."""
    z = u.to(tl.float32) * scale[None, :] + offset[None, :]
    return tl.where(z < 0.0, 0.0, z).to(tl.bfloat16)


@triton.jit
@no_type_check
def _through_norm(g, u, scale, slope, constant):
    """Carry a gradient from behind a normalization to before it, in bfloat16."""
    d = u.to(tl.float32) * slope[None, :] + constant[None, :]
    return (g.to(tl.float32) * scale[None, :] + d).to(tl.bfloat16)


@triton.jit
@no_type_check
def _store_sums(partial, program, programs, channel, one, two, CHANNELS: tl.constexpr):
    """Store what one program adds to two sums over all pixels."""
    tl.store(partial + program * CHANNELS + channel, one)
    tl.store(partial + (programs + program) * CHANNELS + channel, two)


@triton.jit
@no_type_check
def _narrow_kernel(
    inputs, scale, offset, weight, outputs, partial, rows,
    NARROW: tl.constexpr, WIDE: tl.constexpr, CHUNK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """First convolution: u1 = W1 ReLU(norm(y)), with the sums for the statistics of u1."""
    program, programs, narrow = tl.program_id(0), tl.num_programs(0), tl.arange(0, NARROW)
    one = tl.zeros([ROWS, NARROW], tl.float32)
    two = tl.zeros([ROWS, NARROW], tl.float32)
    for start in range(program * ROWS, rows, programs * ROWS):
        row = start + tl.arange(0, ROWS)
        keep = (row < rows)[:, None]
        z = tl.zeros([ROWS, NARROW], tl.float32)
        for chunk in tl.static_range(0, WIDE, CHUNK):
            wide = chunk + tl.arange(0, CHUNK)
            u = tl.load(inputs + row[:, None] * WIDE + wide[None, :], mask=keep, other=0.0)
            W = tl.load(weight + narrow[None, :] * WIDE + wide[:, None]).to(tl.bfloat16)
            z = tl.dot(_active(u, tl.load(scale + wide), tl.load(offset + wide)), W, z)
        z = tl.where(keep, z, 0.0).to(tl.bfloat16)
        tl.store(outputs + row[:, None] * NARROW + narrow[None, :], z, mask=keep)
        z = z.to(tl.float32)
        one += z
        two += z * z
    _store_sums(partial, program, programs, narrow, tl.sum(one, 0), tl.sum(two, 0), NARROW)


@triton.jit
@no_type_check
def _run(pixel, tap, rows, column, NARROW: tl.constexpr, RUN: tl.constexpr, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    """Return where a run of neighbors of a pixel lies, which of them exist, and which taps of a kernel see them."""
    down, left = tap // (3 // RUN) - 1, tap % (3 // RUN) * RUN - 1
    right = left + column // NARROW
    x = (pixel % WIDTH)[:, None] + right[None, :]
    y = (pixel // WIDTH) % HEIGHT + down
    exists = ((pixel < rows) & (y >= 0) & (y < HEIGHT))[:, None] & (x >= 0) & (x < WIDTH)
    place = (pixel + down * WIDTH + left)[:, None] * NARROW + column[None, :]
    return place, exists & (column < RUN * NARROW)[None, :], down + 1, right + 1


@triton.jit
@no_type_check
def _middle_kernel(
    inputs, scale, offset, weight, outputs, partial, rows,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, NARROW: tl.constexpr, RUN: tl.constexpr, WINDOW: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Second convolution, 3x3: u2 = W2 ReLU(norm(u1)), with the sums for the statistics of u2."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    column, narrow = tl.arange(0, WINDOW), tl.arange(0, NARROW)
    factor, shift = tl.load(scale + column % NARROW), tl.load(offset + column % NARROW)
    one = tl.zeros([ROWS, NARROW], tl.float32)
    two = tl.zeros([ROWS, NARROW], tl.float32)
    for start in range(program * ROWS, rows, programs * ROWS):
        row = start + tl.arange(0, ROWS)
        z = tl.zeros([ROWS, NARROW], tl.float32)
        for tap in range(9 // RUN):
            place, keep, down, right = _run(row, tap, rows, column, NARROW, RUN, HEIGHT, WIDTH)
            u = tl.load(inputs + place, mask=keep, other=0.0)
            kernel = (down * 3 + right) * NARROW + column % NARROW
            inside = (column < RUN * NARROW)[:, None]
            W = tl.load(weight + narrow[None, :] * (9 * NARROW) + kernel[:, None], mask=inside, other=0.0)
            z = tl.dot(tl.where(keep, _active(u, factor, shift), 0.0), W.to(tl.bfloat16), z)
        z = z.to(tl.bfloat16)
        tl.store(outputs + row[:, None] * NARROW + narrow[None, :], z, mask=(row < rows)[:, None])
        z = z.to(tl.float32)
        one += z
        two += z * z
    _store_sums(partial, program, programs, narrow, tl.sum(one, 0), tl.sum(two, 0), NARROW)


@triton.jit
@no_type_check
def _widen_kernel(
    inputs, scale, offset, weight, skip, outputs, rows,
    NARROW: tl.constexpr, WIDE: tl.constexpr, CHUNK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Third convolution and the sum: y + W3 ReLU(norm(u2)), for some of the wide channels."""
    wide, narrow = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK), tl.arange(0, NARROW)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    keep = (row < rows)[:, None]
    place = row[:, None] * WIDE + wide[None, :]
    u = tl.load(inputs + row[:, None] * NARROW + narrow[None, :], mask=keep, other=0.0)
    y = tl.load(skip + place, mask=keep, other=0.0)
    W = tl.load(weight + wide[None, :] * NARROW + narrow[:, None]).to(tl.bfloat16)
    z = tl.dot(_active(u, tl.load(scale + narrow), tl.load(offset + narrow)), W)
    tl.store(outputs + place, (y.to(tl.float32) + z).to(tl.bfloat16), mask=keep)


@triton.jit
@no_type_check
def _widen_backward_kernel(
    gradient, inputs, mean, scale, offset, weight, outputs, weight_partial, partial, rows,
    NARROW: tl.constexpr, WIDE: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Back through the third convolution and the ReLU before it; the gradient of W3, one part a program."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    wide, narrow = tl.arange(0, WIDE), tl.arange(0, NARROW)
    factor, shift = tl.load(scale + narrow), tl.load(offset + narrow)
    matrix = wide[:, None] * NARROW + narrow[None, :]
    W = tl.load(weight + matrix).to(tl.bfloat16)
    of_weight = tl.zeros([WIDE, NARROW], tl.float32)
    one = tl.zeros([ROWS, NARROW], tl.float32)
    two = tl.zeros([ROWS, NARROW], tl.float32)
    for start in range(program * ROWS, rows, programs * ROWS):
        row = start + tl.arange(0, ROWS)
        keep = (row < rows)[:, None]
        d = tl.load(gradient + row[:, None] * WIDE + wide[None, :], mask=keep, other=0.0)
        place = row[:, None] * NARROW + narrow[None, :]
        u = tl.load(inputs + place, mask=keep, other=0.0).to(tl.float32)
        z = u * factor[None, :] + shift[None, :]
        g = tl.where(z <= 0.0, 0.0, tl.dot(d, W)).to(tl.bfloat16)
        tl.store(outputs + place, g, mask=keep)
        g = g.to(tl.float32)
        one += g
        two += g * u
        of_weight = tl.dot(tl.trans(d), tl.where(z < 0.0, 0.0, z).to(tl.bfloat16), of_weight)
    tl.store(weight_partial + program * (WIDE * NARROW) + matrix, of_weight)
    total = tl.sum(one, 0)
    centered = tl.sum(two, 0) - total * tl.load(mean + narrow)
    _store_sums(partial, program, programs, narrow, total, centered, NARROW)


@triton.jit
@no_type_check
def _middle_backward_kernel(
    gradient, outputs, out_scale, out_slope, out_constant,
    inputs, mean, scale, offset, weight, result, weight_partial, partial, rows,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, NARROW: tl.constexpr, RUN: tl.constexpr, WINDOW: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Back through the third normalization, the 3x3 convolution and the ReLU before it.

    With runs of three pixels also the gradient of W2, one part a program.
    """
    program, programs = tl.program_id(0), tl.num_programs(0)
    column, narrow = tl.arange(0, WINDOW), tl.arange(0, NARROW)
    channel = column % NARROW
    out_factor = tl.load(out_scale + channel)
    slope, constant = tl.load(out_slope + channel), tl.load(out_constant + channel)
    factor, shift = tl.load(scale + narrow), tl.load(offset + narrow)
    inside = (column < RUN * NARROW)[:, None]
    one = tl.zeros([ROWS, NARROW], tl.float32)
    two = tl.zeros([ROWS, NARROW], tl.float32)
    if RUN == 3:
        top = tl.zeros([WINDOW, NARROW], tl.float32)
        level = tl.zeros([WINDOW, NARROW], tl.float32)
        bottom = tl.zeros([WINDOW, NARROW], tl.float32)
    for start in range(program * ROWS, rows, programs * ROWS):
        row = start + tl.arange(0, ROWS)
        keep = (row < rows)[:, None]
        center = row[:, None] * NARROW + narrow[None, :]
        u1 = tl.load(inputs + center, mask=keep, other=0.0).to(tl.float32)
        z = u1 * factor[None, :] + shift[None, :]
        da = tl.zeros([ROWS, NARROW], tl.float32)
        if RUN == 3:
            a = tl.where(z < 0.0, 0.0, z).to(tl.bfloat16)
            for tap in tl.static_range(3):
                place, exists, down, right = _run(row, tap, rows, column, NARROW, RUN, HEIGHT, WIDTH)
                g = tl.load(gradient + place, mask=exists, other=0.0)
                u = tl.load(outputs + place, mask=exists, other=0.0)
                # A pixel reaches its neighbor by the opposite tap.
                kernel = channel * (9 * NARROW) + ((2 - down) * 3 + 2 - right) * NARROW
                W = tl.load(weight + kernel[:, None] + narrow[None, :], mask=inside, other=0.0).to(tl.bfloat16)
                d = tl.where(exists, _through_norm(g, u, out_factor, slope, constant), 0.0)
                da = tl.dot(d, W, da)
                if tap == 0:
                    top = tl.dot(tl.trans(d), a, top)
                elif tap == 1:
                    level = tl.dot(tl.trans(d), a, level)
                else:
                    bottom = tl.dot(tl.trans(d), a, bottom)
        else:
            for tap in range(9):
                place, exists, down, right = _run(row, tap, rows, column, NARROW, RUN, HEIGHT, WIDTH)
                g = tl.load(gradient + place, mask=exists, other=0.0)
                u = tl.load(outputs + place, mask=exists, other=0.0)
                kernel = channel * (9 * NARROW) + ((2 - down) * 3 + 2 - right) * NARROW
                W = tl.load(weight + kernel[:, None] + narrow[None, :]).to(tl.bfloat16)
                d = tl.where(exists, _through_norm(g, u, out_factor, slope, constant), 0.0)
                da = tl.dot(d, W, da)
        g = tl.where(z <= 0.0, 0.0, da).to(tl.bfloat16)
        tl.store(result + center, g, mask=keep)
        g = g.to(tl.float32)
        one += g
        two += g * u1
    if RUN == 3:
        # Column (t, channel) of the run `down` rows away saw tap (2 - down, 2 - t) of the kernels of that channel.
        kernel = channel * (9 * NARROW) + (2 - column // NARROW) * NARROW
        part = weight_partial + program * (9 * NARROW * NARROW) + kernel[:, None] + narrow[None, :]
        tl.store(part + 6 * NARROW, top, mask=inside)
        tl.store(part + 3 * NARROW, level, mask=inside)
        tl.store(part, bottom, mask=inside)
    total = tl.sum(one, 0)
    centered = tl.sum(two, 0) - total * tl.load(mean + narrow)
    _store_sums(partial, program, programs, narrow, total, centered, NARROW)


@triton.jit
@no_type_check
def _middle_weight_kernel(
    gradient, outputs, out_scale, out_slope, out_constant, inputs, scale, offset, weight_partial, rows,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, NARROW: tl.constexpr, RUN: tl.constexpr, WINDOW: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Make the gradient of one row of the 3x3 kernels, one part a program, where blocks are too wide for more."""
    program, programs, tap = tl.program_id(0), tl.num_programs(0), tl.program_id(1)
    column, narrow = tl.arange(0, WINDOW), tl.arange(0, NARROW)
    out_factor = tl.load(out_scale + narrow)
    slope, constant = tl.load(out_slope + narrow), tl.load(out_constant + narrow)
    factor, shift = tl.load(scale + column % NARROW), tl.load(offset + column % NARROW)
    of_weight = tl.zeros([NARROW, WINDOW], tl.float32)
    for start in range(program * ROWS, rows, programs * ROWS):
        row = start + tl.arange(0, ROWS)
        keep = (row < rows)[:, None]
        place = row[:, None] * NARROW + narrow[None, :]
        g = tl.load(gradient + place, mask=keep, other=0.0)
        u = tl.load(outputs + place, mask=keep, other=0.0)
        place, exists, _, _ = _run(row, tap, rows, column, NARROW, RUN, HEIGHT, WIDTH)
        u1 = tl.load(inputs + place, mask=exists, other=0.0)
        d = tl.where(keep, _through_norm(g, u, out_factor, slope, constant), 0.0)
        of_weight = tl.dot(tl.trans(d), tl.where(exists, _active(u1, factor, shift), 0.0), of_weight)
    place = narrow[:, None] * (9 * NARROW) + tap * (3 * NARROW) + column[None, :]
    inside = (column < 3 * NARROW)[None, :]
    tl.store(weight_partial + program * (9 * NARROW * NARROW) + place, of_weight, mask=inside)


@triton.jit
@no_type_check
def _narrow_backward_kernel(
    gradient, outputs, out_scale, out_slope, out_constant, inputs, mean, scale, offset, weight,
    weight_partial, sums, rows,
    NARROW: tl.constexpr, WIDE: tl.constexpr, CHUNK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Add up what the first normalization needs on the way back, and the gradient of W1; one part a program."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    wide, narrow = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK), tl.arange(0, NARROW)
    out_factor = tl.load(out_scale + narrow)
    slope, constant = tl.load(out_slope + narrow), tl.load(out_constant + narrow)
    factor, shift = tl.load(scale + wide), tl.load(offset + wide)
    matrix = narrow[:, None] * WIDE + wide[None, :]
    W = tl.load(weight + matrix).to(tl.bfloat16)
    of_weight = tl.zeros([NARROW, CHUNK], tl.float32)
    one = tl.zeros([CHUNK], tl.float32)
    two = tl.zeros([CHUNK], tl.float32)
    for start in range(program * ROWS, rows, programs * ROWS):
        row = start + tl.arange(0, ROWS)
        keep = (row < rows)[:, None]
        place = row[:, None] * NARROW + narrow[None, :]
        g = tl.load(gradient + place, mask=keep, other=0.0)
        u = tl.load(outputs + place, mask=keep, other=0.0)
        y = tl.load(inputs + row[:, None] * WIDE + wide[None, :], mask=keep, other=0.0).to(tl.float32)
        d = tl.where(keep, _through_norm(g, u, out_factor, slope, constant), 0.0)
        z = y * factor[None, :] + shift[None, :]
        g = tl.where(z <= 0.0, 0.0, tl.dot(d, W))
        one += tl.sum(g, 0)
        two += tl.sum(g * y, 0)
        of_weight = tl.dot(tl.trans(d), tl.where(z < 0.0, 0.0, z).to(tl.bfloat16), of_weight)
    tl.store(weight_partial + program * (NARROW * WIDE) + matrix, of_weight)
    _store_sums(sums, program, programs, wide, one, two - one * tl.load(mean + wide), WIDE)


@triton.jit
@no_type_check
def _input_gradient_kernel(
    gradient, outputs, out_scale, out_slope, out_constant,
    inputs, scale, offset, slope, constant, weight, skip, result, rows,
    NARROW: tl.constexpr, WIDE: tl.constexpr, CHUNK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Back through the first normalization, and add the gradient of the skip connection."""
    wide, narrow = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK), tl.arange(0, NARROW)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    keep = (row < rows)[:, None]
    place = row[:, None] * NARROW + narrow[None, :]
    g = tl.load(gradient + place, mask=keep, other=0.0)
    u = tl.load(outputs + place, mask=keep, other=0.0)
    place = row[:, None] * WIDE + wide[None, :]
    y = tl.load(inputs + place, mask=keep, other=0.0).to(tl.float32)
    passed = tl.load(skip + place, mask=keep, other=0.0).to(tl.float32)
    W = tl.load(weight + narrow[:, None] * WIDE + wide[None, :]).to(tl.bfloat16)
    factor, shift = tl.load(scale + wide), tl.load(offset + wide)
    d = _through_norm(g, u, tl.load(out_scale + narrow), tl.load(out_slope + narrow), tl.load(out_constant + narrow))
    g = tl.where(y * factor[None, :] + shift[None, :] <= 0.0, 0.0, tl.dot(d, W))
    line = y * tl.load(slope + wide)[None, :] + tl.load(constant + wide)[None, :]
    total = passed + g * factor[None, :] + line
    tl.store(result + place, total.to(tl.bfloat16), mask=keep)


@triton.jit
@no_type_check
def _total_kernel(
    first, second, third, sums, mean, rstd, scale, results, bias_gradient, weight_gradient, slope, constant,
    first_size, second_size, third_size, channels, first_parts, second_parts, third_parts, sums_parts, values,
    PARTS: tl.constexpr, COLUMNS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Add up the parts of three weight gradients, and fold the first normalization's backward pass."""
    block = tl.program_id(0) * COLUMNS
    if block < first_size + second_size + third_size:
        partial, size, parts = first, first_size, first_parts
        start = 0
        if block >= first_size:
            partial, size, parts = second, second_size, second_parts
            start = first_size
        if block >= first_size + second_size:
            partial, size, parts = third, third_size, third_parts
            start = first_size + second_size
        column = block - start + tl.arange(0, COLUMNS)
        part = tl.arange(0, PARTS)
        total = tl.zeros([PARTS, COLUMNS], tl.float32)
        for begin in range(0, parts, PARTS):
            keep = (begin + part < parts)[:, None]
            total += tl.load(partial + (begin + part)[:, None] * size + column[None, :], mask=keep, other=0.0)
        tl.store(results + start + column, tl.sum(total, 0).to(results.dtype.element_ty))
    else:
        number = tl.program_id(0) - (first_size + second_size + third_size) // COLUMNS
        channel = number * CHANNELS + tl.arange(0, CHANNELS)
        _fold_gradients(
            sums, mean, rstd, scale, bias_gradient, weight_gradient, slope, constant, sums_parts, channels, values,
            channel, channel < channels, PARTS,
        )  # fmt: skip
