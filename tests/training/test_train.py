"""`lamina.train`: events come as asked, nothing is held between them, and `fit` goes the same way."""

import gc

import pytest
import torch

import lamina
from lamina._errors import ArgumentError
from lamina.training.fit import fitting
from lamina.training.folder import RunFolder
from lamina.training.loop import Progress, drain
from lamina.training.runtime import Runtime
from safety import changes, state

RECIPE = lamina.Recipe(lamina.Adam(0.02), epochs=4, batch_size=16, seed=3)


def drained(run):
    """Give the rows of a training and why it ended."""
    rows = []
    reason = drain(run, lambda event: rows.append(event.row) if event.row is not None else None)
    return rows, reason


@pytest.fixture(params=["fnn", "many-to-one"])
def make(request):
    """Make a network and its data, with dropout, from a seed."""
    if request.param == "fnn":
        data = lamina.load("moons", count=120)
        return lambda seed: (lamina.build("fnn", inputs=2, outputs=2, hidden=(8,), dropout=0.3, seed=seed), data)
    data = lamina.load("order", count=120)
    return lambda seed: (lamina.build("many-to-one", inputs=10, outputs=2, embedding=3, hidden=5, seed=seed), data)


def test_rows_are_those_of_fit(make, tmp_path):
    rows, reason = drained(lamina.train(*make(0), RECIPE))
    net, data = make(0)
    run = lamina.fit(net, data, RECIPE, folder=tmp_path / "run")
    assert rows == list(run.rows) and reason == run.reason
    assert RunFolder(tmp_path / "run").rows() == rows


def test_events_come_after_every_so_many_updates_and_every_check():
    net, data = lamina.build("fnn", inputs=2, outputs=2), lamina.load("moons", count=120)  # 80 examples: 5 updates
    seen = [(event.step, event.row is not None) for event in lamina.train(net, data, RECIPE, every=3)]
    assert seen == [(3, False), (5, True), (6, False), (9, False), (10, True), (12, False), (15, False), (15, True),
                    (18, False), (20, True)]  # fmt: skip


def test_two_interleaved_trainings_agree_bitwise_with_separate_ones(make):
    separate = [drained(lamina.train(*make(seed), RECIPE))[0] for seed in (0, 1)]
    weights = []
    for seed in (0, 1):
        net, data = make(seed)
        drained(lamina.train(net, data, RECIPE))
        weights.append(net.state_dict())
    nets = [make(seed) for seed in (0, 1)]
    runs = [lamina.train(*net, RECIPE, every=2, runtime=Runtime(threads=1)) for net in nets]
    rows = [[], []]
    while any(run is not None for run in runs):
        for k, run in enumerate(runs):
            event = next(run, None) if run is not None else None
            runs[k] = run if event is not None else None
            if event is not None and event.row is not None:
                rows[k].append(event.row)
    assert rows == separate
    for (net, _), expected in zip(nets, weights, strict=True):
        assert all(torch.equal(value, expected[name]) for name, value in net.state_dict().items())


def test_nothing_is_held_between_events_and_a_dropped_training_leaves_everything(make):
    before = state()
    run = lamina.train(*make(0), RECIPE, every=2, runtime=Runtime(threads=2, deterministic=True))
    next(run)
    assert changes(before, state()) == []
    next(run)
    with torch.inference_mode():  # the caller may do as it likes in between
        torch.ones(2) * 2
    next(run)
    del run
    gc.collect()
    assert changes(before, state()) == []


def test_stopping_rules_and_limits_end_it():
    net, data = lamina.build("fnn", inputs=2, outputs=2), lamina.load("moons", count=120)
    recipe = lamina.Recipe(lamina.Adam(0.02), epochs=4, batch_size=16, stopping=lamina.Stopping(max_steps=7))
    rows, reason = drained(lamina.train(net, data, recipe))
    assert [row["step"] for row in rows] == [5, 7] and reason.name == "max_steps"


def test_every_must_be_a_number_of_updates():
    net, data = lamina.build("fnn", inputs=2, outputs=2), lamina.load("moons", count=120)
    with pytest.raises(ArgumentError, match="`every` must be at least 1, got 0"):
        next(lamina.train(net, data, every=0))


def test_between_checks_the_progress_knows_the_loss_so_far_and_at_the_end_the_reason():
    net, data = lamina.build("fnn", inputs=2, outputs=2), lamina.load("moons", count=120)
    at, losses = Progress(), []
    reason = drain(lamina.train(net, data, RECIPE, every=1, at=at), lambda event: losses.append(at.totals()["loss"]))
    assert at.reason == reason and reason.name == "epochs"
    # five updates and a check an epoch; the sums begin anew with each
    assert [losses[4], losses[10]] == [row["loss"] for row in at.rows[:2]] == [losses[5], losses[11]]
    assert len({*losses[:5]}) == 5


def test_what_is_answered_to_an_event_reaches_the_training():
    def counting():
        total = 0
        for number in range(3):
            total += yield number
        return total

    assert drain(counting(), lambda number: 10 * number) == 30


def test_a_fit_can_be_looked_at_in_between_and_is_the_same_run(make, tmp_path):
    net, data = make(0)
    run = lamina.fit(net, data, RECIPE, folder=tmp_path / "whole")
    net, data = make(0)
    before, seen = state(), []
    looking = fitting(net, data, RECIPE, every=3, folder=tmp_path / "watched", runtime=Runtime(threads=1))
    same = drain(looking, lambda event: seen.append((event.step, changes(before, state()))))
    assert seen == [(step, []) for step in (3, 5, 6, 9, 10, 12, 15, 15, 18, 20)]
    assert same.rows == run.rows and same.reason == run.reason
    for name in ("history.jsonl", "weights.safetensors", "status.json", "config.toml"):
        assert (tmp_path / "watched" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_fit_that_is_dropped_can_be_resumed(make, tmp_path, monkeypatch):
    monkeypatch.setattr("lamina.training.fit.CHECKPOINT_SECONDS", 0.0)
    net, data = make(0)
    whole = lamina.fit(net, data, RECIPE, folder=tmp_path / "whole", runtime=Runtime(threads=1))
    net, data = make(0)
    before = state()
    looking = fitting(net, data, RECIPE, every=3, folder=tmp_path / "dropped", runtime=Runtime(threads=1))
    assert [next(looking).step for _ in range(3)] == [3, 5, 6]
    del looking
    gc.collect()
    assert changes(before, state()) == []
    assert lamina.resume(tmp_path / "dropped").rows == whole.rows
