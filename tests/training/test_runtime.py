"""Flags hold while training and are put back: after exceptions, in cross-validation, on the pages."""

import pytest
import torch

import lamina
from lamina import build, fit, load, resume, train
from lamina._errors import ArgumentError
from lamina._processor import LIMIT
from lamina.data import synthetic
from lamina.training import runtime as runtime_module
from lamina.training._denormals import flushes
from lamina.training.cross_validation import cross_validate
from lamina.training.executors.choose import learner
from lamina.training.folder import RunFolder
from lamina.training.recipe import Recipe, Stopping
from lamina.training.runtime import Runtime, environment
from lamina.training.tasks.kinds import task_of


def test_an_exception_puts_everything_back():
    with (
        pytest.raises(ZeroDivisionError),
        Runtime(threads=2, deterministic=True).applied("tf32") as used,
    ):
        assert used.threads == 2 and flushes() and torch.are_deterministic_algorithms_enabled()
        assert torch.backends.cuda.matmul.allow_tf32 and torch.backends.cudnn.allow_tf32
        raise ZeroDivisionError
    assert torch.get_num_threads() == 1 and not flushes() and not torch.are_deterministic_algorithms_enabled()


def test_cross_validation_leaves_no_flag():
    recipe = lamina.Recipe(epochs=1)
    seen = []

    def make(fold):
        seen.append(flushes())
        return lamina.build("fnn", inputs=2, outputs=2, hidden=4, seed=fold)

    cross_validate(make, synthetic.moons(30), recipe, k=2, runtime=Runtime(threads=2))
    assert seen == [False, False] and not flushes() and torch.get_num_threads() == 1


def test_a_missing_device_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device in ("cuda", "mps"):
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
        with pytest.raises(ArgumentError, match=f"`device` '{device}' is not available on this machine: use 'auto'"):
            Runtime(device).ready()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert Runtime("cuda:1").ready().device == "cuda:1"
    with pytest.raises(ArgumentError, match="`device` 'cuda:2' is not available on this machine"):
        Runtime("cuda:2").ready()


@pytest.mark.parametrize(
    ("device", "meant"), [("gpu", "cuda"), ("CUDA", "cuda"), ("metal", "mps"), ("cpuu", "cpu"), ("cuda:x", "cuda")]
)
def test_a_device_that_is_none_gets_the_nearest_one(device, meant):
    with pytest.raises(ArgumentError, match=f"`device` must be one of .*, got '{device}'. Did you mean '{meant}'"):
        Runtime(device)


def test_auto_is_cuda_then_mps_then_the_cpu(monkeypatch):
    monkeypatch.delenv("LAMINA_DEVICE", raising=False)

    def machine(cuda, mps):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    for cuda, mps, device in ((True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")):
        machine(cuda, mps)
        assert Runtime().ready().device == device
    machine(False, True)  # what needs float64 or bfloat16 is not done by MPS
    assert Runtime().ready("float64").device == Runtime().ready(stacked=True).device == "cpu"
    with pytest.raises(ArgumentError, match="`device` 'mps' cannot compute a search: use device='cpu'"):
        Runtime("mps").ready(stacked=True)
    with pytest.raises(ArgumentError, match="`device` 'mps' cannot compute precision 'float64': use device='cpu'"):
        Runtime("mps").ready("float64")
    monkeypatch.setenv("LAMINA_DEVICE", "cpu")
    assert Runtime().ready().device == "cpu"
    monkeypatch.setenv("LAMINA_DEVICE", "auto")
    with pytest.raises(ArgumentError, match="LAMINA_DEVICE must name a device, got 'auto'"):
        Runtime().ready()


def test_where_it_computes_is_said_in_one_line(monkeypatch):
    assert str(Runtime("cpu", threads=2)) == "on the CPU, 2 threads" and str(Runtime("mps")) == "on mps"
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device=None: "NVIDIA H200")
    assert str(Runtime("cuda")) == "on cuda: NVIDIA H200"


def test_sums_are_narrow_only_where_there_is_no_float64(monkeypatch, tmp_path):
    """MPS has no float64: with its rule applied to the CPU, no live tensor is float64, and the history agrees."""
    recipe = Recipe(epochs=2, stopping=Stopping(relative_step=1e-9))

    def rows():
        network = build("fnn", inputs=2, outputs=2, hidden=4)
        return [event.row for event in train(network, synthetic.moons(60), recipe, runtime=Runtime("cpu"))]

    expected = rows()
    monkeypatch.setattr(runtime_module, "NARROW", ("cpu",))
    found = rows()
    for name in ("loss", "validation_loss", "relative_step", "gradient_norm"):  # sums of float32 round at 6e-8
        assert [row[name] for row in found] == pytest.approx([row[name] for row in expected], rel=1e-5)
    network = build("fnn", inputs=2, outputs=2, hidden=4)
    step = learner(network, task_of(synthetic.moons(60)).for_network(network), recipe, Runtime("cpu"))
    wide = [name for name, tensor in step.state().items() if tensor.dtype == torch.float64]
    assert wide == ["step/trial"]  # the line search's, which stays on the CPU


def test_a_run_whose_device_is_missing_continues_here_and_says_so(monkeypatch, tmp_path, capsys):
    network = build("fnn", inputs=2, outputs=2, hidden=4)
    run = fit(network, load("moons", count=60), Recipe(epochs=1), folder=tmp_path / "run", runtime=Runtime("cpu"))
    record = RunFolder(run.folder).json("environment")
    assert record["device"] == "cpu"
    RunFolder(run.folder).write_json("environment", record | {"device": "cuda", "step": "captured"})
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert len(resume(run.folder, epochs=2).rows) == 2
    assert "note: device was cuda and is now cpu: the result may differ in the last bits" in capsys.readouterr().err


def test_threads_are_a_whole_number():
    with pytest.raises(ArgumentError, match="`threads` must be at least 0, got -3"):
        Runtime(threads=-3)


def test_what_differs_is_said_and_what_was_not_recorded_is_not(monkeypatch):
    monkeypatch.delenv(LIMIT, raising=False)
    recorded = environment(Runtime("cpu"))
    assert Runtime("cpu").differences(recorded) == []
    assert Runtime("cpu").differences(recorded | {"onednn": "AVX2"}) == ["onednn was AVX2 and is now "]
    assert Runtime("cpu").differences({"torch": recorded["torch"]}) == []


def test_a_generator_of_the_pages_that_is_not_drained_leaves_nothing():
    from lamina.pages.chapters.ch1.overfitting._work import overfit

    rows = overfit(10, 4, 20, 0)
    next(rows)
    assert not flushes() and torch.is_grad_enabled()
    rows.close()
    assert not flushes() and torch.is_grad_enabled()


def test_the_kind_of_step_is_checked():
    with pytest.raises(ArgumentError, match="`step` must be one of"):
        Runtime(step="quick")


def test_one_thread_for_every_twenty_million_operations(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    threads = [Runtime("cpu").with_threads(work).threads for work in (0, 1e6, 20e6, 21e6, 78e6, 1e12)]
    assert threads == [1, 1, 1, 2, 4, 4]
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert Runtime("cpu").with_threads(1e12).threads == 1
