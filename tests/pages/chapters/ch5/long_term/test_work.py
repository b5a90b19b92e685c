"""The work of the page ch5/long_term: numbers by hand, and what the notes say of them."""

import json
from importlib.resources import files

import pytest
import torch

from lamina.data.sequences import agreement
from lamina.inspection.sensitivity import gates
from lamina.pages.chapters.ch5.long_term._work import cats
from lamina.pages.kit._shipped import shipped


@pytest.mark.notes("N5.30", "N5.33")
@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_shipped_cats_are_right_over_any_gap(kind):
    network, _ = shipped(f"cats-{kind}")
    for gap in (1, 5, 10, 22, 60):
        data = agreement(200, gap, seed=gap)
        assert torch.equal(network(data.inputs).argmax(1), data.targets)


@pytest.mark.notes("N5.33")
def test_update_gate_of_the_shipped_gru_opens_at_the_noun():
    network, record = shipped("cats-gru")
    words = "the cats which we saw".split()
    tokens = torch.tensor([[record.preprocess.spec.symbols.index(word) for word in words]])
    opened = gates(network, tokens).cells[0].mean("update")[0]
    assert opened.argmax() == 1 and opened[1] > 0.8 and opened[2:].max() < 0.25


@pytest.mark.notes("N5.24")
def test_cats_over_a_short_gap_are_learned():
    rows = list(cats("gru", 3, 3.0, steps=200, hidden=16))
    assert rows[0]["accuracy"] < 0.8 and rows[-1]["accuracy"] == 1.0


def test_shipped_records_are_plain_json():
    folder = files("lamina.pages").joinpath("shipped")
    for name in ("seq2seq-phrasebook", "cats-gru", "cats-lstm"):
        values = json.loads(folder.joinpath(f"{name}.json").read_text(encoding="utf-8"))
        assert values["command"].startswith("lamina train ")
