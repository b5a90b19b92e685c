"""Names in the tables of experiments, as people write them."""

import pytest

from lamina.architectures import TABLE
from lamina.experiments.wording import NAMES, axis, kind, spelled


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("relu", "ReLU"),
        ("gru, memory bias -3", "GRU, memory bias −3"),
        ("xavier, relu", "Xavier, ReLU"),
        ("784-300-100-10", "784-300-100-10"),
        ("step 0.1 x 10", "step 0.1 × 10"),
        ("E y^2 5", "layer 5"),
        ("tau 2", r"$\tau$ 2"),
        ("L=20", "$L$ = 20"),
        ("t=-1", "$t$ = −1"),
        ("x^2 - 1", "x² − 1"),
        ("spam", "spam"),
    ],
)
def test_series_are_spelled_for_people(written, read):
    assert spelled(written) == read


def test_what_is_spelled_already_stays():
    assert {name: spelled(name) for name in NAMES.values()} == {name: name for name in NAMES.values()}


def test_axes_of_one_letter_are_formulas():
    assert [axis(name) for name in ("L", "n", "lambda", "5", "epoch")] == ["$L$", "$n$", r"$\lambda$", "5", "epoch"]


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("memory bias", None, "no memory bias"),
        ("clipped", True, "clipped"),
        ("clipped", False, "not clipped"),
        ("batch norm", "no", "no batch norm"),
        ("std", 0.012345, "std 0.01235"),
        ("width", 25, "width 25"),
        ("cell", "lstm", "lstm"),
    ],
)
def test_rows_are_named_by_what_they_are(column, value, said):
    assert kind(column, value) == said


def test_architectures_of_the_table_keep_their_names():
    assert {name for name in NAMES if name in TABLE} >= {"fnn", "lenet5", "resnet18", "cifar-resnet", "dense-resnet"}
