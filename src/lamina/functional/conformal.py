r"""Split conformal prediction: intervals and sets of classes that hold the truth as often as asked.

Scores say how far examples that were not trained on are from what a network gives; a new example is exchangeable with
them, so its score is as likely to have any rank among them as any other. The notes do not treat this; the equations are
those of Lei et al. (2018), "Distribution-free predictive inference for regression", and of Sadinle, Lei and Wasserman
(2019), "Least ambiguous set-valued classifiers with bounded error levels".
"""

import math

import torch

from lamina._errors import ArgumentError
from lamina._types import Bool, Float, Int, Tensor


def conformal_quantile(scores: Float[Tensor, "batch ..."], coverage: float) -> Float[Tensor, "..."]:
    r"""Return the score that a new one does not exceed with the given probability.

    $$\hat q = s_{(\lceil (n + 1)(1 - \alpha) \rceil)}, \qquad 1 - \alpha \le P(s_{n+1} \le \hat q) \le 1 - \alpha +
    \frac{1}{n + 1}$$
    with s = `scores` in ascending order and 1 - alpha = `coverage`; the upper bound holds without ties. It exists for
    $n \ge 1/\alpha - 1$.

    Args:
        scores: of examples that were not trained on.
        coverage: the wanted probability, between 0 and 1.

    Returns:
        One number per output.

    >>> conformal_quantile(torch.tensor([3.0, 1.0, 4.0, 2.0]), 0.75).item()
    4.0
    """
    n = len(scores)
    if not 0 < coverage < 1:
        raise ArgumentError(f"`coverage` must be greater than 0 and less than 1, got {coverage!r}.")
    rank = math.ceil((n + 1) * coverage - 1e-9)  # 100 * 0.07 is a little more than 7
    if rank > n:
        least = math.ceil(coverage / (1 - coverage) - 1e-9)
        way = f"ask for at most {math.floor(1000 * n / (n + 1)) / 1000:g}, or calibrate on more" if n else "give some"
        raise ArgumentError(
            f"`coverage` {coverage:g} needs at least {least} calibration examples (n >= 1/alpha - 1 with alpha = "
            f"{1 - coverage:.3g}), got {n}: {way}."
        )
    return scores.sort(0).values[rank - 1]


def label_scores(probabilities: Float[Tensor, "batch label"], labels: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    r"""Return $s = 1 - p_k$ with the probability of the right class k.

    >>> label_scores(torch.tensor([[0.75, 0.25]]), torch.tensor([1])).tolist()
    [0.75]
    """
    return 1 - probabilities.gather(1, labels[:, None])[:, 0]


def conformal_set(
    probabilities: Float[Tensor, "*batch label"], quantile: Float[Tensor, ""] | float
) -> Bool[Tensor, "*batch label"]:
    r"""Say which classes belong to the set of each example.

    $$C(x) = \{k : 1 - p_k(x) \le \hat q\} \cup \{\operatorname{argmax}_k p_k(x)\}$$

    Differs: Sadinle et al. leave a set empty where no class is likely enough; here the most likely class always belongs
        to it, which can only raise the coverage.

    Args:
        probabilities: of the classes.
        quantile: of the scores $1 - p_k$ of calibration examples.

    >>> conformal_set(torch.tensor([[0.5, 0.375, 0.125], [0.25, 0.375, 0.375]]), 0.625).tolist()
    [[True, True, False], [False, True, True]]
    """
    top = torch.nn.functional.one_hot(probabilities.argmax(-1), probabilities.shape[-1]).bool()
    return (1 - probabilities <= quantile) | top
