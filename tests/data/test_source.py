import gc
import threading
import weakref

import pytest
import torch

from lamina._errors import ArgumentError, DataError
from lamina.data.arrays import from_arrays
from lamina.data.augment import Augment, augment
from lamina.data.dataset import ArrayDataset, BaseDataset, Spec, Subset
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.data.source import Source
from lamina.data.streaming import Stream
from lamina.data.synthetic import curve, million

TINY = 1  # a budget that nothing fits into


def sources(data, inputs=None, **options):
    prepare = Preprocess.fit(data, inputs)
    return prepare.source(data, **options), prepare.source(data, budget=TINY, **options)


def order(count=20, size=8, seed=0):
    return list(torch.randperm(count, generator=torch.Generator().manual_seed(seed)).split(size))


class Slow(BaseDataset):
    """Pictures that count how many are read, with an own stream."""

    def __init__(self, inner):
        self.inner, self.spec, self.targets, self.read = inner, inner.spec, inner.targets, []
        self.groups = self.official_test = None
        self.streams = []

    def __len__(self):
        return len(self.inner)

    def take(self, indices):
        self.read += indices.tolist()
        return self.inner.take(indices)

    def prefetch(self, batches):
        stream = Stream(lambda i: self.inner.inputs[i], self.targets, batches, shape=self.spec.inputs)
        self.streams.append(stream)
        return stream


@pytest.mark.parametrize("name", ["digits", "iris", "curve", "million", "xor", "pictures"])
def test_resident_and_streamed_batches_are_equal(name):
    if name == "million":
        data = million(200)
    elif name == "curve":
        data = curve(50)
    elif name == "pictures":  # structured targets
        images = load("digits").inputs[:40]
        data = load((images, images.flip(-1)), task="structured")
    else:
        data = load(name)
    resident, streamed = sources(data)
    assert resident.inputs is not None and streamed.inputs is None and streamed.targets is None
    assert len(resident) == len(streamed) == len(data)
    batches = order(len(data), 7)
    streamed.prefetch(batches[:3])
    for indices in batches[:5]:
        first, second = resident.batch(indices), streamed.batch(indices)
        assert first[0].equal(second[0]) and first[1].equal(second[1])
        assert first[0].dtype == torch.float32 and first[0].shape[1:] == resident._preparing.inputs


def test_resident_pictures_stay_bytes_of_the_size_of_the_network():
    resident, _ = sources(load("digits"), (1, 12, 12))
    assert resident.inputs.dtype == torch.uint8 and resident.inputs.shape == (1797, 1, 12, 12)
    flat, _ = sources(load("digits"), 144)
    indices = torch.tensor([3, 1])
    assert flat.batch(indices)[0].equal(resident.batch(indices)[0].flatten(1))


def test_finished_pictures_give_the_same_batches_and_changing_ones_stay_bytes():
    data, indices = load("digits"), torch.tensor([3, 1, 1796])
    resident, streamed = sources(data, 144)
    done = resident.finished()
    assert done.inputs.dtype == torch.float32 and done.inputs.shape == (1797, 144)
    assert resident.inputs.dtype == torch.uint8 and streamed.finished() is streamed
    for key in (None, (0, 7)):
        for found, expected in zip(done.batch(indices, key), resident.batch(indices, key), strict=True):
            assert found.equal(expected)
    changing = Preprocess.fit(data, (1, 8, 8)).source(data, augment=Augment(translate=1))
    assert changing.finished() is changing


def test_batch_is_apply_of_the_stored_examples():
    data = load("digits")
    prepare = Preprocess.fit(data, (3, 10, 10))
    inputs, targets = prepare.source(data).batch(torch.tensor([5, 9]))
    raw, labels = data.take(torch.tensor([5, 9]))
    assert inputs.equal(prepare.apply(raw)) and targets.equal(labels)


@pytest.mark.parametrize("name", ["plain", "subset", "slow"])
def test_a_key_switches_random_changes_on(name):
    data = load("digits")
    data = {"plain": data, "subset": Subset(data, torch.arange(100, 300)), "slow": Slow(data)}[name]
    changes = Augment(flip=True, crop=1, rotation=20.0, contrast=0.5)
    prepare = Preprocess.fit(data)
    resident, streamed = prepare.source(data, augment=changes), prepare.source(data, budget=TINY, augment=changes)
    batches = order(100)
    streamed.prefetch(batches, keys=[(3, step) for step in range(len(batches))])
    for step, indices in enumerate(batches):
        expected = prepare.finisher("cpu")(augment(prepare.keep(data.take(indices)[0]), changes, 3, step))
        assert resident.batch(indices, (3, step))[0].equal(expected)
        assert streamed.batch(indices, (3, step))[0].equal(expected)
        assert not resident.batch(indices)[0].equal(expected)
        assert streamed.batch(indices)[0].equal(resident.batch(indices)[0])
        streamed.prefetch(batches[step + 1 :], keys=[(3, later) for later in range(step + 1, len(batches))])


def test_reading_ahead_is_bounded():
    data = load("digits")
    counting = Slow(data)
    counting.prefetch = None  # only `take`
    source = Preprocess.fit(counting).source(counting, budget=TINY)
    counting.read.clear()
    batches = order(100, 10)
    source.prefetch(batches, ahead=3)
    for used, indices in enumerate(batches, 1):
        source.batch(indices)
        assert len(counting.read) <= 10 * (used + 3)
    assert counting.read == torch.cat(batches).tolist()


def test_a_dataset_with_its_own_stream_is_asked_through_views():
    counting = Slow(load("digits"))
    view = Subset(Subset(counting, torch.arange(1000, 1797)), torch.arange(0, 700, 2))
    source = Preprocess.fit(view).source(view, budget=TINY)
    counting.read.clear()
    batches = order(len(view), 50)
    source.prefetch(batches)
    for indices in batches:
        assert source.batch(indices)[1].equal(view.take(indices)[1])
    assert len(counting.streams) == 1 and len(counting.read) == len(view)  # only this test's own `take`


def test_an_unexpected_batch_ends_reading_ahead():
    resident, streamed = sources(load("digits"))
    batches, before = order(100, 10), set(threading.enumerate())
    streamed.prefetch(batches)
    assert len(set(threading.enumerate()) - before) == 1
    other = torch.tensor([1, 2, 3])
    assert streamed.batch(other)[0].equal(resident.batch(other)[0])
    for indices in batches[:2]:
        assert streamed.batch(indices)[0].equal(resident.batch(indices)[0])
    assert not set(threading.enumerate()) - before


def test_the_last_batch_ends_the_thread():
    _, streamed = sources(load("digits"))
    batches, before = order(100, 10), set(threading.enumerate())
    streamed.prefetch(batches)
    for indices in batches:
        streamed.batch(indices)
    assert not set(threading.enumerate()) - before


def test_an_error_in_the_background_is_raised_where_the_batch_is_asked_for():
    class Broken(Slow):
        prefetch = None

        def take(self, indices):
            if 13 in indices:
                raise DataError("picture 13 is damaged")
            return super().take(indices)

    data = Broken(load("digits"))
    source = Preprocess.fit(load("digits")).source(data, budget=TINY)
    source.prefetch([torch.arange(10), torch.arange(10, 20), torch.arange(20, 30)])
    assert source.batch(torch.arange(10))[0].shape == (10, 1, 8, 8)
    with pytest.raises(DataError, match="picture 13 is damaged"):
        source.batch(torch.arange(10, 20))
    assert source.batch(torch.arange(20, 30))[0].shape == (10, 1, 8, 8)


def test_a_forgotten_source_leaves_no_thread():
    _, streamed = sources(load("digits"))
    streamed.prefetch(order(100, 10))
    forgotten = weakref.ref(streamed)
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("lamina-prefetch")]
    assert threads
    streamed.close()
    del streamed
    gc.collect()
    assert forgotten() is None
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()


def test_resident_data_need_no_prefetch():
    resident, _ = sources(load("iris"))
    resident.prefetch(order())
    assert resident._ahead is None
    resident.close()


def test_an_empty_dataset_gives_an_empty_source():
    data = load("iris")
    source = Preprocess.fit(data).source(Subset(data, torch.zeros(0, dtype=torch.int64)))
    assert len(source) == 0 and source.inputs.shape == (0, 4)


def test_messages():
    data = load("iris")
    prepare = Preprocess.fit(data)
    with pytest.raises(DataError, match="`flip` changes pictures, got data of kind 'table': leave it out"):
        prepare.source(data, augment=Augment(flip=True))
    with pytest.raises(DataError, match="`cutmix` changes pictures, got data of kind 'table': leave it out"):
        prepare.source(data, augment=Augment(cutmix=1.0))
    assert prepare.source(data, augment=Augment()).inputs is not None
    gray, floats = load("digits"), from_arrays(torch.linspace(2, 0, 32).reshape(2, 1, 4, 4), torch.arange(2))
    with pytest.raises(DataError, match="`hue` changes colors, but the pictures have 1 channel: leave it out, or use"):
        Preprocess.fit(gray).source(gray, augment=Augment(hue=0.1))
    for budget in (2**20, TINY):
        with pytest.raises(DataError, match="or of numbers from 0 to 1, got numbers from .* to 2: scale the pictures"):
            Preprocess.fit(floats).source(
                Subset(floats, torch.tensor([0, 1])), budget=budget, augment=Augment(contrast=1)
            )
    assert Preprocess.fit(floats).source(floats, augment=Augment(rotation=5.0)).inputs is not None
    with pytest.raises(ArgumentError, match="`ahead` must be at least 1, got 0"):
        prepare.source(data, budget=TINY).prefetch([torch.arange(3)], ahead=0)


@pytest.mark.cuda
def test_on_the_device_batches_are_those_of_the_processor():
    data = load("digits")
    prepare, changes, indices = Preprocess.fit(data), Augment(flip=True, crop=1), torch.arange(30)
    here = prepare.source(data, augment=changes)
    for budget in (2**30, TINY):
        there = prepare.source(data, device="cuda", budget=budget, augment=changes)
        there.prefetch([indices], keys=[(1, 2)])
        for key in ((1, 2), None):
            inputs, targets = there.batch(indices, key)
            assert inputs.is_cuda and torch.allclose(inputs.cpu(), here.batch(indices, key)[0], atol=1e-6)
            assert targets.cpu().equal(here.batch(indices)[1])


def test_source_is_not_a_dataset_but_has_a_length():
    spec = Spec("vector", "regression", (1,), 1)
    data = ArrayDataset(torch.arange(4.0)[:, None], torch.arange(4.0), spec)
    source = Source(data, Preprocess.fit(data))
    assert len(source) == 4 and source.targets.shape == (4, 1)


@pytest.mark.parametrize("budget", (2**20, 0))
def test_targets_carry_weights_of_mean_1(budget):
    spec = Spec("vector", "classification", (1,), 2, weight="w")
    data = ArrayDataset(
        torch.arange(4.0)[:, None], torch.tensor([0, 1, 1, 0]), spec, weights=torch.tensor([1.0, 3, 0, 4])
    )
    source = Source(data, Preprocess.fit(data), budget=budget)
    assert source.batch(torch.tensor([1, 3]))[1].tolist() == [[1.0, 1.5], [0.0, 2.0]]
    part = Subset(data, torch.tensor([0, 1]))  # every part has its own mean
    assert Source(part, Preprocess.fit(data)).batch(torch.tensor([0, 1]))[1].tolist() == [[0.0, 0.5], [1.0, 1.5]]
    with pytest.raises(DataError, match="all 1 examples of a part have the weight 0 in 'w': split with another seed"):
        Source(Subset(data, torch.tensor([2])), Preprocess.fit(data))
    with pytest.raises(DataError, match="`spec.weight` names 'w', but the dataset has no `weights`"):
        Source(ArrayDataset(data.inputs, data.targets, spec), Preprocess.fit(data))
