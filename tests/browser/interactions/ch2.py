"""What a reader does on the pages of chapter 2."""

import math
import re
import tempfile
from pathlib import Path

from harness import (
    Keys,
    WebDriver,
    change_at_once,
    change_number,
    choose,
    click,
    elements,
    move_point,
    page_text,
    plot_text,
    point_at,
    set_slider,
    shape,
    slider_value,
    type_text,
    upload,
    wait,
    wait_changed,
    widget_value,
)
from selenium.webdriver.common.action_chains import ActionChains

from lamina.pages.chapters.ch2.playground._setup import Setup, problem


def number(text: str, pattern: str) -> float:
    found = re.search(pattern + r"\s*(−?-?[0-9.]+(?:e[+−-]?[0-9]+)?)", text)
    assert found, f"{pattern!r} is not in {text[:300]!r}"
    return float(found[1].replace("−", "-").rstrip("."))


# the playground


def a_hidden_layer_more_has_its_parameters(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "parameters.")  # noqa: E731
    assert "The network 3-5-5-5-1: depth 4, 86 parameters." in look()
    _, after = wait_changed(driver, look, lambda: set_slider(driver, "L - 1", 1))
    assert "The network 3-5-5-5-5-1: depth 5, 116 parameters." in after


def the_printed_xor_has_no_margin(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "for XOR")  # noqa: E731
    assert "4 of 4 answers are right" in look()
    wait_changed(driver, look, lambda: set_slider(driver, "added to every bias", -1))
    wait(lambda: "4 of 4" not in look(), words="a wrong answer")
    click(driver, "robust biases")
    wait(lambda: "4 of 4 answers are right" in look(), words="the robust network")


def _epoch(driver: WebDriver) -> float:
    return number(plot_text(driver, "The decision surface"), "epoch")


def it_learns_two_moons_and_stops(driver: WebDriver) -> None:
    assert _epoch(driver) == 0
    before = plot_text(driver, "The decision surface")
    click(driver, "Learn")
    wait(lambda: _epoch(driver) >= 30, 60, "thirty epochs")
    assert plot_text(driver, "The decision surface") != before
    assert number(plot_text(driver, "The decision surface"), "validation accuracy") >= 0.85
    assert number(plot_text(driver, "Gradients by layer"), "first layer is") > 0
    click(driver, "Learn")
    wait(lambda: "paused" in page_text(driver) or "done" in page_text(driver), words="the end")
    stopped = _epoch(driver)
    assert stopped >= 30


def the_network_is_python_code_that_runs(driver: WebDriver) -> None:
    click(driver, "Learn")
    wait(lambda: _epoch(driver) >= 40, 60, "forty epochs")
    click(driver, "Learn")
    wait(lambda: "paused" in page_text(driver) or "done" in page_text(driver), words="the end")
    click(driver, "Write the code")
    code = wait(
        lambda: next(
            (e.text for e in elements(driver, "el.localName === 'pre'") if "nn.Sequential(" in (e.text or "")), ""
        ),
        words="the code",
    )
    space: dict = {"__name__": "exported"}
    exec(compile(code, "network.py", "exec"), space)
    shares = space["predict"]([[0.0, 1.0], [1.0, -0.5]])  # the tops of the two moons
    assert shares.shape == (2, 2) and abs(float(shares.sum()) - 2) < 1e-6
    assert shares.argmax(1).tolist() == [0, 1]


def my_own_table_is_learned(driver: WebDriver) -> None:
    rows = ["height,weight,kind"]
    for i in range(60):
        kind = "cat" if i % 2 else "dog"
        rows.append(f"{10 + 5 * (i % 2) + math.sin(i):.3f},{3 + 2 * math.cos(3 * i):.3f},{kind}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "animals.csv"
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        choose(driver, "data", "my table")
        upload(driver, "your table", str(path))
        wait(lambda: "height" in plot_text(driver, "The decision surface"), words="the axis of the table")
    click(driver, "Learn")
    wait(lambda: _epoch(driver) >= 20, 60, "twenty epochs")
    assert number(plot_text(driver, "The decision surface"), "validation accuracy") >= 0.9
    click(driver, "Learn")


# universal approximation


def a_wider_layer_is_closer(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "hidden units: the largest error")  # noqa: E731
    before = number(look(), r"on \[0, 1\] is")
    set_slider(driver, "n_1", 26)
    wait(lambda: "with 32 hidden units" in look(), words="32 units")
    assert number(look(), r"on \[0, 1\] is") < 1e-4 < 0.5 < before
    choose(driver, "function", "a jump")
    wait(lambda: number(look(), r"on \[0, 1\] is") > 0.2, words="the error of the jump")


def parity_and_zigzag_are_counted(driver: WebDriver) -> None:
    assert "4 bits: 8 hidden units, its answer is 1" in plot_text(driver, "One hidden layer for the parity")
    set_slider(driver, "bits", 1)
    wait(lambda: "8 bits: 128 hidden units" in plot_text(driver, "One hidden layer for the parity"))
    assert "21 units in 6 layers" in plot_text(driver, "The tree of XOR")
    set_slider(driver, "how often folded", 2)
    wait(lambda: "32 linear pieces" in plot_text(driver, "A zigzag"), words="32 pieces")


def a_wave_is_learned_from_four_starts(driver: WebDriver) -> None:
    click(driver, "Learn from four")
    look = lambda: plot_text(driver, "Their losses")  # noqa: E731
    wait(lambda: "after" in look() and number(look(), "after") > 100, 60, "a hundred steps")
    assert 0 < number(look(), "losses") < 0.6
    click(driver, "Learn from four")


def deep_sigmoids_lose_their_gradient(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "layers of")  # noqa: E731
    assert number(look(), "weight gradient is") < 1e-10
    choose(driver, "activation", "ReLU", nth=2)
    wait(lambda: "layers of relu" in look(), words="ReLU")
    choose(driver, "initial weights", "He")
    wait(lambda: number(look(), "weight gradient is") > 0.01, words="a gradient that arrives")


# initialization


def equal_nodes_stay_equal(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "The loss of 3-4-1")  # noqa: E731
    wait(look, 40, "the first descent")
    assert number(look(), "distance between two nodes is") < 1e-10
    choose(driver, "initial weights", "random (Xavier)", nth=1)
    wait(lambda: number(look(), "distance between two nodes is") > 0.1, words="different nodes")


def the_size_of_weights_decides(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "Gradients through")  # noqa: E731
    assert 1e-24 < number(look(), "the first state gets") < 1e-21
    choose(driver, "initial weights", "Xavier")
    wait(lambda: number(look(), "the first state gets") > 1e-2, words="gradients that arrive")
    set_slider(driver, "depth", 5)
    wait(lambda: "through 25 layers" in look(), words="25 layers")


# batch normalization


def a_bias_before_has_no_effect(driver: WebDriver) -> None:
    before = lambda: plot_text(driver, "nodes before normalization")  # noqa: E731
    after = lambda: plot_text(driver, "nodes after normalization")  # noqa: E731
    assert "node 1: mean 3.00, std 0.70" in before() and "node 3: mean −2.00, std 1.10" in before()
    assert after().count("mean 0.00, std 1.00") >= 3
    set_slider(driver, "a bias before", 2)
    wait(lambda: "node 1: mean 4.00, std 0.70" in before(), words="the bias")
    assert after().count("mean 0.00, std 1.00") >= 3
    set_slider(driver, "beta", 2)
    wait(lambda: "mean 1.00, std 1.00" in after(), words="the shift")


def running_averages_come_closer(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "the running mean of node 1")  # noqa: E731
    before = number(look(), "running mean of node 1 is")
    set_slider(driver, "batches seen", 20)
    wait(lambda: "After 50 batches" in look(), words="fifty batches")
    assert before < number(look(), "running mean of node 1 is") < 3.1


def it_rescues_small_weights(driver: WebDriver) -> None:
    click(driver, "Learn with and without")
    look = lambda: plot_text(driver, "Validation accuracy")  # noqa: E731
    wait(lambda: number(look(), "epoch") >= 15, 90, "fifteen epochs")
    assert number(look(), "accuracy") <= 0.7
    wait(lambda: number(look(), "without,") >= 0.85, 60, "what batch normalization learns")
    click(driver, "Learn with and without")


# classification


def a_sigmoid_reaches_one(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "The sigmoid:")  # noqa: E731
    assert "category 1 is 0.7311" in look()
    set_slider(driver, "before the last activation", -5)
    wait(lambda: "category 1 is 0.5000" in look(), words="one half")
    assert slider_value(driver, "before the last activation") == 0


def a_threshold_trades_mistakes(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "Confusion:")  # noqa: E731
    lost = number(look(), "other kept,")
    set_slider(driver, "threshold", 20)
    wait(lambda: number(look(), "other kept,") < lost / 3, words="fewer lost messages")
    assert number(look(), "other lost,") > 60
    type_text(driver, "your message", "thanks for the project report")
    # 0.4 of all are spam, and each of three words is 0.4 times as frequent there: 0.4 * 0.4^3 / (0.4 * 0.4^3 + 0.6)
    wait(lambda: "0.04092" in page_text(driver) and "kept" in page_text(driver), words="a message that is kept")


def softmax_does_not_feel_a_shift(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "Probabilities")  # noqa: E731
    assert "0.710, 0.158, 0.035, 0.096; the loss is 0.3423" in look()
    set_slider(driver, "added to all", 20)
    wait(lambda: "not a number" in page_text(driver), words="the formula as written fails")
    assert "0.710, 0.158, 0.035, 0.096; the loss is 0.3423" in look()
    choose(driver, "the right one is", "class 1")
    wait(lambda: "the loss is 1.8423" in look(), words="another label")


def digits_are_learned(driver: WebDriver) -> None:
    click(driver, "Learn the digits")
    look = lambda: plot_text(driver, "The confusion matrix")  # noqa: E731
    wait(lambda: look() and number(look(), "validation accuracy") > 0.85, 90, "85 % of the digits")
    click(driver, "Learn the digits")
    wait(lambda: "paused" in page_text(driver) or "done" in page_text(driver), words="the end")


# backpropagation


def every_line_agrees_with_autograd(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "after line")  # noqa: E731
    assert "2-2-1 after line 12 of 12" in look() and number(look(), "difference from autograd") < 1e-14
    set_slider(driver, "line of the algorithm", -8)
    wait(lambda: "after line 4 of 12" in look(), words="line 4")
    assert "z̄" not in look()
    choose(driver, "network", "2-3-3")
    wait(lambda: "2-3-3 after line 12 of 12" in look(), words="softmax at the end")
    assert number(look(), "difference from autograd") < 1e-14 and "z̄" in look()


def a_chain_has_its_gradient(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "A chain of four nodes")  # noqa: E731
    assert "loss 0.7923; the gradient of the first weight is 0.3017" in look()
    choose(driver, "activation", "none", nth=1)
    # y3 = 0.8 * -1.2 * 1.5 = -1.44, loss = 1.94^2 / 2, gradient = -1.94 * -1.2 * 1.5
    wait(lambda: "loss 1.8818; the gradient of the first weight is 3.4920" in look(), words="the linear chain")


def updates_on_the_fly_lower_the_loss(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "updates on the fly")  # noqa: E731
    before = number(look(), "on the fly,")
    set_slider(driver, "sweeps", 20)
    wait(lambda: "over 40 sweeps" in look(), words="forty sweeps")
    assert 0 < number(look(), "on the fly,") < before


def the_students_check_agrees(driver: WebDriver) -> None:
    words = point_at(driver, "y[1](2)", "circle")
    assert words.startswith("z[1](2) = 0.1 · 1 + (−0.5) · (−0.5) + (−1.1) = −0.75; tanh of it is −0.6351")
    set_slider(driver, "line of the algorithm", -11)
    wait(lambda: "= 0.1 · 1 + (−0.5) · (−0.5) + (−1.1)= −0.75" in page_text(driver), words="the line with its numbers")
    assert "b" in plot_text(driver, "after line 1 of 12") and "−1.1" in plot_text(driver, "after line 1 of 12")


def a_weight_is_changed_where_it_stands(driver: WebDriver) -> None:
    # z = 0.7 * 1 + 0.1 * (-0.5) + 0 = 0.65
    assert change_at_once(driver, "W[0](1,1)", 0.7, "y[1](1)") == f"{math.tanh(0.65):.4g}"
    value = lambda name: driver.execute_script(  # noqa: E731
        "return JSON.parse(document.querySelector('#root .lamina-svg[data-hands]').dataset.hands)[arguments[0]].value",
        name,
    )
    wait(lambda: value("W[0](1,1)") == 0.7, words="Python's answer")
    wait(lambda: f"{math.tanh(0.65):.4g}" in plot_text(driver, "after line 12"), words="the value that Python computes")
    change_number(driver, "b[0](2)", 0.65, "text")  # 0.35 + 0.65 = 1
    wait(lambda: value("b[0](2)") == 0.65, words=f"the other bias in {driver.current_url}")
    assert point_at(driver, "y[1](2)", "circle").startswith(
        "z[1](2) = 0.1 · 1 + (−0.5) · (−0.5) + 0.65 = 1; tanh of it is 0.7616"
    )
    assert number(plot_text(driver, "after line"), "difference from autograd") < 1e-14
    assert "changed-weights=W0+1+1%3D0.7%3B+b0+2%3D0.65" in driver.current_url


def an_arrow_is_clicked_to_change_its_weight(driver: WebDriver) -> None:
    arrow = shape(driver, "W[0](2,1)", "polyline")
    place = driver.execute_script(  # a point of the arrow where no other one passes, and three pixels beside it
        "const line = arguments[0], [a, b] = [...line.points], to = line.getScreenCTM();"
        "const at = new DOMPoint(0.85 * b.x + 0.15 * a.x, 0.85 * b.y + 0.15 * a.y).matrixTransform(to);"
        "return [at.x, at.y - 3]",
        arrow,
    )
    cursors = driver.execute_script(  # up to five pixels beside the arrow, and farther away
        "const [line, [x, y]] = arguments, box = line.closest('.lamina-svg');"
        "return [-3, -2, -1, 0, 1, 2, 3, 12].map((far) => {"
        "box.dispatchEvent(new PointerEvent('pointermove', { clientX: x, clientY: y - far, bubbles: true }));"
        "return box.style.cursor; });",
        arrow,
        place,
    )
    assert cursors == [*7 * ["pointer"], ""]
    actions = ActionChains(driver, duration=20)
    actions.w3c_actions.pointer_action.move_to_location(*map(round, place)).click()
    actions.perform()
    field = wait(lambda: driver.find_elements("css selector", ".lamina-edit input"), words="the field")[0]
    assert driver.execute_script("return arguments[0].closest('form').textContent", field) == "W[0](2,1)"
    field.send_keys(Keys.CONTROL, "a", Keys.NULL, "0.85", Keys.ENTER)
    # z = 0.85 * 1 + (-0.5) * (-0.5) + (-1.1) = 0
    wait(lambda: widget_value(driver, "changed-weights") == "W0 2 1=0.85", words="the changed weight")
    words = point_at(driver, "y[1](2)", "circle")
    assert words.startswith("z[1](2) = 0.85 · 1 + (−0.5) · (−0.5) + (−1.1) = 0; tanh of it is 0")


def a_dragged_point_is_learned(driver: WebDriver) -> None:
    surface = lambda: plot_text(driver, "The decision surface")  # noqa: E731
    found = problem(Setup()).split.train
    place = found.indices[5].item()
    assert move_point(driver, f"point {place + 1}", 1.0, 1.0, "") == f"point {place + 1} at (1, 1)"
    disc = lambda: float(shape(driver, f"point {place + 1}", "circle").get_attribute("cx"))  # noqa: E731
    there = disc()
    wait(lambda: widget_value(driver, "moved-points") == f"{place + 1}=1 1", words="the move")
    hand = (
        "const box = document.querySelector('#root .lamina-svg[data-hands]');"
        "return JSON.parse(box.dataset.hands).points.at[arguments[0]]"
    )
    wait(lambda: driver.execute_script(hand, place) == [1, 1], words="Python's picture")
    assert abs(disc() - there) < 0.01, "the point stays where the hand left it"
    click(driver, "Learn")
    wait(lambda: number(surface(), "epoch") >= 5, 60, "five epochs with the moved point")
    assert move_point(driver, f"point {place + 1}", 0.5, 0.25, "")
    wait(lambda: number(surface(), "epoch") < 5, words="a new beginning")
    wait(lambda: driver.execute_script(hand, place) == [0.5, 0.25], words="what it learns from now")
    click(driver, "Learn")


CHECKS = {
    "ch2/playground": (
        a_dragged_point_is_learned,
        a_hidden_layer_more_has_its_parameters,
        the_printed_xor_has_no_margin,
        it_learns_two_moons_and_stops,
        the_network_is_python_code_that_runs,
        my_own_table_is_learned,
    ),
    "ch2/approximation": (
        a_wider_layer_is_closer,
        parity_and_zigzag_are_counted,
        a_wave_is_learned_from_four_starts,
        deep_sigmoids_lose_their_gradient,
    ),
    "ch2/initialization": (equal_nodes_stay_equal, the_size_of_weights_decides),
    "ch2/normalization": (a_bias_before_has_no_effect, running_averages_come_closer, it_rescues_small_weights),
    "ch2/classification": (
        a_sigmoid_reaches_one,
        a_threshold_trades_mistakes,
        softmax_does_not_feel_a_shift,
        digits_are_learned,
    ),
    "ch2/backpropagation": (
        every_line_agrees_with_autograd,
        a_chain_has_its_gradient,
        updates_on_the_fly_lower_the_loss,
        the_students_check_agrees,
        an_arrow_is_clicked_to_change_its_weight,
        a_weight_is_changed_where_it_stands,
    ),
}
