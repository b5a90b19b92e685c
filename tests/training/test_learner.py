"""What a learner adds up, keeps and restores."""

import pytest
import torch
from torch.nn import functional as F

from lamina.training.recipe import Adam, AdamW, MiniBatch, Recipe, RMSprop


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


@pytest.mark.parametrize(
    "optimizer", [MiniBatch(0.1, momentum=0.9), Adam(0.01), AdamW(0.01), RMSprop(0.01, momentum=0.5)]
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
