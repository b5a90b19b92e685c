"""What is asked of SLURM, and a search on jobs that a stand-in for it starts on this machine."""

import contextlib
import os
import shutil
import sys

import pytest

from lamina._errors import ArgumentError, MissingExtraError, RunError, RunWarning
from lamina.studies.engines.job import Job
from lamina.studies.engines.slurm import Nodes, on_slurm
from lamina.studies.search import search
from lamina.training.runtime import Runtime
from studies.engines.killing import begin, same, straight


def test_options_are_read():
    assert Nodes.read("") == Nodes()
    nodes = Nodes.read("nodes=4,time=2-00:30:00,cores=8,memory=32GB,gpus=2,partition=gpu,account=we,interface=lo")
    assert nodes == Nodes(4, "2-00:30:00", 8, "32GB", 2, "gpu", "we", "lo") and nodes.workers == 8


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("node=4", r"`on` takes slurm with nodes, time, cores, .*, got 'node=4'; did you mean 'nodes'\?"),
        ("nodes", r"such as slurm:nodes=4,time=01:00:00, got 'nodes'"),
        ("nodes=many", "`nodes` of slurm must be a whole number, got 'many'"),
        ("nodes=0", "`nodes` must be at least 1, got 0"),
        ("time=soon", "`time` must be written as hours:minutes:seconds, such as 01:00:00, got 'soon'"),
        ("memory=8", "`memory` must be written with its unit, such as 8GB, got '8'"),
    ],
)
def test_other_options_are_refused(text, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        Nodes.read(text)


def test_the_job_script_asks_for_what_was_typed():
    text = "nodes=4,time=01:00:00,partition=gpu,gpus=2,cores=8,memory=16GB,account=we"
    with Nodes.read(text).cluster() as cluster:
        lines = cluster.job_script().split("\n")
    assert lines[0].startswith("#!")
    asked = [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH")]
    assert asked == ["-J lamina-search", "-p gpu", "-A we", "-n 1", "--cpus-per-task=8", "--mem=15G", "-t 01:00:00",
                     "--gres=gpu:2"]  # fmt: skip
    (command,) = [line for line in lines if "dask_worker" in line]
    assert "-m distributed.cli.dask_worker tcp://" in command
    assert "--nthreads 4 --memory-limit 7.45GiB --nworkers 2" in command


def test_without_slurm_or_the_extra_a_sentence_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(RunError, match="`on` slurm needs the program sbatch, which is not on this machine: run the"):
        search("fnn", "moons", {"learning_rate": [1e-3]}, folder=tmp_path / "s", on="slurm")
    assert not (tmp_path / "s").exists()
    monkeypatch.setitem(sys.modules, "dask_jobqueue.slurm", None)
    with pytest.raises(MissingExtraError, match=r"a search on SLURM needs the package 'dask-jobqueue': .*\[cluster\]"):
        Nodes().cluster()


def stand_in(folder, monkeypatch, sbatch):
    """Put programs of this test where SLURM's would be."""
    folder.mkdir()
    for name, text in (("sbatch", sbatch), ("scancel", "exit 0")):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.posix
def test_a_job_that_slurm_refuses_ends_the_search_with_what_it_said(tmp_path, monkeypatch, capfd):
    stand_in(tmp_path / "bin", monkeypatch, 'echo "sbatch: error: invalid partition specified: gold" >&2; exit 1')
    with pytest.raises(
        RunError, match=r"SLURM did not take the job \(sbatch: error: invalid partition specified: gold\)"
    ):
        search("fnn", "moons", {"learning_rate": [1e-3]}, folder=tmp_path / "s", on="slurm:interface=lo,partition=gold")
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.posix
def test_some_jobs_that_slurm_refuses_are_a_warning(tmp_path, monkeypatch):
    one = 'mkdir "$0.one" 2>/dev/null && echo "Submitted batch job 7" && exit\necho "sbatch: error: limit" >&2; exit 1'
    stand_in(tmp_path / "bin", monkeypatch, one)
    engine = on_slurm(Nodes.read("nodes=2,interface=lo"), Job({}, ("loss", "minimize"), None, Runtime()))

    def tell(*moment):
        raise KeyboardInterrupt

    def until_warned():
        while True:
            with contextlib.suppress(KeyboardInterrupt):
                engine.ready(tell)

    with engine, pytest.raises(RunWarning, match=r"SLURM took only 1 of 2 jobs \(sbatch: error: limit\)\."):
        until_warned()


def test_a_scheduler_that_cannot_start_is_a_sentence():
    with pytest.raises(
        RunError, match="`on` slurm cannot start a scheduler on this machine: 'ib77' is not a valid net"
    ):
        Nodes.read("interface=ib77").cluster()


@pytest.mark.slow
@pytest.mark.posix
def test_a_search_on_the_jobs_of_a_stand_in(tmp_path):
    """`sbatch` of this test starts the job script as a process, as a node would, and `scancel` ends it.

    It keeps a copy of the script, as SLURM does: the original is gone as soon as the job was submitted.
    """
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sbatch").write_text(
        '#!/bin/sh\nkept=$(mktemp "$JOBS.XXXXXX")\ncp "$1" "$kept"\n'
        'setsid bash "$kept" >/dev/null 2>&1 &\necho "Submitted batch job $!"\necho $! >> "$JOBS"\n'
    )
    (programs / "scancel").write_text('#!/bin/sh\nfor job in "$@"; do kill -TERM -- -$job; done\n')
    for name in ("sbatch", "scancel"):
        (programs / name).chmod(0o755)
    jobs = tmp_path / "jobs"
    more = {"PATH": f"{programs}:{os.environ['PATH']}", "JOBS": str(jobs)}
    process = begin(tmp_path / "s", 8, 6, "slurm:nodes=2,memory=2GB,interface=lo", cwd=tmp_path, env=os.environ | more)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0, out
    assert len(jobs.read_text().split()) == 2 and "on slurm:nodes=2,memory=2GB,interface=lo" in out.splitlines()
    from lamina.studies.study import Study

    same(Study.open(tmp_path / "s"), straight(tmp_path / "straight", 8, epochs=6), 8)
