import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn import datasets
from torch.utils.data import TensorDataset

from lamina._errors import ArgumentError, DataError
from lamina.data.dataset import ArrayDataset, Dataset
from lamina.data.load import NAMED, SETS, _classic_table, load
from lamina.data.preprocess import Preprocess
from lamina.data.text.descriptions import DescriptionPreprocess
from lamina.data.text.tokens import TextPreprocess

# Names


def test_digits_are_those_of_scikit_learn_as_bytes():
    data, found = load("digits"), datasets.load_digits()
    assert data.inputs.shape == (1797, 1, 8, 8) and data.inputs.dtype == torch.uint8
    assert np.abs(data.inputs[:, 0].numpy() - found.images * 255 / 16).max() <= 0.5
    assert data.inputs.unique().tolist() == [round(v * 255 / 16) for v in range(17)]
    assert data.targets.tolist() == found.target.tolist() and data.spec.classes == tuple("0123456789")
    assert data.spec.kind == "image" and data.spec.source == "digits"


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("iris", (150, 4), ("setosa", "versicolor", "virginica")),
        ("wine", (178, 13), ("class_0", "class_1", "class_2")),
        ("breast-cancer", (569, 30), ("malignant", "benign")),
    ],
)
def test_classic_tables(name, shape, classes):
    data = load(name)
    found = getattr(datasets, f"load_{name.replace('-', '_')}")()
    assert data.inputs.shape == shape and data.spec.classes == classes and data.spec.kind == "table"
    assert np.array_equal(data.inputs.numpy(), found.data) and data.targets.tolist() == found.target.tolist()
    assert data.spec.features == tuple(found.feature_names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split = data.split()
    sizes = torch.tensor([len(split.train), len(split.validation), len(split.test)])
    assert sizes.sum() == shape[0] and (sizes[1:] - shape[0] // 6).abs().max() <= 1
    with pytest.raises(ArgumentError, match="`name` must be one of 'iris', 'wine', 'breast-cancer', got 'rose'"):
        _classic_table("rose")


@pytest.mark.parametrize("name", [name for name in SETS if name != "million"])
def test_every_name_loads_splits_and_prepares(name):
    data = load(name)
    assert isinstance(data, Dataset) and data.spec.source == name
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split = data.split()
    preparation = TextPreprocess if data.spec.kind in ("text", "pairs") else Preprocess
    described = data.spec.task == "description"
    prepared = DescriptionPreprocess.of(split.train) if described else preparation.fit(split.train)
    source = prepared.source(split.validation)
    inputs, targets = source.batch(torch.arange(2))
    assert inputs.isfinite().all() and len(targets) == 2
    assert data.describe()[0].startswith(f"{name}: {len(data)} ")


def test_options_reach_the_loader():
    assert len(load("moons", count=10, seed=3)) == 10
    assert load("blobs", classes=7).spec.outputs == 7
    with pytest.raises(DataError, match="'moons' has no option 'turns': it has count, noise, seed"):
        load("moons", turns=2)
    with pytest.raises(DataError, match="'digits' has no option 'target': it has none"):
        load("digits", target="y")
    with pytest.raises(DataError, match="'xor' has no option 'gate': it has none"):
        load("xor", gate="or")


def test_unknown_names_and_files():
    with pytest.raises(DataError, match=r"no data set named 'mnits' and no file or folder .* did you mean 'mnist'"):
        load("mnits")
    with pytest.raises(
        DataError, match=r"no data set named 'qqqq' .* known names are digits, iris, .*, rt-polarity; a path works too"
    ):
        load("qqqq")
    with pytest.raises(DataError, match=r"`nowhere.csv` does not exist: check the path"):
        load("nowhere.csv")
    with pytest.raises(DataError, match="`targets` belongs to arrays, but 'digits' is a name or path"):
        load("digits", [1, 2])


def test_named_sets_and_folders_are_handed_on(monkeypatch, tmp_path):
    seen = []
    named = types.ModuleType("lamina.data.named")
    named.load_named = lambda name: seen.append(name) or load("xor")
    monkeypatch.setitem(sys.modules, "lamina.data.named", named)
    corpora = types.ModuleType("lamina.data.text.corpora")
    corpora.LOADERS = {name: lambda name=name: seen.append(name) or load("xor") for name in NAMED[3:]}
    monkeypatch.setitem(sys.modules, "lamina.data.text.corpora", corpora)
    for name in NAMED:
        load(name)
    assert seen == list(NAMED) and NAMED[:3] == ("mnist", "fashion-mnist", "cifar10")


def test_a_folder_of_pictures(tmp_path):
    folder = tmp_path / "größe mit leerzeichen"
    for label, value in (("hell", 250), ("dunkel", 5)):
        (folder / label).mkdir(parents=True)
        for i in range(2):
            Image.new("L", (4, 4), value + i).save(folder / label / f"{i}.png")
    data = load(folder)
    assert data.spec.classes == ("dunkel", "hell") and data.targets.tolist() == [0, 0, 1, 1]
    assert load(str(folder)).spec.inputs == (1, 4, 4)


def test_a_table_by_path_and_a_file_of_no_use(tmp_path):
    path = tmp_path / "my täble.csv"
    path.write_text("x;kind\n1;a\n2;b\n3;a\n", encoding="utf-8")
    data = load(path, delimiter=";")
    assert data.spec.classes == ("a", "b") and load(str(path), target="x").spec.target == "x"
    with pytest.raises(DataError, match="a table has no option 'targt': it has target, task, group, weight"):
        load(path, targt="x")
    picture = tmp_path / "one.png"
    Image.new("L", (2, 2)).save(picture)
    with pytest.raises(
        DataError, match=r"one.png` is neither a folder nor a table .* a single picture is for `predict`"
    ):
        load(picture)


def test_home_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    Path(tmp_path, "t.csv").write_text("x,y\n1,a\n2,b\n")
    assert len(load("~/t.csv")) == 2


def test_a_dataset_passes_and_anything_else_is_refused():
    data = load("iris")
    assert load(data) is data
    with pytest.raises(
        DataError, match=r"`what` must be a name, a path, a DataFrame or another table, a pair of arrays .*, got int"
    ):
        load(7)
    with pytest.raises(DataError, match=r"`what` must be a name, a path, a DataFrame .*, got ndarray"):
        load(np.zeros(3))


def test_a_tensor_dataset_is_resident():
    data = load(TensorDataset(torch.arange(8.0).reshape(4, 2), torch.tensor([0, 1, 1, 0])))
    assert isinstance(data, ArrayDataset) and data.inputs[3].tolist() == [6, 7]
