"""Stages with their own share of the learning rate, and layers that start anew, which take all of it."""

import copy

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.architectures.adapt import mark_new, new_tensors
from lamina.architectures.build import build
from lamina.data.load import load
from lamina.data.synthetic import moons
from lamina.functional.optimizers import soft_threshold
from lamina.training.fit import fit, resume
from lamina.training.freezing import freeze, rate_shares
from lamina.training.recipe import GD, Adam, MiniBatch, Penalty, Recipe, Stopping, with_options
from lamina.training.run import Run
from lamina.training.runtime import Runtime
from lamina.training.train import train


def net(seed=0):
    return build("fnn", inputs=2, outputs=2, hidden=(6, 6), seed=seed).double()


def one_step(recipe, network=None):
    """Return the parameters before and after one update with all examples."""
    network = network or net()
    before = [p.detach().clone() for p in network.parameters()]
    recipe = with_options(recipe, precision="float64", epochs=1, max_steps=1)
    for _ in train(network, moons(60), recipe, "eager", runtime=Runtime("cpu", threads=1)):
        pass
    return before, [p.detach() for p in network.parameters()]


def test_shares_rise_by_equal_factors_from_the_first_stage_on():
    resnet = build("resnet18", width=0.1)
    names = [name for name, _ in resnet.named_parameters()]
    shares = dict(zip(names, rate_shares(resnet, 0.01), strict=True))
    stages = ("conv1", "layer1", "layer2", "layer3", "layer4", "fc")
    expected = {stage: 0.01 ** (1 - number / 6) for number, stage in enumerate(stages)} | {"bn1": 0.01}
    for name, share in shares.items():
        assert share == pytest.approx(expected[name.split(".")[0]]), name
    assert set(rate_shares(resnet, 1.0)) == {1.0}


def test_new_layers_take_the_full_rate_and_frozen_ones_are_left_out():
    network = net()
    mark_new(network, [name for name, _ in network.named_parameters() if name.startswith("layers.0.")])
    assert rate_shares(network, 0.001) == pytest.approx([1, 1, 0.01, 0.01, 0.1, 0.1])
    assert rate_shares(freeze(net(), 1), 0.001) == pytest.approx([0.01, 0.01, 0.1, 0.1])
    assert rate_shares(build("fnn", inputs=2, outputs=2, hidden=()), 0.001) == [0.001, 0.001]


@pytest.mark.parametrize(
    "optimizer",
    [
        GD(0.1),
        MiniBatch(0.1, momentum=0.9, nesterov=True),
        Adam(0.01),
        lambda params: torch.optim.AdamW(params, lr=0.01, weight_decay=0.1),
        lambda params: torch.optim.RMSprop(params, lr=0.01),
    ],
    ids=["gd", "nesterov", "adam", "adamw", "rmsprop"],
)
def test_a_step_is_its_share_of_the_whole_one(optimizer):
    before, whole = one_step(Recipe(optimizer))
    _, found = one_step(Recipe(optimizer, stage_rate=0.001))
    for start, full, slow, share in zip(before, whole, found, [0.001, 0.001, 0.01, 0.01, 0.1, 0.1], strict=True):
        assert (full - start).abs().max() > 1e-5
        torch.testing.assert_close(slow, start + share * (full - start), rtol=0, atol=1e-14)


def test_it_is_the_step_of_an_optimizer_with_that_rate():
    slow, plain = net(), net()
    groups = [[*plain.layers[0].parameters()], [*plain.layers[1].parameters()], [*plain.layers[2].parameters()]]
    rates = [{"params": group, "lr": 0.01 * share} for group, share in zip(groups, (0.001, 0.01, 0.1), strict=True)]
    recipe = Recipe(Adam(0.01), epochs=3, batch_size=16, stage_rate=0.001, precision="float64")
    for network, how in ((slow, recipe), (plain, with_options(recipe, stage_rate=1.0))):
        if network is plain:
            how = Recipe(lambda params: KeepRates(rates), epochs=3, batch_size=16, precision="float64")
        for _ in train(network, moons(60), how, "eager", runtime=Runtime("cpu", threads=1)):
            pass
    for ours, theirs in zip(slow.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


class KeepRates(torch.optim.Adam):
    """torch's Adam with rates that nobody else sets."""

    def __init__(self, groups):
        super().__init__(groups)
        self.given = [group["lr"] for group in self.param_groups]

    def step(self, closure=None):
        for group, rate in zip(self.param_groups, self.given, strict=True):
            group["lr"] = rate
        return super().step(closure)


def test_the_proximal_step_is_slowed_too():
    _, plain = one_step(Recipe(GD(0.1), stage_rate=0.1))
    _, found = one_step(Recipe(GD(0.1), penalty=Penalty(0.2, 1), stage_rate=0.1))
    for p, q, share in zip(
        plain, found, [0.1, 0.1, 0.1 ** (2 / 3), 0.1 ** (2 / 3), 0.1 ** (1 / 3), 0.1 ** (1 / 3)], strict=True
    ):
        torch.testing.assert_close(q, soft_threshold(p, 0.1 * 0.2 * share), rtol=0, atol=1e-15)


def test_the_line_search_goes_along_the_slowed_gradient():
    before, whole = one_step(Recipe(GD(0.1, line_search=True)))
    _, found = one_step(Recipe(GD(0.1, line_search=True), stage_rate=0.001))
    ratios = [
        (start - slow) / (share * (start - full))  # the same number everywhere: how the two step sizes compare
        for start, slow, full, share in zip(before, found, whole, [0.001, 0.001, 0.01, 0.01, 0.1, 0.1], strict=True)
    ]
    ratio = torch.cat([r.flatten() for r in ratios])
    ratio = ratio[ratio.isfinite()]  # a unit that is dead for all examples has no gradient
    assert len(ratio) > 50 and ratio[0] > 0
    torch.testing.assert_close(ratio, ratio[0].expand_as(ratio), rtol=1e-6, atol=0)


def test_measures_are_those_of_the_slowed_step():
    network = net()
    before = torch.cat([p.detach().flatten() for p in network.parameters()]).clone()
    recipe = Recipe(GD(0.1), stage_rate=0.001, stopping=Stopping(relative_step=1e-12, max_steps=1), precision="float64")
    (event,) = [*train(network, moons(60), recipe, "eager", runtime=Runtime("cpu", threads=1))]
    after = torch.cat([p.detach().flatten() for p in network.parameters()])
    assert event.row["relative_step"] == pytest.approx(float((after - before).norm() / before.norm()))


@pytest.mark.parametrize("rate", [0.0, -0.5, 1.5])
def test_a_rate_outside_its_bounds_is_refused(rate):
    with pytest.raises(ArgumentError, match="`stage_rate` must be"):
        Recipe(stage_rate=rate)


def test_a_resumed_run_is_the_uninterrupted_one_bit_for_bit(tmp_path):
    data = load("digits").split()
    networks = [mark_new(build("lenet5", inputs=(1, 8, 8)), ["features.0.weight"]) for _ in range(2)]
    recipe = Recipe(Adam(0.01), epochs=2, batch_size=128, stage_rate=0.1)
    whole = fit(networks[0], data, recipe, folder=tmp_path / "whole")
    half = fit(networks[1], data, with_options(recipe, epochs=1), folder=tmp_path / "half")
    assert new_tensors(half.model) == ()  # they are trained now
    found = resume(half.folder, data=data, epochs=2)
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, found.model.state_dict()[name]), name
    again = fit(build("lenet5", inputs=(1, 8, 8)), data, recipe, folder=tmp_path / "other")
    assert not torch.equal(again.model.features[0].weight, whole.model.features[0].weight)
    assert new_tensors(Run.load(whole.folder).model) == ()
    assert "stage_rate = 0.1" in (whole.folder / "config.toml").read_text()


def test_a_network_of_ones_own_keeps_its_new_layers_over_a_resume(tmp_path):
    data = moons(120).split()
    made = torch.nn.Sequential(*(torch.nn.Linear(*sizes) for sizes in ((2, 4), (4, 4), (4, 2))))
    start, recipe = copy.deepcopy(made), Recipe(Adam(0.01), epochs=1, stage_rate=0.001)
    half = fit(mark_new(made, ["0.weight"]), data, recipe, folder=tmp_path / "half")
    found = resume(half.folder, model=copy.deepcopy(start), data=data, epochs=2)
    whole = fit(mark_new(start, ["0.weight"]), data, with_options(recipe, epochs=2), folder=tmp_path / "whole")
    assert torch.equal(found.model[0].weight, whole.model[0].weight)
