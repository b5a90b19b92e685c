"""What a reader does on the pages of chapter 1."""

import re
import tempfile
from itertools import islice
from pathlib import Path

import pytest
import torch
from harness import (
    Keys,
    WebDriver,
    choose,
    click,
    drag,
    move_point,
    page_text,
    plot_text,
    set_slider,
    shape,
    slider_value,
    type_text,
    upload,
    wait,
    wait_changed,
    widget_value,
)

from lamina.classical import kmeans, pca, polynomial
from lamina.classical.descent import descend, learning_problem
from lamina.classical.linear_regression import fit, squared_error
from lamina.classical.perceptron_rule import TRUTH_TABLE_INPUTS, learn
from lamina.data.synthetic import blobs, curve
from lamina.functional.activations import get_activation
from lamina.functional.dense import neuron
from lamina.functional.losses import mse_half
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
        wait(lambda: words in look(), words=words)  # noqa: B023
    assert f"the smallest possible {fit(inputs, targets).loss:.4f}" in look()


def a_copied_column_is_refused_by_the_normal_equations(driver: WebDriver) -> None:
    assert "normal equations" in page_text(driver)
    set_slider(driver, "difference of two columns", -7)
    wait(lambda: "must have linearly independent columns (3), got rank 2" in page_text(driver), words="the refusal")


def a_table_of_ones_own_gets_a_line(driver: WebDriver) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.csv"
        rows = "".join(f"{i % 7},{i % 3},{2 * (i % 7) - (i % 3) + 0.5 * (i % 2)}\n" for i in range(42))
        path.write_text("size,age,price\n" + rows)
        upload(driver, "your CSV", str(path))
        wait(lambda: "42 rows of mine.csv" in page_text(driver), words="the weights of the table")
    assert "offset" in page_text(driver) and "loss of the mean" in page_text(driver)


def half_steps_lower_the_distortion(driver: WebDriver) -> None:
    points = blobs(80, classes=4, spread=0.9, seed=1).inputs.double()
    first = kmeans.first_centroids(points, 4, seed=4)[0]
    steps = list(islice(kmeans.half_steps(points, first), 3))
    look = lambda: plot_text(driver, "k-means after half step")  # noqa: E731
    for number, step in enumerate(steps, 1):
        words = f"after half step {number}, " + ("points assigned" if step.kind == "assign" else "centroids moved")
        words += f": distortion {step.distortion.item():.2f}"
        wait(lambda: words in look(), words=words)  # noqa: B023
        set_slider(driver, "half steps", 1)
    assert steps[2].distortion < steps[0].distortion


def restarts_find_both_ends_of_a_rectangle(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "Final distortions of 50 runs")  # noqa: E731
    clouds = blobs(80, classes=4, spread=0.9, seed=1).inputs.double()
    ends = kmeans.fit(clouds, 4, start="random", restarts=50, seed=0).distortions
    near = int((ends <= 1.01 * ends.min()).sum())
    assert near > int((ends <= ends.min() * (1 + 1e-9)).sum()), "many miss the best by less than a reader sees"
    assert f"{near} come within 1% of the best" in look() and f"{near} of 50, {near / 50:.0%}" in page_text(driver)
    choose(driver, "data", "four corners of a rectangle", nth=1)
    for _ in range(2):
        set_slider_of_second(driver, "clusters", -1)
    wait(lambda: "reach the best, 1.00; the worst is 16.00" in look(), words="both fixed points")


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
        wait(lambda: words in look(), words=words)  # noqa: B023


def racers_run_and_stop(driver: WebDriver) -> None:
    steps = lambda: int(re.search(r"Four methods on the loss of a line, after (\d+) steps", plot_text(driver))[1])  # noqa: E731
    assert steps() == 120, "what was recorded"
    click(driver, "Race")
    wait(lambda: steps() > 5, words="the race")
    click(driver, "Race")
    wait(lambda: "paused" in page_text(driver) or "done" in page_text(driver), words="the end of the race")
    assert "gradients computed" in page_text(driver)


def adam_first_steps_have_the_length_of_its_step_size(driver: WebDriver) -> None:
    surface = bowl(40.0, 0.0)
    path = optimizer_path(surface.function, surface.start, "adam", steps=40, learning_rate=0.1)
    words = f"Adam is {path.values[40].item():.4g} above the lowest point"
    assert words in plot_text(driver, "long bowl after 40 steps")
    choose(driver, "landscape", "saddle")
    wait(lambda: plot_text(driver, "saddle after 40 steps"), words="the other landscape")


def a_degree_has_the_errors_of_the_library(driver: WebDriver) -> None:
    points = torch.linspace(0, 1, 10, dtype=F64)
    values, unseen = noisy_sine(points, 0.25, 3), curve(200, noise=0.25, seed=10_003)
    look = lambda: plot_text(driver, "A polynomial of degree")  # noqa: E731
    for degree, moves in ((3, 0), (9, 6)):
        set_slider(driver, "degree", moves)
        found = polynomial.fit(points, values, degree)
        error = polynomial.error(found, unseen.inputs[:, 0], unseen.targets)
        words = f"degree {degree} on 10 points: its error there is {found.error:.4f}, at unseen points {error:.4f}"
        wait(lambda: words in look(), words=words)  # noqa: B023


def norm_one_sets_weights_to_zero(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "The sizes of the weights")  # noqa: E731
    assert "0 of 10 are exactly zero" in look()
    choose(driver, "norm", "norm 1")
    set_slider(driver, "penalty", 2)
    wait(lambda: "7 of 10 are exactly zero" in look(), words="seven zeros")


def a_network_overfits_and_can_be_stopped(driver: WebDriver) -> None:
    click(driver, "Train")
    wait(lambda: "best step" in page_text(driver), 60, "the first rows of training")
    wait(lambda: plot_text(driver, "Losses: on unseen points smallest at step"), words="the losses")
    click(driver, "Train")
    wait(lambda: "paused" in page_text(driver) or "done" in page_text(driver), words="the end of training")


def a_split_has_the_sizes_of_the_rule(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "examples")  # noqa: E731
    assert "Of 600 examples 400 train, 100 validate and 100 test" in look()
    set_slider(driver, "share of validation", 1)
    wait(lambda: "Of 600 examples 344 train, 171 validate and 85 test" in look(), words="the sizes at 4:2:1")


def coins_are_worth_one_half(driver: WebDriver) -> None:
    label = wait(lambda: plot_text(driver, "The best of 1,024 coins"), words="the coins")
    shown, fresh = (float(x) for x in re.search(r"shows ([\d.]+) where selected and ([\d.]+) on fresh", label).groups())
    assert shown > 0.62 and abs(fresh - 0.5) < 0.06
    assert "1,024" in page_text(driver)


def a_search_fills_its_grid(driver: WebDriver) -> None:
    set_slider(driver, "epochs of each training run", -6)
    click(driver, "Search")
    label = wait(lambda: plot_text(driver, "Validation losses of 20 training runs"), 90, "all twenty training runs")
    assert float(re.search(r"the best, ([\d.]+), has step size", label)[1]) < 0.4
    assert "one at a time" in page_text(driver)


def the_test_part_is_opened_once(driver: WebDriver) -> None:
    assert "The test part is sealed." in page_text(driver)
    click(driver, "Open the test part")
    wait(lambda: "test error" in page_text(driver) and "openings" in page_text(driver), words="the test error")


def a_line_computes_or_and_never_xor(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "the line of the neuron for")  # noqa: E731
    assert "for OR: 0 of 4 wrong" in look()
    choose(driver, "wanted", "XOR")
    wait(lambda: "for XOR: 1 of 4 wrong" in look(), words="XOR with one error")
    choose(driver, "wanted", "AND")
    set_slider(driver, "bias", -5)
    wait(lambda: "for AND: 0 of 4 wrong" in look(), words="AND with b = -1.5")
    assert slider_value(driver, "bias") == -1.5


def the_rule_learns_or(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "The line for OR after")  # noqa: E731
    assert "after 0 passes: 1 of 4 wrong" in look()
    set_slider(driver, "passes through the four examples", 3)
    wait(lambda: "after 3 passes: 0 of 4 wrong" in look(), words="OR without error")
    click(driver, "Learn from ten starts")
    wait(lambda: "is never below one error" in page_text(driver), 90, "the experiment")


def a_margin_bears_errors(driver: WebDriver) -> None:
    assert "Two hidden neurons and their AND: 4 of 4 right" in page_text(driver)
    set_slider(driver, "error added to every input", -2)
    click(driver, "biases with a margin")
    wait(lambda: "their AND: 4 of 4 right" not in page_text(driver), words="wrong answers without a margin")


def the_start_of_a_descent_is_dragged(driver: WebDriver) -> None:
    drag(driver, "start", 120, 60)
    surface = bowl(40.0, 0.0)

    def agrees():
        first, second = (widget_value(driver, f"start-theta-{i}") for i in (1, 2))
        path = optimizer_path(surface.function, (first, second), "adam", steps=40, learning_rate=0.1)
        words = f"Adam is {path.values[40].item():.4g} above the lowest point"
        return first > -1.6 and second < 1.0 and words in plot_text(driver, "long bowl after 40 steps")

    wait(agrees, words="the descent from the new start")


def the_line_is_dragged_until_it_computes_and(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "the line of the neuron for")  # noqa: E731
    choose(driver, "wanted", "AND")
    wait(lambda: "for AND: 2 of 4 wrong" in look(), words="OR is no AND")
    side = shape(driver, "shift the line", "circle")
    unit = driver.execute_script("return arguments[0].ownerSVGElement.getScreenCTM().a", side)
    drag(driver, "shift the line", 40 * unit, -40 * unit)
    wait(lambda: "for AND: 0 of 4 wrong" in look(), words="AND")
    assert -2 < slider_value(driver, "bias") <= -1 and slider_value(driver, "W_1") == slider_value(driver, "W_2") == 1


def the_line_is_shifted_and_turned_by_keys(driver: WebDriver) -> None:
    weights = lambda: [slider_value(driver, name) for name in ("W_1", "W_2", "bias")]  # noqa: E731
    first, second, bias = wait(lambda: (now := weights())[:2] == [1, 1] and now, words="the weights of the start")
    driver.execute_script("document.activeElement?.blur()")
    picture = driver.find_element("css selector", "#root .lamina-stage .lamina-svg[data-hands]")
    driver.execute_script("arguments[0].focus()", picture)
    tip = "return document.querySelector('.lamina-tip:not([hidden])')?.textContent"
    assert driver.execute_script(tip) == "shift the line: arrow keys (Page Down: the next one)"
    picture.send_keys(Keys.ARROW_RIGHT)  # one step of the bias to the right: W u + b = 0 moves where b falls
    wait(lambda: weights() == [first, second, round(bias - 0.1, 6)], words="the line on the right")
    picture.send_keys(Keys.PAGE_DOWN, Keys.ARROW_LEFT)
    # By 0.1 to the left: (cos 0.1 - sin 0.1, sin 0.1 + cos 0.1) = (0.895, 1.095), in steps of 0.1.
    wait(lambda: weights()[:2] == [0.9, 1.1], words="the turned line")


def a_dragged_point_turns_the_best_line(driver: WebDriver) -> None:
    inputs, targets = regression_data(20, 0.3, 0)
    inputs[2, 1], targets[2] = 0.9, -2.5
    best = fit(inputs, targets)
    said = move_point(driver, "point 3", 0.9, -2.5, "line")
    offset, sign, slope, loss, own = re.search(
        r"best line: ([-\d.]+) ([+-]) ([\d.]+) u₂, loss ([\d.]+); your line: loss ([\d.]+)", said
    ).groups()
    assert [float(offset), float(sign + slope)] == pytest.approx(best.weight.tolist(), rel=1e-3)
    assert float(loss) == pytest.approx(best.loss, rel=1e-3)
    mine = squared_error(torch.tensor([-1.0, 0.0], dtype=F64), inputs, targets).item()
    assert float(own) == pytest.approx(mine, rel=1e-3)
    ends = at_ends(driver, "the best line", (-1, 1), (-3, 3))
    assert ends == pytest.approx([best.predict(torch.tensor([[1.0, u]], dtype=F64)).item() for u in (-1, 1)], abs=0.02)
    words = f"the loss is {mine:.4f}, the smallest possible {best.loss:.4f}"
    wait(lambda: words in plot_text(driver, "points and your line"), words="Python's answer")
    assert at_ends(driver, "the best line", (-1, 1), (-3, 3)) == pytest.approx(ends, abs=0.02)
    assert widget_value(driver, "moved-points") == "3=0.9 -2.5"
    set_slider(driver, "which data", 1)
    wait(lambda: widget_value(driver, "moved-points") == "", words="other data, none of them moved")
    wait(lambda: driver.current_url.endswith("?which-data=1"), words="a link without the moves")


def at_ends(driver: WebDriver, title: str, across: tuple[float, float], up: tuple[float, float]) -> list[float]:
    """Read the values of a line at the ends of its axes off the drawing."""
    line = shape(driver, title, "polyline")
    script = """
      const line = arguments[0], drawn = [...line.ownerSVGElement.querySelectorAll('polyline')];
      const axes = drawn.map((each) => [...each.points])
        .find(([a, b, c, ...more]) => c && !more.length && a.x === b.x && b.y === c.y && b.x < c.x && a.y < b.y);
      const points = [...line.points], [first, last] = [points[0], points.at(-1)];
      const along = ([x, y]) => [(x - axes[1].x) / (axes[2].x - axes[1].x), (axes[1].y - y) / (axes[1].y - axes[0].y)];
      return [along([first.x, first.y]), along([last.x, last.y])];
    """
    found = driver.execute_script(script, line)
    assert [place for place, _ in found] == pytest.approx([0, 1], abs=0.01), f"{title} spans {across}"
    return [up[0] + share * (up[1] - up[0]) for _, share in found]


def a_point_is_moved_by_keys(driver: WebDriver) -> None:
    inputs, targets = regression_data(20, 0.3, 0)
    box = driver.execute_script("return arguments[0].closest('[data-hands]')", shape(driver, "point 1", "circle"))
    driver.execute_script("arguments[0].focus()", box)
    tip = lambda: driver.execute_script("return document.querySelector('.lamina-tip').textContent")  # noqa: E731
    assert tip() == "point 1: arrow keys (Page Down: the next one)"
    box.send_keys(Keys.PAGE_DOWN)
    assert tip() == "point 2: arrow keys (Page Down: the next one)"
    box.send_keys(Keys.ARROW_UP)  # a fiftieth of the axis, 6 / 50
    inputs[1, 1], targets[1] = round(inputs[1, 1].item(), 3), round(targets[1].item() + 0.12, 2)
    best = fit(inputs, targets)
    assert f"loss {best.loss:.4g}" in tip()
    wait(
        lambda: f"smallest possible {best.loss:.4f}" in plot_text(driver, "points and your line"), 15, "Python's answer"
    )


def a_typed_move_is_refused_with_a_sentence(driver: WebDriver) -> None:
    type_text(driver, "moved points", "3=far away")
    wait(lambda: "a moved point must look like 3=0.5 -1" in page_text(driver), words="the refusal")


def a_dragged_point_changes_its_cluster(driver: WebDriver) -> None:
    points = blobs(80, classes=4, spread=0.9, seed=1).inputs.double()
    first = kmeans.first_centroids(points, 4, seed=4)[0]
    set_slider(driver, "half steps", 3)
    wait(lambda: "after half step 4" in plot_text(driver, "k-means after"), words="four half steps")
    before = list(islice(kmeans.half_steps(points, first), 4))[-1]
    place = int((before.labels == before.labels[0]).logical_not().nonzero()[0])  # goes to the cluster of the first
    points[0] = torch.tensor([round(v, 2) for v in points[place].tolist()], dtype=F64)
    step = list(islice(kmeans.half_steps(points, first), 4))[-1]
    said = move_point(driver, "point 1", *points[0].tolist(), "means")
    assert said.endswith(f"distortion {step.distortion.item():.2f} after half step 4")
    fills = [driver.execute_script("return arguments[0].style.fill", shape(driver, f"point {i}", "circle"))
             for i in (1, place + 1)]  # fmt: skip
    assert fills[0] == fills[1], "it has the color of its new cluster"
    wait(
        lambda: f"distortion {step.distortion.item():.2f}." in plot_text(driver, "k-means after"), 15, "Python's answer"
    )


def a_dragged_point_turns_the_main_direction(driver: WebDriver) -> None:
    plain = torch.randn(120, 2, generator=torch.Generator().manual_seed(0), dtype=F64)
    points = plain * torch.tensor([2.5, 1.0], dtype=F64) @ turned(30)
    points[4] = torch.tensor([-7.0, 6.0], dtype=F64)
    found = pca.fit(points)
    said = move_point(driver, "point 5", -7.0, 6.0, "directions")
    long, wide = (float(n) for n in re.search(r"variance ([\d.]+) along direction 1, ([\d.]+)", said).groups())
    assert [long, wide] == pytest.approx(found.explained_variance.tolist(), rel=1e-3)
    share = 100 * found.explained_variance[0].item() / found.total_variance
    wait(lambda: f"holds {share:.1f} percent" in plot_text(driver, "A cloud and"), words="Python's answer")


def turned(degrees: float) -> torch.Tensor:
    angle = torch.deg2rad(torch.tensor(degrees, dtype=F64))
    return torch.stack([torch.stack([angle.cos(), angle.sin()]), torch.stack([-angle.sin(), angle.cos()])])


def a_dragged_point_bends_the_polynomial(driver: WebDriver) -> None:
    u = torch.linspace(0, 1, 10, dtype=F64)
    s = noisy_sine(u, 0.25, 3)
    s[4] = -1.8
    u[4] = 0.44
    for moves, degree in ((0, 3), (9, 12)):  # with 13 weights for 10 points the shortest weights are meant
        set_slider(driver, "degree", moves)
        wait(lambda: f"of degree {degree} on" in plot_text(driver, "A polynomial of"), words="the degree")  # noqa: B023
        best = polynomial.fit(u, s, degree)
        said = move_point(driver, "point 5", 0.44, -1.8, "polynomial")
        error, largest = (
            float(n) for n in re.search(r"error ([\de.-]+) at the points, largest weight ([\d.]+)", said).groups()
        )
        assert error == pytest.approx(best.error, rel=1e-3, abs=1e-12)
        assert largest == pytest.approx(best.weight.abs().max().item(), rel=1e-3)
        wait(lambda: f"its error there is {best.error:.4f}" in plot_text(driver, "A polynomial of"), words="Python")  # noqa: B023


def a_dragged_point_teaches_the_neuron_something_else(driver: WebDriver) -> None:
    u = torch.linspace(-1, 3, 21, dtype=F64)
    s = get_activation("heaviside")(u - 1)
    u[2], s[2] = -0.5, 0.9
    answer = lambda p, u: neuron(u[:, None], p["W"], p["b"], get_activation("sigmoid"))[:, None]  # noqa: E731
    start = {"W": torch.zeros(1, dtype=F64), "b": torch.tensor(0.0, dtype=F64)}
    found = descend(learning_problem(answer, mse_half, u, s[:, None]), start, 3.0, 20)
    said = move_point(driver, "point 3", -0.5, 0.9, "neuron")
    numbers = [float(n) for n in re.search(r"W = ([-\d.]+), b = ([-\d.]+), loss ([\d.]+)", said).groups()]
    wanted = [found.params["W"].item(), found.params["b"].item(), found.losses[-1].item()]
    assert numbers == pytest.approx(wanted, rel=1e-3)
    wait(lambda: f"{wanted[2]:.4f} at the end" in plot_text(driver, "The loss over the steps"), words="Python's answer")


def a_dragged_input_lets_one_neuron_learn_xor(driver: WebDriver) -> None:
    choose(driver, "function", "XOR")
    set_slider(driver, "passes through", 30)
    wait(lambda: "for XOR after 30 passes" in plot_text(driver, "The line for"), words="30 passes")
    first = torch.randn(3, generator=torch.Generator().manual_seed(1), dtype=F64)
    inputs = torch.tensor(TRUTH_TABLE_INPUTS, dtype=F64)
    inputs[3] = torch.tensor([-0.4, -0.4], dtype=F64)  # now one line has both ones on its side
    settings = {"learning_rate": 0.5, "weight": first[:2], "bias": first[2].item()}
    found = learn(inputs, torch.tensor([0.0, 1.0, 1.0, 0.0], dtype=F64), epochs=30, **settings)
    assert found.converged
    said = move_point(driver, "point 4", -0.4, -0.4, "rule")
    numbers = [float(n) for n in re.search(r"W = \(([-\d.]+), ([-\d.]+)\), b = ([-\d.]+): 0 of 4", said).groups()]
    assert numbers == pytest.approx([*found.weight.tolist(), found.bias.item()], abs=1e-3)
    wait(lambda: "after 30 passes: 0 of 4 wrong" in plot_text(driver, "The line for"), words="Python's answer")


CHECKS = {
    "ch1/perceptron": (
        a_weight_changes_the_neuron,
        an_activation_is_drawn_with_its_derivative,
        costs_are_measured_in_another_process,
        a_dragged_point_teaches_the_neuron_something_else,
    ),
    "ch1/regression": (
        a_line_has_the_loss_of_the_library,
        a_copied_column_is_refused_by_the_normal_equations,
        a_table_of_ones_own_gets_a_line,
        a_dragged_point_turns_the_best_line,
        a_point_is_moved_by_keys,
        a_typed_move_is_refused_with_a_sentence,
    ),
    "ch1/kmeans": (
        half_steps_lower_the_distortion,
        restarts_find_both_ends_of_a_rectangle,
        a_dragged_point_changes_its_cluster,
        a_dragged_point_turns_the_main_direction,
    ),
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
        a_dragged_point_bends_the_polynomial,
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
        a_dragged_input_lets_one_neuron_learn_xor,
    ),
}
