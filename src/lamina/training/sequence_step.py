"""One update on texts, tokens and running text: whole numbers stay whole numbers, and words are counted, not rows.

`SequenceStep` takes batches of alike lengths and lets a decoder read the true words before, or more and more of its
own. `LanguageStep` walks along a running text and carries the state from window to window: truncated backpropagation
through time. Both are the update of `EagerStep` otherwise; `captured_sequence` replays them on a GPU.
"""

from typing import Any, cast

import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina._types import Bool, Int, Tensor
from lamina.architectures.seq2seq import teacher_inputs
from lamina.data.source import Source
from lamina.data.tokens import TokenSource
from lamina.data.vocabulary import START
from lamina.functional.random import uniform
from lamina.functional.recurrent import State
from lamina.training.objective import Objective
from lamina.training.order import epoch_order
from lamina.training.recipe import GD, SGD, Recipe
from lamina.training.sequence_objective import TokenObjective, count_of, without_smoothing
from lamina.training.step import EagerStep
from lamina.training.streams import StreamSource

CHECK_BATCH = 200
_MIXING = 0x54454143  # the stream of random numbers that chooses between true and own words


class SequenceStep(EagerStep):
    """The update on sequences that any device can run.

    Args:
        model: the network, on its device.
        train: the training examples.
        validation: the validation examples, or None.
        objective: what is minimized; a `TokenObjective` with `teacher` calls the network with the targets too.
        recipe: how; `teacher_forcing` is the share of true words that the decoder reads at the last step.
    """

    def __init__(
        self,
        model: nn.Module,
        train: Source,
        validation: Source | None,
        objective: Objective,
        recipe: Recipe,
    ) -> None:
        super().__init__(model, train, validation, objective, recipe)
        self.counted = torch.zeros((), dtype=torch.float64, device=self.ever.device)
        self._teacher = isinstance(objective, TokenObjective) and objective.teacher
        self._last_step = max(1, recipe.epochs * self.batches - 1)

    def begin(self, epoch: int, batch: int = 0) -> None:
        """Lay out the batches of an epoch; sums start anew unless the epoch is entered in the middle."""
        self._lay_out(epoch)
        self._cursor = batch
        if batch == 0:
            for total in (self.loss_sum, self.score_sum, self.counted):
                total.zero_()
        self.model.train()

    def __call__(self) -> None:
        """Make one update with the next batch."""
        inputs, targets = self._take(self._cursor)
        self._cursor += 1
        self.rate = self.rates[min(self.step, len(self.rates) - 1)]
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate
        with self._seen_by_watchers():
            self._update(inputs, targets)
        self.step += 1

    def _lay_out(self, epoch: int) -> None:
        """Choose the batches of an epoch: alike lengths together, where lengths differ."""
        train = self.train
        if isinstance(train, TokenSource) and self.sampling == "epoch":
            self._batches = train.order(self.batch_size, self.recipe.seed, epoch)
        else:
            order = epoch_order(len(train), self.batch_size, self.sampling, self.recipe.seed, epoch)
            self._batches = list(order.split(self.batch_size))

    def _take(self, number: int) -> tuple[Tensor, Tensor]:
        return self.train.batch(self._batches[number], (self.recipe.seed, self.step))

    def _update(self, inputs: Tensor, targets: Tensor) -> None:
        """Compute loss and gradient, change the parameters and count words; all of it on the device."""
        outputs, loss = self._forward(inputs, targets)
        total = loss + self._penalty() if self._penalized else loss
        self.optimizer.zero_grad(set_to_none=True)
        total.backward()
        with torch.no_grad():
            count = count_of(self.objective, targets)
            self.loss_sum.add_(loss.double() * count)
            self.score_sum.add_(self.objective.score(outputs, targets))
            self.counted.add_(count)
            self.ever.add_(loss)
            self.good.add_(self.ever.isfinite())
            self._carry()
            self._change(inputs, targets, total)

    def _forward(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        with self._products:
            outputs = self._outputs(inputs, targets)
            outputs = outputs.float() if self._half else outputs
            return outputs, self.objective.loss(outputs, targets)

    def _outputs(self, inputs: Tensor, targets: Tensor) -> Tensor:
        inputs = as_read(inputs, self._dtype)
        if not self._teacher:
            return cast(Tensor, self.model(inputs))
        return cast(Tensor, self.model(inputs, self._heard(inputs, targets)))

    def _heard(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Give what the decoder reads at each step."""
        final = self.recipe.teacher_forcing
        if final == 1:
            return teacher_inputs(targets, START)
        self.model.eval()  # a look ahead, for which no dropout mask is used up
        with torch.no_grad():
            own = self.model(inputs, teacher_inputs(targets, START)).argmax(-1)
        self.model.train()
        now = self._now()
        share = 1 - (1 - final) * (now / self._last_step)
        return scheduled_inputs(targets, own, share, self.recipe.seed, now)

    def _now(self) -> int | Tensor:
        """Give the number of this step."""
        return self.step

    def _carry(self) -> None:
        """Keep what the next step needs of this one: nothing."""

    def totals(self) -> dict[str, Any]:
        """Return the mean loss and score over the words of the epoch so far, and what stopping rules asked for."""
        self._seen = max(1, int(self.counted))
        return super().totals()

    def evaluate(self) -> dict[str, float]:
        """Return loss and score on the validation examples; the loss is that of true targets, not of smoothed ones."""
        if self.validation is None or not len(self.validation):
            return {}
        loss, score = self._judge(self.validation)
        return {"validation_loss": loss, f"validation_{self.objective.metric}": score}

    def _judge(self, source: Source) -> tuple[float, float]:
        return sequence_loss_and_score(self.model, source, self.objective)

    def state(self) -> dict[str, Tensor]:
        """Return the live tensors, by name, that a resume must bring back."""
        return super().state() | {"step/counted": self.counted}


class LanguageStep(SequenceStep):
    """The update along a running text: each window goes on from the state in which the one before ended.

    The gradient stops at the beginning of a window. The state is part of `state`, so that a resume in the middle of an
    epoch goes on with it, and is zero at the beginning of an epoch.

    Args:
        model: a network with `read(inputs, state)`, as `ManyToMany`.
        train: the training text.
        validation: the validation text, or None.
        objective: what is minimized.
        recipe: how; `batch_size` readers at once, `window` steps each.
    """

    def __init__(
        self,
        model: nn.Module,
        train: StreamSource,
        validation: StreamSource | None,
        objective: Objective,
        recipe: Recipe,
    ) -> None:
        if isinstance(recipe.optimizer, GD) or recipe.sampling != "epoch":
            what = "gd" if isinstance(recipe.optimizer, GD) else f"sampling={recipe.sampling!r}"
            raise ArgumentError(f"a running text is read in order, window by window, got {what}: use 'adam'.")
        self.carried = no_state(model, train.rows)
        super().__init__(model, train, validation, objective, recipe)

    def begin(self, epoch: int, batch: int = 0) -> None:
        """Go to the beginning of the text, or to a window in the middle with the state that was restored."""
        super().begin(epoch, batch)
        if batch == 0:
            for part in self.carried:
                part.zero_()

    def _lay_out(self, epoch: int) -> None:
        pass

    def _take(self, number: int) -> tuple[Tensor, Tensor]:
        return cast(StreamSource, self.train).window(number)

    def _outputs(self, inputs: Tensor, targets: Tensor) -> Tensor:
        outputs, state = cast(Any, self.model).read(inputs, as_state(self.carried))
        self._after = [part.detach() for part in parts_of(state)]
        return cast(Tensor, outputs)

    def _carry(self) -> None:
        for part, value in zip(self.carried, self._after, strict=True):
            part.copy_(value)

    def _judge(self, source: Source) -> tuple[float, float]:
        return stream_loss_and_score(self.model, cast(StreamSource, source), self.objective)

    def state(self) -> dict[str, Tensor]:
        """Return the live tensors, by name, that a resume must bring back."""
        return super().state() | {f"step/carried{number}": part for number, part in enumerate(self.carried)}


def scheduled_inputs(
    targets: Int[Tensor, "batch time"],
    own: Int[Tensor, "batch time"],
    share: float | Tensor,
    seed: int,
    step: int | Tensor,
) -> Int[Tensor, "batch time"]:
    """Give what a decoder reads when it hears only some true words, and of the others what it would have said.

    Both are moved on by one step, and START comes first. Which words are true is a pure function of seed and step.

    Args:
        targets: the true words.
        own: what the network says at each step after hearing the true words before.
        share: how many true words, from 0 to 1.
        seed: which experiment.
        step: which update.

    >>> targets, own = torch.tensor([[5, 6, 7]]), torch.tensor([[8, 9, 4]])
    >>> scheduled_inputs(targets, own, 1.0, 0, 0).tolist(), scheduled_inputs(targets, own, 0.0, 0, 0).tolist()
    ([[2, 5, 6]], [[2, 8, 9]])
    """
    true, said = teacher_inputs(targets, START), teacher_inputs(own, START)
    return torch.where(true_words(true.shape, share, seed, step, targets.device), true, said)


def true_words(
    shape: tuple[int, ...], share: float | Tensor, seed: int, step: int | Tensor, device: torch.device | str = "cpu"
) -> Bool[Tensor, "..."]:
    """Choose where true words are heard.

    >>> true_words((6,), 0.5, seed=0, step=3).tolist() == true_words((6,), 0.5, seed=0, step=3).tolist()
    True
    """
    return uniform(tuple(shape), seed, _MIXING, step, device) < share


def as_read(inputs: Tensor, dtype: torch.dtype) -> Tensor:
    """Give real inputs the type of the network; words stay whole numbers."""
    return inputs.to(dtype) if inputs.is_floating_point() else inputs


def no_state(model: nn.Module, rows: int) -> list[Tensor]:
    """Give the state before the first word, all zeros: h, and c for an LSTM."""
    recurrent = getattr(model, "recurrent", None)
    if recurrent is None or not hasattr(model, "read"):
        raise ArgumentError(
            f"a running text needs a network that can go on from a state, got {type(model).__name__}: use many-to-many."
        )
    if recurrent.directions == 2:
        raise ArgumentError(
            "`bidirectional` must be False for a running text: who reads backward has seen the next word already."
        )
    parameter = next(model.parameters())
    shape = (recurrent.layers, rows, recurrent.hidden_size)
    return [parameter.new_zeros(shape).detach() for _ in range(2 if recurrent.cell == "lstm" else 1)]


def as_state(parts: list[Tensor]) -> State:
    """Give the parts of a state as a network takes them."""
    return (parts[0], parts[1]) if len(parts) == 2 else parts[0]


def parts_of(state: State) -> list[Tensor]:
    """Give the tensors of a state."""
    return [state] if isinstance(state, Tensor) else list(state)


@torch.no_grad()
def sequence_loss_and_score(
    model: nn.Module, source: TokenSource | Source, objective: Objective
) -> tuple[float, float]:
    """Evaluate a network on all examples of a source; every word counts once, and a decoder hears the true ones."""
    model.eval()
    dtype = next(model.parameters()).dtype
    judge = without_smoothing(objective)
    teacher = isinstance(objective, TokenObjective) and objective.teacher
    sums = torch.zeros(3, dtype=torch.float64, device=source.device)
    everything = torch.arange(len(source)).split(CHECK_BATCH)
    batches = source.in_order(CHECK_BATCH) if isinstance(source, TokenSource) else everything
    for indices in batches:
        inputs, targets = source.batch(indices, None)
        read = (as_read(inputs, dtype), *((teacher_inputs(targets, START),) if teacher else ()))
        sums += _judged(model(*read), targets, judge)
    return _means(sums)


@torch.no_grad()
def stream_loss_and_score(model: nn.Module, source: StreamSource, objective: Objective) -> tuple[float, float]:
    """Evaluate a network along a running text, the state carried from window to window."""
    model.eval()
    judge, parts = without_smoothing(objective), no_state(model, source.rows)
    sums = torch.zeros(3, dtype=torch.float64, device=source.device)
    for number in range(source.windows):
        inputs, targets = source.window(number)
        outputs, state = cast(Any, model).read(inputs, as_state(parts))
        parts = parts_of(state)
        sums += _judged(outputs, targets, judge)
    return _means(sums)


def _judged(outputs: Tensor, targets: Tensor, objective: Objective) -> Tensor:
    count = count_of(objective, targets).double()
    return torch.stack([objective.loss(outputs, targets).double() * count, objective.score(outputs, targets), count])


def _means(sums: Tensor) -> tuple[float, float]:
    loss, score, count = sums.tolist()
    return loss / max(1.0, count), score / max(1.0, count)


def readers(recipe: Recipe) -> int:
    """Return how many readers go along a running text at once."""
    return 1 if isinstance(recipe.optimizer, SGD) else recipe.batch_size
