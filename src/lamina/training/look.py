"""What one example tells about a network before it is trained: its outputs, and how much work an update is."""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from lamina._types import Tensor
from lamina.training.runtime import Runtime

THREAD_OPERATIONS = 20e6
"""Floating point operations of an update that occupy one thread; with fewer, waiting for each other costs more."""


@dataclass(frozen=True)
class Look:
    """What a network gave for one example, and the floating point operations of an update with it."""

    outputs: Any
    operations: float


@torch.no_grad()
def look(model: nn.Module, *example: Tensor) -> Look:
    """Run a network once, in evaluation, and count the operations of its products, forward and backward.

    A layer uses its weights once for every position of its output; backward takes twice as many as forward.

    Args:
        model: a network.
        example: one prepared example, with its batch axis.

    >>> look(nn.Linear(784, 10), torch.zeros(1, 784)).operations == 6 * 7840
    True
    >>> look(nn.Conv2d(1, 6, 5, padding=2), torch.zeros(1, 1, 28, 28)).operations == 6 * 150 * 784
    True
    """
    found = 0.0

    def count(module: nn.Module, _: Any, outputs: Any) -> None:
        nonlocal found
        first = outputs[0] if isinstance(outputs, tuple) else outputs
        weights = [p for p in module.parameters(recurse=False) if p.ndim > 1]
        if not weights or not isinstance(first, Tensor):
            return
        features = len(weights[0]) if isinstance(module, nn.Linear | nn.Conv2d) else first.shape[-1]
        positions = first.numel() / max(1, features * len(first))
        found += 6 * positions * sum(p.numel() for p in weights)

    hooks = [module.register_forward_hook(count) for module in model.modules()]
    was_training = model.training
    try:
        outputs = model.eval()(*example)
    finally:
        model.train(was_training)
        for hook in hooks:
            hook.remove()
    return Look(outputs, found)


def threads_for(work: float, available: int) -> int:
    """Say how many threads an update of so many operations can use.

    >>> threads_for(1e6, 8), threads_for(78e6, 2), threads_for(78e6, 64)
    (1, 2, 4)
    """
    return max(1, min(available, math.ceil(work / THREAD_OPERATIONS)))


def with_threads(runtime: Runtime, work: float) -> Runtime:
    """Fill in the number of threads on the CPU, unless it is given: by a fixed rule from the work of an update."""
    if runtime.threads or runtime.device != "cpu":
        return runtime
    return replace(runtime, threads=threads_for(work, torch.get_num_threads()))
