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


def product_flops(rows: int, inner: int, columns: int) -> int:
    """Count the operations of a matrix product: for each result, `inner` multiplications and as many additions.

    >>> product_flops(1, 784, 128)
    200704
    """
    return 2 * rows * inner * columns


def convolution_flops(inputs: Shape, weight: Shape, outputs: Shape, transposed: bool = False) -> int:
    """Count the operations of a convolution: the whole kernel at every place of every output map.

    Groups need no further number: the shape of `weight` holds the channels of one group.

    Args:
        inputs: the shape of the inputs.
        weight: the shape of the kernels, (out, in of a group, ...), for transposed ones (in, out of a group, ...).
        outputs: the shape of the outputs.
        transposed: whether kernels are spread from every place of the inputs instead.

    >>> convolution_flops((1, 1, 28, 28), (6, 1, 5, 5), (1, 6, 28, 28))
    235200
    """
    places = math.prod((inputs if transposed else outputs)[2:])
    return 2 * outputs[0] * places * math.prod(weight)


def _matrices(left: int, right: int) -> Callable[[list[Any], Any], int]:
    def count(arguments: list[Any], result: Any) -> int:
        a, b = arguments[left].shape, arguments[right].shape
        return math.prod(a[:-2]) * product_flops(a[-2], a[-1], b[-1])

    return count


def _vector(place: int) -> Callable[[list[Any], Any], int]:
    return lambda arguments, result: 2 * arguments[place].numel()


def _recurrent_kernel(arguments: list[Any], result: Any) -> int:
    """Count a layer that torch runs as one kernel: its two products at every step."""
    steps, batch = arguments[0].shape[:2]
    return sum(product_flops(steps * batch, weight.shape[1], weight.shape[0]) for weight in arguments[1:3])


_COUNTS: dict[str, Callable[[list[Any], Any], int]] = {
    "mm": _matrices(0, 1),
    "bmm": _matrices(0, 1),
    "addmm": _matrices(1, 2),
    "baddbmm": _matrices(1, 2),
    "mv": _vector(0),
    "addmv": _vector(1),
    "dot": _vector(0),
    "convolution": lambda a, result: convolution_flops(a[0].shape, a[1].shape, result.shape, bool(a[6])),
    "mkldnn_rnn_layer": _recurrent_kernel,
}


def operation_flops(operation: Any, arguments: list[Any], result: Any) -> int:
    """Count the operations of one call in torch; 0 for what is no product.

    Args:
        operation: the operation, an `OpOverload` such as `torch.ops.aten.mm.default`.
        arguments: its arguments in the order of its schema.
        result: what it returned.

    >>> a = torch.zeros(2, 3)
    >>> operation_flops(torch.ops.aten.mm.default, [a, a.T], a @ a.T)
    24
    """
    count = _COUNTS.get(operation._schema.name.split("::")[1])
    return count(arguments, result) if count else 0


@contextmanager
def kept_tensors(model_tensors: Sequence[Tensor], keep: Callable[[Tensor], None]) -> Iterator[None]:
    """Call `keep` with every tensor that autograd stores for the backward pass, each piece of memory once.

    Args:
        model_tensors: parameters and buffers, which are there anyway and are not reported.
        keep: called when a tensor is stored.
    """
    seen = {tensor.untyped_storage()._cdata for tensor in model_tensors}
    alive: list[Tensor] = []  # memory that is given back could come again under the same address

    def pack(tensor: Tensor) -> Tensor:
        place = tensor.untyped_storage()._cdata
        if place not in seen:
            seen.add(place)
            alive.append(tensor)
            keep(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield
