"""Batches that are computed in pieces: the update is that of the whole batch, and memory that is full costs no run."""

import json
from dataclasses import replace

import pytest
import torch
from torch import nn

import lamina
from lamina._errors import ArgumentError, RunError, RunWarning
from lamina.data.arrays import from_arrays
from lamina.functional.losses import huber_error
from lamina.inspection.flow_observer import GradientFlowObserver
from lamina.populations.members import Member
from lamina.populations.population import train_population
from lamina.training.executors import choose
from lamina.training.executors.choose import learner
from lamina.training.fit import fit, resume
from lamina.training.loop import Event, Progress, drain
from lamina.training.recipe import GD, Adam, Clip, MiniBatch, Penalty, Recipe, Stopping
from lamina.training.runtime import Runtime
from lamina.training.tasks.kinds import task_of
from lamina.training.train import train
from training.tasks.steps import made, pairs, reviews, run_epochs, text

WIDE = {"rtol": 1e-11, "atol": 1e-11}  # sums of float64 in another order, after a few updates


def rows(targets, **more):
    g = torch.Generator().manual_seed(3)
    return from_arrays(torch.randn(90, 5, generator=g), targets(g), **more).split(seed=0)


def classes(g):
    return (torch.rand(90, generator=g) ** 2 * 3).long()


CASES = {
    "classes": (rows(classes), 3, Recipe(Adam(0.01))),
    "balanced classes": (rows(classes), 3, Recipe(MiniBatch(0.1, momentum=0.9), class_weights="balanced")),
    "weighted examples": (rows(classes, weights=torch.arange(90) % 4 + 0.5), 3, Recipe(MiniBatch(0.1))),
    "focal": (rows(classes), 3, Recipe(Adam(0.01), loss="focal")),
    "labels": (rows(lambda g: torch.rand(90, 4, generator=g) < 0.3), 4, Recipe(Adam(0.01))),
    "numbers": (rows(lambda g: torch.randn(90, 2, generator=g)), 2, Recipe(MiniBatch(0.05), penalty=Penalty(0.01))),
    "own mean": (rows(lambda g: torch.randn(90, generator=g)), 1, Recipe(Adam(0.01), loss=huber_error)),
    "clipped": (rows(classes), 3, Recipe(MiniBatch(0.1), clip=Clip(0.05), penalty=Penalty(0.01, 1))),
    "searched": (rows(classes), 3, Recipe(GD(line_search=True), penalty=Penalty(0.01))),
}


def trained(split, outputs, recipe, **options):
    model = lamina.build("fnn", inputs=5, outputs=outputs, hidden=(7,), activation="tanh")
    step = learner(model, task_of(split), recipe, Runtime("cpu", step="eager", **options))
    run_epochs(step, recipe.epochs)
    return step


def assert_same_state(one, other, rtol, atol):
    for (name, mine), theirs in zip(one.state().items(), other.state().values(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=rtol, atol=atol, msg=name)


@pytest.mark.parametrize("name", CASES)
def test_pieces_give_the_update_of_the_whole_batch(name):
    """Batches of 28, 28 and 4 in pieces of at most 12: gradients, sums, norms, moments and weights in float64."""
    split, outputs, recipe = CASES[name]
    recipe = replace(recipe, epochs=3, batch_size=28, precision="float64", stopping=Stopping(gradient_norm=1e-9))
    whole, split_up = trained(split, outputs, recipe), trained(split, outputs, replace(recipe, micro_batch=12))
    assert split_up.feed.parts(28) == [slice(0, 9), slice(9, 18), slice(18, 28)] and not whole.feed.splits
    assert_same_state(whole, split_up, **WIDE)
    for mine, theirs in zip(whole.params, split_up.params, strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, **WIDE)
    mine, theirs = whole.totals(), split_up.totals()
    assert mine.pop("gradients") == pytest.approx(theirs.pop("gradients"), rel=1e-10)
    assert mine == pytest.approx(theirs, rel=1e-10)


def test_in_single_precision_the_weights_agree_to_a_millionth():
    split, outputs, recipe = CASES["balanced classes"]
    recipe = replace(recipe, epochs=3, batch_size=28)
    whole, split_up = trained(split, outputs, recipe), trained(split, outputs, replace(recipe, micro_batch=5))
    for mine, theirs in zip(whole.params, split_up.params, strict=True):
        assert (mine - theirs).abs().max() < 1e-6


@pytest.mark.parametrize(
    ("make", "name", "options"),
    [
        (reviews, "many-to-one", {}),
        (pairs, "seq2seq", {"teacher_forcing": 0.5, "label_smoothing": 0.1}),
        (text, "many-to-many", {"window": 10}),
    ],
    ids=["texts", "pairs", "running text"],
)
def test_sequences_in_pieces(make, name, options):
    """Steps that count differ from piece to piece; which words a decoder hears and which state goes on do not."""
    recipe = Recipe(Adam(0.01), epochs=2, batch_size=8, precision="float64", **options)
    split, more = make(), {"cell": "lstm"}
    whole, split_up = made(split, name, recipe, **more)[0], made(split, name, replace(recipe, micro_batch=3), **more)[0]
    for step in (whole, split_up):
        run_epochs(step, 2)
    assert split_up.feed.splits
    assert_same_state(whole, split_up, **WIDE)


def test_a_batch_in_which_nothing_counts_leaves_the_penalty():
    recipe = Recipe(MiniBatch(0.5), batch_size=4, micro_batch=2, precision="float64", penalty=Penalty(0.1))
    step, _ = made(pairs(), "seq2seq", recipe)
    before = [p.detach().clone() for p in step.params]
    step.begin(0)
    inputs, targets = step.feed.next(0)
    step.change.rate = 0.5
    step.update(inputs, torch.zeros_like(targets))
    for p, old in zip(step.params, before, strict=True):
        torch.testing.assert_close(p.detach(), old * (1 - 0.5 * 0.2), **WIDE)


def test_batch_normalization_takes_its_statistics_from_each_piece():
    split = CASES["classes"][0]
    model = nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 3))
    step = learner(model, task_of(split), Recipe(batch_size=20, micro_batch=8, precision="float64"), Runtime("cpu"))
    step.begin(0)
    inputs, _ = step.feed.source.batch(step.feed.order[:20])
    step()
    mean = torch.zeros(5, dtype=torch.float64)
    for piece in inputs.double().split([6, 7, 7]):
        mean = 0.9 * mean + 0.1 * piece.mean(0)
    torch.testing.assert_close(model[0].running_mean, mean)
    assert model[0].num_batches_tracked == 3


class Cramped(nn.Module):
    """A network with batch normalization and dropout, in a memory for a few examples."""

    def __init__(self, most: int, error: Exception | None = None) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 8), lamina.layers.Dropout(0.3), nn.Linear(8, 3))
        with torch.no_grad():
            for p in self.parameters():
                p.copy_(torch.linspace(-1, 1, p.numel()).reshape(p.shape))
        self.most, self.error = most, error or torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    def forward(self, inputs):
        outputs = self.body(inputs)  # buffers are changed before memory is full
        if self.training and len(inputs) > self.most:
            raise self.error
        return outputs


def test_memory_that_is_full_splits_the_batch_and_leaves_no_trace():
    split, recipe = CASES["classes"][0], Recipe(Adam(0.01), epochs=2, batch_size=28)
    given = learner(Cramped(90), task_of(split), replace(recipe, micro_batch=7), Runtime("cpu"))
    found = learner(Cramped(8), task_of(split), recipe, Runtime("cpu"))
    run_epochs(given, 2)
    with pytest.warns(RunWarning, match="a batch of 28 examples does not fit in memory") as said:
        run_epochs(found, 2)
    assert len(said) == 2 and "(micro_batch=14)" in str(said[0].message) and "(micro_batch=7)" in str(said[1].message)
    assert all(mine.equal(theirs) for mine, theirs in zip(given.state().values(), found.state().values(), strict=True))


def test_other_errors_pass_and_a_single_example_must_fit():
    split, recipe = CASES["classes"][0], Recipe(batch_size=4)
    wrong = learner(Cramped(1, RuntimeError("shapes differ")), task_of(split), recipe, Runtime("cpu"))
    wrong.begin(0)
    with pytest.raises(RuntimeError, match="shapes differ"):
        wrong()
    cramped = Cramped(0)
    cramped.body[0] = nn.Identity()  # batch normalization needs two examples
    full = learner(cramped, task_of(split), recipe, Runtime("cpu"))
    full.begin(0)
    sentence = r"a single example does not fit in memory: use a smaller network, smaller inputs or another device"
    with pytest.warns(RunWarning), pytest.raises(RunError, match=sentence):
        full()


class Stop:
    """Interrupts a run after some updates."""

    def __init__(self, step: int) -> None:
        self.step = step

    def __call__(self, event: Event) -> None:
        if event.step == self.step and event.row is None:
            raise KeyboardInterrupt


def test_a_run_records_its_pieces_and_a_resume_uses_them(tmp_path, monkeypatch):
    monkeypatch.setattr("lamina.training.fit.CHECKPOINT_SECONDS", 0.0)
    split, recipe = CASES["classes"][0], Recipe(Adam(0.01), epochs=3, batch_size=28)
    with pytest.warns(RunWarning, match="pieces of 14"):
        whole = fit(Cramped(20), split, recipe, folder=tmp_path / "whole")
    assert json.loads((whole.folder / "environment.json").read_text())["micro_batch"] == 14
    assert "micro_batch" not in whole.folder.joinpath("config.toml").read_text()
    with pytest.warns(RunWarning), pytest.raises(KeyboardInterrupt):
        fit(Cramped(20), split, recipe, folder=tmp_path / "killed", observers=[Stop(5)])
    again = resume(tmp_path / "killed", model=Cramped(20), data=split)  # warnings are errors: nothing is tried again
    for mine, theirs in zip(whole.model.state_dict().values(), again.model.state_dict().values(), strict=True):
        assert mine.equal(theirs)
    assert [row["loss"] for row in whole.rows] == [row["loss"] for row in again.rows]
    longer = resume(tmp_path / "killed", model=Cramped(20), data=split, epochs=4, options={"micro_batch": 4})
    assert longer.rows[-1]["epoch"] == 4
    assert json.loads((longer.folder / "environment.json").read_text())["micro_batch"] == 4


def test_the_memory_of_a_cpu_is_forecast(monkeypatch):
    split, recipe = CASES["classes"][0], Recipe(MiniBatch(0.1), batch_size=28, precision="float64")
    whole = trained(split, 3, recipe)
    monkeypatch.setattr(choose, "LARGE", 0.0)
    monkeypatch.setattr(choose, "free_bytes", lambda device: 3 * 8 * 7 * (5 + 7) // 2)  # 7 examples: inputs and tanh
    with pytest.warns(RunWarning, match="pieces of 7"):
        forecast = trained(split, 3, recipe)
    assert forecast.feed.micro_batch == 7 and forecast.feed.at_once(1000) == 28
    assert_same_state(whole, forecast, **WIDE)


def test_watchers_see_the_gradient_of_the_whole_batch():
    split, outputs, recipe = CASES["classes"]
    recipe, seen = replace(recipe, epochs=1, batch_size=28, precision="float64"), []
    for size in (None, 12):
        model = lamina.build("fnn", inputs=5, outputs=outputs, hidden=(7,), activation="tanh")
        step = learner(model, task_of(split), replace(recipe, micro_batch=size), Runtime("cpu"))
        watcher = GradientFlowObserver(every=1)
        step.watch(watcher)
        run_epochs(step, 1)
        watcher.read()
        seen.append([row["weight_gradient"] for row in watcher.rows])
    assert len(seen[0]) == 3 and all(a == pytest.approx(b, rel=1e-10) for a, b in zip(*seen, strict=True))


@pytest.mark.parametrize("shared", [True, False])
def test_stacks_compute_in_pieces_too(shared):
    split = CASES["balanced classes"][0]
    config = lamina.architectures.build.configure("fnn", inputs=5, outputs=3, hidden=(7,))
    recipe = Recipe(Adam(0.01), epochs=2, batch_size=28, micro_batch=12, precision="float64", class_weights="balanced")
    members = [Member(replace(recipe, seed=k), config, seed=k) for k in range(3)]
    found = train_population(members, split, shared_order=shared)
    for member, result in zip(members, found, strict=True):
        assert result.kind == "stacked"
        at, one = Progress(), replace(member.recipe, micro_batch=None, seed=0 if shared else member.recipe.seed)
        drain(train(member.build(), split, one, "eager", at=at))
        for name in ("loss", "accuracy", "validation_loss"):
            assert [row[name] for row in result.rows] == pytest.approx([row[name] for row in at.rows], rel=1e-10)


def test_a_stack_that_does_not_fit_is_split(monkeypatch):
    split = CASES["classes"][0]
    config = lamina.architectures.build.configure("dense-resnet", inputs=5, outputs=3)
    members = [Member(Recipe(Adam(0.01 * (k + 1)), epochs=2, batch_size=28), config, seed=k) for k in range(3)]
    whole = train_population(members, split)
    from lamina.populations._stack import StackFeed

    plain = StackFeed.outputs

    def cramped(self, model, inputs, targets):
        if len(inputs) > 10:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return plain(self, model, inputs, targets)

    monkeypatch.setattr(StackFeed, "outputs", cramped)
    with pytest.warns(RunWarning, match="does not fit in memory"):
        found = train_population(members, split)
    for mine, theirs in zip(whole, found, strict=True):
        assert [r["loss"] for r in mine.rows] == pytest.approx([r["loss"] for r in theirs.rows], rel=1e-4)


def test_a_size_below_one_is_refused():
    with pytest.raises(ArgumentError, match="`micro_batch` must be .*at least 1, got 0"):
        Recipe(micro_batch=0)
