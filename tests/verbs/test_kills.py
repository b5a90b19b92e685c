"""Runs on every kind of data that are killed at random moments and resumed end with the bytes of one left alone."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from safety import AFTER_KILL
from verbs import files
from verbs.table import ROWS

pytestmark = pytest.mark.faults("SIGKILL")
KINDS = {
    "table": "fnn on moons",
    "pictures": "lenet5 on pictures",
    "normalized pictures": "cifar-resnet on pictures",
    "series": "many-to-one on wave",
    "tokens": "many-to-one on agreement",
    "texts": "many-to-one on reviews.csv",
    "pairs": "seq2seq on pairs.tsv",
    "running text": "many-to-many on tale.txt",
    "descriptions": "one-to-many on sounds.csv",
}
KILLS = 6
"""How often each kind is killed for the first time; every second one is killed again while it is resumed."""

SLOW = """
import sys, time
from lamina import _screen as progress
from lamina.cli import main
from lamina.training import fit
assert fit.CHECKPOINT_SECONDS > 0
fit.CHECKPOINT_SECONDS = 0.0  # a checkpoint after every update, so that many deaths fall into writing one
shown = progress._Plain.__call__
def slow(plain, event):
    time.sleep(0.02)
    shown(plain, event)
progress._Plain.__call__ = slow
main()
"""


def start(home: Path, *words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SLOW, *map(str, words)]
    return subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def train(name: str, out: str) -> list[object]:
    row = ROWS[name]
    sets = [word for option in (*row.network, "batch_size=8", *row.recipe) for word in ("--set", option)]
    reads = [word for option in row.read for word in ("--read", option)]
    return ["train", row.architecture, "--data", row.data, *reads, "--epochs", 6, *sets, "--threads", 1, "--out", out]


def wait(process: subprocess.Popen[str], path: Path, changed: float = 0.0) -> None:
    """Wait for a file: the status of a run is written before its first update, the weights after its last one."""
    while process.poll() is None and not (path.exists() and path.stat().st_mtime_ns > changed):
        time.sleep(0.002)


def content(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in ("weights.safetensors", "history.jsonl", "evaluation.json")]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A run of each kind that nobody disturbs, and how long its updates take."""
    made: dict[str, tuple[Path, float]] = {}

    def run(kind: str) -> tuple[Path, float]:
        if kind not in made:
            home = tmp_path_factory.mktemp("home")
            files.write(home)
            process = start(home, *train(KINDS[kind], "alone"))
            wait(process, home / "alone/status.json")
            begun = time.monotonic()
            wait(process, home / "alone/weights.safetensors")
            made[kind] = home, time.monotonic() - begun
            _, err = process.communicate()
            assert process.returncode == 0, err
        return made[kind]

    return run


def killed(home: Path, words: list[object], folder: Path, delay: float) -> bool:
    """Start a command and kill it so many seconds after it has begun; say whether it was still alive."""
    status = folder / "status.json"
    before = status.stat().st_mtime_ns if status.exists() else 0
    process = start(home, *words)
    wait(process, status, before)
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.kill()
    _, err = process.communicate()
    assert process.returncode in (0, AFTER_KILL), err
    return process.returncode != 0


def saved(folder: Path) -> str:
    """Say how many updates the newest checkpoint knows of."""
    steps = [int(path.name.split("-")[1]) for path in folder.glob("checkpoints/step-*.safetensors")]
    return f"{max(steps, default=0)} updates saved"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(KILLS))
@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_run_resumes_byte_for_byte(alone, kind, seed):
    home, seconds = alone(kind)
    draw = random.Random(f"{kind} {seed}")
    folder = home / f"killed{seed}"
    # A moment in each sixth of the time, so that together they cover all of it.
    delay = seconds * (seed + draw.random()) / KILLS
    while not killed(home, train(KINDS[kind], folder.name), folder, delay):
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        folder.rmdir()
        delay *= 0.8
    first = saved(folder)
    again = seed % 2 and killed(home, ["resume", folder.name], folder, seconds * draw.random() / 2)
    print(f"{kind}: killed after {delay:.2f} of {seconds:.2f} s, {first}{f'; again, {saved(folder)}' if again else ''}")
    process = start(home, "resume", folder.name)
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert content(folder) == content(home / "alone")
