"""Why a run ended: rules look at the history after each check and give a reason or None."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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


def judged(row: Row) -> float:
    """Give the loss by which a check is judged: validation loss, or training loss without one; undefined is worst.

    >>> judged({"loss": 0.5, "validation_loss": 0.75}), judged({"loss": float("nan")})
    (0.75, inf)
    """
    loss = row.get("validation_loss", row.get("loss"))
    return math.inf if loss is None or loss != loss else float(loss)


def rules(stopping: Stopping, since: int = 0) -> tuple[Rule, ...]:
    """Return the rules that a `Stopping` record asks for, in the order in which they are consulted.

    Notes: N1.37 (§1.3).

    Args:
        stopping: the numbers.
        since: the checks before the run was continued, which do not wear out the patience.
    """
    sentences = _SENTENCES | {"patience": partial(_patience, since)}
    asked = [(name, sentence, getattr(stopping, name)) for name, sentence in sentences.items()]
    return tuple(_rule(name, partial(sentence, bound)) for name, sentence, bound in asked if bound is not None)


def _rule(name: str, sentence: Callable[[Sequence[Row]], str | None]) -> Rule:
    def rule(history: Sequence[Row]) -> StopReason | None:
        said = sentence(history)
        return None if said is None else StopReason(name, said)

    return rule


def _epochs_done(epochs: int) -> StopReason:
    """Give the reason of a run that went through all its epochs."""
    return StopReason("epochs", f"all {epochs} epochs were done")


def _interrupted(step: int) -> StopReason:
    """Give the reason of a run that a signal ended after `step` steps."""
    return StopReason("interrupted", f"interrupted after step {step}; everything up to there is saved")


def _asked(step: int) -> StopReason:
    """Give the reason of a run that an observer ended after `step` steps."""
    return StopReason("observer", f"an observer asked to stop after step {step}")


def _max_steps(bound: int, history: Sequence[Row]) -> str | None:
    return f"the maximum of {bound} steps was reached" if history[-1]["step"] >= bound else None


def _below(column: str, words: str, bound: float, history: Sequence[Row]) -> str | None:
    value = history[-1].get(column)
    return f"{words}, {value:.3g}, fell below {bound:g}" if value is not None and value < bound else None


def _decrease(bound: float, history: Sequence[Row]) -> str | None:
    losses = [row["loss"] for row in history[-2:]]
    if len(losses) < 2 or None in losses:
        return None
    decrease = (losses[0] - losses[1]) / max(abs(losses[0]), math.ulp(0.0))
    if not 0 <= decrease < bound:
        return None
    return f"the loss fell by only {decrease:.3g} of itself between two checks, less than {bound:g}"


def _patience(since: int, checks: int, history: Sequence[Row]) -> str | None:
    values = [judged(row) for row in history]
    best = values.index(min(values))
    if len(values) - 1 - max(best, since - 1) < checks:
        return None
    found = f"the best was {values[best]:.4g} at step {history[best]['step']}"
    part = "validation" if "validation_loss" in history[-1] else "training"
    return f"the {part} loss did not improve in {checks} checks; {found}"


_SENTENCES: dict[str, Callable[[Any, Sequence[Row]], str | None]] = {
    "max_steps": _max_steps,
    "gradient_norm": partial(_below, "gradient_norm", "the norm of the gradient"),
    "relative_step": partial(_below, "relative_step", "the relative step ‖θ⁺ − θ‖/‖θ‖"),
    "loss_below": partial(_below, "loss", "the training loss"),
    "relative_decrease": _decrease,
    "patience": partial(_patience, 0),
}
"""The sentence for each number of a `Stopping` record once it is reached, else None."""
