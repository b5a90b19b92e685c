"""The ends of an exported network."""

import torch
from torch import nn

from lamina.training.deployment import Deployed, Port, Steps, below, normal


def test_examples_have_the_sizes_of_the_free_axes_and_follow_the_seed():
    ports = (Port("inputs", ("batch", "time", 3)), Port("h", (2, "batch", 4)), Port("words", ("time",), below(5)))
    deployed = Deployed(nn.Identity(), ports)
    assert deployed.free == ("batch", "time")
    drawn = deployed.examples({"batch": 2, "time": 7}, seed=3)
    assert [tuple(each.shape) for each in drawn] == [(2, 7, 3), (2, 2, 4), (7,)]
    again, other = (deployed.examples({"batch": 2, "time": 7}, seed=seed) for seed in (3, 4))
    assert all(map(torch.equal, drawn, again)) and not drawn[0].equal(other[0])


def test_draws():
    g = torch.Generator().manual_seed(0)
    assert below(256, torch.uint8)((9,), g).dtype == torch.uint8
    numbers = normal((10_000,), g)
    assert abs(float(numbers.mean())) < 0.05 and abs(float(numbers.std()) - 1) < 0.05


def test_steps_call_the_network_between():
    steps = Steps(nn.Linear(2, 2), lambda network, inputs: network(inputs + 1) * 2)
    inputs = torch.ones(1, 2)
    assert steps(inputs).equal(steps.network(inputs + 1) * 2) and len(list(steps.parameters())) == 2
