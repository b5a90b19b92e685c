"""What a reader does on the pages of chapter 3."""

import struct
import tempfile
import zlib
from pathlib import Path

from harness import (
    WebDriver,
    change_at_once,
    change_number,
    choose,
    click,
    draw,
    page_text,
    plot_text,
    point_at,
    set_slider,
    shape,
    type_text,
    upload,
    wait,
    wait_changed,
)


def the_example_is_stepped_through(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "Both results")  # noqa: E731
    assert "at (1,1) the convolution is 119, the cross-correlation 101" in look()
    _, after = wait_changed(driver, look, lambda: set_slider(driver, "step", 1))
    assert "at (1,2) the convolution is 120, the cross-correlation 100" in after
    entry = lambda: plot_text(driver, "Entry (")  # noqa: E731
    _, after = wait_changed(driver, entry, lambda: choose(driver, "operation", "cross-correlation"))
    assert "Cross-correlation. Entry (1,2) is 5·1 + −2·2 + 0·3 + 8·4 + 7·5 + 1·6 + 0·7 + 1·8 + 2·9 = 100." in after


def an_own_matrix_is_convolved(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "Both results")  # noqa: E731
    type_text(driver, "kernel K", "1 0 -1")
    wait(lambda: "at (1,1) the convolution is -3, the cross-correlation 3" in look(), words="the own kernel")
    type_text(driver, "kernel K", "1 x")
    wait(lambda: "must hold numbers, got 'x'" in page_text(driver), words="the sentence about a letter")


def two_dice_are_added(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "The same with probabilities")  # noqa: E731
    assert "1/9" in look()
    _, after = wait_changed(driver, look, lambda: set_slider(driver, "sum of two dice", -2))
    assert "The same with probabilities: 1/6." in after


def a_shuffle_changes_no_answer(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "pixels in other places")  # noqa: E731
    assert "with 784 pixels" in look()
    _, after = wait_changed(driver, look, lambda: set_slider(driver, "share of pixels", -1))
    assert "with 744 pixels" in after


def windows_follow_the_sliders(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "Windows of a kernel")  # noqa: E731
    assert "3 x 3 = 9 places on a 7 x 7 image" in look()
    _, after = wait_changed(driver, look, lambda: set_slider(driver, "padding", 1, nth=1))
    assert "4 x 4 = 16 places on a 7 x 7 image with padding 1" in after


def the_pooling_example_is_that_of_the_notes(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "pooling gives")  # noqa: E731
    assert "max pooling gives 4 1; 2 8." in look()
    _, after = wait_changed(driver, look, lambda: choose(driver, "pooling", "average"))
    assert "average pooling gives 1.5 -1.75; 0.75 3.5." in after
    type_text(driver, "matrix", "1 2; 3 4")
    wait(lambda: "average pooling gives 2.5." in look(), words="the own matrix")


def a_blur_keeps_a_dark_frame(driver: WebDriver) -> None:
    assert "white corner0.36" in page_text(driver)
    click(driver, "count the zeros")
    wait(lambda: "white corner1" in page_text(driver), words="a white corner")


def the_first_node_sees_three_inputs(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "of the last layer depends on inputs")  # noqa: E731
    assert "inputs 1, 2, 3, 4, 5. By the gradient: 1, 2, 3, 4, 5." in look()
    set_slider(driver, "node of the last layer", -2)
    wait(lambda: "Node 1 of the last layer depends on inputs 1, 2, 3. By the gradient: 1, 2, 3." in look())


def a_unit_of_lenet_sees_part_of_the_picture(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "of pooling 2 sees")  # noqa: E731
    assert "The unit at (2, 2) of pooling 2 sees rows 6 to 21 and columns 6 to 21 of 28" in look()
    set_slider(driver, "row of the unit", -2)
    wait(lambda: "sees rows 0 to 13 and columns 6 to 21 of 28; by gradients rows 0 to 13" in look(), words="the border")


def neighbors_quiet_each_other(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "Nine channels before and after")  # noqa: E731
    _, after = wait_changed(driver, look, lambda: set_slider(driver, "beta", 1))
    assert "channel 5 goes from 60 to 8.333" in after


def alexnet_is_counted(driver: WebDriver) -> None:
    assert "62,378,344" in page_text(driver)
    set_slider(driver, "classes", -2)
    wait(lambda: "58,322,314" in page_text(driver), words="AlexNet for ten classes")


def dropout_trains_and_stops(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "unseen digits")  # noqa: E731
    assert "Epoch 60" in look(), "what was recorded"
    click(driver, "Train")
    wait(lambda: "Epoch 0" not in look(), 60, "the first epoch")
    click(driver, "Train")
    wait(lambda: wait_still(look), words="a training that stands still")


def wait_still(look) -> bool:
    import time

    before = look()
    time.sleep(1.0)
    return look() == before


SEVEN = [[(0.28, 0.24), (0.5, 0.23), (0.7, 0.22), (0.6, 0.45), (0.52, 0.65), (0.46, 0.84)]]


def a_drawn_seven_is_read_as_seven(driver: WebDriver) -> None:
    set_slider(driver, "example", -4)
    wait(lambda: "LeNet-5 reads a 3" in plot_text(driver, "LeNet-5 reads"), words="the example 3")
    draw(driver, SEVEN)
    wait(lambda: "LeNet-5 reads a 7" in plot_text(driver, "LeNet-5 reads"), words="the drawn 7")
    assert "This is your drawing" in page_text(driver)


def every_map_is_shown(driver: WebDriver) -> None:
    text = plot_text(driver, "maps of")
    for words in ("convolution 1: 6 maps of 28 x 28", "pooling 1: 6 maps of 14 x 14", "detector 2: 16 maps of 10 x 10",
                  "pooling 2: 16 maps of 5 x 5"):  # fmt: skip
        assert words in text
    look = lambda: plot_text(driver, "of detector 1, from")  # noqa: E731
    _, after = wait_changed(driver, look, lambda: set_slider(driver, "map", 1))
    assert "Map 2 of detector 1" in after


def a_photographed_one_is_read(driver: WebDriver) -> None:
    choose(driver, "read", "my picture")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "one.png")
        path.write_bytes(_png([[0 if 26 <= x < 33 and 8 <= y < 52 else 235 for x in range(60)] for y in range(60)]))
        upload(driver, "or a picture", str(path))
        wait(lambda: "This is your picture" in page_text(driver), words="the upload")
    assert "LeNet-5 reads a 1" in plot_text(driver, "LeNet-5 reads")


def _png(gray: list[list[int]]) -> bytes:
    """Write a gray picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", len(gray[0]), len(gray), 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + bytes(row) for row in gray)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def a_result_lights_its_window_and_cells_can_be_changed(driver: WebDriver) -> None:
    # Y = 1 5 -2 0 2; 3 8 7 1 0; -1 0 1 2 3; 4 2 1 -1 2 and K = 1..9, turned to 9 8 7; 6 5 4; 3 2 1
    words = point_at(driver, "result (2,3)")
    terms = [(7, 9), (1, 8), (0, 7), (1, 6), (2, 5), (3, 4), (1, 3), (-1, 2), (2, 1)]
    assert words.endswith(f"= {sum(a * b for a, b in terms)}") and "7 · 9 + 1 · 8 + 0 · 7" in words
    assert driver.execute_script("return document.querySelectorAll('.lamina-svg .from').length") == 18
    look = lambda: plot_text(driver, "Both results")  # noqa: E731
    assert change_at_once(driver, "Y (1,1)", 2, "result (1,1)") == "128", "119 + 9 in the same frame"
    wait(lambda: "at (1,1) the convolution is 128, the cross-correlation 102" in look(), words="Python's answer")
    change_number(driver, "K (3,3)", 0)  # turned: it is the first entry of K, which meets Y(3,3) = 1
    wait(lambda: "at (1,1) the convolution is 127, the cross-correlation 100" in look(), words="the changed kernel")


def a_map_is_clicked_to_see_its_kernel(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "The kernel of map")  # noqa: E731
    assert "The kernel of map 1: 1 sheets" in look()
    target = shape(driver, "convolution 2, map 9")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", target)
    target.click()
    wait(lambda: "The kernel of map 9: 6 sheets of 5 x 5" in look(), words="the kernel of the ninth map")
    assert "Map 9 of convolution 2" in plot_text(driver, "Map 9")


CHECKS = {
    "ch3/convolution": (
        the_example_is_stepped_through,
        an_own_matrix_is_convolved,
        two_dice_are_added,
        a_shuffle_changes_no_answer,
        a_result_lights_its_window_and_cells_can_be_changed,
    ),
    "ch3/pooling": (windows_follow_the_sliders, the_pooling_example_is_that_of_the_notes, a_blur_keeps_a_dark_frame),
    "ch3/receptive-field": (the_first_node_sees_three_inputs, a_unit_of_lenet_sees_part_of_the_picture),
    "ch3/lrn": (neighbors_quiet_each_other, alexnet_is_counted, dropout_trains_and_stops),
    "ch3/lenet": (
        a_map_is_clicked_to_see_its_kernel,
        every_map_is_shown,
        a_drawn_seven_is_read_as_seven,
        a_photographed_one_is_read,
    ),
}
