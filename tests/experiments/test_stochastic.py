from pathlib import Path

import pytest
import torch

from lamina.experiments import stochastic
from lamina.experiments.result import REGISTRY, ClaimError
from lamina.experiments.stochastic import adam_on_batches, cost_of_a_step, learning_rates, noise_ball, sampling
from scripts import script


def test_registered():
    expected = {
        "N1.40": learning_rates,
        "N1.41": cost_of_a_step,
        "N1.42": sampling,
        "N1.43": noise_ball,
        "N1.45": sampling,
        "N1.46": sampling,
        "N1.49": adam_on_batches,
    }
    assert all(REGISTRY[key] is function for key, function in expected.items())


@pytest.mark.notes("N1.42", "N1.45", "N1.46")
def test_means_of_batches_are_unbiased_with_the_predicted_variance(unchecked):
    result = sampling().check()
    variance = {row[:2]: row[3] for row in result.rows}
    assert round(variance[3, "without"] / variance[3, "with"], 4) == 0.8182
    for b in (2, 3, 4):
        assert variance[1, "with"] / variance[b, "with"] == pytest.approx(b, rel=1e-12)
    assert variance[12, "without"] < 1e-30
    assert sampling(draws=100).rows == sampling(draws=100).rows
    sampling(seed=1).check()


def test_a_step_that_takes_more_is_found_out(monkeypatch):
    monkeypatch.setattr(stochastic, "SGD", stochastic.GD)
    with pytest.raises(ClaimError, match="N with gradient descent, b with mini batches, 1 with SGD"):
        cost_of_a_step(count=200, batch_size=20, steps=5).check()


def test_a_sampler_that_does_not_draw_is_found_out(monkeypatch, unchecked):
    monkeypatch.setattr(stochastic, "sample_indices", lambda n, b, generator, again=False: torch.arange(b))
    with pytest.raises(ClaimError, match="the sampler has it too"):
        sampling(draws=10).check()


@pytest.mark.notes("N1.43", "N1.46")
def test_sgd_stays_in_a_ball_that_shrinks_with_the_batch(unchecked):
    result = noise_ball(seeds=4, steps=2400).check()
    square, rises = result.column("squared distance"), result.column("rises")
    # the catalogue has 1.2e-2, 2.5e-3, 4.9e-4 and 0 for other points of the same law
    assert square[:3] == [pytest.approx(expected, rel=0.35) for expected in (1.2e-2, 2.5e-3, 4.9e-4)]
    assert square[3] < 1e-15
    assert rises[0] > 0.3 and rises[3] == 0
    assert noise_ball(seeds=2, steps=50).rows == noise_ball(seeds=2, steps=50).rows


def test_a_smaller_step_gives_a_smaller_ball(unchecked):
    """The mean squared distance is proportional to the step size; far from that, the claim on theory fails."""
    sizes = [noise_ball(seeds=4, steps=3000, learning_rate=rate).rows[0][1] for rate in (0.1, 0.05)]
    assert sizes[0] / sizes[1] == pytest.approx(2, rel=0.3)
    large = noise_ball(seeds=4, steps=1000, learning_rate=0.9)
    assert not large.claims[1].holds


@pytest.mark.notes("N1.40")
def test_rates_that_fall_bring_sgd_to_the_minimizer(unchecked):
    result = learning_rates(seeds=6, steps=800).check()
    rows = {row[0]: row[1:] for row in result.rows}
    assert rows["constant"][:3] == (0.2, 0.2, 0.2)
    assert rows["warmup"][0] == pytest.approx(0.2 / 80) and rows["warmup"][2] == 0.2
    assert rows["cosine"][2] == 0 and rows["one-cycle"][0] < 0.002
    assert 0.003 < rows["constant"][3] < 0.03 and rows["cosine"][3] < 2e-3
    assert learning_rates(seeds=2, steps=50).rows == learning_rates(seeds=2, steps=50).rows


def test_rates_that_do_not_fall_are_found_out(monkeypatch, unchecked):
    monkeypatch.setattr(stochastic, "rates", lambda schedule, rate, steps, epoch: torch.full((steps,), rate))
    with pytest.raises(ClaimError, match="warm-up starts small"):
        learning_rates(seeds=1, steps=50).check()


@pytest.mark.notes("N1.41")
def test_a_step_computes_n_or_b_or_one_gradients():
    result = cost_of_a_step(count=2000, batch_size=64, steps=40).check()
    assert [row[:4] for row in result.rows] == [
        ("gd", 2000, 2000, 1),
        ("minibatch", 64, 64, 31),
        ("sgd", 1, 1, 2000),
    ]


@pytest.mark.notes("N1.49")
def test_adam_takes_its_gradients_from_mini_batches():
    result = adam_on_batches(seeds=1, epochs=6, batch_sizes=(512, 64)).check()
    assert [row[2] for row in result.rows] == [6, 48, 48, 48]
    assert max(result.column("difference")) < 1e-6
    whole, *parts = result.column("validation loss")
    assert whole > 0.3 > 0.28 > max(parts)
    assert (
        adam_on_batches(seeds=1, epochs=1, batch_sizes=(512,)).rows
        == adam_on_batches(seeds=1, epochs=1, batch_sizes=(512,)).rows
    )


@pytest.mark.slow
@pytest.mark.notes("N1.49")
def test_adam_on_mini_batches_at_full_size():
    result = adam_on_batches(seeds=5).check()
    losses = {row[:2]: row[3] for row in result.rows}
    assert losses[16, "epoch"] < 0.03 < 0.2 < losses[512, "without-replacement"]


def test_another_adam_is_found_out(monkeypatch):
    numbers = stochastic.Adam
    monkeypatch.setattr(stochastic, "Adam", lambda rate: numbers(rate, first_decay=0.8))
    with pytest.raises(ClaimError, match=r"the trainer's Adam on batches is Alg\. 5"):
        adam_on_batches(seeds=1, epochs=1, batch_sizes=(512, 64)).check()


def race(*options):
    return script(Path(__file__).resolve().parents[2] / "examples" / "optimizers_race.py", *options)


def test_the_race_is_run_and_won_by_batches():
    done = race()
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()[1:]]
    assert [line[0] for line in lines] == ["gd", "gd", "sgd", "minibatch", "minibatch", "adam"]
    steps, losses = [[float(line[place]) for line in lines] for place in (-4, -3)]
    assert steps == [10, 10, 4000, 200, 200, 200]
    assert losses[0] > losses[1] > max(losses[2:])


@pytest.mark.slow
def test_a_promise_of_the_race_that_is_not_kept_is_a_failure():
    assert race("--target", "1.01").returncode == 1
