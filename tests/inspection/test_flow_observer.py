"""The observer in whole runs: same parameters, right rows, files, resume; on a GPU as part of the captured update."""

import json

import pytest
import torch

import lamina
from lamina._errors import ArgumentError
from lamina.data.synthetic import moons
from lamina.functional.losses import negative_log_likelihood
from lamina.inspection.flow_observer import GradientFlowObserver
from lamina.training.fit import fit, resume
from lamina.training.loop import Event
from lamina.training.recipe import Adam, Clip, MiniBatch, Recipe
from lamina.training.runtime import Runtime
from lamina.training.watching import Watcher

RECIPE = Recipe(Adam(0.01), epochs=3, batch_size=24)


def network(**options):
    return lamina.build("fnn", inputs=2, outputs=2, hidden=(8, 8), activation="tanh", **options)


@pytest.fixture
def data():
    return moons(120, seed=0).split(seed=0)


def test_it_is_a_watcher():
    assert isinstance(GradientFlowObserver(), Watcher) and not isinstance(lambda event: None, Watcher)
    with pytest.raises(ArgumentError, match="`every` must be at least 1, got 0"):
        GradientFlowObserver(every=0)
    with pytest.raises(ArgumentError, match="give it to `fit"):
        GradientFlowObserver().looking()
    assert str(GradientFlowObserver()) == "nothing has been measured yet" and GradientFlowObserver().warnings == ()


def test_a_run_with_it_equals_one_without(tmp_path, data):
    runtime = Runtime(threads=1)
    options = {"batch_norm": True, "dropout": 0.2}
    watch = GradientFlowObserver(every=3)
    without = fit(network(**options), data, RECIPE, folder=tmp_path / "a", runtime=runtime)
    within = fit(network(**options), data, RECIPE, folder=tmp_path / "b", runtime=runtime, observers=[watch])
    assert within.rows == without.rows
    for name, value in without.model.state_dict().items():
        assert torch.equal(value, within.model.state_dict()[name]), name
    assert [row["step"] for row in watch.rows] == [1, 4, 7, 10]
    lines = (tmp_path / "b/gradients.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 4, 7, 10]
    assert not (tmp_path / "a/gradients.jsonl").exists()


def test_the_first_row_is_the_first_update_by_hand(tmp_path, data):
    watch, net = GradientFlowObserver(every=100), network()
    seen = {}

    def remember(event: Event) -> None:
        if event.step == 1 and event.row is None:
            seen.update({name: p.detach().clone() for name, p in net.named_parameters()})

    before = {name: p.detach().clone() for name, p in net.named_parameters()}
    recipe = Recipe(MiniBatch(0.5), epochs=1, batch_size=24, clip=Clip(1e-3))
    run = fit(net, data, recipe, folder=tmp_path / "run", runtime=Runtime(threads=1), observers=[remember, watch])
    from lamina.training.tasks.feed import epoch_order

    chosen = epoch_order(len(data.train), 24, "epoch", recipe.seed, 0)[:24]
    u, s = data.train.take(chosen)
    start = network()
    loss = negative_log_likelihood(start(run.preprocess.apply(u)), s)
    gradients = torch.autograd.grad(loss, [layer.affine.weight for layer in start.layers])
    row = watch.rows[0]
    assert row["weight_gradient"] == pytest.approx([g.norm().item() for g in gradients], rel=1e-5)  # before clipping
    moved = [(seen[f"layers.{i}.affine.weight"] - before[f"layers.{i}.affine.weight"]).norm().item() for i in range(3)]
    assert row["update"] == pytest.approx(moved, rel=1e-4)
    total = sum(x**2 for x in row["update"])
    assert total <= (0.5 * 1e-3) ** 2 * 1.001
    assert row["kinds"] == ["tanh", "tanh", "identity"] and row["layers"][0] == "layers.0.affine"


class Stop(Exception):
    pass


@pytest.mark.parametrize("at", [2, 5, 9])
def test_a_killed_run_has_the_same_rows_after_resume(tmp_path, data, monkeypatch, at):
    monkeypatch.setattr(lamina.training.fit, "CHECKPOINT_SECONDS", 0.0)
    runtime = Runtime(threads=1)
    fit(network(), data, RECIPE, folder=tmp_path / "whole", runtime=runtime, observers=[GradientFlowObserver(2)])

    def kill(event: Event) -> None:
        if event.step == at:
            raise Stop

    with pytest.raises(Stop):
        observers = [kill, GradientFlowObserver(2)]
        fit(network(), data, RECIPE, folder=tmp_path / "killed", runtime=runtime, observers=observers)
    resume(tmp_path / "killed", data=data, observers=[GradientFlowObserver(2)])
    whole, again = ((tmp_path / name / "gradients.jsonl").read_bytes() for name in ("whole", "killed"))
    assert whole == again


def test_a_diverged_run_keeps_its_rows_once(tmp_path, data):
    watch = GradientFlowObserver(every=1)
    recipe = Recipe(MiniBatch(1e30), epochs=2, batch_size=24)
    net = lamina.build("fnn", inputs=2, outputs=2, hidden=(8,))
    run = fit(net, data, recipe, folder=tmp_path / "run", runtime=Runtime(threads=1), observers=[watch])
    assert run.reason.name == "diverged"
    steps = [json.loads(line)["step"] for line in (tmp_path / "run/gradients.jsonl").read_text().splitlines()]
    assert steps == list(range(1, len(steps) + 1)) and len(steps) >= 2
    assert "not finite" in watch.warnings[0] and "after update" in str(watch)


def test_two_observers_look_at_their_own_updates(tmp_path, data):
    often, seldom = GradientFlowObserver(every=2), GradientFlowObserver(every=5)
    seldom.file = "seldom.jsonl"
    fit(network(), data, RECIPE, folder=tmp_path / "run", runtime=Runtime(threads=1), observers=[often, seldom])
    assert [row["step"] for row in often.rows] == [1, 3, 5, 7, 9, 11]
    assert [row["step"] for row in seldom.rows] == [1, 6, 11]
    same = [json.loads((tmp_path / "run" / name).read_text().splitlines()[0]) for name in (often.file, seldom.file)]
    assert same[0] == same[1]


def test_sequences_are_watched_too(tmp_path):
    from lamina.data.sequences import next_input

    data = next_input(60, 7, 4)
    net = lamina.build("many-to-many", inputs=4, outputs=4, hidden=6, embedding="one-hot")
    watch = GradientFlowObserver(every=2)
    recipe = Recipe(Adam(0.01), epochs=2, batch_size=20)
    fit(net, data.split(seed=0), recipe, folder=tmp_path / "run", runtime=Runtime(threads=1), observers=[watch])
    assert [flow.step for flow in watch.flows] == [1, 3]
    assert watch.flows[0].layers[0].kind == "gru" and watch.flows[0].layers[0].state_gradient > 0


CUDA = {
    "fnn": {"inputs": 64, "outputs": 10, "hidden": (32, 32), "dropout": 0.2, "batch_norm": True},
    "lenet5": {"inputs": (1, 8, 8), "outputs": 10, "activation": "relu"},
    "cifar-resnet": {"inputs": (1, 8, 8), "outputs": 10},
}


@pytest.mark.cuda
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", CUDA)
def test_a_captured_run_with_it_equals_one_without(tmp_path, name, precision):
    recipe = Recipe(Adam(0.01), epochs=3, batch_size=100, precision=precision)
    watches = [None, GradientFlowObserver(every=4)]
    runs = []
    for place, watch in enumerate(watches):
        runtime = Runtime("cuda", step="captured", deterministic=True)
        observers = [watch] if watch else []
        net = lamina.build(name, **CUDA[name])
        run = fit(
            net, lamina.load("digits"), recipe, folder=tmp_path / str(place), runtime=runtime, observers=observers
        )
        assert json.loads((tmp_path / str(place) / "environment.json").read_text())["step"] == "captured"
        runs.append(run)
    without, within = runs
    assert [row["loss"] for row in within.rows] == [row["loss"] for row in without.rows]
    for key, value in without.model.state_dict().items():
        assert torch.equal(value, within.model.state_dict()[key]), key
    assert [row["step"] for row in watches[1].rows] == list(range(1, within.rows[-1]["step"] + 1, 4))
    assert all(x > 0 for row in watches[1].rows for x in row["state_gradient"] + row["weight_gradient"])


@pytest.mark.cuda
def test_captured_rows_are_the_eager_ones(tmp_path):
    rows = []
    for kind in ("eager", "captured"):
        watch = GradientFlowObserver(every=5)
        recipe = Recipe(Adam(0.01), epochs=1, batch_size=100)
        fit(lamina.build("fnn", **CUDA["fnn"]), lamina.load("digits"), recipe, folder=tmp_path / kind,
            runtime=Runtime("cuda", step=kind), observers=[watch])  # fmt: skip
        rows.append(watch.rows)
    for eager, captured in zip(*rows, strict=True):
        for name in ("state_gradient", "weight_gradient", "mean_square", "update"):
            assert captured[name] == pytest.approx(eager[name], rel=1e-2), name


@pytest.mark.cuda
def test_captured_sequences_are_watched_too(tmp_path):
    from lamina.data.sequences import next_input

    watch = GradientFlowObserver(every=2)
    recipe = Recipe(Adam(0.01), epochs=2, batch_size=20)
    finals = []
    for observers in ([], [watch]):
        net = lamina.build("many-to-many", inputs=4, outputs=4, hidden=6, embedding="one-hot")
        run = fit(net, next_input(60, 7, 4).split(seed=0), recipe, folder=tmp_path / str(len(observers)),
                  runtime=Runtime("cuda"), observers=observers)  # fmt: skip
        finals.append(run.rows[-1]["loss"])
    assert finals[0] == pytest.approx(finals[1], rel=1e-6)
    assert [flow.step for flow in watch.flows] == [1, 3]


class Rerun:
    """Stands in for a recording where there is no GPU: what it replays is the body itself."""

    def record(self, body, tensors):
        kept = [(tensor, tensor.clone()) for tensor in tensors]
        body()
        with torch.no_grad():
            for tensor, value in kept:
                tensor.copy_(value)
        return body


def test_the_captured_step_keeps_a_watched_recording_beside_the_plain_one(data, monkeypatch):
    from lamina.data.preprocess import Preprocess
    from lamina.training.executors import captured, recording
    from lamina.training.objective import Objective
    from lamina.training.tasks.feed import Feed

    monkeypatch.setattr(recording, "Recording", Rerun)
    monkeypatch.setattr(captured.kernels, "load", lambda device: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    source = Preprocess.fit(data.train, 2).source(data.train)
    states, watch = [], GradientFlowObserver(every=3)
    for watcher in (None, watch):
        step = captured._capture(network(), Feed(source, RECIPE), None, Objective("nll"), RECIPE)
        if watcher:
            step.watch(watcher)
        for epoch in range(2):
            step.begin(epoch)
            for _ in range(step.batches):
                step()
        states.append({name: t.clone() for name, t in step.state().items()})
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert [flow.step for flow in watch.flows] == [1, 4, 7]
    assert set(step.executor.graphs._graphs) >= {(8, False), (24, False), (24, True)}
    step.by_hand()
    assert step.watchers == [] and not step.executor.graphs.on
