"""Runs that are trained longer, with another rate: what is computed, what is recorded, what is refused."""

import pytest
import torch

import lamina
from lamina._errors import LaminaError
from lamina.training import loop
from lamina.training.fit import fit, fitting, resume
from lamina.training.folder import RunFolder
from lamina.training.recipe import Adam, Recipe, Schedule, Stopping, rates
from lamina.training.runtime import Runtime
from lamina.training.stopping import rules

ONE = Runtime(threads=1)


def moons(seed=0, **options):
    recipe = lamina.training.recipe.with_options(Recipe(Adam(0.01), epochs=2, batch_size=20), **options)
    return lamina.build("fnn", inputs=2, outputs=2, hidden=8, seed=seed), lamina.load("moons", count=120), recipe


def column(run, name="learning_rate"):
    return [row[name] for row in run.rows]


def test_another_rate_and_schedule_begin_where_the_run_goes_on(tmp_path):
    run = fit(*moons(schedule="cosine"), folder=tmp_path / "run", runtime=ONE)
    begun = RunFolder(run.folder).config()["recipe"]
    longer = resume(run.folder, epochs=6, options={"learning_rate": 1e-4})
    assert column(longer)[:2] == column(run) and column(longer, "loss")[:2] == column(run, "loss")
    later = rates(Schedule("cosine"), 1e-4, 16, 4)
    assert column(longer)[2:] == pytest.approx(later[3::4].tolist())
    config = RunFolder(run.folder).config()
    assert config["earlier"] == {"1": {"epoch": 2, "batch": 0, "step": 8, "rows": 2, "recipe": begun}}
    assert config["recipe"]["epochs"] == 6 and config["recipe"]["optimizer"]["learning_rate"] == 1e-4
    assert config["recipe"]["schedule"]["since"] == 8
    again = resume(run.folder, epochs=7)  # only longer: the schedule is that of seven epochs
    assert column(again)[-1] == pytest.approx(0) and [*RunFolder(run.folder).config()["earlier"]] == ["1", "2"]


def test_the_rates_before_a_schedule_begins_are_the_first_one():
    found = rates(Schedule("step", every=1, factor=0.5, since=2), 1.0, 6, 2)
    assert found.tolist() == [1.0, 1.0, 1.0, 1.0, 0.5, 0.5]


def test_a_continued_run_that_is_dropped_resumes_bit_for_bit(tmp_path, monkeypatch):
    wanted = {"epochs": 4, "options": {"learning_rate": 1e-3, "clip": 1.0}}
    whole = resume(fit(*moons(), folder=tmp_path / "a", runtime=ONE).folder, **wanted)
    fit(*moons(), folder=tmp_path / "b", runtime=ONE)

    class Stopped(Exception):
        pass

    def stop(event):
        if event.step == 10:
            raise Stopped

    monkeypatch.setattr("lamina.training.fit.CHECKPOINT_SECONDS", 0.0)
    with pytest.raises(Stopped):
        resume(tmp_path / "b", observers=[stop], **wanted)
    again = resume(tmp_path / "b")
    assert again.rows == whole.rows
    for name in ("config.toml", "weights.safetensors", "history.jsonl", "status.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_a_run_that_was_killed_at_once_resumes_from_its_own_first_weights(tmp_path):
    whole = fit(*moons(seed=5), folder=tmp_path / "a", runtime=ONE)
    run = fitting(*moons(seed=5), folder=tmp_path / "b", runtime=ONE, every=1)
    next(run)
    run.close()
    assert resume(tmp_path / "b").rows == whole.rows


def test_patience_starts_anew_but_the_best_stays_the_best():
    history = [{"step": i, "validation_loss": loss} for i, loss in enumerate([1.0, 2.0, 3.0, 4.0])]
    (old,), (new,) = rules(Stopping(patience=2)), rules(Stopping(patience=2), since=3)
    assert old(history).name == "patience" and new(history) is None
    assert "the best was 1 at step 0" in new([*history, history[-1]]).sentence


def test_a_run_that_ended_by_itself_is_left_as_it_is(tmp_path):
    run = fit(*moons(epochs=50, patience=1, learning_rate=1.0), folder=tmp_path / "run", runtime=ONE)
    assert run.reason.name == "patience"
    before = (run.folder / "weights.safetensors").read_bytes()
    same = resume(run.folder)
    assert same.rows == run.rows and same.reason == run.reason
    assert (run.folder / "weights.safetensors").read_bytes() == before
    longer = resume(run.folder, options={"learning_rate": 1e-3})
    assert len(longer.rows) > len(run.rows)


REFUSED = {
    "fewer epochs": ({"epochs": 1}, "`epochs` must be at least 2, since so many have begun or are done, got 1"),
    "nothing left": ({"options": {"clip": 1.0}}, "all 2 epochs are done, so that other options would change nothing"),
    "network": ({"epochs": 4, "options": {"hidden": 3}}, "'hidden' cannot change while a run continues"),
    "precision": ({"epochs": 4, "options": {"precision": "float64"}}, "'precision' cannot change while a run"),
    "batches": (
        {"epochs": 4, "options": {"batch_size": 5}},
        "'batch_size' cannot change .* what may change is check_every, ",
    ),
    "pictures": (
        {"epochs": 4, "options": {"flip": True, "max_steps": 99}},
        "`flip` changes pictures, got data of kin",
    ),
    "updates": ({"epochs": 4, "options": {"max_steps": 8}}, "stopped after 8 updates, and `max_steps` is 8: set a lar"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_change_is_refused_and_leaves_the_run_alone(tmp_path, case):
    run = fit(*moons(), folder=tmp_path / "run", runtime=ONE)
    before = {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    wanted, sentence = REFUSED[case]
    with pytest.raises(LaminaError, match=sentence):
        resume(run.folder, **wanted)
    assert {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()} == before


def test_killed_before_the_new_recipe_was_written_a_run_has_not_ended(tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(*_):
        raise Killed

    run = fit(*moons(max_steps=99), folder=tmp_path / "run", runtime=ONE)
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "write_config", killed)
        with pytest.raises(Killed):
            resume(run.folder, epochs=4)
    assert len(resume(run.folder).rows) == 2  # the command without options: all that was planned is done
    assert len(resume(run.folder, epochs=4).rows) == 4


def test_a_failed_start_leaves_no_folder(tmp_path):
    net, data, _ = moons()

    def optimizer(params):
        raise RuntimeError("no such device")

    with pytest.raises(RuntimeError, match="no such device"):
        fit(net, data, Recipe(optimizer=optimizer), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()

    def late(event: loop.Event):
        raise RuntimeError("later")

    with pytest.raises(RuntimeError, match="later"):
        fit(*moons(), folder=tmp_path / "run", observers=[late])
    assert (tmp_path / "run" / "config.toml").is_file()  # an update was made, which can be continued
    assert all(torch.isfinite(t).all() for t in resume(tmp_path / "run").model.state_dict().values())
