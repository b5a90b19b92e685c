"""Values that visitors send are held to the bounds of their widgets.

marimo believes what a browser sends: a slider from 1 to 10 that is told 10^9 is at 10^9, and the page computes with it,
in the process of all pages. Here numbers are brought back between the ends of their slider, texts are cut, and whatever
a widget cannot be at is left aside: the widget stays where it was.
"""

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

TEXT = 1_000_000
"""Characters of a text that has no bound of its own; `max_length` of a widget is one."""
NAME = 200
"""Characters of the name of a file."""


def hold_widgets() -> None:
    """Hold the widgets of this process to their bounds, from now on."""
    from marimo import ui
    from marimo._plugins.ui._core.ui_element import UIElement

    if getattr(UIElement._update, "held", False):
        return
    _wrap(UIElement, "_update", _update)
    for kind in (ui.slider, ui.number):
        _wrap(kind, "_convert_value", _number)
    for words in (ui.text, ui.text_area):
        _wrap(words, "_convert_value", _text)
    for marks in (ui.checkbox, ui.switch):
        _wrap(marks, "_convert_value", _mark)
    _wrap(ui.dropdown, "_convert_value", _choice)
    _wrap(ui.file, "_convert_value", _file)


def _wrap(kind: Any, name: str, around: Callable[[Callable[[Any, Any], Any], Any, Any], Any]) -> None:
    inner = getattr(kind, name)

    def held(widget: Any, value: Any) -> Any:
        return around(inner, widget, value)

    held.held = True  # type: ignore[attr-defined]
    setattr(kind, name, held)


def _update(inner: Callable[[Any, Any], Any], widget: Any, value: Any) -> None:
    """Take a new value, or stay with the old one where the new one is none."""
    before, shown = widget._value, widget._value_frontend
    try:
        inner(widget, value)
    except Exception:  # whatever a stranger sends; the widgets of our pages have no handlers that could fail
        widget._value, widget._value_frontend = before, shown


def _number(inner: Callable[[Any, Any], Any], widget: Any, value: Any) -> Any:
    if value is None and not hasattr(widget, "_dtype"):
        return inner(widget, None)  # an empty number field
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no number")
    if getattr(widget, "_mapping", None) is None:
        low, high = widget.start, widget.stop
        value = max(value, low) if low is not None else value
        value = min(value, high) if high is not None else value
    return inner(widget, value)


def _text(inner: Callable[[Any, Any], Any], widget: Any, value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError(f"{type(value).__name__} is no text")
    return inner(widget, value[: widget._component_args.get("max-length") or TEXT])


def _mark(inner: Callable[[Any, Any], Any], widget: Any, value: Any) -> Any:
    if not isinstance(value, bool):
        raise ValueError(f"{type(value).__name__} is neither on nor off")
    return inner(widget, value)


def _choice(inner: Callable[[Any, Any], Any], widget: Any, value: Any) -> Any:
    nothing: list[list[str]] = [[]] if widget._component_args["allow-select-none"] else []
    if value not in [*nothing, *([name] for name in widget.options)]:
        raise ValueError(f"{value!r} is none of the options")
    return inner(widget, value)


def _file(inner: Callable[[Any, Any], Any], widget: Any, value: Any) -> Any:
    files = [(name, contents) for name, contents in value]
    if not all(isinstance(part, str) for file in files for part in file):
        raise ValueError("a file has a name and contents")
    return inner(widget, [(name[-NAME:], contents) for name, contents in files[:1]])
