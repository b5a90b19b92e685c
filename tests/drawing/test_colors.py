"""Roles, mixtures and themes."""

import pytest

from lamina._errors import ArgumentError
from lamina.drawing.colors import DARK, LIGHT, css, resolve, variables


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
