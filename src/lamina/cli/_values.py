"""Read `key=value` words of a command line by what each option is declared to be."""

from collections.abc import Collection, Mapping
from typing import Any

from lamina._declared import read
from lamina._errors import ArgumentError

MARKS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "bar": "|"}
"""Characters that are hard to type; `delimiter` and `decimal` know them by these names."""


def settings(
    words: Collection[str] | None, declared: Mapping[str, Any], option: str = "--set", flags: Collection[str] = ()
) -> dict[str, Any]:
    """Read the words of `--set` or `--read`; a name that is not declared stays a text, for others to refuse.

    Args:
        words: what was typed, each key=value.
        declared: what every option is declared to be.
        option: `--set` or `--read`.
        flags: options of the command itself, which are written otherwise.

    >>> settings(["learning_rate=1e-3", "drop=a,b"], {"learning_rate": float, "drop": list[str]})
    {'learning_rate': 0.001, 'drop': ('a', 'b')}
    """
    found: dict[str, Any] = {}
    for name, value in pairs(words, option):
        if name in flags:
            flag = name.replace("_", "-")
            raise ArgumentError(
                f"`{option} {name}={value}` must be written `--{flag} {value}`: it is an option of the command."
            )
        if name in ("delimiter", "decimal"):
            value = MARKS.get(value, value)
        found[name] = read(f"{option} {name}", value, declared[name]) if name in declared else value
    return found


def shares(word: str) -> tuple[int, int, int]:
    """Read the word of `--split`.

    >>> shares("8:1:1")
    (8, 1, 1)
    """
    parts = word.split(":")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts) or not int(parts[0]):
        raise ArgumentError(
            f"`--split` takes three whole numbers with colons between them, the first above 0, got {word!r}: for "
            "example --split 8:1:1"
        )
    return int(parts[0]), int(parts[1]), int(parts[2])


def pairs(words: Collection[str] | None, option: str) -> list[tuple[str, str]]:
    """Split words at their first `=`; keys may be written with hyphens.

    >>> pairs(["batch-size=8"], "--set")
    [('batch_size', '8')]
    """
    found = []
    for word in words or ():
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            example = "learning_rate=1e-3" if option == "--set" else "window=24"
            raise ArgumentError(f"`{option}` takes key=value, got {word!r}: for example {option} {example}")
        found.append((name.strip().replace("-", "_"), value))
    return found


def reading(words: Collection[str] | None, data: str, target: str | None = None, **more: Any) -> dict[str, Any]:
    """Read the words of `--read` by what the reader of the data declares, with the target beside them.

    >>> reading(["count=10"], "moons")
    {'count': 10}
    """
    from lamina.data.load import option_types

    typed = dict(pairs(words, "--read"))
    given = {**typed, **{name: value for name, value in (("target", target), *more.items()) if value is not None}}
    declared = option_types(data, given, typed.get("kind")) if given else {}
    return {**given, **settings(words, declared, "--read")}


def sizes(text: str | None, option: str, example: str, least: int = 1) -> tuple[int | None, ...] | None:
    """Read sizes such as 1,28,28; a size may be left open with none.

    >>> sizes("784,none", "--widths", "3,5,1")
    (784, None)
    """
    if text is None:
        return None
    try:
        found: tuple[int | None, ...] = read(option, text, list[int | None])
    except ArgumentError:
        found = ()
    if len(found) < least or any(size is not None and size < 1 for size in found):
        many = {1: "", 2: "at least two "}[least]
        raise ArgumentError(
            f"`{option}` must be {many}positive numbers separated by commas, such as {example}, got {text!r}."
        )
    return found
