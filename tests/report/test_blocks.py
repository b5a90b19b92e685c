"""The blocks of a page: the shaded confusion matrix."""

from xml.etree import ElementTree

import pytest

from lamina.report.render import render
from report.samples import EVALUATION, PREPROCESS, SPEC


def tree(page: str) -> ElementTree.Element:
    """Read a page as XML, which is stricter than HTML: every element is closed, every attribute quoted and unique."""
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def words(node: ElementTree.Element) -> str:
    return " ".join("".join(node.itertext()).split())


def section(page: str, name: str) -> ElementTree.Element:
    return next(node for node in tree(page).iter("section") if words(node.find("h2")) == name)


def test_matrix_cells(make):
    table = section(render(make()), "On the test split").find(".//table[@class='matrix few']")
    cells = [[words(cell) for cell in row] for row in table.iter("tr")]
    assert cells == [
        ["", "setosa", "versicolor", "virginica", "total"],
        ["setosa", "7", "·", "·", "7"],
        ["versicolor", "·", "6", "1", "7"],
        ["virginica", "·", "2", "4", "6"],
        ["total", "7", "8", "5", "20"],
    ]
    hit, miss = table.findall(".//td[@class='hit-cell strong']"), table.findall(".//td[@class='miss-cell']")
    # A hit by its share of the row, 0.12 + 0.88 share; a mistake by its share of the largest one, 0.1 + 0.7 share.
    assert [cell.get("style") for cell in hit] == ["--v:1.00", "--v:0.87", "--v:0.71"]
    assert [cell.get("style") for cell in miss] == ["--v:0.45"]
    assert miss[0].get("title") == "versicolor taken for virginica: 1 of 7 (14.3%)"


def test_a_class_without_examples_is_no_division_by_zero(make):
    confusion = [[7, 0, 0], [0, 6, 1], [0, 0, 0]]
    table = section(render(make(evaluation={**EVALUATION, "confusion": confusion})), "On the test split").find(
        ".//table"
    )
    assert [words(cell) for cell in list(table.iter("tr"))[3]] == ["virginica", "·", "·", "0", "0"]


@pytest.mark.parametrize(("count", "kind"), [(6, "matrix few"), (10, "matrix"), (25, "matrix many"), (26, None)])
def test_matrices_of_every_size(make, count, kind):
    names = [f"class {i}" for i in range(count)]
    counts = [[5 if i == j else int(j == i + 1) for j in range(count)] for i in range(count)]
    scores = [{"class": n, "examples": 6, "precision": 0.8, "recall": 0.8, "f1": 0.8} for n in names]
    spec = {**SPEC, "classes": names, "outputs": count}
    page = render(
        make(
            preprocess={**PREPROCESS, "spec": spec}, evaluation={**EVALUATION, "confusion": counts, "per_class": scores}
        )
    )
    found = section(page, "On the test split")
    if kind is None:
        assert "Most confused classes" in words(found) and "class 0class 1116.7%" in words(found)
        assert "All 26 classes" in words(found)
    else:
        table = found.find(f".//table[@class='{kind}']")
        assert len(list(table.iter("tr"))) == count + 2
        assert (table.find(".//span[@class='up']") is not None) == (count > 6)


def test_a_report_carries_a_policy_of_its_own(make):
    page = render(make())
    policies = [node.get("content") for node in tree(page).iter("meta") if node.get("http-equiv")]
    assert policies == [
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; "
        "form-action 'none'"
    ]
    assert page.index("Content-Security-Policy") < page.index("<style"), "what comes before it is not under it"
    assert not list(tree(page).iter("script")) and not list(tree(page).iter("form"))
