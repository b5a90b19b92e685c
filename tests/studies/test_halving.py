"""Halving counts its rungs back from the last epoch and drops the worse."""

import math
from collections import Counter

import pytest

from lamina._errors import ArgumentError
from lamina.studies.halving import Halving
from lamina.studies.search import plan, search
from lamina.studies.tpe import TPE
from studies.small import recorded


def test_halving_counts_back_from_the_last_epoch():
    assert Halving(3).rungs(27) == (1, 3, 9) and Halving(2).rungs(10) == (1, 2, 5) and Halving(3).rungs(2) == ()
    assert Halving(3, first=3).rungs(27) == (3, 9)
    assert [Halving(3).keep(n) for n in (27, 10, 4, 1)] == [9, 4, 2, 1]
    assert Halving(3).drop([5, 4, 3, 2, 1, 0]) == [0, 1, 2, 3]
    assert Halving(2).drop([(0.5, 2.0), (0.5, 1.0), (math.inf, 0.0)]) == [2]
    assert Halving(2).drop([1.0, 1.0]) == [1]  # of equals the earlier goes on
    with pytest.raises(ArgumentError, match="`factor` must be at least 2, got 1"):
        Halving(1)
    with pytest.raises(ArgumentError, match="`first` must be at least 1, got 0"):
        Halving(3, 0)


def test_halving_drops_the_worse_and_keeps_the_best(tmp_path, split):
    rates = {"learning_rate": [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 3e-2]}
    full = search("fnn", split, rates, epochs=9, folder=tmp_path / "f", metric="loss")
    study = search("fnn", split, rates, epochs=9, folder=tmp_path / "h", metric="loss", halving=Halving(3))
    assert Counter(r.outcome.state for r in study.results) == {"finished": 1, "dropped": 5}
    assert sorted(r.outcome.epochs for r in study.results) == [1, 1, 1, 1, 3, 9]  # 6, then 2, then 1
    assert study.best.number == full.best.number and recorded(study) == Counter(range(6))
    for mine, all_ in zip(study.results, full.results, strict=True):  # what was trained is what a full run trains
        assert mine.outcome.curve == pytest.approx(all_.outcome.curve[: len(mine.outcome.curve)], rel=1e-4)
    with pytest.raises(ArgumentError, match="halving drops configurations of a stack .* but 'tpe' decides by results"):
        plan("fnn", split, rates, TPE(5), folder=tmp_path / "x", halving=Halving())
