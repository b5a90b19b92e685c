"""A network on its way: what the loop drives. It brings update, feed, checks and the way of execution together."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina._types import Tensor
from lamina.data.source import Source
from lamina.layers.dropout import mask_state
from lamina.training._diagnosis import diagnose
from lamina.training._global_norm import detach, norms
from lamina.training.averaging import average_of
from lamina.training.change import _Moving
from lamina.training.executors._eager import Eager
from lamina.training.freezing import rate_shares
from lamina.training.loop import Event, Observer, Progress, _Diverged, observed
from lamina.training.objective import Objective
from lamina.training.plateau import Plateau
from lamina.training.recipe import Recipe, rates
from lamina.training.runtime import wide
from lamina.training.stopping import StopReason, rules
from lamina.training.tasks.feed import Feed
from lamina.training.update import Update
from lamina.training.watching import Watcher

SHOWN_LAYERS = 64


@runtime_checkable
class _Executor(Protocol):
    """A way to run an update."""

    kind: str
    reason: str
    """Why the update is executed in this way, if that is not obvious."""

    def begin(self, step: int) -> None:
        """Hear that an epoch begins, or goes on, with update number `step`."""

    def __call__(self, step: int, watched: bool) -> None:
        """Make update number `step` with the next batch, perhaps with watchers looking."""

    def scale(self, left: float) -> None:
        """Hear that the rates of all updates to come are `left` times those of the learner's table."""

    def by_hand(self) -> None:
        """From now on run every operation by itself, so that hooks see it."""


class Learner:
    """One network, its batches, and everything that changes while it is trained.

    Args:
        model: the network, on its device.
        feed: the training examples.
        validation: the validation examples, or None.
        objective: what is minimized.
        recipe: how.
        executor: makes the way of execution of a learner; one operation after the other by default.
        change: moves the parameters; as the recipe says by default.
    """

    def __init__(
        self,
        model: nn.Module,
        feed: Feed,
        validation: Source | None,
        objective: Objective,
        recipe: Recipe,
        executor: "Callable[[Learner], _Executor] | None" = None,
        change: _Moving | None = None,
    ) -> None:
        self.model, self.feed, self.validation, self.objective, self.recipe = model, feed, validation, objective, recipe
        live = {name: p for name, p in model.named_parameters() if p.requires_grad}
        shares = rate_shares(model, recipe.stage_rate)
        self.change = change or _Moving(list(live.values()), recipe, names=list(live), shares=shares)
        self.update = Update(model, feed, objective, recipe, self.change)
        self.average = average_of(model, [recipe], feed.batches)
        self.step = 0
        base = self.change.rate
        self.rates = rates(recipe.schedule, float(base), recipe.epochs * feed.batches, feed.batches).tolist()
        self.plateau, self.left = Plateau(recipe.schedule), 1.0
        self.watchers: list[Watcher] = []
        plain = (type(feed).outputs, type(feed).answered) == (Feed.outputs, Feed.answered)
        self.answering: Any = Answering(self.update) if plain else model
        self.executor: _Executor = (executor or Eager)(self)

    @property
    def kind(self) -> str:
        """How updates are executed."""
        return self.executor.kind

    @property
    def batches(self) -> int:
        """How many updates make an epoch; a loader may know that only when the epoch has ended."""
        return self.feed.batches

    @property
    def reason(self) -> str:
        """Why they are executed in this way."""
        return self.executor.reason

    @reason.setter
    def reason(self, sentence: str) -> None:
        self.executor.reason = sentence

    @property
    def params(self) -> list[nn.Parameter]:
        """What is changed."""
        return self.change.params

    def begin(self, epoch: int, batch: int = 0) -> None:
        """Lay out the batches of an epoch; sums start anew unless the epoch is entered in the middle."""
        self.feed.begin(epoch, batch, self.step)
        if batch == 0:
            self.update.begin()
        self.model.train()
        self.executor.begin(self.step)

    def __call__(self) -> None:
        """Make one update with the next batch."""
        watched = bool(self.watchers) and any(watcher.due(self.step) for watcher in self.watchers)
        self.executor(self.step, watched)
        self.step += 1
        if self.average is not None:
            self.average(self.step)
        for watcher in self.watchers if watched else ():
            if watcher.due(self.step - 1):
                watcher.keep(self.step)

    def trained(
        self,
        at: Progress,
        observers: Sequence[Observer] = (),
        save: Callable[[Progress], None] = lambda progress: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> Generator[Event, None, StopReason]:
        """Train as the recipe says; a loss that is no longer finite is explained from the last good check.

        The arguments are those of `loop.observed`; `at` knows the reason in the end.
        """
        good, recipe, stopping = self._moment(at), self.recipe, self.recipe.stopping

        def remember(event: Event) -> None:
            nonlocal good
            if event.row is not None:
                self._scale(at)
                good = self._moment(at)

        self._scale(at)
        run = observed(self, recipe.epochs, rules(stopping, at.since), (remember, *observers), at, recipe.check_every,
                       stopping.max_steps, save, stop)  # fmt: skip
        try:
            if self.objective.metrics and (at.epoch, at.batch) == (0, 0):
                self.evaluate()  # a metric that fails does so before the first update
            at.reason = yield from run
        except _Diverged as error:
            at.reason = diagnose(self, good, error.step)
        except ValueError as error:
            if "more than 1 value per channel" not in str(error):
                raise
            if self.feed.micro_batch is not None:
                raise ArgumentError(
                    f"`micro_batch` is {self.feed.micro_batch}, which leaves a piece of 1 example of a batch, and "
                    "batch normalization knows no variance of one: choose another micro_batch, a smaller batch_size, "
                    "or a smaller network if memory is what lacks."
                ) from error
            raise ArgumentError(
                f"`batch_size` is {self.feed.batch_size}, which leaves a last batch of 1 example, and batch "
                "normalization knows no variance of one: choose a batch_size that divides the examples otherwise."
            ) from error
        finally:
            self.feed.source.close()
            detach(self.model)
        return at.reason

    def _scale(self, at: Progress) -> None:
        """Lower the rates of all updates to come where the schedule asks for it."""
        if (left := self.plateau(at.rows)) != self.left:
            self.left = left
            self.executor.scale(left)

    def _moment(self, at: Progress) -> tuple[dict[str, Tensor], int, int, int]:
        """Copy the present state, from which a divergence can be replayed."""
        return {name: t.detach().clone() for name, t in self.state().items()}, self.step, at.epoch, at.batch

    def rate(self, step: int) -> float:
        """Give the learning rate of update number `step`."""
        rate: float = self.rates[min(step, len(self.rates) - 1)]
        return rate * self.left

    def watch(self, watcher: Watcher) -> None:
        """Let an observer look into the updates that it asks for; to be said before the first one."""
        watcher.attach(self.model)
        self.watchers.append(watcher)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Make an update with all watchers looking."""
        with ExitStack() as stack:
            for watcher in self.watchers:
                stack.enter_context(watcher.looking())
            yield

    def by_hand(self) -> None:
        """From now on run every operation by itself, so that hooks see it, and no watcher; for a diagnosis."""
        self.watchers.clear()
        self.executor.by_hand()

    def totals(self) -> dict[str, Any]:
        """Return the mean loss and score over the epoch so far, and what stopping rules asked for."""
        update, change = self.update, self.change
        sums = torch.cat([update.loss_sum, update.score_sum, update.counted]).tolist()
        seen = max(1.0, sums[2] if self.objective.counts_words else self.feed.seen)
        row = {"loss": sums[0] / seen, **self.objective.scores(sums[1] / seen)}
        row["learning_rate"] = self.rate(self.step - 1)
        if change.searches:
            row["learning_rate"] = float(change.trial)
        if self.recipe.stopping.measures:
            row["gradient_norm"], row["relative_step"] = change.norms.tolist()
        return row | {"gradients": self._gradients()}

    def _gradients(self) -> dict[str, float]:
        """Return the norm of the last gradient of every weight (of 64 evenly spaced ones in a very deep network)."""
        named = shown([(n, p.grad) for n, p in self.model.named_parameters() if p.grad is not None])
        norms = torch.stack([g.to(wide(g.device)).norm() for _, g in named]).tolist() if named else []
        return {name: norm for (name, _), norm in zip(named, norms, strict=True)}

    def evaluate(self) -> dict[str, float]:
        """Return loss and score of `weights` on the validation examples, with true targets, not smoothed ones."""
        if self.validation is None or not len(self.validation):
            return {}
        self.align()
        with nullcontext() if self.average is None else self.average.shown():
            self.align()  # the averages of statistics, too
            found = self.feed.check(self.answering, self.validation, self.objective.plain)
        loss, score = found.pop("loss"), found.pop("score")
        own = {f"validation_{name}": value for name, value in found.items()}
        return {"validation_loss": loss, **self.objective.scores(score, "validation_"), **own}

    def align(self) -> None:
        """Give all ranks the running statistics of the first, where each normalizes its own part of a batch."""
        alone = (norm for norm in norms(self.model) if "forward" not in vars(norm))
        self.feed.ranks.align_([t for norm in alone for t in norm.buffers()])

    @torch.no_grad()
    def finite(self) -> bool:
        """Say whether the weights are finite, and the answers to the first few examples that are at hand."""
        if not all(bool(p.isfinite().all()) for p in self.model.parameters()):
            return False
        source = self.feed.source if self.validation is None or not len(self.validation) else self.validation
        if source is self.feed.source and not self.feed.gathers:  # what comes from outside is not asked for once more
            return True
        self.model.eval()
        outputs, _ = next(iter(self.feed.answered(self.model, source)))
        return bool(outputs.isfinite().all())

    def first_bad_step(self) -> int | None:
        """Return the number of the first step whose loss was not finite; None while all are well."""
        return None if bool(self.update.ever.isfinite()) else int(self.update.good)

    def weights(self) -> dict[str, Tensor]:
        """Return the network's tensors by name as checks judge them: averages where the recipe asks for them."""
        return self.model.state_dict() if self.average is None else self.average.weights

    def state(self) -> dict[str, Tensor]:
        """Return the live tensors, by name, that a resume must bring back."""
        tensors = {f"model/{name}": t for name, t in self.model.state_dict().items()}
        tensors |= {f"masks/{name}": t for name, t in mask_state(self.model).items()}
        tensors |= {} if self.average is None else self.average.state()
        return tensors | self.update.state() | self.feed.state()

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
        self.change.adopt(missing)
        self.step = step


class Answering:
    """A network as checks call it: with products rounded as in training, and outputs in single precision."""

    def __init__(self, update: Update) -> None:
        self.update = update

    def eval(self) -> None:
        """Let the network answer as it does after training."""
        self.update.model.eval()

    def __call__(self, inputs: Tensor) -> Tensor:
        """Give the outputs."""
        with self.update.rounding:
            outputs: Tensor = self.update.model(inputs)
            return outputs.float() if self.update.half else outputs


def shown(named: Sequence[tuple[str, Tensor]]) -> list[tuple[str, Tensor]]:
    """Take the weights among named tensors, of very many 64 evenly spaced ones, under the names of their layers."""
    weights = [(name.removesuffix(".weight"), tensor) for name, tensor in named if name.endswith("weight")]
    if len(weights) <= SHOWN_LAYERS:
        return weights
    return [weights[round(i * (len(weights) - 1) / (SHOWN_LAYERS - 1))] for i in range(SHOWN_LAYERS)]
