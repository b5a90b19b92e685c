"""How a network is trained, as frozen records that can be written to disk and varied by name.

The records say *what*; `rates`, `stopping`, `objective` and `update` do it. Every number has one flat name
(`learning_rate`, `penalty`, `clip`, ...), so that a command line, a search space and a file all speak the same words:
see `with_options`.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import Any, ClassVar

import torch

from lamina._declared import check
from lamina._errors import ArgumentError, above, at_least, between, choice, nearest, whole
from lamina._types import Float, Tensor
from lamina.data.augment import Augment

MOST_EPOCHS = 1_000_000
"""The rates of all steps are laid out beforehand."""


@dataclass(frozen=True)
class GD:
    """Gradient descent: all training examples in every step, optionally with Armijo's line search.

    Notes: N1.36, N1.39 (§1.3, Alg. 2).
    """

    learning_rate: float = 0.1
    line_search: bool = False
    name: ClassVar[str] = "gd"

    def __post_init__(self) -> None:
        above("learning_rate", self.learning_rate, 0)


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent: one example per step, drawn at random.

    Notes: N1.42 (§1.3, Alg. 3).
    """

    learning_rate: float = 0.01
    name: ClassVar[str] = "sgd"

    def __post_init__(self) -> None:
        above("learning_rate", self.learning_rate, 0)


@dataclass(frozen=True)
class MiniBatch:
    """Mini batches of `batch_size` examples, with momentum if wanted.

    Notes: N1.45 (§1.3, Alg. 4).
    """

    learning_rate: float = 0.1
    momentum: float = 0.0
    nesterov: bool = False
    name: ClassVar[str] = "minibatch"

    def __post_init__(self) -> None:
        above("learning_rate", self.learning_rate, 0)
        between("momentum", self.momentum, 0, 1, open_high=True)
        if self.nesterov and not self.momentum:
            raise ArgumentError("`nesterov` needs a `momentum` greater than 0, got 0: set, for example, momentum=0.9.")


@dataclass(frozen=True)
class Adam:
    """Adam on mini batches, with the notes' defaults.

    Notes: N1.47, N1.48, N1.49 (§1.3, Alg. 5).
    """

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    name: ClassVar[str] = "adam"

    def __post_init__(self) -> None:
        above("learning_rate", self.learning_rate, 0)
        between("beta1", self.beta1, 0, 1, open_high=True)
        between("beta2", self.beta2, 0, 1, open_high=True)
        above("eps", self.eps, 0)


@dataclass(frozen=True)
class Schedule:
    """How the learning rate changes: `rates` turns it into one number per step.

    Notes: N1.40 (§1.3).

    Args:
        kind: "constant", "warmup" (rises, then stays), "cosine" (falls to `final` of the rate), "one-cycle" (rises,
            then falls along a cosine) or "step" (times `factor` after every `every` epochs).
        warmup: the share of all steps during which the rate rises linearly, in [0, 1].
        final: the last rate as a share of the learning rate.
        every: epochs between two drops of "step".
        factor: what "step" multiplies by.
    """

    kind: str = "constant"
    warmup: float = 0.0
    final: float = 0.0
    every: int = 10
    factor: float = 0.1

    def __post_init__(self) -> None:
        choice("schedule", self.kind, ("constant", "warmup", "cosine", "one-cycle", "step"))
        between("warmup", self.warmup, 0, 1)
        between("final", self.final, 0, 1)
        whole("every", self.every, 1)
        between("factor", self.factor, 0, 1)


def rates(schedule: Schedule, learning_rate: float, steps: int, steps_per_epoch: int) -> Float[Tensor, " step"]:
    r"""Return the learning rate $\tau_k$ of every step k = 0, ..., K-1, in float64.

    The rate rises linearly during the first `warmup` share of the steps, then follows its kind:
    constant, cosine $\tau(f + (1-f)\,(1+\cos\pi p)/2)$ with p the share of the remaining steps, or $\tau\,q^{e}$
    with e the number of drops so far.

    Notes: N1.40 (§1.3).
    Corrects: E16, rates mostly fall; warm-up is the rise the notes speak of.

    Args:
        schedule: what the rate does.
        learning_rate: the rate $\tau$ that the schedule scales.
        steps: the number K of all steps.
        steps_per_epoch: how many of them make an epoch.

    >>> rates(Schedule("warmup", warmup=0.5), 1.0, 4, 4).tolist()
    [0.5, 1.0, 1.0, 1.0]
    """
    warmup = schedule.warmup or (0.3 if schedule.kind == "one-cycle" else 0.1 if schedule.kind == "warmup" else 0.0)
    rising = round(warmup * steps)
    k = torch.arange(steps, dtype=torch.float64)
    progress = ((k - rising + 1) / max(1, steps - rising)).clamp(0, 1)
    share = torch.ones_like(k)
    if schedule.kind in ("cosine", "one-cycle"):
        share = schedule.final + (1 - schedule.final) * (1 + torch.cos(math.pi * progress)) / 2
    elif schedule.kind == "step":
        share = schedule.factor ** ((k // steps_per_epoch) // schedule.every)
    return learning_rate * torch.where(k < rising, (k + 1) / max(1, rising), share)


@dataclass(frozen=True)
class Penalty:
    r"""A weight penalty in the loss, $\lambda\|\theta\|_2^2$ or $\lambda\|\theta\|_1$ over all weights and biases.

    Norm 1 acts by a proximal step after each update, which gives exact zeros: gradient descent, mini batches, momentum,
    Nesterov's momentum and the line search all end at the minimizer of the loss plus penalty. Adam, like an optimizer
    from torch, sees $\lambda\,\mathrm{sign}(\theta)$ in the gradient instead: it stays within a few learning rates of
    the minimizer, with small numbers in place of zeros. A proximal step of Adam would shrink each weight by
    $\tau\lambda / (\sqrt{\hat m_2} + \epsilon)$, which has no bound where there was no gradient yet: the first update
    would delete all words that are not in the first batch and all units that do not fire on it.

    Notes: N1.62, N1.63 (§1.4).
    Differs: torch's `weight_decay` is 2 lambda.
    """

    strength: float = 0.0
    norm: int = 2

    def __post_init__(self) -> None:
        at_least("penalty", self.strength, 0)
        choice("penalty_norm", self.norm, (1, 2))


@dataclass(frozen=True)
class Clip:
    """Gradient clipping at `limit`: by the global norm, per tensor or per value; no clipping when `limit` is None.

    Notes: N5.27 (§5.2).
    """

    limit: float | None = None
    kind: str = "global"

    def __post_init__(self) -> None:
        if self.limit is not None:
            above("clip", self.limit, 0)
        choice("clip_kind", self.kind, ("global", "tensor", "value"))


@dataclass(frozen=True)
class Stopping:
    """When to stop before the last epoch; every rule that is not None is asked after each check.

    Notes: N1.37 (§1.3).
    Corrects: E14, the size of the loss is a sensible rule only if its minimum is zero; the gradient's norm is meant.
    """

    max_steps: int | None = None
    gradient_norm: float | None = None
    relative_step: float | None = None
    relative_decrease: float | None = None
    loss_below: float | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None:
                check(name, value, type(self).__annotations__[name])
                above(name, value, 0)

    @property
    def measures(self) -> bool:
        """Whether a rule asks for the norms of gradient and step."""
        return self.gradient_norm is not None or self.relative_step is not None


Optimizer = GD | SGD | MiniBatch | Adam | Callable[[Iterable[torch.nn.Parameter]], torch.optim.Optimizer]
OPTIMIZERS: dict[str, type] = {kind.name: kind for kind in (GD, SGD, MiniBatch, Adam)}


@dataclass(frozen=True)
class Recipe:
    """Everything about training that is not the network and not the data.

    Args:
        optimizer: one of our records, or a function from parameters to any `torch.optim` optimizer.
        epochs: how often the training data are gone through at most.
        batch_size: examples a step, for mini batches and Adam.
        sampling: "epoch" (a new order every epoch), or Alg. 4's independent draws "without-replacement" or
            "with-replacement" within a batch.
        loss: "nll", "bce" or "mse"; None chooses by the task.
        class_weights: None, or "balanced": each class weighs as much as the others, and of each label its presence as
            much as its absence.
        check_every: epochs between two looks at the validation data.
        label_smoothing: how much of a target all classes or words share, for texts and tokens; checks are judged
            without it.
        teacher_forcing: the share of true words that a decoder reads at the last step, falling evenly from 1; the
            others are its own.
        window: steps of a running text between two updates, through which the gradient goes back.
        precision: "float32", "tf32" (on CUDA products round their factors to 10 bits), "bfloat16" (products in
            bfloat16) or "float64"; parameters are float32 in the first three.
    """

    optimizer: Optimizer = field(default_factory=Adam)
    epochs: int = 10
    batch_size: int = 64
    schedule: Schedule = field(default_factory=Schedule)
    penalty: Penalty = field(default_factory=Penalty)
    clip: Clip = field(default_factory=Clip)
    stopping: Stopping = field(default_factory=Stopping)
    augment: Augment | None = None
    sampling: str = "epoch"
    loss: str | None = None
    class_weights: str | None = None
    check_every: int = 1
    label_smoothing: float = 0.0
    teacher_forcing: float = 1.0
    window: int = 100
    precision: str = "float32"
    seed: int = 0

    def __post_init__(self) -> None:
        whole("epochs", self.epochs, 1, MOST_EPOCHS)
        whole("batch_size", self.batch_size, 1)
        whole("check_every", self.check_every, 1)
        between("label_smoothing", self.label_smoothing, 0, 1, open_high=True)
        between("teacher_forcing", self.teacher_forcing, 0, 1)
        whole("window", self.window, 1)
        whole("seed", self.seed, 0)
        choice("sampling", self.sampling, ("epoch", "without-replacement", "with-replacement"))
        choice("loss", self.loss, (None, "nll", "bce", "mse"))
        choice("class_weights", self.class_weights, (None, "balanced"))
        choice("precision", self.precision, ("float32", "tf32", "bfloat16", "float64"))

    @property
    def dtype(self) -> torch.dtype:
        """The type of the parameters."""
        return torch.float64 if self.precision == "float64" else torch.float32

    @property
    def proximal(self) -> bool:
        """Whether the penalty acts by a proximal step, which gives exact zeros; Adam has none, see `Penalty`."""
        plain = isinstance(self.optimizer, GD | SGD | MiniBatch)
        return self.penalty.norm == 1 and self.penalty.strength > 0 and plain


# The flat names of numbers whose record has another word for them.
_FLAT = {
    "schedule": ("schedule", "kind"),
    "penalty": ("penalty", "strength"),
    "penalty_norm": ("penalty", "norm"),
    "clip": ("clip", "limit"),
    "clip_kind": ("clip", "kind"),
}
_PARTS = ("optimizer", "schedule", "penalty", "clip", "stopping", "augment")


def _homes(recipe: Recipe) -> dict[str, tuple[str, ...]]:
    """Map every flat name to its place in the recipe."""
    homes: dict[str, tuple[str, ...]] = {f.name: (f.name,) for f in fields(Recipe) if f.name not in _PARTS}
    for part in _PARTS:
        record = getattr(recipe, part) or Augment()
        if is_dataclass(record):
            taken = {inner for outer, inner in _FLAT.values() if outer == part}
            homes |= {f.name: (part, f.name) for f in fields(record) if f.name not in taken}
    return homes | _FLAT | {"optimizer": ("optimizer",)}


def option_names(recipe: Recipe | None = None) -> tuple[str, ...]:
    """List the flat names that `with_options` takes for a recipe; without one, those of every optimizer.

    >>> "learning_rate" in option_names() and "penalty" in option_names() and "momentum" in option_names()
    True
    """
    recipes = [recipe] if recipe else [Recipe(optimizer=kind()) for kind in OPTIMIZERS.values()]
    return tuple(dict.fromkeys(name for each in recipes for name in _homes(each)))


@cache
def option_types() -> dict[str, Any]:
    """Say what each flat name is declared to be, for every optimizer.

    >>> option_types()["learning_rate"], option_types()["patience"]
    (<class 'float'>, int | None)
    """
    types: dict[str, Any] = {}
    for kind in OPTIMIZERS.values():
        recipe = Recipe(optimizer=kind(), augment=Augment())
        for name, home in _homes(recipe).items():
            record = getattr(recipe, home[0]) if len(home) > 1 else recipe
            types[name] = next(f.type for f in fields(record) if f.name == home[-1])
    return types | {"optimizer": str}


def with_options(recipe: Recipe, **options: Any) -> Recipe:
    """Return the recipe with some numbers changed, each by its flat name.

    >>> with_options(Recipe(), learning_rate=0.01, penalty=1e-4).penalty
    Penalty(strength=0.0001, norm=2)
    """
    if isinstance(options.get("optimizer"), str):
        name = options.pop("optimizer")
        choice("optimizer", name, tuple(OPTIMIZERS))
        recipe = replace(recipe, optimizer=OPTIMIZERS[name]())
    homes, types = _homes(recipe), option_types()
    for name, value in options.items():
        if name not in homes:
            raise ArgumentError(
                f"the recipe has no option {name!r}: its options are {', '.join(homes)}{nearest(name, homes)}"
            )
        if name != "optimizer":
            check(name, value, types[name])
        *outer, inner = homes[name]
        if outer:
            record: Any = getattr(recipe, outer[0]) or Augment()
            changed: dict[str, Any] = {outer[0]: replace(record, **{inner: value})}
            recipe = replace(recipe, **changed)
        else:
            recipe = replace(recipe, **{inner: value})
    return recipe


def as_dict(recipe: Recipe) -> dict[str, Any]:
    """Turn a recipe into plain values for a file; None is left out."""
    values = {f.name: getattr(recipe, f.name) for f in fields(recipe)}
    for part in _PARTS:
        record = values[part]
        if is_dataclass(record) and not isinstance(record, type):
            values[part] = {key: value for key, value in asdict(record).items() if value is not None}
            if part == "optimizer":
                values[part]["name"] = record.name  # type: ignore[attr-defined]
        elif record is not None:
            values[part] = {"name": "custom", "code": getattr(record, "__qualname__", repr(record))}
    return {key: value for key, value in values.items() if value is not None}


def from_dict(values: dict[str, Any], optimizer: Optimizer | None = None) -> Recipe:
    """Read a recipe back from plain values; a custom optimizer cannot be stored and must be given again."""
    values = dict(values)
    record = dict(values.pop("optimizer"))
    name = record.pop("name")
    if name == "custom" and optimizer is None:
        raise ArgumentError(
            f"the run was trained with the optimizer {record['code']!r}, which a file cannot hold: "
            "give it again as `optimizer`."
        )
    parts = {"schedule": Schedule, "penalty": Penalty, "clip": Clip, "stopping": Stopping, "augment": Augment}
    for part, kind in parts.items():
        if part in values:
            values[part] = kind(**values[part])
    made: Any = optimizer if name == "custom" else OPTIMIZERS[name](**record)
    return Recipe(optimizer=made, **values)
