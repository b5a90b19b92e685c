"""The process that reads ahead ends with the one that it reads for, and tells its errors whole."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl

from lamina._errors import DataError
from lamina._system import birth
from lamina.data.reader import _told

READS = """
import sys
import lamina
from lamina.data.block_source import BlockSource
from lamina.data.preprocess import Preprocess
from lamina.data.source import Batches

train = lamina.load("a.parquet", target="y", stream=True).split().train
source = BlockSource(train, Preprocess.fit(train), window=300, apart=True)
batches = Batches(source.order(32, 0, 0, 9), 0, 32)
source.prefetch(batches)
for number in range(int(sys.argv[1])):
    source.following(batches, number)
print(source._reader._process.pid, flush=True)
if len(sys.argv) > 2:
    sys.stdin.read()
"""


def started(tmp_path, *words, **environment):
    frame = pl.DataFrame({"x": np.arange(3000) / 7, "y": np.arange(3000) % 2})
    frame.write_parquet(tmp_path / "a.parquet")
    return subprocess.Popen(
        [sys.executable, "-c", READS, *words],
        cwd=tmp_path,
        env=os.environ | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def gone(pid):
    until = time.monotonic() + 20
    while birth(pid) and time.monotonic() < until:  # a process that nobody fetches is gone, too
        time.sleep(0.05)
    return not birth(pid)


def test_it_ends_with_a_process_that_is_killed(tmp_path):
    parent = started(tmp_path, "2", "waits")
    pid = int(parent.stdout.readline())
    assert birth(pid)
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate()
    assert gone(pid)


def test_it_ends_with_a_process_that_ends_and_leaves_no_warning(tmp_path):
    parent = started(tmp_path, "0")
    said, complaints = parent.communicate()
    assert parent.returncode == 0 and complaints == "" and gone(int(said))


def test_what_others_print_while_it_begins_is_not_taken_for_its_words(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("print('cos: hello from the site')")
    parent = started(tmp_path, "2", PYTHONPATH=str(site))
    said, complaints = parent.communicate(timeout=120)
    assert parent.returncode == 0 and complaints == "" and gone(int(said.split()[-1]))


def test_files_of_the_folder_in_which_it_works_are_not_imported(tmp_path):
    for name in ("random", "torch", "queue"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w')")
    (tmp_path / "read.py").write_text("import os, sys\nos.chdir(sys.argv.pop())\n" + READS)
    frame = pl.DataFrame({"x": np.arange(3000) / 7, "y": np.arange(3000) % 2})
    frame.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "scripts").mkdir()
    script = (tmp_path / "read.py").rename(tmp_path / "scripts" / "read.py")
    command = [sys.executable, script, "2", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr == "" and not (tmp_path / "imported").exists()


class Odd(Exception):
    """An error that cannot be pickled, whatever another library has taught the pickler."""

    def __init__(self):
        super().__init__("odd")
        self.again = lambda: self


def test_errors_are_told_whole_or_in_words():
    same = _told(DataError("block 20 is gone."))
    assert isinstance(same, DataError) and str(same) == "block 20 is gone."
    assert repr(_told(Odd())) == "RuntimeError('Odd: odd')"
