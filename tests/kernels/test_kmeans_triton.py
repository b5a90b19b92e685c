"""Alg. 1 by the kernels ends where no label changes, with ties and empty clusters as on a CPU."""

import pytest
import torch

from kernels.points import cloud
from lamina.classical import kmeans


@pytest.mark.cuda
@pytest.mark.parametrize("shape", [(5000, 8, 12), (700, 50, 20), (300, 130, 5), (200, 2, 140)])
def test_float32_on_a_gpu_ends_where_no_label_changes(shape):
    count, features, clusters = shape  # the last two are too wide for the kernels
    g = torch.Generator().manual_seed(3)
    points = torch.randn(count, features, generator=g).cuda() + 10
    starts = kmeans.first_centroids(points, clusters, restarts=4, seed=1)
    ends = kmeans._lloyd(points, starts, "keep", 300)
    assert all(ends.settled)
    for run in range(4):
        assert ends.labels[run].equal(kmeans.assign(points.double(), ends.centroids[run].double()))
        means = kmeans.update(points.double(), ends.labels[run], ends.centroids[run].double())
        torch.testing.assert_close(ends.centroids[run].double(), means, rtol=0, atol=1e-5)
        inertia = kmeans.distortion(points.double(), ends.labels[run], means).item()
        assert ends.histories[run][-1] == pytest.approx(inertia, rel=1e-6)
        assert len(ends.histories[run]) == 2 * ends.iterations[run] + 1
    assert ends.labels.equal(kmeans._lloyd(points, starts, "keep", 300).labels)
    short = kmeans._lloyd(points, starts, "keep", 1)
    assert short.iterations == [1] * 4 and not any(short.settled)


@pytest.mark.cuda
@pytest.mark.parametrize("empty", kmeans.EMPTY)
def test_ties_and_empty_clusters_on_a_gpu_are_as_on_a_cpu(empty):
    points = cloud(1, 200, 2).float()
    starts = torch.cat([kmeans.first_centroids(points, 5, restarts=3), points[None, :5] + 50])
    on_cpu = kmeans._lloyd(points, starts, empty, 300)
    on_gpu = kmeans._lloyd(points.cuda(), starts.cuda(), empty, 300)
    assert on_gpu.iterations == on_cpu.iterations and on_gpu.labels.cpu().equal(on_cpu.labels)
