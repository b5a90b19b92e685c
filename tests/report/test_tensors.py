"""The trained tensors of a run."""

import math

import pytest
import torch

import lamina
from lamina.architectures.table import TABLE
from lamina.report._record import read
from lamina.training import checkpoint
from report.samples import WEIGHTS


def test_weights_have_counts_and_norms(make):
    weights = read(make()).weights
    assert [w.name for w in weights] == list(WEIGHTS)
    assert [w.count for w in weights] == [20, 5, 15, 3]
    assert [w.norm for w in weights] == pytest.approx([math.sqrt(5), 0.0, math.sqrt(15), 5.0])


@pytest.mark.parametrize("name", [name for name in TABLE if not name.startswith(("alexnet", "resnet"))] + ["resnet18"])
def test_trained_tensors_of_every_architecture_are_told_from_statistics(make, name):
    network = lamina.build(name)
    weights = read(make(weights=network.state_dict())).weights
    assert [w.name for w in weights] == [key for key, _ in network.named_parameters()]
    assert sum(w.count for w in weights) == sum(p.numel() for p in network.parameters())


def test_weights_come_from_the_newest_checkpoint_while_there_are_no_final_ones(make):
    folder = make(weights=None)
    assert read(folder).weights == ()
    tensors = {"model/w": torch.ones(3), "best/w": torch.full((4,), 2.0), "optimizer/0/step": torch.ones(1)}
    checkpoint.save(folder / "checkpoints", 5, tensors, {})
    (weight,) = read(folder).weights
    assert (weight.name, weight.count, weight.norm) == ("w", 4, 4.0)
