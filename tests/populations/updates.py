"""Members whose update is computed in two ways."""

import torch

from lamina.functional.optimizers import State
from lamina.populations._update import MOMENTS, _numbers_of, _reference
from lamina.training.recipe import SGD, Adam, AdamW, Clip, MiniBatch, Penalty, Recipe, RMSprop, Schedule

K = 5


OPTIMIZERS = {
    "gd": [SGD(10.0**-k) for k in range(K)],
    "momentum": [MiniBatch(0.1 * (k + 1), 0.1 * k) for k in range(K)],
    "nesterov": [MiniBatch(0.1 * (k + 1), 0.15 * (k + 1), True) for k in range(K)],
    "adam": [Adam(10.0**-k, 0.2 * k, 0.9 + 0.01 * k, 10.0 ** -(k + 3)) for k in range(K)],
    "adamw": [AdamW(10.0**-k, 0.2 * k, 0.9 + 0.01 * k, 10.0 ** -(k + 3), 0.1 * k) for k in range(K)],
    "rmsprop": [RMSprop(10.0**-k, 0.9 + 0.01 * k, 10.0 ** -(k + 3), 0.2 * k) for k in range(K)],
}


PENALTIES = [Penalty(), Penalty(0.1), Penalty(0.1, 1)]


CLIPS = [Clip(), Clip(0.5), Clip(0.5, "tensor"), Clip(0.1, "value")]


def made(kind, penalty, clip, dtype=torch.float64, device="cpu"):
    """Make K members with tensors of several sizes, and the same a second time."""
    recipes = [
        Recipe(
            optimizer,
            epochs=3,
            schedule=Schedule("cosine", 0.1 * k),
            penalty=Penalty(penalty.strength * k, penalty.norm),
            clip=Clip(None if clip.limit is None or k == 3 else clip.limit * (k + 1), clip.kind),
        )
        for k, optimizer in enumerate(OPTIMIZERS[kind])
    ]
    g = torch.Generator().manual_seed(0)
    shapes = {"W": (K, 7, 3), "b": (K, 6), "tau": (K,), "V": (K, 33, 40)}
    params = {
        name: torch.randn(shape, generator=g, dtype=torch.float64).to(device, dtype) for name, shape in shapes.items()
    }
    grads = [
        {name: torch.randn(shape, generator=g, dtype=torch.float64).to(device, dtype) for name, shape in shapes.items()}
        for _ in range(4)
    ]
    numbers = _numbers_of(recipes, device)

    def state():
        count = torch.zeros((), dtype=torch.int64, device=device)
        zeros = [{name: torch.zeros_like(p) for name, p in params.items()} for _ in range(MOMENTS[kind])]
        return State(count, tuple(zeros))

    return numbers, params, {name: p.clone() for name, p in params.items()}, grads, state(), state()


def assert_equals_reference(form, kind, penalty, clip, dtype=torch.float64, device="cpu", tolerance=1e-13):
    tolerance *= 100 if kind == "rmsprop" else 1  # it divides by roots that may be small: roundings grow
    numbers, ours, theirs, grads, state, other = made(kind, penalty, clip, dtype, device)
    update = form(ours, state, numbers)
    alive = torch.tensor([True, True, False, True, True], device=device)
    for step, each in enumerate(grads):
        living = torch.ones_like(alive) if step == 0 else alive
        seen = update({name: g.clone() for name, g in each.items()}, living, True)
        expected = _reference(theirs, each, other, living, numbers)
        for name in ours:
            there = living if step else slice(None)
            torch.testing.assert_close(seen[name][there], expected[name][there], rtol=tolerance, atol=tolerance)
    assert int(state.step) == int(other.step) == 4
    for a, b in ((ours, theirs), *zip(state.moments, other.moments, strict=True)):
        for name in a:
            torch.testing.assert_close(a[name], b[name], rtol=tolerance, atol=tolerance)
