"""Train K networks of one shape as one; the specification is K separate runs.

Parameters are stacked along a first axis, hyperparameters are vectors, and one update changes all members. A member's
history equals that of a run by itself with the same configuration, seed and batch order.
"""

import copy
from collections.abc import Sequence
from typing import Any

from torch import nn

from lamina._errors import ArgumentError, at_least
from lamina._types import Tensor
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.layers.dropout import load_run_state_, run_state
from lamina.populations._chunks import Data, _Chunk, _stacked_network, _why_alone, _with_shared_seed
from lamina.populations._memory import plan
from lamina.populations.members import Events, Member, MemberResult, _check_same_shape
from lamina.populations.one_by_one import _in_turn, train_in_turn
from lamina.populations.stacked import notes
from lamina.training.loop import drain, released
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays

__all__ = ["Member", "MemberResult", "Population", "train_population", "train_together"]


class Population:
    """K networks of one form, computed as one.

    Args:
        models: the networks; the same object may stand for several members. They are copied.

    >>> import torch
    >>> from lamina.architectures.build import build
    >>> nets = [build("fnn", inputs=3, outputs=2, hidden=(5,), seed=seed) for seed in range(4)]
    >>> population, inputs = Population(nets), torch.ones(6, 3)
    >>> population(inputs).shape, torch.allclose(population(inputs)[:, 1], nets[1](inputs))
    (torch.Size([6, 4, 2]), True)
    """

    def __init__(self, models: Sequence[nn.Module]) -> None:
        _check_same_form(models)
        self.network = _stacked_network(models)
        self.size = len(models)
        self._template = copy.deepcopy(models[0])

    def __len__(self) -> int:
        return self.size

    def forward(self, *inputs: Tensor, own: bool = False) -> Any:
        """Compute all members.

        Args:
            inputs: what one network takes, [batch, ...], the same for all members.
            own: each member has inputs of its own, [batch, members, ...].

        Returns:
            Outputs [batch, members, ...].
        """
        return self.network(*(inputs if own else [tensor.unsqueeze(1) for tensor in inputs]))

    __call__ = forward

    def stack(self) -> dict[str, Tensor]:
        """Return the live tensors by name, with the members along the first axis."""
        return run_state(self.network)

    def member(self, number: int) -> nn.Module:
        """Copy one member into a network of its own."""
        if not 0 <= number < self.size:
            raise ArgumentError(f"`number` must be in [0, {self.size - 1}], got {number}.")
        network = copy.deepcopy(self._template)
        tensors = {name: t[number].detach().clone() for name, t in self.stack().items()}
        first = next(iter(tensors.values()))
        load_run_state_(network.to(first.device, next(self.network.parameters()).dtype), tensors)
        return network.train(self.network.training)

    def notes(self) -> tuple[str, ...]:
        """List the parts that no rule computes, as sentences."""
        return notes(self.network)


def _check_same_form(models: Sequence[nn.Module]) -> None:
    """Raise unless all networks have the same modules and tensors of the same shapes."""
    if not models:
        raise ArgumentError("`models` must hold at least one network, got none.")

    def form(model: nn.Module) -> dict[str, Any]:
        parts: dict[str, Any] = {name: _form(module) for name, module in model.named_modules()}
        return parts | {name: tuple(t.shape) for name, t in model.state_dict(keep_vars=True).items()}

    first = form(models[0])
    checked = {id(models[0])}
    for number, model in enumerate(models):
        if id(model) in checked:
            continue
        checked.add(id(model))
        other = form(model)
        for name in first | other:
            if first.get(name) != other.get(name):
                raise ArgumentError(
                    f"`models` must have one form, but {name or 'the network'!r} is {first.get(name)} in model 0 and "
                    f"{other.get(name)} in model {number}: make a population of each form."
                )


def _form(module: nn.Module) -> str:
    """Name a module with the choices that show in no tensor, of which a population has one for all."""
    found = {name: getattr(module, name, None) for name in ("activation", "mirror")}
    given = [f"{name}={value}" for name, value in found.items() if isinstance(value, str | bool)]
    return f"{type(module).__name__}({', '.join(given)})" if given else type(module).__name__


def train_population(
    members: Sequence[Member],
    split: Split | Sequence[Split],
    *,
    runtime: Runtime | None = None,
    chunk: int | None = None,
    shared_order: bool = True,
) -> list[MemberResult]:
    """Train all members at once and return what became of each, in their order; see `train_together`."""
    return drain(train_together(members, split, runtime=runtime, chunk=chunk, shared_order=shared_order))


def train_together(
    members: Sequence[Member],
    split: Split | Sequence[Split],
    *,
    every: int | None = None,
    runtime: Runtime | None = None,
    chunk: int | None = None,
    padded: bool = False,
    shared_order: bool = True,
) -> Events:
    """Train all members at once; yield an event after each check, and between checks as often as asked.

    The population is cut into chunks that fit into memory; they take turns, epoch by epoch. The specification is K
    separate runs by `fit` with the same batches. As with `training.train`, nothing is held between two events.

    Args:
        members: the networks and their recipes, of one shape (see `Member.shape`).
        split: the data, or those of each member, such as the folds of a cross-validation; members with the same data
            share a stack.
        every: also yield after so many updates of a chunk; None yields after checks only.
        runtime: device, threads and flags.
        chunk: how many members are computed at once at most; None decides by memory.
        padded: whether all stacks keep one width from beginning to end, so that a member does not feel its neighbors;
            docs/search.md says what that holds for.
        shared_order: whether all members take the batches (and random changes) of the first recipe's seed, which is
            faster; else each takes those of its own.

    Yields:
        Events; the row of a check has the "epoch", the "step" and in "members" the new row of each member, None for
        those that have ended. The numbers of members to drop may be sent back.

    Returns:
        One result per member.
    """
    _check_same_shape(members)
    for name, value in (("chunk", chunk), ("every", every)):
        if value is not None:
            at_least(name, value, 1)
    recipe = members[0].recipe
    runtime = (runtime or Runtime()).ready(recipe.precision, stacked=True)
    members = _with_shared_seed(members) if shared_order else list(members)
    splits = [split] * len(members) if isinstance(split, Split) else list(split)
    if len(splits) != len(members):
        raise ArgumentError(f"`split` must be one, or one for each of the {len(members)} members, got {len(splits)}.")
    with runtime.applied(recipe.precision) as used:
        tasks = {key: _task(members[0].config, part) for key, part in {id(part): part for part in splits}.items()}
        data = {key: Data.of(task, recipe, used) for key, task in tasks.items()}
        why = _why_alone(recipe, data[id(splits[0])].train)
        size = 1 if why else chunk or plan(members, data[id(splits[0])].train)
        if size > 1:
            width = size if padded else None
            chunks = [
                _Chunk(places, [members[k] for k in places], own, shared_order, width)
                for key, own in data.items()
                for places in _cut([k for k, part in enumerate(splits) if id(part) == key], size)
            ]
    if size == 1:
        alone = f"the members run one by one: {why}" if why else ""
        learned = [tasks[id(part)] for part in splits]
        return (yield from train_in_turn(members, learned, every=every, runtime=runtime, note=alone))
    try:
        yield from released(_in_turn(chunks, len(members)), runtime, recipe.precision, every)
    finally:
        for own in data.values():
            own.train.close()
    found: dict[int, MemberResult] = {}
    for each in chunks:
        found |= each.results()
    return [found[place] for place in range(len(members))]


def _cut(places: list[int], size: int) -> list[list[int]]:
    """Cut places into pieces of at most this size."""
    return [places[start : start + size] for start in range(0, len(places), size)]


def _task(config: Any, split: Split) -> Arrays:
    """Say what is learned from data, prepared for networks of one configuration."""
    return Arrays(Preprocess.fit(split.train, _input_shape(config, split)), split)


def _input_shape(config: Any, split: Split) -> Any:
    """Give the shape of one prepared example: the network's, or that of whole sequences for a recurrent one."""
    shape = getattr(config, "inputs", None)
    stored = split.train.spec.inputs
    return None if isinstance(shape, int) and len(stored) == 2 and stored[1] == shape else shape
