import pytest

from lamina.experiments.result import ClaimError
from lamina.experiments.translation_toy import PAIRS, learned_by_heart


@pytest.mark.notes("N5.03", "N5.49")
def test_sentences_learned_by_heart_end_by_themselves():
    result = learned_by_heart(seeds=2, steps=100, variants=("gru",)).check()
    assert result.rows[0][2:] == (len(PAIRS), 12, "heute scheint die sonne")
    lengths = [tuple(len(text.split()) for text in pair) for pair in PAIRS]
    assert lengths[0] == (5, 4)


def test_claims_about_translation_can_fail():
    result = learned_by_heart(seeds=1, steps=1, variants=("gru",))
    with pytest.raises(ClaimError, match="ends by itself"):
        result.check()


@pytest.mark.slow
@pytest.mark.notes("N5.03", "N5.49")
def test_sentences_are_learned_by_heart_in_full():
    learned_by_heart().check()
