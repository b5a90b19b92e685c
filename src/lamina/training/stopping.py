"""Why a run ended: rules look at the history after each check and give a reason or None."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lamina.training.recipe import Stopping

Row = dict[str, Any]


@dataclass(frozen=True)
class StopReason:
    """How a run ended, as a name to compare and a sentence to read; of a divergence also its first bad step."""

    name: str
    sentence: str
    step: int | None = None

    @property
    def failed(self) -> bool:
        """Say whether the run did not reach its end: it diverged or was interrupted."""
        return self.name in ("diverged", "interrupted")

    def __str__(self) -> str:
        return self.sentence


Rule = Callable[[Sequence[Row]], StopReason | None]


def rules(stopping: Stopping) -> tuple[Rule, ...]:
    """Return the rules that a `Stopping` record asks for, in the order in which they are consulted.

    Notes: N1.37 (§1.3).
    """
    made: list[Rule] = []
    if stopping.max_steps is not None:
        made.append(_max_steps(stopping.max_steps))
    for name, words in (
        ("gradient_norm", "the norm of the gradient"),
        ("relative_step", "the relative step ‖θ⁺ − θ‖/‖θ‖"),
        ("loss_below", "the training loss"),
    ):
        bound = getattr(stopping, name)
        if bound is not None:
            made.append(_below("loss" if name == "loss_below" else name, bound, name, words))
    if stopping.relative_decrease is not None:
        made.append(_decrease(stopping.relative_decrease))
    if stopping.patience is not None:
        made.append(_patience(stopping.patience))
    return tuple(made)


def _epochs_done(epochs: int) -> StopReason:
    """Give the reason of a run that went through all its epochs."""
    return StopReason("epochs", f"all {epochs} epochs were done")


def _interrupted(step: int) -> StopReason:
    """Give the reason of a run that a signal ended after `step` steps."""
    return StopReason("interrupted", f"interrupted after step {step}; everything up to there is saved")


def _max_steps(bound: int) -> Rule:
    def rule(history: Sequence[Row]) -> StopReason | None:
        if history[-1]["step"] >= bound:
            return StopReason("max_steps", f"the maximum of {bound} steps was reached")
        return None

    return rule


def _below(column: str, bound: float, name: str, words: str) -> Rule:
    def rule(history: Sequence[Row]) -> StopReason | None:
        value = history[-1].get(column)
        if value is not None and value < bound:
            return StopReason(name, f"{words}, {value:.3g}, fell below {bound:g}")
        return None

    return rule


def _decrease(bound: float) -> Rule:
    def rule(history: Sequence[Row]) -> StopReason | None:
        if len(history) < 2:
            return None
        before, now = history[-2]["loss"], history[-1]["loss"]
        if before is None or now is None:
            return None
        decrease = (before - now) / max(abs(before), math.ulp(0.0))
        if 0 <= decrease < bound:
            return StopReason(
                "relative_decrease",
                f"the loss fell by only {decrease:.3g} of itself between two checks, less than {bound:g}",
            )
        return None

    return rule


def _patience(checks: int) -> Rule:
    def rule(history: Sequence[Row]) -> StopReason | None:
        losses = [row.get("validation_loss") for row in history]
        values = [math.inf if loss is None else loss for loss in losses]
        best = values.index(min(values))
        if len(values) - 1 - best >= checks:
            return StopReason(
                "patience",
                f"the validation loss did not improve in {checks} checks; "
                f"the best was {values[best]:.4g} at step {history[best]['step']}",
            )
        return None

    return rule
