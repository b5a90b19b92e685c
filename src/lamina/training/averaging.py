"""The average of a network's weights beside the network: updated after every update, shown to every check.

Parameters that are trained and the running statistics of batch normalizations are averaged alike, as
`torch.optim.swa_utils.AveragedModel(use_buffers=True)` does: no second pass over the data is needed, as it would be to
compute the statistics of the averaged weights anew. How an update is executed does not matter: the average is taken
between updates, without waiting for the device.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from lamina._types import Tensor
from lamina.functional.averaging import averaged, averaging_weight
from lamina.training.recipe import Recipe


class Average:
    """The running average of one network, or of K.

    Args:
        model: the network on its device, or K as one.
        recipes: one for one network, or one for each member.
        batches: updates in an epoch.
        stacked: whether tensors have the members along their first axis.
    """

    def __init__(self, model: nn.Module, recipes: Sequence[Recipe], batches: int, stacked: bool = False) -> None:
        kept = model.state_dict(keep_vars=True)
        changing = {name: t for name, t in kept.items() if t.is_floating_point() and _changes(t)}
        self._of = {name: id(t) for name, t in changing.items()}  # a tensor that has two names is averaged once
        self.model, self.live = model, {id(t): t for t in changing.values()}
        self.means = {key: torch.zeros_like(t, requires_grad=False) for key, t in self.live.items()}
        self.count = torch.zeros((), dtype=torch.int64)
        self.start = round(recipes[0].averaging.start * recipes[0].epochs * batches)
        decays = [recipe.averaging.decay for recipe in recipes]
        self.decay: float | Tensor = decays[0]
        if stacked:
            device = next(iter(self.live.values())).device
            self.decay = torch.tensor(decays, dtype=torch.float64, device=device)

    @torch.no_grad()
    def __call__(self, step: int) -> None:
        """Take the present weights into the average, after `step` updates."""
        if step <= self.start:
            return
        count, decay = int(self.count), self.decay
        means, live = list(self.means.values()), [t.detach() for t in self.live.values()]
        if isinstance(decay, Tensor):
            for mean, value in zip(means, live, strict=True):
                mean.copy_(averaged(mean, value, count, decay))
        else:
            torch._foreach_lerp_(means, live, float(averaging_weight(count, decay)))
        self.count.add_(1)

    @property
    def weights(self) -> dict[str, Tensor]:
        """The network's tensors by name with the averages in their places, as soon as there are some."""
        averages = {name: self.means[key] for name, key in self._of.items()} if self.count else {}
        return {**self.model.state_dict(), **averages}

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Let the network have the averages for a while, in its own tensors."""
        if not self.count:
            yield
            return
        live = {key: t.detach() for key, t in self.live.items()}
        before = {key: t.clone() for key, t in live.items()}
        try:
            for key, t in live.items():
                t.copy_(self.means[key])
            yield
        finally:
            for key, t in live.items():
                t.copy_(before[key])

    def state(self) -> dict[str, Tensor]:
        """Give the live tensors by name."""
        return {f"average/{name}": self.means[key] for name, key in self._of.items()} | {"averaged/count": self.count}


def average_of(model: nn.Module, recipes: Sequence[Recipe], batches: int, stacked: bool = False) -> Average | None:
    """Make the average that recipes ask for; None if none of them does."""
    asked = any(recipe.averaging.decay for recipe in recipes)
    return Average(model, recipes, batches, stacked) if asked else None


def _changes(tensor: Tensor) -> bool:
    """Say whether training changes a tensor: all buffers, and the parameters that are not frozen."""
    return not isinstance(tensor, nn.Parameter) or tensor.requires_grad
