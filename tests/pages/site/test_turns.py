"""Turns: who has computed little goes first, and those who compute all the time share one place."""

import asyncio

import pytest

from lamina.pages.site import _turns as turns
from lamina.pages.site._turns import Turns


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def asked(hall, key, who):
    return asyncio.ensure_future(hall.begin(key, who))


def test_a_visitor_computes_one_page_at_a_time_and_others_need_not_wait():
    async def story():
        hall = Turns(Clock())
        first, second, other = asked(hall, "1", "a"), asked(hall, "2", "a"), asked(hall, "3", "b")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert first.done() and not second.done() and other.done()
        assert await hall.begin("1", "a"), "what comes while a page computes is taken together"
        hall.end("1")
        assert await second and hall.computes("2") and not hall.computes("1")

    asyncio.run(story())


def test_seconds_are_shared_by_those_who_compute_and_come_back():
    async def story():
        clock = Clock()
        hall = Turns(clock)
        await hall.begin("1", "a"), await hall.begin("2", "b")
        clock.now = 2.0
        assert hall.left("a") == pytest.approx(turns.HAND - 1.0 + 2.0 * turns.BACK), "half of the two seconds"
        hall.end("1"), hall.end("2")
        clock.now = 60.0
        assert hall.left("a") == turns.HAND and not hall._left, "nobody is remembered for ever"

    asyncio.run(story())


def test_those_who_have_used_their_seconds_share_one_place_that_rests():
    async def story():
        clock = Clock()
        hall = Turns(clock)
        hall._left = {"x": -1.0, "y": -1.0}
        first, second = asked(hall, "1", "x"), asked(hall, "2", "y")
        await asyncio.sleep(0.01)
        assert first.done() and not second.done()
        clock.now = 1.0
        readers = [asked(hall, name, name) for name in "abcd"]
        await asyncio.sleep(0.01)
        assert all(reader.done() for reader in readers), "whoever has seconds left passes by"
        hall.end("1")
        await asyncio.sleep(0.01)
        clock.now = 1.0 + turns.REST - 0.1
        await asyncio.sleep(0.15)
        assert not second.done(), "the place rests for seven times as long as it was used"
        clock.now = 1.0 + turns.REST + 0.1
        assert await asyncio.wait_for(second, 5)

    asyncio.run(story())


def test_who_waits_too_long_or_too_often_is_told_so(monkeypatch):
    async def story():
        clock = Clock()
        hall = Turns(clock)
        assert await hall.begin("1", "a")
        waiting = [asked(hall, f"p{i}", "a") for i in range(turns.WAITING)]
        await asyncio.sleep(0)
        assert not await hall.begin("one more", "a")
        monkeypatch.setattr(turns, "LONGEST", 1e9)
        clock.now = turns.PATIENCE + 1
        assert await asyncio.gather(*waiting) == [False] * turns.WAITING
        assert not hall._asked

    asyncio.run(story())


def test_a_page_that_computes_for_very_long_keeps_nobody_waiting():
    async def story():
        clock = Clock()
        hall = Turns(clock)
        assert await hall.begin("1", "a")
        clock.now = turns.LONGEST + 0.1
        assert await asyncio.wait_for(hall.begin("2", "a"), 5)

    asyncio.run(story())


def test_a_reader_who_leaves_while_waiting_leaves_nothing_behind():
    async def story():
        hall = Turns(Clock())
        assert await hall.begin("1", "a")
        waiting = asked(hall, "2", "a")
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert not hall._asked and not hall.computes("2")

    asyncio.run(story())


def test_who_has_used_up_the_seconds_waits_until_half_of_them_are_back():
    async def story():
        clock = Clock()
        hall = Turns(clock)
        assert await hall.begin("1", "x")
        clock.now = turns.HAND / (1 - turns.BACK) + 0.1
        hall.end("1")
        assert hall.left("x") < 0
        clock.now += 0.4 * turns.HAND / turns.BACK
        assert 0 < hall.left("x") < turns.HAND / 2 and await hall.begin("1", "x") and not hall._busy["1"].light
        hall.end("1")
        clock.now += 0.2 * turns.HAND / turns.BACK
        assert hall.left("x") > turns.HAND / 2 and await hall.begin("1", "x") and hall._busy["1"].light

    asyncio.run(story())


def test_a_flood_gets_no_more_than_what_comes_back():
    """Twenty pages of one visitor ask without a pause, each for a tenth of a second, while another one is there."""

    async def story():
        clock = Clock()
        hall = Turns(clock)
        hall._left = {"flood": -1.0, "reader": 0.5}
        used, waiting = 0.0, {f"p{i}": asked(hall, f"p{i}", "flood") for i in range(20)}
        while clock.now < 80.0:
            hall._left["reader"] = 0.5
            await asyncio.sleep(0)
            hall._admit()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            key = next((key for key, one in waiting.items() if hall.computes(key)), None)
            clock.now += 0.1
            if key is not None:
                used += 0.1
                hall.end(key)
                waiting[key].cancel()
                waiting[key] = asked(hall, key, "flood")
        for one in waiting.values():
            one.cancel()
        await asyncio.gather(*waiting.values(), return_exceptions=True)
        assert 80.0 / (1 + turns.REST) <= used <= 80.0 * turns.BACK

    asyncio.run(story())
