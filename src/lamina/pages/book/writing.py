"""Write all pages as a static site that opens from a file or from any host: `lamina notes --export FOLDER`.

A file may not fetch another one, nor load a module. So everything comes by plain `<script>` and `<link>` elements with
relative addresses: recorded states as gzip in base64, and the weights of two networks as float32 in base64.
"""

import base64
import gzip
import json
import os
import re
import shutil
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from importlib.resources import files
from multiprocessing import active_children, parent_process
from pathlib import Path
from typing import Any

from lamina._errors import ArgumentError, MissingExtraError, RunError
from lamina._markup import Markup, tag
from lamina.pages.book.recording import Recording, pieces, record
from lamina.pages.kit._jobs import context
from lamina.pages.kit._shipped import shipped
from lamina.pages.site import _plain as plain
from lamina.pages.site import _shell as shell
from lamina.pages.site.contents import Page, find, pages

MARK = "lamina-book.json"
"""The file by which a folder is known as a book, which may be written again."""
MOST = 30_000_000
"""Bytes of a book."""
_PLAIN = {"index": plain.index, "catalogue": plain.catalogue, "errata": plain.errata}
_OWN = ("book.css", "book.js", "forward.js", "reading.js", "pad.css")
_THEME = (
    "(()=>{const e=document.documentElement;try{const t=localStorage.getItem('lamina-theme');if(t)e.dataset.theme=t}"
    "catch{}document.addEventListener('click',(v)=>{if(v.target.closest?.('[data-do=theme]'))setTimeout(()=>{try{"
    "localStorage.setItem('lamina-theme',e.dataset.theme)}catch{}})})})()"
)
_ADDRESS = re.compile(r"""\b(href|src)=(["'])/(?!/)([^"'#?]*)(\?[^"'#]*)?(#[^"']*)?\2""")
NETWORKS = {"ch3/lenet": "lenet5-mnist", "ch5/translation": "seq2seq-phrasebook"}
"""The network that a page lets the browser compute."""


def export(
    folder: Path, *, only: Sequence[str] = (), moves: bool = True, told: Callable[[str], None] | None = None
) -> list[Path]:
    """Write the pages as a site without a server.

    Args:
        folder: where to; it is made, or must be empty or an earlier book, which is replaced.
        only: the links of some pages; all by default.
        moves: whether controls are recorded, too; otherwise they are live only.
        told: is told each page that is done.

    Returns:
        The files.

    Raises:
        ArgumentError: the folder holds something else, or there is no such page.
        RunError: a page fails, or the book is larger than 30 MB.
    """
    wanted = chosen(only)
    _make(folder)
    present = {page.path for page in wanted}
    if len(wanted) == 1:
        _write_page(wanted[0], folder, moves, present)
        _tell(told, wanted[0])
    else:
        _write_together(wanted, folder, moves, told)
    frame(folder, present)
    for name, made in _PLAIN.items():
        _write(
            folder / f"{name}.html",
            _without(localized(made(), ""), present).replace("</head>", f"{_theme()}</head>", 1),
        )
    written = sorted(path for path in folder.rglob("*") if path.is_file())
    if (size := sum(path.stat().st_size for path in written)) > MOST:
        raise RunError(f"the book in {folder} has {size / 1e6:.1f} MB, more than the {MOST / 1e6:.0f} MB it may have.")
    return written


def _write_together(wanted: Sequence[Page], folder: Path, moves: bool, told: Callable[[str], None] | None) -> None:
    """Write pages in processes, one per core; when one fails or somebody interrupts, nobody waits for the others."""
    workers, before = min(len(wanted), os.cpu_count() or 1), active_children()
    with ProcessPoolExecutor(workers, mp_context=context(), initializer=_alone) as pool:
        present = {page.path for page in wanted}
        waiting = {pool.submit(_write_page, page, folder, moves, present): page for page in wanted}
        try:
            for done in as_completed(waiting):
                done.result()
                _tell(told, waiting[done])
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            left = [process for process in active_children() if process not in before]
            for process in left:
                process.kill()
            for process in left:
                process.join()
            if isinstance(error, BrokenProcessPool):
                raise RunError(
                    "a process that wrote a page was ended by the system or by somebody, perhaps for want of memory: "
                    "write the pages again."
                ) from error
            raise


def chosen(only: Sequence[str]) -> list[Page]:
    """Look up pages by their links, in the order of the notes; all without a link.

    >>> [page.title for page in chosen(["ch2/backpropagation", "ch1/descent"])]
    ['Ways downhill', 'Backpropagation']
    """
    try:
        import marimo  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("marimo", "notes", "the pages") from error
    wanted = {find(path) for path in only} or set(pages())
    return [page for page in pages() if page in wanted]


def _make(folder: Path) -> None:
    if folder.is_file():
        raise ArgumentError(f"`--export` must be a folder, but {folder} is a file: choose another name.")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / MARK).is_file():
            raise ArgumentError(
                f"`--export` must be a new or empty folder or an earlier book, but {folder} holds other files: choose "
                "another name."
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text(json.dumps({"made by": "lamina notes --export"}) + "\n", encoding="utf-8")


def _tell(told: Callable[[str], None] | None, page: Page) -> None:
    if told is not None:
        told(page.path)


def _alone() -> None:
    """Take one core, as there are as many processes as cores; interrupts are for the process that began, and end us."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)


def _end_with_parent() -> None:
    """End this process when the one that began is no more, however it was ended."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _write_page(page: Page, folder: Path, moves: bool, present: set[str]) -> None:
    found = record(str(page.file), moves=moves)
    home = folder / page.chapter
    home.mkdir(exist_ok=True)
    _write(home / f"{page.slug}.html", _without(localized(document(page, found), "../"), present))
    _write(home / f"{page.slug}.states.js", f'window.LaminaStates = "{packed(found, "../")}";\n')
    _write(home / f"{page.slug}.py", page.file.read_text(encoding="utf-8"))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def frame(folder: Path, present: set[str]) -> None:
    """Write what all pages share: styles, scripts, the fonts of formulas, and the weights of networks.

    Args:
        folder: of the book.
        present: the links of its pages.
    """
    static = folder / "static"
    static.mkdir()
    for name in shell.FILES:
        _write(static / name, shell.asset(name))
    source = files("lamina.pages").joinpath("static")
    for name in _OWN:
        _write(static / name, source.joinpath(name).read_text(encoding="utf-8"))
    pad = source.joinpath("pad.js").read_text(encoding="utf-8")
    pad = pad.replace("export default { render };", "return { render };")
    _write(static / "pad.js", f"window.LaminaPad = (() => {{\n{pad}}})();\n")
    for path, name in NETWORKS.items():
        if path in present:
            _write(static / f"{name}.js", weights(name))
    shutil.copytree(str(source.joinpath("katex")), static / "katex")


def _without(html: str, present: set[str]) -> str:
    """Take the links to pages that this book does not have out of a document, and keep their words.

    >>> _without('<a href="../ch1/descent.html">Ways</a> <a href="ch1/logic.html">OR</a>', {"ch1/logic"})
    '<span>Ways</span> <a href="ch1/logic.html">OR</a>'
    """

    def replaced(found: re.Match[str]) -> str:
        missing = found[1] in {page.path for page in pages()} - present
        return f"<span>{found[2]}</span>" if missing else found[0]

    return re.sub(r'<a\b[^>]*href="(?:\.\./)?(\w+/[\w-]+)\.(?:html|py)[^>]*>(.*?)</a>', replaced, html, flags=re.DOTALL)


def _theme() -> Markup:
    return tag("script", Markup(_THEME))


def document(page: Page, found: Recording) -> str:
    """Write a page: its first view, its controls, and the scripts that answer them.

    Args:
        page: which one.
        found: what it shows.
    """
    own: list[str] = []
    if page.path in NETWORKS:
        own += [
            f"/static/lamina/{name}" for name in ("pad.js", f"{NETWORKS[page.path]}.js", "forward.js", "reading.js")
        ]
    top = head(page.title, [*own, f"/{page.path}.states.js"])
    index = {key: {"kind": move.kind, "values": move.values} for key, move in found.moves.items()}
    moves = Markup(json.dumps(index).replace("<", "\\u003c"))
    where = page.number + (f" · §{', §'.join(page.sections)}" if page.sections else "")
    body = tag(
        "body",
        shell.bar(page),
        tag("div", tag("h1", page.title, id="text", tabindex="-1", title=where), tag("p", page.summary, class_="lead"),
            class_="lamina-first"),
        tag("main", [_cell(place, html) for place, html in enumerate(found.cells)], id="root"),
        tag("p", "This is a recording: controls move one at a time, between places that were computed beforehand. "
            "For the live pages: ", tag("code", "pip install 'lamina-nn[notes]'"), " and ", tag("code", "lamina notes"),
            ".", class_="lamina-book"),
        tag("script", moves, type="application/json", id="lamina-moves"),
        shell.foot(page),
        data_page=page.path,
    )  # fmt: skip
    return f"<!DOCTYPE html>\n{tag('html', top, body, lang='en')}\n"


def head(title: str, scripts: Sequence[str]) -> Markup:
    """Write the head of a page without a server.

    Args:
        title: of the page.
        scripts: the addresses of its own, before those that all pages have.
    """
    own = ("/static/lamina/katex/katex.min.js", *scripts, "/static/lamina/book.js")
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · Lamina"),
        tag("link", rel="icon", href="data:,"),
        [tag("script", "", defer=True, src=place) for place in own],
        shell.head(),
        [tag("link", rel="stylesheet", href=f"/static/lamina/{name}") for name in ("katex/katex.min.css", "book.css")],
        _theme(),
    )


def _cell(place: int, html: str) -> Markup | None:
    inner = tag("div", tag("div", Markup(html), class_="output"), class_="output-area")
    return tag("div", inner, class_="marimo-cell published", data_cell=place) if html else None


def packed(found: Recording, root: str) -> str:
    """Write recorded states as gzip in base64: pieces of markup, each once, and the numbers of those of each state.

    Args:
        found: the recording.
        root: the way from the page to the first page.

    >>> from lamina.pages.book.recording import Moves
    >>> found = Recording(["<b>1</b>"], {"k": Moves("place", [1, 2], {0: ["<b>1</b>", "<b>2</b>"]})})
    >>> json.loads(gzip.decompress(base64.b64decode(packed(found, ""))))["cells"]["k"]
    {'0': [[0, 1], [0, 2]]}
    """
    numbers: dict[str, int] = {}

    def placed(html: str) -> list[int]:
        return [numbers.setdefault(piece, len(numbers)) for piece in pieces(localized(html, root))]

    changing = sorted({cell for move in found.moves.values() for cell in move.cells})
    first = {str(cell): placed(found.cells[cell]) for cell in changing}
    cells = {
        key: {str(cell): [placed(html) for html in row] for cell, row in move.cells.items()}
        for key, move in found.moves.items()
    }
    text = json.dumps({"pieces": list(numbers), "cells": {"": first, **cells}}, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def localized(html: str, root: str) -> str:
    """Turn the addresses of the server into those of files.

    Args:
        html: markup of the site.
        root: the way from the page to the first page.

    >>> localized('<a href="/ch1/descent?x=1#start">', "../")
    '<a href="../ch1/descent.html?x=1#start">'
    """

    def replaced(found: re.Match[str]) -> str:
        name, quote, path, query, place = found[1], found[2], found[3], found[4] or "", found[5] or ""
        if path.startswith("static/lamina/"):
            path, query = path.replace("static/lamina/", "static/"), ""
        elif not re.search(r"\.\w+$", path):
            path = f"{path.rstrip('/') or 'index'}.html"
        return f"{name}={quote}{root}{path}{query}{place}{quote}"

    return _ADDRESS.sub(replaced, html)


def weights(name: str) -> str:
    """Write a trained network as a script: the bytes of its float32 weights in base64, and what goes with them.

    Args:
        name: of a network that comes with the package.
    """
    network, record = shipped(name)
    state = {key: _bytes(value) for key, value in network.state_dict().items() if value.ndim}
    rest: dict[str, Any]
    if name == "lenet5-mnist":
        rest = {"mean": record.preprocess.mean[0], "std": record.preprocess.std[0]}
    else:
        config, sides = (
            record.architecture["config"],
            (record.preprocess.vocabulary, record.preprocess.answer_vocabulary),
        )
        words = [{"words": side.words, "forms": dict(side.forms), "capital": side.capital} for side in sides]
        rest = {"hidden": config["hidden"], "embedding": config["embedding"], "source": words[0], "target": words[1]}
    text = json.dumps({**rest, "weights": state}, ensure_ascii=False)
    return f"(window.LaminaNetworks ??= {{}})[{json.dumps(name)}] = {text};\n"


def _bytes(values: Any) -> str:
    return base64.b64encode(values.float().numpy().astype("<f4").tobytes()).decode()
