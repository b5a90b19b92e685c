"""Read `key=value` words of a command line as Python values."""

import ast
from typing import Any

from lamina._errors import ArgumentError


def settings(words: list[str], option: str = "--set") -> dict[str, Any]:
    """Read `--set` words: numbers, true and false, names, and lists with commas.

    >>> settings(["learning_rate=1e-3", "hidden=300,100", "nesterov=true", "activation=relu"])
    {'learning_rate': 0.001, 'hidden': (300, 100), 'nesterov': True, 'activation': 'relu'}
    """
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            example = "learning_rate=1e-3" if option == "--set" else "window=24"
            raise ArgumentError(f"`{option}` takes key=value, got {word!r}: for example {option} {example}")
        found[name.strip().replace("-", "_")] = parse(value.strip())
    return found


def parse(text: str) -> Any:
    """Read one value; what is not a number, a list or a truth value stays a text.

    >>> parse("0.5"), parse("none"), parse("1,2"), parse("cosine")
    (0.5, None, (1, 2), 'cosine')
    """
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if "," in text:
        return tuple(parse(part.strip()) for part in text.strip("()[]").split(",") if part.strip())
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float | str) else text
