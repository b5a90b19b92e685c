from lamina.data.text._grammar import Clause, german, noun_phrase
from lamina.data.text._lexicon import NOUNS, OBJECTS, SUBJECTS, TIMES, VERBS


def test_verbs_and_nouns_are_known_where_they_are_named():
    kinds = {noun.kind for noun in NOUNS.values()}
    assert (len(NOUNS), len(VERBS)) == (24, 27)
    assert {*SUBJECTS, *OBJECTS} < set(VERBS) and not SUBJECTS.keys() & OBJECTS.keys()
    assert {word for words in OBJECTS.values() for word in words} <= kinds | set(NOUNS)
    assert {word for words in SUBJECTS.values() for word in words} <= kinds | {"pronoun"}


def test_prefixes_and_vowels_that_change():
    sun, dog = noun_phrase(NOUNS["sun"]), noun_phrase(NOUNS["dog"])
    assert german(Clause(sun, VERBS["rise"], time=TIMES["today"])) == "heute geht die Sonne auf"
    assert german(Clause(dog, VERBS["sleep"], time=TIMES["tonight"])) == "heute Abend schläft der Hund"
