"""Flags hold while training and are put back: after exceptions, in cross-validation, on the pages."""

import pytest
import torch

import lamina
from lamina._errors import ArgumentError
from lamina._processor import LIMIT
from lamina.data import synthetic
from lamina.training._denormals import flushes
from lamina.training.cross_validation import cross_validate
from lamina.training.runtime import Runtime, environment


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


def test_the_kind_of_step_is_checked():
    with pytest.raises(ArgumentError, match="`step` must be one of"):
        Runtime(step="quick")


def test_one_thread_for_every_twenty_million_operations(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    threads = [Runtime().with_threads(work).threads for work in (0, 1e6, 20e6, 21e6, 78e6, 1e12)]
    assert threads == [1, 1, 1, 2, 4, 4]
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert Runtime().with_threads(1e12).threads == 1
