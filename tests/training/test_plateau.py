"""The plateau schedule against torch's, by hand, and in runs that continue."""

import math

import pytest
import torch

import lamina
from lamina.training.loop import Progress
from lamina.training.plateau import Plateau
from lamina.training.recipe import MiniBatch, Recipe, Schedule
from lamina.training.runtime import Runtime


def history(losses):
    return [{"step": 10 * k, "loss": 0.0, "validation_loss": loss} for k, loss in enumerate(losses, 1)]


def synthetic(count, seed):
    """Fall and get stuck again and again, with noise."""
    g = torch.Generator().manual_seed(seed)
    noise = torch.rand(count, generator=g, dtype=torch.float64)
    return [(0.5 ** (k // 9) + 0.01 * float(noise[k])) for k in range(count)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "wait,factor,final,improvement", [(1, 0.5, 0.0, 0.0), (3, 0.1, 1e-3, 1e-4), (2, 0.7, 0.2, 0.05)]
)
def test_the_rates_are_those_of_torch(wait, factor, final, improvement, seed):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2.0)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=factor, patience=wait - 1, threshold=improvement, min_lr=2.0 * final, eps=0.0
    )
    losses = synthetic(60, seed)
    left = Plateau(Schedule("plateau", factor=factor, wait=wait, final=final, improvement=improvement))
    seen = []
    for checks, loss in enumerate(losses, 1):
        theirs.step(loss)
        seen.append(left(history(losses[:checks])))
        assert 2.0 * seen[-1] == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-12)
    assert len(set(seen)) > 3 and seen[-1] == Plateau(left.schedule)(history(losses))  # of the history alone


def test_what_is_not_a_number_is_no_improvement_and_negative_losses_are_fine():
    left = Plateau(Schedule("plateau", wait=2, factor=0.5, improvement=0.1))
    assert left(history([1.0, math.nan, None])) == 0.5
    assert left(history([-1.0, -1.05, -1.2])) == 1.0  # fewer rows: it begins anew; the last one is 20 % better
    assert left(history([-1.0, -1.05, -1.09])) == 0.5
    assert Plateau(Schedule("plateau", wait=1))([{"step": 1, "loss": 1.0}, {"step": 2, "loss": 1.0}]) == 0.1
    assert Plateau(Schedule("cosine", wait=1))(history([1.0, 1.0, 1.0])) == 1.0


def test_checks_before_a_schedule_began_do_not_count():
    losses = history([1.0, 1.0, 1.0, 1.0])
    assert Plateau(Schedule("plateau", wait=3))(losses) == 0.1
    assert Plateau(Schedule("plateau", wait=3, since=10))(losses) == 1.0


RECIPE = Recipe(
    MiniBatch(0.5), epochs=8, batch_size=16, schedule=Schedule("plateau", factor=0.5, wait=2, improvement=0.1)
)


def net():
    return lamina.build("fnn", inputs=2, outputs=2, hidden=8)


@pytest.fixture(scope="module")
def split():
    return lamina.load("moons", count=120).split()


def test_a_run_follows_its_history_and_records_the_rate(split):
    at = Progress()
    for _ in lamina.train(net(), split, RECIPE, at=at):
        pass
    found = [row["learning_rate"] for row in at.rows]
    left = [1.0] + [Plateau(RECIPE.schedule)(at.rows[:checks]) for checks in range(1, 8)]
    assert found == [0.5 * share for share in left] and len(set(found)) > 2  # the rate of the steps before each check


def test_a_run_is_resumed_bit_for_bit_and_trained_longer_from_the_lowered_rate(split, tmp_path):
    whole = lamina.fit(net(), split, RECIPE, folder=tmp_path / "whole")
    short = lamina.training.recipe.with_options(RECIPE, epochs=5)
    lamina.fit(net(), split, short, folder=tmp_path / "half")
    longer = lamina.resume(tmp_path / "half", data=split, epochs=8)
    for name in ("learning_rate", "loss", "validation_loss"):
        assert longer.history[name] == whole.history[name], name
    again = lamina.fit(net(), split, short, folder=tmp_path / "other")
    assert again.history["learning_rate"][-1] < 0.5
    fresh = lamina.resume(tmp_path / "other", data=split, epochs=6, options={"learning_rate": 0.25})
    assert fresh.history["learning_rate"][-1] == 0.25  # a rate that is set begins here


def test_a_run_killed_between_two_checks_goes_on_bit_for_bit(split, tmp_path):
    whole = lamina.fit(net(), split, RECIPE, folder=tmp_path / "whole")
    batches = 5

    def stop():
        return (tmp_path / "half" / "status.json").is_file() and seen[-1] == 5 * batches + 2

    seen = [0]
    run = lamina.training.fit.fitting(
        net(), split, RECIPE, folder=tmp_path / "half", observers=[lambda event: seen.append(event.step)], stop=stop
    )
    for _ in run:
        pass
    assert seen[-1] == 5 * batches + 2
    again = lamina.resume(tmp_path / "half", data=split)
    assert again.history["learning_rate"] == whole.history["learning_rate"]
    assert again.history["validation_loss"] == whole.history["validation_loss"]


@pytest.mark.cuda
def test_captured_updates_follow_the_plateau(split):
    found = []
    for executor in ("eager", "captured"):
        at, runtime = Progress(), Runtime(device="cuda")
        recipe = lamina.training.recipe.with_options(RECIPE, optimizer="adam", learning_rate=0.05)
        for _ in lamina.train(net(), split, recipe, executor, runtime=runtime, at=at):
            pass
        assert at.kind == executor
        found.append([(row["learning_rate"], row["loss"]) for row in at.rows])
    torch.testing.assert_close(torch.tensor(found[0]), torch.tensor(found[1]), rtol=1e-3, atol=1e-4)
    assert len({rate for rate, _ in found[0]}) > 2
