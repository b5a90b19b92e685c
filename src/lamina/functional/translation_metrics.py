"""How good translations are: BLEU and chrF as the package `sacrebleu` computes them, and the share of exact ones.

Needs the extra `language`, but for `exact_share`. Texts are given as people read them; sacrebleu splits them itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lamina._errors import DataError, MissingExtraError


@dataclass(frozen=True)
class TranslationScore:
    """A score of a whole set of translations, from 0 to 100.

    Args:
        score: the number.
        signature: what exactly was computed, as papers print it.
        precisions: for BLEU the shares of n-grams of 1 to 4 words that are right, in percent.
        brevity: for BLEU the factor below 1 for translations that are too short.
    """

    score: float
    signature: str
    precisions: tuple[float, ...] = ()
    brevity: float = 1.0


def bleu(translations: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> TranslationScore:
    """Compute BLEU with sacrebleu's standard tokenization (13a).

    Args:
        translations: what was written.
        references: what should have been written, one for each.
        lowercase: whether capitals count as small letters.

    Returns:
        The score of the whole set, which is not the mean of the scores of its sentences.
    """
    metric = _package().BLEU(lowercase=lowercase)
    found = _scored(metric, translations, references)
    return TranslationScore(found.score, str(metric.get_signature()), tuple(found.precisions), found.bp)


def chrf(translations: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> TranslationScore:
    """Compute chrF, the agreement of runs of up to 6 characters; it counts a word with a wrong ending for a part.

    Args:
        translations: what was written.
        references: what should have been written, one for each.
        lowercase: whether capitals count as small letters.
    """
    metric = _package().CHRF(lowercase=lowercase)
    return TranslationScore(_scored(metric, translations, references).score, str(metric.get_signature()))


def exact_share(translations: Sequence[str], references: Sequence[str]) -> float:
    """Return the share of translations that are exactly the reference.

    >>> exact_share(["Heute scheint die Sonne", "Ja"], ["Heute scheint die Sonne", "Nein"])
    0.5
    """
    _check(translations, references)
    return sum(a == b for a, b in zip(translations, references, strict=True)) / len(references)


def _package() -> Any:
    try:
        from sacrebleu import metrics  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise MissingExtraError("sacrebleu", "language", "BLEU and chrF") from None
    return metrics


def _scored(metric: Any, translations: Sequence[str], references: Sequence[str]) -> Any:
    _check(translations, references)
    return metric.corpus_score(list(translations), [list(references)])


def _check(translations: Sequence[str], references: Sequence[str]) -> None:
    if len(translations) != len(references) or not len(references):
        raise DataError(
            f"translations must have one reference each and there must be at least 1, got {len(translations)} "
            f"translations and {len(references)} references."
        )
