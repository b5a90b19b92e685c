"""HTML and SVG that cannot be injected into: every text is escaped unless it was made here."""

from collections.abc import Iterable
from html import escape
from typing import Any

_CLOSED = {"meta", "link", "img", "input", "br", "col", "line", "rect", "circle", "polyline"}


class Markup(str):
    """Text that is markup already; anything else becomes text when it is put into an element."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Make an element; a child that is no `Markup` is escaped, None is left out, an iterable is taken apart.

    A trailing underscore of an attribute's name is dropped and other underscores become hyphens; None and False leave
    the attribute out, True gives it without a value.

    >>> tag("td", "<b>", class_="name", data_row=1)
    '<td class="name" data-row="1">&lt;b&gt;</td>'
    """
    words = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    if name in _CLOSED and not children:
        return Markup(f"<{name}{words}/>")
    return Markup(f"<{name}{words}>{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Markup:
    """Put pieces together, each escaped unless it is `Markup`.

    >>> join(["a < b", tag("br")])
    'a &lt; b<br/>'
    """
    return Markup("".join(_child(child) for child in children))


def _child(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, str):
        return child if isinstance(child, Markup) else escape(child)
    return join(child) if isinstance(child, Iterable) else escape(str(child))


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
