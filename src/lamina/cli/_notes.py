"""`lamina notes`: open the live pages in the browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from typer import Option

from lamina._errors import ArgumentError
from lamina.cli._options import Quiet
from lamina.cli._usage import number


def notes(
    port: Annotated[
        int, number(help="The port to listen on; if it is in use, another one is taken.", least=0, most=65535)
    ] = 2718,
    host: Annotated[
        str, Option(help="The address to listen on; 0.0.0.0 for all of this machine, with a token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None, Option(help="A secret that visitors show once; made at random for a public address.")
    ] = None,
    chapter: Annotated[
        int | None, number(help="The chapter to open, 1 to 5; the contents by default.", least=1, most=5)
    ] = None,
    no_browser: Annotated[bool, Option("--no-browser", help="Serve the pages without opening a browser.")] = False,
    edit: Annotated[
        str | None, Option(metavar="PAGE", help="Copy a page such as ch3/lenet into the current folder and edit it.")
    ] = None,
    export: Annotated[
        Path | None, Option(metavar="FOLDER", help="Write all pages as a site without a server; it opens from a file.")
    ] = None,
    pdf: Annotated[
        Path | None, Option(metavar="FILE", help="Print all pages into one PDF; needs Chromium, Chrome or Edge.")
    ] = None,
    panels: Annotated[
        Path | None, Option(metavar="FOLDER", help="Write every drawing of the pages as SVG and PDF, for slides.")
    ] = None,
    only: Annotated[
        list[str] | None,
        Option(metavar="PAGE", help="For --export, --pdf and --panels: this page, such as ch3/lenet; may be repeated."),
    ] = None,
    assigned: Annotated[
        str | None,
        Option("--assign", metavar="PAGE", help="Serve questions on a page, such as ch2/backpropagation, as homework."),
    ] = None,
    data: Annotated[
        Path | None,
        Option(metavar="CSV", help="For --assign: numbers for its questions, or your own questions and answers."),
    ] = None,
    collect: Annotated[
        Path | None,
        Option(metavar="CSV", help="For --assign: the file that collects answers; homework.csv by default."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Open the executable notes: every formula of the five chapters, live in the browser."""
    files = {"--export": export, "--pdf": pdf, "--panels": panels}
    written = [name for name, place in files.items() if place is not None]
    others = [name for name, page in (("--edit", edit), ("--assign", assigned)) if page is not None]
    if len(others) > 1 or (others and written):
        raise ArgumentError(f"`{others[0]}` cannot be combined with {(others[1:] + written)[0]}: choose one of them.")
    if assigned is None and (data is not None or collect is not None):
        raise ArgumentError("`--data` and `--collect` belong to a homework: add --assign PAGE.")
    if edit is not None:
        from lamina.pages.site.editing import edit_page

        edit_page(edit, browser=not no_browser)
        return
    if written:
        _write(export, pdf, panels, tuple(only or ()), quiet)
        return
    if only:
        raise ArgumentError("`--only` chooses pages for --export, --pdf or --panels: add one of them.")
    from lamina.pages.site.contents import pages
    from lamina.pages.site.server import HOMEWORK, serve

    first = next((f"/{page.path}" for page in pages() if page.chapter == f"ch{chapter}"), "/")
    homework = {}
    if assigned is not None:
        from lamina.pages.homework.desk import Desk

        target = collect or Path("homework.csv")
        homework, first = {"homework": Desk.open(assigned, data, target)}, HOMEWORK
        print(f"Answers are collected in {target}.", flush=True)
    serve(host=host, port=port, token=token, first=first, browser=not no_browser, **homework)


def _write(export: Path | None, pdf: Path | None, panels: Path | None, only: tuple[str, ...], quiet: bool) -> None:
    """Write what was asked for, and say where it is."""
    from lamina.pages.book import printing, writing

    told: Callable[[str], None] | None = None if quiet else lambda page: print(f"recorded {page}", flush=True)
    if pdf is not None:
        printing.find_browser()  # before minutes of work
    if export is not None:
        files = writing.export(export, only=only, told=told)
        size = sum(path.stat().st_size for path in files)
        print(f"The book: {export / 'index.html'} ({len(files)} files, {size / 1e6:.1f} MB)")
    if panels is not None:
        found = printing.panels(panels, only=only, told=told)
        print(f"{len(found)} drawings in {panels}, each as SVG and PDF.")
    if pdf is not None:
        print(f"The book: {printing.print_book(pdf, only=only, told=told)}")
