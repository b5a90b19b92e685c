"""A captured update with the kernels of small networks equals the eager one."""

import shutil
from dataclasses import replace

import pytest
import torch

from kernels.cuda_on_cpu import emulated
from lamina.architectures.build import build
from lamina.data.augment import Augment
from lamina.data.dataset import Subset
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.experiments.trained import parts
from lamina.kernels.small_networks import Kernels
from lamina.training.executors import captured, recording
from lamina.training.learner import Learner
from lamina.training.recipe import Adam, Clip, MiniBatch, Penalty, Recipe, Schedule
from lamina.training.tasks.arrays import Arrays
from lamina.training.tasks.feed import Feed


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory):
    return Kernels(emulated("small_networks.cu", tmp_path_factory.mktemp("kernels")))


class Unrecorded:
    """In place of a recording; the step is then done by hand."""

    def record(self, body, tensors):
        return body


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("name", ["pictures", "dense", "momentum", "clipped", "penalty", "balanced", "bfloat16"])
def test_a_captured_update_with_these_kernels_equals_the_eager_one(on_cpu, monkeypatch, name):
    monkeypatch.setattr(recording, "Recording", Unrecorded)
    monkeypatch.setattr(captured.kernels, "load", lambda device: on_cpu)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    options = {"epochs": 2, "batch_size": 8, "schedule": Schedule("one-cycle", warmup=0.5), "seed": 3}
    recipe = Recipe(MiniBatch(0.1, momentum=0.9) if name == "momentum" else Adam(0.01), **options)
    if name in ("pictures", "momentum"):
        recipe = replace(recipe, augment=Augment(translate=1))
    recipe = replace(recipe, clip=Clip(0.5)) if name == "clipped" else recipe
    recipe = replace(recipe, penalty=Penalty(0.01)) if name == "penalty" else recipe
    recipe = replace(recipe, class_weights="balanced") if name == "balanced" else recipe
    data = load("digits")
    part = Subset(data, torch.arange(18))  # the last batch is shorter
    rows = []
    for kind in (Learner, captured._capture):
        if name == "bfloat16" and kind is captured._capture:
            recipe = replace(recipe, precision="bfloat16")  # small layers stay in float32
        if name == "dense":
            net = build("fnn", inputs=64, outputs=10, hidden=(20,), seed=1)
        else:
            net = build("lenet5", inputs=(1, 8, 8), outputs=10, activation="relu", pooling="max", seed=1)
        preprocess = Preprocess.fit(part, net.config.inputs)
        train, validation = preprocess.source(part, augment=recipe.augment), preprocess.source(part)
        task = Arrays(preprocess, parts(part))
        step = kind(net, Feed(train, recipe), validation, task.objective(net, recipe), recipe)
        step.by_hand()
        found = []
        for epoch in range(2):
            step.begin(epoch)
            for _ in range(step.batches):
                step()
            row = step.totals()
            found.append([row["loss"], row["accuracy"], row["learning_rate"], *row["gradients"].values()])
        rows.append(torch.tensor(found))
        assert step.first_bad_step() is None and step.evaluate()["validation_loss"] > 0
        if kind is captured._capture:
            assert step.executor.takes and step.executor.judges == (name != "balanced")
            assert int(step.update.good) == step.step == int(step.executor.count) == 6
            steps = [t for key, t in step.state().items() if key.endswith("/step")]
            assert all(float(t) == 6 for t in steps) and len(steps) == (0 if name == "momentum" else len(step.params))
    torch.testing.assert_close(rows[1], rows[0], rtol=1e-4, atol=1e-5)
