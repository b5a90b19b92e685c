"""Commands without an input or an output, and those whose reader has gone: they work, or stop and say so."""

import json
import os
import subprocess
import sys

import pytest

from faults.commands import ENVIRONMENT, LAMINA, lamina, same

pytestmark = [pytest.mark.slow, pytest.mark.posix, pytest.mark.faults("hostile inputs")]
TRAIN = "train fnn --data iris --epochs 40 --threads 1"


def typed(home, line):
    """Type a line into a shell; give its exit code and what it said."""
    done = subprocess.run(
        ["bash", "-c", line.replace("lamina", LAMINA)], cwd=home, env={**os.environ, **ENVIRONMENT},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert "Traceback" not in done.stderr + done.stdout and "Exception ignored" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_closed_streams_lead_nowhere_and_not_into_files_of_the_run(tmp_path):
    """`lamina list >&-` ended in a traceback, and a file that was opened next took the number of the output."""
    assert typed(tmp_path, "lamina list >&-") == (0, "", "")
    assert lamina(tmp_path, *TRAIN.split(), "--out", "alone")[0] == 0
    assert typed(tmp_path, f"lamina {TRAIN} --out run <&- >&- 2>&-")[0] == 0
    same(tmp_path / "run", tmp_path / "alone")
    assert typed(tmp_path, "lamina repair run")[1] == "run: all 12 files are as they were written\n"


def test_a_closed_input_is_an_empty_one(tmp_path):
    assert lamina(tmp_path, *TRAIN.split(), "--out", "run")[0] == 0
    for line in ("lamina predict run - <&-", "lamina predict run - < /dev/null"):
        code, _, err = typed(tmp_path, line)
        assert code == 2 and "standard input is empty: a table needs a line of column names" in err


def test_a_run_whose_reader_has_gone_stops_says_so_and_can_be_continued(tmp_path):
    """`lamina train ... | head -1` ended without a word, and its folder said that it was running."""
    words = [*TRAIN.split(), "--epochs", "1500"]
    assert lamina(tmp_path, *words, "--quiet", "--out", "alone")[0] == 0
    process = lamina(tmp_path, *words, "--out", "run", wait=False)
    while not process.stdout.readline().startswith("epoch "):
        assert process.poll() is None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 1
    assert "interrupted after step" in err and "Continue with:  lamina resume run" in err
    assert "Traceback" not in err and "Exception ignored" not in err
    assert json.loads((tmp_path / "run/status.json").read_text())["state"] == "interrupted"
    assert lamina(tmp_path, "resume", "run", "--quiet")[0] == 0
    same(tmp_path / "run", tmp_path / "alone")


def test_an_input_that_never_ends_is_cut_off(tmp_path):
    assert lamina(tmp_path, *TRAIN.split(), "--out", "run")[0] == 0
    small = "import lamina.cli._train as verbs\nverbs._MOST_PIPED = 1_000_000"
    with subprocess.Popen([sys.executable, "-c", "while True: print('1,2,3,4')"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as source:  # fmt: skip
        code, _, err = lamina(tmp_path, "predict", "run", "-", before=small, stdin=source.stdout)
        source.kill()
    assert code == 2 and "standard input has more than 0 GB: write it into a file, and give that." in err
