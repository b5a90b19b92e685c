"""Batches of a large table are those of their order, from a thread or a process; what is held is bounded."""

import operator
import os
import signal
import sys
import threading

import numpy as np
import polars as pl
import psutil
import pytest
import torch

from lamina._errors import ArgumentError, DataError, DataWarning
from lamina.data import block_source, large, reader
from lamina.data.block_source import BlockSource
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.data.source import Batches

ROWS = 3000


@pytest.fixture
def split(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "BLOCK", 100)
    draw = np.random.default_rng(0)
    frame = pl.DataFrame({"x": np.arange(ROWS) / 7, "z": draw.normal(size=ROWS), "y": draw.integers(0, 3, ROWS)})
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=256)
    return load(tmp_path / "a.parquet", target="y", stream=True).split()


@pytest.fixture
def of(split):
    """Make sources, and end what they leave."""
    made = []

    def source(**options):
        made.append(BlockSource(split.train, Preprocess.fit(split.train), **options))
        return made[-1]

    yield source
    for each in made:
        each.close()


def left():
    """Name the threads that read."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("lamina-")]


apart = pytest.mark.parametrize("apart", [False, True], ids=["thread", "process"])


def walked(source, order, size, first=0):
    batches = Batches(order, first, size)
    source.prefetch(batches)
    return [source.batch(batch, (0, number)) for number, batch in enumerate(batches)]


@apart
def test_batches_are_those_of_the_indices(split, of, apart):
    source, prepare = of(window=500, apart=apart), Preprocess.fit(split.train)
    order = source.order(64, 0, 0)
    inputs, targets = split.train.take(torch.arange(len(split.train)))
    for batch, (rows, wanted) in zip(Batches(order, 0, 64), walked(source, order, 64), strict=True):
        assert torch.equal(rows, prepare.apply(inputs[batch])) and torch.equal(wanted, targets[batch])
    assert source.blocks_read == len(split.train.counts)  # each of them once


@apart
def test_an_epoch_can_begin_in_the_middle(split, of, apart):
    source = of(window=500, apart=apart)
    order = source.order(64, 0, 2)
    whole = walked(source, order, 64)
    rest = walked(source, source.order(64, 0, 2), 64, first=64 * 9)
    assert all(torch.equal(a[0], b[0]) for a, b in zip(whole[9:], rest, strict=True)) and len(rest) == len(whole) - 9


@apart
def test_what_is_held_is_bounded(split, of, apart):
    source = of(window=300, apart=apart)
    assert source.rows.limit == 2 * 300 * source.rows.row_bytes
    whole = len(split.train) * source.rows.row_bytes
    walked(source, source.order(32, 0, 0), 32)
    assert 0 < source.peak <= source.limit and source.rows.limit < whole / 3
    assert source.blocks_read == len(split.train.counts)


def test_a_rank_reads_its_slice_and_its_share_of_the_blocks(split, of):
    size, ranks = 600, 2
    whole = of(window=ROWS)
    order = whole.order(size, 0, 0)
    everything = walked(whole, order, size)
    read = []
    for rank in range(ranks):
        source = of(window=ROWS)
        slices = [b[rank * len(b) // ranks : (rank + 1) * len(b) // ranks] for b in Batches(order, 0, size)]
        source.prefetch(slices)
        for mine, (inputs, targets) in zip(slices, everything, strict=True):
            first = rank * len(inputs) // ranks
            rows, wanted = source.batch(mine, None)
            assert torch.equal(rows, inputs[first : first + len(rows)])
            assert torch.equal(wanted, targets[first : first + len(rows)])
        read.append(source.blocks_read)
    blocks = len(split.train.counts)
    assert max(read) < 0.7 * blocks and sum(read) < 1.3 * blocks


def test_another_batch_than_the_next_is_read_at_once(split, of):
    source = of(window=300)
    source.prefetch(Batches(source.order(32, 0, 0), 0, 32))
    places = torch.tensor([5, 1900, 7])
    rows, targets = source.batch(places, None)
    inputs, wanted = split.train.take(places)
    assert torch.equal(rows, Preprocess.fit(split.train).apply(inputs)) and torch.equal(targets, wanted)
    assert not left()


def test_an_error_comes_at_its_turn_and_ends_the_threads(split, of, monkeypatch):
    source, read = of(window=300), split.train.read

    def broken(number, inputs=True):
        if number == 20:
            raise DataError("block 20 is gone.")
        return read(number, inputs)

    monkeypatch.setattr(split.train, "read", broken)
    with pytest.raises(DataError, match="block 20 is gone"):
        walked(source, source.order(32, 0, 0), 32)
    assert not left()


def test_closing_early_ends_the_threads(split, of):
    source = of(window=300)
    order = source.order(32, 0, 0)
    source.prefetch(Batches(order, 0, 32))
    source.batch(order[0:32], None)
    source.close()
    assert not left()


def test_bounds(split, of):
    with pytest.raises(ArgumentError, match="`window` must be at least 1, got 0"):
        of(window=0)
    with pytest.raises(ArgumentError, match="`ahead` must be at least 1, got 0"):
        of().prefetch([], ahead=0)


def same(found, wanted):
    return len(found) == len(wanted) and all(
        torch.equal(a, b) for pair in zip(found, wanted, strict=True) for a, b in zip(*pair, strict=True)
    )


def two_epochs(source):
    found = []
    for epoch in range(2):
        batches = Batches(source.order(64, 0, epoch, 2), 0, 64)
        source.prefetch(batches)
        found += [source.following(batches, number) for number in range(len(batches))]
    return found


def test_a_process_gives_what_a_thread_gives_and_serves_every_epoch(split, of):
    other = of(window=500)
    wanted = [batch for epoch in range(2) for batch in walked(other, other.order(64, 0, epoch), 64)]
    thread, process, blocks = of(window=500), of(window=500, apart=True), len(split.train.counts)
    for source in (thread, process):
        assert same(two_epochs(source), wanted) and source.peak <= source.limit
        assert blocks < source.blocks_read <= 2 * blocks  # what the first epoch read last may be what the second needs
    assert process.blocks_read == thread.blocks_read
    assert process._reader._order == 0  # it was asked once, and went on with the second epoch by itself


def test_the_size_decides_who_reads(split, of, monkeypatch):
    size = len(split.train) * of().rows.row_bytes
    monkeypatch.setattr(block_source, "APART", size)
    assert of().apart
    monkeypatch.setattr(block_source, "APART", size + 1)
    assert not of().apart and of(apart=True).apart


def begun(source, count=1):
    """Take some batches, and give the order and who reads."""
    batches = Batches(source.order(32, 0, 0), 0, 32)
    source.prefetch(batches)
    found = [source.following(batches, number) for number in range(count)]
    return batches, found, psutil.Process(source._reader._process.pid)


def test_a_thread_goes_on_when_the_process_dies(of):
    source, other = of(window=300, apart=True), of(window=300)
    batches, found, process = begun(source, 3)
    os.kill(process.pid, signal.SIGKILL)
    with pytest.warns(DataWarning, match=r"has ended \(exit code -9\): a thread reads the rows from here on, which is"):
        found += [source.following(batches, number) for number in range(3, len(batches))]
    assert same(found, walked(other, other.order(32, 0, 0), 32)) and not process.is_running()
    assert not source.apart and not left()


def unpicklable(source, monkeypatch):
    monkeypatch.setattr(source.rows.part, "read", lambda number, inputs=True, read=source.rows.part.read: read(number))


@pytest.mark.parametrize(
    ("hinder", "why"),
    [
        (lambda source, monkeypatch: monkeypatch.setattr(reader, "shared", full), "No space left"),
        (lambda source, monkeypatch: monkeypatch.setattr(sys, "executable", "/nowhere/python"), "/nowhere/python"),
        (unpicklable, "pickle"),
        (
            lambda source, monkeypatch: monkeypatch.setattr(reader, "free_memory", lambda: 1000),
            "half of the free memory",
        ),
    ],
)
def test_a_thread_reads_where_no_process_can_be_started(of, monkeypatch, hinder, why):
    source, other = of(window=300, apart=True), of(window=300)
    wanted = walked(other, other.order(32, 0, 0), 32)
    hinder(source, monkeypatch)
    with pytest.warns(
        DataWarning, match=f"(no process that reads could be started|reads ahead).*{why}.*: a thread reads"
    ):
        assert same(walked(source, source.order(32, 0, 0), 32), wanted)


def full(size):
    raise OSError(28, "No space left on device")


@apart
def test_a_file_that_is_damaged_in_the_middle_is_named(split, of, apart, tmp_path):
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[len(content) // 3 : len(content) // 3 + 4000] = bytes(4000)
    moments = (tmp_path / "a.parquet").stat()
    (tmp_path / "a.parquet").write_bytes(content)
    os.utime(tmp_path / "a.parquet", ns=(moments.st_atime_ns, moments.st_mtime_ns))  # as a disk does it
    source = of(window=300, apart=apart)
    with pytest.raises(DataError, match=r"a\.parquet` is not a readable Parquet file: write it again"):
        walked(source, source.order(32, 0, 0), 32)
    assert not left() and source._reader is None


@apart
def test_a_file_that_another_one_replaces_is_named(split, of, apart, tmp_path):
    pl.read_parquet(tmp_path / "a.parquet").reverse().write_parquet(tmp_path / "other")
    (tmp_path / "other").replace(tmp_path / "a.parquet")
    source = of(window=300, apart=apart)
    with pytest.raises(
        DataError, match=r"a\.parquet` changed while it was in use: start again, with the file as it is"
    ):
        walked(source, source.order(32, 0, 0), 32)
    assert not left() and source._reader is None


def test_closing_ends_the_process(of):
    source = of(window=300, apart=True)
    _, _, process = begun(source)
    source.close()
    assert not process.is_running()


def test_a_forgotten_source_ends_its_process(split):
    source = BlockSource(split.train, Preprocess.fit(split.train), window=300, apart=True)
    _, _, process = begun(source)
    del source
    assert not process.is_running()


@apart
def test_another_order_begins_anew(of, apart):
    source, other = of(window=300, apart=apart), of(window=300)
    batches = Batches(source.order(32, 0, 0, 5), 0, 32)
    source.prefetch(batches)
    first = [source.following(batches, number) for number in range(3)]
    later = Batches(source.order(32, 0, 3), 64, 32)
    source.prefetch(later)
    found = [source.following(later, number) for number in range(4)]
    assert same(found, walked(other, other.order(32, 0, 3), 32, first=64)[:4])
    back = [
        source.following(batches, number) for number in (3, 4, 0)
    ]  # an order that was left, and a batch out of turn
    wanted = walked(other, other.order(32, 0, 0), 32)
    assert same([*first, *back], [*wanted[:5], wanted[0]])


@apart
def test_an_epoch_that_begins_before_the_last_one_has_ended_has_its_own_rows(of, apart):
    source, other = of(window=300, apart=apart), of(window=300)
    first = Batches(source.order(32, 0, 0, 3), 0, 32)
    source.prefetch(first)
    for number in range(3):
        source.following(first, number)
    source.prefetch(second := first.following())
    found = [source.following(second, number) for number in range(4)]
    assert same(found, walked(other, other.order(32, 0, 1), 32)[:4])


class Order(list):
    """An order that can be given away but not taken in."""

    def __reduce__(self):
        return operator.truediv, (1, 0)


def test_an_order_that_the_process_cannot_take_in_ends_it(of):
    source = of(window=300, apart=True)
    begun(source)
    source._reader.begin(Order())
    with pytest.raises(reader.EndedError, match="ZeroDivisionError: division by zero"):
        while True:
            source._reader.next()


def test_rows_wider_than_their_preparation_has_said_end_the_process(of, monkeypatch):
    source, other = of(window=300, apart=True), of(window=300)
    narrow = type(source.rows).row_bytes.fget
    monkeypatch.setattr(type(source.rows), "row_bytes", property(lambda rows: narrow(rows) // 4))
    with pytest.warns(DataWarning, match="rows take .* bytes, and not at most .* as their preparation has said"):
        found = walked(source, source.order(32, 0, 0), 32)
    assert same(found, walked(other, other.order(32, 0, 0), 32))
