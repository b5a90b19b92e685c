"""Tables that a program holds come through as polars columns of the same values."""

import datetime
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lamina._errors import DataError
from lamina.data.frames import as_frame
from lamina.data.load import load
from lamina.data.tables import read_rows

DAY = datetime.date(2024, 1, 2)
MOMENT = datetime.datetime(2024, 1, 2)
MOMENTS = pd.to_datetime(["2024-01-02", None])


@pytest.mark.parametrize(
    ("column", "kind", "values"),
    [
        ([1, 2], pl.Int64, [1, 2]),
        ([1.5, np.nan], pl.Float64, [1.5, None]),
        ([True, False], pl.Boolean, [True, False]),
        (["a", None], pl.String, ["a", None]),
        (np.array(["a", np.nan], dtype=object), pl.String, ["a", None]),
        (np.array([1, 2.5], dtype=object), pl.Float64, [1.0, 2.5]),
        (np.array([1, "a"], dtype=object), pl.String, ["1", "a"]),
        (np.array([True, None], dtype=object), pl.Boolean, [True, None]),
        (pd.array([1, None], dtype="Int64"), pl.Int64, [1, None]),
        (pd.array([1.5, None], dtype="Float64"), pl.Float64, [1.5, None]),
        (pd.array([True, None], dtype="boolean"), pl.Boolean, [True, None]),
        (pd.array(["a", None], dtype="string"), pl.String, ["a", None]),
        (pd.Categorical(["b", None], categories=["a", "b"]), pl.Categorical, ["b", None]),
        (pd.Categorical([3, None]), pl.Categorical, ["3", None]),
        (MOMENTS, pl.Datetime, [MOMENT, None]),
        (MOMENTS.tz_localize("Europe/Berlin"), pl.Datetime, [MOMENT, None]),
        (pd.to_timedelta(["1h", None]), pl.Duration, [datetime.timedelta(hours=1), None]),
        (pd.period_range("2024-01", periods=2, freq="M"), pl.String, ["2024-01", "2024-02"]),
        ([DAY, None], pl.Date, [DAY, None]),
        ([["a"], ["a", "b"]], pl.List, [["a"], ["a", "b"]]),
    ],
)
def test_columns_of_pandas(column, kind, values):
    frame = as_frame(pd.DataFrame({"x": column}))
    assert frame["x"].dtype == kind and frame["x"].to_list() == values
    assert as_frame({"x": pd.Series(column)}).equals(frame)


def test_columns_of_other_tables():
    kinds = [("a", "i4"), ("b", "f4"), ("c", "U3"), ("d", "S3"), ("e", "?"), ("f", "M8[D]")]
    array = np.array([(1, 2.5, "ä", b"q", True, "2024-01-02"), (2, np.nan, "", b"", False, "NaT")], dtype=kinds)
    expected = [(1, 2.5, "ä", "q", True, MOMENT), (2, None, "", "", False, None)]
    assert as_frame(array).rows() == expected and as_frame(array.view(np.recarray)).rows() == expected
    assert as_frame(array[0]) is None
    rows = [{"a": 1, "b": "x"}, {"b": None, "c": np.float32(0.5)}, {"a": float("nan")}]
    assert as_frame(rows).rows() == [(1, "x", None), (None, None, 0.5), (None, None, None)]
    assert as_frame([{"a": 2**70}, {"a": 1}])["a"].to_list() == [float(2**70), 1.0]
    columns = {"a": np.arange(2), "b": pl.Series(["x", None]), 3: (1, 2.5)}
    assert as_frame(columns).to_dict(as_series=False) == {"a": [0, 1], "b": ["x", None], "3": [1.0, 2.5]}
    frame = pl.DataFrame({"a": [1], "b": ["x"]})
    assert as_frame(frame).equals(frame) and as_frame(frame.lazy()).equals(frame)
    assert as_frame(pd.DataFrame({("a", "b"): [1], 5: [2]})).columns == ["a b", "5"]


@pytest.mark.parametrize("what", ["t.csv", 7, [], {}, [1, 2], np.zeros((2, 2)), {"a": 1}, pd.Series([1]), None])
def test_what_is_no_table(what):
    assert as_frame(what) is None


def test_bad_tables():
    with pytest.raises(
        DataError, match=r"the table has 2 values in column 'a' but 1 in 'b': all columns need one value"
    ):
        as_frame({"a": [1, 2], "b": [1]})
    twice = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(DataError, match="the table has more than one column named 'x': give every column its own name"):
        as_frame(twice)


def tables():
    """Give the same table in all its forms."""
    frame = pd.DataFrame({"size": [1, 2, 3, None], "color": ["red", None, "blue", "red"], "kind": list("abab")})
    yield frame
    yield pl.DataFrame({"size": [1, 2, 3, None], "color": ["red", None, "blue", "red"], "kind": list("abab")})
    yield frame.to_dict("records")
    yield {name: frame[name] for name in frame}
    yield frame.to_records(index=False)


@pytest.mark.parametrize("table", list(tables()), ids=["pandas", "polars", "rows", "columns", "records"])
def test_a_table_is_loaded_and_gives_new_rows(table):
    data = load(table, target="kind")
    assert data.spec.features == ("size", "color") and data.spec.levels == ((), ("blue", "red"))
    assert data.inputs[:, 0].nan_to_num(-1).tolist() == [1, 2, 3, -1]
    assert data.inputs[:, 1].nan_to_num(-1).tolist() == [1, -1, 0, 1] and data.targets.tolist() == [0, 1, 0, 1]
    assert read_rows(table, data.spec).nan_to_num(-1).equal(data.inputs.nan_to_num(-1))
    with pytest.raises(DataError, match="the table has no column 'kid' for `target`, did you mean 'kind'"):
        load(table, target="kid")


def test_a_table_may_be_a_series_or_texts():
    days = pd.date_range("2024-01-01", periods=8)
    series = load(pd.DataFrame({"Datum": days, "sales": range(8)}), window=3)
    assert series.spec.kind == "series" and series.values.flatten().tolist() == list(range(8))
    texts = load([{"text": f"word {i}", "label": i % 2} for i in range(6)], text="text")
    assert texts.spec.kind == "text" and texts.spec.target == "label"
    with pytest.raises(DataError, match="a table has no option 'block_size'"):
        load([{"a": 1, "b": 2}], block_size=3)


def test_pandas_is_not_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert load([{"a": 1.5, "b": "x"}, {"a": 2.5, "b": "y"}]).targets.tolist() == [0, 1]


def test_halves_of_characters_are_marked():
    """JSON may hold half of an emoji, where a text was cut; polars cannot, and said so with a traceback."""
    frame = as_frame([{"a": 1, "b\ud83d": "fine \ud83d", "c": "\U0001f600"}, {"a": 2, "b\ud83d": "so so", "c": "ü"}])
    assert frame.columns == ["a", "b\ufffd", "c"]
    assert frame.rows() == [(1, "fine \ufffd", "\U0001f600"), (2, "so so", "ü")]
    assert as_frame({"b\ud83d": np.array(["x\ud83d", "y"], dtype=object)}).rows() == [("x\ufffd",), ("y",)]
