"""Gradients that are not numbers, in one update of many: the run fails, says so, and keeps what it had before."""

import json
import math

import pytest
import torch

import lamina
from lamina.training import checkpoint

pytestmark = pytest.mark.faults("gradients that are no numbers")
UPDATES = 12
"""Of three epochs of four batches."""


class Struck(torch.nn.Module):
    """A network whose gradient is not a number in one update, though its loss is one.

    Args:
        at: the number of the update, from 1 on.
        value: what one entry of the gradient becomes.
    """

    def __init__(self, at, value):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        with torch.no_grad():
            self.layer.weight.copy_(torch.tensor([[0.5, -0.25], [-0.5, 0.25]]))
            self.layer.bias.zero_()
        self.at, self.value, self.updates = at, value, 0
        self.layer.weight.register_hook(self._strike)

    def _strike(self, gradient):
        self.updates += 1
        if self.updates == self.at:
            gradient = gradient.clone()
            gradient[0, 1] = self.value
        return gradient

    def forward(self, inputs):
        return self.layer(inputs)


@pytest.mark.parametrize("optimizer", [lamina.Adam(0.01), lamina.MiniBatch(0.1)], ids=["adam", "minibatch"])
@pytest.mark.parametrize("value", [math.nan, math.inf], ids=["nan", "inf"])
@pytest.mark.parametrize("at", [1, 6, UPDATES])
def test_one_gradient_is_no_number(tmp_path, optimizer, value, at):
    net = Struck(at, value)
    data = lamina.load("moons", count=96).split(ratios=(4, 1, 1))  # 64 to train
    run = lamina.fit(net, data, lamina.Recipe(optimizer, epochs=3, batch_size=16), folder=tmp_path / "run")
    assert net.updates >= at, "the gradient was struck"
    assert run.reason.failed and run.reason.name == "diverged"
    assert f"not been finite since step {at + 1}" in run.reason.sentence
    assert json.loads((tmp_path / "run/status.json").read_text())["state"] == "diverged"
    saved = checkpoint.load(tmp_path / "run/checkpoints")
    assert all(bool(torch.isfinite(tensor).all()) for tensor in saved.tensors.values())
    assert not (tmp_path / "run/weights.safetensors").exists()


def test_clipping_does_not_hide_it(tmp_path):
    recipe = lamina.Recipe(lamina.MiniBatch(0.1), epochs=3, batch_size=16, clip=lamina.Clip(1.0))
    run = lamina.fit(Struck(5, math.nan), lamina.load("moons", count=96), recipe, folder=tmp_path / "run")
    assert run.reason.failed and "not been finite since step" in run.reason.sentence
