import numpy as np
import pytest

from lamina.drawing.scene import Circle, Path, Text
from lamina.experiments import figures_curves


def words(scene):
    return [shape.content for shape in scene.shapes if isinstance(shape, Text)]


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


@pytest.mark.notes("N1.51")
def test_descents_end_in_both_minima():
    ends = figures_curves.descents()[-1]
    assert ends.tolist() == pytest.approx([-1.0575, 0.9304], abs=5e-5)
    heights = figures_curves.two_minima_loss(ends)
    assert heights.tolist() == pytest.approx([-1.5148, -0.5167], abs=5e-5)
    assert {"global minimum (−1.06, −1.51)", "local minimum (0.93, −0.52)"} <= set(
        words(figures_curves.local_minimum())
    )


@pytest.mark.notes("N1.79")
def test_or_is_separated_and_xor_is_not():
    weight, bias = figures_curves._or_line()
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


@pytest.mark.notes("N2.53")
def test_cross_entropy_curves_are_mirror_images():
    curves = [s for s in figures_curves.cross_entropy().shapes if isinstance(s, Path) and len(s.points) > 50]
    one, zero = (np.array(curve.points) for curve in curves)
    np.testing.assert_allclose(one[:, 1], zero[::-1, 1])
    np.testing.assert_allclose(np.diff(one[:, 0]), np.diff(zero[::-1, 0]) * -1, atol=1e-9)
