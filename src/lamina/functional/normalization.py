r"""Normalization over a batch (§2.4) and over neighboring activities, local response normalization (§3.5)."""

import torch

from lamina._errors import ArgumentError, ShapeError, above, at_least, between
from lamina._types import Float, Tensor

Images = Float[Tensor, "*batch channel height width"]
"""An image or a batch of images."""


def _over_batch(inputs: Tensor) -> tuple[int, ...]:
    """Name the axes that batch statistics average over: all but the features (vectors) or channels (images)."""
    return (0, *range(2, inputs.ndim))


def _spread(values: Tensor, inputs: Tensor) -> Tensor:
    """Reshape one value per feature so that it broadcasts against `inputs`."""
    return values.reshape(-1, *[1] * (inputs.ndim - 2))


def batch_norm_statistics(
    inputs: Float[Tensor, "batch feature *image"],
) -> tuple[Float[Tensor, " feature"], Float[Tensor, " feature"]]:
    r"""Give mean and biased variance of every feature over a batch.

    $$\mu = \frac1b \sum_{j=1}^b y_j, \qquad \sigma^2 = \frac1b \sum_{j=1}^b (y_j - \mu)^{.2}$$
    with y_j = `inputs[j]`, b the batch size and the square taken of every component. For images each channel is one
    feature and the mean runs over batch, height and width.

    Notes: N2.38 (§2.3).
    Corrects: E04, the printed norm would sum over features and give one number for all.

    Args:
        inputs: feature vectors [batch, feature] or images [batch, channel, height, width].

    >>> [values.tolist() for values in batch_norm_statistics(torch.tensor([[1.0, 0.0], [3.0, 10.0]]))]
    [[2.0, 5.0], [1.0, 25.0]]
    """
    values = inputs.numel() // max(inputs.shape[1], 1)
    if values < 2:
        raise ShapeError(
            f"`inputs` must hold at least 2 values per feature to have a variance, got {values}: "
            "use a larger batch, or the running statistics."
        )
    axes = _over_batch(inputs)
    return inputs.mean(axes), inputs.var(axes, correction=0)


def normalize(
    inputs: Float[Tensor, "batch feature *image"],
    mean: Float[Tensor, " feature"],
    variance: Float[Tensor, " feature"],
    weight: Float[Tensor, " feature"] | None = None,
    bias: Float[Tensor, " feature"] | None = None,
    eps: float = 1e-5,
) -> Float[Tensor, "batch feature *image"]:
    r"""Shift and scale every feature by given statistics, then by learned numbers: batch norm in evaluation.

    $$\hat y_j = \frac{y_j - \mu}{\sqrt{\sigma^2 + \epsilon}}, \qquad \gamma .\!* \hat y_j + \beta$$
    with y = `inputs`, mu = `mean`, sigma^2 = `variance`, gamma = `weight`, beta = `bias`.

    Notes: N2.39, N2.40, N2.44 (§2.3).
    Corrects: E05, the learned scale is one number per feature, not a full matrix; E06, in evaluation the statistics are
        running averages.

    Args:
        inputs: feature vectors [batch, feature] or images [batch, channel, height, width].
        mean: one number per feature; those of the batch, or running averages.
        variance: one number per feature.
        weight: the learned scale gamma; 1 when absent.
        bias: the learned shift beta; 0 when absent.
        eps: keeps the root away from zero.

    >>> normalize(torch.tensor([[3.0]]), torch.tensor([1.0]), torch.tensor([4.0])).round(decimals=4).tolist()
    [[1.0]]
    """
    above("eps", eps, 0)
    outputs = (inputs - _spread(mean, inputs)) / _spread((variance + eps).sqrt(), inputs)
    if weight is not None:
        outputs = outputs * _spread(weight, inputs)
    return outputs if bias is None else outputs + _spread(bias, inputs)


def batch_norm(
    inputs: Float[Tensor, "batch feature *image"],
    weight: Float[Tensor, " feature"] | None = None,
    bias: Float[Tensor, " feature"] | None = None,
    eps: float = 1e-5,
) -> Float[Tensor, "batch feature *image"]:
    r"""Normalize every feature over the batch, then scale and shift it: batch norm while training.

    $$\hat y_j = \frac{y_j - \mu}{\sqrt{\sigma^2 + \epsilon}}, \qquad y_j^{[l+1]} = \gamma .\!* \hat y_j + \beta$$
    with y = `inputs`, gamma = `weight`, beta = `bias`, mu and sigma^2 from `batch_norm_statistics`. A constant added to
    a feature, such as the bias of the layer before, is cancelled. Scale and shift are learned: 2n variables.

    Notes: N2.37, N2.38, N2.39, N2.40, N2.41, N2.42, N2.45 (§2.3).
    Corrects: E04, variances are per feature; E05, the learned scale is one number per feature, not a full matrix.

    Args:
        inputs: feature vectors [batch, feature] or images [batch, channel, height, width].
        weight: the learned scale gamma; 1 when absent.
        bias: the learned shift beta; 0 when absent.
        eps: keeps the root away from zero.

    >>> batch_norm(torch.tensor([[1.0, 0.0], [3.0, 10.0]])).round(decimals=4).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    """
    return normalize(inputs, *batch_norm_statistics(inputs), weight, bias, eps)


def update_running_statistics(
    inputs: Float[Tensor, "batch feature *image"],
    running_mean: Float[Tensor, " feature"],
    running_variance: Float[Tensor, " feature"],
    momentum: float = 0.1,
) -> tuple[Float[Tensor, " feature"], Float[Tensor, " feature"]]:
    r"""Move the running averages that batch norm uses in evaluation towards the statistics of one training batch.

    $$\bar\mu \leftarrow (1-\rho) \bar\mu + \rho\, \mu, \qquad
    \bar\sigma^2 \leftarrow (1-\rho) \bar\sigma^2 + \rho\, \tfrac{v}{v-1} \sigma^2$$
    with rho = `momentum` and v the number of values per feature: the averaged variance is the unbiased one.

    Notes: N2.44 (§2.3).
    Corrects: E06, the notes do not say what happens in evaluation; this is torch's rule.

    Args:
        inputs: the batch that was normalized.
        running_mean: the average so far; starts at 0.
        running_variance: the average so far; starts at 1.
        momentum: the weight rho of the new batch.

    >>> batch = torch.tensor([[1.0], [3.0]])
    >>> [values.item() for values in update_running_statistics(batch, torch.zeros(1), torch.ones(1), 0.5)]
    [1.0, 1.5]
    """
    between("momentum", momentum, 0, 1)
    mean, variance = batch_norm_statistics(inputs)
    values = inputs.numel() // inputs.shape[1]
    unbiased = variance * (values / (values - 1))
    return (
        (1 - momentum) * running_mean + momentum * mean,
        (1 - momentum) * running_variance + momentum * unbiased,
    )


def check_response_constants(size: float, kappa: float) -> None:
    """Raise unless the constants of local response normalization make sense: n a natural number, kappa positive.

    >>> check_response_constants(5, 2.0)
    """
    at_least("size", size, 1)
    if size != int(size):
        raise ArgumentError(f"`size` must be a whole number of neighbors, got {size}: round it.")
    above("kappa", kappa, 0)


def _window_sum(values: Tensor, axis: int, half: int) -> Tensor:
    """Sum over `half` neighbors to either side along a negative `axis`; beyond the border there is nothing."""
    padding = [0, 0] * (-axis - 1) + [half, half]
    padded, size = torch.nn.functional.pad(values, padding), values.shape[axis]
    # Shifted copies, not `unfold`: its backward has no batching rule, so a population would fall back to a slow loop.
    total = padded.narrow(axis, 0, size)
    for shift in range(1, 2 * half + 1):
        total = total + padded.narrow(axis, shift, size)
    return total


def local_response_norm(
    inputs: Images, size: int = 5, kappa: float = 2.0, gamma: float = 1e-4, beta: float = 0.75
) -> Images:
    r"""Divide every activity by a power of the squared activities at the same place in neighboring channels.

    $$\hat Y_{ijk} = \frac{Y_{ijk}}{\left(\kappa + \gamma \sum_{m=\max(1,\, k-\lfloor n/2 \rfloor)}
    ^{\min(M,\, k+\lfloor n/2 \rfloor)} Y_{ijm}^2\right)^\beta}$$
    with Y = `inputs`, n = `size`. The defaults are AlexNet's; with them an activity of 10 alone becomes 5.92.

    Notes: N3.48, N3.51, N3.52, N3.55 (§3.5).
    Corrects: E51, with AlexNet's constants this bounds no usual activity; E53, n is a natural number.
    Differs: torch.nn.LocalResponseNorm divides gamma by its size, and its window for even n has n channels. Equal is
        LocalResponseNorm(w, alpha=gamma*w, beta=beta, k=kappa) with the odd width w = 2 floor(n/2) + 1.

    Args:
        inputs: an image or a batch of images.
        size: the number n of neighbors: floor(n/2) channels on either side count, so n + 1 in all for even n.
        kappa: avoids division by zero.
        gamma: the normalization constant, not divided by n.
        beta: the contrasting constant.

    >>> local_response_norm(torch.tensor([[[1.0]], [[2.0]], [[3.0]]]), 2, kappa=1, gamma=1, beta=1).flatten().tolist()
    [0.1666666716337204, 0.13333334028720856, 0.2142857164144516]
    """
    check_response_constants(size, kappa)
    total = _window_sum(inputs.square(), -3, size // 2)
    return inputs / (kappa + gamma * total) ** beta


def local_response_norm_within(
    inputs: Images, size: int = 5, kappa: float = 2.0, gamma: float = 1e-4, beta: float = 0.75
) -> Images:
    r"""Divide every activity by a power of the squared activities around it in its own channel.

    $$\hat Y_{ijk} = \frac{Y_{ijk}}{\left(\kappa + \gamma \sum_p \sum_q Y_{pqk}^2\right)^\beta}$$
    with Y = `inputs`, n = `size` and the sums over the pixels with |p-i| and |q-j| at most floor(n/2).

    Notes: N3.52, N3.54, N3.55 (§3.5).
    Differs: torch has no such layer.

    The arguments are those of `local_response_norm`; n counts the neighbors in either direction.

    >>> local_response_norm_within(torch.tensor([[[1.0, 2.0, 3.0]]]), 2, kappa=1, gamma=1, beta=1).tolist()
    [[[0.1666666716337204, 0.13333334028720856, 0.2142857164144516]]]
    """
    check_response_constants(size, kappa)
    total = _window_sum(_window_sum(inputs.square(), -2, size // 2), -1, size // 2)
    return inputs / (kappa + gamma * total) ** beta
