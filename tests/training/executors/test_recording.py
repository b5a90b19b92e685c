"""Recorded work replays to what the eager work gives."""

import pytest
import torch

import lamina
from lamina.data.augment import Augment
from lamina.training.executors import recording
from lamina.training.executors.captured import _capture
from lamina.training.executors.choose import learner
from lamina.training.executors.recording import Recording
from lamina.training.learner import Learner
from lamina.training.memory import SplitError
from lamina.training.recipe import Adam, Clip, Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.kinds import task_of
from training.tasks.steps import made, pairs, run_epochs, text


@pytest.mark.cuda
def test_a_recording_gives_tensors_back_and_replays():
    total, work = torch.zeros(3, device="cuda"), torch.ones(3, device="cuda")
    replay = Recording().record(lambda: total.add_(work), [total])
    assert total.tolist() == [0, 0, 0]
    replay()
    work.fill_(2)
    replay()
    assert total.tolist() == [3, 3, 3]


class Replayed:
    """Stands in for a recording where there is no GPU: warms up, puts everything back, and does the work again."""

    def record(self, body, tensors):
        kept = [(tensor, tensor.clone()) for tensor in tensors]
        body()
        body()
        with torch.no_grad():
            for tensor, value in kept:
                tensor.copy_(value)
        return body


@pytest.mark.parametrize("size", [None, 30])
@pytest.mark.parametrize(
    "changes", [None, Augment(rotation=15.0, contrast=0.3, mixup=0.3, cutmix=1.0)], ids=["", "mixed"]
)
def test_pieces_and_mixtures_replay_as_they_run_eagerly_without_a_gpu(size, changes, monkeypatch):
    monkeypatch.setattr(recording, "Recording", Replayed)
    monkeypatch.setattr("lamina.training.executors.captured.kernels.load", lambda device: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    data = task_of(lamina.load("digits").split(seed=0))
    recipe = Recipe(Adam(0.01), epochs=2, batch_size=100, micro_batch=size, augment=changes)

    def made_by(make):
        found = learner(
            lamina.build("lenet5", inputs=(1, 8, 8), outputs=10), data, recipe, Runtime("cpu", step="eager")
        )
        return make(found.model, found.feed, found.validation, found.objective, recipe)

    eager, captured = made_by(Learner), made_by(_capture)
    assert captured.kind == "captured"
    for step in (eager, captured):
        run_epochs(step, 2)
    for (key, mine), theirs in zip(eager.state().items(), captured.state().values(), strict=True):
        torch.testing.assert_close(mine, theirs.to(mine.dtype), rtol=1e-3, atol=1e-4, msg=key)
    assert captured.totals()["loss"] == pytest.approx(eager.totals()["loss"], rel=1e-4)


def test_a_recording_that_memory_splits_is_made_anew(monkeypatch):
    """The error of a split is not the last one where the end of the recording fails because of it."""
    tries, recorder = [], Recording()

    def record(body, tensors):
        tries.append(len(list(tensors)))
        if len(tries) == 1:
            raise SplitError
        if len(tries) == 2:
            try:
                raise SplitError
            except SplitError:
                raise RuntimeError("the capture was invalidated")  # noqa: B904 - as torch's context does
        if len(tries) == 4:
            raise RuntimeError("something else")
        return body

    monkeypatch.setattr(recorder, "_record", record)
    assert recorder.record(print, iter([torch.zeros(1)])) is print and tries == [1, 1, 1]
    with pytest.raises(RuntimeError, match="something else"):
        recorder.record(print, [])


@pytest.mark.parametrize("kind", ["translation", "language", "few"])
def test_a_replayed_update_equals_the_eager_one_without_a_gpu(kind, monkeypatch):
    monkeypatch.setattr(recording, "Recording", Replayed)
    monkeypatch.setattr(recording, "GRAPHS", 2 if kind == "few" else 64)
    running = kind == "language"
    recipe = Recipe(Adam(0.01), epochs=2, batch_size=4, window=10, teacher_forcing=0.5, clip=Clip(0.5))
    name, split = ("many-to-many", text()) if running else ("seq2seq", pairs())
    options = {"cell": "lstm", "input_dropout": 0.2, **({} if running else {"padding": 0})}
    eager, _ = made(split, name, recipe, **options)
    other, _ = made(split, name, recipe, **options)
    captured = _capture(other.model, other.feed, other.validation, other.objective, recipe)
    assert captured.kind == "captured" and captured.step == 0 and int(captured.executor.count) == 0
    for step in (eager, captured):
        run_epochs(step, 2)
    for (key, mine), theirs in zip(eager.state().items(), captured.state().values(), strict=True):
        torch.testing.assert_close(mine, theirs.to(mine.dtype), rtol=1e-4, atol=1e-5, msg=key)
    assert (len(captured.executor.graphs) == 2) == (kind in ("few", "language")) and captured.reason == ""
    assert captured.totals()["learning_rate"] == pytest.approx(eager.totals()["learning_rate"])
    captured.by_hand()
    captured.begin(1)
    captured()
    assert captured.step == eager.step + 1


def test_a_shape_that_cannot_be_recorded_is_run_and_named(monkeypatch):
    class Once(Replayed):
        times = 0

        def record(self, body, tensors):
            Once.times += 1
            if Once.times > 1:
                raise RuntimeError("operation not permitted\nwhen stream is capturing")
            return super().record(body, tensors)

    monkeypatch.setattr(recording, "Recording", Once)
    split = pairs()
    step, _ = made(split, "seq2seq", Recipe(batch_size=4), padding=0)
    captured = _capture(step.model, step.feed, None, step.objective, step.recipe)
    run_epochs(captured, 1)
    assert captured.step == captured.batches and "cannot be captured (operation not permitted)" in captured.reason
