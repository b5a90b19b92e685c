"""A run that was killed in its first moments is resumed, and nobody else writes to a run that is going on."""

import os
from pathlib import Path

import pytest

import lamina
from lamina._errors import RunError
from lamina.training import checkpoint, files
from lamina.training import fit as module
from lamina.training.fit import resume
from lamina.training.lock import NAME

pytestmark = pytest.mark.faults("SIGKILL", "two writers")


def train(folder, **options):
    net = lamina.build("fnn", inputs=2, outputs=2, hidden=(4,), dropout=0.5, seed=3)  # not the seed of the recipe
    return lamina.fit(net, lamina.load("moons", count=60), lamina.Recipe(epochs=3), folder=folder, **options)


def content(folder):
    return [(folder / name).read_bytes() for name in ("weights.safetensors", "history.jsonl", "config.toml")]


class Killed(BaseException):
    """Ends a process as far as a test can."""


@pytest.fixture
def killed(monkeypatch):
    """Let the process die just before the `number`th file is put in its place."""

    def prepare(number):
        left, replace = [number], files._system.replace

        def dying(draft, path):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            replace(draft, path)

        monkeypatch.setattr(files._system, "replace", dying)
        return lambda: monkeypatch.setattr(files._system, "replace", replace)

    return prepare


def test_a_kill_before_any_file_leaves_a_resumable_run_or_none(tmp_path, killed):
    train(tmp_path / "alone")
    resumed = 0
    for number in range(30):
        folder = tmp_path / f"run{number}"
        revive = killed(number)
        try:
            train(folder)
        except Killed:
            revive()
        else:
            revive()
            break
        try:
            resume(folder)
        except RunError as error:
            assert number < 4 and ("killed before it began" in str(error) or "no config.toml" in str(error))
        else:
            assert content(folder) == content(tmp_path / "alone")
            resumed += 1
    assert number > 8 and resumed >= number - 4


def test_a_kill_while_the_run_is_measured_is_survived(tmp_path, monkeypatch):
    train(tmp_path / "alone")

    def measure(*parts):
        raise Killed

    monkeypatch.setattr(module, "learner", measure)
    with pytest.raises(Killed):
        train(tmp_path / "run")
    monkeypatch.undo()
    found = checkpoint.load(tmp_path / "run/checkpoints")
    assert found.plain["initial"] and not (tmp_path / "run/weights.safetensors").exists()
    resume(tmp_path / "run")
    assert content(tmp_path / "run") == content(tmp_path / "alone")


def test_a_run_that_lacks_its_environment_is_resumed(tmp_path):
    run = train(tmp_path / "run", observers=[lambda event: True])
    assert run.reason.name == "observer"
    os.remove(tmp_path / "run/environment.json")
    with pytest.raises(RunError, match="environment.json is missing. It says how the run was computed"):
        resume(tmp_path / "run")
    from lamina.training.repair import repair

    repair(tmp_path / "run")
    assert resume(tmp_path / "run").reason.name == "epochs"


def test_a_run_that_goes_on_is_not_resumed_by_a_second_writer(tmp_path):
    said = []

    def second(event):
        if not said:
            assert (tmp_path / "run" / NAME).is_file()
            with pytest.raises(RunError, match=r"the run in .*run is being written by this process since .*: wait unt"):
                resume(tmp_path / "run")
            said.append(True)
            return True
        return False

    train(tmp_path / "run", observers=[second])
    assert said and not (tmp_path / "run" / NAME).exists()
    said.clear()
    resume(tmp_path / "run", observers=[second])
    assert said and not (tmp_path / "run" / NAME).exists()
    rows = resume(tmp_path / "run").rows
    assert [row["epoch"] for row in rows] == [1, 2, 3]


def test_a_generator_that_is_dropped_lets_go(tmp_path):
    net = lamina.build("fnn", inputs=2, outputs=2, hidden=(4,))
    going = module.fitting(net, lamina.load("moons", count=60), lamina.Recipe(epochs=3), folder=tmp_path / "run")
    next(going)
    assert Path(tmp_path / "run" / NAME).is_file()
    going.close()
    assert not Path(tmp_path / "run" / NAME).exists()
