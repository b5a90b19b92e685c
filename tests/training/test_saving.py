"""Checkpoints come soon, then less often, and take less than 1 % of the time."""

import pytest

from lamina.training.loop import Progress
from lamina.training.saving import LONGEST, seldom


def calls(seconds, cost, until, tick=0.25):
    """Give the moments at which something was written that takes `cost` seconds, asked every `tick` seconds."""
    now, found = 0.0, []

    def write(progress):
        nonlocal now
        found.append(now)
        now += cost

    maybe = seldom(seconds, write, lambda: now)
    while now < until:
        now += tick
        maybe(Progress())
    return found


def test_the_first_comes_after_two_seconds_and_the_pauses_double_up_to_the_usual_one():
    assert calls(30.0, 0.0, until=130) == [2, 6, 14, 30, 60, 90, 120]


def test_what_is_slow_to_write_takes_a_hundredth_of_the_time():
    found = calls(30.0, 1.0, until=1000)
    assert found[:3] == [2.0, 103.0, 204.0]
    assert len(found) * 1.0 / 1000 <= 0.01 + 1e-3


def test_even_the_slowest_is_written_every_ten_minutes():
    found = calls(30.0, 60.0, until=3000)
    assert found[1] - (found[0] + 60) == LONGEST


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_a_shorter_usual_pause_holds_from_the_beginning(seconds):
    assert calls(seconds, 0.0, until=2, tick=0.5) == ([0.5, 1.0, 1.5, 2.0] if not seconds else [1.0, 2.0])
