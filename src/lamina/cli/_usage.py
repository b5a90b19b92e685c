"""One sentence about a command that is written in the wrong way: a verb, a flag or a value that is not known."""

import math
import re
from typing import Any

import typer
from typer import Option

from lamina._declared import LARGEST, read
from lamina._errors import ArgumentError, nearest


def number(
    *flags: str,
    help: str,
    kind: type = int,
    least: float | None = 0,
    most: float = LARGEST - 1,
    metavar: str = "N",
    positive: bool = False,
) -> Any:
    """Declare an option that is a number between two bounds.

    Args:
        flags: how it is written, if that does not follow from its name.
        help: what it does.
        kind: int or float.
        least: the smallest number; None for no bound.
        most: the largest number.
        metavar: what help calls its value.
        positive: whether it must be more than 0.
    """
    what = "a whole number" if kind is int else "a number"
    low = " greater than 0" if positive else "" if least is None else f" of at least {least}"
    bound = f" from {least} to {most}" if most < LARGEST - 1 else low

    def parsed(text: Any) -> Any:
        if not isinstance(text, str):  # the default
            return text
        try:
            value = read("", text, kind)
        except ArgumentError as error:
            way_out = re.search(r": (write|that is|it must).*", str(error))
            raise typer.BadParameter(f"must be {what}{bound}, got {text!r}{way_out[0] if way_out else '.'}") from None
        if not (-math.inf if least is None else least) <= value <= most or (positive and value == 0):
            raise typer.BadParameter(f"must be {what}{bound}, got {text}.")
        return value

    return Option(*flags, help=help, metavar=metavar, parser=parsed)


def wrong_use(error: Any) -> str:
    """Say what is wrong with a command line, and what is nearest to what was typed.

    Args:
        error: a usage error of click.
    """
    context, message = error.ctx, " ".join(str(error.format_message()).split())
    path = context.command_path if context is not None else "lamina"
    see = f"`{path} --help` shows what there is."
    command: Any = context.command if context is not None else None
    if unknown := re.match(r"No such command '(.*?)'", message):
        return f"`{path}` has no command {unknown[1]!r}.{nearest(unknown[1], command.commands, ' Did', '')} {see}"
    if hasattr(error, "possibilities"):
        flags = [flag for each in command.params for flag in each.opts if flag.startswith("--")] if command else []
        hint = nearest(error.option_name, [*flags, "--help"], " Did", "")
        return f"`{path}` has no option {error.option_name!r}.{hint} {see}"
    parameter, inner = getattr(error, "param", None), getattr(error, "message", "") or ""
    if parameter is None or message.startswith("Missing"):
        return f"{message[:1].lower()}{message[1:].rstrip('.')}: {see}"
    option = parameter.param_type_name == "option"
    name = next((flag for flag in parameter.opts if flag.startswith("--")), parameter.opts[-1])
    name = name if option else parameter.metavar or name
    inner = inner.removeprefix("Value error, ")
    return f"`{name}` {inner}" if inner.startswith("must be") else f"`{name}`: {inner.rstrip('.')}: {see}"
