"""Two hosts, one of which is lost in the middle: the search ends right with what is left, and says so."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lamina.studies.study import Study
from studies.engines.hosts import EPOCHS, TRIALS
from studies.engines.killing import same, straight

pytestmark = pytest.mark.faults("lost network")
ROOT = Path(__file__).parents[3]


def alone(*words, **more):
    """Run a command in a network of its own."""
    return subprocess.run([sys.executable, ROOT / "tools/offline.py", *words], capture_output=True, text=True, **more)


@pytest.mark.slow
@pytest.mark.linux
def test_a_search_survives_the_loss_of_a_host(tmp_path):
    able = all(map(shutil.which, ("ip", "unshare", "nsenter")))
    if not able or alone("ip", "link", "add", "cable0", "type", "veth", "peer", "name", "eth0").returncode:
        pytest.skip("needs unshare")
    program = ROOT / "tests/studies/engines/hosts.py"
    done = alone(
        sys.executable, program, tmp_path, env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    cut = int(re.match(r"cut (\d+)\n", done.stdout)[1])
    assert 4 <= cut < TRIALS
    assert (
        "note: 1 worker was lost during the search; what it had begun was trained again by the others." in done.stdout
    )
    same(Study.open(tmp_path / "s"), straight(tmp_path / "straight", TRIALS, EPOCHS), TRIALS)
