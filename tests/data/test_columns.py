import json
import warnings

import polars as pl
import pytest
import torch

from lamina._errors import DataError, DataWarning
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
    assert data.spec.notes[-1].startswith("Column 'name' is left out")
    with pytest.warns(DataWarning, match="Column 'column 1' is left out"):
        load_table(write(",name,x,y\n" + rows.replace("n", "m"), "pandas.csv"), drop=["name"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_table(write("year,name,x,y\n" + rows, "year.csv"), drop=["name"]).spec.features == ("year", "x")


def test_a_category_with_too_many_values(write):
    rows = "".join(f"w{i % 1500},{i % 2}\n" for i in range(3000))
    with pytest.raises(
        DataError, match="column 'x' has 1500 different texts, more than the 1000 that a category may have"
    ):
        load_table(write("x,y\n" + rows))


# Several targets


def rows_of(*columns):
    return "".join(",".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))


X = [0.5 * i * i for i in range(8)]
RAIN, SNOW = [0, 1, 1, 0, 1, 0, 0, 1], [1, 0, 1, 0, 0, 0, 1, 1]


@pytest.mark.parametrize("target", (["rain", "snow, wet"], 'rain,"snow, wet"', 'rain, "snow, wet"'))
def test_columns_of_0_and_1_are_labels(write, target):
    path = write('x,rain,"snow, wet"\n' + rows_of(X, RAIN, SNOW))
    data = load_table(path, target)
    assert (data.spec.task, data.spec.outputs, data.spec.classes) == ("multilabel", 2, ("rain", "snow, wet"))
    assert data.spec.target == "rain, snow, wet" and data.spec.features == ("x",)
    assert data.targets.dtype == torch.float32 and data.targets.T.tolist() == [RAIN, SNOW]
    assert load_table(path, "snow, wet").spec.task == "classification"  # a name goes before a list


def test_words_for_yes_and_no_are_labels_too(write):
    words = [["no", "yes"][i] for i in RAIN], [["False", "TRUE"][i] for i in SNOW]
    data = load_table(write("x,a,b\n" + rows_of(X, *words)), ["b", "a"])
    assert data.spec.classes == ("b", "a") and data.targets.T.tolist() == [SNOW, RAIN]


def test_columns_of_numbers_are_several_outputs(write):
    path = write("x,a,b\n" + rows_of(X, [i + 0.5 for i in range(8)], RAIN))
    data = load_table(path, "a,b")
    assert (data.spec.task, data.spec.outputs, data.spec.target) == ("regression", 2, "a, b")
    assert data.targets.tolist() == [[i + 0.5, rain] for i, rain in enumerate(RAIN)]
    zeros = load_table(write("x,a,b\n" + rows_of(X, SNOW, RAIN), "zeros.csv"), "a,b", task="regression")
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
        ((RAIN, ["", *SNOW[1:]]), "a,b", {}, "the target 'b' is missing in 1 row, first in row 1"),
        ((RAIN, [2, *SNOW[1:]]), "a,b", {"task": "multilabel"}, "the target 'b' holds '2', but labels are 0 or 1"),
        ((RAIN, list("yyzzyyzz")), "a,b", {"task": "multilabel"}, "the target 'b' holds 'y', but labels are 0 or 1"),
        ((RAIN, list("yyzzyyzz")), "a,b", {}, "the target 'b' holds text, such as 'y': several targets must all be"),
    ],
)
def test_targets_that_do_not_fit_together(write, columns, target, options, message):
    with pytest.raises(DataError, match=message):
        load_table(write("x,a,b\n" + rows_of(X, *columns)), target, **options)


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
    data = load_table(write("x,weather\n" + rows_of(X, cells)))
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
    data = load_table(write("x,y\n" + rows_of([0.5 * i * i for i in range(len(cells))], cells)))
    assert data.spec.task == "classification"


def test_the_task_decides_about_lists(write):
    path = write("x,y\n" + rows_of(X, ["a;b", "c", "a;b", "c", "a;b", "c", "a;b", "c"]))
    assert load_table(path).spec.classes == ("a;b", "c")
    data = load_table(path, task="multilabel")
    assert data.spec.classes == ("a", "b", "c") and data.targets[0].tolist() == [1, 1, 0]
    assert "(task=" not in data.spec.notes[1]
    lists = write("x,weather\n" + rows_of(X[:6] * 2, [*LISTS[:2], *LISTS[3:7]] * 2), "lists.csv")
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
        load_table(write("x,y\n" + rows_of(X, cells)), task="multilabel")


def test_texts_have_one_target(write):
    path = write("a,b,words\n" + rows_of(RAIN, SNOW, [f"a fine film {i}" for i in range(8)]))
    with pytest.raises(DataError, match="`target` must be one column here, got 'a', 'b'"):
        load_text(path, target=["a", "b"])


# Weights and groups


def test_weights_and_groups_are_no_features(write):
    path = write("x,w,g,h,y\n" + rows_of(X, [1, 2, 0, 1, 1.5, 1, 1, 1], "aabbccdd", "uvuvuvuu", "pqpqpqpq"))
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
        load_table(write("x,w,y\n" + rows_of(X, weights, "pqpqpqpq")), **options)


def test_lists_that_are_in_doubt_name_the_way(write):
    with pytest.raises(
        DataError, match="has 8 different values in 8 rows, too many for classes.*task='multilabel' for"
    ):
        load_table(write("x,y\n" + rows_of(X, [f"a;b{i}" for i in range(8)])))
