"""Data that changed are another: by a number, a name, a picture, an option or the division."""

import numpy as np
import pytest
import torch
from PIL import Image

import lamina
from lamina.data import identity as module
from lamina.data.identity import difference, identity

pytestmark = pytest.mark.faults("changed data")


def write_table(path, shift=0.0, header="x,y,label", target="ab"):
    rows = [f"{(i * 37) % 61 / 7 + shift},{i % 7},{target[i % 2]}" for i in range(60)]
    path.write_text(header + "\n" + "\n".join(rows) + "\n")
    return identity(lamina.load(path).split())


def test_numbers_names_and_classes_of_a_table(tmp_path):
    table = tmp_path / "t.csv"
    before = write_table(table)
    assert write_table(table) == before and before["version"] == 2
    assert difference(before, write_table(table, shift=100)) == "the contents differ"
    swapped = write_table(table, header="y,x,label")
    assert difference(before, swapped) == "the names or types of columns or classes differ"
    assert difference(before, write_table(table, target="ac")) == "the names or types of columns or classes differ"
    moved = tmp_path / "elsewhere.csv"
    assert write_table(moved) == before  # where they lie is nothing about them


def test_the_division_and_sets_of_equal_targets():
    seeds = [identity(lamina.load("iris").split(seed=seed)) for seed in range(4)]
    assert len({found["parts"] for found in seeds}) == 4 and len({found["contents"] for found in seeds}) == 1
    made = [lamina.load(name, count=60) for name in ("moons", "spirals", "agreement")]
    assert len({identity(data.split())["contents"] for data in made}) == 3
    other = identity(lamina.load("moons", count=60, noise=0.2).split())
    assert difference(identity(made[0].split()), other) == "the contents differ"


def test_the_test_part_counts_and_stays_sealed():
    inputs, targets = np.arange(120.0).reshape(60, 2), np.arange(60) % 2
    split = lamina.load((inputs, targets)).split()
    before = identity(split)
    assert split.openings == 0
    place = split.test.open().indices[0]
    inputs[place] += 1
    assert difference(before, identity(lamina.load((inputs, targets)).split())) == "the contents differ"


@pytest.mark.parametrize(
    "name", ["phrasebook", "wave", "digit-words", "copy", "digits", "and"], ids=lambda name: f"set-{name}"
)
def test_every_kind_of_set_has_one(name):
    split = lamina.load(name).split()
    assert identity(split) == identity(lamina.load(name).split())


def pictures(folder, changed=None):
    for kind, value in (("dark", 10), ("bright", 200)):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for i in range(6):
            picture = Image.new("L", (8, 8), value + i)
            if (kind, i) == changed:
                picture.putpixel((3, 3), 0)
            picture.save(folder / kind / f"{i}.bmp")


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("budget", [2**30, 0])
def test_a_picture_of_a_folder_by_one_pixel(tmp_path, monkeypatch, whole, budget):
    if not whole:
        monkeypatch.setattr(module, "WHOLE", 0)

    def found():
        return identity(lamina.load(tmp_path / "p", budget=budget).split())

    pictures(tmp_path / "p")
    before = found()
    assert found() == before
    pictures(tmp_path / "p", changed=("dark", 4))
    assert difference(before, found()) == "the contents differ"
    pictures(tmp_path / "p")
    (tmp_path / "p" / "dark" / "4.bmp").rename(tmp_path / "p" / "dark" / "9.bmp")
    assert difference(before, found()) == "the contents differ"


def test_the_edges_of_large_folders_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WHOLE", 0)
    monkeypatch.setattr(module, "EDGE", 4)
    file = tmp_path / "a"
    file.write_bytes(b"abcdefghijkl")
    assert [*module._files(lambda: iter([("a", file)]))] == ["a|12|", b"abcd", b"ijkl"]
    file.write_bytes(b"abcdef")
    assert [*module._files(lambda: iter([("a", file)]))] == ["a|6|", b"abcd", b"ef"]


def test_somebody_elses_dataset_by_its_targets_and_a_loader_by_its_batches():
    items = torch.utils.data.TensorDataset(torch.arange(60.0)[:, None], torch.arange(60) % 2)
    others = torch.utils.data.TensorDataset(torch.arange(60.0)[:, None], torch.arange(60) % 3)
    one, other = (identity(lamina.load(each).split()) for each in (items, others))
    assert one == identity(lamina.load(items).split()) and one["contents"] != other["contents"]
    loader = torch.utils.data.DataLoader(items, 10)
    first, second = (identity(lamina.load(loader).split()) for _ in range(2))
    assert first == second
