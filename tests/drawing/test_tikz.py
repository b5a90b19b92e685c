import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from lamina.drawing._raster import raster
from lamina.drawing._tikz import SIDE, tikz
from lamina.drawing.scene import Circle, Path, Picture, Polygon, Rectangle, Scene, Stroke, Text
from lamina.drawing.table import TABLE

ALL = Scene(
    300,
    140,
    (
        Rectangle((5, 5), (290, 130), "stage!10", Stroke("stage", 1), 8),
        Circle((40, 40), 20, "input!25", Stroke("input!60!ink", 1.5)),
        Text((40, 40), "$y_1^{[0]}$", 12, anchor="middle"),
        Path(((60, 40), (120, 40)), Stroke("arrow", 1.2, (4, 3)), "both"),
        Path(((40, 20), (60, 10), (100, 10), (120, 30)), Stroke("accent", 1.2, opacity=0.5), "end", curve=True),
        Polygon(((130, 20), (170, 20), (150, 55)), "pooling!40", Stroke("pooling", 1.5)),
        Rectangle((180, 20), (40, 35), "dense", None, opacity=0.5),
        Picture((230, 20), (40, 40), [[(255, 0, 0), (0, 255, 0)], [(0, 0, 255), (90, 90, 90)]]),
        Text((20, 80), r"$h^{<t>} = \Gamma_u \odot \tilde{h}^{<t>}$, 50 % & \$ of σ × ∂ℒ", 12),
        Text((280, 105), "bold end", 12, "output", "end", bold=True),
        Text((20, 120), "turned", 10, angle=30),
    ),
    "all shapes",
)


def test_source_defines_its_colors_and_keeps_the_texts():
    source = tikz(ALL)
    assert r"\definecolor{laminaInput25}{HTML}{BFE6BF}" in source
    assert r"\filldraw[fill=laminaInput25, draw=laminaInput60Ink, line width=1.5bp, line join=round] (40,40)" in source
    assert r"\node[anchor=base, text=laminaInk, scale=1.2] at (40,44.32) {$y_1^{[0]}$};" in source
    assert "scale=1.28, font=\\bfseries\\boldmath] at (280,109.32) {bold end};" in source
    assert "dash pattern=on 4bp off 3bp" in source
    assert ".. controls (60,10) and (100,10) .. (120,30);" in source
    assert "rotate=30" in source
    assert r"\fill[fill={rgb,255:red,0;green,255;blue,0}] (250,20) rectangle (270,40);" in source
    assert source.count(r"\begin{document}") == 1
    assert r"\documentclass" not in tikz(ALL, standalone=False)


def test_an_odd_dash_pattern_is_repeated_and_dark_paper_is_painted():
    source = tikz(Scene(9, 9, (Path(((0, 0), (9, 9)), Stroke(dash=(3,))),), "dashes"), theme="dark")
    assert "dash pattern=on 3bp off 3bp" in source
    assert r"\fill[laminaPaper] (0,0) rectangle (9,9);" in source


def test_large_pictures_are_averaged_and_runs_are_joined():
    rows = [[0.0] * (2 * SIDE) for _ in range(2 * SIDE)]
    rows[0][0] = 255.0
    source = tikz(Scene(99, 99, (Picture((0, 0), (64, 64), rows),), "large"))
    assert source.count(r"\fill") == SIDE + 1  # a row each, and the corner apart
    assert "red,64;green,64;blue,64" in source  # the mean of 255 and three zeros


def compiled(folder, name, source):
    for program in ("pdflatex", "pdftoppm"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    (folder / f"{name}.tex").write_text(source)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]
    subprocess.run(["pdftoppm", "-r", "72", "-gray", f"{name}.pdf", name], cwd=folder, check=True, timeout=300)
    return [np.asarray(Image.open(path), dtype=float) for path in sorted(folder.glob(f"{name}-*.pgm"))]


def ours(folder, scene):
    path = folder / "ours.png"
    path.write_bytes(raster(scene, "png", dpi=72))
    return np.asarray(Image.open(path).convert("L"), dtype=float)


def coarse(picture, cell=8):
    """Average the ink over cells of 8 points: fonts differ, places do not."""
    high, wide = (size // cell * cell for size in picture.shape)
    cells = 255 - picture[:high, :wide]
    return cells.reshape(high // cell, cell, wide // cell, cell).mean((1, 3))


def same_picture(theirs, mine):
    assert abs(theirs.shape[0] - mine.shape[0]) <= 1
    assert abs(theirs.shape[1] - mine.shape[1]) <= 1
    high, wide = (min(a, b) for a, b in zip(theirs.shape, mine.shape, strict=True))
    one, two = coarse(theirs[:high, :wide]), coarse(mine[:high, :wide])
    for axis in (0, 1):  # the same rows and columns hold ink
        here, there = (np.flatnonzero(ink.max(1 - axis) > 8) for ink in (one, two))
        assert abs(here[0] - there[0]) <= 1
        assert abs(here[-1] - there[-1]) <= 1
    assert np.abs(one - two).mean() < 6
    assert np.corrcoef(one.ravel(), two.ravel())[0, 1] > 0.93


@pytest.mark.slow
def test_a_standalone_document_compiles_to_the_same_picture(tmp_path):
    pages = compiled(tmp_path, "all", tikz(ALL))
    assert len(pages) == 1
    same_picture(pages[0], ours(tmp_path, ALL))


@pytest.mark.slow
def test_every_drawing_compiles_to_the_same_picture(tmp_path):
    scenes = [drawing.make() for drawing in TABLE.values()]
    lines = [r"\documentclass{article}", r"\usepackage{tikz}", r"\usetikzlibrary{arrows.meta}"]
    lines += [r"\hoffset=-1in \voffset=-1in", r"\begin{document}"]
    for scene in scenes:
        lines += [rf"\pdfpagewidth={scene.width:.2f}bp \pdfpageheight={scene.height:.2f}bp", r"\shipout\hbox{%"]
        lines += [tikz(scene, standalone=False), "}"]
    pages = compiled(tmp_path, "every", "\n".join([*lines, r"\end{document}"]))
    assert len(pages) == len(scenes)
    for scene, page in zip(scenes, pages, strict=True):
        same_picture(page, ours(tmp_path, scene))
