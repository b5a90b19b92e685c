import polars as pl
import pytest

from lamina._errors import ArgumentError, DataError
from lamina.data.load import load
from lamina.data.text.files import _read_pairs, load_pairs, load_running_text, load_text
from lamina.data.text.texts import (
    answers_of,
    running_text_of,
    texts_of,
)


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
    with pytest.raises(DataError, match="has no column of text besides the target 'label': name it with `text`"):
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
        ("\n \n", r"is empty: each pair of texts needs a line, with a tab between the two"),
        ("", r"is empty: each pair of texts needs"),
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
    assert running_text_of(load(put(path, poem, "utf-16"))) == poem
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
    with pytest.raises(DataError, match=r"begins with numbers \(1\) where names"):
        load(numbers)
    with pytest.raises(DataError, match="does not exist"):
        load(tmp_path / "nowhere.tsv")
