"""Texts from lists and files, and words that are copied."""

import pytest
import torch

from lamina._errors import DataError
from lamina.data.text.vocabulary import Vocabulary
from lamina.training.tasks.texts import copied, read_texts, unknown_words


def test_unknown_words_are_copied_in_order():
    vocabulary = Vocabulary.fit(["the sun and the moon"])
    assert unknown_words(vocabulary, "The Rigi and Pilatus") == ["Rigi", "Pilatus"]
    assert unknown_words(Vocabulary.fit(["ab"], vocabulary.wording), "") == []
    assert copied("<unk> und <unk>", ["Rigi", "Pilatus", "Titlis"]) == "Rigi und Pilatus"
    assert copied("<unk> und <unk>", ["Rigi"]) == "Rigi und <unk>" and copied("nichts", ["x"]) == "nichts"


def test_texts_come_from_files_too(tmp_path):
    (tmp_path / "a.txt").write_text("first\n\nsecond\tzweite\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,review\nx,a long text here\ny,\n", encoding="utf-8")
    both = read_texts([tmp_path / "a.txt", "third", str(tmp_path / "b.csv")])
    assert both == (["first", None, "second", "third", "a long text here", None], None)
    texts, frame = read_texts(tmp_path / "b.csv")
    assert texts == ["a long text here", None] and frame.rows() == [("x", "a long text here"), ("y", None)]
    assert read_texts("word " * 5000)[0] == ["word " * 5000] and read_texts("a\0b")[0] == ["a\0b"]
    with pytest.raises(DataError, match="no.csv does not exist: check the name"):
        read_texts("no.csv")
    with pytest.raises(DataError, match=r"empty.txt` holds no text"):
        (tmp_path / "empty.txt").write_text("\n")
        read_texts(tmp_path / "empty.txt")
    (tmp_path / "c.csv").write_bytes("id;text\nx;süß, und gut\n".encode("cp1252"))
    (tmp_path / "d.jsonl").write_text('{"id": 1, "text": "one two"}\n')
    assert read_texts([tmp_path / "c.csv", tmp_path / "d.jsonl"])[0] == ["süß, und gut", "one two"]
    (tmp_path / "e.txt").write_bytes("zł\n".encode("cp1250"))
    assert read_texts(tmp_path / "e.txt", (("encoding", "cp1250"),))[0] == ["zł"]
    assert read_texts([{"n": 1, "text": "one two"}, {"n": 2, "text": None}])[0] == ["one two", None]
    with pytest.raises(DataError, match="the table has no column of text: the run was trained on texts"):
        read_texts({"a": [1, 2]})
    with pytest.raises(DataError, match="has no column of text"):
        (tmp_path / "numbers.csv").write_text("a,b\n1,2\n3,4\n")
        read_texts(tmp_path / "numbers.csv")


def test_texts_of_no_one_and_ten_thousand_words_are_read(critic, translator):
    texts = ["", "film", "the film was fine " * 2500, "Ω≈ç√ ☃", "שלום the film"]
    found = critic.predict(texts)
    assert torch.isfinite(found.values).all() and len(found) == 5
    assert len(translator.predict(["", "one " * 300]).texts) == 2


def test_a_blank_line_has_no_answer_and_keeps_its_place(critic, translator, tmp_path):
    (tmp_path / "a.txt").write_text("a fine film\n\n \nno fun\n", encoding="utf-8")
    found, alone = critic.predict(tmp_path / "a.txt"), critic.predict(["a fine film", "no fun"])
    assert found.values.isnan().all(1).tolist() == [False, True, True, False]
    assert torch.equal(found.values[[0, 3]], alone.values)
    assert found.labels == [alone.labels[0], "", "", alone.labels[1]] and found.top()[1] == []
    assert found.frame().columns[:2] == ["text", "predicted"] and found.frame()["predicted"][1] is None
    assert translator.predict(tmp_path / "a.txt").texts[1:3] == ("", "")
    assert critic.predict(b"a fine film\n\n \nno fun\n").labels == found.labels
    with pytest.raises(DataError, match="standard input holds no text"):
        critic.predict(b"\n\n")


def test_predictions_stand_beside_the_columns_of_a_table(critic, tmp_path):
    (tmp_path / "b.csv").write_text("id,review,predicted\nx,a long text here,1\ny,,2\n", encoding="utf-8")
    frame = critic.predict(tmp_path / "b.csv").frame()
    assert frame.columns[:5] == ["id", "review", "predicted", "predicted*", "probability"]
    assert frame["predicted*"].to_list() == [critic.predict("a long text here").labels[0], None]
