"""Every module has a test file of its name: `src/lamina/data/_cells.py` has `tests/data/test_cells.py`."""

from pathlib import Path, PurePath

import pytest

TESTS = Path(__file__).parent
HOME = TESTS.parent / "src" / "lamina"
LEFT_OUT = {
    "__init__.py": "says what a package is and gives names on",
    "__main__.py": "calls the command line, which tests/cli types",
    "_types.py": "names types only",
    "page.py": "a notebook, which tests/browser visits",
}
"""Names of files that need no test file of their own, with the reason."""


def wanted(module: PurePath) -> PurePath:
    """Give the test file of a module, both relative to their homes."""
    return module.parent / f"test_{module.name.lstrip('_')}"


def missing(home: Path, tests: Path) -> list[str]:
    """List the modules below `home` that have no test file of their name below `tests`."""
    modules = [path.relative_to(home) for path in sorted(home.rglob("*.py")) if path.name not in LEFT_OUT]
    return [module.as_posix() for module in modules if not (tests / wanted(module)).is_file()]


@pytest.mark.parametrize(
    ("module", "test"),
    [("_walk.py", "test_walk.py"), ("data/text/words.py", "data/text/test_words.py")],
)
def test_a_leading_underscore_is_left_out(module, test):
    assert wanted(PurePath(module)).as_posix() == test


def test_a_module_without_a_test_file_is_found(tmp_path):
    for name in ("src/a.py", "src/b/_c.py", "src/b/__init__.py", "src/b/d.py", "tests/test_a.py", "tests/b/test_c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert missing(tmp_path / "src", tmp_path / "tests") == ["b/d.py"]


def test_every_module_has_a_test_file_of_its_name():
    assert missing(HOME, TESTS) == []


def test_what_is_left_out_is_there():
    assert {name for name in LEFT_OUT if not any(HOME.rglob(name))} == set()
