"""Twenty updates of a stack are those of separate runs, for every architecture."""

import pytest
import torch

from conformance.cases import ARCHITECTURES
from lamina.data.arrays import from_arrays
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Sealed, Split
from lamina.populations._chunks import Data, _stacked_network
from lamina.populations._losses import Losses
from lamina.populations._stack import Stack, StackFeed
from lamina.training.learner import Learner
from lamina.training.loop import Progress, drain, observed
from lamina.training.recipe import Adam, Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays
from lamina.training.tasks.feed import Feed
from populations.separate import K, assert_same_history


def dataset(case, outputs):
    """Make 20 examples of a case's shape, with classes, or real targets where the network gives more than a vector."""
    g = torch.Generator().manual_seed(1)
    shape = case.arguments()[0].shape[1:]
    inputs = torch.randn(20, *shape, generator=g)
    if outputs.ndim > 2:
        return from_arrays(inputs, torch.randn(20, *outputs.shape[1:], generator=g), kind="vector")
    return from_arrays(inputs, torch.arange(20) % max(2, outputs.shape[1]), kind="vector" if inputs.ndim < 4 else None,
                       classes=[str(i) for i in range(max(2, outputs.shape[1]))])  # fmt: skip


TRAINABLE = [case for case in ARCHITECTURES if case.trains and len(case.inputs) == 1]


def assert_twenty_updates(case, device, tolerance, recording=None):
    """Twenty updates of a population give the histories of separate runs on the CPU."""
    data = dataset(case, case.module()(*case.arguments()))
    split = Split(data, data, Sealed(data), "all for training")
    recipes = [Recipe(Adam(lr), epochs=4, batch_size=4, precision="float64") for lr in (1e-4, 1e-3, 3e-3)]
    networks = [case.module(seed) for seed in range(K)]
    for norm in [part.bn3 for network in networks for part in network.modules() if hasattr(part, "bn3")]:
        # As it starts, a ResNet50 turns one unit in the last place of one weight into 1e-9 of its gradients.
        norm.weight.data.mul_(0.25)
    there, here = (Data.of(Arrays(Preprocess.fit(data), split), recipes[0], Runtime(name)) for name in (device, "cpu"))
    objective = Arrays(here.preprocess, split).objective(networks[0], recipes[0])
    feed = StackFeed(there.train, recipes, there.preprocess.finisher(device))
    losses = Losses(objective.kind, scale=objective.scale)
    step = Stack(_stacked_network(networks).to(device), feed, there.validation, losses, recipes, recording)
    rows = [[] for _ in range(K)]
    for epoch in range(4):
        step.begin(epoch)
        for _ in range(step.batches):
            step()
        values = step.totals() | step.evaluate() | {"step": [step.step] * K}
        gradients = values.pop("gradients")
        for k in range(K):
            mine = {name: value[k] for name, value in values.items()}
            rows[k].append(mine | {"gradients": {name: norms[k] for name, norms in gradients.items()}})
    assert step.step == 20 and step.first_bad_step() == [None] * K
    for k, network in enumerate(networks):
        at = Progress()
        drain(
            observed(Learner(network, Feed(here.train, recipes[k]), here.validation, objective, recipes[k]), 4, at=at)
        )
        assert_same_history(rows[k], [{name: row[name] for name in rows[k][0]} for row in at.rows], tolerance)
    return step


QUICK = ("perceptron", "fnn", "lenet5", "lenet5-1998", "dense-resnet", "neural-ode", "cifar-resnet", "many-to-one",
         "many-to-many", "one-to-many")  # fmt: skip


@pytest.mark.parametrize(
    "case", [case if case.name in QUICK else pytest.param(case, marks=pytest.mark.slow) for case in TRAINABLE], ids=str
)
def test_twenty_updates_of_every_architecture_equal_separate_runs(case):
    assert_twenty_updates(case, "cpu", 1e-10)


@pytest.mark.cuda
@pytest.mark.parametrize("case", TRAINABLE, ids=str)
def test_twenty_captured_updates_of_every_architecture_equal_separate_runs(case):
    from lamina.training.executors.recording import Recording

    assert assert_twenty_updates(case, "cuda", 1e-6, Recording()).reason == ""
