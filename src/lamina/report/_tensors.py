"""The trained tensors of a run, told from statistics by their names and put in the order of the network."""

import math
import re
from dataclasses import dataclass

from lamina._types import Tensor
from lamina.report._checks import blame
from lamina.report._formatting import finite
from lamina.training.checkpoint import found
from lamina.training.folder import RunFolder

# Parts of a state that no gradient reaches: statistics of batch norm, dropout's place in its random stream, codes.
_BUFFERS = {"running_mean", "running_var", "num_batches_tracked", "rate", "seed", "counter", "codes"}


@dataclass(frozen=True)
class Weight:
    """One trained tensor: its name, shape, number of entries and Euclidean norm."""

    name: str
    shape: tuple[int, ...]
    count: int
    norm: float


def trained_weights(home: RunFolder) -> tuple[Weight, ...]:
    """Read the best weights of a run, in the order of the network; none before the first checkpoint."""
    if not home.weights.is_file() and not found(home.checkpoints):
        return ()
    tensors = home.read_weights()
    with blame(home.weights):
        return tuple(_weight(name, t) for name, t in _in_order(tensors) if _trained(name, t))


def _trained(name: str, tensor: Tensor) -> bool:
    return tensor.is_floating_point() and name.rpartition(".")[2] not in _BUFFERS


def _weight(name: str, tensor: Tensor) -> Weight:
    norm = finite(tensor.double().norm().item())
    return Weight(name, tuple(tensor.shape), tensor.numel(), math.nan if norm is None else norm)


def _in_order(tensors: dict[str, Tensor]) -> list[tuple[str, Tensor]]:
    """Sort by place in the network, which a safetensors file forgets and the names mostly tell.

    Numbers count first (conv1, bn1, conv2), then what a part is called; own tensors stand before those of parts.
    """

    def key(item: tuple[str, Tensor]) -> list[tuple[bool, float, int, str]]:
        *parts, leaf = item[0].split(".")
        return [_place(part, True) for part in parts] + [_place(leaf, False)]

    return sorted(tensors.items(), key=key)


_EARLY = ("source_encoding", "encoder", "target_encoding", "decoder", "features", "weight", "bias", "conv", "bn")
_LATE = ("classifier", "fc", "output", "readout")


def _place(part: str, module: bool) -> tuple[bool, float, int, str]:
    word, digits = re.fullmatch(r"(.*?)(\d*)", part, re.DOTALL).groups()  # type: ignore[union-attr]
    rank = _EARLY.index(word) if word in _EARLY else 100 + (_LATE.index(word) if word in _LATE else -1)
    return module, int(digits) if digits else math.inf, rank, word
