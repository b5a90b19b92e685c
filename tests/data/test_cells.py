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
    fast = read_cells(path, Format())
    monkeypatch.setattr(cells, "_scan", lambda *arguments: None)
    assert read_cells(path, Format()).equals(fast) and fast.height == 100


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
    assert read_cells(path, Format(delimiter=delimiter)).rows() == expected


def test_bad_parquet(tmp_path, write):
    with pytest.raises(DataError, match=r"t.parquet` is not a readable Parquet file: write it again"):
        load_table(write("x,y\n1,2\n", "t.parquet"))
    frame = pl.DataFrame({"when": [datetime.date(2020, 1, 1)] * 2, "x": [1.0, 2.0], "y": ["a", "b"]})
    frame.write_parquet(tmp_path / "dates.parquet")
    with pytest.raises(DataError, match="column 'when' holds dates or times: turn them into numbers, or leave it out"):
        load_table(tmp_path / "dates.parquet", target="when")
    assert load_table(tmp_path / "dates.parquet", drop=["when"]).spec.features == ("x",)
    pl.DataFrame({"v": [[1, 2], [3]], "y": ["a", "b"]}).write_parquet(tmp_path / "lists.parquet")
    with pytest.raises(DataError, match=r"column 'v' holds values of type List\(Int64\): turn them into numbers"):
        load_table(tmp_path / "lists.parquet")
