"""Where our own kernels compute, a member's bits depend neither on how many others there are nor on its place."""

import pytest
import torch
from torch import nn

from lamina.architectures.build import configure
from lamina.data.arrays import from_arrays
from lamina.data.preprocess import Preprocess
from lamina.kernels import native, ordered
from lamina.kernels.convolution import Form, convolved
from lamina.layers import Detector
from lamina.populations.chunks import Data, make_stack
from lamina.populations.members import Member
from lamina.training.recipe import Adam, Clip, MiniBatch, Penalty, Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays

needs_compiler = pytest.mark.skipif(native.compiler() is None, reason="needs a C++ compiler")
DEVICES = ("cpu", pytest.param("cuda", marks=pytest.mark.cuda))
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


@needs_compiler
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ("adam", "nesterov"))
@pytest.mark.parametrize("name", CASES)
def test_a_member_feels_neither_the_width_nor_its_place(name, kind, device, monkeypatch):
    monkeypatch.setitem(ordered.WANTED, device, True)
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


FORMS = (
    Form(1, 28, 28, 6, 5, 5, 1, 2, "sigmoid", 2),
    Form(6, 14, 14, 16, 5, 5, 1, 0, "tanh", 2),
    Form(2, 9, 11, 7, 3, 3, 1, 1, "identity", 1),
    Form(2, 11, 11, 5, 4, 4, 1, 1, "scaled_tanh", 3),
    Form(6, 9, 9, 16, 5, 5, 1, 2, "relu", 2, largest=True),
    Form(3, 11, 10, 2, 3, 3, 1, 0, "leaky_relu", 3, largest=True),
)


@needs_compiler
@pytest.mark.parametrize("shared", (True, False))
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.activation)
def test_convolutions_with_what_follows_them(form, dtype, shared):
    g = torch.Generator().manual_seed(0)
    members, f = 3, form
    x = torch.randn(5, 1 if shared else members, f.channels, f.height, f.width, generator=g, dtype=dtype)
    weight = torch.randn(members, f.filters, f.channels, f.rows, f.columns, generator=g, dtype=dtype)
    bias = torch.randn(members, f.filters, generator=g, dtype=dtype)
    tensors = [weight.requires_grad_(), bias.requires_grad_()] + ([] if shared else [x.requires_grad_()])
    assert f.fits(x)
    y = convolved(x, weight, bias, f)
    slope = torch.randn(y.shape, generator=g, dtype=dtype)
    pool = (nn.MaxPool2d if f.largest else nn.AvgPool2d)(f.pool)
    maps = [
        pool(Detector(f.activation)(nn.functional.conv2d(x[:, 0 if shared else k].double(), weight[k].double(),
                                                       bias[k].double(), padding=f.padding)))
        for k in range(members)
    ]  # fmt: skip
    expected = torch.stack(maps, 1)
    ours, theirs = (torch.autograd.grad(o, tensors, s) for o, s in ((y, slope), (expected, slope.double())))
    for mine, right in zip((y, *ours), (expected, *theirs), strict=True):
        scale = float(right.detach().abs().max())
        torch.testing.assert_close(
            mine.double(), right.double(), rtol=0, atol=scale * (1e-5 if dtype == torch.float32 else 1e-13)
        )
    for k in range(members):
        one = convolved(x[:, 0:1] if shared else x[:, k : k + 1], weight[k : k + 1], bias[k : k + 1], f)
        assert torch.equal(one[:, 0], y[:, k])
        for mine, part in zip(torch.autograd.grad(one, tensors[:2], slope[:, k : k + 1]), ours, strict=False):
            assert torch.equal(mine[k], part[k])
