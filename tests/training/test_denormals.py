"""Denormal numbers are flushed in every thread that computes for the caller, and in no other."""

import threading

import pytest
import torch

from lamina.training import _denormals as denormals
from lamina.training._denormals import flushed, flushes
from lamina.training.runtime import Runtime


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
