"""A small book is translated and judged."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy

from lamina.report.render import render


@pytest.mark.notes("N5.03")
def test_a_small_book_is_translated_and_every_answer_ends_by_itself(translator):
    found = translator.evaluate()
    assert found.metrics["exact"] >= 0.95 and found.examples == 16 and found.confusion is None
    assert found.metrics["perplexity"] == pytest.approx(math.exp(found.metrics["loss"]))
    assert translator.predict("Two dogs sing").texts == ("zwei Hunde singen",)
    beams = translator.predict(["two dogs sing", "five bears eat"], beams=4, length_penalty=0.6)
    assert beams.texts == ("zwei Hunde singen", "fünf Bären essen") and beams.names[0] == "two dogs sing"
    assert beams.values.shape == (2, 1) and (beams.values <= 0).all()
    page = render(translator.folder)
    assert "exactly right" in page and "dictionary of the answers" in page


def test_the_loss_on_the_test_split_is_that_of_the_true_words_before(translator):
    test = translator.split.test._dataset
    inputs, targets = translator.preprocess.encode(test).take(torch.arange(len(test)))
    heard = torch.cat([torch.full((len(targets), 1), 2), targets[:, :-1]], 1)
    outputs = translator.model(inputs, heard)
    loss = cross_entropy(outputs.flatten(0, 1), targets.flatten(), ignore_index=0).item()
    assert translator.evaluate().metrics["loss"] == pytest.approx(loss, rel=1e-5)


def test_translations_copy_unknown_words_unless_told_not_to(translator, monkeypatch):
    import lamina.training.tasks.texts as texts

    def writes_unknown(write, state, start, end, steps, **options):
        return torch.tensor([[1, 5, 1, 3]]).expand(len(start), -1), torch.zeros(len(start))

    monkeypatch.setattr(texts, "beam_search", writes_unknown)
    word = translator.preprocess.answer_vocabulary.tokens[5]
    shown = translator.preprocess.answer_vocabulary.forms.get(word, word)
    assert translator.predict("two Kangaroos sleep").texts == (f"Kangaroos {shown} <unk>",)
    assert translator.predict("two Kangaroos sleep", copy_unknown=False).texts == (f"<unk> {shown} <unk>",)
