"""Signals at random moments, as `benchmarks/kills.py` sends hundreds of them; its record is in benchmarks/records.

A command that was stopped goes on as if nothing had been, and one whose terminal was closed can be continued.
"""

import random
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.faults("SIGKILL", "SIGTERM", "SIGSTOP", "SIGHUP")
@pytest.mark.parametrize("verb", ["train", "search", "ranks", "export", "pages"])
def test_a_command_that_gets_a_signal(tmp_path, verb):
    from kills import SIGNALS, Faults

    faults, draw = Faults(tmp_path, seed=1), random.Random(verb)
    total = faults.reference(verb)
    for name in dict.fromkeys(SIGNALS):
        ended, fault = faults.strike(verb, tmp_path / f"{verb}-{name}", name, draw.uniform(0.2, total))
        assert not fault, (name, ended, fault, (tmp_path / "log").read_text()[-2000:])
