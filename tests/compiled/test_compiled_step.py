"""The compiled update against the eager one, with JAXTYPING_DISABLE=1 (see Makefile)."""

import json
from dataclasses import replace
from functools import partial

import pytest
import torch

import lamina
from lamina.data.arrays import from_arrays
from lamina.data.augment import Augment
from lamina.data.dataset import Subset
from lamina.data.preprocess import Preprocess
from lamina.experiments.trained import parts
from lamina.training.executors.compiled import _Compiled, compiled
from lamina.training.fit import fit, resume
from lamina.training.learner import Learner
from lamina.training.loop import Event, Progress
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
from training import lasso

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inductor's own

NETWORKS = {
    "plain": lambda: lamina.build("fnn", inputs=64, outputs=10, hidden=(12,), seed=1),
    "fnn": lambda: lamina.build("fnn", inputs=64, outputs=10, hidden=(12,), dropout=0.3, batch_norm=True, seed=1),
    "lenet5": lambda: lamina.build("lenet5", inputs=(1, 8, 8), outputs=10, dropout=0.2, seed=1),
    "dense-resnet": lambda: lamina.build("dense-resnet", inputs=64, outputs=10, seed=1),
    "resnet18-cifar": lambda: lamina.build("resnet18-cifar", inputs=(1, 8, 8), outputs=10, width=0.0625, seed=1),
}
RECIPES = {
    "gd": Recipe(GD(0.1)),
    "sgd": Recipe(SGD(0.01), stopping=Stopping(max_steps=20)),
    "momentum": Recipe(MiniBatch(0.1, momentum=0.9)),
    "nesterov": Recipe(MiniBatch(0.1, momentum=0.9, nesterov=True), schedule=Schedule("cosine")),
    "adam": Recipe(Adam(0.01), schedule=Schedule("one-cycle", warmup=0.5), augment=Augment(translate=1, cutout=2)),
    "adamw": Recipe(AdamW(0.01, weight_decay=0.5), schedule=Schedule("cosine")),
    "rmsprop": Recipe(RMSprop(0.003)),
    "rmsprop momentum": Recipe(RMSprop(0.001, momentum=0.5), clip=Clip(0.1)),
    "plateau": Recipe(MiniBatch(0.1), schedule=Schedule("plateau", wait=1, factor=0.5, improvement=0.9)),
    "smoothed": Recipe(MiniBatch(0.1), label_smoothing=0.2, class_weights="balanced"),
    "penalty": Recipe(Adam(0.01), penalty=Penalty(0.01), clip=Clip(0.1)),
    "proximal": Recipe(MiniBatch(0.1), penalty=Penalty(0.01, norm=1), class_weights="balanced"),
    "proximal nesterov": Recipe(MiniBatch(0.1, momentum=0.9, nesterov=True), penalty=Penalty(0.01, norm=1)),
    "measured": Recipe(MiniBatch(0.1), stopping=Stopping(gradient_norm=1e-9, max_steps=18)),
    "mixed": Recipe(MiniBatch(0.1), augment=Augment(rotation=20.0, brightness=0.3, mixup=0.5, cutmix=1.0)),
    "pieces": Recipe(Adam(0.01), penalty=Penalty(0.01), clip=Clip(0.1), micro_batch=4),
    "stages": Recipe(Adam(0.01), stage_rate=0.1, stopping=Stopping(gradient_norm=1e-9)),
    "averaged": Recipe(Adam(0.01), averaging=Averaging(0.9)),
    "proximal stages": Recipe(MiniBatch(0.1, momentum=0.9), penalty=Penalty(0.01, norm=1), stage_rate=0.1),
}


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def history(kind, network, recipe, part=None, budget=2**31):
    recipe = replace(recipe, precision="float64", epochs=3, batch_size=10, seed=5)
    part = part or Subset(lamina.load("digits"), torch.arange(68))  # the last batch is shorter
    net = network().double()
    preprocess = Preprocess.fit(part, net.config.inputs)
    train = preprocess.source(part, budget=budget, augment=recipe.augment)
    validation = preprocess.source(part)
    task = Arrays(preprocess, parts(part))
    step = Learner(net, Feed(train, recipe), validation, task.objective(net, recipe), recipe, kind)
    rows, at = [], Progress()
    for epoch in range(3):
        step.begin(epoch)
        for _ in range(step.batches):
            if step.step != recipe.stopping.max_steps:
                step()
        row = step.totals() | step.evaluate()
        at.rows.append({"step": step.step, **row})
        step._scale(at)
        rows.append([*row.pop("gradients").values(), *row.values()])
    return torch.tensor(rows, dtype=torch.float64), step


def equal(network, recipe, part=None, budget=2**31):
    (expected, eager), (found, step) = (history(kind, network, recipe, part, budget) for kind in (None, _Compiled))
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    theirs = eager.state()
    for name, value in step.state().items():
        assert value.shape == theirs[name].shape
        if not value.is_floating_point() or name.endswith("/step"):
            assert torch.equal(value, theirs[name]), name


@pytest.fixture
def traced(monkeypatch):
    monkeypatch.setattr(_Compiled, "backend", "aot_eager")


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_compiled_equals_eager(traced, name):
    network = {"adam": "lenet5", "sgd": "plain", "mixed": "lenet5"}.get(name, "fnn")
    equal(NETWORKS[network], RECIPES[name])


@pytest.mark.parametrize(("network", "recipe"), [("lenet5", "adam"), ("fnn", "momentum")])
def test_streamed_batches_compiled_equal_eager(traced, network, recipe):
    equal(NETWORKS[network], RECIPES[recipe], budget=0)


@pytest.mark.parametrize("labels", (False, True))
def test_labels_and_weights_compiled_equal_eager(traced, labels):
    inputs, digits = (values[:68] for values in lamina.load("digits").take(torch.arange(68)))
    targets = torch.stack([digits % 2 == 0, digits > 4, digits == 8], 1) if labels else digits
    data = from_arrays(inputs.flatten(1).float(), targets, weights=torch.arange(68) % 3)
    network = partial(lamina.build, "fnn", inputs=64, outputs=data.spec.outputs, hidden=(12,), seed=1)
    equal(network, Recipe(Adam(0.01), class_weights="balanced"), data)


@pytest.mark.notes("N1.63")
@pytest.mark.parametrize("name", [name for name in lasso.OPTIMIZERS if name != "line search"])
def test_a_compiled_update_ends_at_the_minimizer_of_the_norm_1_penalty(traced, name):
    step = lasso.step_of(lasso.recipe(name), Runtime("cpu", step="compiled"))
    assert step.kind == "compiled", step.reason
    step.begin(0)
    step.feed.order = step.feed.order.repeat(lasso.STEPS)  # one long epoch, because its last update is eager
    for _ in range(lasso.STEPS - 1):
        step()
    lasso.assert_at_minimizer([step.params[0].detach()[0]])


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_compiled_by_inductor_equals_eager(name):
    equal(NETWORKS[name], Recipe(Adam(0.01), schedule=Schedule("cosine")))


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_compiled_by_inductor_equals_eager(name):
    equal(NETWORKS["plain" if name == "sgd" else "fnn"], replace(RECIPES[name], augment=None))


@pytest.mark.slow
class Two(torch.nn.Module):
    """A network that takes a picture of bytes and the number of an entry."""

    def __init__(self):
        super().__init__()
        self.picture, self.top = lamina.layers.linear(64, 6, seed=1), lamina.layers.linear(10, 10, seed=2)

    def forward(self, image, kind):
        return self.top(torch.cat([self.picture(image.flatten(1)).relu(), torch.nn.functional.one_hot(kind, 4)], 1))


def test_several_inputs_compiled_equal_eager(traced, tmp_path):
    inputs, digits = (values[:90] for values in lamina.load("digits").take(torch.arange(90)))
    data = {"image": inputs, "kind": digits % 4}, digits
    recipe = Recipe(Adam(0.01), epochs=3, batch_size=16, precision="float64")
    runs = [fit(Two(), data, recipe, folder=tmp_path / how, runtime=Runtime(step=how)) for how in ("eager", "compiled")]
    assert json.loads((tmp_path / "compiled/environment.json").read_text())["step"] == "compiled"
    expected, found = ([[row["loss"], row["validation_loss"]] for row in run.rows] for run in runs)
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-10, atol=1e-10)


def test_many_updates_can_be_compiled_in_one_process(traced):
    for _ in range(10):  # torch allows 8 for one code
        _, step = history(_Compiled, NETWORKS["plain"], RECIPES["momentum"])
        assert step.step == 21


class Stop(Exception):
    pass


def test_a_compiled_run_records_its_kind_and_resumes_bit_for_bit(traced, tmp_path, monkeypatch):
    monkeypatch.setattr(lamina.training.fit, "CHECKPOINT_SECONDS", 0.0)
    data = Subset(lamina.load("digits"), torch.arange(90))
    recipe = Recipe(Adam(0.01), epochs=3, batch_size=8)
    split = data.split(seed=0)
    whole = fit(NETWORKS["fnn"](), split, recipe, folder=tmp_path / "whole", runtime=Runtime(step="compiled"))
    assert json.loads((tmp_path / "whole/environment.json").read_text())["step"] == "compiled"

    def kill(event: Event) -> None:
        if event.step == 11:
            raise Stop

    with pytest.raises(Stop):
        fit(
            NETWORKS["fnn"](),
            split,
            recipe,
            folder=tmp_path / "killed",
            runtime=Runtime(step="compiled"),
            observers=(kill,),
        )
    again = resume(tmp_path / "killed", data=split)
    assert again.rows == whole.rows
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name


def test_a_network_that_cannot_be_compiled_runs_eagerly_from_where_it_was(traced):
    class Asking(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.affine = torch.nn.Linear(64, 10)

        def forward(self, inputs):
            outputs = self.affine(inputs.flatten(1))
            return outputs if float(outputs.detach().sum()) > 1e9 else outputs * 1

    part = Subset(lamina.load("digits"), torch.arange(40))
    net = Asking()
    before = net.affine.weight.detach().clone()
    preprocess = Preprocess.fit(part)
    source, recipe = preprocess.source(part), Recipe(batch_size=8)
    objective = Arrays(preprocess, parts(part)).objective(net, recipe)
    step = compiled(net, Feed(source, recipe), None, objective, recipe)
    assert step.kind == "eager" and "cannot be compiled" in step.reason
    assert torch.equal(net.affine.weight, before)
