r"""Examples that are mixed with others: how much of each, by a convex combination or by a patch.

A loss of mixed examples is the same mixture of the losses with either target, $\lambda L(y, S_a) + (1 - \lambda)
L(y, S_b)$, whatever L is. Nothing here is in the notes.
"""

import math

import torch

from lamina._types import Bool, Float, Tensor


def symmetric_beta(
    first: Float[Tensor, "*batch"], second: Float[Tensor, "*batch"], alpha: float
) -> Float[Tensor, "*batch"]:
    r"""Turn two uniform numbers into one of the distribution Beta(alpha, alpha), without rejecting any.

    $$\lambda = \frac12 + \frac12 \frac{c \sqrt{1 - w}}{\sqrt{w + (1 - w) c^2}}, \qquad w = U^{1/\alpha},\quad
    c = \cos 2 \pi V$$
    with U = `first` and V = `second` uniform on [0, 1). $\sqrt{2\alpha (1/w - 1)}\,c$ has Student's distribution with
    $2\alpha$ degrees of freedom (Bailey, 1994), and $\lambda$ is its image under $t \mapsto \frac12 + \frac12 t /
    \sqrt{2\alpha + t^2}$ (Devroye, 1996).

    Args:
        first: uniform numbers.
        second: as many others, independent of them.
        alpha: above 0. At 1 the result is uniform, below it lies near 0 and 1, above it near 1/2.

    >>> [round(x, 4) for x in symmetric_beta(torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.0]), 1.0).tolist()]
    [0.5, 0.8536]
    """
    U, V = first, second
    w, c = U.pow(1 / alpha), torch.cos(2 * math.pi * V)
    below = (w + (1 - w) * c.square()).clamp(min=torch.finfo(w.dtype).tiny)
    return ((1 + c * ((1 - w) / below).sqrt()) / 2).clamp(0, 1)


def mixup(
    inputs: Float[Tensor, "*batch"], others: Float[Tensor, "*batch"], share: Float[Tensor, ""]
) -> Float[Tensor, "*batch"]:
    r"""Mix examples with others as a whole (Zhang et al., 2018).

    $$x = \lambda x_a + (1 - \lambda) x_b$$
    with $x_a$ = `inputs`, $x_b$ = `others` and $\lambda$ = `share`.

    >>> mixup(torch.tensor([4.0, 8.0]), torch.tensor([0.0, 4.0]), torch.tensor(0.75)).tolist()
    [3.0, 7.0]
    """
    return share * inputs + (1 - share) * others


def cutmix_box(
    share: Float[Tensor, ""], down: Float[Tensor, ""], across: Float[Tensor, ""], height: int, width: int
) -> Bool[Tensor, "height width"]:
    r"""Say which pixels of a picture come from the other one (Yun et al., 2019).

    The patch has $\sqrt{1 - \lambda}$ of the height and of the width of the picture, so that $1 - \lambda$ of the area
    is the other picture's, but for what the border cuts off and for rounding: the share that counts for the targets is
    that of the pixels that are left.

    Differs: nothing from torchvision's CutMix, which draws row and column of the middle from a global generator.

    Args:
        share: lambda, how much of the picture should stay.
        down: where the middle of the patch is, as a share of the height in [0, 1).
        across: the same for the width.
        height: of the picture.
        width: of the picture.

    >>> cutmix_box(torch.tensor(0.75), torch.tensor(0.5), torch.tensor(0.0), 4, 4).int().tolist()
    [[0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    """
    half = (1 - share).sqrt() / 2

    def inside(middle: Tensor, size: int) -> Tensor:
        center, reach = (middle * size).long(), (half * size).long()
        places = torch.arange(size, device=share.device)
        return (places >= center - reach) & (places < center + reach)

    return inside(down, height)[:, None] & inside(across, width)[None, :]
