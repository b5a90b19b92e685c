"""Texts from lists and files, and words that are copied."""

import pytest
import torch

from lamina._errors import DataError
from lamina.data.text.vocabulary import Vocabulary
from lamina.training.tasks.texts import _texts_from, copied, unknown_words


def test_unknown_words_are_copied_in_order():
    vocabulary = Vocabulary.fit(["the sun and the moon"])
    assert unknown_words(vocabulary, "The Rigi and Pilatus") == ["Rigi", "Pilatus"]
    assert unknown_words(Vocabulary.fit(["ab"], vocabulary.wording), "") == []
    assert copied("<unk> und <unk>", ["Rigi", "Pilatus", "Titlis"]) == "Rigi und Pilatus"
    assert copied("<unk> und <unk>", ["Rigi"]) == "Rigi und <unk>" and copied("nichts", ["x"]) == "nichts"


def test_texts_come_from_files_too(tmp_path):
    (tmp_path / "a.txt").write_text("first\n\nsecond\tzweite\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,review\nx,a long text here\ny,\n", encoding="utf-8")
    assert _texts_from([tmp_path / "a.txt", "third", str(tmp_path / "b.csv")]) == [
        "first",
        "second",
        "third",
        "a long text here",
        "",
    ]
    assert _texts_from("word " * 5000) == ["word " * 5000] and _texts_from("a\0b") == ["a\0b"]
    with pytest.raises(DataError, match="no.csv does not exist: check the name"):
        _texts_from("no.csv")
    with pytest.raises(DataError, match=r"empty.txt holds no text"):
        (tmp_path / "empty.txt").write_text("\n")
        _texts_from(tmp_path / "empty.txt")
    (tmp_path / "c.csv").write_bytes("id;text\nx;süß, und gut\n".encode("cp1252"))
    (tmp_path / "d.jsonl").write_text('{"id": 1, "text": "one two"}\n')
    assert _texts_from([tmp_path / "c.csv", tmp_path / "d.jsonl"]) == ["süß, und gut", "one two"]
    (tmp_path / "e.txt").write_bytes("zł\n".encode("cp1250"))
    assert _texts_from(tmp_path / "e.txt", (("encoding", "cp1250"),)) == ["zł"]
    assert _texts_from([{"n": 1, "text": "one two"}, {"n": 2, "text": None}]) == ["one two", ""]
    with pytest.raises(DataError, match="the table has no column of text: the run was trained on texts"):
        _texts_from({"a": [1, 2]})
    with pytest.raises(DataError, match="has no column of text"):
        (tmp_path / "numbers.csv").write_text("a,b\n1,2\n3,4\n")
        _texts_from(tmp_path / "numbers.csv")


def test_texts_of_no_one_and_ten_thousand_words_are_read(critic, translator):
    texts = ["", "film", "the film was fine " * 2500, "Ω≈ç√ ☃", "שלום the film"]
    found = critic.predict(texts)
    assert torch.isfinite(found.values).all() and len(found) == 5
    assert len(translator.predict(["", "one " * 300]).texts) == 2
