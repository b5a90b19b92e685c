"""The table at the head of the package: every kernel, what it serves, who chooses it, which test binds it."""

import importlib
import re
from pathlib import Path

import lamina.kernels

HOME, TESTS = Path(lamina.kernels.__file__).parent, Path(__file__).parents[1]
TEXT = lamina.kernels.__doc__
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in TEXT.splitlines() if line.startswith("| `")]
SHARED = {"loading", "native", "_nvrtc"}


def names(cell):
    return re.findall(r"`([\w./]+)`", cell)


def test_every_module_is_in_the_table_once():
    listed = [name for row in ROWS for name in names(row[0])]
    assert sorted(listed) == sorted({path.stem for path in HOME.glob("*.py")} - SHARED - {"__init__"})
    assert all(f"`{name}`" in TEXT for name in SHARED)


def test_every_text_is_compiled_by_a_module_or_included():
    read = "".join(path.read_text() for path in [*HOME.glob("*.py"), *HOME.glob("*.cu"), *HOME.glob("*.cpp")])
    texts = [path.name for pattern in ("*.cu", "*.cpp") for path in HOME.glob(pattern)]
    assert len(texts) >= 10 and [name for name in texts if f'"{name}"' not in read] == []


def test_every_kernel_has_a_readable_form_a_caller_and_a_test():
    for modules, serves, chosen, bound in ROWS:
        first = names(modules)[0]
        for name in names(serves):
            if "." in name:
                module, _, attribute = f"lamina.{name}".rpartition(".")
                assert hasattr(importlib.import_module(module), attribute), name
        for caller in names(chosen):
            source = (HOME.parent / f"{caller.replace('.', '/')}.py").read_text()
            assert re.search(rf"kernels(\.| import .*\b){first}\b", source), (first, caller)
        assert names(bound), first
        for test in names(bound):
            assert "def test_" in (TESTS / f"{test}.py").read_text(), test
