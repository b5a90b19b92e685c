r"""A pre-activation bottleneck block as one operation, for training in bfloat16 on CUDA.

$$u_1 = W_1 a(y), \quad u_2 = W_2 a(u_1), \quad y' = y + W_3 a(u_2), \qquad a(u) = \mathrm{ReLU}(\mathrm{BN}(u))$$
Kept for the backward pass are y, u_1 and u_2; each a(u) is computed again where it is needed. The kernels are in
`_bottleneck_kernels_triton`; `layers.bottleneck.PreActBottleneck` is the block that they must equal within rounding.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from lamina._types import Float, Tensor
from lamina.kernels.loading import with_triton
from lamina.kernels.norm import Values, kernels_apply


@cache
def _roomy(device: torch.device) -> bool:
    """Say whether a multiprocessor has the 176 KiB of fast memory that the kernels take: Hopper and later servers."""
    properties: Any = torch.cuda.get_device_properties(device)
    return bool(properties.shared_memory_per_block_optin >= 176 * 1024)


def block_kernels_apply(inputs: Tensor, weights: Sequence[Tensor]) -> bool:
    """Say whether the kernels serve a block: bfloat16 maps of 64, 128 or 256 channels.

    >>> block_kernels_apply(torch.zeros(1, 64, 4, 4), [torch.zeros(16, 64, 1, 1)])
    False
    """
    return (
        inputs.dtype == torch.bfloat16
        and inputs.shape[1] in (64, 128, 256)
        and all(weight.dtype in (torch.float32, torch.bfloat16) for weight in weights)
        and weights[1].is_contiguous(memory_format=torch.channels_last)
        and kernels_apply(inputs)
        and _roomy(inputs.device)
    )


def bottleneck(
    inputs: Float[Tensor, "batch channel height width"], norms: Sequence[Values], weights: Sequence[Tensor]
) -> Float[Tensor, "batch channel height width"]:
    """Apply a pre-activation bottleneck block with an identity shortcut.

    Args:
        inputs: feature maps for which `block_kernels_apply`.
        norms: the three batch normalizations, each before its convolution.
        weights: the kernels of the 1x1, the 3x3 (channels-last) and the 1x1 convolution.
    """
    affine = [tensor for norm in norms for tensor in norm[:2]]
    outputs: Tensor = _Bottleneck.apply(inputs, *weights, *affine, [norm[2:] for norm in norms])
    return outputs


class _Bottleneck(torch.autograd.Function):
    """y + W3 a(W2 a(W1 a(y)))."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, *rest: Any) -> Tensor:
        weights, affine, tracked = rest[:3], rest[3:9], rest[9]
        pairs = list(zip(affine[::2], affine[1::2], strict=True))
        kernels = with_triton("_bottleneck_triton")
        kernels.prepare(inputs, weights)
        outputs, maps, norms = kernels.forward(inputs, pairs, weights, tracked)
        ctx.save_for_backward(*maps, *weights, *(tensor for norm in norms for tensor in norm))
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        maps, weights, norms = saved[:3], saved[3:6], [saved[start : start + 4] for start in (6, 10, 14)]
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        of_inputs, affine, kernel_gradients = with_triton("_bottleneck_triton").backward(gradient, maps, norms, weights)
        return of_inputs, *kernel_gradients, *(tensor for pair in affine for tensor in pair), None
