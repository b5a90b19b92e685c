"""One update, recorded once and replayed: the whole of it runs on the device, without Python in between.

Gathering the batch, random changes, normalizing, forward, loss, backward, clipping, optimizer, schedule and counters
are one CUDA graph; a second one serves the shorter last batch of an epoch. Nothing waits for the device in an epoch.
"""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina._types import Tensor
from lamina.data.source import Source
from lamina.layers.dropout import load_run_state_, run_state
from lamina.layers.half_weights import HalfWeights
from lamina.training import kernels
from lamina.training.capture import Recording
from lamina.training.fused import Fused, FusedAdam, FusedSGD
from lamina.training.kernels import Kernels
from lamina.training.objective import Objective
from lamina.training.recipe import GD, SGD, Adam, MiniBatch, Recipe
from lamina.training.step import EagerStep
from lamina.training.watching import Watcher


class CapturedStep(EagerStep):
    """The update of `EagerStep` as a CUDA graph; results agree within rounding.

    Order, place in it, number of the step and learning rates are device tensors, so that the recorded work takes no
    arguments. No tensor is ever replaced: a restored state is copied into the tensors that the graph knows. Taking the
    batch, judging the outputs, Adam and small layers are kernels of our own where they fit; see `kernels`.
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
        single = recipe.precision != "float64"
        self._kernels = kernels.load(torch.cuda.current_device()) if single else None
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
        self.table = torch.tensor(self.rates, dtype=recipe.dtype, device=device)
        self._places = torch.arange(self.batch_size, device=device)
        self._layers = kernels.SmallLayers(self._kernels) if self._kernels else nullcontext()
        # Cast together: autocast would launch two small kernels a layer.
        by_ours = self._kernels is not None and kernels.small(model, self.batch_size)
        self._weights = HalfWeights(model) if self._half and not by_ours else nullcontext()
        self._takes, self._judges = self._takes_pictures(), self._judges_labels()
        self.model.train()
        self._recording, self._sizes = Recording(), sorted(sizes)
        self._replays: dict[tuple[int, bool], Callable[[], None]] = {}
        self._grads: dict[tuple[int, bool], list[Tensor | None]] = {}
        self._last = (0, False)
        self._record(watched=False)

    def _record(self, watched: bool) -> None:
        """Record the update of each size of a batch, as it is or with watchers looking."""
        own = [*self.state().values(), self.cursor, self.count, self._device_rate]
        for size in self._sizes:
            self._replays[size, watched] = self._recording.record(partial(self._body, size, watched), own)
            self._grads[size, watched] = [p.grad for p in self.params]
        self._last = (0, False)  # whose gradients are those to look at is open again

    def watch(self, watcher: Watcher) -> None:
        """Record the update once more, with the watcher looking."""
        super().watch(watcher)
        self._record(watched=True)

    def _make_optimizer(self) -> Fused | torch.optim.Optimizer:
        """Make an optimizer whose learning rate and step count lie on the device."""
        record: Any = self.recipe.optimizer
        rate = torch.tensor(record.learning_rate, dtype=self.recipe.dtype, device=self.params[0].device)
        self._device_rate = rate
        if isinstance(record, Adam):
            betas = record.beta1, record.beta2
            return (_DeviceAdam if rate.dtype == torch.float32 else _double_adam)(
                self.params, rate, betas, record.eps, self._kernels
            )
        momentum, nesterov = (record.momentum, record.nesterov) if isinstance(record, MiniBatch) else (0.0, False)
        return FusedSGD(self.params, rate, momentum, nesterov)

    def _takes_pictures(self) -> bool:
        """Say whether our kernel can take the batches: pictures of bytes, with labels."""
        train = self.train
        if self._kernels is None or train.inputs is None or train.targets is None or train.affine is None:
            return False
        self._shape = train.batch(self.order[:1])[0].shape[1:]
        return train.inputs.dtype == torch.uint8 and train.targets.dtype == torch.int64 and train.targets.ndim == 1

    def _judges_labels(self) -> bool:
        """Say whether our kernel can judge the outputs: a row of few logits an example, and nothing but their loss."""
        if self._kernels is None or self.objective.kind != "nll" or self.objective.weights is not None:
            return False
        with torch.no_grad():
            was_training = self.model.training
            outputs = self.model.eval()(self.train.batch(self.order[:1])[0].to(self._dtype))
            self.model.train(was_training)
        return not self._penalized and outputs.ndim == 2 and outputs.shape[1] <= kernels.CLASSES

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
        key = size, self._watched()
        replay = self._replays.get(key)
        if replay is None:
            self._body(*key)
        else:
            replay()
            if key != self._last:  # the gradients of this graph are those to look at
                self._last = key
                for p, grad in zip(self.params, self._grads[key], strict=True):
                    p.grad = grad
        if key[1]:
            self._keep()
        self._cursor += size
        self._seen += size
        self.step += 1

    def by_hand(self) -> None:
        """From now on run every operation by itself, so that hooks see it, and no watcher."""
        super().by_hand()
        self._replays.clear()

    def _body(self, size: int, watched: bool = False) -> None:
        """Make one update of `size` examples; what is recorded."""
        with self._looking() if watched else nullcontext():
            self._make(size)

    def _make(self, size: int) -> None:
        if self._judges and self._kernels is not None:
            self._judged_update(self._kernels, *self._batch(size))
            return
        torch.index_select(self.table, 0, self._now(), out=self._device_rate.view(1))
        self._update(*self._batch(size))
        self.cursor.add_(size)
        self.count.add_(1)

    def _now(self) -> Tensor:
        return self.count.clamp(max=len(self.table) - 1).view(1)

    def _batch(self, size: int) -> tuple[Tensor, Tensor]:
        """Give the next `size` examples."""
        train, seed = self.train, self.recipe.seed
        if self._takes and self._kernels and train.inputs is not None and train.targets is not None and train.affine:
            inputs, labels = self._kernels.take_pictures(
                train.inputs,
                train.targets,
                self.order,
                self.cursor,
                self.count,
                train.affine,
                size,
                seed,
                train.augment,
            )
            return inputs.view(size, *self._shape), labels
        indices = self.order.index_select(0, (self._places[:size] + self.cursor).clamp_(max=len(self.order) - 1))
        return train.batch(indices, (seed, self.count))

    def _forward(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        with self._layers, self._weights:
            return super()._forward(inputs, targets)

    def _judged_update(self, ours: Kernels, inputs: Tensor, labels: Tensor) -> None:
        """Make the update whose loss, gradient of the outputs, score and counters are one kernel."""
        with self._layers, self._products, self._weights:
            outputs = self.model(inputs).float()
        adam = self.optimizer if isinstance(self.optimizer, _DeviceAdam) else None
        steps = adam.steps if adam else self._places[:0].float()
        sums = self.loss_sum, self.score_sum, self.ever, self.good, self.cursor, self.count
        with torch.no_grad():
            slope = ours.judge(outputs.contiguous(), labels, (*sums, steps, self._device_rate), self.table)
        self.optimizer.zero_grad()
        _Judged.apply(outputs, slope).backward()
        if adam:
            adam.counted = True
        with torch.no_grad():
            self._change(inputs, labels, outputs)


class _Judged(torch.autograd.Function):
    """A number whose gradient with respect to the outputs is known already.

    `outputs.backward(slope)` is the same, but imports a computer algebra system on the way, for a second or two.
    """

    @staticmethod
    def forward(ctx: Any, outputs: Tensor, slope: Tensor) -> Tensor:
        ctx.slope = slope
        return outputs.new_empty(())

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        return ctx.slope, None


class _DeviceAdam(FusedAdam):
    """Adam with its counts in one vector, by our kernel where the network is small."""

    def __init__(
        self,
        params: list[nn.Parameter],
        rate: Tensor,
        betas: tuple[float, float],
        eps: float,
        ours: Kernels | None,
    ) -> None:
        super().__init__(params, rate, betas, eps)
        self.ours = ours if sum(p.numel() for p in params) <= kernels.ADAM_SIZE else None
        self.steps = torch.zeros(len(params), device=rate.device)
        self.counted = False  # whether somebody else has counted this update
        for p, step in zip(params, self.steps.unbind(), strict=True):
            self.state[p]["step"] = step

    def _count(self, steps: list[Tensor]) -> None:
        if not self.counted:
            self.steps.add_(1)
        self.counted = False

    def _update(self, params: list[nn.Parameter], grads: list[Tensor]) -> None:
        if self.ours is None or any(p.stride() != g.stride() for p, g in zip(params, grads, strict=True)):
            super()._update(params, grads)
            return
        steps, first, second = self._lists(params, "step", "exp_avg", "exp_avg_sq")
        self._count(steps)
        rate: Tensor = self.param_groups[0]["lr"]
        moments = list(zip(steps, first, second, strict=True))
        self.ours.adam(list(params), moments, rate, (*self.betas, self.eps))


def _double_adam(
    params: list[nn.Parameter], rate: Tensor, betas: tuple[float, float], eps: float, ours: Kernels | None
) -> torch.optim.Optimizer:
    """Make an Adam in double precision, whose state exists from the start: torch's fused one reads a single rate."""
    made = torch.optim.Adam(params, lr=rate, betas=betas, eps=eps, capturable=True, foreach=True)
    for p in params:
        step = torch.zeros((), dtype=torch.float64, device=p.device)
        made.state[p] = {"step": step, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
    return made


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
        before = {name: t.clone() for name, t in run_state(model).items()}
        try:
            return CapturedStep(model, train, validation, objective, recipe)
        except RuntimeError as error:  # the model asks the host in the middle, or does what no graph can hold
            reason = f"the network cannot be captured ({str(error).splitlines()[0]})"
            load_run_state_(model, before)
            for parameter in model.parameters():
                parameter.grad = None
    step = EagerStep(model, train, validation, objective, recipe)
    step.reason = reason
    return step
