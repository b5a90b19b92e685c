"""Products, sums and convolutions of K members in an order that the shapes of one member decide.

Whoever computes by these feels neither K nor its place in the stack. On a CPU they need a C++ compiler and float32 or
float64 (`products.cpp`), on CUDA triton and float32 (`_products_triton`). Elsewhere `ready` says no,
and torch computes.
"""

import ctypes
from typing import Any

import torch

from lamina._types import Float, Tensor
from lamina.kernels import native
from lamina.kernels.loading import with_triton

ACTIVATIONS = ("identity", "relu", "sigmoid", "tanh", "scaled_tanh", "leaky_relu")
"""In the order of their numbers in `panels.cpp` and of the macro ACT in `convolution.cu`."""

WANTED = {"cpu": True, "cuda": True}
"""On which devices members are computed in this way, and where by torch, which may choose by the number of members."""


def ready(tensor: Tensor) -> bool:
    """Say whether these functions compute with tensors such as this one."""
    if not WANTED.get(tensor.device.type, False):
        return False
    if tensor.is_cuda:
        return tensor.dtype == torch.float32 and with_triton("_products_triton") is not None
    return tensor.dtype in (torch.float32, torch.float64) and native.works()


def call(name: str, dtype: torch.dtype, *arguments: Tensor | int | ctypes.Structure | None) -> None:
    """Call a function with pointers and 64-bit integers; the last of them is how many threads it may use."""
    function = getattr(native.library("products.cpp", (("DOUBLE", int(dtype == torch.float64)),)), name)
    function.restype = None
    given: list[Any] = []
    for value in (*arguments, torch.get_num_threads()):
        if isinstance(value, ctypes.Structure):
            given.append(ctypes.byref(value))
        else:
            given.append(ctypes.c_longlong(value) if isinstance(value, int) else native.pointer(value))
    function(*given)


def product(
    left: Float[Tensor, "members row sum"],
    right: Float[Tensor, "members sum column"] | Float[Tensor, "sum column"],
    bias: Float[Tensor, "members row"] | None = None,
    activation: str = "identity",
) -> Float[Tensor, "members row column"]:
    r"""Multiply K pairs of matrices, or K matrices by one, $\sigma(A_k B_k + b_k)$; every sum from its first term on.

    >>> product(torch.tensor([[[1.0, 2.0]]]), torch.tensor([[3.0], [4.0]]), torch.tensor([[-12.0]]), "relu").tolist()
    [[[0.0]]]
    """
    if left.is_cuda:
        precise, shift = not torch.backends.cuda.matmul.allow_tf32, None if bias is None else bias.contiguous()
        kernels, which = with_triton("_products_triton"), ACTIVATIONS.index(activation)
        found: Tensor = kernels.product(left, right, shift, which, precise)
        return found
    members, rows, size = left.shape
    columns = right.shape[-1]
    outputs = left.new_empty(members, rows, columns)
    strides = (0 if right.ndim == 2 else right.stride(0)), right.stride(-2), right.stride(-1)
    shift = None if bias is None else bias.contiguous()
    which = ACTIVATIONS.index(activation)
    call("product", left.dtype, members, rows, columns, size, left, *left.stride(), right, *strides, shift, which,
          outputs)  # fmt: skip
    return outputs


def differentiate(
    grad: Float[Tensor, "members row column"], values: Float[Tensor, "members row column"] | None, activation: str
) -> tuple[Float[Tensor, "members row column"], Float[Tensor, "members row"]]:
    """Give the gradient before an activation, from that behind it and the activation's values, and its sums of rows."""
    g = grad.contiguous()
    linear = values is None or activation == "identity"
    y = None if linear or values is None else values.contiguous()
    if g.is_cuda:
        both: tuple[Tensor, Tensor] = with_triton("_products_triton").differentiate(g, y, ACTIVATIONS.index(activation))
        return both
    found, sums = g if linear else torch.empty_like(g), g.new_empty(g.shape[:2])
    call("differentiate", g.dtype, sums.numel(), g.shape[2], g, y, ACTIVATIONS.index(activation),
          None if linear else found, sums)  # fmt: skip
    return found, sums


class _Activated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, activation: str) -> Tensor:
        z, y = inputs, torch.empty_like(inputs)
        if y.stride() != z.stride():  # what is spread out or overlaps lies densely afterwards
            z = z.contiguous()
            y = torch.empty_like(z)
        call("activate", z.dtype, z.numel(), z, ACTIVATIONS.index(activation), None, y)
        ctx.save_for_backward(y)
        ctx.activation = activation
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (y,) = ctx.saved_tensors
        g = torch.empty_like(y).copy_(grads[0])
        call("activate", g.dtype, g.numel(), y, ACTIVATIONS.index(ctx.activation), g, g)
        return g, None


def activated(inputs: Float[Tensor, "..."], activation: str) -> Float[Tensor, "..."]:
    """Apply one of `ACTIVATIONS`, every entry by the same instructions.

    >>> activated(torch.tensor([-1.0, 2.0]), "relu").tolist()
    [0.0, 2.0]
    """
    outputs: Tensor = _Activated.apply(inputs, activation)
    return outputs


def sum_by_halves(values: Tensor) -> Tensor:
    """Add up along the first axis, one half to the other: an order that its length alone decides.

    >>> sum_by_halves(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).tolist()
    [9.0, 12.0]
    """
    while len(values) > 1:
        pairs = len(values) // 2
        sums = values[:pairs] + values[-pairs:]
        values = torch.cat([sums, values[pairs : pairs + 1]]) if len(values) % 2 else sums
    return values[0]


def squares_of_members(values: Tensor) -> Tensor:
    """Add up the squares of each member in float64; the first axis counts members, and no sum depends on how many.

    >>> squares_of_members(torch.tensor([[3.0, 4.0], [1.0, 1.0]])).tolist()
    [25.0, 2.0]
    """
    if not values.is_cuda and ready(values):
        sums = torch.empty(len(values), dtype=torch.float64)
        call("squares", values.dtype, len(values), values.numel() // max(1, len(values)), values.contiguous(), sums)
        return sums
    parts = values.flatten(1).mT.split(2**14)  # in parts, since float64 copies of all of them may not fit
    return sum_by_halves(torch.stack([sum_by_halves(part.double().square()) for part in parts]))
