"""What may vary and between which values: lists, ranges and conditions, written as words.

    learning_rate=1e-4,1e-3,1e-2            a list
    hidden=32,64,128x64                     sizes; 128x64 are two layers
    learning_rate=1e-4..1e-1:log            a range, even in the logarithm; without :log even in the number
    dropout=0..0.5:6                        the same with 6 values for a grid
    batch_size=16..64                       whole ends, whole numbers
    momentum=0,0.9 if optimizer=minibatch   only where something else has one of some values

A mapping says the same in Python: `{"learning_rate": [1e-4, 1e-3], "momentum if optimizer=minibatch": [0, 0.9]}`.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lamina._errors import ArgumentError, above, nearest, whole

Values = dict[str, Any]
LARGEST_GRID = 1_000_000
_WORDS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class Choices:
    """A list of values, in the order in which a grid goes through them.

    >>> Choices((1, 2)).grid()
    (1, 2)
    """

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise ArgumentError("a list must have at least 1 value, got none: write name=value1,value2.")
        for place, value in enumerate(self.values):
            _plain(value)
            if any(_same(value, other) for other in self.values[:place]):
                raise ArgumentError(f"a list must name each value once, got {spell(value)} twice.")

    def grid(self) -> tuple[Any, ...]:
        """Return the values."""
        return self.values

    def at(self, share: float) -> Any:
        """Return the value at a share of the list, from 0 to below 1."""
        return self.values[int(share * len(self.values))]

    def has(self, value: Any) -> bool:
        """Say whether a value is in the list."""
        return any(_same(value, other) for other in self.values)

    def __str__(self) -> str:
        return ",".join(map(spell, self.values))


MOST = 1_000_000
"""Values that one range may have in a grid."""


@dataclass(frozen=True)
class Range:
    """All numbers between two ends, which belong to it.

    Args:
        low: the smallest.
        high: the largest.
        log: whether the logarithm is even, not the number.
        points: how many values a grid takes; needed there unless the ends are whole.

    >>> Range(1e-3, 1e-1, log=True, points=3).grid()
    (0.001, 0.01, 0.1)
    >>> Range(2, 5).grid()
    (2, 3, 4, 5)
    """

    low: float
    high: float
    log: bool = False
    points: int | None = None

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ArgumentError(f"a range must go up, got {spell(self.low)}..{spell(self.high)}: swap its ends.")
        for end in (self.low, self.high):
            if not math.isfinite(end):
                raise ArgumentError(f"the ends of a range must be finite, got {end}.")
        if self.log:
            above("low end of a range with :log", self.low, 0)
        if self.points is not None:
            whole("number of points of a range", self.points, 2, MOST)

    @property
    def whole(self) -> bool:
        """Say whether it holds whole numbers only."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def grid(self) -> tuple[Any, ...]:
        """Return evenly spaced values, both ends among them."""
        if self.points is None:
            if not self.whole or self.log:
                raise ArgumentError(
                    f"a grid cannot enumerate the range {self}: say how many values to take, as in {self}:5, "
                    "or sample it with --random N."
                )
            whole("number of values of a range", int(self.high) - int(self.low) + 1, 2, MOST)
            return tuple(range(int(self.low), int(self.high) + 1))
        found = [self._between(place / (self.points - 1)) for place in range(self.points)]
        rounded = [round(v) for v in found] if self.whole else [float(f"{v:.12g}") for v in found]
        return tuple(dict.fromkeys(rounded))

    def at(self, share: float) -> Any:
        """Return the number at a share of the range, from 0 to below 1; whole numbers are equally likely."""
        if not self.whole:
            return min(self.high, max(self.low, self._between(share)))
        wide = Range(self.low - 0.5, self.high + 0.5, self.log)
        return min(int(self.high), max(int(self.low), round(wide._between(share))))

    def has(self, value: Any) -> bool:
        """Say whether a number lies between the ends."""
        return isinstance(value, int | float) and not isinstance(value, bool) and self.low <= value <= self.high

    def _between(self, share: float) -> float:
        if self.log:
            return math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        return self.low + share * (self.high - self.low)

    def __str__(self) -> str:
        tail = (":log" if self.log else "") + (f":{self.points}" if self.points else "")
        return f"{spell(self.low)}..{spell(self.high)}{tail}"


Domain = Choices | Range


@dataclass(frozen=True)
class _Condition:
    """Something holds only where another hyperparameter has one of some values."""

    name: str
    values: tuple[Any, ...]

    def holds(self, values: Values) -> bool:
        """Say whether it holds for values chosen so far; it does not where the other one itself is left out."""
        return self.name in values and any(_same(values[self.name], wanted) for wanted in self.values)

    def __str__(self) -> str:
        return f"{self.name}={','.join(map(spell, self.values))}"


@dataclass(frozen=True)
class Hyperparameter:
    """One name that varies, between which values, and when."""

    name: str
    domain: Domain
    when: tuple[_Condition, ...] = ()

    def active(self, values: Values) -> bool:
        """Say whether it has a value beside those chosen so far."""
        return all(condition.holds(values) for condition in self.when)

    def __str__(self) -> str:
        tail = f" if {' and '.join(map(str, self.when))}" if self.when else ""
        return f"{self.name}={self.domain}{tail}"


@dataclass(frozen=True)
class Space:
    """All hyperparameters that vary, in the order in which a grid goes through them: the last one fastest.

    Args:
        hyperparameters: each name once; a condition may only speak of names before it.

    >>> space = Space.read(["optimizer=adam,minibatch", "momentum=0,0.9 if optimizer=minibatch"])
    >>> list(space.grid())[1:]
    [{'optimizer': 'minibatch', 'momentum': 0}, {'optimizer': 'minibatch', 'momentum': 0.9}]
    """

    hyperparameters: tuple[Hyperparameter, ...]

    def __post_init__(self) -> None:
        if not self.hyperparameters:
            raise ArgumentError(
                "a search needs at least 1 hyperparameter, got none: add, for example, learning_rate=1e-3,1e-2."
            )
        before: dict[str, Hyperparameter] = {}
        for each in self.hyperparameters:
            if each.name in before:
                raise ArgumentError(f"`{each.name}` must be named once, got it twice: put all its values in one list.")
            for condition in each.when:
                _check_condition(each.name, condition, before)
            before[each.name] = each

    @classmethod
    def read(cls, words: Sequence[str]) -> "Space":
        """Read words such as "learning_rate=1e-4..1e-1:log".

        >>> Space.read(["hidden=32,128x64"]).hyperparameters[0].domain
        Choices(values=(32, (128, 64)))
        """
        return cls(tuple(_hyperparameter(word) for word in words))

    @classmethod
    def of(cls, space: "Space | Mapping[str, Any]") -> "Space":
        """Read a mapping from names, with their conditions if any, to lists, ranges or words.

        >>> str(Space.of({"dropout": Range(0.0, 0.5), "penalty": [0, 1e-4]}))
        'dropout=0.0..0.5 penalty=0,0.0001'
        """
        if isinstance(space, Space):
            return space
        found = []
        for key, values in space.items():
            name, when = _conditions(key)
            found.append(Hyperparameter(_name(name, key), _domain(name, values), when))
        return cls(tuple(found))

    @property
    def names(self) -> tuple[str, ...]:
        """The names in order."""
        return tuple(each.name for each in self.hyperparameters)

    def domain(self, name: str) -> Domain:
        """Return the values of a name."""
        return next(each.domain for each in self.hyperparameters if each.name == name)

    def grid(self) -> Iterator[Values]:
        """Go through all combinations, the last name fastest; what a condition leaves out is left out.

        Notes: N1.69 (§1.5).
        """
        return _grid(self.hyperparameters, {})

    @property
    def size(self) -> int | None:
        """How many combinations a grid has; None when a range has no number of points."""
        try:
            counts = [len(each.domain.grid()) for each in self.hyperparameters]
        except ArgumentError:
            return None
        if not any(each.when for each in self.hyperparameters) or math.prod(counts) > LARGEST_GRID:
            return math.prod(counts)
        return sum(1 for _ in self.grid())

    def sample(self, share: Callable[[str], float]) -> Values:
        """Choose a value for each name by a number in [0, 1) that belongs to the name."""
        return self.active({each.name: each.domain.at(share(each.name)) for each in self.hyperparameters})

    def active(self, choice: Values) -> Values:
        """Keep of a choice for every name what the conditions let stand."""
        values: Values = {}
        for each in self.hyperparameters:
            if each.active(values):
                values[each.name] = choice[each.name]
        return values

    def words(self) -> list[str]:
        """Write the space as `read` reads it."""
        return [str(each) for each in self.hyperparameters]

    def __str__(self) -> str:
        return " ".join(self.words())


def key(values: Values) -> str:
    """Give a text that two configurations share exactly if they are the same.

    >>> key({"b": (1, 2), "a": 0.5})
    '{"a": 0.5, "b": [1, 2]}'
    """
    return json.dumps(values, sort_keys=True)


def _untuple(values: Values) -> Values:
    """Read a configuration back from JSON, whose lists are our tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def read_value(text: str) -> Any:
    """Read one value: a number, true, false, none, sizes such as 128x64, words such as relu+tanh, or a word.

    >>> read_value("1e-3"), read_value("64"), read_value("128x64"), read_value("none"), read_value("relu")
    (0.001, 64, (128, 64), None, 'relu')
    """
    text = text.strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if re.fullmatch(r"\d+x(\d+x)*\d*", text):
        return tuple(int(part) for part in text.split("x") if part)
    if "+" in text:
        return tuple(read_value(part) for part in text.split("+"))
    return () if text == "()" else text


def spell(value: Any) -> str:
    """Write one value as `read_value` reads it.

    >>> spell((128, 64)), spell((64,)), spell(True), spell(None), spell(1e-05), spell(("relu", "tanh"))
    ('128x64', '64x', 'true', 'none', '1e-05', 'relu+tanh')
    """
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        if all(isinstance(part, int) for part in value):
            return "x".join(map(str, value)) + ("x" if len(value) == 1 else "") or "()"
        return "+".join(map(spell, value))
    return str(value)


def spell_all(values: Values) -> str:
    """Write a configuration as words.

    >>> spell_all({"learning_rate": 0.01, "hidden": (8, 8)})
    'learning_rate=0.01 hidden=8x8'
    """
    return " ".join(f"{name}={spell(value)}" for name, value in values.items())


def _grid(rest: Sequence[Hyperparameter], values: Values) -> Iterator[Values]:
    if not rest:
        yield values
        return
    first, *others = rest
    if not first.active(values):
        yield from _grid(others, values)
        return
    for value in first.domain.grid():
        yield from _grid(others, {**values, first.name: value})


def _hyperparameter(word: str) -> Hyperparameter:
    name, equals, tail = word.partition("=")
    if not equals or not name.strip():
        raise ArgumentError(f"a hyperparameter is written name=values, got {word!r}: as in learning_rate=1e-4,1e-3")
    values, _, condition = tail.partition(" if ")
    _, when = _conditions(f"{name} if {condition}" if condition else name)
    return Hyperparameter(_name(name, word), _read_domain(name.strip(), values.strip()), when)


def _name(name: str, word: str) -> str:
    plain = name.strip().replace("-", "_")
    if not plain.isidentifier():
        raise ArgumentError(f"a hyperparameter's name is one word, got {name.strip()!r} in {word!r}.")
    return plain


def _conditions(text: str) -> tuple[str, tuple[_Condition, ...]]:
    name, _, tail = text.partition(" if ")
    found = []
    for part in re.split(r"\s+and\s+", tail.strip()) if tail.strip() else ():
        other, equals, values = part.partition("=")
        if not equals or not other.strip() or not values.strip():
            raise ArgumentError(f"a condition is written 'if name=value', got {part!r} for {name.strip()!r}.")
        found.append(_Condition(_name(other, text), tuple(read_value(v) for v in values.split(","))))
    return name.strip(), tuple(found)


def _read_domain(name: str, text: str) -> Domain:
    try:
        if ".." in text:
            return _read_range(text)
        return Choices(tuple(read_value(part) for part in text.split(",") if part.strip()))
    except ArgumentError as error:
        raise ArgumentError(f"`{name}`: {error}") from None


def _read_range(text: str) -> Range:
    ends, *marks = text.split(":")
    if ".." not in ends:
        raise ArgumentError(f"a range is written low..high, low..high:log or low..high:log:5, got {text!r}.")
    low, high = (read_value(end) for end in ends.split("..", 1))
    for end in (low, high):
        if not isinstance(end, int | float) or isinstance(end, bool):
            raise ArgumentError(f"the ends of a range must be numbers, got {text!r}: as in 1e-4..1e-1:log")
    log = "log" in marks
    rest = [mark for mark in marks if mark not in ("log", "lin")]
    if len(rest) > 1 or not all(mark.isdecimal() and len(mark) < 20 for mark in rest):
        raise ArgumentError(f"a range is written low..high, low..high:log or low..high:log:5, got {text!r}.")
    return Range(low, high, log, int(rest[0]) if rest else None)


def _domain(name: str, values: Any) -> Domain:
    if isinstance(values, Choices | Range):
        return values
    if isinstance(values, str):
        return _read_domain(name, values)
    if not isinstance(values, Sequence):
        raise ArgumentError(f"`{name}` must have a list of values or a range, got {values!r}: write [{values!r}].")
    try:
        return Choices(tuple(tuple(v) if isinstance(v, list) else v for v in values))
    except ArgumentError as error:
        raise ArgumentError(f"`{name}`: {error}") from None


def _check_condition(name: str, condition: _Condition, before: dict[str, Hyperparameter]) -> None:
    if condition.name not in before:
        raise ArgumentError(
            f"`{name}` depends on `{condition.name}`, which must vary and be named before it: the names before it are "
            f"{', '.join(before) or 'none'}{nearest(condition.name, before)}"
        )
    domain = before[condition.name].domain
    for value in condition.values:
        if not domain.has(value):
            raise ArgumentError(f"`{name}` waits for {condition.name}={spell(value)}, but the values are {domain}.")


def _plain(value: Any) -> None:
    """Refuse what words cannot say and a file cannot hold."""
    if isinstance(value, tuple):
        for part in value:
            _plain(part)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ArgumentError(f"a value must be finite, got {value}.")
    elif isinstance(value, str) and (read_value(value) != value or not re.fullmatch(r"[^\s,=:]+", value)):
        raise ArgumentError(f"a word must have no blank, comma, colon or =, and not look like a number, got {value!r}.")
    elif value is not None and not isinstance(value, bool | int | float | str):
        raise ArgumentError(f"a value must be a number, a word, true, false, none or a tuple of these, got {value!r}.")


def _same(a: Any, b: Any) -> bool:
    """Compare values; 1 and True are not the same."""
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)
