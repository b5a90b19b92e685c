"""Hands on a drawing with nothing else on the page: which pointers count, when a drag ends, and which keys are ours."""

import json
from importlib.resources import files

import numpy as np
import pytest
from harness import mouse, sized, touch, visit, wait

pytestmark = pytest.mark.browser
STATIC = files("lamina.pages").joinpath("static")
SCRIPTS = ("labs.js", "follow.js", "hands.js")
AXES = {"across": [0, 400, 0, 1], "up": [400, 0, 0, 1]}
SLIDERS = "".join(
    f"<marimo-ui-element random-id={name}><marimo-slider data-label='\"{name}\"' data-initial-value=0.5 "
    "data-start=0 data-stop=1 data-step=0.01></marimo-slider></marimo-ui-element>"
    for name in ("x", "y")
)
FIELD = (
    "<marimo-ui-element random-id=p><marimo-text data-label='\"moved points\"' data-initial-value='\"\"'>"
    "</marimo-text></marimo-ui-element>"
)
PUT = """
window.put = (hands, places) => {
  const axes = '<polyline points="0,0 0,400 400,400" fill="none"/>';
  const at = (x, y) => `cx="${400 * x}" cy="${400 - 400 * y}"`;
  const discs = places.map(([title, ...place]) => `<circle ${at(...place)} r="8"><title>${title}</title></circle>`);
  const old = document.querySelector('.lamina-svg'), box = old ?? document.createElement('div');
  Object.assign(box, { className: 'lamina-svg', tabIndex: 0, style: 'width: 400px; height: 400px' });
  box.dataset.hands = hands;
  box.innerHTML = `<svg viewBox="0 0 400 400" width="400" height="400">${axes}${discs.join('')}</svg>`;
  if (!old) document.querySelector('#root').prepend(box);
};
window.where = (title) => {
  const disc = [...document.querySelectorAll('title')].find((node) => node.textContent === title).parentElement;
  return [disc.cx.baseVal.value, disc.cy.baseVal.value].map(Math.round);
};
window.told = [];
addEventListener('marimo-value-input', (event) => told.push(event.detail.value));
window.wrong = [];
addEventListener('error', (event) => wrong.push(event.message));
"""


@pytest.fixture
def page(driver, tmp_path):
    scripts = "".join(f"<script src='{STATIC.joinpath(name)}'></script>" for name in SCRIPTS)
    place = tmp_path / "hands.html"
    body = f"<body style='margin: 0'><div id=root>{SLIDERS}{FIELD}</div>{scripts}<script>{PUT}</script>"
    place.write_text(f"<!doctype html><meta charset=utf-8>{body}", encoding="utf-8")
    visit(driver, place.as_uri())
    yield driver
    assert driver.execute_script("return wrong") == []


def put(driver, places=((0.25, 0.25), (0.75, 0.75)), follow="", **hands) -> None:
    """Draw data points as Python does, and discs for the hands that have a place."""
    discs = [[f"point {i + 1}", *place] for i, place in enumerate(places)]
    discs += [[title, *hand.pop("at")] for title, hand in hands.items()]
    points = {**AXES, "at": places, "into": "moved-points", "follow": follow, "given": {}}
    driver.execute_script("put(...arguments)", json.dumps({"points": points, **hands}), discs)


def where(driver, title: str) -> list[int]:
    """Return the pixel at which a disc is, once a frame has been drawn."""
    frames = (
        "const [title, then] = arguments, frame = requestAnimationFrame; frame(() => frame(() => then(where(title))))"
    )
    return driver.execute_async_script(frames, title)


def test_the_right_button_drags_nothing(page):
    put(page)
    mouse(page, "Pressed", 100, 300, "right", 2)
    mouse(page, "Moved", 200, 200, "right", 2)
    assert where(page, "point 1") == [100, 300]
    mouse(page, "Released", 200, 200, "right", 0)


def test_a_second_finger_moves_nothing_and_ends_nothing(page):
    put(page)
    touch(page, "Start", (1, 100, 300))
    touch(page, "Move", (1, 120, 280))
    touch(page, "Move", (1, 140, 260))
    assert where(page, "point 1") == [140, 260]
    touch(page, "Start", (1, 140, 260), (2, 300, 100))
    touch(page, "Move", (1, 140, 260), (2, 350, 50))
    assert where(page, "point 1") == [140, 260] and where(page, "point 2") == [300, 100]
    touch(page, "Move", (1, 200, 200))  # the second finger is lifted
    assert where(page, "point 1") == [200, 200]
    put(page)  # what the finger was on is gone
    touch(page, "Move", (1, 220, 180))
    assert where(page, "point 1") == [220, 180]
    touch(page, "End")


@pytest.mark.parametrize("lost", ["window.dispatchEvent(new Event('blur'))", "no button is down any more"])
def test_a_drag_ends_when_the_pointer_is_lost(page, lost):
    put(page)
    mouse(page, "Pressed", 100, 300)
    mouse(page, "Moved", 140, 260)
    assert where(page, "point 1") == [140, 260]
    if lost.startswith("window"):
        page.execute_script(lost)
    mouse(page, "Moved", 300, 200, *(() if lost.startswith("window") else ("none", 0)))
    assert where(page, "point 1") == [140, 260]
    mouse(page, "Released", 300, 200, buttons=0)


def test_a_drag_goes_on_in_the_drawing_that_takes_the_place_of_the_first(page):
    put(page)
    mouse(page, "Pressed", 100, 300)
    mouse(page, "Moved", 140, 260)
    assert where(page, "point 1") == [140, 260]
    page.execute_script("document.querySelector('.lamina-svg').remove()")
    mouse(page, "Moved", 160, 240)  # nothing to drag for a moment
    put(page)
    mouse(page, "Moved", 200, 200)
    assert where(page, "point 1") == [200, 200]
    put(page, places=())  # other data without this point: the drag ends
    mouse(page, "Moved", 240, 160)
    put(page)
    mouse(page, "Moved", 300, 200)
    assert where(page, "point 1") == [100, 300]
    mouse(page, "Released", 300, 200, buttons=0)


@pytest.mark.parametrize("title", ["constructor", "__proto__", "toString"])
def test_a_title_is_looked_up_among_the_hands_alone(page, title):
    page.execute_script("put(...arguments)", json.dumps({"a": {"value": 1}}), [[title, 0.5, 0.5]])
    mouse(page, "Moved", 200, 200, "none", 0)
    assert page.execute_script("return document.querySelector('.lamina-tip:not([hidden])')") is None
    hands = {title: {"value": 2}}
    page.execute_script("put(...arguments)", json.dumps(hands), [[title, 0.5, 0.5]])
    mouse(page, "Moved", 201, 201, "none", 0)
    assert page.execute_script("return document.querySelector('.lamina-tip').textContent") == f"{title} = 2"


def press(driver, key: str, **modifiers: bool) -> bool:
    """Press a key on the drawing; say whether the browser is left to do with it what it always does."""
    script = (
        "const box = document.querySelector('.lamina-svg'); box.focus(); return box.dispatchEvent("
        "new KeyboardEvent('keydown', { key: arguments[0], bubbles: true, cancelable: true, ...arguments[1] }))"
    )
    return driver.execute_script(script, key, modifiers)


def test_keys_with_a_modifier_are_the_browsers(page):
    put(page)
    for modifier in ("ctrlKey", "altKey", "metaKey"):
        assert [press(page, key, **{modifier: True}) for key in ("ArrowLeft", "PageDown", "Enter")] == [True] * 3
    assert where(page, "point 1") == [100, 300]
    assert not press(page, "ArrowRight") and where(page, "point 1") == [108, 300]
    wait(lambda: page.execute_script("return told") == ["1=0.27 0.25"], words="what Python is told")


def test_keys_go_on_when_python_draws_fewer_shapes(page):
    put(page)
    assert not press(page, "PageDown") and not press(page, "ArrowRight")
    assert where(page, "point 2") == [308, 100]
    put(page, places=((0.25, 0.25),))
    assert not press(page, "ArrowUp") and where(page, "point 1") == [100, 292]
    put(page, places=())
    assert press(page, "ArrowUp"), "there is nothing to move"


def test_every_point_stays_where_it_was_put_until_python_knows(page):
    put(page)
    page.execute_script(
        "const box = document.querySelector('.lamina-svg'), other = box.cloneNode(true); window.other = other; "
        "document.querySelector('#root').append(other); "
        "LaminaHands.moved(box, 'point 1', [0.5, 0.5]); LaminaHands.moved(box, 'point 2', [0.6, 0.7]); "
        "LaminaHands.moved(other, 'point 1', [0.1, 0.2]); other.innerHTML = box.innerHTML"
    )
    put(page)  # the next picture of something that learns, with the old places
    assert (where(page, "point 1"), where(page, "point 2")) == ([200, 200], [240, 120])
    disc = "const { cx, cy } = other.querySelector('circle'); return [cx.baseVal.value, cy.baseVal.value]"
    assert page.execute_script(disc) == pytest.approx([40, 320])


def test_keys_that_python_does_not_know_yet_are_kept(page):
    put(page)
    for _ in range(3):
        press(page, "ArrowRight")
    assert where(page, "point 1") == [124, 300]
    put(page, places=((0.27, 0.25), (0.75, 0.75)))  # Python's answer to the first one
    press(page, "ArrowRight")
    assert where(page, "point 1") == [132, 300]
    put(page, places=((0.29, 0.25), (0.75, 0.75)))
    assert where(page, "point 1") == [132, 300]
    wait(lambda: page.execute_script("return told.at(-1)") == "1=0.33 0.25", words="what Python is told")
    put(page, places=((0.33, 0.25), (0.75, 0.75)))  # it knows
    assert where(page, "point 1") == [132, 300]
    put(page, places=((0.5, 0.25), (0.75, 0.75)))  # and has other data
    assert where(page, "point 1") == [200, 300]


def test_after_two_seconds_python_is_right(page):
    page.execute_script("window.hour = 1000; performance.now = () => hour")
    put(page)
    press(page, "ArrowRight")
    put(page, places=((0.5, 0.25), (0.75, 0.75)))
    assert where(page, "point 1") == [108, 300]
    page.execute_script("hour = 3001")
    assert where(page, "point 1") == [200, 300]
    press(page, "ArrowRight")
    assert where(page, "point 1") == [208, 300]


def test_two_keys_in_a_moment_move_a_slider_twice(page):
    put(page, places=(), start={"at": (0.5, 0.5), "drag": {**AXES, "set": ["x", "y"]}})
    press(page, "ArrowRight")
    press(page, "ArrowRight")
    assert where(page, "start") == [240, 200]
    wait(lambda: 0.6 in page.execute_script("return told"), words="the slider")


def test_numbers_in_words_are_written_as_people_write_them(page):
    numbers = [0.12345, -2.5, 1e-13, 1e-7, -1.25e-9, 3e22, 12345.6]
    shown = page.execute_script("return arguments[0].map(LaminaFollow.short)", numbers)
    assert shown == ["0.1235", "−2.5", "0", "10⁻⁷", "−1.25·10⁻⁹", "3·10²²", "12350"]
    flat = "return LaminaFollow.line([[0, 1], [1, 1 - 1e-15]], { yours: [0, 0], ends: [0, 1] }).words"
    assert page.execute_script(flat).startswith("best line: 1 + 0 u₂, loss 0;")


POWERS = lambda places, degree: [[u**j for j in range(degree + 1)] for u in places]  # noqa: E731
SPREAD = [i / 9 for i in range(10)]
HARD = {
    "three equal points": POWERS([0.3] * 3, 1),
    "points above each other": POWERS([-0.7] * 20, 1),
    "two equal places, as many weights as points": POWERS([*SPREAD[:-1], SPREAD[3]], 9),
    "two equal places, more weights than points": POWERS([*SPREAD[:-1], SPREAD[3]], 12),
    "more weights than points": POWERS(SPREAD, 12),
    "as many weights as points": POWERS(SPREAD, 9),
    "columns that depend on each other": [[1, 2, 3], [2, 4, 6], [1, 1, 1], [0, 1, 2]],
    "nothing": [[0, 0], [0, 0], [0, 0]],
    "far from 0": POWERS([1e6, 1e6 + 1, 1e6 + 2], 1),
    "one point": [[1, 5]],
}


@pytest.mark.parametrize("case", HARD)
def test_least_squares_are_those_of_numpy(page, case):
    rows, values = np.array(HARD[case], dtype=float), np.sin(np.arange(len(HARD[case])) + 1.0)
    found = page.execute_script("return LaminaFollow.solve(...arguments)", rows.tolist(), values.tolist())
    wanted = np.linalg.lstsq(rows, values, rcond=None)[0]
    assert np.allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max()), (found, wanted)


def test_beside_a_shape_the_nearest_one_within_five_pixels_is_meant(page):
    edit = {"value": 1.0, "edit": {"into": "moved-points", "key": "a"}}
    put(page, [], disc={**edit, "at": (0.5, 0.5)}, arrow={**edit, "at": (2, 2)})
    line = "<polyline points='215,100 215,300' stroke='black' fill='none'><title>arrow</title></polyline>"
    page.execute_script("document.querySelectorAll('circle')[1].outerHTML = arguments[0]", line)

    def meant(x, y):
        move = "new PointerEvent('pointermove', { bubbles: true, clientX, clientY })"
        script = f"const [clientX, clientY] = arguments; document.querySelector('.lamina-svg').dispatchEvent({move});"
        return page.execute_script(
            f"{script} const tip = document.querySelector('.lamina-tip'); return tip.hidden ? '' : tip.textContent",
            x,
            y,
        ).partition(" ")[0]

    assert [meant(x, 200) for x in (200, 207, 210, 212, 215, 219, 221)] == [
        "disc", "disc", "disc", "arrow", "arrow", "arrow", ""
    ]  # fmt: skip
    assert meant(206, 193) == "disc" and meant(207, 192) == "disc" and meant(209, 189) == "", "a disc is round"


@pytest.mark.parametrize("how", ["finger", "mouse"])
def test_a_tap_on_a_result_says_its_sum(page, how):
    number = {"value": 3.0, "edit": {"into": "moved-points", "key": "a"}}
    put(page, [], a={**number, "at": (0.25, 0.25)}, result={"sum": [["a", 2]], "at": (0.75, 0.75)})
    said = "const tip = document.querySelector('.lamina-tip'); return tip && !tip.hidden ? tip.textContent : ''"
    if how == "finger":
        touch(page, "Start", (0, 300, 100))
        touch(page, "End")
    else:
        mouse(page, "Pressed", 300, 100)
        mouse(page, "Released", 300, 100, buttons=0)
    wait(lambda: page.execute_script(said) == "result = 3 · 2 = 6", words="the sum")
    lit = "return [...document.querySelectorAll('.lit, .from')].map((node) => node.textContent)"
    assert page.execute_script(lit) == ["a", "result"]
    press(page, "ArrowLeft")
    assert page.execute_script(said).startswith("a = 3"), "keys go on from there"


def test_on_a_phone_the_words_stand_below_the_picture(page):
    with sized(page, 420, 740):
        put(page, [], result={"sum": [[3, 2]], "at": (0.5, 0.75)})
        touch(page, "Start", (0, 200, 100))
        touch(page, "End")
        place = "return document.querySelector('.lamina-tip:not([hidden])')?.getBoundingClientRect().top"
        top = wait(lambda: page.execute_script(place), words="the sum")
        assert top >= page.execute_script("return document.querySelector('svg').getBoundingClientRect().bottom")
