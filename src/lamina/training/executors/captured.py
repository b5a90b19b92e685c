"""Updates recorded once and replayed: the whole of one runs on the device, without Python in between.

Where batches lie on the device, gathering, random changes, normalizing, forward, loss, backward, clipping, optimizer,
schedule and counters are one CUDA graph for each size of a batch, and nothing waits for the device in an epoch. Batches
of sequences are copied into fixed tensors that a graph reads, one for each shape; `TokenSource(multiple=8)` keeps the
shapes few.
"""

from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina._types import Tensor
from lamina.data.augment import Augment
from lamina.data.source import Source
from lamina.kernels import small_networks as kernels
from lamina.kernels.small_networks import Kernels
from lamina.layers.dropout import load_run_state_, run_state
from lamina.layers.half_weights import HalfWeights
from lamina.training._fused import FusedAdam, FusedRMSprop, FusedSGD
from lamina.training.change import _Moving
from lamina.training.executors._contexts import Contexts
from lamina.training.executors._eager import Eager
from lamina.training.executors._small import SmallLayers, small
from lamina.training.executors.recording import Graphs
from lamina.training.freezing import rate_shares
from lamina.training.learner import Answering, Learner
from lamina.training.objective import Objective
from lamina.training.recipe import GD, SGD, Adam, AdamW, MiniBatch, Ours, Recipe, RMSprop
from lamina.training.tasks.feed import Batch, Feed
from lamina.training.update import Grads, Update


class _Captured:
    """Replays updates; results agree with eager ones within rounding.

    Order, place in it, number of the step and learning rates are device tensors, so that the recorded work takes no
    arguments. No tensor is ever replaced: a restored state is copied into the tensors that the graph knows. Taking the
    batch, judging the outputs, Adam and small layers are kernels of our own where they fit; see `kernels`.
    """

    kind = "captured"

    def __init__(self, learner: Learner, ours: Kernels | None = None) -> None:
        self.learner, self.ours = learner, ours
        update, feed, recipe = learner.update, learner.feed, learner.recipe
        device = update.ever.device
        self.cursor, self.count = (torch.zeros((), dtype=torch.int64, device=device) for _ in range(2))
        self.table = torch.tensor(learner.rates, dtype=recipe.dtype, device=device)
        feed.at(self.count)
        if ours is not None and feed.gathers:
            # Cast together: autocast would launch two small kernels a layer.
            by_ours = small(learner.model, feed.batch_size)
            weights = HalfWeights(learner.model) if update.half and not by_ours else nullcontext()
            update.products = Contexts(SmallLayers(ours), weights, update.products)
        self.takes, self._judges = self._takes_pictures(), self._judges_labels()
        if self._judges:
            update.differentiate = self._judged
        self.graphs = Graphs(self._changed, lambda: [p.grad for p in learner.params])
        self._grads: Any = None
        if isinstance(learner.answering, Answering):
            learner.answering = _Recorded(learner.answering, self.graphs)
        learner.model.train()
        feed.begin(0, 0, 0)
        if feed.gathers:
            self.order = feed.order.clone()
            self._places = torch.arange(feed.batch_size, device=device)
            for size in sorted({feed.batch_size, (len(feed.order) - 1) % feed.batch_size + 1}):
                self.graphs.record((size, False), partial(self._gathered, size, False))
        else:  # what cannot be recorded is known before the first update
            batch: Any = feed.next(0)
            self.graphs.record(_form(batch, False), partial(self._given, False), batch)

    @property
    def judges(self) -> bool:
        """Whether our kernel judges the outputs, and counts: that of a whole batch."""
        return self._judges and not self.learner.feed.splits

    @property
    def reason(self) -> str:
        """Why updates are no longer recorded, if that is so."""
        return self.graphs.reason

    @reason.setter
    def reason(self, sentence: str) -> None:
        self.graphs.reason = sentence

    def _changed(self) -> list[Tensor]:
        rate: Any = self.learner.change.rate
        return [*self.learner.state().values(), self.cursor, self.count, rate]

    def begin(self, step: int) -> None:
        """Lay out the order of an epoch in the tensors that the graphs read."""
        feed = self.learner.feed
        if feed.gathers:
            self.order.copy_(feed.order)
        self.cursor.fill_(feed.cursor)
        self.count.fill_(step)

    def __call__(self, step: int, watched: bool) -> None:
        """Make an update with the next batch."""
        feed = self.learner.feed
        if feed.gathers:
            size = feed.size
            grads = self.graphs((size, watched), partial(self._gathered, size, watched))
            feed.cursor += size
            feed.seen += size
        else:
            batch: Any = feed.next(step)
            grads = self.graphs(_form(batch, watched), partial(self._given, watched), batch)
        if grads is not self._grads:  # the gradients of this graph are those to look at
            self._grads = grads
            for p, grad in zip(self.learner.params, grads, strict=True):
                p.grad = grad

    def scale(self, left: float) -> None:
        """Write the new rates into the table that the graphs read."""
        self.table.copy_(torch.tensor(self.learner.rates, dtype=torch.float64) * left)

    def by_hand(self) -> None:
        """From now on run every operation by itself, so that hooks see it."""
        self.graphs.on = False

    def _gathered(self, size: int, watched: bool) -> None:
        """Make one update of the next `size` examples in the order; what is recorded."""
        batch = self._taken(size) if self.takes else self._batch(size)
        self._given(watched, *batch)
        if not self.judges:
            self.cursor.add_(size)

    def _given(self, watched: bool, *batch: Any) -> None:
        """Make one update with a batch; what is recorded."""
        if not self.judges:
            now = self.count.clamp(max=len(self.table) - 1).view(1)
            rate: Any = self.learner.change.rate
            torch.index_select(self.table, 0, now, out=rate.view(1))
        with self.learner.looking() if watched else nullcontext():
            self.learner.update(*batch)
        if not self.judges:
            self.count.add_(1)

    def _batch(self, size: int) -> Batch:
        places = (self._places[:size] + self.cursor).clamp_(max=len(self.order) - 1)
        feed = self.learner.feed
        return feed.part(*feed.source.batch(*feed.read(self.order.index_select(0, places), self.count)), size)

    def _taken(self, size: int) -> tuple[Tensor, Tensor]:
        """Take the next batch of pictures by one kernel."""
        source: Any = self.learner.feed.source
        assert self.ours is not None
        change = source.augment or Augment()
        inputs, labels = self.ours.take_pictures(
            source.inputs, source.targets, self.order, self.cursor, self.count, source.affine, size,
            self.learner.recipe.seed, (change.crop, change.translate, int(change.flip), change.cutout),
        )  # fmt: skip
        return inputs.view(size, *self._shape), labels

    def _takes_pictures(self) -> bool:
        """Say whether our kernel can take the batches: pictures of bytes, with labels."""
        feed, train = self.learner.feed, self.learner.feed.source
        if (
            feed.ranks.many
            or self.ours is None
            or not feed.gathers
            or train.inputs is None
            or train.targets is None
            or not train.affine
        ):
            return False
        if train.augment is not None and not train.augment.only("flip", "crop", "translate", "cutout"):
            return False
        self._shape = self._example()[0].shape[1:]
        return train.inputs.dtype == torch.uint8 and train.targets.dtype == torch.int64 and train.targets.ndim == 1

    def _judges_labels(self) -> bool:
        """Say whether our kernel can judge the outputs: a row of few logits an example, and nothing but their loss."""
        learner = self.learner
        objective, plain = learner.objective, type(learner.objective) is Objective
        several = learner.feed.ranks.many
        if (
            several
            or self.ours is None
            or not learner.feed.gathers
            or not plain
            or objective.kind != "nll"
            or objective.reshaped
        ):
            return False
        if objective.weights is not None or objective.weighted or objective.mixed is not None:
            return False
        was_training = learner.model.training
        with torch.no_grad():
            outputs = learner.feed.outputs(learner.model.eval(), *self._example())
        learner.model.train(was_training)
        return outputs.ndim == 2 and outputs.shape[1] <= kernels.CLASSES

    def _example(self) -> tuple[Tensor, Tensor]:
        return self.learner.feed.source.batch(torch.zeros(1, dtype=torch.int64))

    def _judged(self, update: Update, inputs: Tensor, labels: Tensor) -> tuple[Tensor, None, Grads]:
        """Let one kernel compute loss, gradient of the outputs, score and counters, and set the rate."""
        with update.products:
            outputs = update.feed.outputs(update.model, inputs, labels).float()
        change: Any = self.learner.change
        adam = change.optimizer if isinstance(change.optimizer, _DeviceAdam) else None
        steps = adam.steps if adam else self._places[:0].float()
        sums = update.loss_sum, update.score_sum, update.ever, update.good, self.cursor, self.count
        assert self.ours is not None
        with torch.no_grad():
            slope = self.ours.judge(outputs.contiguous(), labels, (*sums, steps, change.rate), self.table,
                                    self.learner.objective.smoothing)  # fmt: skip
        change.forget()
        _Judged.apply(outputs, slope).backward()
        if adam:
            adam.counted = True
        return outputs, None, [p.grad for p in update.params]


def _form(batch: Batch, watched: bool) -> tuple[Any, ...]:
    return *(each.shape for each in batch if isinstance(each, Tensor)), watched


class _Recorded(Answering):
    """Checks by replaying: the answers to inputs of one shape are recorded when the first such inputs come."""

    def __init__(self, answering: Answering, graphs: Graphs) -> None:
        super().__init__(answering.update)
        self._answer, self._outputs, self._updates = answering, torch.empty(0), graphs
        self._graphs = Graphs(list, lambda: self._outputs, graphs.recording)

    def __call__(self, inputs: Tensor) -> Tensor:
        """Give the outputs; they are copied, since the next replay writes where they lie."""
        self._graphs.on = self._graphs.on and self._updates.on
        outputs: Tensor = self._graphs(inputs.shape, self._work, (inputs,))
        return outputs.clone()

    def _work(self, inputs: Tensor) -> None:
        self._outputs = self._answer(inputs)


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
    """Adam and AdamW with their counts in one vector, by our kernel where the network is small."""

    def __init__(
        self,
        params: list[nn.Parameter],
        rate: Tensor,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        ours: Kernels | None,
    ) -> None:
        super().__init__(params, rate, betas, eps, weight_decay)
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
        self.ours.adam(list(params), moments, rate, (*self.betas, self.eps, self.weight_decay))


def _double_adam(
    params: list[nn.Parameter], rate: Tensor, betas: tuple[float, float], eps: float, weight_decay: float
) -> torch.optim.Optimizer:
    """Make an AdamW in double precision, whose state exists from the start: torch's fused one reads a single rate."""
    made = torch.optim.AdamW(params, rate, betas, eps, weight_decay, capturable=True, foreach=True)
    for p in params:
        step = torch.zeros((), dtype=torch.float64, device=p.device)
        made.state[p] = {"step": step, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
    return made


def _device_optimizer(recipe: Recipe, params: list[nn.Parameter], ours: Kernels | None) -> Any:
    """Make an optimizer whose learning rate and step count lie on the device."""
    record: Any = recipe.optimizer
    rate = torch.tensor(record.learning_rate, dtype=recipe.dtype, device=params[0].device)
    if isinstance(record, Adam | AdamW):
        betas, decay = (record.beta1, record.beta2), getattr(record, "weight_decay", 0.0)
        if rate.dtype == torch.float64:
            return _double_adam(params, rate, betas, record.eps, decay)
        return _DeviceAdam(params, rate, betas, record.eps, decay, ours)
    if isinstance(record, RMSprop):
        return FusedRMSprop(params, rate, record.alpha, record.eps, record.momentum)
    momentum, nesterov = (record.momentum, record.nesterov) if isinstance(record, MiniBatch) else (0.0, False)
    return FusedSGD(params, rate, momentum, nesterov)


def _why_not(feed: Feed, recipe: Recipe) -> str:
    """Say why an update cannot be recorded; empty when nothing is known against it.

    >>> from lamina.data.preprocess import Preprocess
    >>> from lamina.data.synthetic import moons
    >>> data, recipe = moons(20), Recipe(GD(line_search=True))
    >>> _why_not(Feed(Preprocess.fit(data).source(data), recipe), recipe)
    'a line search asks after each trial whether the loss fell'
    """
    if isinstance(recipe.optimizer, GD) and recipe.optimizer.line_search:
        return "a line search asks after each trial whether the loss fell"
    if not isinstance(recipe.optimizer, Ours):
        return "the optimizer is not one of Lamina's"
    if recipe.precision == "float64" and isinstance(recipe.optimizer, GD | SGD | MiniBatch):
        return "torch's SGD on the device takes its rate in single precision"
    if feed.source.inputs is None:
        return "the data do not lie on the device but are streamed"
    return ""


def captured(model: nn.Module, feed: Feed, validation: Source | None, objective: Objective, recipe: Recipe) -> Learner:
    """Record the update of a network; where that fails, run it eagerly, with the reason."""
    if feed.device.type != "cuda":
        raise ArgumentError(
            f"a captured step needs device='cuda', got {feed.device.type!r}: use step='auto' or 'eager'."
        )
    reason = _why_not(feed, recipe)
    if not reason:
        before = {name: t.clone() for name, t in run_state(model).items()}
        try:
            return _capture(model, feed, validation, objective, recipe)
        except RuntimeError as error:  # the model asks the host in the middle, or does what no graph can hold
            reason = f"the network cannot be captured ({str(error).splitlines()[0]})"
            load_run_state_(model, before)
            for parameter in model.parameters():
                parameter.grad = None
    return Learner(model, feed, validation, objective, recipe, partial(Eager, reason=reason))


def _capture(model: nn.Module, feed: Feed, validation: Source | None, objective: Objective, recipe: Recipe) -> Learner:
    """Record the update of a network, or raise."""
    single = recipe.precision != "float64" and feed.gathers
    ours = kernels.load(torch.cuda.current_device()) if single else None
    params = [p for p in model.parameters() if p.requires_grad]
    shares = rate_shares(model, recipe.stage_rate)
    change = _Moving(params, recipe, _device_optimizer(recipe, params, ours), shares=shares)
    return Learner(model, feed, validation, objective, recipe, partial(_Captured, ours=ours), change)
