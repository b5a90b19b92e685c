"""What a population must equal: every member trained by itself with `train`, one operation after the other."""

import math
from dataclasses import replace

from lamina.data.preprocess import Preprocess
from lamina.populations.members import training_data
from lamina.training.loop import Progress, drain
from lamina.training.tasks.arrays import Arrays
from lamina.training.train import train


def separately(member, split, seed=None, shape=None):
    """Train one member by itself; returns its rows, its best weights and the first bad step."""
    if seed is not None:
        member = replace(member, recipe=replace(member.recipe, seed=seed))
    recipe, at = member.recipe, Progress()
    wanted = getattr(member.config, "inputs", None) if shape is None else shape
    seen = replace(split, train=training_data(member, split.train))
    task = Arrays(Preprocess.fit(split.train, wanted or None), seen)
    reason = drain(train(member.build(), task, recipe, "eager", at=at))
    return at, reason.step if reason.failed else None


def assert_same_history(rows, expected, tolerance):
    assert len(rows) == len(expected)
    for ours, theirs in zip(rows, expected, strict=True):
        assert list(ours) == list(theirs)
        assert list(ours["gradients"]) == list(theirs["gradients"])
        for name in theirs:
            pairs = [(ours[name], theirs[name])]
            if name == "gradients":
                pairs = [(ours[name][layer], norm) for layer, norm in theirs[name].items()]
            for a, b in pairs:
                assert math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance), (theirs["step"], name, a, b)


def assert_equal_runs(results, members, split, tolerance=1e-10, shared=True):
    """Every member's history, best row and best weights are those of its own run."""
    import torch

    for result, member in zip(results, members, strict=True):
        at, bad = separately(member, split, members[0].recipe.seed if shared else None)
        assert_same_history(result.rows, at.rows, tolerance)
        assert result.best_row == at.best_row
        assert result.first_bad_step == bad
        assert result.state == ("finished" if bad is None else "diverged")
        assert list(result.weights) == list(at.best)
        for name, tensor in at.best.items():
            assert result.weights[name].device.type == "cpu"
            torch.testing.assert_close(result.weights[name], tensor, rtol=100 * tolerance, atol=100 * tolerance)
