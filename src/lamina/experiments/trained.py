"""Train one network for an experiment, without a folder, and ask it afterwards."""

from dataclasses import dataclass, replace

import torch
from torch import nn

from lamina._types import Float, Num, Tensor
from lamina.data.dataset import Dataset, Subset
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Sealed, Split
from lamina.training.loop import Progress, drain
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.stopping import Row, StopReason
from lamina.training.train import train as training

CPU, EAGER = Runtime("cpu"), Runtime("cpu", step="eager")
"""Every update is computed as it is written, so that hooks see it."""


def parts(train: Dataset, validation: Dataset | None = None, test: Dataset | None = None) -> Split:
    """Put sets that were made apart together as the parts of a split; those left out are empty.

    >>> from lamina.data.synthetic import moons
    >>> split = parts(moons(96), moons(32, seed=1))
    >>> len(split.train), len(split.validation), len(split.test)
    (96, 32, 0)
    """
    nothing = Subset(train, torch.arange(0))
    return Split(train, validation or nothing, Sealed(test or nothing), "made for an experiment")


class _Passes:
    """Counts how often a network computes in training, and for how many examples in all.

    Args:
        network: to count; what it computes in evaluation mode does not count.

    >>> network = nn.Linear(2, 1)
    >>> passes = _Passes(network)
    >>> outputs = network(torch.ones(5, 2)), network.eval()(torch.ones(5, 2))
    >>> passes.calls, passes.examples
    (1, 5)
    """

    def __init__(self, network: nn.Module) -> None:
        self.calls = self.examples = 0
        network.register_forward_pre_hook(self._count)

    def _count(self, module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        if module.training:
            self.calls, self.examples = self.calls + 1, self.examples + len(inputs[0])


@dataclass(frozen=True)
class Trained:
    """A network after its training.

    Args:
        network: with the weights of the last step.
        prepare: how inputs are prepared, fitted on the training part.
        rows: what was measured at each check.
        reason: why it ended; "diverged" after a loss that was not finite.
    """

    network: nn.Module
    prepare: Preprocess
    rows: list[Row]
    reason: StopReason

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
        guesses = outputs.argmax(1) if outputs.shape[1] > 1 else (outputs[:, 0] >= 0).long()
        return ((guesses == labels) & outputs.isfinite().all(1)).double().mean().item()


def train(
    network: nn.Module, split: Split, recipe: Recipe, *, watch: bool = False, runtime: Runtime | None = None
) -> Trained:
    """Train through all epochs of a recipe and keep the last weights, as the notes' algorithms do.

    Args:
        network: made by `lamina.build`; it is changed.
        split: the data; the test part stays sealed.
        recipe: how to train.
        watch: whether to check as often as the recipe says; else once, at the end.
        runtime: None is the fastest way on the CPU; `EAGER` lets hooks see every update.

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
    at, recipe = Progress(), recipe if watch else replace(recipe, check_every=recipe.epochs)
    reason = drain(training(network, split, recipe, runtime=runtime or CPU, at=at))
    prepare = Preprocess.fit(split.train, getattr(getattr(network, "config", None), "inputs", None))
    return Trained(network, prepare, at.rows, reason)
