"""Build any architecture of the notes by its name."""

from dataclasses import fields
from importlib import import_module
from typing import Any

from torch import nn

from lamina._declared import check
from lamina._errors import ArgumentError, nearest
from lamina._types import Seed
from lamina.architectures.table import TABLE, Entry


def find(name: str) -> Entry:
    """Return the row of the table of architectures with this name.

    >>> find("lenet5").parameters
    61706
    """
    if name not in TABLE:
        hint = nearest(name, TABLE, " Did", "")
        raise ArgumentError(
            f"`name` must be one of {', '.join(TABLE)}, got {name!r}.{hint} `lamina list` shows them all."
        )
    return TABLE[name]


def option_types(name: str) -> dict[str, Any]:
    """Say what each option of an architecture is declared to be.

    >>> option_types("fnn")["last_bias"]
    <class 'bool'>
    """
    entry = find(name)
    return {field.name: field.type for field in fields(getattr(import_module(entry.module), entry.config))}


def configure(name: str, *, inputs: Any = None, outputs: int | None = None, **options: Any) -> Any:
    """Make the frozen configuration of an architecture.

    Args:
        name: a name from `lamina list`.
        inputs: the shape of one example: a number of features, or (channels, height, width).
        outputs: the number of outputs or classes.
        **options: what else the configuration has.

    >>> configure("fnn", inputs=784, outputs=10, hidden=(128,)).widths
    (784, 128, 10)
    """
    entry, types = find(name), option_types(name)
    config = getattr(import_module(entry.module), entry.config)
    sizes = {key: value for key, value in (("inputs", inputs), ("outputs", outputs)) if value is not None}
    for option, value in {**sizes, **options}.items():
        if option not in types:
            raise ArgumentError(
                f"{name} has no option {option!r}: its options are {', '.join(types)}{nearest(option, types)}"
            )
        check(option, value, types[option])
    return config(**{**entry.options, **sizes, **options})


def build(name: str, *, inputs: Any = None, outputs: int | None = None, seed: Seed = 0, **options: Any) -> nn.Module:
    """Build an architecture of the notes with weights drawn from `seed`.

    Notes: N1.65 (§1.5).

    Args:
        name: a name from `lamina list`.
        inputs: the shape of one example: a number of features, or (channels, height, width).
        outputs: the number of outputs or classes.
        seed: an integer or a generator; the same seed gives the same network.
        **options: the architecture's own options, as in its configuration.

    Returns:
        A torch module whose `config` holds every choice.

    >>> net = build("fnn", inputs=3, outputs=1, hidden=(5, 5, 5))
    >>> sum(p.numel() for p in net.parameters())
    86
    """
    entry = find(name)
    config = configure(name, inputs=inputs, outputs=outputs, **options)
    network: nn.Module = getattr(import_module(entry.module), entry.network)(config, seed=seed)
    return network
