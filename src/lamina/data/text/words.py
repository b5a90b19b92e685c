r"""Text into words and marks, and back into text that one likes to read.

A word is a run of letters, digits and their marks in any script; an apostrophe or hyphen between letters belongs to it
("T-shirt", "don't"), and so does a point, comma or colon between digits ("10,000"). Every other character that is not
a space is a token of its own; the parts of one emoji stay together. Joining puts marks where they belong ("Hello,
world!"), and splitting the joined text gives the same tokens again: that is the law the vocabulary rests on.
"""

import re
import unicodedata
from collections.abc import Sequence

_JOINERS = "\u200c\u200d"  # zero-width non-joiner and joiner: parts of words and emoji, nothing by themselves
_SURROGATES = re.compile("[\ud800-\udfff]")
# Characters that are canonical as they stand and about which `re` and the Unicode categories agree: `_FAST` suffices.
_PLAIN = re.compile("[\t\n\r -~\xa0-\xac\xae-\u02af\u2010-\u2027\u2030-\u203e\u20ac]*")
_FAST = re.compile(r"\w+(?:(?:(?<=\d)[.,:](?=\d)|['’‐‑-](?=\w))\w+)*|[^\w\s]")
_BETWEEN_LETTERS, _BETWEEN_DIGITS = "'’‐‑-", ".,:"
_EMOJI_PARTS = {0xFE0E, 0xFE0F, 0x20E3, *range(0x1F3FB, 0x1F400)}  # variation selectors, keycap, skin tones
_FLAGS = range(0x1F1E6, 0x1F200)

_LEFT, _RIGHT = frozenset(".,;:!?)]}%°…’‰"), frozenset("([{$£#@¿¡‚")
_QUOTES = {'"': '"', "«": "«", "»": "«", "„": "„", "“": "“", "”": "“"}  # each with the name of its pair
ENDS = frozenset(".!?…")
"""Marks after which a sentence begins."""


def _nfc(text: str) -> str:
    """Give text with one way to write each letter (NFC) and no halves of characters."""
    return text if text.isascii() else unicodedata.normalize("NFC", _SURROGATES.sub("\ufffd", text))


def _clean(text: str) -> str:
    """Give canonical text without invisible format characters."""
    if text.isascii():
        return text
    return _nfc("".join(c for c in text if c in _JOINERS or unicodedata.category(c) != "Cf"))


def split_words(text: str) -> list[str]:
    """Split text into words and single marks.

    >>> split_words("Don't pay 10,000 for a T-shirt, 世界!")
    ["Don't", 'pay', '10,000', 'for', 'a', 'T-shirt', ',', '世界', '!']
    """
    if not _PLAIN.fullmatch(text):
        text = _clean(text)
        if not _PLAIN.fullmatch(text):
            return _split_any(text)
    return _FAST.findall(text)


def _join_words(words: Sequence[str]) -> str:
    """Write words and marks as text; `split_words` of the result gives them again if they came from it."""
    parts: list[str] = []
    glue, opened = False, set[str]()  # whether the mark before wants the next word; quotes that are open
    for word in words:
        left, right = word in _LEFT, word in _RIGHT
        if word in _QUOTES:
            left = _closes(word, opened)
            right = not left
        parts.append(word if not parts or left or (glue and word[0].isalnum()) else f" {word}")
        glue = right
    return "".join(parts)


def _closes(quote: str, opened: set[str]) -> bool:
    """Say whether a quotation mark closes what an earlier one opened, and remember."""
    pair = "„" if quote == "“" and "„" in opened else _QUOTES[quote]
    closes = quote == "”" or (pair in opened and quote != "„")
    (opened.discard if closes else opened.add)(pair)
    return closes


def _is_punctuation(word: str) -> bool:
    """Say whether a token is a punctuation mark; emoji and signs such as $ are not."""
    return unicodedata.category(word[0])[0] == "P" and word[0] != "_"


def _split_any(text: str) -> list[str]:
    """Split text in any script, by the categories of its characters."""
    kinds = [_kind(c) for c in text]
    tokens, i, end = [], 0, len(text)
    while i < end:
        if kinds[i] == "word":
            stop = _word_end(text, kinds, i)
        elif kinds[i] == "symbol":
            stop = _symbol_end(text, kinds, i)
        else:  # a space, or a joiner that joins nothing
            i += 1
            continue
        tokens.append(text[i:stop])
        i = stop
    return tokens


def _kind(c: str) -> str:
    category = unicodedata.category(c)
    if category[0] in "LMN" or c == "_":
        return "word"
    if c in _JOINERS:
        return "joiner"
    return "space" if category[0] == "Z" or category == "Cc" else "symbol"


def _word_end(text: str, kinds: list[str], i: int) -> int:
    while i < len(text):
        if kinds[i] in ("word", "joiner"):
            i += 1
        elif i + 1 < len(text) and kinds[i + 1] == "word" and _joins(text[i - 1], text[i], text[i + 1]):
            i += 2
        else:
            break
    return i


def _joins(before: str, mark: str, after: str) -> bool:
    return mark in _BETWEEN_LETTERS or (mark in _BETWEEN_DIGITS and before.isdecimal() and after.isdecimal())


def _symbol_end(text: str, kinds: list[str], i: int) -> int:
    """Go past one symbol and what belongs to the same emoji: the other half of a flag, skin tones, joined symbols."""
    flag, i = ord(text[i]) in _FLAGS, i + 1
    if flag and i < len(text) and ord(text[i]) in _FLAGS:
        i += 1
    while i < len(text):
        if ord(text[i]) in _EMOJI_PARTS:
            i += 1
        elif text[i] == "\u200d" and i + 1 < len(text) and kinds[i + 1] == "symbol":
            i += 2
        else:
            break
    return i
