"""Texts as data and in files: what is stored, how it is split, and one sentence for what cannot be read."""

import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError, DataError
from lamina.data.dataset import Dataset, Subset
from lamina.data.splits import Sealed, k_fold
from lamina.data.text.texts import (
    PairDataset,
    RunningText,
    TextDataset,
    _codes_of,
    _equal_texts,
    answers_of,
    running_text_of,
    text_of,
    texts_of,
)

EMOJI = ["good 😀", "", "плохо", "שלום world", "bad\ud800", "x" * 10_000]


def labeled(texts=EMOJI, **options):
    return TextDataset.of(texts, torch.arange(len(texts)) % 2, ("no", "yes"), source="made", **options)


# Storage


@given(st.lists(st.text(max_size=20), max_size=8))
@settings(max_examples=100, deadline=None)
def test_texts_come_back_exactly(texts):
    rows = _codes_of(texts)
    assert [text_of(rows.row(i)) for i in range(len(rows))] == texts
    assert rows.lengths.tolist() == [len(text) for text in texts]
    if texts:
        assert texts_of(labeled(texts)) == texts


def test_a_dataset_of_texts():
    data = labeled()
    assert isinstance(data, Dataset) and data.spec.kind == "text" and data.spec.inputs == (10_000,) and len(data) == 6
    codes, labels = data.take(torch.tensor([0, 1]))
    assert codes.dtype == torch.int32 and codes.shape == (2, 6) and codes[0, -1] == 0x1F600 and codes[1, 0] == -1
    assert labels.tolist() == [0, 1] and texts_of(Subset(data, torch.tensor([3, 1]))) == ["שלום world", ""]
    marks = labeled(["a", "b", "a", ""]).fingerprints()
    assert marks[0] == marks[2] and len(marks.unique()) == 3
    assert _equal_texts(["x", "y", "x"]).tolist() == [0, 1, 0]


def test_classes_are_stratified_and_copies_stay_together():
    texts = [f"text {i // 2 if i < 6 else i}" for i in range(60)]
    with pytest.warns(UserWarning, match="copies of training examples"):
        labeled(texts).split(seed=2)
    data = labeled(texts, groups=_equal_texts(texts))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split = data.split(seed=2)
    parts = [set(texts_of(part)) for part in (split.train, split.validation, split.open_test())]
    assert not (parts[0] & parts[1] or parts[0] & parts[2] or parts[1] & parts[2])
    folds = k_fold(labeled([f"t{i}" for i in range(20)]), 10)
    assert len(folds) == 10 and sorted(t for _, held in folds for t in texts_of(held)) == sorted(
        f"t{i}" for i in range(20)
    )
    assert all(held.targets.sum() == 1 for _, held in folds)


def test_published_parts_stay_what_they_are():
    from dataclasses import replace

    train, held, test = (labeled([f"{name} {i}" for i in range(n)]) for name, n in (("a", 8), ("b", 3), ("c", 4)))
    split = replace(train, official_validation=held, official_test=test).split(seed=5)
    assert split.note == "made: 8 training, 3 validation and 4 test examples, as published."
    assert texts_of(split.train) == texts_of(train) and texts_of(split.validation) == texts_of(held)
    assert isinstance(split.test, Sealed) and texts_of(split.open_test()) == texts_of(test) and split.openings == 1


def test_pairs():
    data = PairDataset.of(["Hi.", "Hi.", "Run!"], ["Hallo!", "Grüß Gott!", "Lauf!"], source="three", target="German")
    assert data.spec.task == "translation" and data.groups.tolist() == [0, 0, 1]
    assert [text_of(row[0]) for row in data.take(torch.tensor([1]))] == ["Hi.", "Grüß Gott!"]
    assert answers_of(Subset(data, torch.tensor([2, 0]))) == ["Lauf!", "Hallo!"] and data.targets.shape == (3, 10)
    assert PairDataset.of(["a", "b"], ["x", "y"]).groups is None
    with pytest.raises(DataError, match="`answers` must have one entry for each of the 1 texts, got 2"):
        PairDataset.of(["a"], ["b", "c"])
    with pytest.raises(DataError, match="`groups` must have one entry for each of the 1 texts, got 2"):
        PairDataset.of(["a"], ["b"], groups=torch.tensor([0, 1]))
    with pytest.raises(DataError, match="`targets` must have one entry for each of the 2 texts, got 1"):
        TextDataset.of(["a", "b"], torch.tensor([1]), ("x", "y"))


def test_running_text_is_cut_in_order():
    text = "".join(chr(97 + i % 26) for i in range(103))
    data = RunningText.of(text, block=10, source="abc")
    assert len(data) == 11 and running_text_of(data) == text and data.spec.task == "language"
    inputs, targets = data.take(torch.tensor([0, 10]))
    assert text_of(inputs[0]) == text[:10] and text_of(targets[0]) == text[1:11]
    assert text_of(inputs[1]) == text[100:] and text_of(targets[1]) == text[101:]
    split = data.split()
    parts = [running_text_of(part) for part in (split.train, split.validation, split.open_test())]
    assert [len(part) for part in parts] == [68, 17, 18] and "".join(parts) == text  # floors of 103 * 4/6, 5/6
    assert split.note == "abc: 7 training, 2 validation and 2 test examples, in order (68, 17, 18 characters)."
    fixed = RunningText.of(text, shares=(9, 1, 0)).split()
    assert running_text_of(fixed.train) == text[:92] and running_text_of(fixed.validation) == text[92:]
    assert running_text_of(fixed.open_test()) == text[92:] and "the validation text is also the test text" in fixed.note
    with pytest.raises(DataError, match="a text of 5 characters is too short to split 4:1:1, since each part needs"):
        RunningText.of("abcde").split()
    with pytest.raises(ArgumentError, match="`block` must be at least 1, got 0"):
        RunningText.of("abc", block=0)


def test_texts_are_no_vectors():
    from lamina.data.preprocess import Preprocess

    with pytest.raises(
        DataError, match="data of kind 'text' need a dictionary: preprocess them with `TextPreprocess.fit`"
    ):
        Preprocess.fit(labeled())
