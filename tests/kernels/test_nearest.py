"""The compiled search for the nearest centroid, beside all distances."""

import pytest
import torch

from lamina.kernels import native, nearest
from lamina.kernels.nearest import Nearest, pays

needs_compiler = pytest.mark.skipif(not native.works(), reason="needs g++")


def finder(points: torch.Tensor) -> Nearest:
    error = 20 * torch.finfo(points.dtype).eps
    return Nearest(points, points.square().sum(1).sqrt(), error, error)


def test_large_work_on_a_cpu_is_compiled(monkeypatch):
    points = torch.zeros(2, 3)
    assert pays(points, nearest._WORTH) == native.works() and not pays(points, nearest._WORTH - 1)
    assert not pays(points.half(), nearest._WORTH) and not pays(torch.zeros(2, 3, device="meta").long(), 2**40)
    monkeypatch.setattr(native, "works", lambda: False)
    assert not pays(points, 2**40)


@needs_compiler
def test_by_hand():
    points = torch.tensor([[0.0, 0.0], [4.0, 0.0], [3.0, 4.0], [2.0, 0.0]])
    mu = torch.tensor([[[0.0, 0.0], [4.0, 0.0]]])
    labels, gaps = finder(points)(mu, torch.tensor([[0.0, 10.0]]), slice(0, 4), 1)
    assert labels.tolist() == [[0, 1, 1, -1]]  # the last one lies in the middle
    assert gaps[0, :3].tolist() == pytest.approx([4.0, 14.0, 10.0 + 5.0 - 17**0.5], abs=0.02)
    assert gaps[0, 3] == -torch.inf


@needs_compiler
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_neither_threads_nor_other_runs_nor_the_place_of_a_point_change_a_bit(dtype):
    g = torch.Generator().manual_seed(9)
    points, mu = torch.randn(300, 5, generator=g, dtype=dtype), torch.randn(3, 15, 5, generator=g, dtype=dtype)
    travel, find = torch.rand(3, 15, generator=g, dtype=dtype), finder(points)
    labels, gaps = find(mu, travel, slice(0, 300), 1)
    sure = labels >= 0
    assert sure.double().mean() > 0.99 and labels[sure].equal(torch.cdist(points, mu).argmin(-1).int()[sure])
    order = torch.randperm(300, generator=g)[:77]
    for found, part in (
        (find(mu, travel, slice(0, 300), 2), (labels, gaps)),
        (find(mu[1:2], travel[1:2], slice(0, 300), 1), (labels[1:2], gaps[1:2])),
        (find(mu, travel, slice(45, 111), 1), (labels[:, 45:111], gaps[:, 45:111])),
        (find(mu, travel, order, 2), (labels[:, order], gaps[:, order])),
    ):
        assert found[0].equal(part[0]) and found[1].equal(part[1])


@needs_compiler
@pytest.mark.parametrize("value", [torch.inf, torch.nan, 1e30])
def test_what_is_no_number_leaves_a_doubt(value):
    points, mu = torch.tensor([[1.0], [value]]), torch.tensor([[[0.0], [5.0]]])
    labels, gaps = finder(points)(mu, torch.zeros(1, 2), slice(0, 2), 1)
    assert labels.tolist() == [[0, -1]] and gaps[0, 1] == -torch.inf
