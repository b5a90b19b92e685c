"""Predict, move, reveal; and what was recorded is shown before anything has been run."""

import pytest

pytestmark = pytest.mark.browser


def opened(driver, address, path):
    from harness import ready

    driver.get(f"{address}/{path}")
    ready(driver)


def test_a_prediction_comes_first_and_its_answer_last(driver, address):
    from harness import press, set_slider, wait

    opened(driver, address, "ch1/perceptron")
    block = "document.querySelector('#root .lamina-try')"
    seen = f"return [...{block}.querySelectorAll('.lamina-then')].map((part) => part.checkVisibility())"
    mark = f"return [...{block}.querySelectorAll('label')].map((label) => getComputedStyle(label, '::after').content)"
    assert driver.execute_script(seen) == [False, False], "neither task nor answer before the prediction"
    options = driver.find_elements("css selector", "#root .lamina-try:first-of-type label")[:3]
    assert [option.text for option in options] == ["Up", "Down", "Either"]
    press(driver, options[1])
    assert driver.execute_script(seen) == [True, True]
    assert driver.execute_script(mark) == ["none"] * 3, "nothing is revealed yet"
    set_slider(driver, "W_3", 1)
    facts = lambda: driver.find_element("css selector", "#root .lamina-strip").text  # noqa: E731
    wait(lambda: "−0.1" in facts() and "answer y\n0" in facts(), words="the neuron, silent: 0 + 0.1 · (−1) = −0.1")
    press(driver, driver.find_element("css selector", "#root .lamina-try summary"))
    wait(lambda: driver.execute_script(mark) == ['"✓"', '"✗"', "none"], words="right and wrong")


def test_a_table_comes_out_of_its_drawer(driver, address):
    from harness import press, wait

    opened(driver, address, "ch2/approximation")
    drawer = driver.find_element("css selector", "#root .lamina-measured .lamina-drawer")
    table = drawer.find_element("css selector", "table")
    words = driver.find_element("css selector", "#root .lamina-measured .lamina-prose").text
    assert words == "From 4 to 128 units the largest error falls from 1.2 to 4·10⁻¹¹." and not table.is_displayed()
    press(driver, drawer.find_element("css selector", "summary"))
    wait(table.is_displayed, words="the table")
    assert "lamina experiment widening" in drawer.text and "1.235" in table.text


def test_a_recorded_run_is_shown_until_the_reader_changes_something(driver, address):
    from harness import choose, page_text, plot_text, wait

    opened(driver, address, "ch5/translation")
    shown = lambda: plot_text(driver, "Correct sentences over the updates")  # noqa: E731
    assert "12 of 12 after 300" in shown() and "a recorded run" in page_text(driver)
    choose(driver, "network", "lstm")
    wait(lambda: "0 of 12 after 0" in shown(), words="no record with these settings")
    assert "a recorded run" not in page_text(driver)


def test_the_playground_opens_with_a_run_that_has_no_folder(driver, address):
    from harness import page_text

    opened(driver, address, "tools/playground")
    shown = page_text(driver)
    assert "45 of 45" in shown and "a recorded run" in shown and "0.9766" in shown
    assert "Take the run with you" not in shown and "299 examples, opened once" in shown
