"""The table of results: every row can be typed, and every record is that of its row."""

import importlib.util
import json
import shlex
import statistics
from pathlib import Path

import pytest

from lamina.cli._values import settings, shares
from lamina.training.plan import check_options, option_types

ROOT = Path(__file__).parent.parent
spec = importlib.util.spec_from_file_location("results", ROOT / "tools/results.py")
assert spec is not None and spec.loader is not None
results = importlib.util.module_from_spec(spec)
spec.loader.exec_module(results)
ROWS, COMPARISONS = results.rows(), results.rows("comparison")


@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_a_command_that_can_be_typed(name):
    command, architecture, *words = results.words(ROWS[name], seed=3, out="run")
    options = list(zip(words[:-1:2], words[1::2], strict=True))
    given = dict(options)
    assert command == "train" and words[-1] == "--json" and given["--seed"] == "3"
    chosen = settings([value for flag, value in options if flag == "--set"], option_types(architecture))
    check_options(architecture, chosen, int(given["--epochs"]), 3)
    assert sum(shares(given["--split"])) > 0


@pytest.mark.parametrize("name", ROWS)
def test_a_record_is_that_of_its_row_and_its_numbers_follow_from_its_runs(name):
    found, row = json.loads((ROOT / f"results/records/{name}.json").read_text()), ROWS[name]
    assert found["command"] == row["command"] and found["n"] == row["seeds"] == len(found["runs"])
    assert [run["seed"] for run in found["runs"]] == list(range(row["seeds"]))
    share = statistics.mean(run["accuracy"] for run in found["runs"])
    assert found["mean"] == pytest.approx(100 * (1 - share if row["shows"] == "error" else share))
    assert found["seconds"] == statistics.median(run["seconds"] for run in found["runs"])


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_is_one_population_and_its_record_has_every_seed(name):
    row = COMPARISONS[name]
    found = json.loads((ROOT / f"results/records/{name}.json").read_text())
    program, command, architecture, axis, *words = shlex.split(row["command"])
    options = list(zip(words[::2], words[1::2], strict=True))
    given = dict(options)
    assert (program, command, given["--seeds"], found["command"]) == ("lamina", "search", "10", row["command"])
    chosen = settings([value for flag, value in options if flag == "--set"], option_types(architecture))
    check_options(architecture, chosen, int(given["--epochs"]), 0)
    choice, _, values = axis.partition("=")
    assert [str(each["values"][choice]) for each in found["rows"]] == values.split(",")
    assert all(len(each["scores"]) == 10 and 0.0 < min(each["scores"]) for each in found["rows"])


def test_a_comparison_reads_its_numbers_from_the_journal_of_its_study():
    command = "lamina search fnn hidden=2,8 --data xor --epochs 2 --seeds 3"
    found = results.compare({"name": "xor", "command": command})
    assert [each["values"] for each in found["rows"]] == [{"hidden": 2}, {"hidden": 8}]
    assert [len(each["scores"]) for each in found["rows"]] == [3, 3] and 0 <= found["test"]["accuracy"] <= 1


def test_a_row_is_measured_in_processes_of_its_own(tmp_path):
    row = {
        "name": "digits", "shows": "error",
        "command": "lamina train fnn --data digits --epochs 2 --device cpu --set hidden=16 --set check_every=2",
    }  # fmt: skip
    found = results.record(row, [results.measure(row, seed) for seed in (0, 1)])
    assert found["n"] == 2 and found["mean"] == pytest.approx(
        50 * sum(1 - run["accuracy"] for run in found["runs"]), abs=1e-9
    )
    assert found["device"] == "cpu" and found["runs"][0]["accuracy"] != found["runs"][1]["accuracy"]
    assert 0 < found["training"] < found["seconds"] and found["joules"] is None


def test_joules_are_the_integral_of_watts():
    power = results.Power()
    power.watts = [(0.0, 100.0), (1.0, 300.0), (3.0, 300.0)]
    assert power.joules == 200.0 + 600.0
    power.watts = []
    assert power.joules is None
