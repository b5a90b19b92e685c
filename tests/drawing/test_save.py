"""Files are written by their suffix."""

import struct

import pytest

from lamina._errors import ArgumentError
from lamina.drawing.save import _rendered, save
from lamina.drawing.scene import Circle, Scene
from lamina.drawing.svg import svg


def test_files_are_written_by_their_suffix(tmp_path):
    scene = Scene(10, 10, (Circle((5, 5), 4),), "a disc")
    path = save(scene, tmp_path / "new" / "disc.SVG", "dark")
    assert path.read_text() == svg(scene, "dark")
    assert save(scene, tmp_path / "disc.tex").read_text().startswith("% a disc\n\\documentclass")
    assert save(scene, tmp_path / "disc.pdf").read_bytes().startswith(b"%PDF")
    assert save(scene, tmp_path / "disc.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ArgumentError, match=r"`path` must end in one of .svg, .tex, .pdf, .png, got 'disc.jpg'"):
        save(scene, "disc.jpg")
    with pytest.raises(ArgumentError, match=r"`theme` 'page' must be written as .svg, got .pdf"):
        _rendered(scene, ".pdf", "page", 2.0)


def test_a_png_has_the_scale_that_is_asked_for(tmp_path):
    scene = Scene(40, 30, (Circle((5, 5), 4),), "a disc")
    files = [save(scene, tmp_path / f"{scale}.png", scale=scale).read_bytes() for scale in (0.5, 2.0, 3.0)]
    sizes = [struct.unpack(">II", data[16:24]) for data in files]  # width and height in the head of a PNG
    assert sizes == [(20, 15), (80, 60), (120, 90)]
    with pytest.raises(ArgumentError, match=r"`scale` must be .*0.25.*20.*got 21"):
        save(scene, tmp_path / "huge.png", scale=21)
