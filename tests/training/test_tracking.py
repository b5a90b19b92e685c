import json
import sys

import polars as pl
import pytest
import torch

import lamina
from lamina._errors import ArgumentError, MissingExtraError, RunError
from lamina.cli import app
from lamina.training.tracking import MLflow, TensorBoard, WeightsAndBiases, trackers

THIRD = pytest.mark.filterwarnings("ignore")  # what trackers warn about is theirs
LONG = {"epochs": 3, "batch_size": 32}


def network():
    torch.manual_seed(0)
    return lamina.build("fnn", inputs=4, outputs=3, hidden=(8,))


def written(folder):
    """Read back what TensorBoard shows: the last value of each step."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder)).Reload()
    return {name: [(e.step, e.value) for e in events.Scalars(name)] for name in events.Tags()["scalars"]}


@THIRD
def test_tensorboard_shows_the_history_also_after_a_resume(tmp_path):
    class Killed:
        def __call__(self, event):
            if event.row is not None and event.epoch == 2:
                raise KeyboardInterrupt

    home = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        lamina.fit(network(), "iris", lamina.Recipe(**LONG), folder=home, observers=(TensorBoard(), Killed()))
    run = lamina.resume(home, observers=(TensorBoard(),))
    shown = written(home / "tensorboard")
    rows = [json.loads(line) for line in (home / "history.jsonl").read_text().splitlines()]
    assert len(rows) == 3 and run.reason.name == "epochs"
    for name, tag in (("loss", "loss/training"), ("validation_loss", "loss/validation"), ("epoch", "epoch")):
        expected = [(row["step"], pytest.approx(row[name], rel=1e-6)) for row in rows]
        assert shown[tag] == expected
    assert shown["learning_rate"][0][1] == pytest.approx(1e-3)


@THIRD
def test_mlflow_keeps_one_run_for_a_run_that_is_continued(tmp_path):
    from mlflow import MlflowClient

    place = f"sqlite:///{tmp_path}/mlflow.db"
    run = lamina.fit(
        network(), "iris", lamina.Recipe(**LONG), folder=tmp_path / "flowers", observers=(MLflow("course", place),)
    )
    lamina.resume(run.folder, epochs=4, observers=(MLflow("course", place),))
    client = MlflowClient(place)
    (found,) = client.search_runs([client.get_experiment_by_name("course").experiment_id])
    assert found.info.run_name == "flowers" and found.info.status == "FINISHED"
    assert found.data.params["recipe.optimizer.name"] == "adam" and found.data.params["recipe.batch_size"] == "32"
    losses = [(m.step, m.value) for m in client.get_metric_history(found.info.run_id, "validation_loss")]
    rows = [json.loads(line) for line in (run.folder / "history.jsonl").read_text().splitlines()]
    assert losses == [(row["step"], row["validation_loss"]) for row in rows] and len(rows) == 4
    assert found.data.tags["lamina.end"] == "all 4 epochs were done"


@THIRD
def test_wandb_gets_every_check(tmp_path):
    import wandb

    run = lamina.fit(
        network(),
        "iris",
        lamina.Recipe(**LONG),
        folder=tmp_path / "run",
        observers=(WeightsAndBiases("course", mode="offline"),),
    )
    wandb.teardown()
    (file,) = run.folder.glob("wandb/offline-run-*/*.wandb")
    content = file.read_bytes()
    assert b"recipe.optimizer.name" in content
    for row in run.rows:
        assert repr(row["validation_loss"]).encode() in content
    assert json.loads((run.folder / "tracking.json").read_text())["wandb"] in file.name


def test_a_tracker_of_your_own_hears_the_beginning_the_checks_and_the_end(tmp_path):
    class Diary(list):
        def begin(self, home, step):
            self.append((home.path.name, step))

        def __call__(self, event):
            if event.row is not None:
                self.append(event.epoch)

        def end(self, reason):
            self.append(reason and reason.name)

    diary = Diary()
    lamina.fit(network(), "iris", lamina.Recipe(epochs=2), folder=tmp_path / "run", observers=(diary,))
    assert diary == [("run", 0), 1, 2, "epochs"]

    def broken(event):
        raise ZeroDivisionError

    diary.clear()
    with pytest.raises(ZeroDivisionError):
        lamina.fit(network(), "iris", lamina.Recipe(epochs=2), folder=tmp_path / "other", observers=(diary, broken))
    assert diary == [("other", 0), None]


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [
        ("tensorboard", "torch.utils.tensorboard", "tensorboard"),
        ("mlflow", "mlflow", "mlflow"),
        ("wandb", "wandb", "wandb"),
    ],
)
def test_what_is_not_installed_is_named(name, module, package, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"needs the package '{package}': .*'lamina-nn\[tracking\]'"):
        lamina.fit(network(), "iris", lamina.Recipe(epochs=1), folder=tmp_path / "run", observers=trackers([name]))
    assert not (tmp_path / "run").exists()


@THIRD
def test_a_place_that_mlflow_cannot_use_gets_a_sentence(tmp_path):
    with pytest.raises(RunError, match="MLflow cannot log to nowhere:.*: name another place, such as"):
        lamina.fit(
            network(), "iris", lamina.Recipe(epochs=1), folder=tmp_path / "run", observers=(MLflow(uri="nowhere:x"),)
        )


@THIRD
def test_train_and_resume_track_by_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    line = ["train", "fnn", "--data", "iris", "--epochs", "2", "--track", "tensorboard", "--out", "run", "-q"]
    app(line, standalone_mode=False)
    app(["resume", "run", "--epochs", "3", "--track", "tensorboard", "-q"], standalone_mode=False)
    assert len(written("run/tensorboard")["accuracy/validation"]) == 3
    with pytest.raises(
        ArgumentError, match="`track` must be one of 'tensorboard', 'mlflow', 'wandb', got 'tensorbord'"
    ):
        app(["train", "fnn", "--data", "iris", "--track", "tensorbord"], standalone_mode=False)


def test_the_history_opens_in_polars_in_one_line(tmp_path):
    run = lamina.fit(network(), "iris", lamina.Recipe(**LONG), folder=tmp_path / "run")
    frame = pl.read_ndjson(run.folder / "history.jsonl")
    assert frame["validation_loss"].to_list() == [row["validation_loss"] for row in run.rows]
