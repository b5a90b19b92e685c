"""What the pages share in ch1: numbers by hand, and what the notes say of them."""

import pytest
import torch

from lamina.classical.linear_regression import fit, squared_error
from lamina.pages.chapters.ch1._shared import line_surface, regression_data

F64 = torch.float64


def test_regression_data_follow_the_line_without_errors():
    inputs, targets = regression_data(7, 0.0, 3)
    assert torch.equal(inputs[:, 0], torch.ones(7, dtype=F64))
    assert torch.allclose(targets, 0.5 + 1.5 * inputs[:, 1])


def test_line_surface_is_the_loss_everywhere():
    inputs, targets = regression_data(9, 0.4, 1)
    surface = line_surface(inputs, targets)
    weight = torch.tensor([[0.3, -1.0], [2.0, 0.0]], dtype=F64)
    expected = [squared_error(w, inputs, targets).item() for w in weight]
    assert surface.function(weight).tolist() == pytest.approx(expected)
    assert surface.function(weight[0]).item() == pytest.approx(expected[0])
    assert surface.lowest == tuple(fit(inputs, targets).weight.tolist())
