"""The line search finds a step that decreases the loss plus penalty."""

import itertools

import pytest
import torch

from lamina.training.line_search import armijo
from lamina.training.recipe import GD, Recipe
from training import lasso


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


@pytest.mark.notes("N1.39", "N1.63")
def test_the_search_counts_the_penalty_and_thresholds_by_the_accepted_step():
    # x^2 / 2 + |x| / 2 at 2 is 3. A step of 4 leads to soft(-6, 2) = -4 and 10, a step of 2 to soft(-2, 1) = -1 and 1.
    x = torch.tensor([2.0])
    tau = armijo(lambda: (x**2).sum() / 2 + x.abs().sum() / 2, [x], [x.clone()], 3.0, first=4.0, strength=0.5)
    assert (tau, x.item()) == (2.0, -1.0)
    rest = torch.zeros(1)
    assert armijo(lambda: 0.3 * rest + 0.5 * rest.abs(), [rest], [torch.tensor([0.3])], 0.0, 4.0, 0.5) == 0.0
    assert rest.item() == 0


@pytest.mark.notes("N1.39", "N1.63")
def test_a_search_that_found_no_step_is_followed_by_one_from_the_nominal_rate():
    step = lasso.step_of(lasso.recipe("line search"))
    step.begin(0)
    step.change.trial.zero_()
    step()
    assert float(step.change.trial) == 0.3  # the nominal rate is short enough, and not doubled
