"""The classical methods give the same results on a GPU."""

import pytest
import torch

from lamina.backprop import backpropagation
from lamina.backprop.through_time import backpropagate_through_time
from lamina.classical import kmeans, linear_regression, pca, perceptron_rule, polynomial

pytestmark = pytest.mark.cuda
F64 = torch.float64


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def close(on_gpu, on_cpu):
    assert on_gpu.is_cuda
    torch.testing.assert_close(on_gpu.cpu(), on_cpu, rtol=1e-9, atol=1e-9)


def test_least_squares_without_full_rank():
    U, S = draw(6, 3), draw(6, seed=1)
    U = torch.cat([U, U[:, :1]], 1)
    result = linear_regression.fit(U.cuda(), S.cuda())
    close(result.weight, linear_regression.fit(U, S).weight)
    assert result.rank == 3


@pytest.mark.parametrize(("penalty", "norm"), [(0.0, 2), (1e-4, 2), (1e-2, 1)])
def test_polynomials(penalty, norm):
    u = torch.linspace(0, 1, 10, dtype=F64)
    s = torch.sin(6 * u) + 0.1 * draw(10)
    on_gpu = polynomial.fit(u.cuda(), s.cuda(), 5, penalty, norm)
    close(on_gpu.weight, polynomial.fit(u, s, 5, penalty, norm).weight)


@pytest.mark.parametrize("start", kmeans.STARTS)
@pytest.mark.parametrize("empty", kmeans.EMPTY)
def test_kmeans(start, empty):
    points = draw(50, 2)
    on_gpu = kmeans.fit(points.cuda(), 5, start=start, empty=empty, restarts=4, seed=2)
    on_cpu = kmeans.fit(points, 5, start=start, empty=empty, restarts=4, seed=2)
    close(on_gpu.centroids, on_cpu.centroids)
    assert on_gpu.labels.cpu().equal(on_cpu.labels) and on_gpu.iterations == on_cpu.iterations


def test_pca_and_the_perceptron_rule():
    points = draw(20, 4)
    close(pca.fit(points.cuda(), 2).components, pca.fit(points, 2).components)
    inputs = torch.tensor(perceptron_rule.TRUTH_TABLE_INPUTS, dtype=F64)
    targets = torch.tensor([0, 1, 1, 1], dtype=F64)
    close(perceptron_rule.learn(inputs.cuda(), targets.cuda()).weight, perceptron_rule.learn(inputs, targets).weight)


def test_backpropagation_and_backpropagation_through_time():
    weights, biases = [draw(4, 3), draw(2, 4)], [draw(4), draw(2)]
    inputs, labels = draw(5, 3), torch.tensor([0, 1, 1, 0, 1])
    arguments = ["tanh", "softmax"], inputs, labels, "nll"
    on_gpu = backpropagation.backpropagate(
        [W.cuda() for W in weights], [b.cuda() for b in biases], arguments[0], inputs.cuda(), labels.cuda(), "nll"
    )
    close(on_gpu.flatten(), backpropagation.backpropagate(weights, biases, *arguments).flatten())
    recurrent = draw(2, 6, 3), draw(2, 6, 2, seed=1), draw(4, 7), draw(4), draw(2, 4)
    gpu = backpropagate_through_time(*[t.cuda() for t in recurrent])
    close(gpu.weight, backpropagate_through_time(*recurrent).weight)
