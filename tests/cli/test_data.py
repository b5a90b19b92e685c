"""`lamina data`: what it prints, as text, as JSON and in a terminal."""

import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
import typer
from PIL import Image
from rich.console import Console
from typer.testing import CliRunner

from lamina._errors import ArgumentError, DataError
from lamina.cli import _data as data
from lamina.data import store
from lamina.data.dataset import ArrayDataset, Spec
from lamina.data.load import NAMED, SETS, load
from scripts import command

root = typer.Typer()
root.add_typer(data.data_app, name="data")


def lamina(*arguments):
    """Run `lamina data ...`; what it raises is raised here."""
    done = CliRunner().invoke(root, ["data", *map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "cache", lambda: tmp_path / "cache")
    monkeypatch.delenv("LAMINA_DATA", raising=False)


@pytest.fixture
def photos(tmp_path):
    for number in range(8):
        folder = tmp_path / "meine Fotos" / ("Bäume" if number < 6 else "Häuser")
        folder.mkdir(parents=True, exist_ok=True)
        values = np.zeros((4, 4), np.uint8)
        values[number % 4] = 255
        Image.fromarray(values).save(folder / f"{number}.png")
    return tmp_path / "meine Fotos"


# list


def test_the_table_of_embedded_sets_is_true():
    assert list(data.EMBEDDED) == list(SETS)
    assert [name for name, named in store.SETS.items() if named.kind != "weights"] == list(NAMED)
    for name, (kind, what) in data.EMBEDDED.items():
        found = load(name, count=50) if name == "million" else load(name)
        assert found.spec.kind == kind
        if "classes" in what:
            assert f"{found.spec.outputs} classes" in what
        if what[0].isdigit():
            assert what.startswith(f"{len(found):,} ")


def test_list_says_what_is_where(tmp_path, monkeypatch):
    lines = lamina("list").splitlines()
    assert lines[0].split("\t") == ["name", "kind", "what", "download", "where"]
    assert lines[1].split("\t") == ["digits", "image", "1,797 handwritten digits, 8x8 gray, 10 classes", "", "built in"]
    assert "mnist\timage\thandwritten digits, 60,000 + 10,000, 28x28 gray, 10 classes\t11.6 MB\tnot downloaded" in lines
    assert lines[-1] == f"next: lamina data get {' '.join(NAMED)}"
    for file in store.SETS["mnist"].files:
        (tmp_path / "mnist").mkdir(exist_ok=True)
        (tmp_path / "mnist" / file.name).touch()
    monkeypatch.setenv("LAMINA_DATA", str(tmp_path))
    rows = {row["name"]: row for row in json.loads(lamina("list", "--json"))}
    assert rows["mnist"]["present"] and rows["mnist"]["path"] == str(tmp_path / "mnist")
    assert rows["mnist"]["bytes"] == 11_594_722 and not rows["cifar10"]["present"] and rows["digits"]["present"]
    assert lamina("list").splitlines()[-1] == f"next: lamina data get {' '.join(NAMED[1:])}"


def test_list_imports_no_torch():
    code = "from lamina.cli._data import data_app; data_app(['list'], standalone_mode=False)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; assert not {{'torch', 'numpy', 'polars'}} & set(sys.modules)"],
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "LAMINA_DATA"},
    )
    assert done.returncode == 0, done.stderr


# get


def test_get(monkeypatch, tmp_path):
    asked = []

    def get(name, *, to, progress):
        asked.append((name, to, progress))
        return store.Found(store.SETS[name], tmp_path / name)

    monkeypatch.setattr(store, "get", get)
    said = lamina("get", "mnist", "digits", "mnist").splitlines()
    assert said == [f"mnist is in {tmp_path / 'mnist'}", "digits is built in", "next: lamina data show mnist"]
    assert asked == [("mnist", None, None)]  # no progress when this is not a terminal
    assert json.loads(lamina("get", "cifar10", "--to", tmp_path, "--json")) == {"cifar10": str(tmp_path / "cifar10")}
    assert asked[-1][:2] == ("cifar10", tmp_path)
    last = lamina("get", "resnet18-imagenet").splitlines()[-1]
    assert last == "next: lamina train resnet18 --weights resnet18-imagenet --data FOLDER"


def test_get_refuses_unknown_names_before_it_begins(monkeypatch):
    monkeypatch.setattr(store, "get", lambda *_, **__: pytest.fail("nothing should be fetched"))
    with pytest.raises(ArgumentError, match=r"`NAME` must be one of 'digits', .*'cifar10', .*'sst2', .*got 'imagenet'"):
        lamina("get", "mnist", "imagenet")


def test_progress_is_drawn_in_a_terminal(monkeypatch):
    out = io.StringIO()
    out.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    with data._progress(quiet=False) as tell:
        tell("train-images.gz", 10, 100)
        tell("train-images.gz", 100, 100)
    assert "train-images.gz" in out.getvalue() and "100/100 bytes" in out.getvalue()
    with data._progress(quiet=True) as tell:
        assert tell is None


# show


def test_show_a_folder_of_pictures(photos):
    text = lamina("show", photos, "--samples", 2)
    assert text.splitlines()[0] == f"{photos}: 8 pictures of 1 x 4 x 4, classification into 2 classes."
    assert "  Bäume          6  75.0%  " + "█" * 30 in text and "  Häuser         2  25.0%  " + "█" * 10 in text
    assert "8 pictures of 4x4 (width x height)." in text
    drawn = [line.rstrip() for line in text[text.index("samples:") :].splitlines()[1:-1]]
    assert drawn == ["  Bäume     Häuser", "  @@@@@@@@", "", "            @@@@@@@@", ""]


def test_show_a_table(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("length,color,price\n1.5,red,10\n2.5,,20\n3.5,blue,30\n4.5,red,45\n")
    options = ["--target", "price", "--task", "regression", "--samples", 2]
    text = lamina("show", path, *options)
    assert "4 rows of 2 columns" in text and "targets: from 10 to 45, mean 26.25" in text
    assert "  2.5     missing  20" in text.splitlines()
    facts = json.loads(lamina("show", path, "--json", *options))
    assert facts["examples"] == 4 and facts["features"] == ["length", "color"] and facts["target"] == "price"
    assert facts["sample"][1]["inputs"] == [2.5, None] and facts["sample"][1]["target"] == 20.0


def test_show_json_of_pictures(photos):
    facts = json.loads(lamina("show", photos, "--json"))
    assert facts["balance"] == {"Bäume": 6, "Häuser": 2} and facts["inputs"] == [1, 4, 4]
    assert facts["official_test"] is None and "sample" not in facts


def test_show_numbers():
    text = lamina("show", "curve", "--samples", 0)
    assert "targets: from" in text and "samples:" not in text


def test_samples_are_spread_over_the_classes():
    spec = Spec("vector", "classification", inputs=(1,), outputs=3)
    targets = torch.tensor([0, 0, 0, 2, 2, 1])
    labeled = ArrayDataset(torch.zeros(6, 1), targets, spec)
    assert data._spread(labeled, 5).tolist() == [0, 5, 3, 1, 4]
    assert data._spread(labeled, 2).tolist() == [0, 5]
    numbers = ArrayDataset(torch.zeros(6, 1), targets.float(), Spec("vector", "regression", (1,), 1))
    assert data._spread(numbers, 9).tolist() == [0, 1, 2, 3, 4, 5]


def test_show_texts_pairs_and_tokens(tmp_path):
    lines = lamina("show", "phrasebook", "--samples", 1).splitlines()
    assert lines[0].startswith("phrasebook: 12000 pairs of texts of up to ") and lines[0].endswith("into German.")
    assert lines[-2] == "  The sun is shining today  ->  Heute scheint die Sonne"
    facts = json.loads(lamina("show", "next-input", "--json", "--samples", 1))
    assert facts["symbols"] == ["a", "b", "c", "d"] and facts["sample"][0].endswith(" -")
    path = tmp_path / "films.csv"
    path.write_text("label,review\n" + "".join(f"{i % 2},a long film no. {i}\n" for i in range(8)))
    text = lamina("show", path, "--samples", 2)
    assert "  0         4  50.0%  " in text and text.splitlines()[-2] == "  a long film no. 1  ->  1"
    assert json.loads(lamina("show", "wave", "--json"))["kind"] == "series"
    assert "windows of 50 x 1 numbers" in lamina("show", "wave")


def test_many_classes_are_cut_short(monkeypatch):
    spec = Spec("vector", "classification", inputs=(1,), outputs=25)
    targets = torch.cat([torch.full((30 - label,), label) for label in range(25)])
    many = ArrayDataset(torch.zeros(len(targets), 1), targets, spec)
    lines = data._bars(many)
    assert len(lines) == 21 and lines[-1] == "  and 5 smaller classes, the smallest '24' with 6"
    monkeypatch.setattr(data, "_has_blocks", lambda: False)
    assert data._bars(many)[0] == "  0         30   6.7%  " + "#" * 30


def test_pictures_in_a_terminal_are_half_blocks():
    spec = Spec("image", "classification", inputs=(3, 2, 2), outputs=2, classes=("red", "blue"))
    pixels = torch.zeros(2, 3, 2, 2, dtype=torch.uint8)
    pixels[0, 0], pixels[1, 2, 1] = 255, 200
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="truecolor", width=40, legacy_windows=False)
    data._draw(console, ArrayDataset(pixels, torch.tensor([0, 1]), spec))
    lines = out.getvalue().splitlines()
    assert lines[0].split() == ["re", "bl"]  # cut to the width of the pictures
    assert lines[1].count("▀") == 4
    assert "38;2;255;0;0;48;2;255;0;0" in lines[1] and "38;2;0;0;0;48;2;0;0;200" in lines[1]


def test_pictures_are_made_small_and_floats_stretched():
    assert data._small(torch.zeros(1, 100, 50, dtype=torch.uint8)).shape == (28, 14, 3)
    assert data._small(torch.zeros(3, 10, 200, dtype=torch.uint8)).shape == (2, 28, 3)
    got = data._small(torch.tensor([[[-1.0, 1.0], [0.0, 0.0]]]))
    assert got[..., 0].tolist() == [[0, 255], [128, 128]]
    assert data._small(torch.ones(1, 1, 1)).shape == (2, 1, 3)


def test_show_in_a_terminal_draws(photos, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(data, "_has_blocks", lambda: True)
    data.show(str(photos), samples=2)
    assert capsys.readouterr().out.count("▀") == 2 * 4 * 2


# What it refuses: the command ends with 2 and this sentence


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "imagenet"], r"there is no data set named 'imagenet'"),
        (["show", "mnist"], r"the data set mnist is not here .*lamina data get mnist"),
        (["show", "{tmp}/empty"], r"`.*empty` holds no pictures"),
        (["show", "{tmp}/rows.csv", "--target", "cost"], r"cost"),
        (["show", "{tmp}/photo.png"], r"`.*photo\.png` is neither a folder nor a table"),
    ],
)
def test_bad_input(tmp_path, arguments, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "rows.csv").write_text("a,price\n1,2\n3,4\n")
    (tmp_path / "photo.png").write_bytes(b"x")
    with pytest.raises(DataError, match=message):
        lamina(*(argument.replace("{tmp}", str(tmp_path)) for argument in arguments))


def test_left_out_pictures_are_told_once(photos):
    (photos / "beside.png").write_bytes(b"x")
    (next(path for path in photos.iterdir() if path.is_dir()) / "bad.png").write_bytes(b"")
    out = lamina("show", photos)
    assert out.count("Left out: 1 picture beside the class folders (beside.png).\n") == 1
    assert len(re.findall(r"1 of \d+ pictures cannot be read and is left out: 1 empty \(\w+/bad\.png\)\.\n", out)) == 1


def test_exit_codes(photos, tmp_path):
    assert command("data", "show", photos).returncode == 0
    bad = command("data", "show", tmp_path / "nowhere")
    assert bad.returncode == 2 and bad.stderr.startswith("lamina: there is no data set named") and not bad.stdout


def test_show_labels(tmp_path):
    rows = ["rain;snow", "rain", "", "snow", "rain;snow", "snow"]
    (tmp_path / "w.csv").write_text("x,w\n" + "".join(f"{i * i}.5,{row}\n" for i, row in enumerate(rows)))
    result = lamina("show", tmp_path / "w.csv")
    assert "6 rows of 1 column, any number of 2 labels (column 'w')." in result
    assert [line.split()[:3] for line in result.splitlines()[1:3]] == [["rain", "3", "50.0%"], ["snow", "4", "66.7%"]]
    found = json.loads(lamina("show", tmp_path / "w.csv", "--json"))
    assert found["balance"] == {"rain": 3, "snow": 4} and found["sample"][0] == {"inputs": [0.5], "target": [1.0, 1.0]}
