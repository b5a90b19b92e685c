"""Disks that are full, small, slow or read-only, as the system makes them: a sentence, and nothing is lost."""

import random
import re
import time

import pytest
from PIL import Image

from faults.commands import ended, lamina, on_a_disk, same

pytestmark = [pytest.mark.slow, pytest.mark.linux]
TRAIN = ["train", "fnn", "--data", "digits", "--epochs", "150", "--set", "hidden=128", "--threads", "1", "--quiet"]
SLOW = """
import os, time
def slow(work):
    def wait(*parts, **options):
        time.sleep(0.15)
        return work(*parts, **options)
    return wait
os.fsync, os.replace = slow(os.fsync), slow(os.replace)
"""


@pytest.mark.faults("full disk")
def test_a_disk_that_becomes_full_and_is_made_larger(tmp_path):
    """The first checkpoint fits, one of the next ones does not; with more room the run goes on to the same bytes."""
    assert lamina(tmp_path, *TRAIN, "--out", "alone")[0] == 0
    words = " ".join(TRAIN)
    out, err = on_a_disk(tmp_path, f"""
        $LAMINA {words} --out run; echo first $?
        ls -a run run/checkpoints > ../listed
        mount -o remount,size=64m .
        $LAMINA resume run --quiet; echo then $?
        cp -r run ../run
    """, size="280k")  # fmt: skip
    assert "first 2\n" in out and "then 0\n" in out, (out, err)
    assert re.search(r"cannot write .*: the disk is full: free some space. What was saved before is intact", err), err
    assert ".part" not in (tmp_path / "listed").read_text()
    same(tmp_path / "run", tmp_path / "alone")


@pytest.mark.faults("full disk")
def test_every_command_says_that_a_disk_is_full(tmp_path):
    assert lamina(tmp_path, *TRAIN, "--out", "run", "--epochs", "2")[0] == 0
    commands = {
        "train": "train fnn --data moons --epochs 1 --out r",
        "search": "search fnn learning_rate=0.1,0.2 --data moons --epochs 1 --folder s",
        "draw": "draw lenet5 -o net.svg",
        "export": "export ../run -o m.onnx",
        "predict": "predict ../run ../x.png -o p.csv",
        "report": "report ../run -o r.html",
        "figures": "figures -o f",
    }
    Image.new("L", (8, 8)).save(tmp_path / "x.png")
    script = "head -c 100000000 /dev/zero > ballast 2> /dev/null\n" + "\n".join(
        f"$LAMINA {words} 2> ../said-{name}; echo {name} $?" for name, words in commands.items()
    )
    out, _ = on_a_disk(tmp_path, script, size="1m")
    for name in commands:
        said = (tmp_path / f"said-{name}").read_text()
        assert f"{name} 2\n" in out and "Traceback" not in said, (name, out, said)
        assert "the disk is full" in said or "No space left" in said, (name, said)


@pytest.mark.faults("full disk")
def test_a_file_that_may_not_grow(tmp_path):
    """As a limit of a batch system (`ulimit -f`): the checkpoint does not fit."""

    def small():
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    code, _, err = lamina(tmp_path, *TRAIN, "--out", "run", preexec_fn=small)
    assert code == 2 and re.search(r"lamina: cannot write .*checkpoints.*: .*What was saved before is intact", err), err


@pytest.mark.faults("read-only disk")
def test_a_run_on_a_disk_that_became_read_only(tmp_path):
    commands = {
        "evaluate": (0, "evaluate run"),
        "predict": (0, "predict run ../x.png -o ../p.csv"),
        "inspect": (0, "inspect run"),
        "repair": (None, "repair run"),
        "report": (2, "report run"),
        "resume": (2, "resume run --epochs 9"),
        "train": (2, "train fnn --data moons --epochs 1 --out other"),
        "search": (2, "search fnn learning_rate=0.1,0.2 --data moons --epochs 1 --folder s"),
        "draw": (2, "draw lenet5 -o net.svg"),
        "export": (2, "export run -o m.onnx"),
    }
    Image.new("L", (8, 8)).save(tmp_path / "x.png")
    script = f"$LAMINA {' '.join(TRAIN)} --epochs 2 --out run\nmount -o remount,ro .\n" + "\n".join(
        f"$LAMINA {words} > ../out-{name} 2> ../said-{name}; echo {name} $?" for name, (_, words) in commands.items()
    )
    out, err = on_a_disk(tmp_path, script)
    for name, (code, _) in commands.items():
        said = (tmp_path / f"said-{name}").read_text()
        assert "Traceback" not in said, (name, said)
        assert code is None or f"{name} {code}\n" in out, (name, out, said, err)
        assert code != 2 or "read-only" in said.lower(), (name, said)


@pytest.mark.faults("slow disk")
@pytest.mark.parametrize("seed", range(3))
def test_a_slow_disk_and_a_kill_while_it_writes(tmp_path, seed):
    """Every sync and every rename takes 150 ms, so that a kill nearly always comes while something is written."""
    assert lamina(tmp_path, *TRAIN, "--out", "alone")[0] == 0
    process = lamina(tmp_path, *TRAIN, "--out", "run", before=SLOW, wait=False)
    while not (tmp_path / "run/status.json").exists() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(random.Random(seed).uniform(0.0, 3.0))
    process.kill()
    ended(process)
    assert lamina(tmp_path, "resume", "run", "--quiet", before=SLOW)[0] == 0
    same(tmp_path / "run", tmp_path / "alone")
