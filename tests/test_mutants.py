"""The mutation tester on a toy whose verdicts are known, and the committed record of its last run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import mutants  # noqa: E402

sys.path.remove(str(ROOT / "tools"))

TOY = "def scaled(u, factor=2):\n    return factor * u if u > 0 else 0\n"
RUN = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import mutants
root = mutants.CACHE = Path.cwd()
tests = ["test_toy.py::test_scaled"]
patience = lambda text: 5 if "iter" in text else 100  # a loaded machine may be slow to start
print(json.dumps([mutants.judge("toy.py", text, tests, {}, root, patience(text)) for text in json.loads(sys.argv[2])]))
"""


@pytest.mark.posix
def test_verdicts_on_a_toy(tmp_path):
    """3 * 2 tells a product from a sum, but not `u > 0` from `u >= 0`; what does not end or import is noticed."""
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "test_toy.py").write_text(
        "from toy import scaled\n\n\ndef test_scaled():\n    assert scaled(3) == 6 and scaled(-1) == 0\n"
    )
    texts = [
        TOY,
        TOY.replace("u > 0", "u >= 0"),
        TOY.replace("factor * u", "factor + u"),
        TOY.replace("else 0", "else next(k for k in iter(int, 1) if k)"),
        TOY.replace("factor=2", "factor=missing"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(ROOT / "tools"), json.dumps(texts)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        ["survived", "1 tests passed"],
        ["survived", "1 tests passed"],
        ["killed", "test_toy.py::test_scaled"],
        ["killed", "silent for 5 s"],
        ["killed", "test_toy.py (import)"],
    ]
    assert (tmp_path / "toy.py").read_text() == TOY


def test_nothing_is_changed_in_annotations_unions_and_messages():
    source = """State = int | str
def f(u: int | None = 1 + 2, *, v: int | None = 4, **w: int) -> int | None:
    for _ in zip([5], [6], strict=True):
        raise ValueError(f"{u - 7}")
    return 8
"""
    spans = mutants.forbidden(source)
    free = [c for i, line in enumerate(source.splitlines(), 1) for j, c in enumerate(line)
            if c in "|+*-12345678T" and not any(a <= (i, j) < b for a, b in spans)]  # fmt: skip
    assert "".join(free) == "1+24568"


def test_the_tests_of_a_line_are_those_of_its_statement_its_function_or_its_file():
    source = "A = 1\n\n\ndef f(u=2):\n    v = (\n        u + 1\n    )\n    return v\n\n\ndef g():\n    return A\n"
    lines = {1: {"first import"}, 4: {"first import"}, 5: {"a"}, 6: {"b"}, 8: {"c"}, 12: {"d"}}
    found = [mutants.covering(line, source, lines) - {mutants.SIGNATURES} for line in (6, 8, 4, 1)]
    assert found == [{"a", "b"}, {"c"}, {"a", "b", "c"}, {"a", "b", "c", "d"}]


def test_own_tests_come_first_then_the_quick_ones():
    seconds = {"tests/b.py::x": 2.0, "tests/c.py::x": 1.0, "tests/layers/test_rbf.py::x": 9.0}
    found = mutants.ordered(set(seconds), "src/lamina/layers/rbf.py", seconds)
    assert found == ["tests/layers/test_rbf.py::x", "tests/c.py::x", "tests/b.py::x"]


def test_equivalent_mutants_leave_the_denominator():
    rows = [{"group": "a", "verdict": "killed"}] * 2 + [
        {"group": "b", "verdict": v} for v in ("survived", "equivalent")
    ]
    counts = mutants.summary(rows)
    assert counts["a"] == {"sampled": 2, "killed": 2, "survived": 0, "equivalent": 0, "share": 1.0}
    assert counts["all"] == {"sampled": 4, "killed": 2, "survived": 1, "equivalent": 1, "share": 0.6667}


def test_the_record_reaches_its_bar():
    record = json.loads((ROOT / "benchmarks/records/mutants.json").read_text(encoding="utf-8"))
    shares = {group: counts["share"] for group, counts in record["summary"].items()}
    assert record["summary"] == mutants.summary(record["mutants"]) and shares.keys() == {*mutants.GROUPS, "all"}
    assert len(record["mutants"]) >= 300 and shares["all"] >= 0.9
    assert min(shares[group] for group in ("functional", "layers", "classical")) >= 0.95
    known = {(e["file"], e["before"], e["after"]): e["reason"] for e in mutants.equivalents()}
    for row in record["mutants"]:
        if row["verdict"] == "equivalent":
            assert row["by"] == known[row["file"], row["before"], row["after"]]
    assert all(len(reason) > 20 for reason in known.values())
