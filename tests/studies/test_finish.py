"""The best configuration becomes a run and looks at the test split once."""

import shutil
import signal

import pytest

import lamina
from lamina._errors import DataWarning, RunError
from lamina.studies.finish import _refit, evaluate
from lamina.studies.search import go_on, open_problem, plan, search, work
from lamina.studies.study import Study
from lamina.training.loop import Event
from lamina.training.manifest import Manifest
from lamina.training.run import Run
from studies.small import events


def test_the_best_is_an_ordinary_run_whose_validation_was_compared(found):
    run = Run.load(found.folder / "best")
    best = min(row["validation_loss"] for row in run.rows)
    assert best == pytest.approx(found.best.outcome.tie, rel=1e-4)
    assert run.evaluate().openings == 1 and run.evaluate().metrics == found.test["metrics"]
    assert (found.folder / "study.toml").is_file()


@pytest.mark.notes("N1.67")
def test_the_test_split_is_opened_once_and_again_only_by_word(found, tmp_path, split):
    study = search("fnn", split, {"learning_rate": [1e-2]}, epochs=1, folder=tmp_path / "s")
    problem = open_problem(study, split)
    openings = split.openings
    with pytest.raises(
        RunError, match="has already been opened for this study, for configuration 0: .* force it with --again"
    ):
        evaluate(study, problem)
    assert go_on(study, problem).test["openings"] == 1 and split.openings == openings  # resuming does not look
    assert evaluate(study, problem, again=True).openings == 2
    assert study.test["openings"] == 2 and split.openings == openings + 1
    assert len(events(study, "refit")) == 1  # not trained again


def forget(study):
    """Lose the kept weights, as a study of version 0.1 has none."""
    shutil.rmtree(study.folder / "kept")


def test_a_refit_that_was_killed_goes_on(tmp_path, split):
    problem, study = plan("fnn", split, {"learning_rate": [1e-2]}, options={"epochs": 6}, folder=tmp_path / "s")
    work(study, problem)

    class Killed(Exception):
        pass

    def kill(event: Event) -> None:
        if event.row and event.epoch == 3:
            raise Killed

    forget(study)
    with pytest.raises(Killed), pytest.warns(DataWarning, match="configuration 0 were not kept: it is trained again"):
        _refit(study, problem, observers=(kill,))
    assert evaluate(Study.open(study.folder), problem).openings == 1
    assert [path.name for path in study.folder.iterdir() if path.is_dir()] == ["best"]
    assert Run.load(study.folder / "best").reason.name == "epochs"
    # Killed between the note and the folder, or before the folder had anything in it.
    second = plan("fnn", split, {"learning_rate": [1e-2]}, options={"epochs": 2}, folder=tmp_path / "t")[1]
    problem = open_problem(second, split)
    work(second, problem)
    second.note(event="refit", trial=0, folder="best")
    (second.folder / "best").mkdir()
    assert _refit(second, problem).reason.sentence == "all 2 epochs were done in the search"
    with pytest.raises(RunError, match="has no checkpoint to continue from, since its network was trained in a search"):
        lamina.resume(second.folder / "best", data=split, epochs=9)


def test_a_refit_is_interrupted_like_a_trial_and_fails_with_a_sentence(tmp_path, split, monkeypatch):
    problem, study = plan("fnn", split, {"learning_rate": [1e-2]}, options={"epochs": 6}, folder=tmp_path / "s")
    work(study, problem)

    def interrupt(event: Event) -> None:
        if event.row and event.epoch == 2:
            signal.raise_signal(signal.SIGINT)

    forget(study)
    with pytest.raises(KeyboardInterrupt), pytest.warns(DataWarning, match="trained again"):
        _refit(study, problem, observers=(interrupt,))
    status = study.folder / "best/status.json"
    status.write_text(status.read_text().replace("interrupted", "diverged", 1))
    Manifest(study.folder / "best").take("status.json")
    with pytest.raises(RunError, match="the best configuration, trained again in .*best, failed: "):
        _refit(study, problem)


def test_label_noise_is_refitted_with_the_labels_it_had(tmp_path, split):
    study = search("fnn", split, {"label_noise": [0.3]}, epochs=3, folder=tmp_path / "s", metric="loss")
    run = Run.load(study.folder / "best")
    assert min(row["validation_loss"] for row in run.rows) == pytest.approx(study.best.outcome.value, rel=1e-4)
    clean = search("fnn", split, {"label_noise": [0.0]}, epochs=3, folder=tmp_path / "c", metric="loss")
    assert clean.best.outcome.value < study.best.outcome.value
