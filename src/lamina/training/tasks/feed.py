"""Feeds: the batches of an epoch in their order, and how a network is called with one."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, cast

import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina._types import Int, Tensor
from lamina.data.source import Batches, Source
from lamina.functional.optimizers import sample_indices
from lamina.training.objective import Objective
from lamina.training.recipe import GD, SGD, Recipe
from lamina.training.runtime import wide

CHECK_BATCH = 1000


def batch_size(recipe: Recipe, examples: int) -> int:
    """Return how many examples a step takes: all, one, or what the recipe says."""
    if isinstance(recipe.optimizer, GD):
        return examples
    return 1 if isinstance(recipe.optimizer, SGD) else min(recipe.batch_size, examples)


def _steps_per_epoch(recipe: Recipe, examples: int) -> int:
    """Return how many updates make an epoch; the last batch of a shuffled epoch may be shorter."""
    size = batch_size(recipe, examples)
    return -(-examples // size) if recipe.sampling == "epoch" else max(1, examples // size)


def epoch_order(examples: int, batch_size: int, sampling: str, seed: int, epoch: int) -> Int[Tensor, " position"]:
    """Return the indices of one epoch; consecutive runs of `batch_size` are its batches.

    Notes: N1.42, N1.45 (§1.3, Alg. 3, 4).
    Corrects: E17, the notes leave open whether indices are drawn with or without replacement; here it has a name.

    Args:
        examples: how many training examples there are.
        batch_size: how many make a batch.
        sampling: "epoch" walks through a new permutation, with a shorter last batch; "with-replacement" and
            "without-replacement" draw every batch independently, as Alg. 4 does.
        seed: which experiment.
        epoch: which epoch.

    >>> sorted(epoch_order(5, 2, "epoch", seed=0, epoch=3).tolist())
    [0, 1, 2, 3, 4]
    """
    # A generator reads the low 32 bits alone: pairs of seeds are a golden ratio of them apart.
    generator = torch.Generator().manual_seed((seed * 2**31 + seed // 2 * 0x9E3779B1 + epoch) % 2**32)
    if sampling == "epoch":
        return torch.randperm(examples, generator=generator)
    draws = max(1, examples // batch_size)
    if sampling == "with-replacement" or batch_size == 1:
        return sample_indices(examples, draws * batch_size, generator, replacement=True)
    return torch.cat([sample_indices(examples, batch_size, generator) for _ in range(draws)])


def as_read(inputs: Tensor, dtype: torch.dtype) -> Tensor:
    """Give real inputs the type of the network; words stay whole numbers."""
    return inputs.to(dtype) if inputs.is_floating_point() else inputs


class Feed:
    """Batches of arrays, which lie on the device or are streamed, in the order of an epoch.

    Args:
        source: the training examples.
        recipe: how large batches are, and how they are drawn.
    """

    def __init__(self, source: Source, recipe: Recipe) -> None:
        self.source, self.recipe = source, recipe
        self.batch_size, self.batches = batch_size(recipe, len(source)), _steps_per_epoch(recipe, len(source))
        if recipe.augment is not None and recipe.augment.mixes and self.batch_size == 1:
            raise ArgumentError(
                f"`{recipe.augment.made[-1]}` mixes the examples of a batch, but batches have 1 example: use a larger "
                "`batch_size`, or another optimizer than 'sgd'."
            )
        # Alg. 3 draws every example independently.
        independent = isinstance(recipe.optimizer, SGD) and recipe.sampling == "epoch"
        self.sampling = "with-replacement" if independent else recipe.sampling
        if source.blocks and (self.sampling != "epoch" or isinstance(recipe.optimizer, GD)):
            what = f"sampling={recipe.sampling!r}" if recipe.sampling != "epoch" else type(recipe.optimizer).__name__
            raise ArgumentError(
                f"{what} takes any rows at any time, but this table is read block by block: use MiniBatch or Adam, or "
                "read the whole table with stream=False."
            )
        self.order: Any = torch.empty(0, dtype=torch.int64)
        self.cursor = self.seen = 0
        self.micro_batch = recipe.micro_batch

    even = True
    """Whether all examples have one shape."""

    @property
    def device(self) -> torch.device:
        """Where batches are."""
        return self.source.device

    @property
    def gathers(self) -> bool:
        """Whether batches can be gathered on the device by their places in the order alone."""
        return self.source.inputs is not None

    @property
    def size(self) -> int:
        """How many examples the next batch has."""
        return min(self.batch_size, len(self.order) - self.cursor)

    def begin(self, epoch: int, batch: int, step: int) -> None:
        """Lay out the order of an epoch, from a batch on, which is update number `step`."""
        self.order = self.source.order(self.batch_size, self.recipe.seed, epoch)
        if self.order is None:
            order = epoch_order(len(self.source), self.batch_size, self.sampling, self.recipe.seed, epoch)
            self.order = order.to(self.device)
        self.cursor = self.seen = min(batch * self.batch_size, len(self.order))
        rest = Batches(self.order, self.cursor, self.batch_size)
        self.source.prefetch(rest, [(self.recipe.seed, step + i) for i in range(len(rest))])

    def next(self, step: int) -> tuple[Tensor, Tensor]:
        """Give the next batch, for update number `step`."""
        indices = self.order[self.cursor : self.cursor + self.batch_size]
        self.cursor += len(indices)
        self.seen += len(indices)
        return self.source.batch(indices, (self.recipe.seed, step))

    def outputs(self, model: Any, inputs: Any, targets: Tensor) -> Tensor:
        """Call a network with a batch."""
        return cast(Tensor, model(as_read(inputs, self.recipe.dtype)))

    @property
    def splits(self) -> bool:
        """Whether batches are computed in pieces."""
        return self.micro_batch is not None and self.micro_batch < self.batch_size

    def parts(self, examples: int) -> list[slice]:
        """Divide the examples of a batch evenly into those that are computed at once.

        >>> feed = object.__new__(Feed)
        >>> feed.micro_batch = 4
        >>> feed.parts(9)
        [slice(0, 3, None), slice(3, 6, None), slice(6, 9, None)]
        """
        pieces = max(1, -(-examples // (self.micro_batch or max(1, examples))))
        bounds = [examples * number // pieces for number in range(pieces + 1)]
        return [slice(first, end) for first, end in pairwise(bounds)]

    def turn(self, first: int) -> None:
        """Hear with which example of a batch the piece begins for which `outputs` is called next."""

    def at_once(self, most: int) -> int:
        """Return how many examples are checked at once; a pass without a gradient keeps less than one with it."""
        return most if self.micro_batch is None else min(most, 4 * self.micro_batch)

    def at(self, step: int | Tensor) -> None:
        """Hear which update comes next: a number, or a tensor that counts on the device."""

    def carry(self) -> None:
        """Keep what the next update needs of this one: nothing."""

    def state(self) -> dict[str, Tensor]:
        """Return the live tensors, by name, that a resume must bring back."""
        return {}

    def answered(self, model: nn.Module, source: Source) -> Iterator[tuple[Tensor, Tensor]]:
        """Give outputs and targets of all examples of a source in batches; none is padded or counted twice."""
        batches = torch.arange(len(source)).split(self.at_once(CHECK_BATCH))
        source.prefetch(batches)
        for indices in batches:
            inputs, targets = source.batch(indices, None)
            yield self.outputs(model, inputs, targets), targets

    @torch.no_grad()
    def check(self, model: nn.Module, source: Source, objective: Objective) -> dict[str, float]:
        """Return the mean "loss" and "score" on all examples of a source, and the metrics of the objective."""
        model.eval()
        kept: list[tuple[Tensor, Tensor]] = []

        def seen() -> Iterator[tuple[Tensor, Tensor]]:
            for pair in self.answered(model, source):
                if objective.metrics:
                    kept.append(pair)
                yield pair

        loss, score = self.means(seen(), source, objective)
        own = objective.measured(*map(torch.cat, zip(*kept, strict=True))) if kept else {}
        return {"loss": loss, "score": score, **own}

    def means(
        self, answered: Iterable[tuple[Tensor, Tensor]], source: Source, objective: Objective
    ) -> tuple[float, float]:
        """Return the mean loss and score of outputs and targets."""
        objective, sums = objective.plain, torch.zeros(2, dtype=wide(source.device), device=source.device)
        for outputs, targets in answered:
            pair = torch.stack([objective.loss(outputs, targets) * len(targets), objective.score(outputs, targets)])
            sums = sums + pair.to(sums.dtype)
        loss, score = (sums / len(source)).tolist()
        return loss, score
