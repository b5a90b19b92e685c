"""A real browser on the live pages: the server in a process of its own, Chromium, and hands for widgets.

marimo's widgets sit in shadow roots, which plain selectors do not reach; the scripts here search through all of them.
"""

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import visiting

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or ""
CHROMEDRIVER = os.environ.get("CHROMEDRIVER") or shutil.which("chromedriver") or ""
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --disable-dev-shm-usage"
).split()

# Walk the document and every shadow root in it; `keep` says what to return.
_WALK = """
const found = [];
const walk = (node) => {
  for (const el of node.querySelectorAll('*')) {
    if (keep(el)) found.push(el);
    if (el.shadowRoot) walk(el.shadowRoot);
  }
};
walk(document);
"""


@contextlib.contextmanager
def serving(*options: str) -> Iterator[str]:
    """Run `lamina notes` on a port that it chooses and give its address."""
    with visiting.serving(*options) as (address, _):
        yield address


@contextlib.contextmanager
def browser(width: int = 1280, height: int = 900, *, dark: bool = False) -> Iterator[WebDriver]:
    """Start Chromium with a fresh profile, with the logs of the console and of the network."""
    if not CHROMIUM or not CHROMEDRIVER:
        raise RuntimeError("the browser tests need chromium and chromedriver: apt install chromium chromium-driver")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = Options()
        options.binary_location = CHROMIUM
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))
        driver.set_script_timeout(120)  # on a busy machine a page may take longer than the 30 s of selenium
        try:
            driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
            )
            if dark:
                media = [{"name": "prefers-color-scheme", "value": "dark"}]
                driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
            yield driver
        finally:
            driver.quit()


@contextlib.contextmanager
def sized(driver: WebDriver, width: int, height: int) -> Iterator[None]:
    """Show the page in a window of another size for a while."""
    whole = driver.execute_script("return [innerWidth, innerHeight]")
    for shape in ((width, height), whole):
        metrics = {"width": shape[0], "height": shape[1], "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        if shape is not whole:
            yield


def elements(driver: WebDriver, keep: str, *arguments: object) -> list[WebElement]:
    """Return the elements for which a JavaScript expression of `el` holds, in all shadow roots."""
    return driver.execute_script(f"const given = arguments, keep = (el) => {keep};{_WALK} return found;", *arguments)


def wait(condition, seconds: float = 40.0, words: str = "the condition"):
    """Wait until a function returns something true, and return that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{words} did not come true in {seconds:g} s")


def visit(driver: WebDriver, address: str) -> None:
    """Open a page and wait until its scripts have run: on a busy machine `get` may come back before."""
    driver.execute_script("window.left = true")
    driver.get(address)
    wait(lambda: driver.execute_script("return !window.left && document.readyState === 'complete'"), words=address)


def idle(driver: WebDriver) -> bool:
    """Say whether the page has shown its cells and none is running."""
    return driver.execute_script(
        "return !!document.querySelector('#root .lamina-section') && !document.querySelector('.lamina-still') && "
        "!document.querySelector('[data-status=running],[data-status=queued]')"
    )


def ready(driver: WebDriver, seconds: float = 40.0, settle: float = 1.0) -> float:
    """Wait until formulas are set and the page no longer changes; return how long that took."""
    start = time.monotonic()
    wait(lambda: idle(driver), seconds, "the first section")
    wait(lambda: elements(driver, "el.classList.contains('katex')"), seconds, "a formula")
    reached = time.monotonic() - start
    text, since = "", time.monotonic()
    while time.monotonic() - since < settle:
        now = page_text(driver)
        if now != text:
            text, since = now, time.monotonic()
        time.sleep(0.05)
    return reached


def page_text(driver: WebDriver) -> str:
    """Return the text of the page, drawings included."""
    return driver.execute_script("return document.getElementById('root').textContent")


def plot_text(driver: WebDriver, label: str = "") -> str:
    """Return the markup of the drawings whose label contains some words, to see whether they change."""
    script = (
        "return [...document.querySelectorAll('.lamina-svg')].filter(e => "
        "(e.getAttribute('aria-label') || '').includes(arguments[0]))"
        ".map(e => e.getAttribute('aria-label') + e.innerHTML).join()"
    )
    return driver.execute_script(script, label)


def _widgets(driver: WebDriver, tags: tuple[str, ...], label: str) -> list[WebElement]:
    """Return the widgets of some kinds whose label contains some words."""
    script = (
        "const args = arguments;"
        "const label = (el) => el.getAttribute('data-label') || '';"
        "const keep = (el) => args[0].includes(el.localName) && label(el).includes(args[1]);"
        f"{_WALK} return found;"
    )
    return driver.execute_script(script, list(tags), label)


def _labelled(driver: WebDriver, tag: str, label: str, nth: int = 0) -> WebElement:
    found = wait(lambda: (seen := _widgets(driver, (tag,), label))[nth:] and seen, words=f"a {tag} labelled {label!r}")
    return found[nth]


def find_slider(driver: WebDriver, label: str, nth: int = 0) -> WebElement:
    """Return the handle of the slider whose label contains some words; write formulas as LaTeX without `$`."""
    widget = _labelled(driver, "marimo-slider", label, nth)
    return wait(
        lambda: driver.execute_script("return arguments[0].shadowRoot?.querySelector('[role=slider]')", widget),
        words=f"the handle of {label!r}",
    )


def set_slider(driver: WebDriver, label: str, steps: int, nth: int = 0) -> None:
    """Move a slider with the arrow keys, as a reader at the keyboard would; `nth` of those with these words."""
    key = Keys.ARROW_RIGHT if steps > 0 else Keys.ARROW_LEFT
    for _ in range(abs(steps)):
        find_slider(driver, label, nth).send_keys(key)


def slider_value(driver: WebDriver, label: str) -> float:
    """Return where a slider stands."""
    return float(find_slider(driver, label).get_attribute("aria-valuenow"))


def slide_to(driver: WebDriver, label: str, value: float) -> None:
    """Move a slider by arrow keys until it stands at a value: a key is lost when the page is drawn anew meanwhile."""

    def there() -> bool:
        now = slider_value(driver, label)
        if now != value:
            set_slider(driver, label, 1 if value > now else -1)
        return now == value

    wait(there, words=f"{label!r} at {value:g}")


def choose(driver: WebDriver, label: str, option: str, nth: int = 0) -> None:
    """Choose an option of a dropdown; `nth` of those with the same label."""
    script = """
      const select = arguments[0].shadowRoot.querySelector('select');
      const wanted = [...select.options].find(o => o.text === arguments[1]);
      Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'value').set.call(select, wanted.value);
      select.dispatchEvent(new Event('change', { bubbles: true }));
    """

    def chosen() -> bool:
        try:
            driver.execute_script(script, _labelled(driver, "marimo-dropdown", label, nth), option)
        except StaleElementReferenceException:  # the page was drawn anew in between
            return False
        return True

    wait(chosen, words=f"{option!r} in {label!r}")


def click(driver: WebDriver, label: str) -> None:
    """Click the button, switch or checkbox that carries some words; of buttons that play, the large one."""
    if played := elements(
        driver, "el.matches('.lamina-play[data-label]') && el.dataset.label.includes(given[0])", label
    ):
        whole = played[0].get_attribute("data-label")
        rests = "el.matches('#root .lamina-play[data-state=idle]') && el.dataset.label === given[0]"
        press(driver, played[0].find_element("css selector", ".main"))
        wait(lambda: not elements(driver, rests, whole), words=f"{whole!r} to take the place of what was recorded")
        return
    tags = ("marimo-button", "marimo-switch", "marimo-checkbox")
    for widget in _widgets(driver, tags, label):
        target = driver.execute_script(
            "return arguments[0].shadowRoot.querySelector('button, [role=switch], [role=checkbox], input')", widget
        )
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", target)
        target.click()
        return
    raise AssertionError(f"no button, switch or checkbox says {label!r}")


def shape(driver: WebDriver, title: str, kind: str = "*") -> WebElement:
    """Return the shape of a drawing with some title."""
    keep = "el.localName === 'title' && el.textContent === given[0] && el.parentElement.matches(given[1])"
    keep += " && el.parentElement.getClientRects().length"  # of the two forms of a drawing, the one that is shown
    found = wait(lambda: elements(driver, f"{keep} && !!el.closest('#root')", title, kind), words=f"the shape {title}")
    return driver.execute_script("return arguments[0].parentElement", found[0])


def point_at(driver: WebDriver, title: str, kind: str = "*") -> str:
    """Move the pointer onto a shape and return the words that appear beside it."""
    target = shape(driver, title, kind)
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", target)
    ActionChains(driver, duration=20).move_to_element(target).perform()
    return wait(
        lambda: driver.execute_script("return document.querySelector('.lamina-tip:not([hidden])')?.textContent")
    )


def change_number(driver: WebDriver, title: str, number: float, kind: str = "*") -> None:
    """Click a number of a drawing and type another one."""
    ActionChains(driver, duration=20).move_to_element(shape(driver, title, kind)).click().perform()
    field = wait(lambda: driver.find_elements("css selector", ".lamina-edit input"), words="the field")[0]
    field.send_keys(Keys.CONTROL, "a", Keys.NULL, str(number), Keys.ENTER)


_AT_ONCE = """
const [title, number, result] = arguments, boxes = [...document.querySelectorAll('#root .lamina-svg[data-hands]')];
const box = boxes.find((each) => title in JSON.parse(each.dataset.hands));
const sheet = [...(box?.querySelectorAll('svg') ?? [])].find((svg) => svg.getBoundingClientRect().width > 0);
if (!sheet) return null;
LaminaHands.change(box, title, number);
const own = [...sheet.querySelectorAll('title')].filter((t) => t.textContent === result).map((t) => t.parentElement);
const text = own.find((node) => node.localName === 'text');
if (text) return text.lastChild.textContent;
const r = own[0].getBoundingClientRect();
const inside = (q) => q.left >= r.left && q.right <= r.right && q.top >= r.top && q.bottom <= r.bottom;
return [...sheet.querySelectorAll('text')].find((each) => inside(each.getBoundingClientRect())).textContent;
"""


def change_at_once(driver: WebDriver, title: str, number: float, result: str) -> str:
    """Change a number by script and return, in the same frame, what the drawing shows for another shape."""
    return wait(lambda: driver.execute_script(_AT_ONCE, title, number, result), words="a drawing that is laid out")


_MOVED = """
const [title, place, follow] = arguments, boxes = [...document.querySelectorAll('#root .lamina-svg[data-hands]')];
const said = (each) => each.getClientRects().length ? JSON.parse(each.dataset.hands).points?.follow ?? null : null;
const box = boxes.find((each) => said(each) === follow);
if (!box) return null;
box.scrollIntoView({ block: 'center' });
LaminaHands.moved(box, title, place);
return document.querySelector('.lamina-tip').textContent;
"""


def move_point(driver: WebDriver, title: str, x: float, y: float, follow: str) -> str:
    """Move a data point by script and return, in the same frame, the words that say what follows from it.

    The drawing is the one whose points a function of `static/follow.js` follows; "" where nothing does.
    """
    words = wait(lambda: driver.execute_script(_MOVED, title, [x, y], follow), words=f"points that {follow!r} follows")
    return words.replace("−", "-")


def widget_value(driver: WebDriver, name: str):
    """Return the value of a widget by its name in the address."""
    return driver.execute_script("return Lamina.value(Lamina.named().get(arguments[0]))", name)


def drag(driver: WebDriver, title: str, right: float, down: float) -> None:
    """Drag a shape by so many pixels."""
    target = shape(driver, title, "circle")
    ActionChains(driver, duration=50).move_to_element(target).click_and_hold().move_by_offset(right, down).pause(
        0.1
    ).release().perform()


def press(driver: WebDriver, button: WebElement) -> None:
    """Click a button of ours, wherever it stands; the page may draw it again at any time."""
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()


def type_text(driver: WebDriver, label: str, text: str) -> None:
    """Type into the text field or text area with a label, and leave it."""
    for widget in _widgets(driver, ("marimo-text", "marimo-text-area", "marimo-number"), label):
        field = driver.execute_script("return arguments[0].shadowRoot.querySelector('input, textarea')", widget)
        # In one call: a second one would put the caret at the end of what is there, in a shadow root.
        field.send_keys(Keys.CONTROL, "a", Keys.NULL, text, Keys.TAB)
        return
    raise AssertionError(f"no field says {label!r}")


def upload(driver: WebDriver, label: str, path: str) -> None:
    """Give a file to the upload field with a label."""
    widget = _labelled(driver, "marimo-file", label)
    wait(
        lambda: driver.execute_script("return arguments[0].shadowRoot.querySelector('input[type=file]')", widget)
    ).send_keys(str(path))


def draw(driver: WebDriver, strokes: list[list[tuple[float, float]]]) -> None:
    """Draw lines on the square of the page; places from 0 to 1, right and down."""
    canvas = wait(
        lambda: elements(driver, "el.localName === 'canvas' && !!el.closest('.lamina-pad')"), words="a canvas"
    )[0]
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    size = canvas.size
    for stroke in strokes:
        actions = ActionChains(driver, duration=20)
        for i, (x, y) in enumerate(stroke):
            actions.move_to_element_with_offset(canvas, (x - 0.5) * size["width"], (y - 0.5) * size["height"])
            if i == 0:
                actions.click_and_hold()
        actions.release().perform()


def mouse(driver: WebDriver, kind: str, x: float, y: float, button: str = "left", buttons: int = 1) -> None:
    """Send what one mouse does: Pressed, Moved or Released."""
    event = {"type": f"mouse{kind}", "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1}
    driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)


def touch(driver: WebDriver, kind: str, *fingers: tuple[int, float, float]) -> None:
    """Send what fingers do, each with its number and its place: Start, Move or End."""
    points = [{"id": finger, "x": x, "y": y} for finger, x, y in fingers]
    driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})


def wait_changed(driver: WebDriver, look, action, seconds: float = 40.0):
    """Do something and wait until what a function sees is different and rests; return (before, after).

    A slider that moves by several steps changes the page several times; what is still moving after 2 s is live.
    """
    before = look()
    action()
    after = wait(lambda: (seen := look()) != before and (seen or " "), seconds, "a change of the page")
    end = time.monotonic() + 2
    while time.monotonic() < end:
        time.sleep(0.3)
        if (seen := look() or " ") == after:
            break
        after = seen
    return before, after
