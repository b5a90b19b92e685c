import copy
import itertools

import pytest
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from lamina._errors import ArgumentError
from lamina.functional.random import dropout
from lamina.layers.dropout import Dropout, load_run_state_, mask_state, run_state
from lamina.layers.initialized import linear

ONES = torch.ones(200, 500)


@pytest.mark.notes("N3.08")
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.8])
def test_values_rate_and_mean(rate):
    outputs = Dropout(rate, seed=3)(ONES)
    dropped = outputs == 0
    scaled = torch.tensor(1.0) / (1 - torch.tensor(rate))
    assert torch.equal(outputs[~dropped], scaled.expand(int((~dropped).sum())))
    bound = 4 * (rate * (1 - rate) / ONES.numel()) ** 0.5  # four standard deviations of the share of 10^5 units
    assert dropped.float().mean().item() == pytest.approx(rate, abs=bound)
    assert outputs.mean().item() == pytest.approx(1, abs=bound / (1 - rate))


@pytest.mark.notes("N3.08")
def test_values_for_a_half_are_0_and_2():
    assert set(Dropout(0.5)(ONES).flatten().tolist()) == {0.0, 2.0}
    assert torch.equal(Dropout()(ONES), Dropout(0.5)(ONES))  # a half is what is meant without a rate


@pytest.mark.notes("N3.08")
def test_evaluation_is_the_identity_and_is_not_counted():
    layer = Dropout(0.5).eval()
    inputs = torch.arange(6.0).reshape(2, 3)
    assert layer(inputs) is inputs
    assert layer.counter.item() == 0


def test_rate_zero_drops_nothing():
    assert torch.equal(Dropout(0.0)(ONES), ONES)


def test_each_training_call_is_counted_and_drops_other_units():
    layer = Dropout(0.5, seed=1)
    masks = [layer(ONES) for _ in range(3)]
    assert layer.counter.item() == 3
    for one, other in itertools.combinations(masks, 2):
        assert not torch.equal(one, other)
        both = ((one == 0) & (other == 0)).float().mean().item()
        assert both == pytest.approx(0.25, abs=0.01)


def test_mask_is_the_pure_function_of_seed_place_and_step():
    layer = Dropout(0.3, seed=7, place=4)
    for step in range(3):
        expected = dropout(ONES, layer.rate, seed=7, stream=4, counter=step)
        assert torch.equal(layer(ONES), expected)


def test_same_seed_same_masks():
    one, other = Dropout(0.5, seed=2, place=1), Dropout(0.5, seed=2, place=1)
    for _ in range(3):
        assert torch.equal(one(ONES), other(ONES))


@pytest.mark.parametrize("options", [{"seed": 3}, {"place": 1}, {"seed": 2 + 2**31}, {"seed": -2}])
def test_other_seeds_and_places_drop_independently(options):
    one, other = Dropout(0.5, seed=2)(ONES) == 0, Dropout(0.5, **{"seed": 2, **options})(ONES) == 0
    assert (one & other).float().mean().item() == pytest.approx(0.25, abs=0.01)


def test_global_generator_is_not_used():
    before = torch.get_rng_state()
    Dropout(0.5)(ONES)
    assert torch.equal(before, torch.get_rng_state())


def test_a_reloaded_layer_continues_with_the_same_masks():
    layer = Dropout(0.4, seed=5, place=2)
    layer(ONES), layer(ONES)
    saved = copy.deepcopy(run_state(layer))
    assert set(saved) == {"rate", "seed", "counter"}
    assert saved["counter"].item() == 2
    continued = [layer(ONES) for _ in range(2)]
    fresh = Dropout(0.9, seed=0, place=2)
    load_run_state_(fresh, saved)
    for expected in continued:
        assert torch.equal(fresh(ONES), expected)


def test_masks_are_no_weights_and_those_of_version_0_1_are_passed_over():
    net = nn.Sequential(linear(2, 3), Dropout(0.25, seed=5))
    assert list(net.state_dict()) == ["0.weight", "0.bias"]
    old = {"0.weight": torch.ones(3, 2), "0.bias": torch.ones(3)}
    old |= {"1.rate": torch.tensor(0.5), "1.seed": torch.tensor(7), "1.counter": torch.tensor(9)}
    net.load_state_dict(old, strict=True)
    assert torch.equal(net[0].weight, old["0.weight"]) and len(old) == 5
    assert [t.item() for t in mask_state(net).values()] == [0.25, 5, 0]
    with pytest.raises(RuntimeError, match='Unexpected key.*"1.scale"'):
        net.load_state_dict(old | {"1.scale": torch.ones(1)})


def test_gradient_passes_through_the_units_that_stay():
    inputs = torch.randn(50, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    layer = Dropout(0.5, seed=1)
    outputs = layer(inputs)
    (gradient,) = torch.autograd.grad(outputs.sum(), inputs)
    assert torch.equal(gradient, torch.where(outputs == 0, 0.0, 2.0).double())


@pytest.mark.parametrize("convert", [lambda m: m, lambda m: m.double()])
def test_float64(convert):
    single, double = Dropout(0.3, seed=1), convert(Dropout(0.3, seed=1))
    outputs = double(ONES.double())
    assert outputs.dtype == torch.float64
    assert torch.equal(outputs == 0, single(ONES) == 0)
    kept = outputs[outputs != 0]
    assert kept[0].item() == pytest.approx(1 / 0.7, rel=1e-15)


def test_three_members_are_three_modules_bit_for_bit():
    members = [Dropout(rate, seed=seed) for rate, seed in ((0.2, 1), (0.5, 2), (0.5, 3))]
    parameters, buffers = stack_module_state(members)
    inputs = torch.randn(3, 4, 50, generator=torch.Generator().manual_seed(0))

    def call(p, b, x):
        return functional_call(members[0], (p, b), (x,))

    for step in range(2):
        together = vmap(call)(parameters, buffers, inputs)
        alone = torch.stack([member(x) for member, x in zip(members, inputs, strict=True)])
        assert torch.equal(together, alone)
        assert buffers["counter"].tolist() == [step + 1] * 3
        assert [member.counter.item() for member in members] == [step + 1] * 3


def test_three_members_on_shared_inputs():
    members = [Dropout(0.5, seed=seed) for seed in range(3)]
    parameters, buffers = stack_module_state(members)
    inputs = torch.ones(100)
    together = vmap(lambda p, b: functional_call(members[0], (p, b), (inputs,)))(parameters, buffers)
    assert torch.equal(together, torch.stack([member(inputs) for member in members]))
    evaluated = vmap(lambda p, b: functional_call(members[0].eval(), (p, b), (inputs,)), out_dims=None)
    assert torch.equal(evaluated(parameters, buffers), inputs)


@pytest.mark.parametrize("rate", [1.0, -0.1, float("nan")])
def test_rates_outside_are_refused(rate):
    with pytest.raises(ArgumentError, match=r"`rate` must be in \[0, 1\), got"):
        Dropout(rate)


def test_representation():
    assert repr(Dropout(0.5, place=3)) == "Dropout(place=3)"
