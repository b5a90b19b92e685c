import warnings
from itertools import chain, pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError, DataError, DataWarning
from lamina.data.dataset import ArrayDataset, Dataset, Spec, Subset, all_targets, weights_of
from lamina.data.splits import Sealed, _shares, folds, in_time, k_fold, split
from lamina.data.synthetic import blobs, curve, truth_table


def labeled(labels, groups=None, official=None):
    labels = torch.as_tensor(labels)
    spec = Spec("vector", "classification", (1,), int(labels.max()) + 1, source="made")
    return ArrayDataset(torch.arange(float(len(labels)))[:, None], labels, spec, groups, official)


def real(count):
    spec = Spec("vector", "regression", (1,), 1)
    return ArrayDataset(torch.arange(float(count))[:, None], torch.zeros(count), spec)


def rows(part):
    return part.indices.tolist()


def parts(result):
    return [rows(result.train), rows(result.validation), rows(result.open_test())]


@pytest.mark.notes("N1.66")
def test_600_examples_give_400_100_100():
    result = real(600).split()
    assert [len(part) for part in parts(result)] == [400, 100, 100]
    assert len(result.test) == 100 and result.test.spec.task == "regression"


@pytest.mark.notes("N1.66")
@given(count=st.integers(6, 300), seed=st.integers(0, 2**40))
@settings(deadline=None, max_examples=60)
def test_parts_are_disjoint_complete_and_of_the_stated_size(count, seed):
    train, validation, test = parts(real(count).split(seed))
    assert sorted(train + validation + test) == list(range(count))
    assert (len(validation), len(test)) == (count // 6, count // 6)


@pytest.mark.notes("N1.66")
@given(counts=st.lists(st.integers(3, 40), min_size=2, max_size=12), seed=st.integers(0, 1000), data=st.data())
@settings(deadline=None, max_examples=100)
def test_classes_are_spread_within_one_and_are_in_every_part(counts, seed, data):
    labels = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    ratios = data.draw(st.sampled_from([(4, 1, 1), (1, 1, 1), (7, 2, 1), (3, 0, 1)]))
    if sum(counts) < 12:
        return
    total = sum(counts)
    result = labeled(labels).split(seed, ratios)
    assert sorted(chain(*parts(result))) == list(range(total))
    held = [total * share // sum(ratios) for share in ratios[1:]]
    found = torch.stack([torch.bincount(labels[part], minlength=len(counts)) for part in parts(result)]).tolist()
    for part, (row, size) in enumerate(zip(found, (total - sum(held), *held), strict=True)):
        for label, count in enumerate(counts):
            ideal, share = count * size / total, row[label]
            assert share >= 1 or not size
            assert abs(share - ideal) <= 1 or (part == 0 and 0 < ideal - share < 3)  # a small class gives two away
        assert part == 0 or size <= len(parts(result)[part]) <= size + sum(count * size < total for count in counts)


@pytest.mark.parametrize(
    ("counts", "table"),
    [
        ([3, 3], [[1, 1, 1], [1, 1, 1]]),
        ([3] * 20, [[1, 1, 1]] * 20),
        ([600, 3, 4, 5], [[400, 100, 100], [1, 1, 1], [2, 1, 1], [3, 1, 1]]),
        ([60, 2, 1], [[40, 10, 10], [1, 1, 0], [1, 0, 0]]),
        ([1] * 6, None),
    ],
)
@pytest.mark.filterwarnings("ignore::lamina._errors.DataWarning")
def test_a_class_of_three_is_in_each_part(counts, table):
    labels = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    held = [torch.bincount(labels[part], minlength=len(counts)).tolist() for part in parts(labeled(labels).split())]
    if table is None:  # no part is left empty for the sake of single examples
        assert [sum(part) for part in held] == [4, 1, 1]
    else:
        assert [list(row) for row in zip(*held, strict=True)] == table


@given(counts=st.lists(st.integers(1, 9), min_size=2, max_size=9), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=100)
@pytest.mark.filterwarnings("ignore::lamina._errors.DataWarning")
def test_small_classes_train_first_then_validate(counts, seed):
    """Sizes 1 to 9: nothing is lost, no part is empty, and with enough examples in the parts every rule holds."""
    if sum(counts) < 6:
        return
    labels = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    found = parts(labeled(labels).split(seed))
    assert sorted(chain(*found)) == list(range(sum(counts))) and all(found)
    held = [torch.bincount(labels[part], minlength=len(counts)).tolist() for part in found]
    for count, row in zip(counts, zip(*held, strict=True), strict=True):
        if count >= 3:
            assert min(row) >= 1
        elif max(counts) >= 3:  # then no part depends on the smaller classes
            assert row == ((1, 1, 0) if count == 2 else (1, 0, 0))


def test_largest_remainders_win_and_a_single_example_trains():
    labels = torch.tensor([0] * 89 + [1] * 6 + [2])
    with pytest.warns(DataWarning, match=r"fewer than 3 examples cannot be in every part: '2' \(1\)\. A single"):
        result = labeled(labels).split()
    held = [torch.bincount(labels[part], minlength=3).tolist() for part in parts(result)]
    assert held == [[59, 4, 1], [15, 1, 0], [15, 1, 0]]


@pytest.mark.parametrize(
    ("sizes", "table"),
    [((1, 1, 3), [[0, 0, 1], [1, 1, 2]]), ((1, 3, 1), [[0, 1, 0], [1, 2, 1]]), ((3, 1, 1), [[1, 0, 0], [2, 1, 1]])],
)
def test_a_single_example_goes_to_the_part_with_the_largest_share(sizes, table):
    """Of its shares 1/5, 1/5 and 3/5 the last is rounded up; the class of four gets what is left."""
    assert _shares([1, 4], sizes) == table


@pytest.mark.notes("N1.66")
@given(groups=st.lists(st.integers(0, 8), min_size=12, max_size=80), seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=80)
def test_groups_stay_whole(groups, seed):
    numbers = torch.tensor(groups)
    if len(numbers.unique()) < 3:
        return
    result = labeled(torch.arange(len(groups)) % 2, numbers).split(seed)
    found = parts(result)
    assert sorted(chain(*found)) == list(range(len(groups))) and all(found)
    owners = [set(numbers[part].tolist()) for part in found]
    assert not (owners[0] & owners[1] or owners[0] & owners[2] or owners[1] & owners[2])


def test_small_groups_meet_the_shares_and_the_classes():
    labels = torch.arange(600) % 3
    result = labeled(labels, torch.arange(600) // 3).split(seed=1)
    assert [len(part) for part in parts(result)] == [399, 102, 99] or [len(p) for p in parts(result)] == [402, 99, 99]
    for part in parts(result):
        counts = torch.bincount(labels[part])
        assert int(counts.max() - counts.min()) == 0
    assert "grouped" in result.note


def test_groups_may_be_given_to_split():
    numbers = torch.arange(60) // 10
    result = real(60).split(groups=numbers)
    assert sorted(len(set(numbers[part].tolist())) for part in parts(result)) == [1, 1, 4]
    with pytest.raises(DataError, match="`groups` must have one number for each of the 60 examples, got 3"):
        real(60).split(groups=torch.arange(3))
    with pytest.raises(DataError, match="2 groups are too few for 3 parts, since no group may be divided"):
        real(60).split(groups=torch.arange(60) // 30)


@pytest.mark.notes("N1.66")
def test_the_seed_decides():
    data = blobs(120)
    assert parts(data.split(5)) == parts(data.split(5)) != parts(data.split(6))
    generator = torch.Generator().manual_seed(5)
    first = data.split(generator)
    assert parts(first) == parts(data.split(5)) and parts(data.split(generator)) != parts(first)
    assert first.note.endswith("stratified by class.")
    before = torch.random.get_rng_state()
    data.split(1)
    assert before.equal(torch.random.get_rng_state())


@pytest.mark.notes("N1.67")
def test_the_test_part_is_sealed_and_counts_its_openings():
    result = blobs(60).split()
    assert result.openings == 0 and isinstance(result.test, Dataset)
    with pytest.raises(DataError, match=r"the test part is sealed, and 3 of its examples .* `split.open_test\(\)`"):
        result.test.take(torch.arange(3))
    assert result.openings == 0
    inputs, _ = result.open_test().take(torch.arange(3))
    assert inputs.shape == (3, 2) and result.openings == 1
    result.open_test()
    assert result.openings == 2


def test_model_selection_reads_the_test_part_once():
    result = curve(600).split()
    best = min(range(4), key=lambda degree: _validation_error(result, degree))
    result.open_test()
    assert result.openings == 1 and best == 3


def _validation_error(result, degree):
    u, s = result.train.take(torch.arange(len(result.train)))
    v, t = result.validation.take(torch.arange(len(result.validation)))
    weight = torch.linalg.lstsq(u ** torch.arange(degree + 1), s[:, None]).solution[:, 0]
    return float((v ** torch.arange(degree + 1) @ weight - t).square().mean())


def test_the_note_is_a_sentence():
    assert real(600).split(7).note == "data: 400 training, 100 validation and 100 test examples, by chance, seed 7."


def test_an_official_test_set_stays_the_test_part():
    official = labeled([0, 1, 0], None)
    result = labeled([0, 1] * 30, official=Subset(official, torch.arange(3))).split()
    assert len(result.train) == 50 and len(result.validation) == 10 and len(result.test) == 3
    assert sorted(rows(result.train) + rows(result.validation)) == list(range(60))
    assert "50 training, 10 validation and 3 official test examples" in result.note
    assert "official test examples are copies of training examples" in result.note


def test_an_official_test_set_counts_as_a_part_of_its_classes():
    """Two examples of a class train and validate, but a class that should also be tested has three."""
    labels, official = [0] * 28 + [1] * 2, labeled([0, 0, 0])
    with pytest.warns(DataWarning, match=r"classes with fewer than 3 examples cannot be in every part: '1' \(2\)"):
        labeled(labels, official=Subset(official, torch.arange(3))).split()


def test_a_truth_table_is_not_divided():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = truth_table("xor").split()
    assert len(result.train) == len(result.validation) == len(result.open_test()) == 4
    assert result.note == "xor: all 4 examples serve for training, validation and test, since there are no others."


def test_a_rule_of_the_dataset_is_used_unless_groups_are_given(monkeypatch):
    data = real(6)
    pieces = [Subset(data, torch.tensor([row])) for row in (5, 0, 3)]
    monkeypatch.setattr(ArrayDataset, "divide", lambda self, seed, ratios: (*pieces, "by hand"))
    result = data.split()
    assert parts(result) == [[5], [0], [3]]
    assert result.note == "data: 1 training, 1 validation and 1 test examples, by hand."
    assert (
        data.split(groups=torch.arange(6)).note
        == "data: 4 training, 1 validation and 1 test examples, grouped, seed 0."
    )


def test_anything_with_a_spec_a_length_and_examples_is_divided():
    class Plain:
        spec = Spec("vector", "regression", (1,), 1)

        def __len__(self):
            return 6

        def take(self, indices):
            return indices[:, None].float(), indices.float()

    assert sorted(chain(*parts(split(Plain())))) == list(range(6))


def test_copies_across_parts_are_warned_of(monkeypatch):
    inputs = torch.arange(60.0)[:, None] % 30
    data = ArrayDataset(inputs, torch.arange(60) % 2, Spec("vector", "classification", (1,), 2))
    with pytest.warns(DataWarning, match="of 10 validation examples and .* of 10 test examples are copies of training"):
        data.split()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data.split(groups=torch.arange(60) % 30)
        blobs(60).split()
        monkeypatch.setattr(ArrayDataset, "fingerprints", lambda self: None)  # too costly: then nothing is said
        data.split()


@pytest.mark.parametrize(("count", "least"), [(5, 6), (1, 6)])
def test_too_few_examples(count, least):
    message = f"{count} examples are too few to split 4:1:1, the validation part would be empty: use at least {least}"
    with pytest.raises(DataError, match=message):
        real(count).split()


@pytest.mark.parametrize("ratios", [(0, 1, 1), (1, -1, 1)])
def test_bad_ratios(ratios):
    with pytest.raises(ArgumentError, match="`ratios` must be three numbers that are not negative, the first above 0"):
        real(10).split(ratios=ratios)


@given(counts=st.lists(st.integers(1, 30), min_size=2, max_size=6), k=st.integers(2, 6), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_folds_are_disjoint_complete_and_even(counts, k, seed):
    labels = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    total = sum(counts)
    if total < k:
        return
    folds = k_fold(labeled(labels), k, seed)
    assert sorted(chain(*(rows(validation) for _, validation in folds))) == list(range(total))
    for train, validation in folds:
        assert sorted(rows(train) + rows(validation)) == list(range(total))
        assert total // k <= len(validation) <= -(-total // k)
        for label, count in enumerate(counts):
            assert abs(int((labels[rows(validation)] == label).sum()) - count / k) < 1


def test_folds_keep_groups_and_follow_the_seed():
    numbers = torch.arange(60) // 5
    for train, validation in k_fold(labeled(torch.arange(60) % 2, numbers), 4):
        assert (
            not set(numbers[rows(train)].tolist()) & set(numbers[rows(validation)].tolist()) and len(validation) == 15
        )
    first, second = (k_fold(real(20), 4, seed) for seed in (0, 1))
    assert rows(first[0][1]) != rows(second[0][1]) and rows(first[0][1]) == rows(k_fold(real(20), 4, 0)[0][1])


def test_folds_refuse_what_cannot_be():
    with pytest.raises(ArgumentError, match="`k` must be at least 2, got 1"):
        k_fold(real(5), 1)
    with pytest.raises(DataError, match="6 folds need at least 6 examples, but there are 5: use fewer folds"):
        k_fold(real(5), 6)
    with pytest.raises(DataError, match="3 folds need at least 3 groups, but there are 2: use fewer folds"):
        k_fold(real(6), 3, groups=torch.arange(6) // 3)


def test_sealed_stands_alone():
    part = Sealed(real(4))
    assert len(part) == 4 and part.open().take(torch.tensor([3]))[0].item() == 3 and part.openings == 1


def several(targets, **options):
    targets = torch.as_tensor(targets).float()
    names = tuple("abcdefgh"[: targets.shape[1]])
    spec = Spec("vector", "multilabel", (1,), len(names), names, source="s", **options)
    return ArrayDataset(torch.arange(float(len(targets)))[:, None], targets, spec)


def test_combinations_of_labels_are_spread():
    parts = split(several([[1, 0]] * 60 + [[0, 1]] * 30 + [[1, 1]] * 12 + [[0, 0]] * 18))
    assert parts.note == "s: 80 training, 20 validation and 20 test examples, stratified by label, seed 0."
    for part, share in ((parts.train, 4), (parts.validation, 1), (parts.test._dataset, 1)):
        rows = part.targets.tolist()
        counts = [rows.count(row) for row in ([1, 0], [0, 1], [1, 1], [0, 0])]
        assert counts == [10 * share, 5 * share, 2 * share, 3 * share]


def test_rare_combinations_are_spread_by_their_rarest_label():
    bits = [[int(i % k == 0) for k in (2, 3, 5, 7)] for i in range(1, 121)]  # 16 combinations, few rows each
    parts = split(several(bits))
    counts = [part.targets.sum(0) for part in (parts.train, parts.validation, parts.test._dataset)]
    whole = torch.tensor(bits).sum(0)
    for count, share in zip(counts, (4 / 6, 1 / 6, 1 / 6), strict=True):
        assert (count - whole * share).abs().max() <= 4


def test_rare_labels_are_warned_of():
    with pytest.warns(DataWarning, match=r"labels with fewer than 3 examples cannot be in every part: 'b' \(2\)"):
        split(several([[1, 1]] * 2 + [[1, 0]] * 30 + [[0, 0]] * 28))


def test_the_note_names_group_and_weight():
    data = several([[1, 0], [0, 1]] * 12, group="house", weight="w")
    data = ArrayDataset(data.inputs, data.targets, data.spec, torch.arange(24) // 2, weights=torch.ones(24))
    assert split(data).note.endswith("grouped by 'house', weighted by 'w', seed 0.")
    assert split(data, groups=torch.arange(24) // 3).note.endswith("grouped, weighted by 'w', seed 0.")
    assert [len(fold) for _, fold in k_fold(several([[1, 0], [0, 1]] * 12), 3)] == [8, 8, 8]


def test_folds_spread_classes_as_scikit_learn_does():
    from sklearn.model_selection import StratifiedKFold

    labels = torch.tensor([0] * 23 + [1] * 11 + [2] * 7)[torch.randperm(41, generator=torch.Generator().manual_seed(0))]
    data = ArrayDataset(torch.arange(41.0)[:, None], labels, Spec("vector", "classification", (1,), 3))
    found = folds(data, 4, seed=1)
    tested = [one.test._dataset for one in found]
    assert sorted(torch.cat([part.indices for part in tested]).tolist()) == list(range(41))
    theirs = StratifiedKFold(4, shuffle=True, random_state=0).split(data.inputs, labels)
    wanted = [torch.bincount(labels[torch.from_numpy(test)], minlength=3) for _, test in theirs]
    mine = [torch.bincount(part.targets, minlength=3) for part in tested]
    for label in range(3):
        assert sorted(int(c[label]) for c in mine) == sorted(int(c[label]) for c in wanted)
    for one in found:
        parts = [one.train, one.validation, one.test._dataset]
        inputs = [part.take(torch.arange(len(part)))[0].flatten().tolist() for part in parts]
        assert sorted(chain(*inputs)) == list(range(41)) and len(parts[1]) == (41 - len(parts[2])) // 5
        assert set(one.validation.targets.tolist()) == {0, 1, 2}


def test_folds_keep_groups_together():
    groups = torch.arange(60) % 12
    data = ArrayDataset(
        torch.arange(60.0)[:, None], torch.zeros(60), Spec("vector", "regression", (1,), 1), groups=groups
    )
    found = folds(data, 3, seed=0)
    homes = [set(one.test._dataset.groups.tolist()) for one in found]
    assert set.union(*homes) == set(range(12)) and sum(map(len, homes)) == 12  # as GroupKFold: each group once
    for one in found:
        sets = [set(part.groups.tolist()) for part in (one.train, one.validation, one.test._dataset)]
        assert not sets[0] & sets[1] and not sets[0] & sets[2] and not sets[1] & sets[2]


def test_folds_warn_of_copies_and_rare_classes():
    spec = Spec("vector", "classification", (1,), 2, classes=("a", "b"))
    rows = torch.arange(30.0)[:, None]
    rows[1] = rows[0]
    rare = torch.tensor([0] * 28 + [1] * 2)
    with pytest.warns(DataWarning, match=r"classes with fewer than 3 examples cannot be in every part: 'b' \(2\)"):
        folds(ArrayDataset(torch.arange(30.0)[:, None], rare, spec), 3)
    data = ArrayDataset(rows, torch.arange(30) % 2, spec)
    with pytest.warns(DataWarning, match=r"2 of 30 examples have copies in another fold, which makes results look too"):
        folds(data, 15)  # of two examples each, of which copies have different classes


@pytest.mark.parametrize(("moments", "k"), [(40, 3), (41, 2), (25, 4)])
def test_folds_of_rows_with_times_test_each_stretch_once_after_its_past(moments, k):
    order = torch.randperm(3 * moments, generator=torch.Generator().manual_seed(0))
    times = (torch.arange(3 * moments) // 3)[order].double()  # three rows for each moment
    spec = Spec("table", "regression", (1,), 1, weight="w")
    data = ArrayDataset(times[:, None], times.float(), spec, times=times, weights=times + 1)
    tested = []
    for number, part in enumerate(folds(data, k), 1):
        train, validation, test = (all_targets(each) for each in (part.train, part.validation, part.test.open()))
        assert part.note == f"data: fold {number} of {k}, in order of time."
        assert train.max() < validation.min() and validation.max() < test.min()
        assert len(test) == pytest.approx(3 * moments / (k + 1), abs=3)
        assert len(validation) == pytest.approx((len(train) + len(validation)) / 5, abs=3)
        torch.testing.assert_close(weights_of(part.train).float(), (train + 1) / (train + 1).mean())
        tested.append(test)
    first = len(data) // (k + 1)
    assert torch.cat(tested).sort().values.tolist() == times.sort().values[first - first % 3 :].tolist()


def test_folds_need_as_many_moments():
    times = torch.tensor([1.0] * 5 + [2.0] * 5 + [3.0] * 20, dtype=torch.float64)
    data = ArrayDataset(times[:, None], times.float(), Spec("table", "regression", (1,), 1), times=times)
    with pytest.raises(DataError, match="has 3 different moments, too few for 3 folds in order of time: ask for fewer"):
        folds(data, 3)


def test_no_folds_of_a_truth_table_or_of_published_parts():
    with pytest.raises(DataError, match="there are no other examples than these 4, so no fold could be unseen"):
        folds(truth_table("or"), 2)

    class Published(ArrayDataset):
        def divide(self, seed, ratios):
            return self, self, self, "as published"

    data = Published(torch.zeros(9, 1), torch.zeros(9), Spec("vector", "regression", (1,), 1, source="set"))
    with pytest.raises(DataError, match="set has training, validation and test parts of its own: train on them with"):
        folds(data, 2)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=6, max_size=60), st.sampled_from([(4, 1, 1), (2, 1, 1), (3, 2, 1)]))
def test_parts_in_order_of_time_are_complete_and_never_look_ahead(moments, ratios):
    times = torch.tensor(moments, dtype=torch.float64)
    try:
        parts = in_time(times, ratios)
    except DataError as error:
        assert "different moments are too few to split" in str(error) and len(times.unique()) < len(times)
        return
    assert torch.cat(parts).sort().values.equal(torch.arange(len(times)))
    for past, future in pairwise(parts):
        assert times[past].max() < times[future].min()
    if len(times.unique()) == len(times):  # no ties: the sizes of every split
        held = [len(times) * share // sum(ratios) for share in ratios[1:]]
        assert [len(part) for part in parts] == [len(times) - sum(held), *held]


def test_one_copy_is_warned_of_in_the_singular():
    spec = Spec("vector", "regression", (1,), 1)
    inputs = torch.arange(60.0)[:, None]
    there, here, _ = parts(split(ArrayDataset(inputs, torch.zeros(60), spec)))
    inputs[there[0]] = inputs[here[0]]
    with pytest.warns(DataWarning, match="1 of 10 validation examples is a copy of a training example, which makes"):
        split(ArrayDataset(inputs, torch.zeros(60), spec))
