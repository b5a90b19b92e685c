"""Small runs on texts: a translator, a language model, a critic of films."""

import pytest
import torch

from lamina.data.text.texts import RunningText, TextDataset
from lamina.training.fit import fit
from lamina.training.recipe import Adam, Recipe
from training.tasks.words import book, sized


@pytest.fixture(scope="session")
def translator(tmp_path_factory):
    model, split = sized("seq2seq", book(), hidden=48, embedding=24, padding=0, output_bias=True)
    recipe = Recipe(Adam(0.01), epochs=25, batch_size=16)
    return fit(model, split, recipe, folder=tmp_path_factory.mktemp("runs") / "book")


@pytest.fixture(scope="session")
def poet(tmp_path_factory):
    data = RunningText.of("abcd efgh\n" * 120)
    model, split = sized("many-to-many", data, embedding=8, hidden=24)
    recipe = Recipe(Adam(0.02), epochs=6, batch_size=4, window=10)
    return fit(model, split, recipe, folder=tmp_path_factory.mktemp("runs") / "poem")


@pytest.fixture(scope="session")
def critic(tmp_path_factory):
    good, bad = ("fine", "great", "lovely"), ("dull", "poor", "awful")
    rows = [(f"the film {i} was {w}", int(w in good)) for i in range(20) for w in (*good, *bad)]
    data = TextDataset.of([a for a, _ in rows], torch.tensor([b for _, b in rows]), ("bad", "good"))
    model, split = sized("many-to-one", data, embedding=8, padding=0, output_bias=True)
    recipe = Recipe(Adam(0.02), epochs=6, batch_size=16, label_smoothing=0.05)
    return fit(model, split, recipe, folder=tmp_path_factory.mktemp("runs") / "films")
