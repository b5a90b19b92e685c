"""Slices of the loss through weight space, and the paths that optimizers take on them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import nn
from torch.func import functional_call

from lamina._errors import ArgumentError, above, at_least, choice
from lamina._tables import table
from lamina._types import Float, Num, Seed, Tensor
from lamina.classical import pca
from lamina.functional.optimizers import OPTIMIZERS, Params, iterates
from lamina.functional.random import as_generator
from lamina.inspection._example import evaluating
from lamina.inspection.gradient_flow import Loss, choose_loss

Direction = Mapping[str, Tensor]
"""A step in weight space: a tensor for each parameter that it changes."""


@dataclass(frozen=True)
class Slice:
    """The loss along one direction or over two.

    Args:
        first: the coordinates along the first direction.
        second: those along the second; empty for a line.
        losses: the values, [first] or [first, second].
    """

    first: Float[Tensor, " first"]
    second: Float[Tensor, " second"]
    losses: Float[Tensor, "..."]

    @property
    def lowest(self) -> tuple[float, ...]:
        """The coordinates of the smallest loss on the grid."""
        place = int(torch.where(self.losses.isnan(), math.inf, self.losses).argmin())
        if self.losses.ndim == 1:
            return (self.first[place].item(),)
        return self.first[place // len(self.second)].item(), self.second[place % len(self.second)].item()

    def __str__(self) -> str:
        if self.losses.ndim == 1:
            return table(("at", "loss"), list(zip(self.first.tolist(), self.losses.tolist(), strict=True)))
        heads = ("", *(f"{x:.3g}" for x in self.second.tolist()))
        rows = [(f"{x:.3g}", *row) for x, row in zip(self.first.tolist(), self.losses.tolist(), strict=True)]
        return table(heads, rows)


@dataclass(frozen=True)
class OptimizerPath:
    """Where a method went on a function of a few variables.

    Args:
        method: its name.
        points: the start, then the point after each step.
        values: of the function there.
    """

    method: str
    points: Float[Tensor, "step variable"]
    values: Float[Tensor, " step"]

    def __str__(self) -> str:
        shown = sorted(
            {0, len(self.points) // 4, len(self.points) // 2, 3 * len(self.points) // 4, len(self.points) - 1}
        )
        heads = ("step", *(f"x{j + 1}" for j in range(self.points.shape[1])), "value")
        rows = [(str(k), *self.points[k].tolist(), self.values[k].item()) for k in shown]
        return f"{self.method}\n{table(heads, rows)}"


@dataclass(frozen=True)
class TrainingPath:
    """Weights along a training run, seen in a plane.

    Args:
        directions: the two directions of the plane, orthonormal over all parameters together.
        coordinates: of the weights after each step, relative to the last ones, which lie at (0, 0).
        explained: the share of the path's variance that lies along each direction.
        last: the weights that the plane goes through.
    """

    directions: tuple[Params, Params]
    coordinates: Float[Tensor, "step two"]
    explained: tuple[float, float]
    last: Params

    def __str__(self) -> str:
        rows = [(str(k), *row) for k, row in enumerate(self.coordinates.tolist())]
        return table(("step", f"first ({self.explained[0]:.0%})", f"second ({self.explained[1]:.0%})"), rows)


def _loss_at(
    model: nn.Module,
    inputs: Num[Tensor, "batch ..."],
    targets: Num[Tensor, "batch ..."],
    loss: str | Loss | None = None,
) -> Callable[[Params], Tensor]:
    """Make the loss on some examples a function of the parameters; the network computes as in evaluation."""

    @torch.no_grad()
    def value(params: Params) -> Tensor:
        with evaluating(model):
            outputs = functional_call(model, dict(params), (inputs,))
        return choose_loss(loss, outputs, targets)(outputs, targets)

    return value


def _random_direction(model: nn.Module, seed: Seed = 0) -> Params:
    """Draw a direction in weight space whose filters are as long as the network's own."""
    generator, made = as_generator(seed), {}
    for name, p in model.named_parameters():
        if p.ndim > 1:
            drawn = torch.randn(p.shape, generator=generator, dtype=torch.float64).flatten(1)
            own = p.detach().double().cpu().flatten(1).norm(dim=1, keepdim=True)
            made[name] = (drawn / drawn.norm(dim=1, keepdim=True) * own).view(p.shape).to(p)
    if not made:
        raise ArgumentError("`model` must have a weight of two or more axes, got none: give a direction of your own.")
    return made


def direction_to(model: nn.Module, other: nn.Module | Mapping[str, Tensor]) -> Params:
    """Give the direction from a network to another of the same architecture, which lies at 1.

    >>> a, b = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    >>> bool(torch.equal(a.weight + direction_to(a, b)["weight"], b.weight))
    True
    """
    end = dict(other.named_parameters()) if isinstance(other, nn.Module) else other
    return {name: end[name].detach().to(p) - p.detach() for name, p in model.named_parameters()}


def line(
    model: nn.Module,
    inputs: Num[Tensor, "batch ..."],
    targets: Num[Tensor, "batch ..."],
    loss: str | Loss | None = None,
    *,
    direction: Direction | None = None,
    span: tuple[float, float] = (-1.0, 1.0),
    points: int = 41,
    seed: Seed = 0,
) -> Slice:
    r"""Compute the loss along a direction, $L(\theta + a\,d)$.

    Notes: N1.50 (§1.3, Remark 1.4).

    Args:
        model: the network at theta; it is left as it is.
        inputs: a batch.
        targets: its supervision.
        loss: as in `gradient_flow`.
        direction: d; a random one with the norms of the filters when None.
        span: the smallest and the largest a.
        points: how many.
        seed: of the random direction.

    >>> net = nn.Linear(1, 1, bias=False)
    >>> _ = net.weight.data.fill_(3.0)
    >>> d = {"weight": torch.ones(1, 1)}
    >>> line(net, torch.ones(1, 1), torch.zeros(1, 1), direction=d, points=3).losses.tolist()
    [2.0, 4.5, 8.0]
    """
    chosen = _random_direction(model, seed) if direction is None else direction
    grid = _grid(span, points)
    value = _loss_at(model, inputs, targets, loss)
    start = _start(model, chosen)
    losses = [value(_moved(start, (chosen, a))).double() for a in grid.tolist()]
    return Slice(grid, grid.new_empty(0), torch.stack(losses).cpu())


def plane(
    model: nn.Module,
    inputs: Num[Tensor, "batch ..."],
    targets: Num[Tensor, "batch ..."],
    loss: str | Loss | None = None,
    *,
    directions: tuple[Direction, Direction] | None = None,
    spans: tuple[tuple[float, float], tuple[float, float]] = ((-1.0, 1.0), (-1.0, 1.0)),
    points: int = 21,
    seed: Seed = 0,
) -> Slice:
    r"""Compute the loss over two directions, $L(\theta + a\,d_1 + b\,d_2)$.

    Notes: N1.50 (§1.3, Remark 1.4).

    The arguments are those of `line`, but with two `directions` and two `spans`, one for a and one for b, and as many
    `points` along each.

    >>> net = nn.Linear(1, 1)
    >>> found = plane(net, torch.ones(1, 1), torch.zeros(1, 1), points=3, directions=(
    ...     {"weight": torch.ones(1, 1)}, {"bias": -torch.ones(1)}))
    >>> found.losses.shape, bool(torch.allclose(found.losses.diagonal(), found.losses[0, 0]))
    (torch.Size([3, 3]), True)
    """
    g = as_generator(seed)
    first, second = directions or (_random_direction(model, g), _random_direction(model, g))
    grids = _grid(spans[0], points), _grid(spans[1], points)
    value = _loss_at(model, inputs, targets, loss)
    start = _start(model, first) | _start(model, second)
    losses = [
        torch.stack([value(_moved(start, (first, a), (second, b))).double() for b in grids[1].tolist()])
        for a in grids[0].tolist()
    ]
    return Slice(*grids, torch.stack(losses).cpu())


def training_path(path: Sequence[Mapping[str, Tensor]]) -> TrainingPath:
    """Find the plane through the last weights in which a training run moved most, and project the run onto it.

    Args:
        path: the weights at several moments, for example copies of `dict(model.named_parameters())`.

    >>> steps = [{"w": torch.tensor([3.0, 0.0, 0.0])}, {"w": torch.tensor([0.0, 1.0, 0.0])}, {"w": torch.zeros(3)}]
    >>> found = training_path(steps)
    >>> round(sum(found.explained), 6), found.coordinates[-1].tolist()
    (1.0, [0.0, 0.0])
    """
    if len(path) < 3:
        raise ArgumentError(f"`path` must have at least 3 moments to span a plane, got {len(path)}: keep more.")
    names = [name for name, t in path[-1].items() if t.is_floating_point()]
    rows = torch.stack([torch.cat([moment[name].detach().double().flatten() for name in names]) for moment in path])
    rows = rows.cpu() - rows[-1].cpu()
    if rows.shape[1] < 2:
        raise ArgumentError(f"`path` must move at least 2 numbers to span a plane, got {rows.shape[1]}.")
    found = pca.fit(rows, 2)
    first, second = (_unflat(component, path[-1], names) for component in found.components)
    total = found.total_variance or 1.0
    share = [value / total for value in found.explained_variance.tolist()]
    last = {name: path[-1][name].detach() for name in names}
    return TrainingPath((first, second), rows @ found.components.T, (share[0], share[1]), last)


def optimizer_path(
    function: Callable[[Tensor], Tensor],
    start: Sequence[float],
    method: str = "gd",
    *,
    steps: int = 100,
    **numbers: float,
) -> OptimizerPath:
    r"""Minimize a function of a few variables by one of the notes' methods and keep every point.

    Notes: N1.36, N1.38, N1.47, N1.51 (§1.3).

    Args:
        function: takes a vector of float64 and gives one number.
        start: where to begin.
        method: "gd", "momentum" or "adam".
        steps: how many updates.
        **numbers: of the method, such as `learning_rate` and `momentum`.

    >>> bowl = lambda x: (x * x).sum()
    >>> optimizer_path(bowl, (1.0, -2.0), steps=2, learning_rate=0.25).points.tolist()
    [[1.0, -2.0], [0.5, -1.0], [0.25, -0.5]]
    """
    choice("method", method, ("gd", "momentum", "adam"))
    at_least("steps", steps, 1)
    numbers = {"learning_rate": 0.1, **numbers}
    above("learning_rate", numbers["learning_rate"], 0)
    optimizer = OPTIMIZERS[method]

    def gradient(params: Params) -> Params:
        x = params["x"].detach().requires_grad_()
        return {"x": torch.autograd.grad(function(x), x)[0]}

    path = iterates(gradient, {"x": torch.tensor(start, dtype=torch.float64)}, optimizer, optimizer.hyper(**numbers))
    points = torch.stack([params["x"] for params in islice(path, steps + 1)])
    return OptimizerPath(method, points, torch.stack([function(x) for x in points]))


def _grid(span: tuple[float, float], points: int) -> Tensor:
    at_least("points", points, 2)
    if not span[0] < span[1]:
        raise ArgumentError(f"`span` must rise, got {span}: give the smaller number first.")
    return torch.linspace(*span, points, dtype=torch.float64)


def _start(model: nn.Module, direction: Direction) -> Params:
    """Give the parameters that a direction changes, after a check that they fit."""
    own = dict(model.named_parameters())
    for name, step in direction.items():
        if name not in own or own[name].shape != step.shape:
            has = f"of shape {tuple(own[name].shape)}" if name in own else f"not among {', '.join(own)}"
            raise ArgumentError(
                f"a direction must have the names and shapes of the parameters, got {name!r} of shape "
                f"{tuple(step.shape)}, which is {has}."
            )
    return {name: own[name].detach() for name in direction}


def _moved(start: Params, *steps: tuple[Direction, float]) -> Params:
    moved = dict(start)
    for direction, size in steps:
        for name, step in direction.items():
            moved[name] = moved[name] + size * step
    return moved


def _unflat(flat: Tensor, like: Mapping[str, Tensor], names: Sequence[str]) -> Params:
    parts = flat.split([like[name].numel() for name in names])
    return {name: part.view(like[name].shape).to(like[name]) for name, part in zip(names, parts, strict=True)}
