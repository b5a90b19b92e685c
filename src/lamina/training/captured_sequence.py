"""Updates on sequences, recorded and replayed: one CUDA graph for each shape of a batch, recorded when it first comes.

Batches are copied into fixed tensors that a graph reads. `TokenSource(multiple=8)` keeps the shapes few; beyond
`GRAPHS` of them, or where recording fails, updates run one operation after the other.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import torch
from torch import nn

from lamina._types import Tensor
from lamina.layers.dropout import load_run_state_, run_state
from lamina.training.capture import Recording
from lamina.training.captured import CapturedStep, why_not
from lamina.training.fused import Fused
from lamina.training.objective import Objective
from lamina.training.recipe import Recipe
from lamina.training.sequence_step import LanguageStep, SequenceStep
from lamina.training.streams import StreamSource

GRAPHS = 64
"""So many shapes are recorded at most."""

Shape = tuple[torch.Size, torch.Size, bool]
"""Of inputs and targets, and whether watchers look."""


@dataclass
class _Graph:
    """A recorded update: the tensors it reads, the gradients it leaves, and what replays it."""

    inputs: Tensor
    targets: Tensor
    replay: Callable[[], None]
    grads: list[Tensor | None]


class _Captured(SequenceStep):
    """What both kinds of captured steps share; to be named before the kind."""

    kind = "captured"

    def __init__(self, model: nn.Module, train: Any, validation: Any, objective: Objective, recipe: Recipe) -> None:
        self._kernels = None
        super().__init__(model, train, validation, objective, recipe)
        device = self.ever.device
        self.count = torch.zeros((), dtype=torch.int64, device=device)
        self.table = torch.tensor(self.rates, dtype=recipe.dtype, device=device)
        self._recording = Recording()
        self._graphs: dict[Shape, _Graph] = {}
        self._last: _Graph | None = None
        self._recorded = True
        self.begin(0)
        self._record(*self._take(0), watched=False)  # what cannot be recorded is known before the first update

    def _make_optimizer(self) -> Fused | torch.optim.Optimizer:
        return CapturedStep._make_optimizer(cast(CapturedStep, self))

    def begin(self, epoch: int, batch: int = 0) -> None:
        """Lay out the batches of an epoch."""
        super().begin(epoch, batch)
        self.count.fill_(self.step)

    def __call__(self) -> None:
        """Make one update with the next batch."""
        inputs, targets = self._take(self._cursor)
        watched = self._watched()
        graph = self._graphs.get((inputs.shape, targets.shape, watched))
        if graph is None and self._recorded and len(self._graphs) < GRAPHS:
            graph = self._try(inputs, targets, watched)
        if graph is None or not self._recorded:
            self._body(inputs, targets, watched)
        else:
            graph.inputs.copy_(inputs)
            graph.targets.copy_(targets)
            graph.replay()
            if graph is not self._last:  # the gradients of this graph are those to look at
                self._last = graph
                for p, grad in zip(self.params, graph.grads, strict=True):
                    p.grad = grad
        if watched:
            self._keep()
        self._cursor += 1
        self.step += 1

    def by_hand(self) -> None:
        """From now on run every operation by itself, so that hooks see it, and no watcher."""
        super().by_hand()
        self._recorded = False

    def _try(self, inputs: Tensor, targets: Tensor, watched: bool) -> _Graph | None:
        try:
            return self._record(inputs, targets, watched)
        except RuntimeError as error:
            self.reason = f"a batch of shape {list(inputs.shape)} cannot be captured ({str(error).splitlines()[0]})"
            self._recorded = False
            return None

    def _record(self, inputs: Tensor, targets: Tensor, watched: bool) -> _Graph:
        """Record the update of a batch of this shape; nothing is changed by that."""
        own = [*self.state().values(), self.count, self._device_rate]
        fixed = inputs.clone(), targets.clone()
        replay = self._recording.record(partial(self._body, *fixed, watched), own)
        graph = _Graph(*fixed, replay, [p.grad for p in self.params])
        self._graphs[inputs.shape, targets.shape, watched] = graph
        return graph

    def _body(self, inputs: Tensor, targets: Tensor, watched: bool = False) -> None:
        """Make one update; what is recorded."""
        now = self.count.clamp(max=len(self.table) - 1).view(1)
        torch.index_select(self.table, 0, now, out=self._device_rate.view(1))
        with self._looking() if watched else nullcontext():
            self._update(inputs, targets)
        self.count.add_(1)

    def _now(self) -> int | Tensor:
        return self.count

    _device_rate: Tensor


class CapturedSequenceStep(_Captured, SequenceStep):
    """`SequenceStep` as CUDA graphs; results agree within rounding."""


class CapturedLanguageStep(_Captured, LanguageStep):
    """`LanguageStep` as CUDA graphs; results agree within rounding."""


def make_sequence_step(
    model: nn.Module, train: Any, validation: Any, objective: Objective, recipe: Recipe, wanted: str = "auto"
) -> SequenceStep:
    """Make the update for sequences: recorded on a GPU where that can be, else eager with the reason.

    Args:
        model: the network, on its device.
        train: a `TokenSource`, a `Source` of tokens, or a `StreamSource`.
        validation: the same of the validation examples, or None.
        objective: what is minimized.
        recipe: how.
        wanted: "auto", "eager", "captured" or "compiled".
    """
    running = isinstance(train, StreamSource)
    eager: Any = LanguageStep if running else SequenceStep
    reason = ""
    if wanted == "compiled":
        reason = "sequences have many lengths, for each of which a compiler would start again"
    elif wanted != "eager" and train.device.type == "cuda":
        reason = why_not(train, recipe)
        if not reason:
            before = {name: t.clone() for name, t in run_state(model).items()}
            captured: Any = CapturedLanguageStep if running else CapturedSequenceStep
            try:
                return cast(SequenceStep, captured(model, train, validation, objective, recipe))
            except RuntimeError as error:  # the model asks the host in the middle, or does what no graph can hold
                reason = f"the network cannot be captured ({str(error).splitlines()[0]})"
                load_run_state_(model, before)
                for parameter in model.parameters():
                    parameter.grad = None
    elif wanted == "captured":
        reason = "a captured step needs device='cuda'"
    step = cast(SequenceStep, eager(model, train, validation, objective, recipe))
    step.reason = reason
    return step
