"""Words and small formulas."""

import pytest

from lamina._errors import ArgumentError
from lamina.drawing.scene import (
    Text,
)
from lamina.drawing.text import latex, layout, width


def test_scripts_are_smaller_raised_and_stacked():
    base, below, above = layout("$y_1^{[0]}$", 10.0)
    assert (base.text, below.text, above.text) == ("y", "1", "[0]")
    assert base.size == pytest.approx(11.8)  # a formula is larger than words by 1.18
    assert below.size == above.size == pytest.approx(0.7 * 11.8)
    assert (below.rise, above.rise) == (pytest.approx(-0.32 * 11.8), pytest.approx(0.48 * 11.8))
    assert below.x == pytest.approx(above.x, abs=0.5)
    assert layout("$y_{n_0}$", 10.0)[-1].size == pytest.approx(0.49 * 11.8)  # a script of a script
    assert [run.rise for run in layout("$a_1 b^2$", 10.0)] == pytest.approx([0, -0.2 * 11.8, 0, 0.4 * 11.8])


def test_a_script_above_another_one_does_not_touch_it():
    _, below, above = layout("$y_1^{[0]}$", 10.0)
    # KaTeX_Main: a digit is 0.666 high, a bracket reaches 0.25 below the baseline; a point of 10 px is one pixel.
    assert (above.rise - 0.25 * above.size) - (below.rise + 0.666 * below.size) > 1.5


def test_formulas_have_the_widths_of_the_math_fonts():
    # KaTeX_Math-Italic: W is 0.94445 wide; KaTeX_Main: a parenthesis is 0.389, a digit 0.5; DejaVu Sans: a digit 0.636.
    assert width("$W$", 10.0) == pytest.approx(0.944 * 11.8, abs=0.01)
    assert width("$(1)$", 10.0) == pytest.approx((2 * 0.389 + 0.5) * 11.8, abs=0.01)
    assert width(r"$\mathsf{1}$", 10.0) == width("1", 10.0) == pytest.approx(6.36, abs=0.01)
    assert [run.math for run in layout(r"loss $L$ $\mathsf{5}$")] == [False, True, False]


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
