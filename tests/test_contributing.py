"""The worked example of CONTRIBUTING.md is followed: a file, a row, a test; then the new cell trains and resumes."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
import torch

import lamina
from lamina._errors import DataWarning
from lamina.layers import cells
from lamina.populations.stacked import _stack_modules

TEXT = (Path(__file__).resolve().parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^```python\n# (\S+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))


@pytest.fixture
def followed(tmp_path, monkeypatch):
    """Write the new module, put the new row into the table, and take both away afterwards."""
    file, row, _ = BLOCKS
    name = ".".join(Path(file).with_suffix("").parts[1:])
    (tmp_path / "mgu.py").write_text(BLOCKS[file])
    spec = importlib.util.spec_from_file_location(name, tmp_path / "mgu.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    names = {**vars(cells), "MGUCell": module.MGUCell}
    assert Path(row).stem == "cells"
    exec(compile(BLOCKS[row], row, "exec"), names)
    assert {key: names["CELLS"][key] for key in cells.CELLS} == cells.CELLS, "CONTRIBUTING.md shows another table"
    monkeypatch.setitem(cells.CELLS, "mgu", names["CELLS"]["mgu"])
    return module


def test_the_three_steps_are_there():
    assert list(BLOCKS) == ["src/lamina/layers/mgu.py", "src/lamina/layers/cells.py", "tests/layers/test_mgu.py"]


def test_the_test_of_the_example_passes_and_can_fail(followed, monkeypatch):
    names = {}
    exec(compile(BLOCKS["tests/layers/test_mgu.py"], "test_mgu.py", "exec"), names)
    names["test_one_step_by_hand"]()
    monkeypatch.setattr(followed.torch, "tanh", torch.sigmoid)
    with pytest.raises(AssertionError):
        names["test_one_step_by_hand"]()


def test_the_new_cell_trains_one_epoch_and_comes_back(followed, tmp_path):
    network = lamina.build("many-to-one", inputs=1, outputs=1, hidden=4, cell="mgu")
    assert isinstance(network.recurrent.cells[0], followed.MGUCell)
    before = network.recurrent.cells[0].weight.detach().clone()
    run = lamina.fit(network, lamina.load("wave", steps=120), lamina.Recipe(epochs=1), folder=tmp_path / "run")
    assert run.reason.name == "epochs" and not torch.equal(run.model.recurrent.cells[0].weight, before)
    again = lamina.Run.load(run.folder)
    assert again.evaluate().metrics == run.evaluate().metrics
    with pytest.raises(lamina.ArgumentError, match="`reset` is not an option of the cell 'mgu': only 'gru' has it"):
        lamina.build("many-to-one", inputs=1, outputs=1, cell="mgu", reset="after")


def test_the_new_cell_is_stacked_and_searched(followed, tmp_path):
    networks = [lamina.build("many-to-one", inputs=2, outputs=3, hidden=4, cell="mgu", seed=seed) for seed in range(3)]
    inputs = torch.randn(5, 7, 2, generator=torch.Generator().manual_seed(0))
    together = _stack_modules(networks)(inputs[:, None])
    for member, network in enumerate(networks):
        torch.testing.assert_close(together[:, member], network(inputs))
    data, options = lamina.load("wave", steps=120), {"cell": "mgu", "hidden": 4}
    space = {"learning_rate": [1e-3, 1e-2]}
    with pytest.warns(DataWarning, match=r"recurrent.cells.0 \(MGUCell\) is computed by vmap"):
        study = lamina.search("many-to-one", data, space, options=options, epochs=1, folder=tmp_path / "study")
    assert study.complete and len(study.results) == 2 and study.test["openings"] == 1


def test_nothing_of_it_is_left():
    assert "mgu" not in cells.CELLS and "lamina.layers.mgu" not in sys.modules
    with pytest.raises(lamina.ArgumentError, match="`cell` must be one of 'rnn', 'gru', 'lstm', got 'mgu'"):
        lamina.build("many-to-one", inputs=1, outputs=1, cell="mgu")


def test_what_the_table_names_exists():
    root = Path(__file__).resolve().parent.parent
    table = TEXT.split("| to add |")[1].split("\n\n")[0]
    for name in re.findall(r"`([\w/]+(?:/[\w.]+))`", table):
        assert (root / name).exists() or (root / "src/lamina" / name).exists(), name
