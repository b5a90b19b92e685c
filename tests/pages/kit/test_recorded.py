"""Recorded results are those of experiments, their claims hold, and they are a sentence, a chart and a drawer."""

import pytest

from lamina._errors import ArgumentError
from lamina.experiments import registry
from lamina.experiments.result import Claim, Plot, Result
from lamina.pages.kit._recorded import finding, names, recorded, recorded_result

WITHOUT_A_CHART = {"channel_growth", "digit_pictures"}
"""Records of words alone, or of one row: the table says it better."""


def test_recorded_results_are_those_of_experiments_and_their_claims_hold():
    known = {function.__name__ for function in registry().values()}
    for name in names():
        assert name in known
        found = recorded_result(name)
        assert found.rows and all(claim.holds for claim in found.claims)
        text = recorded(name, "So it is.").text
        assert f"lamina experiment {name}" in text and ("<svg" in text) == (name not in WITHOUT_A_CHART)


def test_a_sentence_takes_its_numbers_from_the_record():
    said = recorded("order_counts", "Counting is right in {accuracy[0]:.0%} of all cases, {network[1]} in more.").text
    assert "Counting is right in 50% of all cases, rnn in more." in said
    with pytest.raises(KeyError, match="speed"):
        recorded("order_counts", "{speed[0]}")


def test_the_table_and_the_claims_lie_in_a_closed_drawer_behind_the_sentence_and_the_chart():
    rows = ((1, 0.5, True), (2, 0.25, None))
    result = Result("halves", ("n", "2^-n", "seen"), rows, Claim("it falls", True), Claim("it ends", False),
                    plot=Plot("n", ("2^-n",)))  # fmt: skip
    text = finding(result, "It halves.", again="lamina experiment halves").text
    words, chart, drawer = text.index("It halves."), text.index("<svg"), text.index("<details")
    assert words < chart < drawer < text.index("<table") and "<details open" not in text
    assert "Table, and 1 of 2 claims that hold" in text and "✗ it ends" in text
    assert ">yes<" in text and ">–<" in text and "Measured with <code>lamina experiment halves</code>" in text
    assert "<svg" not in finding(Result("t", ("a",), (("x",),)), "Nothing to draw.").text
    assert ">2^-n<" not in finding(result, "", ["n"]).text.split("<table")[1]


def test_unknown_record_names_the_command():
    with pytest.raises(ArgumentError, match="record it with `lamina experiment nothing --json`"):
        recorded_result("nothing")
    with pytest.raises(ArgumentError, match="`columns` must be one of"):
        recorded("order_counts", "", ["speed"])


def test_a_record_is_shown_once_for_all_but_every_drawing_is_collected(monkeypatch):
    from lamina.pages.kit import _blocks

    first, again = recorded("order_counts", "So it is."), recorded("order_counts", "So it is.")
    assert first.text == again.text and first is not again
    seen = []
    monkeypatch.setattr(_blocks, "collected", lambda label, picture: seen.append(label))
    assert recorded("order_counts", "So it is.").text == first.text
    assert len(seen) == 1 and seen[0].endswith("accuracy by network")
