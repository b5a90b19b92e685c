"""The official formats of MNIST, Fashion-MNIST and CIFAR-10, on small made files and on the real ones."""

import gzip
import hashlib
import io
import os
import struct
import tarfile
import warnings
from functools import partial

import numpy as np
import pytest
import torch

from lamina._errors import ArgumentError, DataError, DataWarning
from lamina.data import named, store
from lamina.data._download import File
from lamina.data.named import CLASSES, _read_cifar_batch, _read_idx, load_named
from lamina.data.store import NamedSet

zipped = partial(gzip.compress, mtime=0)  # the same bytes at any moment, so that test names agree

IDX = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


def idx(values):
    values = np.asarray(values, np.uint8)
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


def random_bytes(shape, seed, high=256):
    return np.random.default_rng(seed).integers(0, high, shape, dtype=np.uint8)


IMAGES, LABELS = random_bytes((12, 4, 3), 0), np.arange(12) % 10
TEST_IMAGES, TEST_LABELS = random_bytes((5, 4, 3), 1), np.array([3, 1, 4, 1, 5])


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Put files into LAMINA_DATA as a data set, with the right checksums."""
    monkeypatch.setenv("LAMINA_DATA", str(tmp_path))

    def put(name, contents, folder="", archive=None):
        (tmp_path / name / folder).mkdir(parents=True, exist_ok=True)
        for file, data in contents.items():
            (tmp_path / name / folder / file).write_bytes(data)
        files = tuple(File(file, len(data), hashlib.sha256(data).hexdigest()) for file, data in contents.items())
        entry = NamedSet(name, "made up", "image", files, ("http://127.0.0.1",), archive, folder)
        monkeypatch.setattr(store, "SETS", {name: entry})
        return tmp_path / name

    return put


def small_mnist(images=IMAGES, labels=LABELS):
    arrays = (images, labels, TEST_IMAGES, TEST_LABELS)
    return {name: zipped(idx(array), mtime=0) for name, array in zip(IDX, arrays, strict=True)}


def batch(seed, labels):
    pictures = random_bytes((len(labels), 3, 32, 32), seed)
    records = np.concatenate([np.asarray(labels, np.uint8)[:, None], pictures.reshape(len(labels), -1)], 1)
    return pictures, records.tobytes()


def small_cifar():
    names = [f"data_batch_{number}.bin" for number in range(1, 6)] + ["test_batch.bin"]
    return {name: batch(seed, [seed, 9 - seed])[1] for seed, name in enumerate(names)}


# Reading


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_idx_of_pictures(pack):
    got = _read_idx(pack(idx(IMAGES)), "a")
    assert got.dtype == np.uint8 and (got == IMAGES).all()


@pytest.mark.parametrize(
    ("code", "kind"), [(0x08, "u1"), (0x09, "i1"), (0x0B, "i2"), (0x0C, "i4"), (0x0D, "f4"), (0x0E, "f8")]
)
def test_idx_of_every_type(code, kind):
    values = np.array([[1, 2, 3], [4, 5, 100]], f">{kind}")
    data = bytes([0, 0, code, 2]) + struct.pack(">2I", 2, 3) + values.tobytes()
    assert (_read_idx(data, "a") == values).all()


GOOD = idx(IMAGES)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"`a\.gz` is not an IDX file: it begins with nothing, not 00 00 08"),
        (b"\0\0\x08", r"is not an IDX file: it begins with 00 00 08, not"),
        (b"hello world", r"is not an IDX file: it begins with 68 65 6c 6c, not 00 00 08"),
        (b"\0\0\x07\x01\0\0\0\0", r"is not an IDX file: it begins with 00 00 07 01"),
        (b"\0\0\x08\0", r"is cut off within its head of 0 axes \(4 bytes\): get it again"),
        (GOOD[:10], r"is cut off within its head of 3 axes \(10 bytes\)"),
        (GOOD[:-1], r"is cut off: its head says \(12, 4, 3\), 144 bytes, got 143: get it again"),
        (GOOD + b"x", r"is too long: its head says \(12, 4, 3\), 144 bytes, got 145"),
        (b"\0\0\x08\x03" + b"\xff" * 12, r"is cut off: its head says \(4294967295, 4294967295, 4294967295\)"),
        (zipped(GOOD)[:40], r"is cut off within its gzip stream: get it again"),
        (zipped(GOOD)[:-2], r"is cut off within its gzip stream"),
        (zipped(GOOD)[:30] + b"xxxx" + zipped(GOOD)[34:], r"is (damaged|cut off)"),
        (zipped(b"zip" * 9), r"is not an IDX file: it begins with 7a 69 70 7a"),
    ],
)
def test_bad_idx(data, message):
    with pytest.raises(DataError, match=message):
        _read_idx(data, "a.gz")


def test_an_idx_bomb(monkeypatch):
    monkeypatch.setattr(named, "_MOST", 100_000)
    with pytest.raises(DataError, match=r"`a` unpacks to more than 100,000 bytes, as a decompression bomb does"):
        _read_idx(zipped(idx(np.zeros((1000, 1000)))), "a")


def test_cifar_records():
    pictures, data = batch(3, [9, 0, 4])
    got, labels = _read_cifar_batch(data, "b")
    assert (got == pictures).all() and labels.tolist() == [9, 0, 4]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"`b\.bin` is cut off: a batch has 3,073 bytes per picture, got 0: get it again"),
        (batch(0, [1, 2])[1][:-1], r"`b\.bin` is cut off: a batch has 3,073 bytes per picture, got 6,145"),
        (batch(0, [1, 10])[1], r"`b\.bin` has the label 10: labels must be in \[0, 10\)"),
    ],
)
def test_bad_cifar(data, message):
    with pytest.raises(DataError, match=message):
        _read_cifar_batch(data, "b.bin")


# Loading


@pytest.mark.notes("N2.57")
def test_load_idx(publish):
    publish("mnist", small_mnist())
    data = load_named("mnist")
    assert data.inputs.dtype == torch.uint8 and data.inputs[:, 0].equal(torch.tensor(IMAGES))
    assert data.targets.dtype == torch.int64 and data.targets.tolist() == LABELS.tolist()
    assert data.official_test.inputs[:, 0].equal(torch.tensor(TEST_IMAGES))
    assert data.official_test.targets.tolist() == TEST_LABELS.tolist()
    assert data.spec.inputs == (1, 4, 3) and data.spec.classes == tuple("0123456789") and data.spec.source == "mnist"
    assert data.spec.notes == ("made up; the second number is the official test set.",)


@pytest.mark.filterwarnings("ignore::lamina._errors.DataWarning")  # most classes are empty
def test_the_official_test_set_stays_the_test_part(publish):
    publish("fashion-mnist", small_mnist(labels=np.arange(12) % 2))
    data = load_named("fashion-mnist")
    assert data.spec.classes[9] == "Ankle boot"
    split = data.split(seed=1)
    assert [len(part) for part in (split.train, split.validation, split.test)] == [10, 2, 5]
    assert "10 training, 2 validation and 5 official test examples" in split.note
    assert split.open_test().take(torch.arange(5))[1].tolist() == TEST_LABELS.tolist()
    assert len(data.split(ratios=(2, 1, 1)).validation) == 3


@pytest.mark.notes("N4.29")
def test_load_cifar_from_batches_and_from_the_archive(publish, tmp_path):
    contents = small_cifar()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, data in reversed(contents.items()):  # in another order than the files are listed
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    archive = File("cifar-10-binary.tar.gz", len(packed.getvalue()), "0" * 64)
    folder = publish("cifar10", contents, "cifar-10-batches-bin", archive)
    loose = load_named("cifar10")
    assert loose.targets.tolist() == [0, 9, 1, 8, 2, 7, 3, 6, 4, 5] and loose.official_test.targets.tolist() == [5, 4]
    assert loose.spec.inputs == (3, 32, 32) and loose.spec.classes == CLASSES["cifar10"]
    assert loose.inputs[2:4].equal(torch.tensor(batch(1, [1, 8])[0]))
    for name in contents:
        (folder / "cifar-10-batches-bin" / name).unlink()
    (folder / "cifar-10-binary.tar.gz").write_bytes(packed.getvalue())
    from_archive = load_named("cifar10")
    assert from_archive.inputs.equal(loose.inputs) and from_archive.targets.equal(loose.targets)
    assert from_archive.official_test.inputs.equal(loose.official_test.inputs)


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (
            IMAGES,
            LABELS[:-1],
            r"train-images-idx3-ubyte\.gz` \(12, 4, 3\) and `train-labels-idx1-ubyte\.gz` \(11,\) are not",
        ),
        (LABELS, LABELS, r"`train-images-idx3-ubyte\.gz` \(12,\) and .* are not pictures and their labels"),
        (IMAGES, IMAGES, r"`train-labels-idx1-ubyte\.gz` \(12, 4, 3\) are not pictures and their labels"),
        (IMAGES, LABELS + 5, r"`train-labels-idx1-ubyte\.gz` has the label 14: labels must be in \[0, 10\)"),
    ],
)
def test_files_that_do_not_fit_together(publish, images, labels, message):
    publish("mnist", small_mnist(images, labels))
    with pytest.raises(DataError, match=message):
        load_named("mnist")


def test_a_changed_file_is_noticed(publish):
    folder = publish("mnist", small_mnist())
    path = folder / IDX[0]
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"train-images-idx3-ubyte\.gz` is not the official file: its SHA-256 is"):
        load_named("mnist")


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "cifar10"])
def test_absent_data_say_how_to_get_them(name, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "cache", lambda: tmp_path / "cache")
    monkeypatch.delenv("LAMINA_DATA", raising=False)
    first = store.SETS[name].downloads[0].name
    with pytest.raises(DataError, match=rf"data set {name} is not here .* lamina data get {name}  or put .*{first}"):
        load_named(name)


def test_an_unknown_name():
    with pytest.raises(ArgumentError, match="`name` must be one of 'mnist', 'fashion-mnist', 'cifar10', got 'svhn'"):
        load_named("svhn")


# The real ones; the numbers are those of shared/data/README.md, published with the sets

REAL = {
    "mnist": ((1, 28, 28), 60_000, [0.1307], [0.3081], [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]),
    "fashion-mnist": ((1, 28, 28), 60_000, [0.2860], [0.3530], [6000] * 10),
    "cifar10": (
        *((3, 32, 32), 50_000),
        *([0.49139968, 0.48215841, 0.44653091], [0.24703223, 0.24348513, 0.26158784], [5000] * 10),
    ),
}


@pytest.mark.skipif(not os.environ.get("LAMINA_DATA"), reason="needs LAMINA_DATA")
@pytest.mark.parametrize("name", REAL)
def test_the_real_sets(name):
    inputs, count, mean, std, balance = REAL[name]
    data = load_named(name)
    assert data.spec.inputs == inputs and len(data) == count and len(data.official_test) == 10_000
    assert data.targets.bincount().tolist() == balance
    # Exact sums over bytes, in a histogram: no rounding, little memory.
    for channel in range(inputs[0]):
        counts = data.inputs[:, channel].flatten().to(torch.int32).bincount(minlength=256).double()
        values = torch.arange(256).double() / 255
        first = (counts @ values / counts.sum()).item()
        second = (counts @ (values - first) ** 2 / counts.sum()).sqrt().item()
        assert first == pytest.approx(mean[channel], abs=5e-5) and second == pytest.approx(std[channel], abs=5e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # some pictures are in these sets twice
        split = data.split()
    assert len(split.train) == count - count // 6 and len(split.validation) == count // 6 and len(split.test) == 10_000
