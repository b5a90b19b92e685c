import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError, ShapeError
from lamina.classical.perceptron_rule import TRUTH_TABLE_INPUTS, all_truth_tables, learn, reachable_truth_tables

F64 = torch.float64
INPUTS = torch.tensor(TRUTH_TABLE_INPUTS, dtype=F64)
OR, AND, XOR, XNOR = (0, 1, 1, 1), (0, 0, 0, 1), (0, 1, 1, 0), (1, 0, 0, 1)


def taught(table, **options):
    return learn(INPUTS, torch.tensor(table, dtype=F64), **options)


@pytest.mark.notes("N1.74")
def test_the_threshold_counts_as_firing():
    fit = taught(OR, weight=torch.tensor([1.0, 1.0], dtype=F64), bias=-1.0)
    assert fit.errors.tolist() == [0]  # the notes' weights are right at once: W1 y1 + W2 y2 + b = -1, 0, 0, 1
    assert fit.predict(INPUTS).tolist() == [0, 1, 1, 1]
    zero = taught((1, 1, 1, 1))
    assert zero.errors.tolist() == [0] and zero.weight.tolist() == [0, 0] and zero.bias == 0


@pytest.mark.notes("N1.80")
@given(
    start=st.lists(st.floats(-5, 5), min_size=3, max_size=3),
    learning_rate=st.floats(0.1, 2.0),
    table=st.sampled_from([OR, AND]),
)
@settings(max_examples=40, deadline=None)
def test_or_and_and_are_learned_from_everywhere(start, learning_rate, table):
    weight = torch.tensor(start[:2], dtype=F64)
    fit = taught(table, weight=weight, bias=start[2], learning_rate=learning_rate, epochs=2000)
    assert fit.converged and fit.errors[-1] == 0
    assert fit.predict(INPUTS).tolist() == list(table)


@pytest.mark.notes("N1.80")
@given(start=st.lists(st.floats(-5, 5), min_size=3, max_size=3), table=st.sampled_from([XOR, XNOR]))
@settings(max_examples=20, deadline=None)
def test_xor_is_never_below_one_error(start, table):
    fit = taught(table, weight=torch.tensor(start[:2], dtype=F64), bias=start[2], epochs=30)
    assert not fit.converged and fit.errors.min() >= 1 and len(fit.errors) == 31


@pytest.mark.notes("N1.80")
def test_the_best_possible_accuracy_on_xor_is_three_quarters():
    fewest = min(sum(a != b for a, b in zip(table, XOR, strict=True)) for table in reachable_truth_tables())
    assert fewest == 1


@pytest.mark.notes("N1.78")
def test_fourteen_of_sixteen_functions_are_reachable():
    reachable = reachable_truth_tables()
    assert len(all_truth_tables()) == 16 and len(reachable) == 14
    assert set(all_truth_tables()) - reachable == {XOR, XNOR}
    assert reachable_truth_tables(bound=3.0, spacing=0.5) == reachable
    # The proof: b < 0, W1 + b >= 0 and W2 + b >= 0 give W1 + W2 + b >= -b > 0, so that the last output is 1 too.
    g = torch.Generator().manual_seed(0)
    W1, W2, b = torch.randn(3, 100_000, generator=g, dtype=F64) * 10
    middle = (b < 0) & (W1 + b >= 0) & (W2 + b >= 0)
    assert middle.any() and (W1 + W2 + b)[middle].min() >= (-b)[middle].min() > 0


def test_the_grid_ends_at_the_bound():
    """From -1/4 in steps of 3/8 there are -1/4 and 1/8 only; the next, 1/2, would make OR."""
    numbers = itertools.product((-0.25, 0.125), repeat=3)
    tables = {tuple(int(W1 * u + W2 * v + b >= 0) for u, v in TRUTH_TABLE_INPUTS) for W1, W2, b in numbers}
    assert reachable_truth_tables(bound=0.25, spacing=0.375) == tables and (0, 1, 1, 1) not in tables


def test_every_reachable_function_is_learned():
    for table in reachable_truth_tables():
        assert taught(table, epochs=200).converged


def test_the_rule_by_hand():
    """OR from zeros: (0,0) is wrong at once, b = -1; then (1,0) is wrong, W = (1, 0), b = 0; one epoch more each."""
    fit = taught(OR, epochs=1)
    assert fit.errors.tolist() == [1, 1] and fit.weight.tolist() == [1, 0] and fit.bias.item() == 0
    assert taught(OR).weight.tolist() == [1, 1] and taught(OR).bias.item() == -1


def test_wrong_arguments(as_user):
    with pytest.raises(ArgumentError, match=r"`targets` must be 0 or 1, got \[-1\.0, 1\.0\]"):
        taught((-1, 1, 1, 1))
    with pytest.raises(ShapeError, match="`inputs` and `targets` must hold the same number of examples, got 4 and 3"):
        taught((0, 1, 1))
    with pytest.raises(ArgumentError, match="`inputs` must be finite"):
        learn(INPUTS * float("nan"), torch.zeros(4, dtype=F64))
    with pytest.raises(ArgumentError, match="`learning_rate` must be greater than 0, got 0"):
        taught(OR, learning_rate=0.0)
    with pytest.raises(ArgumentError, match="`epochs` must be at least 1, got 0"):
        taught(OR, epochs=0)
    with pytest.raises(ShapeError, match=r"`weight` must have the shape \(2,\) of an example, got \(3,\)"):
        taught(OR, weight=torch.zeros(3, dtype=F64))
    with pytest.raises(ArgumentError, match="`bound` must be greater than 0, got -1"):
        reachable_truth_tables(bound=-1)
    with pytest.raises(ArgumentError, match="`spacing` must be greater than 0, got 0"):
        reachable_truth_tables(spacing=0)
