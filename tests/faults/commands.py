"""Commands as a user types them, in processes of their own, which may be disturbed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAMINA = f'"{sys.executable}" -m lamina'
ENVIRONMENT = {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "LAMINA_DEVICE": "cpu"}
SAME = "weights.safetensors", "history.jsonl", "evaluation.json"
"""The files of a run whose bytes are promised."""


def lamina(home, *words, before="", wait=True, **more):
    """Type a command; `before` runs in its process first."""
    code = f"{before}\nfrom lamina.cli import main\nmain()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)], cwd=home, env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more,
    )  # fmt: skip
    return ended(process) if wait else process


def ended(process):
    """Wait for a command; give its exit code and what it said, which is no traceback."""
    out, err = process.communicate(timeout=600)
    assert "Traceback" not in err and "panicked" not in err, err
    return process.returncode, out, err


def on_a_disk(home, script, size="64m"):
    """Run a shell script in a folder that is a file system of its own, which nobody else sees.

    What it writes to `..` stays when the file system is gone. `$LAMINA` is the command.
    """
    (home / "disk").mkdir()
    words = ["unshare", "-rm", "sh", "-c"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*words, f"mount -t tmpfs -o size=1m tmpfs {home / 'disk'}"], capture_output=True).returncode
    ):
        pytest.skip("needs unshare")
    whole = f"set -e; mount -t tmpfs -o size={size} tmpfs disk; cd disk; set +e\n{script}"
    done = subprocess.run([*words, whole.replace("$LAMINA", LAMINA)], cwd=home, env={**os.environ, **ENVIRONMENT},
                          capture_output=True, text=True, timeout=900)  # fmt: skip
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    return done.stdout, done.stderr


def same(folder, other):
    """Compare the bytes of two runs."""
    for name in SAME:
        assert (folder / name).read_bytes() == (other / name).read_bytes(), name
