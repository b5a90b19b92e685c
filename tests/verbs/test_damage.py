"""Damage to any byte of a run or study folder is said, or changes nothing; nothing that is read ever traces back."""

import os
import random
import re
import shutil
from pathlib import Path

import pytest

from faults.damage import NOTICED, make_run, make_study, places, said, said_of_study, sampled, spoil, sweep
from lamina._errors import LaminaError, RunError
from lamina.report.render import render
from lamina.studies.study import Study
from lamina.training.fit import resume
from lamina.training.manifest import NAME, Manifest
from lamina.training.repair import repair
from lamina.training.run import Run

pytestmark = pytest.mark.faults("damaged bytes")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("runs") / "iris")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("studies") / "iris")


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr("lamina.training.manifest._PAUSE", 0.0)


def test_sampled_bytes(run, tmp_path, quick):
    found = sweep(run, tmp_path / "run", sampled(run, random.Random(0), 40), said)
    assert not found.faults and found.counts["said"] >= 30


def test_sampled_bytes_of_a_study(study, tmp_path, quick):
    found = sweep(study, tmp_path / "run", sampled(study, random.Random(4), 28), said_of_study)
    assert not found.faults and sum(found.counts[word] for word in NOTICED) == 28


def test_a_sweep_sees_what_is_silent_and_what_traces_back(run, tmp_path):
    found = sweep(run, tmp_path / "run", [((Path("config.toml"), 3), 0)], lambda folder: 1)
    assert found.counts["silent"] == 1 and found.faults == ["config.toml at byte 3, one bit: silent"]
    found = sweep(run, tmp_path / "run", [((Path("status.json"), 0), 1)], lambda f: (f / "status.json").read_text()[0])
    assert found.counts["traceback"] == 1 and "UnicodeDecodeError" in found.faults[0]


@pytest.mark.parametrize(("name", "words"), [
    ("manifest.jsonl", "manifest.jsonl is missing: the digests of files are lost, not the files. Run  lamina repair"),
    ("study.toml", "is not the folder of a study: it has no study.toml"),
    ("journal.jsonl", "journal.jsonl is missing. Restore it from a copy, or run  lamina repair"),
])  # fmt: skip
def test_a_file_of_a_study_that_is_gone_is_missed(study, tmp_path, quick, name, words):
    folder = Path(shutil.copytree(study, tmp_path / "study"))
    (folder / name).unlink()
    with pytest.raises(RunError, match=words):
        Study.open(folder)
    if name == "manifest.jsonl":
        repair(folder)
        assert said_of_study(folder)[1] == Study.open(study).results


def test_a_result_that_is_gone_is_missed(study, tmp_path, quick):
    folder = Path(shutil.copytree(study, tmp_path / "study"))
    lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "journal.jsonl").write_bytes(b"".join(lines[:-1]))
    with pytest.raises(RunError, match="journal.jsonl is damaged: it is not what the study wrote. Restore it from a"):
        Study.open(folder)
    states = {each.file: each.state for each in repair(folder)}
    assert states["journal.jsonl"] == "shortened" and Study.open(folder).test is None


@pytest.mark.posix
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to(path.name)],
                         ids=["pipe", "folder", "circle"])  # fmt: skip
def test_what_lies_in_the_place_of_a_file_is_not_waited_for(run, tmp_path, quick, make):
    sentences = {}
    for name in sorted({name for name, _ in places(run)}):
        folder = tmp_path / "run"
        for read in (said, resume, repair):
            shutil.copytree(run, folder)
            (folder / name).unlink()
            make(folder / name)
            try:
                read(folder)
            except LaminaError as error:
                sentences.setdefault(name.name, []).append(str(error))
            shutil.rmtree(folder)
    for name in ("config.toml", "preprocess.json", "history.jsonl", "status.json", "manifest.jsonl"):
        assert any(re.search(rf"{name} cannot be read \(.*\): restore it from a copy", one) for one in sentences[name])
    if make is os.mkdir:
        sentence = r"cannot remove .*environment.json \(.*\): remove it yourself\.$"
        assert any(re.search(sentence, one) for one in sentences["environment.json"])


OLD = Path(__file__).parents[1] / "runs_of_0_1"


def unproven(folder: Path, name: Path, place: int, how: int) -> str:
    """Damage what has no digest, or one that was accepted; say what readers made of it, but never a traceback."""
    spoil(folder / name, place, how)
    if (folder / NAME).is_file() and name.name != NAME:
        Manifest(folder).take(name.name) if len(name.parts) == 1 else None
    for read in (Run.load, render, lambda path: Run.load(path).evaluate(), resume):
        try:
            read(folder)
        except LaminaError as error:
            return str(error)
    return ""


def survive(cases, tmp_path, draw, count):
    for _ in range(count):
        folder = Path(shutil.copytree(draw.choice(cases), tmp_path / "old"))
        files = [path for path in sorted(folder.iterdir()) if path.suffix in (".toml", ".json", ".jsonl")]
        path = draw.choice(files)
        unproven(folder, path.relative_to(folder), draw.randrange(path.stat().st_size), draw.randrange(4))
        shutil.rmtree(folder)


@pytest.mark.filterwarnings("ignore::lamina._errors.DataWarning")
def test_folders_without_digests_get_sentences(run, tmp_path, quick, monkeypatch):
    monkeypatch.chdir(OLD)
    survive([run, OLD / "table", OLD / "series"], tmp_path, random.Random(2), 24)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::lamina._errors.DataWarning")
def test_all_kinds_of_folders_without_digests_get_sentences(run, tmp_path, quick, monkeypatch):
    monkeypatch.chdir(OLD)
    cases = [run, *(path for path in sorted(OLD.iterdir()) if path.is_dir() and path.name != "__pycache__")]
    survive(cases, tmp_path, random.Random(3), 600)
