"""Feeds: the batches of an epoch in their order, and how a network is called with one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import torch

from lamina._errors import ArgumentError
from lamina._types import Int, Tensor
from lamina.data.source import Batches, Key, Source
from lamina.functional.optimizers import sample_indices
from lamina.training.objective import Objective
from lamina.training.ranks import ALONE, Ranks
from lamina.training.recipe import GD, SGD, Recipe
from lamina.training.runtime import wide

CHECK_BATCH = 1000

Batch = tuple[Any, Tensor] | tuple[Any, Tensor, "Tensor | int"]
"""Inputs and targets; of a rank's part also the targets of the whole batch, or how many examples that has."""


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


@dataclass(frozen=True)
class _Taken:
    """Which examples of a batch one of several ranks reads.

    An example that is mixed with the one before needs that one, too: it is read with a rank's part.
    """

    rank: int
    ranks: int
    mixes: bool

    def places(self, size: int, device: torch.device) -> Tensor:
        """Give their places in a batch."""
        own = Ranks(self.rank, self.ranks).taken(size)
        return torch.arange(own.start - self.mixes, own.stop, device=device) % size

    def __call__(self, number: int, indices: Tensor) -> Tensor:
        """Give the indices of those that are read, of the indices of a batch."""
        return indices if self.ranks == 1 else indices[self.places(len(indices), indices.device)]


class Feed:
    """Batches of arrays, which lie on the device or are streamed, in the order of an epoch.

    Args:
        source: the training examples.
        recipe: how large batches are, and how they are drawn.
    """

    ranks: Ranks = ALONE
    """Who trains together: of each batch a feed gives this rank's part."""

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
        self.order = self.source.order(self.batch_size, self.recipe.seed, epoch, self.recipe.epochs)
        if self.order is None:
            order = epoch_order(len(self.source), self.batch_size, self.sampling, self.recipe.seed, epoch)
            self.order = order.to(self.device)
        self.cursor = self.seen = min(batch * self.batch_size, len(self.order))
        rest = self.order, self.cursor, self.batch_size
        self._begun, self._coming = self.cursor, Batches(*rest, self._taken)
        self.source.prefetch(
            self._coming, Batches(*rest, lambda number, indices: self._key(len(indices), step + number))
        )

    def next(self, step: int) -> "Batch":
        """Give the next batch, for update number `step`; one of several ranks its part, and what is the whole batch."""
        first, size = self.cursor, self.size
        self.cursor += size
        self.seen += size
        if self.source.blocks:  # which works out the order where it reads
            number = (first - self._begun) // self.batch_size
            return self.part(*self.source.following(self._coming, number, self._key(size, step)), size)
        return self.part(*self.source.batch(*self.read(self.order[first : self.cursor], step)), size)

    def read(self, indices: Tensor, step: int | Tensor) -> tuple[Tensor, Key]:
        """Say which examples of a batch are read here, and what their random changes depend on."""
        return self._taken(0, indices), self._key(len(indices), step)

    @property
    def _taken(self) -> "_Taken":
        return _Taken(self.ranks.rank, self.ranks.size, self._mixes)

    def _key(self, size: int, step: int | Tensor) -> Key:
        """Say what the random changes of a batch depend on: for a rank also on the places of its examples in it."""
        same = self.recipe.seed, step
        return (*same, self._taken.places(size, self.device)) if self.ranks.many else same

    def part(self, inputs: Tensor, targets: Tensor, size: int) -> "Batch":
        """Make of what `read` chose of a batch of this size what an update takes."""
        if not self.ranks.many:
            return inputs, targets
        return (inputs[1:], targets[1:], size) if self._mixes else (inputs, targets, size)

    @property
    def _mixes(self) -> bool:
        return self.recipe.augment is not None and self.recipe.augment.mixes

    def outputs(self, model: Any, inputs: Any, targets: Tensor) -> Tensor:
        """Call a network with a batch."""
        return cast(Tensor, model(as_read(inputs, self.recipe.dtype)))

    @property
    def splits(self) -> bool:
        """Whether batches are computed in pieces."""
        return self.micro_batch is not None and self.micro_batch < self.batch_size

    def parts(self, examples: int, at_most: int | None = None) -> list[slice]:
        """Divide the examples of a batch evenly into those that are computed at once.

        Args:
            examples: of the batch, or of a rank's part of it.
            at_most: those of the largest part; all ranks have as many pieces, of which some may be empty.

        >>> feed = object.__new__(Feed)
        >>> feed.micro_batch = 4
        >>> feed.parts(9)
        [slice(0, 3, None), slice(3, 6, None), slice(6, 9, None)]
        """
        most = max(examples, at_most or 0)
        pieces = max(1, -(-most // (self.micro_batch or max(1, most))))
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

    def collect(self) -> None:
        """Bring together what each rank has kept of its part, before a checkpoint: nothing."""

    def state(self) -> dict[str, Tensor]:
        """Return the live tensors, by name, that a resume must bring back."""
        return {}

    def answered(self, model: Any, source: Source) -> Iterator[tuple[Tensor, Tensor]]:
        """Give outputs and targets of all examples of a source in batches; none is padded or counted twice."""
        batches = self._divided(torch.arange(len(source)).split(self.at_once(CHECK_BATCH)))
        batches = [indices for indices in batches if len(indices)]
        source.prefetch(batches)
        for indices in batches:
            inputs, targets = source.batch(indices, None)
            yield self.outputs(model, inputs, targets), targets

    def _divided(self, batches: Iterable[Tensor]) -> list[Tensor]:
        """Give this rank's part of each batch of a check."""
        return [indices[self.ranks.part(len(indices))] for indices in batches]

    @torch.no_grad()
    def check(self, model: Any, source: Source, objective: Objective) -> dict[str, float]:
        """Return the mean "loss" and "score" on all examples of a source, and the metrics of the objective."""
        model.eval()
        kept: list[tuple[Tensor, Tensor]] = []

        def seen() -> Iterator[tuple[Tensor, Tensor]]:
            for pair in self.answered(model, source):
                if objective.metrics:
                    kept.append(pair)
                yield pair

        loss, score = self.means(seen(), source, objective)
        kept = self._of_all(kept) if objective.metrics else []
        own = objective.measured(*map(torch.cat, zip(*kept, strict=True))) if kept else {}
        return {"loss": loss, "score": score, **own}

    def _of_all(self, kept: list[tuple[Tensor, Tensor]]) -> list[tuple[Tensor, Tensor]]:
        """Give outputs and targets of all ranks in the order of the examples."""
        if not self.ranks.many:
            return kept
        every = self.ranks.gathered([(outputs.cpu(), targets.cpu()) for outputs, targets in kept])
        return [
            pair for number in range(max(map(len, every))) for pairs in every for pair in pairs[number : number + 1]
        ]

    def means(
        self, answered: Iterable[tuple[Tensor, Tensor]], source: Source, objective: Objective
    ) -> tuple[float, float]:
        """Return the mean loss and score of outputs and targets."""
        objective, sums = objective.plain, torch.zeros(2, dtype=wide(source.device), device=source.device)
        for outputs, targets in answered:
            pair = torch.stack([objective.loss(outputs, targets) * len(targets), objective.score(outputs, targets)])
            sums = sums + pair.to(sums.dtype)
        loss, score = (self.ranks.sum_(sums) / len(source)).tolist()
        return loss, score
