"""How many members are computed at once: a population is cut into chunks that fit into memory, or into the cache."""

import math
import time
from collections.abc import Sequence

import torch
from torch import nn

from lamina._types import Tensor
from lamina.data.source import Source
from lamina.populations._update import MOMENTS, _numbers_of
from lamina.populations.members import Member
from lamina.populations.stacked import _stack_modules
from lamina.training.memory import free_bytes, kept_bytes
from lamina.training.tasks.feed import batch_size

CACHE = 32 * 2**20
"""Bytes of activations up to which convolutions in groups are faster than one network after another on a CPU."""

_SHARE = {"cuda": 0.85, "cpu": 0.5}  # of the free memory


def _member_bytes(member: Member, train: Source) -> tuple[int, int]:
    """Estimate what one member needs: for parameters and their like, and for the activations of a batch."""
    network = member.build().to(member.recipe.dtype)
    examples = min(2, len(train))
    inputs = train.batch(torch.arange(examples))[0].cpu().to(member.recipe.dtype)
    batch = batch_size(member.recipe, len(train))
    batch = min(batch, member.recipe.micro_batch or batch)
    activations = kept_bytes(network.train(), inputs) * batch // examples
    parameters = sum(p.numel() * p.element_size() for p in network.parameters())
    moments = MOMENTS[_numbers_of([member.recipe], "cpu").optimizer]
    # Parameters, gradients, the best ones so far, and the moments.
    return parameters * (3 + moments), activations


def _chunk_size(members: int, fixed: int, activations: int, budget: int, most: int | None = None) -> int:
    """Cut a population into chunks of nearly equal size that fit: all keep their parameters, one its activations.

    >>> _chunk_size(100, fixed=1, activations=5, budget=400)
    25
    """
    fit = (budget - members * fixed) // max(1, 2 * activations)
    size = max(1, min(members, fit, most or members))
    return math.ceil(members / math.ceil(members / size))


def _stacking_pays(members: Sequence[Member], train: Source) -> bool:
    """Find out by a few passes whether computing these members as one is faster than one after the other."""
    batch = min(batch_size(members[0].recipe, len(train)), len(train))
    inputs = train.batch(torch.arange(batch))[0].to(members[0].recipe.dtype)
    networks = [member.build().to(inputs.dtype).train() for member in members]
    stacked = _stack_modules(networks).train()
    together = _seconds(stacked, inputs.unsqueeze(1))
    return together < 0.95 * len(members) * _seconds(networks[0], inputs)


def _seconds(network: nn.Module, inputs: Tensor, rounds: int = 3) -> float:
    """Time a forward and a backward pass, the best of a few."""
    best = math.inf
    for _ in range(rounds):
        start = time.perf_counter()
        network(inputs).square().mean().backward()
        best = min(best, time.perf_counter() - start)
    return best


def plan(members: Sequence[Member], train: Source) -> int:
    """Say how many members are trained at once.

    On a CPU convolutional networks are cut so that their activations stay in the cache, and run one by one where a
    few passes show that to be faster.

    Args:
        members: all of them.
        train: the training examples, on their device.
    """
    fixed, activations = _member_bytes(members[0], train)
    device = train.device
    most = None
    if device.type == "cpu" and any(isinstance(part, nn.Conv2d) for part in members[0].build().modules()):
        most = max(1, CACHE // max(1, activations))
        if min(most, len(members)) > 1 and not _stacking_pays(members[:most], train):
            most = 1
    return _chunk_size(len(members), fixed, activations, int(_SHARE[device.type] * free_bytes(device)), most)
