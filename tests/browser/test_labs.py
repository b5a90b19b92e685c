"""The bars of the labs: the picture and the start on the first screen, nothing jumps, a link carries the state."""

import re
import urllib.request

import pytest
from selenium.webdriver.common.action_chains import ActionChains

from lamina.pages.site.contents import pages

pytestmark = pytest.mark.browser
PATHS = [page.path for page in pages()]
SIZES = ((1280, 800), (1920, 1080), (360, 740))

BOX = "(node) => { const r = node.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; }"

# The picture, what covers the lower end of the screen on a phone, and the button that starts (or the first widget).
MEASURE = (
    f"const box = {BOX};"
    + """
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
)

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
                assert max(moves) <= 8, (wide, moves)
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
    wait(
        lambda: "The network 2-3-1 after line 3 of 12" in plot_text(driver, "after line"), words="the state of the link"
    )
    wait(lambda: slider_value(driver, "line of the algorithm") == 3, words="the slider of the link")
    slide_to(driver, "line of the algorithm", 12)
    wait(lambda: "line-of" not in driver.current_url, words="what stands where it stood at first is left out")


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
    wait(lambda: at() == "(2,3)", words="the last step")
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
    wait(lambda: "paused" in page_text(driver), words="the pause")
    resting = epoch()
    press(driver, button("step"))
    wait(lambda: epoch() == resting + 1, words="one epoch more")
    assert wait(lambda: "paused" in page_text(driver), 10)
    press(driver, button("again"))
    wait(lambda: epoch() < resting, words="a new beginning")
    wait(lambda: epoch() > 0, 60, "the first epoch")
    press(driver, button("pause"))
    assert "?" not in driver.current_url, "what runs is no part of the state"


def test_the_value_of_a_slider_stands_beside_it_and_no_bubble_covers_its_label(driver, address):
    from harness import elements, find_slider, wait

    opened(driver, address, "ch1/regression")
    handle = find_slider(driver, "W_2")
    handle.send_keys("\ue014")  # the right arrow; the bubble opens where the handle has the focus
    bubble = wait(lambda: elements(driver, "el.matches('[role=tooltip]')"), words="marimo's bubble")
    assert not any(each.is_displayed() for each in bubble)
    beside = "return arguments[0].getRootNode().host.shadowRoot.querySelector('[part=label]').parentElement.textContent"
    assert handle.get_attribute("aria-valuenow") == "0.1"
    assert driver.execute_script(beside, handle).strip().endswith("0.1")


def test_a_small_value_beside_a_slider_is_written_in_full(driver, address):
    from harness import find_slider, set_slider, wait

    opened(driver, address, "ch3/lrn")
    script = "return arguments[0].getRootNode().host.shadowRoot.querySelector('[part=label]').parentElement.textContent"
    beside = lambda: driver.execute_script(script, find_slider(driver, "gamma")).strip()  # noqa: E731
    wait(lambda: beside().endswith("0.001"), words="0.001, which marimo writes as 1.0e-3")
    set_slider(driver, "gamma", -1)
    wait(lambda: beside().endswith("0.0001"), words="the next value")


def test_a_minus_beside_a_slider_is_that_of_the_picture(driver, address):
    from harness import find_slider, set_slider, wait

    opened(driver, address, "ch1/perceptron")
    script = "return arguments[0].getRootNode().host.shadowRoot.querySelector('[part=label]').parentElement.textContent"
    beside = lambda: driver.execute_script(script, find_slider(driver, "W_2")).strip()  # noqa: E731
    wait(lambda: beside().endswith("−2"), words="−2, which marimo writes as -2")
    set_slider(driver, "W_2", 1)
    wait(lambda: beside().endswith("−1.9"), words="the next value")


def test_corrections_are_cards_on_a_phone_that_say_what_their_parts_are(driver, address):
    from harness import sized, visit

    with sized(driver, 360, 740):
        for page, named in (("errata", ["the notes say", "what is right", "where the library does it"]),
                            ("catalogue", ["code", "test", "page"])):  # fmt: skip
            visit(driver, f"{address}/{page}")
            assert driver.execute_script("return document.documentElement.scrollWidth") <= 360
            row = driver.find_elements("css selector", ".plain tbody tr")[0]
            cells = row.find_elements("css selector", "td[data-is]")
            before = "return getComputedStyle(arguments[0], '::before').content"
            assert [driver.execute_script(before, cell) for cell in cells] == [f'"{name}"' for name in named]
            assert all(cell.rect["x"] + cell.rect["width"] <= 360 for cell in cells)


def test_the_playground_says_what_an_untrained_network_loses(driver, address):
    from harness import plot_text

    from lamina.pages.chapters.ch2.playground._setup import Setup
    from lamina.pages.chapters.ch2.playground._work import first_view

    opened(driver, address, "ch2/playground")
    facts = driver.find_element("css selector", "#root .lamina-strip").text.split("\n")
    found = dict(zip(facts[::2], facts[1::2], strict=False))
    _, loss, validation, _, share = first_view(Setup())["numbers"]
    wanted = {"training loss": loss, "validation loss": validation, "validation accuracy": share}
    assert {name: float(found[name]) for name in wanted} == pytest.approx(wanted, rel=1e-3)
    assert plot_text(driver, "The losses over the epochs").count("<circle") >= 2, "a point for each loss"


FORM = """
const boxes = [...document.querySelectorAll('#root .lamina-svg')];
const box = boxes.find((each) => each.getAttribute('aria-label').startsWith(arguments[0]));
const sheet = [...box.querySelectorAll('svg')].find((svg) => svg.getClientRects().length);
const scale = sheet.getScreenCTM().a;
const sizes = [...sheet.querySelectorAll('text')].map((text) => parseFloat(getComputedStyle(text).fontSize) * scale);
return [sheet.className.baseVal, box.scrollWidth - box.clientWidth, Math.min(...sizes), Math.max(...sizes)];
"""


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("ch3/lrn", "AlexNet"),
        ("ch4/resnet18", "Fig. 31"),
        ("ch5/unrolling", "The wiring of one"),
        ("ch5/gates", "A gated recurrent unit"),
        ("ch5/gates", "An LSTM cell"),
    ],
)
def test_large_drawings_have_a_form_for_a_phone_that_does_not_scroll(driver, address, path, label):
    from harness import sized

    with sized(driver, 360, 740):
        opened(driver, address, path)
        form, beyond, least, most = driver.execute_script(FORM, label)
    assert form == "narrow" and beyond <= 1
    assert 10.95 < least <= most < 18.05


def test_a_phone_shows_the_square_and_the_answer_on_one_screen(driver, address):
    from harness import elements, mouse, sized, wait

    told = lambda: driver.find_element("css selector", "#root .lamina-strip").text.split("\n")  # noqa: E731
    seven = [(0.3, 0.25), (0.5, 0.25), (0.7, 0.25), (0.55, 0.55), (0.45, 0.8)]
    for high in (640, 740):
        with sized(driver, 360, high):
            opened(driver, address, "ch3/lenet")
            assert told()[:2] == ["reads our 7", "7: over 99.9%"], "nothing is drawn yet"
            canvas = elements(driver, "el.localName === 'canvas' && !!el.closest('.lamina-pad')")[0]
            spot = driver.execute_script(
                "const r = arguments[0].getBoundingClientRect(); return [r.x, r.y, r.width]", canvas
            )
            at = [(spot[0] + x * spot[2], spot[1] + y * spot[2]) for x, y in seven]
            mouse(driver, "Pressed", *at[0])
            for place in at[1:]:
                mouse(driver, "Moved", *place)
            mouse(driver, "Released", *at[-1])
            wait(lambda: told()[0] == "reads" and told()[1].startswith("7: "), words="the answer")
            clear = elements(driver, "el.textContent === 'Clear' && !!el.closest('.lamina-pad')")[0]
            facts = driver.find_elements("css selector", "#root .lamina-strip dd")
            strip, dock = (driver.find_element("css selector", f"#root .lamina-{part}") for part in ("strip", "dock"))
            *boxes, (_, end, _, _) = driver.execute_script(
                f"return arguments[0].map({BOX})", [*facts, canvas, clear, dock]
            )
            beyond = "return [strip.scrollWidth - strip.clientWidth, strip.scrollHeight - strip.clientHeight]"
            assert driver.execute_script(f"const [strip] = arguments; {beyond}", strip) == [0, 0], "all is in sight"
            assert len(facts) == 3 and driver.execute_script("return scrollY") == 0
            assert all(within(box, (0, 0, 360, end)) for box in boxes), (high, boxes, end)


def test_a_wide_table_on_a_phone_scrolls_below_the_names_of_its_rows(driver, address):
    from harness import sized

    script = """
      const clear = 'rgba(0, 0, 0, 0)', color = (node) => getComputedStyle(node).backgroundColor;
      const shade = (node) => color(node) === clear ? shade(node.parentElement) : color(node);
      const tables = [...document.querySelectorAll('#root .lamina-table')];
      return tables.filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => {
        each.scrollLeft = 999;
        const cell = each.querySelector('td');
        const left = cell.getBoundingClientRect().left - each.getBoundingClientRect().left;
        return [each.scrollLeft > 0, left, shade(cell) === shade(each), cell.textContent];
      });
    """
    with sized(driver, 360, 740):
        opened(driver, address, "ch4/resnet18")
        found = driver.execute_script(script)
    assert "conv1" in [name for *_, name in found]
    assert all(scrolled and abs(left) < 1 and same for scrolled, left, same, _ in found), found


def test_a_phone_shows_what_the_network_says_above_its_gates(driver, address):
    from harness import sized

    beyond = "return [arguments[0].scrollWidth - arguments[0].clientWidth, arguments[0].getBoundingClientRect().bottom]"
    with sized(driver, 360, 740):
        opened(driver, address, "ch5/gates")
        strip = driver.find_element("css selector", "#root .lamina-strip")
        picture = driver.find_element("css selector", "#root .lamina-stage figure")
        over, end = driver.execute_script(beyond, strip)
        assert strip.text.split("\n")[:2] == ["it says", "the cats … were"]
        assert over == 0 and end <= picture.rect["y"], "above the picture"
