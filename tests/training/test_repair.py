"""What damage costs: repairs bring back what checkpoints hold, exactly, and say what they cannot."""

import errno
import json
import os
import shutil

import pytest

import lamina
from lamina._errors import ArgumentError, RunError
from lamina.report.render import write_report
from lamina.training import checkpoint
from lamina.training.fit import resume
from lamina.training.folder import RunFolder
from lamina.training.lock import only_writer
from lamina.training.repair import repair
from lamina.training.run import Run

pytestmark = pytest.mark.faults("damaged bytes")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "iris"
    net = lamina.build("fnn", inputs=4, outputs=3, hidden=5)
    lamina.fit(net, lamina.load("iris"), lamina.Recipe(epochs=3), folder=folder).evaluate()
    write_report(folder)
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


def states(folder, **options):
    return {each.file: each.state for each in repair(folder, **options)}


def damage(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x55
    path.write_bytes(content)


def test_a_whole_folder_stays_as_it_is(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert set(states(folder).values()) == {"whole"}
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    before.pop("manifest.jsonl"), after.pop("manifest.jsonl")
    assert after == before
    assert str(Run.load(folder).evaluate()) == str(Run.load(folder).evaluate())


@pytest.mark.parametrize("name", ["config.toml", "preprocess.json", "history.jsonl", "weights.safetensors"])
@pytest.mark.parametrize("how", [damage, lambda path: path.unlink()], ids=["damaged", "missing"])
def test_what_checkpoints_hold_comes_back_byte_for_byte(folder, trained, name, how):
    how(folder / name)
    if name != "weights.safetensors" or how is damage:  # without them the best weights of the checkpoint are read
        with pytest.raises(RunError, match=rf"{name} is (damaged|missing).*lamina repair"):
            Run.load(folder)
    assert states(folder)[name] == "restored"
    assert (folder / name).read_bytes() == (trained / name).read_bytes()
    Run.load(folder)
    assert set(states(folder).values()) == {"whole"}


def test_a_status_that_is_lost_makes_the_run_an_interrupted_one_which_a_resume_ends(folder, trained):
    damage(folder / "status.json")
    with pytest.raises(RunError, match="status.json is damaged: it is not what the run wrote. It says how the run end"):
        resume(folder)
    assert states(folder)["status.json"] == "shortened"
    assert Run.load(folder).reason.name == "interrupted"
    assert resume(folder).reason.name == "epochs"
    for name in ("status.json", "weights.safetensors", "history.jsonl"):
        assert (folder / name).read_bytes() == (trained / name).read_bytes()


@pytest.mark.parametrize("name", ["evaluation.json", "scores.safetensors", "report.html", "environment.json"])
def test_what_can_be_made_again_is_put_aside(folder, name):
    if not (folder / name).exists():
        Run.load(folder).predict(str_rows(), coverage=0.9)
    content = (folder / name).read_bytes()
    damage(folder / name)
    found = {each.file: each for each in repair(folder)}[name]
    assert found.state == "removed" and found.sentence
    assert not (folder / name).exists() and len((folder / f"{name}.damaged").read_bytes()) == len(content)
    run = Run.load(folder)
    assert run.evaluate().openings == 1
    resume(folder)


def str_rows():
    return lamina.load("iris").inputs[:3]


def test_lines_that_are_whole_are_kept(folder):
    lines = (folder / "timings.jsonl").read_text().splitlines(keepends=True)
    (folder / "timings.jsonl").write_text(lines[0] + "nonsense\n" + "".join(lines[2:]))
    assert states(folder)["timings.jsonl"] == "shortened"
    assert (folder / "timings.jsonl").read_text() == lines[0] + "".join(lines[2:])


def test_damage_that_nothing_undoes_is_said_and_may_be_accepted(folder):
    shutil.rmtree(folder / "checkpoints")
    text = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text(text.replace("epochs = 3", "epochs = 4"))
    found = {each.file: each for each in repair(folder)}["config.toml"]
    assert found.state == "lost"
    assert found.sentence == (
        "it said what was trained, on which data and how: restore it from a copy, or say --accept config.toml if it is "
        "right as it is"
    )
    with pytest.raises(RunError, match="config.toml is damaged"):
        Run.load(folder)
    assert states(folder, accept=["config.toml"])["config.toml"] == "taken"
    assert RunFolder(folder).config()["recipe"]["epochs"] == 4
    with pytest.raises(ArgumentError, match="`accept` names 'nothing.json', which is not a file in"):
        repair(folder, ["nothing.json"])


def test_a_damaged_or_missing_manifest_is_written_again(folder):
    damage(folder / "manifest.jsonl")
    with pytest.raises(RunError, match="manifest.jsonl is damaged in line"):
        Run.load(folder)
    assert states(folder)["manifest.jsonl"] == "restored"
    Run.load(folder)
    (folder / "manifest.jsonl").unlink()
    with pytest.raises(RunError, match="manifest.jsonl is missing: the digests of files are lost, not the files"):
        Run.load(folder)
    assert states(folder)["manifest.jsonl"] == "restored"
    Run.load(folder)
    assert set(states(folder).values()) == {"whole"}


def test_damaged_checkpoints_go(folder):
    newest = max((folder / "checkpoints").iterdir())
    damage(newest)
    assert states(folder)[f"checkpoints/{newest.name}"] == "removed"
    assert not newest.exists()


def test_a_study_keeps_its_whole_lines(tmp_path):
    (tmp_path / "study.toml").write_text("version = 1\n")
    (tmp_path / "journal.jsonl").write_text('{"event": "a"}\n{"ev\n{"event": "b"}\n')
    assert states(tmp_path) == {"study.toml": "taken", "journal.jsonl": "shortened", "manifest.jsonl": "restored"}
    events = [json.loads(line)["event"] for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert events == ["a", "b"]


def test_what_is_no_run_is_refused_and_so_is_one_that_is_written(folder, tmp_path):
    with pytest.raises(RunError, match="is not the folder of a run or a study: it has neither config.toml nor study"):
        repair(tmp_path)
    with only_writer(folder), pytest.raises(RunError, match="is being written by this process"):
        repair(folder)


def test_a_checkpoint_that_cannot_be_read_now_stays(folder, monkeypatch):
    """It counted as damaged, and was removed."""
    there = checkpoint.found(folder / "checkpoints")

    def fail(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(checkpoint, "read", fail)
    found = {each for each in repair(folder) if each.state != "whole"}
    said = "lost", f"it cannot be read ({os.strerror(errno.EIO)}), and stays"
    assert found == {(f"checkpoints/{path.name}", *said) for path in there}
    assert checkpoint.found(folder / "checkpoints") == there
