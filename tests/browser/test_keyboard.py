"""The keyboard alone can do everything: a page of each kind is used with Tab, arrows, Enter and the space bar only."""

import math
import re

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from lamina.pages.site.contents import pages

# ruff: noqa: E501
pytestmark = pytest.mark.browser

# What has the focus, through all shadow roots, and whether some words stand on it or on what it sits in.
FOCUS = """
let at = document.activeElement;
while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
"""
SAYS = """
const labels = (node) => node ? [node.dataset?.label, node.getAttribute?.('aria-label'), node.dataset?.press, node.dataset?.hands] : [];
const chain = [];
for (let n = at; n && chain.length < 12; n = n.assignedSlot || n.parentElement || n.getRootNode().host) {
  chain.push(n);
  if (n.localName.startsWith('marimo-')) break;
}
return !!at && at.matches(arguments[0]) && (chain.some((n) => labels(n).some((w) => (w || '').includes(arguments[1])))
  || at.textContent.includes(arguments[1]));
"""


def opened(driver, address, path):
    from harness import ready

    driver.get(f"{address}/{path}")
    ready(driver)


def press(driver, *keys):
    ActionChains(driver).send_keys(*keys).perform()


def replace(driver, *keys):
    """Type in place of what stands in a field."""
    ActionChains(driver).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys(*keys).perform()


def tab_to(driver, kind, words, most=150):
    """Press Tab until what has the focus is of a kind and says some words."""
    for _ in range(most):
        press(driver, Keys.TAB)
        if driver.execute_script(FOCUS + SAYS, kind, words):
            return
    raise AssertionError(f"{most} times Tab do not lead to {kind} with {words!r}")


def outlined(driver):
    """Say whether a reader sees where the focus is."""
    return driver.execute_script(
        FOCUS + "const s = getComputedStyle(at); return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0"
        " || s.boxShadow !== 'none';"
    )


def test_a_playground_learns_pauses_and_grows(driver, address):
    from harness import page_text, plot_text, slider_value, wait

    opened(driver, address, "ch2/playground")
    epoch = lambda: int(re.search(r"surface: epoch (\d+)", plot_text(driver))[1])  # noqa: E731
    tab_to(driver, "button", "Learn")
    assert outlined(driver)
    press(driver, Keys.ENTER)
    wait(lambda: epoch() >= 5, 60, "five epochs")
    driver.execute_script("document.activeElement.blur()")
    press(driver, " ")
    wait(lambda: "paused" in page_text(driver), words="the pause")
    tab_to(driver, "[role=slider]", "noise")
    assert outlined(driver)
    before = slider_value(driver, "noise")
    press(driver, Keys.ARROW_RIGHT)
    wait(lambda: slider_value(driver, "noise") > before, words="more noise")
    wait(lambda: epoch() == 0, words="a network that has not learned these data")


def test_a_descent_starts_elsewhere(driver, address):
    from harness import plot_text, wait, widget_value

    from lamina.inspection.landscape import optimizer_path
    from lamina.inspection.surfaces import bowl

    opened(driver, address, "ch1/descent")
    tab_to(driver, ".lamina-svg[data-hands]", "start")
    assert outlined(driver)
    first = widget_value(driver, "start-theta-1")
    press(driver, Keys.ARROW_RIGHT)
    wait(lambda: widget_value(driver, "start-theta-1") > first, words="a start further right")

    def agrees():
        start = tuple(widget_value(driver, f"start-theta-{i}") for i in (1, 2))
        path = optimizer_path(bowl(40.0, 0.0).function, start, "adam", steps=40, learning_rate=0.1)
        return f"Adam is {path.values[40].item():.4g} above the lowest point" in plot_text(driver, "long bowl after 40")

    wait(agrees, words="the descent from the new start")
    tab_to(driver, "select", "")
    choices = "return at.options.length > 1 && at.selectedIndex"
    before = driver.execute_script(FOCUS + choices)
    press(driver, Keys.ARROW_DOWN)
    assert driver.execute_script(FOCUS + choices) == before + 1, "a list answers to arrows"


def test_a_weight_of_backpropagation_is_changed(driver, address):
    from harness import plot_text, wait

    opened(driver, address, "ch2/backpropagation")
    tab_to(driver, ".lamina-svg[data-hands]", "W[0](1,1)")
    tip = lambda: driver.execute_script("return document.querySelector('.lamina-tip:not([hidden])')?.textContent ?? ''")  # noqa: E731
    for _ in range(40):
        if tip().startswith("W[0](1,1)"):
            break
        press(driver, Keys.PAGE_DOWN)
    assert tip().endswith("(Enter to change)"), tip()
    press(driver, Keys.ENTER)
    replace(driver, "0.7", Keys.ENTER)
    # z = 0.7 * 1 + 0.1 * (-0.5) + 0 = 0.65
    wait(lambda: f"{math.tanh(0.65):.4g}" in plot_text(driver, "after line 12"), words="the value that Python computes")


def test_a_convolution_is_stepped_and_its_matrices_are_changed(driver, address):
    from harness import plot_text, wait

    opened(driver, address, "ch3/convolution")
    look = lambda: plot_text(driver, "Both results")  # noqa: E731
    tab_to(driver, "button", "next")
    press(driver, " ")
    wait(lambda: "at (1,2) the convolution is 120, the cross-correlation 100" in look(), words="the next place")
    opened(driver, address, "ch3/convolution")
    tab_to(driver, "input, textarea", "kernel")
    replace(driver, "1 0 -1", Keys.TAB)
    wait(lambda: "at (1,1) the convolution is -3, the cross-correlation 3" in look(), words="the own kernel")


def test_a_cell_of_a_matrix_is_changed(driver, address):
    from harness import plot_text, wait

    opened(driver, address, "ch3/convolution")
    tab_to(driver, ".lamina-svg[data-hands]", "Y (1,1)")
    tip = lambda: driver.execute_script("return document.querySelector('.lamina-tip:not([hidden])')?.textContent ?? ''")  # noqa: E731
    for _ in range(60):
        if tip().startswith("Y (1,1)"):
            break
        press(driver, Keys.PAGE_DOWN)
    press(driver, Keys.ENTER)
    replace(driver, "2", Keys.ENTER)
    words = "at (1,1) the convolution is 128, the cross-correlation 102"  # 119 + 9 and 101 + 1
    wait(lambda: words in plot_text(driver, "Both results"), words="Python's answer")


def test_a_digit_is_drawn(driver, address):
    from harness import page_text, plot_text, wait

    opened(driver, address, "ch3/lenet")
    tab_to(driver, "canvas", "Draw a digit")
    assert outlined(driver)
    press(driver, " ", *[Keys.ARROW_DOWN] * 10, " ")  # the pen starts in the middle, a quarter of the way down
    wait(lambda: "LeNet-5 reads a 1" in plot_text(driver, "LeNet-5 reads"), words="a line that is read as a 1")
    assert "This is your drawing" in page_text(driver)
    press(driver, Keys.DELETE)
    wait(lambda: "This is your drawing" not in page_text(driver), words="an empty square")


def test_a_prediction_is_made_and_revealed(driver, address):
    from harness import wait

    opened(driver, address, "ch1/perceptron")
    block = "document.querySelector('#root .lamina-try')"
    tab_to(driver, "input[type=radio]", "")
    press(driver, " ")
    wait(
        lambda: driver.execute_script(f"return {block}.querySelector('.lamina-then').checkVisibility()"),
        words="the task",
    )
    tab_to(driver, "summary", "")
    press(driver, Keys.ENTER)
    assert driver.execute_script(f"return {block}.querySelector('details').open")


# What answers to a pointer but not to Tab, unless its widget has another part that does: an upload opens with its square,
# a number grows with the arrow keys of its field.
UNREACHED = """
const found = [], walk = (node) => { for (const el of node.querySelectorAll('*')) { found.push(el); if (el.shadowRoot) walk(el.shadowRoot); } };
walk(document.body);
const hands = (el) => el.matches('button, a[href], input, select, textarea, summary, canvas, [role=slider], [role=switch], [role=checkbox], [role=combobox], [data-hands]');
const seen = (el) => el.checkVisibility({ checkVisibilityCSS: true }) && el.getBoundingClientRect().width > 0;
return found.filter((el) => hands(el) && seen(el) && !el.disabled && el.tabIndex < 0 && !el.closest('[aria-hidden=true], [inert]'))
  .filter((el) => el.getRootNode() === document || ![...el.getRootNode().querySelectorAll('*')].some((other) => other.tabIndex >= 0))
  .map((el) => el.outerHTML.slice(0, 160));
"""


@pytest.mark.parametrize("path", [page.path for page in pages()])
def test_everything_that_can_be_touched_can_be_reached(driver, address, path):
    opened(driver, address, path)
    assert driver.execute_script(UNREACHED) == []
