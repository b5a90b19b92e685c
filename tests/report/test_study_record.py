"""What a study's record computes: places of values and the share of variation that a hyperparameter explains."""

import pytest

from lamina.report._study_page import study_page
from lamina.report._study_record import Axis, Tried, importance, levels, short
from report.study_samples import RATE, WIDTH, study


def test_importance_is_the_share_of_variation():
    # ranks 5 4 3 1 0 2: mean 2.5, total 17.5; by rate 4 and 1: between 6 * 1.5^2
    assert importance(study(), RATE) == pytest.approx(13.5 / 17.5)
    assert importance(study(), WIDTH) == pytest.approx(2 * ((3 - 2.5) ** 2 + (2 - 2.5) ** 2) / 17.5)
    assert importance(study(tried=study().tried[:1]), RATE) == 0.0


def test_ranges_are_binned_and_conditions_leave_gaps():
    axis = Axis("rate", ends=(1e-4, 1e-1), log=True)
    tried = [Tried(n, {"rate": value} if value else {}, 0.5) for n, value in enumerate((1e-4, 2e-3, 1e-1, None))]
    names, places = levels(axis, tried, bins=3)
    assert names == ["1e-4–0.001", "0.001–0.01", "0.01–0.1"] and places == [0, 1, 2, None]
    record_ = study(
        axes=(axis, WIDTH), tried=tuple(Tried(t.number, {**t.values, "width": "8"}, 0.5 + t.number / 10) for t in tried)
    )
    page = study_page(record_)
    assert "0.0001 to 0.1, logarithmic" in page and "1e-4–6e-4" not in page.split("<section")[0]


def test_numbers_in_few_letters():
    assert [short(value) for value in (0.0004, 0.0251, 12.0)] == ["4e-4", "0.025", "12"]
    assert levels(Axis("a", ends=(0.0, 1.0)), [Tried(0, {"a": 0.9}, 1.0)], bins=2) == (["0–0.5", "0.5–1"], [1])
