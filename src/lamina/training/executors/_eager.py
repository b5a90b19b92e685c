"""Updates one operation after the other."""

from typing import TYPE_CHECKING

from lamina.training.executors._convolution import Convolutions, convolves
from lamina.training.executors._pooling import Pooling, pools
from lamina.training.executors._together import Together

if TYPE_CHECKING:
    from lamina.training.learner import Learner


class Eager:
    """One operation after the other: the way that any device can go and every other must equal."""

    kind = "eager"

    def __init__(self, learner: "Learner", reason: str = "") -> None:
        self.learner, self.reason = learner, reason
        if pools(learner.model):
            learner.update.products = Together(Pooling(), learner.update.products)
        if convolves(learner.model):
            learner.update.products = Together(Convolutions(learner.model), learner.update.products)

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
