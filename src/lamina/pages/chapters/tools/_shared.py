"""What both tools show: a command line, and how long something takes."""

from typing import TYPE_CHECKING

from lamina._markup import Markup, tag

if TYPE_CHECKING:
    from marimo import Html


def _html(markup: Markup) -> "Html":
    import marimo as mo

    return mo.Html(str(markup))


def command(text: str) -> "Html":
    """Show a command line; it is escaped, since a visitor may have named columns and files."""
    style = "margin:0;padding:10px 14px;overflow-x:auto;font-size:.86rem;white-space:pre"
    shown = tag("pre", tag("code", text), style=style, tabindex="0", aria_label="The command")
    return _html(tag("div", shown, class_="lamina-card", style="padding:0"))


def duration(seconds: float | None) -> str:
    """Say how long something takes.

    >>> duration(None), duration(0.4), duration(75), duration(4000)
    ('unknown', 'less than a second', '75 s', '67 min')
    """
    if seconds is None:
        return "unknown"
    if seconds < 1:
        return "less than a second"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
