import pytest
import torch

from lamina._errors import ArgumentError, ShapeError
from lamina.classical._checks import finite, same_length


def test_what_cannot_be_learned_from_is_refused():
    finite("points", torch.ones(2))
    with pytest.raises(
        ArgumentError, match="`points` must be finite, got 1 NaN or infinite values: remove them or fill"
    ):
        finite("points", torch.tensor([1.0, torch.nan]))
    same_length("inputs", torch.ones(3, 2), "targets", torch.ones(3))
    with pytest.raises(ShapeError, match="`inputs` and `targets` must hold the same number of examples, got 3 and 4"):
        same_length("inputs", torch.ones(3, 2), "targets", torch.ones(4))
