"""Feeds of sequences: batches whose shapes only the host knows, pairs with a teacher, windows of a running text."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina._types import Bool, Int, Tensor
from lamina.architectures.seq2seq import teacher_inputs
from lamina.data.source import Source
from lamina.data.text.tokens import TokenSource
from lamina.data.text.vocabulary import START
from lamina.functional.random import uniform
from lamina.functional.recurrent import State
from lamina.training.deployment import Port
from lamina.training.objective import Objective
from lamina.training.ranks import ALONE, Ranks
from lamina.training.recipe import GD, SGD, Recipe
from lamina.training.runtime import wide
from lamina.training.tasks._streams import StreamSource
from lamina.training.tasks.feed import Batch, Feed, epoch_order

CHECK_BATCH = 200
_MIXING = 0x54454143  # the stream of random numbers that chooses between true and own words


class SequenceFeed(Feed):
    """Batches of alike lengths, where lengths differ; whole numbers stay whole numbers."""

    gathers = even = False

    def begin(self, epoch: int, batch: int, step: int) -> None:
        """Lay out the batches of an epoch, from a batch on."""
        if isinstance(self.source, TokenSource) and self.sampling == "epoch":
            self._batches = self.source.order(self.batch_size, self.recipe.seed, epoch)
        else:
            order = epoch_order(len(self.source), self.batch_size, self.sampling, self.recipe.seed, epoch)
            self._batches = list(order.split(self.batch_size))
        self.cursor, self.seen = batch, sum(map(len, self._batches[:batch]))

    def next(self, step: int) -> Batch:
        indices = self._batches[self.cursor]
        self.cursor += 1
        self.seen += len(indices)
        return divided(self.ranks, *self.source.batch(indices, (self.recipe.seed, step)))

    def answered(self, model: nn.Module, source: Source) -> Iterator[tuple[Tensor, Tensor]]:
        """Give outputs and targets of all examples of a source in batches."""
        size = self.at_once(CHECK_BATCH)
        everything = torch.arange(len(source)).split(size)
        batches = source.in_order(size) if isinstance(source, TokenSource) else everything
        for indices in self._divided(batches):
            if len(indices):
                inputs, targets = source.batch(indices, None)
                yield self.outputs(model, inputs, targets), targets

    def means(
        self, answered: Iterable[tuple[Tensor, Tensor]], source: Source, objective: Objective
    ) -> tuple[float, float]:
        """Return the mean loss and score of outputs and targets; every word counts once."""
        return _means(answered, objective, source.device, self.ranks)


class PairFeed(SequenceFeed):
    """Pairs whose decoder hears the true words before, or more and more of its own.

    `teacher_forcing` of the recipe is the share of true words at the last step.
    """

    _now: int | Tensor = 0
    _first = 0

    def at(self, step: int | Tensor) -> None:
        """Hear which update comes next."""
        self._now = step

    def turn(self, first: int) -> None:
        """Hear which pairs of a batch come next, since each hears its own words."""
        self._first = first

    def outputs(self, model: Any, inputs: Tensor, targets: Tensor) -> Tensor:
        """Call a network with a batch and what its decoder hears."""
        true = teacher_inputs(targets, START)
        final = self.recipe.teacher_forcing
        if final == 1 or not model.training:
            return cast(Tensor, model(inputs, true))
        model.eval()  # a look ahead, for which no dropout mask is used up
        with torch.no_grad():
            own = model(inputs, true).argmax(-1)
        model.train()
        share = 1 - (1 - final) * (self._now / max(1, self.recipe.epochs * self.batches - 1))
        heard = scheduled_inputs(targets, own, share, self.recipe.seed, self._now, self._first)
        return cast(Tensor, model(inputs, heard))


class WindowFeed(SequenceFeed):
    """Windows of a running text: each goes on from the state in which the one before ended.

    The gradient stops at the beginning of a window. The state is part of `state`, so that a resume in the middle of an
    epoch continues with it, and is zero at the beginning of an epoch.
    """

    def __init__(self, source: StreamSource, recipe: Recipe, model: nn.Module) -> None:
        if isinstance(recipe.optimizer, GD) or recipe.sampling != "epoch":
            what = "gd" if isinstance(recipe.optimizer, GD) else f"sampling={recipe.sampling!r}"
            raise ArgumentError(f"a running text is read in order, window by window, got {what}: use 'adam'.")
        self.carried = no_state(model, source.rows)
        self._first, self._after = 0, list[tuple[slice, list[Tensor]]]()
        super().__init__(source, recipe)

    def begin(self, epoch: int, batch: int, step: int) -> None:
        """Go to the beginning of the text, or to a window in the middle with the state that was restored."""
        self.cursor = batch
        for part in self.carried if batch == 0 else ():
            part.zero_()

    def next(self, step: int) -> Batch:
        """Give the next window."""
        self.cursor += 1
        return divided(self.ranks, *cast(StreamSource, self.source).window(self.cursor - 1))

    def turn(self, first: int) -> None:
        """Hear which readers come next, since each goes on from its own state."""
        if first == self._own.start:
            self._after.clear()
        self._first = first

    @property
    def _own(self) -> slice:
        """The readers of this rank."""
        return self.ranks.part(cast(StreamSource, self.source).rows)

    def outputs(self, model: Any, inputs: Tensor, targets: Tensor) -> Tensor:
        """Let a network read on."""
        readers = slice(self._first, self._first + len(inputs))
        outputs, state = model.read(inputs, as_state([part[:, readers] for part in self.carried]))
        if not self.ranks.blank:
            self._after.append((readers, [part.detach() for part in parts_of(state)]))
        return cast(Tensor, outputs)

    def carry(self) -> None:
        """Keep the state at the end of the window."""
        for readers, after in self._after:
            for part, value in zip(self.carried, after, strict=True):
                part[:, readers].copy_(value)

    def collect(self) -> None:
        """Give all ranks the states of all readers, so that any number of ranks can go on with them."""
        for part in self.carried if self.ranks.many else ():
            own = torch.zeros_like(part)
            own[:, self._own] = part[:, self._own]
            part.copy_(self.ranks.sum_(own))

    def state(self) -> dict[str, Tensor]:
        return {f"step/carried{number}": part for number, part in enumerate(self.carried)}

    @torch.no_grad()
    def check(self, model: nn.Module, source: Source, objective: Objective) -> dict[str, float]:
        """Return the mean loss and score along a running text, the state carried from window to window."""
        loss, score = stream_loss_and_score(model, cast(StreamSource, source), objective, self.ranks)
        return {"loss": loss, "score": score}


@torch.no_grad()
def stream_loss_and_score(
    model: nn.Module, source: StreamSource, objective: Objective, ranks: Ranks = ALONE
) -> tuple[float, float]:
    """Evaluate a network along a running text, the state carried from window to window; each rank has some readers."""
    model.eval()
    own = ranks.part(source.rows)
    parts = no_state(model, own.stop - own.start)

    def read() -> Iterable[tuple[Tensor, Tensor]]:
        nonlocal parts
        for number in range(source.windows if own.stop > own.start else 0):
            inputs, targets = (each[own] for each in source.window(number))
            outputs, state = cast(Any, model).read(inputs, as_state(parts))
            parts = parts_of(state)
            yield outputs, targets

    return _means(read(), objective, source.device, ranks)


def divided(ranks: Ranks, inputs: Any, targets: Tensor) -> Batch:
    """Give a rank's part of a batch that was made as a whole, so that its rows are as long as in the whole one."""
    if not ranks.many:
        return inputs, targets
    own = ranks.own(len(targets))
    return inputs[own] if isinstance(inputs, Tensor) else tuple(each[own] for each in inputs), targets[own], targets


def _means(
    judged: Iterable[tuple[Tensor, Tensor]], objective: Objective, device: torch.device, ranks: Ranks
) -> tuple[float, float]:
    kind = wide(device)
    judge, sums = objective.plain, torch.zeros(3, dtype=kind, device=device)
    for outputs, targets in judged:
        count = torch.as_tensor(judge.count(targets), device=outputs.device).to(kind)
        parts = judge.loss(outputs, targets).to(kind) * count, judge.score(outputs, targets), count
        sums = sums + torch.stack(parts)
    loss, score, count = ranks.sum_(sums).tolist()
    return loss / max(1.0, count), score / max(1.0, count)


def scheduled_inputs(
    targets: Int[Tensor, "batch time"],
    own: Int[Tensor, "batch time"],
    share: float | Tensor,
    seed: int,
    step: int | Tensor,
    first: int = 0,
) -> Int[Tensor, "batch time"]:
    """Give what a decoder reads when it hears only some true words, and of the others what it would have said.

    Both are moved on by one step, and START comes first. Which words are true is a pure function of seed, step and the
    place of a pair in the whole batch, which is that of `first` for the first one here.

    >>> targets, own = torch.tensor([[5, 6, 7]]), torch.tensor([[8, 9, 4]])
    >>> scheduled_inputs(targets, own, 1.0, 0, 0).tolist(), scheduled_inputs(targets, own, 0.0, 0, 0).tolist()
    ([[2, 5, 6]], [[2, 8, 9]])
    """
    true, said = teacher_inputs(targets, START), teacher_inputs(own, START)
    heard = true_words((first + len(true), true.shape[1]), share, seed, step, targets.device)[first:]
    return torch.where(heard, true, said)


def true_words(
    shape: tuple[int, ...], share: float | Tensor, seed: int, step: int | Tensor, device: torch.device | str = "cpu"
) -> Bool[Tensor, "..."]:
    """Choose where true words are heard.

    >>> true_words((6,), 0.5, seed=0, step=3).tolist() == true_words((6,), 0.5, seed=0, step=3).tolist()
    True
    """
    return uniform(tuple(shape), seed, _MIXING, step, device) < share


def no_state(model: nn.Module, rows: int) -> list[Tensor]:
    """Give the state before the first word, all zeros: h, and c for an LSTM."""
    recurrent = getattr(model, "recurrent", None)
    if recurrent is None or not hasattr(model, "read"):
        raise ArgumentError(
            f"a running text needs a network that can continue from a state, got {type(model).__name__}: use "
            "many-to-many."
        )
    if recurrent.directions == 2:
        raise ArgumentError(
            "`bidirectional` must be False for a running text: a network that reads backward has already seen the next "
            "word."
        )
    parameter = next(model.parameters())
    shape = (recurrent.layers, rows, recurrent.hidden_size)
    return [parameter.new_zeros(shape).detach() for _ in range(2 if recurrent.cell == "lstm" else 1)]


def state_ports(model: nn.Module, layers: int) -> tuple[Port, ...]:
    """Say what a recurrent network is given of its state where it is used without Lamina: h, and c for an LSTM."""
    config = cast(Any, model).config
    names = ("h", "c") if config.cell == "lstm" else ("h",)
    return tuple(Port(name, (layers, "batch", config.hidden)) for name in names)


def as_state(parts: Sequence[Tensor]) -> State:
    """Give the parts of a state as a network takes them."""
    return (parts[0], parts[1]) if len(parts) == 2 else parts[0]


def parts_of(state: State) -> list[Tensor]:
    """Give the tensors of a state."""
    return [state] if isinstance(state, Tensor) else list(state)


def readers(recipe: Recipe) -> int:
    """Return how many readers go along a running text at once."""
    return 1 if isinstance(recipe.optimizer, SGD) else recipe.batch_size
