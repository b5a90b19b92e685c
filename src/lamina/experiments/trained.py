"""Train for an experiment, without a folder: one network as `fit` does it, or many small ones at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn
from torch.func import functional_call, vmap

from lamina._types import Float, Num, Tensor
from lamina.data.dataset import Dataset
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.experiments.short_run import train_step
from lamina.functional.optimizers import OPTIMIZERS, Number, Params, iterate
from lamina.training.fit import make_step
from lamina.training.loop import Diverged
from lamina.training.objective import Objective
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime

Loss = Callable[[Tensor, Tensor], Tensor]
"""A function of outputs and targets that gives one number."""


@dataclass(frozen=True)
class Trained:
    """A network after its training.

    Args:
        network: with the weights of the last step.
        prepare: how inputs are prepared, fitted on the training part.
        objective: what was minimized.
        bad_step: the first step whose loss was not finite, None when all went well.
    """

    network: nn.Module
    prepare: Preprocess
    objective: Objective
    bad_step: int | None

    @torch.no_grad()
    def outputs(self, data: Dataset) -> tuple[Float[Tensor, "batch label"], Num[Tensor, " batch"]]:
        """Give the outputs of the network in evaluation mode for all examples, and their prepared targets."""
        source = self.prepare.source(data)
        self.network.eval()
        parts = [source.batch(indices) for indices in torch.arange(len(data)).split(1000)]
        return torch.cat([self.network(inputs) for inputs, _ in parts]), torch.cat([targets for _, targets in parts])

    def accuracy(self, data: Dataset) -> float:
        """Give the share of right answers; outputs that are not numbers are never right."""
        outputs, labels = self.outputs(data)
        sound = outputs.isfinite().all(1)
        return self.objective.score(outputs[sound], labels[sound]).item() / len(labels)


def train(network: nn.Module, split: Split, recipe: Recipe) -> Trained:
    """Train through all epochs of a recipe and keep the last weights, as the notes' algorithms do.

    Nothing is written to disk. A loss that is not finite ends nothing here: it is reported in `bad_step`.

    Args:
        network: made by `lamina.build`; it is changed.
        split: the data; the test part stays sealed.
        recipe: how to train.

    >>> import lamina
    >>> from lamina.data.load import load
    >>> parts = load("blobs", count=60).split()
    >>> train(lamina.build("fnn", inputs=2, outputs=4), parts, Recipe(epochs=20)).accuracy(parts.open_test())
    1.0
    """
    prepare = Preprocess.fit(split.train, network.config.inputs)  # type: ignore[arg-type, union-attr]
    step = make_step(network, split, prepare, replace(recipe, check_every=recipe.epochs), Runtime())
    bad_step = None
    try:
        train_step(step)
    except Diverged as error:
        bad_step = error.step
    return Trained(network, prepare, step.objective, bad_step)


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
