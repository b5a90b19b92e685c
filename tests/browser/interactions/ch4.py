"""What a reader does on the pages of chapter 4."""

import io
import re
import tempfile
import zipfile
from pathlib import Path

from harness import WebDriver, choose, click, page_text, plot_text, set_slider, slider_value, upload, wait, wait_changed
from PIL import Image


def numbers(text: str) -> list[float]:
    return [float(value) for value in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?", text)]


def a_product_vanishes_or_explodes(driver: WebDriver) -> None:
    def look() -> str:
        return plot_text(driver, "The product of")

    assert "The product of 40 factors 1/2 has the size 9.09e-13." in look()
    _, after = wait_changed(driver, look, lambda: choose(driver, "factor of layer j", "-2"))
    assert "has the size 1.10e+12" in after


def a_weight_of_minus_one_stops_the_gradient(driver: WebDriver) -> None:
    def look() -> str:
        return plot_text(driver, "a chain of three layers")

    assert "the gradient of the first weight is 0.4712" in look()
    wait_changed(driver, look, lambda: choose(driver, "activation of the chain", "none (identity)"))
    _, after = wait_changed(driver, look, lambda: set_slider(driver, "W^{[1]}", -6))
    assert slider_value(driver, "W^{[1]}") == -1
    wait(lambda: re.search(r"first weight is -?0\.0000", look()), words="a gradient of zero")
    _, after = wait_changed(driver, look, lambda: click(driver, "skip connections"))
    assert after.startswith("Fig. 16") and "first weight is 0.0000" not in after


def depth_lets_gradients_vanish_in_the_plain_network_only(driver: WebDriver) -> None:
    def look() -> str:
        return plot_text(driver, "Of the last gradient")

    def shares() -> tuple[float, float]:
        found = re.search(r"input gets (\S+) in the FNN and (\S+) in the ResNet of depth (\d+)", look())
        assert found
        return float(found[1]), float(found[2])

    plain, residual = shares()
    assert 1e-13 < plain < 5e-13 and 0.9 < residual < 1.5
    wait_changed(driver, look, lambda: set_slider(driver, "depth", -10))
    wait(lambda: "of depth 10." in look(), words="ten layers")
    plain, residual = shares()
    assert 1e-8 < plain < 1e-5 and 0.9 < residual < 1.5
    assert "gradients vanish" in page_text(driver)


def the_residual_network_learns(driver: WebDriver) -> None:
    click(driver, "Train")
    wait(
        lambda: (
            "After 60 steps" in plot_text(driver, "both networks") or "After 1" in plot_text(driver, "both networks")
        ),
        60,
    )
    click(driver, "Train")
    wait(lambda: "(paused)" in page_text(driver) or "(done)" in page_text(driver), words="the end of the training")


def another_block_is_drawn(driver: WebDriver) -> None:
    assert "ReLU, Weights, BN, +, ReLU" in plot_text(driver, "The block original")
    wait_changed(
        driver,
        lambda: plot_text(driver, "The block"),
        lambda: choose(driver, "block", "full pre-activation (ResNetV2)"),
    )
    assert "In order: BN, ReLU, Weights, BN, ReLU, Weights, +." in plot_text(driver, "The block full pre-activation")


def a_branch_that_does_nothing_leaves_relu_or_the_identity(driver: WebDriver) -> None:
    def look() -> str:
        return plot_text(driver, "before and after the preactivation block")

    wait_changed(driver, look, lambda: set_slider(driver, "on the branch", -6))
    wait(lambda: slider_value(driver, "on the branch") == 0)
    wait(lambda: "the least one after it is -3.15" in look(), words="the identity")
    assert "the least one after it is 0.00" in plot_text(driver, "before and after the original block")


def stacks_learn_and_stop(driver: WebDriver) -> None:
    set_slider(driver, "layers with weights", -21)
    click(driver, "Train")
    wait(lambda: "the training loss is" in plot_text(driver, "three stacks"), 90, "a first row")
    click(driver, "Train")
    wait(lambda: "paused" in page_text(driver) or "done" in page_text(driver))
    plain, original, better = numbers(plot_text(driver, "three stacks").split("training loss is")[1])[:3]
    assert min(original, better) < plain


def more_layers_follow_the_solution(driver: WebDriver) -> None:
    def look() -> str:
        return plot_text(driver, "Eight paths")

    def apart() -> float:
        return float(re.search(r"at most (\S+) away", look())[1])

    before = apart()
    assert abs(before - 0.5766) < 1e-3
    wait_changed(driver, look, lambda: set_slider(driver, "layers", 8))
    wait(lambda: "through 16 layers" in look(), words="16 layers")
    assert 1.5 < before / apart() < 2.5
    assert "falls by a factor of" in plot_text(driver, "The error over the number of layers")


def step_sizes_are_learned(driver: WebDriver) -> None:
    assert "from 0.50 to 0.50" not in plot_text(driver, "The step sizes"), "what was recorded has learned them"
    click(driver, "Train")
    wait(lambda: "from 0.50 to 0.50" not in plot_text(driver, "The step sizes"), 60, "other step sizes")
    click(driver, "Train")
    assert "of other points are right" in plot_text(driver, "The paths of 60 points")


def parameters_are_counted(driver: WebDriver) -> None:
    assert "11,689,512" in page_text(driver) and "E 8,393,728" in plot_text(driver, "Parameters by block")
    choose(driver, "labels", "10")
    wait(lambda: "11,181,642 parameters" in page_text(driver), 60, "the count for 10 labels")


def a_digit_and_my_picture_are_read(driver: WebDriver) -> None:
    def look() -> str:
        return plot_text(driver, "The network reads")

    assert "example 7, a 7 as 7" in look()
    wait_changed(driver, look, lambda: set_slider(driver, "example", -7))
    wait(lambda: "example 0, a 0 as 0" in look(), words="the first example")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bar.png")
        picture = Image.new("L", (64, 64), 0)
        picture.paste(255, (28, 6, 38, 58))
        picture.save(path)
        wait_changed(driver, look, lambda: upload(driver, "your picture", str(path)))
    wait(lambda: "reads your picture as" in look(), words="the answer for the picture")


def only_what_must_change_is_new(driver: WebDriver) -> None:
    assert "2 of 10 tensors are new" in page_text(driver)
    choose(driver, "channels of my pictures", "3, color")
    wait(lambda: "4 of 10 tensors are new" in page_text(driver), words="a new first layer")


def transfer_is_faster_than_a_random_start(driver: WebDriver) -> None:
    click(driver, "Train")
    wait(lambda: "with transfer and" in plot_text(driver, "Right answers on the digits"), 90, "the second task")
    click(driver, "Train")
    moved, fresh = numbers(plot_text(driver, "Right answers on the digits").split("steps ")[1])[:2]
    assert moved > fresh


def my_pictures_are_learned(driver: WebDriver) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for kind in ("dark", "bright"):
            for i in range(12):
                with archive.open(f"mine/{kind}/{i}.png", "w") as picture:
                    Image.new("L", (30, 30), (20 if kind == "dark" else 200) + i).save(picture, "png")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mine.zip")
        path.write_bytes(file.getvalue())
        upload(driver, "your pictures", str(path))
        wait(lambda: "24 pictures of 2 classes: bright, dark." in page_text(driver), words="the pictures")
    click(driver, "Train on my pictures")
    wait(lambda: "of 25 epochs" in plot_text(driver, "Right answers on your pictures"), 60, "a first epoch")


CHECKS = {
    "ch4/vanishing": (
        a_product_vanishes_or_explodes,
        a_weight_of_minus_one_stops_the_gradient,
        depth_lets_gradients_vanish_in_the_plain_network_only,
        the_residual_network_learns,
    ),
    "ch4/blocks": (
        another_block_is_drawn,
        a_branch_that_does_nothing_leaves_relu_or_the_identity,
        stacks_learn_and_stop,
    ),
    "ch4/euler": (more_layers_follow_the_solution, step_sizes_are_learned),
    "ch4/resnet18": (parameters_are_counted, a_digit_and_my_picture_are_read),
    "ch4/transfer": (only_what_must_change_is_new, transfer_is_faster_than_a_random_start, my_pictures_are_learned),
}
