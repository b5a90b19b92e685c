"""The work of the page ch4/euler: numbers by hand, and what the notes say of them."""

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.pages.chapters.ch4.euler._work import flow, network, paths


@pytest.mark.notes("N4.17")
def test_learned_step_sizes_move_and_stay_positive():
    *_, last = flow("ResNet, learned steps", 4)
    assert last["accuracy"] > 0.95 and min(last["steps"]) > 0
    assert max(last["steps"]) - min(last["steps"]) > 0.1
    assert last["losses"][-1][1] < 0.1 * last["losses"][0][1]


def test_equal_steps_do_not_move():
    model = network("ResNet, equal steps", 5)
    assert model.step_sizes.tolist() == pytest.approx([0.8] * 5)
    points = torch.randn(3, 2)
    assert torch.equal(paths(model, points)[0], points)
    with pytest.raises(ArgumentError, match="kind"):
        network("no such", 2)
