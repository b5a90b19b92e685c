"""`lamina notes`: open the live pages in the browser."""

from typing import Annotated

from typer import Option

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
) -> None:
    """Open the executable notes: every formula of the five chapters, live in the browser."""
    if edit is not None:
        from lamina.pages.site.editing import edit_page

        edit_page(edit, browser=not no_browser)
        return
    from lamina.pages.site.contents import pages
    from lamina.pages.site.server import serve

    first = next((f"/{page.path}" for page in pages() if page.chapter == f"ch{chapter}"), "/")
    serve(host=host, port=port, token=token, first=first, browser=not no_browser)
