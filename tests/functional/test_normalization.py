import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lamina._errors import ArgumentError, ShapeError
from lamina.functional.normalization import (
    batch_norm,
    batch_norm_statistics,
    check_response_constants,
    local_response_norm,
    local_response_norm_within,
    normalize,
    update_running_statistics,
)

RESPONSE = [local_response_norm, local_response_norm_within]


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def spread_batch(batch=64):
    """Five features with standard deviations 1..5 and means 0..4, as in the errata's example."""
    scale = torch.arange(1, 6, dtype=torch.float64)
    return normal(batch, 5) * scale + scale - 1


# --- batch norm


@pytest.mark.notes("N2.38")
def test_statistics_by_hand():
    batch = torch.tensor([[1, 0], [3, 10], [5, 20]], dtype=torch.float64)
    mean, variance = batch_norm_statistics(batch)
    assert mean.tolist() == [3, 10]
    torch.testing.assert_close(variance, torch.tensor([8 / 3, 200 / 3], dtype=torch.float64))


@pytest.mark.notes("N2.38")
def test_statistics_of_images_run_over_batch_height_and_width():
    images = normal(4, 3, 5, 6)
    mean, variance = batch_norm_statistics(images)
    for channel in range(3):
        values = images[:, channel].flatten()
        assert mean[channel].item() == pytest.approx((values.sum() / 120).item(), abs=1e-14)
        assert variance[channel].item() == pytest.approx(((values - values.mean()) ** 2).sum().item() / 120, abs=1e-14)


@pytest.mark.notes("N2.38")
def test_printed_norm_would_make_variances_sum_to_one():
    y = spread_batch()
    mean, variance = batch_norm_statistics(y)
    printed = ((y - mean) ** 2).sum(1).mean()
    assert printed.item() == pytest.approx(variance.sum().item(), rel=1e-14)
    as_printed = (y - mean) / (printed + 1e-5).sqrt()
    assert as_printed.var(0, correction=0).sum().item() == pytest.approx(1, abs=1e-5)
    assert batch_norm(y).var(0, correction=0).sum().item() == pytest.approx(5, abs=1e-4)


@pytest.mark.notes("N2.39", "N2.41")
def test_normalized_features_have_mean_0_and_variance_1():
    y = spread_batch()[:, :3]
    outputs = batch_norm(y)
    variance = y.var(0, correction=0)
    torch.testing.assert_close(outputs.mean(0), torch.zeros(3, dtype=torch.float64), rtol=0, atol=1e-14)
    torch.testing.assert_close(outputs.var(0, correction=0), variance / (variance + 1e-5), rtol=1e-14, atol=0)
    torch.testing.assert_close(outputs.std(0, correction=0), torch.ones(3, dtype=torch.float64), rtol=0, atol=1e-5)


@pytest.mark.notes("N2.39", "N2.40")
def test_formula_example_by_example():
    y, gamma, beta, eps = spread_batch(7), normal(5, seed=1), normal(5, seed=2), 1e-3
    outputs = batch_norm(y, gamma, beta, eps)
    for i in range(5):
        column = y[:, i].tolist()
        mu = sum(column) / 7
        variance = sum((value - mu) ** 2 for value in column) / 7
        for j in range(7):
            expected = gamma[i].item() * (column[j] - mu) / (variance + eps) ** 0.5 + beta[i].item()
            assert outputs[j, i].item() == pytest.approx(expected, abs=1e-14)


@pytest.mark.notes("N2.37", "N2.40", "N2.44")
@pytest.mark.parametrize(("kind", "shape"), [(nn.BatchNorm1d, (16, 5)), (nn.BatchNorm2d, (4, 5, 6, 3))])
def test_equals_torch_in_training_and_evaluation(kind, shape):
    module = kind(5).double()
    with torch.no_grad():
        module.weight.copy_(normal(5, seed=1))
        module.bias.copy_(normal(5, seed=2))
    mean, variance = torch.zeros(5, dtype=torch.float64), torch.ones(5, dtype=torch.float64)
    for step in range(3):
        batch = normal(*shape, seed=10 + step) * 3 + 1
        torch.testing.assert_close(batch_norm(batch, module.weight, module.bias), module(batch), rtol=0, atol=1e-12)
        mean, variance = update_running_statistics(batch, mean, variance)
        torch.testing.assert_close(mean, module.running_mean, rtol=0, atol=1e-14)
        torch.testing.assert_close(variance, module.running_var, rtol=0, atol=1e-13)
    module.eval()
    batch = normal(*shape, seed=20)
    ours = normalize(batch, mean, variance, module.weight, module.bias)
    torch.testing.assert_close(ours, module(batch), rtol=0, atol=1e-13)
    torch.testing.assert_close(
        normalize(batch[:1], mean, variance, module.weight, module.bias), ours[:1], rtol=0, atol=1e-14
    )


@pytest.mark.notes("N2.44")
def test_running_statistics_after_one_batch():
    y = spread_batch()
    mean, variance = update_running_statistics(y, torch.zeros(5).double(), torch.ones(5).double())
    torch.testing.assert_close(mean, 0.1 * y.mean(0), rtol=1e-14, atol=1e-14)
    torch.testing.assert_close(variance, 0.9 + 0.1 * y.var(0, correction=1), rtol=1e-14, atol=0)


@pytest.mark.notes("N2.44")
@pytest.mark.parametrize("shape", [(1, 5), (1, 5, 1, 1)])
def test_a_batch_of_one_value_has_no_variance(shape):
    batch = torch.ones(shape, dtype=torch.float64)
    for call in (batch_norm, lambda y: update_running_statistics(y, torch.zeros(5).double(), torch.ones(5).double())):
        with pytest.raises(
            ShapeError, match="`inputs` must hold at least 2 values per feature to have a variance, got 1"
        ):
            call(batch)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        (nn.BatchNorm1d if batch.ndim == 2 else nn.BatchNorm2d)(5).double()(batch)


@pytest.mark.notes("N2.45")
def test_a_bias_before_batch_norm_has_no_effect():
    y, W, b = spread_batch(), normal(5, 5, seed=1), normal(5, seed=2)
    before, after = batch_norm(y @ W.T + b), batch_norm(y @ W.T + b + 7)
    torch.testing.assert_close(after, before, rtol=0, atol=1e-12)
    b = b.requires_grad_()
    (gradient,) = torch.autograd.grad((batch_norm(y @ W.T + b) * normal(64, 5, seed=3)).sum(), b)
    assert gradient.abs().max() < 1e-12


@pytest.mark.notes("N2.42")
def test_batch_norm_is_trainable():
    module = nn.BatchNorm1d(5).double()
    assert sum(p.numel() for p in module.parameters()) == 10
    weight, bias = torch.ones(5).double().requires_grad_(), torch.zeros(5).double().requires_grad_()
    y, targets = spread_batch(), normal(64, 5, seed=1)
    ours = torch.autograd.grad(((batch_norm(y, weight, bias) - targets) ** 2).sum(), (weight, bias))
    theirs = torch.autograd.grad(((module(y) - targets) ** 2).sum(), (module.weight, module.bias))
    for a, b in zip(ours, theirs, strict=True):
        assert a.abs().min() > 0
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-11)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.integers(1, 4), st.integers(0, 999))
def test_batch_norm_ignores_shift_and_positive_scale_of_a_feature(batch, features, seed):
    y = normal(batch, features, seed=seed)
    scale = torch.rand(features, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 3 + 0.1
    shift = normal(features, seed=seed + 1) * 5
    eps = 1e-300  # with a visible eps the scale would be noticed
    torch.testing.assert_close(batch_norm(y * scale + shift, eps=eps), batch_norm(y, eps=eps), rtol=0, atol=1e-8)
    torch.testing.assert_close(batch_norm(-y, eps=eps), -batch_norm(y, eps=eps), rtol=0, atol=1e-12)
    torch.testing.assert_close(batch_norm(y + shift), batch_norm(y), rtol=0, atol=1e-8)


def test_gradients_of_batch_norm():
    leaves = [normal(4, 2, 3, 2, seed=1), normal(2, seed=2), normal(2, seed=3)]
    assert torch.autograd.gradcheck(batch_norm, [leaf.requires_grad_() for leaf in leaves])


def test_population_of_batch_norms():
    batches, weight, bias = normal(3, 6, 4, 2, 3, seed=1), normal(3, 4, seed=2), normal(3, 4, seed=3)
    members = list(zip(batches, weight, bias, strict=True))
    together = torch.func.vmap(batch_norm)(batches, weight, bias)
    torch.testing.assert_close(together, torch.stack([batch_norm(*m) for m in members]), rtol=0, atol=1e-13)
    together = torch.func.vmap(update_running_statistics)(batches, weight, bias)
    alone = [update_running_statistics(*m) for m in members]
    for k in range(2):
        torch.testing.assert_close(together[k], torch.stack([a[k] for a in alone]), rtol=0, atol=1e-13)


def test_batch_norm_refuses():
    with pytest.raises(ArgumentError, match=r"`eps` must be greater than 0, got 0\.0"):
        batch_norm(torch.zeros(2, 2), eps=0.0)
    with pytest.raises(ArgumentError, match=r"`momentum` must be in \[0, 1\], got 1\.5"):
        update_running_statistics(torch.zeros(2, 2), torch.zeros(2), torch.ones(2), 1.5)


# --- local response normalization


def between_by_definition(Y, n, kappa, gamma, beta):
    """The printed formula for each k, with indices from 1 and floor(n/2)."""
    M, half = Y.shape[1], n // 2
    out = torch.empty_like(Y)
    for k in range(1, M + 1):
        total = torch.zeros_like(Y[:, 0])
        for m in range(max(1, k - half), min(M, k + half) + 1):
            total += Y[:, m - 1] ** 2
        out[:, k - 1] = Y[:, k - 1] / (kappa + gamma * total) ** beta
    return out


def within_by_definition(Y, n, kappa, gamma, beta):
    _, _, n1, n2 = Y.shape
    half, out = n // 2, torch.empty_like(Y)
    for i in range(1, n1 + 1):
        for j in range(1, n2 + 1):
            total = torch.zeros_like(Y[:, :, 0, 0])
            for p in range(max(1, i - half), min(n1, i + half) + 1):
                for q in range(max(1, j - half), min(n2, j + half) + 1):
                    total += Y[:, :, p - 1, q - 1] ** 2
            out[:, :, i - 1, j - 1] = Y[:, :, i - 1, j - 1] / (kappa + gamma * total) ** beta
    return out


@pytest.mark.notes("N3.51")
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 20])
def test_between_channels_is_the_printed_sum(n):
    Y = normal(2, 8, 6, 5) * 20
    expected = between_by_definition(Y, n, 2.0, 0.1, 0.75)
    torch.testing.assert_close(local_response_norm(Y, n, 2.0, 0.1, 0.75), expected, rtol=1e-14, atol=1e-14)


@pytest.mark.notes("N3.51")
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_between_channels_against_torch(n):
    Y = normal(2, 8, 6, 5) * 20
    ours = local_response_norm(Y, n, kappa=2.0, gamma=0.1, beta=0.75)
    width = 2 * (n // 2) + 1
    torchs = nn.LocalResponseNorm(width, alpha=0.1 * width, beta=0.75, k=2.0)(Y)
    assert (torchs - ours).abs().max() / ours.abs().max() < 1e-14
    naive = nn.LocalResponseNorm(n, alpha=0.1, beta=0.75, k=2.0)(Y)
    assert (naive - ours).abs().max() / ours.abs().max() > 0.05
    scaled = nn.LocalResponseNorm(n, alpha=0.1 * n, beta=0.75, k=2.0)(Y)
    assert ((scaled - ours).abs().max() / ours.abs().max() < 1e-14) == (n % 2 == 1)


@pytest.mark.notes("N3.51")
@pytest.mark.parametrize(("n", "offsets"), [(1, [0]), (2, [-1, 0, 1]), (3, [-1, 0, 1]), (4, [-2, -1, 0, 1, 2])])
def test_channels_that_a_window_sees(n, offsets):
    Y = normal(7, 1, 1).requires_grad_()
    (gradient,) = torch.autograd.grad(local_response_norm(Y, n, gamma=1.0)[3].sum(), Y)
    assert (gradient.flatten().nonzero().flatten() - 3).tolist() == offsets


@pytest.mark.notes("N3.54")
@pytest.mark.parametrize("n", [1, 2, 3, 4, 12])
def test_within_a_channel_is_the_printed_double_sum(n):
    Y = normal(2, 3, 6, 5) * 20
    expected = within_by_definition(Y, n, 2.0, 0.1, 0.75)
    torch.testing.assert_close(local_response_norm_within(Y, n, 2.0, 0.1, 0.75), expected, rtol=1e-14, atol=1e-14)


@pytest.mark.notes("N3.54")
@pytest.mark.parametrize("n", [2, 4])
def test_within_a_channel_by_average_pooling(n):
    Y = normal(2, 3, 6, 5) * 20
    average = nn.functional.avg_pool2d(Y**2, n + 1, 1, n // 2)
    expected = Y / (2 + 0.1 * (n + 1) ** 2 * average) ** 0.75
    torch.testing.assert_close(local_response_norm_within(Y, n, 2.0, 0.1, 0.75), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.notes("N3.48", "N3.52")
def test_alexnet_constants_are_the_defaults():
    activities = torch.tensor([1, 10, 100, 1000], dtype=torch.float64).reshape(4, 1, 1, 1)
    for norm in RESPONSE:
        outputs = norm(activities).flatten()
        printed = [(0.595, 5e-4), (5.92, 5e-3), (43.9, 0.05), (31.2, 0.05)]
        for output, (expected, half_a_digit) in zip(outputs.tolist(), printed, strict=True):
            assert output == pytest.approx(expected, abs=half_a_digit)
        assert torch.equal(norm(activities), norm(activities, size=5, kappa=2.0, gamma=1e-4, beta=0.75))
    spread = torch.zeros(1, 9, 1, 1, dtype=torch.float64)
    spread[0, 6] = 100
    spread[0, 4] = 10
    assert local_response_norm(spread)[0, 4].item() == pytest.approx(10 / (2 + 1e-4 * (100**2 + 10**2)) ** 0.75)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.floats(0.1, 5), st.floats(0.1, 2), st.floats(0.1, 1), st.integers(0, 999))
def test_responses_are_bounded_and_keep_their_sign(size, kappa, gamma, beta, seed):
    Y = normal(2, 5, 4, 3, seed=seed) * 10
    for norm in RESPONSE:
        outputs = norm(Y, size, kappa, gamma, beta)
        assert torch.equal(norm(-Y, size, kappa, gamma, beta), -outputs)
        assert torch.equal(outputs.sign(), Y.sign())
        assert (outputs.abs() <= Y.abs() / kappa**beta * (1 + 1e-12)).all()
        alone = Y.abs() / (kappa + gamma * Y**2) ** beta
        assert (outputs.abs() <= alone * (1 + 1e-12)).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.floats(0.1, 10), st.integers(0, 999))
def test_scaling_activities_is_scaling_the_constants(size, factor, seed):
    """LRN(c Y; kappa, gamma) = c LRN(Y; kappa, c^2 gamma), and homogeneity of degree -2 beta in (kappa, gamma)."""
    Y = normal(1, 5, 4, 3, seed=seed)
    for norm in RESPONSE:
        torch.testing.assert_close(norm(factor * Y, size, 2.0, 0.5), factor * norm(Y, size, 2.0, 0.5 * factor**2))
        torch.testing.assert_close(norm(Y, size, 2 * factor, 0.5 * factor) * factor**0.75, norm(Y, size, 2.0, 0.5))


@pytest.mark.parametrize("norm", RESPONSE)
def test_gradients_of_responses(norm):
    Y = normal(2, 4, 3, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda y: norm(y, 3, 1.0, 0.5, 0.75), [Y])


@pytest.mark.parametrize("norm", RESPONSE)
def test_population_of_responses(norm):
    Y = normal(3, 2, 4, 5, 3)
    together = torch.func.vmap(lambda y: norm(y, 4, 1.0, 0.5))(Y)
    others = (torch.stack([norm(y, 4, 1.0, 0.5) for y in Y]), norm(Y, 4, 1.0, 0.5), norm(Y[0, 0], 4, 1.0, 0.5))
    for expected, other in zip((together, together, together[0, 0]), others, strict=True):
        torch.testing.assert_close(other, expected, rtol=1e-14, atol=0)  # sums over other shapes


@pytest.mark.parametrize("norm", RESPONSE)
def test_responses_refuse(norm):
    with pytest.raises(ArgumentError, match="`size` must be at least 1, got 0"):
        norm(torch.ones(1, 1, 1), size=0)
    with pytest.raises(ArgumentError, match=r"`kappa` must be greater than 0, got 0\.0"):
        norm(torch.ones(1, 1, 1), kappa=0.0)


def test_neighbors_are_counted_in_whole_numbers():
    with pytest.raises(ArgumentError, match=r"`size` must be a whole number of neighbors, got 2\.5: round it"):
        check_response_constants(2.5, 2.0)
