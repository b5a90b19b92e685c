"""The shipped translator, step by step."""

import pytest

from lamina._errors import DataError
from lamina.pages.chapters.ch5.translation._translator import follow
from lamina.pages.kit._shipped import shipped
from lamina.training.tasks.texts import translate

SENTENCES = (
    ("The sun is shining today", "Heute scheint die Sonne"),
    ("Is the sun shining?", "Scheint die Sonne?"),
    ("The cats are sleeping in the garden", "Die Katzen schlafen im Garten"),
    ("I am laughing because the sun is shining", "Ich lache, weil die Sonne scheint"),
)


@pytest.fixture(scope="module")
def translator():
    return shipped("seq2seq-phrasebook")


@pytest.mark.notes("N5.03", "N5.49")
@pytest.mark.parametrize(("english", "german"), SENTENCES)
def test_shipped_translator_answers_step_by_step_as_at_once(translator, english, german):
    network, record = translator
    found = follow(network, record.preprocess, english)
    (at_once,), _ = translate(network, record.preprocess, [english])
    assert found.text == at_once == german
    assert found.ended and not found.unknown
    assert found.steps[0].reads == "<start>" and found.words[-1] == "<end>"
    for step, later in zip(found.steps, found.steps[1:], strict=False):
        assert later.reads == step.writes
        assert step.best[0][0] == step.writes and 0.3 < step.best[0][1] <= 1
    assert found.written_states.shape == (len(found.steps), 192)


@pytest.mark.notes("N5.46")
def test_unknown_words_are_named_and_copied(translator):
    network, record = translator
    found = follow(network, record.preprocess, "The Zebra is sleeping")
    assert found.unknown == ("Zebra",)
    assert found.words[1] == "<unk>"


def test_a_sentence_too_long_to_follow_is_refused(translator):
    network, record = translator
    with pytest.raises(DataError, match="has 41 words, at most 40 fit: shorten it"):
        follow(network, record.preprocess, "sun " * 41)
