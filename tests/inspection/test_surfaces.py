"""The surfaces that pages race on: values by hand, and lowest points and curvatures as they say."""

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.inspection.landscape import optimizer_path
from lamina.inspection.surfaces import SURFACES, bowl

ALL = [bowl(10.0, 30.0), *SURFACES.values()]


@pytest.mark.parametrize("surface", ALL, ids=lambda surface: surface.name)
def test_lowest_point_and_curvature(surface):
    place = torch.tensor(surface.lowest, dtype=torch.float64)
    slope = torch.autograd.functional.jacobian(surface.function, place)
    curvatures = torch.linalg.eigvalsh(torch.autograd.functional.hessian(surface.function, place))
    assert slope.abs().max() < 1e-5
    assert curvatures[-1].item() == pytest.approx(surface.curvature, abs=5e-4) and curvatures[0] > 0
    assert surface.function(place) <= surface.heights(60).min()
    assert all(
        low <= at <= high for at, (low, high) in zip(surface.start, (surface.x_range, surface.y_range), strict=True)
    )


def test_values_by_hand():
    at = torch.tensor([[0.0, 1.0], [1.0, 2.0]], dtype=torch.float64)
    assert SURFACES["bent valley"].function(at).tolist() == [11.0, 10.0]
    assert SURFACES["two valleys"].function(at).tolist() == [1.0, 3.5]
    assert SURFACES["saddle"].function(at).tolist() == [2.0, 7.25]


def test_heights_are_those_of_the_centers_of_cells():
    heights = bowl(4.0).heights(2)
    assert heights.tolist() == [[0.5 * (1 + 4 * 0.5625)] * 2] * 2  # at (-1 or 1, -0.75 or 0.75)


@pytest.mark.notes("N1.36", "N1.38")
@pytest.mark.parametrize("turn", [0.0, 30.0])
def test_gradient_descent_converges_up_to_two_over_the_largest_curvature(turn):
    surface = bowl(20.0, turn)
    ends = [optimizer_path(surface.function, surface.start, steps=400, learning_rate=share * 2 / 20).values[-1]
            for share in (0.9, 0.99, 1.01)]  # fmt: skip
    assert ends[0] < 1e-12 and ends[1] < 1e-4 and ends[2] > 100


def test_condition_below_one_is_refused():
    with pytest.raises(ArgumentError, match=r"`condition` must be at least 1, got 0.5"):
        bowl(0.5)
