"""The book on paper, and single drawings for slides.

SVG and PDF of a drawing are made by `lamina.drawing`. A whole page has text, formulas and tables, which only a browser
sets; so the book is printed by a Chromium, Chrome or Edge of this machine, without which there is no PDF.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path

from lamina._catalogue import errata
from lamina._errors import ArgumentError, RunError
from lamina._markup import Markup, join, tag
from lamina.drawing.save import save
from lamina.drawing.scene import Scene
from lamina.pages.book.recording import PLAYED, Recording, record
from lamina.pages.book.writing import chosen, frame, head, localized
from lamina.pages.site._plain import _words as in_words
from lamina.pages.site.contents import CHAPTERS, Page

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
)
_ELSEWHERE = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
LONGEST = 600
"""Seconds that printing may take."""


def find_browser() -> str:
    """Return the browser that prints: the one that the variable CHROMIUM names, or one of this machine.

    Raises:
        ArgumentError: there is none.
    """
    named = os.environ.get("CHROMIUM", "")
    if named and not shutil.which(named):
        raise ArgumentError(
            f"the variable CHROMIUM names {named}, which is no program: set it to a Chromium or Chrome."
        )
    found = (
        named
        or next(filter(None, map(shutil.which, BROWSERS)), "")
        or next((path for path in _ELSEWHERE if Path(path).is_file()), "")
    )
    if not found:
        raise ArgumentError(
            "`--pdf` needs a Chromium, Chrome or Edge, which sets the formulas and prints, and found none: install "
            "one, or set the variable CHROMIUM to it; `--export` and `--panels` need none."
        )
    return found


def print_book(file: Path, *, only: Sequence[str] = (), told: Callable[[str], None] | None = None) -> Path:
    """Print pages into one PDF: contents, first views with the answers to all questions, and corrections.

    Args:
        file: the PDF.
        only: the links of some pages; all by default.
        told: is told each page that is done.

    Raises:
        ArgumentError: the name does not end in .pdf, or there is no browser.
        RunError: the browser has not written it.
    """
    if file.suffix.lower() != ".pdf":
        raise ArgumentError(f"`--pdf` must end in .pdf, got {str(file)!r}: name the file, for example, book.pdf.")
    browser, wanted = find_browser(), chosen(only)
    parts = []
    for page in wanted:
        parts.append(_printed(page))
        if told is not None:
            told(page.path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        folder = Path(home)
        frame(folder, set())
        (folder / "book.html").write_text(bound(wanted, parts), encoding="utf-8")
        made = folder / "book.pdf"
        command = [
            browser, "--headless=new", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-dev-shm-usage", "--no-pdf-header-footer", "--generate-pdf-document-outline",
            "--virtual-time-budget=30000", f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={made}",
            (folder / "book.html").as_uri(),
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:  # Chromium has no sandbox for root
            command.insert(1, "--no-sandbox")
        try:
            done = subprocess.run(
                command, capture_output=True, encoding="utf-8", errors="replace", timeout=LONGEST, check=False
            )
        except subprocess.TimeoutExpired:
            raise RunError(
                f"{browser} has not printed the book in {LONGEST} seconds: choose pages with --only."
            ) from None
        if not made.is_file():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise RunError(f"{browser} has not printed the book, and says: {last}")
        shutil.copyfile(made, file)
    return file


def bound(wanted: Sequence[Page], parts: Sequence[Markup]) -> str:
    """Bind printed pages: contents before them, corrections after them, and links that stay inside.

    Args:
        wanted: the pages.
        parts: each as it is printed.
    """
    slips = set(re.findall(r"/errata#(E\d+)", "".join(parts)))
    body = tag("main", _contents(wanted), parts, _corrections(slips), id="root")
    inside = _inside(str(body), {page.path for page in wanted})
    text = tag("html", head("Neural Network Architectures", ()), tag("body", Markup(inside)), lang="en")
    return f"<!DOCTYPE html>\n{localized(text, '')}\n"


def _printed(page: Page) -> Markup:
    cells = record(str(page.file), moves=False).cells
    open_ = [re.sub(r"<details([^>]*><summary>(?:Answer|Reveal))", r"<details open\1", html) for html in cells]
    said = [re.sub(rf" \({PLAYED}\)|{PLAYED}", "", html) for html in open_]  # on paper there is no button
    title = tag("h1", page.title), tag("p", f"{page.number}. {page.summary}", class_="lead")
    body = [tag("div", Markup(html), class_="output") for html in said if html]
    return tag("section", title, join(body), class_="lamina-page", id=page.path)


def _contents(wanted: Sequence[Page]) -> Markup:
    chapters = []
    for chapter, title in CHAPTERS.items():
        rows = [
            tag("li", tag("a", p.title, href=f"/{p.path}"), f" {p.summary}") for p in wanted if p.chapter == chapter
        ]
        number = f"{chapter[2:]} · " if chapter.startswith("ch") else ""
        chapters.append([tag("h2", number + title), tag("ol", rows)] if rows else [])
    lead = "The executable notes on paper: the first view of every page, and the answers to all questions."
    return tag("section", tag("h1", "Neural Network Architectures"), tag("p", lead, class_="lead"), *chapters,
               class_="lamina-page lamina-contents")  # fmt: skip


def _corrections(names: set[str]) -> Markup | None:
    """Write the errata that printed pages name; None where they name none."""
    rows = [
        [tag("dt", f"{slip.id} · {slip.title}", id=slip.id), tag("dd", tag("b", "The notes: "), in_words(slip.says)),
         tag("dd", tag("b", "Right: "), in_words(slip.right))]
        for slip in errata().values() if slip.id in names
    ]  # fmt: skip
    return (
        tag("section", tag("h1", "Corrections to the notes"), tag("dl", rows), class_="lamina-page lamina-slips")
        if rows
        else None
    )


def _inside(html: str, present: set[str]) -> str:
    """Turn links to pages and corrections into links inside one document; all others keep their words.

    >>> _inside('<a href="/ch1/logic#xor">XOR</a> <a href="/errata#E45" title="t">E45</a>', {"ch1/logic"})
    '<a href="#ch1/logic">XOR</a> <a href="#E45" title="t">E45</a>'
    >>> _inside("<a href='/catalogue#N1.02'>N1.02</a> <a href='/ch2/backpropagation'>there</a>", {"ch1/logic"})
    '<span>N1.02</span> <span>there</span>'
    """

    def replaced(found: re.Match[str]) -> str:
        path, place, rest, words = found[2], found[3] or "", found[4], found[5]
        inner = place[1:] if path == "errata" else path if path in present else ""
        return f'<a href="#{inner}"{rest}>{words}</a>' if inner else f"<span>{words}</span>"

    return re.sub(r"""<a href=(["'])/([\w/-]*)(#[^"']*)?\1([^>]*)>(.*?)</a>""", replaced, html, flags=re.DOTALL)


def panels(
    folder: Path, *, only: Sequence[str] = (), told: Callable[[str], None] | None = None
) -> list[tuple[Path, str]]:
    """Write every drawing of the first views as SVG and PDF, for slides, and `contents.txt`, which says what they show.

    Args:
        folder: where to; it is made.
        only: the links of some pages; all by default.
        told: is told each page that is done.

    Returns:
        The SVG files, each with what it shows, in the order of the pages.
    """
    if folder.is_file():
        raise ArgumentError(f"`--panels` must be a folder, but {folder} is a file: choose another name.")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for page in chosen(only):
        for number, (label, scene) in enumerate(_in_order(record(str(page.file), moves=False)), 1):
            name = f"{page.chapter}-{page.slug}-{number:02}"
            save(scene, folder / f"{name}.pdf")
            written.append((save(scene, folder / f"{name}.svg"), label))
        if told is not None:
            told(page.path)
    lines = "".join(f"{path.stem}: {label}\n" for path, label in written)
    (folder / "contents.txt").write_text(lines, encoding="utf-8", newline="\n")
    return written


def _in_order(found: Recording) -> list[tuple[str, Scene]]:
    """Give the drawings of a page as they stand there: cells do not run from above to below."""
    shown = [unescape(label) for label in re.findall(r'aria-label="([^"]*)"', "".join(found.cells))]
    places = {label: place for place, label in reversed([*enumerate(shown)])}
    scenes = [(label, scene) for label, scene in found.scenes if isinstance(scene, Scene)]
    return sorted(scenes, key=lambda each: places.get(each[0], len(shown)))
