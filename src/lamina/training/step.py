"""One update, executed eagerly: take a batch, compute loss and gradient, change the parameters.

A step owns everything that changes while training, as live tensors under fixed names (`state`), so that a checkpoint
is a copy of them and a resume copies them back. Nothing in it waits for the device: sums and the latch for numbers that
are no longer finite stay tensors until `totals` is asked for. `captured` replays the same update without Python.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

from lamina._types import Tensor
from lamina.data.source import Source
from lamina.functional.clipping import clip
from lamina.functional.losses import penalty
from lamina.functional.optimizers import proximal_threshold, soft_threshold
from lamina.layers.dropout import mask_state
from lamina.training.fused import Fused, FusedAdam, FusedSGD
from lamina.training.line_search import armijo
from lamina.training.objective import Objective
from lamina.training.order import epoch_order
from lamina.training.recipe import GD, SGD, Adam, MiniBatch, Recipe
from lamina.training.schedules import rates
from lamina.training.watching import Watcher

EVALUATION_BATCH = 1000
SHOWN_LAYERS = 64


class EagerStep:
    """The update that any device can run and every other kind must equal.

    Args:
        model: the network, on its device.
        train: the training examples.
        validation: the validation examples, or None.
        objective: what is minimized.
        recipe: how.
    """

    kind = "eager"
    reason = ""
    """Why the update is executed in this way, if that is not a matter of course."""

    def __init__(
        self, model: nn.Module, train: Source, validation: Source | None, objective: Objective, recipe: Recipe
    ) -> None:
        self.model, self.train, self.validation, self.objective, self.recipe = (
            model,
            train,
            validation,
            objective,
            recipe,
        )
        examples, record = len(train), recipe.optimizer
        self.batch_size = batch_size(recipe, examples)
        # Alg. 3 draws every example independently.
        self.sampling = (
            "with-replacement" if isinstance(record, SGD) and recipe.sampling == "epoch" else recipe.sampling
        )
        self.batches = steps_per_epoch(recipe, examples)
        self.params = [p for p in model.parameters() if p.requires_grad]
        device = self.params[0].device if self.params else torch.device("cpu")
        self.optimizer = self._make_optimizer()
        base = float(self.optimizer.param_groups[0]["lr"])
        self.rates = rates(recipe.schedule, base, recipe.epochs * self.batches, self.batches).tolist()
        self.step = 0
        self.rate: float | Tensor = self.optimizer.param_groups[0]["lr"]
        self.loss_sum, self.score_sum = (torch.zeros((), dtype=torch.float64, device=device) for _ in range(2))
        self.ever = torch.zeros(
            (), dtype=torch.float64, device=device
        )  # all losses since the start: not finite once one was
        self.good = torch.zeros((), dtype=torch.int64, device=device)  # steps until then
        self.trial = torch.tensor(base, dtype=torch.float64)  # line search: the last accepted step size
        self.norms = torch.zeros(2, dtype=torch.float64, device=device)  # gradient, relative step
        wanted = recipe.stopping
        self._measure = wanted.gradient_norm is not None or wanted.relative_step is not None
        self._line_search = isinstance(record, GD) and record.line_search
        # The proximal step gives exact zeros. Adam has none: see `Penalty`.
        self._proximal = (
            recipe.penalty.norm == 1 and recipe.penalty.strength > 0 and isinstance(record, GD | SGD | MiniBatch)
        )
        self._half = recipe.precision == "bfloat16"
        self._products = torch.autocast(device.type, torch.bfloat16) if self._half else nullcontext()
        self._penalized = recipe.penalty.strength > 0 and not self._proximal
        self._dtype = recipe.dtype
        self.order = torch.empty(0, dtype=torch.int64)
        self.watchers: list[Watcher] = []

    def begin(self, epoch: int, batch: int = 0) -> None:
        """Lay out the order of an epoch; sums start anew unless the epoch is entered in the middle."""
        order = epoch_order(len(self.train), self.batch_size, self.sampling, self.recipe.seed, epoch)
        self.order = order.to(self.ever.device)
        self._cursor = batch * self.batch_size
        if batch == 0:
            self.loss_sum.zero_()
            self.score_sum.zero_()
            self._seen = 0
        else:
            self._seen = min(self._cursor, len(order))
        self.model.train()
        rest = self.order[self._cursor :].split(self.batch_size)
        self.train.prefetch(rest, [(self.recipe.seed, self.step + i) for i in range(len(rest))])

    def __call__(self) -> None:
        """Make one update with the next batch."""
        indices = self.order[self._cursor : self._cursor + self.batch_size]
        self._cursor += self.batch_size
        inputs, targets = self.train.batch(indices, (self.recipe.seed, self.step))
        self.rate = self.rates[min(self.step, len(self.rates) - 1)]
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate
        with self._seen_by_watchers():
            self._update(inputs, targets)
        self._seen += len(indices)
        self.step += 1

    def watch(self, watcher: Watcher) -> None:
        """Let an observer look into the updates that it asks for; to be said before the first one."""
        watcher.attach(self.model)
        self.watchers.append(watcher)

    def _watched(self) -> bool:
        """Say whether somebody looks into the next update."""
        return bool(self.watchers) and any(watcher.due(self.step) for watcher in self.watchers)

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """Make an update with all watchers looking."""
        with ExitStack() as stack:
            for watcher in self.watchers:
                stack.enter_context(watcher.looking())
            yield

    def _keep(self) -> None:
        """Let those keep what they saw who wanted to see this update, the next to be counted."""
        for watcher in self.watchers:
            if watcher.due(self.step):
                watcher.keep(self.step + 1)

    @contextmanager
    def _seen_by_watchers(self) -> Iterator[None]:
        """Make an update, with watchers looking if one asks for it."""
        watched = self._watched()
        with self._looking() if watched else nullcontext():
            yield
        if watched:
            self._keep()

    def by_hand(self) -> None:
        """From now on run every operation by itself, so that hooks see it, and no watcher; for a diagnosis."""
        self.watchers.clear()

    def _make_optimizer(self) -> Fused | torch.optim.Optimizer:
        return make_optimizer(self.recipe, self.params)

    def _update(self, inputs: Tensor, targets: Tensor) -> None:
        """Compute loss and gradient, change the parameters and count; all of it on the device."""
        outputs, loss = self._forward(inputs, targets)
        total = loss + self._penalty() if self._penalized else loss
        self.optimizer.zero_grad(set_to_none=True)
        total.backward()
        with torch.no_grad():
            self.loss_sum.add_(loss, alpha=len(inputs))
            self.score_sum.add_(self.objective.score(outputs, targets))
            self.ever.add_(loss)
            self.good.add_(self.ever.isfinite())
            self._change(inputs, targets, total)

    def _forward(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return the outputs of the network and their mean loss."""
        with self._products:
            outputs = self.model(inputs.to(self._dtype))
            outputs = outputs.float() if self._half else outputs
            return outputs, self.objective.loss(outputs, targets)

    def _change(self, inputs: Tensor, targets: Tensor, total: Tensor) -> None:
        """Change the parameters along the gradient."""
        if self.recipe.clip.limit is not None:
            self._clip(self.recipe.clip.limit)
        before = [p.clone() for p in self.params] if self._measure else []
        if self._line_search:
            self._search(inputs, targets, total.detach())
        else:
            self.optimizer.step()
            if self._proximal:
                momentum = getattr(self.recipe.optimizer, "momentum", 0.0)
                threshold = proximal_threshold(self.rate, self.recipe.penalty.strength, momentum)
                for p in self.params:
                    p.copy_(soft_threshold(p, threshold))
        if before:
            grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in self.params]
            self.norms.copy_(torch.stack(measured(grads, before, self.params)))

    def _penalty(self) -> Tensor:
        return penalty(self.params, self.recipe.penalty.strength, self.recipe.penalty.norm)

    def _clip(self, limit: float) -> None:
        grads = {str(i): p.grad for i, p in enumerate(self.params) if p.grad is not None}
        for name, clipped in clip(grads, limit, self.recipe.clip.kind).items():
            grads[name].copy_(clipped)

    def _search(self, inputs: Tensor, targets: Tensor, value: Tensor) -> None:
        def loss() -> Tensor:
            _, value = self._forward(inputs, targets)
            return value + self._penalty() if self.recipe.penalty.strength else value

        grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in self.params]
        start = float(value + self._penalty() if self._proximal else value)
        first = 2 * float(self.trial) or float(self.rate)  # where no step was accepted, the next search begins anew
        strength = self.recipe.penalty.strength if self._proximal else 0.0
        self.trial.fill_(armijo(loss, self.params, grads, start, first, strength))

    def totals(self) -> dict[str, Any]:
        """Return the mean loss and score over the epoch so far, and what stopping rules asked for."""
        loss, score = (torch.stack([self.loss_sum, self.score_sum]) / max(1, self._seen)).tolist()
        row = {
            "loss": loss,
            self.objective.metric: score,
            "learning_rate": self.rates[min(self.step, len(self.rates)) - 1],
        }
        if self._line_search:
            row["learning_rate"] = float(self.trial)
        if self._measure:
            row["gradient_norm"], row["relative_step"] = self.norms.tolist()
        return row | {"gradients": self._gradients()}

    def _gradients(self) -> dict[str, float]:
        """Return the norm of the last gradient of every weight (of 64 evenly spaced ones in a very deep network)."""
        named = [(n, p.grad) for n, p in self.model.named_parameters() if p.grad is not None and n.endswith("weight")]
        if len(named) > SHOWN_LAYERS:
            named = [named[round(i * (len(named) - 1) / (SHOWN_LAYERS - 1))] for i in range(SHOWN_LAYERS)]
        norms = torch.stack([g.double().norm() for _, g in named]).tolist() if named else []
        return {name.removesuffix(".weight"): norm for (name, _), norm in zip(named, norms, strict=True)}

    def evaluate(self) -> dict[str, float]:
        """Return loss and score on the validation examples."""
        if self.validation is None or not len(self.validation):
            return {}
        loss, score = mean_loss_and_score(self.model, self.validation, self.objective)
        return {"validation_loss": loss, f"validation_{self.objective.metric}": score}

    def first_bad_step(self) -> int | None:
        """Return the number of the first step whose loss was not finite; None while all are well."""
        return None if bool(self.ever.isfinite()) else int(self.good)

    def state(self) -> dict[str, Tensor]:
        """Return the live tensors, by name, that a resume must bring back."""
        tensors = {f"model/{name}": t for name, t in self.model.state_dict().items()}
        tensors |= {f"masks/{name}": t for name, t in mask_state(self.model).items()}
        for index, parameter in enumerate(self.params):
            for name, value in self.optimizer.state.get(parameter, {}).items():
                if isinstance(value, Tensor):
                    tensors[f"optimizer/{index}/{name}"] = value
        own = ("loss_sum", "score_sum", "ever", "good", "trial", "norms")
        return tensors | {f"step/{name}": getattr(self, name) for name in own}

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor], step: int) -> None:
        """Copy a saved state into the live tensors; an optimizer that has none yet gets them."""
        live = self.state()
        missing: dict[int, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            part, _, rest = name.partition("/")
            if name not in live and part == "model":
                name = f"masks/{rest}"  # as version 0.1 wrote them
            if name in live:
                live[name].copy_(value)
            elif part == "optimizer":
                index, _, key = rest.partition("/")
                missing.setdefault(int(index), {})[key] = value.clone()
        if missing and isinstance(self.optimizer, torch.optim.Optimizer):  # one that makes its state in its first step
            saved = self.optimizer.state_dict()
            self.optimizer.load_state_dict({**saved, "state": {**saved["state"], **missing}})
        self.step = step


def batch_size(recipe: Recipe, examples: int) -> int:
    """Return how many examples a step takes: all, one, or what the recipe says."""
    if isinstance(recipe.optimizer, GD):
        return examples
    return 1 if isinstance(recipe.optimizer, SGD) else min(recipe.batch_size, examples)


def steps_per_epoch(recipe: Recipe, examples: int) -> int:
    """Return how many updates make an epoch; the last batch of a shuffled epoch may be shorter."""
    size = batch_size(recipe, examples)
    return -(-examples // size) if recipe.sampling == "epoch" else max(1, examples // size)


def make_optimizer(recipe: Recipe, params: list[nn.Parameter]) -> Fused | torch.optim.Optimizer:
    """Make the optimizer of a recipe; tests bind it to `functional.optimizers` and to `torch.optim`."""
    record: Any = recipe.optimizer
    if isinstance(record, Adam):
        return FusedAdam(params, record.learning_rate, (record.beta1, record.beta2), record.eps)
    if isinstance(record, MiniBatch):
        return FusedSGD(params, record.learning_rate, record.momentum, record.nesterov)
    if isinstance(record, GD | SGD):
        return FusedSGD(params, record.learning_rate)
    made: torch.optim.Optimizer = record(params)
    return made


@torch.no_grad()
def mean_loss_and_score(model: nn.Module, source: Source, objective: Objective) -> tuple[float, float]:
    """Evaluate a network on all examples of a source; no example is padded or counted twice."""
    model.eval()
    dtype = next(model.parameters()).dtype
    sums = torch.zeros(2, dtype=torch.float64)
    batches = torch.arange(len(source)).split(EVALUATION_BATCH)
    source.prefetch(batches)
    for indices in batches:
        inputs, targets = source.batch(indices, None)
        outputs = model(inputs.to(dtype))
        pair = torch.stack([objective.loss(outputs, targets) * len(indices), objective.score(outputs, targets)])
        sums = sums.to(pair.device) + pair.double()
    loss, score = (sums / len(source)).tolist()
    return loss, score


def measured(grads: Sequence[Tensor], before: Sequence[Tensor], after: Sequence[Tensor]) -> list[Tensor]:
    """Return the norm of the gradient and that of the step relative to the parameters, which stopping rules ask for."""

    def norm(tensors: Sequence[Tensor]) -> Tensor:
        return torch.stack([t.double().square().sum() for t in tensors]).sum().sqrt()

    moved = norm([p - b for p, b in zip(after, before, strict=True)])
    return [norm(grads), moved / norm(before).clamp(min=torch.finfo(torch.float64).tiny)]
