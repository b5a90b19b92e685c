r"""Starting values for weights (§2.2 of the notes): each a pure function of a shape and a generator.

Shapes are torch's: (n_out, n_in) for a dense layer, (n_out, n_in, *kernel) for a convolution; n_in, the fan-in, then
counts the kernel's entries. All functions draw on the CPU in float32, so that a seed means the same network on every
device and in every precision.
"""

import math
from collections.abc import Callable

import torch

from lamina._errors import ArgumentError, choice
from lamina._types import Float, Seed, Tensor
from lamina.functional.random import as_generator


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Count the inputs and outputs (n_in, n_out) of one unit of a weight of this shape.

    >>> fans((6, 1, 5, 5))
    (25, 150)
    """
    if len(shape) < 2:
        raise ArgumentError(f"`shape` must have at least 2 axes (outputs, inputs), got {shape}: a bias has no fan-in.")
    area = math.prod(shape[2:])
    return shape[1] * area, shape[0] * area


def constant(shape: tuple[int, ...], value: float = 0.0) -> Float[Tensor, "..."]:
    """Fill with one value: all neurons of a layer then stay equal during training.

    Notes: N2.26, N2.27 (§2.2).
    Corrects: E26, the rows of the gradient are equal, its columns are not.

    >>> constant((2, 2), 0.5).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    return torch.full(shape, value, dtype=torch.float32)


def gaussian(shape: tuple[int, ...], std: float, seed: Seed) -> Float[Tensor, "..."]:
    r"""Draw from a normal distribution, $W_{ij} \sim \mathcal N(0, \mathrm{std}^2)$.

    Notes: N2.28, N2.29, N2.30, N2.31, N2.32 (§2.2).
    Corrects: E27, whether `std` makes signals vanish or explode depends on std * sqrt(n_in).

    >>> gaussian((3, 2), 0.01, seed=0).shape
    torch.Size([3, 2])
    """
    return torch.randn(shape, generator=as_generator(seed), dtype=torch.float32) * std


def xavier(shape: tuple[int, ...], seed: Seed, scale: float = 1.0) -> Float[Tensor, "..."]:
    r"""Draw with the notes' Xavier rule, which keeps the variance through layers with identity activation.

    $$W^{[l]}_{ij} \sim \mathcal N\left(0, \tfrac{1}{n_l}\right), \qquad n_l = n_{in}$$

    Notes: N2.33, N2.34, N2.35 (§2.2).
    Corrects: E29, the variance is kept exactly for the identity only.
    Differs: torch.nn.init.xavier_normal_ uses sqrt(2/(n_in+n_out)); that rule is `glorot` here.

    >>> round(xavier((400, 100), seed=0).std().item(), 3)
    0.1
    """
    return gaussian(shape, scale / math.sqrt(fans(shape)[0]), seed)


def glorot(shape: tuple[int, ...], seed: Seed, scale: float = 1.0) -> Float[Tensor, "..."]:
    r"""Draw with Glorot's normalized rule, $\mathcal N(0, 2/(n_{in}+n_{out}))$, known to torch as `xavier_normal_`.

    Notes: N2.33 (§2.2), the rule the notes do not mean.

    >>> round(glorot((400, 100), seed=0).std().item(), 3)
    0.063
    """
    return gaussian(shape, scale * math.sqrt(2 / sum(fans(shape))), seed)


def he(shape: tuple[int, ...], seed: Seed, scale: float = 1.0) -> Float[Tensor, "..."]:
    r"""Draw with He's rule, which keeps the second moment through ReLU layers.

    $$W^{[l]}_{ij} \sim \mathcal N\left(0, \tfrac{2}{n_l}\right), \qquad n_l = n_{in}$$

    Notes: N2.36 (§2.2).

    >>> round(he((500, 400), seed=0).std().item(), 3)
    0.071
    """
    return gaussian(shape, scale * math.sqrt(2 / fans(shape)[0]), seed)


def memory_bias(cell: str, hidden_size: int, value: float) -> Float[Tensor, " gates"]:
    r"""Give the stacked bias of a gated cell that starts with its memory open.

    The forget gate of an LSTM gets `value`, the update gate of a GRU gets `-value` (it writes where it is open), all
    other entries 0. A factor $\sigma(\mathrm{value})$ of the state then survives a step at the start of training,
    instead of about one half.

    Notes: N5.25, N5.31 (§5.2).
    Corrects: E67, gates alone do not cure vanishing gradients.

    Args:
        cell: "gru" (rows r, u, c) or "lstm" (rows f, i, o, c), stacked in the notes' order.
        hidden_size: the size n_h of the state.
        value: how far the memory starts open.

    >>> memory_bias("lstm", 1, 3.0).tolist(), memory_bias("gru", 1, 3.0).tolist()
    ([3.0, 0.0, 0.0, 0.0], [0.0, -3.0, 0.0])
    """
    choice("cell", cell, ("gru", "lstm"))
    heights = (value, 0.0, 0.0, 0.0) if cell == "lstm" else (0.0, -value, 0.0)
    return torch.tensor(heights, dtype=torch.float32).repeat_interleave(hidden_size)


_SCALED: dict[str, Callable[[tuple[int, ...], Seed, float], Tensor]] = {"xavier": xavier, "glorot": glorot, "he": he}
INITIALIZATIONS = (*_SCALED, "gaussian", "constant")
"""The names that `draw` and every architecture's `initialization` option accept."""


def draw(kind: str, shape: tuple[int, ...], seed: Seed, scale: float = 1.0) -> Float[Tensor, "..."]:
    """Draw a weight by the name of its rule.

    Args:
        kind: one of `INITIALIZATIONS`.
        shape: the shape of the weight.
        seed: an integer or a generator.
        scale: a factor on the standard deviation of xavier, glorot and he; the standard deviation of gaussian; the
            value of constant.

    >>> draw("constant", (1, 2), seed=0, scale=0.5).tolist()
    [[0.5, 0.5]]
    """
    choice("initialization", kind, INITIALIZATIONS)
    if kind == "constant":
        return constant(shape, scale)
    if kind == "gaussian":
        return gaussian(shape, scale, seed)
    return _SCALED[kind](shape, seed, scale)
