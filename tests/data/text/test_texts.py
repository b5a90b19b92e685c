"""Texts as data and in files: what is stored, how it is split, and one sentence for what cannot be read."""

import warnings

import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ArgumentError, DataError
from lamina.data.dataset import Dataset, Subset
from lamina.data.load import load
from lamina.data.splits import Sealed, k_fold
from lamina.data.text.files import _read_pairs, load_pairs, load_running_text, load_text
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
    assert running_text_of(fixed.open_test()) == text[92:] and "the validation text is the test text too" in fixed.note
    with pytest.raises(DataError, match="a text of 5 characters is too short to split 4:1:1, for each part needs"):
        RunningText.of("abcde").split()
    with pytest.raises(ArgumentError, match="`block` must be at least 1, got 0"):
        RunningText.of("abc", block=0)


# Files


def put(path, text, encoding="utf-8"):
    path.write_text(text, encoding=encoding, newline="")
    return path


REVIEWS = "label,review\n" + "".join(
    f'{i % 2},"a {"fine" if i % 2 else "bad"}, long film no. {i}"\n' for i in range(12)
)


def test_texts_with_labels(tmp_path):
    path = put(tmp_path / "films.csv", REVIEWS)
    for data in (load(path), load(path, text="review"), load_text(path, "review", "label"), load(path, kind="text")):
        assert data.spec.kind == "text" and data.spec.classes == ("0", "1") and len(data) == 12
        assert texts_of(data)[1] == "a fine, long film no. 1" and data.targets.tolist() == [0, 1] * 6
    assert data.spec.target == "label" and load(path).origin["source"] == str(path)
    first, last = load(path).describe(samples=1)[0], load(path).describe(samples=1)[-1]
    assert first.endswith("12 texts of up to 24 characters, classification into 2 classes (column 'label').")
    assert last == "  a bad, long film no. 0  ->  0"
    numbers = load(put(tmp_path / "stars.csv", "stars,text\n1.5,a b c d\n2.25,e f g h\n4,i j k l\n"), text="text")
    assert numbers.spec.task == "regression" and numbers.targets.tolist() == [1.5, 2.25, 4.0]
    frame = pl.DataFrame({"label": ["x", "y"] * 3, "note": ["one text", None, "", "one text", "b", "c"], "n": range(6)})
    frame.write_parquet(tmp_path / "t.parquet")
    data = load(tmp_path / "t.parquet", text="note", target="label")
    assert texts_of(data) == ["one text", "", "", "one text", "b", "c"] and data.groups.tolist() == [0, 1, 1, 0, 2, 3]
    assert data.spec.notes[-2:] == ("Only the column 'note' is read; n are not.", "2 texts are empty.")


def test_what_a_table_of_texts_must_have(tmp_path):
    path = put(tmp_path / "films.csv", REVIEWS)
    with pytest.raises(DataError, match="no column 'reviw' for `text`, did you mean 'review'"):
        load(path, text="reviw")
    with pytest.raises(DataError, match="`text` and `target` must differ, got 'label' for both"):
        load(path, text="label", target="label")
    with pytest.raises(
        DataError, match="a table of texts has no option 'sise': it has text, target, task, group, delim"
    ):
        load(path, text="review", sise=3)
    with pytest.raises(
        DataError, match=r"one.csv` has too few rows \(1\): at least 2 are needed to load and 6 to split"
    ):
        load(put(tmp_path / "one.csv", "label,text\n1,hello\n"), kind="text")
    pl.DataFrame({"x": [1, 2], "label": [0, 1]}).write_parquet(tmp_path / "n.parquet")
    with pytest.raises(DataError, match="has no column of text beside the target 'label': name it with `text`"):
        load(tmp_path / "n.parquet", kind="text")
    with pytest.raises(
        ArgumentError, match="`kind` must be one of 'table', 'text', 'pairs', 'language', 'series', 'descriptions', got"
    ):
        load(path, kind="sound")


def test_pairs_from_a_file(tmp_path):
    lines = "Hi.\tHallo!\r\nHi!\tGrüß Gott!\r\n\r\nRun!\tLauf!\r\nThe sun is shining.\tDie Sonne scheint.\r\n"
    path = put(tmp_path / "deu.txt", lines)
    data = load(path)
    assert data.spec.kind == "pairs" and texts_of(data) == ["Hi.", "Hi!", "Run!", "The sun is shining."]
    assert answers_of(data)[1] == "Grüß Gott!" and data.groups.tolist() == [0, 0, 1, 2]
    back = load(path, reverse=True, longest=2)
    assert texts_of(back) == ["Hallo!", "Grüß Gott!", "Lauf!"] and answers_of(back)[2] == "Run!" and back.groups is None
    assert back.spec.notes == ("3 of 4 pairs have at most 2 words on both sides.",)
    three = put(tmp_path / "three.tsv", "Go.\tGeh.\tCC-BY 1\nStop!\tHalt!\tCC-BY 2\n")
    assert answers_of(load(three)) == ["Geh.", "Halt!"]
    assert len(load_pairs(put(tmp_path / "old.txt", "a\tä\nb\tö\n", "cp1252"), encoding="cp1252")) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Hi.\tHallo!\nRun!\n", r"has 1 text in line 2, not 2 as in the first: put one tab between the two texts"),
        ("Hi.\tHallo!\n\nGo.\tGeh.\tCC\n", r"has 3 texts in line 3, not 2 as in the first"),
        ("just words\n", r"has 1 text in line 1, not at least 2"),
        ("Hi.\tHallo!\n\tGeh.\n", r"the first text in line 2 is empty: fill it in or remove the line"),
        ("Hi.\t \n", r"the second text in line 1 is empty"),
        ("\n \n", r"is empty: pairs of texts need a line each, with a tab between them"),
        ("", r"is empty: pairs of texts need"),
    ],
)
def test_ragged_pairs_name_the_line(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        load(put(tmp_path / "p.tsv", text), kind="pairs")
    with pytest.raises(DataError, match=message):
        _read_pairs(text, "`x`")


def test_no_pair_is_short_enough(tmp_path):
    with pytest.raises(DataError, match="has no pair of at most 1 words: allow a larger `longest`"):
        load(put(tmp_path / "p.tsv", "a b\tc\nd e\tf\n"), kind="pairs", longest=1)


def test_a_running_text_from_a_file(tmp_path):
    poem = "First Citizen:\nBefore we proceed any further, hear me speak.\n\nAll:\nSpeak, speak.\n"
    path = put(tmp_path / "poem.txt", poem)
    data = load(path)
    assert data.spec.task == "language" and running_text_of(data) == poem and data.block == 256
    assert load(path, block=7).block == 7 and len(load_running_text(path, block=7)) == 12
    with pytest.raises(DataError, match=r"poem.txt` is not UTF-8 but UTF-16"):
        load(put(path, poem, "utf-16"), kind="language")
    with pytest.raises(DataError, match="is empty: a running text needs some characters"):
        load(put(path, " \n"), kind="language")
    with pytest.raises(DataError, match="a running text has no option 'target': it has block, encoding"):
        load(put(path, poem), target="x")


def test_a_file_is_what_it_looks_like(tmp_path):
    table = "x,y,kind\n1,2,a\n3,4,b\n5,6,a\n"
    for name in ("t.csv", "t.txt"):
        assert load(put(tmp_path / name, table)).spec.kind == "table"
    assert load(put(tmp_path / "t.tsv", table.replace(",", "\t"))).spec.kind == "table"
    few = put(tmp_path / "few.csv", "color of it,kind\n" + "light sky blue,a\ndark rose red,b\n" * 5)
    assert load(few).spec.kind == "table"  # few different texts are categories
    prices = put(tmp_path / "prices.tsv", "city\tprice\n" + "".join(f"town {i % 3}\t{i}\n" for i in range(20)))
    assert load(prices).spec.kind == "table"
    numbers = put(tmp_path / "n.txt", "1\n2\n3\n")
    with pytest.raises(DataError, match="has one column only"):
        load(numbers)
    with pytest.raises(DataError, match="does not exist"):
        load(tmp_path / "nowhere.tsv")


def test_texts_are_no_vectors():
    from lamina.data.preprocess import Preprocess

    with pytest.raises(
        DataError, match="data of kind 'text' need a dictionary: prepare them with `TextPreprocess.fit`"
    ):
        Preprocess.fit(labeled())


def test_describe_pairs_and_running_text():
    data = PairDataset.of(["yes " * 40], ["ja"], source="one", target="German")
    assert data.describe() == [
        "one: 1 pairs of texts of up to 160 characters, to be translated into German.",
        "samples:",
        "  " + "yes " * 17 + " ...  ->  ja",
    ]
    assert RunningText.of("To be,\nor not", source="poem").describe() == [
        "poem: 1 texts of up to 13 characters, whose next characters are to be predicted.",
        "samples:",
        "  To be, or not",
    ]
