from pathlib import Path

import pytest

from scripts import script

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "xor_by_hand.py"


@pytest.mark.notes("N2.11")
def test_the_demo_learns_xor_and_says_so():
    done = script(SCRIPT)
    assert done.returncode == 0, done.stderr
    first, *_, last = [line for line in done.stdout.splitlines() if line.startswith("step")]
    assert first.startswith("step    0  binary cross entropy 0.7") and last.startswith(
        "step 1000  binary cross entropy 0.00"
    )
    table = [line.split() for line in done.stdout.splitlines()[-4:]]
    assert [row[:3] for row in table] == [["0", "0", "0"], ["1", "0", "1"], ["0", "1", "1"], ["1", "1", "0"]]
    assert all(abs(float(row[2]) - float(row[3])) < 0.05 for row in table)


def test_a_promise_that_is_not_kept_is_a_failure():
    assert script(SCRIPT, "--target", "1e-6").returncode == 1
