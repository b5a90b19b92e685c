"""How the names in a table are written for people who see a drawing: ReLU for relu, GRU for gru, τ for tau."""

import re
from typing import Any

NAMES = {
    "adam": "Adam",
    "and": "AND",
    "breast-cancer": "breast cancer",
    "cifar-resnet": "CIFAR ResNet",
    "dense-resnet": "dense ResNet",
    "exp": "exponentials",
    "fnn": "FNN",
    "gd": "gradient descent",
    "glorot": "Glorot",
    "gru": "GRU",
    "he": "He",
    "heaviside": "Heaviside",
    "leaky_relu": "leaky ReLU",
    "lenet5": "LeNet-5",
    "lstm": "LSTM",
    "minibatch": "mini batch",
    "or": "OR",
    "preactivation": "pre-activation",
    "relu": "ReLU",
    "resnet18": "ResNet18",
    "rnn": "RNN",
    "sgd": "SGD",
    "warmup": "warm-up",
    "xavier": "Xavier",
    "xor": "XOR",
}
"""Names of the library, and how people write them."""
_GREEK = {"tau": r"$\tau$", "lambda": r"$\lambda$"}
_RULES = (
    (re.compile(r"(?<![\w.)])-(?=\d)"), "−"),
    (re.compile(r"(?<=\w) x (?=\d)"), " × "),
    (re.compile(r"E y\^2 (\d+)"), r"layer \1"),
    (re.compile(r"\^2(?!\d)"), "²"),
    (re.compile(r" - "), " − "),
    (re.compile(r"\b(tau|lambda)\b"), lambda found: _GREEK[found[1]]),
)


def spelled(words: str) -> str:
    """Write the name of a series or of a group of bars for people.

    >>> spelled("leaky_relu"), spelled("gru, memory bias 3"), spelled("tanh, weight -0.9"), spelled("64-32-10")
    ('leaky ReLU', 'GRU, memory bias 3', 'tanh, weight −0.9', '64-32-10')
    >>> spelled("1 - 1/(j+1)^2")
    '1 − 1/(j+1)²'
    >>> spelled("L 20, width 25"), spelled("t=1")
    ('$L$ = 20, width 25', '$t$ = 1')
    """
    return ", ".join(_spelled(part) for part in words.split(", "))


def _spelled(part: str) -> str:
    if part in NAMES:
        return NAMES[part]
    if found := re.fullmatch(r"([A-Za-z])(?: ?= ?| )(-?[\d.]+)", part):
        return f"${found[1]}$ = {found[2].replace('-', '−')}"
    for rule, instead in _RULES:
        part = rule.sub(instead, part)
    return part


def axis(column: str) -> str:
    r"""Write the name of a column for an axis; a single letter is one of a formula.

    >>> axis("L"), axis("tau"), axis("gap")
    ('$L$', '$\\tau$', 'gap')
    """
    return f"${column}$" if len(column) == 1 and column.isalpha() else spelled(column)


def kind(column: str, value: Any) -> str:
    """Say which rows of a table are meant by the value of a column; a number alone would not say what it is.

    >>> kind("cell", "gru"), kind("std", 0.01), kind("memory bias", None), kind("clipped", False)
    ('gru', 'std 0.01', 'no memory bias', 'not clipped')
    >>> kind("batch norm", "yes"), kind("replacement", "without")
    ('with batch norm', 'without replacement')
    """
    if value is None:
        return f"no {column}"
    if isinstance(value, bool):
        return column if value else f"not {column}"
    if isinstance(value, str):
        beside = {"yes": "with", "no": "no", "with": "with", "without": "without"}.get(value)
        return f"{beside} {column}" if beside else value
    return f"{column} {value:.4g}"
