"""Which configurations are tried: a sampler proposes the next batch from what is known so far, and nothing else.

A proposal is a pure function of space, seed and results, so that a study that was killed goes on as if it had not been.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from lamina._errors import ArgumentError, at_least
from lamina.studies.space import LARGEST_GRID, Space, Values, key, read_value, spell


class Done(NamedTuple):
    """A configuration that was tried, its error (infinite if it diverged), and what decides between equal errors."""

    values: Values
    error: float
    tie: float = 0.0


@runtime_checkable
class Sampler(Protocol):
    """What a study needs of a sampler; `static` ones propose everything at once, whatever the results."""

    name: ClassVar[str]
    static: ClassVar[bool]

    def total(self, space: Space) -> int | None:
        """Say how many configurations there will be, if that is known."""

    def propose(self, space: Space, done: Sequence[Done]) -> list[Values]:
        """Give the next configurations after those that are done; none when the search is over."""


@dataclass(frozen=True)
class Grid:
    """Every combination, in the order of `Space.grid`: the last name changes fastest.

    Notes: N1.69 (§1.5).

    >>> [v["a"] * 10 + v["b"] for v in Grid().propose(Space.read(["a=1,2", "b=3,4"]), ())]
    [13, 14, 23, 24]
    """

    name: ClassVar[str] = "grid"
    static: ClassVar[bool] = True

    def total(self, space: Space) -> int | None:
        """Count the combinations."""
        return len(self.propose(space, ())) if space.size is None else space.size

    def propose(self, space: Space, done: Sequence[Done]) -> list[Values]:
        """Give all of them at once."""
        if done:
            return []
        size = space.size
        if size is not None and size > LARGEST_GRID:
            raise ArgumentError(
                f"a grid may have at most {LARGEST_GRID:,} combinations, got {size:,}: take fewer values or --random N."
            )
        return list(space.grid())


@dataclass(frozen=True)
class Random:
    """Independent draws; the value of a name is a function of seed, number and name alone.

    So a longer search begins with the shorter one, and a name that is added changes no other.

    >>> space = Space.read(["learning_rate=1e-4..1e-1:log"])
    >>> Random(3).propose(space, ()) == Random(5).propose(space, ())[:3]
    True
    """

    trials: int
    seed: int = 0
    name: ClassVar[str] = "random"
    static: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least("trials", self.trials, 1)

    def total(self, space: Space) -> int | None:
        """Give the number of draws."""
        return self.trials

    def propose(self, space: Space, done: Sequence[Done]) -> list[Values]:
        """Give all draws at once."""
        if done:
            return []
        return [
            space.sample(lambda name, number=number: _uniform(self.seed, number, name))  # type: ignore[misc]
            for number in range(self.trials)
        ]


@dataclass(frozen=True)
class OneAtATime:
    """The usual practice: change one hyperparameter, keep its best value, go on to the next.

    A start and the three other values of each of five hyperparameters make 1 + 5 * 3 = 16 runs instead of 4^5. What
    was tried already is not tried again. Where hyperparameters interact the best combination may be missed.

    Notes: N1.70 (§1.5).

    Args:
        start: the first configuration; a name that is not in it starts with the first of its values.
        sweeps: how often to go through all names at most; it ends when a sweep changes nothing.

    >>> OneAtATime().propose(Space.read(["a=1,2", "b=3,4"]), ())
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """

    start: tuple[tuple[str, Any], ...] = ()
    sweeps: int = 1
    name: ClassVar[str] = "one-at-a-time"
    static: ClassVar[bool] = False

    def __post_init__(self) -> None:
        at_least("sweeps", self.sweeps, 1)

    def total(self, space: Space) -> int | None:
        """Count the runs of a single sweep; conditions and more sweeps make that depend on the results."""
        if self.sweeps > 1 or any(each.when for each in space.hyperparameters):
            return None
        return 1 + sum(len(each.domain.grid()) - 1 for each in space.hyperparameters)

    def first(self, space: Space) -> Values:
        """Give the value of every name to start from."""
        given = dict(self.start)
        for name in given:
            if name not in space.names:
                raise ArgumentError(f"`start` names {name!r}, which does not vary: {', '.join(space.names)} do.")
        choice: Values = {}
        for each in space.hyperparameters:
            values = each.domain.grid()
            choice[each.name] = given.get(each.name, values[0])
            if choice[each.name] not in values:
                raise ArgumentError(
                    f"`start` must be one of the values, got {each.name}={spell(choice[each.name])}: {each.domain}."
                )
        return choice

    def propose(self, space: Space, done: Sequence[Done]) -> list[Values]:
        """Replay the search on what is known until something is not: that is what to try next."""
        known = {key(each.values): (each.error, each.tie) for each in done}
        choice = self.first(space)
        for _ in range(self.sweeps):
            before = dict(choice)
            for each in space.hyperparameters:
                if each.name not in space.active(choice):
                    continue
                tried = [{**choice, each.name: value} for value in each.domain.grid()]
                tried.sort(key=lambda other: other != choice)  # the present one first: it wins among equals
                missing = [space.active(other) for other in tried if key(space.active(other)) not in known]
                if missing:
                    return missing
                choice = min(tried, key=lambda other: known[key(space.active(other))])
            if choice == before:
                break
        return []


def _uniform(seed: int, number: int, name: str) -> float:
    """Give a number in [0, 1) that depends on seed, trial number and name alone.

    >>> _uniform(0, 0, "a") == _uniform(0, 0, "a"), _uniform(0, 0, "a") == _uniform(0, 1, "a")
    (True, False)
    """
    digest = hashlib.blake2b(f"{seed}/{number}/{name}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest) >> 11) / 2**53


def _make_sampler(values: dict[str, Any]) -> Sampler:
    """Read a sampler back from plain values, as `describe_sampler` wrote them."""
    from lamina.studies.tpe import TPE

    kinds: dict[str, Any] = {kind.name: kind for kind in (Grid, Random, OneAtATime, TPE)}
    values = dict(values)
    name = values.pop("name")
    if name not in kinds:
        raise ArgumentError(f"`sampler` must be one of {', '.join(map(repr, kinds))}, got {name!r}.")
    if "start" in values:
        pairs = (word.partition("=") for word in values["start"])
        values["start"] = tuple((name, read_value(text)) for name, _, text in pairs)
    made: Sampler = kinds[name](**values)
    return made


def _describe_sampler(sampler: Sampler) -> dict[str, Any]:
    """Write a sampler as plain values for a file.

    >>> _describe_sampler(Random(5))
    {'name': 'random', 'trials': 5, 'seed': 0}
    """
    values = dict(vars(sampler))
    if "start" in values:
        values["start"] = [f"{name}={spell(value)}" for name, value in values["start"]]
    return {"name": sampler.name, **values}
