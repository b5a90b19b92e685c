"""The pages without a notebook, made at once: the index, the catalogue, the corrections."""

import json
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files

from lamina._catalogue import errata as slips
from lamina._catalogue import errata_of, items
from lamina._markup import Markup, join, tag
from lamina.pages.site._shell import bar, head
from lamina.pages.site.contents import CHAPTERS, pages


def _document(title: str, *parts: Markup | None) -> str:
    top = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · Lamina"),
        tag("link", rel="icon", href="data:,"),
        head("plain.css"),
    )
    body = tag("body", bar(None), tag("main", parts, id="text", class_="plain"))
    return f"<!DOCTYPE html>\n{tag('html', top, body, lang='en')}\n"


@cache
def thumbnails() -> dict[str, str]:
    """Read the small picture of every page, by its link; `tools/thumbnails.py` writes them."""
    text = files("lamina.pages").joinpath("shipped", "pictures", "thumbnails.json").read_text(encoding="utf-8")
    found: dict[str, str] = json.loads(text)
    return found


def index() -> str:
    """Write the page that lists all pages, each with a small picture, with what has been read in this browser."""
    chapters = []
    for chapter, title in CHAPTERS.items():
        cards = [
            tag("li", tag("a", Markup(thumbnails()[p.path]), tag("b", p.title), tag("span", p.summary),
                href=f"/{p.path}"), tag("i", "", data_progress=p.path))
            for p in pages() if p.chapter == chapter
        ]  # fmt: skip
        if cards:
            number = f"{chapter[2:]} · " if chapter.startswith("ch") else ""
            chapters.append(tag("section", tag("h2", number + title, id=chapter), tag("ol", cards, class_="cards")))
    lead = "Every formula of the lecture notes, with the code that computes it: move it, train it, break it."
    return _document(
        "The executable notes",
        tag("h1", "Neural Network Architectures"),
        tag("p", lead, class_="lead"),
        tag("p", "", class_="small", data_sum=True),
        *chapters,
    )


def catalogue() -> str:
    """Write the index notes -> code -> test -> page."""
    sections = []
    for chapter, title in CHAPTERS.items():
        rows = [
            tag("tr", tag("th", row.id, id=row.id, scope="row"),
                tag("td", _words(row.title), tag("small", f"{row.kind}, §{row.section}",
                                                _links("/errata#", [slip.id for slip in errata_of(row.id)]))),
                tag("td", [_code(name) for name in row.code], data_is="code"),
                tag("td", [_code(name) for name in row.test], data_is="test"),
                tag("td", [tag("a", name, href=f"/{name}") for name in row.page], data_is="page"))
            for row in items().values() if row.id.startswith("N" + chapter[2:] + ".")
        ]  # fmt: skip
        if rows:
            names = [tag("th", name, scope="col") for name in ("id", "what", "code", "test", "page")]
            table = tag("table", tag("thead", tag("tr", names)), tag("tbody", rows))
            sections.append(tag("section", tag("h2", f"{chapter[2:]} · {title}"), tag("div", table, class_="scroll")))
    return _document("Notes → code → test", tag("h1", "Notes → code → test → page"), *sections)


def errata() -> str:
    """Write the list of errata: what the notes say, what is right, and the code and the pages that say more."""
    heads = ("id", "about", "the notes say", "what is right", "where the library does it")
    rows = [
        tag("tr", tag("th", slip.id, id=slip.id, scope="row"),
            tag("td", tag("b", slip.title), tag("small", slip.kind, _links("/catalogue#", slip.rows))),
            tag("td", _words(slip.says), data_is=heads[2]), tag("td", _words(slip.right), data_is=heads[3]),
            tag("td", [_code(name) for name in slip.code], _links("/", slip.page), data_is=heads[4]))
        for slip in slips().values()
    ]  # fmt: skip
    names = [tag("th", name, scope="col") for name in heads]
    lead = "Where the notes slip, claim too much or leave something open, and what the library does instead."
    return _document(
        "Corrections",
        tag("h1", "Corrections to the notes"),
        tag("p", lead, class_="lead"),
        tag("div", tag("table", tag("thead", tag("tr", names)), tag("tbody", rows)), class_="scroll"),
    )


def _links(place: str, names: Sequence[str]) -> Markup:
    """Link names, with a space before each.

    >>> _links("/errata#", ["E01"])
    ' <a href="/errata#E01">E01</a>'
    """
    return join((" ", tag("a", name, href=f"{place}{name}")) for name in names)


def _words(text: str) -> Markup:
    """Set what stands between backticks as code, and begin with a capital.

    >>> _words("use `relu` <")
    'Use <code class="in">relu</code> &lt;'
    """
    parts = (text[:1].upper() + text[1:]).split("`")
    return join(tag("code", part, class_="in") if i % 2 else part for i, part in enumerate(parts))


def _code(name: str) -> Markup:
    """Write the name of an object or a test so that it can be broken after a dot.

    >>> _code("a.b:c")
    '<code>a.<wbr>b:<wbr>c</code>'
    """
    return tag("code", Markup(re.sub(r"([.:/_])(?=\w)", r"\1<wbr>", escape(name))))


def missing(path: str) -> str:
    """Write what is shown where there is no page."""
    return _document(
        "No such page", tag("h1", "There is no such page"), tag("p", tag("code", path[:80]), class_="lead")
    )


def full(most: int) -> str:
    """Write what is shown when too many pages are open."""
    words = f"{most} pages are open on this server, and that is its limit. Close one, or try again in a minute."
    return _document("Too many pages", tag("h1", "Too many pages are open"), tag("p", words, class_="lead"))
