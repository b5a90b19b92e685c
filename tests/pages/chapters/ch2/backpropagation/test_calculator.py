"""A reader with a calculator gets what the page prints, from what the page prints."""

import math
import re

import pytest
import torch

from lamina.backprop.backpropagation import unflatten
from lamina.backprop.sweep import sweep
from lamina.functional.dense import parameter_count
from lamina.functional.initialization import gaussian
from lamina.pages.chapters.ch2.backpropagation._calculator import substituted

TOOLS = {"tanh": math.tanh, "exp": math.exp, "ln": math.log, "max": max, "__builtins__": {}}


def typed(words):
    """Do what a calculator does."""
    plain = words.replace("·", "*").replace("−", "-").replace("²", "**2")
    return eval(plain, dict(TOOLS))


@pytest.mark.parametrize(
    ("widths", "hidden", "wanted"),
    [((2, 2, 1), "tanh", 1.0), ((2, 3, 1), "sigmoid", 0.3), ((2, 2, 2, 1), "relu", 0.0), ((2, 3, 3), "identity", 2)],
)
def test_every_line_can_be_recomputed_from_what_is_printed(widths, hidden, wanted):
    theta = (10 * gaussian((1, parameter_count(widths)), 0.8, 3)[0].double()).round() / 10
    weights, biases = unflatten(theta, widths)
    many = widths[-1] > 1
    names = [hidden] * (len(widths) - 2) + ["softmax" if many else "sigmoid"]
    goal = torch.tensor([wanted]) if many else torch.tensor([[wanted]], dtype=torch.float64)
    target = [float(i == wanted) for i in range(widths[-1])] if many else [wanted]
    lines = sweep(weights, biases, names, torch.tensor([[1.0, -0.5]]).double(), goal, "nll" if many else "bce")
    rows = substituted(lines, weights, biases, names, [1.0, -0.5], target)
    assert [len(part) for part in rows] == [line.value.numel() for line in lines]
    for part, line in zip(rows, lines, strict=True):
        for (_, words, result), value in zip(part, line.value.flatten().tolist(), strict=True):
            assert math.isclose(float(result.replace("−", "-")), value, rel_tol=1e-3, abs_tol=1e-12)
            assert math.isclose(typed(words), value, rel_tol=5e-3, abs_tol=2e-3), words


def test_the_students_check_has_the_bias():
    W, b = [torch.tensor([[0.1, -0.5]])], [torch.tensor([-1.1])]
    lines = sweep(W, b, ["sigmoid"], torch.tensor([[1.0, -0.5]]), torch.tensor([[1.0]]), "bce")
    (name, words, result), *_ = substituted(lines, W, b, ["sigmoid"], [1.0, -0.5], [1.0])[0]
    assert (name, words, result) == ("z₁[1]", "0.1 · 1 + (−0.5) · (−0.5) + (−1.1)", "−0.75")
    assert re.findall(r"[\d.]+", words) == ["0.1", "1", "0.5", "0.5", "1.1"], "0.35 without the bias, -0.75 with it"
