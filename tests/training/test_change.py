"""How parameters move: clipped, by the optimizer, by a proximal step, and how far."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from lamina.functional.clipping import clip
from lamina.functional.losses import penalty
from lamina.functional.optimizers import soft_threshold
from lamina.training._fused import FusedAdam
from lamina.training.change import _make_optimizer, _Moving
from lamina.training.recipe import GD, Adam, Clip, Penalty, Recipe, Stopping
from lamina.training.tasks.feed import epoch_order


@pytest.mark.notes("N1.62", "N5.27")
def test_penalty_and_clipping_enter_the_gradient(step_of):
    recipe = Recipe(GD(0.1), penalty=Penalty(0.01), clip=Clip(0.05), precision="float64")
    step = step_of(recipe)
    model = copy.deepcopy(step.model)
    inputs, targets = step.feed.source.batch(epoch_order(80, 80, "epoch", 0, 0), None)
    loss = F.cross_entropy(model(inputs.double()), targets) + 0.01 * sum((p**2).sum() for p in model.parameters())
    loss.backward()
    clipped = clip({k: p.grad for k, p in model.named_parameters()}, 0.05)
    step.begin(0)
    step()
    for k, p in step.model.named_parameters():
        torch.testing.assert_close(
            p.detach(), dict(model.named_parameters())[k].detach() - 0.1 * clipped[k], atol=1e-12, rtol=0
        )


@pytest.mark.notes("N1.63")
def test_the_norm_1_penalty_is_a_proximal_step_with_exact_zeros(step_of):
    plain, sparse = (step_of(Recipe(GD(0.1), penalty=Penalty(s, 1), precision="float64")) for s in (0.0, 0.5))
    for step in (plain, sparse):
        step.begin(0)
        step()
    for a, b in zip(plain.model.parameters(), sparse.model.parameters(), strict=True):
        torch.testing.assert_close(soft_threshold(a.detach(), 0.05), b.detach(), atol=1e-15, rtol=0)
    assert any((p == 0).any() for p in sparse.model.parameters())
    assert not Recipe(Adam(0.01), penalty=Penalty(0.5, 1)).proximal


@pytest.mark.notes("N1.62")
@pytest.mark.parametrize("norm", [1, 2])
def test_the_gradient_of_the_penalty_is_that_of_its_formula(step_of, norm):
    recipes = [Recipe(Adam(0.1), penalty=Penalty(strength, norm), precision="float64") for strength in (0.0, 0.3)]
    plain, penalized = map(step_of, recipes)
    theta = [p.detach().clone().requires_grad_() for p in penalized.params]
    wanted = torch.autograd.grad(penalty(theta, 0.3, norm), theta)
    for step in (plain, penalized):
        step.begin(0)
        step()
    for p, q, slope in zip(plain.params, penalized.params, wanted, strict=True):
        torch.testing.assert_close(q.grad, p.grad + slope, atol=1e-15, rtol=1e-13)


def test_a_parameter_without_a_gradient_still_has_that_of_the_penalty():
    used, unused = (nn.Parameter(torch.tensor([value])) for value in (1.0, 2.0))
    used.grad = torch.tensor([0.5])
    change = _Moving([used, unused], Recipe(GD(0.1), penalty=Penalty(0.25)))
    change([used.grad, None], None, lambda: torch.zeros(()))
    assert used.item() == pytest.approx(1 - 0.1 * (0.5 + 2 * 0.25 * 1))
    assert unused.item() == pytest.approx(2 - 0.1 * 2 * 0.25 * 2)


def test_norms_are_measured_when_a_rule_asks(step_of):
    step = step_of(Recipe(GD(0.1), stopping=Stopping(gradient_norm=1e-9), precision="float64"))
    before = [p.detach().clone() for p in step.params]
    step.begin(0)
    step()
    row = step.totals()
    moved = torch.cat([(p.detach() - b).flatten() for p, b in zip(step.params, before, strict=True)]).norm()
    assert row["gradient_norm"] == pytest.approx(float(moved) / 0.1)
    assert row["relative_step"] == pytest.approx(float(moved / torch.cat([b.flatten() for b in before]).norm()))


def test_any_torch_optimizer_may_be_passed(step_of):
    step = step_of(Recipe(optimizer=lambda p: torch.optim.Adagrad(p, lr=0.5)))
    assert isinstance(step.change.optimizer, torch.optim.Adagrad) and step.rates[0] == 0.5
    assert isinstance(_make_optimizer(Recipe(), step.params), FusedAdam)
