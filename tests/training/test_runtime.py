"""Flags hold while training and are put back: exceptions, threads, the threads of OpenMP."""

import threading

import pytest
import torch

import lamina
from lamina._errors import ArgumentError
from lamina._processor import LIMIT
from lamina.data import synthetic
from lamina.training import _denormals as denormals
from lamina.training._denormals import flushed, flushes
from lamina.training.cross_validation import cross_validate
from lamina.training.runtime import Runtime, environment


@pytest.fixture
def two_threads():
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def share_flushed():
    """Give the share of denormal numbers that a product, large enough for every thread, makes zero."""
    denormal = torch.full((1 << 20,), 713624, dtype=torch.int32).view(torch.float32)  # 1e-39
    return ((denormal * 1.0).view(torch.int32) == 0).double().mean().item()


def test_denormals_are_flushed_in_all_threads_of_torch_and_then_in_none(two_threads):
    assert share_flushed() == 0
    with flushed(True):
        assert flushes()
        assert share_flushed() == (1.0 if denormals._sharing() else 0.5)
        with flushed(False):
            assert share_flushed() == 0
        assert flushes()
    assert share_flushed() == 0 and not flushes()


def test_the_openmp_of_torch_is_chosen_among_several(two_threads):
    import sklearn.cluster  # noqa: F401  (brings one of its own)

    denormals._sharing.cache_clear()
    with flushed(True):
        assert share_flushed() == (1.0 if denormals._sharing() else 0.5)
    assert share_flushed() == 0


def test_without_gnu_openmp_only_the_caller_flushes_and_nothing_is_left(two_threads, monkeypatch):
    monkeypatch.setattr(denormals, "_sharing", lambda: None)
    with flushed(True):
        assert flushes() and share_flushed() == 0.5
    assert share_flushed() == 0


def test_an_exception_puts_everything_back():
    with (
        pytest.raises(ZeroDivisionError),
        Runtime(threads=2, deterministic=True).applied("tf32") as used,
    ):
        assert used.threads == 2 and flushes() and torch.are_deterministic_algorithms_enabled()
        assert torch.backends.cuda.matmul.allow_tf32 and torch.backends.cudnn.allow_tf32
        raise ZeroDivisionError
    assert torch.get_num_threads() == 1 and not flushes() and not torch.are_deterministic_algorithms_enabled()


def test_a_thread_flushes_for_itself():
    seen = []

    def train():
        with Runtime().applied():
            seen.append(flushes())
            inside.set()
            ready.wait(10)
        seen.append(flushes())

    inside, ready = threading.Event(), threading.Event()
    thread = threading.Thread(target=train)
    thread.start()
    inside.wait(10)
    assert not flushes()
    ready.set()
    thread.join()
    assert seen == [True, False]


def test_cross_validation_leaves_no_flag():
    recipe = lamina.Recipe(epochs=1)
    seen = []

    def make(fold):
        seen.append(flushes())
        return lamina.build("fnn", inputs=2, outputs=2, hidden=4, seed=fold)

    cross_validate(make, synthetic.moons(30), recipe, k=2, runtime=Runtime(threads=2))
    assert seen == [False, False] and not flushes() and torch.get_num_threads() == 1


def test_a_missing_device_is_named():
    if not torch.cuda.is_available():
        with pytest.raises(ArgumentError, match="`device` 'cuda' is not available on this machine: use 'cpu'"):
            Runtime("cuda").check()


def test_what_differs_is_said_and_what_was_not_recorded_is_not(monkeypatch):
    monkeypatch.delenv(LIMIT, raising=False)
    recorded = environment(Runtime())
    assert Runtime().differences(recorded) == []
    assert Runtime().differences(recorded | {"onednn": "AVX2"}) == ["onednn was AVX2 and is now "]
    assert Runtime().differences({"torch": recorded["torch"]}) == []


def test_a_generator_of_the_pages_that_is_not_drained_leaves_nothing():
    from lamina.pages.chapters.ch1.overfitting._work import overfit

    rows = overfit(10, 4, 20, 0)
    next(rows)
    assert not flushes() and torch.is_grad_enabled()
    rows.close()
    assert not flushes() and torch.is_grad_enabled()
