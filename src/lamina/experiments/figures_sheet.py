"""Write figures to files, with a page that shows them all."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path

from lamina._errors import ArgumentError
from lamina.drawing.colors import variables
from lamina.drawing.save import SUFFIXES, save
from lamina.drawing.scene import Scene
from lamina.drawing.svg import math_faces, svg
from lamina.experiments.figures import Figure

FORMATS = tuple(suffix[1:] for suffix in SUFFIXES)
"""What a figure can be written as."""
Tell = Callable[[Figure], None]
"""Called with each figure before it is made."""


def write_figures(
    figures: Iterable[Figure],
    folder: str | Path,
    formats: Sequence[str] = ("svg", "pdf", "png"),
    tell: Tell | None = None,
) -> list[Path]:
    """Make figures and write each in several formats, and `index.html` to see them all.

    Args:
        figures: which ones, in the order of the page.
        folder: where; it is made.
        formats: of `FORMATS`.
        tell: called with each figure before it is made.

    Returns:
        All files, the page last.

    >>> import tempfile
    >>> from lamina.experiments.figures import FIGURES
    >>> with tempfile.TemporaryDirectory() as place:
    ...     [path.name for path in write_figures([FIGURES["13"]], place, ["svg"])]
    ['figure-13.svg', 'index.html']
    """
    check_formats(formats)
    root, written, shown = Path(folder), [], []
    try:
        root.mkdir(parents=True, exist_ok=True)
        for figure in figures:
            if tell is not None:
                tell(figure)
            scene = figure.make()
            files = [save(scene, root / f"{figure.file}.{suffix}") for suffix in formats]
            written += files
            shown.append((figure, scene, files))
        page = root / "index.html"
        page.write_text(_contact_sheet(shown), encoding="utf-8", newline="\n")
    except OSError as error:
        raise ArgumentError(
            f"figures must be written to a folder, got {root} ({error.strerror}): choose another with -o."
        ) from error
    return [*written, page]


def check_formats(formats: Sequence[str]) -> None:
    """Refuse what no back end can write.

    >>> check_formats(["svg", "tex"])
    """
    wrong = [name for name in formats if name not in FORMATS]
    if wrong or not formats:
        raise ArgumentError(
            f"`formats` must be one or more of {', '.join(FORMATS)}, got {', '.join(wrong) or 'none'}: "
            "write --formats svg,pdf."
        )


def _contact_sheet(shown: Sequence[tuple[Figure, Scene, Sequence[Path]]]) -> str:
    """Write a page that stands alone, light or dark as its reader likes, with every figure and links to its files."""
    cards = "\n".join(_card(*item) for item in shown)
    count = f"{len(shown)} figure{'s' * (len(shown) != 1)}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>Figures of the notes</title>
<style>
{_STYLE}
</style>
</head>
<body>
<header><h1>Figures of the notes</h1><p>{count}, made from running code by <code>lamina figures</code>.</p></header>
<main>
{cards}
</main>
</body>
</html>
"""


def _card(figure: Figure, scene: Scene, files: Sequence[Path]) -> str:
    links = " ".join(
        f'<a href="{escape(path.name)}" title="{escape(path.name)}">{path.suffix[1:].upper()}</a>' for path in files
    )
    return (
        f'<figure id="{escape(figure.file)}"><div class="drawing">{svg(scene, "page")}</div>'
        f"<figcaption><b>{escape(figure.label)}</b> {escape(figure.title)}"
        f'<span class="ids">{escape(", ".join(figure.ids))}</span><span class="files">{links}</span>'
        "</figcaption></figure>"
    )


_STYLE = f"""
{math_faces()}
:root {{ color-scheme: light dark; {variables("light")} --back: #f3f4f6; }}
@media (prefers-color-scheme: dark) {{ :root {{ {variables("dark")} --back: #0e1014; }} }}
body {{ margin: 0; font: 16px/1.45 system-ui, sans-serif; color: var(--lamina-ink); background: var(--back); }}
header {{ padding: 2rem 2rem 0; max-width: 110rem; margin: auto; }}
h1 {{ margin: 0; font-size: 1.6rem; }}
header p {{ margin: .3rem 0 0; color: var(--lamina-muted); }}
main {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(min(32rem, 100%), 1fr));
  gap: 1.2rem; padding: 1.5rem 2rem 3rem; max-width: 110rem; margin: auto; }}
figure {{ margin: 0; background: var(--lamina-paper); border: 1px solid var(--lamina-grid); border-radius: 10px;
  display: flex; flex-direction: column; overflow: hidden; }}
.drawing {{ flex: 1; display: flex; align-items: center; justify-content: center; padding: 1rem; }}
.drawing svg {{ max-width: 100%; max-height: 24rem; height: auto; }}
figcaption {{ padding: .7rem 1rem; border-top: 1px solid var(--lamina-grid); font-size: .92rem; display: flex;
  flex-wrap: wrap; gap: .2rem .6rem; align-items: baseline; }}
.ids {{ color: var(--lamina-muted); font-size: .82rem; }}
.files {{ margin-left: auto; font-size: .82rem; }}
a {{ color: var(--lamina-line1); text-decoration: none; }}
a:hover, a:focus-visible {{ text-decoration: underline; }}
@media print {{ body {{ background: none; }} figure {{ break-inside: avoid; }} }}
"""
