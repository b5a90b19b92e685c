"""A feedforward network as a Python program of its own: its layers, its weights and how points are prepared."""

from collections.abc import Sequence
from itertools import pairwise

import torch

from lamina._errors import ArgumentError
from lamina._types import Float, Tensor
from lamina.architectures.fnn import FNN

_LAYERS = {"sigmoid": "nn.Sigmoid()", "tanh": "nn.Tanh()", "relu": "nn.ReLU()", "leaky_relu": "nn.LeakyReLU(0.1)",
           "gelu": "nn.GELU()", "gelu_tanh": "nn.GELU(approximate='tanh')"}  # fmt: skip
_WIDE = 64


def _folded(network: FNN) -> list[tuple[Float[Tensor, "out feature"], Float[Tensor, " out"]]]:
    r"""Give weight and bias of each layer as the network uses them after training.

    A layer with batch normalization is one affine map then: $\gamma (W y - \mu) / \sqrt{\sigma^2 + \epsilon} + \beta$
    with the running averages.
    """
    found = []
    for layer, W, b in zip(network.layers, network.weights, network.biases, strict=True):
        W, b = W.detach(), torch.zeros(len(W), dtype=W.dtype) if b is None else b.detach()
        norm = dict(layer.named_children()).get("norm")
        if isinstance(norm, torch.nn.BatchNorm1d):
            assert norm.running_mean is not None and norm.running_var is not None
            scale = norm.weight.detach() / (norm.running_var + norm.eps).sqrt()
            W, b = scale[:, None] * W, scale * (b - norm.running_mean) + norm.bias.detach()
        found.append((W, b))
    return found


def python_code(
    network: FNN,
    *,
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
    classes: Sequence[str] = (),
    target: tuple[float, float] = (0.0, 1.0),
    features: Sequence[str] = (),
    made: str = "",
) -> str:
    """Write a trained feedforward network as a program that needs PyTorch only and gives the same answers.

    Numbers are written with nine digits, which float32 needs to come back exactly. The program has a function
    `predict` for rows of raw inputs, and it answers points given on its command line.

    Args:
        network: what to write; every activation but heaviside.
        mean: what is taken from each input before the network sees it.
        std: what each input is divided by after that.
        classes: the names of the classes; without any the outputs are numbers.
        target: for numbers: mean and standard deviation that turn the output back into units of the target.
        features: the names of the inputs, for the text at the top.
        made: lines that say how the network was trained.

    >>> from lamina.architectures.fnn import FNNConfig
    >>> print(python_code(FNN(FNNConfig(2, 1, hidden=()))).splitlines()[0])
    '''The feedforward network 2-1 as PyTorch code, written by Lamina.
    """
    config = network.config
    unknown = sorted(set(config.activations) - {*_LAYERS, "identity"})
    if unknown:
        raise ArgumentError(f"`network` must use {', '.join(_LAYERS)} or identity to be written, got {unknown[0]}.")
    widths = config.widths
    inputs = widths[0]
    mean, std = tuple(mean) or (0.0,) * inputs, tuple(std) or (1.0,) * inputs
    if not len(mean) == len(std) == inputs:
        raise ArgumentError(f"`mean` and `std` must have {inputs} numbers each, got {len(mean)} and {len(std)}.")
    layers = []
    for (n_in, n_out), name in zip(pairwise(widths), config.activations, strict=True):
        layers.append(f"nn.Linear({n_in}, {n_out})" + ("" if name == "identity" else f", {_LAYERS[name]}"))
    names = tuple(features) or tuple(f"u{place + 1}" for place in range(inputs))
    values = [part for pair in _folded(network) for part in pair]
    parts = [_HEAD.format(name="-".join(map(str, widths)), inputs=" ".join(f"<{name}>" for name in names))]
    parts += [f"# {line}" for line in made.strip().splitlines()]
    parts += [f"MEAN = {tuple(map(float, mean))!r}", f"STD = {tuple(map(float, std))!r}"]
    parts += [f"CLASSES = {tuple(map(str, classes))!r}", f"TARGET = {tuple(map(float, target))!r}"]
    parts += ["", "network = nn.Sequential(", *(f"    {layer}," for layer in layers), ")", "VALUES = ["]
    parts += [line for value in values for line in _written(value.float())]
    return "\n".join([*parts, "]", _TAIL])


_HEAD = """'''The feedforward network {name} as PyTorch code, written by Lamina.

    python network.py {inputs}
'''

import sys

import torch
from torch import nn
"""

_TAIL = """with torch.no_grad():
    for parameter, value in zip(network.parameters(), VALUES, strict=True):
        parameter.copy_(torch.tensor(value))


@torch.no_grad()
def predict(points):
    '''Return the probabilities of the classes, or the predicted numbers, one row per point.'''
    u, mean, std = (torch.tensor(numbers, dtype=torch.float64) for numbers in (points, MEAN, STD))
    y = network(((u - mean) / std).float())
    if not CLASSES:
        return y * TARGET[1] + TARGET[0]
    if y.shape[1] > 1:
        return y.softmax(1)
    return torch.cat([(-y).sigmoid(), y.sigmoid()], 1)


if __name__ == "__main__":
    point = [float(word) for word in sys.argv[1:]] or list(MEAN)
    for name, value in zip(CLASSES or ("output",), predict([point])[0].tolist(), strict=False):
        print(f"{name}: {value:.6f}")
"""


def _number(value: float) -> str:
    text = f"{value:.9g}"
    return text if any(mark in text for mark in ".en") else f"{text}.0"


def _written(value: Tensor) -> list[str]:
    """Write a matrix or a vector as lines of at most 110 characters, in nested lists."""
    if value.ndim == 2:
        return ["    [", *(line for row in value for line in _row(row.tolist(), "        ")), "    ],"]
    return _row(value.tolist(), "    ")


def _row(numbers: list[float], indent: str) -> list[str]:
    lines, line = [], ""
    for text in map(_number, numbers):
        if len(line) + len(text) > _WIDE:
            lines.append(line)
            line = ""
        line += f"{text}, "
    lines.append(line)
    first, *rest = (part.rstrip() for part in lines)
    if not rest:
        return [f"{indent}[{first.rstrip(',')}],"]
    return [f"{indent}[", *(f"{indent}    {part}" for part in (first, *rest)), f"{indent}],"]
