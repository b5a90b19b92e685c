"""The drawings of the page tools/playground: numbers by hand, and what the notes say of them."""

from lamina.pages.chapters.tools._shared import command, duration
from lamina.pages.chapters.tools.playground._drawing import answers, curves, links


def test_what_a_visitor_named_is_escaped():
    assert "<b>" not in command("lamina train fnn --data '<b>.csv'").text
    shown = answers([{"values": {"<b>": "<i>"}, "truth": "<u>", "answer": "x", "sure": 0.5}]).text
    assert not any(word in shown for word in ("<b>", "<i>", "<u>")) and "x (50%)" in shown
    assert "run.zip" in links("abc", True).text and "run.zip" not in links("abc", False).text


def test_curves_of_nothing_and_of_one_epoch_can_be_drawn():
    for history in ([], [(1, 0.5, None, None, None)]):
        assert len(curves({"epochs": 2, "score": "", "history": history})) == 2
    assert duration(119) == "119 s"
