"""Activations that feel no place."""

import pytest
import torch

from lamina.functional import activations
from lamina.populations._even import FORMS, even, sigmoid


def test_the_logistic_function_feels_no_place():
    z = torch.randn(64, generator=torch.Generator().manual_seed(0)) * 4
    whole = sigmoid(torch.cat([z, z[:1]]))[:64]  # 65 entries have a seam, 64 have none
    for count in range(1, 64):
        assert torch.equal(sigmoid(z[:count]), whole[:count])
    torch.testing.assert_close(sigmoid(z), torch.sigmoid(z), rtol=1e-6, atol=0)
    z = z.double().requires_grad_()
    assert torch.autograd.gradcheck(sigmoid, z)


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gelu_feels_no_place(name, dtype):
    z = torch.randn(64, generator=torch.Generator().manual_seed(0), dtype=dtype) * 3
    function = even(name)

    def both(z):
        z = z.clone().requires_grad_()
        y = function(z)
        return y.detach(), torch.autograd.grad(y.sum(), z)[0]

    whole = both(torch.cat([z, z[:1]]))
    for count in range(1, 65):
        for found, expected in zip(both(z[:count]), whole, strict=True):
            assert torch.equal(found, expected[:count])
    tolerance = 10 * torch.finfo(dtype).eps
    torch.testing.assert_close(function(z), getattr(activations, name)(z), rtol=10 * tolerance, atol=tolerance)
    assert set(FORMS) == {"sigmoid", "gelu", "gelu_tanh"}
