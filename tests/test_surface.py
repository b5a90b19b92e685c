"""The tool that counts public names, on a tree small enough to count by hand and on the library."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("surface", ROOT / "tools" / "surface.py")
surface = importlib.util.module_from_spec(_spec)
sys.modules["surface"] = surface  # a dataclass looks its module up
_spec.loader.exec_module(surface)

TREE = {
    "src/toy/__init__.py": "from toy.low.sums import add as add\n",
    "src/toy/_hidden.py": "def never(): ...\n",
    "src/toy/low/__init__.py": "from toy.low.sums import Twice as Twice\n",
    "src/toy/low/sums.py": (
        "VALUE = 1\ndef add(): ...\nclass Twice: ...\ndef _private(): ...\nasync def later(): ...\n"
        "def inner():\n    def deep(): ...\n    return later()\n"
        "def lonely(): ...\ndef tested(): ...\ndef by_name(): ...\n"
    ),
    "src/toy/low/more.py": "from toy.low import sums\nx = sums.inner()\ndef show(): ...\ndef add_up(): ...\n",
    "src/toy/high/work.py": (
        "import torch\nfrom toy.low import more as m\nm.add_up()\nlonely = torch.lonely\ndef show(): show()\n"
    ),
    "src/toy/high/verbs.py": "@app.command()\ndef go(): ...\n@cache\ndef stay(): ...\n",
    "src/toy/high/page.py": "import marimo\napp = marimo.App()\ndef cell(): ...\n",
    "src/toy/high/_inner/part.py": "def never(): ...\n",
    "tests/test_sums.py": "import toy.low.sums\ntoy.low.sums.tested()\nsetattr(toy.low.sums, 'by_name', 1)\n",
    "docs/page.md": "Twice `stay` and lonely and\n```python\nfrom toy.low.more import show\n```\n",
}
"""What each line must count as stands in the test below."""


@pytest.fixture
def tree(tmp_path):
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_toy_tree_by_hand(tree):
    assert {str(one): one.used for one in surface.surface(tree, "toy")} == {
        "high.verbs.go": "module",  # its decorator registers it
        "high.verbs.stay": "docs",
        "high.work.show": "module",  # the page names another `show`
        "low.more.add_up": "packages",
        "low.more.show": "docs",
        "low.sums.Twice+": "nowhere",  # prose is no use, and neither is an export
        "low.sums.add": "packages",  # the root exports it
        "low.sums.by_name": "tests",
        "low.sums.inner": "package",
        "low.sums.later": "module",
        "low.sums.lonely": "nowhere",  # a variable or something of torch by that name is no use
        "low.sums.tested": "tests",
    }


def test_the_table_adds_up(tree):
    lines = [line.split() for line in surface.table(surface.surface(tree, "toy")).splitlines()]
    assert lines == [
        ["package", "public", *surface.CLASSES],
        ["high", "3", "0", "1", "0", "0", "2", "0"],
        ["low", "9", "2", "1", "2", "1", "1", "2"],
        ["all", "12", "2", "2", "2", "1", "3", "2"],
    ]


def test_the_library(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["surface.py", "--json"])
    surface.main()
    found = json.loads(capsys.readouterr().out)
    assert found["lamina.training.fit.fit"] == found["lamina.functional.recurrent.gru_step"] == "packages"
    monkeypatch.setattr(sys, "argv", ["surface.py", "--only", "layers"])
    surface.main()
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["package", "public", *surface.CLASSES]
    total = next(line.split() for line in out if line.startswith("all "))
    assert int(total[1]) == len(found) and list(map(int, total[2:])) == [
        sum(used == one for used in found.values()) for one in surface.CLASSES
    ]
    assert "layers" in out and "training" not in out
