"""Products and sums of K small networks on CUDA, in an order that the shapes of one network decide.

Members lie along an axis of the grid, and tiles are chosen by the sizes of one product without its columns: neither K
nor the size of a batch changes how a sum is made. Import this module only where triton is installed.
"""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
@no_type_check
def _activated(z, ACT: tl.constexpr):
    if ACT == 1:
        z = tl.where(z > 0, z, tl.where(z == z, 0.0, z))
    elif ACT == 2:
        z = 1 / (1 + tl.exp(-z))
    elif ACT == 3:
        z = libdevice.tanh(z)
    return z


@triton.jit
@no_type_check
def _product_kernel(
    left, right, bias, outputs, rows, columns, size, a_member, a_row, a_sum, b_member, b_sum, b_column,
    ACT: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, SUM: tl.constexpr,
):  # fmt: skip
    member, tiles = tl.program_id(1).to(tl.int64), tl.cdiv(columns, COLUMNS)
    row = tl.program_id(0) // tiles * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) % tiles * COLUMNS + tl.arange(0, COLUMNS)
    inner = tl.arange(0, SUM)
    a = left + member * a_member + row[:, None] * a_row + inner[None, :] * a_sum
    b = right + member * b_member + inner[:, None] * b_sum + column[None, :] * b_column
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, size, SUM):
        inside = inner < size - start
        u = tl.load(a, mask=(row < rows)[:, None] & inside[None, :], other=0.0)
        v = tl.load(b, mask=inside[:, None] & (column < columns)[None, :], other=0.0)
        total = tl.dot(u, v, total, input_precision=PRECISION)
        a += SUM * a_sum
        b += SUM * b_sum
    if bias is not None:
        total += tl.load(bias + member * rows + row, mask=row < rows, other=0.0)[:, None]
    total = _activated(total, ACT)
    to = outputs + (member * rows + row[:, None]) * columns + column[None, :]
    tl.store(to, total, mask=(row < rows)[:, None] & (column < columns)[None, :])


def product(
    left: torch.Tensor, right: torch.Tensor, bias: torch.Tensor | None, act: int, precise: bool
) -> torch.Tensor:
    """Multiply K matrices [member, row, sum] by K others, or by one that all share; shift and activate (0 to 3)."""
    members, rows, size = left.shape
    if right.ndim == 2 and right.stride(0) != 1:  # the tensor cores read both factors along the sum
        right = right.mT.contiguous().mT
    columns = right.shape[-1]
    outputs = left.new_empty(members, rows, columns)
    high = min(128, max(16, triton.next_power_of_2(rows)))
    deep = 16 if size <= 16 else 32
    strides = 0 if right.ndim == 2 else right.stride(0), right.stride(-2), right.stride(-1)
    grid = triton.cdiv(rows, high) * triton.cdiv(columns, 128), members
    _product_kernel[grid](
        left, right, bias, outputs, rows, columns, size, *left.stride(), *strides,
        ACT=act, PRECISION="tf32x3" if precise else "tf32", ROWS=high, COLUMNS=128, SUM=deep,
        num_warps=8 if high == 128 else 4, num_stages=3,
    )  # fmt: skip
    return outputs


@triton.jit(do_not_specialize=["rows"])
@no_type_check
def _differentiate_kernel(
    grad, values, outputs, sums, rows, columns, ACT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, columns, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        at = row[:, None] * columns + column[None, :]
        g = tl.load(grad + at, mask=inside, other=0.0)
        if ACT != 0:
            y = tl.load(values + at, mask=inside, other=0.0)
            if ACT == 1:
                g = tl.where(y <= 0, 0.0, g)
            elif ACT == 2:
                g = g * (y * (1 - y))
            else:
                g = g * (1 - y * y)
            tl.store(outputs + at, g, mask=inside)
        total += g
    tl.store(sums + row, tl.sum(total, 1), mask=row < rows)


def differentiate(grad: torch.Tensor, values: torch.Tensor | None, act: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Give the gradient before an activation (0 to 3), from its values, and its sums of rows [member, row]."""
    outputs, sums = torch.empty_like(grad) if act else grad, grad.new_empty(grad.shape[:2])
    rows, columns = sums.numel(), grad.shape[2]
    _differentiate_kernel[(triton.cdiv(rows, 16),)](
        grad, values, outputs, sums, rows, columns, ACT=act, ROWS=16, COLUMNS=128, num_warps=4
    )
    return outputs, sums
