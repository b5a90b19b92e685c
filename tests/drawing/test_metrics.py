"""Widths of letters in shares of the font size."""

from lamina.drawing._metrics import BOLD, ITALIC, REGULAR, UPRIGHT, math_path


def test_widths_of_the_font_files():
    # DejaVu Sans: 1303 of 2048 units for a digit, 1425 in bold; an m is wider than an i.
    assert {REGULAR[digit] for digit in "0123456789"} == {1303 / 2048} and BOLD["7"] == 1425 / 2048
    assert REGULAR["m"] == 1995 / 2048 > REGULAR["i"] == 569 / 2048
    assert set("αβγ∂∑→×") <= set(REGULAR) and len(REGULAR) > 300


def test_widths_of_the_math_fonts_are_those_of_their_files():
    from fontTools.ttLib import TTFont

    for italic, table in ((True, ITALIC), (False, UPRIGHT)):
        with math_path(italic).open("rb") as file:
            font = TTFont(file)
            widths = {chr(code): font["hmtx"][name][0] / 1000 for code, name in font.getBestCmap().items()}
        assert table == widths
    assert set("abcWαβγ") <= set(ITALIC) and set("0123456789()[]+→∈") <= set(UPRIGHT)
