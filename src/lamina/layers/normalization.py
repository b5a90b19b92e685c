"""Local response normalization in the notes' two forms, and batch norm with the full matrix that the notes print.

Ordinary batch norm is torch's: `nn.BatchNorm1d` and `nn.BatchNorm2d` equal `functional.normalization.batch_norm`.
"""

from torch import nn

from lamina._errors import at_least
from lamina._types import Float, Seed, Tensor
from lamina.functional.activations import relu
from lamina.functional.normalization import check_response_constants, local_response_norm, local_response_norm_within
from lamina.layers import _fused as fused
from lamina.layers._fused import served_by
from lamina.layers.initialized import linear


class _ResponseNorm(nn.Module):
    """What both forms share: the constants."""

    def __init__(self, size: int = 5, kappa: float = 2.0, gamma: float = 1e-4, beta: float = 0.75) -> None:
        super().__init__()
        check_response_constants(size, kappa)
        self.size, self.kappa, self.gamma, self.beta = size, kappa, gamma, beta

    def extra_repr(self) -> str:
        """Show the constants."""
        return f"{self.size}, kappa={self.kappa}, gamma={self.gamma}, beta={self.beta}"


class LocalResponseNorm(_ResponseNorm):
    r"""Divide every activity by a power of the squared activities at the same place in neighboring channels.

    $$\hat Y_{ijk} = Y_{ijk} \left(\kappa + \gamma \sum\nolimits_m Y_{ijm}^2\right)^{-\beta}, \qquad |m-k| \le n/2$$
    The defaults are AlexNet's. There is nothing to learn.

    Notes: N3.51, N3.52, N3.55 (§3.5).
    Differs: torch.nn.LocalResponseNorm divides gamma by its size; its window for even n is one channel smaller (E53).

    Args:
        size: the number n of neighboring channels, floor(n/2) on either side.
        kappa: avoids division by zero.
        gamma: the normalization constant, not divided by n.
        beta: the contrasting constant.

    >>> import torch
    >>> round(LocalResponseNorm()(torch.full((1, 1, 1, 1), 10.0)).item(), 2)
    5.92
    """

    stackable = True

    def forward(
        self, inputs: Float[Tensor, "*batch channel height width"]
    ) -> Float[Tensor, "*batch channel height width"]:
        """Return the normalized images."""
        return local_response_norm(inputs, self.size, self.kappa, self.gamma, self.beta)


class LocalResponseNormWithin(_ResponseNorm):
    r"""Divide every activity by a power of the squared activities around it in its own channel.

    $$\hat Y_{ijk} = Y_{ijk} \left(\kappa + \gamma \sum\nolimits_{p,q} Y_{pqk}^2\right)^{-\beta},
    \qquad |p-i|, |q-j| \le n/2$$
    There is nothing to learn.

    Notes: N3.52, N3.54, N3.55 (§3.5).
    Differs: torch has no such layer.

    The arguments are those of `LocalResponseNorm`; n counts the neighbors in either direction.

    >>> import torch
    >>> round(LocalResponseNormWithin(size=2)(torch.full((1, 1, 3, 3), 10.0))[0, 0, 1, 1].item(), 2)
    5.75
    """

    stackable = True

    def forward(
        self, inputs: Float[Tensor, "*batch channel height width"]
    ) -> Float[Tensor, "*batch channel height width"]:
        """Return the normalized images."""
        return local_response_norm_within(inputs, self.size, self.kappa, self.gamma, self.beta)


class FullAffineBatchNorm(nn.Module):
    r"""Normalize every feature over the batch, then apply a full matrix: the layer that the notes print.

    $$y_j^{[l+1]} = W \hat y_j + b, \qquad W \in \mathbb R^{n_{l+1} \times n_l}$$
    An illustration of E05: it is batch norm without learned scale, followed by a dense layer, and has n^2 + n variables
    where batch norm has 2n.

    Notes: N2.40 (§2.3), as printed.
    Differs: torch.nn.BatchNorm1d learns one scale and one shift per feature.

    Args:
        features: the number n_l of features.
        out_features: the number n_{l+1} of outputs; as many as features when absent.
        eps: keeps the root away from zero.
        momentum: the weight of a new batch in the running statistics.
        initialization: one of `functional.initialization.INITIALIZATIONS`.
        seed: an integer, or a generator that is advanced.

    >>> sum(p.numel() for p in FullAffineBatchNorm(5).parameters())
    30
    """

    stackable = True

    def __init__(
        self,
        features: int,
        out_features: int | None = None,
        *,
        eps: float = 1e-5,
        momentum: float = 0.1,
        initialization: str = "xavier",
        seed: Seed = 0,
    ) -> None:
        super().__init__()
        at_least("features", features, 1)
        outputs = features if out_features is None else out_features
        at_least("out_features", outputs, 1)
        self.normalization = nn.BatchNorm1d(features, eps=eps, momentum=momentum, affine=False)
        self.affine = linear(features, outputs, initialization=initialization, seed=seed)

    def forward(self, inputs: Float[Tensor, "*#batch feature"]) -> Float[Tensor, "*batch label"]:
        """Return the outputs; statistics are the batch's while training, the running ones in evaluation."""
        return self.affine(self.normalization(inputs))


@served_by(fused.norm_relu)
def norm_relu(
    norm: nn.Module,
    inputs: Float[Tensor, "*#batch channel height width"],
    residual: Float[Tensor, "*#batch channel height width"] | None = None,
) -> Float[Tensor, "*batch channel height width"]:
    """Normalize feature maps, add a residual, rectify.

    Args:
        norm: the `nn.BatchNorm2d` whose parameters and running statistics are used.
        inputs: feature maps.
        residual: what is added before the ReLU.

    >>> import torch
    >>> u = torch.tensor([1.0, 3.0]).reshape(2, 1, 1, 1)
    >>> norm_relu(nn.BatchNorm2d(1), u).round(decimals=3).flatten().tolist()
    [0.0, 1.0]
    """
    y = norm(inputs)
    return relu(y if residual is None else residual + y)


@served_by(fused.norm_relu_and_skip)
def norm_relu_and_skip(
    norm: nn.Module, inputs: Float[Tensor, "*#batch channel height width"]
) -> tuple[Float[Tensor, "*batch channel height width"], Float[Tensor, "*#batch channel height width"]]:
    """Normalize and rectify feature maps; return them and, for the skip connection, the maps that came.

    Args:
        norm: the `nn.BatchNorm2d` whose parameters and running statistics are used.
        inputs: feature maps.

    >>> import torch
    >>> active, skip = norm_relu_and_skip(nn.BatchNorm2d(1), torch.tensor([1.0, 3.0]).reshape(2, 1, 1, 1))
    >>> active.round(decimals=3).flatten().tolist(), skip.flatten().tolist()
    ([0.0, 1.0], [1.0, 3.0])
    """
    return relu(norm(inputs)), inputs


@served_by(fused.normalized)
def normalized(norm: nn.Module, inputs: Float[Tensor, "*batch channel height width"]) -> Tensor:
    """Normalize feature maps.

    >>> import torch
    >>> normalized(nn.BatchNorm2d(1), torch.tensor([1.0, 3.0]).reshape(2, 1, 1, 1)).round(decimals=3).flatten().tolist()
    [-1.0, 1.0]
    """
    return norm(inputs)
