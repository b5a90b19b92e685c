"""The blocks a page is made of. Each returns a `marimo.Html`, so that cells show it and blocks hold each other.

Text arguments are Markdown with `$...$` for formulas; they are written by us, never by a visitor. What comes from
outside (a file name, a cell of somebody's table) goes through `table` or `note`, which escape it.
"""

import inspect
import json
import re
import textwrap
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from lamina._catalogue import items
from lamina._errors import ArgumentError, choice
from lamina._markup import Markup, tag
from lamina.drawing.scales import raised
from lamina.pages._forms import drawn
from lamina.pages.kit._reading import READING

if TYPE_CHECKING:
    from marimo import Html
    from marimo import ui as marimo_ui

NOTES = ("plain", "good", "warn", "bad")
collected: Callable[[str, Any], None] | None = None
"""Is told the label and the picture of every drawing, where somebody collects them."""


def html(text: str, kind: str = "", parts: Sequence[Any] = ()) -> "Html":
    """Make a block; a `lab` asks it what kind it is and what it holds."""
    import marimo as mo

    made: Any = mo.Html(str(text))  # marimo sends exact strings only, not `Markup`
    if kind:
        made.lamina_kind = kind
    if parts:
        made.lamina_parts = parts
    return made


def _markdown(text: str) -> Markup:
    import marimo as mo

    return Markup(mo.md(text).text)


def _part(part: Any) -> Markup:
    """Turn what a block holds into markup: a widget or block as it is, a text as Markdown."""
    import marimo as mo

    if isinstance(part, Markup):
        return part
    return _markdown(part) if isinstance(part, str) else Markup(mo.as_html(part).text)


def anchor(title: str) -> str:
    """Make the last part of a permanent link from a heading.

    >>> anchor("Sigmoid, tanh and $y$")
    'sigmoid-tanh-and'
    """
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\$.*?\$", "", title).lower()).strip("-")


def slider(
    start: float, stop: float, step: float = 1, *, value: float, label: str, debounce: bool = False
) -> "marimo_ui.slider":
    """Make a slider as wide as its column, with its value beside it.

    Args:
        start: the left end.
        stop: the right end.
        step: from one place to the next.
        value: where it stands at first.
        label: its name, Markdown.
        debounce: whether the page changes only when the slider is let go, for what takes longer than 0.1 s.
    """
    import marimo as mo

    return mo.ui.slider(
        start, stop, step, value=value, label=label, debounce=debounce, show_value=True, full_width=True
    )


def steps(values: Sequence[float], *, value: float, label: str, debounce: bool = False) -> "marimo_ui.slider":
    """Make a slider, as wide as its column, that stops at some values only."""
    import marimo as mo

    return mo.ui.slider(steps=values, value=value, label=label, debounce=debounce, show_value=True, full_width=True)


def dropdown(options: Sequence[Any] | dict[str, Any], *, value: str, label: str) -> "marimo_ui.dropdown":
    """Make a list to choose from, as wide as its column."""
    import marimo as mo

    return mo.ui.dropdown(options, value=value, label=label, full_width=True)


def button(label: str) -> "marimo_ui.button":
    """Make a button whose value is how often it was pressed."""
    import marimo as mo

    return mo.ui.button(label=label, value=0, on_click=lambda count: count + 1)


def section(title: str, ids: Sequence[str] = (), *, level: int = 2) -> "Html":
    """Start a section: a heading with its own link, and the catalogue ids that the section shows.

    `tools/catalogue.py` reads the ids from the source of the page, so write them out: `ids=("N1.02", "N1.03")`.

    Args:
        title: the heading, plain words.
        ids: the rows of the catalogue that the reader meets here.
        level: 2, or 3 for a part of a section.
    """
    unknown = [key for key in ids if key not in items()]
    if unknown:
        raise ArgumentError(f"`ids` must be rows of the catalogue, N1.01 to N5.49, got {', '.join(unknown)}.")
    place = anchor(title)
    link = tag("a", title, href=f"#{place}", class_="anchor")
    cited = [tag("a", key, href=f"/catalogue#{key}", title=items()[key].title) for key in ids]
    folded = tag("details", tag("summary", f"{len(ids)} in the notes"), tag("p", _spaced(cited))) if cited else None
    heading = tag(f"h{level}", link, id=place)
    return html(tag("div", heading, folded, class_="lamina-section"))


def _spaced(parts: Iterable[Markup]) -> Markup:
    return Markup(" ".join(parts))


def prose(text: str) -> "Html":
    """Show words: Markdown with `$formulas$`; what follows words as `$$...$$` on lines of its own is a `formula`.

    Args:
        text: the words; indentation common to all lines is dropped.
    """
    parts = re.split(r"^\$\$(.+?)\$\$$", inspect.cleandoc(text), flags=re.MULTILINE | re.DOTALL)
    if parts[0].strip() and len(parts) > 1:
        return column(*(formula(part) if i % 2 else prose(part) for i, part in enumerate(parts) if part.strip()))
    return html(tag("div", _markdown(inspect.cleandoc(text)), class_="lamina-prose"))


def formula(latex: str, label: str = "") -> "Html":
    """Show a formula on a line of its own.

    Args:
        latex: what stands between `$$`.
        label: words below it, Markdown.
    """
    below = tag("figcaption", _markdown(label)) if label else None
    return html(tag("figure", _markdown(f"$$\n{latex.strip()}\n$$"), below, class_="lamina-formula"))


@cache
def _listing(target: Callable[..., Any] | type) -> tuple[str, Markup]:
    """Give the full name and the code of a function or class."""
    with READING:
        lines = inspect.getsource(target)
    code = _markdown(f"```python\n{textwrap.dedent(lines)}\n```")
    return f"{target.__module__}.{target.__qualname__}", code


def source(*functions: Callable[..., Any] | type) -> "Html":
    """Put the code that a panel calls behind one button; of several functions, each has a line that unfolds.

    Args:
        functions: functions or classes of the library.
    """
    found = [_listing(inspect.unwrap(function)) for function in functions]
    if len(found) == 1:
        inside = tag("p", tag("code", found[0][0])) + found[0][1]
    else:
        inside = "".join(tag("details", tag("summary", tag("code", name)), code) for name, code in found)
    button = tag("summary", "Code", aria_label="Code: " + ", ".join(name for name, _ in found))
    return html(tag("details", button, Markup(inside), class_="lamina-code"))


def svg(
    picture: Any, label: str, *, caption: str = "", width: int | None = None, hands: Mapping[str, Any] | None = None
) -> "Html":
    """Show a drawing: a `drawing` scene or the text of an SVG.

    Args:
        picture: a `Scene`, drawn with the colors of the page (where it can be drawn narrower, in both forms: the style
            sheet shows the one that fits), or SVG markup.
        label: what the picture shows, for those who cannot see it.
        caption: words below it, Markdown.
        width: the largest width in CSS pixels; by default twice that of the scene, at most that of the page.
        hands: what a reader can do with its shapes, by their titles (see `_hands`).
    """
    if collected is not None:
        collected(label, picture)
    markup = picture if isinstance(picture, str) else drawn(picture)
    wide = width if isinstance(picture, str) else width or round(1.7 * picture.width)
    style = f"--most:{wide}px" if wide else None
    below = tag("figcaption", _markdown(caption)) if caption else None
    alive = {"role": "group", "tabindex": "0", "data_hands": json.dumps(hands)} if hands else {"role": "img"}
    image = tag("div", Markup(markup), aria_label=label, style=style, class_="lamina-svg", **alive)
    made: Any = html(tag("figure", image, below, class_="lamina-figure"), "picture")
    shape = 0.0 if isinstance(picture, str) else picture.width / picture.height
    made.lamina_wide, made.lamina_flat = shape > 1.7, shape > 5
    made.lamina_size = None if isinstance(picture, str) else (picture.width, picture.height)
    return made


def controls(label: str, *parts: Any) -> "Html":
    """Put what changes a panel below each other.

    Args:
        label: the name of the group for screen readers.
        parts: widgets, blocks, or texts in Markdown.
    """
    return html(tag("div", [_part(part) for part in parts], class_="lamina-controls", role="group", aria_label=label))


def panel(group: "Html | Sequence[Any]", *results: Any) -> "Html":
    """Put controls beside what they change; on a phone they stand above it.

    Make the widgets in one cell and the panel in the next, which then runs again when a widget moves.

    Args:
        group: `controls`, or a list of them that needs no name of its own.
        results: blocks that show what follows from the controls.
    """
    left = controls("Controls", *group) if isinstance(group, Sequence) else group
    right = tag("div", [_part(part) for part in results], class_="lamina-results")
    return html(tag("div", _part(left), right, class_="lamina-panel"))


def lab(
    group: "Html | Sequence[Any]", *results: Any, play: Any = None, about: str = "", answers: bool = False
) -> "Html":
    """Fill the first screen of a page: pictures, and docked beside them (below them on a phone) what changes them.

    A page has one lab, in its first cell. Of the results, up to four pictures share the screen, so that nothing moves
    when they change; facts and progress stand in a line below them, and everything else follows after the screen.

    Args:
        group: `controls`, or a list of widgets.
        results: blocks that show what follows from the controls; the first picture is the one a phone shows at once.
        play: the buttons that start it, from `play` or `walk`; they stay in sight.
        about: the title of the section that explains it.
        answers: whether the facts answer what is done in the first picture; a phone shows them above it.
    """
    flat = [part for result in results for part in getattr(result, "lamina_parts", (result,))]
    kinds = [getattr(part, "lamina_kind", "") for part in flat]
    pictures = [part for part, kind in zip(flat, kinds, strict=True) if kind == "picture"][:4] or flat[:1]
    numbers = [part for part, kind in zip(flat, kinds, strict=True) if kind == "numbers"]
    rest = [part for part in flat if not any(part is other for other in (*pictures, *numbers))]
    widgets = controls("Controls", *group) if isinstance(group, Sequence) else group
    link = tag("a", "How it works ↓", href=f"#{anchor(about)}", class_="about") if about else None
    dock = tag("div", _part(play) if play is not None else None, _part(widgets), link, class_="lamina-dock")
    flow = _flow(pictures)
    shown = [tag("div", _part(picture)) for picture in pictures]
    stage = tag("div", shown, class_="lamina-stage", data_count=len(pictures), data_flow=flow)
    strip = tag("div", [_part(part) for part in numbers], class_="lamina-strip") if numbers else None
    more = tag("div", [_part(part) for part in rest], class_="lamina-more") if rest else None
    screen = tag("div", stage, strip, dock, class_="lamina-screen", data_answers=answers and bool(numbers))
    return html(tag("div", screen, more, class_="lamina-lab"))


def _flow(pictures: Sequence[Any]) -> str | None:
    """Say how pictures share a stage: of two a wide one above the other, a flat one below it, all others side by side.

    Beside a smaller one the first has more room; two of one size have the same. Of three a wide one stands above the
    others.
    """
    if len(pictures) == 3 and getattr(pictures[0], "lamina_wide", False):
        return "top"
    if len(pictures) != 2:
        return None
    if getattr(pictures[1], "lamina_flat", False):
        return "foot"
    sizes = [getattr(picture, "lamina_size", None) for picture in pictures]
    if sizes[0] is not None and sizes[0] == sizes[1]:
        return "equal"
    return "rows" if getattr(pictures[0], "lamina_wide", False) else None


def shown(block: Any, *, wide: bool = False) -> "Html":
    """Put a widget or a block, such as a `digit_pad`, among the pictures of a lab.

    Args:
        block: what to show.
        wide: whether it is much wider than high, so that it stands below another picture rather than beside it.
    """
    made: Any = html(_part(block), "picture")
    made.lamina_wide = wide
    return made


def row(*parts: Any, least: int = 260) -> "Html":
    """Put blocks side by side, as many as fit.

    Args:
        parts: blocks, widgets or texts.
        least: the width in CSS pixels below which a block moves to the next line.
    """
    style = f"grid-template-columns:repeat(auto-fit,minmax(min(100%,{least}px),1fr))"
    return html(tag("div", [tag("div", _part(part)) for part in parts], class_="lamina-row", style=style), parts=parts)


def column(*parts: Any) -> "Html":
    """Put blocks below each other."""
    return html(tag("div", [_part(part) for part in parts], class_="lamina-column"))


def card(title: str, *parts: Any) -> "Html":
    """Put blocks into a frame with a small heading."""
    return html(tag("div", tag("h3", title), [_part(part) for part in parts], class_="lamina-card"))


def table(
    head: Sequence[str], rows: Sequence[Sequence[Any]], *, caption: str = "", right: Sequence[int] | None = None
) -> "Html":
    """Show a small table; every cell is escaped, numbers are written with four digits.

    Args:
        head: the names of the columns.
        rows: the cells; a float is rounded, anything else becomes text.
        caption: what the table shows.
        right: the columns that stand at the right; those of numbers by default.
    """
    first = rows[0] if rows else ()
    aligned = right if right is not None else [i for i, cell in enumerate(first) if isinstance(cell, int | float)]
    names = [tag("th", name, scope="col", class_="right" if i in aligned else None) for i, name in enumerate(head)]
    body = [
        tag("tr", [tag("td", _cell(cell), class_="right" if i in aligned else None) for i, cell in enumerate(cells)])
        for cells in rows
    ]
    words = tag("caption", caption) if caption else None
    return html(
        tag("div", tag("table", words, tag("thead", tag("tr", names)), tag("tbody", body)), class_="lamina-table",
            tabindex="0", role="region", aria_label=caption or "table")
    )  # fmt: skip


def _cell(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}".replace("-", "−")
    return number(value) if isinstance(value, float) else value


def numbers(values: Iterable[Any], places: int) -> str:
    """Write several numbers with so many decimal places each.

    >>> numbers([-0.25, 1.0], 2)
    '−0.25, 1.00'
    """
    return ", ".join(f"{value:.{places}f}" for value in values).replace("-", "−")


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, digits: int = 4) -> str:
    """Write a number for people: so many digits, thousands apart, powers of ten where it is very small or large.

    >>> number(0.25), number(-1.0), number(123.4567), number(-12345.6), number(2.2e-13, 2), number(1e6)
    ('0.25', '−1', '123.5', '−12,346', '2.2·10⁻¹³', '10⁶')
    """
    plain = 1000 <= abs(value) < 1e6
    return powers(f"{value:,.0f}" if plain else f"{value:.{digits}g}").replace("-", "−")


def power(base: int, exponent: int) -> str:
    """Write a power as people do.

    >>> power(4, 15)
    '4¹⁵'
    """
    return f"{base}{str(exponent).translate(_RAISED)}"


def powers(words: str) -> str:
    """Write the powers of ten in a text as people do.

    >>> powers("from 1e-06 to 2.5e+20")
    'from 10⁻⁶ to 2.5·10²⁰'
    """
    return re.sub(r"(\d+(?:\.\d+)?)e([+-]\d+)", lambda found: raised(found[1], int(found[2])), words)


def facts(**values: Any) -> "Html":
    """Show a few numbers with their names, large enough for the last row of a lecture hall."""
    cells = [tag("div", tag("dt", name.replace("_", " ")), tag("dd", _cell(value))) for name, value in values.items()]
    return html(tag("dl", cells, class_="lamina-facts"), "numbers")


def share(value: float) -> str:
    """Write the probability of a softmax, which is never 0 or 1, whatever rounding says.

    >>> share(1.0), share(0.25), share(3e-7)
    ('over 99.9%', '25.0%', 'under 0.1%')
    """
    if not 0.001 <= value <= 0.999:
        return "over 99.9%" if value > 0.5 else "under 0.1%"
    return f"{100 * value:.1f}%"


def note(text: str, kind: str = "plain") -> "Html":
    """Say something in one line, such as why an upload cannot be read; the text is escaped.

    Args:
        text: plain words.
        kind: plain, good, warn or bad.
    """
    choice("kind", kind, NOTES)
    return html(tag("p", powers(text), class_=f"lamina-note {kind}", role="status"))


def question(text: str, answer: str, options: Sequence[str] = (), right: int = 0, *, predict: str = "") -> "Html":
    """Ask the reader to predict something, to try it, and then to look: each step appears after the one before.

    Without options there is nothing to predict, and the answer is folded.

    Args:
        text: the task, Markdown.
        answer: what happens and why, Markdown.
        options: the predictions to choose from, Markdown.
        right: which of them is right, counted from 0.
        predict: what is predicted, Markdown; the task itself by default, and then the reader is sent to the panel.
    """
    if not options:
        asked = tag("div", tag("p", "Try it", class_="eyebrow"), _markdown(inspect.cleandoc(text)))
        folded = tag("details", tag("summary", "Answer"), _markdown(inspect.cleandoc(answer)))
        return html(tag("aside", asked, folded, class_="lamina-try", aria_label="Try it"))
    if not (len(options) > 1 and 0 <= right < len(options)):
        raise ArgumentError(
            f"`right` must be one of at least 2 options, counted from 0, got {right} of {len(options)}."
        )
    name = f"predict-{zlib.crc32(text.encode()):08x}"
    choices = [
        tag("label", tag("input", type="radio", name=name), _markdown(option), data_right=place == right)
        for place, option in enumerate(options)
    ]
    asked = tag("div", tag("p", "Predict", class_="eyebrow"), _markdown(inspect.cleandoc(predict or text)))
    group = tag("div", choices, class_="lamina-guess", role="radiogroup", aria_label="Your prediction")
    task = text if predict else "Now try it, and then see whether you were right."
    then = tag("div", tag("p", "Move", class_="eyebrow"), _markdown(inspect.cleandoc(task)), class_="lamina-then")
    folded = tag("details", tag("summary", "Reveal"), _markdown(inspect.cleandoc(answer)), class_="lamina-then")
    return html(tag("aside", asked, group, then, folded, class_="lamina-try", aria_label="Predict, move, reveal"))


def progress(done: float, words: str = "") -> "Html":
    """Show a bar, 0 to 1, with words beside it."""
    share = min(1.0, max(0.0, done))
    bar = tag("progress", f"{share:.0%}", value=f"{share:.4f}", max="1", aria_label=words or "progress")
    return html(tag("div", bar, tag("span", words), class_="lamina-progress"), "numbers")


def picture(pixels: Sequence[Sequence[float]], label: str, *, size: int = 112, low: float | None = None,
            high: float | None = None, caption: str = "") -> "Html":  # fmt: skip
    """Show a matrix as a gray picture with sharp pixels.

    Args:
        pixels: the rows of numbers.
        label: what it shows, for those who cannot see it.
        size: its height in CSS pixels.
        low: the number that is black; the smallest by default.
        high: the number that is white; the largest by default.
        caption: words below it, Markdown.
    """
    import base64

    from lamina.drawing.svg import png

    values = [value for row in pixels for value in row]
    black = min(values) if low is None else low
    white = max(values) if high is None else high
    scale = 255 / (white - black) if white > black else 0.0
    gray = [[min(255, max(0, round((value - black) * scale))) for value in row] for row in pixels]
    data = base64.b64encode(png(gray)).decode()
    image = (
        f'<img class="lamina-pixels" alt="{escape(label)}" title="{escape(label)}" style="height:{size}px" '
        f'src="data:image/png;base64,{data}">'
    )
    if not caption:
        return html(image, "picture")
    below = tag("figcaption", _markdown(caption))
    return html(tag("figure", Markup(image), below, class_="lamina-figure"), "picture")
