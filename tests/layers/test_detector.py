import math

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.functional.activations import ACTIVATIONS
from lamina.layers.detector import Detector, scaled_tanh


@pytest.mark.notes("N3.38")
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_detector_acts_on_each_entry_and_keeps_the_shape(name, generator):
    y = torch.randn(2, 3, 4, 5, generator=generator, dtype=torch.float64)
    entries = torch.stack([ACTIVATIONS[name].function(entry) for entry in y.flatten()])
    assert torch.allclose(Detector(name)(y), entries.reshape(2, 3, 4, 5), rtol=0, atol=1e-14)


def test_scaled_tanh_is_one_at_one_and_has_its_curvature_there():
    y = torch.tensor([-1.0, 0.0, 1.0, 100.0], dtype=torch.float64, requires_grad=True)
    values = scaled_tanh(y)
    expected = torch.tensor([-1.0, 0.0, 1.0, 1.7159], dtype=torch.float64)
    assert torch.allclose(values, expected, rtol=0, atol=5e-6)
    assert values[2].item() == pytest.approx(1.7159 * math.tanh(2 / 3), abs=1e-14)
    # |f''| = 2 A S^2 t (1 - t^2) with t = tanh(S y) is largest at t = 1/sqrt(3), y = 0.988: at one, as intended.
    y = torch.linspace(0, 3, 3001, dtype=torch.float64)
    t = torch.tanh(2 / 3 * y)
    assert abs(y[(t * (1 - t * t)).argmax()].item() - 1) < 0.02


def test_detector_takes_known_names_only():
    with pytest.raises(ArgumentError, match=r"`activation` must be one of 'heaviside', .*'scaled_tanh', got 'swish'"):
        Detector("swish")
    assert Detector("scaled_tanh").extra_repr() == "'scaled_tanh'"
