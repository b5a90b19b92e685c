"""Train for an experiment, without a folder: one network as `fit` does it, or many small ones at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn
from torch.func import functional_call, vmap

from lamina._types import Float, Num, Tensor
from lamina.data.dataset import Dataset, Subset
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Sealed, Split
from lamina.functional.optimizers import OPTIMIZERS, Number, Params, iterate
from lamina.training.executors.choose import learner
from lamina.training.learner import Learner as EagerStep
from lamina.training.loop import Diverged, Progress, loop
from lamina.training.objective import Objective
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.stopping import Row, StopReason, rules
from lamina.training.tasks.arrays import Arrays

Loss = Callable[[Tensor, Tensor], Tensor]
"""A function of outputs and targets that gives one number."""


def parts(train: Dataset, validation: Dataset | None = None, test: Dataset | None = None) -> Split:
    """Put sets that were made apart together as the parts of a split; those left out are empty.

    >>> from lamina.data.synthetic import moons
    >>> split = parts(moons(96), moons(32, seed=1))
    >>> len(split.train), len(split.validation), len(split.test)
    (96, 32, 0)
    """
    nothing = Subset(train, torch.arange(0))
    return Split(train, validation or nothing, Sealed(test or nothing), "made for an experiment")


@dataclass(frozen=True)
class Trained:
    """A network after its training.

    Args:
        network: with the weights of the last step.
        prepare: how inputs are prepared, fitted on the training part.
        objective: what was minimized.
        rows: what was measured at each check.
        reason: why it ended; None after a loss that was not finite.
        bad_step: the first step whose loss was not finite, None when all went well.
    """

    network: nn.Module
    prepare: Preprocess
    objective: Objective
    rows: list[Row]
    reason: StopReason | None
    bad_step: int | None

    @torch.no_grad()
    def outputs(self, data: Dataset) -> tuple[Float[Tensor, "batch label"], Num[Tensor, " batch"]]:
        """Give the outputs of the network in evaluation mode for all examples, and their prepared targets."""
        source = self.prepare.source(data)
        self.network.eval()
        batches = [source.batch(indices) for indices in torch.arange(len(data)).split(1000)]
        outputs = torch.cat([self.network(inputs) for inputs, _ in batches])
        return outputs, torch.cat([targets for _, targets in batches])

    def accuracy(self, data: Dataset) -> float:
        """Give the share of right answers; outputs that are not numbers are never right."""
        outputs, labels = self.outputs(data)
        sound = outputs.isfinite().all(1)
        return self.objective.score(outputs[sound], labels[sound]).item() / len(labels)


def make_step(network: nn.Module, split: Split, recipe: Recipe, runtime: Runtime | None = None) -> EagerStep:
    """Bring a network and data together, with preprocessing fitted on the training part.

    Args:
        network: it will be changed by training.
        split: the data; an empty validation part is not looked at.
        recipe: how to train.
        runtime: None computes every step on the CPU as it is written, so that hooks see it.

    >>> from lamina.architectures.fnn import FNN, FNNConfig
    >>> from lamina.data.synthetic import moons
    >>> make_step(FNN(FNNConfig(2, 2, hidden=4)), parts(moons(96)), Recipe(batch_size=32)).batches
    3
    """
    return learner(network, Arrays(_prepare(network, split), split), recipe, runtime or Runtime(step="eager"))


def _prepare(network: nn.Module, split: Split) -> Preprocess:
    return Preprocess.fit(split.train, getattr(getattr(network, "config", None), "inputs", None))


def train_step(step: EagerStep) -> tuple[list[Row], StopReason]:
    """Train to the end of the recipe; return the rows of all checks and why it ended."""
    at, recipe = Progress(), step.recipe
    stopping = recipe.stopping
    reason = loop(
        step, recipe.epochs, rules(stopping), at=at, check_every=recipe.check_every, max_steps=stopping.max_steps
    )
    return at.rows, reason


def train(network: nn.Module, split: Split, recipe: Recipe, *, watch: bool = False) -> Trained:
    """Train through all epochs of a recipe and keep the last weights, as the notes' algorithms do.

    Nothing is written to disk. A loss that is not finite ends nothing here: it is reported in `bad_step`.

    Args:
        network: made by `lamina.build`; it is changed.
        split: the data; the test part stays sealed.
        recipe: how to train.
        watch: whether to check as often as the recipe says; else once, at the end.

    >>> import lamina
    >>> from lamina.data.load import load
    >>> from lamina.data.synthetic import moons
    >>> split = load("blobs", count=60).split()
    >>> train(lamina.build("fnn", inputs=2, outputs=4), split, Recipe(epochs=20)).accuracy(split.open_test())
    1.0
    >>> seen = train(lamina.build("fnn", inputs=2, outputs=2), parts(moons(96)), Recipe(epochs=2), watch=True)
    >>> [row["step"] for row in seen.rows], seen.reason.name
    ([2, 4], 'epochs')
    """
    prepare = _prepare(network, split)
    recipe = recipe if watch else replace(recipe, check_every=recipe.epochs)
    step = learner(network, Arrays(prepare, split), recipe, Runtime())
    try:
        rows, reason = train_step(step)
    except Diverged as error:
        return Trained(network, prepare, step.objective, [], None, error.step)
    return Trained(network, prepare, step.objective, rows, reason, None)


def train_together(
    networks: Sequence[nn.Module],
    inputs: Float[Tensor, "member batch feature"],
    targets: Num[Tensor, "member batch ..."],
    loss: Loss,
    *,
    learning_rate: Number,
    steps: int,
    optimizer: str = "adam",
) -> Float[Tensor, " member"]:
    """Train networks of one architecture at once, each on all of its own examples in every step.

    The parameters are stacked and one mapped loss serves all members, so that twenty small networks cost little
    more than one. The result is that of separate runs.

    Args:
        networks: members with equal shapes and without running statistics; their weights are changed.
        inputs: the examples of each member.
        targets: their targets.
        loss: a function of outputs and targets that gives one number.
        learning_rate: a number, or one a member.
        steps: the number of updates.
        optimizer: a name of `functional.optimizers.OPTIMIZERS`.

    Returns:
        The loss of each member after the last step.

    >>> import lamina
    >>> from lamina.functional.losses import mse_half
    >>> members = [lamina.build("perceptron", inputs=1, activation="identity", seed=seed) for seed in range(3)]
    >>> u = torch.linspace(-1, 1, 9)[:, None].expand(3, 9, 1)
    >>> ends = train_together(members, u, 2 * u + 1, mse_half, learning_rate=1.0, steps=60, optimizer="gd")
    >>> bool(ends.max() < 1e-9)
    True
    """
    first = networks[0]

    def value(params: Params, u: Tensor, s: Tensor) -> Tensor:
        return loss(functional_call(first, params, (u,)), s)

    every = vmap(value)

    def gradient(params: Params) -> Params:
        leaves = {name: stacked.detach().requires_grad_() for name, stacked in params.items()}
        # No member's loss depends on another's parameters: the gradient of the sum is that of each.
        found = torch.autograd.grad(every(leaves, inputs, targets).sum(), list(leaves.values()))
        return dict(zip(leaves, found, strict=True))

    members = [dict(member.named_parameters()) for member in networks]
    params = {name: torch.stack([member[name].detach() for member in members]) for name in members[0]}
    row = OPTIMIZERS[optimizer]
    params = iterate(gradient, params, row, row.hyper(learning_rate), steps)
    with torch.no_grad():
        for name, stacked in params.items():
            for member, own in zip(members, stacked, strict=True):
                member[name].copy_(own)
        return every(params, inputs, targets)
