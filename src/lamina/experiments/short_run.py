"""Train a network for an experiment: the step and the loop of `training`, without a run folder."""

from collections.abc import Sequence

from torch import nn

from lamina.data.dataset import Dataset
from lamina.data.preprocess import Preprocess
from lamina.training.fit import objective_for
from lamina.training.loop import Progress, loop
from lamina.training.recipe import Recipe
from lamina.training.step import EagerStep
from lamina.training.stopping import Row, StopReason, rules


def make_step(model: nn.Module, train: Dataset, validation: Dataset | None, recipe: Recipe) -> EagerStep:
    """Bring a network and data together on the CPU, with preprocessing fitted on the training data.

    >>> from lamina.architectures.fnn import FNN, FNNConfig
    >>> from lamina.data.synthetic import moons
    >>> make_step(FNN(FNNConfig(2, 2, hidden=4)), moons(96), None, Recipe(batch_size=32)).batches
    3
    """
    preprocess = Preprocess.fit(train)
    objective = objective_for(model, train, preprocess, recipe)
    held_out = None if validation is None else preprocess.source(validation)
    return EagerStep(model, preprocess.source(train), held_out, objective, recipe)


def train_step(step: EagerStep) -> tuple[list[Row], StopReason]:
    """Train to the end of the recipe; return the rows of all checks and why it ended."""
    at, recipe = Progress(), step.recipe
    stopping = recipe.stopping
    reason = loop(
        step, recipe.epochs, rules(stopping), at=at, check_every=recipe.check_every, max_steps=stopping.max_steps
    )
    return at.rows, reason


def short_run(
    model: nn.Module, train: Dataset, validation: Dataset | None, recipe: Recipe
) -> tuple[Sequence[Row], StopReason]:
    """Train a network, changed in place, and return the rows of all checks and why it ended.

    >>> from lamina.architectures.fnn import FNN, FNNConfig
    >>> from lamina.data.synthetic import moons
    >>> rows, reason = short_run(FNN(FNNConfig(2, 2, hidden=4)), moons(96), moons(32, seed=1), Recipe(epochs=2))
    >>> [row["step"] for row in rows], reason.name
    ([2, 4], 'epochs')
    """
    return train_step(make_step(model, train, validation, recipe))
