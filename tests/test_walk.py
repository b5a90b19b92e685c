"""The tracer that counts through how many files a command goes."""

import importlib.util
import sys
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("walk", Path(__file__).parents[1] / "tools" / "walk.py")
walk = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(walk)


def test_files_and_hops_of_a_short_way():
    found = walk.walk(["catalogue", "N5.32", "--json"])
    assert list(found.files) == ["cli/__init__.py", "cli/_lookup.py", "_catalogue.py"]
    assert found.files["cli/_lookup.py"] >= 1 and found.hops >= 2
    assert sys.getprofile() is None


def test_a_command_that_fails_is_named():
    with pytest.raises(SystemExit, match="catalogue zebra ended with 1"):
        walk.walk(["catalogue", "zebra"])
