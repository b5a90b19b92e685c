"""From a folder of one's own pictures to predictions: every command says what to type next."""

import csv
import io
import shlex
import sys

import pytest
from PIL import Image, ImageDraw


def draw(path, color, place):
    """Save a colored square on white."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.new("RGB", (30 + place, 40), "white")
    ImageDraw.Draw(picture).rectangle((place, place, place + 18, place + 18), fill=color)
    picture.save(path)


@pytest.fixture
def pictures(tmp_path):
    """Make 60 pictures in three folders, a damaged one among them, and six new ones in nested folders."""
    for place in range(20):
        for color in ("red", "green", "blue"):
            draw(tmp_path / "photos" / color / f"{place}.{('png', 'jpg', 'bmp')[place % 3]}", color, place % 10)
    (tmp_path / "photos" / "red" / "cut.jpg").write_bytes(b"")
    for place in range(2):
        for color in ("red", "green", "blue"):
            draw(tmp_path / "new" / f"day {place}" / f"{color}.png", color, place + 3)


def following(out):
    """Give the words of the command that is to be typed next."""
    (line,) = [line for line in out.splitlines() if line.startswith("next: lamina ")]
    return shlex.split(line)[2:]


def test_each_command_says_the_next(typed, pictures):
    code, out, _ = typed("data", "show", "photos")
    assert code == 0 and "1 of 61 pictures cannot be read and is left out: 1 empty (red/cut.jpg)." in out
    words = following(out)
    assert words == ["train", "lenet5", "--data", "photos"]
    code, out, err = typed(*words, "--epochs", "30", "--set", "activation=relu")
    assert code == 0 and "The network beats the baseline." in out and "1 of 61 pictures" in out and "are copies" in err
    verb, run, _ = following(out)
    assert (verb, run) == ("predict", "runs/lenet5-photos")
    code, out, _ = typed(verb, run, "new", "-o", "answers/predictions.csv")
    assert (code, out) == (
        0,
        "6 predictions written to answers/predictions.csv\nnext: lamina report runs/lenet5-photos\n",
    )
    with open("answers/predictions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == [
        f"day {i}/{color}.png" for i in (0, 1) for color in ("blue", "green", "red")
    ]
    right = sum(row["predicted"] in row["name"] for row in rows)
    assert right >= 5


def test_pictures_are_not_read_from_standard_input(typed, pictures, monkeypatch):
    assert typed("train", "lenet5", "--data", "photos", "--epochs", "1", "--out", "run")[0] == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"photo"), "utf-8"))
    code, _, err = typed("predict", "run", "-")
    assert code == 2 and err.count("\n") == 1
    assert err.startswith("lamina: standard input must hold a table or texts here: name pictures by their files")
