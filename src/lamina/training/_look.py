"""What one example tells about a network before it is trained: its outputs, and how much work an update is."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from lamina._types import Tensor
from lamina.architectures._network import one_look


@dataclass(frozen=True)
class Look:
    """What a network gave for one example, and the floating point operations of an update with it."""

    outputs: Any
    operations: float


@torch.no_grad()
def look(model: nn.Module, *example: Tensor, **named: Tensor) -> Look:
    """Run a network once, in evaluation, and count the operations of its products, forward and backward.

    A layer uses its weights once for every position of its output; backward takes twice as many as forward.

    Args:
        model: a network.
        example: one prepared example, with its batch axis.
        **named: inputs that go by their names.

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
        with one_look(model):
            outputs = model.eval()(*example, **named)
    finally:
        model.train(was_training)
        for hook in hooks:
            hook.remove()
    return Look(outputs, found)
