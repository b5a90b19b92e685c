"""The bars of the labs: the picture and the start on the first screen, nothing jumps, a link carries the state."""

import re
import urllib.request

import pytest
from selenium.webdriver.common.action_chains import ActionChains

from lamina.pages.site.contents import pages

pytestmark = pytest.mark.browser
PATHS = [page.path for page in pages()]
JUMPS = {"ch2/classification": 20, "ch4/transfer": 30}
"""Pages where something far below the first screen still moves by more than 8 pixels on a phone; the list shrinks."""
SIZES = ((1280, 800), (1920, 1080), (360, 740))

# The picture, what covers the lower end of the screen on a phone, and the button that starts (or the first widget).
MEASURE = """
const box = (node) => { const r = node.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
const deep = (node) => node.shadowRoot ? [...node.shadowRoot.querySelectorAll('*')].flatMap(deep) : [node];
const lab = document.querySelector('#root .lamina-lab'), first = lab?.querySelector('.lamina-stage > div');
if (!first) return null;
const drawn = [...first.querySelectorAll('svg, img, canvas, table, p, pre')].find((n) => n.getClientRects().length)
  || [...first.querySelectorAll('*')].flatMap(deep).find((n) => n.localName === 'canvas');
const main = lab.querySelector('.lamina-dock .lamina-play .main');
const widget = [...lab.querySelectorAll('.lamina-dock marimo-ui-element > *')].flatMap(deep)
  .find((n) => n.getBoundingClientRect().height > 0 && !['style', 'script'].includes(n.localName));
return { picture: box(drawn), start: box(main || widget), dock: box(lab.querySelector('.lamina-dock')) };
"""

# While the first view stands, note where its parts are; when the live page has taken its place, note it again.
WATCH = """
(() => {
  const parts = (node) => [...node.querySelectorAll('.lamina-lab, .lamina-section, .lamina-panel, .lamina-try')];
  const tops = (node) => parts(node).map((part) => [part.className, part.getBoundingClientRect().top + scrollY]);
  window.seen = {};
  const look = () => {
    const still = document.querySelector('.lamina-still'), live = document.getElementById('root');
    if (still) window.seen.before = tops(still);
    else if (window.seen.before && live) window.seen.after = tops(live);
    if (!window.seen.after) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""


def opened(driver, address, path):
    from harness import ready

    driver.get_log("browser")
    driver.get(f"{address}/{path}")
    ready(driver)


# Of every drawing that is shown: its label and the sizes of its texts on the screen, in CSS pixels, without scripts.
LETTERS = """
const shown = [...document.querySelectorAll('#root .lamina-svg > svg')].filter((svg) => svg.getClientRects().length);
return shown.map((svg) => {
  const scale = svg.getScreenCTM().a, texts = [...svg.querySelectorAll('text')];
  const sizes = texts.map((text) => parseFloat(getComputedStyle(text).fontSize) * scale);
  return [svg.parentElement.getAttribute('aria-label'), Math.min(99, ...sizes), Math.max(0, ...sizes), sizes.length];
}).filter((row) => row[3]);
"""


def within(inner, outer, slack=1.0):
    left, top, right, bottom = inner
    return (
        left >= outer[0] - slack
        and top >= outer[1] - slack
        and right <= outer[2] + slack
        and bottom <= outer[3] + slack
        and right - left > 20
        and bottom - top > 8
    )


@pytest.mark.parametrize("path", PATHS)
def test_picture_and_start_are_on_the_first_screen_with_letters_of_11_to_18_pixels(driver, address, path):
    from harness import sized

    opened(driver, address, path)
    for wide, high in SIZES:
        with sized(driver, wide, high):
            driver.execute_script("scrollTo(0, 0)")
            found = driver.execute_async_script(
                "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done((() => {"
                + MEASURE
                + "})())))"
            )
            assert found, "the page has no lab"
            screen = (0, 0, wide, high)
            assert within(found["picture"], screen), (wide, high, found)
            assert within(found["start"], screen), (wide, high, found)
            if wide < 820:
                assert found["picture"][3] <= found["dock"][1] + 1, "the dock covers the picture"
                assert found["dock"][3] <= high + 1
            assert driver.execute_script("return document.documentElement.scrollWidth") <= wide
            letters = driver.execute_script(LETTERS)
            assert letters
            assert [row for row in letters if not 10.95 < row[1] <= row[2] < 18.05] == [], (wide, high)


def first_view(address, path):
    """Wait until the server has computed the first view of a page."""
    from harness import wait

    fetch = lambda: b"lamina-still" in urllib.request.urlopen(f"{address}/{path}/", timeout=60).read()  # noqa: E731
    wait(fetch, 600, f"the first view of {path}")


@pytest.mark.parametrize("path", PATHS)
def test_nothing_jumps_when_the_page_goes_live(driver, address, path):
    from harness import sized, wait

    first_view(address, path)
    script = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})["identifier"]
    try:
        for wide, high in (SIZES[0], SIZES[2]):
            with sized(driver, wide, high):
                opened(driver, address, path)
                seen = wait(
                    lambda: (s := driver.execute_script("return window.seen")).get("after") and s, 20, "both views"
                )
                assert [name for name, _ in seen["before"]] == [name for name, _ in seen["after"]]
                moves = [abs(a - b) for (_, a), (_, b) in zip(seen["before"], seen["after"], strict=True)]
                assert max(moves) <= JUMPS.get(path, 8), (wide, moves)
                seen_first = [move for move, (_, top) in zip(moves, seen["before"], strict=True) if top < high]
                assert max(seen_first) <= 8, "what is on the first screen stays"
    finally:
        driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script})


def test_a_link_carries_the_state(driver, address):
    from harness import choose, plot_text, ready, slide_to, slider_value, wait

    opened(driver, address, "ch2/backpropagation")
    choose(driver, "network", "2-3-1")
    wait(lambda: "The network 2-3-1 after line 12 of 12" in plot_text(driver, "after line"))
    slide_to(driver, "line of the algorithm", 3)
    wait(lambda: "after line 3 of 12" in plot_text(driver, "after line"), 30)
    link = wait(lambda: (url := driver.current_url).endswith("network=2-3-1&line-of-the-algorithm=3") and url, 30)
    driver.get("about:blank")
    driver.get(link)
    ready(driver)
    wait(lambda: "The network 2-3-1 after line 3 of 12" in plot_text(driver, "after line"), 30, "the state of the link")
    wait(lambda: slider_value(driver, "line of the algorithm") == 3, 20, "the slider of the link")
    slide_to(driver, "line of the algorithm", 12)
    wait(lambda: "line-of" not in driver.current_url, 10, "what stands where it stood at first is left out")


def test_keys_play_step_and_replay_and_present(driver, address):
    from harness import plot_text, wait

    opened(driver, address, "ch3/convolution")
    at = lambda: plot_text(driver, "Both results").split("; at ")[1][:5]  # noqa: E731
    key = lambda name: ActionChains(driver).send_keys(name).perform()  # noqa: E731
    driver.execute_script("document.activeElement?.blur()")
    assert at() == "(1,1)"
    key("\ue014")  # the right arrow
    wait(lambda: at() == "(1,2)", words="a step")
    key("\ue012")  # the left arrow
    wait(lambda: at() == "(1,1)", words="a step back")
    key(" ")
    wait(lambda: at() == "(2,3)", 20, "the last step")
    main = driver.find_element("css selector", "#root .lamina-walk .main")
    wait(lambda: "Play" in main.text, words="the end of playing")
    key("r")
    wait(lambda: at() == "(1,1)", words="the beginning")
    height = "return document.querySelector('#root .lamina-screen').getBoundingClientRect().height"
    before = driver.execute_script(height)
    key("f")
    wait(lambda: driver.execute_script(height) > before + 60, words="a larger lab")
    assert not driver.find_element("css selector", ".lamina-bar").is_displayed()
    key("f")
    wait(lambda: driver.execute_script(height) == before, words="the page again")
    key("?")
    assert "play or pause" in driver.find_element("css selector", ".lamina-keys").text
    key("\ue00c")
    driver.execute_script("document.querySelector('.lamina-keys')?.close()")


def test_a_long_page_has_its_contents_beside_it(driver, address):
    from harness import sized, wait

    with sized(driver, 1920, 1080):
        opened(driver, address, "ch1/descent")
        links = wait(lambda: driver.find_elements("css selector", ".lamina-rail a"))
        titles = [head.text for head in driver.find_elements("css selector", "#root .lamina-section h2")]
        assert [link.get_attribute("textContent") for link in links] == titles and len(titles) == 7
        driver.execute_script("arguments[0].click()", links[3])
        wait(lambda: "now" in links[3].get_attribute("class"), words="the place in the contents")
        rail = links[0].rect
        first = driver.find_element("css selector", "#root .lamina-section h2").rect
        assert rail["x"] + rail["width"] <= first["x"], "the contents do not cover the text"


def test_training_pauses_steps_and_replays(driver, address):
    from harness import elements, page_text, plot_text, press, wait

    opened(driver, address, "ch2/playground")
    epoch = lambda: int(re.search(r"surface: epoch (\d+)", plot_text(driver))[1])  # noqa: E731
    button = lambda verb: elements(driver, f"el.matches('#root .lamina-play [data-press={verb}]')")[-1]  # noqa: E731
    press(driver, button("play"))
    wait(lambda: epoch() >= 5, 60, "five epochs")
    press(driver, button("pause"))
    wait(lambda: "paused" in page_text(driver), 20, "the pause")
    resting = epoch()
    press(driver, button("step"))
    wait(lambda: epoch() == resting + 1, 20, "one epoch more")
    assert wait(lambda: "paused" in page_text(driver), 10)
    press(driver, button("again"))
    wait(lambda: epoch() < resting, 30, "a new beginning")
    wait(lambda: epoch() > 0, 60, "the first epoch")
    press(driver, button("pause"))
    assert "?" not in driver.current_url, "what runs is no part of the state"
