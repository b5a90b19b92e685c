"""The work of the search page: grids of small networks that train together, cell by cell."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.data.synthetic import moons
from lamina.functional.metrics import accuracy
from lamina.pages.kit._races import Kept, checked
from lamina.populations.members import Member, MemberResult, by_shape
from lamina.populations.population import train_population, train_together
from lamina.studies.problem import Problem
from lamina.studies.samplers import Done, Grid, OneAtATime
from lamina.studies.space import Space, Values, key, spell
from lamina.training.recipe import Adam, Recipe
from lamina.training.runtime import Runtime
from lamina.training.stopping import Row

AXES: dict[str, tuple[Any, ...]] = {
    "learning_rate": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1),
    "penalty": (0.0, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1),
    "beta1": (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99),
    "dropout": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8),
    "scale": (0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0),
    "label_noise": (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8),
    "width": (1, 2, 4, 8, 16, 32, 64, 128),
    "depth": (1, 2, 3, 4, 5, 6, 7, 8),
}
"""Hyperparameters and eight values of each; networks of another width or depth have another shape."""
FIVE: dict[str, tuple[Any, ...]] = {
    "dropout": (0.0, 0.1, 0.2, 0.4),
    "scale": (0.5, 1.0, 1.5, 2.0),
    "learning_rate": (1e-3, 3e-3, 1e-2, 3e-2),
    "beta1": (0.0, 0.5, 0.9, 0.99),
    "penalty": (0.0, 1e-4, 1e-3, 1e-2),
}
"""Five hyperparameters with four values each; the first two make the rows of the picture."""
ALONE = 2
"""How many networks are trained by themselves to compare."""


@dataclass(frozen=True)
class Plan:
    """A grid of two hyperparameters.

    Args:
        across: the one whose values are columns.
        up: the one whose values are rows.
        hidden: units of the hidden layer.
        epochs: of each training.
        seed: of the split, the weights and the order.
    """

    across: str = "learning_rate"
    up: str = "penalty"
    hidden: int = 16
    epochs: int = 20
    seed: int = 0

    @property
    def space(self) -> Space:
        """All values of both; the columns change fastest."""
        return Space.of({self.up: list(AXES[self.up]), self.across: list(AXES[self.across])})

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns.

        >>> Plan().shape
        (8, 8)
        """
        return len(AXES[self.up]), len(AXES[self.across])


@dataclass
class Board:
    """What is known of each network of a grid.

    Args:
        accuracies: with the weights that would be kept; None before the first check, NaN where training diverged.
        losses: the smallest validation losses so far.
    """

    accuracies: list[float | None]
    losses: list[float]

    @classmethod
    def empty(cls, size: int) -> "Board":
        """Begin with nothing."""
        return cls([None] * size, [math.inf] * size)

    def take(self, places: Sequence[int], rows: Sequence[Row | None]) -> None:
        """Take the checks of some networks; one that no longer says anything has diverged."""
        for place, row in zip(places, rows, strict=True):
            if row is None:
                self.accuracies[place] = math.nan
            elif row["validation_loss"] < self.losses[place]:
                self.losses[place], self.accuracies[place] = row["validation_loss"], row["validation_accuracy"]

    def error(self, place: int) -> tuple[float, float]:
        """Give the share of mistakes, and the loss that decides between equals."""
        value = self.accuracies[place]
        return (math.inf, math.inf) if value is None or math.isnan(value) else (1 - value, self.losses[place])

    @property
    def best(self) -> int | None:
        """The place of the best network, None before the first check.

        >>> Board([0.5, 0.9, 0.9], [1.0, 0.4, 0.3]).best
        2
        """
        known = [place for place in range(len(self.losses)) if math.isfinite(self.error(place)[0])]
        return min(known, key=self.error, default=None)


def digits(hidden: int, epochs: int, seed: int) -> Problem:
    """Make the problem of all cells: a small network for the digits that come with scikit-learn."""
    options = {"hidden": (hidden,), "optimizer": "adam", "schedule": "constant", "batch_size": 64, "epochs": epochs}
    return Problem.make("fnn", "digits", options=options, seed=seed)


def population(plan: Plan, run: int) -> Iterator[dict[str, Any]]:
    """Train a network for each pair of values, all of one shape at once.

    Yields:
        The accuracies and losses of all cells and the epoch; at the end what one network alone takes, and how the best
        one does on the test part.

    >>> last = list(population(Plan(hidden=2, epochs=1), 1))[-1]
    >>> len(last["accuracies"]), last["openings"]
    (64, 1)
    """
    problem = digits(plan.hidden, plan.epochs, plan.seed)
    grid = Grid().propose(plan.space, ())
    members = [problem.members(values)[0] for values in grid]
    board, found = Board.empty(len(grid)), dict[int, MemberResult]()
    state: dict[str, Any] = {"epochs": plan.epochs, "of": len(grid)}
    begun = time.monotonic()
    groups = by_shape(members)
    for places in groups:
        state["done"] = len(found)
        training = Kept(train_together([members[k] for k in places], problem.split, runtime=Runtime("cpu", threads=1)))
        for event in training:
            board.take(places, checked(event)["members"])
            share = (len(found) + len(places) * event.epoch / plan.epochs) / len(grid)
            yield {**state, **seen(board), "epoch": event.epoch, "share": share, "seconds": time.monotonic() - begun}
        found |= dict(zip(places, training.value, strict=True))
    state |= {"done": len(found), "epoch": plan.epochs, "share": 1.0, "seconds": time.monotonic() - begun}
    state |= {**seen(board), "shapes": len(groups)}
    yield state
    alone = time_alone(members, problem.split) if len(groups) == 1 else None
    tested = {} if board.best is None else judged(members[board.best], found[board.best], problem.split)
    yield {**state, "alone": alone, **tested}


def seen(board: Board) -> dict[str, Any]:
    """Copy what is known, for another process."""
    return {"accuracies": list(board.accuracies), "losses": list(board.losses), "best": board.best}


def time_alone(members: Sequence[Member], split: Split) -> float:
    """Measure how long one network takes by itself, as a mean over a few from the middle of the grid."""
    middle = len(members) // 2
    begun = time.monotonic()
    for member in members[middle : middle + ALONE]:
        train_population([member], split, runtime=Runtime("cpu", threads=1))
    return (time.monotonic() - begun) / ALONE


@torch.no_grad()
def judged(member: Member, result: MemberResult, split: Split) -> dict[str, Any]:
    """Open the test part, once, for the network that was chosen."""
    network = member.build().eval()
    network.load_state_dict(result.weights)
    inputs, labels = split.open_test().take(torch.arange(len(split.test)))
    prepared = Preprocess.fit(split.train, member.config.inputs).apply(inputs).to(next(network.parameters()).dtype)
    guesses = network(prepared).argmax(1)
    return {"test": accuracy(guesses, labels), "tested": len(labels), "openings": split.openings}


def one_at_a_time(space: Space, start: Values, board: Board) -> tuple[list[int], list[int]]:
    """Play the usual practice on networks that are trained already.

    Returns:
        The places that it tries, in order, and those that it moves through: start, best after each hyperparameter.

    >>> space = Space.of({"a": [1, 2], "b": [1, 2]})
    >>> one_at_a_time(space, {"a": 1, "b": 1}, Board([0.5, 0.6, 0.6, 0.9], [1.0, 0.9, 0.8, 0.1]))
    ([0, 2, 3], [0, 2, 3])
    """
    place = {key(values): number for number, values in enumerate(Grid().propose(space, ()))}
    sampler, done = OneAtATime(tuple(start.items())), list[Done]()
    while proposed := sampler.propose(space, done):
        done += [Done(values, *board.error(place[key(values)])) for values in proposed]
    tried = [place[key(each.values)] for each in done]
    moves, now = [place[key(start)]], dict(start)
    for each in space.hyperparameters:
        line = [place[key({**now, each.name: value})] for value in each.domain.grid()]
        line.sort(key=lambda other: other != moves[-1])  # the present one wins among equals
        moves.append(min(line, key=board.error))
        now = next(done_one.values for done_one in done if place[key(done_one.values)] == moves[-1])
    return tried, list(dict.fromkeys(moves))


def thousand(run: int, epochs: int = 12) -> Iterator[dict[str, Any]]:
    """Train all 4^5 = 1024 combinations of five hyperparameters as one stack, on two moons.

    Yields:
        The accuracies and losses of all cells, and the epoch.
    """
    recipe = Recipe(Adam(), epochs, 40)
    problem = Problem.make("fnn", moons(300, noise=0.25).split(), recipe=recipe, options={"hidden": 8})
    members = [problem.members(values)[0] for values in Grid().propose(five_space(), ())]
    board, begun = Board.empty(len(members)), time.monotonic()
    for event in train_together(members, problem.split, runtime=Runtime("cpu", threads=1)):
        board.take(range(len(members)), checked(event)["members"])
        yield {**seen(board), "epoch": event.epoch, "epochs": epochs, "seconds": time.monotonic() - begun}


def five_space() -> Space:
    """Return the space of the five hyperparameters.

    >>> five_space().size
    1024
    """
    return Space.of({name: list(values) for name, values in FIVE.items()})


def means(board: Board) -> list[tuple[str, ...]]:
    """Average the accuracy of the 1024 networks for each value of each hyperparameter, best value marked."""
    grid = Grid().propose(five_space(), ())
    rows = []
    for name, values in FIVE.items():
        found = []
        for value in values:
            there = [board.accuracies[place] for place, each in enumerate(grid) if each[name] == value]
            known = [share for share in there if share is not None and not math.isnan(share)]
            found.append(sum(known) / len(known) if known else 0.0)
        high = max(found)
        rows.append((name.replace("_", " "), *(f"{spell(value)}: {share:.1%}" + (" ★" if share == high else "")
                     for value, share in zip(values, found, strict=True))))  # fmt: skip
    return rows
