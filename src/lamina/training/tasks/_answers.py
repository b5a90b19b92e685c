"""Judge classes and numbers: confusion, calibration, errors, and the worst mistakes."""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from lamina._types import Tensor
from lamina.data.dataset import Spec
from lamina.functional.activations import probabilities
from lamina.functional.metrics import accuracy, auc, calibration, confusion, f1_scores, forecast_errors, r2
from lamina.training.objective import Objective
from lamina.training.tasks.task import WORST

Shown = Callable[[Tensor], dict[str, Any]]
"""Gives what a report shows of an example."""


def judge_classes(
    objective: Objective, names: tuple[str, ...], inputs: Tensor, labels: Tensor, outputs: Tensor, shown: Shown
) -> dict[str, Any]:
    """Judge outputs of a classification."""
    p = probabilities(outputs)
    guesses, certain = p.argmax(1), p.max(1).values
    counts = confusion(guesses, labels, p.shape[1])
    right = guesses == labels
    present = counts.sum(1) > 0
    areas = [auc(p[:, k], (labels == k).long()) for k in present.nonzero().flatten().tolist()]
    areas = [area for area in areas if area == area]
    metrics = {"loss": float(objective.loss(outputs, labels)), "accuracy": accuracy(guesses, labels)}
    metrics["f1"] = float(f1_scores(counts)[present].mean())
    if areas:
        metrics["auc"] = sum(areas) / len(areas)
    found = counts.diagonal().double()
    precision, recall = found / counts.sum(0).clamp(min=1), found / counts.sum(1).clamp(min=1)
    per_class = [
        {
            "class": name,
            "examples": int(counts[k].sum()),
            "precision": float(precision[k]),
            "recall": float(recall[k]),
            "f1": float(f),
        }
        for k, (name, f) in enumerate(zip(names, f1_scores(counts).tolist(), strict=True))
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
        "costs": (~right).double(),
    }


def judge_numbers(
    objective: Objective, preprocess: Any, inputs: Tensor, targets: Tensor, outputs: Tensor, shown: Shown
) -> dict[str, Any]:
    """Judge real outputs, in the units of the targets; those of a series also against the naive forecast."""
    wanted = targets.double().reshape(len(targets), -1)
    given = preprocess.untargets(outputs).double().reshape(len(outputs), -1)
    loss = float(objective.loss(outputs, preprocess.targets(targets)))
    errors = given - wanted
    metrics = {
        "loss": loss,
        "mse": float((errors**2).mean()),
        "mae": float(errors.abs().mean()),
        "r2": r2(given, wanted),
        "rmse": math.sqrt(float((errors**2).mean())),
        **forecast_metrics(preprocess.spec, inputs, targets, given),
    }
    order = errors.square().sum(1).argsort(descending=True, stable=True)[:WORST].tolist()
    worst = [
        {"index": i, "target": wanted[i, 0].item(), "output": given[i, 0].item(), **shown(inputs[i])} for i in order
    ]
    columns = wanted[:, 0].tolist(), given[:, 0].tolist()
    predictions = [[round(a, 6), round(b, 6)] for a, b in zip(*columns, strict=True)]
    costs = errors.square().mean(1)
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


def forecast_metrics(spec: Spec, inputs: Tensor, targets: Tensor, given: Tensor) -> dict[str, float]:
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
