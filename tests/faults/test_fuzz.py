"""Every parser meets inputs that are damaged or hostile; the record of a million is benchmarks/records/fuzz.json."""

import json
import re
from pathlib import Path

import pytest

import lamina
from faults.fuzzers import FUZZERS, Fuzzer, inputs, run
from faults.messages import VISITOR
from lamina._errors import ArgumentError, DataError, LaminaError, RunError
from lamina.cli._values import reading
from lamina.studies.space import Space
from lamina.studies.study import Study
from lamina.training.folder import blamed
from lamina.training.lines import as_line
from lamina.training.tasks.kinds import task_of, usable_task

pytestmark = pytest.mark.faults("hostile inputs")
FEW = {"CSV", "TSV", "Parquet", "Excel", "series", "texts", "running text", "preprocess"}
"""Parsers of which an input takes more than ten milliseconds."""
SERVED = "page messages"
"""Needs a server."""


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("name", [name for name in FUZZERS if name != SERVED])
def test_no_input_traces_back_or_hangs(name, tmp_path):
    count = len(FUZZERS[name].seeds()) + (20 if name in FEW else 100)
    found = run(FUZZERS[name], tmp_path, inputs(FUZZERS[name], count, seed=7))
    assert found.inputs == count and found.read >= 1  # those that are valid
    assert not found.tracebacks and not found.hangs, found.tracebacks


@pytest.mark.slow
@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("name", FUZZERS)
def test_no_input_of_thousands_traces_back_or_hangs(name, tmp_path, request):
    request.addfinalizer(VISITOR.close)
    found = run(FUZZERS[name], tmp_path, inputs(FUZZERS[name], 500 if name in FEW else 5000, seed=8))
    assert not found.tracebacks and not found.hangs, found.tracebacks


def test_a_fuzzer_sees_tracebacks_refusals_and_what_is_slow(tmp_path):
    def parse(content: bytes, folder: Path) -> object:
        if content == b"bad":
            raise RunError("no")
        return {b"good": 1}[content]

    found = run(Fuzzer(parse, list), tmp_path, iter([b"good", b"bad", b"longer", b"worse"]))
    assert (found.inputs, found.read, found.refused, found.traced, found.hangs) == (4, 1, 1, 2, 0)
    ((key, (shortest, text)),) = found.tracebacks.items()
    assert key.startswith("KeyError in test_fuzz.py:") and shortest == b"worse" and "KeyError: b'worse'" in text


def test_inputs_are_those_of_their_seed():
    fuzzer = FUZZERS["CSV"]
    first, again, other = (list(inputs(fuzzer, 40, seed)) for seed in (1, 1, 2))
    assert first == again != other and first[:2] == fuzzer.seeds() and len(set(first)) > 30


# The smallest input of each kind that once traced back


def test_a_series_of_nothing_but_moments(tmp_path):
    (tmp_path / "a.csv").write_text("day\n" + "".join(f"2024-01-{i:02d}\n" for i in range(1, 20)))
    with pytest.raises(DataError, match="has no column beside 'day', which names the moments: a series needs numbers"):
        lamina.load(tmp_path / "a.csv", window=4, delimiter=";")


@pytest.mark.parametrize("name", ["*", "^x.*$"])
def test_a_column_whose_name_stands_for_many(tmp_path, name):
    (tmp_path / "a.csv").write_text(f"{name},x,y\n" + "".join(f"{i},{i % 3},{'ab'[i % 2]}\n" for i in range(12)))
    with pytest.raises(
        DataError, match=f"has a column named {re.escape(repr(name))}, which stands for many columns: g"
    ):
        lamina.load(tmp_path / "a.csv")
    with pytest.raises(DataError, match="the table has a column named .*, which stands for many columns: give it anot"):
        lamina.load([{name: i, "y": i % 2} for i in range(12)], target="y")


TOLD = {"event": "result", "trial": 0, "values": {"x": 1}, "value": 0.5, "state": "finished"}


@pytest.mark.parametrize("event", [
    {"event": "result", "trial": 0}, {"event": "result", "trial": 0, "values": {}}, {**TOLD, "trial": None},
    {**TOLD, "trial": 1e999}, {**TOLD, "value": []}, {**TOLD, "tie": "a"}, {**TOLD, "state": 1.0},
])  # fmt: skip
def test_a_line_of_a_journal_that_lacks_something(tmp_path, event):
    home = Study.create(tmp_path / "s", {"x": [1, 2]}).folder
    (home / "journal.jsonl").write_text(as_line(event))
    with pytest.raises(RunError, match=r"journal.jsonl is damaged \(.*\): restore it from a copy"):
        Study.open(home)


@pytest.mark.parametrize(
    ("data", "name", "value", "why"),
    [
        ("iris", "mean", [0.0] * 5, "the length of `mean` must be 4, got 5"),
        ("iris", "std", [1.0], "the length of `std` must be 4, got 1"),
        ("iris", "fill", [], "the length of `fill` must be 4, got 0"),
        ("iris", "seen", [[]], "the length of `seen` must be 4, got 1"),
        ("moons", "mean", [], "the length of `mean` must be 2, got 0"),
        ("digits", "std", [0.0], "`std` has the value 0.0"),
        ("digits", "mean", [1e999], "`mean` has the value inf"),
        ("digits", "inputs", [1, 0, 8], r"shape '\[-1, 1, 0, 8\]' is invalid for input of size 64"),
        (
            "digits",
            "kept",
            [1, 8, 2**31],
            r"an example must have at most 268435456 numbers, .* kept as \(1, 8, 2147483648\), and 10 outputs",
        ),
        ("linear", "target_std", [1.0, 1.0], "the length of `target_std` must be 1, got 2"),
        ("linear", "target_mean", ["a"], "must be real number, not str|Type-check error.*"),
    ],
)
def test_a_preparation_that_does_not_fit_its_data(data, name, value, why):
    values = json.loads(json.dumps(task_of(lamina.load(data)).preprocess.as_dict()))
    usable_task(values)
    values[name] = value
    sentence = rf"^preprocess.json is damaged \((?:{why})\): restore it from a copy, or train again"
    with pytest.raises(RunError, match=sentence), blamed(Path("preprocess.json")):
        usable_task(values)


@pytest.mark.parametrize("text", ["0:.1..0.9:3", "1..5:²", "1..5:" + 5000 * "9"])
def test_a_range_that_is_written_in_another_way(text):
    with pytest.raises(
        ArgumentError, match=r"`y`: a range is written low\.\.high, low\.\.high:log or low\.\.high:log:5"
    ):
        Space.read([f"y={text}"])


def test_a_carriage_return_in_a_list():
    assert reading(["drop=a,\rb"], "a.csv")["drop"] in (("a", "b"), ["a", "b"])


def test_a_damaged_parquet_file_that_makes_polars_panic(tmp_path, capfd):
    content = FUZZERS["Parquet"].seeds()[1]
    for place in range(len(content) - 300, len(content), 3):
        (tmp_path / "a.parquet").write_bytes(content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :])
        try:
            lamina.load(tmp_path / "a.parquet")
        except LaminaError:
            pass
    capfd.readouterr()  # polars prints its panics
