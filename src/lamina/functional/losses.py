r"""Losses of the notes: half mean squares, cross entropies from logits, penalties, the sum over time.

Each loss is a function of a network's output and the supervision alone. Classification losses take logits, the values
before the last activation, because a probability rounded to 0 or 1 has no finite logarithm. No function broadcasts
its outputs against its targets.
"""

from collections.abc import Iterable

import torch

from lamina._errors import ArgumentError, ShapeError, above, at_least, between, choice
from lamina._types import Bool, Float, Int, Num, Tensor

_REDUCTIONS = ("mean", "none")


def _same_shape(name: str, first: Tensor, second: Tensor) -> None:
    if first.shape != second.shape:
        raise ShapeError(
            f"`targets` must have the shape of `{name}`, {tuple(first.shape)}, got {tuple(second.shape)}: "
            "reshape one of them; a loss does not broadcast."
        )


def squared_error(
    outputs: Float[Tensor, "*batch feature"], targets: Float[Tensor, "*batch feature"]
) -> Float[Tensor, "*batch"]:
    r"""Compute the loss of each sample for regression.

    $$\mathscr L^{(i)} = \tfrac12 \lVert y^{(i)} - S(u^{(i)}) \rVert^2$$
    with y = `outputs` and S(u) = `targets`. Its mean over the samples is `mse_half`; its sum is the notes' other form,
    $\tfrac12 \lVert U W - S \rVert^2$ for linear regression, N times as large with the same minimizer.

    Notes: N1.24, N1.28, N1.35 (§1.1, §1.3).
    Corrects: E40, the two scalings are not told apart, and stable step sizes differ by the factor N.

    >>> squared_error(torch.tensor([[3.0, 4.0], [0.0, 1.0]]), torch.zeros(2, 2)).tolist()
    [12.5, 0.5]
    """
    _same_shape("outputs", outputs, targets)
    return (outputs - targets).square().sum(-1) / 2


def mse_half(outputs: Float[Tensor, "batch ..."], targets: Float[Tensor, "batch ..."]) -> Float[Tensor, ""]:
    r"""Compute the notes' mean squared error.

    $$L = \frac{1}{2N} \sum_{i=1}^N \lVert y^{(i)} - S(u^{(i)}) \rVert^2$$
    with y = `outputs`, S(u) = `targets` and N the length of their first axis.

    Notes: N1.23, N2.71 (§1.1, §2.5).
    Differs: torch.nn.MSELoss divides by all entries and not by 2; it is 2/n_L times this one for n_L outputs.

    Args:
        outputs: one row per sample; a vector holds N scalar outputs.
        targets: a tensor of the same shape.

    >>> mse_half(torch.tensor([[3.0, 4.0], [0.0, 1.0]]), torch.zeros(2, 2)).item()
    6.5
    """
    _same_shape("outputs", outputs, targets)
    return (outputs - targets).square().sum() / (2 * outputs.shape[0])


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    choice("reduction", reduction, _REDUCTIONS)
    return losses.mean() if reduction == "mean" else losses


def absolute_error(
    outputs: Float[Tensor, "*batch"], targets: Float[Tensor, "*batch"], reduction: str = "mean"
) -> Float[Tensor, "..."]:
    r"""Compute the absolute error, which one wild target moves no more than any other.

    $$|y - S|$$
    with y = `outputs` and S = `targets`; its minimizer is the median. `torch.nn.functional.l1_loss`.

    Args:
        outputs: numbers of any shape.
        targets: a tensor of the same shape.
        reduction: "mean" over all entries, or "none" for the loss of each one.

    >>> absolute_error(torch.tensor([1.0, -3.0]), torch.zeros(2)).item()
    2.0
    """
    _same_shape("outputs", outputs, targets)
    return _reduced((outputs - targets).abs(), reduction)


def huber_error(
    outputs: Float[Tensor, "*batch"], targets: Float[Tensor, "*batch"], delta: float = 1.0, reduction: str = "mean"
) -> Float[Tensor, "..."]:
    r"""Compute Huber's error: half the square of small errors, a straight line for large ones.

    $$\tfrac12 e^2 \text{ if } |e| \le \delta, \qquad \delta\,(|e| - \tfrac12 \delta) \text{ otherwise}$$
    with e = `outputs` - `targets` and delta = `delta`; `torch.nn.functional.huber_loss`.

    Args:
        outputs: numbers of any shape.
        targets: a tensor of the same shape.
        delta: where the parabola becomes a line, greater than 0.
        reduction: "mean" over all entries, or "none" for the loss of each one.

    >>> huber_error(torch.tensor([0.5, -3.0]), torch.zeros(2), reduction="none").tolist()
    [0.125, 2.5]
    """
    above("delta", delta, 0)
    _same_shape("outputs", outputs, targets)
    e = (outputs - targets).abs()
    return _reduced(torch.where(e <= delta, e.square() / 2, delta * (e - delta / 2)), reduction)


def quantile_error(
    outputs: Float[Tensor, "*batch"], targets: Float[Tensor, "*batch"], level: float = 0.5, reduction: str = "mean"
) -> Float[Tensor, "..."]:
    r"""Compute the error of a quantile (pinball loss): what lies above the output costs q, what lies below 1 - q.

    $$\max\{q\,(S - y),\; (q - 1)\,(S - y)\}$$
    with y = `outputs`, S = `targets` and q = `level`. Its minimizer is the q-quantile of the targets; for q = 1/2 it is
    half the absolute error. `sklearn.metrics.mean_pinball_loss`.

    Args:
        outputs: numbers of any shape.
        targets: a tensor of the same shape.
        level: the share q of targets that should lie below the output, in (0, 1).
        reduction: "mean" over all entries, or "none" for the loss of each one.

    >>> quantile_error(torch.tensor([1.0, 1.0]), torch.tensor([3.0, -1.0]), level=0.75, reduction="none").tolist()
    [1.5, 0.5]
    """
    above("level", level, 0)
    between("level", level, 0, 1, open_high=True)
    _same_shape("outputs", outputs, targets)
    e = targets - outputs
    return _reduced(torch.maximum(level * e, (level - 1) * e), reduction)


def bernoulli_likelihood(probability: Float[Tensor, "..."], label: Num[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Compute the modeled probability of a label 0 or 1.

    $$P = y^{S} (1 - y)^{1 - S}$$
    with y = `probability` of label 1 and S = `label`.

    Notes: N2.50 (§2.4).
    Corrects: E30, it is the probability of the label given the input, and the likelihood of theta given the data.

    >>> bernoulli_likelihood(torch.tensor([0.75, 0.75]), torch.tensor([1, 0])).tolist()
    [0.75, 0.25]
    """
    y, S = probability, label
    return y**S * (1 - y) ** (1 - S)


def cross_entropy_cases(probability: Float[Tensor, "..."], label: Num[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""Compute binary cross entropy case by case, for reading and plotting; training uses `binary_cross_entropy`.

    $$-\log y \text{ if } S = 1, \qquad -\log(1 - y) \text{ if } S = 0$$
    with y = `probability` of label 1 and S = `label`.

    Notes: N2.52, N2.53 (§2.4).

    >>> [round(loss, 4) for loss in cross_entropy_cases(torch.tensor([0.9, 0.9]), torch.tensor([1, 0])).tolist()]
    [0.1054, 2.3026]
    """
    y, S = probability, label
    return torch.where(S == 1, -torch.log(y), -torch.log1p(-y))


def binary_cross_entropy(
    logits: Float[Tensor, "*batch"], targets: Num[Tensor, "*batch"], reduction: str = "mean"
) -> Float[Tensor, "..."]:
    r"""Compute binary cross entropy, the negative log likelihood of labels 0 and 1, from logits.

    $$\frac1N \sum_{i=1}^N -S \log y - (1 - S) \log(1 - y), \qquad y = \sigma(z)$$
    with z = `logits` and S = `targets`; `torch.nn.functional.binary_cross_entropy_with_logits`.

    Notes: N2.51, N2.54, N2.55, N2.71 (§2.4, §2.5).
    Corrects: E31, from probabilities the loss is infinite as soon as a sigmoid rounds to 0 or 1; E74, a line of the
        derivation lacks its brackets.
    Differs: torch.nn.BCELoss takes probabilities and cuts each logarithm off at -100.

    Args:
        logits: the outputs before the sigmoid.
        targets: labels 0 and 1, or probabilities of label 1, in the same shape.
        reduction: "mean" over all entries, or "none" for the loss of each one.

    Returns:
        A scalar, or a tensor like `logits`.

    >>> binary_cross_entropy(torch.tensor([200.0]), torch.tensor([0])).item()
    200.0
    """
    choice("reduction", reduction, _REDUCTIONS)
    _same_shape("logits", logits, targets)
    function = torch.nn.functional.binary_cross_entropy_with_logits
    return function(logits, targets.to(logits.dtype), reduction=reduction)


def negative_log_likelihood(
    logits: Float[Tensor, "*batch label"], labels: Int[Tensor, "*batch"], reduction: str = "mean"
) -> Float[Tensor, "..."]:
    r"""Compute the negative log likelihood of the labels under softmax, from logits.

    $$\frac1N \sum_{i=1}^N -\log \mathrm{softmax}(z^{(i)})_{S^{(i)}}$$
    with z = `logits` and S = `labels`; `torch.nn.functional.cross_entropy`.

    Notes: N2.62, N2.71 (§2.4, §2.5).
    Corrects: E07, the sum starts at i = 1.
    Differs: torch.nn.NLLLoss takes logarithms of probabilities. Never give probabilities to this function: softmax
        would be applied twice. Labels count from 0.

    Args:
        logits: the outputs before softmax, one entry per class along the last axis.
        labels: the numbers of the right classes, for example one per sample, or one per sample and time step.
        reduction: "mean" over all labels, or "none" for the loss of each one.

    Returns:
        A scalar, or a tensor like `labels`.

    >>> round(negative_log_likelihood(torch.zeros(4, 10), torch.tensor([0, 1, 2, 3])).item(), 4)  # log 10
    2.3026
    """
    choice("reduction", reduction, _REDUCTIONS)
    if logits.shape[:-1] != labels.shape:
        raise ShapeError(
            f"`labels` must have the shape of `logits` without its last axis, {tuple(logits.shape[:-1])}, "
            f"got {tuple(labels.shape)}: give one class number per sample."
        )
    flat = logits.reshape(-1, logits.shape[-1]), labels.reshape(-1).long()
    losses = torch.nn.functional.cross_entropy(*flat, reduction=reduction)
    return losses if reduction == "mean" else losses.reshape(labels.shape)


def focal(losses: Float[Tensor, "*batch"], gamma: float = 2.0) -> Float[Tensor, "*batch"]:
    r"""Turn cross entropies into the focal loss (Lin et al., 2017), in which what is right already counts less.

    $$(1 - p)^\gamma\,(-\log p), \qquad p = e^{-\mathscr L}$$
    with p the modeled probability of what is true, L = `losses` the cross entropies $-\log p$ and gamma = `gamma`;
    gamma = 0 gives the cross entropies back. Of `binary_cross_entropy` it makes
    `torchvision.ops.sigmoid_focal_loss(alpha=-1)`.

    Args:
        losses: cross entropies as the losses here give with `reduction="none"`.
        gamma: how much less, at least 0.

    >>> [round(loss, 4) for loss in focal(torch.tensor([0.1, 1.0]), gamma=2.0).tolist()]
    [0.0009, 0.3996]
    """
    at_least("gamma", gamma, 0)
    # Never exactly 0, whose power has no finite slope for gamma below 1.
    missing = (-torch.expm1(-losses)).clamp(min=torch.finfo(losses.dtype).tiny)
    return missing**gamma * losses


def penalty(params: Iterable[Tensor], strength: float | Tensor, norm: int = 2) -> Float[Tensor, ""]:
    r"""Compute the penalty that keeps weights small.

    $$\lambda \lVert \theta \rVert^2 \quad \text{or} \quad \lambda \lVert \theta \rVert_1$$
    for norm 2 (weight decay) and norm 1, with lambda = `strength` and theta all `params` together.

    Notes: N1.62, N1.63 (§1.4).
    Corrects: E20, the squared norm shrinks weights but sets none to zero; norm 1 does, by `proximal_gradient` steps.
    Differs: torch.optim.SGD's `weight_decay` adds its value times theta to the gradient, here 2 lambda theta is added:
        torch's number is 2 lambda, in SGD and in Adam; AdamW decouples the term and computes something else.

    Args:
        params: the tensors to penalize.
        strength: lambda, at least 0.
        norm: 2 for the squared Euclidean norm, 1 for the sum of absolute values.

    >>> theta = [torch.tensor([3.0, -4.0]), torch.tensor([[1.0]])]
    >>> penalty(theta, 0.5).item(), penalty(theta, 0.5, norm=1).item()
    (13.0, 4.0)
    """
    choice("norm", norm, (1, 2))
    if not isinstance(strength, Tensor):
        at_least("strength", strength, 0)
    sizes = [p.abs().sum() if norm == 1 else p.square().sum() for p in params]
    if not sizes:
        raise ArgumentError("`params` must hold at least one tensor, got none: perhaps a generator was exhausted.")
    return strength * torch.stack(sizes).sum()


def penalty_slope(theta: Float[Tensor, "*shape"], norm: int = 2) -> Float[Tensor, "*shape"]:
    r"""Compute the gradient of the penalty for $\lambda = 1$: $2\theta$ for norm 2, the signs of $\theta$ for norm 1.

    Notes: N1.62, N1.63 (§1.4).

    >>> theta = torch.tensor([3.0, -4.0, 0.0])
    >>> penalty_slope(theta).tolist(), penalty_slope(theta, norm=1).tolist()
    ([6.0, -8.0, 0.0], [1.0, -1.0, 0.0])
    """
    choice("norm", norm, (1, 2))
    return theta * 2 if norm == 2 else theta.sign()


def sum_over_time(
    losses: Float[Tensor, "*batch time"], mask: Bool[Tensor, "*batch time"] | None = None
) -> Float[Tensor, ""]:
    r"""Add the losses of a sequence over its time steps and average over the sequences.

    $$L(\theta) = \frac1N \sum_{i=1}^N \sum_{t=1}^{T_{out}^{(i)}} L^{<t>}(y^{<t>(i)})$$

    Notes: N5.16 (§5).
    Corrects: E65, the mean over samples and the mask of padded steps are not written.
    Differs: torch's cross entropy averages over time as well, a factor T for sequences of one length.

    Args:
        losses: one number per sample and time step, as the losses here give with `reduction="none"`.
        mask: true where a step counts, false where the sequence is padded.

    >>> losses = torch.tensor([[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]])
    >>> sum_over_time(losses).item(), sum_over_time(losses, losses < 3).item()
    (7.0, 3.0)
    """
    if mask is not None:
        if mask.shape != losses.shape:
            raise ShapeError(
                f"`mask` must have the shape of `losses`, {tuple(losses.shape)}, got {tuple(mask.shape)}: "
                "give one truth value per sample and time step."
            )
        losses = torch.where(mask, losses, torch.zeros_like(losses))
    return losses.sum(-1).mean()
