"""What operations cost: the multiplications and additions of products and convolutions, and the bytes kept.

A multiplication and an addition count as two operations, as `torch.utils.flop_counter` counts them; activations,
normalizations and sums are not counted, since products outweigh them by far.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from lamina._types import Tensor

Shape = Sequence[int]


def _convolution_flops(inputs: Shape, weight: Shape, outputs: Shape, transposed: bool = False) -> int:
    """Count the operations of a convolution: the whole kernel at every place of every output map."""
    places = math.prod((inputs if transposed else outputs)[2:])
    return 2 * outputs[0] * places * math.prod(weight)


def _matrices(left: int, right: int) -> Callable[[list[Any], Any], int]:
    def count(arguments: list[Any], result: Any) -> int:
        a, b = arguments[left].shape, arguments[right].shape
        return 2 * math.prod(a) * b[-1]

    return count


def _vector(place: int) -> Callable[[list[Any], Any], int]:
    return lambda arguments, result: 2 * arguments[place].numel()


def _recurrent_kernel(arguments: list[Any], result: Any) -> int:
    """Count a layer that torch runs as one kernel: its two products at every step."""
    steps, batch = arguments[0].shape[:2]
    return sum(2 * steps * batch * weight.numel() for weight in arguments[1:3])


_COUNTS: dict[str, Callable[[list[Any], Any], int]] = {
    "mm": _matrices(0, 1),
    "bmm": _matrices(0, 1),
    "addmm": _matrices(1, 2),
    "baddbmm": _matrices(1, 2),
    "mv": _vector(0),
    "addmv": _vector(1),
    "dot": _vector(0),
    "convolution": lambda a, result: _convolution_flops(a[0].shape, a[1].shape, result.shape, bool(a[6])),
    "mkldnn_rnn_layer": _recurrent_kernel,
}


def operation_flops(operation: Any, arguments: list[Any], result: Any) -> int:
    """Count the operations of one call in torch; 0 for what is no product."""
    count = _COUNTS.get(operation._schema.name.split("::")[1])
    return count(arguments, result) if count else 0


@contextmanager
def kept_tensors(model_tensors: Sequence[Tensor], keep: Callable[[Tensor], None]) -> Iterator[None]:
    """Call `keep` with every tensor that autograd stores for the backward pass, each piece of memory once."""
    seen = {tensor.untyped_storage()._cdata for tensor in model_tensors}
    alive: list[Tensor] = []  # memory that is given back could come again under the same address

    def pack(tensor: Tensor) -> Tensor:
        place = tensor.untyped_storage()._cdata
        if place not in seen:
            seen.add(place)
            alive.append(tensor.detach())
            keep(tensor)
        return tensor.detach()  # a result with its graph would hold the graph that holds it, for good

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield
