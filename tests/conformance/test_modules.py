"""The conformance table, run over every architecture and every layer."""

import pytest
import torch

import lamina
from conformance import checks
from conformance.cases import ARCHITECTURES, LAYERS
from lamina.architectures.table import TABLE
from lamina.populations.stacked import _has_rule

CASES = pytest.mark.parametrize("case", ARCHITECTURES + LAYERS, ids=str)
TRAINABLE = pytest.mark.parametrize("case", [c for c in ARCHITECTURES + LAYERS if c.trains], ids=str)


def test_every_architecture_is_in_the_table():
    assert set(TABLE) == {case.name.split()[0] for case in ARCHITECTURES}


@CASES
def test_values_equal_the_reference(case):
    module, inputs = case.module(), case.arguments()
    module.train()(*inputs)  # running statistics other than 0 and 1
    outputs = module.eval()(*inputs)
    checks.close(checks.floats(outputs)[0], case.reference(module.state_dict(), module, *inputs), 1e-12)


@CASES
def test_parameter_count(case):
    if case.parameters is not None:
        assert checks.count(case.module()) == case.parameters


@pytest.mark.parametrize("name", TABLE)
def test_published_parameter_count(name):
    assert checks.count(lamina.build(name)) == TABLE[name].parameters


@CASES
def test_a_population_can_be_made_of_it(case):
    """A module sets `stackable` for itself, not for its subclasses, or has a rule in `populations`."""
    assert _has_rule(case.module())


@TRAINABLE
def test_every_parameter_gets_a_finite_gradient(case):
    checks.gradients_are_finite(case.module(), case.arguments())


@CASES
def test_saving_and_loading_gives_the_same_network(case, tmp_path):
    checks.survives_saving(case.module(0), case.module(1), case.arguments(), str(tmp_path / "w.safetensors"))


@CASES
def test_same_seed_same_network_and_no_global_generator(case):
    before = torch.random.get_rng_state()
    first, second, inputs = case.module(3), case.module(3), case.arguments()
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name])
    for a, b in zip(checks.floats(first.train()(*inputs)), checks.floats(second.train()(*inputs)), strict=True):
        assert torch.equal(a, b)
    assert torch.equal(before, torch.random.get_rng_state())


@CASES
def test_another_seed_gives_another_network(case):
    draws = any("weight" in name and value.unique().numel() > 2 for name, value in case.module(0).named_parameters())
    same = all(torch.equal(a, b) for a, b in zip(case.module(0).parameters(), case.module(1).parameters(), strict=True))
    assert same != draws


@TRAINABLE
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_three_members_under_vmap_equal_three_runs(case, training):
    checks.members_equal_separate_runs([case.module(seed) for seed in range(3)], case.arguments(), training)


@CASES
def test_float32_is_close_to_float64(case):
    inputs = case.arguments()
    double = checks.floats(case.module().eval()(*inputs))
    single = checks.floats(case.make(0).eval()(*(x.float() if x.is_floating_point() else x for x in inputs)))
    checks.close([x.double() for x in single], double, 2e-4)


@pytest.mark.cuda
@TRAINABLE
def test_cuda_equals_cpu(case):
    checks.same_on_cuda(case.module, case.arguments())
