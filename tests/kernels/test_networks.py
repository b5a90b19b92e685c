"""Passes of K dense networks in one call, against the readable losses differentiated by torch."""

from itertools import pairwise

import pytest
import torch

from lamina.kernels import native
from lamina.kernels.networks import Judging, Networks
from lamina.layers import Detector
from lamina.populations._losses import Losses

pytestmark = pytest.mark.skipif(not native.works(), reason="needs g++")

K = 3
TOLERANCE = {torch.float32: {"rtol": 2e-5, "atol": 2e-6}, torch.float64: {"rtol": 1e-10, "atol": 1e-12}}


def counters(active=(True,) * K):
    sums = {name: torch.zeros(len(active), dtype=torch.float64) for name in ("loss_sum", "score_sum", "ever")}
    flags = {"active": torch.tensor(active), "alive": torch.ones(len(active), dtype=torch.bool)}
    return sums | flags | {"good": torch.zeros(len(active), dtype=torch.int64)}


def networks(widths, dtype, generator, bias=True):
    weights = [
        torch.randn(K, out, size, generator=generator, dtype=torch.float64).div(size**0.5).to(dtype).requires_grad_()
        for size, out in pairwise(widths)
    ]
    biases = [
        torch.randn(K, out, generator=generator, dtype=torch.float64).to(dtype).requires_grad_() if bias else None
        for out in widths[1:]
    ]
    return weights, biases


def answers(weights, biases, activations, inputs):
    y = inputs
    for w, b, name in zip(weights, biases, activations, strict=True):
        y = torch.einsum("koi,bki->bko", w, y.expand(-1, K, -1))
        y = Detector(name)(y if b is None else y + b)
    return y


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("own", [1, K], ids=["shared", "own"])
@pytest.mark.parametrize(
    ("widths", "activations", "batch"),
    [
        ((5, 3), ("identity",), 1),
        ((30, 40, 3), ("relu", "identity"), 16),
        ((7, 33, 18, 4), ("tanh", "sigmoid", "identity"), 19),
        ((65, 6, 2), ("relu", "tanh"), 100),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else None,
)
@pytest.mark.parametrize("kind", ["nll", "nll, weighed and smoothed", "mse"])
def test_losses_scores_and_gradients(dtype, own, widths, activations, batch, kind, generator):
    bias, squares = batch != 19, kind == "mse"
    weights, biases = networks(widths, dtype, generator, bias)
    inputs = torch.randn(batch, own, widths[0], generator=generator).to(dtype)
    classes = torch.rand(K if own == 1 else 1, widths[-1], generator=generator) + 0.5 if "weighed" in kind else None
    smoothing = 0.2 if "smoothed" in kind else 0.0
    targets = (
        torch.randn(batch, own, widths[-1], generator=generator)
        if squares
        else torch.randint(widths[-1], (batch, own), generator=generator)
    )
    ours, kept = Networks(weights, biases, activations), counters()
    judging = Judging(kept, classes, dtype, smoothing, squares)
    ours(inputs, targets, judging, learning=False)
    assert all(slope is None or not slope.any() for slope in ours.slopes)
    ours(inputs, targets, judging, learning=True)
    losses = Losses("mse" if squares else "nll", classes, smoothing=smoothing)
    outputs = answers(weights, biases, activations, inputs)
    loss = losses.loss(outputs, targets)
    params = [p for pair in zip(weights, biases, strict=True) for p in pair if p is not None]
    found = [slope for slope in ours.slopes if slope is not None]
    assert len(found) == len(params)
    for mine, right in zip(found, torch.autograd.grad(loss.sum(), params), strict=True):
        torch.testing.assert_close(mine, right, **TOLERANCE[dtype])
    twice = 2 * batch * loss.detach().double()
    torch.testing.assert_close(kept["loss_sum"], twice, **TOLERANCE[dtype])
    torch.testing.assert_close(kept["ever"], twice / batch, **TOLERANCE[dtype])
    torch.testing.assert_close(kept["score_sum"], 2 * losses.score(outputs, targets).double(), **TOLERANCE[dtype])
    assert kept["good"].tolist() == [2] * K and kept["alive"].all()


def learned(weights, biases, inputs, targets, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        ours, kept = Networks(weights, biases, ("tanh", "relu", "identity")), counters((True,) * len(weights[0]))
        ours(inputs, targets, Judging(kept, None, torch.float32), learning=True)
    finally:
        torch.set_num_threads(before)
    return [*ours.slopes, kept["loss_sum"], kept["score_sum"]]


@pytest.mark.parametrize("batch", [5, 32, 141])  # the last is enough work for threads
def test_a_member_feels_neither_its_place_nor_its_neighbors_nor_threads(batch, generator):
    weights, biases = networks((9, 20, 17, 3), torch.float32, generator)
    inputs, targets = torch.randn(batch, 1, 9, generator=generator), torch.randint(3, (batch, 1), generator=generator)
    together = learned(weights, biases, inputs, targets, 2)
    for k in range(K):
        alone = [[p.detach()[[k]].clone() for p in params] for params in (weights, biases)]
        for one, all_ in zip(learned(*alone, inputs, targets, 1), together, strict=True):
            assert torch.equal(one[0], all_[k])


def test_members_that_have_ended_cost_nothing_and_change_nothing(generator):
    weights, biases = networks((4, 6, 3), torch.float32, generator)
    inputs, targets = torch.randn(8, 1, 4, generator=generator), torch.zeros(8, 1, dtype=torch.int64)
    kept, ours = counters((True, False, True)), Networks(weights, biases, ("relu", "identity"))
    judging = Judging(kept, None, torch.float32)
    with torch.no_grad():
        weights[0][2, 0, 0] = torch.nan
    for _ in range(3):
        ours(inputs, targets, judging, learning=True)
    assert kept["alive"].tolist() == [True, False, False] and kept["good"].tolist() == [3, 0, 0]
    assert kept["loss_sum"][0] > 0 and kept["loss_sum"][1] == 0 and kept["loss_sum"][2].isnan()
    assert ours.slopes[0][0].any() and not ours.slopes[0][1].any()
    ours(inputs, targets, judging, learning=False)
    assert kept["loss_sum"][1] > 0  # who no longer learns may be judged
