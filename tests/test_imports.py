"""No module imports itself through others; where an import inside a function hides such a cycle, the list says why."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("imports", Path(__file__).parents[1] / "tools" / "imports.py")
imports = importlib.util.module_from_spec(_spec)
sys.modules["imports"] = imports  # a dataclass looks its module up
_spec.loader.exec_module(imports)

BREAKERS = {
    "lamina.data.dataset -> lamina.data.describe": "`describe` is a method of every dataset and needs all their kinds",
    "lamina.data.dataset -> lamina.data.splits": "`split` is a method of every dataset and makes subsets of it",
    "lamina.data.tables -> lamina.data.large": "one reads both, and a large table decides about columns as a small one",
    "lamina.data.text.descriptions -> lamina.data.load": "the digits with their words are the digits that `load` reads",
    "lamina.drawing.scene -> lamina.drawing.svg": "a notebook asks a scene for its SVG",
    "lamina.studies.samplers -> lamina.studies.tpe": "a sampler is read back by its name, and TPE is a sampler",
}
"""Late imports that break a cycle, and why there is one. A new one fails the test: move what both need below both."""


@pytest.fixture(scope="module")
def found():
    return imports.imports()


def test_no_module_imports_itself_through_others(found):
    assert imports.knots(imports.graph(one for one in found if not one.late)) == []


def test_late_imports_that_break_a_cycle_are_those_of_the_list(found):
    assert list(map(str, imports.breakers(found))) == list(BREAKERS)
    assert len(imports.knots(imports.graph(found))) <= 5


def test_the_files_of_the_library_are_read(found):
    pairs = {str(one): one for one in found}
    assert not pairs["lamina.training.fit -> lamina.training.run"].late
    assert pairs["lamina.cli._train -> lamina.training.fit"].late
    assert "lamina -> lamina.training.fit" not in pairs  # only for the type checker
    assert "lamina.layers" in imports.modules() and "lamina.layers.cells" in imports.modules()


def package(home: Path, **files: str) -> Path:
    for name, text in files.items():
        path = home / "toy" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return home / "toy"


def test_a_toy_package_by_hand(tmp_path):
    home = package(
        tmp_path,
        a="from toy import b\nimport json",
        b="from .inner.c import f",
        inner__c="from ..a import f\nif TYPE_CHECKING:\n    import toy.e\nelse:\n    import toy.d",
        d="def f():\n    import toy.e",
        e="class E:\n    from toy.d import f\n    async def g(self):\n        from toy import d, a",
    )
    found = imports.imports(home)
    assert [(str(one), one.late, one.line) for one in found] == [
        ("toy.a -> toy.b", False, 1),
        ("toy.b -> toy.inner.c", False, 1),
        ("toy.d -> toy.e", True, 2),
        ("toy.e -> toy.a", True, 4),
        ("toy.e -> toy.d", False, 2),
        ("toy.inner.c -> toy.a", False, 1),
        ("toy.inner.c -> toy.d", False, 5),
    ]
    assert imports.knots(imports.graph(one for one in found if not one.late)) == [["toy.a", "toy.b", "toy.inner.c"]]
    assert imports.knots(imports.graph(found)) == [["toy.a", "toy.b", "toy.d", "toy.e", "toy.inner.c"]]
    assert list(map(str, imports.breakers(found))) == ["toy.d -> toy.e"]
    assert imports.reached(imports.graph(found), "toy.d") == {"toy.a", "toy.b", "toy.d", "toy.e", "toy.inner.c"}


def test_two_modules_that_import_each_other_late_are_a_knot_without_a_breaker(tmp_path):
    home = package(tmp_path, a="def f():\n    from toy.b import g", b="def g():\n    from toy.a import f")
    found = imports.imports(home)
    assert imports.breakers(found) == [] and imports.knots(imports.graph(found)) == [["toy.a", "toy.b"]]


def test_it_prints(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["imports.py", "--json"])
    imports.main()
    said = json.loads(capsys.readouterr().out)
    assert said["knots"] == [] and said["breakers"] == list(BREAKERS) and said["late"] > len(BREAKERS)
    monkeypatch.setattr(sys, "argv", ["imports.py"])
    imports.main()
    out = capsys.readouterr().out
    assert out.startswith("0 knots of modules that import each other at the head of files\n")
    assert f"{len(BREAKERS)} of {said['late']} late imports break a cycle\n" in out
