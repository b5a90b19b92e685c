"""A search on a Dask cluster: the same study, whoever is killed, and a sentence when the cluster is gone."""

import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import CancelledError

import pytest

from lamina._errors import MissingExtraError, RunError
from lamina.data.load import load
from lamina.studies.engines.chunk import Chunk
from lamina.studies.engines.dask import Dask, _About, _shared_gpus, connect
from lamina.studies.engines.job import Job
from lamina.studies.records import Trial
from lamina.studies.search import go_on, plan, search
from lamina.training.runtime import Runtime
from studies.engines.killing import begin, cluster, count, same, straight, survive, wait_for
from studies.small import RATES, recorded


def pids(client):
    """The processes of the workers that are there."""
    return list(client.run(os.getpid, on_error="ignore").values())


@pytest.mark.faults("SIGKILL")
@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize(("kills", "own"), [(2, 1), (8, 2), (40, 10)])
def test_killed_workers_and_a_killed_search_lose_nothing(tmp_path, kills, own):
    with cluster(2) as address, connect(address) as client:
        place = f"dask://{address}"
        study, trials, _, hit = survive(tmp_path / "s", place, lambda _: pids(client), kills, own, epochs=12)
        assert hit == kills + own
        same(study, straight(tmp_path / "straight", trials, epochs=12), trials)


@pytest.mark.posix
def test_a_client_of_the_user_finds_what_one_process_finds(tmp_path, found):
    with cluster(2) as address, connect(address) as client:
        _finds_the_same(client, tmp_path, found)


def _finds_the_same(client, folder, found):
    """Search with a client of the user, and with data that the workers find changed."""
    seen = []
    problem, study = plan("fnn", load("moons", count=240), RATES, options={"epochs": 4}, folder=folder / "t")
    go_on(study, problem, on=client, runtime=Runtime(threads=1), watch=lambda _, moment: seen.append(moment))
    assert client.status == "running"  # it is the user's
    assert recorded(study) == Counter(range(8)) and study.best.number == found.best.number
    assert [r.outcome.curve for r in study.results] == [r.outcome.curve for r in found.results]
    assert study.test["metrics"] == found.test["metrics"]
    assert any(moment is not None and moment.workers in (1, 2) for moment in seen)  # one may still be starting
    problem, study = plan("fnn", load("moons", count=60), RATES, options={"epochs": 1}, folder=folder / "u")
    study.description["problem"]["data"]["fingerprint"] = "another"
    with pytest.raises(RunError, match="a worker could not train its networks: the data in moons have changed"):
        go_on(study, problem, on=client)


def test_a_search_without_a_scheduler_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("lamina.studies.engines.dask.CONNECT", 0.5)
    with pytest.raises(
        RunError, match=r"no Dask scheduler answers at 127.0.0.1:9: start one with  dask scheduler  and"
    ):
        search("fnn", "moons", {"learning_rate": [1e-3]}, folder=tmp_path / "s", on="dask://127.0.0.1:9")


def test_without_the_extra_its_name_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        MissingExtraError, match=r"a search on Dask needs the package 'distributed': .*lamina-nn\[cluster\]"
    ):
        connect("127.0.0.1:1")


@pytest.mark.faults("lost network")
@pytest.mark.slow
@pytest.mark.posix
def test_a_scheduler_that_is_gone_is_a_sentence_and_the_search_goes_on_elsewhere(tmp_path):
    with cluster(1) as address:
        process = begin(tmp_path / "s", 16, 40, f"dask://{address}")
        wait_for(lambda: count(tmp_path / "s") > 0, process)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1 and "lamina: the Dask scheduler no longer answers: start it again and" in out
    assert f"Continue with:  lamina search --resume {tmp_path / 's'} --on dask://{address}" in out
    assert 0 < count(tmp_path / "s") < 16
    again = subprocess.run([sys.executable, "-m", "lamina", "search", "--resume", tmp_path / "s", "--on", "processes:1",
                            "--threads", "1", "--batch", "2"])  # fmt: skip
    from lamina.studies.study import Study

    assert again.returncode == 0
    same(Study.open(tmp_path / "s"), straight(tmp_path / "straight", 16, epochs=40), 16)


@pytest.mark.posix
def test_a_cluster_without_workers_is_waited_for_and_then_a_sentence(tmp_path, monkeypatch):
    told = []
    with cluster(0) as address, connect(address) as client:
        monkeypatch.setattr("lamina.studies.engines.dask.ALONE", 1.2)
        with pytest.raises(
            RunError,
            match="the Dask cluster has had no worker for 1 seconds: start some with  dask worker  and continue",
        ):
            search("fnn", "moons", {"learning_rate": [1e-3]}, folder=tmp_path / "s", on=client)
        engine = Dask(client, Job({}, ("loss", "minimize"), None, Runtime()), expected=2)

        def tell(*moment):
            told.append((moment, engine.workers, engine.present))
            if len(told) == 4:  # a queue is waited for, longer than a cluster that has nobody
                raise KeyboardInterrupt

        with engine, pytest.raises(KeyboardInterrupt):
            engine.ready(tell)
    assert told == 4 * [((-1, None), 2, 0)]  # two will come, and nobody is there yet


@pytest.mark.slow
@pytest.mark.posix
def test_networks_that_end_every_worker_are_given_up(tmp_path):
    """The search gives them to one worker after another, and then says what it takes to be the reason."""

    class Deadly(Job):
        def attempt(self, chunk, tell):
            os._exit(1)

    with cluster(2) as address, connect(address) as client:
        job = Deadly({}, ("loss", "minimize"), None, Runtime())
        with Dask(client, job) as engine:
            assert engine.ready(lambda *_: None) == "cpu"
            with pytest.raises(
                RunError, match=r"10 workers have ended over the same networks \(Dask saw each of them end"
            ):
                list(engine(iter([Chunk(1, (Trial(0, {}),))]), lambda *_: None))
        assert engine.lost >= 10


def test_a_result_that_is_lost_before_it_is_fetched_is_waited_for():
    class Client:
        status = "running"

    class Future:
        def __init__(self, error):
            self.error = error

        def result(self, timeout):
            raise self.error

    engine = Dask(Client(), Job({}, ("loss", "minimize"), None, Runtime()))
    late, gone = Future(TimeoutError()), Future(CancelledError())
    assert engine._result(late) is late
    assert engine._result(Future(ValueError("no."))) == "ValueError: no"
    with pytest.raises(RunError, match="the Dask scheduler no longer answers: start it again and continue the search"):
        engine._result(gone)
    Client.status = "closed"
    with pytest.raises(RunError, match="what was recorded is not trained again"):
        engine._result(late)


def test_short_chunks_are_sent_ahead_once_everybody_has_one():
    engine = Dask(None, Job({}, ("loss", "minimize"), None, Runtime()))
    engine._known = dict.fromkeys("abc", _About(None, 0))
    engine._flying = {"1": (None, None, "a"), "2": (None, None, "b"), "3": (None, None, "b")}
    assert list(engine._room()) == ["c"]
    engine._ahead = 1
    assert list(engine._room()) == ["c", "a", "c"]


def test_workers_of_one_machine_share_its_gpus():
    about = {"tcp://a:3": ("2,3", 2), "tcp://a:1": ("2,3", 2), "tcp://b:1": (None, 4), "tcp://c:1": (None, 0)}
    alike = {address: _About(*each) for address, each in about.items()}
    assert _shared_gpus(alike) == {"tcp://a:1": "2", "tcp://a:3": "3", "tcp://b:1": "0", "tcp://c:1": None}
    apart = {"tcp://a:1": _About("0,1", 2), "tcp://a:2": _About("1,0", 2)}  # as dask-cuda does it
    assert _shared_gpus(apart) == {"tcp://a:1": None, "tcp://a:2": None}


def test_what_a_lost_worker_had_is_given_to_another():
    class Future:
        released = False

        def release(self):
            self.released = True

    class Client:
        there = ["a"]  # noqa: RUF012

        def nthreads(self):
            return dict.fromkeys(self.there, 1)

        def run(self, function, job, workers, on_error):
            return dict.fromkeys(workers, _About(None, 0))

    engine, futures = Dask(Client(), Job({}, ("loss", "minimize"), None, Runtime())), [Future() for _ in range(3)]
    engine._known = dict.fromkeys("ab", _About(None, 0))
    chunks = [Chunk(number, ()) for number in range(3)]
    engine._flying = {str(i): (futures[i], chunks[i], "abb"[i]) for i in range(3)}
    assert engine._look() and engine.lost == 1 and list(engine._flying) == ["0"]
    assert list(engine._again) == chunks[1:] and [each.released for each in futures] == [False, True, True]
    assert engine._deaths == {1: 1}  # the other one had not begun
    engine._deaths[0] = 9
    Client.there = ["c"]
    with pytest.raises(RunError, match=r"10 workers have ended over the same networks \(Dask saw each of them end\)"):
        engine._look()
