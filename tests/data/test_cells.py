import csv
import datetime
import gzip

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import DataError, DataWarning
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
    with pytest.raises(DataError, match=r"t.parquet` is not a readable Parquet file \(.*\): write it again"):
        load_table(write("x,y\n1,2\n", "t.parquet"))
    frame = pl.DataFrame({"when": [datetime.date(2020, 1, 1)] * 2, "x": [1.0, 2.0], "y": ["a", "b"]})
    frame.write_parquet(tmp_path / "dates.parquet")
    with pytest.raises(DataError, match="column 'when' holds dates or times: turn them into numbers, or leave it out"):
        load_table(tmp_path / "dates.parquet", target="when")
    assert load_table(tmp_path / "dates.parquet", drop=["when"]).spec.features == ("x",)
    pl.DataFrame({"v": [[1, 2], [3]], "y": ["a", "b"]}).write_parquet(tmp_path / "lists.parquet")
    with pytest.raises(DataError, match=r"column 'v' holds values of type List\(Int64\): turn them into numbers"):
        load_table(tmp_path / "lists.parquet")


NUMBERS = st.floats(-1e6, 1e6).map(lambda x: round(x, 4)) | st.integers(-(10**6), 10**6)
_WORDS = st.text("abcÄöß€,;|\t'\" -", min_size=1, max_size=8).map(lambda word: f"x{word}y")
WORDS = _WORDS.filter(lambda word: "Ä€" not in word and "ß€" not in word)  # in cp1252 these are letters of UTF-8


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


def test_bytes_tell_their_encoding(write):
    content = "größe;art\n1;süß\n2;…\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"):
        found = read_cells(write(content.encode(encoding)), Format())
        assert found.frame.rows() == [("1", "süß"), ("2", "…")] and found.frame.columns == ["größe", "art"]
        assert dict(found.reading)["encoding"] == encoding.removesuffix("-sig")
        guessed = ("The file is not UTF-8; it is read as cp1252 (give `encoding` if letters look wrong).",)
        assert found.notes == (guessed if encoding == "cp1252" else ())
    assert cells.encoding_of(b"\x81\xe4") == "latin-1"  # cp1252 has no letter 0x81
    assert cells.encoding_of(b"\xe4", "cp1250") == "cp1250" and cells.encoding_of("ä".encode(), "cp1250") == "utf-8"
    assert cells.encoding_of(b"a\0", "utf-16-le") == "utf-16-le"
    assert "The file is" not in str(read_cells(write(content.encode("cp1252")), Format(encoding="cp1252")).notes)


@pytest.mark.parametrize(
    ("content", "options", "rows"),
    [
        ("'a','b'\n'1,5','it''s'\n", {}, [("1.5", "it's")]),
        ("a,b\n'x, y',1\n'z',2\n", {}, [("x, y", "1"), ("z", "2")]),
        ("a,b\nit's,'t\n1,2\n", {}, [("it's", "'t"), ("1", "2")]),
        ("a,b\n\"x\",1\n'y',2\n", {}, [("x", "1"), ("'y'", "2")]),
        ('a,b\n"x",1\n', {"quote": ""}, [('"x"', "1")]),
        ("a,b\n$x,y$,1\n", {"quote": "$"}, [("x,y", "1")]),
        ('a,b\n"say \\"hi\\", you",1\n', {}, [('say "hi", you', "1")]),
        ('a,b\n"C:\\dir\\",1\n"D:\\",2\n', {}, [("C:\\dir\\", "1"), ("D:\\", "2")]),
        ("a,b\n" + "x,1\n" * 40 + '"say \\"hi\\"",2\n', {}, [("x", "1")] * 40 + [('say "hi"', "2")]),
        ("a,b,\n1,2,\n3,4,\n", {}, [("1", "2"), ("3", "4")]),
        ("a;b\n1;2;\n3;4;\n", {}, [("1", "2"), ("3", "4")]),
        ('a;b\n"1";2;\n\n3;4;\n', {}, [("1", "2"), ("3", "4")]),
        ('"a\nb";c\n1;2;\n', {}, [("1", "2")]),
        ("a;b;\n1;2;3\n", {}, [("1", "2", "3")]),
        ("1;2;\n3;4;\n", {"header": False}, [("1", "2"), ("3", "4")]),
    ],
)
def test_quotes_and_delimiters_at_the_end(write, content, options, rows):
    assert read_cells(write(content), Format(**options)).frame.rows() == rows


def test_more_cells_than_names(write):
    with pytest.raises(DataError, match="has 3 cells in line 2 but 2 in the first: correct that line"):
        read_cells(write("a,b\n1,2,3\n4,5,6\n"), Format())
    with pytest.raises(DataError, match="`quote` must be one character, got '--'"):
        Format(quote="--")
    with pytest.raises(DataError, match="a table must be a path, a DataFrame or a list of rows, got int"):
        read_cells(7, Format())


def test_the_next_file_is_read_as_the_first(write):
    first = read_cells(
        write("a b\n1,5 x\n2,5 y\n".encode("cp1250")), Format(delimiter=" ", header=True, encoding="cp1250")
    )
    assert first.reading == (("delimiter", " "), ("encoding", "cp1250"), ("header", True), ("decimal", ","))
    before = Format(before=first.reading)
    again = read_cells(write("a b\n1,234 ł\n".encode("cp1250")), before)
    assert again.frame.rows() == [("1.234", "ł")] and "it is read as 1.234" in again.notes[1]
    other = read_cells(write("a,b\n1.25,ł\n"), before)  # another delimiter, decimal mark and encoding
    assert other.frame.rows() == [("1.25", "ł")]
    assert dict(other.reading) == {"delimiter": ",", "encoding": "utf-8", "header": True, "decimal": "."}
    bare = read_cells(write("7,8\n1,2\n"), Format(before=(("header", False),)))
    assert bare.frame.columns == ["column 1", "column 2"] and bare.frame.height == 2
    quoted = Format(before=(("quote", "'"),))
    assert read_cells(write("a,b\n'x,z',\"\n"), quoted).frame.rows() == [("x,z", '"')]
    assert read_cells(write('a,b\n"x,z",1\n'), quoted).frame.rows() == [("x,z", "1")]


def test_doubtful_numbers_are_warned_of(write):
    with pytest.warns(DataWarning, match=r"t.csv`: '1,234' in column 'x' could mean 1234 or 1.234: it is read as 1234"):
        found = read_cells(write('x,y\n"1,234",a\n', "t.csv"), Format())
    assert found.frame.rows() == [("1234", "a")] and len(found.notes) == 1


def test_letters_are_written_in_one_way(write):
    """An e with an accent is one letter or two: such columns were two, such classes looked alike."""
    rows = "".join(f"{i},{word},{word}\n" for i, word in enumerate(["caf\u00e9", "cafe\u0301", "b", "b"] * 3))
    found = read_cells(write(f"x,gr\u0061\u0308ser,y\n{rows}"), Format()).frame
    assert found.columns == ["x", "gr\u00e4ser", "y"]
    assert set(found["y"]) == {"caf\u00e9", "b"} == set(found["gr\u00e4ser"])
    with pytest.raises(DataError, match="has more than one column named '\u00e9': give every column its own name"):
        read_cells(write(f"\u00e9,e\u0301,y\n{rows}"), Format())


@pytest.mark.parametrize("ending", [".csv.gz", ".gz"])
def test_a_packed_table_that_is_a_bomb(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(cells, "_BOMB", 100_000)
    path = tmp_path / f"bomb{ending}"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100_000))
    with pytest.raises(DataError, match="unpacks to more than 100,000 bytes, as a decompression bomb does: unpack it"):
        read_cells(path, Format())
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 20_000))
    assert read_cells(path, Format()).frame.height == 20_000
