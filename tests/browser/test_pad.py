"""The square for one digit, alone on a page: whose strokes count, when they end, and when ink is sent."""

from importlib.resources import files

import pytest
from harness import mouse, touch, visit

pytestmark = pytest.mark.browser
STATIC = files("lamina.pages").joinpath("static")
MODEL = """
const values = { side: 140, label: 'Draw', ink: '' }, heard = [];
window.sent = [];
const model = { get: (name) => values[name], set: (name, value) => { values[name] = value; },
  on: (_, hear) => heard.push(hear), save_changes: () => sent.push(values.ink) };
window.python = (ink) => { values.ink = ink; heard.forEach((hear) => hear()); };
LaminaPad.render({ model, el: document.body });
"""
ROW = "btoa('\\0'.repeat(140 * 120) + '\\xff'.repeat(140) + '\\0'.repeat(140 * 19))"


@pytest.fixture
def page(driver, tmp_path):
    pad = STATIC.joinpath("pad.js").read_text(encoding="utf-8").replace("export default", "return")
    look = STATIC.joinpath("pad.css").read_text(encoding="utf-8")
    place = tmp_path / "pad.html"
    place.write_text(
        f"<!doctype html><meta charset=utf-8><style>body {{ margin: 0; width: 300px }} {look}</style><body>"
        f"<script>window.LaminaPad = (() => {{ {pad} }})();{MODEL}</script>",
        encoding="utf-8",
    )
    visit(driver, place.as_uri())
    driver.execute_script("window.corner = document.querySelector('canvas').getBoundingClientRect()")
    return driver


def at(driver, x: float, y: float) -> tuple[float, float]:
    """Return the place in the window of a place on the square, whose sides go from 0 to 1."""
    return tuple(
        driver.execute_script(
            "return [corner.left + arguments[0] * corner.width, corner.top + arguments[1] * corner.height]", x, y
        )
    )


def inked(driver, x: float, y: float) -> bool:
    """Say whether there is ink at a place of the square."""
    script = "const pen = document.querySelector('canvas').getContext('2d'), [x, y] = arguments;"
    script += "return pen.getImageData(x, y, 1, 1).data[0]"
    return driver.execute_script(script, 140 * x, 140 * y) > 128


def sent(driver) -> list[int]:
    """Return how many pixels of ink each message to Python had."""
    return driver.execute_script("return sent.map((ink) => [...atob(ink)].filter((byte) => byte > '\\x80').length)")


def test_a_stroke_is_sent_once_and_ends_with_the_pointer(page):
    mouse(page, "Pressed", *at(page, 0.2, 0.2))
    mouse(page, "Moved", *at(page, 0.5, 0.2))
    mouse(page, "Released", *at(page, 0.5, 0.2), buttons=0)
    assert inked(page, 0.4, 0.2) and len(sent(page)) == 1
    mouse(page, "Moved", *at(page, 0.5, 0.8), "none", 0)
    assert not inked(page, 0.5, 0.6) and len(sent(page)) == 1


def test_the_right_button_draws_nothing(page):
    mouse(page, "Pressed", *at(page, 0.2, 0.2), "right", 2)
    mouse(page, "Moved", *at(page, 0.5, 0.2), "right", 2)
    mouse(page, "Released", *at(page, 0.5, 0.2), "right", 0)
    assert not inked(page, 0.4, 0.2) and sent(page) == []


def test_a_second_finger_draws_nothing(page):
    first, second = at(page, 0.2, 0.2), at(page, 0.8, 0.8)
    touch(page, "Start", (1, *first))
    touch(page, "Start", (1, *first), (2, *second))
    touch(page, "Move", (1, *at(page, 0.5, 0.2)), (2, *at(page, 0.8, 0.5)))
    touch(page, "Move", (1, *at(page, 0.6, 0.2)), (2, *at(page, 0.8, 0.4)))
    assert inked(page, 0.4, 0.2) and not inked(page, 0.8, 0.6) and not inked(page, 0.65, 0.4)
    assert sent(page) == []
    touch(page, "End")
    assert len(sent(page)) == 1


def test_a_stroke_ends_when_its_pointer_is_lost(page):
    mouse(page, "Pressed", *at(page, 0.2, 0.2))
    mouse(page, "Moved", *at(page, 0.5, 0.2))
    canvas = "document.querySelector('canvas')"
    page.execute_script(
        f"for (let id = 0; id < 9; id++) if ({canvas}.hasPointerCapture(id)) {canvas}.releasePointerCapture(id)"
    )
    mouse(page, "Moved", *at(page, 0.5, 0.8))
    assert not inked(page, 0.5, 0.6) and len(sent(page)) == 1
    mouse(page, "Released", *at(page, 0.5, 0.8), buttons=0)
    assert len(sent(page)) == 1


def test_ink_that_comes_while_drawing_stays(page):
    mouse(page, "Pressed", *at(page, 0.2, 0.2))
    mouse(page, "Moved", *at(page, 0.5, 0.2))
    page.execute_script(f"python({ROW})")
    assert inked(page, 0.5, 0.86) and inked(page, 0.4, 0.2)
    mouse(page, "Moved", *at(page, 0.8, 0.2))
    mouse(page, "Released", *at(page, 0.8, 0.2), buttons=0)
    assert inked(page, 0.5, 0.86) and inked(page, 0.4, 0.2) and inked(page, 0.7, 0.2)
    assert len(sent(page)) == 1 and sent(page)[0] > 140 + 70 * 8


@pytest.mark.parametrize("by", ["Delete", "the button"])
def test_a_stroke_that_is_deleted_does_not_come_back(page, by):
    mouse(page, "Pressed", *at(page, 0.2, 0.2))
    mouse(page, "Moved", *at(page, 0.5, 0.2))
    key = "document.querySelector('canvas').dispatchEvent(new KeyboardEvent('keydown', { key: 'Delete' }))"
    page.execute_script(key if by == "Delete" else "document.querySelector('button').click()")
    mouse(page, "Moved", *at(page, 0.5, 0.8))
    mouse(page, "Released", *at(page, 0.5, 0.8), buttons=0)
    assert not inked(page, 0.4, 0.2) and not inked(page, 0.5, 0.6)
    assert sent(page) == [], "there was no ink before, and there is none now"


def test_ink_is_sent_when_it_has_changed(page):
    page.execute_script("document.querySelector('button').click()")
    assert sent(page) == []
    page.execute_script(
        f"python({ROW}); document.querySelector('button').click(); document.querySelector('button').click()"
    )
    assert sent(page) == [0]


def test_the_pen_of_the_keyboard_draws_on_new_ink_and_leaves_shortcuts_alone(page):
    press = (
        "return document.querySelector('canvas').dispatchEvent("
        "new KeyboardEvent('keydown', { key: arguments[0], cancelable: true, ...arguments[1] }))"
    )
    page.execute_script("document.querySelector('canvas').focus()")
    assert page.execute_script(press, "ArrowLeft", {"altKey": True}) and page.execute_script(
        press, "Delete", {"ctrlKey": True}
    )
    for key in (" ", "ArrowRight", "ArrowRight", "ArrowRight"):
        assert not page.execute_script(press, key, {})
    page.execute_script(f"python({ROW})")
    assert not page.execute_script(press, " ", {})
    assert inked(page, 0.52, 0.25) and inked(page, 0.63, 0.25) and inked(page, 0.5, 0.86) and len(sent(page)) == 1
