"""Widgets stay between their ends, whatever a visitor sends."""

import base64

import marimo as mo
import pytest

from lamina.pages.kit import _bounds as bounds


@pytest.fixture(autouse=True)
def _held(monkeypatch):
    """Hold widgets for one test, and let them go."""
    from marimo._plugins.ui._core.ui_element import UIElement

    held = ("slider", "number", "text", "text_area", "file", "checkbox", "switch", "dropdown")
    for kind, name in ((UIElement, "_update"), *((getattr(mo.ui, one), "_convert_value") for one in held)):
        monkeypatch.setattr(kind, name, getattr(kind, name))
    bounds.hold_widgets()
    bounds.hold_widgets()


@pytest.mark.parametrize(
    ("sent", "value"),
    [(7, 7), (1e9, 10), (-1e9, 1), (2.0, 2), ("9", 3), (float("nan"), 3), (float("inf"), 3), (None, 3), (True, 3),
     ({"a": 1}, 3), ([9], 3), (10**400, 3)],
)  # fmt: skip
def test_a_slider_stays_between_its_ends(sent, value):
    slider = mo.ui.slider(1, 10, 1, value=3)
    slider._update(sent)
    assert slider.value == value and type(slider.value) is int


def test_a_slider_of_some_values_has_no_others():
    slider = mo.ui.slider(steps=[1, 10, 100], value=10)
    for sent in (3, -4, "x", None, 1e9):
        slider._update(sent)
        assert slider.value == 10
    slider._update(2)
    assert slider.value == 100


def test_numbers_texts_and_choices():
    number = mo.ui.number(0, 10_000, value=5)
    number._update(1e12)
    assert number.value == 10_000
    number._update(None)
    assert number.value is None, "an empty field"
    text, short = mo.ui.text("a"), mo.ui.text("a", max_length=3)
    text._update("x" * 2_000_000), short._update("abcdef")
    assert len(text.value) == bounds.TEXT and short.value == "abc"
    text._update({"not": "a text"})
    assert len(text.value) == bounds.TEXT
    choice = mo.ui.dropdown(["a", "b"], value="a")
    for sent in (["c"], ["a", "b"], [["a"]], 7, [], None, "", False, {}):
        choice._update(sent)
        assert choice.value == "a" and choice.selected_key == "a"
    free = mo.ui.dropdown(["a", "b"], value="a", allow_select_none=True)
    free._update([])
    assert free.value is None, "where a page allows it"


def test_marks_are_on_or_off():
    for mark in (mo.ui.checkbox(value=True), mo.ui.switch(value=True)):
        for sent in ("nan", 0, None, [], {}, 1):
            mark._update(sent)
            assert mark.value is True
        mark._update(False)
        assert mark.value is False


def test_files_have_a_name_and_contents():
    file = mo.ui.file(multiple=False)
    good = ["rows.csv", base64.b64encode(b"1,2").decode()]
    file._update([good])
    for sent in ([["x.csv", "abcde"]], [["x.csv"]], "x", [[1, 2]], {"a": "b"}, [["x.csv", 5]]):
        file._update(sent)
        assert [(one.name, one.contents) for one in file.value] == [("rows.csv", b"1,2")], sent
    file._update([["n" * 5000 + ".csv", good[1]], good])
    assert len(file.value) == 1 and len(file.value[0].name) == bounds.NAME and file.value[0].name.endswith(".csv")


def test_widgets_in_widgets_are_held_too():
    both = mo.ui.array([mo.ui.slider(1, 10, value=3), mo.ui.slider(1, 10, value=4)])
    both._update({"0": 1e9})
    assert both.value == [10, 4]
