"""What a population must equal: every member trained by itself with `train`, one operation after the other."""

import math
from dataclasses import replace

import torch

from conformance.checks import floats, squares
from lamina.data.preprocess import Preprocess
from lamina.populations.members import training_data
from lamina.populations.stacked import _stack_modules
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


K = 3


def of_member(outputs, k, batch):
    """Take one member's part of an output; states have the batch second."""
    return [leaf.select(1 if leaf.shape[0] == batch else 2, k) for leaf in floats(outputs)]


def assert_equals_separate(modules, inputs, own=False, trains=True):
    """Outputs, gradients and buffers of the stack are those of separate modules."""
    stacked, batch = _stack_modules(modules), inputs[0].shape[0]
    outputs = stacked(*(inputs if own else [x.unsqueeze(1) for x in inputs]))
    separate = [module(*([x[:, k] for x in inputs] if own else inputs)) for k, module in enumerate(modules)]
    if trains:
        sum(squares(of_member(outputs, k, batch)) for k in range(len(modules))).backward()
    for k, module in enumerate(modules):
        for ours, theirs in zip(of_member(outputs, k, batch), floats(separate[k]), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-11)
        if trains:
            squares(separate[k]).backward()
            for (name, ours), (other, theirs) in zip(
                stacked.named_parameters(), module.named_parameters(), strict=True
            ):
                assert name == other
                torch.testing.assert_close(ours.grad[k], theirs.grad, rtol=1e-8, atol=1e-11)
        for (name, ours), (other, theirs) in zip(
            stacked.state_dict().items(), module.state_dict().items(), strict=True
        ):
            assert name == other
            torch.testing.assert_close(ours[k], theirs, rtol=1e-10, atol=1e-12)
    return stacked


def normal(*shape):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
