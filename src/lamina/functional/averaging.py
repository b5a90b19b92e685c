r"""Averages of weights over the last part of training, pure and for populations; not in the notes.

The mean of the points that an optimizer visits around a minimum lies nearer to it than they do (Polyak and Juditsky,
1992; Izmailov et al., 2018).
"""

import torch

from lamina._types import Float, Tensor
from lamina.functional.optimizers import Number, per_member


def averaging_weight(count: int, decay: Number) -> Number:
    r"""Compute how much the next weights count in their average.

    $$\alpha_n = \max\Big(1 - \beta,\; \frac{1}{n+1}\Big)$$
    The first $1/(1-\beta)$ weights have equal shares, so that the average never remembers where it began; later ones
    push the old out exponentially. With $\beta = 1$ all weights count alike, with $\beta = 0$ only the last ones.

    Args:
        count: the number n of weights in the average so far.
        decay: $\beta$ in [0, 1]; a vector for a population.

    >>> [averaging_weight(n, 0.75) for n in range(5)]
    [1.0, 0.5, 0.3333333333333333, 0.25, 0.25]
    """
    share = 1.0 / (count + 1)
    return (1 - decay).clamp(min=share) if isinstance(decay, Tensor) else max(1.0 - decay, share)


def averaged(
    mean: Float[Tensor, "*shape"], value: Float[Tensor, "*shape"], count: int, decay: Number
) -> Float[Tensor, "*shape"]:
    r"""Take one more tensor into an average of `count` of them.

    $$\bar\theta_{n+1} = \bar\theta_n + \alpha_n (\theta_{n+1} - \bar\theta_n)$$
    with $\alpha_n$ from `averaging_weight`.

    Args:
        mean: the average so far; its values do not matter while `count` is 0.
        value: what comes next.
        count: how many tensors are in the average.
        decay: a number in [0, 1], or a vector with one entry for each member along the first axis.

    >>> mean = torch.zeros(1)
    >>> for count, value in enumerate([1.0, 3.0, 8.0]):
    ...     mean = averaged(mean, torch.tensor([value]), count, decay=1.0)
    >>> mean.tolist()
    [4.0]
    """
    return torch.lerp(mean, value, per_member(averaging_weight(count, decay), value))
