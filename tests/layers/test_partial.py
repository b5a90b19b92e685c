import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap

from lamina._errors import ArgumentError
from lamina.layers.partial import LENET5_TABLE, PartialConv2d


def test_values_by_hand():
    layer = PartialConv2d(3, [(0, 2), (1,)], 1).double()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([2.0, 3.0, 5.0]).reshape(3, 1, 1))
        layer.bias.copy_(torch.tensor([0.5, -1.0]))
    y = torch.tensor([1.0, 10.0, 100.0], dtype=torch.float64).reshape(1, 3, 1, 1)
    assert layer(y).flatten().tolist() == [2 + 300 + 0.5, 50 - 1]
    assert layer.kernels().reshape(2, 3).tolist() == [[2, 0, 3], [0, 5, 0]]


def test_equals_a_sum_of_correlations_over_connected_maps(generator):
    table = [(1, 0), (2,), (0, 1, 2)]  # an unordered row keeps its own order
    layer = PartialConv2d(3, table, 3, seed=generator).double()
    y = torch.randn(2, 3, 6, 7, generator=generator, dtype=torch.float64)
    kernels = iter(layer.weight)
    for k, row in enumerate(table):
        maps = [torch.nn.functional.conv2d(y[:, c : c + 1], next(kernels)[None, None]) for c in row]
        assert torch.allclose(layer(y)[:, k], sum(maps)[:, 0] + layer.bias[k], rtol=0, atol=1e-13)


@pytest.mark.notes("N3.07")
def test_table_of_1998():
    assert len(LENET5_TABLE) == 16 and len(set(LENET5_TABLE)) == 16
    assert [len(row) for row in LENET5_TABLE] == [3] * 6 + [4] * 9 + [6]
    for k in range(6):  # contiguous around the circle of six maps
        assert set(LENET5_TABLE[k]) == {(k + i) % 6 for i in range(3)}
        assert set(LENET5_TABLE[6 + k]) == {(k + i) % 6 for i in range(4)}
    # every map of S2 feeds ten maps of C3
    assert [sum(c in row for row in LENET5_TABLE) for c in range(6)] == [10] * 6
    layer = PartialConv2d(6, LENET5_TABLE, 5)
    assert sum(p.numel() for p in layer.parameters()) == 60 * 25 + 16 == 1516
    assert int((layer.kernels() != 0).sum()) == 1500


def test_gradient_reaches_existing_connections_only(generator):
    layer = PartialConv2d(6, LENET5_TABLE, 5, seed=generator).double()
    y = torch.randn(1, 6, 14, 14, generator=generator, dtype=torch.float64, requires_grad=True)
    layer(y)[0, 0].sum().backward()  # map 0 sees inputs 0, 1, 2 with kernels 0, 1, 2
    assert [bool(g.abs().sum() > 0) for g in y.grad[0]] == [True] * 3 + [False] * 3
    assert [k for k, g in enumerate(layer.weight.grad) if g.abs().sum() > 0] == [0, 1, 2]
    small = PartialConv2d(2, [(0,), (0, 1)], 2, seed=generator).double()
    y = torch.randn(1, 2, 3, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    weight = small.weight.detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda y, w: functional_call(small, {"weight": w}, (y,)), (y, weight))


def test_fan_in_counts_the_connections_of_each_map():
    layer = PartialConv2d(300, [tuple(range(3)), tuple(range(300))], 5, initialization="xavier", scale=2.0)
    assert layer.weight[:3].std().item() == pytest.approx(2 / 75**0.5, rel=0.25)
    assert layer.weight[3:].std().item() == pytest.approx(2 / 7500**0.5, rel=0.05)
    assert not layer.bias.any()


def test_same_seed_same_weights():
    one, two, other = (PartialConv2d(6, LENET5_TABLE, 5, seed=s).weight for s in (3, 3, 4))
    assert torch.equal(one, two) and not torch.equal(one, other)


def test_vmap_equals_one_by_one(generator):
    layers = [PartialConv2d(6, LENET5_TABLE, 5, seed=s).double() for s in range(3)]
    y = torch.randn(2, 6, 7, 7, generator=generator, dtype=torch.float64)
    together = vmap(lambda p, b: functional_call(layers[0], (p, b), (y,)))(*stack_module_state(layers))
    assert torch.allclose(together, torch.stack([layer(y) for layer in layers]), rtol=0, atol=1e-13)


def test_state_holds_weights_only():
    layer = PartialConv2d(6, LENET5_TABLE, 5)
    assert list(layer.state_dict()) == ["weight", "bias"]
    assert layer.extra_repr() == "6, 16, connections=60"


@pytest.mark.parametrize("row", [(0, 0), (0, 3), (-1,)])
def test_rows_name_different_existing_maps(row):
    with pytest.raises(ArgumentError, match="each row of `table` must hold different input maps from 0 to 2, got"):
        PartialConv2d(3, [(0,), row], 5)


def test_no_empty_rows():
    with pytest.raises(ArgumentError, match="no empty row: a map needs an input"):
        PartialConv2d(3, [(0,), ()], 5)
    with pytest.raises(ArgumentError, match="`kernel_size` must be at least 1, got 0"):
        PartialConv2d(3, [(0,)], 0)
