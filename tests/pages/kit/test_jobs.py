"""Jobs: rows come in order, stop keeps them, failures are sentences, and a full house waits."""

import contextlib
import multiprocessing
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from multiprocessing import spawn
from types import ModuleType

import pytest

from counting import count, fill, length, rarely
from lamina._errors import DataError
from lamina.pages.kit import _jobs as jobs
from lamina.pages.kit._jobs import Job, train
from lamina.pages.kit._play import wish


class Pressed:
    """Buttons, one of which has been pressed."""

    def __init__(self, text):
        self.value, self.state = wish(text), "idle"


def finish(job, seconds=60.0):
    end = time.monotonic() + seconds
    while job.state in ("waiting", "running") and time.monotonic() < end:
        job.poll()
        time.sleep(0.01)
    return job


def test_all_rows_come_in_order_and_the_end_is_known():
    job = finish(Job(count, to=25, pause=0.001))
    assert job.rows == list(range(1, 26)) and job.state == "done" and job.words == "done"


def test_the_last_row_alone_is_kept_when_asked():
    assert finish(Job(count, keep="last", to=25, pause=0.001)).rows == [25]


def test_a_failure_is_a_sentence_and_keeps_the_rows():
    job = finish(Job(count, to=5, pause=0.0, fail_at=4))
    assert job.state == "failed" and job.rows == [1, 2, 3] and job.words == "ValueError: 4 cannot be counted"


def test_stop_ends_the_process_and_keeps_the_rows():
    job = Job(count, to=10_000, pause=0.001)
    while not job.rows:
        job.poll()
    process = job._process
    job.stop()
    assert job.state == "stopped" and job.rows[0] == 1 and len(job.rows) < 10_000
    with pytest.raises(ValueError, match="process object is closed"):
        process.is_alive()


def test_a_job_that_is_stopped_while_it_starts_does_not_run(monkeypatch):
    begun, go, neutral = threading.Event(), threading.Event(), jobs._neutral_main

    @contextlib.contextmanager
    def slowly():
        begun.set()
        assert go.wait(60)
        with neutral():
            yield

    monkeypatch.setattr(jobs, "_neutral_main", slowly)
    job = Job(count, to=10_000, pause=0.001)
    with ThreadPoolExecutor(2) as pool:
        started = pool.submit(job.poll)
        assert begun.wait(60)
        stopped = pool.submit(job.stop)
        wait([stopped], 0.1)
        go.set()
        assert started.result(60) is True and stopped.result(60) is None
    assert job.state == "stopped" and job._process is None and job._wire is None


@pytest.mark.parametrize("way", sorted({"forkserver", "spawn"} & {*multiprocessing.get_all_start_methods()}))
def test_a_job_does_not_run_the_notebook_again(tmp_path, monkeypatch, way):
    """Not even the one that marimo puts in the place of the main module while the process starts."""
    seen, notebook = tmp_path / "seen", ModuleType("__main__")
    notebook.__file__ = str(tmp_path / "page.py")
    (tmp_path / "page.py").write_text(f"open({str(seen)!r}, 'a').write(__name__ + ' ')")
    whole = spawn.get_preparation_data

    def opened(name):
        monkeypatch.setitem(sys.modules, "__main__", notebook)
        return whole(name)

    monkeypatch.setattr(spawn, "get_preparation_data", opened)
    monkeypatch.setattr(jobs, "context", lambda: multiprocessing.get_context(way))
    assert finish(Job(count, to=3, pause=0.0)).rows == [1, 2, 3] and not seen.exists()
    other = multiprocessing.get_context(way).Process(target=len, args=("",))
    other.start(), other.join(60)
    assert seen.read_text() == "__mp_main__ ", "who starts a process without us has the main module there"


def test_a_job_that_waits_is_not_started_to_be_stopped(monkeypatch):
    job = Job(count, to=1, pause=0.0)
    monkeypatch.setattr(Job, "start", lambda self: pytest.fail("it must not start"))
    job.stop()
    assert job.state == "stopped"


def test_a_full_house_waits_in_the_order_of_arrival(monkeypatch):
    monkeypatch.setattr(jobs, "PLACES", 1)
    first, second, third = (Job(count, to=100, pause=0.01) for _ in range(3))
    third.poll(), second.poll(), first.poll()
    assert [job.state for job in (first, second, third)] == ["running", "waiting", "waiting"]
    assert second.words == "starting" and third.words == "waiting for a free place; 1 ahead of you"
    first.stop(), third.poll(), second.poll()
    assert second.state == "running" and third.state == "waiting" and third.words == "starting"
    jobs.stop_all()
    assert second.state == "stopped"
    third.stop()


def test_a_job_nobody_asks_about_loses_its_place(monkeypatch):
    monkeypatch.setattr(jobs, "PLACES", 1)
    monkeypatch.setattr(jobs, "FORGOTTEN", 0.05)
    running = Job(count, to=1000, pause=0.01)
    running.poll()
    gone, waits = Job(count, to=1, pause=0.0), Job(count, to=1, pause=0.0)
    running.stop()
    time.sleep(0.1)
    assert finish(waits).state == "done"
    gone.stop()


def test_a_switch_starts_stops_and_starts_afresh():
    training = train(count)
    assert training.show(lambda job: (job.state, list(job.rows)), running=False, to=3) == ("idle", [])
    ran = training.show(lambda job: (job.state, list(job.rows)), running=True, to=3, pause=0.0)
    assert ran == ("done", [1, 2, 3]), "outside of a page, showing waits for the end"
    kept = training.show(lambda job: (job.state, list(job.rows)), running=False, to=3, pause=0.0)
    assert kept == ("done", [1, 2, 3])
    other = training.show(lambda job: (job.state, list(job.rows)), running=False, to=4, pause=0.0)
    assert other == ("idle", []), "other settings, no rows yet"


def test_keep_is_checked():
    with pytest.raises(ValueError, match=r"`keep` must be one of 'all', 'last', got 'first'"):
        Job(count, keep="first", to=1)


def test_a_job_goes_on_when_another_cell_watches_it_now():
    job = Job(count, to=10_000, pause=0.001)
    job.poll()
    job.watcher = object()
    jobs._hand_over(job, watcher=object())
    assert job.state == "running", "somebody else watches"


def test_a_job_that_nobody_watches_any_more_stops(monkeypatch):
    monkeypatch.setattr(jobs, "GRACE", 0.1)
    job = Job(count, to=10_000, pause=0.001)
    while not job.rows:  # a process starts when the machine has time for it
        job.poll()
    me = job.watcher = object()
    jobs._hand_over(job, me)
    assert job.state == "stopped" and job.rows


def test_the_next_place_goes_to_the_visitor_who_has_least(monkeypatch):
    monkeypatch.setattr(jobs, "PLACES", 2)

    def job(who, to=2000):
        monkeypatch.setattr(jobs, "visitor", lambda: who)
        return Job(count, to=to, pause=0.01)

    first, second, third, modest = job("greedy"), job("greedy"), job("greedy"), job("modest")
    for one in (first, second, third, modest):
        one.poll()
    assert [one.state for one in (first, second, third, modest)] == ["running", "waiting", "waiting", "running"]
    modest.stop()
    assert not second.poll(), "nobody has more than half of the places"
    other = job("other")
    assert other.words == "starting" and second.words == "waiting for a free place; 1 ahead of you"
    assert other.poll() and other.state == "running"
    first.stop()
    assert second.poll() and second.state == "running"
    for one in (first, second, third, modest, other):
        one.stop()


def test_a_visitor_has_so_many_jobs_in_line(monkeypatch):
    monkeypatch.setattr(jobs, "visitor", lambda: "greedy")
    line = [Job(count, to=1) for _ in range(jobs.WAITING + 1)]
    assert line[-1].state == "failed" and line[-1].words == "You have 8 jobs waiting already: stop one of them first."
    for one in line:
        one.stop()


def test_a_job_ends_after_its_time_and_keeps_its_rows(monkeypatch):
    job = Job(count, to=100_000, pause=0.001)
    while not job.rows:
        job.poll()
    monkeypatch.setattr(jobs, "LONGEST", 0.0)
    job.poll()
    assert job.state == "failed" and job.rows
    assert job.words == "The work was stopped after 0 seconds, the most that a page has: use the command line."


def test_a_job_ends_after_its_turn_when_another_visitor_waits(monkeypatch):
    monkeypatch.setattr(jobs, "PLACES", 1)
    monkeypatch.setattr(jobs, "TURN", 0.0)
    monkeypatch.setattr(jobs, "visitor", lambda: "first")
    job = Job(count, to=100_000, pause=0.001)
    job.poll(), job.poll()
    assert job.state == "running", "nobody waits"
    monkeypatch.setattr(jobs, "visitor", lambda: "second")
    other = Job(count, to=1)
    job.poll()
    assert job.words == "The work was stopped after 0 seconds, since others are waiting: use the command line."
    assert other.poll()
    other.stop()


@pytest.mark.linux
def test_a_job_takes_only_so_much_memory(monkeypatch):
    monkeypatch.setattr(jobs, "memory", lambda: 2**28)
    job = finish(Job(fill, size=2**29))
    assert job.state == "failed"
    assert job.words == "The work needs more than 0.3 GB of memory, the most that a page has: use the command line."
    assert finish(Job(fill, size=2**20)).rows == [2**20]


def test_a_function_is_called_apart_and_its_refusals_come_back():
    assert jobs._apart(length, {"word": "abc"}) == 3
    with pytest.raises(DataError, match="an empty word has no length"):
        jobs._apart(length, {"word": ""})
    with pytest.raises(DataError, match="TypeError: object of type 'int' has no len"):
        jobs._apart(length, {"word": 3})


def test_temporary_files_of_a_job_lie_on_the_shelf():
    from lamina.pages.kit._keeping import SHELF

    assert jobs._apart(tempfile.gettempdir, {}) == str(SHELF.root)


def test_memory_is_shared_by_all_places(monkeypatch):
    monkeypatch.setattr(jobs, "PLACES", 2)
    monkeypatch.setattr(jobs, "free_memory", lambda: 100 * 2**30)
    assert jobs.memory() == 2 * 2**30
    monkeypatch.setattr(jobs, "free_memory", lambda: 5 * 2**30)
    assert jobs.memory() == 2**30


def test_a_paused_job_rests_gives_up_its_place_and_goes_on_by_single_rows(monkeypatch):
    monkeypatch.setattr(jobs, "PLACES", 1)
    job = finish(Job(count, to=5, pause=0.0, pause_after=2))
    assert job.state == job.words == "paused" and job.rows == [1, 2]
    assert finish(Job(count, to=1, pause=0.0)).state == "done", "its place is free"
    job.go_on(1)
    assert finish(job).rows == [1, 2, 3] and job.state == "paused"
    job.go_on()
    assert finish(job).rows == [1, 2, 3, 4, 5] and job.state == "done"


def test_step_by_step_every_item_is_shown():
    training = train(rarely)
    seen = []
    for press in ("step 1", "step 2", "step 3"):
        seen.append(training.show(lambda job: list(job.rows), running=Pressed(press), to=5, seconds=100.0))
    assert seen == [[1], [1, 2], [1, 2, 3]]
    assert training.show(lambda job: list(job.rows), running=Pressed("play 4"), to=5, seconds=100.0) == [1, 2, 3]
    assert train(rarely).show(lambda job: list(job.rows), running=True, to=5, seconds=100.0) == [1]


def test_a_running_job_can_be_paused_and_ended():
    job = Job(count, to=10_000, pause=0.001)
    while not job.rows:
        job.poll()
    job.pause()
    assert finish(job).state == "paused" and job.rows == list(range(1, len(job.rows) + 1)) and len(job.rows) < 10_000
    job.stop()
    assert job.state == "stopped"


def test_the_buttons_start_pause_step_and_replay():
    from lamina.pages.kit import play

    training, go = train(count), play("Count")
    look = lambda job: (go.state, list(job.rows))  # noqa: E731

    def press(text, **settings):
        go._update(text)
        return training.show(look, running=go, **{"to": 3, "pause": 0.0} | settings)

    assert press("") == ("idle", [])
    assert press("step 1") == ("paused", [1])
    assert press("step 2") == ("paused", [1, 2])
    assert press("step 2") == ("paused", [1, 2]), "the cell ran again for another reason"
    assert press("play 3") == ("done", [1, 2, 3])
    assert press("again 4") == ("done", [1, 2, 3])
    assert press("again 4", to=2) == ("done", [1, 2]), "other settings start afresh while it plays"
    assert press("pause 5", to=4) == ("idle", []), "and not while it rests"
    assert press("step 6", to=4) == ("paused", [1])
    assert press("step 6", to=5) == ("idle", [])
    assert press("play 7", to=1) == ("done", [1]) and press("play 8", to=1) == ("done", [1])
    training.stop()


def test_of_many_paused_jobs_of_a_visitor_the_first_ends(monkeypatch):
    monkeypatch.setattr(jobs, "RESTING", 2)
    monkeypatch.setattr(jobs, "visitor", lambda: "forgetful")
    paused = [finish(Job(count, to=5, pause=0.0, pause_after=1)) for _ in range(3)]
    assert [job.state for job in paused] == ["stopped", "paused", "paused"] and paused[0].rows == [1]
    for job in paused:
        job.stop()
    assert not jobs._LINE._resting
