"""The report of a study: what stands in it, and that it stands alone."""

import re
from xml.etree import ElementTree

import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from lamina.report._study_page import luck, study_page
from lamina.report._study_record import Axis, Tried
from report.study_samples import RATE, study


def tree(page: str) -> ElementTree.Element:
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def words(node: ElementTree.Element) -> str:
    return " ".join("".join(node.itertext()).split())


def section(page: str, name: str) -> ElementTree.Element:
    return next(node for node in tree(page).iter("section") if words(node.find("h2")) == name)


def test_first_screen():
    page = study_page(study())
    header = tree(page).find(".//header")
    text = words(header)
    assert words(header.find(".//h1")) == "fnn on iris" and "Study studies/fnn-iris" in text
    assert "84.0%test accuracy95% interval 65.3% to 93.6%" in text
    assert "configurations6best validation accuracy90.0%training time3.0 s" in text
    said = words(tree(page).find(".//div[@class='said']"))
    assert said.startswith("The search is complete: 6 configurations, every combination.")
    assert "The test split (25 examples) was opened once, for the best configuration" in said


def test_order_of_sections():
    names = [words(node) for node in tree(study_page(study())).iter("h2")]
    assert names == [
        "Leaders",
        "The course of the search",
        "All configurations",
        "One at a time",
        "Two at a time",
        "How much of it is luck?",
        "How it was made",
        "Do it again",
    ]


def test_the_page_stands_alone_and_cannot_be_injected_into():
    evil = "<script>alert(1)</script>"
    tried = tuple(Tried(t.number, {**t.values, "width": evil}, t.value, t.state) for t in study().tried)
    page = study_page(study(title=evil, tried=tried, axes=(RATE, Axis("width", (evil, "1")))))
    assert "<script" not in page and "&lt;script&gt;alert(1)" in page
    assert "default-src &#x27;none&#x27;" in page and not re.findall(r"(?:src|href)=\"(?!data:)", page)
    tree(page)


def test_the_leaders_are_ordered_and_what_is_odd_is_said():
    tried = (
        *study().tried,
        Tried(6, {"width": "8"}, None, "diverged"),
        Tried(7, {"width": "8"}, 0.95, "dropped", epochs=1),
    )
    rows = section(study_page(study(tried=tried)), "Leaders").find(".//tbody").findall("tr")
    cells = [[words(cell) for cell in row] for row in rows]
    assert cells[0] == ["1", "90.0%", "0.1000", "0.01", "16", "3", "finished", "#4"]
    assert [row[-1] for row in cells] == ["#4", "#3", "#5", "#2", "#1", "#0", "#7", "#6"]
    assert cells[-1] == ["8", "diverged", "–", "–", "8", "–", "diverged", "#6"]
    assert cells[-2][1] == "95.0%" and cells[-2][-2] == "dropped"  # dropped ones come after all that finished
    head = words(tree(study_page(study(tried=tried))).find(".//header"))
    assert "finished6" in head and "dropped1" in head and "diverged1" in head


def test_an_unfinished_study_says_how_to_go_on():
    page = study_page(study(complete=False, total=10, test=None))
    said = words(tree(page).find(".//div[@class='said']"))
    assert "The search is not complete: 6 of 10 configurations were tried. Continue with lamina search --resume" in said
    assert "The test split has not been opened." in said
    assert "90.0%best validation accuracyoptimistic, since it was chosen as the best" in words(
        tree(page).find(".//header")
    )
    assert "Continue it" in words(section(page, "Do it again"))
    empty = study_page(study(tried=(), complete=False, total=None, test=None))
    assert "none" in words(tree(empty).find(".//header")) and "0 configurations were tried" in empty
    again = study_page(study(test={**study().test, "openings": 3}))
    assert "opened 3 times: its result is no longer a fair evaluation" in again


def test_small_validation_sets_bring_a_warning_with_numbers():
    behind, share = luck(study())
    # 22.5 of 25 is 22 right answers: as often as not the best of six equally good ones reaches them.
    wanted = brentq(lambda p: 1 - binom.cdf(21, 25, p) ** 6 - 0.5, 0.1, 0.9)
    assert behind == pytest.approx(wanted, abs=1e-9) and share == pytest.approx(0.9 - wanted) == pytest.approx(
        0.1435, abs=1e-4
    )
    page = study_page(study())
    warning = words(next(p for p in tree(page).iter("p") if "Small validation set" in words(p)))
    assert (
        f"chosen among 6 configurations by 25 examples, the best may owe up to {100 * share:.1f} points of its 90.0% "
        "to luck" in warning
    )
    assert "6 coins, tossed 100 times each: the best of them shows 56.3% heads" in words(
        section(page, "How much of it is luck?")
    )
    large = study_page(study(examples=(100_000, 25_000, 25_000)))
    assert "Small validation set" not in large and "so luck is at most" in large
    assert luck(study(metric="validation_loss", direction="minimize")) is None and luck(study(examples=None)) is None
    assert "no simple formula" in study_page(study(metric="validation_loss", direction="minimize"))


def test_the_test_of_the_winner_names_its_baseline():
    baseline = {"name": "always 'a'", "metrics": {"accuracy": 0.4}, "ahead": 0.44, "p": 0.001}
    test = {"metrics": {"loss": 0.4, "accuracy": 0.84}, "examples": 25, "openings": 1, "trial": 4}
    said = words(tree(study_page(study(test=test | {"baselines": [baseline]}))).find(".//div[@class='said']"))
    assert "The network beats the baseline. The baseline is always 'a': accuracy 40.0%." in said
    errors = {"metrics": {"loss": 0.4, "rmse": 12.5}, "examples": 25, "openings": 1, "trial": 4, "unit": "price"}
    page = study_page(study(test=errors, metric="validation_rmse"))
    assert "12.50test RMSEprice" in words(tree(page).find(".//header"))
