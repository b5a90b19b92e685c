r"""Updates of the optimization algorithms (§1.3 of the notes), pure: parameters, gradients and state in, new ones out.

Parameters are a dictionary of tensors, as `torch.func.functional_call` takes them. An optimizer is a pair of functions
`init(params) -> State` and `update(params, grads, state, hyper) -> (params, State)` with a record of its numbers. A
number may be a tensor with one entry for each member of a population; all parameters then have the members along their
first axis. `vmap` over single members works as well. These updates are the specification: a run of one model uses
`torch.optim`, which agrees with them to the last bit in float64.

SGD and mini batch gradient descent are gradient descent with the gradient of sampled losses; see `sample_indices`.
AdamW and RMSprop are not in the notes; both are widely used, and close to Adam.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import torch

from lamina._errors import ArgumentError, ShapeError, above, at_least, between
from lamina._types import Float, Int, Seed, Tensor
from lamina.functional.random import as_generator

Params = dict[str, Tensor]
"""Tensors by name: parameters, their gradients, or moments of these."""

Number = float | Tensor
"""A hyperparameter: one number, or a vector with one entry per member of the population."""


class State(NamedTuple):
    """What an optimizer remembers between updates; tensors only, so that it can be saved, stacked and mapped over.

    Args:
        step: how many updates were made, an integer tensor.
        moments: averages of gradients, each a dictionary like the parameters; their number depends on the optimizer.
    """

    step: Tensor
    moments: tuple[Params, ...]


class Optimizer(NamedTuple):
    """One row of `OPTIMIZERS`.

    Args:
        init: makes the state for given parameters.
        update: makes one update.
        hyper: the record of numbers that `update` takes.
    """

    init: Callable[[Params], State]
    update: Callable[[Params, Params, State, Any], tuple[Params, State]]
    hyper: type[Any]


def per_member(value: Number, like: Tensor) -> Number:
    """Shape a hyperparameter so that it multiplies `like`, member by member.

    Args:
        value: a number, which is returned as it is; a tensor without axes; or a vector with one entry per member.
        like: a tensor whose first axis is the population if `value` is a vector.

    Returns:
        The number, or a tensor in the precision of `like` that broadcasts over all but its first axis.

    >>> per_member(torch.tensor([0.1, 0.2]), torch.ones(2, 4, 5)).shape
    torch.Size([2, 1, 1])
    """
    if not isinstance(value, Tensor):
        return value
    if value.ndim > 1 or (value.ndim == 1 and value.shape != like.shape[:1]):
        raise ShapeError(
            f"A hyperparameter must be a number or have one entry for each member along the first axis of a tensor of "
            f"shape {tuple(like.shape)}, got shape {tuple(value.shape)}: stack the members along the first axis."
        )
    return value.to(like.dtype).reshape(value.shape + (1,) * (like.ndim - 1 if value.ndim else 0))


def _matched(params: Params, grads: Params) -> None:
    if params.keys() != grads.keys():
        names = sorted(params.keys() ^ grads.keys())
        raise ArgumentError(
            f"`grads` must have the names of `params`, got a mismatch in {names}: give each a gradient."
        )


def _descend(theta: Tensor, direction: Tensor, rate: Number) -> Tensor:
    tau = per_member(rate, theta)
    # The two forms round alike (one fused multiply-add), so that a population equals separate runs bit for bit.
    if isinstance(tau, Tensor):
        return torch.addcmul(theta, direction, tau, value=-1)
    return torch.add(theta, direction, alpha=-tau)


def start(params: Params, moments: int = 0) -> State:
    """Start an optimizer that keeps so many moments, all zero: 0 for gradient descent, 1 for momentum, 2 for Adam.

    >>> start({"w": torch.ones(2)}, moments=1)
    State(step=tensor(0), moments=({'w': tensor([0., 0.])},))
    """
    if not params:
        raise ArgumentError("`params` must hold at least one tensor, got none.")
    device = next(iter(params.values())).device
    zeros = [{name: torch.zeros_like(theta) for name, theta in params.items()} for _ in range(moments)]
    return State(torch.zeros((), dtype=torch.int64, device=device), tuple(zeros))


def _rate_checked(rate: Number) -> None:
    if not isinstance(rate, Tensor):
        at_least("learning_rate", rate, 0)


@dataclass(frozen=True)
class GradientDescent:
    """The number of gradient descent, SGD and mini batch gradient descent: the step size tau = `learning_rate`."""

    learning_rate: Number

    def __post_init__(self) -> None:
        _rate_checked(self.learning_rate)


def gradient_descent(params: Params, grads: Params, state: State, hyper: GradientDescent) -> tuple[Params, State]:
    r"""Make one step of gradient descent.

    $$\theta^{k+1} = \theta^k - \tau \nabla \mathscr L(\theta^k)$$
    With the gradient of one sampled $\mathscr L^{(j)}$ this is stochastic gradient descent, with the mean of b of them
    mini batch gradient descent. On a quadratic loss it converges if and only if $\tau < 2/\lambda_{max}$.

    Notes: N1.36, N1.38, N1.42, N1.43, N1.45, N1.51 (§1.3, algs. 2-4).
    Corrects: E16, step sizes are mostly lowered, not raised; E76, with a constant step SGD stays in a noise ball.

    Args:
        params: theta, tensors by name.
        grads: their gradients.
        state: from `start` or the step before.
        hyper: the step size.

    >>> theta = {"w": torch.tensor([1.0, 2.0])}
    >>> state = start(theta)
    >>> theta, state = gradient_descent(theta, {"w": torch.tensor([4.0, 0.0])}, state, GradientDescent(0.25))
    >>> theta["w"].tolist(), state.step.item()
    ([0.0, 2.0], 1)
    """
    _matched(params, grads)
    updated = {name: _descend(theta, grads[name], hyper.learning_rate) for name, theta in params.items()}
    return updated, State(state.step + 1, ())


@dataclass(frozen=True)
class Momentum:
    """The numbers of gradient descent with momentum: tau = `learning_rate` and mu = `momentum`."""

    learning_rate: Number
    momentum: Number = 0.9

    def __post_init__(self) -> None:
        _rate_checked(self.learning_rate)
        if not isinstance(self.momentum, Tensor):
            between("momentum", self.momentum, 0, 1, open_high=True)


def momentum(params: Params, grads: Params, state: State, hyper: Momentum) -> tuple[Params, State]:
    r"""Make one step of gradient descent with momentum, in the form of `torch.optim.SGD(momentum=...)`.

    $$v^{k+1} = \mu v^k + g^{k+1}, \qquad \theta^{k+1} = \theta^k - \tau v^{k+1}$$

    The arguments are those of `gradient_descent`; the state keeps one moment, v.

    >>> theta = {"w": torch.tensor([1.0])}
    >>> state = start(theta, moments=1)
    >>> for _ in range(2):
    ...     theta, state = momentum(theta, {"w": torch.ones(1)}, state, Momentum(0.25, momentum=0.5))
    >>> theta["w"].item()  # 1 - 0.25 * (1 + 1.5)
    0.375
    """
    _matched(params, grads)
    (v,) = state.moments
    v = {name: g + v[name] * per_member(hyper.momentum, g) for name, g in grads.items()}
    updated = {name: _descend(theta, v[name], hyper.learning_rate) for name, theta in params.items()}
    return updated, State(state.step + 1, (v,))


@dataclass(frozen=True)
class Adam:
    r"""The numbers of Adam: tau, beta_1, beta_2 and epsilon, with the notes' defaults, which are torch's.

    Notes: N1.48 (§1.3).

    >>> Adam()
    Adam(learning_rate=0.001, first_decay=0.9, second_decay=0.999, eps=1e-08)
    """

    learning_rate: Number = 0.001
    first_decay: Number = 0.9
    second_decay: Number = 0.999
    eps: Number = 1e-8

    def __post_init__(self) -> None:
        _rate_checked(self.learning_rate)
        for name in ("first_decay", "second_decay"):
            if not isinstance(value := getattr(self, name), Tensor):
                between(name, value, 0, 1, open_high=True)
        if not isinstance(self.eps, Tensor):
            above("eps", self.eps, 0)


def _bias_correction(decay: Number, step: Tensor) -> Tensor:
    """Compute 1 - decay^step in double precision, whatever the parameters' precision."""
    base = decay.double() if isinstance(decay, Tensor) else decay
    return 1 - torch.pow(base, step.double())


def adam(params: Params, grads: Params, state: State, hyper: Adam) -> tuple[Params, State]:
    r"""Make one step of Adam; all operations act entry by entry.

    $$m_1^{k+1} = \beta_1 m_1^k + (1-\beta_1) g, \qquad m_2^{k+1} = \beta_2 m_2^k + (1-\beta_2) g^2,$$
    $$\hat m_i = \frac{m_i^{k+1}}{1 - \beta_i^{k+1}}, \qquad
    \theta^{k+1} = \theta^k - \tau \frac{\hat m_1}{\sqrt{\hat m_2} + \epsilon}$$

    Notes: N1.47, N1.48 (§1.3, alg. 5).
    Corrects: E01, the power in the correction is k + 1 (with k the first step divides by zero); E02, the moments are
        kept uncorrected for the next step.

    The arguments are those of `gradient_descent`; the state keeps two moments, m_1 and m_2.

    >>> theta = {"w": torch.tensor([1.0, 1.0])}
    >>> theta, _ = adam(theta, {"w": torch.tensor([1e-3, -1e3])}, start(theta, moments=2), Adam(learning_rate=0.25))
    >>> [round(w, 3) for w in theta["w"].tolist()]  # the first step is tau sign(g)
    [0.75, 1.25]
    """
    _matched(params, grads)
    step = state.step + 1
    correction, root = _bias_correction(hyper.first_decay, step), _bias_correction(hyper.second_decay, step).sqrt()
    rate = hyper.learning_rate
    # A number is made a tensor first: torch divides number / tensor by way of the reciprocal, which rounds twice.
    step_size = (rate.double() if isinstance(rate, Tensor) else torch.full_like(correction, rate)) / correction
    first, second = 1.0 - hyper.first_decay, 1.0 - hyper.second_decay
    updated: Params = {}
    m1, m2 = ({**moment} for moment in state.moments)
    for name, theta in params.items():
        g = grads[name]
        # lerp, addcmul and addcdiv in torch's own order, so that the result is torch's to the last bit.
        m1[name] = torch.lerp(m1[name], g, per_member(first, g))
        decayed = m2[name] * per_member(hyper.second_decay, g)
        m2[name] = torch.addcmul(decayed, g * per_member(second, g), g)
        denominator = m2[name].sqrt() / per_member(root, g) + per_member(hyper.eps, g)
        updated[name] = torch.addcdiv(theta, m1[name] * -per_member(step_size, g), denominator)
    return updated, State(step, (m1, m2))


@dataclass(frozen=True)
class AdamW(Adam):
    """The numbers of AdamW: those of Adam and lambda = `weight_decay`, with torch's defaults.

    >>> AdamW().weight_decay
    0.01
    """

    weight_decay: Number = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.weight_decay, Tensor):
            at_least("weight_decay", self.weight_decay, 0)


def adamw(params: Params, grads: Params, state: State, hyper: AdamW) -> tuple[Params, State]:
    r"""Make one step of AdamW: shrink all parameters by a share of the learning rate, then make Adam's step.

    $$\theta^{k+1} = (1 - \tau \lambda)\,\theta^k - \tau \frac{\hat m_1}{\sqrt{\hat m_2} + \epsilon}$$
    with Adam's corrected moments of the gradient alone: $\lambda$ = `weight_decay` shrinks all parameters alike. A
    penalty in the loss passes through the moments instead, which divide it by the size of the gradients.

    Not in the notes: Loshchilov and Hutter, Decoupled weight decay regularization, 2019. The arguments are those of
    `gradient_descent`; the state keeps two moments, those of `adam`.

    >>> theta = {"w": torch.tensor([1.0, 1.0])}
    >>> hyper = AdamW(learning_rate=0.25, weight_decay=0.5)
    >>> theta, _ = adamw(theta, {"w": torch.tensor([1e-3, -1e3])}, start(theta, moments=2), hyper)
    >>> [round(w, 3) for w in theta["w"].tolist()]  # 1 - 0.25 * 0.5, and then 0.25 times the sign of the gradient
    [0.625, 1.125]
    """
    keep = 1 - hyper.learning_rate * hyper.weight_decay
    return adam({name: theta * per_member(keep, theta) for name, theta in params.items()}, grads, state, hyper)


@dataclass(frozen=True)
class RMSprop:
    """The numbers of RMSprop: tau, alpha = `second_decay`, epsilon and mu = `momentum`, with torch's defaults.

    >>> RMSprop()
    RMSprop(learning_rate=0.01, second_decay=0.99, eps=1e-08, momentum=0.0)
    """

    learning_rate: Number = 0.01
    second_decay: Number = 0.99
    eps: Number = 1e-8
    momentum: Number = 0.0

    def __post_init__(self) -> None:
        _rate_checked(self.learning_rate)
        for name in ("second_decay", "momentum"):
            if not isinstance(value := getattr(self, name), Tensor):
                between(name, value, 0, 1, open_high=True)
        if not isinstance(self.eps, Tensor):
            above("eps", self.eps, 0)


def rmsprop(params: Params, grads: Params, state: State, hyper: RMSprop) -> tuple[Params, State]:
    r"""Make one step of RMSprop, which divides each component by the root mean square of its recent gradients.

    $$m_2^{k+1} = \alpha m_2^k + (1-\alpha) g^2, \qquad v^{k+1} = \mu v^k + \frac{g}{\sqrt{m_2^{k+1}} + \epsilon},
    \qquad \theta^{k+1} = \theta^k - \tau v^{k+1}$$

    Not in the notes: Hinton, Neural networks for machine learning, lecture 6e, 2012. The arguments are those of
    `gradient_descent`; the state keeps two moments, v and m_2, or m_2 alone when mu is 0.

    Differs: Adam without its first moment corrects m_2 for its start at zero; the first step here is
        $1/\sqrt{1-\alpha}$ times as long.

    >>> theta = {"w": torch.tensor([1.0, 1.0])}
    >>> hyper = RMSprop(learning_rate=0.25, second_decay=0.75)
    >>> theta, _ = rmsprop(theta, {"w": torch.tensor([1e-3, -1e3])}, start(theta, moments=1), hyper)
    >>> [round(w, 3) for w in theta["w"].tolist()]  # the first step is tau sign(g) / sqrt(1 - alpha)
    [0.5, 1.5]
    """
    _matched(params, grads)
    *velocity, m2 = ({**moment} for moment in state.moments)
    rest = 1.0 - hyper.second_decay
    updated: Params = {}
    for name, theta in params.items():
        g = grads[name]
        # The order of torch's own operations, so that the result is torch's to the last bit.
        m2[name] = torch.addcmul(m2[name] * per_member(hyper.second_decay, g), g * per_member(rest, g), g)
        denominator = m2[name].sqrt() + per_member(hyper.eps, g)
        if velocity:
            velocity[0][name] = torch.addcdiv(velocity[0][name] * per_member(hyper.momentum, g), g, denominator)
            updated[name] = _descend(theta, velocity[0][name], hyper.learning_rate)
        else:
            updated[name] = torch.addcdiv(theta, g * -per_member(hyper.learning_rate, g), denominator)
    return updated, State(state.step + 1, (*velocity, m2))


@dataclass(frozen=True)
class ProximalGradient:
    """The numbers of proximal gradient descent: tau = `learning_rate` and lambda = `strength` of the norm-1 penalty."""

    learning_rate: Number
    strength: Number

    def __post_init__(self) -> None:
        _rate_checked(self.learning_rate)
        if not isinstance(self.strength, Tensor):
            at_least("strength", self.strength, 0)


def soft_threshold(values: Float[Tensor, "..."], threshold: Number) -> Float[Tensor, "..."]:
    r"""Move every number towards zero by `threshold` and stop there, the proximal map of the norm 1.

    $$\mathrm{sign}(x)\,\max\{|x| - t, 0\}$$

    Notes: N1.63 (§1.4).

    Args:
        values: numbers of any shape.
        threshold: t, at least 0; a number or one per member.

    >>> soft_threshold(torch.tensor([-3.0, 0.5, 2.0]), 1.0).tolist()
    [-2.0, 0.0, 1.0]
    """
    return torch.sign(values) * torch.relu(values.abs() - per_member(threshold, values))


def proximal_threshold(learning_rate: Number, strength: Number, momentum: Number = 0.0) -> Number:
    r"""Compute the threshold by which a penalty of norm 1 shrinks parameters after a step of descent.

    $$t = \frac{\tau \lambda}{1 - \mu}$$
    A gradient g that stays the same moves the parameters by $\tau g / (1 - \mu)$ per step in the long run, with plain
    and with Nesterov's momentum. The penalty must act over the same length: then
    $\theta = \mathrm{soft}_t(\theta - \tau g / (1 - \mu))$ holds exactly where
    $-g \in \lambda\, \partial \lVert \theta \rVert_1$, at the minimizer of the loss plus penalty. The threshold
    $\tau\lambda$ would lead to the minimizer for $\lambda (1 - \mu)$.

    Momentum on differences of iterates after the proximal map, as in FISTA, comes to rest at the same point, but it
    must change the velocity too.

    Notes: N1.63 (§1.4).

    Args:
        learning_rate: tau.
        strength: lambda.
        momentum: mu; 0 for plain gradient descent.

    >>> proximal_threshold(0.5, 0.25), proximal_threshold(0.5, 0.25, momentum=0.75)
    (0.125, 0.5)
    """
    return learning_rate * strength / (1 - momentum)


def proximal_gradient(params: Params, grads: Params, state: State, hyper: ProximalGradient) -> tuple[Params, State]:
    r"""Make one step of proximal gradient descent (ISTA) on a loss plus a penalty of norm 1.

    $$\theta^{k+1} = \mathrm{soft}_{\tau\lambda}\left(\theta^k - \tau \nabla \mathscr L(\theta^k)\right)
    \quad \text{for} \quad \mathscr L(\theta) + \lambda \lVert \theta \rVert_1$$

    Notes: N1.63 (§1.4).
    Corrects: E20, exact zeros come from norm 1 with this step; the squared norm and plain subgradients give none.

    The arguments are those of `gradient_descent`; the gradients are those of the loss without the penalty.

    >>> theta = {"w": torch.tensor([1.0, 0.125])}
    >>> still = {"w": torch.zeros(2)}
    >>> proximal_gradient(theta, still, start(theta), ProximalGradient(0.5, strength=0.5))[0]
    {'w': tensor([0.7500, 0.0000])}
    """
    moved, state = gradient_descent(params, grads, state, GradientDescent(hyper.learning_rate))
    threshold = proximal_threshold(hyper.learning_rate, hyper.strength)
    return {name: soft_threshold(theta, threshold) for name, theta in moved.items()}, state


OPTIMIZERS: dict[str, Optimizer] = {
    "gd": Optimizer(start, gradient_descent, GradientDescent),
    "momentum": Optimizer(partial(start, moments=1), momentum, Momentum),
    "adam": Optimizer(partial(start, moments=2), adam, Adam),
    "adamw": Optimizer(partial(start, moments=2), adamw, AdamW),
    "rmsprop": Optimizer(partial(start, moments=2), rmsprop, RMSprop),
    "proximal": Optimizer(start, proximal_gradient, ProximalGradient),
}
"""All updates by name."""


def iterate(
    gradient: Callable[[Params], Params], params: Params, optimizer: Optimizer, hyper: object, steps: int
) -> Params:
    r"""Make `steps` updates, $k = 0, \ldots, K - 1$, and return the last parameters.

    Notes: N1.36, N1.42, N1.45, N1.47 (§1.3, algs. 2-5).
    Corrects: E15, the loops of the notes make K + 1 updates.

    Args:
        gradient: gives the gradient at given parameters, of the whole loss or of freshly sampled ones.
        params: the starting point theta^0.
        optimizer: a row of `OPTIMIZERS`.
        hyper: its numbers.
        steps: K.

    >>> theta = iterate(lambda p: p, {"w": torch.ones(1)}, OPTIMIZERS["gd"], GradientDescent(0.5), steps=3)
    >>> theta["w"].item()
    0.125
    """
    at_least("steps", steps, 0)
    return next(islice(iterates(gradient, params, optimizer, hyper), steps, None))


def iterates(
    gradient: Callable[[Params], Params], params: Params, optimizer: Optimizer, hyper: object
) -> Iterator[Params]:
    r"""Give the parameters on their way, $\theta^0, \theta^1, \theta^2, \ldots$, without end.

    Args:
        gradient: gives the gradient at given parameters, of the whole loss or of freshly sampled ones.
        params: the starting point theta^0.
        optimizer: a row of `OPTIMIZERS`.
        hyper: its numbers.

    >>> path = iterates(lambda p: p, {"w": torch.ones(1)}, OPTIMIZERS["gd"], GradientDescent(0.5))
    >>> [next(path)["w"].item() for _ in range(3)]
    [1.0, 0.5, 0.25]
    """
    state = optimizer.init(params)
    while True:
        yield params
        params, state = optimizer.update(params, gradient(params), state, hyper)


def sample_indices(n: int, batch_size: int, seed: Seed, replacement: bool = False) -> Int[Tensor, " batch"]:
    r"""Draw the indices of a mini batch uniformly from 0 to n - 1.

    Both ways give an unbiased mean of gradients; without replacement its variance is $(N-b)/(N-1)$ times that of
    independent draws, and a batch of all N samples is gradient descent, to the last bit.

    Notes: N1.42, N1.45, N1.46 (§1.3, algs. 3, 4).
    Corrects: E17, the notes leave open which way is meant; without replacement is the default.

    Args:
        n: the number N of samples.
        batch_size: how many to draw, b; 1 for stochastic gradient descent.
        seed: an integer or a generator that is advanced.
        replacement: whether an index may be drawn twice.

    Returns:
        b indices, in increasing order when drawn without replacement.

    >>> sample_indices(4, 4, seed=0).tolist()
    [0, 1, 2, 3]
    """
    _batch_checked(n, batch_size, replacement)
    generator = as_generator(seed)
    if replacement:
        return torch.randint(n, (batch_size,), generator=generator, device=generator.device)
    # Sorted: the order of a batch means nothing, and sums in this order are those of the whole set.
    return torch.randperm(n, generator=generator, device=generator.device)[:batch_size].sort().values


def epoch_batches(n: int, batch_size: int, seed: Seed) -> tuple[Int[Tensor, " batch"], ...]:
    """Cut a permutation of 0 to n - 1 into batches, so that an epoch uses each sample once; the last may be shorter.

    Notes: N1.45 (§1.3, alg. 4).
    Corrects: E17, this third way of sampling is what `torch.utils.data.DataLoader(shuffle=True)` does.

    >>> [len(batch) for batch in epoch_batches(10, 4, seed=0)]
    [4, 4, 2]
    """
    _batch_checked(n, batch_size, replacement=False)
    generator = as_generator(seed)
    return torch.randperm(n, generator=generator, device=generator.device).split(batch_size)


def _batch_checked(n: int, batch_size: int, replacement: bool) -> None:
    at_least("n", n, 1)
    at_least("batch_size", batch_size, 1)
    if not replacement and batch_size > n:
        raise ArgumentError(
            f"`batch_size` must be at most the number of samples ({n}) when drawn without replacement, got "
            f"{batch_size}: use a smaller batch or `replacement=True`."
        )
