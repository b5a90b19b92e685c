import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset as TorchDataset

from lamina._errors import ArgumentError, DataError, DataWarning
from lamina.data.arrays import WrappedDataset, from_arrays
from lamina.data.dataset import Dataset
from lamina.data.load import load
from lamina.data.preprocess import Preprocess


def test_arrays_of_numpy_torch_and_lists_are_the_same():
    rows, labels = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]], [1, 2, 2, 1]
    for inputs, targets in (
        (rows, labels),
        (np.array(rows), np.array(labels)),
        (torch.tensor(rows), torch.tensor(labels)),
        (np.array(rows, dtype=">f4"), np.array(labels, dtype=np.uint16)),
        (np.array(rows, dtype=np.uint16), np.array(labels)),
        (np.array(rows, dtype=np.float16), np.array(["1", "2", "2", "1"])),
    ):
        for data in (load((inputs, targets)), load(inputs, targets)):
            assert data.inputs.tolist() == rows and data.targets.tolist() == [0, 1, 1, 0]
            assert data.spec.classes == ("1", "2") and data.spec.kind == "vector" and data.spec.source == "arrays"


@pytest.mark.parametrize(
    ("targets", "classes", "labels"),
    [
        ([3, 10, 2, 10], ("2", "3", "10"), [1, 2, 0, 2]),
        (["b", "a", "b", "ä"], ("a", "b", "ä"), [1, 0, 1, 2]),
        ([True, False, True, True], ("False", "True"), [1, 0, 1, 1]),
        ([-1, 1, 1, -1], ("-1", "1"), [0, 1, 1, 0]),
    ],
)
def test_classes_in_sorted_order(targets, classes, labels):
    if len(set(targets)) > 2:
        targets, labels = targets * 2, labels * 2
    data = from_arrays(torch.zeros(len(targets), 1), targets)
    assert data.spec.classes == classes and data.targets.tolist() == labels


def test_given_class_names():
    data = from_arrays(torch.zeros(6, 1), [0, 1, 0, 1, 0, 1], classes=["cat", "dog", "fox"])
    assert data.spec.classes == ("cat", "dog", "fox") and data.spec.outputs == 3 and data.targets.max() == 1
    few = from_arrays(torch.zeros(3, 1), [2, 0, 1], classes=["cat", "dog", "fox"])  # who names classes means them
    assert few.targets.tolist() == [2, 0, 1]
    data = from_arrays(torch.zeros(4, 1), [5, 7, 5, 7], classes=["five", "seven"])
    assert data.spec.classes == ("five", "seven") and data.targets.tolist() == [0, 1, 0, 1]
    with pytest.raises(DataError, match="`classes` must name the 2 classes that `targets` have, got 1"):
        from_arrays(torch.zeros(4, 1), [5, 7, 5, 7], classes=["five"])


def test_real_and_structured_targets():
    data = from_arrays(np.zeros((3, 2)), [0.5, 1.5, 2.5])
    assert data.spec.task == "regression" and data.spec.outputs == 1 and data.targets.dtype == torch.float32
    data = from_arrays(np.zeros((3, 2)), np.ones((3, 4)))
    assert data.spec.task == "regression" and data.spec.outputs == 4
    data = from_arrays(np.zeros((3, 2)), [3, 4, 5], task="regression")
    assert data.targets.tolist() == [3, 4, 5] and data.targets.dtype == torch.float32
    images = np.zeros((3, 8, 8), dtype=np.uint8)
    data = from_arrays(images, images)
    assert data.spec.task == "structured" and data.spec.target_shape == (8, 8) and data.targets.dtype == torch.uint8
    with pytest.raises(
        DataError, match=r"targets of regression must be \[N\] or \[N, outputs\], got the shape \(3, 2, 2\)"
    ):
        from_arrays(np.zeros((3, 2)), np.zeros((3, 2, 2)), task="regression")


def test_pictures_in_any_usual_layout(generator):
    images = torch.randint(0, 256, (4, 3, 5, 6), generator=generator, dtype=torch.uint8)
    labels = [0, 1, 0, 1]
    assert from_arrays(images, labels).inputs.equal(images)
    assert from_arrays(images.permute(0, 2, 3, 1).numpy(), labels).inputs.equal(images)
    gray = images[:, 0]
    for inputs in (gray, gray[:, None], gray[..., None], gray.long(), gray.numpy().astype(np.int32)):
        data = from_arrays(inputs, labels)
        assert data.inputs.equal(gray[:, None]) and data.spec.inputs == (1, 5, 6) and data.spec.kind == "image"
    assert from_arrays(gray > 127, labels).inputs.unique().tolist() == [0, 255]
    assert from_arrays(gray.long() * 100, labels).inputs.dtype == torch.float32
    assert from_arrays(gray.double() / 255, labels).inputs.dtype == torch.float32
    assert from_arrays(gray, labels, kind="vector").spec.inputs == (5, 6)
    assert from_arrays(gray.flatten(1), labels).inputs.dtype == torch.float32


def test_one_number_an_example_and_groups():
    data = from_arrays([1.0, 2.0, 3.0], [0.0, 1.0, 2.0], groups=["b", "a", "b"], features=["u"])
    assert (
        data.inputs.tolist() == [[1], [2], [3]] and data.groups.tolist() == [1, 0, 1] and data.spec.features == ("u",)
    )


@pytest.mark.parametrize(
    ("inputs", "targets", "options", "message"),
    [
        ([[1.0], [2.0]], [0, 1, 0, 1], {}, "`targets` must have one entry for each of the 2 inputs, got 4"),
        ([[1.0], [float("nan")]], [0, 1], {}, "`inputs` must be finite, got NaN or infinity in row 1"),
        ([[float("inf")], [1.0]], [0, 1], {}, "`inputs` must be finite, got NaN or infinity in row 0"),
        ([1.0, float("nan")], [0, 1], {}, "`inputs` must be finite"),
        ([[1.0], [2.0]], [0.0, float("nan")], {}, "`targets` must be finite, got NaN or infinity"),
        ([[1.0], [2.0]], [0.0, float("nan")], {"task": "classification"}, "`targets` must be finite, got NaN"),
        ([[1.0], [2.0, 3.0]], [0, 1], {}, "`inputs` must have rows of one length, got ragged ones"),
        ([["a"], ["b"]], [0, 1], {}, "`inputs` must be numbers, got values of type <U1"),
        (
            torch.zeros(2, 1, dtype=torch.complex64),
            [0, 1],
            {},
            "`inputs` must be numbers, got values of type torch.complex64",
        ),
        (torch.eye(2).to_sparse(), [0, 1], {}, "must be an ordinary tensor of numbers, got one of .* torch.sparse_coo"),
        (torch.eye(2, device="meta"), [0, 1], {}, "must be an ordinary tensor of numbers, got one of .* on meta"),
        (
            torch.eye(2).to(torch.float8_e4m3fn),
            [0, 1],
            {},
            "must be an ordinary tensor of numbers, got .*float8_e4m3fn",
        ),
        (
            np.ma.masked_array([[1.0], [2.0]], [[True], [False]]),
            [0, 1],
            {},
            "`inputs` has masked values: fill them in, or load a table, where cells may be empty",
        ),
        (np.zeros((0, 3)), [], {}, r"`inputs` must have at least 1 example with 1 number, got the shape \(0, 3\)"),
        ([[1.0], [2.0]], [4, 4], {}, "`targets` have one class only, 4: a classifier needs at least 2"),
        (np.zeros((8, 1)), list(range(8)), {}, "`targets` have 8 classes in 8 examples, too many"),
        (np.zeros((2, 5, 4, 4)), [0, 1], {}, r"pictures must have 1 or 3 channels, got the shape \(2, 5, 4, 4\)"),
        (np.zeros((2, 4)), [0, 1], {"kind": "image"}, r"pictures must have the axes .* got \(2, 4\)"),
        (
            [[1.0], [2.0]],
            [[0], [1]],
            {"task": "classification"},
            r"there must be one label for each example, got the shape \(2, 1\)",
        ),
        ([[1.0], [2.0]], [[0.0], [1.0, 2.0]], {}, "`targets` must all have one shape, got several"),
    ],
)
def test_bad_arrays(inputs, targets, options, message):
    with pytest.raises(DataError, match=message):
        from_arrays(inputs, targets, **options)


def test_bad_options_of_arrays():
    with pytest.raises(ArgumentError, match="`kind` must be one of None, 'image', 'table', 'vector', got 'sound'"):
        from_arrays([[1.0]], [1.0], kind="sound")
    with pytest.raises(ArgumentError, match="`task` must be one of None, 'classification'"):
        from_arrays([[1.0]], [1.0], task="guess")
    with pytest.raises(DataError, match="arrays has no option 'color': it has kind, task, classes"):
        load([[1.0]], [1.0], color="red")


class Pairs(TorchDataset):
    def __init__(self, pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        return self.pairs[index]


def test_any_torch_dataset():
    images = [Image.new("RGB", (4, 3), (i, 2 * i, 3 * i)) for i in range(6)]
    data = load(Pairs([(image, i % 3) for i, image in enumerate(images * 2)]))
    assert isinstance(data, WrappedDataset) and isinstance(data, Dataset)
    assert data.spec.inputs == (3, 3, 4) and data.spec.outputs == 3 and len(data) == 12
    inputs, targets = data.take(torch.tensor([5, 2]))
    assert inputs[:, :, 0, 0].tolist() == [[5, 10, 15], [2, 4, 6]] and targets.tolist() == [2, 2]
    assert inputs.dtype == torch.uint8 and data.take(torch.zeros(0, dtype=torch.int64))[0].shape == (0, 3, 3, 4)
    split = data.split()
    source = Preprocess.fit(split.train, (1, 6, 6)).source(split.train, budget=1)
    batches = [torch.tensor([0, 3]), torch.tensor([2, 1])]
    source.prefetch(batches)
    resident = Preprocess.fit(split.train, (1, 6, 6)).source(split.train)
    for indices in batches:
        assert source.batch(indices)[0].equal(resident.batch(indices)[0])


@pytest.mark.parametrize("workers", [1, 3])
def test_a_wrapped_dataset_is_asked_by_so_many_threads(workers):
    data = WrappedDataset(Pairs([(torch.full((2,), float(i)), float(i)) for i in range(50)]), workers=workers)
    assert data.spec.task == "regression" and data.targets.tolist() == [float(i) for i in range(50)]
    order = list(torch.randperm(50, generator=torch.Generator().manual_seed(0)).split(7))
    with data.prefetch(order) as stream:
        for indices, (inputs, targets) in zip(order, stream, strict=True):
            assert inputs[:, 0].equal(indices.float()) and targets.equal(indices.float())


def test_classes_and_targets_of_a_torchvision_like_dataset():
    class Vision(Pairs):
        classes = ("ant", "bee")

        def __init__(self):
            super().__init__([(np.zeros((2, 2), np.uint8), i % 2) for i in range(4)])
            self.targets, self.asked = [0, 1, 0, 1], 0

        def __getitem__(self, index):
            self.asked += 1
            return super().__getitem__(index)

    vision = Vision()
    data = WrappedDataset(vision)
    assert data.spec.classes == ("ant", "bee") and vision.asked == 2 and data.spec.inputs == (1, 2, 2)
    vision.target_transform = int
    WrappedDataset(vision)
    assert vision.asked == 2 + 2 + 4
    assert WrappedDataset(vision, classes=("a", "b")).spec.classes == ("a", "b")


def test_structured_pairs():
    data = WrappedDataset(Pairs([(torch.ones(1, 4, 4), torch.full((1, 2, 2), float(i))) for i in range(3)]))
    assert data.spec.task == "structured" and data.spec.target_shape == (1, 2, 2) and data.targets[2].mean() == 2


def test_random_changes_are_warned_of():
    class Random(Pairs):
        def __getitem__(self, index):
            self.calls = getattr(self, "calls", 0) + 1
            return torch.full((2,), float(self.calls)), index % 2

    with pytest.warns(DataWarning, match="Random gives a different example at index 0 each time .* use `augment`"):
        WrappedDataset(Random([0] * 4))


def test_bad_torch_datasets():
    class Endless(TorchDataset):
        def __getitem__(self, index):
            return torch.zeros(1), 0

    with pytest.raises(DataError, match="Endless has no length: give it a __len__, or make it a torch IterableDataset"):
        load(Endless())
    with pytest.raises(DataError, match="Pairs is empty: it needs at least 1 example"):
        load(Pairs([]))
    with pytest.raises(DataError, match=r"Pairs\[0\] must be a tuple such as \(input, target\) .*, got int"):
        load(Pairs([3]))
    with pytest.raises(DataError, match=r"Pairs\[0\] must be a tuple .*, or a dict, got tuple of 1"):
        load(Pairs([(3,)]))
    with pytest.raises(DataError, match=r"Pairs\[0\] must be numbers, got values of type <U5"):
        load(Pairs([("hello", 0)]))
    mixed = load(Pairs([(torch.zeros(2), 0), (torch.zeros(2), 1), (torch.zeros(3), 0), (torch.zeros(2), 1)]))
    with pytest.raises(DataError, match=r"Pairs\[2\] has the shape \(3,\) .*, but index 0 has \(2,\)"):
        mixed.take(torch.tensor([2]))


def test_several_labels_and_weights():
    bits = np.array([[1, 0], [0, 1], [1, 1]])
    data = from_arrays(np.eye(3), bits, task="multilabel", classes=["rain", "snow"], weights=[1, 2, 0.5])
    assert (data.spec.task, data.spec.outputs, data.spec.classes) == ("multilabel", 2, ("rain", "snow"))
    assert data.targets.dtype == torch.float32 and data.targets.tolist() == bits.tolist()
    assert data.weights.tolist() == [1, 2, 0.5] and data.spec.weight == "weights"
    assert from_arrays(np.eye(3), bits.astype(bool)).spec.classes == ("0", "1")
    assert from_arrays(np.eye(3), bits).spec.task == "regression"


@pytest.mark.parametrize(
    ("targets", "options", "message"),
    [
        ([[0, 2], [1, 0]], {}, r"must be 0 and 1 in an array \[N, labels\], got the shape \(2, 2\) \(int64\)"),
        ([0, 1], {}, r"must be 0 and 1 in an array \[N, labels\], got the shape \(2,\)"),
        ([[0, 1], [1, 1]], {}, "`targets` have the same value for label 1 in every example: leave that label out"),
        ([[0, 1], [1, 0]], {"classes": ["a"]}, "`classes` must name the 2 labels that `targets` have, got 1"),
        ([[0, 1], [1, 0]], {"weights": [1, -1]}, r"none of them negative or NaN and not all 0, got \[1.0, -1.0\]"),
        ([[0, 1], [1, 0]], {"weights": [1, np.nan]}, "none of them negative or NaN"),
        ([[0, 1], [1, 0]], {"weights": [0, 0]}, "not all 0, got"),
        ([[0, 1], [1, 0]], {"weights": [1]}, "`weights` must have one entry for each of the 2 inputs, got 1"),
    ],
)
def test_labels_and_weights_that_cannot_be(targets, options, message):
    with pytest.raises(DataError, match=message):
        from_arrays(np.eye(2), np.array(targets), task="multilabel", **options)


def test_structured_targets_have_no_weights():
    with pytest.raises(
        DataError, match="`weights` are for classes, labels and numbers, but the targets are structured"
    ):
        from_arrays(np.eye(2), np.zeros((2, 2, 2)), weights=[1, 1])
