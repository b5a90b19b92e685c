"""The fused optimizers against torch.optim, bit for bit, and without its imports."""

import subprocess
import sys

import pytest
import torch

from lamina.training._fused import FusedAdam, FusedRMSprop, FusedSGD

KINDS = {
    "adam": (
        lambda p: FusedAdam(p, 0.01, (0.8, 0.95), 1e-6),
        lambda p: torch.optim.Adam(p, 0.01, (0.8, 0.95), 1e-6, fused=True),
    ),
    "adamw": (
        lambda p: FusedAdam(p, 0.01, (0.8, 0.95), 1e-6, 0.3),
        lambda p: torch.optim.AdamW(p, 0.01, (0.8, 0.95), 1e-6, 0.3, fused=True),
    ),
    "rmsprop": (
        lambda p: FusedRMSprop(p, 0.01, 0.8, 1e-6),
        lambda p: torch.optim.RMSprop(p, 0.01, 0.8, 1e-6, foreach=True),
    ),
    "rmsprop with momentum": (
        lambda p: FusedRMSprop(p, 0.01, 0.8, 1e-6, 0.7),
        lambda p: torch.optim.RMSprop(p, 0.01, 0.8, 1e-6, momentum=0.7, foreach=True),
    ),
    "descent": (lambda p: FusedSGD(p, 0.1), lambda p: torch.optim.SGD(p, 0.1, fused=True)),
    "momentum": (lambda p: FusedSGD(p, 0.1, 0.9), lambda p: torch.optim.SGD(p, 0.1, 0.9, fused=True)),
    "nesterov": (
        lambda p: FusedSGD(p, 0.1, 0.9, True),
        lambda p: torch.optim.SGD(p, 0.1, 0.9, nesterov=True, fused=True),
    ),
}
SHAPES = ((5, 3), (5,), (4, 2, 3, 3), ())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_updates_equal_those_of_torch_bit_for_bit(kind, dtype):
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(shape, generator=generator, dtype=dtype) for shape in SHAPES]
    ours, theirs = ([torch.nn.Parameter(t.clone()) for t in start] for _ in range(2))
    optimizers = KINDS[kind][0](ours), KINDS[kind][1](theirs)
    for step in range(20):
        grads = [torch.randn(shape, generator=generator, dtype=dtype) for shape in SHAPES]
        for params, optimizer in zip((ours, theirs), optimizers, strict=True):
            for p, g in zip(params, grads, strict=True):
                # One parameter has no gradient at first: it waits, and so does its count. Torch's momentum cannot.
                late = p is params[1] and step < 5 and kind not in ("momentum", "nesterov")
                p.grad = None if late else g.clone()
            optimizer.param_groups[0]["lr"] = 0.1 / (1 + step)
            optimizer.step()
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a, b)
        for name, value in optimizers[1].state[b].items():
            if name not in optimizers[0].state[a]:
                assert (name, kind[:7]) == ("step", "rmsprop")  # which nothing depends on
                continue
            assert torch.equal(optimizers[0].state[a][name], value), name


@pytest.mark.parametrize("rate", [0.01, torch.tensor(0.01)])
@pytest.mark.parametrize("momentum", [0.0, 0.7])
def test_a_rate_on_the_device_is_the_same_rate(rate, momentum):
    p = torch.nn.Parameter(torch.ones(3))
    optimizer = FusedRMSprop([p], rate, 0.75, 1e-8, momentum)
    for _ in range(2):
        p.grad = torch.tensor([1.0, -2.0, 0.5])
        optimizer.step()
    # the mean squares are 1/4 and 7/16 of the square of the gradient
    first, second = 1 / 0.25**0.5, 1 / 0.4375**0.5
    length = 0.01 * (first + second + momentum * first)
    torch.testing.assert_close(p.detach(), torch.ones(3) - length * torch.tensor([1.0, -1.0, 1.0]))


@pytest.mark.parametrize("kind", ["adam", "momentum"])
def test_no_gradient_at_all_changes_nothing(kind):
    p = torch.nn.Parameter(torch.ones(2))
    KINDS[kind][0]([p]).step()
    assert p.tolist() == [1, 1]


def test_training_does_not_import_the_compiler(tmp_path):
    code = """
import sys, lamina
from lamina.data.synthetic import moons
split = moons(40).split()
rules = {"adam": lamina.Adam(), "rmsprop": lamina.RMSprop(), "momentum": lamina.MiniBatch(momentum=0.9)}
for name, optimizer in rules.items():
    net = lamina.build("fnn", inputs=2, outputs=2)
    lamina.fit(net, split, lamina.Recipe(optimizer, epochs=2), folder=sys.argv[1] + name).evaluate()
print(*[name for name in ("torch._dynamo", "torch._inductor", "sympy") if name in sys.modules])
"""
    words = [sys.executable, "-c", code, str(tmp_path / "run-")]
    found = subprocess.run(words, check=True, capture_output=True, text=True)
    assert found.stdout.strip() == ""
