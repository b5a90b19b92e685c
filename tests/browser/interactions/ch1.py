"""What a reader does on the pages of chapter 1."""

import re
import tempfile
from itertools import islice
from pathlib import Path

import torch
from harness import (
    Keys,
    WebDriver,
    choose,
    click,
    drag,
    page_text,
    plot_text,
    set_slider,
    shape,
    slider_value,
    upload,
    wait,
    wait_changed,
    widget_value,
)

from lamina.classical import kmeans, polynomial
from lamina.classical.linear_regression import fit, squared_error
from lamina.data.synthetic import blobs, curve
from lamina.inspection.landscape import optimizer_path
from lamina.inspection.surfaces import bowl
from lamina.pages.chapters.ch1._shared import regression_data
from lamina.pages.chapters.ch1.overfitting._work import noisy_sine

F64 = torch.float64


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
    assert "for 10,000 numbers, median of 25" in page_text(driver), "what was recorded"
    click(driver, "Measure")
    words = "Measured just now: tanh needs 9 operations, 4 of them exponentials"
    wait(lambda: words in page_text(driver), 60, "the costs on this machine")
    assert "for 10,000 numbers, median of 9" in page_text(driver) and "leaky_relu" in page_text(driver)


def a_line_has_the_loss_of_the_library(driver: WebDriver) -> None:
    inputs, targets = regression_data(20, 0.3, 0)
    look = lambda: plot_text(driver, "points and your line")  # noqa: E731
    for moves in (0, 4):
        set_slider(driver, "slope, weight", moves)
        weight = torch.tensor([-1.0, 0.1 * moves], dtype=F64)
        words = f"the loss is {squared_error(weight, inputs, targets).item():.4f}, "
        wait(lambda: words in look(), 15, words)  # noqa: B023
    assert f"the smallest possible {fit(inputs, targets).loss:.4f}" in look()


def a_copied_column_is_refused_by_the_normal_equations(driver: WebDriver) -> None:
    assert "normal equations" in page_text(driver)
    set_slider(driver, "difference of two columns", -7)
    wait(lambda: "must have linearly independent columns (3), got rank 2" in page_text(driver), 15, "the refusal")


def a_table_of_ones_own_gets_a_line(driver: WebDriver) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.csv"
        rows = "".join(f"{i % 7},{i % 3},{2 * (i % 7) - (i % 3) + 0.5 * (i % 2)}\n" for i in range(42))
        path.write_text("size,age,price\n" + rows)
        upload(driver, "your CSV", str(path))
        wait(lambda: "42 rows of mine.csv" in page_text(driver), 20, "the weights of the table")
    assert "offset" in page_text(driver) and "loss of the mean" in page_text(driver)


def half_steps_lower_the_distortion(driver: WebDriver) -> None:
    points = blobs(80, classes=4, spread=0.9, seed=1).inputs.double()
    first = kmeans.first_centroids(points, 4, seed=4)[0]
    steps = list(islice(kmeans.half_steps(points, first), 3))
    look = lambda: plot_text(driver, "k-means after half step")  # noqa: E731
    for number, step in enumerate(steps, 1):
        words = f"after half step {number}, " + ("points assigned" if step.kind == "assign" else "centroids moved")
        words += f": distortion {step.distortion.item():.2f}"
        wait(lambda: words in look(), 15, words)  # noqa: B023
        set_slider(driver, "half steps", 1)
    assert steps[2].distortion < steps[0].distortion


def restarts_find_both_ends_of_a_rectangle(driver: WebDriver) -> None:
    choose(driver, "data", "four corners of a rectangle", nth=1)
    look = lambda: plot_text(driver, "Final distortions of 50 runs")  # noqa: E731
    for _ in range(2):
        set_slider_of_second(driver, "clusters", -1)
    wait(lambda: "reach the best, 1.00; the worst is 16.00" in look(), 15, "both fixed points")


def set_slider_of_second(driver: WebDriver, label: str, steps: int) -> None:
    """Move the second slider of a label."""
    from harness import _labelled

    handle = driver.execute_script(
        "return arguments[0].shadowRoot.querySelector('[role=slider]')", _labelled(driver, "marimo-slider", label, 1)
    )
    for _ in range(abs(steps)):
        handle.send_keys(Keys.ARROW_RIGHT if steps > 0 else Keys.ARROW_LEFT)


def steps_above_the_bound_diverge(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "Gradient descent after 15 steps")  # noqa: E731
    surface = bowl(10.0, 20.0)
    for share, moves in ((0.8, 0), (1.05, 5)):
        set_slider(driver, "as a share of", moves)
        path = optimizer_path(surface.function, surface.start, steps=15, learning_rate=share * 2 / 10)
        words = f"the loss is {path.values[-1].item():.4g}"
        wait(lambda: words in look(), 15, words)  # noqa: B023


def racers_run_and_stop(driver: WebDriver) -> None:
    steps = lambda: int(re.search(r"Four methods on the loss of a line, after (\d+) steps", plot_text(driver))[1])  # noqa: E731
    assert steps() == 120, "what was recorded"
    click(driver, "Race")
    wait(lambda: steps() > 5, 30, "the race")
    click(driver, "Race")
    wait(lambda: "paused" in page_text(driver) or "done" in page_text(driver), 15, "the end of the race")
    assert "gradients computed" in page_text(driver)


def adam_first_steps_have_the_length_of_its_step_size(driver: WebDriver) -> None:
    surface = bowl(40.0, 0.0)
    path = optimizer_path(surface.function, surface.start, "adam", steps=40, learning_rate=0.1)
    words = f"Adam is {path.values[40].item():.4g} above the lowest point"
    assert words in plot_text(driver, "long bowl after 40 steps")
    choose(driver, "landscape", "saddle")
    wait(lambda: plot_text(driver, "saddle after 40 steps"), 15, "the other landscape")


def a_degree_has_the_errors_of_the_library(driver: WebDriver) -> None:
    points = torch.linspace(0, 1, 10, dtype=F64)
    values, unseen = noisy_sine(points, 0.25, 3), curve(200, noise=0.25, seed=10_003)
    look = lambda: plot_text(driver, "A polynomial of degree")  # noqa: E731
    for degree, moves in ((3, 0), (9, 6)):
        set_slider(driver, "degree", moves)
        found = polynomial.fit(points, values, degree)
        error = polynomial.error(found, unseen.inputs[:, 0], unseen.targets)
        words = f"degree {degree} on 10 points: its error there is {found.error:.4f}, at unseen points {error:.4f}"
        wait(lambda: words in look(), 15, words)  # noqa: B023


def norm_one_sets_weights_to_zero(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "The sizes of the weights")  # noqa: E731
    assert "0 of 10 are exactly zero" in look()
    choose(driver, "norm", "norm 1")
    set_slider(driver, "penalty", 2)
    wait(lambda: "7 of 10 are exactly zero" in look(), 20, "seven zeros")


def a_network_overfits_and_can_be_stopped(driver: WebDriver) -> None:
    click(driver, "Train")
    wait(lambda: "best step" in page_text(driver), 60, "the first rows of training")
    wait(lambda: plot_text(driver, "Losses: on unseen points smallest at step"), 10, "the losses")
    click(driver, "Train")
    wait(lambda: "paused" in page_text(driver) or "done" in page_text(driver), 15, "the end of training")


def a_split_has_the_sizes_of_the_rule(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "examples")  # noqa: E731
    assert "Of 600 examples 400 train, 100 validate and 100 test" in look()
    set_slider(driver, "share of validation", 1)
    wait(lambda: "Of 600 examples 344 train, 171 validate and 85 test" in look(), 15, "the sizes at 4:2:1")


def coins_are_worth_one_half(driver: WebDriver) -> None:
    label = wait(lambda: plot_text(driver, "The best of 1024 coins"), 15, "the coins")
    shown, fresh = (float(x) for x in re.search(r"shows ([\d.]+) where selected and ([\d.]+) on fresh", label).groups())
    assert shown > 0.62 and abs(fresh - 0.5) < 0.06
    assert "1024" in page_text(driver).replace(",", "")


def a_search_fills_its_grid(driver: WebDriver) -> None:
    set_slider(driver, "epochs of each training run", -6)
    click(driver, "Search")
    label = wait(lambda: plot_text(driver, "Validation losses of 20 training runs"), 90, "all twenty training runs")
    assert float(re.search(r"the best, ([\d.]+), has step size", label)[1]) < 0.4
    assert "one at a time" in page_text(driver)


def the_test_part_is_opened_once(driver: WebDriver) -> None:
    assert "The test part is sealed." in page_text(driver)
    click(driver, "Open the test part")
    wait(lambda: "test error" in page_text(driver) and "openings" in page_text(driver), 15, "the test error")


def a_line_computes_or_and_never_xor(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "the line of the neuron for")  # noqa: E731
    assert "for OR: 0 of 4 wrong" in look()
    choose(driver, "wanted", "XOR")
    wait(lambda: "for XOR: 1 of 4 wrong" in look(), 15, "XOR with one error")
    choose(driver, "wanted", "AND")
    set_slider(driver, "bias", -5)
    wait(lambda: "for AND: 0 of 4 wrong" in look(), 15, "AND with b = -1.5")
    assert slider_value(driver, "bias") == -1.5


def the_rule_learns_or(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "The line for OR after")  # noqa: E731
    assert "after 0 passes: 1 of 4 wrong" in look()
    set_slider(driver, "passes through the four examples", 3)
    wait(lambda: "after 3 passes: 0 of 4 wrong" in look(), 15, "OR without error")
    click(driver, "Learn from ten starts")
    wait(lambda: "is never below one error" in page_text(driver), 90, "the experiment")


def a_margin_bears_errors(driver: WebDriver) -> None:
    assert "Two hidden neurons and their AND: 4 of 4 right" in page_text(driver)
    set_slider(driver, "error added to every input", -2)
    click(driver, "biases with a margin")
    wait(lambda: "their AND: 4 of 4 right" not in page_text(driver), 15, "wrong answers without a margin")


def the_start_of_a_descent_is_dragged(driver: WebDriver) -> None:
    drag(driver, "start", 120, 60)
    surface = bowl(40.0, 0.0)

    def agrees():
        first, second = (widget_value(driver, f"start-theta-{i}") for i in (1, 2))
        path = optimizer_path(surface.function, (first, second), "adam", steps=40, learning_rate=0.1)
        words = f"Adam is {path.values[40].item():.4g} above the lowest point"
        return first > -1.6 and second < 1.0 and words in plot_text(driver, "long bowl after 40 steps")

    wait(agrees, 15, "the descent from the new start")


def the_line_is_dragged_until_it_computes_and(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "the line of the neuron for")  # noqa: E731
    choose(driver, "wanted", "AND")
    wait(lambda: "for AND: 2 of 4 wrong" in look(), 15, "OR is no AND")
    side = shape(driver, "shift the line", "circle")
    unit = driver.execute_script("return arguments[0].ownerSVGElement.getScreenCTM().a", side)
    drag(driver, "shift the line", 40 * unit, -40 * unit)
    wait(lambda: "for AND: 0 of 4 wrong" in look(), 15, "AND")
    assert -2 < slider_value(driver, "bias") <= -1 and slider_value(driver, "W_1") == slider_value(driver, "W_2") == 1


def the_line_is_shifted_and_turned_by_keys(driver: WebDriver) -> None:
    weights = lambda: [slider_value(driver, name) for name in ("W_1", "W_2", "bias")]  # noqa: E731
    first, second, bias = wait(lambda: (now := weights())[:2] == [1, 1] and now, 15, "the weights of the start")
    driver.execute_script("document.activeElement?.blur()")
    picture = driver.find_element("css selector", "#root .lamina-stage .lamina-svg[data-hands]")
    driver.execute_script("arguments[0].focus()", picture)
    tip = "return document.querySelector('.lamina-tip:not([hidden])')?.textContent"
    assert driver.execute_script(tip) == "shift the line: arrow keys (Page Down: the next one)"
    picture.send_keys(Keys.ARROW_RIGHT)  # one step of the bias to the right: W u + b = 0 moves where b falls
    wait(lambda: weights() == [first, second, round(bias - 0.1, 6)], 15, "the line on the right")
    picture.send_keys(Keys.PAGE_DOWN, Keys.ARROW_LEFT)
    # By 0.1 to the left: (cos 0.1 - sin 0.1, sin 0.1 + cos 0.1) = (0.895, 1.095), in steps of 0.1.
    wait(lambda: weights()[:2] == [0.9, 1.1], 15, "the turned line")


CHECKS = {
    "ch1/perceptron": (
        a_weight_changes_the_neuron,
        an_activation_is_drawn_with_its_derivative,
        costs_are_measured_in_another_process,
    ),
    "ch1/regression": (
        a_line_has_the_loss_of_the_library,
        a_copied_column_is_refused_by_the_normal_equations,
        a_table_of_ones_own_gets_a_line,
    ),
    "ch1/kmeans": (half_steps_lower_the_distortion, restarts_find_both_ends_of_a_rectangle),
    "ch1/descent": (
        steps_above_the_bound_diverge,
        racers_run_and_stop,
        adam_first_steps_have_the_length_of_its_step_size,
        the_start_of_a_descent_is_dragged,
    ),
    "ch1/overfitting": (
        a_degree_has_the_errors_of_the_library,
        norm_one_sets_weights_to_zero,
        a_network_overfits_and_can_be_stopped,
    ),
    "ch1/selection": (
        a_split_has_the_sizes_of_the_rule,
        the_test_part_is_opened_once,
        coins_are_worth_one_half,
        a_search_fills_its_grid,
    ),
    "ch1/logic": (
        a_line_computes_or_and_never_xor,
        the_rule_learns_or,
        a_margin_bears_errors,
        the_line_is_dragged_until_it_computes_and,
        the_line_is_shifted_and_turned_by_keys,
    ),
}
