"""Dropout whose mask is counted, not drawn: the same step of the same seed drops the same units everywhere."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn

from lamina._errors import between
from lamina._types import Float, Tensor
from lamina.functional.random import dropout


class Dropout(nn.Module):
    r"""Drop units with probability p while training, scale the survivors by 1/(1-p); the identity in evaluation.

    The mask is a pure function of (seed, place, number of training calls so far, index). Rate, seed and counter are
    buffers that a checkpoint holds (see `run_state`) and of which each member of a population has its own. They belong
    to a run, not to its weights: the state dict lacks them, and passes over those that version 0.1 wrote.

    Notes: N3.08 (§3).
    Differs: torch.nn.Dropout draws its mask from the global generator.

    Args:
        rate: the probability p of dropping a unit, in [0, 1).
        seed: which experiment.
        place: the number of this layer in its network; two layers with the same number would drop the same units.

    >>> layer = Dropout(0.5)
    >>> layer(torch.ones(1000)).eq(0).float().mean().round(decimals=1).item(), layer.counter.item()
    (0.5, 1)
    >>> layer.eval()(torch.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    stackable = True
    rate: Tensor
    seed: Tensor
    counter: Tensor
    first = 0
    """The place in the whole batch of the first example that comes next; see `masks_from`."""

    def __init__(self, rate: float = 0.5, *, seed: int = 0, place: int = 0) -> None:
        super().__init__()
        between("rate", rate, 0, 1, open_high=True)
        self.place = place
        # In float64: a network of either precision casts it down, and 0.3 rounded to float32 could not be cast up.
        self.register_buffer("rate", torch.tensor(rate, dtype=torch.float64), persistent=False)
        wrapped = torch.tensor((seed + 2**31) % 2**32 - 2**31, dtype=torch.int32)
        self.register_buffer("seed", wrapped, persistent=False)
        self.register_buffer("counter", torch.tensor(0, dtype=torch.int32), persistent=False)

    def forward(self, inputs: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Return `inputs` with dropped units while training, unchanged in evaluation."""
        return self.drop(inputs) if self.training else inputs

    def drop(self, inputs: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Drop units and count the call."""
        before = self.first * (inputs.numel() // max(1, len(inputs))) if self.first else 0
        outputs = dropout(inputs, self.rate.to(inputs.dtype), self.seed, self.place, self.counter, before)
        self.counter.add_(1)
        return outputs

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *rest: Any) -> None:
        """Pass over rate, seed and counter, which weights of version 0.1 have."""
        others = {name: t for name, t in state_dict.items() if name.removeprefix(prefix) not in self._buffers}
        super()._load_from_state_dict(others, prefix, *rest)

    def extra_repr(self) -> str:
        """Show the place; rate and seed are buffers and may change."""
        return f"place={self.place}"


class WordDropout(Dropout):
    """Drop whole vectors with probability p while training, so that no single word can be relied on.

    Notes: N3.08 (§3).

    Args:
        rate: the probability p of dropping a vector, in [0, 1).
        seed: which experiment.
        place: the number of this layer in its network.

    >>> WordDropout(0.5)(torch.ones(1, 4, 2)).sum(-1).tolist()
    [[0.0, 0.0, 4.0, 0.0]]
    """

    stackable = True

    def forward(self, inputs: Float[Tensor, "*#batch feature"]) -> Float[Tensor, "*batch feature"]:
        """Return `inputs` without the dropped vectors while training, unchanged in evaluation."""
        return inputs * self.drop(inputs.new_ones((*inputs.shape[:-1], 1))) if self.training else inputs


def mask_state(network: nn.Module) -> dict[str, Tensor]:
    """Return the live rates, seeds and counters of all dropout layers, by name.

    >>> list(mask_state(nn.Sequential(nn.ReLU(), Dropout(0.5))))
    ['1.rate', '1.seed', '1.counter']
    """
    layers = [part for part in network.named_modules() if isinstance(part[1], Dropout)]
    return {f"{name}.{part}".lstrip("."): tensor for name, layer in layers for part, tensor in layer.named_buffers()}


def masks_from(layers: Iterable[Dropout], first: int) -> None:
    """Let layers drop of a part of a batch what they would drop of the examples from `first` on in the whole one.

    >>> whole, part = Dropout(0.5), Dropout(0.5)
    >>> masks_from([part], 4)
    >>> part(torch.ones(2, 3)).equal(whole(torch.ones(6, 3))[4:])
    True
    """
    for layer in layers:
        layer.first = first


def run_state(network: nn.Module) -> dict[str, Tensor]:
    """Return the live tensors that training changes, by name: the state dict, and the state of the dropout masks.

    >>> run_state(Dropout(0.5))["counter"].item()
    0
    """
    return network.state_dict() | mask_state(network)


def load_run_state_(network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy what `run_state` gave back into a network.

    >>> first, second = Dropout(0.5), Dropout(0.1)
    >>> load_run_state_(second, run_state(first))
    >>> second.rate.item()
    0.5
    """
    for name, tensor in run_state(network).items():
        tensor.copy_(tensors[name])
