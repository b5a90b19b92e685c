"""`lamina plan` as it is typed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GIVEN = ("plan", "fnn", "--data", "iris", "--set", "batch_size=16", "--set", "hidden=8", "--epochs", "2",
         "--device", "cpu", "--step-time", "16=0.2", "--step-time", "8=0.12", "--step-time", "4=0.11")  # fmt: skip


@pytest.fixture(autouse=True)
def four_cores(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 4)


def test_timings_that_are_given_become_a_table(typed):
    code, out, err = typed(*GIVEN, "--gpus", "4", "--gpus-per-node", "4", "--latency-inside", "1000",
                           "--bandwidth-inside", "0.001", "--price", "9", "-o", "plan.svg")  # fmt: skip
    assert (code, err) == (0, "")
    head, one, two, four, *rest = (line.split("\t") for line in out.splitlines())
    assert head == ["ranks", "batch", "update", "examples/s", "efficiency", "epoch", "run", "cost"]
    assert one == ["1", "16", "200 ms", "80", "100%", "1.32 s", "2.63 s", "0.01"]  # the last update has 6 examples
    assert two[:3] == ["2 *", "8", "122 ms"]  # 2 messages of 1 ms, and 67 parameters in 0.3 ms
    assert four[1] == "4" and float(four[4][:-1]) < 60
    said = "\n".join(line[0] for line in rest)
    assert "fnn, iris: 16 examples per update, 7 updates per epoch, 2 epochs;" in said
    assert "recommended: 2 ranks (*), the most with an efficiency of at least 50%; a run takes 1.69 s" in said
    assert "more than half of computing is overhead" in said and "0 failures each" in said
    assert "from the timings given" in said and "drawn to plan.svg" in said
    assert "assumed: between nodes" in said and "assumed: no failures" in said and "assumed: within" not in said
    assert "<svg" in Path("plan.svg").read_text()


def test_a_plan_for_gpus_is_made_without_one(typed):
    words = [word for word in GIVEN if word not in ("--device", "cpu")]
    code, out, _ = typed(*words, "--gpus", "64", "--mtbf", "2", "--checkpoint", "1", "--json")
    found = json.loads(out)
    assert code == 0 and [row["ranks"] for row in found["rows"]] == [1, 2, 4, 8, 16, 32, 64]
    assert found["cluster"]["per_node"] == 8 and found["cluster"]["inside"]["bandwidth"] == 450e9
    assert found["cluster"]["mtbf"] == 2 and found["recommended"] == 2 and found["drawing"] is None
    assert [said.split()[0] for said in found["assumed"]] == ["within", "between"]
    assert found["notes"][0].startswith("A batch of 16 examples leaves ranks beyond 16 without any")
    assert typed(*words, "--gpus", "64", "-q")[1] == "2\n"


def test_failures_suggest_when_to_write_a_checkpoint(typed):
    code, out, _ = typed(*GIVEN, "--gpus", "2", "--mtbf", "0.01", "--checkpoint", "0.05", "--restart", "1")
    # the square root of 2 * 0.05 s * 18 s, less a little
    assert code == 0 and "checkpoints: one takes 50 ms; one every 1.3" in out.replace("1.29", "1.3")


def test_the_docs_show_what_is_printed(typed):
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^lamina (plan resnet18-cifar .*)$", page, re.MULTILINE)
    shown = page.split("\nprints\n\n```\n")[1].split("```")[0]
    code, out, _ = typed(*line.split(), "-o", "plan.svg")
    assert code == 0 and out.replace("drawn to plan.svg", "").split() == shown.split()
    drawn = Path(__file__).parents[2] / "docs" / "figures" / "plan.svg"
    assert Path("plan.svg").read_text(encoding="utf-8") == drawn.read_text(encoding="utf-8")


def test_measured_on_this_machine(typed):
    code, out, err = typed("plan", "fnn", "--data", "iris", "--ranks", "2", "--device", "cpu", "--seconds", "0.1")
    assert (code, err) == (0, "") and out.startswith("measuring updates of fnn on the CPU, for about 0.1 s\n")
    assert "measured on the CPU, 1 thread" in out and "gloo was measured" in out and "For GPUs" not in out
    _, out, _ = typed("plan", "fnn", "--data", "iris", "--gpus", "8", "--device", "cpu", "--seconds", "0.1")
    assert "All ranks are CPUs like this one. For GPUs, give the time of an update on one by --step-time." in out


def test_help_names_every_option_in_80_columns():
    done = subprocess.run(
        [sys.executable, "-m", "lamina", "plan", "--help"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "80", "PYTHONUTF8": "1"},
    )
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80
    for option in ("--gpus", "--step-time", "--bandwidth", "--latency", "--mtbf", "--price", "--overlap"):
        assert option in done.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--gpus", "0"), "`--gpus` must be a whole number from 1 to 1000000, got 0."),
        (("--step-time", "x"), "`--step-time` must be a number of examples and the seconds of an update with them"),
        (("--step-time", "4=-1"), "such as 128=0.02, got '4=-1'."),
        (("--bandwidth", "0"), "`--bandwidth` must be a number greater than 0, got 0."),
        (("--latency", "-1"), "`--latency` must be a number of at least 0, got -1."),
        (("--bandwidth-inside", "-1"), "`--bandwidth-inside` must be a number greater than 0, got -1."),
        (("--reading", "0"), "`--reading` must be a number greater than 0, got 0."),
        (("--overlap", "2"), "`--overlap` must be a number from 0 to 1, got 2."),
        (("--batch-norm", "none"), "`batch_norm` must be one of 'global', 'local', got 'none'."),
        (("--mtbf", "0"), "`--mtbf` must be a number greater than 0, got 0."),
        (("--examples", "3"), "`examples` must be at least the batch (16), got 3"),
        (("-o", "plan.gif"), "must end in one of .svg"),
        (("--set", "hiden=3"), "did you mean 'hidden'?"),
    ],
)
def test_bad_input_gets_a_sentence(typed, words, sentence):
    code, out, err = typed(*GIVEN, *words)
    assert code == 2 and out == "" and sentence in err and err.count("\n") == 1


def test_too_many_failures_are_refused(typed):
    code, _, err = typed(*GIVEN, "--gpus", "2", "--mtbf", "1e-9", "--checkpoint", "1")
    assert code == 2 and "is too short: a failure comes about every" in err
