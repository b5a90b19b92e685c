"""The book in a real browser, from files and without a server: widgets, recordings, and two networks in our script."""

import base64
import json
import math
import re
from pathlib import Path

import pytest
import torch
from harness import (
    CHROMIUM,
    change_at_once,
    choose,
    draw,
    elements,
    find_slider,
    shape,
    slide_to,
    visit,
    wait,
    widget_value,
)
from selenium.webdriver.common.action_chains import ActionChains

from lamina.classical.linear_regression import fit
from lamina.data.handwriting import as_mnist
from lamina.drawing.palettes import signed
from lamina.functional.activations import probabilities
from lamina.inspection.activations import feature_maps, normalized
from lamina.pages.book.printing import print_book
from lamina.pages.book.writing import export
from lamina.pages.chapters.ch1._shared import regression_data
from lamina.pages.chapters.ch3.lenet._work import STROKES, inked
from lamina.pages.chapters.ch5.translation._translator import follow
from lamina.pages.kit._blocks import share
from lamina.pages.kit._shipped import shipped

pytestmark = pytest.mark.browser
PAGES = (
    "ch1/regression",
    "ch1/kmeans",
    "ch1/descent",
    "ch2/backpropagation",
    "ch3/convolution",
    "ch3/lenet",
    "ch5/translation",
)


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("book") / "site"
    export(folder, only=PAGES)
    return folder


@pytest.fixture
def opened(driver, book):
    def go(path: str) -> None:
        visit(driver, (book / f"{path}.html").as_uri())
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
    assert "controls move one at a time" in said(driver)


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


def test_a_dragged_point_turns_the_best_line_from_a_file(driver, opened):
    opened("ch1/regression")
    inputs, targets = regression_data(20, 0.3, 0)
    place = json.loads(driver.execute_script("return document.querySelector('.lamina-svg[data-hands]').dataset.hands"))
    left, right, low, high = place["points"]["across"]
    bottom, top, below, above = place["points"]["up"]
    dot = shape(driver, "point 7", "circle")
    scale = driver.execute_script("return arguments[0].ownerSVGElement.getScreenCTM().a", dot)
    at = [float(dot.get_attribute(name)) for name in ("cx", "cy")]
    goal = (
        left + (-0.75 - low) / (high - low) * (right - left),
        bottom + (2.5 - below) / (above - below) * (top - bottom),
    )
    move = [round((b - a) * scale) for a, b in zip(at, goal, strict=True)]
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", dot)
    ActionChains(driver, duration=50).move_to_element(dot).click_and_hold().move_by_offset(*move).perform()

    def arrived() -> tuple[float, float, str] | None:
        words = driver.execute_script("return document.querySelector('.lamina-tip')?.textContent ?? ''").replace(
            "−", "-"
        )
        place = [float(n) for found in re.findall(r"point 7 at \(([-\d.]+), ([-\d.]+)\)", words) for n in found]
        return (*place, words) if place == pytest.approx([-0.75, 2.5], abs=0.02) else None

    x, y, said_now = wait(arrived, words="point 7 at (-0.75, 2.5)")
    ActionChains(driver).release().perform()
    inputs[6, 1], targets[6] = x, y
    best = fit(inputs, targets)
    loss = float(re.search(r"loss ([\d.]+); your", said_now)[1])
    assert loss == pytest.approx(best.loss, rel=1e-3)
    wait(lambda: "computed in your browser alone" in said(driver), words="that only the picture changes")
    assert widget_value(driver, "moved-points") == f"7={x:g} {y:g}"


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
    assert "You can drag this in lamina notes" in said(driver)


def test_a_recorded_run_is_played_to_its_end(driver, opened):
    opened("ch5/translation")
    panel = "document.querySelector('.lamina-panel:has([data-label=Learn])')"
    number = f"return {panel}.querySelector('.lamina-facts dd').textContent"
    assert driver.execute_script(number) == "300", "its end is shown first"
    driver.execute_script(f"{panel}.querySelector('[data-press=play]').click()")
    wait(lambda: driver.execute_script(number) not in ("0", "300"), words="a frame of the run")
    wait(lambda: driver.execute_script(number) == "300", 40, "the last of 300 updates")
    state = f"return {panel}.querySelector('.lamina-play').dataset.state"
    assert driver.execute_script(state) == "done"
    driver.execute_script(f"{panel}.querySelector('.main').click()")  # again, from the first frame
    wait(lambda: driver.execute_script(number) not in ("0", "300"), words="an early frame")
    driver.execute_script(f"{panel}.querySelector('.main').click()")
    assert "Continue" in driver.execute_script(f"return {panel}.querySelector('.main').textContent")


def test_every_step_of_a_walk_was_recorded(driver, opened):
    opened("ch1/descent")
    body = driver.find_element("css selector", "body")
    at = lambda: widget_value(driver, "steps-so-far")  # noqa: E731
    heights = [facts(driver)["gradient descent"]]
    for wanted in (41, 42):
        body.send_keys(".")
        wait(lambda: at() == wanted and facts(driver)["gradient descent"] != heights[-1], words=f"step {wanted}")  # noqa: B023
        heights.append(facts(driver)["gradient descent"])
    _, second = (float(height) for height in heights[:2])
    assert float(heights[2]) == pytest.approx(second * (second / float(heights[0])), rel=2e-3), "by one factor a step"


def test_clusters_move_half_a_step_at_a_time(driver, opened):
    opened("ch1/kmeans")
    body, seen = driver.find_element("css selector", "body"), [float(facts(driver)["distortion"])]
    for step in range(2, 6):
        body.send_keys(".")
        wait(lambda: float(facts(driver)["distortion"]) < seen[-1], words=f"half step {step}")
        seen.append(float(facts(driver)["distortion"]))
    assert widget_value(driver, "half-steps") == 5 and seen == sorted(seen, reverse=True)


def test_keys_turn_pages(driver, opened):
    opened("ch1/kmeans")
    driver.find_element("css selector", "body").send_keys("n")
    wait(lambda: driver.current_url.endswith("ch1/descent.html"), words="the next page")
    wait(lambda: elements(driver, "el.classList.contains('katex')"), words="its formulas")
    driver.find_element("css selector", "body").send_keys("p")
    wait(lambda: driver.current_url.endswith("ch1/kmeans.html"), words="the page before")


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
    assert "This is your drawing, as the network gets it" in driver.find_element("css selector", ".lamina-stage").text
    gray = (
        "const maps = document.querySelectorAll('.lamina-maps canvas'), map = maps[arguments[0]], side = map.width;"
        "const seen = map.getContext('2d').getImageData(0, 0, side, side).data;"
        "return [maps.length, side, [...seen].filter((_, i) => i % 4 === 0)]"
    )
    seen = feature_maps(network, record.preprocess.apply((255 * digit).round().byte()[None, None]))
    for place, name, number, side in ((2, "features.1", 2, 28), (6 + 11, "features.4", 11, 10)):
        wanted = 255 * normalized(seen[name].values[0].double())[number]
        assert driver.execute_script(gray, place) == [22, side, pytest.approx(wanted.flatten().tolist(), abs=1.01)]


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


def test_the_colors_of_a_picture_are_read_once(driver, opened):
    opened("ch5/translation")
    network, record = shipped("seq2seq-phrasebook")
    reads, pixel = driver.execute_script(
        "const own = getComputedStyle; let reads = 0; getComputedStyle = (node) => { reads++; return own(node); };"
        "LaminaOwn['ch5/translation'].sentence('Is the sun shining?', LaminaBook); getComputedStyle = own;"
        "const canvas = document.querySelector('.lamina-states canvas');"
        "return [reads, [...canvas.getContext('2d').getImageData(2, 3, 1, 1).data]]"
    )
    wanted = signed(follow(network, record.preprocess, "Is the sun shining?").read_states[2][3].item())
    assert reads == 2, "one for each picture"
    assert pixel == pytest.approx(wanted, abs=255 / max(wanted[3], 1) + 1)  # a canvas keeps colors times their opacity


def test_a_download_is_a_link(driver, opened):
    """`mo.download` carries its file in the page."""
    import marimo as mo

    opened("ch1/descent")
    found = driver.execute_script(
        "const box = document.createElement('div'); box.innerHTML = arguments[0]; document.body.append(box);"
        "const link = box.querySelector('marimo-download').shadowRoot.querySelector('a'), said = box.textContent;"
        "box.remove(); return [link.download, link.href, said];",
        mo.download(b"abc", filename="network.py", mimetype="text/x-python", label="Download it").text,
    )
    assert found == ["network.py", "data:text/x-python;base64,YWJj", "Download it"]


def test_paper_is_light(driver, opened):
    opened("ch1/descent")
    theme = "return document.documentElement.dataset.theme"
    driver.execute_script("document.documentElement.dataset.theme = 'dark'; dispatchEvent(new Event('beforeprint'))")
    assert driver.execute_script(theme) == "light"
    driver.execute_script("dispatchEvent(new Event('afterprint'))")
    assert driver.execute_script(theme) == "dark"


def test_the_book_is_printed_on_a4(tmp_path, monkeypatch):
    monkeypatch.setenv("CHROMIUM", CHROMIUM)
    made = print_book(tmp_path / "book.pdf", only=["ch5/dictionary"]).read_bytes()
    sizes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", made)
    assert 4 <= len(sizes) <= 8 and {(round(float(w)), round(float(h))) for w, h in sizes} == {(595, 842)}
    assert b"/Outlines" in made


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
