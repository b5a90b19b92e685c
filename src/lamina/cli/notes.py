"""`lamina notes`: open the live pages in the browser."""

from typing import Annotated

import typer

from lamina._errors import ArgumentError


def notes(
    port: Annotated[int, typer.Option(help="The port; another one is taken when it is in use.")] = 2718,
    host: Annotated[
        str, typer.Option(help="The address to listen on; beyond this machine --token is needed.")
    ] = "127.0.0.1",
    token: Annotated[str | None, typer.Option(help="A secret that visitors need once.")] = None,
    chapter: Annotated[int | None, typer.Option(help="Open this chapter, 1 to 5.")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only serve; open no browser.")] = False,
    edit: Annotated[
        str | None, typer.Option(metavar="PAGE", help="Copy a page such as ch3/lenet into this folder and edit it.")
    ] = None,
) -> None:
    """Open the executable notes: every formula of the five chapters, live in the browser."""
    if edit is not None:
        from lamina.pages.site.editing import edit_page

        edit_page(edit, browser=not no_browser)
        return
    if chapter is not None and not 1 <= chapter <= 5:
        raise ArgumentError(f"`--chapter` must be 1 to 5, got {chapter}.")
    from lamina.pages.site.contents import pages
    from lamina.pages.site.server import serve

    first = next((f"/{page.path}" for page in pages() if page.chapter == f"ch{chapter}"), "/")
    serve(host=host, port=port, token=token, first=first, browser=not no_browser)
