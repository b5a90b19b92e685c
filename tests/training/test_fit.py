"""Runs from start to end: what lies in the folder, resuming bit for bit."""

import json
import math
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import lamina
from lamina._errors import ArgumentError, DataWarning, RunError, ShapeError
from lamina.training import checkpoint
from lamina.training.fit import fit, rebuild, resume
from lamina.training.folder import RunFolder
from lamina.training.plan import plan
from lamina.training.recipe import GD, Adam, MiniBatch, Penalty, Recipe, Stopping
from lamina.training.run import Run
from lamina.training.runtime import Runtime
from lamina.training.tasks.feed import Feed
from safety import AFTER_KILL

ONE = Runtime(threads=1)


def digits(epochs=3, **options):
    """A small run that uses dropout, batch norm and augmentation, so that a resume has much to get wrong."""
    recipe = lamina.training.recipe.with_options(Recipe(Adam(0.01), epochs=epochs, batch_size=100), **options)
    net = lamina.build("fnn", inputs=64, outputs=10, hidden=(16,), dropout=0.2, batch_norm=True)
    return net, lamina.load("digits"), recipe


def content(folder: Path) -> dict[str, bytes]:
    names = ("history.jsonl", "weights.safetensors", "config.toml", "preprocess.json", "status.json")
    return {name: (folder / name).read_bytes() for name in names}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "whole"
    return fit(*digits(), folder=folder, runtime=ONE)


def test_a_run_leaves_everything_behind(finished):
    folder = RunFolder.open(finished.folder)
    assert finished.reason.name == "epochs" and len(finished.rows) == 3
    assert folder.rows() == [json.loads(json.dumps(row)) for row in finished.rows]
    config = folder.config()
    assert config["data"]["source"] == "digits" and config["data"]["reload"] and config["data"]["seed"] == 0
    assert config["architecture"]["network"] == "FNN" and config["architecture"]["config"]["hidden"] == [16]
    assert folder.json("environment")["threads"] == 1 and folder.json("environment")["step"] == "eager"
    assert folder.json("status")["state"] == "epochs"
    assert next(path.name[:13] for path in checkpoint.found(folder.checkpoints)) == "step-00000036"
    text = (
        "".join(p.read_text() for p in finished.folder.glob("*.json*")) + (finished.folder / "config.toml").read_text()
    )
    assert str(finished.folder.parent) not in text  # no path of the machine


@pytest.mark.parametrize("moment", [1, 11, 12, 13, 20, 24, 35])
def test_an_interrupted_run_resumes_bit_for_bit(finished, tmp_path, moment):
    """Stopped after any step, in the middle of an epoch or at its end, then gone on with by another object."""

    def stop(event):
        if event.step == moment and event.row is None:
            signal.raise_signal(signal.SIGINT)

    net, data, recipe = digits()
    run = fit(net, data, recipe, folder=tmp_path / "run", observers=[stop], runtime=ONE)
    assert run.reason.name == "interrupted" and "everything up to there is saved" in run.reason.sentence
    assert not (run.folder / "weights.safetensors").exists()
    whole = resume(run.folder)
    assert whole.reason.name == "epochs"
    assert content(whole.folder) == content(finished.folder)


MASKS = {f"layers.0.dropout.{name}" for name in ("rate", "seed", "counter")}


def test_masks_are_in_the_checkpoint_and_not_in_the_weights(finished):
    folder = RunFolder.open(finished.folder)
    saved = checkpoint.load(folder.checkpoints).tensors
    assert {n.removeprefix("masks/") for n in saved if n.startswith("masks/")} == MASKS
    assert saved["masks/layers.0.dropout.counter"].item() == 36
    for part in ("model/", "best/"):
        assert {n.removeprefix(part) for n in saved if n.startswith(part)} == folder.read_weights().keys()
    assert folder.read_weights().keys() == finished.model.state_dict().keys()


def test_a_finished_run_of_version_0_1_is_loaded(finished, tmp_path):
    home = RunFolder.open(shutil.copytree(finished.folder, tmp_path / "old"))
    old = home.read_weights() | {name: torch.tensor(0.75) for name in MASKS}
    home.write_json("status", home.json("status") | {"weights": home.write_weights(old)})
    loaded = Run.load(home.path).model
    assert all(torch.equal(t, old[name]) for name, t in loaded.state_dict().items())
    assert loaded.layers[0].dropout.rate.item() == pytest.approx(0.2)


def test_an_interrupted_run_of_version_0_1_resumes_bit_for_bit(finished, tmp_path):
    def stop(event):
        if event.step == 20 and event.row is None:
            signal.raise_signal(signal.SIGINT)

    run = fit(*digits(), folder=tmp_path / "run", observers=[stop], runtime=ONE)
    home = RunFolder.open(run.folder)
    saved = checkpoint.load(home.checkpoints)
    old = {name.replace("masks/", "model/"): t for name, t in saved.tensors.items()}
    old |= {f"best/{name}": saved.tensors[f"masks/{name}"].clone() for name in MASKS}
    for path in checkpoint.found(home.checkpoints):
        path.unlink()
    checkpoint.save(home.checkpoints, 20, old, saved.plain)
    assert Run.load(home.path).model.state_dict().keys() == finished.model.state_dict().keys()
    assert content(resume(home.path).folder) == content(finished.folder)


def test_a_damaged_newest_checkpoint_costs_time_but_nothing_else(finished, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("lamina.training.fit.CHECKPOINT_SECONDS", 0.0)

    def stop(event):
        if event.step == 20 and event.row is None:
            signal.raise_signal(signal.SIGINT)

    run = fit(*digits(), folder=tmp_path / "run", observers=[stop], runtime=ONE)
    newest = checkpoint.found(run.folder / "checkpoints")[0]
    newest.write_bytes(newest.read_bytes()[:-10])
    whole = resume(run.folder)
    assert "note: a damaged checkpoint was skipped" in capsys.readouterr().err
    assert content(whole.folder) == content(finished.folder)


KILLED = """
import sys, time, lamina
from lamina.training import fit as module
from lamina.training.runtime import Runtime
sys.path.insert(0, {tests!r})
from training.test_fit import digits
module.CHECKPOINT_SECONDS = 0.02
def slow(event):
    time.sleep(0.01)
if sys.argv[1] == "fit":
    module.fit(*digits(), folder={folder!r}, observers=[slow], runtime=Runtime(threads=1))
else:
    module.resume({folder!r}, observers=[slow])
print("done")
"""


def killed(folder: Path, seed: int) -> int:
    """Start a run, kill it at a random moment, resume and kill again until it is done; return how often it died."""
    g = torch.Generator().manual_seed(seed)
    code = KILLED.format(folder=str(folder), tests=str(Path(__file__).parent.parent))
    verb, deaths = "fit", 0
    while True:
        before = _newest(folder)
        process = subprocess.Popen([sys.executable, "-c", code, verb], stdout=subprocess.PIPE, text=True)
        while process.poll() is None and _newest(folder) == before:
            time.sleep(0.005)
        try:
            process.wait(0.3 * float(torch.rand((), generator=g)))
        except subprocess.TimeoutExpired:
            process.kill()
        out, _ = process.communicate()
        if "done" in out:
            return deaths
        assert process.returncode == AFTER_KILL
        verb, deaths = "resume", deaths + 1


def _newest(folder: Path) -> str:
    found = checkpoint.found(folder / "checkpoints") if (folder / "checkpoints").is_dir() else []
    return found[0].name if found else ""


def test_a_killed_run_resumes_byte_for_byte(finished, tmp_path):
    assert killed(tmp_path / "run", seed=1) >= 1
    assert content(tmp_path / "run") == content(finished.folder)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_fifty_killed_runs_resume_byte_for_byte(finished, tmp_path, seed):
    killed(tmp_path / "run", seed=100 + seed)
    assert content(tmp_path / "run") == content(finished.folder)


@pytest.mark.notes("N1.37")
def test_stopping_rules_end_runs(tmp_path):
    net, data, _ = digits()
    run = fit(net, data, Recipe(GD(0.5), epochs=500, stopping=Stopping(relative_decrease=0.01)), folder=tmp_path / "a")
    assert run.reason.name == "relative_decrease" and len(run.rows) < 500
    net, data, recipe = digits(epochs=50, patience=1, learning_rate=0.1)
    run = fit(net, data, recipe, folder=tmp_path / "b")
    assert run.reason.name == "patience"
    best = min(row["validation_loss"] for row in run.rows)
    source = run.preprocess.source(run.split.validation)
    found = Feed(source, recipe).check(run.model, source, run.objective)
    assert found["loss"] == pytest.approx(best, rel=1e-6)  # the best weights are in the model
    net, data, recipe = digits(max_steps=5)
    assert fit(net, data, recipe, folder=tmp_path / "c").rows[-1]["step"] == 5


def test_runs_of_one_name_never_share_a_folder(tmp_path):
    folders = {fit(*digits(epochs=1), folder=tmp_path / "run").folder.name for _ in range(3)}
    assert folders == {"run", "run-2", "run-3"}


def test_more_epochs_can_be_asked_for_later(finished, tmp_path):
    run = fit(*digits(epochs=2), folder=tmp_path / "run", runtime=ONE)
    longer = resume(run.folder, epochs=3)
    assert [row["loss"] for row in longer.rows] == [row["loss"] for row in finished.rows]


def test_what_a_file_cannot_hold_must_be_given_again(tmp_path):
    inputs, targets = torch.randn(60, 4, generator=torch.Generator().manual_seed(0)), torch.arange(60) % 2
    net = torch.nn.Sequential(lamina.layers.linear(4, 2))
    split = lamina.load(inputs, targets).split()
    recipe = Recipe(optimizer=lambda p: torch.optim.RMSprop(p, lr=0.01), epochs=2)
    run = fit(net, split, recipe, folder=tmp_path / "run", runtime=ONE)
    with pytest.raises(RunError, match="trained with the network 'Sequential', which a file cannot hold"):
        Run.load(run.folder)
    assert len(Run.load(run.folder, model=net).predict(inputs[:3])) == 3
    with pytest.raises(RunError, match="were given in memory: give their split again as `data`"):
        resume(run.folder, model=net, optimizer=recipe.optimizer)
    again = resume(run.folder, model=net, data=split, optimizer=recipe.optimizer, epochs=3)
    assert len(again.rows) == 3


class Twice(torch.nn.Module):
    """A network that returns a pair."""

    def __init__(self):
        super().__init__()
        self.layer = lamina.layers.linear(64, 10)

    def forward(self, x):
        return self.layer(x.flatten(1)), x


def test_networks_that_do_not_fit_the_data_are_refused(tmp_path):
    data = lamina.load("digits")
    with pytest.raises(
        ShapeError, match="the network gives 3 outputs, but the data have 10 classes: build it with outputs=10"
    ):
        fit(lamina.build("fnn", inputs=64, outputs=3), data, folder=tmp_path / "a")
    with pytest.raises(ShapeError, match="must return one tensor with one row per example"):
        fit(Twice(), data, folder=tmp_path / "b")
    with pytest.raises(RunError, match="trained with the network 'Os', which a file cannot hold"):
        rebuild({"network": "Os"})


def cubes(outputs, targets):
    return (outputs - targets).abs() ** 3


def worst(outputs, targets):
    return (outputs - targets).abs().max()


def test_a_loss_and_metrics_of_ones_own(tmp_path):
    def made(folder, epochs):
        net = lamina.build("fnn", inputs=1, outputs=1, hidden=(8,))
        recipe = Recipe(loss=cubes, metrics={"worst": worst}, epochs=epochs, batch_size=16)
        return fit(net, split, recipe, folder=tmp_path / folder, runtime=Runtime(threads=1))

    split = lamina.load("curve").split(seed=0)
    run, whole = made("short", 2), made("whole", 4)
    inputs, targets = split.validation.take(torch.arange(len(split.validation)))
    errors = run.predict(inputs).values.reshape(-1) - targets.reshape(-1)
    best = min(run.rows, key=lambda row: row["validation_loss"])
    assert best["validation_worst"] == pytest.approx(errors.abs().max().item(), rel=1e-5)  # in units of the data
    scaled = (errors / run.preprocess.target_std[0]).abs() ** 3  # the loss is in standard deviations
    assert best["validation_loss"] == pytest.approx(scaled.mean().item(), rel=1e-4)
    with pytest.raises(ArgumentError, match="trained with the loss 'cubes', which a file cannot hold: give it again"):
        resume(run.folder, data=split)
    longer = resume(run.folder, data=split, loss=cubes, metrics={"worst": worst}, epochs=4)
    assert longer.rows[-1]["validation_worst"] == whole.rows[-1]["validation_worst"]
    found = whole.evaluate()
    test = split.open_test()
    inputs, targets = test.take(torch.arange(len(test)))
    errors = whole.predict(inputs).values.reshape(-1) - targets.reshape(-1)
    assert found.metrics["worst"] == pytest.approx(errors.abs().max().item(), rel=1e-5)
    loaded = lamina.Run.load(whole.folder, loss=cubes, metrics={"worst": worst})
    assert loaded.evaluate(test).metrics["worst"] == pytest.approx(found.metrics["worst"], rel=1e-6)
    with pytest.warns(DataWarning) as said:
        bare = lamina.Run.load(whole.folder).evaluate(test)
    assert [str(w.message).split(", so its value")[0] for w in said] == [
        "the loss 'cubes' is a function, which the folder of a run cannot hold",
        "the metric 'worst' is a function, which the folder of a run cannot hold",
    ]
    assert math.isnan(bare.metrics["loss"]) and math.isnan(bare.metrics["worst"])
    assert bare.metrics["rmse"] == found.metrics["rmse"] and "worst undefined on" in str(bare)
    part = lamina.Run.load(whole.folder, loss=cubes)
    with pytest.warns(DataWarning, match="the metric 'worst' is a function"):
        assert part.evaluate(test).metrics["loss"] == found.metrics["loss"]
    with pytest.raises(
        ArgumentError, match="the loss 'cubes' is a function, which .* hold: give it again, as in Run.lo"
    ):
        lamina.Run.load(whole.folder).objective.loss(torch.ones(2, 1, requires_grad=True), torch.ones(2, 1))


def test_a_network_without_finite_weights_is_not_judged(tmp_path):
    run = fit("fnn", "curve", Recipe(MiniBatch(1e30), epochs=1), folder=tmp_path / "run")
    with pytest.raises(RunError, match="run cannot be judged: the loss has not been finite since step"):
        run.evaluate()
    assert not (tmp_path / "run" / "evaluation.json").exists() and run.split.openings == 0


@pytest.mark.parametrize(
    ("metric", "error", "sentence"),
    [
        (lambda outputs, targets: outputs, ArgumentError, r"but 'mine' gives a tensor of shape \(100, 1\)"),
        (
            lambda outputs, targets: "good",
            ArgumentError,
            "`metrics` must give one number each, but 'mine' gives 'good'",
        ),
        (lambda outputs, targets: 1 / 0, ZeroDivisionError, "division by zero"),
    ],
)
def test_a_metric_that_fails_does_so_before_the_first_update_and_leaves_no_folder(tmp_path, metric, error, sentence):
    with pytest.raises(error, match=sentence):
        fit("fnn", "curve", Recipe(metrics={"mine": metric}), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_names_are_trained_as_the_command_does_with_the_recommended_recipe(tmp_path):
    named = fit("fnn", "iris", epochs=3, options={"hidden": (6,), "seed": 4}, folder=tmp_path / "a", runtime=ONE)
    job = plan("fnn", "iris", epochs=3, options={"hidden": (6,)}, seed=4)
    built = fit(job.model, job.task, job.recipe, folder=tmp_path / "b", runtime=ONE)
    assert job.recipe.optimizer == Adam(0.003) and job.recipe.penalty == Penalty(4.9e-3) and job.recipe.seed == 4
    assert content(named.folder) == content(built.folder)


def test_a_recipe_and_options_go_before_what_is_recommended(tmp_path):
    recipe = Recipe(Adam(0.02), epochs=9, seed=5)
    run = fit("fnn", "moons", recipe, epochs=1, options={"batch_size": 32}, folder=tmp_path / "a")
    config = RunFolder.open(run.folder).config()
    assert config["recipe"]["optimizer"]["learning_rate"] == 0.02 and config["recipe"]["batch_size"] == 32
    assert config["recipe"]["epochs"] == 1 and config["recipe"]["seed"] == config["data"]["seed"] == 5
    net = lamina.build("fnn", inputs=2, outputs=2)
    run = fit(net, "moons", epochs=1, options={"learning_rate": 0.3}, folder=tmp_path / "b")
    assert RunFolder.open(run.folder).config()["recipe"]["optimizer"]["learning_rate"] == 0.3
    with pytest.raises(ArgumentError, match="the recipe has no option 'hidden'"):
        fit(net, "moons", options={"hidden": 3})


def test_progress_is_shown_when_asked_for_and_in_a_terminal_only(tmp_path, capsys):
    fit("fnn", "moons", epochs=1, folder=tmp_path / "a")
    resume(tmp_path / "a", epochs=2)
    assert capsys.readouterr().out == ""
    fit("fnn", "moons", epochs=1, folder=tmp_path / "b", progress=True)
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("moons: 400 training") and said[1].startswith("recipe: Adam, rate up to 0.003")
    assert said[2].startswith("epoch 1/1  loss 0.")
    resume(tmp_path / "b", epochs=2, progress=True)
    assert capsys.readouterr().out.startswith("epoch 2/2  loss 0.")
