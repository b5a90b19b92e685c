r"""Batch norm, addition and ReLU as one operation with a backward pass of its own.

With torch's operations a normalized and rectified tensor is read and written nine times in a training step more than
its convolution needs, and the output of the normalization is kept for the backward pass. Here each direction has two
passes: sums over the batch, then one elementwise map. Of the large tensors only `inputs` is kept; the sign of the
output is computed again.

$$\hat u = (u - \mu) / \sqrt{\sigma^2 + \epsilon}, \qquad y = \mathrm{ReLU}(\gamma \hat u + \beta + r)$$
$$g = \bar y\,[y > 0], \quad \bar\beta = \sum g, \quad \bar\gamma = \sum g \hat u, \quad \bar r = g, \quad
\bar u = \frac{\gamma}{\sqrt{\sigma^2 + \epsilon}} \Big(g - \frac{\bar\beta}{v} - \hat u \frac{\bar\gamma}{v}\Big)$$
with u = `inputs`, r = `residual`, v the number of values a channel and a bar for the gradient of the loss.

The four passes exist twice: in torch below, for every device and dtype, and as Triton kernels in `norm_triton`. The
plain torch operations that both must equal are in `batch_norm_relu_reference`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from lamina._types import Float, Int, Tensor

Running = tuple[Tensor, Tensor, Tensor]
"""Running mean, running variance and number of batches: changed in place by a training step."""
_recording = 0


def batch_norm_relu_reference(
    inputs: Float[Tensor, "batch channel height width"],
    weight: Float[Tensor, " channel"],
    bias: Float[Tensor, " channel"],
    running: tuple[Float[Tensor, " channel"], Float[Tensor, " channel"], Int[Tensor, ""]] | None = None,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    residual: Float[Tensor, "batch channel height width"] | None = None,
    relu: bool = True,
) -> Float[Tensor, "batch channel height width"]:
    """Normalize over the batch, add a residual and rectify, by torch's operations one after the other.

    Args:
        inputs: feature maps.
        weight: the learned scale.
        bias: the learned shift.
        running: running mean, running variance and number of batches, changed in place.
        momentum: the weight of this batch in the running statistics.
        eps: keeps the root away from zero.
        residual: what is added before the ReLU.
        relu: whether negative values become zero.

    >>> u = torch.tensor([1.0, 3.0]).reshape(2, 1, 1, 1)
    >>> batch_norm_relu_reference(u, torch.ones(1), torch.zeros(1)).round(decimals=3).flatten().tolist()
    [0.0, 1.0]
    """
    mean, variance = (None, None) if running is None else running[:2]
    if running is not None:
        running[2].add_(1)
    y = nn.functional.batch_norm(inputs, mean, variance, weight, bias, True, momentum, eps)
    y = y if residual is None else residual + y
    return torch.relu(y) if relu else y


def batch_norm_relu(
    inputs: Float[Tensor, "batch channel height width"],
    weight: Float[Tensor, " channel"],
    bias: Float[Tensor, " channel"],
    running: tuple[Float[Tensor, " channel"], Float[Tensor, " channel"], Int[Tensor, ""]] | None = None,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    residual: Float[Tensor, "batch channel height width"] | None = None,
    relu: bool = True,
) -> Float[Tensor, "batch channel height width"]:
    """Normalize over the batch, add a residual and rectify, as one operation.

    Equals `batch_norm_relu_reference`. On CUDA, channels-last float32 or bfloat16 maps go through Triton kernels.

    Args:
        inputs: feature maps.
        weight: the learned scale.
        bias: the learned shift.
        running: running mean, running variance and number of batches, changed in place.
        momentum: the weight of this batch in the running statistics.
        eps: keeps the root away from zero.
        residual: what is added before the ReLU.
        relu: whether negative values become zero; a residual is always rectified.

    >>> u = torch.tensor([1.0, 3.0]).reshape(2, 1, 1, 1)
    >>> batch_norm_relu(u, torch.ones(1), torch.zeros(1)).round(decimals=3).flatten().tolist()
    [0.0, 1.0]
    """
    y: Tensor = _NormRelu.apply(inputs, weight, bias, residual, running, momentum, eps, relu)
    return y


def batch_norm_relu_and_skip(
    inputs: Float[Tensor, "batch channel height width"],
    weight: Float[Tensor, " channel"],
    bias: Float[Tensor, " channel"],
    running: tuple[Float[Tensor, " channel"], Float[Tensor, " channel"], Int[Tensor, ""]] | None = None,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[Float[Tensor, "batch channel height width"], Float[Tensor, "batch channel height width"]]:
    """Return the normalized and rectified inputs and, for a skip connection, the inputs.

    In the backward pass the gradients of branch and skip connection are added while that of the normalization is
    written, instead of in a pass of their own.

    Args:
        inputs: feature maps.
        weight: the learned scale.
        bias: the learned shift.
        running: running mean, running variance and number of batches, changed in place.
        momentum: the weight of this batch in the running statistics.
        eps: keeps the root away from zero.

    >>> u = torch.tensor([1.0, 3.0]).reshape(2, 1, 1, 1)
    >>> [y.round(decimals=3).flatten().tolist() for y in batch_norm_relu_and_skip(u, torch.ones(1), torch.zeros(1))]
    [[0.0, 1.0], [1.0, 3.0]]
    """
    active, skip = _NormReluSkip.apply(inputs, weight, bias, running, momentum, eps)
    return active, skip


class _NormRelu(torch.autograd.Function):
    """ReLU(batch norm + residual)."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, residual: Tensor | None, running: Running | None,
        momentum: float, eps: float, relu: bool,
    ) -> Tensor:  # fmt: skip
        ctx.do = do = passes(inputs)
        mean, rstd = do.statistics(inputs, running, momentum, eps)
        residual = residual if residual is None else _like(residual, inputs)
        outputs: Tensor = do.apply(inputs, mean, rstd, weight, bias, residual, relu)
        ctx.save_for_backward(inputs, mean, rstd, weight, bias, None if residual is None else outputs)
        ctx.relu = relu
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, mean, rstd, weight, bias, outputs = ctx.saved_tensors
        do, gradient = ctx.do, _like(gradient, inputs)
        of_bias, of_weight, masked = do.reduce(gradient, inputs, outputs, mean, rstd, weight, bias, ctx.relu)
        hidden = ctx.relu and outputs is None
        of_inputs = do.input_gradient(masked, inputs, None, mean, rstd, weight, bias, of_bias, of_weight, hidden)
        of_residual = None if outputs is None else masked
        return of_inputs, of_weight, of_bias, of_residual, None, None, None, None


class _NormReluSkip(torch.autograd.Function):
    """ReLU(batch norm), and the input itself."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, running: Running | None, momentum: float, eps: float
    ) -> tuple[Tensor, Tensor]:
        ctx.do = do = passes(inputs)
        mean, rstd = do.statistics(inputs, running, momentum, eps)
        outputs: Tensor = do.apply(inputs, mean, rstd, weight, bias, None, True)
        ctx.save_for_backward(inputs, mean, rstd, weight, bias)
        return outputs, inputs.view_as(inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, skip: Tensor) -> tuple[Tensor | None, ...]:
        inputs, mean, rstd, weight, bias = ctx.saved_tensors
        do, gradient, skip = ctx.do, _like(gradient, inputs), _like(skip, inputs)
        of_bias, of_weight, _ = do.reduce(gradient, inputs, None, mean, rstd, weight, bias, True)
        of_inputs = do.input_gradient(gradient, inputs, skip, mean, rstd, weight, bias, of_bias, of_weight, True)
        return of_inputs, of_weight, of_bias, None, None, None


def _like(tensor: Tensor, inputs: Tensor) -> Tensor:
    """Give a tensor the memory layout of the inputs, where it has another."""
    if tensor.stride() == inputs.stride():
        return tensor
    return torch.empty_like(inputs, dtype=tensor.dtype).copy_(tensor)


@contextmanager
def recorded_kernels() -> Iterator[None]:
    """Let the Triton kernels run in this block: while a CUDA graph is warmed up and recorded.

    Launched one by one from Python they take longer than torch's operations, because each launch costs more than the
    work. Replayed from a graph a launch costs nothing.

    >>> with recorded_kernels():
    ...     pass
    """
    global _recording
    _recording += 1
    try:
        yield
    finally:
        _recording -= 1


def kernels_apply(inputs: Tensor) -> bool:
    """Say whether the Triton kernels serve this tensor: channels-last float32 or bfloat16 maps, to be recorded on CUDA.

    >>> kernels_apply(torch.zeros(2, 3, 4, 4))
    False
    """
    return (
        _recording > 0
        and inputs.is_cuda
        and inputs.ndim == 4
        and inputs.dtype in (torch.float32, torch.bfloat16)
        and inputs.is_contiguous(memory_format=torch.channels_last)
        and inputs.numel() < 2**31
        and kernels() is not None
    )


@cache
def kernels() -> Any:
    """Import the kernels, not before a CUDA tensor needs them; None without triton, which torch's CUDA builds bring."""
    try:
        return import_module("lamina.kernels.norm_triton")
    except ImportError:
        return None


def passes(inputs: Tensor) -> Any:
    """Choose the kernels where they apply, else the same passes in torch."""
    return kernels() if kernels_apply(inputs) else _Plain


class _Plain:
    """The four passes in torch: the formulas at the top of this file."""

    @staticmethod
    def statistics(inputs: Tensor, running: Running | None, momentum: float, eps: float) -> tuple[Tensor, Tensor]:
        exact = inputs.to(_accumulator(inputs))
        variance, mean = torch.var_mean(exact, (0, 2, 3), correction=0)
        if running is not None:
            values = inputs.numel() // inputs.shape[1]
            running[0].mul_(1 - momentum).add_(mean, alpha=momentum)
            running[1].mul_(1 - momentum).add_(variance, alpha=momentum * values / (values - 1))
            running[2].add_(1)
        return mean, (variance + eps).rsqrt()

    @staticmethod
    def apply(
        inputs: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor, bias: Tensor, residual: Tensor | None, relu: bool
    ) -> Tensor:
        z = (inputs - _spread(mean)) * _spread(rstd * weight) + _spread(bias)
        z = z if residual is None else z + residual
        return (z.relu() if relu else z).to(inputs.dtype)

    @staticmethod
    def reduce(
        gradient: Tensor, inputs: Tensor, outputs: Tensor | None, mean: Tensor, rstd: Tensor, weight: Tensor,
        bias: Tensor, relu: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        masked = gradient
        if relu:
            signs = _Plain.apply(inputs, mean, rstd, weight, bias, None, False) if outputs is None else outputs
            masked = gradient.where(signs > 0, 0)
        g = masked.to(_accumulator(inputs))
        of_weight = (g * (inputs - _spread(mean))).sum((0, 2, 3)) * rstd
        return g.sum((0, 2, 3)), of_weight, gradient if outputs is None else masked

    @staticmethod
    def input_gradient(
        gradient: Tensor, inputs: Tensor, skip: Tensor | None, mean: Tensor, rstd: Tensor, weight: Tensor, bias: Tensor,
        bias_gradient: Tensor, weight_gradient: Tensor, relu: bool,
    ) -> Tensor:  # fmt: skip
        centered, values = inputs - _spread(mean), inputs.numel() // inputs.shape[1]
        g = gradient
        if relu:
            g = gradient.where(centered * _spread(rstd * weight) + _spread(bias) > 0, 0)
        of_inputs = g - _spread(bias_gradient / values) - centered * _spread(rstd * weight_gradient / values)
        of_inputs = of_inputs * _spread(rstd * weight)
        return (of_inputs if skip is None else of_inputs + skip).to(inputs.dtype)


def _spread(values: Tensor) -> Tensor:
    return values.reshape(1, -1, 1, 1)


def _accumulator(inputs: Tensor) -> torch.dtype:
    return torch.float64 if inputs.dtype == torch.float64 else torch.float32
