"""What a reader does with the tools."""

import re
import tempfile
import urllib.request
from pathlib import Path

from harness import WebDriver, choose, click, elements, page_text, plot_text, set_slider, type_text, upload, wait


def _link(driver: WebDriver, words: str):
    return wait(lambda: elements(driver, f"el.localName === 'a' && el.textContent.includes('{words}')"), 90, words)[0]


def digits_train_and_the_report_opens(driver: WebDriver) -> None:
    type_text(driver, "epochs", "3")
    wait(lambda: "lamina train fnn --data digits --epochs 3 --seed 0" in page_text(driver))
    click(driver, "Train")
    address = _link(driver, "Open the report").get_attribute("href")
    assert "epoch 3, validation loss" in plot_text(driver, "Loss over the epochs")
    assert "299 examples, opened once" in page_text(driver)
    with urllib.request.urlopen(address, timeout=30) as answer:
        report = answer.read().decode()
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "digits" in report and tempfile.gettempdir() not in report
    with urllib.request.urlopen(_link(driver, "Take the run").get_attribute("href"), timeout=30) as answer:
        assert answer.read(2) == b"PK"


def a_long_run_stops(driver: WebDriver) -> None:
    type_text(driver, "epochs", "5000")
    click(driver, "Train")
    wait(lambda: "validation loss" in plot_text(driver, "Loss over the epochs"), 90, "the first epoch")
    assert "left" in page_text(driver)
    click(driver, "Train")
    wait(lambda: "paused" in page_text(driver), words="the end of the run")


def an_own_table_trains_and_answers(driver: WebDriver) -> None:
    lines = [f"{i / 90:.3f},{i * 7 % 90},{'high' if i >= 45 else 'low'}" for i in range(90)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "heights.csv"
        path.write_text("height,other,kind\n" + "\n".join(lines) + "\n")
        new = Path(folder) / "new.csv"
        new.write_text("height,other\n0.95,3\n0.02,3\n")
        choose(driver, "data", "my own file")
        wait(lambda: "Choose a file." in page_text(driver))
        upload(driver, "your file", str(path))
        wait(lambda: "lamina train fnn --data heights.csv" in page_text(driver), words="the command")
        wait(lambda: "Your data: 90 rows, 3 columns" in page_text(driver), words="a look at the file")
        choose(driver, "target column", "kind")
        type_text(driver, "epochs", "40")
        wait(lambda: "--target kind --epochs 40" in page_text(driver))
        click(driver, "Train")
        _link(driver, "Open the report")
        assert "15 examples, opened once" in page_text(driver)
        assert re.search(r"kept: epoch \d+", plot_text(driver, "Loss over the epochs"))
        upload(driver, "new rows", str(new))
        click(driver, "Ask")
        wait(lambda: "1high, " in page_text(driver) and "2low, " in page_text(driver), 60, "the answers")


def a_bad_file_gets_one_sentence(driver: WebDriver) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "broken.zip"
        path.write_bytes(b"no archive")
        choose(driver, "data", "my own file")
        upload(driver, "your file", str(path))
        wait(lambda: "broken.zip cannot be unpacked" in page_text(driver), words="the sentence")
    choose(driver, "data", "iris")
    choose(driver, "network", "lenet5: LeNet-5 as in the notes")
    wait(lambda: "lamina train lenet5 --data iris" in page_text(driver))
    click(driver, "Train")
    wait(lambda: "lenet5 reads pictures, but the data are of kind 'table'" in page_text(driver), 60, "the sentence")


def sixty_four_networks_learn(driver: WebDriver) -> None:
    set_slider(driver, "epochs", -1)
    click(driver, "Search")
    wait(lambda: "times less" in page_text(driver), 120, "the end of the search")
    label = plot_text(driver, "Validation accuracy over learning rate")
    assert "the best of 64 networks has 9" in label and "epoch 10" in label
    click(driver, "show one at a time")
    wait(lambda: "one at a time tries 15" in plot_text(driver, "Validation accuracy over"), words="the walk")
    assert "One at a time: 15 networks instead of 64" in page_text(driver)


def counts_of_the_notes(driver: WebDriver) -> None:
    assert "5 hyperparameters with 4 values: 1,024 networks in the grid, 16 one at a time." in page_text(driver)
    set_slider(driver, "hyperparameters", 1)
    wait(lambda: "4,096 networks in the grid, 19 one at a time." in page_text(driver))


def a_thousand_networks_learn(driver: WebDriver) -> None:
    click(driver, "Train all 1,024")
    wait(lambda: "epoch 12" in plot_text(driver, "1,024 networks"), 120, "all epochs")
    wait(lambda: "0.03: 9" in page_text(driver), words="the means")


CHECKS = {
    "tools/playground": (
        digits_train_and_the_report_opens,
        a_long_run_stops,
        an_own_table_trains_and_answers,
        a_bad_file_gets_one_sentence,
    ),
    "tools/search": (sixty_four_networks_learn, counts_of_the_notes, a_thousand_networks_learn),
}
