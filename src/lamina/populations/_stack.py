"""K networks on their way as one: the learner of `training.learner` with one value per member.

The update is that of one network, with K losses, K sums and the members along the first axis of every parameter. Its
body takes no arguments and asks the host nothing: order, cursor, step number, rates and sums are tensors on the device,
so that it runs eagerly and recorded. Tensors are never replaced, only written to; `retire` makes a new stack.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, cast

import torch
from torch import nn
from torch.func import vmap

from lamina._types import Tensor
from lamina.data.augment import augment
from lamina.data.mixing import joined, mixed
from lamina.data.source import Source
from lamina.functional.optimizers import State, per_member, proximal_threshold, soft_threshold
from lamina.kernels.judge import Judge
from lamina.kernels.ordered import squares_of_members
from lamina.kernels.update import NativeUpdate
from lamina.layers.dropout import mask_state
from lamina.populations._forms import CompiledUpdate, make_update
from lamina.populations._losses import Losses
from lamina.populations._passes import is_plain, passes_of
from lamina.populations._update import MOMENTS, Numbers, _numbers_of
from lamina.populations.stacked import _select_members
from lamina.training.averaging import average_of
from lamina.training.change import measured, partway
from lamina.training.executors.recording import Graphs, Recording
from lamina.training.learner import shown
from lamina.training.recipe import Recipe
from lamina.training.tasks.feed import CHECK_BATCH, Feed, epoch_order
from lamina.training.update import Grads, Update

_CHECKED = 256  # validation examples at a time, unless batches are larger


class StackFeed(Feed):
    """Batches laid out [batch, members or 1, ...]: the same for all members, or each member its own.

    Args:
        source: the training examples.
        recipes: one per member.
        finish: makes of kept examples what the network takes, as `Preprocess.finisher` gives it.
        labels: training targets [members, examples] where members have their own (label noise).
        shared: whether all take the batches of the first recipe's seed, or each those of its own.
    """

    def __init__(
        self,
        source: Source,
        recipes: Sequence[Recipe],
        finish: Callable[[Tensor], Tensor],
        labels: Tensor | None = None,
        shared: bool = True,
    ) -> None:
        super().__init__(source, recipes[0])
        self.finish, self.labels, self.members = finish, labels, len(recipes)
        self.seeds = [recipe.seed for recipe in recipes]
        self.shared = shared or len(set(self.seeds)) == 1
        self._seed = torch.tensor(self.seeds, dtype=torch.int64, device=self.device)
        self.place, self.now = (torch.zeros((), dtype=torch.int64, device=self.device) for _ in range(2))
        self.orders = self._laid_out(0).to(self.device)

    def _laid_out(self, epoch: int) -> Tensor:
        made = {
            seed: epoch_order(len(self.source), self.batch_size, self.sampling, seed, epoch)
            for seed in (self.seeds[:1] if self.shared else self.seeds)
        }
        return made[self.seeds[0]] if self.shared else torch.stack([made[seed] for seed in self.seeds])

    def begin(self, epoch: int, batch: int, step: int) -> None:
        """Lay out the orders of an epoch in the tensors that a recorded update reads."""
        self.order = self._laid_out(epoch)
        self.orders.copy_(self.order)
        self.cursor = self.seen = min(batch * self.batch_size, self.order.shape[-1])
        self.place.fill_(self.cursor)
        self.now.fill_(step)
        if self.shared and not self.gathers:
            rest = self.order[self.cursor :].split(self.batch_size)
            self.source.prefetch(rest, [(self.seeds[0], step + i) for i in range(len(rest))])

    @property
    def size(self) -> int:
        return min(self.batch_size, self.order.shape[-1] - self.cursor)

    def gather(self, size: int) -> tuple[Tensor, Tensor]:
        """Gather the next batch on the device."""
        source, changes = self.source, self.recipe.augment
        assert source.inputs is not None and source.targets is not None
        # A recording warms up by running the last batch twice, from a place where only one is left.
        places = (torch.arange(size, device=self.device) + self.place).clamp(max=self.orders.shape[-1] - 1)
        index = self.orders.index_select(-1, places)
        chosen = source.inputs.index_select(0, index.flatten())
        targets = self._targets(index)
        if changes is None:
            inputs = self.finish(chosen).unflatten(0, (size,) if self.shared else (self.members, size))
        else:
            if self.shared:
                inputs, share = self._changed(chosen, self._seed[0])
            else:
                inputs, share = vmap(self._changed)(chosen.unflatten(0, (self.members, size)), self._seed)
            targets = joined(targets, share, axes=2) if changes.mixes else targets
        inputs = inputs.to(self.recipe.dtype)
        return inputs.unsqueeze(1) if self.shared else inputs.transpose(0, 1), targets

    def _changed(self, chosen: Tensor, seed: Tensor) -> tuple[Tensor, Tensor]:
        """Change and finish the examples of a batch; and give the share of each in it."""
        changes = self.recipe.augment
        assert changes is not None
        chosen = augment(chosen, changes, seed, self.now) if changes.alone else chosen
        return mixed(chosen, changes, self.finish, seed, self.now)

    def _targets(self, index: Tensor) -> Tensor:
        """Give the targets of examples [batch] or [members, batch], laid out as the inputs are."""
        targets = self.source.targets
        if self.labels is not None:
            chosen = self.labels.index_select(1, index) if self.shared else self.labels.gather(1, index)
            return chosen.long().mT
        assert targets is not None
        if self.shared:
            return targets.index_select(0, index).unsqueeze(1)
        return targets.index_select(0, index.flatten()).unflatten(0, index.shape).transpose(0, 1)

    def next(self, step: int) -> tuple[Tensor, Tensor]:
        """Read the next batch from data that do not lie on the device."""
        index = self.order[..., self.cursor : self.cursor + self.size]
        seeds = zip(index.reshape(-1, index.shape[-1]), self.seeds, strict=False)
        pairs = [self.source.batch(each, (seed, step)) for each, seed in seeds]
        inputs = torch.stack([pair[0] for pair in pairs], 1).to(self.recipe.dtype)
        if self.labels is None:
            return inputs, torch.stack([pair[1] for pair in pairs], 1)
        targets, changes = self._targets(index.to(self.device)), self.recipe.augment
        if changes is None or not changes.mixes:
            return inputs, targets
        share = torch.stack([pair[1][0, -1] for pair in pairs])
        return inputs, joined(targets, share[0] if self.shared else share, axes=2)

    def outputs(self, model: Any, inputs: Tensor, targets: Tensor) -> Tensor:
        """Call the stacked network."""
        outputs: Tensor = model(inputs)
        return outputs


class StackMoving:
    """Moves the parameters of all members that live, each by its own numbers; see `populations.update`.

    Args:
        network: the stacked network.
        numbers: the members' numbers.
        measures: whether a stopping rule asks for the norms of steps.
        depths: how far the stage of each parameter is from the outputs, as `freezing.stage_depths` says.
    """

    def __init__(self, network: nn.Module, numbers: Numbers, measures: bool, depths: Mapping[str, float]) -> None:
        self.named: dict[str, Tensor] = {name: p for name, p in network.named_parameters() if p.requires_grad}
        self.numbers, self.measures, self.depths = numbers, measures, depths
        device, members = numbers.rate.device, len(numbers.rate)
        moments = [{name: torch.zeros_like(p) for name, p in self.named.items()} for _ in range(self._moments)]
        self.optimizer = State(torch.zeros((), dtype=torch.int64, device=device), tuple(moments))
        self.norms = torch.zeros(2, members, dtype=torch.float64, device=device)
        self.active, self.alive = (torch.ones(members, dtype=torch.bool, device=device) for _ in range(2))
        self.measured, self.seen = False, dict[str, Tensor]()
        self.begun: dict[str, Tensor] | None = None  # the gradients by which all were changed already
        self.ever = torch.zeros(members, device=device)  # all losses of the update that this is part of
        # Slower stages take their share of the optimizer's step before the proximal one, which then comes after both.
        self.last = numbers.stage is not None and numbers.proximal and numbers.penalty is not None
        made = replace(numbers, penalty=None) if self.last else numbers
        self.update = make_update(self.named, self.optimizer, made)

    @property
    def _moments(self) -> int:
        return MOMENTS[self.numbers.optimizer]

    @property
    def by_member(self) -> bool:
        """Whether each member may be changed as soon as its gradients are there."""
        native = isinstance(getattr(self.update, "form", None), NativeUpdate)
        return native and not self.measures and self.numbers.stage is None

    def begin(self, grads: Sequence[Tensor]) -> tuple[Any, Any]:
        """Say what changes a member, to be called for each that has its gradients in these tensors."""
        form = cast(NativeUpdate, cast(CompiledUpdate, self.update).form)
        change, self.begun = form.begin(dict(zip(self.named, grads, strict=True)), self.alive, self.measured)
        return form.change_member, change

    def forget(self) -> None:
        """Need nothing: gradients are values here."""

    def __call__(self, grads: Grads, loss: Tensor | None, again: Callable[[], Tensor]) -> None:
        """Change the parameters of the members that live."""
        if loss is not None:
            torch.logical_and(self.active, self.ever.isfinite(), out=self.alive)
        params = list(self.named.values())
        measures, slowed = self.measures and self.measured, self.numbers.stage is not None
        before = [p.clone() for p in params] if measures or slowed else []
        named: Any = dict(zip(self.named, grads, strict=True))
        rate = self.numbers.now(self.optimizer.step) if slowed else None
        seen = self.update(named, self.alive, self.measured) if self.begun is None else self.begun
        self.begun = None
        if rate is not None:
            self._slow(before, rate)
        if self.measured:
            self.seen = seen
        if measures:
            self.norms.copy_(torch.stack(measured(list(seen.values()), before, params, members=True)))

    def _slow(self, before: Sequence[Tensor], rate: Tensor) -> None:
        """Take back the part of the step that is not a member's share of it; as `training.change` does."""
        numbers = self.numbers
        assert numbers.stage is not None
        for (name, p), start in zip(self.named.items(), before, strict=True):
            share = numbers.stage ** self.depths[name]
            new = partway(start, p, per_member(share, p))
            if self.last and numbers.penalty is not None:
                threshold = proximal_threshold(rate * share, numbers.penalty, numbers.momentum)
                alive = self.alive.reshape(-1, *(1,) * (p.ndim - 1))
                new = torch.where(alive, soft_threshold(new, threshold), start)
            p.copy_(new)

    def state(self) -> dict[str, Tensor]:
        """Give the live tensors by name."""
        moments = enumerate(self.optimizer.moments)
        tensors = {f"optimizer/{number}/{name}": t for number, moment in moments for name, t in moment.items()}
        return tensors | {"step/norms": self.norms, "step/active": self.active}


class Stack:
    """K networks, their batches, and everything that changes while they are trained.

    Args:
        network: the stacked network, on its device.
        feed: the training examples.
        validation: the validation examples, or None.
        losses: what each member minimizes.
        recipes: how each is trained; their kinds agree.
        recording: where CUDA graphs are kept; None executes every operation by itself.
        before: the stack whose members go on here, if there was one.
        keep: which of them.
        depths: how far the stage of each parameter is from the outputs; needed where a recipe has a `stage_rate`.
    """

    kind = "stacked"

    def __init__(
        self,
        network: nn.Module,
        feed: StackFeed,
        validation: Source | None,
        losses: Losses,
        recipes: Sequence[Recipe],
        recording: Recording | None = None,
        before: "Stack | None" = None,
        keep: Tensor | None = None,
        depths: Mapping[str, float] | None = None,
    ) -> None:
        self.model, self.feed, self.validation, self.losses = network, feed, validation, losses
        self.recipes, self.recipe, self.members, self.batches = list(recipes), recipes[0], len(recipes), feed.batches
        self.step, self.device = 0, feed.device
        numbers = _numbers_of(recipes, self.device, feed.batches)
        measures = any(recipe.stopping.measures for recipe in recipes)
        if before is not None and keep is not None:
            old: StackMoving = before.change
            self.step, numbers, measures, depths = before.step, old.numbers.select(keep), old.measures, old.depths
        self.change: StackMoving = StackMoving(network, numbers, measures, depths or {})
        self.update = Update(network, feed, losses, self.recipe, self.change, _together, self.members)
        self.change.ever = self.update.ever
        self.average = average_of(network, recipes, feed.batches, stacked=True)
        compiled = self.change.update.kind != "reference"
        self.passes = passes_of(network, self._counters(), losses, self.recipe) if compiled else None
        if self.passes is not None:
            self.update.differentiate = self.passes.differentiate
            self.passes.then = partial(self.change.begin, self.passes.grads) if self.change.by_member else None
        elif compiled and is_plain(losses, "nll"):
            judge = Judge(self._counters(), losses.weights, self.recipe.dtype, losses.smoothing)
            self.update.differentiate = partial(_judged, judge)
        recorded = recording is not None and feed.gathers
        self.graphs = Graphs(self._changed, lambda: self.change.seen, recording) if recorded else None

    @property
    def reason(self) -> str:
        """Why updates are executed as they are."""
        return self.graphs.reason if self.graphs else ""

    def _counters(self) -> dict[str, Tensor]:
        """Give what compiled code counts."""
        update, change = self.update, self.change
        names = ("loss_sum", "score_sum", "ever", "good")
        return {name: getattr(update, name) for name in names} | {"active": change.active, "alive": change.alive}

    def _examiner(self, sums: Tensor) -> Callable[[Tensor, Tensor], Any] | None:
        """Give what adds losses and scores to sums [2, members] as in training, where compiled code judges there."""
        if self.update.differentiate is _together:
            return None
        spare = {name: torch.zeros_like(t) for name, t in self._counters().items()}
        counters = spare | {"loss_sum": sums[0], "score_sum": sums[1]}
        if self.passes is not None:
            return partial(self.passes, judging=self.passes.judged_by(counters))
        judge = Judge(counters, self.losses.weights, self.recipe.dtype)
        return lambda inputs, targets: judge(self.model(inputs).flatten(2), targets)

    def _changed(self) -> list[Tensor]:
        return [*self.state().values(), self.feed.place, self.feed.now, self.change.optimizer.step]

    def begin(self, epoch: int, batch: int = 0) -> None:
        """Lay out the batches of an epoch; sums start anew unless the epoch is entered in the middle."""
        self.feed.begin(epoch, batch, self.step)
        if batch == 0:
            self.update.begin()
        self.model.train()

    def __call__(self) -> None:
        """Make one update of every member with its next batch."""
        feed = self.feed
        size = feed.size
        last = feed.cursor + size >= feed.order.shape[-1] or self.step + 1 == self.recipe.stopping.max_steps
        body = partial(self.body, size, last)
        if self.graphs is None:
            body()
        else:
            seen = self.graphs((size, last), body)
            self.change.seen = seen if last else self.change.seen
        feed.cursor += size
        feed.seen += size
        self.step += 1
        if self.average is not None:
            self.average(self.step)

    def body(self, size: int, measured: bool) -> None:
        """Make one update: nothing but tensors on the device, where the data lie there."""
        self.change.measured = measured
        self.update(*(self.feed.gather(size) if self.feed.gathers else self.feed.next(self.step)))
        self.feed.place.add_(size)
        self.feed.now.add_(1)

    def totals(self) -> dict[str, Any]:
        """Return lists with one value per member: mean loss and score over the epoch so far, rates and gradients."""
        update, change = self.update, self.change
        rate = change.numbers.now(change.optimizer.step - 1)
        loss, score = (torch.stack([update.loss_sum, update.score_sum]) / max(1, self.feed.seen)).tolist()
        row: dict[str, Any] = {"loss": loss, **self.losses.scores(score), "learning_rate": rate.tolist()}
        if change.measures:
            row["gradient_norm"], row["relative_step"] = change.norms.tolist()
        named = shown(list(change.seen.items()))
        norms = [squares_of_members(g).sqrt() for _, g in named]
        lists = torch.stack(norms).tolist() if norms else []
        return row | {"gradients": {name: values for (name, _), values in zip(named, lists, strict=True)}}

    def evaluate(self) -> dict[str, list[float]]:
        """Return loss and score of every member's `weights` on the validation examples, without smoothed targets."""
        if self.validation is None or not len(self.validation):
            return {}
        with nullcontext() if self.average is None else self.average.shown():
            return self._checked(self.validation)

    @torch.no_grad()
    def _checked(self, validation: Source) -> dict[str, list[float]]:
        self.model.eval()
        plain = replace(self.losses, smoothing=0.0, mixed=None)
        sums = torch.zeros(2, self.members, dtype=torch.float64, device=self.device)
        examiner = self._examiner(sums)
        # What a forward pass keeps is less than what training keeps; how many members there are must not matter.
        size = min(CHECK_BATCH, max(self.feed.batch_size, _CHECKED))
        for indices in torch.arange(len(validation)).split(size):
            inputs, targets = (part.unsqueeze(1) for part in validation.batch(indices, None))
            inputs = inputs.to(self.recipe.dtype)
            if examiner is not None:
                examiner(inputs, targets)
                continue
            outputs = self.model(inputs)
            sums[0] += plain.loss(outputs, targets).double() * len(indices)
            sums[1] += plain.score(outputs, targets)
        loss, score = (sums / len(validation)).tolist()
        return {"validation_loss": loss, **self.losses.scores(score, "validation_")}

    def first_bad_step(self) -> list[int | None]:
        """Return for every member the number of the first step whose loss was not finite; None while all are well."""
        ever, good = self.update.ever.isfinite().tolist(), self.update.good.tolist()
        return [None if fine else number for fine, number in zip(ever, good, strict=True)]

    def weights(self) -> dict[str, Tensor]:
        """Return the tensors of the networks by name as checks judge them: averages where recipes ask for them."""
        return self.model.state_dict() if self.average is None else self.average.weights

    def state(self) -> dict[str, Tensor]:
        """Return the live tensors by name."""
        tensors = {f"model/{name}": t for name, t in self.model.state_dict().items()}
        tensors |= {} if self.average is None else self.average.state()
        return tensors | {f"masks/{name}": t for name, t in mask_state(self.model).items()} | self.update.state()

    def scale(self, left: Mapping[int, float]) -> None:
        """Leave members so much of their learning rates from now on."""
        rates: list[float] = [recipe.optimizer.learning_rate for recipe in self.recipes]  # type: ignore[union-attr]
        now = torch.tensor([rate * left.get(k, 1.0) for k, rate in enumerate(rates)], dtype=torch.float64)
        self.change.numbers.rate.copy_(now)

    def freeze(self, members: Sequence[int]) -> None:
        """Leave members as they are from now on."""
        if members:
            self.change.active[torch.tensor(list(members), device=self.device)] = False

    @torch.no_grad()
    def retired(self, members: Sequence[int]) -> "tuple[Stack, list[int]]":
        """Give the stack without some members, at a check; the others go on as if nothing had happened."""
        gone, feed = set(members), self.feed
        stay = [k for k in range(self.members) if k not in gone]
        keep = torch.tensor(stay, dtype=torch.int64, device=self.device)
        saved = {name: t for name, t in self.state().items() if name.startswith(("optimizer/", "step/", "average"))}
        _select_members(self.model, keep)
        recipes = [self.recipes[k] for k in stay]
        labels = None if feed.labels is None else feed.labels[keep]
        fed = StackFeed(feed.source, recipes, feed.finish, labels, feed.shared)
        losses, recording = self.losses.select(keep), self.graphs.recording if self.graphs else None
        made = Stack(self.model, fed, self.validation, losses, recipes, recording, self, keep)
        made.change.optimizer.step.copy_(self.change.optimizer.step)
        live = made.state()
        for name, value in saved.items():
            if name in live:  # no average is left where none of those that stay asked for it
                own = value[:, keep] if name == "step/norms" else value[keep] if value.ndim else value
                live[name].copy_(own)
        return made, stay


def _together(
    update: Update, inputs: Tensor, targets: Tensor, share: float | Tensor = 1.0
) -> tuple[Tensor, Tensor, Grads]:
    """Differentiate the sum of all members' losses: no loss depends on another member's parameters."""
    outputs, losses = update.forward(update.model, inputs, targets)
    total = (losses * share).sum()
    grads = torch.autograd.grad(total, update.params, allow_unused=True, materialize_grads=True)
    return outputs.detach(), losses.detach(), grads


def _judged(judge: Judge, update: Update, inputs: Tensor, targets: Tensor) -> tuple[Tensor, None, Grads]:
    """Let compiled code judge: loss, slope, score and counters are one call."""
    with update.products:
        outputs = update.feed.outputs(update.model, inputs, targets)
        outputs = outputs.float() if update.half else outputs
    slope = judge(outputs.detach().flatten(2), targets)
    grads = torch.autograd.grad(outputs, update.params, slope.view_as(outputs), allow_unused=True,
                                materialize_grads=True)  # fmt: skip
    return outputs, None, grads
