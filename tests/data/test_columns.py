import json
import warnings

import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import DataError, DataWarning
from lamina.data import _columns as columns
from lamina.data._columns import plain_columns, read_column, read_features
from lamina.data.preprocess import Preprocess
from lamina.data.tables import load_table
from lamina.data.text.files import load_text


def test_categories_numbers_and_truth_values(write):
    data = load_table(write("code,flag,x,y\n1,True,1e3,a\n2,false,-.5,b\n3a,,+4,a\n"))
    assert data.spec.levels == (("1", "2", "3a"), ("false", "true"), ())
    rows = torch.tensor([[0, 1, 1000], [1, 0, -0.5], [2, torch.nan, 4]], dtype=torch.float64)
    assert torch.equal(data.inputs.nan_to_num(-9), rows.nan_to_num(-9))


@pytest.mark.parametrize(
    ("header", "target", "chosen", "said"),
    [
        ("a,b,c", None, "c", "The target is the last column, 'c'."),
        ("a,Class,c", None, "Class", "The target is the column 'Class', by its name."),
        ("label,target,c", None, "target", "The target is the column 'target', by its name."),
        ("a,b,label", "a", "a", None),
    ],
)
def test_the_target(write, header, target, chosen, said):
    data = load_table(write(header + "\n1.5,2.5,3.5\n4.5,5.5,6.5\n"), target)
    assert data.spec.target == chosen and chosen not in data.spec.features and data.spec.task == "regression"
    assert data.spec.notes == (() if said is None else (said,))


def test_columns_that_only_name_rows_are_left_out(write):
    rows = "".join(f"{i},n{i},{i * 0.5},{'ab'[i % 2]}\n" for i in range(12))
    with pytest.warns(DataWarning) as record:
        data = load_table(write("id,name,x,y\n" + rows))
    assert data.spec.features == ("x",)
    texts = [str(warning.message) for warning in record]
    assert any("Column 'id' is left out: it only numbers the rows" in text for text in texts)
    assert any("Column 'name' is left out: it has a different text in every row" in text for text in texts)
    assert data.spec.notes[-2].startswith("Column 'name' is left out")
    with pytest.warns(DataWarning, match="Column 'column 1' is left out"):
        load_table(write(",name,x,y\n" + rows.replace("n", "m"), "pandas.csv"), drop=["name"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_table(write("year,name,x,y\n" + rows, "year.csv"), drop=["name"]).spec.features == ("year", "x")


def told(path, **options):
    """Load a table that gives one warning; return it and the warning without the name of the file."""
    with pytest.warns(DataWarning) as record:
        data = load_table(path, **options)
    (warning,) = record
    return data, str(warning.message).split("`: ", 1)[1]


def rows_of(count, *columns):
    """Write rows whose cells are functions of the row's number."""
    return "".join(",".join(str(column(i)) for column in columns) + "\n" for i in range(count))


def half(i):
    return i / 2 + 0.25


def test_a_category_with_very_many_values_is_one(write):
    data = load_table(write("x,y\n" + rows_of(3000, lambda i: f"w{i % 1500:04}", lambda i: i % 2)))
    assert len(data.spec.levels[0]) == 1500 and data.inputs[1502].item() == 2


TEXT = " (kind='text' learns from texts)"
LEFT_OUT = {
    "all empty": (lambda i: "", "it is empty"),
    "one number": (lambda i: 7.5, "it is '7.5' in every row"),
    "one text": (lambda i: "yes", "it is 'yes' in every row"),
    "one day": (lambda i: "2024-05-17", "it is '2024-05-17' in every row"),
    "Name": (lambda i: f"Mr. N{i}", "it has a different text in every row, like a name"),
    "Name with gaps": (lambda i: f"Mr. N{i}" if i % 3 else "", "it has a different text in every row, like a name"),
    "Ref": (lambda i: f"K{max(i, 1)}", "nearly all of its texts are different (39 of 40), like names"),
    "review": (
        lambda i: f"so this is what I saw {i}",
        "it holds free texts of 7 words on average" + TEXT,
    ),
    "index": (lambda i: 40 - i, "it only numbers the rows"),
    "PassengerId": (lambda i: 17 * i % 997, "it is named and numbered like an identifier"),
    "order no": (lambda i: 5000 + 3 * i, "it is named and numbered like an identifier"),
    "Kundennummer": (lambda i: 5000 + 3 * i, "it is named and numbered like an identifier"),
    "id_customer": (lambda i: 5000 + 3 * i if i else "", "it is named and numbered like an identifier"),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_column_from_which_nothing_can_be_learned_is_left_out_unless_it_is_kept(write, name):
    cell, reason = LEFT_OUT[name]
    path = write(f"{name},x,y\n" + rows_of(40, cell, half, lambda i: "ab"[i % 2]))
    data, warning = told(path)
    sentence = f"Column {name!r} is left out: {reason}."
    assert data.spec.features == ("x",) and data.spec.notes[-2:] == (sentence, "Insist with `keep`.")
    assert warning == f"{sentence} Insist with `keep`."
    assert load_table(path, keep=name).spec.features == (name, "x") == load_table(path, keep=[name]).spec.features
    assert load_table(path, drop=name).spec.features == ("x",)


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("inhabitants", lambda i: 1000 + 7 * i),  # whole and all different, but nothing says identifier
        ("number_of_rooms", lambda i: 3 * i),
        ("year", lambda i: 1980 + i),
        ("id", lambda i: i % 30),  # not all different
        ("customer id", lambda i: i + 0.5),  # not whole
        ("flag", lambda i: "yes" if i % 3 else ""),  # whether there is a value is worth something
        ("shop", lambda i: f"s{i % 30}"),
        ("phrase", lambda i: "is it as good as it gets" if i % 2 else "no it is not as good as it gets"),
    ],
)
def test_what_may_be_a_measurement_stays(write, name, cell):
    path = write(f"{name},x,y\n" + rows_of(40, cell, half, lambda i: "ab"[i % 2]))
    assert load_table(path).spec.features == (name, "x")


def test_one_warning_for_all_that_was_noticed(write):
    cells = (
        lambda i: i + 1,
        lambda i: f"n{i}",
        lambda i: "oops" if i == 7 else half(i),
        lambda i: "" if i < 2 else i % 2,
    )
    data, warning = told(write("id,name,x,y\n" + rows_of(42, *cells)), task="classification")
    said = (
        "2 rows without the target 'y' are left out.",
        "1 of 40 values in column 'x' cannot be read as a number, such as 'oops', and counts as missing.",
        "Column 'id' is left out: it only numbers the rows.",
        "Column 'name' is left out: it has a different text in every row, like a name.",
    )
    assert warning == " ".join(data.spec.notes[-5:]) and data.spec.notes[-5:] == (*said, "Insist with `keep`.")
    assert len(data) == 40 and data.inputs[5].isnan().item() and data.inputs[4].item() == half(6)


def test_more_than_a_few_words_make_categories(write):
    words = lambda i: "many" if i % 8 == 0 else i  # noqa: E731
    data = load_table(write("x,z,y\n" + rows_of(80, words, half, lambda i: "ab"[i % 2])), drop="z", keep="x")
    assert len(data.spec.levels[0]) == 71


def test_words_in_the_target_leave_their_rows_out(write):
    data, warning = told(write("x,y\n" + rows_of(50, half, lambda i: "soon" if i % 20 == 0 else 3 * i + 0.5)))
    assert len(data) == 47 and data.targets[0].item() == 3.5 and data.spec.task == "regression"
    assert warning == (
        "3 of 50 values in column 'y' cannot be read as a number, such as 'soon', and count as missing. "
        "3 rows without the target 'y' are left out."
    )


def test_a_third_of_the_values_may_be_missing(write):
    gaps = lambda i: "" if i % 3 == 0 else half(i)  # noqa: E731
    colors = lambda i: "" if i % 3 == 1 else "rg"[i % 2]  # noqa: E731
    data = load_table(write("x,color,y\n" + rows_of(60, gaps, colors, lambda i: i % 2)))
    assert data.inputs.isnan().sum(0).tolist() == [20, 20]
    prepare = Preprocess.fit(data)
    assert prepare.names == ("x", "color=g", "color=r", "x missing", "color missing")
    rows = prepare.apply(data.inputs)
    assert rows[0].tolist() == [0, 0, 1, 1, 0] and rows[1, 1:].tolist() == [0, 0, 0, 1]


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(24)))
def test_the_order_of_rows_decides_nothing(order):
    frame = pl.DataFrame(
        {
            "id": [str(i + 1) for i in range(24)],
            "name": [f"n{i}" for i in range(24)],
            "day": ["soon" if i == 5 else f"{i % 5 + 1}/{i % 12 + 1}/2024" for i in range(24)],
            "x": ["none" if i == 3 else str(i) for i in range(24)],
            "color": [None if i == 4 else "rgb"[i % 3] for i in range(24)],
        }
    )
    frames = frame, frame[list(order)]
    (straight, said), (mixed, said_again) = (read_features(rows, frame.columns, "`t`") for rows in frames)
    assert said == said_again and [column.name for column in straight] == ["day", "x", "color"]
    for one, other in zip(straight, mixed, strict=True):
        assert (one.levels, one.date, one.note, one.whole) == (other.levels, other.date, other.note, other.whole)
        assert torch.equal(one.values[list(order)].nan_to_num(-7), other.values.nan_to_num(-7))


# Several targets


def zipped(*columns):
    return "".join(",".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))


X = [0.5 * i * i for i in range(8)]
RAIN, SNOW = [0, 1, 1, 0, 1, 0, 0, 1], [1, 0, 1, 0, 0, 0, 1, 1]


@pytest.mark.parametrize("target", (["rain", "snow, wet"], 'rain,"snow, wet"', 'rain, "snow, wet"'))
def test_columns_of_0_and_1_are_labels(write, target):
    path = write('x,rain,"snow, wet"\n' + zipped(X, RAIN, SNOW))
    data = load_table(path, target)
    assert (data.spec.task, data.spec.outputs, data.spec.classes) == ("multilabel", 2, ("rain", "snow, wet"))
    assert data.spec.target == "rain, snow, wet" and data.spec.features == ("x",)
    assert data.targets.dtype == torch.float32 and data.targets.T.tolist() == [RAIN, SNOW]
    assert load_table(path, "snow, wet").spec.task == "classification"  # a name goes before a list


def test_words_for_yes_and_no_are_labels_too(write):
    words = [["no", "yes"][i] for i in RAIN], [["False", "TRUE"][i] for i in SNOW]
    data = load_table(write("x,a,b\n" + zipped(X, *words)), ["b", "a"])
    assert data.spec.classes == ("b", "a") and data.targets.T.tolist() == [SNOW, RAIN]


def test_columns_of_numbers_are_several_outputs(write):
    path = write("x,a,b\n" + zipped(X, [i + 0.5 for i in range(8)], RAIN))
    data = load_table(path, "a,b")
    assert (data.spec.task, data.spec.outputs, data.spec.target) == ("regression", 2, "a, b")
    assert data.targets.tolist() == [[i + 0.5, rain] for i, rain in enumerate(RAIN)]
    zeros = load_table(write("x,a,b\n" + zipped(X, SNOW, RAIN), "zeros.csv"), "a,b", task="regression")
    assert zeros.spec.task == "regression" and zeros.targets.T.tolist() == [SNOW, RAIN]


@pytest.mark.parametrize(
    ("columns", "target", "options", "message"),
    [
        (
            (RAIN, SNOW),
            "a,c",
            {},
            "has no column 'c' for `target`.*In a list, a name that holds a comma is put in double",
        ),
        ((RAIN, SNOW), "a,a", {}, "`target` must name each column once, got 'a,a'"),
        ((RAIN, SNOW), ",", {}, "`target` must name each column once, got ','"),
        (
            (RAIN, SNOW),
            "a,b",
            {"task": "classification"},
            "`task` 'classification' has one target, got the columns 'a'",
        ),
        ((RAIN, [1] * 8), "a,b", {}, "the target 'b' is '1' in every row: it needs at least 2 different values"),
        ((RAIN, [2, *SNOW[1:]]), "a,b", {"task": "multilabel"}, "the target 'b' holds '2', but labels are 0 or 1"),
        ((RAIN, list("yyzzyyzz")), "a,b", {"task": "multilabel"}, "the target 'b' holds 'y', but labels are 0 or 1"),
        ((RAIN, list("yyzzyyzz")), "a,b", {}, "the target 'b' holds text, such as 'y': several targets must all be"),
    ],
)
def test_targets_that_do_not_fit_together(write, columns, target, options, message):
    with pytest.raises(DataError, match=message):
        load_table(write("x,a,b\n" + zipped(X, *columns)), target, **options)


# Lists of labels

LISTS = ["rain;snow", "rain", "", "snow;rain", "wind", "rain;wind", "snow", "wind"]
HOT = [[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("cells", "how"),
    [
        (LISTS, "lists of 3 labels separated by ';'"),
        ([cell.replace(";", "|") for cell in LISTS], "lists of 3 labels separated by '|'"),
        ([f'"{cell.replace(";", ", ")}"' for cell in LISTS], "lists of 3 labels separated by ','"),
        (
            ['"' + json.dumps(cell.split(";") if cell else []).replace('"', '""') + '"' for cell in LISTS],
            "JSON lists of 3 labels",
        ),
    ],
)
def test_cells_of_several_words_are_lists_of_labels(write, cells, how):
    data = load_table(write("x,weather\n" + zipped(X, cells)))
    assert (data.spec.task, data.spec.classes) == ("multilabel", ("rain", "snow", "wind"))
    assert data.spec.target == "weather" and data.targets.tolist() == HOT
    way = "" if "JSON" in how else " (task='classification' makes each different list a class)"
    assert data.spec.notes[1:] == (
        f"The cells of 'weather' are read as {how}: rain, snow, wind{way}.",
        "1 row has none of them.",
    )


def test_a_column_of_lists_in_parquet(tmp_path):
    cells = [cell.split(";") if cell else [] for cell in LISTS]
    pl.DataFrame({"x": X, "y": [*cells[:2], None, *cells[3:]]}).write_parquet(tmp_path / "t.parquet")
    data = load_table(tmp_path / "t.parquet")
    assert data.targets.tolist() == HOT and data.spec.notes[1] == (
        "The cells of 'y' are read as lists of 3 labels: rain, snow, wind."
    )
    with pytest.raises(DataError, match="the target 'y' holds lists, which are no target of regression: leave `task`"):
        load_table(tmp_path / "t.parquet", task="regression")


@pytest.mark.parametrize(
    "cells",
    [
        ['"London, UK"', '"Paris, France"'] * 4,  # always two parts
        ['"Yes, often"', '"Yes, rarely"', "No", "No"] * 2,  # as many parts as cells
        ["rain;snow|wind", "rain", "snow", "rain"] * 2,  # two separators
        ["a;b", "a", "a;c", "b"] * 3 + ["a;d"],  # "d" comes once
        ["1;2", "1", "2", "1;2"] * 2,  # numbers
        ["a;a", "a;b", "a", "b"] * 2,  # the same label twice
    ],
)
def test_other_cells_stay_classes(write, cells):
    data = load_table(write("x,y\n" + zipped([0.5 * i * i for i in range(len(cells))], cells)))
    assert data.spec.task == "classification"


def test_the_task_decides_about_lists(write):
    path = write("x,y\n" + zipped(X, ["a;b", "c", "a;b", "c", "a;b", "c", "a;b", "c"]))
    assert load_table(path).spec.classes == ("a;b", "c")
    data = load_table(path, task="multilabel")
    assert data.spec.classes == ("a", "b", "c") and data.targets[0].tolist() == [1, 1, 0]
    assert "(task=" not in data.spec.notes[1]
    lists = write("x,weather\n" + zipped(X[:6] * 2, [*LISTS[:2], *LISTS[3:7]] * 2), "lists.csv")
    assert load_table(lists, task="classification").spec.classes == (
        "rain", "rain;snow", "rain;wind", "snow", "snow;rain", "wind",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["a;b|c", "a"] * 4, "the target 'y' holds lists with ';' and '\\|' between their labels: use one separator"),
        (
            [f"a;b{i}" for i in range(8)],
            "the lists in 'y' hold 9 different labels in 8 rows: they need at least 1 and at",
        ),
        ([""] * 8, "the lists in 'y' hold 0 different labels in 8 rows"),
        (["a;b", "a"] * 4, "every list in 'y' holds 'a': there is nothing to learn about it"),
    ],
)
def test_lists_that_cannot_be_labels(write, cells, message):
    with pytest.raises(DataError, match=message):
        load_table(write("x,y\n" + zipped(X, cells)), task="multilabel")


def test_texts_have_one_target(write):
    path = write("a,b,words\n" + zipped(RAIN, SNOW, [f"a fine film {i}" for i in range(8)]))
    with pytest.raises(DataError, match="`target` must be one column here, got 'a', 'b'"):
        load_text(path, target=["a", "b"])


# Weights and groups


def test_weights_and_groups_are_no_features(write):
    path = write("x,w,g,h,y\n" + zipped(X, [1, 2, 0, 1, 1.5, 1, 1, 1], "aabbccdd", "uvuvuvuu", "pqpqpqpq"))
    data = load_table(path, weight="w", group="g")
    assert data.spec.features == ("x", "h") and (data.spec.weight, data.spec.group) == ("w", "g")
    assert data.weights.tolist() == [1, 2, 0, 1, 1.5, 1, 1, 1] and data.groups.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    both = load_table(path, weight="w", group=["g", "h"])
    assert both.spec.group == "g, h" and both.spec.features == ("x",)
    assert both.groups.tolist() == [0, 1, 2, 3, 4, 5, 6, 6]


@pytest.mark.parametrize(
    ("weights", "options", "message"),
    [
        ([1] * 8, {"weight": "v"}, "has no column 'v' for `weight`"),
        (
            [1, -2, *[1] * 6],
            {"weight": "w"},
            "the weight 'w' is negative in 1 row, first in row 2: every row needs a num",
        ),
        ([1, "", "", *[1] * 5], {"weight": "w"}, "the weight 'w' is missing in 2 rows, first in row 2"),
        ([0] * 8, {"weight": "w"}, "the weight 'w' is 0 in every row: some rows must count"),
        (list("mnmnmnmn"), {"weight": "w"}, "the weight 'w' holds text, such as 'm': give numbers"),
        ([1] * 8, {"weight": "w", "target": "w"}, "has no column 'w' for `target`"),
    ],
)
def test_weights_that_cannot_be(write, weights, options, message):
    with pytest.raises(DataError, match=message):
        load_table(write("x,w,y\n" + zipped(X, weights, "pqpqpqpq")), **options)


def test_lists_that_are_in_doubt_name_the_way(write):
    with pytest.raises(
        DataError, match="has 8 different values in 8 rows, too many for classes.*task='multilabel' for"
    ):
        load_table(write("x,y\n" + zipped(X, [f"a;b{i}" for i in range(8)])))


def test_columns_of_numbers_are_read_at_once_as_each_alone():
    frame = pl.DataFrame(
        {
            "whole": ["1", "-2", None, "+3"],
            "real": ["1.5", "2", "-1e3", "nan"],
            "month": ["2024.01", "2024.02", "2024.3", "2024.11"],
            "words": ["a", "1", "2", None],
            "empty": [None, None, None, None],
            "typed": [1, None, 3, 4],
            "fraction": [0.5, None, 2.0, 3.0],
            "truth": [True, False, True, None],
        },
        schema_overrides={"empty": pl.String},
    )
    plain = plain_columns(frame, frame.columns, "a.csv")
    assert list(plain) == ["whole", "real", "month", "typed", "fraction"]
    for name, column in plain.items():
        alone = read_column(frame[name], "a.csv")
        assert (column.name, column.levels, column.whole) == (name, (), alone.whole)
        assert torch.equal(column.values.nan_to_num(-7), alone.values.nan_to_num(-7))
    assert list(plain_columns(frame, frame.columns, "a.csv", dates=True)) == ["whole", "real", "typed", "fraction"]
    assert plain_columns(frame, ["words"], "a.csv") == {}
    with pytest.raises(DataError, match=r"a\.csv: column 'x' holds infinity in row 2: correct it or leave it empty"):
        plain_columns(pl.DataFrame({"x": ["1", "inf"]}), ["x"], "a.csv")


def test_short_and_long_columns_have_the_same_places(monkeypatch):
    text = pl.Series(["b", None, "a", "other", "b"])
    short = columns.level_numbers(text, ("a", "b"))
    monkeypatch.setattr(columns, "_SHORT", 0)
    long = columns.level_numbers(text, ("a", "b"))
    assert torch.equal(short.nan_to_num(9.0), torch.tensor([1.0, 9.0, 0.0, -1.0, 1.0], dtype=torch.float64))
    assert short.dtype == long.dtype and torch.equal(short.nan_to_num(9.0), long.nan_to_num(9.0))


def test_a_table_of_texts_asks_polars_a_few_times_for_each_column(monkeypatch, tmp_path):
    """Polars takes 0.1 ms to begin with anything: 40,000 columns of text took minutes with 21 questions each."""
    asked, select = [0], pl.DataFrame.select

    def counted(self, *parts, **named):
        asked[0] += 1
        return select(self, *parts, **named)

    monkeypatch.setattr(pl.DataFrame, "select", counted)
    counts = []
    for width in (50, 250):
        rows = [",".join(("red", "blue", "green")[(7 * i + r) % 3] for i in range(width)) for r in range(12)]
        (tmp_path / "t.csv").write_text("\n".join([",".join(f"c{i}" for i in range(width)), *rows]) + "\n")
        asked[0] = 0
        load_table(tmp_path / "t.csv")
        counts.append(asked[0])
    assert counts[1] - counts[0] <= 6 * 200


def test_thousands_of_columns_that_are_left_out_are_counted(tmp_path):
    names = [f"c{i}" for i in range(3000)]
    rows = [",".join(["1"] * 3000 + [str(i), "ab"[i % 2]]) for i in range(1, 9)]
    (tmp_path / "wide.csv").write_text("\n".join([",".join([*names, "x", "y"]), *rows]) + "\n")
    with pytest.warns(DataWarning, match="2,980 more columns are left out, because nothing can be learned from them"):
        texts = load_table(tmp_path / "wide.csv", keep=["x"]).spec.notes
    assert sum("'1' in every row" in text for text in texts) == 20


def test_numbers_that_are_too_large_to_compute_with_are_named(write):
    """The sentence named neither the column nor the row."""
    rows = [f"{i},{i},{i % 2}" for i in range(12)]
    with pytest.raises(
        DataError, match=r"column 'a' holds 1e\+300 in row 2, which is too large to compute with: rescale"
    ):
        load_table(write("\n".join(["a,b,y", rows[0], "1e300,1,1", *rows[1:]])))
    with pytest.raises(
        DataError, match=r"column 'y' holds -1e\+39 in row 1, which is too large to compute with: resca"
    ):
        load_table(write("\n".join(["a,b,y", "0,0,-1e39", *(f"{i},{i},{i / 7}" for i in range(12))])))
    with pytest.raises(
        DataError, match=r"column 'z' holds 1e\+39 in row 1, which is too large to compute with: rescal"
    ):
        load_table(write("\n".join(["a,y,z", "0,0.5,1e39", *(f"{i},{i / 3},{i / 7}" for i in range(12))])), ["y", "z"])


def test_of_a_very_long_cell_a_sentence_shows_the_beginning(write):
    rows = "".join(f"{i},{i % 2}\n" for i in range(60))
    with pytest.warns(DataWarning, match=r"cannot be read as a number, such as 'x{57}\.\.\.', and counts as missing"):
        data = load_table(write(f"a,y\n{rows}{'x' * 1_000_000},1\n"))
    assert all(len(note) < 300 for note in data.spec.notes)
