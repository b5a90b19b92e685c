"""`lamina explain` as it is typed."""

import json
from pathlib import Path

import pytest
import torch
from PIL import Image

import lamina


@pytest.fixture
def flowers(typed):
    assert typed("train", "fnn", "--data", "iris", "--epochs", "20", "--out", "run", "-q")[0] == 0
    with open("new.csv", "w") as file:
        file.write(
            "sepal length (cm),sepal width (cm),petal length (cm),petal width (cm)\n5.9,3.0,5.1,1.8\n4.9,3.1,1.5,0.2\n"
        )


def test_columns_are_listed_and_drawn(typed, flowers):
    code, out, err = typed("explain", "run", "new.csv", "--top", "2", "-o", "pictures/why.png")
    lines = out.splitlines()
    assert (code, err) == (0, "") and [line[:2] for line in lines] == ["1:", "  ", "  ", "  ", "  ", "2:", *["  "] * 4]
    assert lines[1].startswith("  petal ") and lines[4] == "  drawn to pictures/why-1.png"
    with Image.open("pictures/why-2.png") as picture:
        assert picture.height > 100
    code, out, _ = typed("explain", "run", "new.csv", "--json", "--of", "setosa", "--most", "1")
    (row,) = json.loads(out)
    assert row["of"] == "setosa" and row["maps"] == {} and len(row["parts"]) == 4
    assert sum(part["adds"] for part in row["parts"]) < 0  # it is a virginica


def test_bad_input_gets_a_sentence(typed, flowers):
    code, _, err = typed("explain", "run", "new.csv", "--of", "setos")
    assert code == 2 and "one of setosa, versicolor, virginica, got 'setos'; did you mean 'setosa'?" in err
    code, _, err = typed("explain", "run", "new.csv", "-o", "why.gif")
    assert code == 2 and "`path` must end in one of .svg, .tex, .pdf, .png, got 'why.gif'" in err
    code, _, err = typed("explain", "run", "no.csv")
    assert code == 2 and "no.csv does not exist" in err


def test_pictures_say_where_the_heat_is(typed):
    assert typed("train", "lenet5", "--data", "digits", "--epochs", "2", "--out", "run", "-q")[0] == 0
    Image.fromarray(lamina.load("digits").take(torch.tensor([0]))[0][0, 0].numpy()).save("zero.png")
    code, out, _ = typed("explain", "run", "zero.png", "-o", "why.svg")
    lines = out.splitlines()
    assert code == 0 and lines[0].startswith("zero.png: ")
    assert [line.split(":")[0].strip() for line in lines[1:4]] == ["Grad-CAM", "saliency", "occlusion"]
    assert all(line.endswith("of 8 x 8") for line in lines[1:4]) and "Grad-CAM" in Path("why.svg").read_text()


def test_blank_texts_are_nothing_to_explain(typed):
    rows = [(i, *row) for i in range(24) for row in (("fine", "good"), ("poor", "bad"))]
    text = "".join(f"the film number {i} was {word},{label}\n" for i, word, label in rows)
    Path("reviews.csv").write_text("review,label\n" + text)
    small = ("--set", "hidden=4", "--set", "embedding=4")
    assert typed("train", "many-to-one", "--data", "reviews.csv", "--epochs", "1", *small, "--out", "run", "-q")[0] == 0
    code, out, _ = typed("explain", "run", "the film was poor")
    assert code == 0 and {line.split()[0] for line in out.splitlines()[1:-1]} == {"the", "film", "was", "poor", "end"}
    with open("blank.txt", "w") as file:
        file.write("\n\n")
    code, _, err = typed("explain", "run", "blank.txt")
    assert code == 2 and err.count("\n") == 1
