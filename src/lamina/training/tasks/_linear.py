"""Whether a linear model does as well as a network, on validation rows that neither was fitted to."""

from collections.abc import Mapping
from typing import Any

import torch

from lamina._types import Tensor
from lamina.classical.penalized import logistic, ridge
from lamina.data.dataset import weights_of
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.training.tasks._baselines import SURE, Baseline, answered, compared, weighed

ROWS = 10_000
"""A linear model is fitted to at most so many training rows, evenly spaced."""

COLUMNS = 1_000
"""Of rows with more prepared columns no linear model is made, since that would take longer than seconds."""

FEWEST = 20
"""With fewer validation rows nothing can be said."""

ALIKE = 0.3173
"""Luck puts a network ahead by more than one standard error with this probability; below that they are alike."""


def linear_baseline(prepare: Preprocess, split: Split) -> Baseline | None:
    """Fit ridge or logistic regression to the prepared training rows and judge it on the validation rows.

    Args:
        prepare: gives standardized columns, categories as columns of their own, and standardized targets.
        split: the data.

    Returns:
        What `baselines` gives of simpler answers; None where there are too many columns or too few rows.
    """
    train, validation = split.train, split.validation
    if len(validation) < FEWEST:
        return None
    some = torch.linspace(0, len(train) - 1, min(ROWS, len(train))).long()
    inputs, targets = train.take(some)
    rows, (held, wanted) = prepare.apply(inputs).flatten(1), validation.take(torch.arange(len(validation)))
    if rows.shape[1] > COLUMNS:
        return None
    weights, own = weights_of(train), weights_of(validation)
    weights = None if weights is None else weights[some].double()
    there = prepare.apply(held).flatten(1).double()
    if prepare.spec.task == "classification":
        guesses = logistic(rows.double(), targets, prepare.spec.outputs, weights=weights).predict(there).argmax(1)
        wrong = weighed((guesses != wanted).double(), own)
        return Baseline("a linear model", {"accuracy": 1 - wrong.mean().item()}, wrong.mean().item(), wrong)
    model = ridge(rows.double(), prepare.targets(targets).double().reshape(len(rows), -1), weights=weights)
    given = prepare.untargets(model.predict(there)).reshape(len(there), -1)
    return answered("a linear model", given, wanted.reshape(len(wanted), -1), own)


def against(linear: Baseline, metrics: Mapping[str, float], costs: Tensor) -> dict[str, Any]:
    """Compare a network with a linear model on the same rows, as plain values for a file.

    Args:
        linear: what `linear_baseline` gave.
        metrics: those of the network.
        costs: what each row costs with the network.
    """
    (found,) = compared([linear], costs.mean().item(), costs)
    name = "accuracy" if "accuracy" in linear.metrics else "r2"
    values = {"linear": linear.metrics[name], "network": metrics[name]}
    return {"metric": name, **values, "ahead": found["ahead"], "p": found["p"], "examples": len(costs)}


def simpler(found: Mapping[str, Any] | None) -> str:
    """Say in a sentence that a linear model does as well; "" where it does not, or nothing is known.

    >>> simpler({"metric": "r2", "linear": 0.42, "network": 0.39, "ahead": -1.2, "p": 0.4, "examples": 73})
    'A linear model does as well (R² 0.42 against 0.39 on 73 validation examples).'
    """
    if not found or (found["ahead"] > 0 and found["p"] < ALIKE):
        return ""
    sure = found["ahead"] < 0 and found["p"] < SURE
    name, digits = ("R²", ".2f") if found["metric"] == "r2" else ("accuracy", ".1%")
    if f"{found['linear']:{digits}}" == f"{found['network']:{digits}}":
        digits = ".4f" if found["metric"] == "r2" else ".2%"
    both = f"{name} {found['linear']:{digits}} against {found['network']:{digits}}"
    where = f"on {found['examples']:,} validation examples"
    return f"A linear model does {'better' if sure else 'as well'} ({both} {where})."
