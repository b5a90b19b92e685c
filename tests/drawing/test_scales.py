"""Scales: places and ticks computed by hand, and laws."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lamina.drawing.scales import dates, demands_log, exact, fit


def test_linear_scale_has_round_ends_and_even_places():
    scale = fit([0.6, 2.33], 200, 0)
    assert (scale.low, scale.high) == (0.0, 2.5)
    assert [label for _, label in scale.ticks] == ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5"]
    assert scale(0.0) == 200 and scale(2.5) == 0 and scale(1.0) == pytest.approx(120)


def test_linear_scale_does_not_begin_at_zero_when_values_are_far_from_it():
    assert fit([0.92, 0.99], 0, 1).low == pytest.approx(0.92)
    assert fit([2.21, 2.33], 0, 1).ticks[0] == (pytest.approx(2.2), "2.200")


def test_log_scale_takes_decades():
    scale = fit([0.002, 3.0], 0, 40, log=True)
    assert [label for _, label in scale.ticks] == ["0.001", "0.01", "0.1", "1", "10"]
    assert scale(0.001) == 0 and scale(10) == pytest.approx(40) and scale(0.1) == pytest.approx(20)
    assert scale(math.sqrt(0.1)) == pytest.approx(25)


def test_wide_log_scales_skip_decades_and_write_powers():
    scale = fit([1e-9, 1e3], 0, 1, log=True)
    assert (scale.low, scale.high) == (pytest.approx(1e-9), 1e3)
    assert [label for _, label in scale.ticks] == ["10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "1", "10²"], "1 is among them"
    exact_ends = exact(1e-25, 1e8, 0, 1, log=True, count=6)
    assert [label for _, label in exact_ends.ticks] == ["10⁻²⁴", "10⁻¹⁸", "10⁻¹²", "10⁻⁶", "1", "10⁶"]
    assert 0 < fit([1e-307, 1e300], 0, 1, log=True)(1.0) < 1


def test_one_value_is_drawn_above_zero():
    assert (fit([0.003, 0.003], 0, 1).low, fit([0.003], 0, 1)(0.003)) == (0.0, 1.0)
    assert (fit([-4.0], 0, 1).low, fit([-4.0], 0, 1).high) == (-4.0, 0.0)
    assert (fit([0.0], 0, 1).low, fit([0.0], 0, 1).high) == (0.0, 1.0)


def test_epochs_get_whole_ticks():
    assert [label for _, label in exact(1, 3, 0, 10, whole=True).ticks] == ["1", "2", "3"]
    single = exact(7, 7, 0, 10, whole=True)
    assert [label for _, label in single.ticks] == ["7"] and single(7) == 5
    assert [label for _, label in exact(1, 1000, 0, 1, whole=True).ticks] == ["200", "400", "600", "800", "1,000"]


def test_ticks_of_negative_values_and_zero():
    assert [label for _, label in fit([-1.9, 1.6], 0, 1).ticks] == ["-2", "-1", "0", "1", "2"]
    assert [label for _, label in fit([-0.3, 0.3], 0, 1, count=4).ticks] == ["-0.4", "-0.2", "0.0", "0.2", "0.4"]
    assert [label for _, label in fit([0, 2.5e7], 0, 1).ticks][:2] == ["0", "5·10⁶"]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [([1.0, 49.0], False), ([1.0, 50.0], True), ([0.0, 50.0], False), ([-1.0, 50.0], False), ([], False)],
)
def test_log_scale_only_where_the_range_demands_it(values, wanted):
    assert demands_log(values) is wanted


@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=20))
@example([2.2250738585072014e-308])
@example([-1e-299, 1e-303])
def test_every_value_lies_inside_and_order_is_kept(values):
    scale = fit(values, 0, 100)
    places = [scale(v) for v in sorted(values)]
    assert all(-1e-6 <= place <= 100 + 1e-6 for place in places) and places == sorted(places)
    assert 2 <= len(scale.ticks) <= 12 and all(-1e-6 <= scale(v) <= 100 + 1e-6 for v, _ in scale.ticks)


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=20))
def test_logarithmic_places_lie_inside_too(values):
    scale = fit(values, 0, 100, log=True)
    assert all(-1e-6 <= scale(v) <= 100 + 1e-6 for v in values) and 2 <= len(scale.ticks) <= 8


@pytest.mark.parametrize(
    ("low", "high", "count", "labels"),
    [
        (0, 40, 3, ["00:00:00", "00:00:15", "00:00:30"]),
        (0, 3 * 3600, 3, ["01-01 00:00", "01-01 01:00", "01-01 02:00", "01-01 03:00"]),
        (43200, 30 * 86400, 4, ["1970-01-15", "1970-01-29"]),
        (31 * 86400, 400 * 86400, 5, ["1970-04", "1970-07", "1970-10", "1971-01"]),
        (-86400.0 * 365 * 70, 86400.0 * 365 * 31, 3, ["1950", "2000"]),
        (0, 0, 2, ["12-31 12:00", "01-01 00:00", "01-01 12:00"]),
    ],
)
def test_ticks_of_dates_are_round(low, high, count, labels):
    scale = dates(low, high, 0, 100, count=count)
    assert [label for _, label in scale.ticks] == labels
    assert all(scale.low <= value <= scale.high for value, _ in scale.ticks)


def test_thousands_are_apart():
    assert [label for _, label in exact(0, 4000, 0, 1, count=4).ticks] == ["0", "1,000", "2,000", "3,000", "4,000"]
    assert [label for _, label in fit([1.0, 20_000.0], 0, 1, log=True).ticks][-2:] == ["10,000", "100,000"]
    assert [label for _, label in exact(900, 6000, 0, 1, log=True).ticks] == ["1,000", "2,000", "5,000"]
    assert [label for _, label in fit([-2500.0, 100.0], 0, 1, count=3).ticks][:2] == ["-3,000", "-2,000"]


def test_counts_have_no_fractions():
    assert [label for _, label in fit([0.0, 2.0], 0, 1, whole=True, count=5).ticks] == ["0", "1", "2"]
    assert [label for _, label in fit([0.0, 2.0], 0, 1, count=5).ticks] == ["0.0", "0.5", "1.0", "1.5", "2.0"]


def test_a_step_of_two_and_a_half_is_no_step_of_whole_numbers():
    assert [label for _, label in exact(0, 10, 0, 1, count=4).ticks] == ["0", "5", "10"]
    assert [label for _, label in exact(0.4, 12.6, 0, 1, count=5, whole=True).ticks] == ["5", "10"]
    assert [label for _, label in exact(0, 1, 0, 1, count=4).ticks] == ["0.00", "0.25", "0.50", "0.75", "1.00"]
    assert [label for _, label in exact(0, 100, 0, 1, count=4).ticks] == ["0", "25", "50", "75", "100"]
