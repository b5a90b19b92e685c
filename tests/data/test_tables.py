import math
import os
from dataclasses import replace

import polars as pl
import pytest
import torch

from lamina._errors import ArgumentError, DataError, DataWarning
from lamina.data.dataset import Spec
from lamina.data.preprocess import Preprocess
from lamina.data.series import load_series
from lamina.data.tables import load_table, read_rows

NAN = float("nan")


def same(rows, expected):
    """Compare rows exactly, NaN with NaN."""
    return torch.allclose(rows, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=0, equal_nan=True)


# What simply works

PETS = "weight,color,kind\n4.1,red,cat\n30,,dog\n5,blue,cat\n"
PET_ROWS = [[4.1, 1.0], [30.0, NAN], [5.0, 0.0]]


@pytest.mark.parametrize(
    "content",
    [
        PETS,
        PETS.replace(",", ";"),
        PETS.replace(",", "\t"),
        PETS.replace(",", "|"),
        "\ufeff" + PETS,
        PETS.replace("\n", "\r\n"),
        PETS.replace("\n", "\r"),
        PETS.rstrip("\n"),
        "\n" + PETS.replace("\n30", "\n\n30") + "\n\n",
        PETS.replace("30,,", "30,NA,"),
        PETS.replace("30,,", "30,nan,"),
        PETS.replace("30,,", "30, ? ,"),
        PETS.replace(",", " , "),
        PETS.replace("red", '"red"'),
        '"weight","color","kind"\n"4.1","red","cat"\n"30","","dog"\n"5","blue","cat"\n',
        PETS.replace("\n30", "\n  \n30"),
    ],
)
def test_the_same_table_in_many_spellings(write, content):
    data = load_table(write(content))
    assert same(data.inputs, PET_ROWS) and data.targets.tolist() == [0, 1, 0]
    assert data.spec.features == ("weight", "color") and data.spec.levels == ((), ("blue", "red"))
    assert data.spec.classes == ("cat", "dog") and data.spec.target == "kind" and data.spec.kind == "table"


@pytest.mark.parametrize("name", ["mit leerzeichen.csv", "größe.csv", "日本.tsv", "UPPER.CSV", "plain.txt"])
def test_any_path(write, name):
    content = PETS.replace(",", "\t") if name.endswith("tsv") else PETS
    path = write(content, name)
    assert len(load_table(path)) == 3 and load_table(str(path)).spec.source == str(path)


def test_parquet(tmp_path):
    frame = pl.DataFrame(
        {
            "x": [1.5, None, float("nan")],
            "n": [1, 2, 3],
            "flag": [True, None, False],
            "name": pl.Series(["b", "a", "b"], dtype=pl.Categorical),
            "y": ["no", "yes", "no"],
        }
    )
    frame.write_parquet(tmp_path / "t.parquet")
    data = load_table(tmp_path / "t.parquet")
    assert same(data.inputs, [[1.5, 1, 1, 1], [NAN, 2, NAN, 0], [NAN, 3, 0, 1]])
    assert data.spec.levels == ((), (), ("false", "true"), ("a", "b")) and data.spec.classes == ("no", "yes")


# The target and the task


@pytest.mark.parametrize(
    ("values", "task", "classes"),
    [
        (["b", "a"] * 5, "classification", ("a", "b")),
        (["True", "False"] * 5, "classification", ("false", "true")),
        ([1, 2] * 5, "classification", ("1", "2")),
        ([10, 9] * 5, "classification", ("9", "10")),
        ([-1, 1] * 5, "classification", ("-1", "1")),
        ([1.0, 2.0] * 5, "regression", ()),
        (list(range(50)), "regression", ()),
        (list(range(3)), "regression", ()),
        (list(range(20)) * 2, "classification", tuple(map(str, range(20)))),
        (list(range(21)) * 2, "regression", ()),
    ],
)
def test_the_task_is_decided_by_the_values(write, values, task, classes):
    data = load_table(write("x,y\n" + "".join(f"{i}.5,{value}\n" for i, value in enumerate(values))))
    assert data.spec.task == task and data.spec.classes == classes
    if task == "classification":
        names = [str(value).lower() for value in values]
        assert [data.spec.classes[label] for label in data.targets.tolist()] == names
    else:
        assert data.targets.tolist() == [float(value) for value in values] and data.spec.outputs == 1


def test_the_task_may_be_given(write):
    path = write("x,y\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(6)))
    assert (
        load_table(path).spec.notes[1]
        == "The 2 different whole numbers of 'y' are taken for classes (task='regression' for the other)."
    )
    assert load_table(path, task="regression").targets.tolist() == [0, 1, 0, 1, 0, 1]
    halves = write("x,y\n" + "".join(f"{i}.5,{i % 2 + 0.5}\n" for i in range(6)), "halves.csv")
    assert load_table(halves, task="classification").spec.classes == ("0.5", "1.5")
    with pytest.raises(
        ArgumentError, match="`task` must be one of None, 'classification', 'multilabel', 'regression', got 'guess'"
    ):
        load_table(path, task="guess")


def test_groups_and_dropped_columns(write):
    path = write("patient,x,z,y\nb,1.5,0,p\na,2.5,0,q\nb,3.5,1,p\n")
    data = load_table(path, group="patient", drop=["z"])
    assert data.groups.tolist() == [1, 0, 1] and data.spec.features == ("x",)


def test_other_forms(write):
    german = write("größe;art\n1,5;a\n2,25;b\n-3,5;a\n;b\n")
    data = load_table(german, decimal=",")
    assert same(data.inputs, [[1.5], [2.25], [-3.5], [NAN]]) and data.spec.features == ("größe",)
    latin = write("größe,art\n1,süß\n2,sauer\n".encode("cp1252"), "latin.csv")
    assert load_table(latin, encoding="cp1252").spec.classes == ("sauer", "süß")
    assert load_table(latin).spec.classes == ("sauer", "süß")
    wide = write(PETS.encode("utf-16"), "wide.csv")
    assert same(load_table(wide, encoding="utf-16").inputs, PET_ROWS) and same(load_table(wide).inputs, PET_ROWS)
    spaces = write("x y\n1 a\n2 b\n", "spaces.txt")
    assert load_table(spaces, delimiter=" ").inputs.tolist() == [[1], [2]]
    bare = write("1.5,2\n2.5,3\n3.5,2\n2,3\n", "bare.csv")
    data = load_table(bare, header=False)
    assert data.spec.features == ("column 1",) and len(data) == 4
    assert load_table(bare, header=True).spec.features == ("1.5",)


# What gets a sentence


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "is empty: a table needs a line of column names and rows"),
        (" \n\n", {}, "is empty"),
        ("\ufeff", {}, "is empty"),
        ("x,y\n", {}, r"has too few rows \(0\): at least 2 are needed"),
        (
            "x,y\n1,2\n",
            {},
            r"has too few rows \(1\): at least 2 are needed to load and 6 to split",
        ),
        ("x,y\n1,2\n3,4,5\n", {}, "has 3 cells in line 3 but 2 in the first: correct that line"),
        ("x,y\n1,2\n3\n", {}, "has 1 cells in line 3 but 2 in the first"),
        ('x,y\n"a",2\n3\n', {}, "has 1 cells in line 3 but 2 in the first"),
        ("x,y,\n1,2\n", {}, "has 2 cells in line 2 but 3 in the first"),
        (
            "x y\n1 2\n3 4\n",
            {},
            "has one column only when its cells are separated by comma, semicolon, tab or bar: name",
        ),
        ("x,y\n1,2\n3,4\n", {"delimiter": ";"}, "has one column only when its cells are separated by ';'"),
        ("x,y\n1,2\n3,4\n", {"delimiter": ";;"}, "`delimiter` must be one character, got ';;'"),
        ("x,price\n1,2\n3,4\n", {"target": "prize"}, "has no column 'prize' for `target`, did you mean 'price'"),
        ("x,price\n1,2\n3,4\n", {"target": "qqq"}, "has no column 'qqq' for `target`: it has the columns 'x', 'price'"),
        ("x,price\n1,2\n3,4\n", {"drop": ["z"]}, "has no column 'z' for `drop`"),
        ("x,price\n1,2\n3,4\n", {"group": "z"}, "has no column 'z' for `group`"),
        ("x,y\n1,a\ninf,b\n", {}, "column 'x' holds infinity in row 2: correct it or leave it empty"),
        ("x,y\n1,a\n1e999,b\n", {}, "column 'x' holds infinity in row 2"),
        ("x,y\n1,2.5\n2,-inf\n", {}, "column 'y' holds infinity in row 2"),
        ("x,y\n1,a\n2,\n3,nan\n", {}, "the target 'y' is missing in 2 of 3 rows: at least 2 rows must have it"),
        ("x,t,y\n1,,a\n2,,b\n", {"time": "t"}, "the time 't' is missing in 2 of 2 rows: at least 2 rows must have it"),
        ("x,y\n1,a\n2,a\n", {}, "the target 'y' is 'a' in every row: it needs at least 2 different values"),
        ("x,y\n1,2.5\n2,2.5\n", {}, "the target 'y' is '2.5' in every row"),
        ("größe,y\nä,2\n".encode() + b"\xf6,3\n", {}, r"is not UTF-8 \(byte 0xf6 in line 3\): .* encoding='cp1252'"),
        (
            PETS.encode("utf-16-le"),
            {},
            "holds zero bytes, so it is not text, or it has another encoding: try encoding='utf-16'",
        ),
        (
            PETS.encode(),
            {"encoding": "klingon"},
            "`encoding` must be one that Python knows, such as 'cp1252', got 'klingon'",
        ),
        (
            "größe,y\n1,2\n".encode(),
            {"encoding": "ascii"},
            r"is not ASCII \(byte 0xc3 in line 1\): .* encoding='utf-8'",
        ),
        ("x,x,y\n1,2,3\n4,5,6\n", {}, "has more than one column named 'x': give every column its own name"),
        ("1,2,3\n4,5,6\n7,8,9\n", {}, r"begins with numbers \(1, 2, 3\) where names of columns are expected"),
        ("1,2,3,4,5\n4,5,6,7,8\n", {}, r"begins with numbers \(1, 2, 3, 4, \.\.\.\)"),
        ("x;y\n1,2,5;a\n2,5,6;b\n", {}, "column 'x' holds numbers with a comma, such as '1,2,5': give decimal=','"),
        ("x,t,y\n1,k,a\n2,l,b\n", {"time": "t"}, "column 't' holds neither dates nor numbers, such as 'k': choose"),
        ("x,g,y\n1,1,a\n2,2,b\n", {"time": "x", "group": "g"}, "`time` and `group` cannot both decide how to split"),
        ("x,y\n1,a\n2,b\n", {"keep": ["z"]}, "has no column 'z' for `keep`"),
        ("x,y\n1,a\n2,b\n", {"time": "z"}, "has no column 'z' for `time`"),
        (
            "id,z,c,y\n1,,7,a\n2,,7,b\n",
            {},
            "has no column to learn from besides the target 'y'. Column 'id' is left out: it only numbers the rows. "
            "Column 'z' is left out: it is empty. Column 'c' is left out: it is '7' in every row. Insist with `keep`.",
        ),
        ("y\n1\n2\n", {}, "has one column only"),
        ("x,y\n1,a\n2,b\n", {"drop": ["x"]}, "has no column to learn from besides the target 'y'"),
        ("x,y\n1,a\n2,b\n", {"drop": ["x"], "group": "y"}, "has no column left after `drop`, `group` and `weight`"),
        ("x,y\n1,a\n2,b\n3,c\n4,d\n5,e\n", {}, "the target 'y' has 5 different values in 5 rows, too many for classes"),
        (
            "x,y\n1,a\n2,b\n",
            {"task": "regression"},
            "the target 'y' holds text, such as 'a', and cannot be a target of regression",
        ),
        ('x,y\n1,"open\n2,b\n', {}, "has a cell that begins with a quote and does not end with one, in line 3"),
        ('x,y\n1,"a"b\n2,b\n', {}, "has a cell that begins with a quote and does not end with one, in line 2"),
        ("g,x,y\na,1,p\n,2,q\n", {"group": "g"}, "the group 'g' is missing in 1 row: fill it in"),
        (b"PK\x03\x04rest", {}, "is an Excel or zip file, not text: save it as CSV"),
        (b"\x1f\x8brest", {}, "is a gzip file, not text"),
        (b"PAR1rest", {}, "is a Parquet file, not text: save it as CSV, or give it"),
    ],
)
def test_bad_tables(write, content, options, message):
    with pytest.raises(DataError, match=message):
        load_table(write(content), **options)


def test_bad_decimal(write):
    with pytest.raises(ArgumentError, match=r"`decimal` must be one of '\.', ',', got '_'"):
        load_table(write(PETS), decimal="_")


@pytest.mark.posix
def test_paths_that_are_no_files(tmp_path, write):
    with pytest.raises(DataError, match=r"nothing.csv` does not exist: check the path"):
        load_table(tmp_path / "nothing.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match=r"folder.csv` is a folder: give a table \(.csv, .tsv"):
        load_table(tmp_path / "folder.csv")
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    with pytest.raises(DataError, match=r"loop.csv` cannot be read \(Too many levels of symbolic links\)"):
        load_table(loop)
    if hasattr(os, "geteuid") and os.geteuid():
        path = write(PETS)
        path.chmod(0)
        with pytest.raises(DataError, match=r"cannot be read \(Permission denied\)"):
            load_table(path)


# New rows


@pytest.fixture
def spec():
    return Spec(
        "table", "classification", (3,), 2, features=("x", "color", "code"), levels=((), ("blue", "red"), ("1", "2a"))
    )


def test_new_rows_by_name(write, spec):
    rows = read_rows(write("code;extra;color;x\n1;9;red;0.5\n1;9;;\n"), spec)
    assert same(rows, [[0.5, 1, 0], [NAN, NAN, 0]]) and rows.dtype == torch.float64
    assert same(read_rows(write("x,color,code\n7,blue,2a\n"), spec), [[7, 0, 1]])


def test_new_rows_from_parquet(tmp_path, spec):
    pl.DataFrame({"code": [1], "x": [2], "color": ["red"]}).write_parquet(tmp_path / "new.parquet")
    assert read_rows(tmp_path / "new.parquet", spec).tolist() == [[2, 1, 0]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "x,colour,code\n1,red,1\n",
            "lacks the column 'color' of the training data, did you mean 'colour'.*: it has the columns",
        ),
        ("a,b\n1,2\n", "lacks the columns 'x', 'color', 'code' of the training data: it has the columns 'a', 'b'"),
        ("x,color,code\n1,red,1\ntall,red,1\n", "column 'x' must hold numbers as in training, got 'tall' in row 2"),
        ("x,color,code\nhigh,red,1\n", "column 'x' must hold numbers as in training, got 'high' in row 1: correct it"),
        ("x,color,code\ninf,red,1\n", "column 'x' holds infinity in row 1"),
        ("x,color,code\n", "has no rows: there is nothing to predict"),
    ],
)
def test_bad_new_rows(write, spec, content, message):
    with pytest.raises(DataError, match=message):
        read_rows(write(content), spec)


def test_new_rows_with_categories_that_training_did_not_have(write, spec):
    path = write("x,color,code\n1,green,3\n2,,1\n")
    assert same(read_rows(path, spec), [[1, -1, -1], [2, NAN, 0]])
    message = r"column 'color' holds 'green', which is not in the training data \(known values are 'blue', 'red'\)"
    with pytest.raises(DataError, match=message + ": correct the value or leave it empty"):
        read_rows(path, replace(spec, unknown="error"))


def test_a_few_words_among_new_numbers_are_missing(write, spec):
    path = write("x,color,code\n" + "1,red,1\n" * 9 + "tall,red,1\n")
    with pytest.warns(DataWarning, match="1 of 10 values in column 'x' cannot be read as a number, such as 'tall'"):
        rows = read_rows(path, spec)
    assert same(rows[8:], [[1, 1, 0], [NAN, 1, 0]])


def test_from_file_to_prediction(write):
    rows = "".join(f"{i * 0.1:.1f},{'rgb'[i % 3]},{i * 2.5}\n" for i in range(60))
    data = load_table(write("x,color,y\n" + rows))
    split = data.split()
    prepare = Preprocess.fit(split.train)
    assert data.spec.task == "regression" and prepare.names == ("x", "color=b", "color=g", "color=r")
    new = prepare.apply(read_rows(write("color,x\ng,0.1\n", "new.csv"), prepare.spec))
    assert new[0, 1:].tolist() == [0, 1, 0] and math.isclose(
        new[0, 0], (0.1 - prepare.mean[0]) / prepare.std[0], abs_tol=1e-6
    )


def test_a_file_of_one_column_is_enough_where_one_is_needed(write):
    spec = load_table(write("size;price\n1,5;3\n2,5;4\n3,5;6\n")).spec
    for content, rows in (("size\n1,5\n2\n", [[1.5], [2.0]]), ("size\n7\n", [[7.0]])):
        assert read_rows(write(content, "new.csv"), spec).tolist() == rows
    with pytest.raises(DataError, match="lacks the column 'size' of the training data: it has the column 'weight'"):
        read_rows(write("weight\n7\n", "other.csv"), spec)
    series = load_series(write("y\n" + "".join(f"{i}.5\n" for i in range(40)), "series.csv"), window=4)
    assert series.spec.features == ("y",) and series.values.flatten().tolist()[:2] == [0.5, 1.5]
