"""The dictionary: numbers by hand, the law of encoding and decoding on any text, files that come back."""

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from data.text.strategies import texts
from lamina._errors import ArgumentError, DataError
from lamina.data.text.vocabulary import END, PAD, SPECIAL, START, UNKNOWN, Vocabulary, Wording
from lamina.data.text.words import _join_words

ENGLISH, GERMAN = "The sun is shining today", "Heute scheint die Sonne"
WORDINGS = [
    Wording(),
    Wording(fold=False),
    Wording(punctuation="drop"),
    Wording(punctuation="written"),
    Wording("character"),
    Wording("character", fold=True),
]


# The dictionary of the notes


@pytest.mark.notes("N5.43")
def test_words_are_sorted_unique_and_found_in_both_directions():
    vocabulary = Vocabulary.fit([ENGLISH, "Is the sun big?", "zebra Äpfel apple"])
    assert vocabulary.words == ("?", "apple", "big", "is", "shining", "sun", "the", "today", "zebra", "äpfel")
    assert vocabulary.tokens == SPECIAL + vocabulary.words and len(vocabulary) == 14
    assert SPECIAL == ("<pad>", "<unk>", "<start>", "<end>") and (PAD, UNKNOWN, START, END) == (0, 1, 2, 3)
    assert [vocabulary.tokens[i] for i in vocabulary.index.values()] == list(vocabulary.index)
    assert "sun" in vocabulary and "Sun" not in vocabulary and "<end>" not in vocabulary
    assert Vocabulary.fit(["b A a B"], Wording(fold=False)).words == ("A", "a", "B", "b")


@pytest.mark.notes("N5.44", "N5.45")
def test_a_known_sentence_as_unit_vectors_and_back():
    vocabulary = Vocabulary.fit([ENGLISH])
    tokens = vocabulary.encode(ENGLISH)
    assert tokens.dtype == torch.int64 and tokens.tolist() == [7, 6, 4, 5, 8]
    unit = vocabulary.one_hot(tokens)
    assert unit.sum(-1).tolist() == [1.0] * 5 and unit.argmax(-1).equal(tokens) and unit.shape == (5, 9)
    assert vocabulary.decode(unit.argmax(-1)) == "the sun is shining today"
    log_p = torch.randn(5, 9, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    picked = torch.stack([log_p[t, k] for t, k in enumerate(tokens.tolist())])
    torch.testing.assert_close(-(unit * log_p).sum(-1), -picked)


@pytest.mark.notes("N5.46")
def test_an_unseen_word_has_a_token_and_is_shown():
    vocabulary = Vocabulary.fit([ENGLISH])
    assert vocabulary.encode("the dog is shining").tolist() == [7, UNKNOWN, 4, 5]
    assert vocabulary.decode(vocabulary.encode("The dog, today")) == "the <unk> <unk> today"
    assert vocabulary.unknown_share([ENGLISH, "one dog the sun"]) == pytest.approx(2 / 9)
    assert vocabulary.unknown_share([]) == 0.0


@pytest.mark.notes("N5.47")
def test_punctuation_as_tokens_ignored_or_as_written():
    text = "Yes, sir : -)"
    split = {
        mode: Vocabulary.fit([text], Wording(punctuation=mode)).split(text) for mode in ("token", "drop", "written")
    }
    assert split["token"] == ["yes", ",", "sir", ":", "-", ")"]
    assert split["drop"] == ["yes", "sir"]
    assert split["written"] == ["yes,", "sir", ":", "-)"]
    assert Vocabulary.fit([text], Wording(punctuation="drop")).words == ("sir", "yes")


@pytest.mark.notes("N5.48", "N5.03")
def test_sentences_end_and_are_found_again_in_a_stream():
    vocabulary = Vocabulary.fit([ENGLISH, GERMAN])
    source, target = vocabulary.encode(ENGLISH, end=True), vocabulary.encode(GERMAN, start=True, end=True)
    assert (len(source) - 1, len(target) - 2) == (5, 4) and source[-1] == END and target[0] == START
    stream = torch.cat([source, target, torch.tensor([END]), source[:2]])
    assert vocabulary.sentences(stream) == ["the sun is shining today", "heute scheint die sonne", "", "the sun"]
    padded = torch.cat([target, torch.zeros(3, dtype=torch.int64)])
    assert vocabulary.decode(padded) == "heute scheint die sonne"  # stops at END, passes START and PAD
    assert vocabulary.sentences([]) == [] and vocabulary.decode([]) == ""


def test_a_text_that_spells_a_special_token_is_not_one():
    vocabulary = Vocabulary.fit(["a <end> <pad> b"], Wording(punctuation="written"))
    assert vocabulary.words == ("<end>", "<pad>", "a", "b")
    assert vocabulary.encode("a <end> <pad> <unk> b").tolist() == [6, 4, 5, UNKNOWN, 7]
    assert vocabulary.decode(vocabulary.encode("a <end> b")) == "a <end> b"
    assert END not in Vocabulary.fit(["end"]).encode("<end>")


def test_limits_by_frequency():
    text = ["b b b a a c c d"]
    assert Vocabulary.fit(text, Wording(size=2)).words == ("a", "b")  # a before c, both twice
    assert Vocabulary.fit(text, Wording(min_count=2)).words == ("a", "b", "c")
    assert Vocabulary.fit(text, Wording("character", size=2)).words == (" ", "b")


# Capitals


def test_forms_are_the_most_frequent_ones_apart_from_beginnings():
    lines = ["Die Sonne scheint", "Heute scheint die Sonne. Die NATO tagt", "Scheint heute Die sonne", '"Es regnet"']
    vocabulary = Vocabulary.fit([*lines, "NATO"])
    assert dict(vocabulary.forms) == {"sonne": "Sonne", "nato": "NATO", "die": "Die"}  # once each inside: by alphabet
    assert vocabulary.capital
    tokens = vocabulary.encode("heute scheint die sonne. es regnet")
    assert vocabulary.decode(tokens, display=True) == "Heute scheint Die Sonne. Es regnet"
    assert vocabulary.decode(tokens) == "heute scheint die sonne. es regnet"
    small = Vocabulary.fit(["a film", "no film", "Yes"])
    assert not small.capital and small.decode(small.encode("a film"), display=True) == "a film"
    kept = Vocabulary.fit(["Die Sonne"], Wording(fold=False))
    assert kept.encode("die Sonne").tolist() == [UNKNOWN, 5] and kept.decode([5], display=True) == "Sonne"


# Laws


@pytest.mark.notes("N5.45")
@pytest.mark.parametrize("wording", WORDINGS, ids=str)
@given(text=texts)
@settings(max_examples=120, deadline=None)
def test_decoding_an_encoded_text_gives_its_normal_form(wording, text):
    vocabulary = Vocabulary.fit([text], wording)
    tokens = vocabulary.encode(text, start=True, end=True)
    assert UNKNOWN not in tokens and vocabulary.decode(tokens) == vocabulary.normalize(text)
    assert vocabulary.normalize(vocabulary.normalize(text)) == vocabulary.normalize(text)
    assert vocabulary.encode(vocabulary.normalize(text)).equal(vocabulary.encode(text))


@given(known=texts, other=texts)
@settings(max_examples=100, deadline=None)
def test_any_text_can_be_encoded_with_any_dictionary(known, other):
    vocabulary = Vocabulary.fit([known])
    tokens = vocabulary.encode(other)
    assert all(0 < number < len(vocabulary) and number not in (START, END) for number in tokens.tolist())
    shown = [word if word in vocabulary else "<unk>" for word in vocabulary.split(other)]
    assert vocabulary.decode(tokens) == _join_words(shown)


@pytest.mark.parametrize("level", ["word", "character"])
def test_lengths_zero_one_and_ten_thousand(level):
    text = " ".join(["sun"] * 10_000)
    vocabulary = Vocabulary.fit([text], Wording(level))
    assert vocabulary.encode("").tolist() == [] and vocabulary.encode("", end=True).tolist() == [END]
    assert len(vocabulary.encode("sun" if level == "word" else "s")) == 1
    tokens = vocabulary.encode(text)
    assert len(tokens) == (10_000 if level == "word" else 39_999) and vocabulary.decode(tokens) == text
    rows = vocabulary.encode_all(["", "sun", text], end=True)
    assert rows.lengths.tolist() == [1, 1 + len(vocabulary.split("sun")), len(tokens) + 1]
    assert rows.padded(torch.tensor([0, 1])).shape[1] == rows.lengths[1]


# Files


@given(texts)
@settings(max_examples=50, deadline=None)
def test_a_dictionary_survives_json(text):
    for wording in (Wording(), Wording("character", size=3, min_count=2)):
        vocabulary = Vocabulary.fit([text, "The Sun"], wording)
        again = Vocabulary.from_dict(json.loads(json.dumps(vocabulary.as_dict())))
        assert again == vocabulary and again.encode(text).equal(vocabulary.encode(text))


@given(st.lists(texts, max_size=5), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_a_dictionary_does_not_depend_on_the_order_of_texts(lines, random):
    shuffled = random.sample(lines, len(lines))
    for wording in (Wording(size=3), Wording("character")):
        assert Vocabulary.fit(lines, wording) == Vocabulary.fit(shuffled, wording)


# Refusals


def test_messages():
    with pytest.raises(ArgumentError, match="`level` must be one of 'word', 'character', 'subword', got 'byte'"):
        Wording("byte")
    with pytest.raises(ArgumentError, match="`punctuation` must be one of 'token', 'drop', 'written', got 'eat'"):
        Wording(punctuation="eat")
    with pytest.raises(
        ArgumentError, match="`punctuation` is a choice for level='word', got 'drop' with level='character': leave it"
    ):
        Wording("character", punctuation="drop")
    with pytest.raises(ArgumentError, match="`size` must be at least 1, got 0"):
        Wording(size=0)
    with pytest.raises(ArgumentError, match="`size` must be at least 256, got 100"):
        Wording("subword", size=100)
    with pytest.raises(ArgumentError, match="`min_count` must be at least 1, got 0"):
        Wording(min_count=0)
    vocabulary = Vocabulary.fit(["a b"])
    with pytest.raises(
        ArgumentError, match=r"`tokens` must be in \[0, 5\], got 6: they were made by another dictionary"
    ):
        vocabulary.decode([6])
    with pytest.raises(ArgumentError, match=r"`tokens` must be in \[0, 5\], got -1"):
        vocabulary.decode([-1])
    with pytest.raises(DataError, match=r"a dictionary has the unknown fields \['sound'\]: a newer Lamina"):
        Vocabulary.from_dict(vocabulary.as_dict() | {"sound": 1})
    with pytest.raises(DataError, match="`words` must differ, got 'a' twice"):
        Vocabulary(Wording(), ("a", "a"), {})
