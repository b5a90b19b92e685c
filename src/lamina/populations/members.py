"""One network of a population: what it is trained with, what may differ between members, and what becomes of it."""

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib import import_module
from typing import Any

import torch
from torch import nn

from lamina._errors import ArgumentError, between
from lamina._types import Int, Tensor
from lamina.architectures.table import TABLE
from lamina.data.dataset import Dataset, all_targets
from lamina.functional.random import uniform
from lamina.layers import Dropout
from lamina.training.loop import Event
from lamina.training.recipe import Recipe
from lamina.training.stopping import Row
from lamina.training.tasks.kinds import headline_of

# Numbers of a recipe and of a configuration that members may have to themselves; all else is the population's shape.
_FREE_RECIPE = ("seed", "stage_rate")
_FREE_RECORDS = {
    "optimizer": ("learning_rate", "momentum", "beta1", "beta2", "alpha", "eps", "weight_decay"),
    "schedule": ("warmup", "final", "every", "factor", "wait", "improvement"),
    "penalty": ("strength",),
    "clip": ("limit",),
    "averaging": ("decay",),
    "stopping": ("gradient_norm", "relative_step", "relative_decrease", "loss_below", "patience"),
}
_DROPOUT = ("dropout", "input_dropout", "output_dropout")
_FREE_CONFIG = (*_DROPOUT, "initialization", "scale", "gain", "memory_bias", "zero_branch")
# Streams of the random hash for label noise, far from dropout's and augmentation's.
_WHICH, _WHAT = 0x4C41424C, 0x4C41424D


FINISHED, DIVERGED = "finished", "diverged"


@dataclass(frozen=True)
class Member:
    """One network of a population.

    Members of one population have the same shape. Their own numbers are: those of the optimizer, the rate of the first
    stage, those of the schedule, penalty strength, clip limit, decay of the average, stopping bounds and seed of the
    recipe; dropout rate, initialization kind and scale of the configuration; `seed` and `label_noise`.

    Args:
        recipe: how it is trained.
        config: the architecture's configuration.
        seed: of the initial weights, the dropout masks and the label noise.
        label_noise: the probability with which a training label is exchanged for another class.
    """

    recipe: Recipe
    config: Any
    seed: int = 0
    label_noise: float = 0.0

    def __post_init__(self) -> None:
        between("label_noise", self.label_noise, 0, 1)

    def build(self) -> nn.Module:
        """Build the network of this member, as `lamina.build` does."""
        entry = next((e for e in TABLE.values() if e.config == type(self.config).__name__), None)
        if entry is None:
            raise ArgumentError(
                f"`config` must be the configuration of an architecture of `lamina list`, got "
                f"{type(self.config).__name__}: make one with `lamina.architectures.build.configure`."
            )
        network: nn.Module = getattr(import_module(entry.module), entry.network)(self.config, seed=self.seed)
        return network

    @property
    def shape(self) -> tuple[Any, ...]:
        """What must be equal for two members to be trained as one; hashable, to group members by."""
        config = self.config
        parts: list[Any] = [type(config).__name__]
        parts += [(f.name, _plain(getattr(config, f.name))) for f in fields(config) if f.name not in _FREE_CONFIG]
        recipe = self.recipe
        for f in fields(recipe):
            value = getattr(recipe, f.name)
            if f.name in _FREE_RECIPE:
                continue
            if f.name in _FREE_RECORDS and is_dataclass(value):
                own = [(g.name, _plain(getattr(value, g.name))) for g in fields(value)]
                value = (type(value).__name__, *[pair for pair in own if pair[0] not in _FREE_RECORDS[f.name]])
            parts.append((f.name, _plain(value)))
        return tuple(parts)


@dataclass(frozen=True)
class MemberResult:
    """What became of one member.

    Args:
        rows: its history, as `fit` writes it.
        best_row: the number of the row with the smallest validation loss (training loss, without validation); -1
            when there is none.
        state: "finished" or "diverged".
        first_bad_step: the first step whose loss was not finite, or None.
        weights: the tensors of the best row, on the CPU, as `load_state_dict` takes them.
        notes: sentences about how it was computed, where that was not the fast way.
        reason: why it ended, as the name of a `StopReason`.
        kind: how its updates were executed.
        together: how many networks were computed as one.
    """

    rows: tuple[Row, ...]
    best_row: int
    state: str
    first_bad_step: int | None
    weights: dict[str, Tensor] = field(repr=False)
    notes: tuple[str, ...] = ()
    reason: str = "epochs"
    kind: str = "eager"
    together: int = 1


Events = Generator[Event, Sequence[int] | None, list[MemberResult]]
"""A training of many members: it yields events, takes the numbers of members to drop, and returns all results."""


def by_shape(members: Sequence[Member]) -> list[list[int]]:
    """Group the places of members that can be trained as one."""
    groups: dict[Any, list[int]] = {}
    for place, member in enumerate(members):
        groups.setdefault(member.shape, []).append(place)
    return list(groups.values())


def _check_same_shape(members: Sequence[Member]) -> None:
    """Raise unless all members can be trained as one; the sentence names the first thing that differs."""
    if not members:
        raise ArgumentError("`members` must hold at least one member, got none.")
    first = members[0].shape
    for number, member in enumerate(members[1:], 1):
        shape = member.shape
        if shape != first:
            name, ours, theirs = _difference(first, shape)
            raise ArgumentError(
                f"`members` must have one shape, but {name} is {ours!r} in member 0 and {theirs!r} in member {number}: "
                "group them by `Member.shape` and train one group after another."
            )


def _difference(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[str, Any, Any]:
    for a, b in zip(first, second, strict=False):
        if a != b:
            return (a[0], a[1], b[1]) if isinstance(a, tuple) else ("the architecture", a, b)
    return "the number of options", len(first), len(second)


def _plain(value: Any) -> Any:
    """Make a value hashable."""
    if isinstance(value, Mapping):
        return tuple(value.items())
    if isinstance(value, list | tuple):
        return tuple(_plain(part) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value).__name__, *[(f.name, _plain(getattr(value, f.name))) for f in fields(value)])
    return value


def _noisy_labels(labels: Int[Tensor, " batch"], classes: int, noise: float, seed: int) -> Int[Tensor, " batch"]:
    """Exchange each label with probability `noise` for one of the other classes, all equally likely.

    A pure function of the seed and the place of the label.

    >>> labels = torch.zeros(1000, dtype=torch.int64)
    >>> noisy = _noisy_labels(labels, 3, 0.3, seed=0)
    >>> round((noisy != labels).float().mean().item(), 1), sorted(set(noisy.tolist()))
    (0.3, [0, 1, 2])
    """
    between("noise", noise, 0, 1)
    if noise == 0 or classes < 2:
        return labels
    shape, device = tuple(labels.shape), labels.device
    other = (uniform(shape, seed, _WHAT, 0, device) * (classes - 1)).long() + 1
    return torch.where(uniform(shape, seed, _WHICH, 0, device) < noise, (labels + other) % classes, labels)


def _build_networks(members: Sequence[Member]) -> list[nn.Module]:
    """Build the networks of all members in one form; members with equal configuration and seed share one object.

    A network without dropout gets the layers that the others have, at rate zero: weights do not depend on it, and the
    layer then changes nothing.
    """
    wanted = {name: max(getattr(member.config, name, 0.0) for member in members) for name in _DROPOUT}
    made: dict[tuple[Any, int], nn.Module] = {}
    for member in members:
        key = _plain(member.config), member.seed
        if key not in made:
            made[key] = _with_all_dropouts(member, wanted)
    return [made[_plain(member.config), member.seed] for member in members]


def _with_all_dropouts(member: Member, wanted: dict[str, float]) -> nn.Module:
    """Build a network that has dropout wherever another member has it."""
    absent = {name: rate for name, rate in wanted.items() if rate and not getattr(member.config, name)}
    network = member.build()
    if not absent:
        return network
    own = {name for name, layer in network.named_modules() if isinstance(layer, Dropout)}
    network = replace(member, config=replace(member.config, **absent)).build()
    for name, layer in network.named_modules():
        if isinstance(layer, Dropout) and name not in own:
            layer.rate.zero_()
    return network


class _Relabeled:
    """A dataset with other labels: the training data of a member with label noise."""

    def __init__(self, dataset: Dataset, labels: Int[Tensor, " batch"]) -> None:
        self._dataset, self.targets, self.spec = dataset, labels, dataset.spec

    def __len__(self) -> int:
        return len(self._dataset)

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give stored inputs and the other labels."""
        return self._dataset.take(indices)[0], self.targets[indices]


def training_data(member: Member, train: Dataset) -> Dataset:
    """Give the training data as a member sees them: the data, or with label noise the data relabeled.

    The noise is a pure function of the member's seed and the place of the example.
    """
    if not member.label_noise:
        return train
    classes = headline_of(train.spec) == "accuracy"
    if not classes or train.spec.weight:
        what = "examples with weights" if classes else f"a {train.spec.task} task"
        raise ArgumentError(f"`label_noise` exchanges classes, got {member.label_noise} for {what}: leave it out.")
    return _Relabeled(train, _noisy_labels(all_targets(train), train.spec.outputs, member.label_noise, member.seed))


def finite(value: float | None) -> float:
    """Order losses: a missing or undefined one is the worst."""
    return math.inf if value is None or value != value else float(value)
