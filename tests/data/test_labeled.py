"""New examples with their answers, read as the training data were."""

import pytest
import torch
from PIL import Image

from lamina._errors import DataError, DataWarning
from lamina.data.dataset import ArrayDataset, Spec, Subset, all_targets
from lamina.data.images import load_folder
from lamina.data.labeled import as_trained, labeled_rows, labeled_texts, reading
from lamina.data.load import load
from lamina.data.text.texts import texts_of

TABLE = Spec("table", "classification", (2,), 3, ("1", "2", "x"), ("size", "color"), "kind",
             levels=((), ("blue", "red")))  # fmt: skip
PRICE = Spec("table", "regression", (1,), 1, features=("size",), target="price")


def put(path, text):
    path.write_text(text)
    return path


def test_rows_are_found_by_name_and_classes_keep_their_numbers(tmp_path):
    new = put(tmp_path / "new.csv", "kind;color;more;size\n2;red;?;1,5\n1.0;blue;?;2,5\n")
    data = labeled_rows(new, TABLE, {"decimal": ",", "target": "kind", "drop": ["more"]})
    inputs, labels = data.take(torch.arange(2))
    assert inputs.tolist() == [[1.5, 1.0], [2.5, 0.0]] and labels.tolist() == [1, 0] and data.spec is TABLE
    one = labeled_rows(put(tmp_path / "one.csv", "size,color,kind\n3,red,x\n"), TABLE, {})
    assert all_targets(one).tolist() == [2]
    prices = labeled_rows(put(tmp_path / "prices.csv", "price,size\n100,3\n100,4\n"), PRICE, {})
    assert prices.targets.tolist() == [100.0, 100.0] and prices.inputs.tolist() == [[3.0], [4.0]]
    assert reading({"decimal": ",", "window": 3}) == {"decimal": ","}


@pytest.mark.parametrize(
    ("text", "spec", "message"),
    [
        ("size,color\n1,red\n", TABLE, "has no column 'kind' for `target`: it has the columns 'size', 'color'"),
        ("size,color,kind\n", TABLE, "has no rows: there is nothing to score"),
        (
            "size,color,kind\n1,red,y\n",
            TABLE,
            r"has the class 'y', which the run was not trained on \(its classes are '1', '2', 'x'\): correct the class",
        ),
        ("size,color,kind\n1,red,\n2,red,NA\n", TABLE, "has no row with the target 'kind': there is nothing to score"),
        ("size,price\n1,cheap\n", PRICE, "the target 'price' holds text, such as 'cheap', but the run was trained on"),
        ("color,price\nred,3\n", PRICE, "lacks the column 'size' of the training data"),
    ],
)
def test_what_new_rows_must_have(tmp_path, text, spec, message):
    with pytest.raises(DataError, match=message):
        labeled_rows(put(tmp_path / "new.csv", text), spec, {})


def test_several_numbers_and_weights(tmp_path):
    first = put(tmp_path / "old.csv", "x,w,far,near\n1,1,10,0.5\n2,2,20,0.75\n3,1,30,0.5\n")
    spec = load(first, target=["near", "far"], weight="w").spec
    new = put(tmp_path / "new.csv", "far;near;w;x\n40;1,5;3;4\n50;;1;5\n;2,5;1;6\n70;3,5;0;7\n")
    with pytest.warns(DataWarning, match=r"^`.*new\.csv`: 2 rows without the target are left out\.$"):
        data = labeled_rows(new, spec, {"target": "near,far", "weight": "w"})
    assert data.inputs.tolist() == [[4.0], [7.0]] and data.targets.tolist() == [[1.5, 40.0], [3.5, 70.0]]
    assert data.weights.tolist() == [3.0, 0.0] and data.spec is spec
    with pytest.raises(DataError, match="has no column 'w' for `weight`"):
        labeled_rows(put(tmp_path / "bare.csv", "x,far,near\n1,2,3\n"), spec, {})
    with pytest.raises(DataError, match="has no column 'far' for `target`"):
        labeled_rows(put(tmp_path / "bare.csv", "x,w,near\n1,2,3\n"), spec, {})


def test_a_word_among_the_numbers_of_a_target_is_left_out(tmp_path):
    rows = "".join(f"{i},{'unknown' if i == 5 else i + 0.5}\n" for i in range(30))
    with pytest.warns(DataWarning, match="1 row without the target is left out"):
        data = labeled_rows(put(tmp_path / "new.csv", f"size,price\n{rows}"), PRICE, {})
    assert len(data) == 29 and not data.targets.isnan().any() and data.targets[5].item() == 6.5


def test_a_column_for_each_label(tmp_path):
    spec = load(put(tmp_path / "old.csv", "x,rain,snow\n1,0,1\n2,1,0\n3,1,1\n"), target=["rain", "snow"]).spec
    data = labeled_rows(put(tmp_path / "new.csv", "snow,x,rain\n0,7,1\n0,8,0\n"), spec, {})
    assert data.targets.tolist() == [[1.0, 0.0], [0.0, 0.0]] and data.inputs.tolist() == [[7.0], [8.0]]
    words = labeled_rows(put(tmp_path / "yes.csv", "x,rain,snow\n7,yes,no\n8,no,no\n9,yes,yes\n"), spec, {})
    assert words.targets.tolist() == [[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    always = labeled_rows(put(tmp_path / "one.csv", "x,rain,snow\n7,yes,no\n8,yes,no\n"), spec, {})
    assert always.targets.tolist() == [[1.0, 0.0], [1.0, 0.0]]
    with pytest.warns(DataWarning, match="1 row without the target is left out"):
        gap = labeled_rows(put(tmp_path / "gap.csv", "x,rain,snow\n7,1,\n8,0,1\n"), spec, {})
    assert gap.targets.tolist() == [[0.0, 1.0]] and gap.inputs.tolist() == [[8.0]]
    with pytest.raises(DataError, match="the target 'snow' holds '2', but labels are 0 or 1"):
        labeled_rows(put(tmp_path / "two.csv", "x,rain,snow\n7,1,2\n"), spec, {})


def test_a_column_of_lists(tmp_path):
    import polars as pl

    rows = {"x": [1.0, 2.0, 3.0, 4.0], "weather": [["rain"], ["snow", "rain"], [], ["snow"]]}
    spec = load(pl.DataFrame(rows), target="weather").spec
    assert spec.classes == ("rain", "snow") and spec.task == "multilabel"
    frame = pl.DataFrame({"weather": [["snow"], [], ["rain", "snow"]], "x": [5.0, 6.0, 7.0]})
    text = put(tmp_path / "new.csv", "x;weather\n5;snow\n6;\n7;rain, snow\n")
    for new in (frame, frame.to_dicts(), text):
        data = labeled_rows(new, spec, {})
        assert data.targets.tolist() == [[0.0, 1.0], [0.0, 0.0], [1.0, 1.0]] and data.inputs.tolist() == [[5], [6], [7]]
    with pytest.raises(DataError, match="has the class 'hail', which the run was not trained on"):
        labeled_rows(pl.DataFrame({"x": [1.0], "weather": [["hail"]]}), spec, {})


def test_rows_of_a_frame_and_a_class_that_is_a_number():
    import pandas as pd

    rows = [("red", 1.5, 2.0), ("blue", 2.5, 1.0), ("red", 3.5, None)]
    frame = pd.DataFrame(rows, columns=["color", "size", "kind"])
    with pytest.warns(DataWarning, match="^the table: 1 row without the target is left out"):
        data = labeled_rows(frame, TABLE, {})
    assert data.inputs.tolist() == [[1.5, 1.0], [2.5, 0.0]] and data.targets.tolist() == [1, 0]


def test_texts_and_their_labels(tmp_path):
    spec = Spec("text", "classification", (9,), 2, ("bad", "good"), target="label")
    path = put(tmp_path / "new.csv", "label,note,review\ngood,a b c d,fine\ngood,e f g h,see it\n")
    data = labeled_texts(path, spec, {"text": "review"})
    assert texts_of(data) == ["fine", "see it"] and data.targets.tolist() == [1, 1]
    assert texts_of(labeled_texts(path, spec, {})) == ["a b c d", "e f g h"]
    with pytest.raises(DataError, match="has no column 'words' for `text`"):
        labeled_texts(path, spec, {"text": "words"})
    with pytest.raises(DataError, match="has no column of text besides the target 'label'"):
        import polars as pl

        pl.DataFrame({"label": ["bad"], "n": [1]}).write_parquet(tmp_path / "n.parquet")
        labeled_texts(tmp_path / "n.parquet", spec, {})


def test_a_folder_of_one_class_is_scored_with_the_classes_of_the_run(tmp_path):
    (tmp_path / "new/dog").mkdir(parents=True)
    Image.new("L", (4, 4), 7).save(tmp_path / "new/dog/a.png")
    spec = Spec("image", "classification", (1, 4, 4), 3, ("cat", "cow", "dog"))
    data = as_trained(load_folder(tmp_path / "new", size=(4, 4), channels=1, one_class=True), spec)
    inputs, labels = data.take(torch.tensor([0]))
    assert labels.tolist() == [2] == data.targets.tolist() and inputs.unique().tolist() == [7] and len(data) == 1
    assert data.spec is spec
    with pytest.raises(DataError, match="has one class only, 'dog': a classifier needs at least 2"):
        load_folder(tmp_path / "new")


def test_other_data_are_refused():
    iris = load("iris")
    assert as_trained(iris, iris.spec) is iris
    with pytest.raises(DataError, match="has no examples: there is nothing to score"):
        as_trained(Subset(iris, torch.arange(0)), iris.spec)
    with pytest.raises(
        DataError,
        match="trained for classification of data of kind 'table', but `curve` is for regression of data of kind 'vec",
    ):
        as_trained(load("curve"), iris.spec)
    with pytest.raises(DataError, match=r"`wine` has examples of shape \(13,\), but the run was trained on \(4,\)"):
        as_trained(load("wine"), iris.spec)
    renamed = Spec("table", "classification", (4,), 3, iris.spec.classes, ("a", "b", "c", "d"))
    with pytest.raises(DataError, match="must have the columns a, b, c, d of the training data"):
        as_trained(iris, renamed)


def test_steps_without_a_label_stay_without():
    spec = Spec("tokens", "tagging", (3,), 2, ("a", "b"))
    data = ArrayDataset(torch.zeros(1, 3).long(), torch.tensor([[0, -100, 1]]), spec)
    turned = Spec("tokens", "tagging", (3,), 3, ("c", "b", "a"))
    assert all_targets(as_trained(data, turned)).tolist() == [[2, -100, 1]]
