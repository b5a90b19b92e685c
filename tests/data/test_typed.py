"""Excel, JSON and Parquet files."""

import datetime
import gzip
import json
import logging

import openpyxl
import polars as pl
import pytest

from lamina._errors import DataError, DataWarning
from lamina.data.cells import Format, read_cells
from lamina.data.load import load
from lamina.data.tables import load_table, read_rows

ROWS = [{"size": 1, "price": "1.234,50 €", "color": "red", "y": 0}, {"size": 2.5, "price": "7,00 €", "y": 1}]
EXPECTED = [(1.0, "1234.50", "red", 0), (2.5, "7.00", None, 1)]


@pytest.fixture
def workbook(tmp_path):
    """Write an Excel file with the given sheets, lists of rows."""

    def write(name="book.xlsx", **sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / name)
        return tmp_path / name

    return write


DATA = [["size", "price", None, "when", "kind"]] + [
    [i, f"{i}.200,50 €", None, datetime.datetime(2024, 1, i), "ab"[i % 2]] for i in range(1, 5)
]


def test_a_sheet_is_read_with_its_types(workbook, capfd):
    rows = [*DATA[:3], [None] * 5, *DATA[3:]]
    cells = read_cells(workbook(Notes=[], Data=rows), Format())
    frame = cells.frame.drop("column 3", strict=False)
    assert frame.columns == ["size", "price", "when", "kind"] and cells.notes == (
        "The comma is the decimal mark in the column 'price'.",
    )
    assert frame["size"].to_list() == [1, 2, 3, 4] and frame["size"].dtype == pl.Int64
    assert frame["price"].to_list() == ["1200.50", "2200.50", "3200.50", "4200.50"]
    assert frame["when"].dtype.is_temporal() and frame["kind"].to_list() == ["b", "a", "b", "a"]
    assert dict(cells.reading) == {"sheet": "Data", "decimal": ","}
    assert capfd.readouterr() == ("", "") and logging.getLogger("fastexcel").level == logging.NOTSET


def test_which_sheet(workbook):
    first = [["x", "y"], [1, 2.5], [3, 4.5]]
    second = [["x", "y"], [5, 6.5], [7, 8.5]]
    path = workbook(One=first, Two=second, Empty=[])
    with pytest.warns(DataWarning, match=r"book.xlsx`: The sheet 'One' is read; 'Two' holds data too \(see `sheet`\)"):
        cells = read_cells(path, Format())
    assert cells.frame["x"].to_list() == [1, 3]
    assert cells.notes == ("The sheet 'One' is read; 'Two' holds data too (see `sheet`).",)
    for sheet in ("Two", 2, "2"):
        said = read_cells(path, Format(sheet=sheet))
        assert said.frame["x"].to_list() == [5, 7] and dict(said.reading)["sheet"] == "Two" and not said.notes
    data = load_table(path, sheet="Two")
    assert read_rows(path, data.spec).tolist() == [[5], [7]]
    assert read_rows(workbook("other.xlsx", New=[["x"], [9]]), data.spec).tolist() == [[9]]
    with pytest.raises(DataError, match=r"book.xlsx` has no sheet 'Three': it has 'One', 'Two', 'Empty'"):
        load_table(path, sheet="Three")
    with pytest.raises(DataError, match=r"has no sheet 4: it has 'One', 'Two', 'Empty'"):
        load_table(path, sheet=4)
    with pytest.raises(DataError, match=r"empty.xlsx` has no sheet with rows: a table needs"):
        load_table(workbook("empty.xlsx", A=[], B=[["x", "y"]]))


def test_a_title_page_is_not_the_table(workbook):
    path = workbook(Title=[["Sales 2024"], ["Confidential"]], Data=[["x", "y"], [1, 2.5], [3, 4.5]])
    with pytest.warns(DataWarning, match=r"The sheet 'Data' is read; 'Title' holds data too \(see `sheet`\)"):
        assert load_table(path).inputs.tolist() == [[1], [3]]
    assert read_cells(path, Format(sheet="Title")).frame.rows() == [("Confidential",)]


def test_names_that_a_sheet_lacks(workbook):
    path = workbook(A=[["x", None], [1, 2], [3, 4]])
    assert read_cells(path, Format()).frame.columns == ["x", "column 2"]


@pytest.mark.parametrize(
    "content",
    [
        "\n".join(map(json.dumps, ROWS)),
        "\n\n".join(map(json.dumps, ROWS)) + "\n",
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        json.dumps({name: [row.get(name) for row in ROWS] for name in ROWS[0]}),
        "\ufeff" + json.dumps(ROWS),
    ],
)
@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.ndjson", "t.JSON"])
def test_json(write, content, name):
    assert read_cells(write(content, name), Format()).frame.rows() == EXPECTED
    assert load(write(content, name)).spec.features == ("size", "price", "color")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.jsonl", '{"a": 1}\n\n{"a": \n', r"t.jsonl` has no valid JSON in line 3 \(.*\): correct that line"),
        ("t.json", "[1, 2]", "t.json` holds no table: give one object per line, such as .* or a list of them"),
        ("t.json", "7", "holds no table"),
        ("t.json", "[]", "holds no table"),
        ("t.json", '{"a": [1, 2], "b": [1]}', "t.json` has 2 values in column 'a' but 1 in 'b': all columns need one"),
        ("t.jsonl", " \n", "is empty: a table needs"),
        ("t.xlsx", "x,y\n1,2\n", "t.xlsx` is not a readable Excel file: save it again, or as CSV"),
        ("t.xls", b"PK\x03\x04rest", "t.xls` is not a readable Excel file"),
        ("t.parquet", "x,y\n1,2\n", "t.parquet` is not a readable Parquet file( \\(.*\\))?: write it again"),
        ("t.csv.gz", "x,y\n1,2\n", "t.csv.gz` is not a readable gzip file: write it again"),
        ("t.csv.gz", gzip.compress(b"x,y\n1,2\n", mtime=0)[:-9], "t.csv.gz` is not a readable gzip file"),
    ],
)
def test_damaged_files(write, name, content, message):
    with pytest.raises(DataError, match=message):
        load_table(write(content, name))


def test_packed_files(write):
    packed = load(write(gzip.compress(b"x;y\n1,5;a\n2,5;b\n", mtime=0), "t.csv.gz"))
    assert packed.inputs.tolist() == [[1.5], [2.5]]
    lines = write(gzip.compress("\n".join(map(json.dumps, ROWS)).encode()), "t.jsonl.gz")
    assert read_cells(lines, Format()).frame.rows() == EXPECTED
    assert load(write(gzip.compress(b"x,y\n1,a\n2,b\n", mtime=0), "bare.gz")).inputs.tolist() == [[1], [2]]
