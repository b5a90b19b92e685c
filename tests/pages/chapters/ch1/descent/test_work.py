"""The work of the page ch1/descent: numbers by hand, and what the notes say of them."""

from itertools import pairwise

import pytest
import torch

from lamina.classical.linear_regression import squared_error
from lamina.functional.optimizers import OPTIMIZERS, Adam, GradientDescent, iterate
from lamina.inspection.surfaces import SURFACES, bowl
from lamina.pages.chapters.ch1._shared import regression_data
from lamina.pages.chapters.ch1.descent._work import line_search_path, race

F64 = torch.float64


@pytest.mark.notes("N1.39")
@pytest.mark.parametrize("first", [1e-3, 1.0, 100.0])
def test_line_search_goes_downhill_from_every_first_trial(first):
    _, sizes, losses = line_search_path(SURFACES["bent valley"], first, 60)
    assert all(after < before for before, after in pairwise(losses))
    assert losses[-1] < 0.3 and min(sizes) > 0


def test_line_search_halves_until_it_fits():
    # From (-1.7, 1.1) on a bowl of curvature 1 every step up to 2 lowers the loss: 8 is halved to 1, then doubled to 2.
    points, sizes, _ = line_search_path(bowl(1.0), 8.0, 2)
    assert sizes[0] == 1.0 and points[1] == [0.0, 0.0]


@pytest.mark.notes("N1.42", "N1.45", "N1.49")
def test_racers_are_the_algorithms_of_the_notes():
    rows = list(race(16, 0.2, 16, 0.3, 0.1, 4, seed=2, pause=0))
    inputs, targets = regression_data(16, 0.2, 2)

    def slope(params):
        weight = params["W"].detach().requires_grad_()
        return {"W": torch.autograd.grad(squared_error(weight, inputs, targets), weight)[0]}

    start = {"W": torch.full((2,), -1.5, dtype=F64)}
    for name, method, hyper in (("gradient descent", "gd", GradientDescent(0.3)), ("Adam", "adam", Adam(0.1))):
        end = iterate(slope, start, OPTIMIZERS[method], hyper, 4)["W"]
        assert rows[-1]["points"][name] == pytest.approx(end.tolist(), abs=1e-12)
    assert rows[-1]["points"]["mini batch"] == rows[-1]["points"]["gradient descent"]  # b = N
    assert rows[-1]["points"]["SGD"] != rows[-1]["points"]["gradient descent"]
    assert rows[-1]["gradients"] == {"gradient descent": 64, "SGD": 4, "mini batch": 64, "Adam": 64}
