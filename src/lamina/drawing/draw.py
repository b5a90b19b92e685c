"""Draw by name or by model, and write what was drawn: what `lamina draw` does, as a function."""

from os import PathLike
from typing import TYPE_CHECKING, Any

from lamina._errors import ArgumentError, nearest
from lamina.drawing.of_model import drawing_of
from lamina.drawing.save import save
from lamina.drawing.scene import Scene
from lamina.drawing.table import TABLE, drawing

if TYPE_CHECKING:
    from torch import nn


def draw(what: "str | nn.Module", *files: str | PathLike[str], theme: str = "light", **options: Any) -> Scene:
    """Draw a network, an architecture or a drawing of the notes, and write it to files.

    Args:
        what: a model, the name of an architecture, or the name of a drawing (`lamina draw --list`).
        files: where to write it; the suffix says how: .svg, .tex (TikZ), .pdf or .png.
        theme: "light", "dark", or "page" for an SVG that a page styles.
        options: `style`, `most` and `weights` of `drawing_of` for a model; the options of the architecture or of the
            drawing for a name.

    Returns:
        The scene, which a notebook shows.

    >>> draw("lenet5").title, draw("gru").title
    ('LeNet-5', 'GRU cell')
    """
    scene = drawing_of(what, **options) if not isinstance(what, str) else _named(what, **options)
    for file in files:
        save(scene, str(file), theme)
    return scene


def option_types(name: str) -> dict[str, Any]:
    """Say what each option of a drawing or an architecture is declared to be; nothing is known of other names.

    >>> option_types("dice")["total"]
    <class 'int'>
    """
    from lamina.architectures.build import option_types as network_types
    from lamina.architectures.table import TABLE as ARCHITECTURES

    return TABLE[name].option_types() if name in TABLE else network_types(name) if name in ARCHITECTURES else {}


def _named(name: str, *, style: str | None = None, most: int | None = None, **options: Any) -> Scene:
    from lamina.architectures.build import build
    from lamina.architectures.table import TABLE as ARCHITECTURES

    given: dict[str, Any] = {key: value for key, value in (("style", style), ("most", most)) if value is not None}
    if name in TABLE:
        return drawing(name, **options, **given)
    if name in ARCHITECTURES:
        return drawing_of(build(name, **options), weights=False, **given)
    hint = nearest(name, [*TABLE, *ARCHITECTURES], " Did", "")
    raise ArgumentError(
        f"{name!r} is not a drawing, an architecture or the folder of a run.{hint} "
        "See `lamina draw --list` and `lamina list`."
    )
