"""Find where numbers stopped being finite, by doing the steps since the last good moment again with open eyes."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

import torch
from torch import nn

from lamina._types import Tensor
from lamina.training.learner import Learner
from lamina.training.loop import Diverged, Event, Observer, Progress, observed
from lamina.training.recipe import Recipe
from lamina.training.stopping import StopReason, rules


def remembered(
    step: Learner,
    recipe: Recipe,
    at: Progress,
    observers: Sequence[Observer] = (),
    save: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
) -> Generator[Event, None, StopReason]:
    """Train as a recipe says; a loss that is no longer finite is explained from the last good check.

    Args:
        step: makes one update when called; it is closed in the end.
        recipe: epochs, checks and stopping rules.
        at: knows the reason in the end; it, `observers`, `save` and `stop` are those of `loop.observed`.
        observers: see there.
        save: see there.
        stop: see there.
    """
    memory, stopping = Memory(step, at), recipe.stopping
    run = observed(step, recipe.epochs, rules(stopping), (memory, *observers), at, recipe.check_every,
                   stopping.max_steps, save, stop)  # fmt: skip
    try:
        at.reason = yield from run
    except Diverged as error:
        at.reason = memory.diagnose(error.step)
    finally:
        step.close()
    return at.reason


class Memory:
    """The state of a step at its last good moment, from which a divergence is replayed.

    Args:
        step: the step.
        at: where its run stands; read whenever the state is remembered.
    """

    def __init__(self, step: Learner, at: Progress) -> None:
        self.step, self.at = step, at
        self.take()

    def __call__(self, event: Event) -> None:
        """Remember the state after each check."""
        if event.row is not None:
            self.take()

    @torch.no_grad()
    def take(self) -> None:
        """Remember the present state."""
        self._tensors = {name: t.detach().clone() for name, t in self.step.state().items()}
        self._step, self._epoch, self._batch = self.step.step, self.at.epoch, self.at.batch

    def diagnose(self, bad: int) -> StopReason:
        """Replay from there up to the first bad step and name the layer; the state of the step is overwritten.

        Args:
            bad: the number of the first step whose loss was not finite.
        """
        step = self.step
        step.by_hand()
        step.restore(self._tensors, self._step)
        epoch, batch = self._epoch, self._batch
        step.begin(epoch, batch)
        while step.step < bad:
            if batch == step.batches:
                epoch, batch = epoch + 1, 0
                step.begin(epoch)
            step()
            batch += 1
        if batch == step.batches:
            step.begin(epoch + 1)
        broken = [name for name, p in step.model.named_parameters() if not p.isfinite().all()]
        layer = _first_bad_layer(step)
        where = (
            f"layer {layer!r} was the first to give NaN or infinity"
            if layer
            else "the outputs were finite, but the loss was not"
        )
        if broken:
            where += f"; the update before had already made {broken[0]!r} infinite"
        rate = step.totals()["learning_rate"]
        return StopReason(
            "diverged",
            f"the loss is not finite since step {bad + 1}: {where}. "
            f"Try a smaller learning_rate (now {rate:g}), clip the gradients (clip=1), or check the data.",
            bad,
        )


def _first_bad_layer(step: Learner) -> str | None:
    found: list[str] = []

    def hook(name: str) -> Any:
        def look(module: nn.Module, inputs: Any, outputs: Any) -> None:
            tensors = [t for t in (outputs if isinstance(outputs, tuple) else (outputs,)) if isinstance(t, Tensor)]
            if not found and any(t.is_floating_point() and not t.isfinite().all() for t in tensors):
                found.append(name)

        return look

    leaves = [(name, m) for name, m in step.model.named_modules() if not list(m.children())]
    handles = [module.register_forward_hook(hook(name or "network")) for name, module in leaves]
    try:
        step()
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else None
