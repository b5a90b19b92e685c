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
