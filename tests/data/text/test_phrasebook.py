"""The phrase book: German by hand for every rule, all sentences different, and a split that holds back Ex. 5.1."""

import hashlib
from collections import Counter

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.data.load import load
from lamina.data.text._grammar import noun_phrase
from lamina.data.text._lexicon import NOUNS
from lamina.data.text.phrasebook import EXAMPLE, phrasebook, sentences
from lamina.data.text.texts import answers_of, texts_of
from lamina.data.text.tokens import TextPreprocess
from lamina.data.text.words import split_words
from lamina.functional.translation_metrics import exact_share


def test_messages():
    with pytest.raises(ArgumentError, match="`article` must be one of 'the', 'a', 'the ones', got 'some'"):
        noun_phrase(NOUNS["dog"], None, "some")
    with pytest.raises(ArgumentError, match="`count` must be at least 1000, got 10"):
        phrasebook(10)


@pytest.mark.notes("N5.03", "N5.49")
def test_the_pairs_are_always_the_same_and_all_different():
    pairs = sentences(12_000)
    assert len({first for first, _ in pairs}) == 12_000 and pairs[0] == EXAMPLE
    digest = hashlib.sha256("\n".join("\t".join(pair) for pair in pairs).encode()).hexdigest()
    assert digest == "00c46e36221c29abdc4a5611114547ce6c9554690270db3e063eadd003c3696a"
    assert pairs[:1000] == sentences(1000)  # a smaller book is the beginning of a larger one
    assert len(split_words(EXAMPLE[0])) == 5 and len(split_words(EXAMPLE[1])) == 4
    said = {first: second for first, second in pairs}
    assert said["The sun is shining"] == "Die Sonne scheint" and said["It is raining today"] == "Heute regnet es"
    assert max(len(split_words(text)) for pair in pairs for text in pair) <= 12


@pytest.mark.notes("N5.49")
@pytest.mark.parametrize("seed", [0, 7])
def test_a_split_holds_back_unseen_combinations_of_known_words(seed):
    data = load("phrasebook", count=3000)
    split = data.split(seed=seed)
    test = split.open_test()
    parts = [list(zip(texts_of(part), answers_of(part), strict=True)) for part in (split.train, split.validation, test)]
    assert [len(part) for part in parts] == [2000, 500, 500] and len({*parts[0], *parts[1], *parts[2]}) == 3000
    assert EXAMPLE in parts[2] and EXAMPLE[1] not in {german for _, german in parts[0]}
    for side in (0, 1):
        known = Counter(word.lower() for pair in parts[0] for word in split_words(pair[side]))
        needed = {word.lower() for part in parts[1:] for pair in part for word in split_words(pair[side])}
        assert min(known[word] for word in needed) >= 3
    assert split.note == (
        "phrasebook: 2000 training, 500 validation and 500 test examples, "
        f"unseen combinations of known words, seed {seed}."
    )
    assert split.origin == {"source": "phrasebook", "options": {"count": 3000}, "seed": seed, "ratios": [4, 1, 1]}
    again = data.split(seed=seed)
    assert texts_of(again.train) == texts_of(split.train)


def test_without_a_test_part_the_example_is_still_held_back():
    split = phrasebook(1000).split(ratios=(4, 1, 0))
    assert EXAMPLE[0] in texts_of(split.validation) and len(split.test) == 0 and len(split.validation) == 200


@pytest.mark.notes("N5.49")
def test_answers_come_back_for_people():
    split = load("phrasebook").split()
    prepare, test = TextPreprocess.fit(split.train), split.open_test()
    tokens = prepare.encode(test)
    assert not (tokens.inputs.values == 1).any() and not (tokens.answers.values == 1).any()  # no word is unknown
    assert exact_share(prepare.write(tokens.targets), answers_of(test)) == 1.0  # capitals and marks in their places
    assert prepare.write(prepare.answer_vocabulary.encode_all([EXAMPLE[1]], end=True).padded(torch.tensor([0]))) == [
        EXAMPLE[1]
    ]


def test_the_other_direction():
    data = load("phrasebook", count=1000, reverse=True)
    assert data.spec.target == "English" and texts_of(data)[0] == EXAMPLE[1] and answers_of(data)[0] == EXAMPLE[0]
    assert EXAMPLE[1] in texts_of(data.split().open_test())
