import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap

from lamina.layers.rbf import RadialBasis, digit_codes


def test_values_by_hand():
    layer = RadialBasis(torch.tensor([[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])).double()
    u = torch.tensor([[1.0, -1.0, 1.0], [0.5, 0.0, 2.0]], dtype=torch.float64)
    assert layer(u).tolist() == [[0, 4], [0.25 + 1 + 1, 2.25 + 1 + 1]]
    assert layer.logits(u).tolist() == [[0, -4], [-2.25, -4.25]]


def test_equals_cdist_squared(generator):
    layer = RadialBasis(digit_codes()).double()
    u = torch.randn(5, 84, generator=generator, dtype=torch.float64)
    assert torch.allclose(layer(u), torch.cdist(u, layer.codes).square(), rtol=1e-12)


@pytest.mark.notes("N3.07")
def test_codes_are_ten_bitmaps_of_7_by_12_that_differ_well():
    codes = digit_codes()
    assert codes.shape == (10, 84) and set(codes.flatten().tolist()) == {-1.0, 1.0}
    distances = RadialBasis(codes)(codes)
    assert torch.equal(distances.diagonal(), torch.zeros(10))
    others = distances[~torch.eye(10, dtype=torch.bool)]
    assert others.min() == 4 * 13  # any two digits differ in 13 pixels or more
    assert torch.equal(distances.argmin(1), torch.arange(10))
    # Every digit reaches the first and last row of its 7 x 12 box.
    assert (codes.reshape(10, 12, 7)[:, [0, -1]].amax(-1) == 1).all()


def test_codes_are_saved_and_not_trained(generator):
    layer = RadialBasis(digit_codes())
    assert not list(layer.parameters()) and list(layer.state_dict()) == ["codes"]
    assert layer.extra_repr() == "84, 10"
    u = torch.randn(2, 84, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(layer.double(), (u,))


def test_cross_entropy_on_logits_is_the_distance_plus_log_sum(generator):
    layer, label = RadialBasis(digit_codes()).double(), torch.tensor([3])
    u = 0.1 * torch.randn(1, 84, generator=generator, dtype=torch.float64)
    y = layer(u)[0]
    loss = torch.nn.functional.cross_entropy(layer.logits(u), label)
    assert loss.item() == pytest.approx((y[3] + torch.logsumexp(-y, 0)).item(), abs=1e-12)


def test_vmap_equals_one_by_one(generator):
    layers = [RadialBasis(torch.randn(3, 4, generator=generator, dtype=torch.float64)) for _ in range(3)]
    u = torch.randn(2, 4, generator=generator, dtype=torch.float64)
    together = vmap(lambda p, b: functional_call(layers[0], (p, b), (u,)))(*stack_module_state(layers))
    assert torch.allclose(together, torch.stack([layer(u) for layer in layers]), rtol=0, atol=1e-14)
