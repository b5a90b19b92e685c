"""The drawings of the page tools/playground: numbers by hand, and what the notes say of them."""

from lamina.drawing.scene import Text
from lamina.pages.chapters.tools._shared import command, duration
from lamina.pages.chapters.tools.playground._drawing import answers, curves, links, looked_at
from lamina.pages.chapters.tools.playground._own_data import Preview


def test_what_a_visitor_named_is_escaped():
    assert "<b>" not in command("lamina train fnn --data '<b>.csv'").text
    shown = answers([{"values": {"<b>": "<i>"}, "truth": "<u>", "answer": "x", "sure": 0.5}]).text
    assert not any(word in shown for word in ("<b>", "<i>", "<u>")) and "x (50.0%)" in shown
    assert "run.zip" in links("abc", True).text and "run.zip" not in links("abc", False).text


def test_curves_of_nothing_and_of_one_epoch_can_be_drawn():
    for history in ([], [(1, 0.5, None, None, None)]):
        assert len(curves({"epochs": 2, "score": "", "history": history})) == 2
    assert duration(119) == "119 s"


def test_the_epoch_that_is_kept_is_marked_in_both_pictures():
    history = [(1, 0.7, 0.6, 3.0, 2.5), (2, 0.5, 0.4, 2.0, 1.5), (3, 0.3, 0.5, 1.0, 1.75)]
    for scene in curves({"epochs": 3, "score": "rmse", "target": "price", "history": history}):
        words = [shape.content for shape in scene.shapes if isinstance(shape, Text)]
        assert "kept: epoch 2" in words
    assert scene.title == "RMSE in units of price"


def test_what_was_uploaded_is_shown_as_what_it_is():
    text = "".join(block.text for block in looked_at(Preview("9 characters", rows=(("<b>to be",),))))
    assert "<pre" in text and "&lt;b&gt;to be" in text and "9 characters" in text
    series = Preview("2 rows", ("high",), (("1",), ("2",)), curves=(("high", (1.0, None, 2.0)),))
    assert [("<svg" in block.text, "<table" in block.text) for block in looked_at(series)] == [
        (True, False),
        (False, True),
    ]
    shown = looked_at(Preview("1 picture", pictures=(("cat", "iVBO"),)))[0].text
    assert "data:image/png;base64,iVBO" in shown and "cat" in shown and "✓" not in shown, "nobody was asked"
