"""Updates against torch.optim bit for bit, populations against separate runs, and what the notes claim of descent."""

import inspect
import itertools
import math

import jaxtyping
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import grad, vmap

from lamina._errors import ArgumentError, ShapeError
from lamina.functional import optimizers as O
from lamina.functional.losses import mse_half, penalty

D = torch.float64
laws = settings(deadline=None, derandomize=True, max_examples=50)
HYPERS = {
    "gd": [O.GradientDescent(rate) for rate in (0.1, 0.02, 0.3)],
    "momentum": [O.Momentum(0.05, 0.9), O.Momentum(0.1, 0.5), O.Momentum(0.2, 0.0)],
    "adam": [O.Adam(0.1), O.Adam(0.03, 0.5, 0.9, 1e-3), O.Adam(0.3, 0.8, 0.99, 1e-6)],
    "adamw": [O.AdamW(0.1, weight_decay=0.0), O.AdamW(0.03, 0.5, 0.9, 1e-3, 0.5), O.AdamW(0.3, 0.8, 0.99, 1e-6, 0.1)],
    # a large epsilon: without it the steps stay as long as the rate near a minimum
    "rmsprop": [O.RMSprop(0.1, 0.9, 1.0), O.RMSprop(0.03, 0.5, 1e-3, 0.5), O.RMSprop(0.3, 0.8, 1e-6, 0.9)],
    "proximal": [O.ProximalGradient(0.1, 0.0), O.ProximalGradient(0.2, 0.05), O.ProximalGradient(0.05, 0.2)],
}


@pytest.fixture
def unchecked(monkeypatch):
    """Switch the shape checker off, which costs more than a small update."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def parabola(theta):
    """Give the gradient of a bowl with minimum at 1 and curvatures 1 and 3 in two tensors of different shapes."""
    return {"W": 3 * (theta["W"] - 1), "b": theta["b"] - 1}


def start(dtype=D):
    generator = torch.Generator().manual_seed(5)
    return {
        name: torch.randn(shape, dtype=D, generator=generator).to(dtype) for name, shape in (("W", (3, 4)), ("b", ()))
    }


def stacked(members):
    return {name: torch.stack([member[name] for member in members]) for name in members[0]}


def together(hypers):
    """Make one record whose numbers are vectors with one entry per member."""
    fields = vars(hypers[0])
    return type(hypers[0])(**{f: torch.tensor([getattr(h, f) for h in hypers], dtype=D) for f in fields})


def test_the_table_is_tested_completely():
    assert list(HYPERS) == list(O.OPTIMIZERS)
    for name, row in O.OPTIMIZERS.items():
        assert all(type(hyper) is row.hyper for hyper in HYPERS[name])


@pytest.mark.parametrize("name", O.OPTIMIZERS)
def test_each_optimizer_solves_a_parabola(name, unchecked):
    theta = O.iterate(parabola, start(), O.OPTIMIZERS[name], HYPERS[name][0], steps=1500)
    for value in theta.values():
        assert (value - 1).abs().max() < 1e-8


@pytest.mark.parametrize("name", O.OPTIMIZERS)
def test_an_update_is_pure_and_counts(name):
    row, theta = O.OPTIMIZERS[name], start()
    state, before = row.init(theta), {k: v.clone() for k, v in theta.items()}
    gradients = parabola(theta)
    first = row.update(theta, gradients, state, HYPERS[name][1])
    second = row.update(theta, gradients, state, HYPERS[name][1])
    assert all(torch.equal(theta[k], before[k]) for k in theta)
    assert all(torch.equal(first[0][k], second[0][k]) for k in theta)
    assert (state.step.item(), first[1].step.item()) == (0, 1)
    assert all(not moment[k].any() for moment in state.moments for k in theta)
    assert len(first[1].moments) == len(state.moments)


@pytest.mark.parametrize("dtype", [D, torch.float32])
@pytest.mark.parametrize("name", O.OPTIMIZERS)
def test_a_population_equals_separate_runs(name, dtype):
    row, hypers = O.OPTIMIZERS[name], HYPERS[name]
    alone = [O.iterate(parabola, start(dtype), row, hyper, steps=20) for hyper in hypers]
    population = O.iterate(parabola, stacked([start(dtype)] * 3), row, together(hypers), steps=20)
    for key, value in population.items():
        assert value.dtype == dtype
        # 20 steps, each of which a CPU may round once or, with a fused product and sum, not at all
        tolerance = 20 * torch.finfo(dtype).eps
        separate = torch.stack([member[key] for member in alone])
        torch.testing.assert_close(value, separate, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", O.OPTIMIZERS)
def test_vmap_equals_separate_runs(name):
    row, hypers = O.OPTIMIZERS[name], HYPERS[name]
    vectors = vars(together(hypers))

    def run(theta, numbers):
        return O.iterate(parabola, theta, row, row.hyper(**numbers), steps=20)

    mapped = vmap(run)(stacked([start()] * 3), vectors)
    alone = stacked([O.iterate(parabola, start(), row, hyper, steps=20) for hyper in hypers])
    for key in alone:
        assert (mapped[key] - alone[key]).abs().max() <= 1e-14
    # the state can be mapped over as well, with one count per member
    state = row.init(stacked([start()] * 3))._replace(step=torch.zeros(3, dtype=torch.int64))
    theta, state = vmap(lambda p, g, s: row.update(p, g, s, hypers[0]))(
        stacked([start()] * 3), parabola(stacked([start()] * 3)), state
    )
    single, _ = row.update(start(), parabola(start()), row.init(start()), hypers[0])
    assert state.step.tolist() == [1, 1, 1]
    assert all((theta[key][2] - single[key]).abs().max() <= 1e-14 for key in single)


def test_a_population_may_share_some_numbers():
    rates = torch.tensor([0.1, 0.03], dtype=D)
    row = O.OPTIMIZERS["adam"]
    mixed = O.iterate(parabola, stacked([start()] * 2), row, O.Adam(rates, 0.5), steps=10)
    for k in range(2):
        alone = O.iterate(parabola, start(), row, O.Adam(rates[k].item(), 0.5), steps=10)
        for key, value in alone.items():  # a CPU may fuse a product and a sum in one of them, over 10 steps
            torch.testing.assert_close(mixed[key][k], value, rtol=1e-14, atol=1e-14)


def follow(optimizer, params, steps):
    """Run a torch optimizer on the parabola and return all iterates."""
    leaves = {name: torch.nn.Parameter(value.clone()) for name, value in params.items()}
    stepper = optimizer(leaves.values())
    history = []
    for _ in range(steps):
        gradients = parabola({name: leaf.detach() for name, leaf in leaves.items()})
        for name, leaf in leaves.items():
            leaf.grad = gradients[name]
        stepper.step()
        history.append({name: leaf.detach().clone() for name, leaf in leaves.items()})
    return history


CASES = {
    "gd": (O.GradientDescent(0.07), lambda p: torch.optim.SGD(p, lr=0.07)),
    "momentum": (O.Momentum(0.07, 0.8), lambda p: torch.optim.SGD(p, lr=0.07, momentum=0.8)),
    "adam": (O.Adam(), lambda p: torch.optim.Adam(p)),
    "adam, other numbers": (
        O.Adam(0.05, 0.7, 0.95, 1e-4),
        lambda p: torch.optim.Adam(p, lr=0.05, betas=(0.7, 0.95), eps=1e-4),
    ),
    "adamw": (O.AdamW(), lambda p: torch.optim.AdamW(p)),
    "adamw, other numbers": (
        O.AdamW(0.05, 0.7, 0.95, 1e-4, 0.3),
        lambda p: torch.optim.AdamW(p, lr=0.05, betas=(0.7, 0.95), eps=1e-4, weight_decay=0.3),
    ),
    "rmsprop": (O.RMSprop(), lambda p: torch.optim.RMSprop(p)),
    "rmsprop, other numbers": (
        O.RMSprop(0.05, 0.7, 1e-4, 0.6),
        lambda p: torch.optim.RMSprop(p, lr=0.05, alpha=0.7, eps=1e-4, momentum=0.6),
    ),
}


@pytest.mark.notes("N1.36", "N1.47")
@pytest.mark.parametrize("dtype", [D, torch.float32])
@pytest.mark.parametrize("case", CASES)
def test_updates_equal_torch_over_fifty_steps(case, dtype):
    hyper, optimizer = CASES[case]
    row = O.OPTIMIZERS[case.split(",")[0]]
    theta = start(dtype)
    state = row.init(theta)
    tolerance = 50 * torch.finfo(dtype).eps  # one rounding in each of 50 steps
    for expected in follow(optimizer, theta, 50):
        theta, state = row.update(theta, parabola(theta), state, hyper)
        assert all((theta[name] - expected[name]).abs().max() <= tolerance for name in theta)
    assert state.step.item() == 50


def test_rmsprop_without_momentum_needs_one_moment_only():
    theta = start()
    one, two = (O.rmsprop(theta, parabola(theta), O.start(theta, n), O.RMSprop(0.1, 0.9)) for n in (1, 2))
    assert (len(one[1].moments), len(two[1].moments)) == (1, 2)
    for name in theta:
        torch.testing.assert_close(one[0][name], two[0][name], rtol=1e-14, atol=1e-14)


def adam_variant(theta, gradient, steps, power, overwrite, tau=1e-3, b1=0.9, b2=0.999, eps=1e-8):
    """Alg. 5 with the power k + `power` and with or without overwritten moments."""
    m1 = m2 = torch.zeros_like(theta)
    for k in range(steps):
        g = gradient(theta)
        m1, m2 = b1 * m1 + (1 - b1) * g, b2 * m2 + (1 - b2) * g * g
        h1, h2 = (
            m1 / (1 - torch.tensor(b1, dtype=D) ** (k + power)),
            m2 / (1 - torch.tensor(b2, dtype=D) ** (k + power)),
        )
        theta = theta - tau * h1 / (h2.sqrt() + eps)
        if overwrite:
            m1, m2 = h1, h2
    return theta


@pytest.mark.notes("N1.47")
def test_adam_as_printed_and_as_corrected():
    A = torch.tensor([1.0, 10.0, 100.0], dtype=D)
    theta0 = torch.tensor([1.0, -2.0, 3.0], dtype=D)
    row = O.OPTIMIZERS["adam"]

    def moved(steps):
        return O.iterate(lambda p: {"t": A * p["t"]}, {"t": theta0}, row, O.Adam(), steps)["t"]

    assert adam_variant(theta0, lambda t: A * t, 1, power=0, overwrite=True).isnan().all()
    right = adam_variant(theta0, lambda t: A * t, 50, power=1, overwrite=False)
    torch.testing.assert_close(moved(50), right, rtol=1e-14, atol=1e-14)
    overwritten = adam_variant(theta0, lambda t: A * t, 50, power=1, overwrite=True)
    assert (overwritten - theta0).abs().max().item() == pytest.approx(1.3e-3, rel=0.05)
    assert (moved(50) - theta0).abs().max().item() == pytest.approx(5.0e-2, rel=0.01)
    torch.testing.assert_close(theta0 - moved(1), 1e-3 * (A * theta0).sign(), rtol=1e-6, atol=0)


@pytest.mark.notes("N1.47")
def test_moments_of_a_constant_gradient_are_corrected_to_it():
    theta, ones = {"t": torch.zeros(1, dtype=D)}, {"t": torch.ones(1, dtype=D)}
    state = O.start(theta, moments=2)
    for _ in range(5):
        theta, state = O.adam(theta, ones, state, O.Adam())
    m1, m2 = (moment["t"].item() for moment in state.moments)
    assert m1 / (1 - 0.9**5) == pytest.approx(1, abs=1e-14) and m2 / (1 - 0.999**5) == pytest.approx(1, abs=1e-12)
    overwritten = 0.0
    for k in range(1, 6):
        overwritten = (0.999 * overwritten + 0.001) / (1 - 0.999**k)
    assert overwritten == pytest.approx(8.35e9, rel=1e-3)


@pytest.mark.notes("N1.48")
def test_defaults_of_adam_are_torchs():
    ours, theirs = O.Adam(), inspect.signature(torch.optim.Adam).parameters
    assert ours.learning_rate == theirs["lr"].default == 0.001
    assert (ours.first_decay, ours.second_decay) == theirs["betas"].default == (0.9, 0.999)
    assert ours.eps == theirs["eps"].default == 1e-8


def regression(n):
    """The noisy line of the measured numbers: U, S, and the least-squares minimizer."""
    rng = np.random.default_rng(0)
    U = np.c_[np.ones(n), rng.normal(size=n)]
    S = U @ [1, 2] + 0.5 * rng.normal(size=n)
    W = np.linalg.lstsq(U, S, rcond=None)[0]
    return tuple(torch.from_numpy(a) for a in (U, S, W))


@pytest.mark.notes("N1.36")
def test_the_step_bound_of_gradient_descent(unchecked):
    U, S, minimizer = regression(64)
    largest = torch.linalg.eigvalsh(U.T @ U / 64).max().item()
    rates = torch.tensor([0.99, 1.01], dtype=D) * 2 / largest

    def gradient(theta):
        return {"W": (theta["W"] @ U.T - S) @ U / 64}

    theta = O.iterate(gradient, {"W": torch.zeros(2, 2, dtype=D)}, O.OPTIMIZERS["gd"], O.GradientDescent(rates), 3000)
    below, beyond = (theta["W"] - minimizer).norm(dim=1).tolist()
    assert below < 1e-13 and beyond > 1e25


@pytest.mark.notes("N1.38")
def test_one_step_size_suffers_from_the_condition_number(unchecked):
    conditions = torch.tensor([10.0, 100.0, 1000.0], dtype=D)
    curvature = torch.stack([torch.ones(3, dtype=D), conditions], dim=1)

    def steps_needed(name, hyper, limit, tolerance=1e-3):
        row, theta = O.OPTIMIZERS[name], {"t": torch.ones(3, 2, dtype=D)}
        state, needed = row.init(theta), torch.full((3,), limit)
        for k in range(limit):
            theta, state = row.update(theta, {"t": curvature * theta["t"]}, state, hyper)
            done = theta["t"].abs().amax(1) < tolerance
            needed = torch.where(done & (needed == limit), k, needed)
            if (needed < limit).all():
                break
        return needed.tolist()

    descent = steps_needed("gd", O.GradientDescent(1 / conditions), 10_000)
    assert 8 < descent[1] / descent[0] < 12 and 8 < descent[2] / descent[1] < 12 and descent[2] < 10_000
    adaptive = steps_needed("adam", O.Adam(0.05), 1000)
    assert max(adaptive) < 1.5 * min(adaptive)


@pytest.mark.notes("N1.51")
def test_gradient_descent_ends_in_either_minimum(unchecked):
    def gradient(theta):
        t = theta["t"]
        return {"t": 4 * t**3 - 4 * t + 0.5}

    points = {"t": torch.tensor([-1.5, 1.5], dtype=D)}
    t = O.iterate(gradient, points, O.OPTIMIZERS["gd"], O.GradientDescent(0.02), 2000)["t"]
    values = t**4 - 2 * t**2 + t / 2
    assert t.tolist() == pytest.approx([-1.0575, 0.9304], abs=5e-5)
    assert values.tolist() == pytest.approx([-1.5148, -0.5167], abs=5e-5)


@pytest.mark.notes("N1.42", "N1.45")
def test_k_iterations_are_k_updates():
    calls = []

    def gradient(theta):
        calls.append(1)
        return theta

    O.iterate(gradient, {"t": torch.ones(1)}, O.OPTIMIZERS["gd"], O.GradientDescent(0.1), steps=10)
    assert len(calls) == 10
    printed, k = 0, 0
    while k <= 10:
        printed, k = printed + 1, k + 1
    assert printed == 11


@pytest.mark.notes("N1.42", "N1.45")
def test_samples_are_unbiased_and_the_whole_batch_is_gradient_descent(generator):
    U, S, _ = regression(12)
    W = torch.randn(2, dtype=D, generator=generator)

    def of(indices):
        return grad(lambda W: mse_half(U[indices] @ W, S[indices]))(W)

    full = of(torch.arange(12))
    single = torch.stack([of(torch.tensor([j])) for j in range(12)])
    torch.testing.assert_close(single.mean(0), full, rtol=1e-14, atol=1e-14)
    assert torch.equal(of(O.sample_indices(12, 12, generator)), full)
    # one index: the same step as SGD with that index, for both ways of drawing
    for replacement in (False, True):
        j = O.sample_indices(12, 1, generator, replacement)
        assert torch.equal(of(j), single[j.item()])


@pytest.mark.notes("N1.42", "N1.45")
def test_indices_are_drawn_uniformly(generator):
    for replacement in (False, True):
        draws = torch.stack([O.sample_indices(5, 2, generator, replacement) for _ in range(5000)])
        counts = torch.bincount(draws.flatten(), minlength=5)
        assert (counts - 2000).abs().max() < 200
        twice = (draws[:, 0] == draws[:, 1]).double().mean().item()
        assert twice == pytest.approx(0.2, abs=0.02) if replacement else twice == 0
        # each of the ten pairs is as likely as any other
        pairs = [tuple(sorted(pair)) for pair in draws.tolist() if pair[0] != pair[1]]
        shares = [pairs.count(pair) / len(pairs) for pair in itertools.combinations(range(5), 2)]
        assert shares == pytest.approx([0.1] * 10, abs=0.015)
    first, second = (O.sample_indices(100, 10, seed) for seed in (1, 1))
    assert torch.equal(first, second) and not torch.equal(first, O.sample_indices(100, 10, 2))
    assert torch.equal(O.sample_indices(3, 7, 0, replacement=True).unique(), torch.arange(3))


@pytest.mark.notes("N1.45")
def test_an_epoch_uses_every_sample_once(generator):
    batches = O.epoch_batches(10, 4, generator)
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert torch.cat(batches).sort().values.tolist() == list(range(10))
    assert torch.cat(batches).tolist() != torch.cat(O.epoch_batches(10, 4, generator)).tolist()


@pytest.mark.notes("N1.46")
def test_variance_of_a_batch_by_enumeration():
    gradients = torch.from_numpy(np.random.default_rng(0).normal(size=12))
    without = torch.tensor(list(itertools.combinations(range(12), 3)))
    independent = torch.cartesian_prod(*[torch.arange(12)] * 3)
    means = [gradients[indices].mean(1) for indices in (without, independent)]
    for mean in means:
        torch.testing.assert_close(mean.mean(), gradients.mean(), rtol=1e-12, atol=1e-12)
    ratio = (means[0].var(correction=0) / means[1].var(correction=0)).item()
    assert round(ratio, 4) == 0.8182 and ratio == pytest.approx((12 - 3) / (12 - 1), abs=1e-12)
    # with replacement the variance falls like 1/b
    variance = gradients.var(correction=0).item()
    assert means[1].var(correction=0).item() == pytest.approx(variance / 3, rel=1e-12)


@pytest.mark.notes("N1.43", "N1.46")
def test_the_noise_ball_shrinks_with_the_batch(unchecked):
    U, S, minimizer = regression(64)
    generator = torch.Generator().manual_seed(0)
    replicas, ball = 12, {}
    for b in (1, 4, 16, 64):
        distances = []

        def gradient(theta, b=b, distances=distances):
            batch = torch.rand(replicas, 64, generator=generator).argsort(1)[:, :b]  # one sample a replica
            distances.append((theta["W"] - minimizer).square().sum(1).mean().item())
            u, s = U[batch], S[batch]
            residual = torch.einsum("kbi,ki->kb", u, theta["W"]) - s
            return {"W": torch.einsum("kbi,kb->ki", u, residual) / b}

        O.iterate(gradient, {"W": minimizer.repeat(replicas, 1)}, O.OPTIMIZERS["gd"], O.GradientDescent(0.05), 1000)
        ball[b] = sum(distances[200:]) / 800
    assert ball[1] == pytest.approx(1.2e-2, rel=0.3)
    assert ball[4] == pytest.approx(2.5e-3, rel=0.3)
    assert ball[16] == pytest.approx(4.9e-4, rel=0.3)
    assert ball[64] < 1e-25
    # yet from afar SGD comes close
    theta = {"W": torch.zeros(2, dtype=D)}

    def stochastic(theta):
        j = O.sample_indices(64, 1, generator)
        return {"W": U[j].T @ (U[j] @ theta["W"] - S[j])}

    theta = O.iterate(stochastic, theta, O.OPTIMIZERS["gd"], O.GradientDescent(0.05), 1000)
    assert (theta["W"] - minimizer).norm() < 0.5


@pytest.mark.notes("N1.62")
def test_the_penalty_adds_two_lambda_theta():
    strength, tau = 0.3, 0.1
    theta = {"w": torch.tensor([1.0, -2.0], dtype=D)}
    grads = {"w": grad(lambda w: penalty([w], strength))(theta["w"])}
    moved, _ = O.gradient_descent(theta, grads, O.start(theta), O.GradientDescent(tau))
    torch.testing.assert_close(moved["w"], (1 - 2 * tau * strength) * theta["w"], rtol=1e-14, atol=1e-14)
    w = torch.nn.Parameter(theta["w"].clone())
    w.grad = torch.zeros_like(w)
    torch.optim.SGD([w], lr=tau, weight_decay=2 * strength).step()
    torch.testing.assert_close(moved["w"], w.detach(), rtol=1e-14, atol=1e-14)


@pytest.mark.notes("N1.63")
def test_proximal_steps_give_exact_zeros(unchecked):
    rng = np.random.default_rng(3)
    x = torch.linspace(0, 1, 10, dtype=D)
    y = torch.sin(2 * math.pi * x) + 0.25 * torch.from_numpy(rng.normal(size=10))
    V, strength = torch.vander(x, 10, increasing=True), 0.01
    A, c = V.T @ V / 10, V.T @ y / 10
    hyper = O.ProximalGradient(1 / torch.linalg.eigvalsh(A).max().item(), strength)
    row, zero = O.OPTIMIZERS["proximal"], {"W": torch.zeros(10, dtype=D)}
    W = O.iterate(lambda p: {"W": A @ p["W"] - c}, zero, row, hyper, 6000)["W"]
    assert (W == 0).sum() == 7
    # on the exact zeros the gradient is within lambda, as optimality asks
    gradient = A @ W - c
    assert gradient[W == 0].abs().max() <= strength
    # plain subgradient steps on the same loss hit no zero
    plain = O.GradientDescent(hyper.learning_rate)

    def subgradient(p):
        return {"W": A @ p["W"] - c + strength * p["W"].sign()}

    W = O.iterate(subgradient, {"W": torch.full((10,), 0.1, dtype=D)}, O.OPTIMIZERS["gd"], plain, 2000)["W"]
    assert (W == 0).sum() == 0


def test_soft_threshold_is_the_proximal_map(generator):
    x = torch.randn(20, dtype=D, generator=generator)
    t = 0.4
    grid = torch.linspace(-4, 4, 80_001, dtype=D)
    best = torch.stack([grid[((grid - value).square() / 2 + t * grid.abs()).argmin()] for value in x])
    torch.testing.assert_close(O.soft_threshold(x, t), best, rtol=0, atol=1e-4)
    vector = torch.tensor([0.1, 0.4], dtype=D)
    rows = x.reshape(2, 10)
    for k in range(2):
        assert torch.equal(O.soft_threshold(rows, vector)[k], O.soft_threshold(rows[k], vector[k].item()))


@laws
@given(st.lists(st.floats(-10, 10), min_size=2, max_size=6), st.floats(0, 5))
def test_soft_threshold_is_nonexpansive_and_shrinks(values, threshold):
    x = torch.tensor(values, dtype=D)
    y = x.flip(0)
    moved = O.soft_threshold(x, threshold) - O.soft_threshold(y, threshold)
    assert moved.norm() <= (x - y).norm() + 1e-12
    assert (O.soft_threshold(x, threshold).abs() <= x.abs()).all()
    assert torch.equal(O.soft_threshold(-x, threshold), -O.soft_threshold(x, threshold))


@laws
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=5), st.floats(0.01, 1))
def test_the_first_step_of_adam_has_length_tau(values, rate):
    g = {"t": torch.tensor(values, dtype=D)}
    theta = {"t": torch.zeros(len(values), dtype=D)}
    moved, _ = O.adam(theta, g, O.start(theta, moments=2), O.Adam(rate))
    large = g["t"].abs() > 1e-3
    torch.testing.assert_close(moved["t"][large], -rate * g["t"].sign()[large], rtol=1e-4, atol=0)
    assert (moved["t"].abs() <= rate * (1 + 1e-9)).all()


def test_per_member_shapes_and_precision():
    value = torch.tensor([0.1, 0.2], dtype=D)
    assert O.per_member(0.3, torch.ones(2)) == 0.3
    assert O.per_member(value, torch.ones(2, 3, 4)).shape == (2, 1, 1)
    assert O.per_member(value, torch.ones(2)).dtype == torch.float32
    assert O.per_member(torch.tensor(0.1, dtype=D), torch.ones(2, 3)).shape == ()
    for wrong, like in ((value, torch.ones(3, 2)), (value, torch.ones(())), (torch.ones(2, 2), torch.ones(2, 2))):
        with pytest.raises(
            ShapeError, match=r"must be a number or have one entry for each member .* stack the members"
        ):
            O.per_member(wrong, like)


def test_numbers_are_checked():
    for make in (
        lambda: O.GradientDescent(-0.1),
        lambda: O.Momentum(-0.1),
        lambda: O.Adam(-0.1),
        lambda: O.ProximalGradient(-0.1, 1.0),
    ):
        with pytest.raises(ArgumentError, match=r"`learning_rate` must be at least 0, got -0\.1"):
            make()
    with pytest.raises(ArgumentError, match=r"`momentum` must be in \[0, 1\), got 1\.0"):
        O.Momentum(0.1, 1.0)
    with pytest.raises(ArgumentError, match=r"`first_decay` must be in \[0, 1\), got 1\.0"):
        O.Adam(first_decay=1.0)
    with pytest.raises(ArgumentError, match=r"`second_decay` must be in \[0, 1\), got -1\.0"):
        O.Adam(second_decay=-1.0)
    with pytest.raises(ArgumentError, match=r"`eps` must be greater than 0, got 0\.0"):
        O.Adam(eps=0.0)
    with pytest.raises(ArgumentError, match=r"`weight_decay` must be at least 0, got -0\.1"):
        O.AdamW(weight_decay=-0.1)
    with pytest.raises(ArgumentError, match=r"`second_decay` must be in \[0, 1\), got 1\.0"):
        O.RMSprop(second_decay=1.0)
    with pytest.raises(ArgumentError, match=r"`strength` must be at least 0, got -1\.0"):
        O.ProximalGradient(0.1, -1.0)


@pytest.mark.parametrize("name", O.OPTIMIZERS)
def test_names_must_match(name):
    row, theta = O.OPTIMIZERS[name], start()
    with pytest.raises(ArgumentError, match=r"`grads` must have the names of `params`, got a mismatch in \['W'\]"):
        row.update(theta, {"b": theta["b"]}, row.init(theta), HYPERS[name][0])
    with pytest.raises(ArgumentError, match="`params` must hold at least one tensor, got none"):
        row.init({})


def test_counts_are_checked():
    with pytest.raises(ArgumentError, match="`steps` must be at least 0, got -1"):
        O.iterate(parabola, start(), O.OPTIMIZERS["gd"], O.GradientDescent(0.1), -1)
    for sample in (O.sample_indices, O.epoch_batches):
        with pytest.raises(ArgumentError, match=r"`batch_size` must be at most the number of samples \(3\) when drawn"):
            sample(3, 4, 0)
        with pytest.raises(ArgumentError, match="`batch_size` must be at least 1, got 0"):
            sample(3, 0, 0)
        with pytest.raises(ArgumentError, match="`n` must be at least 1, got 0"):
            sample(0, 1, 0)


@pytest.mark.parametrize("name", ["gd", "adam"])
def test_the_iterates_are_what_iterate_ends_at(name):
    row = O.OPTIMIZERS[name]
    path = O.iterates(parabola, start(), row, row.hyper(0.1))
    for steps in range(4):
        theta, end = next(path), O.iterate(parabola, start(), row, row.hyper(0.1), steps)
        assert all(torch.equal(theta[key], value) for key, value in end.items())
