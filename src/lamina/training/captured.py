"""One update, recorded once and replayed: the whole of it runs on the device, without Python in between.

Gathering the batch, random changes, normalizing, forward, loss, backward, clipping, optimizer, schedule and counters
are one CUDA graph; a second one serves the shorter last batch of an epoch. Nothing waits for the device in an epoch.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from lamina._errors import ArgumentError
from lamina._types import Tensor
from lamina.data.source import Source
from lamina.training.capture import Recording
from lamina.training.objective import Objective
from lamina.training.recipe import GD, SGD, Adam, MiniBatch, Recipe
from lamina.training.step import EagerStep


class CapturedStep(EagerStep):
    """The update of `EagerStep` as a CUDA graph; results agree within rounding.

    Order, place in it, number of the step and learning rates are device tensors, so that the recorded work takes no
    arguments. No tensor is ever replaced: a restored state is copied into the tensors that the graph knows.
    """

    kind = "captured"

    def __init__(
        self,
        model: torch.nn.Module,
        train: Source,
        validation: Source | None,
        objective: Objective,
        recipe: Recipe,
    ) -> None:
        super().__init__(model, train, validation, objective, recipe)
        device = self.ever.device
        sizes = {self.batch_size}
        length = self.batches * self.batch_size
        if self.sampling == "epoch" and len(train) % self.batch_size:
            sizes.add(len(train) % self.batch_size)
            length = len(train)
        self.order = torch.zeros(length, dtype=torch.int64, device=device)
        self.cursor = torch.zeros((), dtype=torch.int64, device=device)
        self.count = torch.zeros((), dtype=torch.int64, device=device)
        self.table = torch.tensor(self.rates, dtype=torch.float64, device=device)
        self._places = torch.arange(self.batch_size, device=device)
        self._start_moments()
        self.model.train()
        recording, own = Recording(), [*self.state().values(), self.cursor, self.count, self._device_rate]
        self._replays: dict[int, Callable[[], None]] = {}
        self._grads: dict[int, list[Tensor | None]] = {}
        for size in sorted(sizes):
            self._replays[size] = recording.record(partial(self._body, size), own)
            self._grads[size] = [p.grad for p in self.params]
        self._last = 0

    def _make_optimizer(self) -> torch.optim.Optimizer:
        """Make an optimizer whose learning rate and step count lie on the device."""
        record: Any = self.recipe.optimizer
        double = self.recipe.precision == "float64"
        self._device_rate = torch.tensor(
            record.learning_rate, dtype=torch.float64 if double else torch.float32, device=self.params[0].device
        )
        if isinstance(record, Adam):
            return torch.optim.Adam(
                self.params,
                lr=self._device_rate,
                betas=(record.beta1, record.beta2),
                eps=record.eps,
                capturable=True,
                fused=not double,  # the fused kernel reads the rate in single precision
                foreach=double,
            )
        momentum, nesterov = (record.momentum, record.nesterov) if isinstance(record, MiniBatch) else (0.0, False)
        return torch.optim.SGD(self.params, lr=self._device_rate, momentum=momentum, nesterov=nesterov, fused=True)

    def _start_moments(self) -> None:
        """Make the optimizer's tensors now, all zero, as they are before the first step."""
        record = self.recipe.optimizer
        for p in self.params:
            if isinstance(record, Adam):
                step = torch.zeros((), dtype=torch.float32, device=p.device)
                self.optimizer.state[p] = {
                    "step": step,
                    "exp_avg": torch.zeros_like(p, memory_format=torch.preserve_format),
                    "exp_avg_sq": torch.zeros_like(p, memory_format=torch.preserve_format),
                }
            elif isinstance(record, MiniBatch) and record.momentum:
                self.optimizer.state[p] = {"momentum_buffer": torch.zeros_like(p)}

    def begin(self, epoch: int, batch: int = 0) -> None:
        """Lay out the order of an epoch in the tensors that the graph reads."""
        order = self.order
        super().begin(epoch, batch)
        order.copy_(self.order)
        self.order = order
        self.cursor.fill_(self._cursor)
        self.count.fill_(self.step)

    def __call__(self) -> None:
        """Make one update with the next batch."""
        size = min(self.batch_size, len(self.order) - self._cursor)
        replay = self._replays.get(size)
        if replay is None:
            self._body(size)
        else:
            replay()
            if size != self._last:  # the gradients of this graph are those to look at
                self._last = size
                for p, grad in zip(self.params, self._grads[size], strict=True):
                    p.grad = grad
        self._cursor += size
        self._seen += size
        self.step += 1

    def by_hand(self) -> None:
        """From now on run every operation by itself, so that hooks see it."""
        self._replays.clear()

    def _body(self, size: int) -> None:
        """Make one update of `size` examples; what is recorded."""
        indices = self.order.index_select(0, (self._places[:size] + self.cursor).clamp_(max=len(self.order) - 1))
        now = self.count.clamp(max=len(self.table) - 1).reshape(1)
        self._device_rate.copy_(self.table.index_select(0, now).squeeze())
        inputs, targets = self.train.batch(indices, (self.recipe.seed, self.count))
        self._update(inputs, targets)
        self.cursor.add_(size)
        self.count.add_(1)


def why_not(train: Source, recipe: Recipe) -> str:
    """Say why an update cannot be recorded; empty when nothing is known against it.

    >>> from lamina.data.preprocess import Preprocess
    >>> from lamina.data.synthetic import moons
    >>> data = moons(20)
    >>> why_not(Preprocess.fit(data).source(data), Recipe(GD(line_search=True)))
    'a line search asks after each trial whether the loss fell'
    """
    if isinstance(recipe.optimizer, GD) and recipe.optimizer.line_search:
        return "a line search asks after each trial whether the loss fell"
    if not isinstance(recipe.optimizer, GD | SGD | MiniBatch | Adam):
        return "the optimizer is not one of Lamina's"
    if recipe.precision == "float64" and not isinstance(recipe.optimizer, Adam):
        return "torch's SGD on the device takes its rate in single precision"
    if train.inputs is None:
        return "the data do not fit on the device and are streamed"
    return ""


def make_captured(
    model: torch.nn.Module, train: Source, validation: Source | None, objective: Objective, recipe: Recipe
) -> EagerStep:
    """Record the update of a network; where that fails, give the eager step with the reason.

    Args:
        model: the network, on a CUDA device.
        train: the training examples.
        validation: the validation examples, or None.
        objective: what is minimized.
        recipe: how.
    """
    if train.device.type != "cuda":
        raise ArgumentError(
            f"a captured step needs device='cuda', got {train.device.type!r}: use step='auto' or 'eager'."
        )
    reason = why_not(train, recipe)
    if not reason:
        before = {name: t.clone() for name, t in model.state_dict().items()}
        try:
            return CapturedStep(model, train, validation, objective, recipe)
        except RuntimeError as error:  # the model asks the host in the middle, or does what no graph can hold
            reason = f"the network cannot be captured ({str(error).splitlines()[0]})"
            model.load_state_dict(before)
            for parameter in model.parameters():
                parameter.grad = None
    step = EagerStep(model, train, validation, objective, recipe)
    step.reason = reason
    return step
