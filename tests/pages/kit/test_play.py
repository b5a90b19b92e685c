"""The buttons say what the work does, and carry what was pressed."""

import re

import pytest

from lamina.pages import kit

VERBS = re.compile(r'data-press="(\w+)"(?: class="main")?( disabled)?>.*?<span>(\w+)</span></button>')


@pytest.mark.parametrize(
    ("state", "buttons"),
    [
        ("idle", [("play", "", "Learn"), ("step", "", "Step"), ("again", " disabled", "Replay")]),
        ("running", [("pause", "", "Pause"), ("step", " disabled", "Step"), ("again", "", "Replay")]),
        ("paused", [("play", "", "Continue"), ("step", "", "Step"), ("again", "", "Replay")]),
        ("done", [("again", "", "Again"), ("step", " disabled", "Step"), ("again", "", "Replay")]),
    ],
)
def test_the_large_button_says_what_it_does(state, buttons):
    go = kit.play("Learn")
    go.state = state
    assert VERBS.findall(go.text) == buttons
    assert 'aria-label="Learn"' in go.text and "<marimo-text" in go.text


def test_a_walk_is_a_slider_with_four_buttons():
    at = kit.walk(0, 12, value=3, label="line")
    assert at.value == 3
    assert [verb for verb, _, _ in VERBS.findall(at.text)] == ["first", "back", "walk", "next"]
    assert "<marimo-slider" in at.text and "data-stop='12'" in at.text
