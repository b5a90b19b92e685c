"""Choose how the passes of a stack are computed: dense networks member by member in one call, others by autograd."""

from collections.abc import Callable
from typing import Any

from torch import nn

from lamina._types import Tensor
from lamina.architectures._dense import as_vectors
from lamina.architectures.fnn import FNN
from lamina.kernels import ordered
from lamina.kernels.networks import Judging, Networks
from lamina.populations._losses import Losses
from lamina.populations._units import is_chain
from lamina.training.recipe import Recipe
from lamina.training.update import Grads, Update


class Passes:
    """Passes of K feedforward networks by compiled code.

    Args:
        network: the stacked network, for which `passes_of` found that it fits.
        counters: what training counts; see `kernels.judge.Judge`.
        losses: what each member minimizes.
    """

    def __init__(self, network: FNN, counters: dict[str, Tensor], losses: Losses) -> None:
        self.network, self.losses = network, losses
        self.networks = Networks(network.weights, network.biases, network.config.activations)
        self.grads = [slope for slope in self.networks.slopes if slope is not None]
        self.judging = self.judged_by(counters, losses.smoothing)
        self.then: Callable[[], Any] | None = None  # what changes a member as soon as it has its gradients

    def judged_by(self, counters: dict[str, Tensor], smoothing: float = 0.0) -> Judging:
        """Say how outputs are judged and what counts that."""
        losses = self.losses
        return Judging(counters, losses.weights, self.networks.dtype, smoothing, losses.kind == "mse")

    def differentiate(self, update: Update, inputs: Tensor, targets: Tensor) -> tuple[Tensor, None, Grads]:
        """Give the gradients of the members that learn; losses and scores are counted already."""
        self.networks(self._rows(inputs), targets, self.judging, learning=True, then=self.then)
        return inputs, None, self.grads

    def __call__(self, inputs: Tensor, targets: Tensor, judging: Judging) -> None:
        """Judge the members' answers to a batch."""
        self.networks(self._rows(inputs), targets, judging, learning=False)

    def _rows(self, inputs: Tensor) -> Tensor:
        return as_vectors(inputs, self.network.config.inputs)


def is_plain(losses: Losses, *kinds: str) -> bool:
    """Say whether losses are of a kind that compiled code judges: no weights of examples, nothing mixed or bent."""
    bent = losses.weighted or losses.gamma or losses.mixed is not None or losses.error is not None
    return losses.kind in kinds and not bent


def passes_of(network: nn.Module, counters: dict[str, Tensor], losses: Losses, recipe: Recipe) -> Passes | None:
    """Give the passes by compiled code; None where the network, the device or the loss is another one."""
    if type(network) is not FNN or not is_chain(network) or recipe.precision == "bfloat16":
        return None
    own = list(network.parameters())
    ready = own[0].device.type == "cpu" and ordered.ready(own[0])
    if not ready or not is_plain(losses, "nll", "mse") or not all(p.requires_grad and p.is_contiguous() for p in own):
        return None
    return Passes(network, counters, losses)
