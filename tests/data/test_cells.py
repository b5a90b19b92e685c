import csv
import datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import DataError
from lamina.data import cells
from lamina.data.cells import Format, read_cells
from lamina.data.tables import load_table


def test_cells_with_delimiters_quotes_and_newlines_inside(write):
    content = 'text,size,y\n"a, b",1,p\n"say ""hi""",2,q\n"two\nlines",3,p\n5" pipe,4,q\n'
    data = load_table(write(content))
    assert data.spec.levels[0] == ('5" pipe', "a, b", 'say "hi"', "two\nlines")
    assert data.inputs[:, 1].tolist() == [1, 2, 3, 4] and data.targets.tolist() == [0, 1, 0, 1]
    inches = load_table(write('a,b,y\n5",6",p\n7",8",q\n5",8",p\n', "inches.csv"))
    assert inches.spec.levels == (('5"', '7"'), ('6"', '8"'))


def test_the_fast_and_the_careful_way_agree(write, monkeypatch):
    content = "a,b,y\n" + "".join(f'{i},"x{i % 3}",{i % 2}\n' for i in range(100))
    path = write(content)
    fast = read_cells(path, Format()).frame
    monkeypatch.setattr(cells, "_scan", lambda *arguments: None)
    assert read_cells(path, Format()).frame.equals(fast) and fast.height == 100


@given(
    table=st.integers(2, 4).flatmap(
        lambda width: st.lists(st.lists(st.text('ab",;\n 1', max_size=4), min_size=width, max_size=width), max_size=5)
    ),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    delimiter=st.sampled_from(",;"),
)
@settings(deadline=None, max_examples=200)
def test_what_the_csv_module_writes_is_read_back(tmp_path_factory, table, quoting, delimiter):
    width = len(table[0]) if table else 2
    names = [f"c{i}" for i in range(width)]
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerows([names, *table])
    expected = [tuple(None if cell.strip() in cells.MISSING else cell.strip() for cell in row) for row in table]
    assert cells._without_gaps(cells._read(path, Format(delimiter=delimiter), "")[0]).rows() == expected


def test_bad_parquet(tmp_path, write):
    with pytest.raises(DataError, match=r"t.parquet` is not a readable Parquet file: write it again"):
        load_table(write("x,y\n1,2\n", "t.parquet"))
    frame = pl.DataFrame({"when": [datetime.date(2020, 1, 1)] * 2, "x": [1.0, 2.0], "y": ["a", "b"]})
    frame.write_parquet(tmp_path / "dates.parquet")
    with pytest.raises(DataError, match="column 'when' holds dates or times: turn them into numbers, or leave it out"):
        load_table(tmp_path / "dates.parquet")
    assert load_table(tmp_path / "dates.parquet", drop=["when"]).spec.features == ("x",)
    pl.DataFrame({"v": [[1, 2], [3]], "y": ["a", "b"]}).write_parquet(tmp_path / "lists.parquet")
    with pytest.raises(DataError, match=r"column 'v' holds values of type List\(Int64\): turn them into numbers"):
        load_table(tmp_path / "lists.parquet")


NUMBERS = st.floats(-1e6, 1e6).map(lambda x: round(x, 4)) | st.integers(-(10**6), 10**6)
WORDS = st.text("abcÄöß€,;|\t'\" -", min_size=1, max_size=8).map(lambda word: f"x{word}y")


@given(
    rows=st.lists(st.tuples(NUMBERS, WORDS, NUMBERS, WORDS), min_size=1, max_size=20),
    delimiter=st.sampled_from(cells.DELIMITERS),
    decimal=st.sampled_from(".,"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    escape=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
)
@settings(deadline=None, max_examples=300)
def test_values_come_back_however_they_are_written(
    tmp_path_factory, rows, delimiter, decimal, encoding, quoting, escape, end
):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    written = [
        [repr(cell).replace(".", decimal) if not isinstance(cell, str) else cell for cell in row] for row in rows
    ]
    form = {"escapechar": "\\", "doublequote": False} if escape else {}
    quoting = csv.QUOTE_ALL if escape else quoting  # without quotes around it, a backslash may be meant
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=end, **form)
        # the second line tells delimiter and decimal mark where drawn rows would not
        writer.writerows([["größe", "b", "c", "d"], [f"1{decimal}5", "xy", f"2{decimal}5", "z"], *written])
    found = read_cells(path, Format()).frame.rows()
    assert found[0] == ("1.5", "xy", "2.5", "z")
    assert [(float(a), b, float(c), d) for a, b, c, d in found[1:]] == [
        (float(a), b, float(c), d) for a, b, c, d in rows
    ]
