"""BLEU and chrF: a value by hand, the published example of the formula, and sacrebleu's own functions."""

import math
import sys

import pytest

from lamina._errors import DataError, MissingExtraError
from lamina.functional.translation_metrics import bleu, chrf, exact_share

GERMAN = ["Heute scheint die Sonne", "Der Hund schläft im Garten", "Sie liest ein gutes Buch"]
GUESS = ["Heute scheint die Sonne", "Der Hund schläft", "sie liest ein gutes Auto"]


def test_exact_share():
    assert exact_share(GUESS, GERMAN) == pytest.approx(1 / 3) and exact_share(GERMAN, GERMAN) == 1.0
    with pytest.raises(DataError, match="one reference each .* at least 1, got 1 translations and 2 references"):
        exact_share(["a"], ["a", "b"])
    with pytest.raises(DataError, match="got 0 translations and 0 references"):
        exact_share([], [])


@pytest.mark.parametrize("metric", [bleu, chrf])
def test_the_extra_is_named(monkeypatch, metric):
    for name in ("sacrebleu", "sacrebleu.metrics"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        MissingExtraError, match=r"BLEU and chrF needs the package 'sacrebleu': .*'lamina-nn\[language\]'"
    ):
        metric(GUESS, GERMAN)


def test_bleu_by_hand():
    found = bleu(["the cat sat on the red mat"], ["the cat sat on the mat today"])
    # right: 6 of 7 words, 4 of 6 pairs, 3 of 5 triples, 2 of 4 quadruples; equal lengths
    shares = (6 / 7, 4 / 6, 3 / 5, 2 / 4)
    assert found.precisions == pytest.approx([100 * share for share in shares]) and found.brevity == 1.0
    assert found.score == pytest.approx(100 * math.exp(sum(map(math.log, shares)) / 4))
    short = bleu(["the cat sat on"], ["the cat sat on the mat"])
    assert short.score == pytest.approx(100 * math.exp(1 - 6 / 4)) and short.brevity == pytest.approx(math.exp(-0.5))


def test_scores_are_those_of_sacrebleu():
    import sacrebleu

    cased = bleu(GUESS, GERMAN)
    assert cased.score == sacrebleu.corpus_bleu(GUESS, [GERMAN]).score and cased.signature.startswith(
        "nrefs:1|case:mixed"
    )
    small = bleu(GUESS, GERMAN, lowercase=True)
    assert small.score == sacrebleu.corpus_bleu(GUESS, [GERMAN], lowercase=True).score > cased.score
    assert "case:lc" in small.signature and "tok:13a" in small.signature
    found = chrf(GUESS, GERMAN)
    assert found.score == sacrebleu.corpus_chrf(GUESS, [GERMAN]).score and "chrF2" not in str(found.precisions)
    assert chrf(GUESS, GERMAN, lowercase=True).score > found.score and chrf(GERMAN, GERMAN).score == 100.0
    assert bleu(GERMAN, GERMAN).score == pytest.approx(100.0)
    with pytest.raises(DataError, match="got 1 translations and 3 references"):
        bleu(["a"], GERMAN)
