"""One update against the pure updates of `functional`, against a hand-written loop, and through a save."""

import copy
import itertools

import pytest
import torch
from torch.func import functional_call
from torch.nn import functional as F

from lamina._errors import ArgumentError
from lamina.functional.clipping import clip
from lamina.functional.optimizers import OPTIMIZERS, soft_threshold
from lamina.training._fused import FusedAdam
from lamina.training.change import _make_optimizer
from lamina.training.recipe import GD, SGD, Adam, Clip, MiniBatch, Penalty, Recipe, Schedule, Stopping
from lamina.training.tasks.feed import _steps_per_epoch, batch_size, epoch_order

PURE = {
    "gd": (GD(0.3), "gd", {"learning_rate": 0.3}),
    "sgd": (SGD(0.05), "gd", {"learning_rate": 0.05}),
    "minibatch": (MiniBatch(0.1), "gd", {"learning_rate": 0.1}),
    "momentum": (MiniBatch(0.1, momentum=0.9), "momentum", {"learning_rate": 0.1, "momentum": 0.9}),
    "adam": (Adam(0.01), "adam", {"learning_rate": 0.01}),
}


@pytest.mark.notes("N1.36", "N1.42", "N1.45", "N1.47", "N1.49")
@pytest.mark.parametrize("name", PURE)
def test_steps_equal_the_pure_update(step_of, name):
    """Twenty updates in float64: batches of Alg. 2, 3, 4, the gradient by autograd, the update from `functional`."""
    optimizer, pure, numbers = PURE[name]
    recipe = Recipe(optimizer, epochs=2, batch_size=16, precision="float64", seed=3)
    step = step_of(recipe)
    init, update, hyper = OPTIMIZERS[pure]
    model = copy.deepcopy(step.model)
    params = {k: v.detach().clone() for k, v in model.named_parameters()}
    state = init(params)
    for epoch in range(2):
        step.begin(epoch)
        for batch in step.feed.order.split(step.feed.batch_size)[:10]:
            step()
            inputs, targets = step.feed.source.batch(batch, None)
            leaves = {k: v.detach().clone().requires_grad_() for k, v in params.items()}
            loss = F.cross_entropy(functional_call(model, leaves, (inputs.double(),)), targets)
            grads = dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))
            params, state = update(params, grads, state, hyper(**numbers))
    for k, p in step.model.named_parameters():
        torch.testing.assert_close(p.detach(), params[k], atol=1e-12, rtol=1e-12)


@pytest.mark.notes("N1.41")
def test_batches_of_the_algorithms(step_of):
    assert batch_size(Recipe(GD()), 80) == 80 and _steps_per_epoch(Recipe(GD()), 80) == 1
    assert batch_size(Recipe(SGD()), 80) == 1 and _steps_per_epoch(Recipe(SGD()), 80) == 80
    assert _steps_per_epoch(Recipe(batch_size=30), 80) == 3
    assert _steps_per_epoch(Recipe(batch_size=30, sampling="with-replacement"), 80) == 2
    assert batch_size(Recipe(batch_size=500), 80) == 80
    assert step_of(Recipe(SGD())).feed.sampling == "with-replacement"


def test_sums_are_means_over_the_epoch(step_of, moons):
    step = step_of(Recipe(MiniBatch(1e-12), batch_size=32))
    step.begin(0)
    for _ in range(step.batches):
        step()
    row = step.totals()
    inputs, targets = step.feed.source.batch(torch.arange(80), None)
    outputs = step.model(inputs)
    assert row["loss"] == pytest.approx(F.cross_entropy(outputs, targets).item(), rel=1e-5)
    assert row["accuracy"] == pytest.approx((outputs.argmax(1) == targets).float().mean().item())
    assert set(row["gradients"]) == {"layers.0.affine", "layers.1.affine"}
    found = step.evaluate()
    assert 0 <= found["validation_accuracy"] <= 1 and found["validation_loss"] > 0


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
    adam = step_of(Recipe(Adam(0.01), penalty=Penalty(0.5, 1)))
    assert not adam.recipe.proximal and float(adam.update.penalty(adam.params).detach()) > 0


@pytest.mark.notes("N1.39")
def test_line_search_decreases_the_loss_at_every_step_from_any_first_rate(step_of):
    for rate in (1e-3, 1e3):
        step = step_of(Recipe(GD(rate, line_search=True), epochs=12))
        losses = []
        for epoch in range(12):
            step.begin(epoch)
            step()
            losses.append(step.totals()["loss"])
        assert all(b < a for a, b in itertools.pairwise(losses)), losses
        assert step.totals()["learning_rate"] == float(step.change.trial) > 0


def test_the_schedule_sets_the_rate_of_every_step(step_of):
    step = step_of(Recipe(MiniBatch(1.0), epochs=2, batch_size=20, schedule=Schedule("warmup", warmup=0.5)))
    seen = []
    for epoch in range(2):
        step.begin(epoch)
        for _ in range(step.batches):
            step()
            seen.append(step.change.optimizer.param_groups[0]["lr"])
    assert seen == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0]


def test_norms_are_measured_when_a_rule_asks(step_of):
    step = step_of(Recipe(GD(0.1), stopping=Stopping(gradient_norm=1e-9), precision="float64"))
    before = [p.detach().clone() for p in step.params]
    step.begin(0)
    step()
    row = step.totals()
    moved = torch.cat([(p.detach() - b).flatten() for p, b in zip(step.params, before, strict=True)]).norm()
    assert row["gradient_norm"] == pytest.approx(float(moved) / 0.1)
    assert row["relative_step"] == pytest.approx(float(moved / torch.cat([b.flatten() for b in before]).norm()))


@pytest.mark.parametrize(
    "optimizer", [MiniBatch(0.1, momentum=0.9), Adam(0.01), lambda p: torch.optim.RMSprop(p, lr=0.01)]
)
def test_a_state_restored_into_another_step_goes_on_bit_for_bit(step_of, optimizer):
    recipe = Recipe(optimizer, epochs=4, batch_size=16)

    def run(step, start, stop):
        for number in range(start, stop):
            epoch, batch = divmod(number, step.batches)
            if batch == 0 or number == start:
                step.begin(epoch, batch)
            step()

    whole, first, second = (step_of(recipe, dropout=0.3, batch_norm=True) for _ in range(3))
    run(whole, 0, 17)
    run(first, 0, 7)
    saved = {name: t.detach().clone() for name, t in first.state().items()}
    second.restore(saved, first.step)
    run(second, 7, 17)
    for name, t in whole.state().items():
        assert torch.equal(t, second.state()[name]), name


def test_the_first_step_that_is_not_finite_is_latched(step_of):
    step = step_of(Recipe(MiniBatch(0.1), batch_size=16))
    step.begin(0)
    step(), step()
    assert step.first_bad_step() is None
    with torch.no_grad():
        step.params[0].fill_(float("nan"))
    step(), step()
    assert step.first_bad_step() == 2


def test_any_torch_optimizer_may_be_passed(step_of):
    step = step_of(Recipe(optimizer=lambda p: torch.optim.Adagrad(p, lr=0.5)))
    assert isinstance(step.change.optimizer, torch.optim.Adagrad) and step.rates[0] == 0.5
    assert isinstance(_make_optimizer(Recipe(), step.params), FusedAdam)


def test_a_network_that_no_gradient_reaches_is_refused(step_of):
    step = step_of(Recipe(), activation="heaviside")
    step.begin(0)
    for p in step.model.layers[-1].parameters():
        p.requires_grad_(False)
    with pytest.raises(ArgumentError, match="no gradient leads from the loss to a parameter: .* such as heaviside"):
        step()
    step = step_of(Recipe())
    step.begin(0)
    with torch.no_grad(), pytest.raises(ArgumentError, match=r"torch\.no_grad\(\) is in force around the training"):
        step()
