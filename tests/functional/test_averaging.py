"""Averages of weights by hand and against torch's."""

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn

from lamina._errors import ShapeError
from lamina.functional.averaging import averaged, averaging_weight


def average(values, decay):
    mean = torch.zeros_like(values[0])
    for count, value in enumerate(values):
        mean = averaged(mean, value, count, decay)
    return mean


def test_by_hand():
    values = [torch.tensor([v], dtype=torch.float64) for v in (2.0, 4.0, 12.0, 0.0)]
    assert average(values, 1.0).item() == 4.5
    assert average(values, 0.0).item() == 0.0
    # 2; then (2 + 4) / 2 = 3; then 3 + 9 / 2 = 7.5; then 7.5 / 2
    assert average(values, 0.5).item() == 3.75
    # equal shares up to 1 / (1 - 3/4) = 4 of them
    assert average(values, 0.75).item() == 4.5
    assert average([*values, torch.tensor([9.0], dtype=torch.float64)], 0.75).item() == 4.5 + 4.5 / 4


@pytest.mark.parametrize(("decay", "theirs"), [(1.0, None), (0.5, get_ema_avg_fn(0.5))])
def test_it_is_the_average_of_torch(decay, theirs, generator):
    points = [torch.randn(3, 4, generator=generator, dtype=torch.float64) for _ in range(12)]
    layer = nn.Linear(4, 3, bias=False, dtype=torch.float64)
    model = AveragedModel(layer, avg_fn=theirs)
    for point in points:
        layer.weight.data.copy_(point)
        model.update_parameters(layer)
    torch.testing.assert_close(average(points, decay), model.module.weight.detach(), rtol=1e-14, atol=1e-15)


def test_members_have_their_own_decays(generator):
    points = [torch.randn(3, 2, 5, generator=generator, dtype=torch.float64) for _ in range(9)]
    decays = torch.tensor([0.0, 0.6, 1.0], dtype=torch.float64)
    found = average(points, decays)
    for k, decay in enumerate(decays.tolist()):
        torch.testing.assert_close(found[k], average([point[k] for point in points], decay), rtol=1e-14, atol=1e-15)
    assert torch.equal(found[0], points[-1][0])


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="one entry for each member"):
        averaged(torch.zeros(2, 3), torch.ones(2, 3), 0, torch.tensor([0.5, 0.5, 0.5]))


def test_the_weight_of_a_vector():
    assert averaging_weight(1, torch.tensor([0.25, 0.75, 1.0], dtype=torch.float64)).tolist() == [0.75, 0.5, 0.5]
