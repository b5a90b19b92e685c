"""Subwords: byte pair encoding through the package `tokenizers`, kept as plain pieces and merges.

Pieces are runs of UTF-8 bytes, so that no text is unknown and every text comes back exactly. Needs the extra
`language`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lamina._errors import MissingExtraError, at_least

BYTES = 256
"""The pieces that every subword dictionary has: one for each byte."""


def _package() -> Any:
    try:
        import tokenizers  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise MissingExtraError("tokenizers", "language", "a dictionary of subwords") from None
    return tokenizers


def learn(texts: Iterable[str], size: int, min_count: int) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Join the most frequent neighbors again and again until there are `size` pieces."""
    at_least("size", size, BYTES)
    tokenizers = _package()
    tokenizer = _empty(tokenizers, tokenizers.models.BPE())
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=min_count,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    import json

    model = json.loads(tokenizer.to_str())["model"]
    merges = (pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"])
    return tuple(sorted(model["vocab"])), tuple((first, second) for first, second in merges)


class Pieces:
    """Split text into the numbers of pieces and join them again."""

    def __init__(self, index: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> None:
        tokenizers = _package()
        self._tokenizer = _empty(tokenizers, tokenizers.models.BPE(dict(index), list(merges)))
        self._decoder = tokenizers.decoders.ByteLevel()

    def split(self, text: str) -> list[str]:
        """Give the pieces of a text."""
        tokens: list[str] = self._tokenizer.encode(text).tokens
        return tokens

    def join(self, pieces: Sequence[str]) -> str:
        """Give the text of pieces; bytes that are no UTF-8 become a replacement character."""
        text: str = self._decoder.decode(list(pieces))
        return text


def _empty(tokenizers: Any, model: Any) -> Any:
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer
