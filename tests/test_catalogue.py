"""The catalogue is complete and true: every id of the notes has code and a test, or is on the pending list."""

import importlib.util
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from lamina._catalogue import errata, items

ROOT = Path(__file__).resolve().parent.parent
_spec = importlib.util.spec_from_file_location("catalogue_tool", ROOT / "tools/catalogue.py")
tool = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tool)
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


def test_all_77_errata_have_words_code_rows_and_a_page():
    assert list(errata()) == [f"E{number:02d}" for number in range(1, 78)]
    for slip in errata().values():
        assert slip.title and slip.code and slip.rows and slip.page, slip
        assert set(slip.kind.split(", ")) <= {"wrong", "too strong", "open", "PyTorch differs"}, slip
        assert all(re.fullmatch(r"[A-Z`].{15,}\.", words) for words in (slip.says, slip.right)), slip
        assert set(slip.rows) <= set(items()), slip


def test_an_erratum_without_code_or_page_is_reported():
    bare = replace(errata()["E70"], code=(), page=(), rows=("N9.99",))
    assert [words for words in tool.problems(items(), errata() | {"E70": bare}) if words.startswith("E70")] == [
        "E70 (The cell state of the LSTM) has no code: name it under `Corrects:`",
        "E70 (The cell state of the LSTM) has no page: link /errata#E70 there",
        "E70 belongs to N9.99, which is not in the catalogue",
    ]
    without = {key: slip for key, slip in errata().items() if key != "E70"}
    assert "lamina.functional.recurrent:lstm_step cites E70, which is not in the catalogue" in tool.problems(
        items(), without
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Do it.\n\nCorrects: E61, E69, the mappings.\n", ["E61", "E69"]),
        ("Corrects: E70, the old state c, not the candidate; E64.\nDiffers: torch has two\n    biases (E61).\n",
         ["E70", "E64", "E61"]),
        ("Corrects: E15, K steps; E76, a small\n    gradient.\nArgs:\n    x: not E01.\n", ["E15", "E76"]),
        ("Corrects: E15, K steps.\n\nNot E01.\n>>> f(E02)", ["E15"]),
        ("E01 is named in passing.", []),
    ],
)  # fmt: skip
def test_errata_are_read_from_docstrings(text, found):
    assert tool.corrected(text) == found


def test_the_readable_function_comes_before_its_kernels_in_every_row():
    for row in (*items().values(), *errata().values()):
        fast = [bool(tool.FAST.search(name.partition(":")[0])) for name in row.code]
        assert fast == sorted(fast), row
        functions = [name for name in row.code if name.startswith("lamina.functional")]
        if functions and getattr(row, "section", "") and row.kind in ("equation", "algorithm", "definition"):
            assert row.code[0] == functions[0], row
    assert items()["N5.32"].code[0] == "lamina.functional.recurrent:gru_step"
    assert items()["N1.31"].code[-1] == "lamina.kernels.kmeans:lloyd"
    names = [f"lamina.{name}:f" for name in ("kernels.gru_cuda", "layers.fused", "functional.recurrent")]
    assert tool.in_order(names)[0] == "lamina.functional.recurrent:f"


def test_pages_link_the_slips_they_talk_about():
    for slip in errata().values():
        shown = {page for key in slip.rows for page in items()[key].page}
        assert shown & set(slip.page), (slip.id, slip.page, shown)
