"""What pages that train share: how often they are told, and networks that learn side by side."""

import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from torch import nn

from lamina.data.splits import Split
from lamina.experiments.trained import EAGER
from lamina.pages.kit._jobs import by_steps
from lamina.training.loop import Event, Progress
from lamina.training.recipe import Recipe
from lamina.training.stopping import Row
from lamina.training.train import train

Item = TypeVar("Item")
Result = TypeVar("Result")


def paced(items: Iterable[Item], seconds: float) -> Iterator[tuple[Item, bool]]:
    """Say of each item whether it is time to show something again; the first time at once, and always step by step.

    Args:
        items: such as the events of a training.
        seconds: from the end of one showing to the next.

    >>> list(paced("abc", 100))
    [('a', True), ('b', False), ('c', False)]
    """
    free = time.monotonic()
    for item in items:
        due = by_steps() or time.monotonic() >= free
        yield item, due
        if due:
            free = time.monotonic() + seconds


def checked(event: Event) -> Row:
    """Give the row of a check, where no other events were asked for."""
    assert event.row is not None
    return event.row


class Kept(Generic[Item, Result]):
    """Goes through a generator and keeps what it returns in `value`.

    >>> def count():
    ...     yield 1
    ...     return "done"
    >>> counting = Kept(count())
    >>> list(counting), counting.value
    ([1], 'done')
    """

    value: Result

    def __init__(self, run: Generator[Item, None, Result]) -> None:
        self._run = run

    def __iter__(self) -> Iterator[Item]:
        """Give what the generator yields."""
        self.value = yield from self._run


def race(networks: Mapping[str, nn.Module], split: Split, recipe: Recipe) -> Iterator[dict[str, Any]]:
    """Train networks on the same data, one check each in turn, and say how each of them stands.

    Args:
        networks: by name; they are changed.
        split: the data.
        recipe: how to train all of them; it says how often they are checked.

    Yields:
        The epoch, and for each network the step, the loss and the accuracies of its last check; the `bad_step` of one
        whose loss is no longer finite.

    >>> import lamina
    >>> from lamina.data.synthetic import moons
    >>> from lamina.experiments.trained import parts
    >>> split = parts(moons(96), moons(32, seed=1))
    >>> rows = race({"a": lamina.build("fnn", inputs=2, outputs=2)}, split, Recipe(epochs=2))
    >>> [(row["epoch"], sorted(row["a"])) for row in rows]
    [(1, ['accuracy', 'loss', 'step', 'validation_accuracy']), (2, ['accuracy', 'loss', 'step', 'validation_accuracy'])]
    """
    progress = {name: Progress() for name in networks}
    running = {
        name: train(network, split, recipe, runtime=EAGER, at=progress[name]) for name, network in networks.items()
    }
    stand: dict[str, dict[str, Any]] = {name: {} for name in networks}
    epoch, news = 0, True
    while news:
        news = False
        for name, run in list(running.items()):
            if (event := next(run, None)) is not None:
                row, shown = checked(event), ("step", "loss", "accuracy", "validation_accuracy")
                epoch, stand[name] = event.epoch, {key: row[key] for key in shown if key in row}
                news = True
                continue
            del running[name]
            reason = progress[name].reason
            if reason is not None and reason.failed:
                stand[name] = {**stand[name], "bad_step": reason.step}
                news = True
        if news:
            yield {"epoch": epoch, **stand}
