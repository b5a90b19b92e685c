"""What is around a page: the bar above, the links below, and what a reader sees before marimo has loaded."""

import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from lamina._errors import RunError
from lamina._markup import Markup, join, tag
from lamina.drawing.colors import variables
from lamina.drawing.svg import math_faces
from lamina.pages import _forms
from lamina.pages.site.contents import CHAPTERS, Page, neighbors, pages

AGAIN = "install marimo 0.25 with `pip install --force-reinstall 'marimo==0.25.*'`."
"""What to do when marimo's parts are not as our pages need them."""
THEMES = ("light", "dark")
FILES = ("pages.css", "labs.js", "follow.js", "hands.js", "pages.js", "plain.css")
# Before the first paint: the theme that was chosen, or that of the machine.
_THEME = (
    "document.documentElement.dataset.theme=(document.cookie.match(/lamina-theme=(light|dark)/)||[])[1]||"
    '(matchMedia("(prefers-color-scheme: dark)").matches?"dark":"light")'
)
_MOUNT = re.compile(r"(Object\.freeze\()(\{.*?\})(\),\s*writable: false)", re.DOTALL)
_WORKER = re.compile(r"<script>\s*if \('serviceWorker' in navigator\).*?</script>", re.DOTALL)
_PRELOAD = re.compile(r'\s*<link rel="preload"[^>]*(?:\.png|Lora|PTSans)[^>]*>')
_FILENAME = re.compile(r"(<marimo-filename hidden>)[^<]*")
_USER = re.compile(r'(<marimo-user-config data-config=")[^"]*')


@cache
def asset(name: str) -> str:
    """Return a file of ours; the style sheet of pages has the fonts, colors and sizes of the drawings."""
    text = files("lamina.pages").joinpath("static", name).read_text(encoding="utf-8")
    if name == "pages.css":
        dark = ':root[data-theme="dark"], .dark'
        colors = f":root, .light {{ {variables('light')} }}\n{dark} {{ {variables('dark')} }}"
        text = "\n".join((math_faces(), colors, text, _forms.rules()))
    return text


@cache
def address(name: str) -> str:
    """Return the address of a file of ours, which changes when the file does."""
    return f"/static/lamina/{name}?v={hashlib.sha256(asset(name).encode()).hexdigest()[:12]}"


def head(*more: str) -> Markup:
    """Return what every page of ours has in its head."""
    links = [tag("link", rel="stylesheet", href=address(name)) for name in ("pages.css", *more)]
    scripts = [tag("script", "", defer=True, src=address(name)) for name in FILES if name.endswith(".js")]
    return join([tag("script", Markup(_THEME)), *links, *scripts])


def bar(page: Page | None) -> Markup:
    """Return the bar: home, where the reader is, the contents, start again, light or dark."""
    listed = []
    for chapter, title in CHAPTERS.items():
        rows = [
            tag("li", tag("a", p.title, href=f"/{p.path}", aria_current="page" if p == page else None))
            for p in pages()
            if p.chapter == chapter
        ]
        if rows:
            number = f"{chapter[2:]} · " if chapter.startswith("ch") else ""
            listed.append(join([tag("p", number + title), tag("ol", rows)]))
    others = [("/catalogue", "Notes → code → test"), ("/errata", "Corrections")]
    listed.append(tag("ol", [tag("li", tag("a", words, href=place)) for place, words in others]))
    before, after = neighbors(page) if page is not None else (None, None)
    return tag(
        "header",
        tag("a", "Skip to the text", href="#text", class_="skip"),
        tag(
            "div",
            tag("a", "Lamina", href="/", class_="home", aria_label="Lamina, all pages"),
            tag("span", f"{page.number} · {page.title}" if page else "", class_="here push"),
            _turn(before, "←", "Previous"),
            _turn(after, "→", "Next"),
            tag("details", tag("summary", "Contents"), tag("div", tag("nav", listed, aria_label="Contents"))),
            tag(
                "button",
                "↺",
                tag("span", "\xa0Reset", class_="word"),
                type="button",
                data_do="reset",
                title="Restart this page",
                aria_label="Reset this page",
            )
            if page
            else None,
            tag(
                "button",
                "⤢",
                type="button",
                data_do="present",
                title="Show the lab alone, for a lecture hall (F); press ? for all keys",
                aria_label="Present the lab",
            )
            if page
            else None,
            tag("button", "◐", type="button", data_do="theme", title="Light or dark", aria_label="Light or dark"),
        ),
        class_="lamina-bar",
    )


def with_homework(html: str, place: str) -> str:
    """Put a link to the homework of a class first into the contents.

    Args:
        html: a page with our bar.
        place: the address of the homework.

    >>> with_homework('<nav aria-label="Contents"><p>1</p></nav>', "/homework")
    '<nav aria-label="Contents"><ol><li><a href="/homework">Homework</a></li></ol><p>1</p></nav>'
    """
    head = '<nav aria-label="Contents">'
    return html.replace(head, head + tag("ol", tag("li", tag("a", "Homework", href=place))), 1)


def _turn(page: Page | None, arrow: str, words: str) -> Markup | None:
    if page is None:
        return None
    return tag("a", arrow, href=f"/{page.path}", title=f"{words}: {page.title}", aria_label=f"{words}: {page.title}")


def first(page: Page) -> Markup:
    """Return what is there at once: the title, the summary, and that the rest is coming."""
    where = page.number + (f" · §{', §'.join(page.sections)}" if page.sections else "")
    words = tag("noscript", "This page computes while you read it and needs JavaScript.")
    return join([
        tag("div", tag("h1", page.title, id="text", tabindex="-1", title=where), tag("p", page.summary, class_="lead"),
            class_="lamina-first"),
        tag("div", tag("i", ""), tag("span", "The page is starting …"), words, class_="lamina-wait", role="status"),
    ])  # fmt: skip


def foot(page: Page) -> Markup:
    """Return the links below a page."""
    before, after = neighbors(page)
    turn = tag(
        "div",
        tag("a", f"← {before.title}", href=f"/{before.path}") if before else tag("span", ""),
        tag("a", f"{after.title} →", href=f"/{after.path}") if after else tag("span", ""),
        class_="turn",
    )
    return tag(
        "footer",
        turn,
        tag("a", f"Permanent link: /{page.path}", href=f"/{page.path}"),
        tag("a", "This page as Python", href=f"/{page.path}.py"),
        tag("span", "Change it: ", tag("code", f"lamina notes --edit {page.path}")),
        class_="lamina-foot",
    )


def framed(html: str, page: Page, theme: str, still: str = "") -> str:
    """Put marimo's page into our frame, and take out what it says about the machine."""
    found = _MOUNT.search(html)
    if found is None:
        raise RunError(f"marimo's page has no mount configuration where it is expected: {AGAIN}")
    config = json.dumps(_private(json.loads(found[2]), page, theme)).replace("<", "\\u003c")
    html = html[: found.start(2)] + config + html[found.end(2) :]
    html = _WORKER.sub("", _PRELOAD.sub("", html))
    html = _USER.sub(r"\1{}", _FILENAME.sub(rf"\g<1>{page.slug}.py", html))
    html = re.sub(r"<title>[^<]*</title>", tag("title", f"{page.title} · Lamina").replace("\\", ""), html, count=1)
    html = html.replace("</head>", head() + "</head>", 1)
    return html.replace(
        '<div id="root"></div>', bar(page) + first(page) + _still(still) + '<main id="root"></main>' + foot(page), 1
    ).replace("<body>", f'<body data-page="{page.path}">', 1)


def _still(markup: str) -> str:
    return tag("div", Markup(markup), class_="lamina-still", inert=True) if markup else ""


def _private(config: dict[str, Any], page: Page, theme: str) -> dict[str, Any]:
    """Keep of marimo's configuration what the page needs: no paths, none of the user's own settings."""
    from marimo._config.config import DEFAULT_CONFIG

    given: Any = json.loads(json.dumps(DEFAULT_CONFIG))
    given["display"]["theme"] = theme
    return {
        **config,
        "filename": f"{page.slug}.py",
        "cwd": "",
        "lspWorkspace": None,
        "config": given,
        "configOverrides": {},
    }
