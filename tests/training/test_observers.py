"""Observers that ask a run to end: exactly where they do, saved, and continued as if nothing had happened."""

import json

import numpy as np
import pytest
import torch

import lamina
from lamina._errors import RunError
from lamina.training.cross_validation import Crossing
from lamina.training.loop import _says_stop
from lamina.training.tasks.kinds import task_of

RECIPE = lamina.Recipe(lamina.Adam(0.02), epochs=4, batch_size=16)
BATCHES = 5


def net():
    return lamina.build("fnn", inputs=2, outputs=2, hidden=8)


@pytest.fixture(scope="module")
def split():
    return lamina.load("moons", count=120).split()


class AskAt:
    """Returns True at one step, and lists what it saw."""

    def __init__(self, step, check):
        self.step, self.check, self.seen = step, check, []

    def __call__(self, event):
        self.seen.append((event.step, event.row is not None))
        return event.step == self.step and (event.row is not None) == self.check


# a step in the middle of an epoch, the last one of it, which its check follows, and that check
@pytest.mark.parametrize("step,check", [(7, False), (10, False), (10, True)])
def test_a_run_ends_where_an_observer_asks_and_goes_on_bit_for_bit(split, tmp_path, step, check):
    ask, others = AskAt(step, check), []
    whole = lamina.fit(net(), split, RECIPE, folder=tmp_path / "whole")
    folder = tmp_path / "run"
    run = lamina.fit(net(), split, RECIPE, folder=folder, observers=[ask, others.append])
    assert (run.reason.name, run.reason.sentence) == ("observer", f"an observer asked to stop after step {step}")
    assert ask.seen[-1] == (step, step % BATCHES == 0) and others[-1].step == step  # and nobody is left out
    assert [row["step"] for row in run.rows] == [5, 10][: step // BATCHES]
    status = json.loads((folder / "status.json").read_text())
    assert status["state"] == "observer" and not run.reason.failed and run.evaluate().examples == 20
    assert lamina.Run.load(folder).reason == run.reason
    again = lamina.resume(folder, data=split)
    assert again.rows == whole.rows and again.reason.name == "epochs"
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name


def test_a_resumed_run_can_be_asked_again(split, tmp_path):
    lamina.fit(net(), split, RECIPE, folder=tmp_path / "run", observers=[AskAt(3, False)])
    assert lamina.resume(tmp_path / "run", data=split, observers=[AskAt(12, False)]).reason.sentence.endswith("step 12")


def test_before_the_first_check_the_weights_are_those_of_the_moment(split, tmp_path):
    model = net()
    run = lamina.fit(model, split, RECIPE, folder=tmp_path / "run", observers=[lambda event: True])
    assert run.rows == () and run.reason.sentence == "an observer asked to stop after step 1"
    fresh = net()
    assert not torch.equal(run.model.layers[0].affine.weight, fresh.layers[0].affine.weight)
    crossing = Crossing(
        lambda part, _: (net(), task_of(part), RECIPE), lamina.load("moons", count=60), 3, 1, 0, tmp_path
    )
    with pytest.raises(RunError, match="fold 1 of 3 has no result: an observer asked .* before its first check"):
        list(crossing.run(observers=[lambda event: True]))


def test_at_the_end_a_run_has_done_its_epochs(split, tmp_path):
    run = lamina.fit(net(), split, RECIPE, folder=tmp_path / "run", observers=[AskAt(20, True)])
    assert run.reason.name == "epochs" and len(run.rows) == 4


def test_only_true_is_an_answer():
    for answer in (True, np.bool_(True), np.array(True), torch.tensor(True)):
        assert _says_stop(answer)
    for answer in (None, False, np.bool_(False), torch.tensor(False), 1, 17, "stop", [1], torch.tensor(1.0)):
        assert not _says_stop(answer)


def test_the_report_says_how_to_continue(split, tmp_path):
    run = lamina.fit(
        net(), lamina.load("moons", count=120), RECIPE, folder=tmp_path / "run", observers=[AskAt(5, True)]
    )
    text = lamina.write_report(run.folder).read_text()
    assert "an observer asked to stop after step 5" in text and "Continue it" in text
