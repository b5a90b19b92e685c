"""Products, sums and convolutions of K members in an order that the shapes of one member decide.

Whoever computes by these feels neither K nor its place in the stack. On a CPU they need a C++ compiler and float32 or
float64 (`kernels/products.cpp`), on CUDA triton and float32 (`kernels/products_triton.py`). Elsewhere `ready` says no,
and torch computes.
"""

import ctypes
import functools
import importlib
import importlib.resources
from typing import Any

import torch

from lamina._types import Float, Tensor
from lamina.populations import native

ACTIVATIONS = ("identity", "relu", "sigmoid", "tanh", "scaled_tanh", "leaky_relu")
"""In the order of their numbers in `products.cpp` and of the macro ACT in `convolution.cu`."""

WANTED = {"cpu": True, "cuda": False}
"""On which devices members are computed in this way, and where by torch, which may choose by the number of members."""


def ready(tensor: Tensor) -> bool:
    """Say whether these functions compute with tensors such as this one."""
    if not WANTED.get(tensor.device.type, False):
        return False
    if tensor.is_cuda:
        return tensor.dtype == torch.float32 and _triton() is not None
    return tensor.dtype in (torch.float32, torch.float64) and native.works()


@functools.cache
def _triton() -> Any:
    """Import the kernels, not before a CUDA tensor needs them; None without triton, which torch's CUDA builds bring."""
    try:
        return importlib.import_module("lamina.kernels.products_triton")
    except ModuleNotFoundError:
        return None


@functools.cache
def _library(dtype: torch.dtype) -> Any:
    text = importlib.resources.files("lamina.kernels").joinpath("products.cpp").read_text(encoding="utf-8")
    return native.compile_native(text, {"DOUBLE": int(dtype == torch.float64)})


def call(name: str, dtype: torch.dtype, *arguments: Tensor | int | ctypes.Structure | None) -> None:
    """Call a function with pointers and 64-bit integers; the last of them is how many threads it may use."""
    function = getattr(_library(dtype), name)
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
        found: Tensor = _triton().product(left, right, shift, ACTIVATIONS.index(activation), precise)
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
        both: tuple[Tensor, Tensor] = _triton().differentiate(g, y, ACTIVATIONS.index(activation))
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
