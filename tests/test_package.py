"""The package as a user meets it: what importing costs, what ships, what the metadata say."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import metadata
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest

import lamina

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def loaded_after(statement: str) -> set[str]:
    """Run a statement in a fresh interpreter and return the top-level modules it left loaded."""
    show = "print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    code = f"import sys; sys.argv = ['lamina']; {statement}\n{show}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "COLUMNS": "80"}
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import lamina",
        "import lamina; dir(lamina)",
        "from lamina.cli import app; app(['--help'], standalone_mode=False)",
        "from lamina.cli import app; app(['list'], standalone_mode=False)",
        "from lamina.cli import app; app(['list', '--json'], standalone_mode=False)",
        "from lamina.cli import app; app(['catalogue', 'N5.32'], standalone_mode=False)",
    ],
)
def test_looking_around_imports_no_torch(statement):
    assert not {"torch", "numpy", "jaxtyping"} & loaded_after(statement)


def test_public_names_resolve_and_unknown_ones_say_what_there_is():
    for name in lamina.__all__:
        assert getattr(lamina, name) is not None
    assert lamina.build("perceptron", inputs=3).config.inputs == 3
    with pytest.raises(AttributeError, match="no attribute 'biuld'; it has .*, build, "):
        lamina.biuld  # noqa: B018


def test_help_has_a_line_for_every_public_name():
    told = re.findall(r"^    (\w+) {2,}(\S.+)$", lamina.__doc__, re.MULTILINE)
    assert sorted(name for name, _ in told) == sorted({*lamina.__all__} - {"__version__"})
    assert len(lamina.__all__) <= 66
    for name, line in told:
        assert getattr(lamina, name).__doc__, name
        assert line[0].islower() and not line.endswith("."), line


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_use_the_top_surface_only(path):
    """An example imports `lamina` alone; what it takes from a package, the package exports."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    imported = {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    assert "lamina" in imported and not any(name.startswith("lamina.") for name in imported)
    assert not [n.module for n in nodes if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("lamina")]
    names = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
    for _, name, *inner in (words.split(".") for words in names if re.fullmatch(r"lamina(\.\w+)+", words)):
        assert name in lamina.__all__, name
        if inner and isinstance(found := getattr(lamina, name), ModuleType):
            assert inner[0] in vars(found), (name, inner)


def test_architectures_are_there_by_class_name():
    for name in lamina.architectures.__all__:
        assert getattr(lamina.architectures, name) is not None
    assert "FNN" in dir(lamina.architectures)
    with pytest.raises(AttributeError, match="no attribute 'LeNet6'"):
        lamina.architectures.LeNet6  # noqa: B018


def test_what_must_ship_ships():
    for name in ("py.typed", "catalogue.toml", "data/published.toml"):
        assert files("lamina").joinpath(name).is_file()
    assert lamina.__version__ == PROJECT["project"]["version"] == metadata("lamina-nn")["Version"]


def test_shapes_are_checked_while_testing():
    makefile = (ROOT / "Makefile").read_text()
    assert "--jaxtyping-packages=$(SHAPED)" in makefile and "$(L).functional," in makefile
    program = """
import jaxtyping
with jaxtyping.install_import_hook("lamina.functional", "shapes.check"):
    import lamina.functional
import torch
try:
    lamina.functional.rnn_step(torch.zeros(3), torch.zeros(4), torch.zeros(4, 8), torch.zeros(4))
except jaxtyping.TypeCheckError:
    raise SystemExit(7)
"""
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": path})
    assert done.returncode == 7


def test_the_metadata_name_the_distribution_and_its_pythons():
    about = metadata("lamina-nn")
    named = [line.rsplit(" ", 1)[1] for line in about.get_all("Classifier") if "Python :: 3." in line]
    assert named == ["3.11", "3.12", "3.13", "3.14"] and about["Requires-Python"] == f">={named[0]}"
    assert f"pip install {about['Name']}" in (ROOT / "README.md").read_text()
    extras = {*about.get_all("Provides-Extra")}
    texts = [
        path.read_text(encoding="utf-8") for path in (*(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py"))
    ]
    asked = {extra for text in texts for extra in re.findall(r"lamina-nn\[(\w+)\]", text)}
    assert {"heic", "notes", "search"} <= asked <= extras
    assert not [text for text in texts if re.search(r"pip install '?lamina\b(?!-nn)", text)]


def test_texts_agree_with_pyproject():
    readme, citation = (ROOT / "README.md").read_text(), (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^version: {re.escape(lamina.__version__)}$", citation, re.MULTILINE)
    assert (
        "Herberg" in citation and "Lecture Notes: Neural Network Architectures" in citation and "year: 2023" in citation
    )
    assert "Python " + PROJECT["project"]["requires-python"].replace(">=", "≥ ") in readme
    assert next(d for d in PROJECT["project"]["dependencies"] if d.startswith("torch")).removeprefix("torch") in readme
    assert f"## {lamina.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    release = (ROOT / ".github/workflows/release.yml").read_text()
    assert 'python: ["3.11", "3.12", "3.13", "3.14"]' in release and "run: .ci/run" in release


def test_make_help_lists_every_target():
    text = (ROOT / "Makefile").read_text()
    targets = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE).group(1).split()
    documented = re.findall(r"^([a-z-]+):.*## ", text, re.MULTILINE)
    assert sorted(targets) == sorted(documented)


def test_ruff_ignores_few_rules():
    assert len(PROJECT["tool"]["ruff"]["lint"]["ignore"]) <= 10
