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
from pathlib import Path

from lamina._errors import ArgumentError, RunError
from lamina._markup import Markup, join, tag
from lamina.drawing.save import save
from lamina.drawing.scene import Scene
from lamina.pages.book.recording import record
from lamina.pages.book.writing import chosen, frame, head, localized
from lamina.pages.site.contents import Page

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
    """Print pages into one PDF: their first views, with the answers to all questions.

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
        body = tag("body", tag("main", parts, id="root"))
        text = tag("html", head("Neural Network Architectures", ()), body, lang="en")
        (folder / "book.html").write_text(f"<!DOCTYPE html>\n{localized(text, '')}\n", encoding="utf-8")
        made = folder / "book.pdf"
        command = [
            browser, "--headless=new", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-dev-shm-usage", "--no-pdf-header-footer", "--virtual-time-budget=30000",
            f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={made}", (folder / "book.html").as_uri(),
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


def _printed(page: Page) -> Markup:
    cells = record(str(page.file), moves=False).cells
    open_ = [re.sub(r"<details><summary>Answer", "<details open><summary>Answer", html) for html in cells]
    title = tag("h1", page.title), tag("p", f"{page.number}. {page.summary}", class_="lead")
    body = [tag("div", Markup(html), class_="output") for html in open_ if html]
    return tag("section", title, join(body), class_="lamina-page")


def panels(
    folder: Path, *, only: Sequence[str] = (), told: Callable[[str], None] | None = None
) -> list[tuple[Path, str]]:
    """Write every drawing of the first views as SVG and PDF, for slides.

    Args:
        folder: where to; it is made.
        only: the links of some pages; all by default.
        told: is told each page that is done.

    Returns:
        The SVG files, each with what it shows.
    """
    if folder.is_file():
        raise ArgumentError(f"`--panels` must be a folder, but {folder} is a file: choose another name.")
    written = []
    for page in chosen(only):
        scenes = [
            (label, scene) for label, scene in record(str(page.file), moves=False).scenes if isinstance(scene, Scene)
        ]
        for number, (label, scene) in enumerate(scenes, 1):
            name = f"{page.chapter}-{page.slug}-{number}"
            save(scene, folder / f"{name}.pdf")
            written.append((save(scene, folder / f"{name}.svg"), label))
        if told is not None:
            told(page.path)
    return written
