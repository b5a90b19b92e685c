"""The lines of Alg. 6: their numbers are those of `backpropagate` and of autograd."""

from itertools import pairwise

import pytest
import torch

from lamina.backprop.backpropagation import backpropagate
from lamina.backprop.sweep import autograd_values, sweep
from lamina.functional.losses import binary_cross_entropy, mse_half, negative_log_likelihood

F64 = torch.float64


def network(widths, seed=0):
    g = torch.Generator().manual_seed(seed)
    weights = [torch.randn(b, a, generator=g, dtype=F64) for a, b in pairwise(widths)]
    return weights, [torch.randn(len(W), generator=g, dtype=F64) for W in weights]


@pytest.mark.notes("N2.77", "N2.80")
@pytest.mark.parametrize(
    ("last", "loss", "targets"),
    [
        ("tanh", "mse", torch.tensor([[0.5, 0.1, -0.2], [1.0, 0.0, 0.3]], dtype=F64)),
        ("sigmoid", "bce", torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]], dtype=F64)),
        ("softmax", "nll", torch.tensor([2, 0])),
    ],
)
def test_every_line_equals_autograd(last, loss, targets):
    weights, biases = network((2, 4, 3))
    u = torch.tensor([[0.3, -1.0], [1.5, 0.2]], dtype=F64)
    lines = sweep(weights, biases, ["tanh", last], u, targets, loss)
    assert [(line.name, line.layer) for line in lines] == [
        ("z", 1), ("y", 1), ("z", 2), ("y", 2), ("loss", 2), ("z_bar", 2), ("W_bar", 2), ("b_bar", 2), ("y_bar", 2),
        ("z_bar", 1), ("W_bar", 1), ("b_bar", 1),
    ]  # fmt: skip
    W, b = ([t.clone().requires_grad_() for t in part] for part in (weights, biases))
    z1 = u @ W[0].T + b[0]
    y1 = z1.tanh()
    z2 = y1 @ W[1].T + b[1]
    if loss == "mse":
        value = mse_half(z2.tanh(), targets)
    else:
        value = (binary_cross_entropy if loss == "bce" else negative_log_likelihood)(z2, targets)
    wanted = torch.autograd.grad(value, [z2, W[1], b[1], y1, z1, W[0], b[0]])
    for line, gradient in zip(lines[5:], wanted, strict=True):
        assert torch.allclose(line.value, gradient, rtol=1e-13, atol=1e-14), line.name
    others = autograd_values(weights, biases, ["tanh", last], u, targets, loss)
    for line, other in zip(lines, others, strict=True):
        assert torch.allclose(line.value, other, rtol=1e-13, atol=1e-14), line.name
    assert torch.allclose(lines[0].value, z1) and torch.allclose(lines[4].value, value)


@pytest.mark.notes("N2.80")
def test_the_lines_are_what_backpropagate_does():
    weights, biases = network((3, 2, 2, 1), seed=4)
    u, s = torch.ones(1, 3, dtype=F64), torch.zeros(1, 1, dtype=F64)
    names = ["sigmoid", "relu", "identity"]
    lines = sweep(weights, biases, names, u, s)
    gradients = backpropagate(weights, biases, names, u, s)
    found = {name: [line.value for line in reversed(lines) if line.name == name] for name in ("W_bar", "b_bar")}
    for mine, theirs in zip(found["W_bar"] + found["b_bar"], gradients.weights + gradients.biases, strict=True):
        assert mine.equal(theirs)
    assert len(lines) == 2 * 3 + 1 + 4 * 3 - 1
    assert lines[7].formula == r"\bar z^{[3]} = \tfrac1N (y^{[3]} - S(u)) \odot (\sigma^{[3]})'(z^{[3]})"
    assert [line.phase for line in lines] == ["forward"] * 6 + ["loss"] + ["backward"] * 11


@pytest.mark.notes("N2.80")
def test_the_formulas_are_those_of_the_algorithm():
    weights, biases = network((1, 1, 1))
    lines = sweep(weights, biases, ["tanh", "sigmoid"], torch.ones(1, 1, dtype=F64), torch.ones(1, 1, dtype=F64), "bce")
    assert [line.formula for line in lines] == [
        r"z^{[1]} = W^{[0]} y^{[0]} + b^{[0]}",
        r"y^{[1]} = \sigma^{[1]}(z^{[1]})",
        r"z^{[2]} = W^{[1]} y^{[1]} + b^{[1]}",
        r"y^{[2]} = \sigma^{[2]}(z^{[2]})",
        r"\mathscr{L}(y^{[2]}, S(u))",
        r"\bar z^{[2]} = \tfrac1N (y^{[2]} - S(u))",
        r"\bar W^{[1]} = \bar z^{[2]} (y^{[1]})^\top",
        r"\bar b^{[1]} = \bar z^{[2]}",
        r"\bar y^{[1]} = (W^{[1]})^\top \bar z^{[2]}",
        r"\bar z^{[1]} = \bar y^{[1]} \odot (\sigma^{[1]})'(z^{[1]})",
        r"\bar W^{[0]} = \bar z^{[1]} (y^{[0]})^\top",
        r"\bar b^{[0]} = \bar z^{[1]}",
    ]
