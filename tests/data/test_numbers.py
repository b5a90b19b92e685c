"""Numbers as people write them."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.data._numbers import Marks, is_number, plain_numbers


def read(**columns):
    """Give the numbers of columns of cells, and what was found out about them."""
    found, marks = plain_numbers(pl.DataFrame(columns))
    return found.to_dict(as_series=False), marks


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("62 %", 62),
        ("62%", 62),
        ("%62", 62),
        ("-3,5 %", -3.5),
        ("€6,866", 6866),
        ("6.866 €", 6866),
        ("6.866\u00a0€", 6866),
        ("$1,200.50", 1200.5),
        ("US$ 1,200.50", 1200.5),
        ("EUR 1.234,56", 1234.56),
        ("12,50 CHF", 12.5),
        ("1.234,56", 1234.56),
        ("1.234.567", 1234567),
        ("1,234,567", 1234567),
        ("₹12,34,567", 1234567),
        ("1 234,5", 1234.5),
        ("1\u202f234,5", 1234.5),
        ("1 234 567", 1234567),
        ("1'234.50", 1234.5),
        ("1’234.50", 1234.5),
        ("(1,200.00)", -1200),
        ("(€5)", -5),
        ("12,50-", -12.5),
        ("12,50- €", -12.5),
        ("-€5", -5),
        ("€-5", -5),
        ("− 5 €", -5),
        ("+1,5", 1.5),
        (",5", 0.5),
        ("1,5e-3", 0.0015),
        ("2E5 €", 200000),
    ],
)
def test_one_cell(cell, value):
    found, _ = read(x=[cell])
    assert float(found["x"][0]) == value and is_number(cell)


@pytest.mark.parametrize(
    "cell",
    [
        "01.02.2024",
        "2024-01-01",
        "12:30",
        "0151 234 567",
        "1,234,56",
        "1.2.3",
        "12a",
        "5 May",
        "€",
        "%",
        "-",
        "(5",
        "5 6",
        "1_000",
    ],
)
def test_what_is_no_number_stays_as_it_is(cell):
    found, marks = read(x=[cell, "text"], y=[cell, cell])
    assert found == {"x": [cell, "text"], "y": [cell, cell]} and not is_number(cell)
    assert marks == Marks(None)


def test_a_column_with_a_word_is_not_one_of_numbers():
    assert read(x=["10 %", "20 %", "none"])[0]["x"] == ["10 %", "20 %", "none"]
    many = [f"{i},5" for i in range(30)]
    assert read(x=[*many, "oops"])[0]["x"] == [f"{i}.5" for i in range(30)] + ["oops"]  # a mistake, refused later
    assert plain_numbers(pl.DataFrame({"x": ["10 %", "none"]}), known=["x"])[0]["x"].to_list() == ["10", "none"]


def test_the_decimal_mark_of_a_doubtful_column_is_that_of_the_others():
    found, marks = read(a=["1,5", "2"], b=["1,234", "2,345"], c=["1.234", "12"], d=["52.52", "13.405"])
    assert found["b"] == ["1.234", "2.345"] and found["c"] == ["1234", "12"] and found["d"] == ["52.52", "13.405"]
    assert marks.decimal == "," and marks.decimals == (("d", "."),) and not marks.doubts
    assert marks.notes[0] == (
        "'1,234' in column 'b' could mean 1.234 or 1234: it is read as 1.234 (decimal='.' for the other)."
    )
    assert marks.notes[-1] == "The comma is the decimal mark in the column 'a'."


def test_when_nothing_tells_the_point_is_the_decimal_mark():
    found, marks = read(a=["1,234", "7"], b=["1.234", "2.500"])
    assert found == {"a": ["1234", "7"], "b": ["1.234", "2.500"]} and marks.decimal == "."
    assert marks.doubts[0].startswith(
        "'1,234' in column 'a' could mean 1234 or 1.234: it is read as 1234 (decimal=',' for"
    )
    frame = pl.DataFrame({"a": ["1,234", "7"], "b": ["1.234", "2.500"]})
    for options in ({"semicolons": True}, {"said": ","}, {"before": Marks(",")}):
        found, marks = plain_numbers(frame, **options)
        assert found.rows() == [("1.234", "1234"), ("7", "2500")] and marks.decimal == ","
        assert bool(marks.doubts) == ("semicolons" in options)
    only_points, marks = plain_numbers(frame.select("b"), semicolons=True)
    assert only_points["b"].to_list() == ["1.234", "2.500"] and marks == Marks(".")


def test_a_column_has_the_mark_that_it_had_before():
    before = Marks(",", (("d", "."),))
    frame = pl.DataFrame({"a": ["1,5"], "d": ["52.520"]})
    assert plain_numbers(frame, before=before)[0].rows() == [("1.5", "52.520")]
    assert plain_numbers(frame)[0].rows() == [("1.5", "52520")]
    assert plain_numbers(frame, before=Marks("."), known=["a", "d"])[1].decimal == ","  # the cells win


def test_units_are_dropped_and_said():
    _, marks = read(
        share=["62 %", "7%"], price=["€5", "$7"], plain=["1", "2"], **{f"s{i}": ["1 %"] * 2 for i in range(6)}
    )
    assert marks.notes == (
        "The percent sign is dropped in the columns 'share', 's0', 's1', 's2', 's3' and 2 more: 62 % is read as 62.",
    )
    assert marks.doubts == ("Column 'price' mixes $ and €: the numbers are read as they are written.",)


def test_only_text_is_looked_at():
    frame = pl.DataFrame({"a": [1.5, 2.5], "b": [None, None], "c": pl.Series(["1,5", "2,5"], dtype=pl.Categorical)})
    assert plain_numbers(frame)[0].equals(frame)


@given(
    values=st.lists(st.integers(-(10**9), 10**9).map(lambda cents: cents / 100), min_size=1, max_size=20),
    mark=st.sampled_from(".,"),
    between=st.sampled_from(["", "other", " ", "'", "\u00a0"]),
    before=st.sampled_from(["", "€", "$ ", "CHF "]),
    behind=st.sampled_from(["", " €", "%", " %"]),
)
@settings(deadline=None, max_examples=200)
def test_values_come_back(values, mark, between, before, behind):
    between = {"other": {".": ",", ",": "."}[mark]}.get(between, between)
    cells = []
    for value in values:
        whole, cents = f"{abs(value):,.2f}".split(".")
        cells.append(f"{'-' if value < 0 else ''}{before}{whole.replace(',', between)}{mark}{cents}{behind}")
    found, marks = read(x=cells)
    assert [float(cell) for cell in found["x"]] == values and marks.decimal == mark


@pytest.mark.parametrize(
    ("cells", "unit", "numbers"),
    [
        (["179 m²", "80,5 m²"], "m²", ["179", "80.5"]),
        (["12 kg", None, "1.234,5 kg"], "kg", ["12", None, "1234.5"]),
        (["3h", "12.5h"], "h", ["3", "12.5"]),
        (["-4 °C", "21°C"], "°C", ["-4", "21"]),
        (["120 km/h", "90 km/h"], "km/h", ["120", "90"]),
        (["1,200 sq ft", "980.5 sq ft"], "sq ft", ["1200", "980.5"]),
        (["5 €/m²", "7 €/m²"], "€/m²", ["5", "7"]),
        (["2 rooms", "3 rooms"], "rooms", ["2", "3"]),
        (["55 m2", "60 m2"], "m2", ["55", "60"]),
    ],
)
def test_a_unit_that_a_whole_column_has_is_dropped_and_kept_in_mind(cells, unit, numbers):
    found, marks = read(size=cells)
    assert found["size"] == numbers and marks.units == (("size", unit),)
    assert f"Units behind numbers are dropped: {unit} in 'size'." in marks.notes
    again, later = plain_numbers(pl.DataFrame({"size": [cells[0], "7"]}), before=marks, known=["size"])
    assert again["size"].to_list() == [numbers[0], "7"] and later.units == marks.units


@pytest.mark.parametrize(
    "cells", [["500 g", "1 kg"], ["12 kg", "heavy"], ["12a", "13a"], ["A1", "A2"], ["3 May", "5 May"]]
)
def test_several_units_words_and_house_numbers_are_no_numbers(cells):
    found, marks = read(x=cells)
    assert found["x"] == cells and marks.units == ()
