r"""The dictionary of §5.3: words in alphabetical order, each with a number, and tokens for what is no word.

    vocabulary = Vocabulary.fit(texts)                    # of the training part alone
    vocabulary.encode("The sun is shining", end=True)     # int64, unknown words as UNKNOWN
    vocabulary.decode(tokens)                             # the text again; stops at END

The four special tokens come first (PAD 0, UNKNOWN 1, START 2, END 3), then the words, sorted. The law, tested: for
text of known words `decode(encode(text)) == normalize(text)`, and `normalize` changes nothing a second time. A text
that spells a special token, such as "<end>", is never taken for one. A dictionary is plain JSON (`as_dict`).
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

import torch

from lamina._errors import ArgumentError, DataError, at_least, choice
from lamina._types import Float, Int, Tensor
from lamina.data.dataset import _check_fields
from lamina.data.ragged import Ragged
from lamina.data.text._subwords import Pieces, learn
from lamina.data.text.words import ENDS, _clean, _is_punctuation, _join_words, _nfc, split_words
from lamina.functional.encoding import one_hot

SPECIAL = ("<pad>", "<unk>", "<start>", "<end>")
PAD, UNKNOWN, START, END = range(4)
LEVELS = ("word", "character", "subword")
PUNCTUATION = ("token", "drop", "written")
SUBWORDS = 8000  # pieces, if no size is given


@dataclass(frozen=True)
class Wording:
    """How text becomes tokens.

    Args:
        level: "word", "character" or "subword".
        fold: whether capital letters become small ones; by default only for words.
        punctuation: for words: a "token" for each mark, "drop" to ignore them, or "written" for whatever stands
            between two spaces, as texts want it that were split before.
        size: keep at most so many words, the most frequent; the special tokens are not counted. For subwords the
            number of pieces.
        min_count: keep words that occur at least so often.

    >>> Wording().fold, Wording("character").fold
    (True, False)
    """

    level: str = "word"
    fold: bool | None = None
    punctuation: str = "token"
    size: int | None = None
    min_count: int = 1

    def __post_init__(self) -> None:
        choice("level", self.level, LEVELS)
        choice("punctuation", self.punctuation, PUNCTUATION)
        at_least("min_count", self.min_count, 1)
        if self.fold is None:
            object.__setattr__(self, "fold", self.level == "word")
        if self.size is not None:
            at_least("size", self.size, 256 if self.level == "subword" else 1)
        if self.punctuation != "token" and self.level != "word":
            raise ArgumentError(
                f"`punctuation` is a choice for level='word', got {self.punctuation!r} with level={self.level!r}: "
                "leave it out."
            )


@dataclass(frozen=True)
class Vocabulary:
    """A dictionary: words in alphabetical order and their numbers.

    Notes: N5.43, N5.45, N5.46, N5.47, N5.48 (§5.3).
    Corrects: E71, special tokens stand before the sorted words, and words are folded to small letters, or "The" would
        be unknown; `decode(..., display=True)` brings capitals back.

    Args:
        wording: how text becomes tokens.
        words: without the special tokens, sorted.
        forms: how a folded word is written where it is not its own form: its most frequent form in the texts, apart
            from the beginnings of sentences.
        capital: whether sentences begin with a capital letter.
        merges: the rules of subwords.

    >>> vocabulary = Vocabulary.fit(["The sun is shining today", "Today the cat is here"])
    >>> vocabulary.words
    ('cat', 'here', 'is', 'shining', 'sun', 'the', 'today')
    >>> vocabulary.encode("The dog is here", end=True).tolist()
    [9, 1, 6, 5, 3]
    >>> vocabulary.decode(torch.tensor([9, 1, 6, 5, 3, 0]))
    'the <unk> is here'
    """

    wording: Wording
    words: tuple[str, ...]
    forms: Mapping[str, str]
    capital: bool = False
    merges: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.words)) != len(self.words):
            twice = next(word for word, count in Counter(self.words).items() if count > 1)
            raise DataError(f"`words` must differ, got {twice!r} twice.")

    @classmethod
    def fit(cls, texts: Iterable[str], wording: Wording | None = None) -> "Vocabulary":
        """Make the dictionary of some texts: those of the training part and no others.

        Args:
            texts: what to count.
            wording: how text becomes tokens; words, folded, with marks as tokens when not given.

        >>> Vocabulary.fit(["to be or not to be"], Wording(size=2)).words
        ('be', 'to')
        """
        wording = Wording() if wording is None else wording
        if wording.level == "subword":
            cleaned = (_canonical(text, wording) for text in texts)
            pieces, merges = learn(cleaned, SUBWORDS if wording.size is None else wording.size, wording.min_count)
            return cls(wording, pieces, {}, merges=merges)
        if wording.level == "character":
            return cls(wording, _kept(Counter(chain.from_iterable(_canonical(t, wording) for t in texts)), wording), {})
        inner, first = Counter[str](), Counter[str]()  # what is written within sentences, and at their beginnings
        for text in texts:
            for word, begins in _placed(_surface(text, wording)):
                (first if begins else inner)[word] += 1
        if not wording.fold:
            return cls(wording, _kept(inner + first, wording), {}, _mostly_capital(first))
        words = _kept(_folded(inner + first), wording)
        return cls(wording, words, _forms(words, inner, first), _mostly_capital(first))

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """All entries in the order of their numbers: the special tokens, then the words."""
        return SPECIAL + self.words

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The number of each word; the special tokens are no words."""
        return {word: number for number, word in enumerate(self.words, len(SPECIAL))}

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces(self.index, self.merges)

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, word: str) -> bool:
        return word in self.index

    def split(self, text: str) -> list[str]:
        """Give the tokens of a text as they are looked up, unknown ones too.

        >>> Vocabulary.fit([]).split("The sun, the moon")
        ['the', 'sun', ',', 'the', 'moon']
        """
        if self.wording.level == "subword":
            return self._pieces.split(_canonical(text, self.wording))
        if self.wording.level == "character":
            return list(_canonical(text, self.wording))
        words = _surface(text, self.wording)
        return [_fold(word) for word in words] if self.wording.fold else words

    def normalize(self, text: str) -> str:
        r"""Give the form of a text that survives encoding and decoding: folded, spaces and marks in their places.

        >>> Vocabulary.fit([]).normalize(" The sun ,  the\tMoon !")
        'the sun, the moon!'
        """
        return self._join(self.split(text))

    def encode(self, text: str, *, start: bool = False, end: bool = False) -> Int[Tensor, " time"]:
        """Give the numbers of a text's tokens.

        Args:
            text: any text, also an empty one.
            start: whether to put START before them.
            end: whether to put END after them.
        """
        return torch.tensor(self._numbers(text, start, end), dtype=torch.int64)

    def encode_all(self, texts: Iterable[str], *, start: bool = False, end: bool = False) -> Ragged:
        """Encode many texts as rows of their own lengths, padded with PAD when taken.

        >>> Vocabulary.fit(["a b"]).encode_all(["b", "b a"], end=True).padded(torch.tensor([0, 1])).tolist()
        [[5, 3, 0], [5, 4, 3]]
        """
        rows = [self._numbers(text, start, end) for text in texts]
        values = torch.tensor(list(chain.from_iterable(rows)), dtype=torch.int64)
        return Ragged.by_lengths(values, torch.tensor([len(row) for row in rows], dtype=torch.int64), PAD)

    def decode(self, tokens: Int[Tensor, " time"] | Sequence[int], *, display: bool = False) -> str:
        """Give the text of tokens, up to the first END; PAD and START are passed over, UNKNOWN is shown.

        Args:
            tokens: numbers as `encode` gives them.
            display: write folded words in their most frequent form, and sentences with a capital letter if the
                training texts have them.

        >>> vocabulary = Vocabulary.fit(["Heute scheint die Sonne", "Scheint heute die Sonne?"])
        >>> tokens = vocabulary.encode("heute scheint die sonne", end=True)
        >>> vocabulary.decode(tokens), vocabulary.decode(tokens, display=True)
        ('heute scheint die sonne', 'Heute scheint die Sonne')
        """
        words = []
        for number in tokens.tolist() if isinstance(tokens, Tensor) else tokens:
            if not 0 <= number < len(self):
                raise ArgumentError(
                    f"`tokens` must be in [0, {len(self) - 1}], got {number}: they were made by another dictionary."
                )
            if number == END:
                break
            if number not in (PAD, START):
                words.append(self.tokens[number])
        if display:
            words = self._displayed(words)
        return self._join(words)

    def sentences(self, tokens: Int[Tensor, " time"] | Sequence[int], *, display: bool = False) -> list[str]:
        """Cut a stream of tokens at every END and decode each part.

        Notes: N5.48 (§5.3).

        >>> vocabulary = Vocabulary.fit(["a b"])
        >>> vocabulary.sentences([4, 5, 3, 5, 3, 4])
        ['a b', 'b', 'a']
        """
        numbers = tokens.tolist() if isinstance(tokens, Tensor) else list(tokens)
        ends = [place for place, number in enumerate(numbers) if number == END]
        begins = [0, *(place + 1 for place in ends)]
        parts = [numbers[i:j] for i, j in zip(begins, [*ends, len(numbers)], strict=True)]
        return [self.decode(part, display=display) for part in (parts if parts[-1] else parts[:-1])]

    def one_hot(self, tokens: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch vocab"]:
        """Write tokens as unit vectors, the easy measure of correctness of §5.3.

        Notes: N5.45 (§5.3).

        >>> Vocabulary.fit(["a b"]).one_hot(torch.tensor([5])).tolist()
        [[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]
        """
        return one_hot(tokens, len(self))

    def unknown_share(self, texts: Iterable[str]) -> float:
        """Give the share of tokens that are not in the dictionary.

        >>> Vocabulary.fit(["a b"]).unknown_share(["a c", "b d"])
        0.5
        """
        numbers = self.encode_all(texts).values
        return (numbers == UNKNOWN).double().mean().item() if len(numbers) else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Give plain JSON values; `from_dict` takes them back."""
        return {
            "wording": asdict(self.wording),
            "words": list(self.words),
            "forms": dict(self.forms),
            "capital": self.capital,
            "merges": [list(pair) for pair in self.merges],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Vocabulary":
        """Make a dictionary of what `as_dict` gave.

        >>> vocabulary = Vocabulary.fit(["The sun"])
        >>> Vocabulary.from_dict(vocabulary.as_dict()) == vocabulary
        True
        """
        _check_fields(cls, values, "dictionary")
        merges = tuple((first, second) for first, second in values.get("merges", ()))
        wording, words = Wording(**values["wording"]), tuple(values["words"])
        return cls(wording, words, dict(values["forms"]), values["capital"], merges)

    def _numbers(self, text: str, start: bool, end: bool) -> list[int]:
        index = self.index
        return [START] * start + [index.get(word, UNKNOWN) for word in self.split(text)] + [END] * end

    def _join(self, words: Sequence[str]) -> str:
        if self.wording.level == "subword":
            return self._pieces.join(words)
        if self.wording.level == "character":
            return "".join(words)
        return " ".join(words) if self.wording.punctuation == "written" else _join_words(words)

    def _displayed(self, words: Sequence[str]) -> list[str]:
        formed = [self.forms.get(word, word) for word in words]
        if not (self.capital and self.wording.level == "word" and self.wording.fold):
            return formed
        return [word[0].upper() + word[1:] if begins else word for word, begins in _placed(formed)]


def _sorted(words: Iterable[str]) -> tuple[str, ...]:
    """Sort as a dictionary does: capitals beside small letters, then by code points."""
    return tuple(sorted(words, key=lambda word: (word.casefold(), word)))


def _kept(counts: "Counter[str]", wording: Wording) -> tuple[str, ...]:
    """Choose by frequency, equals by the alphabet, and sort."""
    often = [word for word, count in counts.items() if count >= wording.min_count]
    if wording.size is not None:
        often = sorted(often, key=lambda word: (-counts[word], word))[: wording.size]
    return _sorted(often)


def _lower(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.lower())


_fold = lru_cache(2**16)(_lower)  # words come again and again


def _canonical(text: str, wording: Wording) -> str:
    """Give the text whose characters or bytes are the tokens: exact but for equal ways to write one letter."""
    text = _nfc(text)
    return _lower(text) if wording.fold else text


def _surface(text: str, wording: Wording) -> list[str]:
    """Give the words of a text as they are written."""
    if wording.punctuation == "written":
        return _clean(text).split()
    words = split_words(text)
    return [word for word in words if not _is_punctuation(word)] if wording.punctuation == "drop" else words


def _placed(words: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Give each word and whether a sentence begins with it; marks do not begin one."""
    fresh = True
    for word in words:
        begins = fresh and word[0].isalnum()
        yield word, begins
        fresh = (fresh and not begins) or word in ENDS


def _folded(counts: "Counter[str]") -> "Counter[str]":
    folded = Counter[str]()
    for word, count in counts.items():
        folded[_fold(word)] += count
    return folded


def _forms(words: Sequence[str], inner: "Counter[str]", first: "Counter[str]") -> dict[str, str]:
    """Find how each folded word is mostly written; the first letter of a sentence says nothing about its word."""
    best: dict[str, tuple[int, str]] = {}
    neutral = Counter[str]()
    for word, count in first.items():
        neutral[_fold(word) if word[1:] == word[1:].lower() else word] += count
    for counts in (inner, neutral):
        found: dict[str, tuple[int, str]] = {}
        for word, count in counts.items():
            key, rank = _fold(word), (-count, word)
            if key not in best and (key not in found or rank < found[key]):
                found[key] = rank
        best.update(found)
    return {word: best[word][1] for word in words if best[word][1] != word}


def _mostly_capital(first: "Counter[str]") -> bool:
    cased = {word: count for word, count in first.items() if word[0].lower() != word[0].upper()}
    return 2 * sum(count for word, count in cased.items() if word[0].isupper()) > sum(cased.values())
