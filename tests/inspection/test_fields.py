"""Arithmetic on the intervals that units see, by hand."""

import numpy as np
import pytest

from lamina.inspection._field_rules import positions, tensors_in
from lamina.inspection._fields import (
    Line,
    _gather,
    as_ints,
    bins,
    cut,
    hull,
    joined,
    moved,
    pad,
    spread,
    transposed_window,
    union,
    unseen,
    whole_axis,
    window,
)

THREE = window(whole_axis(9, 2), 3, 1, 1, 1, 9)


def test_windows_follow_each_other_and_stop_at_the_border():
    assert window(whole_axis(5, 2), 3, 1, 1, 1, 5).high.tolist() == [1, 2, 3, 4, 4]
    assert window(window(whole_axis(9, 2), 3, 1, 0, 1, 7), 3, 1, 0, 1, 5).line == Line(0, 1, 5)
    assert transposed_window(whole_axis(2, 2), 2, 2, 0, 1, 4).low.tolist() == [0, 0, 1, 1]
    assert _gather(whole_axis(4, 2), np.array([[-1, 1], [2, 9]])).low.tolist() == [1, 2]


def test_all_positions_at_once():
    assert hull(whole_axis(7, 2)).high.tolist() == [6] and hull(whole_axis(7, 2)).dim is None
    assert spread(whole_axis(3, 2)).low.tolist() == [0, 0, 0]
    assert bins(whole_axis(5, 2), 2).high.tolist() == [2, 4]


def test_positions_are_cut_padded_joined_and_moved():
    assert cut(whole_axis(6, 2), 1, 6, 2).line == Line(1, 2, 1)
    assert pad(whole_axis(2, 2), 1, 0).high.tolist() == [-1, 0, 1]
    assert joined([whole_axis(2, 1), pad(whole_axis(1, 1), 0, 1)], 1).high.tolist() == [0, 1, 0, -1]
    assert unseen(2, 1).high.tolist() == [-1, -1] and moved(whole_axis(2, 1), 3).dim == 3


def test_a_sum_of_branches_sees_what_the_widest_sees():
    assert union([window(whole_axis(9, 2), 5, 1, 2, 1, 9), THREE]).line == Line(-2, 1, 5)
    assert THREE.span == 3 and whole_axis(3, 2).line == Line(0, 1, 1)


@pytest.mark.parametrize(("value", "numbers"), [(3, [3, 3]), ([1], [1, 1]), ([1, 2], [1, 2])])
def test_options_of_an_operation_become_one_number_per_axis(value, numbers):
    assert as_ints(value, 2) == numbers


def test_positions_of_the_input():
    assert [len(axis.low) for axis in positions((1, 3, 8, 9), (2, 3))] == [8, 9] and tensors_in([1, (2,)]) == []
