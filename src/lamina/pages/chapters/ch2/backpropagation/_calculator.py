"""Alg. 6 with the numbers put in: what a reader types into a calculator, and what the calculator says."""

from collections.abc import Sequence

from lamina._types import Tensor
from lamina.backprop.sweep import Line
from lamina.pages.kit._blocks import powers

Row = tuple[str, str, str]
"""What is computed, the numbers put in, and the result."""

_ACTIVATIONS = {"tanh": "tanh({z})", "sigmoid": "1 / (1 + exp(−{z}))", "relu": "max(0, {z})", "identity": "{z}"}
_SLOPES = {"tanh": "(1 − {y}²)", "sigmoid": "{y} · (1 − {y})", "relu": "{step}", "identity": "1"}


def short(value: float) -> str:
    """Write a number with four digits, as everywhere on the page.

    >>> short(-0.75), short(0.123456), short(-0.0), short(2e-5)
    ('−0.75', '0.1235', '0', '2·10⁻⁵')
    """
    return powers(f"{value + 0.0:.4g}").replace("-", "−")


def _in(value: float) -> str:
    """Write a number inside a product or a sum."""
    return f"({short(value)})" if value < 0 else short(value)


def _sum(pairs: Sequence[tuple[float, float]], last: float | None = None) -> str:
    parts = [f"{_in(a)} · {_in(b)}" for a, b in pairs]
    return " + ".join(parts + ([_in(last)] if last is not None else []))


def substituted(
    lines: Sequence[Line],
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    activations: Sequence[str],
    inputs: Sequence[float],
    target: Sequence[float],
) -> list[list[Row]]:
    """Put the numbers of one sample into every line of `sweep`, a row for each component.

    Args:
        lines: what `sweep` gave.
        weights: those of the network.
        biases: those of the network.
        activations: by layer; the last is sigmoid or softmax with its cross entropy.
        inputs: the sample.
        target: what is wanted of each output.

    >>> import torch
    >>> from lamina.backprop.sweep import sweep
    >>> W, b, u = [torch.tensor([[0.1, -0.5]])], [torch.tensor([-1.1])], torch.tensor([[1.0, -0.5]])
    >>> found = sweep(W, b, ["sigmoid"], u, torch.tensor([[1.0]]), "bce")
    >>> substituted(found, W, b, ["sigmoid"], [1.0, -0.5], [1.0])[0]
    [('z₁[1]', '0.1 · 1 + (−0.5) · (−0.5) + (−1.1)', '−0.75')]
    """
    rows: list[list[Row]] = []
    y, z, z_bar, y_bar = [list(inputs)], [list(inputs)], list[float](), list[float]()
    for line in lines:
        layer, found = line.layer, line.value.detach().flatten().tolist()
        if line.name == "z":
            parts = zip(weights[layer - 1].tolist(), biases[layer - 1].tolist(), strict=True)
            words = [_sum(list(zip(row, y[-1], strict=True)), bias) for row, bias in parts]
            z.append(found)
        elif line.name == "y":
            words = _activated(activations[layer - 1], z[-1])
            y.append(found)
        elif line.name == "loss":
            words = [_loss(activations[-1], y[-1], target)]
        elif line.name == "z_bar":
            if layer == len(weights):
                words = [f"{short(a)} − {_in(b)}" for a, b in zip(y[layer], target, strict=True)]
            else:
                slopes = [_slope(activations[layer - 1], a, b) for a, b in zip(z[layer], y[layer], strict=True)]
                words = [f"{_in(bar)} · {slope}" for bar, slope in zip(y_bar, slopes, strict=True)]
            z_bar = found
        elif line.name == "y_bar":
            y_bar = found
            words = [_sum(list(zip(column, z_bar, strict=True))) for column in weights[layer - 1].T.tolist()]
        elif line.name == "W_bar":
            words = [f"{_in(a)} · {_in(b)}" for a in z_bar for b in y[layer - 1]]
        else:
            words = [short(value) for value in z_bar]
        names = _names(line, len(found), len(y[layer - 1]))
        rows.append([(name, word, short(value)) for name, word, value in zip(names, words, found, strict=True)])
    return rows


def _activated(name: str, z: Sequence[float]) -> list[str]:
    if name == "softmax":
        below = " + ".join(f"exp({short(value)})" for value in z)
        return [f"exp({short(value)}) / ({below})" for value in z]
    return [_ACTIVATIONS[name].format(z=_in(value)) for value in z]


def _slope(name: str, z: float, y: float) -> str:
    return _SLOPES[name].format(y=_in(y), step="1" if z > 0 else "0")


def _loss(name: str, y: Sequence[float], target: Sequence[float]) -> str:
    if name == "softmax":
        return f"−ln({short(y[[round(share) for share in target].index(1)])})"
    return f"−{short(target[0])} · ln({short(y[0])}) − {short(1 - target[0])} · ln(1 − {short(y[0])})"


def _names(line: Line, count: int, before: int) -> list[str]:
    small = "₀₁₂₃₄₅₆₇₈₉"
    letter = {"z": "z", "y": "y", "z_bar": "z̄", "y_bar": "ȳ", "W_bar": "W̄", "b_bar": "b̄", "loss": "loss"}[line.name]
    layer = line.layer - (line.name in ("W_bar", "b_bar", "y_bar"))
    if line.name == "loss":
        return [letter]
    if line.name == "W_bar":
        return [f"{letter}{small[i // before + 1]}{small[i % before + 1]}[{layer}]" for i in range(count)]
    return [f"{letter}{small[i + 1]}[{layer}]" for i in range(count)]
