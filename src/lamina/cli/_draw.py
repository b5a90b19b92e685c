"""`lamina draw`: networks, cells and layers as SVG, TikZ, PDF or PNG."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from lamina._errors import ArgumentError, choice
from lamina.cli._options import Json, Quiet, Settings
from lamina.cli._tables import show, show_json
from lamina.cli._usage import number
from lamina.cli._values import settings, sizes

if TYPE_CHECKING:
    from lamina.drawing.scene import Scene


def draw(
    what: Annotated[
        str | None,
        Argument(
            metavar="NAME|RUN",
            help="A drawing from --list, an architecture from `lamina list`, or the folder of a run.",
        ),
    ] = None,
    widths: Annotated[
        str | None, Option(metavar="LIST", help="Number of nodes in each layer of an fnn, such as 3,5,5,5,1.")
    ] = None,
    output: Annotated[
        list[Path] | None,
        Option(
            "-o",
            "--output",
            help="The file to write: .svg, .tex (TikZ), .pdf or .png; NAME.svg by default; may be repeated.",
        ),
    ] = None,
    theme: Annotated[str, Option(help="light, dark, or page (a web page sets the colors).")] = "light",
    scale: Annotated[float, Option(help="Pixels per point of a PNG, 0.25 to 20.")] = 2.0,
    style: Annotated[str | None, Option(help="How to draw a stack of layers: blocks or boxes.")] = None,
    most: Annotated[
        int | None, number(help="Largest number of nodes to draw in a layer; 8 by default.", least=1)
    ] = None,
    weights: Annotated[bool, Option(help="Color the arrows of a trained network by its weights.")] = True,
    set_: Settings = None,
    list_: Annotated[bool, Option("--list", help="List the drawings and exit.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Draw a network, a cell or a trained run; the file name's suffix chooses the format."""
    if list_:
        _list(as_json)
        return
    if what is None:
        raise ArgumentError("`lamina draw` needs something to draw: a name (see --list), an architecture, or a run.")
    from lamina.drawing.colors import THEMES
    from lamina.drawing.draw import draw as make
    from lamina.drawing.draw import option_types
    from lamina.drawing.save import save, suffix_of

    choice("--theme", theme, tuple(THEMES))
    if not 0.25 <= scale <= 20:
        raise ArgumentError(f"`--scale` must be from 0.25 to 20 pixels per point, got {scale:g}.")
    folder = Path(what).is_dir()
    paths = output or [Path(what) / "network.svg" if folder else Path(f"{what}.svg")]
    for path in paths:
        if path.is_dir():
            raise ArgumentError(
                f"`--output` must be a file, but {path} is a folder: add a name such as {path}/net.svg."
            )
        suffix_of(path)
    nodes = sizes(widths, "--widths", "3,5,5,5,1", least=2)
    options = settings(set_, option_types(what), flags=("theme", "scale", "style", "most", "weights"))
    options |= {} if nodes is None else {"widths": nodes}
    given: dict[str, Any] = {key: value for key, value in (("style", style), ("most", most)) if value is not None}
    scene = _of_run(what, options, weights=weights, **given) if folder else make(what, **options, **given)
    written = [str(save(scene, path, theme, scale)) for path in paths]
    if as_json:
        show_json({"title": scene.title, "description": scene.description, "files": written}, indent=None)
        return
    print(*(written if quiet else (f"drawing: {path}" for path in written)), sep="\n")


def _list(as_json: bool) -> None:
    from lamina.drawing.table import TABLE

    rows = [(entry.name, entry.title, entry.place) for entry in TABLE.values()]
    if as_json:
        show_json([dict(zip(("name", "title", "place"), row, strict=True)) for row in rows])
        return
    show(("name", "drawing", "notes"), rows)
    print("Any architecture of `lamina list` and the folder of any run can be drawn, too.")


def _of_run(what: str, options: dict[str, Any], **given: Any) -> "Scene":
    from lamina.drawing.of_model import drawing_of
    from lamina.training.run import Run

    if options:
        raise ArgumentError("`--widths` and `--set` make a new network: leave them out for the folder of a run.")
    run = Run.load(what)
    spec = run.task.spec
    return drawing_of(run.model, names=(spec.features, spec.classes or (spec.target,)), **given)
