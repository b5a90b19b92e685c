"""The `lamina` command as it is typed: output, JSON, exit codes."""

import json
import subprocess
import sys

import pytest

import lamina
from lamina.architectures.table import TABLE


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "lamina", *words], capture_output=True, text=True)


def test_version_and_help():
    assert run("--version").stdout == f"lamina {lamina.__version__}\n"
    help_ = run("--help")
    assert help_.returncode == 0 and "list" in help_.stdout and "catalogue" in help_.stdout


def test_list_is_plain_when_piped_and_json_on_demand():
    lines = run("list").stdout.splitlines()
    assert lines[0] == "name\tarchitecture\tnotes\tparameters"
    assert "lenet5\tLeNet-5 as in the notes\t§3, N3.07\t61,706" in lines
    rows = json.loads(run("list", "--json").stdout)
    assert {row["name"]: row["parameters"] for row in rows} == {e.name: e.parameters for e in TABLE.values()}


def test_catalogue_says_where_an_item_lives():
    out = run("catalogue", "N5.32").stdout
    assert out.startswith("N5.32  equation, §5.2.1, Gated Recurrent Unit\n")
    assert "code    lamina.functional.recurrent:gru_step" in out and "tests/functional/test_recurrent.py::" in out
    assert len(json.loads(run("catalogue", "N4", "--json").stdout)) == 42
    assert len(run("catalogue", "n4").stdout.splitlines()) == 43


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("catalogue", "N9.99"),
            "lamina: `ID` must be an id of the catalogue, N1.01 to N5.49 or E01 to E77, or words that occur in it, "
            "got 'N9.99'.\n",
        ),
        (
            ("errata", "E78"),
            "lamina: `ID` must be an erratum, E01 to E77, or words that occur in one, got 'E78'.\n",
        ),
    ],
)
def test_bad_input_ends_with_one_sentence_and_exit_code_2(words, sentence):
    done = run(*words)
    assert (done.returncode, done.stderr, done.stdout) == (2, sentence, "")


def test_unknown_commands_exit_with_2():
    assert run("trian").returncode == 2
