"""Every figure of the notes: it exists, its numbers are those of the catalogue, and nothing in it overlaps."""

import json
from itertools import pairwise

import numpy as np
import pytest
import torch

from lamina._catalogue import items
from lamina._errors import ArgumentError, RunError
from lamina.data.load import digits
from lamina.drawing.collisions import overlaps
from lamina.drawing.scene import Circle, Path, Picture, Rectangle, Text
from lamina.experiments import block_histories, figures_curves, figures_data, figures_runs
from lamina.experiments.figures import FIGURES, chosen, first_input_shares
from lamina.experiments.figures_sheet import contact_sheet, write_figures


def words(scene):
    return [shape.content for shape in scene.shapes if isinstance(shape, Text)]


def named(scene, name):
    return [shape for shape in scene.shapes if getattr(shape, "title", "") == name]


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


@pytest.mark.notes("N1.09")
def test_activations_have_the_axes_of_the_notes_and_an_open_jump():
    scene = figures_curves.activation_panels()
    titles = [w for w in words(scene) if w.startswith("(")]
    assert [t[:3] for t in titles] == ["(a)", "(b)", "(c)", "(d)", "(e)"] and "0.1" in titles[4]
    jump = [s for s in scene.shapes if isinstance(s, Path) and s.stroke.color == "line1"][:2]
    assert jump[0].points[0][1] == jump[0].points[1][1] > jump[1].points[0][1] == jump[1].points[1][1]
    ring, dot = [s for s in scene.shapes if isinstance(s, Circle)]
    assert ring.fill == "paper" and dot.fill == "line1" and dot.center[1] < ring.center[1]  # H(0) = 1


@pytest.mark.notes("N2.48")
def test_sigmoid_plot():
    line = max((s for s in figures_curves.sigmoid_plot().shapes if isinstance(s, Path)), key=lambda s: len(s.points))
    ys = [y for _, y in line.points]
    assert ys == sorted(ys, reverse=True) and ys[100] == pytest.approx((ys[0] + ys[-1]) / 2)


@pytest.mark.notes("N1.34")
def test_kmeans_never_gets_worse_from_panel_to_panel():
    points, steps = figures_data.kmeans_steps()
    values = [step.distortion.item() for step in steps]
    assert all(b <= a for a, b in pairwise(values)) and values[3] < 0.8 * values[0]
    assert not torch.equal(steps[0].labels, steps[2].labels)  # the second assignment is another one
    scene = figures_data.kmeans_panels()
    assert len({w for w in words(scene) if w.startswith("(")}) == 6
    crosses = [s for s in scene.shapes if isinstance(s, Path) and s.stroke.color == "line2"]
    assert len(crosses) == 5 * 2 and len(points) == 60


@pytest.mark.notes("N1.51")
def test_descents_end_in_both_minima():
    ends = figures_curves.descents()[-1]
    assert ends.tolist() == pytest.approx([-1.0575, 0.9304], abs=5e-5)
    heights = figures_curves.two_minima_loss(ends)
    assert heights.tolist() == pytest.approx([-1.5148, -0.5167], abs=5e-5)
    assert {"global minimum (−1.06, −1.51)", "local minimum (0.93, −0.52)"} <= set(
        words(figures_curves.local_minimum())
    )


@pytest.mark.notes("N1.54")
def test_polynomials_have_the_errors_of_the_catalogue():
    found = figures_data.polynomial_fits()
    assert found.training[:3] == pytest.approx((0.328, 0.263, 0.060), abs=5e-4) and found.training[3] < 1e-18
    assert found.test == pytest.approx((0.282, 0.153, 0.053, 0.137), abs=5e-4)
    captions = [w for w in words(figures_data.polynomial_panels()) if "test error" in w]
    assert captions[0] == "training error 0.328, test error 0.282" and len(captions) == 4


@pytest.mark.notes("N1.60")
def test_bias_falls_variance_rises_and_the_best_degree_is_marked():
    scene = figures_data.bias_variance()
    assert "best: degree 3" in words(scene)
    total = [y for _, y in named(scene, "their sum")[0].points]
    assert total.index(max(total)) == 3  # y points down
    variance = [y for _, y in named(scene, "variance")[0].points]
    assert variance == sorted(variance, reverse=True)


@pytest.mark.notes("N1.79")
def test_or_is_separated_and_xor_is_not():
    weight, bias = figures_curves.or_line()
    values = {(u, v): weight[0] * u + weight[1] * v + bias for u in (0, 1) for v in (0, 1)}
    assert [values[p] > 0 for p in ((0, 0), (1, 0), (0, 1), (1, 1))] == [False, True, True, True]
    assert min(map(abs, values.values())) >= 0.5  # the line keeps away from the points
    assert words(figures_curves.separability()).count("separating line") == 1


@pytest.mark.notes("N1.79")
def test_the_panels_show_the_truth_tables_of_or_and_xor():
    """A dot where the value is 1 and a ring where it is 0, at the corners of each panel's unit square."""
    spots = [s for s in figures_curves.separability().shapes if isinstance(s, Circle)]
    legend = min(s.center[1] for s in spots)
    spots = sorted((s for s in spots if s.center[1] > legend), key=lambda s: s.center[0])
    assert len(spots) == 8
    for panel, ones in ((spots[:4], {(0, 1), (1, 0), (1, 1)}), (spots[4:], {(0, 1), (1, 0)})):
        left, low = min(s.center[0] for s in panel), max(s.center[1] for s in panel)  # y points down
        places = {(s.center[0] > left + 1, s.center[1] < low - 1): s.fill for s in panel}
        assert places == {(u, v): "line2" if (u, v) in ones else "paper" for u in (0, 1) for v in (0, 1)}


@pytest.mark.notes("N2.41")
def test_batch_normalization_gives_mean_zero_and_deviation_one():
    before, after = figures_data.batch_norm_example()
    assert before.mean(0).tolist() == pytest.approx([3.0, 0.8, -2.0], abs=0.1)
    assert after.mean(0).abs().max() < 1e-12 and (after.var(0, correction=0) - 1).abs().max() < 1e-4
    assert words(figures_data.batch_norm_histograms()).count("mean 0.0, deviation 1.0") == 3


@pytest.mark.notes("N2.53")
def test_cross_entropy_curves_are_mirror_images():
    curves = [s for s in figures_curves.cross_entropy().shapes if isinstance(s, Path) and len(s.points) > 50]
    one, zero = (np.array(curve.points) for curve in curves)
    np.testing.assert_allclose(one[:, 1], zero[::-1, 1])
    np.testing.assert_allclose(np.diff(one[:, 0]), np.diff(zero[::-1, 0]) * -1, atol=1e-9)


@pytest.mark.notes("N2.58")
def test_digits_show_one_seven_and_ten_of_each():
    data = digits()
    seven, grid = figures_data.handwritten_samples(data)
    assert torch.equal(seven, grid[70]) and len(grid) == 100
    for place, picture in enumerate(grid):
        labels = data.targets[(data.inputs[:, 0] == picture).all(-1).all(-1)]
        assert place // 10 in labels.tolist()
    pictures = [s for s in figures_data.handwritten_digits().shapes if isinstance(s, Picture)]
    assert len(pictures) == 101
    assert pictures[0].pixels == [[255 - int(v) for v in row] for row in seven]


@pytest.mark.notes("N3.44")
def test_blur_of_a_constant_picture_is_darker_at_the_border():
    found = figures_data.blurred(torch.ones(3, 9, 9, dtype=torch.float64))
    assert found.shape == (3, 9, 9)
    assert found[:, 0, 0].tolist() == pytest.approx([0.36] * 3)
    assert found[:, 0, 4].tolist() == found[:, 4, 0].tolist() == pytest.approx([0.6] * 3)
    assert found[0, 2:-2, 2:-2].flatten().tolist() == pytest.approx([1.0] * 25)
    picture = figures_data.landscape_picture()
    shown = [s for s in figures_data.blur().shapes if isinstance(s, Picture)]
    expected = (figures_data.blurred(picture) * 255).round().int()
    assert shown[1].pixels[0][0] == expected[:, 0, 0].tolist()


@pytest.mark.notes("N4.27")
def test_stored_histories_of_both_blocks():
    original, other = block_histories.stored()
    assert (original.name, other.name) == ("original", "preactivation")
    assert original.steps == other.steps and original.steps[-1] == 300
    settings = json.loads(block_histories.STORED.read_text())["settings"]
    assert (settings["depth"] - 2) % 6 == 0 and settings["depth"] >= 100
    assert other.losses[-1] < 0.1 * original.losses[-1] and other.errors[-1] < original.errors[-1]
    reached = [next(s for s, e in zip(h.steps, h.errors, strict=True) if e < 20) for h in (original, other)]
    assert reached[1] < reached[0] / 3
    scene = figures_runs.deep_blocks()
    dashes = {s.title: (s.stroke.color, bool(s.stroke.dash)) for s in scene.shapes if isinstance(s, Path) and s.title}
    assert dashes == {
        "original block: training loss": ("line1", True),
        "original block: test error": ("line1", False),
        "pre-activation block: training loss": ("line3", True),
        "pre-activation block: test error": ("line3", False),
    }


@pytest.mark.notes("N4.27")
def test_the_experiment_of_figure_30_runs_and_repeats():
    first, again = (block_histories.compute("preactivation", depth=8, width=0.25, epochs=2) for _ in range(2))
    assert first == again and first.steps == (10, 20)
    assert first.losses[1] < first.losses[0]


@pytest.mark.slow
@pytest.mark.notes("N4.27")
def test_the_stored_curves_can_be_computed_again():
    for kept in block_histories.stored():
        found = block_histories.compute(kept.name)
        assert found.steps == kept.steps
        assert found.errors[-1] == pytest.approx(kept.errors[-1], abs=6)
        assert found.losses[0] == pytest.approx(kept.losses[0], rel=0.05)


def test_figure_30_needs_two_runs_with_labels(tmp_path):
    with pytest.raises(ArgumentError, match="Fig. 30 compares 2 runs, .* got 1: name both folders"):
        figures_runs.deep_blocks([tmp_path])
    with pytest.raises(RunError, match="not the folder of a run"):
        figures_runs.deep_blocks([tmp_path, tmp_path])
    with pytest.raises(RunError, match="the history of a has 0 rows with a loss and an accuracy"):
        block_histories.history("a", [{"step": 1, "loss": 0.5}])


@pytest.mark.notes("N5.29")
def test_shading_is_measured_and_fades():
    shares = first_input_shares()
    assert len(shares) == 7 and shares[0] == 1 and all(b < 0.7 * a for a, b in pairwise(shares))
    scene = FIGURES["37"].make()
    fills = [s.fill for s in scene.shapes if isinstance(s, Circle) and s.title.startswith("h<")]
    strength = [0 if fill == "paper" else int(fill.split("!")[1]) if "!" in fill else 100 for fill in fills]
    assert strength == [round(100 * share) for share in shares]


def test_pages_show_figures_with_their_files(tmp_path):
    told = []
    files = write_figures(chosen("13,sigmoid"), tmp_path / "new", ["svg", "tex"], told.append)
    assert [f.name for f in files] == [
        "figure-13.svg", "figure-13.tex", "sigmoid.svg", "sigmoid.tex", "index.html",
    ]  # fmt: skip
    assert [figure.name for figure in told] == ["13", "sigmoid"]
    page = files[-1].read_text()
    assert 'href="figure-13.tex"' in page and "N2.53" in page and "Fig. 13" in page and page.count("<svg") == 2
    assert "prefers-color-scheme: dark" in page and "http://" not in page.replace("http://www.w3.org", "")
    assert "<script" not in page and str(tmp_path) not in page
    assert "1 figure, " in contact_sheet([(FIGURES["13"], FIGURES["13"].make(), [])])


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
