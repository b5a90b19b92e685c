"""Losses: hand numbers, torch's relations, stability, masks."""

import math
from functools import partial

import jaxtyping
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.func import grad, vmap
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from lamina._errors import ArgumentError, ShapeError
from lamina.functional import losses as L
from lamina.functional.activations import sigmoid, softmax

D = torch.float64
laws = settings(deadline=None, derandomize=True, max_examples=50)


def close(first, second, tolerance=1e-14):
    torch.testing.assert_close(first, second, rtol=tolerance, atol=tolerance)


def randn(generator, *shape):
    return torch.randn(*shape, dtype=D, generator=generator)


@pytest.fixture
def unchecked(monkeypatch):
    """Switch the shape checker off, so that the library's own message is reached."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture
def regression():
    """The data of the notes' scaling example: N = 8 samples of dimension 3."""
    generator = torch.Generator().manual_seed(0)
    return randn(generator, 8, 3), randn(generator, 8), randn(generator, 3)


@pytest.mark.notes("N1.23")
def test_mse_half_against_hand_values_and_torch(generator):
    outputs = torch.tensor([[3.0, 4.0], [0.0, 1.0]], dtype=D)
    assert L.mse_half(outputs, torch.zeros(2, 2, dtype=D)).item() == (25 + 1) / 4
    y, S = randn(generator, 2, 8)
    close(L.mse_half(y, S), 0.5 * nn.MSELoss()(y, S))
    for n in (1, 4):
        y, S = randn(generator, 2, 8, n)
        close(nn.MSELoss()(y, S), 2 / n * L.mse_half(y, S))
    norms = [torch.linalg.vector_norm(a - b) ** 2 for a, b in zip(y, S, strict=True)]
    close(L.mse_half(y, S), sum(norms) / 16)


@pytest.mark.notes("N1.24", "N1.28")
def test_both_scalings_share_the_minimizer_but_not_the_step(regression):
    U, S, W = regression
    N = len(S)
    half = L.squared_error((U @ W)[:, None], S[:, None]).sum()
    close(half, (U @ W - S).square().sum() / 2)
    close(half, N * L.mse_half(U @ W, S), 1e-14)
    assert (L.mse_half(U @ W, S).item(), half.item()) == pytest.approx((2.5243366028662124, 20.1946928229297))
    printed = U.T @ U @ W - U.T @ S
    close(grad(lambda W: L.squared_error((U @ W)[:, None], S[:, None]).sum())(W), printed, 1e-13)
    close(grad(lambda W: L.mse_half(U @ W, S))(W), printed / N, 1e-13)
    largest = 2 / torch.linalg.eigvalsh(U.T @ U).max().item()
    assert (round(largest, 2), round(N * largest, 2)) == (0.19, 1.52)
    minimizer = torch.linalg.lstsq(U, S[:, None]).solution[:, 0]
    for scaling, bound in ((1, largest), (N, N * largest)):
        for factor, converges in ((0.9, True), (1.01, False)):
            w = W.clone()
            for _ in range(2000):
                w = w - factor * bound * (U.T @ (U @ w - S)) / scaling
            distance = (w - minimizer).norm().item()
            assert distance < 1e-12 if converges else distance > 1e6


@pytest.mark.notes("N1.35")
def test_the_loss_is_the_mean_of_the_losses_of_samples(generator):
    y, S = randn(generator, 2, 6, 3)
    close(L.squared_error(y, S).mean(), L.mse_half(y, S))
    logits, labels = randn(generator, 6, 4), torch.tensor([0, 1, 2, 3, 0, 1])
    close(L.negative_log_likelihood(logits, labels, "none").mean(), L.negative_log_likelihood(logits, labels))
    theta = [randn(generator, 3, 2), randn(generator, 3)]
    flat = parameters_to_vector(theta)
    copies = [torch.zeros_like(p) for p in theta]
    vector_to_parameters(flat, copies)
    assert flat.shape == (9,) and all(torch.equal(a, b) for a, b in zip(theta, copies, strict=True))


@pytest.mark.notes("N2.50")
def test_bernoulli_likelihood():
    y = torch.tensor([0.3, 0.9], dtype=D)
    for s, expected in (
        (torch.ones(2), y),
        (torch.zeros(2), 1 - y),
        (torch.tensor([1, 0]), torch.stack([y[0], 1 - y[1]])),
    ):
        torch.testing.assert_close(L.bernoulli_likelihood(y, s.to(D)), expected, rtol=1e-14, atol=0)  # powers round


@pytest.mark.notes("N2.51")
def test_maximal_likelihood_is_minimal_cross_entropy(generator):
    S = (torch.rand(20, generator=generator) < 0.3).to(D)
    z = torch.linspace(-5, 5, 2001, dtype=D)
    likelihood = torch.stack([L.bernoulli_likelihood(sigmoid(t), S).prod() for t in z])
    loss = torch.stack([L.binary_cross_entropy(t.expand(20), S) for t in z])
    assert likelihood.argmax() == loss.argmin()
    close(sigmoid(z[loss.argmin()]), S.mean(), 1e-3)
    logits = randn(generator, 20)
    each = L.binary_cross_entropy(logits, S, "none")
    close(each, -torch.log(L.bernoulli_likelihood(sigmoid(logits), S)), 1e-14)
    close(each, nn.BCELoss(reduction="none")(sigmoid(logits), S), 1e-14)


@pytest.mark.notes("N2.52")
def test_the_case_form():
    y = torch.tensor([0.9, 0.5, 0.1], dtype=D)
    ones, zeros = torch.ones(3, dtype=D), torch.zeros(3, dtype=D)
    assert L.cross_entropy_cases(y, ones).tolist() == pytest.approx([0.1054, 0.6931, 2.3026], abs=5e-5)
    assert L.cross_entropy_cases(y, zeros).tolist() == pytest.approx([2.3026, 0.6931, 0.1054], abs=5e-5)
    logits = torch.log(y / (1 - y))
    for S in (ones, zeros):
        close(L.cross_entropy_cases(y, S), L.binary_cross_entropy(logits, S, "none"), 1e-14)


@pytest.mark.notes("N2.53")
def test_the_two_curves_are_mirror_images():
    y = torch.linspace(0.001, 0.999, 999, dtype=D)
    ones, zeros = torch.ones(999, dtype=D), torch.zeros(999, dtype=D)
    close(L.cross_entropy_cases(y, ones), L.cross_entropy_cases(1 - y, zeros), 1e-13)


@pytest.mark.notes("N2.54")
def test_cross_entropy_at_the_extremes_stays_finite_from_logits():
    logits = torch.tensor([-800.0, -200.0, 0.0, 200.0, 800.0], dtype=D)
    for S, expected in ((0.0, [0, 0, math.log(2), 200, 800]), (1.0, [800, 200, math.log(2), 0, 0])):
        targets = torch.full((5,), S, dtype=D)
        each = L.binary_cross_entropy(logits, targets, "none")
        assert each.tolist() == pytest.approx(expected, abs=1e-80)
    z, S = torch.tensor([200.0]), torch.zeros(1)
    assert (-torch.log(1 - sigmoid(z))).isinf() and L.cross_entropy_cases(sigmoid(z), S).isinf()
    assert nn.BCELoss()(sigmoid(z), S).item() == 100
    assert L.binary_cross_entropy(z, S).item() == 200
    # the right extreme costs nothing, the wrong one ever more
    y = torch.tensor([0.1, 1e-3, 1e-9, 1e-300], dtype=D)
    assert L.cross_entropy_cases(1 - y, torch.ones(4, dtype=D)).diff().lt(0).all()
    assert L.cross_entropy_cases(y, torch.ones(4, dtype=D)).diff().gt(2).all()


@pytest.mark.notes("N2.55")
def test_binary_cross_entropy_is_the_mean_over_samples(generator):
    logits, S = randn(generator, 9), torch.tensor([0, 1, 1, 0, 1, 0, 0, 0, 1])
    close(L.binary_cross_entropy(logits, S), nn.BCELoss()(sigmoid(logits), S.to(D)), 1e-14)
    close(L.binary_cross_entropy(logits, S), L.binary_cross_entropy(logits, S, "none").sum() / 9)


@pytest.mark.notes("N2.62")
def test_negative_log_likelihood_is_cross_entropy_of_logits(generator):
    z, S = randn(generator, 5, 4), torch.tensor([0, 1, 2, 3, 1])
    loss = L.negative_log_likelihood(z, S)
    close(loss, -torch.log(softmax(z)[torch.arange(5), S]).mean(), 1e-14)
    close(loss, nn.CrossEntropyLoss()(z, S))
    close(loss, nn.NLLLoss()(torch.log_softmax(z, 1), S))
    gradient = grad(lambda z: L.negative_log_likelihood(z, S))(z)
    close(gradient, (softmax(z) - nn.functional.one_hot(S, 4)) / 5)
    huge = torch.tensor([[1000.0, 0.0]], dtype=D)
    assert L.negative_log_likelihood(huge, torch.tensor([1])).item() == 1000
    # one class number for each step of each sequence, and for a single vector
    z, S = randn(generator, 2, 3, 4), torch.tensor([[0, 1, 2], [3, 0, 1]])
    each = L.negative_log_likelihood(z, S, "none")
    assert each.shape == (2, 3)
    close(each[1, 0], nn.functional.cross_entropy(z[1, 0], S[1, 0]))
    close(L.negative_log_likelihood(z[0, 0], S[0, 0]), each[0, 0])


@pytest.mark.notes("N2.62")
def test_softmax_twice_is_not_the_loss():
    logits, labels = 50 * torch.eye(10, dtype=D), torch.arange(10)
    assert L.negative_log_likelihood(logits, labels).item() < 1e-20
    assert round(L.negative_log_likelihood(softmax(logits), labels).item(), 4) == 1.4612


@pytest.mark.notes("N2.62")
def test_two_classes_agree_with_binary_cross_entropy(generator):
    z, S = randn(generator, 7), torch.tensor([0, 1, 1, 0, 1, 0, 1])
    two = torch.stack([torch.zeros_like(z), z], -1)
    close(L.negative_log_likelihood(two, S), L.binary_cross_entropy(z, S), 1e-14)


@pytest.mark.notes("N2.71")
@pytest.mark.parametrize(
    ("loss", "targets"),
    [
        (L.mse_half, torch.tensor([[0.5, -1.0], [2.0, 0.0]], dtype=D)),
        (L.binary_cross_entropy, torch.tensor([[0, 1], [1, 1]])),
        (L.negative_log_likelihood, torch.tensor([1, 0])),
        (L.absolute_error, torch.tensor([[0.5, -1.0], [2.0, 0.0]], dtype=D)),
        (L.huber_error, torch.tensor([[0.5, -1.0], [2.0, 0.0]], dtype=D)),
        (partial(L.quantile_error, level=0.9), torch.tensor([[0.5, -1.0], [2.0, 0.0]], dtype=D)),
        (lambda z, S: L.focal(L.binary_cross_entropy(z, S, "none")).mean(), torch.tensor([[0, 1], [1, 1]])),
        (lambda z, S: L.focal(L.negative_log_likelihood(z, S, "none"), 0.5).mean(), torch.tensor([1, 0])),
    ],
)
def test_each_loss_is_a_smooth_function_of_the_output_alone(loss, targets, generator):
    outputs = randn(generator, 2, 2).requires_grad_()
    assert loss(outputs, targets).shape == ()
    assert torch.autograd.gradcheck(lambda y: loss(y, targets), [outputs])


@pytest.mark.notes("N1.62")
def test_weight_decay_is_twice_lambda_in_torch():
    theta, strength, tau = [torch.tensor([1.0, -2.0], dtype=D)], 0.3, 0.1
    assert L.penalty(theta, strength).item() == pytest.approx(0.3 * 5, abs=1e-14)
    gradient = grad(lambda w: L.penalty([w], strength))(theta[0])
    close(gradient, 2 * strength * theta[0])
    w = nn.Parameter(theta[0].clone())
    optimizer = torch.optim.SGD([w], lr=tau, weight_decay=2 * strength)
    (0 * w.sum()).backward()
    optimizer.step()
    close(w.detach(), (1 - 2 * tau * strength) * theta[0])
    close(w.detach(), theta[0] - tau * gradient)


@pytest.mark.notes("N1.62")
def test_closed_form_of_weight_decay(regression):
    U, S, _ = regression
    N, strength = len(S), 0.05
    closed = torch.linalg.solve(U.T @ U + 2 * N * strength * torch.eye(3, dtype=D), U.T @ S)
    total = grad(lambda W: L.mse_half(U @ W, S) + L.penalty([W], strength))(closed)
    assert total.abs().max() < 1e-14


@pytest.mark.notes("N1.62", "N1.63")
def test_penalty_over_a_list_of_tensors(generator):
    theta = [randn(generator, 3, 4), randn(generator, 3), randn(generator, 2, 2, 2)]
    flat = torch.cat([p.flatten() for p in theta])
    close(L.penalty(theta, 0.7), 0.7 * flat.norm() ** 2, 1e-14)
    close(L.penalty(theta, 0.7, norm=1), 0.7 * flat.norm(1), 1e-14)
    close(grad(lambda p: L.penalty([p], 0.7, norm=1))(theta[0]), 0.7 * theta[0].sign())
    assert L.penalty(iter(theta), 0.0).item() == 0


def test_a_ridge_solution_has_no_exact_zero():
    rng = np.random.default_rng(3)
    x = torch.linspace(0, 1, 10, dtype=D)
    y = torch.sin(2 * math.pi * x) + 0.25 * torch.from_numpy(rng.normal(size=10))
    V = torch.vander(x, 10, increasing=True)
    for strength in (1e-6, 1e-2, 100.0):
        W = torch.linalg.solve(V.T @ V + 20 * strength * torch.eye(10, dtype=D), V.T @ y)
        assert (W == 0).sum() == 0
        assert grad(lambda W, s=strength: L.mse_half(V @ W, y) + L.penalty([W], s))(W).abs().max() < 1e-8


@pytest.mark.notes("N5.16")
def test_sum_over_time_and_mask(generator):
    z, S = randn(generator, 4, 6, 5), torch.randint(5, (4, 6), generator=generator)
    each = L.negative_log_likelihood(z, S, "none")
    close(L.sum_over_time(each), each.sum() / 4, 1e-14)
    close(L.sum_over_time(each), 6 * L.negative_log_likelihood(z, S), 1e-14)  # T times the mean
    lengths = torch.tensor([6, 1, 3, 2])
    mask = torch.arange(6) < lengths[:, None]
    by_hand = sum(each[i, : lengths[i]].sum() for i in range(4)) / 4
    close(L.sum_over_time(each, mask), by_hand, 1e-14)
    assert L.sum_over_time(torch.where(mask, each, torch.inf), mask).isfinite()
    close(L.sum_over_time(each[0]), each[0].sum())
    padded = grad(lambda e: L.sum_over_time(e, mask))(each)
    close(padded, mask.to(D) / 4)


def test_losses_under_vmap(generator):
    y, S = randn(generator, 2, 3, 5, 4)
    labels = torch.randint(4, (3, 5), generator=generator)
    mask = torch.rand(3, 5, 4, generator=generator) < 0.5
    calls = [
        (L.mse_half, y, S),
        (L.squared_error, y, S),
        (L.binary_cross_entropy, y, mask.to(D)),
        (L.negative_log_likelihood, y, labels),
        (L.sum_over_time, y, mask),
        (L.bernoulli_likelihood, sigmoid(y), mask.to(D)),
        (L.cross_entropy_cases, sigmoid(y), mask.to(D)),
    ]
    for loss, first, second in calls:
        separate = torch.stack([loss(a, b) for a, b in zip(first, second, strict=True)])
        close(vmap(loss)(first, second), separate, 1e-14)
        gradients = vmap(grad(lambda a, b, loss=loss: loss(a, b).sum()))(first, second)
        alone = [grad(lambda a, b, loss=loss: loss(a, b).sum())(a, b) for a, b in zip(first, second, strict=True)]
        close(gradients, torch.stack(alone), 1e-14)
    strengths = torch.tensor([0.1, 0.2, 0.3], dtype=D)
    for norm in (1, 2):
        together = vmap(lambda p, s, norm=norm: L.penalty([p, 2 * p], s, norm))(y, strengths)
        separate = [L.penalty([p, 2 * p], s.item(), norm) for p, s in zip(y, strengths, strict=True)]
        close(together, torch.stack(separate), 1e-14)


def test_shapes_must_fit(unchecked):
    column, row = torch.zeros(3, 1), torch.zeros(3)
    message = r"`targets` must have the shape of `outputs`, \(3, 1\), got \(3,\): reshape one of them"
    for loss in (L.mse_half, L.squared_error):
        with pytest.raises(ShapeError, match=message):
            loss(column, row)
    with pytest.raises(ShapeError, match=r"`targets` must have the shape of `logits`, \(3, 1\), got \(3,\)"):
        L.binary_cross_entropy(column, row)
    with pytest.raises(ShapeError, match=r"`labels` must have the shape of `logits` without its last axis, \(3,\)"):
        L.negative_log_likelihood(column, torch.zeros(4, dtype=torch.int64))
    with pytest.raises(ShapeError, match=r"`mask` must have the shape of `losses`, \(3, 1\), got \(3,\)"):
        L.sum_over_time(column, row > 0)


def test_errors_of_numbers_against_hand_values_and_torch(generator):
    y, S = torch.tensor([0.0, 3.0, -2.0], dtype=D), torch.tensor([0.5, 1.0, -6.0], dtype=D)
    assert L.absolute_error(y, S, "none").tolist() == [0.5, 2.0, 4.0]
    assert L.huber_error(y, S, delta=2.0, reduction="none").tolist() == [0.125, 2.0, 6.0]
    assert L.quantile_error(y, S, level=0.25, reduction="none").tolist() == [0.125, 1.5, 3.0]
    y, S = randn(generator, 2, 50, 3)
    F = nn.functional
    close(L.absolute_error(y, S), F.l1_loss(y, S))
    for delta in (0.1, 1.0, 3.0):
        close(L.huber_error(y, S, delta), F.huber_loss(y, S, delta=delta))
    close(L.quantile_error(y, S), L.absolute_error(y, S) / 2)


@pytest.mark.parametrize("level", (0.1, 0.5, 0.8))
def test_the_best_constant_of_the_quantile_error_is_the_quantile(level, generator):
    S = randn(generator, 101)
    costs = [L.quantile_error(value.expand(101), S, level).item() for value in S.sort().values]
    assert np.argmin(costs) == round(level * 101 - 0.5)  # so many of 101 lie below


def test_focal_against_hand_values_and_the_formula_of_torchvision(generator):
    log = math.log
    found = L.focal(torch.tensor([log(2), log(4)], dtype=D), 3.0)
    close(found, torch.tensor([log(2) / 8, log(4) * 27 / 64], dtype=D))
    z, S = 3 * randn(generator, 40), torch.randint(2, (40,), generator=generator)
    entropies = L.binary_cross_entropy(z, S, "none")
    for gamma in (0.0, 0.5, 2.0, 5.0):
        p = torch.sigmoid(z)
        p_true = p * S + (1 - p) * (1 - S)  # as torchvision.ops.sigmoid_focal_loss writes it, with alpha=-1
        close(L.focal(entropies, gamma), entropies * (1 - p_true) ** gamma, 1e-12)
    sure = torch.tensor([1e4], requires_grad=True)  # an entropy of exactly 0
    L.focal(L.binary_cross_entropy(sure, torch.ones(1), "none"), 0.5).sum().backward()
    assert sure.grad.tolist() == [0.0]


def test_arguments_are_checked():
    with pytest.raises(ArgumentError, match="`delta` must be greater than 0, got 0"):
        L.huber_error(torch.zeros(1), torch.zeros(1), delta=0)
    with pytest.raises(ArgumentError, match="`level` must be greater than 0, got 0"):
        L.quantile_error(torch.zeros(1), torch.zeros(1), level=0)
    with pytest.raises(ArgumentError, match=r"`level` must be in \[0, 1\), got 1"):
        L.quantile_error(torch.zeros(1), torch.zeros(1), level=1)
    with pytest.raises(ArgumentError, match="`gamma` must be at least 0, got -1"):
        L.focal(torch.zeros(1), -1)
    with pytest.raises(ArgumentError, match="`reduction` must be one of 'mean', 'none', got 'sum'"):
        L.absolute_error(torch.zeros(1), torch.zeros(1), "sum")
    with pytest.raises(ArgumentError, match="`norm` must be one of 1, 2, got 3"):
        L.penalty([torch.ones(1)], 0.1, norm=3)
    with pytest.raises(ArgumentError, match=r"`strength` must be at least 0, got -0\.1"):
        L.penalty([torch.ones(1)], -0.1)
    with pytest.raises(ArgumentError, match="`params` must hold at least one tensor, got none"):
        L.penalty([], 0.1)
    with pytest.raises(ArgumentError, match="`reduction` must be one of 'mean', 'none', got 'sum'"):
        L.negative_log_likelihood(torch.zeros(1, 2), torch.zeros(1, dtype=torch.int64), "sum")
    with pytest.raises(ArgumentError, match="`reduction` must be one of 'mean', 'none', got 'sum'"):
        L.binary_cross_entropy(torch.zeros(1), torch.zeros(1), "sum")


values = st.lists(st.floats(-100, 100), min_size=1, max_size=8)


@laws
@given(values, values)
def test_squared_errors_are_never_negative_and_vanish_only_on_the_target(first, second):
    n = min(len(first), len(second))
    y, S = torch.tensor(first[:n], dtype=D), torch.tensor(second[:n], dtype=D)
    assert L.mse_half(y, S) >= 0 and L.mse_half(y, y) == 0
    close(L.mse_half(y, S), L.mse_half(S, y))


@laws
@given(values, st.floats(-50, 50))
def test_negative_log_likelihood_ignores_a_shift_and_is_not_negative(logits, shift):
    z, label = torch.tensor([logits], dtype=D), torch.tensor([len(logits) - 1])
    assert L.negative_log_likelihood(z, label) >= 0
    close(L.negative_log_likelihood(z + shift, label), L.negative_log_likelihood(z, label), 1e-11)


@laws
@given(values, st.floats(0, 10), st.floats(-3, 3))
def test_penalties_are_homogeneous(theta, strength, factor):
    p = torch.tensor(theta, dtype=D)
    close(L.penalty([factor * p], strength), factor**2 * L.penalty([p], strength), 1e-9)
    close(L.penalty([factor * p], strength, 1), abs(factor) * L.penalty([p], strength, 1), 1e-9)
