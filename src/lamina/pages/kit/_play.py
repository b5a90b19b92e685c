"""Buttons that play: for work in another process, and for a slider whose places are the steps of something.

Both are widgets of marimo with buttons around them; `static/pages.js` turns a press into a new value of the widget, in
the same frame, and the page answers as it answers any widget. The buttons say what the work does, since they are drawn
again with it.
"""

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from lamina._markup import Markup, tag

if TYPE_CHECKING:
    from marimo import ui as marimo_ui

_MAIN = {
    "waiting": ("pause", "❚❚", "Pause"),
    "running": ("pause", "❚❚", "Pause"),
    "paused": ("play", "▶", "Continue"),
    "done": ("again", "↻", "Again"),
    "failed": ("again", "↻", "Again"),
}
"""What the large button does and says, by the state of the work; before the first press it starts it."""


class Wish(NamedTuple):
    """What the reader has pressed last.

    Args:
        verb: play, pause, step, again, or nothing yet.
        press: which press it was, so that two steps are two wishes.
    """

    verb: str = ""
    press: int = 0


def wish(text: str) -> Wish:
    """Read what a button sends; nonsense is no wish.

    >>> wish("step 3"), wish(""), wish("fly 1")
    (Wish(verb='step', press=3), Wish(verb='', press=0), Wish(verb='', press=0))
    """
    verb, _, count = text.partition(" ")
    return Wish(verb, int(count)) if verb in ("play", "pause", "step", "again") and count.isdecimal() else Wish()


def _button(verb: str, sign: str, words: str, *, main: bool = False, off: bool = False) -> Markup:
    return tag("button", tag("span", sign, aria_hidden="true"), tag("span", words), type="button", data_press=verb,
               class_="main" if main else None, disabled=off)  # fmt: skip


@cache
def _play() -> Any:
    import marimo as mo

    class Play(mo.ui.text):
        """Three buttons; `state` is that of the work they belong to."""

        state = "idle"

        def __init__(self, label: str) -> None:
            self.words = label
            super().__init__(label=label)

        def _convert_value(self, value: str) -> Any:
            return wish(value)

        @property
        def text(self) -> str:
            verb, sign, words = _MAIN.get(self.state, ("play", "▶", self.words))
            buttons = (
                _button(verb, sign, words, main=True),
                _button("step", "▸|", "Step", off=self.state in ("waiting", "running", "done", "failed")),
                _button("again", "↺", "Replay", off=self.state == "idle"),
            )
            carrier = Markup(super().text)
            return str(tag("div", buttons, carrier, class_="lamina-play", role="group", aria_label=self.words,
                           data_label=self.words, data_state=self.state))  # fmt: skip

    return Play


def play(label: str) -> Any:
    """Make the buttons that start, pause, step and replay the work of a `train`.

    Args:
        label: what the large button says before the first press, such as "Learn".
    """
    return _play()(label)


@cache
def _walk() -> Any:
    import marimo as mo

    class Walk(mo.ui.slider):
        """A slider with buttons that step through its places."""

        @property
        def text(self) -> str:
            buttons = (
                _button("first", "↺", "Replay"),
                _button("back", "|◂", "Back"),
                _button("walk", "▶", "Play", main=True),
                _button("next", "▸|", "Step"),
            )
            return str(
                tag("div", tag("div", buttons, class_="lamina-play"), Markup(super().text), class_="lamina-walk")
            )

    return Walk


def walk(start: int, stop: int, *, value: int, label: str) -> "marimo_ui.slider":
    """Make a slider over the steps of something, with buttons that play it, go one step, and begin again.

    Args:
        start: the first place.
        stop: the last place.
        value: where it stands at first.
        label: its name, Markdown.
    """
    made: marimo_ui.slider = _walk()(start, stop, 1, value=value, label=label, show_value=True, full_width=True)
    return made
