"""Recorded work replays to what the eager work gives."""

import pytest
import torch

from lamina.training.executors import recording
from lamina.training.executors.captured import _capture
from lamina.training.executors.recording import Recording
from lamina.training.recipe import Adam, Clip, Recipe
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
