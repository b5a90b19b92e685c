"""Slices, random directions, paths: quadratics by hand, seeds, the catalogue's minima."""

import pytest
import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina.architectures.build import build
from lamina.functional.losses import negative_log_likelihood
from lamina.inspection.landscape import (
    _loss_at,
    _random_direction,
    direction_to,
    line,
    optimizer_path,
    plane,
    training_path,
)

F64 = torch.float64


def quadratic() -> tuple[nn.Linear, torch.Tensor, torch.Tensor]:
    """A network whose loss is (w1^2 + 4 w2^2) / 4."""
    net = nn.Linear(2, 1, bias=False).double()
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[1.0, 2.0]]))
    return net, torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=F64), torch.zeros(2, 1, dtype=F64)


def test_a_line_and_a_plane_of_a_quadratic():
    net, u, s = quadratic()
    one, two = torch.tensor([[1.0, 0.0]], dtype=F64), torch.tensor([[0.0, 1.0]], dtype=F64)
    along = line(net, u, s, direction={"weight": one}, span=(-2, 2), points=5)
    assert along.losses.tolist() == pytest.approx([((1 + a) ** 2 + 16) / 4 for a in (-2, -1, 0, 1, 2)])
    assert along.lowest == (-1.0,)
    found = plane(net, u, s, directions=({"weight": one}, {"weight": two}), spans=((-2, 1), (-3, 0)), points=4)
    wanted = [[((1 + a) ** 2 + 4 * (2 + b) ** 2) / 4 for b in (-3, -2, -1, 0)] for a in (-2, -1, 0, 1)]
    assert found.losses.tolist() == [pytest.approx(row) for row in wanted]
    assert found.lowest == (-1.0, -2.0)
    assert net.weight.tolist() == [[1.0, 2.0]]


def test_random_directions_have_the_norms_of_the_filters_and_a_seed():
    net = build("lenet5")
    first, again, other = _random_direction(net, 1), _random_direction(net, 1), _random_direction(net, 2)
    own = dict(net.named_parameters())
    assert set(first) == {name for name in own if name.endswith("weight")}
    for name, step in first.items():
        torch.testing.assert_close(step.flatten(1).norm(dim=1), own[name].flatten(1).norm(dim=1))
        assert torch.equal(step, again[name]) and not torch.equal(step, other[name])
    g = torch.Generator().manual_seed(0)
    u, s = torch.randn(4, 1, 28, 28, generator=g), torch.tensor([0, 1, 2, 3])
    found = plane(net, u, s, points=3, seed=5)
    assert torch.equal(found.losses, plane(net, u, s, points=3, seed=5).losses)
    assert found.losses[1, 1].item() == pytest.approx(negative_log_likelihood(net(u), s).item(), rel=1e-6)


def test_the_way_to_another_network_ends_there():
    nets = [build("fnn", inputs=2, outputs=2, hidden=(5,), batch_norm=True, seed=seed) for seed in range(2)]
    u, s = torch.randn(9, 2, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1, 0] * 3)
    way = line(nets[0], u, s, direction=direction_to(*nets), span=(0, 1), points=3)
    ends = [_loss_at(net, u, s)(dict(net.named_parameters())).item() for net in nets]
    assert way.losses[[0, -1]].tolist() == pytest.approx(ends, rel=1e-5)
    assert nets[0].training and nets[0].layers[0].norm.num_batches_tracked == 0


@pytest.mark.notes("N1.51")
def test_gradient_descent_ends_in_the_minimum_of_its_side():
    def function(t: torch.Tensor) -> torch.Tensor:
        return (t**4 - 2 * t**2 + t / 2).sum()

    left, right = (optimizer_path(function, (x,), steps=400, learning_rate=0.02) for x in (-1.5, 1.5))
    assert (left.points[-1].item(), left.values[-1].item()) == pytest.approx((-1.0575, -1.5148), abs=1e-4)
    assert (right.points[-1].item(), right.values[-1].item()) == pytest.approx((0.9304, -0.5167), abs=1e-4)
    assert len(left.points) == len(left.values) == 401


@pytest.mark.notes("N1.36")
def test_paths_on_a_quadratic_are_those_of_the_methods():
    scales = torch.tensor([1.0, 10.0], dtype=F64)
    path = optimizer_path(lambda x: (scales * x * x).sum() / 2, (1.0, 1.0), steps=3, learning_rate=0.1)
    assert path.points.tolist() == [pytest.approx(row) for row in [[1, 1], [0.9, 0], [0.81, 0], [0.729, 0]]]
    adam = optimizer_path(lambda x: (scales * x * x).sum() / 2, (1.0, -1.0), "adam", steps=1, learning_rate=0.1)
    assert adam.points[1].tolist() == pytest.approx([0.9, -0.9])  # the first step is the sign of the gradient
    heavy = optimizer_path(lambda x: x.sum(), (0.0,), "momentum", steps=3, learning_rate=1.0, momentum=0.5)
    assert heavy.points[:, 0].tolist() == pytest.approx([0, -1, -2.5, -4.25])
    assert str(path).splitlines()[0] == "gd" and str(path).splitlines()[1].split() == ["step", "x1", "x2", "value"]


def test_a_training_path_is_seen_in_its_own_plane():
    g = torch.Generator().manual_seed(0)
    basis = torch.linalg.qr(torch.randn(6, 2, generator=g, dtype=F64))[0].T
    coordinates = torch.tensor([[4.0, 0.0], [2.0, 1.0], [1.0, -1.0], [0.0, 0.0]], dtype=F64)
    steps = [{"a": row[:2], "b": row[2:].view(2, 2)} for row in coordinates @ basis + 1.0]
    found = training_path(steps)
    assert sum(found.explained) == pytest.approx(1)
    flat = [torch.cat([d["a"], d["b"].flatten()]) for d in found.directions]
    torch.testing.assert_close(torch.stack(flat) @ torch.stack(flat).T, torch.eye(2, dtype=F64))
    torch.testing.assert_close(found.coordinates @ torch.stack(flat), coordinates @ basis)
    assert found.last["b"].tolist() == [[1.0, 1.0], [1.0, 1.0]] and "first (" in str(found)


def test_errors_say_what_to_do():
    net, u, s = quadratic()
    with pytest.raises(ArgumentError, match="got 'weight' of shape \\(2,\\), which is of shape \\(1, 2\\)"):
        line(net, u, s, direction={"weight": torch.zeros(2)})
    with pytest.raises(ArgumentError, match="'bias' of shape \\(1,\\), which is not among weight"):
        line(net, u, s, direction={"bias": torch.zeros(1)})
    with pytest.raises(ArgumentError, match="`span` must rise"):
        line(net, u, s, span=(1, 1))
    with pytest.raises(ArgumentError, match="`points` must be at least 2, got 1"):
        plane(net, u, s, points=1)
    with pytest.raises(ArgumentError, match="give a direction of your own"):
        _random_direction(nn.BatchNorm1d(2))
    with pytest.raises(ArgumentError, match="at least 3 moments"):
        training_path([{"a": torch.zeros(2)}] * 2)
    with pytest.raises(ArgumentError, match="at least 2 numbers"):
        training_path([{"a": torch.zeros(1)}] * 3)
    with pytest.raises(ArgumentError, match="`method` must be one of 'gd', 'momentum', 'adam', got 'newton'"):
        optimizer_path(lambda x: x.sum(), (0.0,), "newton")


def test_tables_are_text():
    net, u, s = quadratic()
    lines = str(line(net, u, s, direction={"weight": torch.ones(1, 2, dtype=F64)}, points=2)).splitlines()
    assert [row.split() for row in lines] == [["at", "loss"], ["-1", "1"], ["1", "10"]]
    assert len(str(plane(net, u, s, points=3)).splitlines()) == 4
