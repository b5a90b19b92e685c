"""Whole passes by compiled code: where they are chosen, and that they train as autograd does."""

from dataclasses import replace

import pytest
import torch

from lamina.architectures.build import configure
from lamina.data.arrays import from_arrays
from lamina.kernels import native, ordered
from lamina.populations import _stack
from lamina.populations._losses import Losses
from lamina.populations._passes import passes_of
from lamina.populations.members import Member
from lamina.populations.population import train_population
from lamina.populations.stacked import _stack_modules
from lamina.training.recipe import Adam, MiniBatch, Penalty, Recipe, Stopping

pytestmark = pytest.mark.skipif(not native.works(), reason="needs g++")

RECIPE = Recipe(Adam(0.01), batch_size=19, epochs=3, penalty=Penalty(1e-3))


def table(kind):
    inputs = torch.randn(150, 5, generator=torch.Generator().manual_seed(0))
    targets = inputs[:, :2] * 2 if kind == "numbers" else (inputs[:, 0] > 0).long()
    return from_arrays(inputs, targets).split(seed=0)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("shared", [True, False], ids=["one order", "orders of their own"])
def test_a_population_learns_what_autograd_learns(kind, shared, monkeypatch):
    recipes = [replace(RECIPE, seed=k, stopping=Stopping(patience=1 + 5 * k)) for k in range(3)]
    members = [
        Member(each, configure("fnn", inputs=5, outputs=2, hidden=(9, 8)), seed=k) for k, each in enumerate(recipes)
    ]
    found = train_population(members, table(kind), shared_order=shared)
    monkeypatch.setattr(_stack, "passes_of", lambda *given: None)
    expected = train_population(members, table(kind), shared_order=shared)
    for ours, theirs in zip(found, expected, strict=True):
        assert len(ours.rows) == len(theirs.rows) and ours.best_row == theirs.best_row
        for mine, right in zip(ours.rows, theirs.rows, strict=True):
            gradients, wanted = mine.pop("gradients"), right.pop("gradients")
            assert gradients == pytest.approx(wanted, rel=1e-3) and mine == pytest.approx(right, rel=1e-4)
        for name, weights in ours.weights.items():
            torch.testing.assert_close(weights, theirs.weights[name], rtol=1e-3, atol=1e-4)


def chosen(losses=None, recipe=RECIPE, frozen=False, **options):
    networks = [Member(recipe, configure("fnn", inputs=5, outputs=2, **options), seed=k).build() for k in range(2)]
    stacked = _stack_modules(networks).to(recipe.dtype)
    next(stacked.parameters()).requires_grad_(not frozen)
    names = ("loss_sum", "score_sum", "ever", "good", "active", "alive")
    return passes_of(stacked, {name: torch.zeros(2) for name in names}, losses or Losses("nll"), recipe)


def test_plain_networks_with_plain_losses_have_passes_of_their_own(monkeypatch):
    assert chosen() is not None and chosen(Losses("mse")) is not None
    assert chosen(recipe=Recipe(MiniBatch(0.1), precision="float64")) is not None
    others = (
        chosen(dropout=0.5), chosen(batch_norm=True), chosen(activation="gelu"), chosen(Losses("bce")),
        chosen(Losses("nll", weighted=True)), chosen(Losses("nll", gamma=2.0)), chosen(Losses("nll", mixed=())),
        chosen(Losses("mse", error=torch.sub)), chosen(recipe=replace(RECIPE, precision="bfloat16")),
        chosen(frozen=True),
    )  # fmt: skip
    assert others == (None,) * len(others)
    monkeypatch.setitem(ordered.WANTED, "cpu", False)
    assert chosen() is None


def test_changing_each_member_at_once_gives_the_same_bits_as_all_at_the_end(monkeypatch):
    members = [Member(RECIPE, configure("fnn", inputs=5, outputs=2, hidden=(9, 8)), seed=k) for k in range(3)]
    found = train_population(members, table("classes"))
    monkeypatch.setattr(_stack.StackMoving, "by_member", False)
    expected = train_population(members, table("classes"))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.rows == theirs.rows
        assert all(torch.equal(weights, theirs.weights[name]) for name, weights in ours.weights.items())
