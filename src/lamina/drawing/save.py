"""Writing a scene to a file, by its suffix."""

import contextlib
from pathlib import Path

from lamina._errors import ArgumentError, between
from lamina.drawing._raster import raster
from lamina.drawing._tikz import tikz
from lamina.drawing.scene import Scene
from lamina.drawing.svg import svg

SUFFIXES = (".svg", ".tex", ".pdf", ".png")


def suffix_of(path: str | Path) -> str:
    """Give the suffix of a drawing's file, or refuse it.

    >>> suffix_of("net.SVG")
    '.svg'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ArgumentError(
            f"`path` must end in one of {', '.join(SUFFIXES)}, got {str(path)!r}: name the file, for example, net.svg."
        )
    return suffix


def _rendered(scene: Scene, suffix: str, theme: str, scale: float) -> bytes:
    """Give a scene as the bytes of a file: ".svg", ".tex", ".pdf" or ".png"."""
    if suffix == ".svg":
        return svg(scene, theme).encode()
    if theme == "page":
        raise ArgumentError(
            f"`theme` 'page' must be written as .svg, got {suffix}: a page styles an SVG; use 'light' or 'dark'."
        )
    if suffix == ".tex":
        return tikz(scene, theme=theme).encode()
    return raster(scene, suffix_of("scene" + suffix)[1:], theme, 72 * scale)


def save(scene: Scene, path: str | Path, theme: str = "light", scale: float = 2.0) -> Path:
    """Write a scene to a file whose suffix says how: .svg, .tex (TikZ), .pdf or .png.

    Args:
        scene: what to draw.
        path: the file; its folder is made.
        theme: "light", "dark", or "page" (an SVG that takes its colors from the page around it).
        scale: pixels per point of a PNG, 0.25 to 20; the other formats have no pixels.

    Returns:
        The path.

    >>> import tempfile
    >>> from lamina.drawing.scene import Circle, Scene
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Scene(20, 20, (Circle((10, 10), 8),), "a disc"), f"{folder}/disc.svg").name
    'disc.svg'
    """
    path = Path(path)
    between("scale", scale, 0.25, 20)
    data = _rendered(scene, suffix_of(path), theme, scale)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.write_bytes(data)
    except OSError as error:
        with contextlib.suppress(OSError):
            if path.is_file():  # a part of a drawing is none
                path.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from error
    return path
