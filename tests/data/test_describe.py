import torch

from lamina.data.dataset import ArrayDataset, Spec, Subset
from lamina.data.load import load
from lamina.data.text.texts import (
    PairDataset,
    RunningText,
)


def vectors(count=6, classes=2, **options):
    spec = Spec("vector", "classification", (2,), classes, **options)
    return ArrayDataset(torch.arange(2.0 * count).reshape(count, 2), torch.arange(count) % classes, spec)


def test_describe_a_table():
    spec = Spec(
        "table",
        "regression",
        (2,),
        1,
        features=("x", "color"),
        levels=((), ("red", "blue")),
        target="y",
        source="t.csv",
    )
    rows = torch.tensor([[1.5, 1.0], [float("nan"), 0.0]], dtype=torch.float64)
    lines = ArrayDataset(rows, torch.tensor([2.0, 4.0]), spec).describe()
    assert lines == [
        "t.csv: 2 rows of 2 columns, regression of 1 number (column 'y').",
        "targets: from 2 to 4, mean 3",
        "samples:",
        "  x        color  y",
        "  1.5      blue   2",
        "  missing  red    4",
    ]


def test_describe_pictures_side_by_side():
    lines = load("digits").describe(samples=2)
    assert lines[0] == "digits: 1797 pictures of 1 x 8 x 8, classification into 10 classes."
    assert lines[1].startswith("classes: 0 178 (9.9 %), 1 182 (10.1 %)")
    assert lines[3].split() == ["0", "1"] and len(lines) == 4 + 8
    zero, one = lines[6][2:18], lines[6].ljust(36)[20:36]  # the third row of pixels, 16 characters a picture
    assert zero[4:6] != "  " and zero[8:10].strip() == "" and one[8:10] == "@@"


def test_describe_says_what_is_wide_official_or_many():
    spec = Spec("vector", "classification", (14,), 25, notes=("Read quickly.",))
    data = ArrayDataset(torch.zeros(30, 14), torch.arange(30) % 25, spec, official_test=vectors(4))
    lines = data.describe(samples=1)
    assert lines[0] == "data: 30 vectors of 14 numbers, classification into 25 classes."
    assert lines[1] == "An official test set of 4 examples is kept for the test part."
    assert lines[2].endswith(", 19 1 (3.3 %) and 5 more") and lines[3] == "Read quickly."
    assert lines[5].split()[-2:] == ["...", "target"] and lines[5].split()[11] == "x12"
    structured = Spec("vector", "structured", (2,), 6, target_shape=(2, 3))
    lines = ArrayDataset(torch.zeros(2, 2), torch.arange(12.0).reshape(2, 2, 3), structured).describe(1)
    assert "targets of shape 2 x 3" in lines[0] and lines[-1].endswith("0, 1, 2, 3, ...")


def test_describe_nothing():
    empty = Subset(vectors(), torch.zeros(0, dtype=torch.int64))
    assert empty.describe() == ["data: 0 vectors of 2 numbers, classification into 2 classes."]


def test_describe_pairs_and_running_text():
    data = PairDataset.of(["yes " * 40], ["ja"], source="one", target="German")
    assert data.describe() == [
        "one: 1 pairs of texts of up to 160 characters, to be translated into German.",
        "samples:",
        "  " + "yes " * 17 + " ...  ->  ja",
    ]
    assert RunningText.of("To be,\nor not", source="poem").describe() == [
        "poem: 1 texts of up to 13 characters, whose next characters are to be predicted.",
        "samples:",
        "  To be, or not",
    ]


def test_labels_weights_and_groups_are_described():
    spec = Spec("vector", "multilabel", (1,), 2, ("rain", "snow"), target="weather", weight="w", group="g", source="s")
    data = ArrayDataset(torch.tensor([[0.5], [1.5], [2.5]]), torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]), spec)
    assert data.describe(samples=3) == [
        "s: 3 vectors of 1 number, any number of 2 labels (column 'weather'), weighted by 'w', grouped by 'g'.",
        "labels: rain 2 (66.7 %), snow 1 (33.3 %)",
        "samples:",
        "  x1   weather",
        "  0.5  rain; snow",
        "  1.5  rain",
        "  2.5  none",
    ]
