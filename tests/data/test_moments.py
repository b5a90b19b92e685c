"""Moments as people write them: understood, compared, continued in their step."""

from datetime import date, timedelta

import pytest

from lamina.data.moments import continued, goes_back, understood


@pytest.mark.parametrize(
    ("cells", "following"),
    [
        (["2024-02-27", "2024-02-28"], ["2024-02-29", "2024-03-01"]),
        (["2023-11", "2023-12"], ["2024-01", "2024-02"]),
        (["01.07.2024", "01.08.2024", "01.09.2024"], ["01.10.2024", "01.11.2024"]),  # twice 31 days: still months
        (["2024-01-31", "2024-02-29"], ["2024-03-31", "2024-04-30"]),
        (["2024-03-31", "2024-06-30", "2024-09-30"], ["2024-12-31", "2025-03-31"]),
        (["2024-01-01 22:00", "2024-01-01 23:00"], ["2024-01-02 00:00", "2024-01-02 01:00"]),
        (["2024-01-01T00:00:00Z", "2024-01-01T06:00:00Z"], ["2024-01-01T12:00:00Z", "2024-01-01T18:00:00Z"]),
        (["2024-02-01", "2024-02-02", "2024-02-05", "2024-02-06"], ["2024-02-07", "2024-02-08"]),  # no weekend
        (["2022", "2023"], ["2024", "2025"]),
        (["0.5", "0.75", "1"], ["1.25", "1.5"]),
        (["20240130", "20240131"], ["20240201", "20240202"]),
        (["30/01/2024", "31/01/2024"], ["01/02/2024", "02/02/2024"]),
        (["01/30/2024", "01/31/2024"], ["02/01/2024", "02/02/2024"]),
        (["Nov 2023", "Dec 2023"], ["Jan 2024", "Feb 2024"]),
    ],
)
def test_the_next_moments(cells, following):
    assert continued(cells, 2) == (tuple(following), "")


def test_a_friday_is_followed_by_a_monday():
    days = [date(2024, 1, 1) + timedelta(days=i) for i in range(19)]
    cells = [str(day) for day in days if day.weekday() < 5]
    assert cells[-1] == "2024-01-19" and continued(cells, 1) == (("2024-01-22",), "")


def test_day_and_month_are_told_apart_by_the_order_of_time():
    assert understood(["01/02/2024", "02/02/2024", "01/03/2024"]).form == "%d/%m/%Y"
    assert understood(["01/02/2024", "02/02/2024", "03/01/2024"]).form == "%m/%d/%Y"


def test_irregular_steps_are_said():
    cells = [f"2024-01-{day:02}" for day in (1, 2, 5, 6, 13, 20)]
    names, note = continued(cells, 2)
    assert names == ("2024-01-20 +1", "2024-01-20 +2")
    assert note == "the moments do not follow each other at equal steps, so those after 2024-01-20 are only numbered."
    hours = [f"2024-03-{1 + i // 24:02} {i % 24:02}:00" for i in range(60) if i != 30]
    names, note = continued(hours, 1)
    assert names == ("2024-03-03 12:00",)
    assert note == "1 of 58 steps between moments are not 1:00:00: the moments ahead assume it is."


def test_what_is_not_understood_is_numbered():
    assert continued(["Mo", "Tu"], 2) == (("Tu +1", "Tu +2"), "")
    assert continued(["2024-01-01"], 1) == (("2024-01-01 +1",), "")
    assert understood([]) is None and understood(["2024-01-01", "soon"]) is None


def test_time_that_goes_back():
    assert goes_back(["31.12.2023", "01.01.2024", "31.01.2023"]) == 2
    assert goes_back(["10", "9"]) == 1 and goes_back(["9", "10"]) is None and goes_back(["b", "a"]) is None


def test_positions_do_not_depend_on_the_zone_of_the_machine():
    assert understood(["1970-01-01", "1970-01-02"]).positions == [0.0, 86400.0]
    assert understood(["1970-01-01T01:00:00+0100"]).positions == [0.0] and understood(["3"]).positions == [3.0]
