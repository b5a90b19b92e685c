"""Updates one operation after the other."""

from typing import TYPE_CHECKING

from torch import nn

from lamina.training.executors._contexts import Contexts
from lamina.training.executors._convolution import convolved
from lamina.training.executors._pooling import pooled
from lamina.training.executors._swapped import Forwards, Swapped

if TYPE_CHECKING:
    from lamina.training.learner import Learner


def by_kernels(model: nn.Module) -> Forwards:
    """List the modules of a network that are faster by kernels of ours, and what computes in their place."""
    return [*pooled(model), *convolved(model)]


class Eager:
    """One operation after the other: the way that any device can go and every other must equal."""

    kind = "eager"

    def __init__(self, learner: "Learner", reason: str = "") -> None:
        self.learner, self.reason = learner, reason
        if forwards := by_kernels(learner.model):
            learner.update.products = Contexts(Swapped(forwards), learner.update.products)

    def begin(self, step: int) -> None:
        """Need nothing."""

    def __call__(self, step: int, watched: bool) -> None:
        """Make update number `step` with the next batch."""
        learner = self.learner
        learner.change.rate = learner.rate(step)
        learner.feed.at(step)
        batch = learner.feed.next(step)
        if not watched:
            learner.update(*batch)
            return
        with learner.looking():
            learner.update(*batch)

    def scale(self, left: float) -> None:
        """Need nothing: the learner is asked for every rate."""

    def by_hand(self) -> None:
        """Need nothing."""
