"""Decoding ahead: order, bounds, errors and an end in every case."""

import gc
import subprocess
import sys
import threading
import time

import pytest
import torch

from lamina._errors import ArgumentError, DataError
from lamina.data.streaming import Stream, _decode_all, worker_count

SHAPE = (2, 3)
TARGETS = torch.arange(100) * 10


def example(index):
    return torch.full(SHAPE, index, dtype=torch.uint8)


def orders(generator, batches=12, size=7):
    return list(torch.randperm(100, generator=generator)[: batches * size].split(size))


def decoding_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("lamina-decode")]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    for thread in decoding_threads():  # a collected stream does not wait for its threads, we do
        thread.join(timeout=10)
    assert not decoding_threads()


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("ahead", [1, 2, 50])
def test_batches_come_in_the_given_order(generator, workers, ahead):
    order = orders(generator)

    def slow_first(index):  # the first examples take longest: later batches are ready before earlier ones
        time.sleep(0.002 if index in order[0].tolist() else 0)
        return example(index)

    got = list(Stream(slow_first, TARGETS, order, shape=SHAPE, workers=workers, ahead=ahead))
    assert len(got) == len(order)
    for indices, (inputs, targets) in zip(order, got, strict=True):
        assert inputs.dtype == torch.uint8 and inputs.equal(torch.stack([example(int(i)) for i in indices]))
        assert targets.equal(indices * 10)


def test_a_batch_is_shared_among_the_workers():
    together = threading.Barrier(3)
    names = set()

    def meet(index):
        names.add(threading.current_thread().name)
        if index % 16 == 0:
            together.wait(timeout=10)  # passes only when three threads decode parts of the same batch at once
        return example(index)

    with Stream(meet, TARGETS, [torch.arange(48)], shape=SHAPE, workers=3) as stream:
        assert next(stream)[0][47].eq(47).all()
    assert len(names) == 3


@pytest.mark.parametrize("ahead", [1, 3])
def test_what_is_held_is_bounded(generator, ahead):
    order, size = orders(generator), 7 * 6
    begun = []

    def counted(index):
        begun.append(index)
        return example(index)

    stream = Stream(counted, TARGETS, order, shape=SHAPE, workers=2, ahead=ahead)
    for number, _ in enumerate(stream, 1):
        assert stream.held == size * min(ahead, len(order) - number)
        assert len(begun) <= 7 * min(number + ahead, len(order))  # nothing beyond the batches ahead is decoded
    assert stream.peak == size * ahead
    assert stream.held == 0 and sorted(begun) == sorted(torch.cat(order).tolist())


def test_nothing_runs_on_while_nobody_asks(generator):
    begun = []

    def counted(index):
        begun.append(index)
        return example(index)

    stream = Stream(counted, TARGETS, orders(generator), shape=SHAPE, workers=2, ahead=2)
    for part in (part for batch in stream._pending for part in batch.parts):
        part.result()
    assert len(begun) == 14
    stream.close()


def test_an_error_comes_at_the_turn_of_its_batch():
    def broken(index):
        if index == 20:
            raise DataError("`cats/20.png` is cut off.")
        return example(index)

    stream = Stream(broken, TARGETS, list(torch.arange(40).split(8)), shape=SHAPE, workers=3, ahead=5)
    assert next(stream)[1].tolist() == (torch.arange(8) * 10).tolist()
    assert next(stream)[1].tolist() == (torch.arange(8, 16) * 10).tolist()
    with pytest.raises(DataError, match=r"`cats/20\.png` is cut off"):
        next(stream)
    assert not decoding_threads()
    with pytest.raises(StopIteration):
        next(stream)


def test_ctrl_c_ends_the_threads():
    waiting = threading.Event()

    def stuck(index):
        waiting.wait(timeout=10)
        return example(index)

    stream = Stream(stuck, TARGETS, list(torch.arange(40).split(8)), shape=SHAPE, workers=2, ahead=2)

    class Interrupted:
        def result(self):
            waiting.set()
            raise KeyboardInterrupt

    object.__setattr__(stream._pending[0], "parts", (Interrupted(),))
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert not decoding_threads()


@pytest.mark.posix
def test_a_real_ctrl_c_ends_the_process():
    code = """
import os, signal, threading, time, torch
from lamina.data.streaming import Stream

def slow(index):
    time.sleep(0.05)
    return torch.zeros(1)

threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    for _ in Stream(slow, torch.arange(9999), list(torch.arange(9999).split(8)), shape=(1,), workers=2, ahead=4):
        pass
except KeyboardInterrupt:
    left = [t.name for t in threading.enumerate() if t.name.startswith("lamina-decode")]
    print("interrupted", left)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "interrupted []\n", done.stderr


def test_leaving_early_stops_the_work(generator):
    begun = []

    def counted(index):
        begun.append(index)
        time.sleep(0.001)
        return example(index)

    with Stream(counted, TARGETS, orders(generator), shape=SHAPE, workers=2, ahead=8) as stream:
        next(stream)
    assert not decoding_threads()
    done = len(begun)
    assert done < 84
    with pytest.raises(StopIteration):
        next(stream)
    assert len(begun) == done


def test_a_forgotten_stream_is_collected(generator):
    stream = Stream(example, TARGETS, orders(generator), shape=SHAPE, workers=2, ahead=8)
    next(stream)
    closed = stream._closed
    del stream
    gc.collect()
    assert closed.is_set()


def test_an_empty_order_and_an_empty_batch():
    assert list(Stream(example, TARGETS, [], shape=SHAPE)) == []
    ((inputs, targets),) = Stream(example, TARGETS, [torch.zeros(0, dtype=torch.int64)], shape=SHAPE)
    assert inputs.shape == (0, *SHAPE) and targets.shape == (0,)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"ahead": 0}, "`ahead` must be at least 1, got 0"), ({"workers": 0}, "`workers` must be at least 1, got 0")],
)
def test_bounds(options, message):
    with pytest.raises(ArgumentError, match=message):
        Stream(example, TARGETS, [], shape=SHAPE, **options)


def test_decode_all_is_everything_once_with_progress():
    seen = []
    out = _decode_all(example, 50, SHAPE, workers=3, progress=lambda done, total: seen.append((done, total)))
    assert out.equal(torch.arange(50, dtype=torch.uint8)[:, None, None].expand(50, *SHAPE))
    assert seen == [(16, 50), (32, 50), (48, 50), (50, 50)]


def test_decode_all_stops_at_an_error():
    begun = []

    def broken(index):
        begun.append(index)
        if index == 0:
            raise DataError("`0.png` is empty.")
        time.sleep(0.001)
        return example(index % 100)

    with pytest.raises(DataError, match=r"`0\.png` is empty"):
        _decode_all(broken, 4000, SHAPE, workers=2)
    assert len(begun) < 4000 and not decoding_threads()


def test_workers_are_bounded():
    assert 1 <= worker_count() <= 8
