"""Claims about descent (§1.3 of the notes) in which nothing is drawn but the start."""

import itertools
import math

import torch

from lamina._types import Tensor
from lamina.architectures.fnn import FNN, FNNConfig
from lamina.data.dataset import ArrayDataset
from lamina.data.synthetic import moons, truth_table
from lamina.experiments.result import Claim, Plot, Result, _mean_and_spread, experiment, quotients
from lamina.experiments.together import train_members
from lamina.experiments.trained import EAGER, _Passes, parts, train
from lamina.functional.initialization import gaussian
from lamina.functional.losses import binary_cross_entropy
from lamina.functional.optimizers import OPTIMIZERS, Adam, GradientDescent, iterates, sample_indices
from lamina.functional.random import as_generator
from lamina.training.recipe import GD, Recipe

F64 = torch.float64


@experiment("N1.38")
def conditioning(seeds: range = range(5), conditions: tuple[float, ...] = (10.0, 100.0, 1000.0)) -> Result:
    r"""Count the steps needed on quadratics with several condition numbers.

    $$\mathscr L(\theta) = \tfrac12 \textstyle\sum_i \lambda_i \theta_i^2, \qquad \lambda = 1, \dots, \kappa$$
    Gradient descent takes its best single step size $2/(1+\kappa)$; "scaled" has one step size $0.5/\lambda_i$ for each
    component; Adam takes 0.05. "turned" is the same bowl in rotated coordinates, where no scaling of components helps.

    Notes: N1.38 (§1.3).

    Args:
        seeds: random starts on the unit sphere (and rotations).
        conditions: the condition numbers kappa.

    >>> conditioning(seeds=1, conditions=(10.0, 100.0)).column("scaled")
    [7.0, 7.0]
    """
    kappa = torch.tensor(conditions, dtype=F64).repeat_interleave(len(seeds))
    curvature = kappa[:, None] ** torch.linspace(0, 1, 5, dtype=F64)
    generators = [as_generator(seed) for seed in seeds]
    start = torch.stack([torch.randn(5, generator=g, dtype=F64) for g in generators]).repeat(len(conditions), 1)
    start = start / start.norm(dim=1, keepdim=True)
    turns = torch.stack([torch.linalg.qr(torch.randn(5, 5, generator=g, dtype=F64))[0] for g in generators])
    turned = turns.repeat(len(conditions), 1, 1)
    bowl = turned @ torch.diag_embed(curvature) @ turned.mT
    straight = torch.diag_embed(curvature)
    best = GradientDescent(2 / (1 + kappa))
    ways = (
        ("gd", "gd", best, straight),
        ("scaled", "gd", GradientDescent(0.5), torch.eye(5, dtype=F64).expand_as(straight)),
        ("adam", "adam", Adam(0.05), straight),
        ("adam, turned", "adam", Adam(0.05), bowl),
    )
    needed, found = {}, {}
    for way, name, hyper, matrix in ways:
        counts = _steps_needed(name, hyper, matrix, start)
        found[way] = counts.reshape(len(conditions), len(seeds)).double()
        needed[way] = found[way].mean(1).tolist()
    gd, scaled, adam, turned_adam = found.values()
    growth = (gd[-1] / gd[0]).log() / math.log(conditions[-1] / conditions[0])
    return Result(
        f"mean number of steps to 0.01 of the first distance, {len(seeds)} starts",
        ("condition", *needed),
        zip(conditions, *needed.values(), strict=True),
        Claim.on_average(
            "the steps of gradient descent grow about linearly with the condition number: the exponent",
            growth.tolist(),
            least=0.8,
            most=1.2,
        ),
        Claim("a step size for each component makes the number independent of it", bool((scaled == scaled[0]).all())),
        Claim.on_average(
            "Adam is nearly independent of it, where components are the axes of the bowl: its most steps, divided "
            "by its fewest,",
            (adam.amax(0) / adam.amin(0)).tolist(),
            most=1.5,
        ),
        Claim.on_average(
            "there Adam needs far fewer steps at the end: their number, divided by that of gradient descent,",
            (adam[-1] / gd[-1]).tolist(),
            most=0.1,
        ),
        Claim.on_average(
            "in turned coordinates Adam's steps grow too: their number at the end, divided by that before,",
            (turned_adam[-1] / adam[-1]).tolist(),
            least=2.0,
        ),
        Claim.on_average(
            "though less than those of gradient descent: their number, divided by its number,",
            (turned_adam[-1] / gd[-1]).tolist(),
            most=0.8,
        ),
        plot=Plot("condition", tuple(needed), log_x=True, log_y=True, y_label="steps"),
    )


def _steps_needed(name: str, hyper: object, matrix: Tensor, start: Tensor) -> Tensor:
    """Count, member by member, the updates until the distance from the minimum 0 is at most 0.01."""
    limit, row = 20_000, OPTIMIZERS[name]
    needed = torch.full((len(start),), limit)
    path = iterates(lambda theta: {"t": (matrix @ theta["t"][:, :, None])[:, :, 0]}, {"t": start}, row, hyper)
    for step, theta in enumerate(itertools.islice(path, limit)):
        needed = torch.where((theta["t"].norm(dim=1) <= 1e-2) & (needed == limit), step, needed)
        if step % 10 == 0 and (needed < limit).all():
            break
    return needed


@experiment("N1.39")
def line_search(seeds: range = range(3), steps: int = 60, firsts: tuple[float, ...] = (1e-3, 1.0, 1e3)) -> Result:
    """Descend with Armijo's line search from first step sizes that are far too small, about right and far too large.

    A trial step starts at twice the last accepted one, so that a small first step grows by itself. The same rates
    held fixed are shown for comparison. A network with 16 tanh units learns two moons from all 256 points at once.

    Notes: N1.39, N1.40 (§1.3).

    Args:
        seeds: how many times, each with its own points and initial weights.
        steps: updates.
        firsts: the first step sizes.

    >>> line_search(seeds=1, steps=5, firsts=(1e-3, 1e3)).column("share of falls")[:2]
    [1.0, 1.0]
    """
    rows, found = [], {}
    for searching in (True, False):
        for first in firsts:
            runs = [_descent(seed, steps, GD(first, line_search=searching)) for seed in seeds]
            falls, losses, accepted, passes = (list(column) for column in zip(*runs, strict=True))
            found[searching, first] = falls, losses, accepted, passes
            mean, spread = _mean_and_spread(losses)
            rows.append((first, searching, min(falls), mean, spread, max(accepted), sum(passes) / len(seeds)))
    searched = [found[True, first] for first in firsts]
    worst = [max(losses) for losses in zip(*(each[1] for each in searched), strict=True)]
    small, large = found[False, firsts[0]], found[False, firsts[-1]]
    return Result(
        f"gradient descent on two moons, {steps} steps, {len(seeds)} seeds",
        ("first step", "line search", "share of falls", "last loss", "spread", "largest step", "losses per step"),
        rows,
        Claim(
            "with a line search the loss falls at every step, whatever the first step size",
            all(fall == 1 for falls, *_ in searched for fall in falls),
        ),
        Claim.on_average("it ends low for each of them: the largest of the last losses", worst, most=0.35),
        Claim.often(
            "the smallest first step was increased at least a hundredfold",
            [rate > 100 * firsts[0] for rate in searched[0][2]],
        ),
        Claim.often("the largest step, held fixed, makes the loss rise", [fall < 1 for fall in large[0]]),
        Claim.on_average(
            "the smallest step, held fixed, gets nowhere: its last loss, divided by the worst with a line search,",
            quotients(small[1], worst),
            least=2.0,
        ),
        *Claim.averages(
            "the number of losses computed per step with the first step {:g}",
            {first: found[True, first][3] for first in firsts},
            least=1.5,
        ),
        plot=Plot("first step", ("last loss",), "bars", by=("line search",)),
    )


def _descent(seed: int, steps: int, optimizer: GD) -> tuple[float, float, float, float]:
    """Return the share of steps that lowered the loss, the last loss, the largest rate, and losses computed a step."""
    network = FNN(FNNConfig(2, 2, hidden=16, activation="tanh"), seed=seed)
    passes = _Passes(network)
    recipe = Recipe(optimizer, epochs=steps + 1, seed=seed)
    trained = train(network, parts(moons(256, seed=seed)), recipe, watch=True, runtime=EAGER)
    if trained.reason.failed:
        return 0.0, math.inf, optimizer.learning_rate, 1.0
    losses = [row["loss"] for row in trained.rows]
    falls = sum(after < before for before, after in itertools.pairwise(losses)) / steps
    return falls, losses[-1], max(row["learning_rate"] for row in trained.rows), passes.calls / (steps + 1)


@experiment("N1.50")
def stationary_points(seeds: range = range(10), steps: int = 1000) -> Result:
    r"""Descend from many starts on a loss that is not convex and on one that is.

    XOR with two hidden tanh units, and logistic regression on two moons; both with cross entropy, gradient descent
    with step size 1. The third row takes the same logistic regression with one drawn point a step (SGD).

    Notes: N1.50 (§1.3, Remark 1.4).
    Corrects: E76, a single neuron with a suitable loss is a convex problem, where all starts end alike; and with a
        constant step SGD does not even come to rest at a stationary point.

    Args:
        seeds: starts, with standard normal weights.
        steps: updates.

    >>> stationary_points(seeds=2, steps=10).column("method")
    ['gd', 'gd', 'sgd']
    """
    gate, data = truth_table("xor"), moons(128, seed=seeds.start)
    found = {
        ("XOR, 2 hidden units", "gd"): _descend((2,), gate, seeds, steps, stochastic=False),
        ("logistic regression", "gd"): _descend((), data, seeds, steps, stochastic=False),
        ("logistic regression", "sgd"): _descend((), data, seeds, steps, stochastic=True),
    }
    rows = [
        (*case, min(losses), max(losses), len({round(100 * loss) for loss in losses}), max(norms))
        for case, (losses, norms) in found.items()
    ]
    deep, convex, noisy = found.values()
    return Result(
        f"{len(seeds)} starts, {steps} steps",
        ("problem", "method", "smallest loss", "largest loss", "different ends", "largest gradient"),
        rows,
        Claim.often(
            "gradient descent ends at points with a small gradient, below 0.005",
            [norm < 5e-3 for norm in (*deep[1], *convex[1])],
        ),
        Claim.often(
            "a descent without convexity ends at a loss below 0.05", [loss < 0.05 for loss in deep[0]], rate=0.3
        ),
        Claim.often("one ends at a loss above 0.3", [loss > 0.3 for loss in deep[0]], rate=0.1),
        Claim(
            "with convexity all starts end alike, with losses that differ by less than 0.001",
            max(convex[0]) - min(convex[0]) < 1e-3,
        ),
        Claim.on_average(
            "SGD with a constant step does not come to rest: the norm of its last gradient", noisy[1], least=0.005
        ),
        Claim.on_average("with gradient descent the same norm", convex[1], most=0.0005),
        plot=Plot("problem", ("smallest loss", "largest loss"), "bars", by=("method",), y_label="last loss"),
    )


def _descend(
    hidden: tuple[int, ...], data: ArrayDataset, seeds: range, steps: int, stochastic: bool
) -> tuple[list[float], list[float]]:
    """Return the last loss and the norm of the last gradient from each start."""
    generators = [as_generator(seed) for seed in seeds]
    everything = data.inputs.double()[:, None], data.targets[:, None, None].double()

    def draw() -> tuple[Tensor, Tensor]:
        j = torch.stack([sample_indices(len(data), 1, g) for g in generators], 1)
        return data.inputs.double()[j], data.targets.double()[j][..., None]

    def losses(outputs: Tensor, targets: Tensor) -> Tensor:
        return binary_cross_entropy(outputs, targets.expand_as(outputs), reduction="none").mean((0, 2))

    trial = train_members(
        [_start(hidden, g) for g in generators], draw if stochastic else itertools.repeat(everything).__next__, losses,
        steps=steps, learning_rate=1.0, optimizer="sgd", bound=None, own=True,
    )  # fmt: skip
    ends = [losses(network(everything[0]), everything[1])[0] for network in trial.networks]
    slopes = [torch.autograd.grad(end, list(net.parameters())) for end, net in zip(ends, trial.networks, strict=True)]
    return [end.item() for end in ends], [torch.cat([g.flatten() for g in each]).norm().item() for each in slopes]


@torch.no_grad()
def _start(hidden: tuple[int, ...], generator: torch.Generator) -> FNN:
    """Make a network with standard normal weights and zero biases."""
    network = FNN(FNNConfig(2, 1, hidden=hidden, activation="tanh")).double()
    for weight in network.weights:
        weight.copy_(gaussian(tuple(weight.shape), 1.0, generator))
    return network
