r"""Claims about drawing data points for a step: SGD, mini batches, Adam on batches (§1.3 of the notes).

Several of them use linear regression on 64 points, $s = 1 + 2u + \varepsilon$ with errors of standard deviation 1/2,
whose minimizer is known.
"""

import itertools
import math
import statistics
import time
from typing import cast

import torch
from torch.func import functional_call, grad

from lamina._types import Tensor
from lamina.architectures.fnn import FNN, FNNConfig
from lamina.classical.linear_regression import fit, gradient, squared_error
from lamina.data.synthetic import linear, moons
from lamina.experiments.result import Claim, Plot, Result, _mean_and_spread, experiment, quotients
from lamina.experiments.trained import EAGER, _Passes, parts, train
from lamina.functional.losses import negative_log_likelihood
from lamina.functional.optimizers import OPTIMIZERS, Adam, GradientDescent, Params, iterate, iterates, sample_indices
from lamina.functional.random import as_generator
from lamina.training import recipe as recipes
from lamina.training.recipe import GD, SGD, MiniBatch, Recipe, Schedule, Stopping, rates
from lamina.training.tasks.feed import epoch_order
from lamina.training.train import train as training

F64 = torch.float64


def _regression(count: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the inputs with a column of ones, the targets, and the minimizer."""
    data = linear(count, weight=(2.0,), bias=1.0, noise=0.5, seed=seed)
    inputs = torch.cat([torch.ones_like(data.inputs), data.inputs], 1)
    return inputs, data.targets, fit(inputs, data.targets).weight


def _shares(batch_size: int, count: int, generator: torch.Generator) -> Tensor:
    """Draw a batch without replacement and return the weight 1/b of its members, 0 of all others."""
    drawn = sample_indices(count, batch_size, generator)
    return torch.zeros(count, dtype=F64).index_fill(0, drawn, 1 / batch_size)


@experiment("N1.42", "N1.45", "N1.46")
def sampling(count: int = 12, draws: int = 4000, seed: int = 0) -> Result:
    r"""Compare the mean gradient of a batch with the full gradient, over all possible batches.

    $$E\,\bar g = \nabla\mathscr L, \qquad E\|\bar g - \nabla\mathscr L\|^2 = \frac{v}{b}
    \text{ with}, \quad \frac{v}{b}\,\frac{N-b}{N-1} \text{ without replacement}$$
    with v the mean of $\|\nabla\mathscr L^{(j)} - \nabla\mathscr L\|^2$ over the points. b = 1 is SGD. The column
    "drawn" estimates the variance from batches of `sample_indices`.

    b > 4 with replacement has too many cases and is left out.

    Notes: N1.42, N1.45, N1.46 (§1.3, algs. 3, 4).
    Corrects: E17, drawing with and without replacement are both unbiased, but only the second gives gradient descent
        for b = N.

    Args:
        count: the number N of points of a linear regression.
        draws: how many batches are drawn.
        seed: which points and draws.

    >>> print(sampling(draws=10).claims[2].sentence)
    for b = 3 it is (N-b)/(N-1) = 0.8182 of that with replacement
    """
    inputs, targets, _ = _regression(count, seed)
    theta = torch.zeros(2, dtype=F64)
    full, generator = gradient(theta, inputs, targets), as_generator(seed)
    single = inputs * (inputs @ theta - targets)[:, None]  # the gradients of the N losses, a row each
    v = (single - full).square().sum(1).mean().item()
    rows = []
    for b, again in itertools.product((1, 2, 3, 4, 12), (False, True)):
        if again and b > 4:
            continue
        cases = itertools.product(range(count), repeat=b) if again else itertools.combinations(range(count), b)
        means = single[torch.tensor(list(cases))].mean(1)
        drawn = torch.stack([single[sample_indices(count, b, generator, again)].mean(0) for _ in range(draws)])
        bias = (means.mean(0) - full).norm().item()
        variance, seen = ((g - full).square().sum(1).mean().item() for g in (means, drawn))
        predicted = v / b if again else v / b * (count - b) / (count - 1)
        rows.append((b, "with" if again else "without", bias, variance, predicted, seen))
    everything = sample_indices(count, count, generator)
    whole = gradient(theta, inputs[everything], targets[everything])
    three = {row[1]: row[3] for row in rows if row[0] == 3}
    return Result(
        f"means of b gradients of {count}, all batches",
        ("b", "replacement", "bias", "variance", "predicted", "drawn"),
        rows,
        Claim("both ways of drawing are unbiased", max(row[2] for row in rows) < 1e-12),
        Claim("the variance is as predicted", all(abs(row[3] - row[4]) < 1e-12 * v for row in rows)),
        Claim(
            f"for b = 3 it is (N-b)/(N-1) = {(count - 3) / (count - 1):.4f} of that with replacement",
            abs(three["without"] / three["with"] - (count - 3) / (count - 1)) < 1e-9,
        ),
        Claim("the sampler has it too", all(abs(row[5] - row[4]) <= 0.1 * row[4] + 1e-25 for row in rows)),
        Claim("all N points drawn without replacement give gradient descent exactly", whole.equal(full)),
        plot=Plot(
            "b", ("variance", "predicted"), "points", by=("replacement",), log_x=True, log_y=True, y_label="variance"
        ),
    )


@experiment("N1.43")
def noise_ball(
    seeds: range = range(5),
    steps: int = 2500,
    learning_rate: float = 0.05,
    batch_sizes: tuple[int, ...] = (1, 4, 16, 64),
) -> Result:
    r"""Run mini batch gradient descent with a constant step and see how close it stays to the minimizer.

    For small steps theory gives the mean squared distance $\tau d\,v/(2b) \cdot (N-b)/(N-1)$ with v the mean squared
    residual at the minimum and d = 2 parameters. The start is 0, at a squared distance of 5; the first half of the
    steps does not enter the mean. "rises" is the share of the first 200 steps that raise the loss over all points.

    Notes: N1.43, N1.46 (§1.3).
    Corrects: E76, with a constant step SGD does not converge; it stays in a ball.

    Args:
        seeds: draws of the batches; the points are the same.
        steps: updates.
        learning_rate: the step size tau.
        batch_sizes: the sizes b, of 64 points; the last is all of them.

    >>> noise_ball(seeds=1, steps=200).column("rises")[-1]
    0.0
    """
    count = 64
    inputs, targets, best = _regression(count, seed=seeds.start)
    members = [(b, as_generator(seed)) for b in batch_sizes for seed in seeds]

    def mean_gradient(theta: Params) -> Params:
        shares = torch.stack([_shares(b, count, g) for b, g in members])
        return {"W": (shares * (theta["W"] @ inputs.T - targets)) @ inputs}

    start = {"W": torch.zeros(len(members), 2, dtype=F64)}
    thetas = iterates(mean_gradient, start, OPTIMIZERS["gd"], GradientDescent(learning_rate))
    path = torch.stack([theta["W"] for theta in itertools.islice(thetas, steps)])  # step, member, parameter
    squares = (path - best).square().sum(2)[steps // 2 :].mean(0).reshape(len(batch_sizes), len(seeds))
    losses = 0.5 * (path[:201] @ inputs.T - targets).square().mean(2)
    rises = (losses.diff(dim=0) > 0).double().mean(0).reshape(len(batch_sizes), len(seeds))
    residual = 2 * squared_error(best, inputs, targets).item()
    rows = []
    for b, square, rise in zip(batch_sizes, squares.tolist(), rises.mean(1).tolist(), strict=True):
        theory = learning_rate * 2 * residual / (2 * b) * (count - b) / (count - 1)
        rows.append((b, *_mean_and_spread(square), theory, rise))
    single, whole = squares[0].tolist(), squares[-1]
    return Result(
        f"squared distance to the minimizer after {steps} steps of size {learning_rate:g}, {len(seeds)} seeds",
        ("b", "squared distance", "spread", "theory", "rises"),
        rows,
        Claim.on_average(
            "SGD does not converge, yet comes near, from a squared distance of about 5: the last one",
            single,
            least=1e-3,
            most=0.05,
        ),
        *Claim.averages(
            "the ball shrinks as 1/b: the squared distance for b = {}, divided by theory's,",
            {row[0]: (each / row[3]).tolist() for row, each in zip(rows, squares, strict=True) if row[0] < count},
            least=0.6,
            most=1.6,
        ),
        Claim("with all points there is no ball", whole.max().item() < 1e-15),
        *Claim.averages(
            "larger batches raise the loss less often: the share of steps for b = {1}, less that for {0},",
            {(a, b): (y - x).tolist() for (a, x), (b, y) in itertools.pairwise(zip(batch_sizes, rises, strict=True))},
            most=0.0,
        ),
        plot=Plot("b", ("squared distance", "theory"), log_x=True, log_y=True, y_label="squared distance"),
    )


@experiment("N1.40")
def learning_rates(seeds: range = range(10), steps: int = 1000) -> Result:
    """Keep, raise and lower the learning rate of mini batches, and see how close to the minimizer they end.

    Notes: N1.40 (§1.3).
    Corrects: E16, a small first rate that rises is warm-up; what makes SGD converge is a rate that falls.

    Args:
        seeds: draws of the batches; the points are the same, and so are the draws for each schedule.
        steps: updates.

    >>> [round(rate, 3) for rate in learning_rates(seeds=1, steps=20).column("last")]
    [0.2, 0.2, 0.0, 0.0, 0.2]
    """
    count = 64
    inputs, targets, best = _regression(count, seed=seeds.start)
    kinds = ("constant", "warmup", "cosine", "one-cycle", "step")
    epoch = count // 4
    plans = torch.stack([rates(Schedule(k, factor=0.5), 0.2, steps, epoch) for k in kinds])  # kind, step
    generators = [as_generator(seed) for seed in seeds]
    optimizer = OPTIMIZERS["gd"]
    theta = {"W": torch.zeros(len(kinds) * len(seeds), 2, dtype=F64)}
    state, squares = optimizer.init(theta), []
    for k in range(steps):
        shares = torch.stack([_shares(4, count, g) for g in generators]).repeat(len(kinds), 1)
        means = {"W": (shares * (theta["W"] @ inputs.T - targets)) @ inputs}
        theta, state = optimizer.update(theta, means, state, GradientDescent(plans[:, k].repeat_interleave(len(seeds))))
        squares.append((theta["W"] - best).square().sum(1))
    ends = torch.stack(squares[-20:]).mean(0).reshape(len(kinds), len(seeds)).tolist()
    rows = [
        (kind, plan[0].item(), plan.max().item(), plan[-1].item(), *_mean_and_spread(end))
        for kind, plan, end in zip(kinds, plans, ends, strict=True)
    ]
    warmup = rows[1]
    return Result(
        f"mean squared distance to the minimizer, last 20 of {steps} steps, b = 4, {len(seeds)} seeds",
        ("schedule", "first rate", "largest", "last", "squared distance", "spread"),
        rows,
        Claim("warm-up starts small and rises to the rate", warmup[1] < 0.1 * warmup[2] == 0.1 * warmup[3]),
        Claim.on_average(
            "a rate that rises and stays ends in the same ball: its distance, divided by that of a constant one,",
            quotients(ends[1], ends[0]),
            least=0.9,
            most=1.1,
        ),
        *Claim.averages(
            "a rate that falls ends nearer: log10 of the distance with {}, divided by a constant one's,",
            {
                kind: [math.log10(share) for share in quotients(end, ends[0])]
                for kind, end in zip(kinds[2:], ends[2:], strict=True)
            },
            most=-0.1,
        ),
        plot=Plot("schedule", ("squared distance",), "bars", log_y=True),
    )


@experiment("N1.41")
def cost_of_a_step(count: int = 20_000, batch_size: int = 100, steps: int = 20) -> Result:
    """Count the data points that one step of each algorithm computes a gradient for, and time it.

    The network has 16 hidden units and 10 inputs. Times are medians and reported; nothing is claimed about them.

    Notes: N1.41 (§1.3).

    Args:
        count: the number N of training points.
        batch_size: the size b of a mini batch.
        steps: how many steps are counted and timed.

    >>> cost_of_a_step(count=100, batch_size=10, steps=2).column("gradients per step")
    [100.0, 10.0, 1.0]
    """
    data = linear(count, weight=(1.0, -1.0) * 5, seed=0)
    ways = {
        "gd": (Recipe(GD(0.01), epochs=steps), count),
        "minibatch": (
            Recipe(MiniBatch(0.01), epochs=steps, batch_size=batch_size, sampling="without-replacement"),
            batch_size,
        ),
        "sgd": (Recipe(SGD(0.01), epochs=steps), 1),
    }
    rows = []
    for name, (recipe, expected) in ways.items():
        network = FNN(FNNConfig(10, 1, hidden=16))
        passes, took, before = _Passes(network), [], time.perf_counter()
        for event in training(network, parts(data), recipe, every=1, runtime=EAGER):
            took += [time.perf_counter() - before] if event.row is None else []
            if event.step == steps:
                break
            before = time.perf_counter()
        size = passes.examples // steps
        laid_out = len(epoch_order(count, size, recipe.sampling, 0, 0))
        rows.append((name, passes.examples / steps, expected, laid_out // size, 1e6 * statistics.median(took)))
    return Result(
        f"gradients computed in one step, N = {count}, b = {batch_size}",
        ("method", "gradients per step", "expected", "steps per epoch", "microseconds per step"),
        rows,
        Claim("N with gradient descent, b with mini batches, 1 with SGD", all(row[1] == row[2] for row in rows)),
        Claim("so an epoch of N gradients has 1, N/b and N steps",
              [row[3] for row in rows] == [1, count // batch_size, count]),
        plot=Plot("method", ("gradients per step",), "bars", log_y=True),
    )  # fmt: skip


@experiment("N1.49")
def adam_on_batches(seeds: range = range(3), epochs: int = 10, batch_sizes: tuple[int, ...] = (512, 64, 16)) -> Result:
    """Train on two moons with Adam, on all points at once or on mini batches, for equally many passes.

    "difference" is the largest difference between the trainer's parameters after 20 steps and those of the
    plain formulas: batches drawn as in Alg. 4, then Alg. 5, in the same precision.

    Notes: N1.49 (§1.3, algs. 4, 5).

    Args:
        seeds: how many times, each with its own points and initial weights.
        epochs: passes through the 512 points.
        batch_sizes: the sizes b.

    >>> adam_on_batches(seeds=1, epochs=1, batch_sizes=(512,)).column("steps")
    [1]
    """
    rows, losses = [], []
    for b, way in itertools.product(batch_sizes, ("epoch", "without-replacement", "with-replacement")):
        if b == batch_sizes[0] and way != "without-replacement":
            continue
        ends, differences = [], []
        for seed in seeds:
            recipe = Recipe(recipes.Adam(1e-2), epochs=epochs, batch_size=b, sampling=way, seed=seed)
            split = parts(moons(512, seed=seed), moons(1000, seed=99 + seed))
            ends.append(train(_network(seed), split, recipe).rows[-1]["validation_loss"])
            differences.append(_difference(seed, b, way))
        losses.append((b, way, ends))
        rows.append((b, way, -(-512 // b) * epochs, *_mean_and_spread(ends), max(differences)))
    whole = losses[0][2]
    return Result(
        f"Adam with step size 0.01 on two moons, {epochs} epochs, {len(seeds)} seeds",
        ("b", "drawing", "steps", "validation loss", "spread", "difference"),
        rows,
        Claim("the trainer's Adam on batches is Alg. 5 on the draws of Alg. 4", max(row[5] for row in rows) < 1e-5),
        *Claim.averages(
            "for equally many passes, mini batches end lower: the loss with b = {} ({}), divided by that with all "
            "points,",
            {(b, way): quotients(ends, whole) for b, way, ends in losses[1:]},
            most=0.8,
        ),
        plot=Plot("b", ("validation loss",), "points", by=("drawing",), log_x=True),
    )


def _network(seed: int) -> FNN:
    return FNN(FNNConfig(2, 2, hidden=(16, 16), activation="tanh"), seed=seed)


def _difference(seed: int, batch_size: int, way: str) -> float:
    """Compare 20 steps of the trainer with Alg. 4 and Alg. 5 written out."""
    data, optimizer = moons(512, seed=seed), recipes.Adam(1e-2)
    recipe = Recipe(optimizer, epochs=10_000, batch_size=batch_size, sampling=way, seed=seed,
                    stopping=Stopping(max_steps=20))  # fmt: skip
    trained = train(_network(seed), parts(data), recipe)
    inputs, targets = trained.prepare.source(data).batch(torch.arange(512))
    plain = _network(seed)
    batches = (
        indices
        for epoch in itertools.count()
        for indices in epoch_order(512, batch_size, way, seed, epoch).split(batch_size)
    )

    def batch_gradient(theta: Params) -> Params:
        j = next(batches)

        def loss(params: Params) -> Tensor:
            return negative_log_likelihood(cast(Tensor, functional_call(plain, params, (inputs[j],))), targets[j])

        return grad(loss)(theta)

    start = {name: p.detach() for name, p in plain.named_parameters()}
    end = iterate(batch_gradient, start, OPTIMIZERS["adam"], Adam(1e-2), 20)
    return max((end[name] - p).abs().max().item() for name, p in trained.network.named_parameters())
