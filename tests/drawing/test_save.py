"""Files are written by their suffix."""

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
        _rendered(scene, ".pdf", "page")
