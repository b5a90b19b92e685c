r"""Numbers that judge predictions: accuracy, confusion, precision, recall, F1, AUC, AP, R^2, calibration.

For words there are perplexity and the accuracy of tokens and of whole sequences, for forecasts absolute, squared and
scaled errors. They are reported, never minimized, and are computed in float64.
"""

from dataclasses import dataclass

import torch

from lamina._errors import ArgumentError, ShapeError, at_least
from lamina._types import Float, Int, Num, Tensor


def accuracy(
    guesses: Int[Tensor, " batch"], labels: Int[Tensor, " batch"], weights: Float[Tensor, " batch"] | None = None
) -> float:
    """Return the share of right answers, of the weight where examples have one.

    >>> accuracy(torch.tensor([0, 1, 1]), torch.tensor([0, 1, 0]))
    0.6666666666666666
    """
    return _mean((guesses == labels).double(), weights)


def confusion(
    guesses: Int[Tensor, " batch"],
    labels: Int[Tensor, " batch"],
    classes: int,
    weights: Float[Tensor, " batch"] | None = None,
) -> Num[Tensor, "label label"]:
    """Count how often each class (row) was taken for each class (column), or add the weights of those examples.

    >>> confusion(torch.tensor([0, 1, 1]), torch.tensor([0, 1, 0]), 2).tolist()
    [[1, 1], [0, 1]]
    """
    return torch.bincount(labels * classes + guesses, weights, classes * classes).reshape(classes, classes)


def f1_scores(matrix: Num[Tensor, "label label"]) -> Float[Tensor, " label"]:
    r"""Return each class's F1 from its confusion counts, 0 for a class that was neither present nor guessed.

    $$F_1 = \frac{2\,\mathrm{tp}}{2\,\mathrm{tp} + \mathrm{fp} + \mathrm{fn}}$$

    >>> f1_scores(torch.tensor([[1, 1], [0, 1]])).tolist()
    [0.6666666666666666, 0.6666666666666666]
    """
    return share(2 * matrix.diagonal(), matrix.sum(0) + matrix.sum(1))


def share(part: Num[Tensor, "..."], whole: Num[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Divide in float64, 0 by 0 being 0, as precision and recall of what never occurs are.

    >>> share(torch.tensor([1, 0]), torch.tensor([4, 0])).tolist()
    [0.25, 0.0]
    """
    return part.double() / torch.where(whole > 0, whole.double(), 1.0)


def auc(
    scores: Float[Tensor, " batch"], positive: Num[Tensor, " batch"], weights: Float[Tensor, " batch"] | None = None
) -> float:
    r"""Return the area under the ROC curve: how likely a positive example scores higher than a negative one.

    Ties count one half. NaN when one of the two kinds is missing.

    >>> auc(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
    0.75
    """
    above, others = _by_score(scores, positive, weights)
    beaten = others.cumsum(0) - others / 2
    return (above @ beaten / (above.sum() * others.sum())).item()


def average_precision(
    scores: Float[Tensor, " batch"], positive: Num[Tensor, " batch"], weights: Float[Tensor, " batch"] | None = None
) -> float:
    r"""Return the mean of the precisions at all thresholds, each weighted by how much recall it adds.

    $$\mathrm{AP} = \sum_n (R_n - R_{n-1}) P_n$$
    with precision P and recall R of the examples that score at least the n-th largest score. NaN without a positive.

    >>> round(average_precision(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1])), 6)
    0.833333
    """
    above, others = (part.flip(0) for part in _by_score(scores, positive, weights))
    found = above.cumsum(0)
    return (above @ share(found, found + others.cumsum(0)) / above.sum()).item()


def _by_score(scores: Tensor, positive: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
    """Add the weights of positive and of other examples for each different score, the smallest first."""
    positive = positive.double()
    weights = torch.ones_like(positive) if weights is None else weights.double()
    _, place = torch.unique(scores.double(), return_inverse=True)
    return torch.bincount(place, weights * positive), torch.bincount(place, weights * (1 - positive))


def _mean(values: Tensor, weights: Tensor | None) -> float:
    """Return a mean over the first axis, where examples have weights a weighted one, and over all others."""
    each = values.double().reshape(len(values), -1).mean(1)
    return (each.mean() if weights is None else weights.double() @ each / weights.double().sum()).item()


@dataclass(frozen=True)
class LabelScores:
    """How well the labels of examples that have any number of them were found.

    Args:
        prevalence: the share of the examples that have each label.
        precision: the share of the guesses of each label that are right.
        recall: the share of the examples with each label that were found.
        f1: the harmonic mean of the two.
        accuracy: the share of right answers, the mean over the labels.
        exact: the share of the examples whose labels are all right.
        micro_f1: F1 of all labels counted together.
        macro_f1: the mean of `f1` over the labels.
    """

    prevalence: Float[Tensor, " label"]
    precision: Float[Tensor, " label"]
    recall: Float[Tensor, " label"]
    f1: Float[Tensor, " label"]
    accuracy: float
    exact: float
    micro_f1: float
    macro_f1: float


def label_scores(
    guesses: Num[Tensor, "batch label"],
    targets: Num[Tensor, "batch label"],
    weights: Float[Tensor, " batch"] | None = None,
) -> LabelScores:
    """Judge guesses of labels, of which an example may have several or none.

    Args:
        guesses: 1 where a label was guessed, else 0.
        targets: 1 where an example has the label, else 0.
        weights: of the examples.

    >>> found = label_scores(torch.tensor([[1, 0], [1, 1]]), torch.tensor([[1, 0], [0, 1]]))
    >>> found.accuracy, found.exact, found.micro_f1, found.precision.tolist()
    (0.75, 0.5, 0.8, [0.5, 1.0])
    """
    w = torch.ones(len(targets), dtype=torch.float64) if weights is None else weights.double()
    y, S = guesses.double(), targets.double()
    both, guessed, there = w @ (y * S), w @ y, w @ S
    f1, equal = share(2 * both, guessed + there), y == S
    return LabelScores(
        there / w.sum(),
        share(both, guessed),
        share(both, there),
        f1,
        _mean(equal, weights),
        _mean(equal.all(1), weights),
        share(2 * both.sum(), (guessed + there).sum()).item(),
        f1.mean().item(),
    )


def r2(
    outputs: Float[Tensor, "batch ..."],
    targets: Float[Tensor, "batch ..."],
    weights: Float[Tensor, " batch"] | None = None,
) -> float:
    r"""Return $R^2 = 1 - \sum (S - y)^2 / \sum (S - \bar S)^2$, averaged over the outputs; both sums may be weighted.

    >>> round(r2(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 4.0])), 6)
    0.785714
    """
    if outputs.shape != targets.shape:
        raise ShapeError(
            f"`outputs` must have the shape of `targets`, {tuple(targets.shape)}, got {tuple(outputs.shape)}."
        )
    y, S = (t.double().reshape(len(t), -1) for t in (outputs, targets))
    w = torch.ones(len(S), dtype=torch.float64) if weights is None else weights.double()
    return (1 - w @ (S - y) ** 2 / (w @ (S - w @ S / w.sum()) ** 2)).mean().item()


def mean_errors(
    outputs: Float[Tensor, "batch ..."],
    targets: Float[Tensor, "batch ..."],
    weights: Float[Tensor, " batch"] | None = None,
) -> tuple[float, float]:
    """Return the mean squared and the mean absolute error, over examples (which may have weights) and outputs.

    >>> mean_errors(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    (2.0, 1.0)
    """
    errors = outputs.double() - targets.double()
    return _mean(errors.square(), weights), _mean(errors.abs(), weights)


@dataclass(frozen=True)
class Calibration:
    """How often predictions made with a given confidence are right.

    Args:
        confidence: the mean confidence in each bin.
        accuracy: the share of right answers in it.
        count: how many predictions fell into it.
        error: the mean distance between the two, weighted by count.
    """

    confidence: tuple[float, ...]
    accuracy: tuple[float, ...]
    count: tuple[int, ...]
    error: float


def calibration(confidence: Float[Tensor, " batch"], right: Num[Tensor, " batch"], bins: int = 10) -> Calibration:
    """Compare confidence and accuracy in equal bins of [0, 1]; empty bins are left out.

    >>> calibration(torch.tensor([0.75, 0.75, 0.5]), torch.tensor([1, 0, 1])).error
    0.3333333333333333
    """
    confidence, right = confidence.double(), right.double()
    place = (confidence * bins).long().clamp(0, bins - 1)
    count = torch.bincount(place, minlength=bins).double()
    used = count > 0
    mean, share = (torch.bincount(place, t, minlength=bins)[used] / count[used] for t in (confidence, right))
    error = ((mean - share).abs() * count[used]).sum() / len(confidence)
    return Calibration(
        tuple(mean.tolist()), tuple(share.tolist()), tuple(int(c) for c in count[used].tolist()), error.item()
    )


def perplexity(logits: Float[Tensor, "*batch vocab"], targets: Int[Tensor, "*batch"], ignore: int = 0) -> float:
    r"""Return how many equally likely words a model hesitates between, on average.

    $$\exp\Big(-\frac1n \sum_t \ln p^{<t>}_{k_t}\Big)$$
    over the n steps whose target k_t is not `ignore`, with p the softmax of `logits`. NaN without such a step.

    Notes: N5.45 (§5.3), for a unit vector as target the cross entropy is -ln p_k.

    Args:
        logits: outputs of a network.
        targets: the right words.
        ignore: the target of steps that do not count, as padding.

    >>> round(perplexity(torch.zeros(2, 3, 5), torch.tensor([[1, 2, 0], [4, 0, 0]])), 9)
    5.0
    """
    counted = targets != ignore
    logs = logits.double().log_softmax(-1)[counted]
    return (-logs.gather(-1, targets[counted][..., None].long()).mean()).exp().item()


def token_accuracy(guesses: Int[Tensor, "*batch"], targets: Int[Tensor, "*batch"], ignore: int = 0) -> float:
    """Return the share of right words among the steps whose target is not `ignore`; NaN without such a step.

    Notes: N5.45 (§5.3).

    >>> token_accuracy(torch.tensor([[1, 2, 9]]), torch.tensor([[1, 3, 0]]))
    0.5
    """
    counted = targets != ignore
    return (guesses == targets)[counted].double().mean().item()


def sequence_accuracy(guesses: Int[Tensor, "batch time"], targets: Int[Tensor, "batch time"], ignore: int = 0) -> float:
    """Return the share of sequences that are right at every step whose target is not `ignore`.

    >>> sequence_accuracy(torch.tensor([[1, 2, 9], [1, 2, 3]]), torch.tensor([[1, 2, 0], [1, 3, 3]]))
    0.5
    """
    return ((guesses == targets) | (targets == ignore)).all(-1).double().mean().item()


def sign_flip_p(differences: Float[Tensor, " batch"]) -> float:
    r"""Return how likely paired differences lie at least this far from 0 on average if their signs were drawn by coin.

    $$p = P\Big(\Big|\sum_i s_i d_i\Big| \ge \Big|\sum_i d_i\Big|\Big), \qquad s_i = \pm 1$$
    All signs are tried for up to 16 differences that are not 0; beyond that the sum counts as normal, with its variance
    $\sum_i d_i^2$. For right and wrong answers, whose differences are -1, 0 and 1, this is the exact test of McNemar.

    Args:
        differences: what one of two predictors costs more than the other on each example.

    >>> sign_flip_p(torch.tensor([1.0, 1.0, 0.0, 1.0]))
    0.25
    """
    d = differences.double().flatten()
    d = d[d != 0]
    if not len(d):
        return 1.0
    if len(d) <= 16:
        signs = torch.tensor([1.0, -1.0], dtype=torch.float64)
        sums = torch.zeros(1, dtype=torch.float64)
        for value in d:
            sums = (sums[:, None] + signs * value).flatten()
        bound = d.sum().abs() * (1 - 1e-12)  # what rounding makes of equal sums
        return (sums.abs() >= bound).double().mean().item()
    return torch.erfc(d.sum().abs() / (2 * d.square().sum()).sqrt()).item()


@dataclass(frozen=True)
class ForecastErrors:
    """How far forecasts are from what came, and whether it paid to make them.

    Args:
        mae: the mean absolute error.
        rmse: the root of the mean squared error.
        mase: the mean absolute error in units of the naive one-season step within the history; below 1 is better.
        naive_mae: the mean absolute error of the naive forecast of the same values.
        relative: `mae` in units of `naive_mae`.
    """

    mae: float
    rmse: float
    mase: float
    naive_mae: float
    relative: float


def naive_forecast(
    history: Float[Tensor, "*batch time"], horizon: int, season: int = 1
) -> Float[Tensor, "*batch horizon"]:
    r"""Repeat the last season: the last value (season 1), or the values of the same phase.

    $$\hat x^{<T+i>} = x^{<T - m + 1 + (i - 1) \bmod m>}, \qquad i = 1, \dots, \text{horizon}$$
    with the season m.

    Args:
        history: what is known.
        horizon: how many values to forecast.
        season: after how many steps the series repeats.

    >>> naive_forecast(torch.tensor([1.0, 2.0, 3.0, 4.0]), horizon=3, season=2).tolist()
    [3.0, 4.0, 3.0]
    """
    at_least("horizon", horizon, 1)
    _check_season(history, season)
    phase = torch.arange(horizon, device=history.device) % season
    return history[..., history.shape[-1] - season + phase]


def forecast_errors(
    outputs: Float[Tensor, "..."],
    targets: Float[Tensor, "*batch horizon"],
    history: Float[Tensor, "*batch time"],
    season: int = 1,
) -> ForecastErrors:
    r"""Judge forecasts against what came and against the naive forecast.

    $$\mathrm{MASE} = \frac{\mathrm{mean}\,|x - \hat x|}{\mathrm{mean}_t\,|x^{<t>} - x^{<t-m>}|}$$
    with the season m; the denominator is taken within `history`. NaN or infinity where nothing ever changes there.

    Args:
        outputs: the forecasts.
        targets: what came.
        history: what was known before, longer than a season.
        season: after how many steps the series repeats; 1 compares with the last value.

    >>> errors = forecast_errors(torch.tensor([[5.0]]), torch.tensor([[6.0]]), torch.tensor([[1.0, 3.0, 4.0]]))
    >>> errors.mae, errors.mase, errors.naive_mae, errors.relative
    (1.0, 0.6666666666666666, 2.0, 0.5)
    """
    if outputs.shape != targets.shape:
        raise ShapeError(
            f"`outputs` must have the shape of `targets`, {tuple(targets.shape)}, got {tuple(outputs.shape)}."
        )
    _check_season(history, season)
    y, x, past = outputs.double(), targets.double(), history.double()
    error = (y - x).abs().mean()
    step = (past[..., season:] - past[..., :-season]).abs().mean()
    naive = (naive_forecast(past, x.shape[-1], season) - x).abs().mean()
    return ForecastErrors(
        error.item(), (y - x).square().mean().sqrt().item(), (error / step).item(), naive.item(), (error / naive).item()
    )


def _check_season(history: Tensor, season: int) -> None:
    at_least("season", season, 1)
    if season >= history.shape[-1]:
        raise ArgumentError(
            f"`season` must be below the length of the history ({history.shape[-1]}), got {season}: give a longer one."
        )
