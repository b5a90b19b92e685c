"""Roles, mixtures and themes."""

import pytest

from lamina._errors import ArgumentError
from lamina.drawing.colors import (
    DARK,
    LIGHT,
    ROLES,
    contrast,
    css,
    letters_on,
    readable,
    resolve,
    variables,
)


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


def test_letters_stand_out():
    """Black on white has 21 : 1; WCAG wants 4.5 for texts."""
    for role in ROLES:
        if role == "paper":
            continue  # no color of letters
        for theme, sheet in (("light", "#ffffff"), ("light", "#f6f6f3"), ("dark", "#181c20")):
            assert contrast(resolve(readable(role), theme), sheet) >= 4.5, (role, theme)
    assert readable("hidden") == "hidden" and readable("hidden!30") == "hidden!30" and readable("#777777") == "#777777"
    assert readable("accent") != "accent", "4.07 on white is too little"
    grays = [f"#{v:02x}{v:02x}{v:02x}" for v in range(256)]
    assert min(contrast(letters_on(gray), gray) for gray in grays) > 4.5
    assert letters_on("#777777") == "#000000" and letters_on("#757575") == "#ffffff"
