"""How a network is trained, as frozen records that can be written to disk and varied by name.

The records say *what*; `rates`, `stopping`, `objective` and `update` do it. Every number has one flat name
(`learning_rate`, `penalty`, `clip`, ...), so that a command line, a search space and a file all speak the same words:
see `with_options`.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import Any, ClassVar

import torch

from lamina._declared import check
from lamina._errors import ArgumentError, above, at_least, between, choice, nearest, whole
from lamina._types import Float, Tensor
from lamina.data.augment import Augment
from lamina.training import _torch_optimizers as torchs
from lamina.training.objective import Judged

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
class AdamW:
    r"""Adam that also shrinks all weights and biases by the share $\tau\,$`weight_decay` in each step.

    Not in the notes; `functional.optimizers.adamw` has the equation. The defaults are torch's.
    """

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.01
    name: ClassVar[str] = "adamw"

    def __post_init__(self) -> None:
        Adam(self.learning_rate, self.beta1, self.beta2, self.eps)  # which checks them
        at_least("weight_decay", self.weight_decay, 0)


@dataclass(frozen=True)
class RMSprop:
    """Steps divided by the root mean square of recent gradients, on mini batches, with momentum if wanted.

    Not in the notes; `functional.optimizers.rmsprop` has the equation. The defaults are torch's.
    """

    learning_rate: float = 0.01
    alpha: float = 0.99
    eps: float = 1e-8
    momentum: float = 0.0
    name: ClassVar[str] = "rmsprop"

    def __post_init__(self) -> None:
        above("learning_rate", self.learning_rate, 0)
        between("alpha", self.alpha, 0, 1, open_high=True)
        above("eps", self.eps, 0)
        between("momentum", self.momentum, 0, 1, open_high=True)


@dataclass(frozen=True)
class Schedule:
    """How the learning rate changes: `rates` turns it into one number per step, of which `Plateau` leaves a share.

    Notes: N1.40 (§1.3).

    Args:
        kind: "constant", "warmup" (rises, then stays), "cosine" (falls to `final` of the rate), "one-cycle" (rises,
            then falls along a cosine), "step" (times `factor` after every `every` epochs) or "plateau" (times `factor`
            whenever the validation loss did not improve in `wait` checks).
        warmup: the share of all steps during which the rate rises linearly, in [0, 1].
        final: the last rate as a share of the learning rate; of "plateau" the smallest one.
        every: epochs between two drops of "step".
        factor: what "step" and "plateau" multiply by.
        wait: checks without improvement after which "plateau" lowers the rate.
        improvement: the share by which the smallest validation loss must fall to count as improved, for "plateau".
        since: updates before the schedule begins; a run that continues with another rate counts from there.
    """

    kind: str = "constant"
    warmup: float = 0.0
    final: float = 0.0
    every: int = 10
    factor: float = 0.1
    since: int = 0
    wait: int = 10
    improvement: float = 1e-4

    def __post_init__(self) -> None:
        choice("schedule", self.kind, ("constant", "warmup", "cosine", "one-cycle", "step", "plateau"))
        between("warmup", self.warmup, 0, 1)
        between("final", self.final, 0, 1)
        whole("every", self.every, 1)
        between("factor", self.factor, 0, 1)
        whole("since", self.since, 0)
        whole("wait", self.wait, 1)
        between("improvement", self.improvement, 0, 1, open_high=True)


def rates(schedule: Schedule, learning_rate: float, steps: int, steps_per_epoch: int) -> Float[Tensor, " step"]:
    r"""Return the learning rate $\tau_k$ of every step k = 0, ..., K-1, in float64.

    The rate rises linearly during the first `warmup` share of the steps, then follows its kind:
    constant, cosine $\tau(f + (1-f)\,(1+\cos\pi p)/2)$ with p the share of the remaining steps, or $\tau\,q^{e}$
    with e the number of drops so far. Up to `since` the rate is the first one; all shares count from there. That of
    "plateau" is constant here: `Plateau` lowers it as the history of the run asks for.

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
    if schedule.since:
        later = rates(replace(schedule, since=0), learning_rate, max(1, steps - schedule.since), steps_per_epoch)
        return torch.cat([later[:1].expand(schedule.since), later])[:steps]
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
    Nesterov's momentum and the line search all end at the minimizer of the loss plus penalty. Adam, AdamW and RMSprop,
    like an optimizer from torch, see $\lambda\,\mathrm{sign}(\theta)$ in the gradient instead: they stay within a few
    learning rates of the minimizer, with small numbers in place of zeros. A proximal step of Adam would shrink each
    weight by $\tau\lambda / (\sqrt{\hat m_2} + \epsilon)$, which has no bound where there was no gradient yet: the
    first update would delete all words that are not in the first batch and all units that do not fire on it.

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
class Averaging:
    """Averages of the weights over the last updates, which checks judge and a run keeps; not in the notes.

    `functional.averaging` has the equation, `training.averaging` says what becomes of batch normalizations.

    Args:
        decay: how much of the average one more update leaves; 0.99 averages about the last 100 updates, 1 all of them
            alike, and 0 takes the last weights themselves.
        start: the share of all updates of the recipe before the first that counts; until then checks judge the weights
            themselves.
    """

    decay: float = 0.0
    start: float = 0.0

    def __post_init__(self) -> None:
        between("averaging", self.decay, 0, 1)
        between("averaging_start", self.start, 0, 1, open_high=True)


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


Ours = GD | SGD | MiniBatch | Adam | AdamW | RMSprop
Optimizer = Ours | Callable[..., torch.optim.Optimizer]
OPTIMIZERS: dict[str, type] = {kind.name: kind for kind in (GD, SGD, MiniBatch, Adam, AdamW, RMSprop)}


@dataclass(frozen=True)
class Recipe:
    """Everything about training that is not the network and not the data.

    Args:
        optimizer: one of our records, a class of `torch.optim`, which brings its own learning rate unless
            `functools.partial` sets `lr`, or a function of the parameters that makes an optimizer. One whose first
            argument is called `named_parameters` gets pairs of name and parameter. The schedule scales the rates of
            all parameter groups alike.
        epochs: how often the training data are gone through at most.
        batch_size: examples a step, for mini batches and Adam.
        micro_batch: how many of them are computed at once at most; their gradients are added before the update, which
            is that of the whole batch. None computes a batch as one, or in pieces if it does not fit in memory.
        sampling: "epoch" (a new order every epoch), or Alg. 4's independent draws "without-replacement" or
            "with-replacement" within a batch.
        loss: None chooses by the task: "nll", "bce" or "mse". By name also "focal" for classes and labels, "mae",
            "huber" and "quantile" for numbers; or a function of outputs and targets that gives the mean loss, or one
            for each example. Real targets are standardized: errors in the loss are in standard deviations of them.
        huber_delta: the error at which "huber" becomes a line, in standard deviations of the target.
        quantile_level: the share of targets that "quantile" wants below its output.
        focal_gamma: how much less "focal" cares for what is right already.
        metrics: further scores by name, functions of all outputs and targets of the validation or test part at once:
            logits and labels, or numbers in the units of the data.
        class_weights: None, or "balanced": each class weighs as much as the others, and of each label its presence as
            much as its absence.
        check_every: epochs between two looks at the validation data.
        stage_rate: the rate of the first stage of the network as a share of the learning rate; those of the others rise
            by equal factors towards 1, which layers that start anew take. See `freezing.rate_shares`.
        label_smoothing: how much of a target all classes, words or both answers to a label share; checks are judged
            without it.
        teacher_forcing: the share of true words that a decoder reads at the last step, falling evenly from 1; the
            others are its own.
        window: steps of a running text between two updates, through which the gradient goes back.
        averaging: whether checks judge, and a run keeps, an average of the weights over the last updates.
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
    loss: str | Judged | None = None
    huber_delta: float = 1.0
    quantile_level: float = 0.5
    focal_gamma: float = 2.0
    metrics: Mapping[str, Any] = field(default_factory=dict, hash=False)
    class_weights: str | None = None
    check_every: int = 1
    stage_rate: float = 1.0
    label_smoothing: float = 0.0
    teacher_forcing: float = 1.0
    window: int = 100
    precision: str = "float32"
    micro_batch: int | None = None
    seed: int = 0
    averaging: Averaging = field(default_factory=Averaging)

    def __post_init__(self) -> None:
        if self.optimizer in OPTIMIZERS.values():
            name = getattr(self.optimizer, "__name__", "")
            raise ArgumentError(f"`optimizer` must be a record, got the class {name}: write {name}().")
        if not isinstance(self.optimizer, Ours):
            torchs.check(self.optimizer)
        whole("epochs", self.epochs, 1, MOST_EPOCHS)
        whole("batch_size", self.batch_size, 1)
        if self.micro_batch is not None:
            whole("micro_batch", self.micro_batch, 1)
        whole("check_every", self.check_every, 1)
        between("label_smoothing", self.label_smoothing, 0, 1, open_high=True)
        between("teacher_forcing", self.teacher_forcing, 0, 1)
        whole("window", self.window, 1)
        whole("seed", self.seed, 0)
        choice("sampling", self.sampling, ("epoch", "without-replacement", "with-replacement"))
        if not callable(self.loss):
            choice("loss", self.loss, (None, "nll", "bce", "focal", "mse", "mae", "huber", "quantile"))
        above("huber_delta", self.huber_delta, 0)
        above("quantile_level", self.quantile_level, 0)
        between("quantile_level", self.quantile_level, 0, 1, open_high=True)
        at_least("focal_gamma", self.focal_gamma, 0)
        _metrics_checked(self.metrics)
        choice("class_weights", self.class_weights, (None, "balanced"))
        above("stage_rate", self.stage_rate, 0)
        between("stage_rate", self.stage_rate, 0, 1)
        choice("precision", self.precision, ("float32", "tf32", "bfloat16", "float64"))

    @property
    def loss_numbers(self) -> dict[str, Any]:
        """The numbers that losses take, as `objective.choose` calls them."""
        return {"delta": self.huber_delta, "level": self.quantile_level, "gamma": self.focal_gamma}

    @property
    def dtype(self) -> torch.dtype:
        """The type of the parameters."""
        return torch.float64 if self.precision == "float64" else torch.float32

    @property
    def proximal(self) -> bool:
        """Whether the penalty acts by a proximal step, which gives exact zeros; see `Penalty`."""
        plain = isinstance(self.optimizer, GD | SGD | MiniBatch)
        return self.penalty.norm == 1 and self.penalty.strength > 0 and plain

    @property
    def penalized(self) -> bool:
        """Whether the gradient of the penalty is added to that of the loss."""
        return self.penalty.strength > 0 and not self.proximal


_SCORES = (
    "loss", "accuracy", "token_accuracy", "mse", "rmse", "mae", "r2", "f1", "micro_f1", "auc", "exact",
    "average_precision", "mase", "naive_mae",
)  # fmt: skip


def _metrics_checked(metrics: Mapping[str, Any]) -> None:
    """Refuse metrics that are no functions or have names that other scores have."""
    for name, metric in metrics.items():
        if name in _SCORES:
            raise ArgumentError(f"`metrics` must have names of their own, but {name!r} is a score already: rename it.")
        if not callable(metric):
            raise ArgumentError(f"`metrics` must be functions of outputs and targets, got {metric!r} for {name!r}.")


# The flat names of numbers whose record has another word for them.
_FLAT = {
    "schedule": ("schedule", "kind"),
    "penalty": ("penalty", "strength"),
    "penalty_norm": ("penalty", "norm"),
    "clip": ("clip", "limit"),
    "clip_kind": ("clip", "kind"),
    "averaging": ("averaging", "decay"),
    "averaging_start": ("averaging", "start"),
}
_PARTS = ("optimizer", "schedule", "penalty", "clip", "stopping", "averaging", "augment")


def _homes(recipe: Recipe) -> dict[str, tuple[str, ...]]:
    """Map every flat name to its place in the recipe."""
    homes: dict[str, tuple[str, ...]] = {
        f.name: (f.name,) for f in fields(Recipe) if f.name not in (*_PARTS, "metrics")
    }
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
    return tuple(option_types()) if recipe is None else tuple(_homes(recipe))


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
            values[part] = torchs.spelled(record) or {"name": "custom", "code": _code(record)}
    if callable(values["loss"]):
        values["loss"] = {"name": "custom", "code": _code(values["loss"])}
    values["metrics"] = list(values["metrics"]) or None
    return {key: value for key, value in values.items() if value is not None}


def _code(function: Any) -> str:
    return str(getattr(function, "__qualname__", repr(function)))


def from_dict(
    values: dict[str, Any],
    optimizer: Optimizer | None = None,
    loss: Judged | None = None,
    metrics: Mapping[str, Judged] | None = None,
) -> Recipe:
    """Read a recipe back from plain values; functions cannot be stored and must be given again."""
    values = dict(values)
    if isinstance(values.get("loss"), dict):
        if loss is None:
            raise ArgumentError(
                f"the run was trained with the loss {values['loss']['code']!r}, which a file cannot hold: give it "
                "again, as in lamina.resume(folder, loss=...)."
            )
        values["loss"] = loss
    names = values.pop("metrics", [])
    if set(names) - set(metrics or {}):
        raise ArgumentError(
            f"the run was trained with the metrics {', '.join(names)}, which a file cannot hold: give them again, "
            "as in lamina.resume(folder, metrics={...})."
        )
    values["metrics"] = {name: (metrics or {})[name] for name in names}
    record = dict(values.pop("optimizer"))
    name = record.pop("name")
    if name == "custom" and optimizer is None:
        raise ArgumentError(
            f"the run was trained with the optimizer {record['code']!r}, which a file cannot hold: "
            "give it again as `optimizer`."
        )
    parts = {
        "schedule": Schedule,
        "penalty": Penalty,
        "clip": Clip,
        "stopping": Stopping,
        "averaging": Averaging,
        "augment": Augment,
    }
    for part, kind in parts.items():
        if part in values:
            values[part] = kind(**values[part])
    made: Any = optimizer
    if name in OPTIMIZERS:
        made = OPTIMIZERS[name](**record)
    elif name != "custom" and optimizer is None:
        made = torchs.read(name, record)
    return Recipe(optimizer=made, **values)
