"""Activations that feel no place."""

import torch

from lamina.populations._even import sigmoid


def test_the_logistic_function_feels_no_place():
    z = torch.randn(64, generator=torch.Generator().manual_seed(0)) * 4
    whole = sigmoid(torch.cat([z, z[:1]]))[:64]  # 65 entries have a seam, 64 have none
    for count in range(1, 64):
        assert torch.equal(sigmoid(z[:count]), whole[:count])
    torch.testing.assert_close(sigmoid(z), torch.sigmoid(z), rtol=1e-6, atol=0)
    z = z.double().requires_grad_()
    assert torch.autograd.gradcheck(sigmoid, z)
