"""The numbers that the page on residual blocks shows."""

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.experiments.euler import damped_block


@pytest.mark.notes("N4.19", "N4.23")
def test_branch_of_zero_leaves_relu_or_the_identity():
    y = torch.randn(8, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.equal(damped_block("original", y, 0.0), y.relu())
    assert torch.equal(damped_block("preactivation", y, 0.0), y)
    with pytest.raises(ArgumentError, match="kind"):
        damped_block("plain", y)
