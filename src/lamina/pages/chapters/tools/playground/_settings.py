"""The options of a network and of a recipe as widgets, read from their configurations: nothing is listed twice.

Every widget begins with "auto", which leaves the option out, as the command line does when nothing is said.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from importlib import import_module
from typing import Any

from lamina._errors import ArgumentError
from lamina.architectures.build import configure, find
from lamina.studies.space import read_value
from lamina.training.recipe import OPTIMIZERS, Recipe, with_options

RECIPE = ("optimizer", "learning_rate", "batch_size", "schedule", "penalty", "clip", "patience")
"""Options of a recipe that have a widget of their own; all others can be typed."""
USUAL = "auto"
_HIDDEN = ("inputs", "outputs", "padding", "recompute")
_ONE_OF = re.compile(r"must be one of (.*), got '\?'\.$")


@dataclass(frozen=True)
class Option:
    """One thing that may be chosen.

    Args:
        name: as `--set` takes it.
        default: what the configuration says.
        choices: the words it takes; none for numbers, sizes and whatever else must be typed.
    """

    name: str
    default: Any = None
    choices: tuple[str, ...] = ()


@cache
def network_options(architecture: str) -> tuple[Option, ...]:
    """List the options of an architecture, with the words that each takes.

    >>> [option.name for option in network_options("fnn")][:2]
    ['hidden', 'activation']
    >>> network_options("lenet5")[1].choices
    ('average', 'max')
    """
    entry = find(architecture)
    config = getattr(import_module(entry.module), entry.config)
    found = []
    for each in fields(config):
        if each.name not in _HIDDEN:
            default = entry.options.get(each.name, None if each.default is MISSING else each.default)
            words = () if isinstance(default, bool) else _words(architecture, each.name, str(each.type))
            found.append(Option(each.name, default, words))
    return tuple(found)


def _words(architecture: str, name: str, kind: str) -> tuple[str, ...]:
    """Ask a configuration which words an option takes: it names them when it refuses one."""
    if "str" not in kind:
        return ()
    wrong: dict[str, Any] = {name: "?"}
    try:
        configure(architecture, **wrong)
    except (ArgumentError, TypeError) as error:
        return _listed(str(error))
    return ()


def _listed(sentence: str) -> tuple[str, ...]:
    """Read the words from the sentence that refuses another one.

    >>> _listed("`cell` must be one of 'rnn', 'gru', got '?'."), _listed("`a` must be 'b' or a size, got '?'.")
    (('rnn', 'gru'), ())
    """
    found = _ONE_OF.search(sentence)
    if found is None:
        return ()
    words = [word.strip() for word in found[1].split(",")]
    if not all(re.fullmatch(r"'[^']*'|None", word) for word in words):
        return ()
    return tuple(word.strip("'") for word in words if word != "None")


@cache
def recipe_options() -> tuple[Option, ...]:
    """List the options of a recipe that have a widget.

    >>> recipe_options()[0].choices
    ('gd', 'sgd', 'minibatch', 'adam', 'adamw', 'rmsprop')
    """
    kinds = {"optimizer": tuple(OPTIMIZERS)}
    try:
        with_options(Recipe(), schedule="?")
    except ArgumentError as error:
        kinds["schedule"] = _listed(str(error))
    return tuple(Option(name, choices=kinds.get(name, ())) for name in RECIPE)


def widget(option: Option) -> Any:
    """Make the widget of an option."""
    import marimo as mo

    label = option.name.replace("_", " ")
    if option.choices or isinstance(option.default, bool):
        words = option.choices or ("yes", "no")
        return mo.ui.dropdown([USUAL, *words], value=USUAL, label=label, full_width=True)
    return mo.ui.text(placeholder=USUAL, label=label, full_width=True)


def widgets(options: Sequence[Option]) -> Any:
    """Make the widgets of several options as one dictionary."""
    import marimo as mo

    return mo.ui.dictionary({option.name: widget(option) for option in options})


def given(options: Sequence[Option], values: Mapping[str, Any]) -> dict[str, Any]:
    """Read what was chosen; what is left at "auto" is left out.

    >>> given(network_options("fnn"), {"hidden": "32, 16", "activation": "tanh", "batch_norm": "yes", "dropout": ""})
    {'hidden': (32, 16), 'activation': 'tanh', 'batch_norm': True}
    """
    found: dict[str, Any] = {}
    for option in options:
        value = values.get(option.name) or ""
        if value in ("", USUAL):
            continue
        found[option.name] = value == "yes" if isinstance(option.default, bool) else read(value)
    return found


def read(text: str) -> Any:
    """Read a value as `--set` does: commas make a list.

    >>> read("32,"), read("1e-3"), read("none"), read("cosine")
    ((32,), 0.001, None, 'cosine')
    """
    if "," in text:
        return tuple(read_value(part) for part in text.strip("()[] ").split(",") if part.strip())
    return read_value(text)


def more(text: str) -> dict[str, Any]:
    """Read options typed as `key=value`, with spaces or line ends between them.

    >>> more("momentum=0.9  nesterov=true")
    {'momentum': 0.9, 'nesterov': True}
    """
    found: dict[str, Any] = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise ArgumentError(f"an option is written as key=value, got {word[:40]!r}: for example momentum=0.9")
        found[name.replace("-", "_")] = read(value)
    return found
