"""Loaders as parts of the data: their sizes, their orders, and what they refuse to be."""

import random

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, TensorDataset

from lamina._errors import ArgumentError, DataError
from lamina.data.dataset import Dataset
from lamina.data.load import load
from lamina.data.loaders import Loaders, _seeded, are_loaders


def rows(count):
    return [(torch.tensor([float(i)]), i % 2) for i in range(count)]


class Stream(IterableDataset):
    def __iter__(self):
        return iter(rows(7))


def test_what_a_loader_is():
    made = DataLoader(rows(4))
    assert are_loaders(made) and are_loaders(Stream()) and are_loaders((made, None, made))
    assert not any(are_loaders(each) for each in ((), (None, made), rows(4), None))
    for each in (made, (made,), [made, made], {"train": made, "test": made}, Stream()):
        assert isinstance(load(each), Loaders) and isinstance(load(each), Dataset)


@pytest.mark.parametrize(
    ("made", "examples", "batches"),
    [
        (lambda: DataLoader(rows(10), 4), 10, 3),
        (lambda: DataLoader(rows(10), 4, drop_last=True), 8, 2),
        (lambda: DataLoader(rows(10), 4, sampler=RandomSampler(rows(10), num_samples=6)), 6, 2),
        (lambda: DataLoader(rows(10), batch_sampler=[[0, 1], [2, 3]]), 4, 2),
        (lambda: DataLoader(Stream(), 4), 0, None),
    ],
)
def test_how_long_it_is(made, examples, batches):
    part = Loaders(made()).train
    assert (len(part), part.batches) == (examples, batches)
    assert len(part.targets) == (examples or 7) == len(part)  # once it was read, it is known


def test_examples_are_read_as_far_as_they_are_asked_for():
    data = Loaders(DataLoader(rows(10), 4))
    inputs, targets = data.take(torch.tensor([5, 0]))
    assert inputs.view(torch.float32).flatten().tolist() == [5.0, 0.0] and targets.tolist() == [1, 0]
    assert data.describe(2)[0].endswith(
        "10 examples of input 1 (1, float32) from a loader, classification into 2 classes."
    )
    assert "input 1" in repr(data) and len(data) == 10


def test_a_sampler_that_counts_epochs_is_told():
    class Counting(RandomSampler):
        def set_epoch(self, epoch):
            self.epoch = epoch

    data = rows(6)
    sampler = Counting(data)
    part = Loaders(DataLoader(data, 2, sampler=sampler)).train
    assert len(list(part.walk(0, 4, 0))) == 3 and sampler.epoch == 4


def test_what_is_drawn_is_seeded_and_the_generators_are_put_back():
    state = random.getstate()
    drawn = []
    for key in ((0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)):
        own = torch.Generator().manual_seed(5)
        with _seeded([own], *key):
            drawn.append(
                (random.random(), np.random.rand(), torch.rand(()).item(), torch.rand((), generator=own).item())
            )
        assert own.initial_seed() == 5 and torch.equal(own.get_state(), torch.Generator().manual_seed(5).get_state())
        random.setstate(state)  # the shape checker draws from it
    assert drawn[0] == drawn[1] and len({row[0] for row in drawn}) == 4
    assert all(len({row[place] for row in drawn}) == 4 for place in (1, 2))
    assert drawn[4][3] == drawn[0][3] and len({row[3] for row in drawn}) == 3  # by its own seed, not by the recipe's


def test_targets_say_what_is_learned():
    x = torch.zeros(4, 2)

    def spec(y, **options):
        return Loaders(DataLoader(TensorDataset(x, y), 4), **options).spec

    assert spec(torch.tensor([0, 1, 2, 2])).outputs == 3
    assert spec(torch.tensor([[0], [1], [1], [0]])).task == "classification"
    assert spec(torch.tensor([True, False] * 2)).classes == ("0", "1")
    assert spec(torch.tensor([[0.0], [1.0], [1.0], [0.0]]), task="classification").task == "classification"
    assert (spec(torch.zeros(4)).task, spec(torch.zeros(4)).outputs) == ("regression", 1)
    assert spec(torch.zeros(4, 3)).outputs == 3
    assert spec(torch.zeros(4, 3).bool(), classes=["a", "b", "c"]).classes == ("a", "b", "c")
    assert spec(torch.zeros(4, 2, 3)).target_shape == (2, 3)


def test_what_loaders_refuse():
    made = DataLoader(rows(4))
    with pytest.raises(DataError, match="`validation` must be a torch DataLoader or IterableDataset, got list: wrap a"):
        Loaders(made, rows(4))
    with pytest.raises(DataError, match="`train` must be a torch DataLoader or IterableDataset, got NoneType"):
        Loaders(None)
    with pytest.raises(DataError, match="`validation` must be a torch DataLoader or IterableDataset, got list"):
        load((made, rows(4)))
    with pytest.raises(DataError, match="a DataLoader has no option 'val': it has"):
        load({"train": made, "val": made})
    with pytest.raises(
        DataError, match="the training loader cannot make batches .*PIL.*: let the dataset give tensors"
    ):
        Loaders(DataLoader([(Image.new("L", (2, 2)), 0)]))
    with pytest.raises(ArgumentError, match="`steps_per_epoch` must be"):
        Loaders(made, steps_per_epoch=0)
    with pytest.raises(ArgumentError, match="`task` must be one of"):
        Loaders(made, task="guessing")
    with pytest.raises(ArgumentError, match="loaders are parts already: leave `ratios` and `groups` out"):
        Loaders(made).split(ratios=(1, 1, 1))
    with pytest.raises(DataError, match="a DataLoader has no option 'batch_size': it has"):
        load(made, batch_size=3)
