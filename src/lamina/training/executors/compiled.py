"""Updates compiled for the CPU: gather, normalize, forward, loss, backward, clip and optimizer as one function.

The update is the same with two parts exchanged for the pure functions that `functional` specifies: the gradient and the
step of the optimizer. `torch.compile` fuses its elementwise work and leaves out the bookkeeping between operations.
Compiling takes 5 to 20 seconds, so that only long runs gain; `tuning` decides that.
"""

import copy
import shutil
from collections.abc import Callable
from functools import partial
from itertools import count
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import nn
from torch.func import functional_call, grad_and_value

from lamina._errors import ArgumentError
from lamina._types import Tensor
from lamina.data.source import Source
from lamina.functional import optimizers as pure
from lamina.functional.clipping import clip
from lamina.functional.losses import penalty_slope
from lamina.functional.optimizers import Params, State, proximal_threshold, soft_threshold
from lamina.layers.memory_format import overrunning
from lamina.training.change import _Moving, measured, partway
from lamina.training.executors._eager import Eager
from lamina.training.learner import Learner
from lamina.training.objective import Objective
from lamina.training.recipe import GD, Adam, AdamW, MiniBatch, Ours, Recipe, RMSprop
from lamina.training.tasks.feed import Feed
from lamina.training.update import Grads, Update

LARGEST = 150
"""Layers up to which a network is compiled; beyond that it would take minutes."""

LOOPS = ("layers.cells", "layers.recurrent", "architectures.recurrent", "architectures.seq2seq", "architectures.ode")
"""Modules of Lamina whose layers repeat themselves over time, which a compiler would unroll."""

_NUMBERS = count()

MOMENTS = ("exp_avg", "momentum_buffer", "exp_avg_sq", "square_avg")
"""The moments of all rules under the names that torch gives them, in the order of `functional.optimizers`."""


class _Compiled:
    """Updates through `torch.compile`; results agree with eager ones within rounding.

    The last update before a look at the run is made eagerly: it may have fewer examples, and it leaves the gradients
    that the look shows. So is one that a watcher looks into.
    """

    kind = "compiled"
    backend = "inductor"

    def __init__(self, learner: Learner) -> None:
        self.learner, self.reason = learner, ""
        self._count = torch.zeros((), dtype=torch.int64)
        model = learner.model
        params = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
        self._update = copy.copy(learner.update)  # before eager updates take kernels that a compiler cannot read
        self._eager = Eager(learner)
        pure = partial(_functionally, params, dict(model.named_buffers()))
        self._update.differentiate = self._update.by_piece = pure
        self._full = torch.tensor(learner.rates, dtype=torch.float64)
        self._table = self._full.clone()
        self._update.change = _PureMoving(learner.change, params, self._count, self._table)
        made = _Compiled._make if learner.feed.gathers else _Compiled._given
        whole = MethodType(_copy(made), self)
        # The compiler brings convolutions to channels-last by itself, also those for which that is unsafe.
        unsafe = self.backend == "inductor" and overrunning(model)
        options: dict[str, Any] | None = {"layout_optimization": False} if unsafe else None
        self._whole = torch.compile(whole, backend=self.backend, fullgraph=True, dynamic=False, options=options)

    def begin(self, step: int) -> None:
        """Need nothing."""

    def __call__(self, step: int, watched: bool) -> None:
        """Make an update with the next batch."""
        feed = self.learner.feed
        end = feed.cursor + feed.batch_size
        if watched or end >= len(feed.order) or step + 1 == self.learner.recipe.stopping.max_steps:
            self._eager(step, watched)
            return
        self._count.fill_(step)
        if not feed.gathers:  # streamed batches come from a thread
            batch = feed.next(step)
            with torch.no_grad():
                self._whole(*batch)
            return
        with torch.no_grad():
            self._whole(feed.order[feed.cursor : end])
        feed.cursor = end
        feed.seen += feed.batch_size

    def scale(self, left: float) -> None:
        """Write the new rates into the table that the update reads."""
        torch.mul(self._full, left, out=self._table)

    def _make(self, indices: Tensor) -> None:
        """Make the whole update of the examples `indices`; what is compiled."""
        feed = self.learner.feed
        self._update.once(*feed.source.batch(indices, (feed.recipe.seed, self._count)))

    def _given(self, inputs: Tensor, targets: Tensor) -> None:
        """Make the whole update of a batch that was read; what is compiled."""
        self._update.once(inputs, targets)

    def by_hand(self) -> None:
        """From now on run every operation by itself, so that hooks see it."""
        self.learner.executor = self._eager


def _total(
    update: Update, inputs: Tensor, targets: Tensor, share: float | Tensor, params: Params, buffers: Params
) -> tuple[Tensor, tuple[Tensor, Tensor, Params]]:
    """Return a share of the loss; beside it the whole loss, the outputs and the buffers after this pass."""
    buffers = {name: value.clone() for name, value in buffers.items()}
    outputs, loss = update.forward(
        lambda *each, **named: functional_call(update.model, {**params, **buffers}, each, named), inputs, targets
    )
    return loss * share, (loss, outputs, buffers)


def _functionally(
    params: Params, live: Params, update: Update, inputs: Tensor, targets: Tensor, share: float | Tensor = 1.0
) -> tuple[Tensor, Tensor, Grads]:
    """Differentiate a pure function of parameters and buffers; the buffers after the pass are written back."""
    function = grad_and_value(lambda *tensors: _total(update, inputs, targets, share, *tensors), has_aux=True)
    grads, (_, (loss, outputs, buffers)) = function(params, live)
    for name, value in buffers.items():
        live[name].copy_(value)
    return outputs, loss, list(grads.values())


class _PureMoving:
    """Moves parameters by the pure updates of `functional.optimizers`, in the tensors of another change."""

    def __init__(self, change: _Moving, params: Params, step: Tensor, table: Tensor) -> None:
        self.recipe, self.params, self._count, self._table, self._norms = (
            change.recipe,
            params,
            step,
            table,
            change.norms,
        )
        record: Any = change.recipe.optimizer
        own = isinstance(record, Adam | AdamW | RMSprop)
        self._rule = record.name if own else "momentum" if getattr(record, "momentum", 0) else "gd"
        states = [change.optimizer.state[p] for p in change.params]
        self._moments = tuple(
            {name: state[moment] for name, state in zip(params, states, strict=True)}
            for moment in MOMENTS
            if states and moment in states[0]
        )
        self._steps = [state["step"] for state in states if "step" in state]
        self._shares = dict(zip(params, change.shares, strict=True))
        self._nesterov = isinstance(record, MiniBatch) and record.nesterov

    def __call__(self, grads: Grads, loss: Tensor | None, again: Callable[[], Tensor]) -> None:
        """Change the parameters in place."""
        recipe, params = self.recipe, self.params
        named: Any = dict(zip(params, grads, strict=True))
        if recipe.penalized:
            strength, norm = recipe.penalty.strength, recipe.penalty.norm
            named = {name: g + strength * penalty_slope(params[name], norm) for name, g in named.items()}
        if recipe.clip.limit is not None:
            named = clip(named, recipe.clip.limit, recipe.clip.kind)
        updated, moments = self._updated(params, named)
        if recipe.stopping.measures:
            before, after = list(params.values()), list(updated.values())
            self._norms.copy_(torch.stack(measured(list(named.values()), before, after)))
        for live, new in zip((params, *self._moments), (updated, *moments), strict=True):
            for name, value in new.items():
                live[name].copy_(value)
        for step in self._steps:
            step.add_(1)

    def _updated(self, params: Params, grads: Params) -> tuple[Params, tuple[Params, ...]]:
        """Return new parameters and new moments."""
        rate = self._table.index_select(0, self._count.clamp(max=len(self._table) - 1).view(1)).squeeze()
        state = State(self._steps[0] if self._steps else self._count, self._moments)
        hyper = _hyper(self.recipe.optimizer, rate)
        updated, state = pure.OPTIMIZERS[self._rule].update(params, grads, state, hyper)
        if self._nesterov:
            (velocity,) = state.moments
            ahead = {name: g + hyper.momentum * velocity[name] for name, g in grads.items()}
            updated, _ = pure.gradient_descent(params, ahead, State(self._count, ()), pure.GradientDescent(rate))
        shares = self._shares
        updated = {name: partway(params[name], value, shares[name]) for name, value in updated.items()}
        if self.recipe.proximal:
            threshold = proximal_threshold(rate, self.recipe.penalty.strength, getattr(hyper, "momentum", 0.0))
            updated = {name: soft_threshold(value, threshold * shares[name]) for name, value in updated.items()}
        return updated, state.moments

    def forget(self) -> None:
        """Need nothing: gradients are values here."""

    def state(self) -> dict[str, Tensor]:
        """Give nothing: the tensors are those of the other change."""
        return {}


def _copy(function: Any) -> FunctionType:
    """Give a function its own code, under its own name: torch compiles one and the same only 8 times in a process."""
    code = function.__code__.replace(co_name=f"{function.__name__}_{next(_NUMBERS)}")
    return FunctionType(code, function.__globals__, closure=function.__closure__)  # checkers of shapes wrap methods


def _hyper(record: Any, rate: Tensor) -> Any:
    """Give the numbers of a recipe's optimizer as the pure updates take them, with the rate as a tensor."""
    if isinstance(record, AdamW):
        return pure.AdamW(rate, record.beta1, record.beta2, record.eps, record.weight_decay)
    if isinstance(record, Adam):
        return pure.Adam(rate, record.beta1, record.beta2, record.eps)
    if isinstance(record, RMSprop):
        return pure.RMSprop(rate, record.alpha, record.eps, record.momentum)
    return pure.Momentum(rate, record.momentum) if getattr(record, "momentum", 0) else pure.GradientDescent(rate)


def _why_not(model: nn.Module, feed: Feed, recipe: Recipe) -> str:
    """Say why an update is not compiled; empty when nothing is known against it.

    >>> from lamina.data.preprocess import Preprocess
    >>> from lamina.data.synthetic import moons
    >>> data = moons(20)
    >>> _why_not(nn.LSTM(2, 2), Feed(Preprocess.fit(data).source(data), Recipe()), Recipe())
    'the network repeats a layer over time, which a compiler would unroll'
    """
    if shutil.which("g++") is None:
        return "there is no compiler (g++) on this machine"
    if isinstance(recipe.optimizer, GD) and recipe.optimizer.line_search:
        return "a line search asks after each trial whether the loss fell"
    if not isinstance(recipe.optimizer, Ours):
        return "the optimizer is not one of Lamina's"
    if not feed.even:
        return "sequences have many lengths, for each of which a compiler would start again"
    if any(isinstance(m, nn.RNNBase) or type(m).__module__.endswith(LOOPS) for m in model.modules()):
        return "the network repeats a layer over time, which a compiler would unroll"
    layers, pieces = sum(1 for m in model.modules() if not list(m.children())), len(feed.parts(feed.batch_size))
    if pieces > 1 and pieces * layers > LARGEST:
        return (
            f"{pieces} pieces of a batch by {layers} layers are more than {LARGEST}, and would take minutes to compile"
        )
    if layers > LARGEST:
        return f"the network has {layers} layers, more than {LARGEST}, and would take minutes to compile"
    return ""


def compiled(model: nn.Module, feed: Feed, validation: Source | None, objective: Objective, recipe: Recipe) -> Learner:
    """Compile the update of a network by making one; where that fails, run it eagerly, with the reason."""
    if feed.device.type != "cpu":
        raise ArgumentError(
            f"a compiled step needs device='cpu', got {feed.device.type!r}: use step='auto' or 'captured'."
        )
    reason = _why_not(model, feed, recipe)
    if not reason:
        learner = Learner(model, feed, validation, objective, recipe, _Compiled)
        before = {name: value.clone() for name, value in learner.state().items()}
        try:
            learner.begin(0)
            learner()
            return learner
        except Exception as error:  # the compiler has many ways to give up, and none may end a run
            reason = f"the update cannot be compiled ({type(error).__name__}: {str(error).splitlines()[0][:200]})"
        finally:
            learner.restore(before, 0)
    return Learner(model, feed, validation, objective, recipe, partial(Eager, reason=reason))
