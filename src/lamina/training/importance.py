"""Which columns a trained network relies on: its loss of accuracy, or rise in error, when one of them is shuffled."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from lamina._errors import ArgumentError
from lamina._types import Float, Tensor
from lamina.data.dataset import Dataset, Subset
from lamina.functional.importance import permutation, permutation_importance
from lamina.functional.metrics import accuracy

if TYPE_CHECKING:
    from lamina.training.run import Run

WORK = 5e9
"""Operations that an evaluation may spend on importance: a few seconds; beyond that it takes fewer examples."""
LEAST = 100
"""The fewest examples for which importance is worth its name, where there are more than can be afforded."""
_PREPARED = 200
"""Operations that it takes to prepare a number, roughly."""


@dataclass(frozen=True)
class Importance:
    """How much worse a network gets when a column is shuffled among the examples.

    Args:
        metric: what was measured: "accuracy", which drops, or "mae", the mean absolute error, which rises, in the units
            of the targets.
        value: the metric with all columns in place.
        columns: the names of the columns.
        drops: the loss of accuracy, or the rise in error, in each repeat.
        examples: how many examples were shuffled.
    """

    metric: str
    value: float
    columns: tuple[str, ...]
    drops: Float[Tensor, "feature repeat"]
    examples: int

    @property
    def mean(self) -> list[float]:
        """The importance of each column: its mean over the repeats, without what rounding leaves of 0."""
        tiny = 1e-12 * max(self.value, float(self.drops.abs().max()))
        return [mean if abs(mean) > tiny else 0.0 for mean in self.drops.mean(1).tolist()]

    @property
    def spread(self) -> list[float]:
        """The standard deviation over the repeats."""
        spreads: list[float] = self.drops.std(1, correction=0).tolist()
        return spreads

    def as_dict(self) -> dict[str, Any]:
        """Give plain values, the most important column first."""
        rows = sorted(zip(self.columns, self.mean, self.spread, strict=True), key=lambda row: -row[1])
        return {
            "metric": self.metric,
            "value": self.value,
            "repeats": self.drops.shape[1],
            "examples": self.examples,
            "columns": [dict(zip(("column", "mean", "spread"), row, strict=True)) for row in rows],
        }


def importance(run: "Run", data: Dataset, repeats: int = 5, seed: int = 0) -> Importance:
    """Shuffle one column after another among labeled examples that were not trained on.

    Args:
        run: a trained network.
        data: the examples, such as `run.split.validation`.
        repeats: how many permutations of each column.
        seed: of the permutations.
    """
    columns = run.task.columns()
    if not run.task.plain:
        raise ArgumentError(
            f"importance is for one class or numbers as an answer, but the run was trained for {run.task.spec.task}."
        )
    inputs, targets = data.take(torch.arange(len(data)))
    wanted = targets.double().reshape(len(targets), -1)

    def score(examples: Tensor) -> float:
        found = run.task.answers(run, examples)
        if found.classes:
            return accuracy(found.values.argmax(1), targets)
        return -(found.values.double() - wanted).abs().mean().item()

    whole = score(inputs)
    drops = permutation_importance(score, inputs, list(columns.values()), repeats, seed)
    classes = bool(run.task.spec.classes)
    return Importance("accuracy" if classes else "mae", abs(whole), tuple(columns), drops, len(inputs))


def affordable(run: "Run", test: Dataset, repeats: int = 5) -> dict[str, Any] | None:
    """Measure importance on the test part, or on as many of its examples as a few seconds allow.

    Returns:
        Plain values; None where data have no columns, answers no score, or too few examples can be afforded.
    """
    try:
        columns = run.task.columns()
    except ArgumentError:
        return None
    if not run.task.plain or run.task.spec.complete:
        return None
    each = run.task.look(run.model).operations + _PREPARED * torch.Size(run.task.spec.inputs).numel()
    many = min(len(test), int(WORK / (each * len(columns) * repeats)))
    if many < min(LEAST, len(test)):
        return None
    chosen = test if many == len(test) else Subset(test, permutation(len(test))[:many].sort().values)
    return importance(run, chosen, repeats).as_dict()
