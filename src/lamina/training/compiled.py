"""One update, compiled for the CPU: gather, normalize, forward, loss, backward, clip and optimizer as one function.

The update is written as the pure function that `functional` specifies and handed to `torch.compile`, which fuses its
elementwise work and leaves out the bookkeeping between operations. Compiling takes 5 to 20 seconds, so that only long
runs gain; `tuning` decides that.
"""

import shutil
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
from lamina.functional.losses import penalty
from lamina.functional.optimizers import Params, State, proximal_threshold, soft_threshold
from lamina.training.objective import Objective
from lamina.training.recipe import GD, SGD, Adam, MiniBatch, Recipe
from lamina.training.step import EagerStep, measured

LARGEST = 150
"""Layers up to which a network is compiled; beyond that it would take minutes."""

LOOPS = ("layers.cells", "layers.recurrent", "architectures.recurrent", "architectures.seq2seq", "architectures.ode")
"""Modules of Lamina whose layers repeat themselves over time, which a compiler would unroll."""

_NUMBERS = count()

MOMENTS = {"adam": ("exp_avg", "exp_avg_sq"), "momentum": ("momentum_buffer",), "gd": ()}


class CompiledStep(EagerStep):
    """The update of `EagerStep` through `torch.compile`; results agree within rounding.

    The last update before a look at the run is made eagerly: it may have fewer examples, and it leaves the gradients
    that the look shows. So is one that a watcher looks into.
    """

    kind = "compiled"
    backend = "inductor"

    def __init__(
        self, model: nn.Module, train: Source, validation: Source | None, objective: Objective, recipe: Recipe
    ) -> None:
        super().__init__(model, train, validation, objective, recipe)
        names = [name for name, p in model.named_parameters() if p.requires_grad]
        self._params = {name: p.detach() for name, p in zip(names, self.params, strict=True)}
        self._buffers = dict(model.named_buffers())
        self._count = torch.zeros((), dtype=torch.int64)
        self._table = torch.tensor(self.rates, dtype=torch.float64)
        # A change of a float64 tensor without axes is lost by the compiler (seen in torch 2.13): give them one axis.
        self._sums = [total.view(1) for total in (self.loss_sum, self.score_sum, self.ever)]
        record: Any = recipe.optimizer
        self._rule = "adam" if isinstance(record, Adam) else "momentum" if getattr(record, "momentum", 0) else "gd"
        states = [self.optimizer.state[p] for p in self.params]
        self._moments = tuple(
            {name: state[moment] for name, state in zip(names, states, strict=True)} for moment in MOMENTS[self._rule]
        )
        self._steps = [state["step"] for state in states if "step" in state]
        self._nesterov = isinstance(record, MiniBatch) and record.nesterov
        whole = MethodType(_copy(CompiledStep._update_all), self)
        self._whole = torch.compile(whole, backend=self.backend, fullgraph=True, dynamic=False)

    def __call__(self) -> None:
        """Make one update with the next batch."""
        end = self._cursor + self.batch_size
        if end >= len(self.order) or self.step + 1 == self.recipe.stopping.max_steps or self._watched():
            super().__call__()
            return
        self._count.fill_(self.step)
        with torch.no_grad():
            self._whole(self.order[self._cursor : end])
        self._cursor = end
        self._seen += self.batch_size
        self.step += 1

    def _update_all(self, indices: Tensor) -> None:
        """Make the whole update of the examples `indices`; what is compiled."""
        params, recipe = self._params, self.recipe
        inputs, targets = self.train.batch(indices, (recipe.seed, self._count))
        grads, (_, (loss, outputs, buffers)) = grad_and_value(self._total, has_aux=True)(
            params, self._buffers, inputs, targets
        )
        if recipe.clip.limit is not None:
            grads = clip(grads, recipe.clip.limit, recipe.clip.kind)
        updated, moments = self._updated(params, grads)
        if self._measure:
            self.norms.copy_(torch.stack(measured(list(grads.values()), list(params.values()), list(updated.values()))))
        for live, new in zip((params, self._buffers, *self._moments), (updated, buffers, *moments), strict=True):
            for name, value in new.items():
                live[name].copy_(value)
        for step in self._steps:
            step.add_(1)
        loss_sum, score_sum, ever = self._sums
        loss_sum.add_(loss.double() * len(indices))
        score_sum.add_(self.objective.score(outputs, targets))
        ever.add_(loss)
        self.good.add_(ever.isfinite().squeeze())

    def _total(
        self, params: Params, buffers: Params, inputs: Tensor, targets: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor, Params]]:
        """Return what is minimized; beside it the data loss, the outputs and the buffers after this pass."""
        buffers = {name: value.clone() for name, value in buffers.items()}
        with self._products:
            outputs = functional_call(self.model, {**params, **buffers}, (inputs.to(self._dtype),))
            outputs = outputs.float() if self._half else outputs
            loss = self.objective.loss(outputs, targets)
        total = loss
        if self._penalized:
            total = loss + penalty(params.values(), self.recipe.penalty.strength, self.recipe.penalty.norm)
        return total, (loss, outputs, buffers)

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
        if self._proximal:
            threshold = proximal_threshold(rate, self.recipe.penalty.strength, getattr(hyper, "momentum", 0.0))
            updated = {name: soft_threshold(value, threshold) for name, value in updated.items()}
        return updated, state.moments


def _copy(function: Any) -> FunctionType:
    """Give a function its own code, under its own name: torch compiles one and the same only 8 times in a process."""
    code = function.__code__.replace(co_name=f"{function.__name__}_{next(_NUMBERS)}")
    return FunctionType(code, function.__globals__)


def _hyper(record: Any, rate: Tensor) -> Any:
    """Give the numbers of a recipe's optimizer as the pure updates take them, with the rate as a tensor."""
    if isinstance(record, Adam):
        return pure.Adam(rate, record.beta1, record.beta2, record.eps)
    return pure.Momentum(rate, record.momentum) if getattr(record, "momentum", 0) else pure.GradientDescent(rate)


def why_not(model: nn.Module, train: Source, recipe: Recipe) -> str:
    """Say why an update is not compiled; empty when nothing is known against it.

    >>> from lamina.data.preprocess import Preprocess
    >>> from lamina.data.synthetic import moons
    >>> data = moons(20)
    >>> why_not(nn.LSTM(2, 2), Preprocess.fit(data).source(data), Recipe())
    'the network repeats a layer over time, which a compiler would unroll'
    """
    if shutil.which("g++") is None:
        return "there is no compiler (g++) on this machine"
    if isinstance(recipe.optimizer, GD) and recipe.optimizer.line_search:
        return "a line search asks after each trial whether the loss fell"
    if not isinstance(recipe.optimizer, GD | SGD | MiniBatch | Adam):
        return "the optimizer is not one of Lamina's"
    if train.inputs is None:
        return "the data are streamed"
    if any(isinstance(m, nn.RNNBase) or type(m).__module__.endswith(LOOPS) for m in model.modules()):
        return "the network repeats a layer over time, which a compiler would unroll"
    layers = sum(1 for m in model.modules() if not list(m.children()))
    if layers > LARGEST:
        return f"the network has {layers} layers, more than {LARGEST}, and would take minutes to compile"
    return ""


def make_compiled(
    model: nn.Module, train: Source, validation: Source | None, objective: Objective, recipe: Recipe
) -> EagerStep:
    """Compile the update of a network by making one; where that fails, give the eager step with the reason.

    Args:
        model: the network, on the CPU.
        train: the training examples.
        validation: the validation examples, or None.
        objective: what is minimized.
        recipe: how.
    """
    if train.device.type != "cpu":
        raise ArgumentError(
            f"a compiled step needs device='cpu', got {train.device.type!r}: use step='auto' or 'captured'."
        )
    reason = why_not(model, train, recipe)
    if not reason:
        step = CompiledStep(model, train, validation, objective, recipe)
        before = {name: value.clone() for name, value in step.state().items()}
        try:
            step.begin(0)
            step()
            return step
        except Exception as error:  # the compiler has many ways to give up, and none may end a run
            reason = f"the update cannot be compiled ({type(error).__name__}: {str(error).splitlines()[0][:200]})"
        finally:
            step.restore(before, 0)
    eager = EagerStep(model, train, validation, objective, recipe)
    eager.reason = reason
    return eager
