"""Weights and biases that a reader has changed, written as `W0 1 2=0.5; b0 1=-1`: layer, row, column, number."""

import math
import re
from collections.abc import Sequence

from lamina._errors import DataError
from lamina._types import Tensor

_ENTRY = re.compile(r"([Wb])(\d+) (\d+)(?: (\d+))?\s*=\s*(\S+)")


def changed(text: str, weights: Sequence[Tensor], biases: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Put changed numbers into copies of weights and biases; what another network had is left out.

    Args:
        text: the changes, with semicolons between them; places are counted from 1, layers from 0.
        weights: those of the network.
        biases: those of the network.

    Raises:
        DataError: a change cannot be read.

    >>> import torch
    >>> changed("W0 1 2=0.5; b0 1=-1", [torch.zeros(1, 2)], [torch.zeros(1)])
    ([tensor([[0.0000, 0.5000]])], [tensor([-1.])])
    """
    found_weights, found_biases = [part.clone() for part in weights], [part.clone() for part in biases]
    for part in filter(None, (word.strip() for word in text.replace("−", "-").split(";"))):
        found = _ENTRY.fullmatch(part)
        value = _number(found[5]) if found else None
        if found is None or value is None or (found[1] == "W") != (found[4] is not None):
            raise DataError(f"a changed weight must look like W0 1 2=0.5 or b0 1=-1, got {part[:30]!r}.")
        target = found_weights if found[1] == "W" else found_biases
        layer, place = int(found[2]), tuple(int(word) - 1 for word in found.group(3, 4) if word is not None)
        if layer < len(target) and all(0 <= i < n for i, n in zip(place, target[layer].shape, strict=True)):
            target[layer][place] = value
    return found_weights, found_biases


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) <= 100 else None
