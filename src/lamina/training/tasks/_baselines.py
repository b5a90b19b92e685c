"""What answers without a look at the input are worth: the majority class, the mean, the last value, frequent words."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from lamina._types import Tensor
from lamina.functional.metrics import label_scores, mean_errors, r2, sign_flip_p

SURE = 0.05
"""The probability of mere luck below which a difference counts."""


@dataclass(frozen=True)
class Baseline:
    """A simple answer and what it is worth on some examples.

    Args:
        name: the answer in a few words.
        metrics: of the same names as those of a network.
        costs: what the answer costs on each example, as `judge` says it of a network; None where only a mean is known.
        cost: the mean of the costs.
    """

    name: str
    metrics: dict[str, float]
    cost: float
    costs: Tensor | None = None


def compared(baselines: Sequence[Baseline], cost: float, costs: Tensor | None, block: int = 1) -> list[dict[str, Any]]:
    """Compare a network with baselines on the same examples, as plain values: the strongest baseline comes first.

    Args:
        baselines: what to compare with.
        cost: what an example costs with the network, on average.
        costs: what each example costs with the network; None where only the mean is known.
        block: how many neighboring examples depend on each other, as windows of a series do.

    Returns:
        Name and metrics of each baseline, by how much the network is `ahead` of it, and how likely luck alone puts it
        so far ahead or behind (`p`; None where only means are known).
    """
    found = []
    for each in sorted(baselines, key=lambda baseline: baseline.cost):
        p = None
        if costs is not None and each.costs is not None:
            p = sign_flip_p(torch.stack([part.sum() for part in (each.costs - costs).double().split(block)]))
        found.append({"name": each.name, "metrics": each.metrics, "ahead": each.cost - cost, "p": p})
    return found


def verdict(baselines: Sequence[Mapping[str, Any]], examples: int) -> str:
    """Say in a sentence whether a network beats the strongest baseline.

    >>> verdict([{"name": "always 'cat'", "ahead": 0.3, "p": 0.2}], 9)
    'The network is ahead of the baseline, but 9 examples are too few to tell (p = 0.2).'
    """
    if not baselines:
        return ""
    ahead, p = baselines[0]["ahead"], baselines[0]["p"]
    what = "the baseline" if len(baselines) == 1 else f"the strongest baseline ({baselines[0]['name']})"
    if not ahead > 0:
        return f"The network does not beat {what}."
    if p is not None and p >= SURE:
        few = f"{examples:,} example{' is' if examples == 1 else 's are'} too few to tell (p = {p:.2g})"
        return f"The network is ahead of {what}, but {few}."
    return f"The network beats {what}."


def beaten(baselines: Sequence[Mapping[str, Any]]) -> bool | None:
    """Say whether a network beats the strongest baseline: None when there is none, or too few examples to tell."""
    if not baselines or (baselines[0]["ahead"] > 0 and (baselines[0]["p"] or 0.0) >= SURE):
        return None
    return bool(baselines[0]["ahead"] > 0)


def weighed(rows: Tensor, weights: Tensor | None) -> Tensor:
    """Weigh examples, so that the mean is the weighted one: weights have the mean 1.

    >>> weighed(torch.tensor([[1.0], [2.0]]), torch.tensor([0.5, 1.5])).tolist()
    [[0.5], [3.0]]
    """
    return rows if weights is None else rows * weights.to(rows).reshape(-1, *(1,) * (rows.ndim - 1))


def always(answer: int, name: str, labels: Tensor, weights: Tensor | None = None) -> Baseline:
    """Judge one class as the answer to everything; weights of examples have the mean 1."""
    wrong = weighed((labels != answer).double(), weights)
    return Baseline(
        f"always {name!r}, the most frequent class in training",
        {"accuracy": 1 - wrong.mean().item()},
        wrong.mean().item(),
        wrong,
    )


def each_usual(shares: Sequence[float], targets: Tensor, weights: Tensor | None = None) -> Baseline:
    """Judge the answers that are most frequent in training, label by label, [example, label]."""
    answer = (torch.tensor(shares) >= 0.5).long().expand(len(targets), -1)
    there = (targets > 0.5).long()
    found = label_scores(answer, there, weights)
    wrong = weighed((answer != there).double().mean(1), weights)
    metrics = {"accuracy": found.accuracy, "exact": found.exact, "micro_f1": found.micro_f1, "f1": found.macro_f1}
    return Baseline("what is most frequent in training, label by label", metrics, wrong.mean().item(), wrong)


def answered(
    name: str, given: Tensor, wanted: Tensor, weights: Tensor | None = None, apart: Sequence[tuple[str, float]] = ()
) -> Baseline:
    """Judge real answers of a baseline, [example, output]; weights of examples have the mean 1."""
    metrics, squares = number_metrics(given, wanted, weights, apart)
    return Baseline(name, metrics, metrics["mse"], squares)


def number_metrics(
    given: Tensor, wanted: Tensor, weights: Tensor | None = None, apart: Sequence[tuple[str, float]] = ()
) -> tuple[dict[str, float], Tensor]:
    """Compute the metrics of real answers [example, output], and the squared error of each example.

    Args:
        given: the answers.
        wanted: what is right.
        weights: of the examples, with the mean 1.
        apart: name and standard deviation of each output, if they have units of their own: the common errors are then
            in standard deviations, and each name gets a root mean squared error in its units.

    >>> found, _ = number_metrics(torch.tensor([[3.0, 0.0]]), torch.zeros(1, 2), apart=[("price", 3.0), ("days", 1.0)])
    >>> found["mse"], found["rmse price"], found["rmse days"]
    (0.5, 3.0, 0.0)
    """
    errors, own = given.double() - wanted.double(), {}
    if apart:
        columns = [apart[j % len(apart)] for j in range(errors.shape[1])]
        for name in dict.fromkeys(name for name, _ in apart):
            places = [j for j, (other, _) in enumerate(columns) if other == name]
            own[f"rmse {name}"] = math.sqrt(weighed(errors[:, places].square(), weights).mean().item())
        scale = torch.tensor([std for _, std in columns], dtype=torch.float64)
        given, wanted = given.double() / scale, wanted.double() / scale
    mse, mae = mean_errors(given.double(), wanted.double(), weights)
    metrics = {"mse": mse, "mae": mae, "r2": r2(given, wanted, weights), "rmse": math.sqrt(mse)} | own
    return metrics, weighed((given.double() - wanted.double()).square().mean(1), weights)


def unigram(counts: Sequence[int], targets: Tensor, what: str) -> Baseline:
    """Judge the frequencies of words in training as the forecast of every next word; each word counts once more.

    Args:
        counts: how often each token occurred in training.
        targets: the tokens to forecast, one after the other.
        what: what the tokens are called.

    >>> found = unigram([0, 2, 4], torch.tensor([2, 2, 1]), "words")
    >>> round(found.metrics["perplexity"], 4), found.metrics["token_accuracy"]
    (2.1341, 0.6666666666666666)
    """
    shares = torch.tensor(counts, dtype=torch.float64) + 1
    logs = (shares / shares.sum()).log()[targets]
    loss = -logs.mean().item()
    right = (targets == int(shares.argmax())).double().mean().item()
    metrics = {"loss": loss, "perplexity": math.exp(min(loss, 700.0)), "token_accuracy": right}
    return Baseline(f"the frequencies of {what} in training", metrics, loss)
