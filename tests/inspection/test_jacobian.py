"""Products of Jacobians: by hand, against autograd, and the claims about factors below and above 1."""

import math

import pytest
import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError
from lamina.architectures.build import build
from lamina.inspection.jacobian import jacobians
from lamina.layers.residual import SimpleResNetLayer

F64 = torch.float64


def scalar_chain(slopes: list[float], residual: bool = False) -> nn.Sequential:
    layers = [SimpleResNetLayer(1, 1, "identity") if residual else nn.Linear(1, 1, bias=False) for _ in slopes]
    with torch.no_grad():
        for layer, slope in zip(layers, slopes, strict=True):
            (layer.affine if residual else layer).weight.fill_(slope)
    return nn.Sequential(*layers).double()


@pytest.mark.notes("N2.68", "N2.72")
def test_an_fnn_equals_autograd():
    net = build("fnn", inputs=4, outputs=3, hidden=(6, 5), activation="tanh", seed=3).double()
    u = torch.randn(4, generator=torch.Generator().manual_seed(0), dtype=F64)
    found = jacobians(net, u)
    torch.testing.assert_close(found.whole, torch.func.jacrev(lambda x: net(x[None])[0])(u))
    features = net.features(u[None].requires_grad_())
    slope = torch.tensor([1.0, -2.0, 0.5], dtype=F64)
    wanted = torch.autograd.grad((features[-1][0] * slope).sum(), features)
    for ours, theirs in zip(found.state_gradients(slope), wanted, strict=True):
        torch.testing.assert_close(ours, theirs[0])
    assert [layer.factor.shape for layer in found.layers] == [(6, 4), (5, 6), (3, 5)]
    assert found.layers[0].largest == pytest.approx(torch.linalg.svdvals(found.layers[0].factor)[0].item())
    assert torch.linalg.matrix_norm(found.whole, 2) <= found.bound


@pytest.mark.notes("N4.09", "N4.10")
@pytest.mark.parametrize("options", [{}, {"step_size": "1/L"}, {"outer": True}, {"hidden": (4, 5, 5)}], ids=str)
def test_a_residual_network_equals_autograd(options):
    net = build("dense-resnet", **{"inputs": 4, "outputs": 2, "hidden": (4, 4, 4), **options}).double()
    u = torch.randn(4, generator=torch.Generator().manual_seed(1), dtype=F64)
    found = jacobians(net, u)
    torch.testing.assert_close(found.whole, torch.func.jacrev(lambda x: net(x[None])[0])(u))
    if not options:
        branch = found.layers[0].factor - torch.eye(4, dtype=F64)
        assert found.layers[0].branch == pytest.approx(torch.linalg.matrix_norm(branch, 2).item())
    assert found.layers[-1].name == "readout" and net.training


@pytest.mark.notes("N4.02", "N4.03")
def test_factors_below_1_need_not_vanish_nor_above_1_explode():
    u = torch.ones(1, dtype=F64)
    below = jacobians(scalar_chain([1 - 1 / j**2 for j in range(2, 400)]), u)
    assert below.whole.item() == pytest.approx(0.5, abs=2e-3) and all(x.largest < 1 for x in below.layers)
    above = jacobians(scalar_chain([1 + 1 / j**2 for j in range(1, 400)]), u)
    assert above.whole.item() == pytest.approx(3.676, abs=0.01) and all(x.largest > 1 for x in above.layers)
    assert jacobians(scalar_chain([0.5] * 20), u).whole.item() == pytest.approx(2.0**-20)


@pytest.mark.notes("N4.11")
def test_identity_terms_do_not_exclude_vanishing():
    u = torch.ones(1, dtype=F64)
    found = jacobians(scalar_chain([-0.9] * 20, residual=True), u)
    assert found.whole.item() == pytest.approx(1e-20)
    assert found.layers[0].branch == pytest.approx(0.9) and found.layers[0].largest == pytest.approx(0.1)


@pytest.mark.notes("N4.12")
def test_depth_20_vanishes_without_skips_and_not_with_them():
    g = torch.Generator().manual_seed(0)
    u = torch.randn(64, generator=g, dtype=F64)
    plain = build("fnn", inputs=64, outputs=64, hidden=(64,) * 19, activation="sigmoid", last_activation="sigmoid",
                  initialization="xavier").double()  # fmt: skip
    skip = nn.Sequential(
        *[SimpleResNetLayer(64, 64, "sigmoid", initialization="xavier", seed=g) for _ in range(20)]
    ).double()
    slope = torch.randn(64, generator=g, dtype=F64)
    ratios = [
        found.state_gradients(slope)[0].norm().item() / slope.norm().item()
        for found in (jacobians(plain, u), jacobians(skip, u))
    ]
    assert 1e-14 < ratios[0] < 1e-11 and 0.5 < ratios[1] < 3
    assert jacobians(plain, u).bound > 1e3 * jacobians(plain, u).layers[0].product_norm


def test_pictures_and_the_table():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)).double()
    u = torch.randn(1, 4, 4, generator=torch.Generator().manual_seed(0), dtype=F64)
    found = jacobians(net, u)
    wanted = torch.func.jacrev(lambda x: net(x[None])[0])(u).reshape(3, 16)
    torch.testing.assert_close(found.whole, wanted)
    lines = str(found).splitlines()
    assert lines[1].split()[:2] == ["0", "8x16"] and math.isclose(found.layers[2].largest, 1)
    assert lines[0].split() == ["layer", "factor", "largest", "smallest", "branch", "product", "to", "the", "end"]


def test_errors_say_what_to_do():
    with pytest.raises(ArgumentError, match="put its layers into an nn.Sequential"):
        jacobians(build("lenet5"), torch.zeros(1, 28, 28))
    with pytest.raises(ShapeError, match="at most 4096 numbers, got 5000: take a smaller network"):
        jacobians(nn.Sequential(nn.Linear(5000, 1)), torch.zeros(5000))
