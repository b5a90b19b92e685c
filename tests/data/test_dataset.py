import json

import pytest
import torch

from lamina._errors import ArgumentError, DataError
from lamina.data.dataset import ArrayDataset, BaseDataset, Dataset, Spec, Subset, _fingerprints, all_targets


def vectors(count=6, classes=2, **options):
    spec = Spec("vector", "classification", (2,), classes, **options)
    return ArrayDataset(torch.arange(2.0 * count).reshape(count, 2), torch.arange(count) % classes, spec)


class Bare:
    """Nothing but the protocol."""

    def __init__(self, dataset):
        self.inner = dataset
        self.asked = 0

    @property
    def spec(self):
        return self.inner.spec

    def __len__(self):
        return len(self.inner)

    def take(self, indices):
        self.asked += len(indices)
        return self.inner.take(indices)


def test_spec_fills_in_names_and_survives_json():
    spec = Spec("table", "classification", (2,), 3, levels=((), ("a", "ä")), notes=("Said.",), source="x y.csv")
    assert spec.classes == ("0", "1", "2") and spec.features == ("x1", "x2")
    again = Spec.from_dict(json.loads(json.dumps(spec.as_dict())))
    assert again == spec and isinstance(again.levels[1], tuple)
    assert Spec("table", "regression", (3,), 1).levels == ((), (), ())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("sound", "classification", (2,), 2),
            "`kind` must be one of 'image', 'table', 'vector', .*'batches', got 'sound'",
        ),
        (
            ("vector", "guessing", (2,), 2),
            "`task` must be one of 'classification', 'multilabel', 'regression', 'structured'",
        ),
        (("vector", "regression", (2,), 0), "`outputs` must be at least 1, got 0"),
        (
            ("image", "classification", (28, 28), 2),
            r"`inputs` of pictures must be \(channels, height, width\), got \(28, 28\)",
        ),
        (
            ("vector", "classification", (2,), 3, ("a", "b")),
            r"`classes` must name 3 classes, as `outputs` says, got \('a', 'b'\)",
        ),
        (
            ("vector", "regression", (2,), 1, (), ("a",)),
            r"`features` must have one entry for each of the inputs \(2,\), got 1",
        ),
        (
            ("vector", "structured", (2,), 5, (), (), "", "", (2, 2)),
            r"`outputs` must be the size of `target_shape` \(2, 2\), got 5",
        ),
    ],
)
def test_spec_refuses_what_does_not_fit(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        Spec(*arguments)


def test_spec_of_a_newer_version_is_refused():
    with pytest.raises(DataError, match=r"unknown fields \['color'\]: a newer Lamina"):
        Spec.from_dict({**Spec("vector", "regression", (1,), 1).as_dict(), "color": "red"})


def test_array_dataset_gives_what_it_was_given():
    data = vectors()
    inputs, targets = data.take(torch.tensor([4, 0, 4]))
    assert inputs.tolist() == [[8, 9], [0, 1], [8, 9]] and targets.tolist() == [0, 0, 0]
    assert len(data) == 6 and isinstance(data, Dataset) and isinstance(data, BaseDataset)


def test_array_dataset_refuses_other_shapes_and_lengths():
    spec = Spec("vector", "classification", (2,), 2)
    with pytest.raises(DataError, match=r"`inputs` must have examples of shape \(2,\), as `spec` says, got \(3,\)"):
        ArrayDataset(torch.zeros(4, 3), torch.zeros(4, dtype=torch.int64), spec)
    with pytest.raises(DataError, match="`targets` must have one entry for each of the 4 inputs, got 3"):
        ArrayDataset(torch.zeros(4, 2), torch.zeros(3, dtype=torch.int64), spec)
    with pytest.raises(DataError, match="`groups` must have one entry for each of the 4 inputs, got 1"):
        ArrayDataset(torch.zeros(4, 2), torch.zeros(4, dtype=torch.int64), spec, torch.zeros(1, dtype=torch.int64))


def test_subset_of_a_subset_is_a_view_of_the_whole():
    data = vectors()
    data = ArrayDataset(data.inputs, data.targets, data.spec, groups=torch.arange(6) // 2)
    part = Subset(Subset(data, torch.tensor([5, 3, 1])), torch.tensor([2, 0]))
    inputs, targets = part.take(torch.tensor([1, 0]))
    assert inputs.tolist() == [[10, 11], [2, 3]] and targets.tolist() == [1, 1]
    assert part.targets.tolist() == [1, 1] and part.groups.tolist() == [0, 2] and len(part) == 2
    assert part.fingerprints().tolist() == data.fingerprints()[[1, 5]].tolist()
    assert part.spec is data.spec and part.official_test is None and isinstance(part, Dataset)


@pytest.mark.parametrize("indices", [[0, 6], [-1, 2]])
def test_subset_refuses_indices_outside(indices):
    with pytest.raises(DataError, match=r"`indices` must be in \[0, 6\), got values from"):
        Subset(vectors(), torch.tensor(indices))


def test_all_targets_of_a_bare_dataset_are_read_in_parts():
    bare = Bare(vectors(600))
    assert isinstance(bare, Dataset)
    assert all_targets(bare).equal(torch.arange(600) % 2) and bare.asked == 600
    assert Subset(bare, torch.tensor([3])).fingerprints() is None and Subset(bare, torch.tensor([3])).groups is None


def test_fingerprints_are_equal_for_equal_rows_only():
    grid = torch.cartesian_prod(*[torch.arange(-2.0, 2.0)] * 6)
    for dtype in (torch.float32, torch.float64, torch.int64):
        assert len(_fingerprints(grid.to(dtype)).unique()) == len(grid) == 4**6
    assert len(_fingerprints((grid + 2).to(torch.uint8).reshape(-1, 1, 2, 3)).unique()) == len(grid)
    nan, zero = float("nan"), torch.tensor([[0.0, -0.0]])
    rows = torch.tensor([[nan, 0.0], [nan, -0.0], [-nan, 0.0], [0.0, nan]])
    first, second, third, other = _fingerprints(rows).tolist()
    assert first == second == third != other
    assert _fingerprints(zero).equal(_fingerprints(-zero))
    assert _fingerprints(torch.zeros(0, 3)).shape == (0,)


def test_fingerprints_of_many_rows_do_not_depend_on_the_part_they_are_computed_in(generator):
    rows = torch.randint(0, 256, (3000, 3, 32, 32), generator=generator, dtype=torch.uint8)
    assert _fingerprints(rows)[2999:].equal(_fingerprints(rows[2999:]))
