"""What a network gets right and wrong, on a page."""

from xml.etree import ElementTree

import pytest

from lamina._errors import RunError
from lamina.report.render import render
from report.samples import EVALUATION, PIXEL, regression


def tree(page: str) -> ElementTree.Element:
    """Read a page as XML, which is stricter than HTML: every element is closed, every attribute quoted and unique."""
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def words(node: ElementTree.Element) -> str:
    return " ".join("".join(node.itertext()).split())


def section(page: str, name: str) -> ElementTree.Element:
    return next(node for node in tree(page).iter("section") if words(node.find("h2")) == name)


def test_calibration_and_mistakes_as_rows(make):
    found = section(render(make()), "On the test split")
    assert "Expected calibration error 13.0%." in words(found)
    assert "3virginicaversicolor91.0%6.1–" in words(found)


def test_mistakes_as_pictures(make):
    worst = [{"index": 3, "label": "five", "guess": "nine", "confidence": 0.71, "picture": PIXEL}]
    found = section(render(make(evaluation={**EVALUATION, "worst": worst})), "On the test split")
    image = found.find(".//div[@class='mistakes']/figure/img")
    assert image.get("src") == PIXEL and image.get("alt") == "five taken for nine"
    assert "five → nine71.0%" in words(found)


def test_mistakes_carry_the_names_of_their_files(make):
    worst = [
        {"index": 3, "name": "a & b/<1>.png", "label": "five", "guess": "nine", "confidence": 0.71, "picture": PIXEL}
    ]
    found = section(render(make(evaluation={**EVALUATION, "worst": worst})), "On the test split")
    assert words(found.find(".//div[@class='mistakes named']/figure//span[@class='name']")) == "a & b/<1>.png"


@pytest.mark.parametrize(
    "address", ["https://example.org/x.png", "data:text/html;base64,PHNjcmlwdD4=", 'data:image/png;base64,"onerror="x']
)
def test_no_other_address_is_shown_as_a_picture(make, address):
    worst = [{"index": 3, "label": "five", "guess": "nine", "confidence": 0.71, "picture": address}]
    page = render(make(evaluation={**EVALUATION, "worst": worst}))
    assert "<img" not in page and address not in page and "fivenine71.0%" in words(section(page, "On the test split"))


def test_no_mistake_at_all(make):
    assert "There are no mistakes on the test split." in render(make(evaluation={**EVALUATION, "worst": []}))


def test_regression(make):
    page = render(make(**regression()))
    assert "0.8125" in words(tree(page).find(".//header")) and "test R²" in page and "on 4 examples" in page
    found = section(page, "On the test split")
    dots = [(dot.get("cx"), dot.get("cy")) for dot in found.iter("circle") if dot.get("r") == "2.6"]
    # A scale from 0 to 2 on both axes: x = 46 + 143 t, y = 300 - 145 y.
    assert dots == [("46", "227.5"), ("189", "155"), ("332", "82.5")]
    assert "3 examples; 1 without a finite value are left out." in words(found)
    assert "Mean error 0; a mean far from 0 is a bias." in words(found)
    assert "Mean squared error" in words(section(page, "Learning curves"))


def test_regression_of_many_examples_says_what_is_drawn(make):
    change = regression()
    change["evaluation"]["predictions"] = [[i / 10, i / 10] for i in range(4000)]
    change["preprocess"]["spec"] |= {"outputs": 2}
    text = words(section(render(make(**change)), "On the test split"))
    assert "4,000 examples, at most 1,500 of them drawn." in text and "Predictions against targetsfirst output" in text


CONFORMAL = {"asked": 0.9, "examples": 25, "quantile": [0.75], "measured": [0.95], "size": [1.25]}


def test_the_coverage_of_sets(make):
    folder = make(evaluation={**EVALUATION, "conformal": CONFORMAL})
    said = (
        "Sets of classes that are to hold the truth for 90.0% of new examples held it for 95.0% of the 20 test "
        "examples (95% interval 76.4% to 99.1%). They have 1.25 classes on average. They were calibrated on 25 "
        "validation examples, which also chose the epoch."
    )
    assert said in words(section(render(folder), "On the test split"))
    assert f"### Coverage\n\n{said}" in render(folder, "md")
    assert "Coverage" not in render(make())


def test_the_coverage_of_intervals(make):
    change = regression()
    change["evaluation"]["conformal"] = {**CONFORMAL, "quantile": [2.0, 1.0], "measured": [1, 0.5], "size": [4.0, 2.0]}
    said = words(section(render(make(**change)), "On the test split"))
    assert "held it for 75.0% of the 4 test examples on average. They reach 1.5 to each side of a prediction." in said


IMPORTANCE = {
    "metric": "accuracy",
    "value": 0.85,
    "repeats": 5,
    "examples": 20,
    "columns": [{"column": "b", "mean": 0.3, "spread": 0.05}, {"column": "a|$x$", "mean": -0.1, "spread": 0.0}],
}


def test_the_importance_of_columns(make):
    folder = make(evaluation={**EVALUATION, "importance": IMPORTANCE})
    found = section(render(folder), "On the test split")
    said = (
        "The drop in accuracy when one column is shuffled among 20 test examples: mean and standard deviation over 5 "
        "shuffles. Columns that carry the same information can replace each other, so each of them looks less "
        "important than they are together."
    )
    assert said in words(found)
    titles = [node.text for node in found.iter("title")]
    assert "b: 0.3 ± 0.05" in titles and "a|$x$: -0.1 ± 0" in [t.replace("−", "-") for t in titles if t]
    text = render(folder, "md")
    assert "| column | drop in accuracy | spread |" in text and "| b | 0.3 | 0.05 |" in text and said in text
    assert "Importance" not in render(make())


def test_the_importance_of_many_columns_in_units(make):
    change = regression()
    rows = [{"column": f"c{i}", "mean": 30.0 - i, "spread": 1.0} for i in range(25)]
    change["evaluation"]["importance"] = {**IMPORTANCE, "metric": "mae", "columns": rows}
    said = words(section(render(make(**change)), "On the test split"))
    assert "The rise in mean |error| when" in said and "The 20 most important of 25 columns are shown." in said
    assert "c19" in said and "c20" not in said


BASELINES = [
    {
        "name": "the mean of the training targets",
        "metrics": {"mse": 4.0, "r2": -8e-5, "rmse": 2.0},
        "ahead": 3.0,
        "p": 0.3,
    },
    {"name": "the last value", "metrics": {"mse": 9.0, "r2": -1.0, "rmse": 3.0}, "ahead": 8.0, "p": 0.01},
]


def dated(moments):
    change = regression()
    change["evaluation"] |= {"baselines": BASELINES, "unit": "sales", "moments": moments}
    change["evaluation"]["metrics"] |= {"rmse": 1.0}
    change["rows"] = [{**row, "rmse": 3 * row["loss"]} for row in change["rows"]]
    change["preprocess"]["spec"] |= {"target": "sales"}
    return change


def test_the_baselines_are_named_and_compared(make):
    page = render(make(**dated(None)))
    said = words(tree(page).find(".//div[@class='said']"))
    assert "is ahead of the strongest baseline (the mean of the training targets), but 4 examples are too few" in said
    assert "The baseline is the mean of the training targets: RMSE 2.000." in said
    text = words(section(page, "On the test split"))
    assert "Against the baselinesalesanswerR²RMSEthe network0.81251.000" in text
    assert "the mean of the training targets-0.00010002.000the last value-1.0003.000" in text
    assert "Forecasts" not in text and "test loss, standardized0.1000" in words(tree(page).find(".//header"))
    curves = words(section(page, "Learning curves"))
    assert "Root mean squared error, sales" in curves and "is in the units of the target" in curves
    markdown = render(make(**dated(None)), "md")
    assert "### Against the baseline" in markdown and "4 examples are too few to tell (p = 0.3)." in markdown


LINEAR = {"metric": "r2", "linear": 0.42, "network": 0.39, "ahead": -1.5, "p": 0.4, "examples": 40}


def test_a_linear_model_that_does_as_well_is_named_with_its_command(make):
    change = dated(None)
    change["evaluation"] |= {"linear": LINEAR}
    said = words(tree(render(make(**change))).find(".//div[@class='said']"))
    sentence = "A linear model does as well (R² 0.42 against 0.39 on 40 validation examples)."
    assert f"{sentence} Train one with lamina train perceptron --data " in said
    assert sentence in render(make(**change), "md").replace("\\", "")
    change["evaluation"]["linear"] = LINEAR | {"ahead": 1.5, "p": 0.01}
    assert "A linear model" not in render(make(**change)) and "A linear model" not in render(make(**change), "md")


def test_a_damaged_comparison_with_a_linear_model_is_named(make):
    with pytest.raises(RunError, match=r"evaluation.json is damaged"):
        render(make(evaluation={**EVALUATION, "linear": LINEAR | {"p": "small"}}))


def test_outputs_with_units_of_their_own_stay_in_standard_deviations(make):
    change = dated(None)
    change["preprocess"] |= {"target_mean": [1.0, 2.0], "target_std": [1.5, 2.5]}
    change["preprocess"]["spec"] |= {"outputs": 2}
    curves = words(section(render(make(**change)), "Learning curves"))
    assert "each output has units of its own, so the root mean squared error is in standard deviations too" in curves
    assert "Root mean squared error, sales" not in curves


def test_forecasts_are_drawn_over_dates(make):
    found = section(
        render(make(**dated(["2024-01-30", "2024-01-31", "2024-02-01", "2024-02-02"]))), "On the test split"
    )
    drawing = next(node for node in found.iter("svg") if node.get("class") == "figure wide")
    labels = [words(node) for node in drawing.iter("text")]
    assert [label for label in labels if label.startswith("2024")] == [
        "2024-01-30",
        "2024-01-31",
        "2024-02-01",
        "2024-02-02",
    ]
    assert "sales" in labels
    titles = [words(node) for node in drawing.iter("title")]
    assert "2024-01-30: 0 came" in titles and "2024-01-30: 0.5 forecast" in titles and len(titles) == 3 + 7
    text = words(found)
    assert "Forecasts over the test stretch2024-01-30 to 2024-02-02" in text
    assert "Every forecast is made from what was known just before it." in text


def test_forecasts_over_names_and_numbers(make):
    def ticks(moments):
        found = section(render(make(**dated(moments))), "On the test split")
        drawing = next(node for node in found.iter("svg") if node.get("class") == "figure wide")
        return [words(node) for node in drawing.iter("text")]

    assert {"Mo", "Tu", "We", "Th"} <= set(ticks(["Mo", "Tu", "We", "Th"]))
    assert {"150", "151", "152", "153"} <= set(ticks(["150", "151", "152", "153"]))


def test_a_damaged_baseline_is_named(make):
    broken = {**EVALUATION, "baselines": [{"name": "x", "metrics": {"accuracy": "much"}, "ahead": 0, "p": None}]}
    with pytest.raises(RunError, match=r"evaluation.json is damaged"):
        render(make(evaluation=broken))


def test_few_classes_have_their_scores_below_the_confusion(make):
    found = section(render(make()), "On the test split")
    left, right = found.find("div[@class='grid wide']")
    assert [words(node.find("h3")).split("rows")[0] for node in left] == ["Confusion", "By class"]
    assert [words(node.find("h3")) for node in right] == ["Calibration"]
