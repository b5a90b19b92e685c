"""What a single neuron learns of the logical functions (§1.6 of the notes)."""

import math
from itertools import islice
from typing import Any

import torch

from lamina._types import Tensor
from lamina.classical.perceptron_rule import learn
from lamina.data.synthetic import truth_table
from lamina.experiments.result import Claim, Plot, Result, experiment
from lamina.functional.losses import binary_cross_entropy
from lamina.functional.optimizers import OPTIMIZERS, GradientDescent, Params, iterates
from lamina.functional.random import as_generator

F64 = torch.float64


@experiment("N1.80")
def logical_functions(
    seeds: range = range(10), epochs: int = 200, gates: tuple[str, str, str] = ("or", "and", "xor")
) -> Result:
    r"""Teach a neuron OR, AND and XOR by the perceptron rule and by gradient descent on the logistic loss.

    Errors are counted over the four inputs, a true answer being $W^\top u + b \ge 0$. "fewest" is the smallest number
    ever seen on the way of any seed.

    Notes: N1.80 (§1.6).

    Args:
        seeds: initial weights, standard normal.
        epochs: passes through the four inputs; steps of size 5 for the logistic loss.
        gates: two functions that a line separates, and one that none does.

    >>> logical_functions(seeds=1, epochs=20).column("errors at end")
    [0, 0, 0, 0, 2, 2]
    """
    rows: list[tuple[Any, ...]] = []
    losses, runs = {}, {}
    for gate in gates:
        data = truth_table(gate)
        inputs, targets = data.inputs.double(), data.targets.double()
        starts = torch.stack([torch.randn(3, generator=as_generator(seed), dtype=F64) for seed in seeds])
        by_rule = [
            learn(inputs, targets, epochs=epochs, weight=start[:2], bias=start[2].item()).errors for start in starts
        ]
        rows.append((gate, "perceptron rule", *_counts(by_rule), "-"))
        by_loss, losses[gate] = _logistic(inputs, targets, starts, epochs)
        rows.append((gate, "logistic loss", *_counts(list(by_loss)), losses[gate].max().item()))
        runs[gate] = [*by_rule, *by_loss]
    separable, inseparable = [*runs[gates[0]], *runs[gates[1]]], runs[gates[2]]
    return Result(
        f"errors of a neuron on the four inputs, {len(seeds)} first weights, {epochs} epochs",
        ("function", "method", "errors at end", "fewest", "last loss"),
        rows,
        Claim(
            f"{gates[0]} and {gates[1]} are learned without error from everywhere",
            all(run[-1] == 0 for run in separable),
        ),
        Claim(f"{gates[2]} is never below one error", all(run.min() >= 1 for run in inseparable)),
        Claim.often(
            "three of four right, which is the best, occurs on the way",
            [int(run.min()) == 1 for run in inseparable],
            rate=0.25,
        ),
        Claim.on_average(
            "the logistic loss ends at log 2 there, every answer is one half: its distance from log 2",
            (losses[gates[2]] - math.log(2)).abs().tolist(),
            most=1e-3,
        ),
        plot=Plot("function", ("errors at end",), "bars", by=("method",)),
    )


def _counts(errors: list[Tensor]) -> tuple[int, int]:
    """Return the largest number of errors at the end and the smallest ever, over the seeds."""
    return max(int(run[-1]) for run in errors), min(int(run.min()) for run in errors)


def _logistic(inputs: Tensor, targets: Tensor, starts: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """Return the errors of each seed over time and its last loss."""
    design = torch.cat([inputs, torch.ones_like(inputs[:, :1])], 1)

    def gradient(theta: Params) -> Params:
        return {"W": (torch.sigmoid(theta["W"] @ design.T) - targets) @ design / len(design)}

    path = islice(iterates(gradient, {"W": starts}, OPTIMIZERS["gd"], GradientDescent(5.0)), steps + 1)
    logits = torch.stack([theta["W"] @ design.T for theta in path], 1)  # seed, step, input
    loss = binary_cross_entropy(logits[:, -1], targets.expand_as(logits[:, -1]), reduction="none").mean(1)
    return ((logits >= 0) != targets.bool()).sum(2), loss
