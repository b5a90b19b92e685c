"""A linear regression with a penalty of norm 1, in float64, and its minimizer by scikit-learn."""

from collections.abc import Sequence

import torch
from sklearn.linear_model import Lasso

from lamina.architectures.perceptron import Perceptron, PerceptronConfig
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.data.synthetic import linear
from lamina.experiments.trained import parts
from lamina.training.executors.choose import learner
from lamina.training.learner import Learner
from lamina.training.recipe import GD, MiniBatch, Penalty, Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays

STRENGTH, STEPS = 0.1, 400
OPTIMIZERS = {
    "gd": GD(0.3),
    "mini batches": MiniBatch(0.3),
    "momentum": MiniBatch(0.05, 0.9),
    "nesterov": MiniBatch(0.05, 0.9, nesterov=True),
    "line search": GD(0.3, line_search=True),
}
CONFIG = PerceptronConfig(8, activation="identity", bias=False)


def split() -> Split:
    """Give 240 points of 8 inputs, of which three matter, for training and for looking at."""
    data = linear(240, weight=(0.9, -0.4, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0), bias=0.0, noise=0.5, seed=0)
    return parts(data, data)


def recipe(name: str, **options) -> Recipe:
    """Give a recipe that uses all points in every step."""
    given = {"epochs": STEPS, "batch_size": 240, "penalty": Penalty(STRENGTH, 1), "precision": "float64"}
    return Recipe(OPTIMIZERS[name], **given | options)


def step_of(recipe: Recipe, runtime: Runtime | None = None) -> Learner:
    """Make the update of a perceptron without bias."""
    made = split()
    preprocess = Preprocess.fit(made.train, 8)
    return learner(
        Perceptron(CONFIG, seed=0), Arrays(preprocess, made), recipe, runtime or Runtime("cpu", step="eager")
    )


def trained(step: Learner, steps: int = STEPS) -> torch.Tensor:
    """Make the updates and give the weights."""
    for epoch in range(steps):
        step.begin(epoch)
        step()
    return step.params[0].detach()[0].cpu()


def minimizer(strength: float = STRENGTH) -> torch.Tensor:
    """Minimize 1/(2N) ||U W - S||^2 + lambda ||W||_1 by coordinate descent."""
    data = split().train
    U, S = Preprocess.fit(data, 8).source(data).batch(torch.arange(240), None)
    lasso = Lasso(strength, fit_intercept=False, tol=1e-14, max_iter=100_000)
    return torch.from_numpy(lasso.fit(U.double().numpy(), S.double().numpy().ravel()).coef_)


def assert_at_minimizer(weights: Sequence[torch.Tensor], strength: float = STRENGTH, tolerance: float = 1e-7) -> None:
    """Compare weights with the minimizer; its zeros must be exact."""
    expected = minimizer(strength)
    for weight in weights:
        torch.testing.assert_close(weight.double(), expected, rtol=0, atol=tolerance)
        assert torch.equal(weight == 0, expected == 0) and 2 <= int((weight != 0).sum()) < 8
