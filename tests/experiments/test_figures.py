"""Every figure of the notes: it exists, its numbers are those of the catalogue, and nothing in it overlaps."""

from itertools import pairwise

import pytest

from lamina._catalogue import items
from lamina._errors import ArgumentError
from lamina.drawing._collisions import overlaps
from lamina.drawing.scene import Circle, Rectangle, Text
from lamina.drawing.unrolled import STRONGEST
from lamina.experiments import figures_data
from lamina.experiments.figures import FIGURES, chosen, first_input_shares
from lamina.experiments.figures_sheet import write_figures


def words(scene):
    return [shape.content for shape in scene.shapes if isinstance(shape, Text)]


@pytest.fixture(autouse=True)
def _only_embedded_data(monkeypatch, tmp_path):
    """Draw Fig. 14 from the embedded digits, whatever lies on this machine."""
    monkeypatch.setenv("LAMINA_DATA", str(tmp_path / "nothing"))
    monkeypatch.setattr(figures_data, "find", lambda name: None)


def test_all_figures_of_the_catalogue_are_there():
    assert list(FIGURES) == [*map(str, range(1, 40)), "sigmoid", "dice-values", "dice-probabilities"]
    rows = items()
    for figure in FIGURES.values():
        row = rows[figure.ids[0]]
        assert "figure" in row.kind
        assert not figure.name.isdigit() or row.place.endswith(f"Fig. {figure.name}"), figure
    wanted = {row.id for row in rows.values() if "figure" in row.kind}
    assert wanted == {figure.ids[0] for figure in FIGURES.values()}


@pytest.mark.parametrize("name", list(FIGURES))
def test_every_figure_can_be_read(name):
    scene = FIGURES[name].make()
    assert overlaps(scene) == [] and scene.title
    assert len(scene.shapes) > 3
    small = min(shape.size for shape in scene.shapes if isinstance(shape, Text)) if words(scene) else 99
    assert small >= 8.0, "too small to be read at half size"
    assert scene == FIGURES[name].make()  # seeded: the same picture every time


@pytest.mark.notes("N5.29")
def test_shading_is_measured_and_fades():
    shares = first_input_shares()
    assert len(shares) == 7 and shares[0] == 1 and all(b < 0.7 * a for a, b in pairwise(shares))
    scene = FIGURES["37"].make()
    fills = [s.fill for s in scene.shapes if isinstance(s, Circle) and s.title.startswith("h<")]
    strength = [0 if fill == "paper" else int(fill.split("!")[1]) if "!" in fill else 100 for fill in fills]
    assert strength == [round(STRONGEST * share) for share in shares]


def test_bad_choices_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match="must name figures from 1 to 39 or sigmoid, .* got '40'"):
        chosen("40")
    with pytest.raises(ArgumentError, match="got '9-3'"):
        chosen("9-3")
    with pytest.raises(ArgumentError, match="must name at least 1 figure, got ' ,'"):
        chosen(" ,")
    with pytest.raises(ArgumentError, match="`formats` must be one or more of svg, tex, pdf, png, got gif"):
        write_figures([], tmp_path, ["gif"])
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match="figures must be written to a folder, .* choose another with -o"):
        write_figures(chosen("13"), tmp_path / "file", ["svg"])
    assert [f.name for f in chosen("03, 7 ,7")] == ["3", "7"]


def test_windows_frames_are_drawn():
    assert sum(isinstance(s, Rectangle) for s in FIGURES["19"].make().shapes) >= 3
