"""Members that are trained together: their step, their histories, the best weights of each, and how each ended."""

import copy
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from lamina._errors import RunError
from lamina._types import Tensor
from lamina.data.dataset import all_targets
from lamina.data.preprocess import Preprocess
from lamina.data.source import Source
from lamina.data.splits import Split
from lamina.populations._losses import Losses
from lamina.populations._stack import Stack, StackFeed
from lamina.populations.members import DIVERGED, FINISHED, Member, MemberResult, _build_networks, training_data
from lamina.populations.stacked import _stack_modules, notes
from lamina.training.executors.recording import Recording
from lamina.training.freezing import stage_depths
from lamina.training.loop import Event, Progress, events, is_best
from lamina.training.objective import Objective
from lamina.training.plateau import Plateau
from lamina.training.recipe import GD, Ours, Recipe
from lamina.training.runtime import Runtime
from lamina.training.stopping import Row, Rule, StopReason, rules
from lamina.training.tasks.arrays import Arrays

RETIRE = {"cpu": 0.25, "cuda": 0.5}
"""The share of frozen members from which on it is worthwhile to drop them from the stack."""


@dataclass(frozen=True)
class Data:
    """What all chunks of a population read.

    Args:
        split: the data.
        preprocess: fitted on the training part.
        train: prepared training examples on the device.
        validation: prepared validation examples, or None.
        runtime: device and flags.
        recording: the CUDA graphs of all chunks, in one pool of memory; None executes updates eagerly.
    """

    split: Split
    preprocess: Preprocess
    train: Source
    validation: Source | None
    runtime: Runtime
    recording: Recording | None = None

    @classmethod
    def of(cls, task: Arrays, recipe: Recipe, runtime: Runtime) -> "Data":
        """Bring the data to the device."""
        split, preprocess = task.split, task.preprocess
        train = preprocess.source(split.train, runtime.device, augment=recipe.augment)
        validation = preprocess.source(split.validation, runtime.device) if len(split.validation) else None
        recording = Recording() if train.device.type == "cuda" and runtime.step != "eager" else None
        return cls(split, preprocess, train, validation, runtime, recording)


def _why_alone(recipe: Recipe, train: Source) -> str:
    """Say why members with this recipe are trained one by one; empty when a stack can train them."""
    if train.blocks:
        return "the table is read block by block"
    record = recipe.optimizer
    if not isinstance(record, Ours) or (isinstance(record, GD) and record.line_search):
        return "no stack has an update by the recipe's optimizer"
    if callable(recipe.loss) or recipe.metrics:
        return "no stack computes a loss or a metric of your own"
    return ""


def make_stack(members: Sequence[Member], data: Data, shared_order: bool = True, check: bool = True) -> Stack:
    """Stack members and bring them and the data together.

    Args:
        members: of one shape.
        data: what they read.
        shared_order: whether all take the batches of the first one's seed.
        check: compare the stack with the networks by themselves on two examples.
    """
    recipes, networks = [member.recipe for member in members], _build_networks(members)
    recipe, device = recipes[0], data.runtime.device
    if check:
        _check_rules([networks[0], networks[-1]], data.train, recipe)
    objective = Arrays(data.preprocess, data.split).objective(networks[0], recipe)
    labels, weights = _labels(members, data, objective, networks[0])
    network = _stacked_network(networks).to(device, recipe.dtype)
    weights = None if weights is None else weights.to(device)
    losses = Losses(objective.kind, weights, weighted=objective.weighted, scale=objective.scale,
                    error=objective.error, gamma=objective.gamma, smoothing=objective.smoothing,
                    mixed=objective.mixed)  # fmt: skip
    feed = StackFeed(data.train, recipes, data.preprocess.finisher(device), labels, shared_order)
    depths = stage_depths(networks[0])
    return Stack(network, feed, data.validation, losses, recipes, data.recording, depths=depths)


@torch.no_grad()
def _check_rules(networks: Sequence[nn.Module], train: Source, recipe: Recipe) -> None:
    """Raise unless a stack of these networks gives what each gives by itself, in evaluation, on a few examples."""
    alone = [copy.deepcopy(network).to(train.device, recipe.dtype).eval() for network in networks]
    inputs = train.batch(torch.arange(min(2, len(train))))[0].to(recipe.dtype)
    outputs = _stack_modules(alone).eval()(inputs.unsqueeze(1))
    rough = 1e-8 if recipe.precision == "float64" else 1e-3 if recipe.precision == "float32" else 5e-2
    for k, network in enumerate(alone):
        expected = network(inputs)
        error = float((outputs[:, k] - expected).norm() / expected.norm().clamp(min=1e-30))
        if expected.isfinite().all() and not error <= rough:
            raise RunError(
                f"the stacked form of {type(network).__name__} differs from the network alone by {error:.1e} of "
                f"its output (allowed {rough:.0e}): its rule in `populations` does not fit it; train with chunk=1."
            )


def _stacked_network(networks: Sequence[nn.Module]) -> nn.Module:
    """Stack networks of one form, each object once."""
    different = list({id(network): network for network in networks}.values())
    places = {id(network): place for place, network in enumerate(different)}
    index = torch.tensor([places[id(network)] for network in networks])
    return _stack_modules(different, None if len(different) == len(networks) else index)


def _labels(
    members: Sequence[Member], data: Data, objective: Objective, network: nn.Module
) -> tuple[Tensor | None, Tensor | None]:
    """Give the labels [members, examples] of members with label noise, and the class weights [members or 1, class]."""
    weights = None if objective.weights is None else objective.weights[None]
    if not any(member.label_noise for member in members):
        return None, weights
    sets = [training_data(member, data.split.train) for member in members]
    small = torch.uint8 if data.split.train.spec.outputs <= 256 else torch.int64
    labels = torch.stack([all_targets(each).to(small) for each in sets]).to(data.runtime.device)
    if weights is not None:
        tasks = [Arrays(data.preprocess, replace(data.split, train=each)) for each in sets]
        own = [task.objective(network, members[0].recipe).weights for task in tasks]
        weights = torch.stack([w for w in own if w is not None])
    return labels, weights


class _Chunk:
    """Some members of a population on their way as one stack: a step of `training.loop.events`.

    Args:
        places: their numbers in the whole population.
        members: the members.
        data: what they read.
        shared_order: whether all take the batches of the first one's seed.
        width: how many members the stack has throughout: missing ones are copies of the last, and those that end stay
            in it, frozen. None drops members that have ended when they are many.
    """

    def __init__(
        self,
        places: Sequence[int],
        members: Sequence[Member],
        data: Data,
        shared_order: bool,
        width: int | None = None,
    ) -> None:
        missing = 0 if width is None else width - len(members)
        self.stack = make_stack([*members, *[members[-1]] * missing], data, shared_order)
        self.stack.freeze(range(len(members), len(members) + missing))
        self.width, self.batches = width, self.stack.batches
        self.rows: list[list[Row]] = [[] for _ in members]
        self.members, self.places = list(members), list(places)
        self._rules: list[tuple[Rule, ...]] = [rules(member.recipe.stopping) for member in members]
        self._plateaus = [Plateau(member.recipe.schedule) for member in members]
        self._ended: dict[int, tuple[str, int | None]] = {}
        self._best_row = [-1] * len(members)
        self._stack = list(range(len(members)))  # which member is in which row of the stack
        self._best: dict[str, Tensor] = {}
        self._kept: dict[int, dict[str, Tensor]] = {}
        recipe = members[0].recipe
        self.events: Generator[Event, None, StopReason] | None = events(
            self, recipe.epochs, at=Progress(), check_every=recipe.check_every, max_steps=recipe.stopping.max_steps,
            check=_Chunk._check,
        )  # fmt: skip

    @property
    def step(self) -> int:
        """How many updates were made."""
        return self.stack.step

    def begin(self, epoch: int, batch: int = 0) -> None:
        """Lay out the order of an epoch."""
        self.stack.begin(epoch, batch)

    def __call__(self) -> None:
        """Make one update of all members."""
        self.stack()

    def _check(self, at: Progress, _: Sequence[Rule]) -> Row:
        """Look at all members: record a row of each that runs, keep its best weights, ask its rules."""
        values, bad = self.stack.totals(), self.stack.first_bad_step()
        values |= self.stack.evaluate()
        found: dict[int, Row] = {}
        improved = []
        for position, k in enumerate(self._stack):
            if k in self._ended:
                continue
            if bad[position] is not None:
                self._ended[k] = DIVERGED, bad[position]
                continue
            row = {"epoch": at.epoch, "step": self.step, **self._row(k, position, values)}
            self.rows[k].append(row)
            found[self.places[k]] = row
            if is_best(self.rows[k], self._best_row[k]):
                self._best_row[k] = len(self.rows[k]) - 1
                improved.append(position)
            reason = next((r for rule in self._rules[k] if (r := rule(self.rows[k])) is not None), None)
            if reason is not None:
                self._ended[k] = reason.name, None
        self._keep(improved)
        self._tidy()
        if self.members[0].recipe.schedule.kind == "plateau":
            self.stack.scale({position: self._plateaus[k](self.rows[k]) for position, k in enumerate(self._stack)})
        at.reason = self._all_ended()
        return {"epoch": at.epoch, "step": self.step, "members": found}

    def _all_ended(self) -> StopReason | None:
        over = len(self._ended) == len(self.members)
        return StopReason("members", "all members have ended") if over else None

    def _row(self, k: int, position: int, values: dict[str, Any]) -> Row:
        """Take one member's values; norms only if its own rules ask for them."""
        measured = self.members[k].recipe.stopping.measures
        row: Row = {}
        for name, value in values.items():
            if name == "gradients":
                row[name] = {layer: norms[position] for layer, norms in value.items()}
            elif measured or name not in ("gradient_norm", "relative_step"):
                row[name] = value[position]
        return row

    @torch.no_grad()
    def _keep(self, positions: list[int]) -> None:
        """Copy the weights of those members that have become better."""
        if not positions:
            return
        live = self.stack.weights()
        if not self._best or len(positions) == len(self._stack):
            self._best = {name: t.detach().clone() for name, t in live.items()}
            return
        index = torch.tensor(positions, device=next(iter(live.values())).device)
        for name, best in self._best.items():
            best.index_copy_(0, index, live[name].index_select(0, index))

    def drop(self, places: Sequence[int]) -> None:
        """End members that somebody else judged, such as those that successive halving leaves out."""
        mine = {place: k for k, place in enumerate(self.places)}
        for place in places:
            if place in mine and mine[place] not in self._ended:
                self._ended[mine[place]] = "dropped", None
        self._tidy()
        if self._all_ended() and self.events is not None:
            self.events.close()
            self.events = None

    def _tidy(self) -> None:
        """Freeze members that have ended; when they are many, take them out of the stack."""
        gone = [position for position, k in enumerate(self._stack) if k in self._ended]
        if not gone or len(gone) == len(self._stack):
            return
        if self.width is not None or len(gone) < RETIRE[self.stack.device.type] * len(self._stack):
            self.stack.freeze(gone)
            return
        for position in gone:
            self._kept[self._stack[position]] = self._weights(position)
        self.stack, stay = self.stack.retired(gone)
        keep = torch.tensor(stay, device=self.stack.device)
        self._best = {name: t.index_select(0, keep) for name, t in self._best.items()}
        self._stack = [self._stack[position] for position in stay]

    def _weights(self, position: int) -> dict[str, Tensor]:
        k = self._stack[position]
        if self._best_row[k] < 0:
            return {}
        return {name: t[position].cpu().clone() for name, t in self._best.items()}

    def results(self) -> dict[int, MemberResult]:
        """Give what became of each member, by place."""
        at = {k: position for position, k in enumerate(self._stack)}
        # One transfer per tensor, not one per member.
        self._best = {name: t.cpu() for name, t in self._best.items()}
        said = (*((self.stack.reason,) if self.stack.reason else ()), *notes(self.stack.model))
        found = {}
        for k, place in enumerate(self.places):
            reason, bad = self._ended.get(k, ("epochs", None))
            weights = self._kept[k] if k in self._kept else self._weights(at[k])
            state = DIVERGED if reason == DIVERGED else FINISHED
            found[place] = MemberResult(
                tuple(self.rows[k]),
                self._best_row[k],
                state,
                bad,
                weights,
                said,
                reason,
                "stacked",
                self.width or len(self.members),
            )
        return found


def _with_shared_seed(members: Sequence[Member]) -> list[Member]:
    """Give all members the order and the augmentation of the first."""
    seed = members[0].recipe.seed
    return [
        member if member.recipe.seed == seed else replace(member, recipe=replace(member.recipe, seed=seed))
        for member in members
    ]
