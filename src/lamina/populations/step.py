"""One update of a population: the step of `training.loop` with one value a member.

The body of an update takes no arguments and asks the host nothing: order, cursor, step number, rates and sums are
tensors on the device, so that the same body runs eagerly and captured in a CUDA graph. Tensors are never replaced, only
written to; `retire` is the exception and starts anew.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.func import vmap

from lamina._types import Tensor
from lamina.data.augment import augment
from lamina.data.source import Source
from lamina.functional.optimizers import State
from lamina.layers.dropout import mask_state
from lamina.populations.judge import Judge
from lamina.populations.losses import Losses
from lamina.populations.stacked import select_members
from lamina.populations.update import MOMENTS, make_update, numbers_of
from lamina.training.executors.recording import Recording
from lamina.training.learner import SHOWN_LAYERS
from lamina.training.order import epoch_order
from lamina.training.recipe import SGD, Recipe
from lamina.training.tasks.feed import batch_size, steps_per_epoch

EVALUATION_BATCH = 1000


class PopulationStep:
    """Updates K networks at once.

    Args:
        network: the stacked network, on its device.
        train: the training examples.
        validation: the validation examples, or None.
        losses: what each member minimizes.
        recipes: how each is trained; their kinds agree.
        finish: makes of kept examples what the network takes, as `Preprocess.finisher` gives it.
        labels: training targets [members, examples] where members have their own (label noise).
        shared_order: whether all take the batches of the first recipe's seed, or each those of its own.
        recording: where CUDA graphs are kept; None executes every update operation by operation.
    """

    kind = "population"

    def __init__(
        self,
        network: nn.Module,
        train: Source,
        validation: Source | None,
        losses: Losses,
        recipes: Sequence[Recipe],
        *,
        finish: Callable[[Tensor], Tensor],
        labels: Tensor | None = None,
        shared_order: bool = True,
        recording: Recording | None = None,
    ) -> None:
        first = recipes[0]
        self.reason = ""
        self.network, self.train, self.validation, self.losses = network, train, validation, losses
        self.recipe, self.finish, self.labels = first, finish, labels
        self.members = len(recipes)
        self.seeds = [recipe.seed for recipe in recipes]
        self.shared = shared_order or len(set(self.seeds)) == 1
        examples = len(train)
        self.batch_size, self.batches = batch_size(first, examples), steps_per_epoch(first, examples)
        # Alg. 3 draws every example independently.
        independent = isinstance(first.optimizer, SGD) and first.sampling == "epoch"
        self.sampling = "with-replacement" if independent else first.sampling
        self.device = next(network.parameters()).device
        self.dtype = next(network.parameters()).dtype
        self.step = 0
        self._half = first.precision == "bfloat16"
        self._products = torch.autocast(self.device.type, torch.bfloat16) if self._half else nullcontext()
        wanted = [recipe.stopping for recipe in recipes]
        self.measures = any(s.gradient_norm is not None or s.relative_step is not None for s in wanted)
        self.resident = train.inputs is not None
        self.recording = recording if self.resident and self.device.type == "cuda" else None
        self.numbers = numbers_of(recipes, self.device, self.batches)
        self._start()

    def _start(self) -> None:
        """Make everything that has one value a member, for as many members as there are now."""
        members, device = self.members, self.device

        def zeros(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.params: dict[str, Tensor] = {name: p for name, p in self.network.named_parameters() if p.requires_grad}
        moments = [{name: torch.zeros_like(p) for name, p in self.params.items()} for _ in range(self._moments)]
        self.state_of_optimizer = State(zeros(dtype=torch.int64), tuple(moments))
        self.loss_sum, self.score_sum, self.ever = zeros(members), zeros(members), zeros(members)
        self.good = zeros(members, dtype=torch.int64)
        self.norms = zeros(2, members)
        self.active, self.alive = (torch.ones(members, dtype=torch.bool, device=device) for _ in range(2))
        self.cursor = zeros(dtype=torch.int64)
        positions = len(epoch_order(len(self.train), self.batch_size, self.sampling, 0, 0))
        self.order = zeros(*([positions] if self.shared else [members, positions]), dtype=torch.int64)
        self._places = torch.arange(self.batch_size, device=device)
        self._seed = torch.tensor(self.seeds, dtype=torch.int64, device=device)
        left = self.recipe.epochs * self.batches - self.step
        self.update = make_update(self.params, self.state_of_optimizer, self.numbers, left)
        self.judge: Judge | None = None
        if self.losses.kind == "nll" and self.update.kind != "reference":
            self.judge = Judge(self._own() | {"alive": self.alive}, self.losses.weights, self.dtype)
        self.gradients: dict[str, Tensor] = {}
        self._replays: dict[tuple[int, bool], tuple[Callable[[], None], dict[str, Tensor]]] = {}
        self._position, self._seen = 0, 0

    @property
    def _moments(self) -> int:
        return MOMENTS[self.numbers.optimizer]

    def begin(self, epoch: int, batch: int = 0) -> None:
        """Lay out the order of an epoch; sums start anew unless the epoch is entered in the middle."""
        made: dict[int, Tensor] = {}
        for seed in self.seeds[:1] if self.shared else self.seeds:
            if seed not in made:
                made[seed] = epoch_order(len(self.train), self.batch_size, self.sampling, seed, epoch)
        self._host_order = made[self.seeds[0]] if self.shared else torch.stack([made[seed] for seed in self.seeds])
        self.order.copy_(self._host_order)
        self._position = batch * self.batch_size
        self.cursor.fill_(self._position)
        if batch == 0:
            self.loss_sum.zero_()
            self.score_sum.zero_()
        self._seen = min(self._position, self.order.shape[-1])
        self.network.train()
        if self.shared and not self.resident:
            rest = self._host_order[self._position :].split(self.batch_size)
            self.train.prefetch(rest, [(self.seeds[0], self.step + i) for i in range(len(rest))])

    def __call__(self) -> None:
        """Make one update of every member with its next batch."""
        size = min(self.batch_size, self.order.shape[-1] - self._position)
        last = self._position + size >= self.order.shape[-1] or self.step + 1 == self.recipe.stopping.max_steps
        self._run(size, last)
        self._position += size
        self._seen += size
        self.step += 1

    def _run(self, size: int, measured: bool) -> None:
        """Execute the body of an update, or replay it where it is recorded."""
        if self.recording is None:
            self.body(size, measured)
            return
        if (size, measured) not in self._replays:
            self._record(self.recording, size, measured)
        if self.recording is None:
            return
        replay, gradients = self._replays[size, measured]
        replay()
        if measured:
            self.gradients = gradients

    def _record(self, recording: Recording, size: int, measured: bool) -> None:
        """Record the body for batches of this size; where that fails, execute it and say why."""
        live = [*self.state().values(), self.cursor, self.state_of_optimizer.step]
        try:
            replay = recording.record(partial(self.body, size, measured), live)
        except RuntimeError as error:  # a part asks the host in the middle, or does what no graph can hold
            self.recording = None
            self.reason = f"the update cannot be captured ({str(error).splitlines()[0]})"
            self.body(size, measured)
            return
        self._replays[size, measured] = replay, self.gradients

    def body(self, size: int, measured: bool) -> None:
        """Make one update: nothing but tensors on the device.

        Args:
            size: how many examples the batch has.
            measured: whether gradients and norms are wanted afterwards.
        """
        inputs, targets = self._batch(size)
        with self._products:
            outputs = self.network(inputs)
            outputs = outputs.float() if self._half else outputs
        params = list(self.params.values())
        found = self._judged(outputs, targets, params) if self.judge else self._differentiated(outputs, targets, params)
        with torch.no_grad():
            before = [p.clone() for p in params] if self.measures and measured else []
            seen = self.update(dict(zip(self.params, found, strict=True)), self.alive, measured)
            if measured:
                self.gradients = seen
            if before:
                self._measure(params, before, seen)
            self.cursor.add_(size)

    def _judged(self, outputs: Tensor, targets: Tensor, params: list[Tensor]) -> tuple[Tensor, ...]:
        """Give the gradients; loss, score and counters are one call of compiled code."""
        assert self.judge is not None
        slope = self.judge(outputs.detach().flatten(2), targets)
        return torch.autograd.grad(outputs, params, slope.view_as(outputs), allow_unused=True, materialize_grads=True)

    def _differentiated(self, outputs: Tensor, targets: Tensor, params: list[Tensor]) -> tuple[Tensor, ...]:
        """Give the gradients of all members' losses and count."""
        losses = self.losses.losses(outputs, targets)
        found = torch.autograd.grad(losses.sum(), params, allow_unused=True, materialize_grads=True)
        with torch.no_grad():
            detached = losses.detach().double()
            self.loss_sum.add_(detached, alpha=len(outputs))
            self.score_sum.add_(self.losses.scores(outputs.detach(), targets))
            self.ever.add_(detached)
            finite = self.ever.isfinite()
            self.good.add_(finite)
            torch.logical_and(self.active, finite, out=self.alive)
        return found

    def _batch(self, size: int) -> tuple[Tensor, Tensor]:
        """Gather the next batch: inputs and targets laid out [batch, members or 1, ...]."""
        if not self.resident:
            return self._streamed(size)
        source: Any = self.train
        step, changes = self.state_of_optimizer.step, self.recipe.augment
        # A recording warms up by running the last batch twice, from a place where only one is left.
        places = (torch.arange(size, device=self.device) + self.cursor).clamp(max=self.order.shape[-1] - 1)
        index = self.order.index_select(-1, places)
        chosen = source.inputs.index_select(0, index.flatten())
        if self.shared:
            if changes is not None:
                chosen = augment(chosen, changes, self._seed[0], step)
            inputs = self.finish(chosen).to(self.dtype).unsqueeze(1)
            if self.labels is None:
                return inputs, source.targets.index_select(0, index).unsqueeze(1)
            return inputs, self.labels.index_select(1, index).long().mT
        chosen = chosen.unflatten(0, (self.members, size))
        if changes is not None:
            chosen = vmap(augment, in_dims=(0, None, 0, None))(chosen, changes, self._seed, step)
        inputs = self.finish(chosen.flatten(0, 1)).to(self.dtype).unflatten(0, (self.members, size)).transpose(0, 1)
        if self.labels is None:
            targets = source.targets.index_select(0, index.flatten()).unflatten(0, (self.members, size))
            return inputs, targets.transpose(0, 1)
        return inputs, self.labels.gather(1, index).long().mT

    def _streamed(self, size: int) -> tuple[Tensor, Tensor]:
        """Read the next batch from data that do not lie on the device."""
        index = self._host_order[..., self._position : self._position + size]
        pairs = [
            self.train.batch(each, (seed, self.step))
            for each, seed in zip(index.reshape(-1, size), self.seeds, strict=False)
        ]
        inputs = torch.stack([pair[0] for pair in pairs], 1).to(self.dtype)
        if self.labels is None:
            return inputs, torch.stack([pair[1] for pair in pairs], 1)
        there = index.to(self.device)
        chosen = self.labels.index_select(1, there) if self.shared else self.labels.gather(1, there)
        return inputs, chosen.long().mT

    def _measure(self, params: list[Tensor], before: list[Tensor], grads: dict[str, Tensor]) -> None:
        """Write the norm of the gradient and the relative step of every member."""

        def norm(tensors: Sequence[Tensor]) -> Tensor:
            return torch.stack([t.double().square().flatten(1).sum(1) for t in tensors]).sum(0).sqrt()

        moved = norm([p - b for p, b in zip(params, before, strict=True)])
        tiny = torch.finfo(torch.float64).tiny
        self.norms.copy_(torch.stack([norm(list(grads.values())), moved / norm(before).clamp(min=tiny)]))

    def totals(self) -> dict[str, Any]:
        """Return lists with one value a member: mean loss and score over the epoch so far, rates and gradients."""
        rate = self.numbers.now(self.state_of_optimizer.step - 1)
        loss, score = (torch.stack([self.loss_sum, self.score_sum]) / max(1, self._seen)).tolist()
        row: dict[str, Any] = {"loss": loss, self.metric: score, "learning_rate": rate.tolist()}
        if self.measures:
            row["gradient_norm"], row["relative_step"] = self.norms.tolist()
        return row | {"gradients": self._gradients()}

    @property
    def metric(self) -> str:
        """Name the score per example."""
        return "mse" if self.losses.kind == "mse" else "accuracy"

    def _gradients(self) -> dict[str, list[float]]:
        """Return the norms of the last gradients of weights, as in a single run."""
        named = [(name, g) for name, g in self.gradients.items() if name.endswith("weight")]
        if len(named) > SHOWN_LAYERS:
            named = [named[round(i * (len(named) - 1) / (SHOWN_LAYERS - 1))] for i in range(SHOWN_LAYERS)]
        if not named:
            return {}
        norms = [torch.linalg.vector_norm(g.reshape(len(g), -1), dim=1, dtype=torch.float64) for _, g in named]
        return dict(zip((name.removesuffix(".weight") for name, _ in named), torch.stack(norms).tolist(), strict=True))

    @torch.no_grad()
    def evaluate(self) -> dict[str, list[float]]:
        """Return loss and score of every member on the validation examples."""
        if self.validation is None or not len(self.validation):
            return {}
        self.network.eval()
        sums = torch.zeros(2, self.members, dtype=torch.float64, device=self.device)
        for indices in torch.arange(len(self.validation)).split(self.evaluation_batch):
            inputs, targets = (part.unsqueeze(1) for part in self.validation.batch(indices, None))
            outputs = self.network(inputs.to(self.dtype))
            sums[0] += self.losses.losses(outputs, targets).double() * len(indices)
            sums[1] += self.losses.scores(outputs, targets)
        loss, score = (sums / len(self.validation)).tolist()
        return {"validation_loss": loss, f"validation_{self.metric}": score}

    @property
    def evaluation_batch(self) -> int:
        """How many examples are evaluated at a time; what a forward pass keeps is less than what training keeps."""
        return min(EVALUATION_BATCH, max(self.batch_size, 2**16 // self.members))

    def first_bad_step(self) -> list[int | None]:
        """Return for every member the number of the first step whose loss was not finite; None while all are well."""
        ever, good = self.ever.isfinite().tolist(), self.good.tolist()
        return [None if fine else number for fine, number in zip(ever, good, strict=True)]

    def state(self) -> dict[str, Tensor]:
        """Return the live tensors, by name, that a resume must bring back."""
        tensors = {f"model/{name}": t for name, t in self.network.state_dict().items()}
        tensors |= {f"masks/{name}": t for name, t in mask_state(self.network).items()}
        for number, moment in enumerate(self.state_of_optimizer.moments):
            tensors |= {f"optimizer/{number}/{name}": t for name, t in moment.items()}
        own = ("loss_sum", "score_sum", "ever", "good", "norms", "active")
        return tensors | {f"step/{name}": getattr(self, name) for name in own}

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor], step: int) -> None:
        """Copy a saved state into the live tensors."""
        live = self.state()
        for name, value in tensors.items():
            live[name].copy_(value)
        self.state_of_optimizer.step.fill_(step)
        self.step = step

    def freeze(self, members: Sequence[int]) -> None:
        """Leave members as they are from now on."""
        if members:
            self.active[torch.tensor(list(members), device=self.device)] = False

    @torch.no_grad()
    def retire(self, members: Sequence[int]) -> list[int]:
        """Drop members from the stack, at a check; the others go on as if nothing had happened.

        Returns:
            The numbers, before, of those that stay.
        """
        gone = set(members)
        stay = [k for k in range(self.members) if k not in gone]
        keep = torch.tensor(stay, dtype=torch.int64, device=self.device)
        kept, at = {name: t[:, keep] if name == "norms" else t[keep] for name, t in self._own().items()}, self.step
        moments = [{name: t[keep] for name, t in moment.items()} for moment in self.state_of_optimizer.moments]
        select_members(self.network, keep)
        self.numbers = self.numbers.select(keep)
        self.labels = None if self.labels is None else self.labels[keep]
        self.losses = self.losses.select(keep)
        self.seeds = [self.seeds[0]] * len(stay) if self.shared else [self.seeds[k] for k in stay]
        self.members = len(stay)
        self._start()
        self.state_of_optimizer.step.fill_(at)
        for name, value in kept.items():
            getattr(self, name).copy_(value)
        for mine, values in zip(self.state_of_optimizer.moments, moments, strict=True):
            for name, value in values.items():
                mine[name].copy_(value)
        return stay

    def _own(self) -> dict[str, Tensor]:
        return {name: getattr(self, name) for name in ("loss_sum", "score_sum", "ever", "good", "norms", "active")}
