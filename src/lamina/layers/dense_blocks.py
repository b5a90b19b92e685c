"""Residual blocks whose weights are dense layers: the same two orders as in `residual_blocks`, for vectors."""

from functools import partial

import torch
from torch import nn

from lamina._types import Float, Seed, Tensor
from lamina.functional.activations import relu
from lamina.functional.random import as_generator
from lamina.layers.initialized import linear


class DenseOriginalBlock(nn.Module):
    r"""Add a branch of two dense layers to a vector and rectify the sum.

    $$y^{[l]} = \mathrm{ReLU}\big(y^{[l-1]} + \mathrm{BN}(W_2\,\mathrm{ReLU}(\mathrm{BN}(W_1 y^{[l-1]})))\big)$$
    with $W_1, W_2$ square matrices without bias: the shift of the normalization takes its place.

    Notes: N4.19, N4.21, N4.24 (§4.1).

    Args:
        features: the size of the vectors.
        initialization: the rule for the matrices.
        scale: the factor of that rule.
        seed: an integer or a generator.

    >>> block = DenseOriginalBlock(2)
    >>> block.zero_branch()
    >>> block(torch.tensor([[1.0, -2.0], [3.0, 4.0]])).tolist()
    [[1.0, 0.0], [3.0, 4.0]]
    """

    stackable = True

    def __init__(self, features: int, *, initialization: str = "he", scale: float = 1.0, seed: Seed = 0) -> None:
        super().__init__()
        weights = partial(linear, bias=False, initialization=initialization, scale=scale, seed=as_generator(seed))
        self.dense1 = weights(features, features)
        self.bn1 = nn.BatchNorm1d(features)
        self.dense2 = weights(features, features)
        self.bn2 = nn.BatchNorm1d(features)

    @torch.no_grad()
    def zero_branch(self) -> None:
        """Set the last scale to zero, so that the block starts as ReLU."""
        self.bn2.weight.zero_()

    def forward(self, inputs: Float[Tensor, "*#batch feature"]) -> Float[Tensor, "*batch feature"]:
        """Return ReLU(input + branch)."""
        y = inputs
        return relu(y + self.bn2(self.dense2(relu(self.bn1(self.dense1(y))))))


class DensePreActBlock(nn.Module):
    r"""Add a branch of two dense layers to a vector, each behind its normalization and ReLU.

    $$y^{[l]} = y^{[l-1]} + W_2\,\mathrm{ReLU}(\mathrm{BN}(W_1\,\mathrm{ReLU}(\mathrm{BN}(y^{[l-1]}))))$$
    with $W_1, W_2$ square matrices without bias.

    Notes: N4.21, N4.23, N4.24 (§4.1).

    The arguments are those of `DenseOriginalBlock`.

    >>> block = DensePreActBlock(2)
    >>> block.zero_branch()
    >>> block(torch.tensor([[1.0, -2.0], [3.0, 4.0]])).tolist()
    [[1.0, -2.0], [3.0, 4.0]]
    """

    stackable = True

    def __init__(self, features: int, *, initialization: str = "he", scale: float = 1.0, seed: Seed = 0) -> None:
        super().__init__()
        weights = partial(linear, bias=False, initialization=initialization, scale=scale, seed=as_generator(seed))
        self.bn1 = nn.BatchNorm1d(features)
        self.dense1 = weights(features, features)
        self.bn2 = nn.BatchNorm1d(features)
        self.dense2 = weights(features, features)

    @torch.no_grad()
    def zero_branch(self) -> None:
        """Set the last matrix to zero, so that the block starts as the identity."""
        self.dense2.weight.zero_()

    def forward(self, inputs: Float[Tensor, "*#batch feature"]) -> Float[Tensor, "*batch feature"]:
        """Return input + branch."""
        y = inputs
        return y + self.dense2(relu(self.bn2(self.dense1(relu(self.bn1(y))))))
