"""Train a run longer than was planned, perhaps with another rate: what may change, and the record of every stretch.

[earlier.1]            # config.toml: how the run was trained before
epoch = 40             # where this stretch ended: whole epochs, batches of the next one, updates, checks
batch = 0
step = 3760
rows = 40
[earlier.1.recipe]     # the recipe until then; that of the present stretch is [recipe]
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lamina._errors import ArgumentError, nearest
from lamina.training import recipe as recipes
from lamina.training.recipe import Recipe

_PARTS = ("optimizer", "schedule", "penalty", "clip", "stopping", "averaging", "augment")
_PLAIN = ("check_every", "label_smoothing", "teacher_forcing", "micro_batch", "stage_rate")
_RATES = ("optimizer", "schedule")


@dataclass(frozen=True)
class Place:
    """Where a run stands: whole epochs, batches of the next one, updates and checks that are done."""

    epoch: int = 0
    batch: int = 0
    step: int = 0
    rows: int = 0


def changeable(recipe: Recipe) -> tuple[str, ...]:
    """List the options that may change while a run continues.

    >>> {"learning_rate", "schedule", "patience"} < {*changeable(Recipe())}
    True
    >>> {"optimizer", "batch_size", "precision", "seed"} & {*changeable(Recipe())}
    set()
    """
    homes = recipes._homes(recipe)
    return tuple(name for name, home in homes.items() if name in _PLAIN or (home[0] in _PARTS and len(home) > 1))


def continued(recipe: Recipe, epochs: int | None, options: Mapping[str, Any], at: Place) -> Recipe:
    """Return the recipe with which a run goes on, or refuse what cannot change any more.

    A rate or a schedule that is set begins here. Otherwise the schedule is that of a run which was planned with so many
    epochs from the start.

    Args:
        recipe: the recipe until now.
        epochs: how many epochs there will be in all; None for those of the recipe.
        options: flat names of the recipe and their new values.
        at: where the run stands.
    """
    may = changeable(recipe)
    for name in options:
        if name not in may:
            raise ArgumentError(
                f"{name!r} cannot change while a run continues, which keeps its network, its data, its optimizer, its "
                f"batches and its precision: what may change is {', '.join(may)}{nearest(name, may)}"
            )
    changed = recipes.with_options(recipe, **options)
    if epochs is not None:
        changed = replace(changed, epochs=epochs)
    if any(getattr(changed, part) != getattr(recipe, part) for part in _RATES) and "since" not in options:
        changed = replace(changed, schedule=replace(changed.schedule, since=at.step))
    done = at.epoch + (at.batch > 0)
    if epochs is not None and epochs < done:
        raise ArgumentError(f"`epochs` must be at least {done}, since so many have begun or are done, got {epochs}.")
    if options and changed.epochs <= at.epoch:
        raise ArgumentError(
            f"all {at.epoch} epochs are done, so that other options would change nothing: ask for more epochs, such as "
            f"{2 * at.epoch}."
        )
    most = changed.stopping.max_steps
    if changed != recipe and most is not None and at.step >= most:
        raise ArgumentError(
            f"the run stopped after {at.step} updates, and `max_steps` is {most}: set a larger one to train longer."
        )
    return changed


def recorded(config: dict[str, Any], recipe: Recipe, at: Place) -> dict[str, Any]:
    """Return the description of a run that goes on with another recipe; a stretch in which nothing was done is lost."""
    now = config | {"recipe": recipes.as_dict(recipe)}
    if at.step == begin(config).step:
        return now
    earlier = dict(config.get("earlier", {}))
    earlier[str(len(earlier) + 1)] = {**vars(at), "recipe": config["recipe"]}
    return now | {"earlier": earlier}


def begin(config: Mapping[str, Any]) -> Place:
    """Return where the present stretch of a run began."""
    last = [*config.get("earlier", {}).values()][-1:]
    return Place(**{name: last[0][name] for name in vars(Place())}) if last else Place()
