"""Intervals and sets of classes around the predictions of a run, calibrated on examples it was not trained on."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lamina._errors import ArgumentError, RunError
from lamina._types import Float, Tensor
from lamina.data.dataset import Dataset
from lamina.functional.conformal import conformal_quantile, conformal_set, label_scores
from lamina.training.encoding import encode
from lamina.training.packed import home_of
from lamina.training.predictions import Predictions
from lamina.training.rebuild import reload

if TYPE_CHECKING:
    from lamina.training.run import Run

SCORES = "scores.safetensors"
MEASURED = 0.9
"""The coverage that an evaluation measures on the test part."""


def covered(found: Predictions, scores: Float[Tensor, "batch label"], coverage: float) -> Predictions:
    """Add lower and upper bounds, or sets of classes, to predictions.

    Args:
        found: what a network says about some examples.
        scores: what `scores_of` gave for calibration examples.
        coverage: how often the truth is to be inside.
    """
    quantile = conformal_quantile(scores, coverage)
    if not found.classes:
        values = found.values.double()
        return replace(found, lower=values - quantile, upper=values + quantile)
    inside = conformal_set(found.values.double(), quantile[0])
    order = found.values.argsort(dim=1, descending=True, stable=True)
    rows = zip(order.tolist(), inside.tolist(), strict=True)
    return replace(found, sets=tuple(tuple(found.classes[k] for k in row if held[k]) for row, held in rows))


def scores_of(run: "Run", data: Dataset) -> Float[Tensor, "batch label"]:
    """Compute how far a run is from the truth: 1 - p of the right class, or absolute errors in the data's units.

    Args:
        run: a trained network.
        data: labeled examples that it was not trained on.
    """
    _check(run)
    found, targets = run.task.compared(run, data)
    if found.classes:
        return label_scores(found.values.double(), targets)[:, None]
    return (found.values.double() - targets.double().reshape(len(targets), -1)).abs()


def validation_scores(run: "Run") -> Float[Tensor, "batch label"]:
    """Give the scores of the validation part; they are kept with the run, so that its data are needed only once."""
    _check(run)
    home = home_of(run.folder)
    weights = home.weights_digest()
    if home.has(SCORES) and (kept := _kept(home.content(SCORES), weights)) is not None:
        return kept
    origin = home.config()["data"]
    if run.split is None and not origin.get("reload"):
        raise RunError(
            "the data of this run were given in memory, and no errors on its validation part were kept: give labeled "
            "examples as `calibration`, or evaluate the run before it is loaded again."
        )
    found = scores_of(run, (run.split or reload(origin)).validation)
    home.write(SCORES, encode({"scores": found}, {"weights": weights}))
    return found


def _kept(content: bytes, weights: str) -> Tensor | None:
    """Read scores; None if they are of other weights, or cannot be read, as in a damaged folder of Lamina 0.1."""
    from safetensors.torch import load

    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        return load(content)["scores"] if header["__metadata__"]["weights"] == weights else None
    except Exception:  # safetensors raises its own type
        return None


def measure(run: "Run", answers: Predictions, targets: Tensor) -> dict[str, Any] | None:
    """Measure on the test part how often intervals or sets hold the truth, and how large they are.

    Args:
        run: a trained network.
        answers: what it says about the test part.
        targets: what is right there.

    Returns:
        The coverage that was asked for, the number of calibration examples, the quantile of each output, the measured
        share of each output, and the mean width of the intervals or size of the sets; None where a task has neither or
        there are too few examples.
    """
    try:
        scores = validation_scores(run)
        quantile = conformal_quantile(scores, MEASURED)
    except ArgumentError:
        return None
    found = covered(answers, scores, MEASURED)
    if found.lower is None or found.upper is None:
        inside = [found.classes[label] in names for label, names in zip(targets.tolist(), found.sets, strict=True)]
        share, size = [sum(inside) / len(inside)], [sum(map(len, found.sets)) / len(inside)]
    else:
        truth = targets.double().reshape(len(targets), -1)
        share = ((found.lower <= truth) & (truth <= found.upper)).double().mean(0).tolist()
        size = (2 * quantile).tolist()
    facts = {"asked": MEASURED, "examples": len(scores), "quantile": quantile.tolist()}
    return {**facts, "measured": share, "size": size}


def _check(run: "Run") -> None:
    if not run.task.plain:
        raise ArgumentError(
            f"`coverage` is for one class or numbers as an answer, but the run was trained for {run.task.spec.task}: "
            "leave it out."
        )
    if run.task.spec.complete:
        raise ArgumentError(
            "`coverage` needs examples that were not trained on, but the run was trained on all of them: leave it out."
        )
