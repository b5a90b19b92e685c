"""Every live page in a real browser: it loads, sets its formulas, asks nobody else, and does what a reader tries."""

import json
from importlib import import_module
from urllib.parse import urlsplit

import pytest
from selenium.common.exceptions import StaleElementReferenceException

from lamina.pages.site.contents import pages

pytestmark = pytest.mark.browser
PATHS = [page.path for page in pages()]
CHAPTERS = sorted({page.chapter for page in pages()})


def checks():
    found = {}
    for chapter in CHAPTERS:
        try:
            found |= import_module(f"interactions.{chapter}").CHECKS
        except ModuleNotFoundError:
            continue
    return [(path, check) for path, several in found.items() for check in several]


def opened(driver, address, path):
    from harness import ready

    driver.get_log("browser"), driver.get_log("performance")  # forget what was before
    driver.get(f"{address}/{path}")
    ready(driver)


def errors(driver):
    """Return what the console says, and the signs that marimo puts up beside the page when a cell has failed."""
    failed = driver.execute_script("return [...document.querySelectorAll('li.destructive')].map(e => e.textContent)")
    return failed + [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def asked(driver):
    """Return every address that the browser has asked for."""
    found = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.append(message["params"]["request"]["url"])
        elif message["method"] == "Network.webSocketCreated":
            found.append(message["params"]["url"])
    return found


def sound(driver, address):
    """See that formulas are set, that no cell has failed, and that nobody but the server was asked for anything."""
    from harness import elements, page_text

    assert elements(driver, "el.classList.contains('katex')"), "no formula"
    assert not elements(driver, "el.classList.contains('katex-error')"), "a formula cannot be set"
    assert "An ancestor raised" not in page_text(driver) and "Traceback" not in page_text(driver)
    foreign = [url for url in asked(driver) if urlsplit(url).scheme in ("http", "https", "ws", "wss")
               and urlsplit(url).netloc != urlsplit(address).netloc]  # fmt: skip
    assert not foreign
    assert not errors(driver)


# Code buttons with neither a heading nor a panel between them, results that are not a sentence, at most one chart and a
# closed drawer with the table, and what still says that nothing has been run.
STORY = """
const root = document.getElementById('root');
const marks = [...root.querySelectorAll(
  '.lamina-section, .lamina-panel, .lamina-lab, .lamina-try, .lamina-measured, .lamina-code')];
const twice = marks.filter((mark, i) => i && mark.matches('.lamina-code') && marks[i - 1].matches('.lamina-code'));
const bare = [...root.querySelectorAll('.lamina-measured')].filter((one) => !one.querySelector(':scope > .lamina-prose')
  || one.querySelectorAll(':scope > figure').length > 1
  || !one.querySelector(':scope > .lamina-drawer:not([open]) table')
  || one.querySelector('.lamina-drawer table').checkVisibility());
const empty = [...root.querySelectorAll('.lamina-note, .lamina-progress span')].map((note) => note.textContent)
  .filter((words) => /not started|not measured|nothing yet|wait for the button/i.test(words));
return { twice: twice.length, bare: bare.length, empty, guesses: root.querySelectorAll('.lamina-guess').length };
"""
UNTRAINED = {path: ["not started"] for path in ("ch2/playground", "ch4/transfer")}
"""One shows the network as it begins, and one waits for a visitor's data, too."""


def tells_a_story(driver, path):
    found = driver.execute_script(STORY)
    assert found["twice"] == 0, "one Code button a panel"
    assert found["bare"] == 0, "a result is a sentence, a chart and a closed drawer"
    assert found["empty"] == UNTRAINED.get(path, []), "a recorded run is shown before the first click"
    assert found["guesses"] > 0, "something to predict"


@pytest.mark.parametrize("path", PATHS)
def test_page_is_sound_and_fits_a_phone(driver, address, path):
    """In a window as wide as a phone; `test_reader_does` opens every page in a wide one."""
    from harness import sized

    with sized(driver, 360, 740):
        opened(driver, address, path)
        sound(driver, address)
        tells_a_story(driver, path)
        wide = driver.execute_script("return document.documentElement.scrollWidth")
    assert wide <= 360, f"the page is {wide} pixels wide"


@pytest.mark.parametrize(("path", "check"), checks(), ids=lambda value: getattr(value, "__name__", value))
def test_reader_does(driver, address, path, check):
    opened(driver, address, path)
    sound(driver, address)
    try:
        check(driver)
    except StaleElementReferenceException:  # the page drew anew what the check had just found: once more
        opened(driver, address, path)
        check(driver)
    assert not errors(driver)


@pytest.mark.parametrize("path", PATHS)
def test_every_page_has_a_check(path):
    assert path in {known for known, _ in checks()}, "add one to tests/browser/interactions"


@pytest.mark.parametrize("path", ["", "catalogue", "errata"])
def test_plain_pages_load(driver, address, path):
    driver.get_log("browser")
    driver.get(f"{address}/{path}")
    assert driver.find_element("tag name", "h1").text
    assert not errors(driver)


def test_light_and_dark_reset_and_what_has_been_read(driver, address):
    from harness import find_slider, page_text, ready, set_slider, slider_value, wait

    opened(driver, address, "ch1/perceptron")
    driver.execute_script("delete localStorage['lamina-read']")  # what other tests have read
    theme = "return [document.documentElement.dataset.theme, document.body.classList.contains('dark')]"
    assert driver.execute_script(theme) == ["light", False]
    driver.find_element("css selector", "[data-do=theme]").click()
    assert driver.execute_script(theme) == ["dark", True]
    set_slider(driver, "W_2", 3)
    assert slider_value(driver, "W_2") == -1.7
    driver.find_element("css selector", "[data-do=reset]").click()
    wait(lambda: find_slider(driver, "W_2") and slider_value(driver, "W_2") == -2, words="the first value")
    ready(driver)
    assert driver.execute_script(theme) == ["dark", True], "the choice stays"
    assert page_text(driver)
    driver.find_element("css selector", "[data-do=theme]").click()
    driver.execute_script("scrollTo(0, document.documentElement.scrollHeight)")
    wait(lambda: driver.execute_script("return JSON.parse(localStorage['lamina-read'])['ch1/perceptron']") > 0.95)
    driver.get(address)
    assert "1 of" in driver.find_element("css selector", "[data-sum]").text
    assert driver.find_element("css selector", "[data-progress='ch1/perceptron']").text == "read"


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Dest": "iframe"}],
    ids=["host", "origin", "frame"],
)
def test_strangers_are_refused(address, headers):
    import http.client

    place = urlsplit(address).netloc
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    upgrade["Sec-WebSocket-Key"] = "MDEyMzQ1Njc4OWFiY2RlZg=="
    for path, more in (("/ch1/perceptron/", {}), ("/ch1/perceptron/ws?session_id=s_x", upgrade)):
        asked = http.client.HTTPConnection(place, timeout=10)
        asked.request("GET", path, headers={"Host": place, **more, **headers})
        assert asked.getresponse().status == 403
        asked.close()


def test_a_link_to_a_heading_leads_there(driver, address):
    from harness import ready, wait

    driver.get(f"{address}/ch1/perceptron#what-learning-means")
    ready(driver)
    top = "return document.getElementById('what-learning-means').getBoundingClientRect().top"
    wait(lambda: -5 < driver.execute_script(top) < 700 and driver.execute_script("return scrollY > 500"))
