"""A language model continues a text."""

import math

import pytest

from lamina._errors import ArgumentError
from lamina.report.render import render
from lamina.training.recipe import GD, SGD, Recipe
from training.tasks.steps import made, text


def test_a_language_model_writes_on(poet):
    assert poet.write("ab", 8, temperature=0) == "abcd efgh\n"
    assert poet.write("", 4, temperature=0) == "abcd"
    assert poet.write("abcd", 30, seed=1) == poet.write("abcd", 30, seed=1)
    assert len(poet.write("x", 5, top_k=2)) == 6
    found = poet.evaluate()
    assert found.metrics["token_accuracy"] > 0.95 and found.examples == 200
    assert found.metrics["perplexity"] == pytest.approx(math.exp(found.metrics["loss"]))
    assert "perplexity" in render(poet.folder)


def test_what_a_running_text_cannot_be_read_with_is_said():
    split = text()
    with pytest.raises(ArgumentError, match="read in order, window by window, got gd: use 'adam'"):
        made(split, "many-to-many", Recipe(GD(0.1)))
    with pytest.raises(ArgumentError, match="got sampling='with-replacement'"):
        made(split, "many-to-many", Recipe(sampling="with-replacement"))
    with pytest.raises(ArgumentError, match="`bidirectional` must be False for a running text"):
        made(split, "many-to-many", Recipe(), bidirectional=True)
    step, _ = made(split, "many-to-many", Recipe(SGD(0.1), epochs=1, window=20))
    assert step.feed.source.rows == 1
