"""Ranks: 1, 2 and 3 processes train the same network to the same numbers, survive deaths, and say what went wrong."""

import json
import math
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
import torch
import torch.distributed as dist

from lamina._errors import ArgumentError, RunError
from lamina.inspection.flow_observer import GradientFlowObserver
from lamina.training import ranks as ranks_file
from lamina.training._global_norm import detach
from lamina.training.executors.choose import learner
from lamina.training.fit import fitting
from lamina.training.folder import RunFolder
from lamina.training.loop import Event, Progress, _stop_on_signal, drain
from lamina.training.ranks import Accord, Ranks, RanksError, _met, found_again, job, launch, listening, remembered
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.kinds import task_of
from training import rank_checks, rank_run
from training.rank_checks import CHECKS, FAST, SIZES

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TRAINED = [name for name in CHECKS if not name.startswith("gradients")]


def environment(**more):
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "LAMINA_DEVICE": "cpu"} | more


def together(folder, *names):
    """Start three ranks once, and give what they found."""
    words = [[sys.executable, str(HERE / "rank_checks.py"), str(rank), str(folder), *names] for rank in range(3)]
    started = [subprocess.Popen(each, env=environment(), stderr=subprocess.PIPE, text=True) for each in words]
    said = [process.communicate(timeout=500)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], "\n".join(said)
    return torch.load(folder / "found.pt", weights_only=False)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    names, folder = [f"gradients {name}" for name in FAST], tmp_path_factory.mktemp("ranks")
    return together(folder, *names, *TRAINED, "resumed", "run") | {"alone": folder / "alone"}


def without(row, *names):
    return {key: value for key, value in row.items() if key not in names}


def assert_gradients(found, name):
    for size in SIZES[1:]:
        for mine in found[name, size]:  # the first rank and the last
            assert_same_update(mine, found[name, 1][0], f"{name}, {size} ranks")


def assert_same_update(mine, whole, what):
    """Compare with 1e-12 of the largest entry: a true gradient of zero, as before a norm, is the rounding of others."""
    largest = max(float(grad.abs().max()) for grad in whole[0] if grad is not None)
    for a, b in zip(mine[0], whole[0], strict=True):
        assert (a is None) == (b is None)
        assert a is None or float((a - b).abs().max()) <= 1e-12 * max(1.0, largest), what
    for a, b in zip(mine[1], whole[1], strict=True):  # sums and buffers
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-12, msg=what)


@pytest.mark.parametrize("name", FAST)
def test_gradients_are_those_of_one_process(found, name):
    assert_gradients(found, f"gradients {name}")


@pytest.mark.slow
def test_gradients_of_every_architecture_and_layer(tmp_path):
    names = [name for name in CHECKS if name.startswith("gradients")]
    results = together(tmp_path, *names)
    assert len(names) >= 40
    for name in names:
        assert_gradients(results, name)


def test_masks_are_those_of_the_whole_batch_in_pieces_too(found):
    assert_gradients(found, "pieces")
    whole = CHECKS["gradients dropout"](Ranks())
    assert_same_update(found["pieces", 3][0], whole, "pieces")


@pytest.mark.parametrize("name", [name for name in TRAINED if name != "pieces" and not name.startswith("norms ")])
def test_histories_are_those_of_one_process(found, name):
    (rows, reason, state), _ = found[name, 1]
    exact = name != "single precision"
    for size in SIZES[1:]:
        for mine, why, weights in found[name, size]:
            assert why == reason and len(mine) == len(rows)
            for row, wanted in zip(mine, rows, strict=True):
                near = {"rel": 1e-8 if exact else 1e-4}
                assert row["gradients"] == pytest.approx(wanted["gradients"], abs=1e-6, **near)
                assert without(row, "gradients", "accuracy") == pytest.approx(
                    without(wanted, "gradients", "accuracy"), **near
                )
                # counts are exact; those of mixed targets are weighed in single precision
                assert row.get("accuracy", 0) == pytest.approx(
                    wanted.get("accuracy", 0), rel=1e-6 if "mixed" in name else 0
                )
                assert row.get("validation_accuracy") == wanted.get("validation_accuracy")
            if exact and not any("running" in key for key in weights):
                for key, value in weights.items():
                    torch.testing.assert_close(value, state[key], rtol=1e-10, atol=1e-10, equal_nan=True, msg=key)


def test_runs_end_for_the_reason_of_one_process(found):
    assert {name: found[name, 3][1][1] for name in ("patience", "diverged", "texts")} == {
        "patience": "patience",
        "diverged": "diverged",
        "texts": "epochs",
    }


def test_norms_in_pieces_agree_on_all_ranks(found):
    for size in SIZES[1:]:
        (first, _, weights), (last, _, others) = found["norms in pieces", size]
        assert first == last and all(math.isfinite(row["loss"]) for row in first)
        assert all(weights[key].equal(others[key]) for key in weights)


def test_norms_of_parts_are_not_those_of_the_whole_batch_but_all_ranks_have_one_network(found):
    (alone, _, _), _ = found["norms of parts", 1]
    for size in SIZES[1:]:
        (first, _, weights), (last, _, others) = found["norms of parts", size]
        assert first == last and first[-1]["loss"] != pytest.approx(alone[-1]["loss"], rel=1e-6)
        assert all(weights[key].equal(others[key]) for key in weights)  # statistics are those of the first rank


@pytest.mark.parametrize("what", ["numbers", "running text"])
def test_two_then_one_then_three_ranks_go_on_as_one(found, what):
    (rows, _), (mixed, steps), (others, _) = found["resumed", what]
    assert steps[:2] == [3, 6]  # in the middle of an epoch
    for mine in (mixed, others):
        for row, wanted in zip(mine, rows, strict=True):
            assert row["gradients"] == pytest.approx(wanted["gradients"], rel=1e-9)
            assert without(row, "gradients") == pytest.approx(without(wanted, "gradients"), rel=1e-12)


# Runs


def torchrun(folder, restarts, seconds=0.0, ranks=2):
    words = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", ranks, "--max-restarts", restarts]
    words += [HERE / "rank_run.py", folder, seconds]
    return subprocess.Popen(
        [str(word) for word in words], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def workers(process):
    tasks = Path(f"/proc/{process.pid}/task").glob("*/children")
    return sorted(int(pid) for task in tasks for pid in task.read_text().split())


def newest(folder):
    steps = [int(path.name.split("-")[1]) for path in folder.glob("checkpoints/step-*.safetensors")]
    return max(steps, default=0)


def content(folder):
    return [(folder / name).read_bytes() for name in ("weights.safetensors", "history.jsonl", "status.json")]


def killed(folder, kills, draw):
    """Let torchrun train, kill a random rank so often, at random moments, and say after how many updates."""
    process, before, moments = torchrun(folder, kills, 0.02), set(), []
    for _ in range(kills):
        while process.poll() is None and len(alive := [pid for pid in workers(process) if pid not in before]) < 2:
            time.sleep(0.005)
        start = newest(folder)
        wait, most = draw.randint(1, 6), time.monotonic() + draw.uniform(2, 40)
        while process.poll() is None and newest(folder) < min(start + wait, 17) and time.monotonic() < most:
            time.sleep(0.003)
        if process.poll() is not None:
            break
        moments.append(newest(folder))
        os.kill(draw.choice(alive), signal.SIGKILL)
        before.update(alive)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return moments


@pytest.fixture(scope="module")
def alone(found):
    """A run of two ranks that nobody disturbed."""
    return found["alone"]


@pytest.mark.faults("SIGKILL")
@pytest.mark.linux
def test_a_rank_that_is_killed_is_started_again_and_the_run_ends_with_the_same_bytes(alone, tmp_path):
    moments = killed(tmp_path / "run", 1, random.Random(0))
    assert moments and content(tmp_path / "run") == content(alone)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]  # found again, not begun anew
    assert json.loads((tmp_path / "run/environment.json").read_text())["ranks"] == 2


@pytest.mark.faults("SIGKILL")
@pytest.mark.slow
@pytest.mark.linux
@pytest.mark.parametrize("seed", range(10))
def test_forty_kills(alone, tmp_path, seed):
    moments = killed(tmp_path / "run", 4, random.Random(seed))
    print(f"killed after {moments} updates")
    assert len(moments) == 4 and content(tmp_path / "run") == content(alone)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def lamina(home, *words, **more):
    command = [sys.executable, "-m", "lamina", *map(str, words)]
    return subprocess.Popen(
        command, cwd=home, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def done(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out + err


TRAIN = ("train", "fnn", "--data", "moons", "--epochs", 2, "--set", "batch_size=64")


def test_train_with_ranks_says_and_writes_what_one_process_does(tmp_path):
    process = lamina(tmp_path, *TRAIN, "--ranks", 2, "--out", "two")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0 and not err, err
    assert out.count("epoch 2/2") == 1 and "on the CPU, 1 thread, 2 ranks" in out and "report: two" in out


@pytest.mark.slow
def test_an_error_is_said_once(tmp_path):
    (tmp_path / "two").mkdir()
    again = lamina(tmp_path, *TRAIN, "--ranks", 2, "--out", "two")
    _, err = again.communicate(timeout=120)
    assert again.returncode == 2 and err.count("`--out` two exists") == 1 and err.count("lamina:") == 1


@pytest.mark.slow
def test_resume_with_another_number_of_ranks(tmp_path):
    for words in ((*TRAIN, "--out", "one"), (*TRAIN, "--ranks", 2, "--out", "two")):
        done(lamina(tmp_path, *words))
    for words in (("resume", "one", "--epochs", 4), ("resume", "two", "--epochs", 4, "--ranks", 3)):
        out = done(lamina(tmp_path, *words))
    assert "ranks was 2 and is now 3" in out
    one, two = (RunFolder(tmp_path / name).rows() for name in ("one", "two"))
    assert [row["validation_loss"] for row in two] == pytest.approx([row["validation_loss"] for row in one], rel=1e-5)
    assert RunFolder(tmp_path / "two").json("environment")["ranks"] == 3


@pytest.mark.slow
@pytest.mark.posix
def test_ctrl_c_leaves_a_run_that_can_be_continued(tmp_path):
    words = ("train", "fnn", "--data", "moons", "--epochs", 3000, "--set", "batch_size=16", "--out", "run")
    process = lamina(tmp_path, *words, "--ranks", 2, start_new_session=True)
    while process.poll() is None and len(RunFolder(tmp_path / "run").rows()) < 2:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and err.count("lamina resume run --ranks 2\n") == 1, err
    assert "death signal" not in err  # what torch says to those who started it themselves
    assert RunFolder(tmp_path / "run").json("status")["state"] == "interrupted"
    made = len(RunFolder(tmp_path / "run").rows())
    done(lamina(tmp_path, "resume", "run", "--epochs", made + 2))


@pytest.mark.slow
@pytest.mark.linux
@pytest.mark.parametrize("moment", ["while they start", "while they train"])
def test_ranks_end_with_the_command_that_started_them(tmp_path, moment):
    words = ("train", "fnn", "--data", "moons", "--epochs", 30000, "--set", "batch_size=16", "--out", "run")
    process = lamina(tmp_path, *words, "--ranks", 2)
    while process.poll() is None and len(workers(process)) < 2:
        time.sleep(0.05)
    ranks = [psutil.Process(pid) for pid in workers(process)]
    while moment == "while they train" and process.poll() is None and len(RunFolder(tmp_path / "run").rows()) < 3:
        time.sleep(0.05)
    assert len(ranks) == 2 and process.poll() is None
    process.kill()
    process.communicate()
    assert not psutil.wait_procs(ranks, timeout=60)[1]
    if moment == "while they train":
        made = len(RunFolder(tmp_path / "run").rows())
        done(lamina(tmp_path, "resume", "run", "--epochs", made + 2))


@pytest.mark.faults("SIGKILL")
@pytest.mark.slow
@pytest.mark.linux
def test_a_dead_rank_ends_the_others_with_a_sentence(tmp_path):
    words = ("train", "fnn", "--data", "moons", "--epochs", 3000, "--set", "batch_size=16", "--out", "run")
    process = lamina(tmp_path, *words, "--ranks", 2)
    while process.poll() is None and not RunFolder(tmp_path / "run").rows():
        time.sleep(0.05)
    os.kill(workers(process)[-1], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "was ended by SIGKILL" in err, err
    assert "Traceback" not in err


@pytest.mark.faults("lost network")
@pytest.mark.slow
@pytest.mark.linux
def test_a_node_is_lost_and_the_other_goes_on_in_the_same_folder(tmp_path):
    """Two agents of torchrun, as on two machines; the one that does not keep the rendezvous is killed with its rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = f"""-m torch.distributed.run --nnodes 1:2 --nproc-per-node 1 --max-restarts 3 --rdzv-backend c10d
        --rdzv-id two --rdzv-endpoint 127.0.0.1:{port} --local-addr 127.0.0.1
        --rdzv-conf last_call_timeout=20,join_timeout=60,is_host=HOST
        -m lamina train fnn --data moons --epochs 400 --set batch_size=16 --out run""".split()
    more = {"cwd": tmp_path, "env": environment(), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    first, second = (
        subprocess.Popen([sys.executable, *(word.replace("HOST", host) for word in words)], **more)
        for host in ("true", "false")
    )
    home = RunFolder(tmp_path / "run")
    while first.poll() is None and len(home.rows()) < 5:
        time.sleep(0.05)
    assert home.json("environment")["ranks"] == 2
    gone = workers(second)
    for number in (second.pid, *gone):
        os.kill(number, signal.SIGKILL)
    second.communicate()
    out, err = first.communicate(timeout=300)
    assert first.returncode == 0 and out.count("report: run") == 1, err
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert [row["epoch"] for row in home.rows()] == [*range(1, 401)] and home.json("environment")["ranks"] == 1


# One process


def test_parts_cover_a_batch_once():
    for size in (1, 2, 3, 5):
        for examples in range(12):
            parts = [Ranks(rank, size).part(examples) for rank in range(size)]
            assert [i for part in parts for i in range(examples)[part]] == list(range(examples))
            assert max(part.stop - part.start for part in parts) == Ranks(0, size).largest(examples)


def test_a_rank_without_examples_takes_part_with_those_of_another():
    ranks = Ranks(2, 3)
    assert ranks.own(2) == slice(0, 2) and ranks.blank
    assert ranks.own(1) == slice(0, 1) and ranks.blank
    assert ranks.own(7) == slice(5, 7) and not ranks.blank


def test_ranks_meet_though_dead_ones_left_their_calls_and_answers():
    store = dist.HashStore()
    store.set("lamina/call", "old")
    store.set("lamina/answer/1", "old dead")
    store.set("lamina/heard/old", "dead")
    names = {}

    def meet(rank):
        names[rank] = _met(store, rank, 3, timedelta(seconds=20))

    threads = [threading.Thread(target=meet, args=(rank,)) for rank in (1, 2, 0)]
    for thread in threads:
        thread.start()
        time.sleep(0.05)  # the first rank comes last
    for thread in threads:
        thread.join()
    assert len(set(names.values())) == 1 and names[0] != "old"
    with pytest.raises(RuntimeError, match="only some of 2 ranks came within 0.05 s"):
        _met(dist.HashStore(), 0, 2, timedelta(seconds=0.05))


def test_all_save_and_stop_together_when_one_is_asked():
    saved, asked = [], []
    accord = Accord(Ranks(), saved.append, 0.0, lambda: bool(asked))
    for number in range(3):
        accord.save(Progress(number))
    assert [at.epoch for at in saved] == [0, 1, 2] and not accord.stop()
    asked.append(True)
    accord.save(Progress(3))
    assert accord.stop()
    seldom = Accord(Ranks(), saved.append, 1000.0, lambda: False)
    seldom.save(Progress(9))
    assert len(saved) == 4


def test_observers_are_told_by_the_first_rank():
    told = []
    observer = listening(Ranks(), [told.append, lambda event: event.step == 2], [told.append])
    assert [observer(Event(0, step, step, None)) for step in (1, 2)] == [False, True] and len(told) == 4


@pytest.mark.parametrize(
    ("ranks", "device", "words"),
    [
        (Ranks(0, 2, 0, 2, True), "mps", "`device` 'mps' is one for all, but ranks need one each: use device='cpu'"),
        (Ranks(0, 2, 0, 2, True), "cuda:1", "`device` 'cuda:1' names one GPU, but 2 ranks on a machine take one each"),
        (Ranks(0, 999, 0, 999, True), "cuda", r"999 ranks on a machine need a GPU each, got \d+: use fewer ranks"),
    ],
)
def test_devices_that_ranks_cannot_share_are_refused(ranks, device, words):
    with pytest.raises(ArgumentError, match=words):
        ranks.runtime(Runtime(device))


def test_ranks_on_one_machine_have_one_thread_each():
    assert Ranks(0, 2, 0, 2).runtime(Runtime("cpu")).threads == 1
    assert Ranks(0, 2, 0, 2).runtime(Runtime("cpu", threads=3)).threads == 3
    assert Ranks(0, 2, 0, 1).runtime(Runtime("cpu")).threads == 0


@pytest.mark.parametrize(
    ("ranks", "runtime", "kept"),
    [
        (Ranks(5, 8, 1, 4, True), Runtime("cpu"), [(1, 4, 1)]),
        (Ranks(5, 8, 1, 4, True), Runtime("cpu", threads=3), [(1, 4, 3)]),
        (Ranks(5, 8, 1, 4), Runtime("cpu"), []),  # as one of several, but by itself
        (Ranks(0, 2, 0, 1, True), Runtime("cpu"), []),  # the only one on its machine
        (Ranks(0, 1, 0, 1, True), Runtime("cuda"), []),
    ],
)
def test_ranks_of_a_machine_have_cores_of_their_own(ranks, runtime, kept, monkeypatch):
    asked, names = [], []
    monkeypatch.setattr(ranks_file, "keep_to_cores", lambda *words: asked.append(words))
    monkeypatch.setattr(ranks_file, "let_others_finish", names.append)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_device", lambda number: None)
    ranks.runtime(runtime)
    assert asked == kept and names == ["gloo_tcp_loop"] * len(kept)


GLOO = """
import os
import torch.distributed as dist
from lamina.training.ranks import Ranks
from lamina.training.runtime import Runtime
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
common = sorted(os.sched_getaffinity(0))
assert Ranks(1, 2, 1, 2, True).runtime(Runtime("cpu")).threads == 1
half = len(common) // 2
assert sorted(os.sched_getaffinity(0)) == (common[half : 2 * half] or common)
found = {}
for thread in os.listdir("/proc/self/task"):
    with open(f"/proc/self/task/{thread}/comm") as file:
        found[file.read().strip()] = os.sched_getscheduler(int(thread))
assert found.pop("gloo_tcp_loop") == os.SCHED_BATCH, found
assert set(found.values()) == {os.SCHED_OTHER}, found
os._exit(0)
"""


def test_the_thread_of_gloo_that_hears_others_interrupts_nobody():
    if sys.platform != "linux":
        pytest.skip("needs Linux")
    more = {"GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run([sys.executable, "-c", GLOO], env=environment(**more), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_watcher_is_refused_among_ranks(tmp_path, monkeypatch):
    ranks = Ranks(0, 2)
    monkeypatch.setattr(ranks, "shared", lambda make: make())
    monkeypatch.setattr(ranks, "align_", lambda tensors: None)
    more = {"observers": [GradientFlowObserver()], "ranks": ranks, "folder": tmp_path / "run"}
    with pytest.raises(ArgumentError, match="a watcher such as GradientFlowObserver looks into whole updates"):
        drain(fitting(rank_run.network(), rank_run.data(), Recipe(), runtime=Runtime("cpu"), **more))


def test_a_part_that_does_not_fit_in_memory_is_refused_where_ranks_compute_together(monkeypatch):
    net = rank_run.network()
    step = learner(net, task_of(rank_run.data(), seed=0), Recipe(), Runtime("cpu", threads=1), Ranks(0, 2))
    detach(net)
    with pytest.raises(RunError, match="a rank's part of a batch, 8 examples, does not fit in memory.*micro_batch=4"):
        step.update._halve(8, RuntimeError("out of memory"))


def test_others_that_do_not_answer_are_an_error(monkeypatch):
    def gone(tensor, group=None):
        raise RuntimeError("Connection closed by peer\nmore")

    monkeypatch.setattr(dist, "all_reduce", gone)
    with pytest.raises(RanksError, match=r"another rank has ended or does not answer \(Connection closed by peer\)"):
        Ranks(0, 2, joined=True).sum_(torch.zeros(1))


@pytest.fixture
def elastic(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "job7")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")


def test_a_restart_finds_the_folder_of_its_job(tmp_path, elastic, monkeypatch):
    assert job() == "job7" and found_again(tmp_path / "run") is None
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").touch()  # somebody else's
    assert found_again(tmp_path / "run") is None
    mine = remembered(RunFolder.create(tmp_path / "run"))
    assert mine.path.name == "run-2" and found_again(tmp_path / "run").path == mine.path
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "job8")
    assert found_again(tmp_path / "run") is None
    (tmp_path / "run-3" / "checkpoints").mkdir(parents=True)  # it died while making it
    assert found_again(tmp_path / "run").path.name == "run-3"
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "0")
    assert found_again(tmp_path / "run") is None


def test_when_a_node_comes_or_goes_the_folder_is_known_by_an_agent(tmp_path, elastic, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "0")  # torchrun counts deaths alone
    mine = remembered(RunFolder.create(tmp_path / "run"), ["here", "there"])
    assert found_again(tmp_path / "run", ["there", "new"]).path == mine.path
    assert found_again(tmp_path / "run", ["new"]) is None  # the same --rdzv-id on another day
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "job8")
    assert found_again(tmp_path / "run", ["there"]) is None


def test_a_job_without_a_name_is_known_by_its_agent(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    assert str(os.getppid()) in job().split() and job() == job()
    monkeypatch.delenv("TORCHELASTIC_RUN_ID")
    assert job() == ""


def test_a_restarted_fit_goes_on_and_a_finished_one_is_given_back(tmp_path, elastic):
    def fitted(stop=lambda: False, **more):
        how = {"folder": tmp_path / "run", "runtime": Runtime("cpu"), "stop": stop, **more}
        return drain(fitting(rank_run.network(), rank_run.data(), rank_run.RECIPE, **how))

    steps = []
    first = fitted(observers=[lambda event: event.step >= 7])
    assert first.reason.name == "observer"
    again = fitted(observers=[lambda event: steps.append(event.step)])
    assert again.folder == first.folder and steps[0] == 8
    done = fitted(observers=[lambda event: steps.append(event.step)])
    assert done.reason.name == "epochs" and done.folder == first.folder and steps[-1] == 20
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_ranks_must_be_at_least_one_and_those_of_torchrun(monkeypatch):
    from lamina.cli._train import _ranks

    with pytest.raises(ArgumentError, match="`ranks` must be"):
        launch(0)
    monkeypatch.setattr(ranks_file, "started_by_torchrun", lambda: True)
    monkeypatch.setattr(ranks_file, "join", lambda: Ranks(0, 2))
    with pytest.raises(ArgumentError, match="`--ranks` 3 does not fit torchrun, which started 2: leave it out"):
        _ranks(3)
    assert _ranks(2).size == 2


def test_more_ranks_than_memory_are_refused_before_any_is_started(monkeypatch):
    monkeypatch.setattr(ranks_file, "free_memory", lambda: 250 * 2**20)
    with pytest.raises(ArgumentError, match=r"`ranks` 3 need at least 0.293 GiB of memory.*but 0.195 GiB are free"):
        launch(3)
    with pytest.raises(ArgumentError, match=r"`ranks` 100000 need at least 9,766 GiB of memory"):
        launch(100_000)


def test_more_ranks_than_cores_or_examples_are_noted(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert Ranks(0, 2, beside=2).notes("cpu", 64) == [] == Ranks(0, 3, beside=3).notes("cuda", 3)
    assert Ranks(0, 3, beside=3).notes("cpu", 2) == [
        "3 ranks share 2 cores, which is no faster than 2 ranks",
        "a batch of 2 examples leaves 1 of the 3 ranks without any: raise `batch_size` or use 2 ranks",
    ]


def test_ranks_that_are_asked_to_compile_say_that_they_do_not():
    sentence = "updates are not compiled: ranks add their gradients in the middle of one"
    assert Ranks(0, 2, joined=True).notes("cpu", 64, "compiled") == [sentence]
    assert Ranks().notes("cpu", 64, "compiled") == [] == Ranks(0, 2, joined=True).notes("cpu", 64, "eager")


def test_who_was_started_by_ranks_is_continued_by_as_many(monkeypatch):
    monkeypatch.delenv(ranks_file.AGENT, raising=False)
    assert Ranks(0, 2, joined=True).option == ""  # torchrun has its own words
    monkeypatch.setenv(ranks_file.AGENT, "1")
    assert Ranks(0, 2, joined=True).option == " --ranks 2" and Ranks().option == ""


@pytest.mark.posix
def test_further_requests_to_stop_are_not_heard_for_a_while():
    with _stop_on_signal(100.0) as stop:
        assert not stop()
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)  # would end the process at once
        assert stop()
    with _stop_on_signal() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert stop()


def test_the_table_of_cases_has_the_fast_ones():
    assert {f"gradients {name}" for name in FAST} <= set(CHECKS) and set(rank_checks.SIZES) == {1, 2, 3}


ON_CUDA = """
import sys, torch
from lamina.training.executors.choose import learner
from lamina.training.loop import Progress, drain
from lamina.training.ranks import ALONE, join
from lamina.training.runtime import Runtime
from lamina.training.tasks.kinds import task_of
from training import rank_run
found = {}
for name, ranks in (("plain", ALONE), ("ranks", join())):
    at = Progress()
    with Runtime("cuda", step="captured").applied() as used:
        step = learner(rank_run.network(), task_of(rank_run.data(), seed=0), rank_run.RECIPE, used, ranks)
        assert step.kind == "captured", step.reason
        drain(step.trained(at))
    found[name] = [row["loss"] for row in at.rows], [p.detach().cpu() for p in step.params]
assert found["plain"][0] == found["ranks"][0], found
assert all(a.equal(b) for a, b in zip(found["plain"][1], found["ranks"][1]))
print("same")
"""


@pytest.mark.cuda
def test_one_rank_with_nccl_is_captured_and_gives_the_same_bits():
    torchrun = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", "LOCAL_RANK": "0"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        torchrun["MASTER_PORT"] = str(free.getsockname()[1])
    command = [sys.executable, "-c", ON_CUDA]
    done = subprocess.run(command, env=environment(**torchrun), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.strip() == "same", done.stderr
