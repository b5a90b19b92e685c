"""Members in stacks of several widths."""

import torch

from lamina.architectures.build import configure
from lamina.data.arrays import from_arrays
from lamina.data.preprocess import Preprocess
from lamina.populations._chunks import Data, make_stack
from lamina.populations.members import Member
from lamina.training.recipe import Adam, Clip, MiniBatch, Penalty, Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays

ROWS = {"inputs": 5, "outputs": 3}


PICTURES = {"inputs": (1, 13, 13), "outputs": 3, "padding": (2, 2)}


CASES = {
    "fnn": ("fnn", {**ROWS, "hidden": (7, 13)}),
    "fnn, whole vectors": ("fnn", {**ROWS, "inputs": 16, "hidden": (32, 16)}),
    "fnn, tanh": ("fnn", {**ROWS, "hidden": (33,), "activation": "tanh"}),
    "fnn, sigmoid and dropout": ("fnn", {**ROWS, "hidden": (7, 13), "activation": "sigmoid", "dropout": 0.3}),
    "fnn, numbers": ("fnn", {**ROWS, "outputs": 2, "hidden": (7,)}),
    "lenet5": ("lenet5", PICTURES),
    "lenet5, relu, max": ("lenet5", {**PICTURES, "activation": "relu", "pooling": "max", "dropout": 0.2}),
}


def data(name):
    generator = torch.Generator().manual_seed(0)
    architecture, options = CASES[name]
    shape = options["inputs"] if architecture == "lenet5" else (options["inputs"],)
    inputs = torch.randn(330, *shape, generator=generator)
    targets = inputs[:, :2] * 2 if name == "fnn, numbers" else torch.arange(330) % 3
    return from_arrays(inputs, targets).split(seed=0)


def recipes(kind, count):
    each = [0.02 / (k + 1) for k in range(count)]
    if kind == "adam":
        return [Recipe(Adam(rate), batch_size=19, penalty=Penalty(0.1 * rate)) for rate in each]
    return [Recipe(MiniBatch(rate, 0.9, True), batch_size=19, clip=Clip(rate * 30)) for rate in each]


def trained(members, split, device):
    """Give the weights, sums and validation values of a stack after some updates, the last with a shorter batch."""
    task = Arrays(Preprocess.fit(split.train, members[0].config.inputs), split)
    runtime = Runtime(device)
    with runtime.applied("float32") as used:
        stack = make_stack(members, Data.of(task, members[0].recipe, used))
        stack.begin(0)
        for _ in range(stack.batches):
            stack()
        found = {name: t.cpu() for name, t in stack.state().items()}
        return found, stack.totals() | stack.evaluate()


def of_member(found, k):
    state, values = found
    own = {name: t[:, k] if name == "step/norms" else t[k] for name, t in state.items()}
    return own, [v[k] for name, v in values.items() if name != "gradients"] + [
        v[k] for v in values["gradients"].values()
    ]


def assert_feels_no_width(name, kind, device):
    """The same bits alone and in stacks of several widths, at either end."""
    architecture, options = CASES[name]
    config, split = configure(architecture, **options), data(name)
    members = [Member(recipe, config, seed) for seed, recipe in enumerate(recipes(kind, 8))]
    alone, values = of_member(trained(members[:1], split, device), 0)
    assert all(t.isfinite().all() for t in alone.values() if t.is_floating_point())
    for width in (2, 3, 5, 8):
        for place in (0, width - 1):
            others = members[1:width]
            stacked = trained([*others[:place], members[0], *others[place:]], split, device)
            state, found = of_member(stacked, place)
            assert found == values
            assert all(torch.equal(t, state[name]) for name, t in alone.items())
            assert not torch.equal(alone["step/loss_sum"], of_member(stacked, width - 1 - place)[0]["step/loss_sum"])
