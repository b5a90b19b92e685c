"""The phrase book: English sentences and their German translations, made by a grammar; Ex. 5.1 of the notes is one.

All sentences are different. A split holds back combinations that training never shows, while every word of both
languages is in the training part; "The sun is shining today" is always held back.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from random import Random
from typing import TypeVar

import torch

from lamina._errors import at_least
from lamina._types import Seed
from lamina.data.dataset import Subset
from lamina.data.text._grammar import (
    Adverbial,
    Clause,
    Phrase,
    english,
    english_question,
    german,
    german_question,
    german_subordinate,
    noun_phrase,
)
from lamina.data.text._lexicon import (
    ADJECTIVES,
    FUTURE,
    IT,
    LAKES,
    NOUNS,
    OBJECTS,
    PAST,
    PERSONS,
    PLACES,
    PRESENT,
    PRONOUNS,
    SUBJECTS,
    TIMES,
    VERBS,
)
from lamina.data.text.texts import Divided, PairDataset, answers_of, texts_of
from lamina.data.text.words import split_words
from lamina.functional.random import as_generator

EXAMPLE = ("The sun is shining today", "Heute scheint die Sonne")
"""Ex. 5.1 of the notes."""

Pair = tuple[str, str]
T = TypeVar("T")
_OFTEN = 3  # how often every word stays in the training part
_WHEN = {
    "present": PRESENT,
    "past": PAST,
    "future": FUTURE,
    "can": PRESENT[:3],
    "must": PRESENT[:3],
    "want": PRESENT[:3],
}


def phrasebook(count: int = 12_000, reverse: bool = False) -> PairDataset:
    """Give pairs of sentences, the same ones always.

    Notes: N5.03, N5.49 (§5, §5.3, Ex. 5.1).

    Args:
        count: how many pairs, at least 1,000; about 230 of them are all that is said of sun, moon and weather.
        reverse: read German and write English.

    >>> data = phrasebook(1000)
    >>> EXAMPLE[0] in texts_of(data.split().train), EXAMPLE[0] in texts_of(data.split().open_test())
    (False, True)
    """
    at_least("count", count, 1000)
    pairs = sentences(count)
    first, second = ([pair[side] for pair in pairs] for side in ((1, 0) if reverse else (0, 1)))
    note = "English sentences and their German translations, made by a grammar."
    target = "English" if reverse else "German"
    return PairDataset.of(first, second, source="phrasebook", target=target, notes=(note,), division=_held_out)


@lru_cache(maxsize=4)
def sentences(count: int) -> tuple[Pair, ...]:
    """Give `count` pairs of sentences: all about the sky and the weather, then others drawn from the grammar.

    >>> sentences(1000)[0]
    ('The sun is shining today', 'Heute scheint die Sonne')
    """
    pairs = dict([EXAMPLE, *_weather()])
    draw = _Draw(Random(5))
    while len(pairs) < count:
        pairs.setdefault(*draw.pair())
    return tuple(pairs.items())


def _held_out(data: PairDataset, seed: Seed, ratios: tuple[int, int, int]) -> Divided:
    """Hold back sentences whose words all stay in the training part, Ex. 5.1 among them."""
    both = zip(texts_of(data), answers_of(data), strict=True)
    words = [[word.lower() for text in pair for word in split_words(text)] for pair in both]
    left = Counter(word for line in words for word in line)
    order = torch.randperm(len(data), generator=as_generator(seed)).tolist()
    example = next((i for i, text in enumerate(texts_of(data)) if text in EXAMPLE), None)
    if example is not None:
        order = [example, *(i for i in order if i != example)]
    held: list[list[int]] = []
    waiting = iter(order)
    for share in (ratios[2], ratios[1]):
        part: list[int] = []
        size = len(data) * share // sum(ratios)
        while len(part) < size and (index := next(waiting, None)) is not None:
            taken = Counter(words[index])
            if index == example or all(left[word] - count >= _OFTEN for word, count in taken.items()):
                left.subtract(taken)
                part.append(index)
        held.append(sorted(part))
    outside = set(held[0]) | set(held[1])
    train = [i for i in range(len(data)) if i not in outside]
    first, second, third = (Subset(data, torch.tensor(part, dtype=torch.int64)) for part in (train, held[1], held[0]))
    how = "unseen combinations of known words" + (f", seed {seed}" if isinstance(seed, int) else "")
    return first, second, third, how


def _statement(clause: Clause) -> Pair:
    """Say a clause in both languages."""
    return _capital(english(clause)), _capital(german(clause))


def question(clause: Clause, words: Pair = ("", "")) -> Pair:
    """Ask for a clause in both languages.

    >>> question(Clause(noun_phrase(NOUNS["dog"]), VERBS["sleep"]), ("where", "wo"))
    ('Where is the dog sleeping?', 'Wo schläft der Hund?')
    """
    return _capital(english_question(clause, words[0])) + "?", _capital(german_question(clause, words[1])) + "?"


def reason(clause: Clause, why: Clause) -> Pair:
    """Give a clause and a reason for it in both languages.

    >>> reason(Clause(PRONOUNS[0], VERBS["laugh"]), Clause(noun_phrase(NOUNS["sun"]), VERBS["shine"]))
    ('I am laughing because the sun is shining', 'Ich lache, weil die Sonne scheint')
    """
    first, second = _statement(clause)
    return f"{first} because {english(why)}", f"{second}, weil {german_subordinate(why)}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _weather() -> Iterator[Pair]:
    """Say and ask everything about sun, moon, rain and snow."""
    sky = [
        (noun_phrase(NOUNS[name]), verb, times)
        for name, times in (("sun", ("today", "now", "at the moment")), ("moon", PRESENT))
        for verb in ("shine", "rise", "set")
    ]
    for subject, verb, now in [*sky, *((IT, verb, PRESENT) for verb in ("rain", "snow"))]:
        for tense, times in (("present", now), ("past", PAST), ("future", FUTURE)):
            for time in (None, *(TIMES[name] for name in times)):
                for negative in (False, True):
                    yield _statement(Clause(subject, VERBS[verb], tense, time=time, negative=negative))
                yield question(Clause(subject, VERBS[verb], tense, time=time))


class _Draw:
    """Sentences one after another from a generator of numbers."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def pair(self) -> Pair:
        """Draw one sentence."""
        kind = self._one(("say",) * 13 + ("ask",) * 3 + ("wonder",) * 2 + ("reason",) * 2)
        if kind == "reason":
            return reason(self._plain(), self._plain() if self._chance(0.5) else self._sky())
        if kind == "ask":
            tense = self._one(("present", "present", "past", "future", "can", "must"))
            return question(self._clause(tense, definite=True))
        if kind == "wonder":
            return self._wonder()
        tense = self._one(("present",) * 5 + ("past",) * 3 + ("future",) * 2 + ("can", "must", "want"))
        return _statement(self._clause(tense, negative=tense != "must" and self._chance(0.2)))

    # Random.random is the one method whose numbers Python promises to keep; choices are made of it alone.
    def _one(self, choices: Sequence[T]) -> T:
        return choices[int(self._random.random() * len(choices))]

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _clause(self, tense: str, negative: bool = False, definite: bool = False) -> Clause:
        draw = self._transitive if self._chance(0.55) else self._intransitive
        return draw(tense, negative, definite or negative)

    def _plain(self) -> Clause:
        """Draw a short clause, for reasons."""
        name = self._one(tuple(SUBJECTS))
        return Clause(self._subject(SUBJECTS[name], definite=True, adjective=False), VERBS[name])

    def _sky(self) -> Clause:
        if self._chance(0.4):
            return Clause(IT, VERBS[self._one(("rain", "snow"))])
        return Clause(noun_phrase(NOUNS[self._one(("sun", "moon"))]), VERBS[self._one(("shine", "rise", "set"))])

    def _wonder(self) -> Pair:
        tense = self._one(("present", "past"))
        word = self._one((("why", "warum"), ("where", "wo"), ("what", "was")))
        if word[0] == "what":
            verb = VERBS[self._one([name for name in OBJECTS if name not in ("help", "love")])]
            return question(Clause(self._subject(PERSONS, True), verb, tense, time=self._time(tense)), word)
        names = [name for name in SUBJECTS if word[0] == "why" or name not in ("come", "run")]
        name = self._one(names)
        return question(Clause(self._subject(SUBJECTS[name], True), VERBS[name], tense, time=self._time(tense)), word)

    def _intransitive(self, tense: str, negative: bool, definite: bool) -> Clause:
        name = self._one(tuple(SUBJECTS))
        places = LAKES if name == "swim" else () if name == "come" else PLACES
        place = self._one(places) if places and self._chance(0.4) else None
        subject = self._subject(SUBJECTS[name], definite)
        return Clause(subject, VERBS[name], tense, None, self._time(tense), place, negative)

    def _transitive(self, tense: str, negative: bool, definite: bool) -> Clause:
        name = self._one([name for name in OBJECTS if name != "love" or tense in ("present", "past")])
        time, described = None if name == "love" else self._time(tense), self._chance(0.5)
        subject = self._subject(PERSONS, definite, adjective=not described)
        what = self._noun(OBJECTS[name], name in ("help", "love"), adjective=described)
        return Clause(subject, VERBS[name], tense, what, time, None, negative)

    def _time(self, tense: str) -> Adverbial | None:
        return TIMES[self._one(_WHEN[tense])] if self._chance(0.5) else None

    def _subject(self, kinds: Sequence[str], definite: bool, adjective: bool = True) -> Phrase:
        if "pronoun" in kinds and self._chance(0.35):
            return self._one((PRONOUNS[0], *PRONOUNS))  # "I" has verb forms of its own
        return self._noun([kind for kind in kinds if kind != "pronoun"], definite, adjective)

    def _noun(self, kinds: Sequence[str], definite: bool, adjective: bool) -> Phrase:
        noun = self._one([noun for noun in NOUNS.values() if noun.kind in kinds or noun.english in kinds])
        described = self._one(ADJECTIVES[noun.kind]) if adjective and self._chance(0.4) else None
        return noun_phrase(noun, described, self._one(("the", "the ones") if definite else ("the", "a", "the ones")))
