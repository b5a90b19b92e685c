"""What fits in memory: bytes that a pass keeps and a device has left, and batches that are computed in pieces.

On a GPU an update that does not fit fails and is made again in pieces. A CPU seldom says in time that its memory is
full, so there the need is forecast before the first update.
"""

import warnings

import torch
from torch import nn

from lamina._errors import RunWarning, memory_asked
from lamina._system import free_memory
from lamina._types import Tensor

_BESIDE = 1.5  # what an update needs beside what it keeps: gradients of the largest layers, workspace


class SplitError(RuntimeError):
    """The work that is being recorded was split into smaller pieces and must be recorded anew."""

    def __init__(self) -> None:
        super().__init__("the update is computed in smaller pieces from now on")


def is_full(error: RuntimeError | MemoryError) -> bool:
    """Say whether an error means that memory is full.

    >>> is_full(torch.OutOfMemoryError("CUDA out of memory.")), is_full(RuntimeError("shapes cannot be multiplied"))
    (True, False)
    """
    return isinstance(error, torch.OutOfMemoryError) or memory_asked(error) is not None


def say_split(model: nn.Module, examples: int, size: int) -> None:
    """Say aloud that batches are computed in pieces, and what that changes."""
    normalized = any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in model.modules())
    told = "batch normalization takes its statistics from each piece" if normalized else "the update stays the same"
    warnings.warn(
        f"a batch of {examples} examples does not fit in memory: it is computed in pieces of {size} "
        f"(micro_batch={size}), whose gradients are added; {told}.",
        RunWarning,
        stacklevel=2,
    )


def kept_bytes(network: nn.Module, *inputs: Tensor) -> int:
    """Count the bytes that a forward pass keeps for the backward pass, parameters not counted.

    >>> from lamina.layers.initialized import linear
    >>> kept_bytes(nn.Sequential(linear(3, 5), nn.Tanh()), torch.zeros(2, 3))  # the inputs and the outputs of tanh
    64
    """
    own = {t.untyped_storage().data_ptr() for t in (*network.parameters(), *network.buffers())}
    seen: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            seen[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # a result with its graph would hold the graph that holds it, for good

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        outputs = network(*inputs)
    del outputs
    return sum(seen.values())


def free_bytes(device: torch.device) -> int:
    """Say how much memory a device has left.

    >>> free_bytes(torch.device("cpu")) > 2**20
    True
    """
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0]) + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    return free_memory()


def piece(examples: int, each: int, free: int) -> int:
    """Return how many examples to compute at once: all, or the largest half, quarter, ... that fits.

    Args:
        examples: of a batch.
        each: bytes that a pass keeps of one of them.
        free: bytes that are left.

    >>> piece(4096, 1000, 10**7), piece(4096, 1000, 10**6), piece(4096, 1000, 10)
    (4096, 512, 1)
    """
    size = examples
    while size > 1 and _BESIDE * size * each > free:
        size = (size + 1) // 2
    return size
