"""What every trial of a study shares: an architecture, data and a recipe; a trial changes some of their numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib import import_module
from typing import Any

from lamina._declared import fits, words
from lamina._errors import ArgumentError, at_least, choice, nearest
from lamina.architectures.build import configure, find
from lamina.architectures.build import option_types as network_types
from lamina.data.dataset import Dataset
from lamina.data.identity import identity
from lamina.data.splits import Split
from lamina.populations.members import Member
from lamina.studies.space import Choices, Range, Space, Values, read_value, spell
from lamina.training import recipe as recipes
from lamina.training.plan import load_for, understood
from lamina.training.rebuild import reload
from lamina.training.recipe import Recipe, option_names, with_options
from lamina.training.tasks.recommended import check_fit
from lamina.training.tasks.task import Task

DIRECTIONS = {"accuracy": "maximize", "token_accuracy": "maximize", "loss": "minimize", "rmse": "minimize"}
NOISE = "label_noise"
SIZES = ("inputs", "outputs")


@dataclass(frozen=True)
class Problem:
    """Turns the values of a trial into networks to train.

    Args:
        architecture: a name from `lamina list`.
        split: the data; the test part stays sealed.
        recipe: how to train where the trial says nothing.
        options: options of the network where the trial says nothing.
        fixed: options of the recipe that hold for every optimizer.
        seeds: every configuration is trained once with each: initial weights and masks; the order of examples is one.
        notes: what was decided, for people.
    """

    architecture: str
    split: Split
    recipe: Recipe
    options: Values = field(default_factory=dict)
    fixed: Values = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)
    notes: tuple[str, ...] = ()

    @classmethod
    def make(
        cls,
        architecture: str,
        data: str | Dataset | Split,
        *,
        recipe: Recipe | None = None,
        options: Mapping[str, Any] | None = None,
        seeds: int | Sequence[int] = 1,
        seed: int = 0,
    ) -> "Problem":
        """Load and split the data and choose a recipe, as `lamina train` does, unless they are given.

        Args:
            architecture: a name from `lamina list`.
            data: a name, a path, a dataset or its split.
            recipe: how to train; what is recommended for network and data by default.
            options: flat names of the recipe and of the network, which are the same for every trial.
            seeds: how many, counted from `seed`, or which.
            seed: of the split and the order of examples.
        """
        find(architecture)
        split = data if isinstance(data, Split) else load_for(architecture, data, {}).split(seed=seed)
        given = dict(options or {})
        fixed = {name: given.pop(name) for name in list(given) if name in option_names()}
        check_fit(architecture, split.train.spec)
        task, network, _ = understood(split, given)
        sizes = task.sizes(architecture, network)
        note = "recipe: as given"
        if recipe is None:
            recommended = task.recommend(architecture, sizes)
            recipe, note = recommended.recipe, f"recipe: {recommended.sentence}"
        recipe = replace(with_options(recipe, **fixed), seed=seed)
        if callable(recipe.optimizer):
            raise ArgumentError(
                "`optimizer` must be one of Lamina's in a search, because files must name it: GD, SGD, Adam, …"
            )
        if callable(recipe.loss) or recipe.metrics:
            raise ArgumentError(
                "`loss` and `metrics` of your own cannot be in a search, because files must name them: use a "
                "loss by name, or train the configurations one by one with `fit`."
            )
        if fixed or given:
            note += f"; changed: {', '.join(f'{name}={spell(value)}' for name, value in {**given, **fixed}.items())}"
        if isinstance(seeds, int):
            at_least("seeds", seeds, 1)
            seeds = range(seed, seed + seeds)
        made = cls(architecture, split, recipe, given, fixed, tuple(seeds), (*split.train.spec.notes, split.note, note))
        vars(made)["_understood"] = task, network  # once: a dictionary of many texts takes a while
        return made

    @property
    def stacks(self) -> bool:
        """Whether configurations of one shape are trained as one; what reads words is trained one by one."""
        return self.task.stacks

    @cached_property
    def _understood(self) -> tuple[Task, Values]:
        task, network, _ = understood(self.split, self.options)
        return task, network

    @property
    def task(self) -> Task:
        """What is learned from the data."""
        return self._understood[0]

    @cached_property
    def _hints(self) -> dict[str, Any]:
        """Every name that may vary, with its type."""
        own = {name: hint for name, hint in network_types(self.architecture).items() if name not in SIZES}
        if "hidden" in own and "width" not in own:
            own["width"] = int
            if "depth" not in own and fits((1,), own["hidden"]):
                own["depth"] = int
        hints = {**recipes.option_types(), NOISE: float, **own}
        return {name: hint for name, hint in hints.items() if name != "seed"}

    def check(self, space: Space) -> Space:
        """Return the space with numbers of the right kind, or say what is wrong with it.

        Raises:
            ArgumentError: a name that nothing has, a value of the wrong kind, or one out of bounds.
        """
        if {"hidden"} & set(space.names) and {"width", "depth"} & set(space.names):
            raise ArgumentError("`hidden` gives all widths: vary either it, or `width` and `depth`.")
        found = []
        for each in space.hyperparameters:
            if each.name == "seed":
                raise ArgumentError("`seed` is not a hyperparameter: --seeds N trains every configuration N times.")
            if each.name not in self._hints:
                raise ArgumentError(
                    f"neither {self.architecture} nor the recipe has an option {each.name!r}: "
                    f"there are {', '.join(sorted(self._hints))}{nearest(each.name, self._hints)}"
                )
            found.append(replace(each, domain=_typed(each.name, each.domain, self._hints[each.name])))
        space = Space(tuple(found))
        for each in space.hyperparameters:
            ends = each.domain.values if isinstance(each.domain, Choices) else (each.domain.low, each.domain.high)
            for value in ends:
                self._try(space, each.name, value)
        return space

    def _try(self, space: Space, name: str, value: Any) -> None:
        """Build a member with this value, and the first of all others that lets it be active."""
        values = {other.name: _first(other.domain) for other in space.hyperparameters}
        wanted = [next(h for h in space.hyperparameters if h.name == name)]
        for each in wanted:
            for condition in each.when:
                values[condition.name] = condition.values[0]
                wanted.append(next(h for h in space.hyperparameters if h.name == condition.name))
        try:
            self.members(space.active({**values, name: value}))
        except (ArgumentError, TypeError) as error:
            raise ArgumentError(f"{name}={spell(value)}: {error}") from error

    def members(self, values: Values) -> list[Member]:
        """Make the networks of a trial, one per seed."""
        network = {name: value for name, value in values.items() if name not in option_names() and name != NOISE}
        changed = {name: value for name, value in values.items() if name in option_names()}
        given = _with_widths(self.architecture, self._understood[1], network)
        config = configure(self.architecture, **self.task.sizes(self.architecture, given))
        # An optimizer that varies comes with its own numbers; those fixed for all of them are put back.
        recipe = with_options(self.recipe, **({**self.fixed, **changed} if "optimizer" in changed else changed))
        return [Member(recipe, config, seed, values.get(NOISE, 0.0)) for seed in self.seeds]

    def start(self, space: Space) -> Values:
        """Give, for each name whose present value is among those to try, that value: where a search by hand begins."""
        member = self.members({})[0]
        flat = _flat(member)
        found: Values = {}
        for each in space.hyperparameters:
            present = flat.get(each.name)
            if each.name in flat and isinstance(each.domain, Choices) and each.domain.has(present):
                found[each.name] = present
        return found

    def score(self, metric: str | None) -> tuple[str, str]:
        """Name the column that is compared, and its direction; by default accuracy, or the RMSE.

        >>> Problem.make("fnn", "iris").score(None)
        ('validation_accuracy', 'maximize')
        """
        natural = self.task.score_of(self.split.train.spec)
        name = (natural if metric is None else metric).removeprefix("validation_")
        choice("metric", name, (natural, "loss"))
        if not len(self.split.validation):
            raise ArgumentError(
                "a search compares configurations on validation data, but there are none: split the data again."
            )
        return f"validation_{name}", DIRECTIONS[name]

    def describe(self) -> dict[str, Any]:
        """Write it as plain values, for `study.toml`."""
        origin = {**(self.split.origin or {"source": self.split.train.spec.source})}
        origin |= {"reload": self.split.origin is not None, "fingerprint": identity(self.split)}
        parts = (self.split.train, self.split.validation, self.split.test)
        return {
            "architecture": self.architecture,
            "options": [f"{name}={spell(value)}" for name, value in self.options.items()],
            "fixed": [f"{name}={spell(value)}" for name, value in self.fixed.items()],
            "seeds": list(self.seeds),
            "notes": list(self.notes),
            "examples": [len(part) for part in parts],
            "task": self.split.train.spec.task,
            "data": origin,
            "recipe": recipes.as_dict(self.recipe),
        }

    @classmethod
    def restore(cls, values: dict[str, Any], data: Split | None = None) -> "Problem":
        """Read it back; data made in memory must be given again."""
        options, fixed = (
            {name: read_value(text) for name, _, text in (word.partition("=") for word in values[part])}
            for part in ("options", "fixed")
        )
        return cls(
            values["architecture"],
            reload(values["data"], data),
            recipes.from_dict(values["recipe"]),
            options,
            fixed,
            tuple(values["seeds"]),
            tuple(values["notes"]),
        )


def _with_widths(architecture: str, options: Values, varied: Values) -> Values:
    """Turn `width` and `depth` into the widths of the hidden layers; the depth counts the layers after the input."""
    given = {**options, **varied}
    entry = find(architecture)
    config = getattr(import_module(entry.module), entry.config)
    own = {f.name: f.default for f in fields(config)}
    width, depth = (given.pop(name, None) if name not in own else None for name in ("width", "depth"))
    if width is None and depth is None:
        return given
    hidden = given.get("hidden", own["hidden"])
    layers = (hidden,) if isinstance(hidden, int) else tuple(hidden)
    if depth is not None:
        at_least("depth", depth, 1)
        layers = (layers[0] if layers else 1,) * (depth - 1)
    if width is not None:
        at_least("width", width, 1)
        layers = (width,) * len(layers)
    single = isinstance(own["hidden"], int) and isinstance(hidden, int)
    return {**given, "hidden": layers[0] if single else layers}


def _flat(member: Member) -> Values:
    recipe = member.recipe
    flat = {f.name: getattr(member.config, f.name) for f in fields(member.config)}
    for name, home in recipes._homes(recipe).items():
        record: Any = recipe
        for part in home:
            record = getattr(record, part, None)
        flat[name] = record
    flat["optimizer"] = getattr(recipe.optimizer, "name", None)
    flat[NOISE] = member.label_noise
    hidden = flat.get("hidden")
    if hidden is not None and "width" not in flat:
        layers = (hidden,) if isinstance(hidden, int) else tuple(hidden)
        flat |= {"width": layers[0] if len(set(layers)) == 1 else None, "depth": flat.get("depth", len(layers) + 1)}
    return flat


def _first(domain: Choices | Range) -> Any:
    return domain.values[0] if isinstance(domain, Choices) else domain.low


def _typed(name: str, domain: Choices | Range, hint: Any) -> Choices | Range:
    """Bring a domain to the type of its option: whole ends of a real number are real ends."""
    if isinstance(domain, Choices):
        for value in domain.values:
            if not fits(value, hint):
                raise ArgumentError(f"`{name}` must be {_words(hint)}, got {spell(value)}.")
        return domain
    if fits(0.5, hint):
        return replace(domain, low=float(domain.low), high=float(domain.high))
    if not fits(1, hint):
        raise ArgumentError(f"`{name}` must be {_words(hint)}, got the range {domain}: give a list of values.")
    if not domain.whole:
        raise ArgumentError(f"`{name}` must be a whole number, got the range {domain}: use whole ends.")
    return domain


def _words(hint: Any) -> str:
    """Name a type as a space writes its values."""
    return words(hint, sizes="128x64", names="relu+tanh")
