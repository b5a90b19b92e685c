"""Products and slopes of K small networks on a GPU against double precision."""

import pytest
import torch

from lamina.kernels.loading import with_triton

pytestmark = pytest.mark.cuda
ACTIVATIONS = [(lambda z: z), torch.relu, torch.sigmoid, torch.tanh]


@pytest.mark.parametrize("act", range(4))
@pytest.mark.parametrize("sizes", ((1, 1, 1), (13, 7, 5), (10, 33, 65), (130, 128, 300)))
def test_products_of_any_layout(sizes, act):
    rows, size, columns = sizes
    g = torch.Generator().manual_seed(0)
    left, right, bias = (torch.randn(3, *s, generator=g).cuda() for s in ((rows, size), (size, columns), (rows,)))
    product = with_triton("products_triton").product
    for a in (left, left.mT.contiguous().mT):
        for b in (right, right.mT.contiguous().mT, right[0]):
            found = product(a, b, bias, act, True)
            expected = ACTIVATIONS[act](a.double() @ b.double() + bias.double()[:, :, None])
            # every sum of `size` terms in three products of 11-bit parts each
            torch.testing.assert_close(found.double(), expected, rtol=0, atol=6e-6 * size**0.5)
            for k in range(3):  # the same bits alone
                one = product(a[k : k + 1], b if b.ndim == 2 else b[k : k + 1], bias[k : k + 1], act, True)
                assert torch.equal(one[0], found[k])


@pytest.mark.parametrize("act", range(4))
def test_slopes_and_their_sums(act):
    g = torch.Generator().manual_seed(0)
    z = torch.randn(3, 13, 300, generator=g, dtype=torch.float64, requires_grad=True)
    grad = torch.randn(3, 13, 300, generator=g, dtype=torch.float64)
    y = ACTIVATIONS[act](z)
    (expected,) = torch.autograd.grad(y, z, grad)
    found, sums = with_triton("products_triton").differentiate(grad.float().cuda(), y.detach().float().cuda(), act)
    torch.testing.assert_close(found.cpu().double(), expected, rtol=0, atol=2e-6)
    torch.testing.assert_close(sums.cpu().double(), expected.sum(2), rtol=0, atol=1e-4)
