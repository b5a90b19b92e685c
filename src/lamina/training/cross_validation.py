"""k-fold cross-validation: train k times, each time validating on another part; no test data are touched."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from lamina._errors import RunError, at_least
from lamina.data.dataset import Dataset, Subset
from lamina.data.splits import Sealed, Split, k_fold
from lamina.training.loop import Progress
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.stopping import Row
from lamina.training.tasks.kinds import metric_of
from lamina.training.train import train


@dataclass(frozen=True)
class CrossValidation:
    """The best check of every fold.

    Args:
        rows: one row a fold, the check with the smallest validation loss.
        metric: the name of the score.
    """

    rows: tuple[Row, ...]
    metric: str

    @property
    def scores(self) -> list[float]:
        """The validation score of every fold."""
        return [row[f"validation_{self.metric}"] for row in self.rows]

    @property
    def mean(self) -> float:
        """The mean of the scores."""
        return sum(self.scores) / len(self.scores)

    @property
    def spread(self) -> float:
        """Their standard deviation, with k - 1."""
        return (sum((s - self.mean) ** 2 for s in self.scores) / (len(self.scores) - 1)) ** 0.5

    def __str__(self) -> str:
        return f"{self.metric} {self.mean:.4f} ± {self.spread:.4f} over {len(self.rows)} folds"


def cross_validate(
    make: Callable[[int], nn.Module], data: Dataset, recipe: Recipe, k: int = 5, runtime: Runtime | None = None
) -> CrossValidation:
    """Train a fresh network on k - 1 of k parts and validate it on the last, k times.

    Preparation is fitted anew on every training part. Folds are stratified by class and keep groups together.

    Args:
        make: builds the network of a fold, numbered 0 to k - 1.
        data: what to divide, for example `split.train`.
        recipe: how to train; its seed also divides.
        k: how many parts.
        runtime: device, threads and flags.

    >>> import lamina
    >>> found = cross_validate(
    ...     lambda fold: lamina.build("fnn", inputs=2, outputs=2, hidden=8, seed=fold),
    ...     lamina.load("moons", count=60),
    ...     lamina.Recipe(epochs=2),
    ...     k=3,
    ... )
    >>> len(found.scores)
    3
    """
    at_least("k", k, 2)
    rows = []
    for fold, (part, validation) in enumerate(k_fold(data, k, recipe.seed)):
        nothing = Sealed(Subset(data, validation.indices[:0]))
        at, split = Progress(), Split(part, validation, nothing, f"fold {fold + 1} of {k}")
        deque(train(make(fold), split, recipe, runtime=runtime, at=at), maxlen=0)
        if not at.rows:
            raise RunError(f"fold {fold + 1} of {k} failed before its first check: its loss is not finite.")
        rows.append(at.rows[at.best_row])
    return CrossValidation(tuple(rows), metric_of(data.spec))
