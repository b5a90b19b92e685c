"""The captured step against the eager one: every architecture, every optimizer, whole runs, resume, refusals."""

import copy
import json
from dataclasses import replace

import pytest
import torch
from torch import nn

import lamina
from conformance.cases import ARCHITECTURES
from lamina._errors import ArgumentError, RunWarning
from lamina.data.arrays import from_arrays
from lamina.data.augment import Augment
from lamina.data.preprocess import Preprocess
from lamina.data.source import Source
from lamina.training.executors.captured import _capture, _why_not, captured
from lamina.training.executors.choose import learner
from lamina.training.fit import fit, resume
from lamina.training.learner import Learner
from lamina.training.loop import Event, Progress, drain
from lamina.training.objective import Objective
from lamina.training.recipe import (
    GD,
    SGD,
    Adam,
    AdamW,
    Averaging,
    Clip,
    MiniBatch,
    Penalty,
    Recipe,
    RMSprop,
    Schedule,
    Stopping,
)
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays
from lamina.training.tasks.feed import Feed
from lamina.training.tasks.kinds import task_of
from lamina.training.train import train

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
EXAMPLES = 11


class OneArgument(nn.Module):
    """A network whose arguments lie in one row, and whose first output is a row."""

    def __init__(self, network: nn.Module, arguments: tuple[torch.Tensor, ...]) -> None:
        super().__init__()
        self.network = network
        self.kinds = [(a.shape[1:], a.dtype if not a.is_floating_point() else None) for a in arguments]

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        parts = rows.split([shape.numel() for shape, _ in self.kinds], 1)
        arguments = [
            part.reshape(-1, *shape).to(dtype or rows.dtype)
            for part, (shape, dtype) in zip(parts, self.kinds, strict=True)
        ]
        outputs = self.network(*arguments)
        first = outputs if isinstance(outputs, torch.Tensor) else outputs[0]
        return first.reshape(len(rows), -1)


class Rows(Source):
    """A resident source of rows."""

    def __init__(self, inputs, targets, device):
        self.device, self.augment, self._ahead = torch.device(device), None, None
        self.inputs, self.targets = inputs.to(device), targets.to(device)

    def __len__(self):
        return len(self.inputs)

    def batch(self, indices, key=None):
        indices = indices.to(self.device)
        return self.inputs.index_select(0, indices), self.targets.index_select(0, indices)

    def prefetch(self, *_):
        pass


def rows_of(case, device):
    arguments = case.arguments()
    generator = torch.Generator().manual_seed(1)
    chosen = torch.randint(len(arguments[0]), (EXAMPLES,), generator=generator)
    rows = torch.cat([a[chosen].flatten(1).double() for a in arguments], 1)
    model = OneArgument(case.module(), arguments).double().to(device)
    with torch.no_grad():
        width = copy.deepcopy(model).eval()(rows[:1].to(device)).shape[1]
    return model, Rows(rows, torch.randn(EXAMPLES, width, generator=generator, dtype=torch.float64), device)


@cuda
@pytest.mark.cuda
@pytest.mark.parametrize("case", [c for c in ARCHITECTURES if c.trains], ids=str)
def test_every_architecture_can_be_captured(case):
    model, rows = rows_of(case, "cuda")
    recipe = Recipe(Adam(1e-3), batch_size=4, epochs=3, precision="float64")
    steps = Learner, _capture
    found = []
    for kind in steps:
        step = kind(copy.deepcopy(model), Feed(rows, recipe), rows, Objective("mse"), recipe)
        history = []
        for epoch in range(3):
            step.begin(epoch)
            for _ in range(step.batches):
                step()
            history.append([step.totals()["loss"], step.evaluate()["validation_loss"]])
        found.append((history, step.state()))
    (expected, theirs), (history, ours) = found
    torch.testing.assert_close(
        torch.tensor(history, dtype=torch.float64), torch.tensor(expected, dtype=torch.float64), rtol=1e-8, atol=1e-10
    )
    for name in theirs:
        if name.startswith("model/") and not theirs[name].is_floating_point():
            assert torch.equal(ours[name], theirs[name]), name


RECIPES = {
    "gd": Recipe(GD(0.1)),
    "sgd": Recipe(SGD(0.01)),
    "minibatch": Recipe(MiniBatch(0.1)),
    "momentum": Recipe(MiniBatch(0.1, momentum=0.9)),
    "nesterov": Recipe(MiniBatch(0.1, momentum=0.9, nesterov=True)),
    "adam": Recipe(Adam(0.01)),
    "adamw": Recipe(AdamW(0.01, weight_decay=0.5), schedule=Schedule("cosine")),
    "rmsprop": Recipe(RMSprop(0.003), schedule=Schedule("cosine")),
    "rmsprop momentum": Recipe(RMSprop(0.001, momentum=0.5), clip=Clip(0.5)),
    "cosine": Recipe(Adam(0.01), schedule=Schedule("cosine")),
    "penalty": Recipe(Adam(0.01), penalty=Penalty(0.01)),
    "proximal": Recipe(MiniBatch(0.1), penalty=Penalty(0.01, norm=1), schedule=Schedule("warmup", warmup=0.5)),
    "proximal momentum": Recipe(MiniBatch(0.1, momentum=0.9), penalty=Penalty(0.01, norm=1)),
    "clip": Recipe(MiniBatch(0.1), clip=Clip(0.05)),
    "stages": Recipe(Adam(0.01), stage_rate=0.1),
    "averaged": Recipe(Adam(0.01), averaging=Averaging(0.9)),
    "proximal stages": Recipe(MiniBatch(0.1, momentum=0.9), penalty=Penalty(0.01, norm=1), stage_rate=0.1),
    "measured": Recipe(MiniBatch(0.1), stopping=Stopping(gradient_norm=1e-9)),
    "sampled": Recipe(MiniBatch(0.1), sampling="with-replacement"),
    "weighted": Recipe(Adam(0.01), class_weights="balanced"),
    "smoothed": Recipe(Adam(0.01), label_smoothing=0.2),
    "bfloat16": Recipe(Adam(0.01), precision="bfloat16"),
    "tf32": Recipe(Adam(0.01), precision="tf32"),
}


@cuda
@pytest.mark.cuda
@pytest.mark.parametrize("kind", ("labels", "weighted labels", "weighted classes", "weighted numbers"))
def test_labels_and_weights_can_be_captured(kind):
    g = torch.Generator().manual_seed(0)
    inputs = torch.randn(90, 2, generator=g)
    targets = (inputs[:, 0] > 0).long() if "classes" in kind else torch.cat([inputs, inputs.sum(1, True)], 1)
    targets = targets > 0 if "labels" in kind else targets
    weights = torch.rand(90, generator=g) if "weighted" in kind else None
    split = from_arrays(inputs, targets, weights=weights).split()
    recipe, rows = Recipe(Adam(0.01), epochs=3, batch_size=24, precision="float64"), []
    for how in ("eager", "captured"):
        with Runtime("cuda", step=how).applied(recipe.precision) as runtime:
            net = lamina.build("fnn", inputs=2, outputs=split.train.spec.outputs, hidden=(8,), seed=1)
            step = learner(net, Arrays(Preprocess.fit(split.train, 2), split), recipe, runtime)
            assert step.kind == how, step.reason
            for epoch in range(3):
                step.begin(epoch)
                for _ in range(step.batches):
                    step()
                row = step.totals()
            rows.append({**row, **step.evaluate()})
    eager, captured = ({k: v for k, v in row.items() if k != "gradients"} for row in rows)
    assert captured == pytest.approx(eager, rel=1e-8)


@cuda
@pytest.mark.cuda
@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_can_be_captured(moons, net, name):
    recipe = lamina.training.recipe.with_options(RECIPES[name], epochs=3, batch_size=24)
    rows = []
    for kind in ("eager", "captured"):
        with Runtime("cuda", step=kind).applied(recipe.precision) as runtime:
            step = learner(net(), Arrays(Preprocess.fit(moons.train, 2), moons), recipe, runtime)
            assert step.kind == kind, step.reason
            for epoch in range(3):
                step.begin(epoch)
                for _ in range(step.batches):
                    step()
                row = step.totals()
            rows.append(row | step.evaluate())
    eager, captured = rows
    gradients = eager.pop("gradients"), captured.pop("gradients")
    tolerance = 1e-2 if recipe.precision == "bfloat16" else 2e-4
    assert captured == pytest.approx(eager, rel=tolerance, abs=1e-6)
    assert gradients[1] == pytest.approx(gradients[0], rel=10 * tolerance, abs=1e-6)


def network():
    return lamina.build("fnn", inputs=64, outputs=10, hidden=(32,), dropout=0.2, batch_norm=True)


RUN = Recipe(
    Adam(0.01), epochs=4, batch_size=100, augment=Augment(translate=1, cutout=2), schedule=Schedule("one-cycle")
)


@cuda
@pytest.mark.cuda
def test_a_run_with_dropout_batch_norm_and_random_pictures_equals_the_eager_one(tmp_path):
    runs = [
        fit(network(), lamina.load("digits"), RUN, folder=tmp_path / kind, runtime=Runtime("cuda", step=kind))
        for kind in ("eager", "auto")
    ]
    assert json.loads((tmp_path / "auto/environment.json").read_text())["step"] == "captured"
    for first, second in zip(*(run.rows for run in runs), strict=True):
        assert second["loss"] == pytest.approx(first["loss"], rel=1e-3)
        assert second["validation_accuracy"] == pytest.approx(first["validation_accuracy"], abs=0.02)


@cuda
@pytest.mark.cuda
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_checks_are_recorded_too(precision):
    net = lamina.build("lenet5", inputs=(1, 8, 8), outputs=10, seed=1)
    parts = lamina.load("digits").split()
    recipe = replace(RUN, precision=precision, averaging=Averaging(0.9))
    with Runtime("cuda", step="captured").applied(recipe.precision) as runtime:
        step = learner(net, task_of(parts).for_network(net), recipe, runtime)
    for epoch in range(2):
        step.begin(epoch)
        for _ in range(step.batches):
            step()
        recorded = step.evaluate()
        assert len(step.answering._graphs) == 1
        step.answering._graphs.on = False
        assert step.evaluate() == pytest.approx(recorded, rel=1e-3 if precision == "bfloat16" else 1e-5)
        step.answering._graphs.on = True


MIXED = Augment(rotation=15.0, contrast=0.3, mixup=0.3, cutmix=1.0)


@cuda
@pytest.mark.cuda
@pytest.mark.parametrize(
    "more", [{"micro_batch": 30}, {"augment": MIXED}, {"augment": MIXED, "micro_batch": 30}], ids=str
)
def test_pieces_and_mixtures_are_captured(more):
    """Bytes may be rounded to either side, so that turned pictures agree to a few thousandths of the loss."""
    found = []
    for kind in ("eager", "captured"):
        net, recipe = lamina.build("lenet5", inputs=(1, 8, 8), outputs=10, seed=1), replace(RUN, **more)
        at = Progress()
        drain(train(net, lamina.load("digits"), recipe, kind, runtime=Runtime("cuda"), at=at))
        assert at.kind == kind
        found.append([row["loss"] for row in at.rows] + [row["validation_loss"] for row in at.rows])
    assert found[1] == pytest.approx(found[0], rel=2e-2)


@cuda
@pytest.mark.cuda
@pytest.mark.parametrize(("kind", "room"), [("eager", 100), ("captured", 48)])
def test_memory_of_a_gpu_that_is_full_splits_the_batch(kind, room, tmp_path):
    """A network that keeps 64 KiB a picture, with room for a few hundred of 1024 of them."""
    g = torch.Generator().manual_seed(0)
    data = from_arrays(torch.randn(2048, 64, generator=g), torch.arange(2048) % 4)
    net = nn.Sequential(nn.Linear(64, 16384), nn.ReLU(), nn.Linear(16384, 4))
    recipe, total = Recipe(MiniBatch(0.01), epochs=2, batch_size=1024), torch.cuda.get_device_properties(0).total_memory
    whole = fit(copy.deepcopy(net), data, recipe, folder=tmp_path / "whole", runtime=Runtime("cuda", step=kind))
    torch.cuda.empty_cache()
    try:
        torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + room * 2**20) / total)
        with pytest.warns(RunWarning, match="a batch of 1024 examples does not fit in memory"):
            cramped = fit(net, data, recipe, folder=tmp_path / "cramped", runtime=Runtime("cuda", step=kind))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    found = json.loads((tmp_path / "cramped/environment.json").read_text())
    assert found["step"] == kind and found["micro_batch"] < 1024
    assert [row["loss"] for row in cramped.rows] == pytest.approx([row["loss"] for row in whole.rows], rel=1e-4)


class Stop(Exception):
    pass


@cuda
@pytest.mark.cuda
@pytest.mark.parametrize("at", [9, 12, 25])
def test_a_captured_run_resumes_bit_for_bit(tmp_path, monkeypatch, at):
    monkeypatch.setattr(lamina.training.fit, "CHECKPOINT_SECONDS", 0.0)
    runtime = Runtime("cuda", deterministic=True)
    whole = fit(network(), lamina.load("digits"), RUN, folder=tmp_path / "whole", runtime=runtime)

    def kill(event: Event) -> None:
        if event.step == at:
            raise Stop

    with pytest.raises(Stop):
        fit(network(), lamina.load("digits"), RUN, folder=tmp_path / "killed", runtime=runtime, observers=(kill,))
    again = resume(tmp_path / "killed")
    assert again.rows == whole.rows
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name


@cuda
@pytest.mark.cuda
def test_early_stopping_and_divergence_are_those_of_the_eager_run(tmp_path):
    stopping = lamina.training.recipe.with_options(RUN, patience=1, epochs=30, learning_rate=0.5)
    runs = [
        fit(network(), lamina.load("digits"), stopping, folder=tmp_path / kind, runtime=Runtime("cuda", step=kind))
        for kind in ("eager", "captured")
    ]
    assert runs[0].reason.name == runs[1].reason.name == "patience"
    wild = Recipe(MiniBatch(1e30), epochs=3, batch_size=100)
    net = lamina.build("fnn", inputs=64, outputs=10, hidden=(32,))
    run = fit(net, lamina.load("digits"), wild, folder=tmp_path / "wild", runtime=Runtime("cuda"))
    assert run.reason.name == "diverged" and "layers" in run.reason.sentence


@cuda
@pytest.mark.cuda
def test_a_network_that_asks_the_host_runs_eagerly_and_says_why(tmp_path):
    class Asking(nn.Module):
        def __init__(self):
            super().__init__()
            self.affine = nn.Linear(64, 10)

        def forward(self, inputs):
            outputs = self.affine(inputs.flatten(1))
            return outputs if float(outputs.detach().sum()) > 1e9 else outputs * 1

    run = fit(Asking(), lamina.load("digits"), Recipe(epochs=1), folder=tmp_path / "run", runtime=Runtime("cuda"))
    environment = json.loads((tmp_path / "run/environment.json").read_text())
    assert environment["step"] == "eager" and "cannot be captured" in environment["step_reason"]
    assert run.reason.name == "epochs"


def test_what_cannot_be_captured_has_a_reason(moons):
    source = Preprocess.fit(moons.train, 2).source(moons.train)
    streamed = Preprocess.fit(moons.train, 2).source(moons.train, budget=0)
    assert _why_not(Feed(source, Recipe()), Recipe()) == ""
    assert "line search" in _why_not(Feed(source, Recipe()), Recipe(GD(line_search=True)))
    assert "not one of Lamina's" in _why_not(Feed(source, Recipe()), Recipe(torch.optim.Adagrad))
    assert "single precision" in _why_not(Feed(source, Recipe()), Recipe(MiniBatch(), precision="float64"))
    assert "streamed" in _why_not(Feed(streamed, Recipe()), Recipe())


def test_a_captured_step_needs_cuda(moons, net):
    source = Preprocess.fit(moons.train, 2).source(moons.train)
    with pytest.raises(ArgumentError, match=r"needs device='cuda', got 'cpu': use step='auto' or 'eager'\."):
        captured(net(), Feed(source, Recipe()), None, Objective("nll"), Recipe())
