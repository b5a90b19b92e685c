import json
import sys

import pytest
from hypothesis import given, settings

from data.text.strategies import texts
from lamina._errors import MissingExtraError
from lamina.data.text import _subwords, words
from lamina.data.text.vocabulary import END, UNKNOWN, Vocabulary, Wording


def test_subwords_need_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"a dictionary of subwords needs .*'lamina-nn\[language\]'"):
        Vocabulary.fit(["a"], Wording("subword", size=300))


@pytest.fixture(scope="module")
def pieces():
    lines = ["low lower lowest", "new newer newest", "wide wider widest", "Ein kleines Mädchen schläft 😀"] * 5
    return Vocabulary.fit(lines, Wording("subword", size=300))


def test_subwords_join_frequent_neighbors_and_know_every_byte(pieces):
    assert len(pieces.words) == 300 == len(set(pieces.words)) and len(pieces.merges) == 300 - _subwords.BYTES
    assert list(pieces.words) == sorted(pieces.words)
    assert pieces.split("lowest")[-1].endswith("est") and len(pieces.split("lower")) < 5
    again = Vocabulary.fit(
        ["low lower lowest", "new newer newest", "wide wider widest", "Ein kleines Mädchen schläft 😀"] * 5,
        pieces.wording,
    )
    assert again == pieces
    restored = Vocabulary.from_dict(json.loads(json.dumps(pieces.as_dict())))
    assert restored == pieces and restored.encode("newest low").equal(pieces.encode("newest low"))
    assert pieces.decode([UNKNOWN, *pieces.encode("low").tolist(), END, 5]) == "<unk>low"


def test_subwords_give_every_text_back_exactly(pieces):
    @given(texts)
    @settings(max_examples=200, deadline=None)
    def law(text):
        tokens = pieces.encode(text, start=True, end=True)
        assert UNKNOWN not in tokens and pieces.decode(tokens) == pieces.normalize(text)
        assert pieces.normalize(text) == words._nfc(text)

    law()
