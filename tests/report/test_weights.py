"""The table of the trained tensors."""

import math

import torch

from lamina.report import _weights as weights
from lamina.report._record import Weight, read
from report.samples import WEIGHTS


def test_weights_table_has_shares_and_a_total(make):
    table = weights.table(read(make()).weights)
    assert table.head == ("name", "shape", "count", "norm", "share")
    assert table.rows[0] == ("layers.0.affine.weight", "5×4", "20", "2.236", "46.5%")
    assert table.rows[3] == ("layers.1.affine.bias", "3", "3", "5", "7.0%")
    assert table.rows[-1] == ("total", "", "43", "6.708", "100%")  # sqrt(5 + 15 + 25)
    assert len(table.rows) == len(WEIGHTS) + 1


def test_weights_of_a_deep_network_are_joined_by_part():
    tensors = [Weight(f"layer{i}.{j}.weight", (2, 3), 6, 3.0) for i in range(3) for j in range(30)]
    tensors.append(Weight("fc.weight", (4,), 4, 1.0))
    table = weights.table(tensors)
    assert table.rows[0] == ("layer0", "several", "180", f"{math.sqrt(30 * 9):.4g}", "33.1%")
    assert table.rows[-2] == ("fc.weight", "4", "4", "1", "0.7%") and table.rows[-1][2] == "544"
    assert len(weights.table(tensors, limit=None).rows) == 92


def test_infinite_weights_do_not_hurt(make):
    table = weights.table(read(make(weights={"w": torch.tensor([math.inf, 1.0])})).weights)
    assert table.rows[0] == ("w", "2", "2", "–", "100%")
