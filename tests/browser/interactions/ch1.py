"""What a reader does on the pages of chapter 1."""

from harness import WebDriver, choose, click, page_text, plot_text, set_slider, slider_value, wait, wait_changed


def a_weight_changes_the_neuron(driver: WebDriver) -> None:
    assert "the weighted sum is 0.00, the answer is 1.00" in plot_text(driver, "three inputs")
    _, after = wait_changed(driver, lambda: plot_text(driver, "three inputs"), lambda: set_slider(driver, "W_1", -1))
    assert slider_value(driver, "W_1") == 0.9
    assert "the weighted sum is -0.10, the answer is 0.00" in after


def an_activation_is_drawn_with_its_derivative(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "and its derivative; at")  # noqa: E731
    assert "at 1.5 they are 0.818 and 0.149" in look()
    _, after = wait_changed(driver, look, lambda: choose(driver, "activation", "ReLU", nth=1))
    assert "at 1.5 they are 1.500 and 1.000" in after


def costs_are_measured_in_another_process(driver: WebDriver) -> None:
    for number in (1, 2):
        click(driver, "Measure")
        wait(lambda: f"measurement {number}" in page_text(driver), 60, "the table of costs")  # noqa: B023
    assert "leaky_relu" in page_text(driver)


CHECKS = {
    "ch1/perceptron": (
        a_weight_changes_the_neuron,
        an_activation_is_drawn_with_its_derivative,
        costs_are_measured_in_another_process,
    ),
}
