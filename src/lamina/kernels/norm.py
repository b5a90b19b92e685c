r"""Batch norm, addition and ReLU as one operation with a backward pass of its own.

With torch's operations a normalized and rectified tensor is read and written nine times in a training step more than
its convolution needs, and the output of the normalization is kept for the backward pass. Here each direction has two
passes: sums over the batch, then one elementwise map. Of the large tensors only `inputs` is kept; the sign of the
output is computed again.

$$\hat u = (u - \mu) / \sqrt{\sigma^2 + \epsilon}, \qquad y = \mathrm{ReLU}(\gamma \hat u + \beta + r)$$
$$g = \bar y\,[y > 0], \quad \bar\beta = \sum g, \quad \bar\gamma = \sum g \hat u, \quad \bar r = g, \quad
\bar u = \frac{\gamma}{\sqrt{\sigma^2 + \epsilon}} \Big(g - \frac{\bar\beta}{v} - \hat u \frac{\bar\gamma}{v}\Big)$$
with u = `inputs`, r = `residual`, v the number of values a channel and a bar for the gradient of the loss.

The four passes are Triton kernels in `_norm_triton`. Tests compare them with `layers.normalization.norm_relu` and its
neighbors.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from lamina._types import Float, Tensor
from lamina.kernels.loading import with_triton

Running = tuple[Tensor, Tensor, Tensor]
"""Running mean, running variance and number of batches: changed in place by a training step."""
Values = tuple[Tensor, Tensor, Running | None, float, float]
"""Weight, bias, running statistics (None when they stay), momentum and eps of a batch normalization."""
_recording = 0


def batch_norm_relu(
    inputs: Float[Tensor, "batch channel height width"],
    values: Values,
    residual: Float[Tensor, "batch channel height width"] | None = None,
    relu: bool = True,
) -> Float[Tensor, "batch channel height width"]:
    """Normalize over the batch, add a residual and rectify, as one operation.

    Args:
        inputs: feature maps for which `kernels_apply`.
        values: those of the normalization.
        residual: what is added before the ReLU.
        relu: whether negative values become zero; a residual is always rectified.
    """
    y: Tensor = _NormRelu.apply(inputs, *values[:2], residual, *values[2:], relu)[0]
    return y


def batch_norm_relu_and_skip(
    inputs: Float[Tensor, "batch channel height width"], values: Values
) -> tuple[Float[Tensor, "batch channel height width"], Float[Tensor, "batch channel height width"]]:
    """Return the normalized and rectified inputs and, for a skip connection, the inputs.

    In the backward pass the gradients of branch and skip connection are added while that of the normalization is
    written, instead of in a pass of their own.

    Args:
        inputs: feature maps for which `kernels_apply`.
        values: those of the normalization.
    """
    active, skip = _NormRelu.apply(inputs, *values[:2], None, *values[2:], True)
    return active, skip


class _NormRelu(torch.autograd.Function):
    """ReLU(batch norm + residual), and the input itself, whose gradient is None where nobody uses it."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, residual: Tensor | None, running: Running | None,
        momentum: float, eps: float, relu: bool,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        do = with_triton("_norm_triton")
        mean, rstd = do.statistics(inputs, running, momentum, eps)
        residual = None if residual is None else _like(residual, inputs)
        outputs: Tensor = do.apply(inputs, mean, rstd, weight, bias, residual, relu)
        ctx.save_for_backward(inputs, mean, rstd, weight, bias, None if residual is None else outputs)
        ctx.relu = relu
        ctx.set_materialize_grads(False)
        return outputs, inputs.view_as(inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor | None, skip: Tensor | None) -> tuple[Tensor | None, ...]:
        inputs, mean, rstd, weight, bias, outputs = ctx.saved_tensors
        if gradient is None:
            return skip, *[None] * 7
        do, gradient = with_triton("_norm_triton"), _like(gradient, inputs)
        of_bias, of_weight, masked = do.reduce(gradient, inputs, outputs, mean, rstd, weight, bias, ctx.relu)
        skip, hidden = None if skip is None else _like(skip, inputs), ctx.relu and outputs is None
        of_inputs = do.input_gradient(masked, inputs, skip, mean, rstd, weight, bias, of_bias, of_weight, hidden)
        return of_inputs, of_weight, of_bias, None if outputs is None else masked, *[None] * 4


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
        and with_triton("_norm_triton") is not None
    )
