"""The experiment of the notes as a script, scaled down where there is no MNIST or no GPU."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_grid_of_five_keeps_its_promise(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/grid_1024.py"],
        cwd=tmp_path,
        env={**os.environ, "LAMINA_DATA": str(tmp_path), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("32 networks on digits, 6 epochs each: ")
    assert lines[6] == "one at a time, 6 networks:" and float(lines[7].split()[0]) > 0.9
    assert lines[8].endswith("promised 0.9")
    assert (tmp_path / "studies/grid-1024/report.html").stat().st_size > 50_000
