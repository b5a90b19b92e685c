"""The book in a real browser, from files and without a server: widgets, recordings, and two networks in our script."""

import base64
import json
import math
from pathlib import Path

import pytest
import torch
from harness import change_at_once, choose, draw, elements, find_slider, slide_to, wait, widget_value

from lamina.data.handwriting import as_mnist
from lamina.functional.activations import probabilities
from lamina.inspection.activations import feature_maps
from lamina.pages.book.writing import export
from lamina.pages.chapters.ch3.lenet._work import STROKES, inked
from lamina.pages.chapters.ch5.translation._translator import follow
from lamina.pages.kit._blocks import share
from lamina.pages.kit._shipped import shipped

pytestmark = pytest.mark.browser
PAGES = ("ch1/descent", "ch2/backpropagation", "ch3/convolution", "ch3/lenet", "ch5/translation")


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("book") / "site"
    export(folder, only=PAGES)
    return folder


@pytest.fixture
def opened(driver, book):
    def go(path: str) -> None:
        driver.get((book / f"{path}.html").as_uri())
        wait(lambda: elements(driver, "el.localName === 'marimo-tex' ? !!el.querySelector('.katex') : false"), 40)

    driver.get_log("browser")
    yield go
    assert not [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def facts(driver, near: str = ".lamina-lab") -> dict[str, str]:
    script = (
        "return Object.fromEntries([...document.querySelectorAll(arguments[0] + ' .lamina-facts > div')]"
        ".map((each) => [each.children[0].textContent, each.children[1].textContent]))"
    )
    return driver.execute_script(script, near)


def said(driver) -> str:
    return driver.execute_script("return document.querySelector('.lamina-said')?.textContent || ''")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_opens_from_a_file_and_asks_nobody(driver, opened, path):
    driver.get_log("performance")
    opened(path)
    assert not elements(driver, "el.classList.contains('katex-error')")
    asked = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    places = [each["params"]["request"]["url"] for each in asked if each["method"] == "Network.requestWillBeSent"]
    assert places and all(place.startswith(("file:", "data:", "blob:")) for place in places)
    live = "el.shadowRoot && el.localName.startsWith('marimo-') && !!el.shadowRoot.querySelector(':disabled')"
    silent = elements(driver, f"{live} && !el.shadowRoot.textContent.includes('Live in lamina notes')")
    assert silent == [], "a control that does nothing says so"


def test_a_slider_shows_what_the_formula_gives(driver, opened):
    opened("ch2/backpropagation")
    hands = json.loads(driver.execute_script("return document.querySelector('.lamina-svg[data-hands]').dataset.hands"))
    weights = {name: hand["value"] for name, hand in hands.items() if "value" in hand}
    before = facts(driver)["loss"]
    slide_to(driver, "u_1", widest := -2.0)
    wait(lambda: facts(driver)["loss"] != before, words="another loss")
    assert facts(driver)["loss"] == f"{_loss(weights, widest, -0.5):.4g}"
    slide_to(driver, "u_2", 2.0)  # one control at a time: the other one is back
    wait(lambda: widget_value(driver, "input-u-1") == 1, words="the first input at its first place")
    wait(lambda: facts(driver)["loss"] == f"{_loss(weights, 1.0, 2.0):.4g}", words="the loss of the second input")
    assert "one control is moved at a time" in said(driver)


def _loss(values: dict[str, float], first: float, second: float) -> float:
    """The notes' 2-2-1 network by hand: tanh, then a sigmoid with its cross entropy for the target 1."""
    w, b = (lambda l, i, j: values[f"W[{l}]({i},{j})"]), (lambda l, i: values[f"b[{l}]({i})"])
    hidden = [math.tanh(w(0, i, 1) * first + w(0, i, 2) * second + b(0, i)) for i in (1, 2)]
    return math.log1p(math.exp(-(w(1, 1, 1) * hidden[0] + w(1, 1, 2) * hidden[1] + b(1, 1))))


def test_a_number_changes_where_it_stands(driver, opened):
    opened("ch3/convolution")
    hands = json.loads(driver.execute_script("return document.querySelector('.lamina-svg[data-hands]').dataset.hands"))
    result = next(name for name, hand in hands.items() if "sum" in hand)
    (cell, weight), *rest = hands[result]["sum"]
    value = lambda name: name if isinstance(name, (int, float)) else hands[name]["value"]  # noqa: E731
    wanted = 7 * value(weight) + sum(value(a) * value(b) for a, b in rest)
    assert float(change_at_once(driver, cell, 7, result).replace("−", "-")) == pytest.approx(wanted, rel=1e-3)
    wait(lambda: "computed in your browser alone" in said(driver), words="that only the picture changes")


def test_dragging_says_where_it_is_live(driver, opened):
    opened("ch1/descent")
    disc = wait(
        lambda: elements(
            driver, "el.localName === 'circle' && !!el.closest('[data-hands]') && !!el.querySelector('title')"
        )
    )
    driver.execute_script(
        "const r = arguments[0].getBoundingClientRect(); arguments[0].dispatchEvent(new PointerEvent('pointerdown', "
        "{bubbles: true, clientX: r.left + r.width / 2, clientY: r.top + r.height / 2}))",
        disc[-1],
    )
    assert "Dragging is live in lamina notes" in said(driver)


def test_a_recorded_run_is_played_to_its_end(driver, opened):
    opened("ch5/translation")
    panel = "document.querySelector('.lamina-panel:has([data-label=Learn])')"
    number = f"return {panel}.querySelector('.lamina-facts dd').textContent"
    assert driver.execute_script(number) == "300", "its end is shown first"
    driver.execute_script(f"{panel}.querySelector('[data-press=play]').click()")
    wait(lambda: driver.execute_script(number) not in ("0", "300"), 20, "a frame of the run")
    wait(lambda: driver.execute_script(number) == "300", 40, "the last of 300 updates")
    state = f"return {panel}.querySelector('.lamina-play').dataset.state"
    assert driver.execute_script(state) == "done"
    driver.execute_script(f"{panel}.querySelector('.main').click()")  # again, from the first frame
    wait(lambda: driver.execute_script(number) not in ("0", "300"), 20, "an early frame")
    driver.execute_script(f"{panel}.querySelector('.main').click()")
    assert "Continue" in driver.execute_script(f"return {panel}.querySelector('.main').textContent")


def test_lenet_in_the_browser_equals_python(driver, opened):
    opened("ch3/lenet")
    network, record = shipped("lenet5-mnist")
    for number in range(10):
        ink = (255 * inked(STROKES[number])).round().byte()
        script = (
            "const ink = Float64Array.from(atob(arguments[0]), (c) => Math.fround(c.charCodeAt(0) / 255));"
            "const digit = LaminaForward.asMnist(ink, 140), found = LaminaForward.lenet(digit);"
            "return [[...digit], [...found.outputs], [...found.probabilities], "
            "Object.entries(found.layers).map(([name, maps]) => [name, [...maps.data]])]"
        )
        digit, outputs, chances, layers = driver.execute_script(
            script, base64.b64encode(ink.numpy().tobytes()).decode()
        )
        wanted = as_mnist(ink.float() / 255)
        assert torch.tensor(digit) == pytest.approx(wanted.flatten(), abs=1e-5)
        maps = feature_maps(network, record.preprocess.apply((255 * wanted).round().byte()[None, None]))
        for name, values in layers:
            assert torch.tensor(values) == pytest.approx(maps[name].values.flatten(), abs=1e-5)
        found = maps["classifier.7"].values
        assert torch.tensor(outputs) == pytest.approx(found[0], abs=1e-5)
        assert torch.tensor(chances) == pytest.approx(probabilities(found)[0], abs=1e-5)


def test_a_drawn_digit_is_read(driver, opened):
    opened("ch3/lenet")
    driver.execute_script(
        "addEventListener('marimo-value-input', (e) => { window.drawn = e.detail.value.ink || window.drawn }, true)"
    )
    draw(driver, [[(0.5, 0.2), (0.5, 0.5), (0.5, 0.85)]])
    ink = wait(lambda: driver.execute_script("return window.drawn"), words="ink")
    network, record = shipped("lenet5-mnist")
    digit = as_mnist(
        torch.frombuffer(bytearray(base64.b64decode(ink)), dtype=torch.uint8).reshape(140, 140).float() / 255
    )
    chances = probabilities(network(record.preprocess.apply((255 * digit).round().byte()[None, None])))[0]
    shown = wait(lambda: elements(driver, "el.matches('.lamina-bars output')"), words="the bars")
    assert [float(each.text) for each in shown] == pytest.approx(chances.tolist(), abs=1e-4)
    best = int(chances.argmax())
    assert best == 1 and facts(driver)["reads"] == f"1: {share(chances[1].item())}"


SENTENCES = (
    "The sun is shining today",
    "Why did the teacher laugh yesterday?",
    "The old woman is not reading the zebra, Anna!",
    "",
)


def test_the_translator_in_the_browser_equals_python(driver, opened):
    opened("ch5/translation")
    network, record = shipped("seq2seq-phrasebook")
    for text in SENTENCES:
        found = driver.execute_script(
            "const f = LaminaForward.translate(arguments[0]), plain = (rows) => rows.map((row) => [...row]);"
            "return {...f, readStates: plain(f.readStates), states: plain(f.states)}",
            text,
        )
        wanted = follow(network, record.preprocess, text)
        assert (found["text"], found["unknown"], found["words"]) == (wanted.text, [*wanted.unknown], [*wanted.words])
        assert [step["writes"] for step in found["steps"]] == [step.writes for step in wanted.steps]
        shares = [[p for _, p in step["best"]] for step in found["steps"]]
        assert torch.tensor(shares) == pytest.approx(
            torch.tensor([[p for _, p in s.best] for s in wanted.steps]), abs=1e-5
        )
        assert torch.tensor(found["readStates"]) == pytest.approx(wanted.read_states, abs=1e-5)
        assert torch.tensor(found["states"]) == pytest.approx(wanted.written_states, abs=1e-5)


def test_a_typed_sentence_is_translated(driver, opened):
    opened("ch5/translation")
    field = driver.execute_script(
        "return document.querySelector('[data-key=sentence] marimo-text').shadowRoot.querySelector('input')"
    )
    field.clear()
    field.send_keys("Is the sun shining?")
    network, record = shipped("seq2seq-phrasebook")
    wanted = follow(network, record.preprocess, "Is the sun shining?").text
    wait(lambda: facts(driver).get("German") == wanted, words=wanted)
    choose(driver, "example", "several cats")  # a recorded state takes its place
    wanted = follow(network, record.preprocess, "The cats are sleeping in the garden").text
    wait(lambda: facts(driver).get("German") == wanted, words=wanted)


def test_the_state_is_in_the_address_and_keys_step(driver, opened, book):
    opened("ch2/backpropagation")
    slide_to(driver, "line of the algorithm", 3)
    wait(lambda: facts(driver)["line"].startswith("3 of"), words="line 3")
    assert "line-of-the-algorithm=3" in driver.current_url
    driver.find_element("css selector", "body").send_keys(".")
    wait(lambda: facts(driver)["line"].startswith("4 of"), words="one step further")
    driver.get((book / "ch2/backpropagation.html").as_uri() + "?line-of-the-algorithm=5")
    wait(lambda: facts(driver).get("line", "").startswith("5 of"), 40, "the state of the link")
    assert find_slider(driver, "line of the algorithm").get_attribute("aria-valuenow") == "5"
