"""Widths of letters in shares of the font size."""

from lamina.drawing._metrics import BOLD, REGULAR


def test_widths_of_the_font_files():
    # DejaVu Sans: 1303 of 2048 units for a digit, 1425 in bold; an m is wider than an i.
    assert {REGULAR[digit] for digit in "0123456789"} == {1303 / 2048} and BOLD["7"] == 1425 / 2048
    assert REGULAR["m"] == 1995 / 2048 > REGULAR["i"] == 569 / 2048
    assert set("αβγ∂∑→×") <= set(REGULAR) and len(REGULAR) > 300
