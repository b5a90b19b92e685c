"""`lamina draw`: networks, cells and layers as SVG, TikZ, PDF or PNG."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lamina._errors import ArgumentError
from lamina.cli.values import parse, settings

if TYPE_CHECKING:
    from lamina.drawing.scene import Scene


def draw(
    what: Annotated[
        str | None,
        typer.Argument(metavar="[NAME|RUN]", help="A drawing (--list), an architecture, or the folder of a run."),
    ] = None,
    widths: Annotated[
        str | None, typer.Option(metavar="LIST", help="The nodes of each layer, such as 3,5,5,5,1 (fnn).")
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option("-o", "--output", help="A file that ends in .svg, .tex (TikZ), .pdf or .png; may be repeated."),
    ] = None,
    theme: Annotated[str, typer.Option(help="light, dark, or page (an SVG that a page styles).")] = "light",
    style: Annotated[str | None, typer.Option(help="Of a stack of layers: blocks or boxes.")] = None,
    most: Annotated[int | None, typer.Option(help="How many nodes of a layer are drawn at most; 8 by default.")] = None,
    weights: Annotated[bool, typer.Option(help="Color the arrows of a run by its weights.")] = True,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="An option of the drawing or the network.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the drawings by name.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Draw a network, a cell or a run; the suffix of the file says how."""
    if list_:
        _list(as_json)
        return
    if what is None:
        raise ArgumentError("`lamina draw` needs something to draw: a name (see --list), an architecture, or a run.")
    from lamina.drawing.colors import THEMES
    from lamina.drawing.draw import draw as make
    from lamina.drawing.save import save, suffix_of

    if theme not in THEMES:
        raise ArgumentError(f"`--theme` must be one of {', '.join(THEMES)}, got {theme!r}.")
    folder = Path(what).is_dir()
    paths = output or [Path(what) / "network.svg" if folder else Path(f"{what}.svg")]
    for path in paths:
        if path.is_dir():
            raise ArgumentError(
                f"`--output` must be a file, but {path} is a folder: add a name such as {path}/net.svg."
            )
        suffix_of(path)
    options = settings(set_ or []) | ({"widths": _widths(widths)} if widths is not None else {})
    for name in sorted(options.keys() & {"theme", "style", "most", "weights"}):
        raise ArgumentError(f"`--set {name}=...` must be written `--{name} ...`: it is an option of the command.")
    given: dict[str, Any] = {key: value for key, value in (("style", style), ("most", most)) if value is not None}
    scene = _of_run(what, options, weights=weights, **given) if folder else make(what, **options, **given)
    written = [str(save(scene, path, theme)) for path in paths]
    if as_json:
        print(
            json.dumps({"title": scene.title, "description": scene.description, "files": written}, ensure_ascii=False)
        )
        return
    print(*(f"drawing: {path}" for path in written), sep="\n")


def _list(as_json: bool) -> None:
    from lamina.drawing.table import TABLE

    rows = [(entry.name, entry.title, entry.place) for entry in TABLE.values()]
    if as_json:
        print(json.dumps([dict(zip(("name", "title", "place"), row, strict=True)) for row in rows], indent=1))
        return
    from lamina.cli.tables import show

    show(("name", "drawing", "notes"), rows)
    print("Any name of `lamina list` and the folder of any run can be drawn too.")


def _widths(text: str) -> tuple[int | None, ...]:
    """Read 784,none,10: none leaves a width open."""
    value = parse(text)
    widths = value if isinstance(value, tuple) else (value,)
    if len(widths) < 2 or any(
        w is not None and (isinstance(w, bool) or not isinstance(w, int) or w < 1) for w in widths
    ):
        raise ArgumentError(
            f"`--widths` must be at least two positive whole numbers with commas, such as 3,5,5,5,1, got {text!r}."
        )
    return widths


def _of_run(what: str, options: dict[str, Any], **given: Any) -> "Scene":
    from lamina.drawing.of_model import drawing_of
    from lamina.training.run import Run

    if options:
        raise ArgumentError("`--widths` and `--set` make a new network: leave them out for the folder of a run.")
    run = Run.load(what)
    return drawing_of(run.model, **given)
