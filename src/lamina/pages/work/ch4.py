"""What the work of several pages of chapter 4 shares: networks that learn side by side."""

from collections.abc import Iterator, Mapping
from typing import Any

from lamina.training.step import EagerStep


def race(steps: Mapping[str, EagerStep], epochs: int, every: int = 1) -> Iterator[dict[str, Any]]:
    """Train several networks epoch by epoch and say how each of them stands.

    Args:
        steps: the update of each network by its name, all with as many batches an epoch.
        epochs: how many passes through the data.
        every: epochs between two rows.

    >>> import lamina
    >>> from lamina.data.synthetic import moons
    >>> from lamina.experiments.trained import make_step, parts
    >>> from lamina.training.recipe import Recipe
    >>> split = parts(moons(96), moons(32, seed=1))
    >>> step = make_step(lamina.build("fnn", inputs=2, outputs=2), split, Recipe(epochs=2))
    >>> [(row["epoch"], sorted(row["a"])) for row in race({"a": step}, 2)]
    [(1, ['accuracy', 'loss', 'step', 'validation_accuracy']), (2, ['accuracy', 'loss', 'step', 'validation_accuracy'])]
    """
    shown = ("loss", "accuracy", "validation_accuracy")
    for epoch in range(epochs):
        for step in steps.values():
            step.begin(epoch)
            for _ in range(step.batches):
                step()
        if (epoch + 1) % every == 0 or epoch + 1 == epochs:
            row: dict[str, Any] = {"epoch": epoch + 1}
            for name, step in steps.items():
                found = step.totals() | step.evaluate()
                row[name] = {"step": step.step, **{key: found[key] for key in shown if key in found}}
            yield row
