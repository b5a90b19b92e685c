"""The square to draw in: its ink as numbers."""

import base64

from lamina.pages import kit


def ink(values, side):
    return {"ink": base64.b64encode(bytes(values)).decode(), "side": side}


def test_ink_goes_from_0_to_1_row_by_row():
    assert kit.strokes(ink([0, 255, 0, 0], 2)).tolist() == [[0.0, 1.0], [0.0, 0.0]]


def test_nothing_drawn_or_half_a_picture_is_no_ink():
    for value in (ink([0] * 4, 2), ink([255] * 3, 2), {}, {"ink": ""}, {"ink": "a"}, {"ink": "ü"}):
        assert kit.strokes(value) is None


def test_the_pad_says_what_to_draw():
    assert kit.digit_pad("Draw a 7").value["label"] == "Draw a 7"
