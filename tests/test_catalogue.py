"""The catalogue is complete and true: every id of the notes has code and a test, or is on the pending list."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from lamina._catalogue import items

ROOT = Path(__file__).resolve().parent.parent
DONE_ISSUES = {1, 2, 3, 4, 5, 6, 7}
# These may only be lowered.
PENDING_AT_MOST = {"code": 0, "test": 0, "page": 0}


def test_all_rows_of_the_notes_are_there():
    assert Counter(key[:2] for key in items()) == {"N1": 83, "N2": 81, "N3": 58, "N4": 42, "N5": 49}
    assert list(items()) == sorted(items())
    for row in items().values():
        assert row.owner in range(1, 8) and row.title and row.place
        assert set(row.kind.split(", ")) <= {
            "definition",
            "equation",
            "algorithm",
            "example",
            "table",
            "figure",
            "claim",
            "remark",
            "experiment",
            "dataset",
        }, row


def test_columns_are_what_the_sources_say_and_nothing_is_missing():
    done = subprocess.run([sys.executable, ROOT / "tools/catalogue.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("part", ["code", "test", "page"])
def test_the_pending_list_only_shrinks(part):
    assert sum(part in row.pending for row in items().values()) <= PENDING_AT_MOST[part]


def test_issues_that_are_done_leave_only_pages_pending():
    left = {row.id: row.pending for row in items().values() if row.owner in DONE_ISSUES and set(row.pending) - {"page"}}
    assert not left
