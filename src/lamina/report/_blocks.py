"""The blocks that a page is made of: sections, cards, tables, the shaded confusion matrix."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from lamina._markup import Markup, join, tag
from lamina.drawing._metrics import FAMILY
from lamina.drawing.colors import variables
from lamina.drawing.svg import math_faces
from lamina.report._formatting import number, percent

FEW, MANY = 6, 12
"""The most classes for which a confusion matrix has large cells, and the number beyond which they are small."""


# The page may show its own style and the pictures in it. It runs no script, loads nothing and sends nothing.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
)


def document(title: str, styles: Sequence[str], sections: Sequence[Markup | None], footer: str) -> str:
    """Write a whole page that stands alone, with the style sheets of this package."""
    style = "".join(files("lamina.report").joinpath(name).read_text(encoding="utf-8") for name in styles)
    body = tag("body", tag("main", sections, tag("footer", footer)))
    style += math_faces() if FAMILY in body else ""
    if 'class="drawing"' in body:
        dark = f"@media (prefers-color-scheme: dark) {{ svg.drawing {{ {variables('dark')} }} }}"
        style += f"svg.drawing {{ {variables('light')} }} {dark}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("link", rel="icon", href="data:,"),
        tag("title", f"{title} · Lamina"),
        tag("style", Markup(style)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def section(name: str, *parts: Markup | None) -> Markup | None:
    """Put parts under a heading; nothing when there is nothing to show."""
    return tag("section", tag("h2", name), *parts) if any(parts) else None


def card(name: str, *parts: Any, more: str = "", kind: str = "card", figure: bool = False) -> Markup:
    """Put parts into a frame with a small heading and words beside it."""
    heading = tag("h3", name, tag("small", more) if more else None)
    return tag("figure" if figure else "div", heading, *parts, class_=kind)


def below(part: Markup | None) -> Markup | None:
    """Leave some room above a block."""
    return None if part is None else tag("div", part, class_="below")


def folded(name: str, part: Markup) -> Markup:
    """Hide a block until it is asked for."""
    return tag("details", tag("summary", name), tag("div", part, class_="card"))


def command(text: str) -> Markup:
    """Show a command line."""
    return tag("pre", tag("code", text))


def confusion_matrix(names: Sequence[str], counts: Sequence[Sequence[int]]) -> Markup:
    """Shade hits by their share of the row, mistakes by their share of the largest mistake, with totals around."""
    largest = max((n for i, row in enumerate(counts) for j, n in enumerate(row) if i != j), default=0) or 1
    few, many = len(names) <= FEW, len(names) > MANY
    turned = not few and any(len(name) > 4 for name in names)
    heads = [tag("th", tag("span", name, class_="up" if turned else None), scope="col", title=name) for name in names]
    rows = []
    for i, (name, row) in enumerate(zip(names, counts, strict=True)):
        total = sum(row)
        cells = [
            _count(n, n / (total or 1) if i == j else n / largest, i == j, f"{name} taken for {names[j]}", total)
            for j, n in enumerate(row)
        ]
        rows.append(tag("tr", tag("th", name, scope="row", title=name), cells, _sum(total)))
    foot = tag("tr", tag("th", "total", scope="row"), [_sum(sum(column)) for column in zip(*counts, strict=True)],
               _sum(sum(map(sum, counts))))  # fmt: skip
    top = tag("tr", tag("th", ""), heads, tag("th", "total", scope="col"))
    kind = "matrix few" if few else "matrix many" if many else "matrix"
    table = tag("table", tag("thead", top), tag("tbody", join(rows), foot), class_=kind)
    return tag("div", table, class_="scroll")


def _sum(n: int) -> Markup:
    return tag("td", number(n), class_="sum")


def _count(n: int, share: float, hit: bool, words: str, total: int) -> Markup:
    if not n:
        return tag("td", "0" if hit else "·", class_="zero")
    strength = 0.12 + 0.88 * share if hit else 0.1 + 0.7 * share
    kind = ("hit-cell" if hit else "miss-cell") + (" strong" if strength > 0.55 else "")
    title = f"{words}: {number(n)} of {number(total)} ({percent(n / total)})"
    return tag("td", number(n), class_=kind, style=f"--v:{strength:.2f}", title=title)
