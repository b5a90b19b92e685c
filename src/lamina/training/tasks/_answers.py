"""Judge classes, labels and numbers: confusion, calibration, errors, and the worst mistakes."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import torch

from lamina._types import Tensor
from lamina.data.dataset import Spec
from lamina.data.describe import labels_text
from lamina.data.source import with_weights
from lamina.functional.activations import probabilities
from lamina.functional.metrics import (
    accuracy,
    auc,
    average_precision,
    calibration,
    confusion,
    f1_scores,
    forecast_errors,
    label_scores,
    share,
)
from lamina.training.objective import Objective
from lamina.training.tasks._baselines import number_metrics, weighed
from lamina.training.tasks.task import WORST

Shown = Callable[[Any], dict[str, Any]]
"""Gives what a report shows of an example."""


def judge_classes(
    objective: Objective,
    names: tuple[str, ...],
    inputs: Any,
    labels: Tensor,
    outputs: Tensor,
    weights: Tensor | None,
    shown: Shown,
) -> dict[str, Any]:
    """Judge outputs of a classification; confusion and calibration count examples, whatever their weights."""
    p = probabilities(outputs)
    guesses, certain = p.argmax(1), p.max(1).values
    counts = confusion(guesses, labels, p.shape[1])
    shares = counts if weights is None else confusion(guesses, labels, p.shape[1], weights)
    right = guesses == labels
    present = shares.sum(1) > 0
    areas = [auc(p[:, k], (labels == k).long(), weights) for k in present.nonzero().flatten().tolist()]
    areas = [area for area in areas if area == area]
    loss = float(objective.loss(outputs, with_weights(labels, weights)))
    metrics = {"loss": loss, "accuracy": accuracy(guesses, labels, weights)}
    metrics["f1"] = float(f1_scores(shares)[present].mean())
    if areas:
        metrics["auc"] = sum(areas) / len(areas)
    precision, recall = (share(shares.diagonal(), shares.sum(axis)) for axis in (0, 1))
    per_class = [
        {
            "class": name,
            "examples": int(counts[k].sum()),
            "precision": float(precision[k]),
            "recall": float(recall[k]),
            "f1": float(f),
        }
        for k, (name, f) in enumerate(zip(names, f1_scores(shares).tolist(), strict=True))
    ]
    mistakes = (~right).nonzero().flatten()
    order = mistakes[certain[mistakes].argsort(descending=True, stable=True)][:WORST].tolist()
    worst = [
        {
            "index": i,
            "label": names[labels[i]],
            "guess": names[guesses[i]],
            "confidence": float(certain[i]),
            **shown(inputs[i]),
        }
        for i in order
    ]
    columns = labels.tolist(), guesses.tolist(), certain.tolist()
    predictions = [[a, b, round(c, 6)] for a, b, c in zip(*columns, strict=True)]
    return {
        "examples": len(labels),
        "metrics": metrics,
        "confusion": counts.tolist(),
        "per_class": per_class,
        "calibration": asdict(calibration(certain, right.long())),
        "worst": worst,
        "predictions": predictions,
        "costs": weighed((~right).double(), weights),
    }


def judge_labels(
    objective: Objective,
    names: tuple[str, ...],
    inputs: Any,
    targets: Tensor,
    outputs: Tensor,
    weights: Tensor | None,
    shown: Shown,
) -> dict[str, Any]:
    """Judge outputs where an example may have several labels or none; a label is guessed from one half on."""
    p = outputs.double().reshape(targets.shape).sigmoid()
    guesses, there = (p >= 0.5).long(), (targets > 0.5).long()
    found = label_scores(guesses, there, weights)
    areas = [average_precision(p[:, k], there[:, k], weights) for k in range(len(names))]
    known = [area for area in areas if area == area]
    metrics = {
        "loss": float(objective.loss(outputs, with_weights(targets, weights))),
        "accuracy": found.accuracy,
        "exact": found.exact,
        "micro_f1": found.micro_f1,
        "f1": found.macro_f1,
    }
    if known:
        metrics["average_precision"] = sum(known) / len(known)
    scores = (found.prevalence, found.precision, found.recall, found.f1)
    columns = (
        names,
        there.sum(0).tolist(),
        *(score.tolist() for score in scores),
        [a if a == a else None for a in areas],
    )
    keys = ("class", "examples", "prevalence", "precision", "recall", "f1", "average_precision")
    per_class = [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]
    wrong = torch.where(guesses != there, (p - 0.5).abs() + 0.5, 0.0).max(1).values  # how sure of what is wrong
    order = wrong.argsort(descending=True, stable=True)[:WORST].tolist()
    worst = [
        {
            "index": i,
            "label": labels_text(names, there[i]),
            "guess": labels_text(names, guesses[i]),
            "confidence": float(wrong[i]),
            **shown(inputs[i]),
        }
        for i in order
        if wrong[i] > 0
    ]
    predictions = [[round(value, 6) for value in row] for row in p.tolist()]
    return {
        "examples": len(targets),
        "metrics": metrics,
        "per_class": per_class,
        "worst": worst,
        "predictions": predictions,
        "costs": weighed((guesses != there).double().mean(1), weights),
    }


def judge_numbers(
    objective: Objective,
    preprocess: Any,
    inputs: Any,
    targets: Tensor,
    outputs: Tensor,
    weights: Tensor | None,
    shown: Shown,
    apart: Sequence[tuple[str, float]] = (),
) -> dict[str, Any]:
    """Judge real outputs as `number_metrics` does; those of a series also against the naive forecast."""
    wanted = targets.double().reshape(len(targets), -1)
    given = preprocess.untargets(outputs).double().reshape(len(outputs), -1)
    loss = float(objective.loss(outputs, with_weights(preprocess.targets(targets), weights)))
    errors, (found, costs) = given - wanted, number_metrics(given, wanted, weights, apart)
    metrics = {"loss": loss, **found, **forecast_metrics(preprocess.spec, inputs, targets, given)}
    order = errors.square().sum(1).argsort(descending=True, stable=True)[:WORST].tolist()
    worst = [
        {"index": i, "target": wanted[i, 0].item(), "output": given[i, 0].item(), **shown(inputs[i])} for i in order
    ]
    columns = wanted[:, 0].tolist(), given[:, 0].tolist()
    predictions = [[round(a, 6), round(b, 6)] for a, b in zip(*columns, strict=True)]
    return {
        "examples": len(targets),
        "metrics": metrics,
        "worst": worst,
        "predictions": predictions,
        "costs": costs,
    }


def last_values(spec: Spec, inputs: Tensor) -> Tensor | None:
    """Give the last known values of the targets of a series as the answer to every example, [example, output].

    None for targets that are not among what is read. An answer at every step is the value of that step.
    """
    columns = [i for i, name in enumerate(spec.features) if name in spec.target.split(", ")]
    if spec.kind != "series" or not columns:
        return None
    if spec.task == "structured":
        return inputs[:, :, columns].flatten(1)
    return inputs[:, -1, columns].repeat(1, spec.outputs // len(columns))


def forecast_metrics(spec: Spec, inputs: Any, targets: Tensor, given: Tensor) -> dict[str, float]:
    """Compare forecasts of a series with the naive one, which repeats the last value; nothing for other targets."""
    columns = [i for i, name in enumerate(spec.features) if name in spec.target.split(", ")]
    if spec.kind != "series" or not columns or inputs.shape[1] < 2:
        return {}
    past = inputs[:, :, columns].double().movedim(1, 2)  # [example, column, time]
    if spec.task == "structured":  # an answer at every step: the naive one is the value of that step
        wanted, naive = targets.double().reshape(inputs.shape[0], -1), past.movedim(1, 2).flatten(1)
        errors = (given.double().reshape(wanted.shape) - wanted).abs()
        mae, naive_mae = errors.mean().item(), (naive - wanted).abs().mean().item()
        return {
            "mase": mae / (past[..., 1:] - past[..., :-1]).abs().mean().item(),
            "naive_mae": naive_mae,
        }
    shape = (len(inputs), -1, len(columns))
    outputs, wanted = (values.double().reshape(shape).movedim(1, 2) for values in (given, targets))
    found = forecast_errors(outputs, wanted, past)
    return {"mase": found.mase, "naive_mae": found.naive_mae}
