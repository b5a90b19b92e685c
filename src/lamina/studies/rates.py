"""A learning rate for a run: many rates trained as one stack for a few epochs, and the curve that they give."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamina._errors import ArgumentError, RunError, above, whole
from lamina.data.splits import Split
from lamina.populations.members import DIVERGED, Member
from lamina.populations.one_by_one import train_in_turn
from lamina.populations.population import train_together
from lamina.training import recipe as recipes
from lamina.training.files import finite
from lamina.training.folder import RunFolder, blamed
from lamina.training.loop import Event, drain
from lamina.training.rebuild import rebuild, reload
from lamina.training.runtime import Runtime
from lamina.training.tasks.kinds import usable_task

if TYPE_CHECKING:
    from lamina.drawing.scene import Scene

RATES = 64
BELOW, ABOVE = 1e-3, 1e2
"""Where the rates begin and end, in units of the run's own."""
SHARE = 10
"""The rates are tried for one in so many of the run's epochs."""
FILE = "rates.json"


@dataclass(frozen=True)
class Rates:
    """What each rate reached.

    Args:
        rates: the learning rates, rising.
        losses: the validation loss after the last epoch; None where it was not finite any more.
        first: the validation loss after the first check of each; None likewise.
        epochs: how many epochs were trained.
        present: the rate of the run.
        together: how many networks were computed as one.
    """

    rates: tuple[float, ...]
    losses: tuple[float | None, ...]
    first: tuple[float | None, ...]
    epochs: int
    present: float
    together: int = 1

    @property
    def smooth(self) -> list[float]:
        """The mean of each loss and its two neighbors, infinite beside a rate that diverged: luck counts less."""
        known = [math.inf if loss is None else loss for loss in self.losses]
        return [sum(near) / len(near) for near in (known[max(0, i - 1) : i + 2] for i in range(len(known)))]

    @property
    def best(self) -> float:
        """The rate with the lowest smoothed loss.

        >>> Rates((1e-3, 1e-2, 1e-1, 1.0), (0.9, 0.5, 0.1, None), (0.9,) * 4, 1, 1e-3).best  # 0.1 is beside a cliff
        0.01
        """
        smooth = self.smooth
        if min(smooth) == math.inf:
            raise RunError(
                f"no rate from {self.rates[0]:.3g} to {self.rates[-1]:.3g} kept a finite loss: try lower ones."
            )
        return self.rates[smooth.index(min(smooth))]

    @property
    def edge(self) -> str:
        """A sentence when the best rate is the lowest or highest one; "" otherwise."""
        if self.best not in (self.rates[0], self.rates[-1]):
            return ""
        higher = self.best == self.rates[-1]
        end, where = ("highest", "higher") if higher else ("lowest", "lower")
        return f"The best rate is the {end} that was tried: try {where} ones."

    @property
    def largest(self) -> float | None:
        """The largest rate below the first that diverged; None if none diverged."""
        bad = [rate for rate, loss in zip(self.rates, self.losses, strict=True) if loss is None]
        below = [rate for rate in self.rates if bad and rate < bad[0]]
        return below[-1] if below else None

    def scene(self) -> "Scene":
        """Draw the losses over the rates."""
        from lamina.drawing.charts import Series, chart

        points = [(rate, loss) for rate, loss in zip(self.rates, self.losses, strict=True) if loss is not None]
        highest = sorted(loss for _, loss in points)[-1] if points else 1.0
        start = next((loss for loss in self.first if loss is not None), highest)
        ceiling = min(highest, 2 * start)  # what is about to diverge would hide all else
        shown = [(rate, min(loss, ceiling)) for rate, loss in points]
        lowest = min((loss for _, loss in shown), default=0.0)
        lines = [
            Series("validation loss", [r for r, _ in shown], [loss for _, loss in shown], "line1"),
            Series(
                f"now, {self.present:.2g}",
                [self.present, self.present],
                [lowest, ceiling],
                "muted",
                "dashed",
            ),
            Series(f"best, {self.best:.2g}", [self.best, self.best], [lowest, ceiling], "line2", "dashed"),
        ]
        return chart(
            lines,
            title=f"{len(self.rates)} rates after {self.epochs} epoch{'s' * (self.epochs != 1)}",
            description=f"The validation loss of each learning rate; the lowest is at {self.best:.3g}.",
            x_label="learning rate",
            y_label="validation loss",
            log_x=True,
            width=480,
            height=280,
        )

    def save(self, path: str | Path) -> Path:
        """Draw them to a file: .svg, .tex, .pdf or .png."""
        from lamina.drawing.save import save

        return save(self.scene(), path)


def spread_rates(low: float, high: float, count: int) -> tuple[float, ...]:
    """Give rates from low to high with a constant ratio.

    >>> spread_rates(0.001, 1.0, 4)
    (0.001, 0.01, 0.1, 1.0)
    """
    above("low", low, 0)
    above("high", high, low)
    whole("count", count, 3)
    found = [low * (high / low) ** (i / (count - 1)) for i in range(count)]
    return tuple(float(f"{rate:.4g}") for rate in found)


def short(epochs: int) -> int:
    """Give how many epochs each rate is trained when nobody says it."""
    return max(1, round(epochs / SHARE))


def tune_rate(
    folder: str | Path,
    *,
    count: int = RATES,
    low: float | None = None,
    high: float | None = None,
    epochs: int | None = None,
    data: Split | None = None,
    runtime: Runtime | None = None,
    watch: Callable[[Event], None] = lambda event: None,
) -> Rates:
    """Try many learning rates for the network, the data and the recipe of a run, all of them as one stack.

    Every rate starts from the same weights, sees the same batches and keeps its own schedule over the shorter time. The
    test part stays sealed, and the run itself is not changed: what was found is kept in its folder as `rates.json`.

    Args:
        folder: the folder of the run.
        count: how many rates.
        low: the lowest one; by default a thousandth of the run's own.
        high: the highest one; by default a hundred times the run's own.
        epochs: how long each is trained; by default a tenth of the run's epochs.
        data: the split, if it was made of arrays in memory.
        runtime: device, threads and flags.
        watch: told about every check.
    """
    home = RunFolder.open(folder)
    config = home.config()
    if "learning_rate" not in config["recipe"]["optimizer"]:
        raise ArgumentError(
            "the run was trained with an optimizer of its own, whose rate nobody knows: use one of Lamina's by name."
        )
    if isinstance(config["recipe"].get("loss"), dict) or config["recipe"].get("metrics"):
        raise ArgumentError("the run has a loss or metrics of its own, which a file cannot hold: use a loss by name.")
    recipe = recipes.from_dict(config["recipe"])
    present: float = config["recipe"]["optimizer"]["learning_rate"]
    rates = spread_rates(low or present * BELOW, high or present * ABOVE, count)
    brief = replace(
        recipe,
        epochs=epochs or short(recipe.epochs),
        stopping=replace(recipe.stopping, patience=None),
        schedule=replace(recipe.schedule, since=0),
    )
    network = rebuild(config["architecture"])
    split = reload(config["data"], data)
    with blamed(home.path / "preprocess.json"):
        task = usable_task(home.json("preprocess"), split)
    if not len(split.validation):
        raise ArgumentError("rates are compared on validation data, but there are none: split the data again.")
    members = [Member(recipes.with_options(brief, learning_rate=rate), network.config, recipe.seed) for rate in rates]
    trained = (
        train_together(members, split, runtime=runtime)
        if task.stacks
        else train_in_turn(members, task, runtime=runtime)
    )
    found = drain(trained, watch)
    losses = tuple(_loss(member.rows, -1, member.state) for member in found)
    first = tuple(_loss(member.rows, 0, "") for member in found)
    result = Rates(rates, losses, first, brief.epochs, present, max(member.together for member in found))
    home.write(FILE, (json.dumps(finite(asdict(result)), indent=1) + "\n").encode())
    return result


def _loss(rows: Sequence[dict[str, Any]], place: int, state: str) -> float | None:
    """Give the validation loss of a check; None when it is not finite, or the member diverged."""
    value = rows[place].get("validation_loss") if rows and state != DIVERGED else None
    return value if value is not None and math.isfinite(value) else None
