import math

import pytest

from lamina._errors import ArgumentError
from lamina.drawing.collisions import overlaps
from lamina.drawing.colors import DARK, LIGHT, css, resolve, variables
from lamina.drawing.scene import (
    Circle,
    Path,
    Picture,
    Polygon,
    Rectangle,
    Scene,
    Stroke,
    Text,
    arrow_parts,
    beside,
    box,
    fitted,
    outline,
    stacked,
    text_box,
)
from lamina.drawing.table import TABLE, drawing
from lamina.drawing.text import latex, layout, width

EVERY = (
    Circle((10, 10), 4),
    Rectangle((1, 2), (3, 4), stroke=Stroke(width=2, dash=(2, 1)), radius=1),
    Polygon(((0, 0), (2, 0), (1, 2))),
    Path(((0, 0), (5, 5)), arrow="both"),
    Text((3, 3), "word", 10),
    Picture((0, 0), (2, 2), [[0, 255]]),
)


def test_scaling_and_moving_undo_each_other():
    scene = Scene(40, 30, EVERY, "all shapes")
    there = scene.scaled(2).moved(7, -3)
    back = there.moved(-7, 3).scaled(0.5)
    assert back == scene
    assert there.width == 80
    assert there.shapes[1] == Rectangle((9, 1), (6, 8), stroke=Stroke(width=4, dash=(4, 2)), radius=2)
    assert there.shapes[4] == Text((13, 3), "word", 20)


def test_a_fitted_scene_is_as_large_as_its_shapes_and_margins():
    scene = fitted(
        [Rectangle((5, 5), (10, 20), stroke=Stroke(width=2)), Circle((40, 15), 10, stroke=None)], title="two"
    )
    assert (scene.width, scene.height) == (46 + 16, 22 + 16)
    assert scene.shapes[0].corner == (9, 9)


def test_scenes_stand_beside_and_below_each_other():
    one = fitted([Circle((0, 0), 10, stroke=None)], title="one", margin=0)
    two = fitted([Circle((0, 0), 20, stroke=None)], title="two", margin=0)
    row = beside(one, two, gap=5)
    assert (row.width, row.height, row.title) == (65, 40, "one; two")
    assert [s.center for s in row.shapes] == [(10, 20), (45, 20)]
    assert beside(one, two, align="top").shapes[0].center == (10, 10)
    column = stacked(one, two, gap=5, align="right")
    assert [s.center for s in column.shapes] == [(30, 10), (20, 45)]


def test_text_boxes_follow_anchor_angle_and_size():
    left, top, right, bottom = text_box(Text((0, 0), "Hj", 10))
    assert (left, right) == (0, pytest.approx(10 * (1540 + 569) / 2048))  # the widths of H and j in DejaVu Sans
    assert bottom == pytest.approx(3.6 + 2.4)
    assert text_box(Text((0, 0), "Hj", 10, anchor="end"))[2] == pytest.approx(0)
    turned = text_box(Text((0, 0), "Hj", 10, angle=90))
    assert turned == pytest.approx((top, -right, bottom, left))


def test_scripts_are_smaller_raised_and_stacked():
    base, below, above = layout("$y_1^{[0]}$", 10.0)
    assert (base.text, below.text, above.text) == ("y", "1", "[0]")
    assert below.size == above.size == pytest.approx(7)
    assert (below.rise, above.rise) == (pytest.approx(-2.2), pytest.approx(4))
    assert below.x == pytest.approx(above.x, abs=0.5)
    assert layout("$y_{n_0}$", 10.0)[-1].size == pytest.approx(4.9)  # a script of a script


def test_formulas_read_the_letters_of_the_notes():
    runs = layout(r"$\sigma(W y + b) \leq \mathscr{L}, \tilde{h} \odot \Gamma_u$", 10.0)
    assert "".join(run.text for run in runs) == "σ(Wy+b)≤ℒ,h\u02dc⊙Γu"
    assert [run.italic for run in runs[:2]] == [True, False]
    assert width("$a = b$") > width("$a{=}b$".replace("{=}", "")) + width("$=$")  # operators have air around them


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("$x", "close each formula with a dollar"),
        (r"$\frac{1}{2}$", r"'\\frac' is not known"),
        ("$x_{1$", "a brace is not closed"),
        ("$x_$", "it ends too early"),
        ("$x_1_2$", "a second '_', or one after an operator"),
        (r"$\mathrm x$", "upright words need braces"),
        ("$a & b$", "'&' has no meaning there"),
    ],
)
def test_formulas_that_cannot_be_drawn_are_refused(content, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        Text((0, 0), content)


def test_latex_escapes_words_and_keeps_formulas():
    assert latex(r"50 % & $y_1 \leq \mathbb{R}$ × σ") == (
        r"50 \% \& $y_1 \leq \mathbf{R}$ \ensuremath{\times} \ensuremath{\sigma}"
    )
    assert latex(r"5 \$") == r"5 \$"


def test_colors_mix_with_the_paper_of_their_theme():
    assert resolve("input!25") == "#bfe6bf"
    assert resolve("hidden!0!output") == LIGHT["output"]
    assert resolve("#ABCDEF", "dark") == "#abcdef"
    assert resolve("ink!0", "dark") == DARK["paper"]
    assert set(LIGHT) == set(DARK)
    assert css("input!25") == "color-mix(in srgb, var(--lamina-input, #009900) 25%, var(--lamina-paper, #ffffff))"
    assert "--lamina-hidden: #7d9bff;" in variables("dark")


@pytest.mark.parametrize("color", ["purple", "input!", "#12", "input!20!nobody"])
def test_unknown_colors_are_refused(color):
    with pytest.raises(ArgumentError, match="`color` must be a role"):
        resolve(color)
    with pytest.raises(ArgumentError, match="`color` must be a role"):
        css(color)


def test_a_mixture_is_at_most_the_whole_color():
    with pytest.raises(ArgumentError, match=r"at most 100 %"):
        resolve("input!120")


def test_arrows_end_at_their_tip_and_point_along_the_line():
    line, (end, start) = arrow_parts(Path(((0, 0), (0, 30)), Stroke(width=1), "both"))
    assert end[0] == (0, 30)
    assert start[0] == (0, 0)
    assert end[1][1] == end[2][1] == pytest.approx(24)  # a head is 6 long for a line of width 1
    assert abs(end[1][0] - end[2][0]) == pytest.approx(4.6)
    assert 0 < line[0][1] < line[1][1] < 30
    curve = Path(((0, 0), (10, 0), (20, 10), (20, 20)), arrow="end", curve=True)
    tip, *sides = arrow_parts(curve)[1][0]
    assert tip == (20, 20)
    assert sides[0][1] == pytest.approx(14)  # it arrives from above


def test_curves_become_short_pieces():
    points = outline(Path(((0, 0), (0, 8), (8, 8), (8, 0)), curve=True), steps=2)
    assert points == [(0, 0), (4, 6), (8, 0)]
    assert box(Path(((0, 0), (0, 8), (8, 8), (8, 0)), Stroke(width=0), curve=True))[3] == 6


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Path(((0, 0),)), "`points` must be at least 2"),
        (lambda: Path(((0, 0), (1, 1), (2, 2)), curve=True), "three points for each piece"),
        (lambda: Picture((0, 0), (1, 1), [[1, 2], [3]]), r"rows of one length, got lengths \[1, 2\]"),
        (lambda: Picture((0, 0), (1, 1), []), "rows of one length"),
        (lambda: Scene(0, 10, (), "flat"), "`width` must be a positive number of points, got 0"),
        (lambda: Scene(10, math.nan, (), "none"), "`height` must be a positive number of points, got nan"),
        (lambda: Scene(1, 1, (), "one").scaled(0), "`factor` must be a positive number, got 0"),
        (lambda: fitted([], title="nothing"), "`shapes` must hold at least 1 shape, got 0"),
        (lambda: drawing("grou"), "Did you mean 'gru'?"),
        (lambda: drawing("gru", widths=(1, 2)), "the drawing 'gru' has no option 'widths': its options are legend"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        make()


def crowd(*shapes):
    return Scene(100, 100, shapes, "a crowd")


def test_overlaps_finds_texts_in_the_way():
    word = Text((50, 50), "word", 12, anchor="middle")
    assert overlaps(crowd(word)) == []
    assert overlaps(crowd(word, Text((60, 52), "other"))) == [("word", "other")]
    assert overlaps(crowd(Text((90, 50), "long word"))) == [("long word", "the edge of the sheet")]
    assert overlaps(crowd(Rectangle((50, 40), (40, 20), None), word)) == [("word", "a rectangle")]
    assert overlaps(crowd(Rectangle((20, 30), (60, 40)), word)) == []
    assert overlaps(crowd(word, Rectangle((20, 30), (60, 40)))) == [("word", "a rectangle")]
    assert overlaps(crowd(Circle((50, 50), 30), word)) == []
    assert overlaps(crowd(Circle((50, 50), 10), word)) == [("word", "a circle")]
    assert overlaps(crowd(Polygon(((50, 0), (100, 100), (50, 100))), word)) == [("word", "a polygon")]
    assert overlaps(crowd(word, Picture((40, 40), (20, 20), [[0]]))) == [("word", "a picture")]


def test_a_filled_shape_shields_a_text_from_what_is_below():
    line, word = Path(((0, 50), (100, 50))), Text((50, 50), "word", 12, anchor="middle")
    assert overlaps(crowd(line, word)) == []
    assert overlaps(crowd(line, word), lines=True) == [("word", "a path")]
    assert overlaps(crowd(line, Rectangle((20, 40), (60, 20)), word), lines=True) == []
    assert overlaps(crowd(line, Rectangle((20, 40), (60, 20), opacity=0.5), word), lines=True) == [("word", "a path")]


@pytest.mark.parametrize("name", TABLE)
def test_nothing_overlaps_in_any_drawing(name):
    assert overlaps(TABLE[name].make(), lines=True) == []
