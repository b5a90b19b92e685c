"""Optimizers that are not Lamina's: what a recipe may hold, how a file names it, how it is made for a network."""

import inspect
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

from lamina._errors import ArgumentError

MODULE = "torch.optim."
_PLAIN = bool | int | float | str


def check(optimizer: Any) -> None:
    """Refuse what makes no optimizer for a network that is yet to come: an instance, or a word."""
    if isinstance(optimizer, torch.optim.Optimizer):
        name = type(optimizer).__name__
        raise ArgumentError(
            f"`optimizer` must say how to make an optimizer, got an instance of {name}, which belongs to one "
            f"network: give the class torch.optim.{name}, or functools.partial(torch.optim.{name}, lr=0.01)."
        )
    if not callable(optimizer):
        raise ArgumentError(
            f"`optimizer` must be a record such as Adam(0.01), a class of torch.optim or a function of the parameters, "
            f"got {optimizer!r}."
        )


def spelled(optimizer: Any) -> dict[str, Any] | None:
    """Name a class of torch.optim and its plain numbers as a file can hold them; None for anything else.

    >>> spelled(partial(torch.optim.AdamW, lr=0.01, betas=(0.8, 0.9)))
    {'name': 'torch.optim.AdamW', 'lr': 0.01, 'betas': [0.8, 0.9]}
    """
    made: Any = optimizer
    numbers: dict[str, Any] = {}
    if isinstance(optimizer, partial) and not optimizer.args:
        made, numbers = optimizer.func, optimizer.keywords
    name = made.__name__ if isinstance(made, type) else ""
    if not name or getattr(torch.optim, name, None) is not made:
        return None
    values = {key: list(value) if isinstance(value, tuple) else value for key, value in numbers.items()}
    parts = [part for value in values.values() for part in (value if isinstance(value, list) else [value])]
    plain = all(isinstance(part, _PLAIN) for part in parts)
    return {"name": f"{MODULE}{name}", **values} if plain else None


def read(name: str, numbers: dict[str, Any]) -> Any:
    """Find what `spelled` named.

    >>> read("torch.optim.AdamW", {"lr": 0.01}).keywords
    {'lr': 0.01}
    """
    kind = getattr(torch.optim, name.removeprefix(MODULE), None)
    if kind is None:
        raise ArgumentError(f"this version of torch has no optimizer {name!r}: give another one as `optimizer`.")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in numbers.items()}
    return partial(kind, **values) if values else kind


def make(optimizer: Any, params: Sequence[nn.Parameter], names: Sequence[str] = ()) -> torch.optim.Optimizer:
    """Make an optimizer for parameters; a function of `named_parameters` gets pairs of name and parameter."""
    given: Any = list(params)
    if next(iter(inspect.signature(optimizer).parameters), "") == "named_parameters":
        given = list(zip(names, params, strict=True))
    made = optimizer(given)
    if not isinstance(made, torch.optim.Optimizer):
        raise ArgumentError(f"`optimizer` must make a torch optimizer, but it made {made!r}: return one.")
    closure = inspect.signature(made.step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise ArgumentError(
            f"{type(made).__name__} asks for the loss several times in one update, which training does not offer: use "
            "GD(line_search=True) or another optimizer."
        )
    return made
