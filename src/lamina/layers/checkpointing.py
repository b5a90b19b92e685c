"""Run blocks without keeping their activities: the backward pass computes them again (activation checkpointing)."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from lamina._errors import at_least
from lamina._types import Tensor


def run_blocks(blocks: nn.Sequential, inputs: Tensor, every: int = 0) -> Tensor:
    """Apply blocks one after the other; with `every` > 0 keep only what enters each group of so many blocks.

    The rest is computed again when the backward pass needs it: about a third more work. Of n blocks, n/every inputs
    are kept and the activities of `every` blocks live at a time, so a number near the root of n needs least memory.
    Gradients are those without checkpointing. A second computation changes no state: running statistics of batch norm
    move once, and counted dropout drops the same units again. No random state is stored, so CUDA graphs can capture it.

    Args:
        blocks: the modules to run.
        inputs: what enters the first.
        every: the number of blocks in a group; 0 keeps everything.

    >>> blocks = nn.Sequential(nn.Flatten(), nn.Tanh())
    >>> run_blocks(blocks, torch.zeros(2, 3), every=1).equal(blocks(torch.zeros(2, 3)))
    True
    """
    at_least("every", every, 0)
    if not every or not torch.is_grad_enabled() or _transformed():
        return blocks(inputs)
    y = inputs
    for start in range(0, len(blocks), every):
        group = blocks[start : start + every]
        y = checkpoint(group, y, use_reentrant=False, preserve_rng_state=False, context_fn=partial(_contexts, group))
    return y


def _transformed() -> bool:
    """Say whether `torch.compile` or `vmap` looks on: the first does its own recomputation, the second forbids it."""
    return torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()


def _contexts(group: nn.Module) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Return what surrounds the first computation and every later one."""
    return nullcontext(), _Again(group)


class _Again(AbstractContextManager[None]):
    """Gives modules the buffers that the first computation saw; what a later one does to them is forgotten."""

    def __init__(self, group: nn.Module) -> None:
        modules = [module for module in group.modules() if module._buffers]
        # Batch norm in training only moves its running statistics and never reads them: no need to remember.
        self.blind = [m for m in modules if isinstance(m, _BatchNorm) and m.training and m.momentum is not None]
        others = set(modules).difference(self.blind)
        self.seen = {module: _each(torch.clone, module._buffers) for module in others}

    def __enter__(self) -> None:
        self.live = {module: dict(module._buffers) for module in (*self.blind, *self.seen)}
        for norm in self.blind:
            norm._buffers.update(_each(torch.empty_like, norm._buffers))
        for module, buffers in self.seen.items():
            module._buffers.update(_each(torch.clone, buffers))

    def __exit__(self, *_: object) -> None:
        for module, buffers in self.live.items():
            module._buffers.update(buffers)


def _each(copy: Callable[[Tensor], Tensor], buffers: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
    return {name: copy(buffer) for name, buffer in buffers.items() if buffer is not None}
