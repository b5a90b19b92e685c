"""How a run went, in sentences."""

from xml.etree import ElementTree

from lamina.report.render import render
from report.samples import EVALUATION, ROWS


def tree(page: str) -> ElementTree.Element:
    """Read a page as XML, which is stricter than HTML: every element is closed, every attribute quoted and unique."""
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def words(node: ElementTree.Element) -> str:
    return " ".join("".join(node.itertext()).split())


def section(page: str, name: str) -> ElementTree.Element:
    return next(node for node in tree(page).iter("section") if words(node.find("h2")) == name)


def test_a_test_split_opened_again_is_remarked(make):
    page = render(make(evaluation={**EVALUATION, "openings": 3}))
    assert '<p class="say warn">The test split (20 examples) was opened 3 times.' in page


def test_an_interrupted_run(make):
    status = {"state": "interrupted", "sentence": "interrupted after step 14; everything up to there is saved"}
    page = render(make("r", status=status, evaluation=None, weights=None, rows=ROWS[:2]))
    assert "The run was stopped:" in page and "Continue with <code>lamina resume runs/r</code>" in page
    assert "The test split has not been opened." in page
    header = words(tree(page).find(".//header"))
    assert "80.0%validation accuracyat the best check; the test split is still sealed" in header
    assert [words(node) for node in tree(page).iter("h2")] == [
        "Learning curves",
        "The network",
        "How it was made",
        "Do it again",
    ]


def test_a_diverged_run(make):
    sentence = (
        "the loss has not been finite since step 3: layer 'a' was the first. Try a smaller learning_rate (now 1e+06)."
    )
    page = render(make(status={"state": "diverged", "sentence": sentence}, evaluation=None, weights=None, rows=None))
    assert '<span class="value bad">diverged</span>' in page and "before the first check" in page
    assert "learning_rate (now 1e+06).</p>" in page


def test_a_run_that_has_not_ended(make):
    page = render(make("r", status={"state": "running"}, evaluation=None, weights=None, rows=None, timings=None))
    assert (
        "The run has not ended." in page and "nothing has been measured yet" in page and "lamina resume runs/r" in page
    )
