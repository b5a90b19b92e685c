import math
from datetime import UTC, date, datetime, time, timedelta

import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import DataError, DataWarning
from lamina.data._dates import find_dates, moment, read_dates
from lamina.data.describe import describe
from lamina.data.preprocess import Preprocess
from lamina.data.tables import load_table, read_rows

DAY = 86400


def seconds(*parts):
    return datetime(*parts, tzinfo=UTC).timestamp()


# Spellings


@pytest.mark.parametrize(
    ("texts", "spelling", "expected"),
    [
        (["2024-12-31", "2024-01-02"], "year-month-day", [(2024, 12, 31), (2024, 1, 2)]),
        (["2024/12/31", "2024/1/2"], "year-month-day", [(2024, 12, 31), (2024, 1, 2)]),
        (["2024-12", "1969-01"], "year-month-day", [(2024, 12, 1), (1969, 1, 1)]),
        (
            ["2024-12-31T10:30", "2024-12-31 23:59:58"],
            "year-month-day",
            [(2024, 12, 31, 10, 30), (2024, 12, 31, 23, 59, 58)],
        ),
        (
            ["2024-12-31T00:30:00+01:00", "2024-12-31T10:00Z"],
            "year-month-day",
            [(2024, 12, 30, 23, 30), (2024, 12, 31, 10)],
        ),
        (
            ["2024-12-31 10:00:00-0530", "2024-12-31 10:00 UTC"],
            "year-month-day",
            [(2024, 12, 31, 15, 30), (2024, 12, 31, 10)],
        ),
        (["31.12.2024", "1.2.2024"], "day-month-year", [(2024, 12, 31), (2024, 2, 1)]),
        (["31.12.2024, 8:05 Uhr", "01.02.1999"], "day-month-year", [(2024, 12, 31, 8, 5), (1999, 2, 1)]),
        (["01.02.24", "03.04.69"], "day-month-year", [(2024, 2, 1), (1969, 4, 3)]),
        (["12/31/2024", "1/2/2024"], "month-day-year", [(2024, 12, 31), (2024, 1, 2)]),
        (["12/31/2024 1:05 PM", "1/2/2024 12:00 am"], "month-day-year", [(2024, 12, 31, 13, 5), (2024, 1, 2)]),
        (["31/12/2024", "1/2/2024"], "day-month-year", [(2024, 12, 31), (2024, 2, 1)]),
        (["31-12-2024", "1-2-2024"], "day-month-year", [(2024, 12, 31), (2024, 2, 1)]),
    ],
)
def test_the_whole_column_decides_how_dates_are_written(texts, spelling, expected):
    for order in (texts, texts[::-1]):
        found = find_dates(pl.Series(order))
        assert found.spelling == spelling and not found.guessed and found.unreadable == ()
        assert sorted(found.seconds.tolist()) == sorted(seconds(*parts) for parts in expected)


def test_times_of_a_day():
    found = find_dates(pl.Series(["14:30", "9:05:30", None]))
    assert found.spelling == "hour:minute" and found.seconds.tolist()[:2] == [14.5 * 3600, 9 * 3600 + 330]


@pytest.mark.parametrize(
    "texts",
    [
        ["red", "blue"],
        ["1.2.10", "2.3.11"],
        ["2024.5", "1999.25"],
        ["12", "2024"],
        ["2024-13-01", "2024-02-30"],
        ["1.2.3.4", "5.6.7.8"],
        ["25:00", "10:61"],
        ["2024-12-31 13:00 pm", "2024-12-30 25:10"],
        [None, None],
        ["2024-12-31", "2024-12-30", "tomorrow"],
    ],
)
def test_what_is_no_column_of_dates(texts):
    assert find_dates(pl.Series(texts, dtype=pl.String)) is None


def test_typed_columns():
    moments = [datetime(2024, 5, 1, 12, 30), None]
    wanted = seconds(2024, 5, 1, 12, 30)
    for unit in ("ms", "us", "ns"):
        assert find_dates(pl.Series(moments, dtype=pl.Datetime(unit))).seconds[0].item() == wanted
    berlin = pl.Series(moments).dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
    assert find_dates(berlin).seconds[0].item() == wanted and find_dates(berlin).seconds[1].isnan()
    assert find_dates(pl.Series([date(1969, 12, 31)])).seconds.tolist() == [-DAY]
    assert find_dates(pl.Series([time(2, 30)])).seconds.tolist() == [9000]
    assert find_dates(pl.Series([timedelta(days=1)])) is None and find_dates(pl.Series([1, 2])) is None


def test_an_order_that_nothing_shows_is_a_guess():
    american, dashed, german = (pl.Series([f"1{m}2{m}2024", f"3{m}4{m}2024"]) for m in "/-.")
    assert [find_dates(text).spelling[:3] for text in (american, dashed, german)] == ["mon", "day", "day"]
    assert [find_dates(text).guessed for text in (american, dashed, german)] == [True, True, False]
    told = find_dates(american, day_first=True)
    assert told.spelling == "day-month-year" and not told.guessed
    assert find_dates(pl.Series(["12/31/2024", "1/2/2024"]), day_first=True).spelling == "month-day-year"


def test_what_cannot_be_read_is_missing_and_the_year_may_come_first():
    found = read_dates(pl.Series(["31.12.2024", "2024-12-31", "12/31/2024", None]), "day-month-year")
    assert found.seconds[:2].tolist() == [seconds(2024, 12, 31)] * 2 and found.seconds[2:].isnan().all()
    assert found.unreadable == ("12/31/2024",)


@settings(max_examples=50, deadline=None)
@given(
    st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31)),
    st.sampled_from(["%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S"]),
)
def test_a_written_date_is_read_back(when, form):
    when = when.replace(microsecond=0)
    spelling = {"%Y": "year-month-day", "%d": "day-month-year", "%m": "month-day-year"}[form[:2]]
    text = when.strftime(form.replace("%Y", f"{when.year:04}"))
    (found,) = read_dates(pl.Series([text]), spelling).seconds.tolist()
    assert found == when.replace(tzinfo=UTC).timestamp()
    assert moment(found) == (str(when.date()) if found % DAY == 0 else str(when))


# Parts


@pytest.fixture
def sales(write):
    days = ["05.03.2023", "31.12.2023", "01.01.2024", "", "17.06.2024", "29.02.2024"]
    return write("sold,y\n" + "".join(f"{day},{i}.5\n" for i, day in enumerate(days)))


def test_dates_become_parts(sales):
    data = load_table(sales)
    assert data.spec.dates == ("day-month-year",) and data.spec.features == ("sold",)
    assert data.inputs[0].item() == seconds(2023, 3, 5) and data.inputs[3].isnan()
    prepare = Preprocess.fit(data)
    cycles = "sold month sin", "sold month cos", "sold weekday sin", "sold weekday cos"
    assert prepare.names == ("sold year", "sold days", *cycles, "sold missing")
    assert prepare.parts == (("year", "days", "month", "weekday"),) and prepare.first == (seconds(2023, 3, 5),)
    assert prepare.columns == {"sold": tuple(range(7))} and prepare.inputs == (7,)
    assert prepare.notes == ("The date 'sold' becomes year, days, month, weekday; days are counted from 2023-03-05.",)
    rows = prepare.apply(data.inputs)
    assert math.isclose(prepare.mean[0], 2023.6) and math.isclose(prepare.std[0], math.sqrt(0.24))
    days = [0, 301, 302, 470, 361]
    assert math.isclose(prepare.mean[1], sum(days) / 5)
    year = [(x - 2023.6) / math.sqrt(0.24) for x in (2023, 2023, 2024, 2024, 2024)]
    assert torch.allclose(rows[[0, 1, 2, 4, 5], 0], torch.tensor(year), atol=1e-4)
    month, weekday = [2, 11, 0, 5, 1], [6, 6, 0, 0, 3]  # from January and from Monday
    for places, values, cycle in (((2, 3), month, 12), ((4, 5), weekday, 7)):
        angles = torch.tensor(values) * 2 * math.pi / cycle
        assert torch.allclose(rows[[0, 1, 2, 4, 5]][:, places], torch.stack([angles.sin(), angles.cos()], 1), atol=1e-6)
    assert rows[3].tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert Preprocess.from_dict(prepare.as_dict()) == prepare


def test_new_rows_get_the_same_parts(sales, write):
    prepare = Preprocess.fit(load_table(sales), standardize=False)
    rows = read_rows(write("sold,z\n06.03.2023,1\n2023-03-04,1\n,1\n", "new.csv"), prepare.spec)
    assert prepare.apply(rows)[:, :2].tolist() == [[2023, 1], [2023, -1], [pytest.approx(2023.6), pytest.approx(286.8)]]


def test_only_parts_that_differ(write):
    times = [f"2024-03-{4 + i // 4:02} {6 * (i % 4):02}:30" for i in range(8)]
    data = load_table(write("at,y\n" + "".join(f"{text},{i}.5\n" for i, text in enumerate(times))))
    prepare = Preprocess.fit(data, standardize=False)
    assert prepare.parts == (("days", "weekday", "hour"),)
    days, *_, sine, cosine = prepare.apply(data.inputs[5:6])[0].tolist()
    angle = 2 * math.pi * 6.5 / 24
    assert days == 1.25 and math.isclose(sine, math.sin(angle), abs_tol=1e-6) and abs(cosine - math.cos(angle)) < 1e-6


def test_unreadable_and_doubtful_dates_are_said(write):
    days = [f"{i % 12 + 1}/{i % 9 + 1}/2024" for i in range(39)] + ["soon"]
    path = write("sold,y\n" + "".join(f"{day},{i}.5\n" for i, day in enumerate(days)))
    said = (
        "1 of 40 values in column 'sold' cannot be read as a date, such as 'soon', and counts as missing. The dates in "
        "column 'sold' are read as month-day-year, since no number above 12 shows which is the day (day_first=True for "
        "the other order)."
    )
    with pytest.warns(DataWarning) as record:
        data = load_table(path)
    assert str(record[0].message).endswith(f"`: {said}") and data.spec.notes[-1] == said
    assert data.inputs[10].item() == seconds(2024, 11, 2) and data.inputs[39].isnan()
    with pytest.warns(DataWarning, match=r"such as 'soon', and counts as missing\.$"):
        assert load_table(path, day_first=True).inputs[10].item() == seconds(2024, 2, 11)
    new = write("sold,z\nnever,1\n1/2/2024,1\n", "new.csv")
    with pytest.raises(DataError, match=r"must hold dates \(month-day-year\) as in training, got 'never' in row 1"):
        read_rows(new, data.spec)


def test_typed_dates_and_durations_from_parquet(tmp_path):
    frame = pl.DataFrame(
        {
            "at": [datetime(2024, 1, 1, 12), None, datetime(2024, 1, 2)],
            "took": [timedelta(hours=12), timedelta(days=2), None],
            "y": [0.5, 1.5, 2.5],
        }
    )
    frame.write_parquet(tmp_path / "t.parquet")
    data = load_table(tmp_path / "t.parquet")
    assert data.inputs[0].tolist() == [seconds(2024, 1, 1, 12), 0.5] and data.spec.dates == ("year-month-day", "")
    assert data.inputs[1, 1].item() == 2 and data.inputs[:, 0].isnan().tolist() == [False, True, False]
    assert read_rows(tmp_path / "t.parquet", data.spec).nan_to_num(-1).equal(data.inputs.nan_to_num(-1))
    assert describe(data)[-3:] == [
        "  2024-01-01 12:00:00  0.5      0.5",
        "  missing              2        1.5",
        "  2024-01-02           missing  2.5",
    ]


# Time order


def test_a_split_in_order_of_time(write):
    days = [f"2024-01-{1 + 7 * i % 24:02}" for i in range(24)]
    path = write("sold,x,y\n" + "".join(f"{day},{i}.5,{i % 2}\n" for i, day in enumerate(days)))
    split = load_table(path, time="sold").split()
    assert split.note.endswith("table.csv: 16 training, 4 validation and 4 test examples, in order of time.")
    parts = [part.take(torch.arange(len(part)))[0][:, 0] for part in (split.train, split.validation, split.open_test())]
    assert [(int(part.min() / DAY), int(part.max() / DAY)) for part in parts] == [
        (19723, 19738),
        (19739, 19742),
        (19743, 19746),
    ]
    assert load_table(path, time="sold", drop="sold").spec.features == ("x",)
    numbers = load_table(path, time="x").split().train
    assert numbers.take(torch.arange(16))[0][:, 1].tolist() == [i + 0.5 for i in range(16)]


def test_rows_of_one_moment_stay_together(write):
    lines = "".join(f"{2000 + i // 5},{i}.5,{i % 2}\n" for i in range(30))
    split = load_table(write("year,x,y\n" + lines), time="year").split()
    years = [set(part.take(torch.arange(len(part)))[0][:, 0].tolist()) for part in (split.train, split.validation)]
    assert years == [{2000, 2001, 2002, 2003}, {2004}] and len(split.test) == 5
    few = load_table(write("year,x,y\n" + lines.replace("2001", "2000"), "few.csv"), time="year", drop="x", keep="year")
    with pytest.raises(DataError, match="2 different moments are too few to split 4:1:1 in order of time"):
        type(few)(few.inputs, few.targets, few.spec, times=(torch.arange(30) > 28).double()).split()


def test_rows_without_a_moment_are_left_out_of_a_split_in_time(write):
    lines = "".join(f"{'' if i == 3 else f'2024-02-{i + 1:02}'},{i}.5,{i % 2}\n" for i in range(12))
    with pytest.warns(DataWarning, match="1 row without the time 'sold' is left out"):
        data = load_table(write("sold,x,y\n" + lines), time="sold")
    assert len(data) == 11 and data.times.tolist() == data.inputs[:, 0].tolist()
