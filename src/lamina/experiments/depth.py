"""What width and depth can do, and what training makes of it (§2.1 of the notes)."""

import math
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any, cast

import torch
from torch import nn

from lamina._types import Float, Tensor
from lamina.architectures.build import build
from lamina.architectures.constructions import (
    approximate,
    approximation_errors,
    linear_pieces,
    parity_tree,
    shallow_parity,
    shallow_tent_map,
    tent_map,
)
from lamina.architectures.dense_resnet import DenseResNet
from lamina.architectures.fnn import FNN
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.data.synthetic import curve, moons
from lamina.experiments.result import (
    Claim,
    Plot,
    Result,
    _mean_and_spread,
    _ratios_of_pairs,
    differences,
    experiment,
    geometric_mean,
    quotients,
    summary,
)
from lamina.experiments.together import train_together
from lamina.experiments.trained import parts, train
from lamina.functional.dense import parameter_count
from lamina.functional.losses import mse_half, negative_log_likelihood
from lamina.training.recipe import Adam, Recipe


def wave(inputs: Float[Tensor, "batch 1"]) -> Float[Tensor, "batch 1"]:
    r"""Compute the function that is approximated here, $f(u) = \sin 4\pi u + u$ on [0, 1].

    >>> wave(torch.tensor([[0.0], [1.0]])).round(decimals=6).flatten().tolist()
    [0.0, 1.0]
    """
    return torch.sin(4 * math.pi * inputs) + inputs


@experiment("N2.16")
def widening(
    seeds: range = range(5), widths: tuple[int, ...] = (4, 8, 16, 32, 64, 128), tolerance: float = 1e-3
) -> Result:
    r"""Take one hidden layer and widen it until the largest error is small enough: the notes' first approach.

    The hidden layer is random and the output layer solves a least squares problem, so that no training stands between
    width and error. Errors are geometric means over the seeds.

    Notes: N2.16 (§2.1).
    Corrects: E24, this is a statement about continuous functions on a compact set and a linear output.

    Args:
        seeds: random hidden layers for each width.
        widths: numbers of hidden units, increasing.
        tolerance: the largest error wanted.
    """
    curves = [approximation_errors(wave, widths, gain=20.0, seed=seed) for seed in seeds]
    columns = zip(*curves, strict=True)
    rows = [(n, geometric_mean(each), min(each), max(each)) for n, each in zip(widths, columns, strict=True)]
    return Result(
        f"largest error on [0, 1] of one hidden sigmoid layer, {len(seeds)} random layers each",
        ("width", "error", "least", "largest"),
        rows,
        Claim.often(
            "the error falls with every widening", [all(b < a for a, b in pairwise(each)) for each in curves], rate=0.7
        ),
        Claim.often(
            f"a width exists at which the error is at most {tolerance:g}, the last one",
            [each[-1] <= tolerance for each in curves],
        ),
        Claim.often("a few units are not enough", [each[0] > tolerance for each in curves]),
        Claim.on_average(
            "log10 of the error at the last width, divided by that at the first,",
            [math.log10(each[-1] / each[0]) for each in curves],
            most=-8.0,
        ),
        plot=Plot("width", ("error", "least", "largest"), log_x=True, log_y=True, y_label="largest error"),
    )


@experiment("N2.17")
def existence_only(seeds: range = range(5), width: int = 64, steps: int = 500) -> Result:
    r"""Compare weights that are known to be good with those that training finds, and fit too few noisy points.

    The first two rows approximate `wave` with one hidden tanh layer: the output weights by least squares, or all
    weights by Adam. The others train the same network on few and on many points of a noisy sine; "there" is the error
    on these points, "elsewhere" that to the sine itself at 200 points. All numbers are root mean squares.

    Notes: N2.17 (§2.1).
    Corrects: E24, the theorem promises weights, on a compact set; it does not say how to find them.

    Args:
        seeds: starting points and, in the last rows, noise.
        width: the number of hidden units.
        steps: Adam steps with all points.
    """
    u = torch.linspace(0, 1, 200, dtype=torch.float64)[:, None]
    built = [_rms(approximate(u, wave(u), width, activation="tanh", seed=seed), u, wave(u)) for seed in seeds]
    grid, values, sine = (t.float().expand(len(seeds), -1, 1) for t in (2 * u - 1, wave(u), torch.sin(2 * math.pi * u)))
    found = _errors(_fitted(width, steps, grid, values, seeds), grid, values)
    errors, own = {"given weights": built, "weights found": found}, []  # own: the errors of the sine itself
    for count in (10, 200):
        noisy = [curve(count, 0.5, seed=seed) for seed in seeds]
        there = torch.stack([2 * data.inputs.float() - 1 for data in noisy])
        seen = torch.stack([data.targets.float()[:, None] for data in noisy])
        networks = _fitted(width, steps, there, seen, seeds)
        errors[f"{count} noisy points, there"] = _errors(networks, there, seen)
        errors[f"{count} noisy points, elsewhere"] = _errors(networks, grid, sine)
        own.append(
            [(torch.sin(math.pi * (u + 1)) - s).square().mean().sqrt().item() for u, s in zip(there, seen, strict=True)]
        )
    few, wrong, _, better = list(errors.values())[2:]
    return Result(
        f"1-{width}-1 tanh, {len(seeds)} seeds, {steps} Adam steps, noise 0.5: root mean square errors",
        ("fit", "error", "spread", "least", "largest"),
        ((name, *summary(each)) for name, each in errors.items()),
        Claim.on_average(
            "good weights exist: log10 of the error of weights found, divided by that of weights given,",
            [math.log10(a / b) for a, b in zip(found, built, strict=True)],
            least=3.0,
        ),
        Claim.on_average(
            "training ends in different places: the larger error of two runs, divided by the smaller,",
            _ratios_of_pairs(found),
            least=1.05,
        ),
        Claim.on_average(
            "the network fits the noise of few points: its error there, divided by that of the sine itself,",
            quotients(few, own[0]),
            most=0.9,
        ),
        Claim.often(
            "it is the wrong function: its error elsewhere is more than twice that with many points",
            [a > 2 * b for a, b in zip(wrong, better, strict=True)],
        ),
        plot=Plot("fit", ("error",), "bars", log_y=True),
    )


def _fitted(width: int, steps: int, inputs: Tensor, targets: Tensor, seeds: range) -> list[nn.Module]:
    """Train one hidden layer for each member of the data."""
    networks = [build("fnn", inputs=1, outputs=1, hidden=width, activation="tanh", seed=seed) for seed in seeds]
    train_together(networks, inputs, targets, mse_half, learning_rate=0.02, steps=steps)
    return networks


def _errors(networks: list[nn.Module], inputs: Tensor, targets: Tensor) -> list[float]:
    return [_rms(network, u, s) for network, u, s in zip(networks, inputs, targets, strict=True)]


@torch.no_grad()
def _rms(network: nn.Module, inputs: Tensor, targets: Tensor) -> float:
    return (network(inputs) - targets).square().mean().sqrt().item()


@experiment("N2.18")
def parity_sizes(bits: tuple[int, ...] = (2, 4, 8)) -> Result:
    r"""Count the units that the parity of n bits needs with one hidden layer and with a tree of XOR networks.

    The shallow network has one hidden unit for each odd input, $2^{n-1}$ of them; the tree has $3(n-1)$ units, the
    outputs of its XOR networks among them, in $2\log_2 n$ layers. Both are tried on all $2^n$ inputs.

    Notes: N2.18, N2.19 (§2.1).
    Corrects: E25, it is the network with one hidden layer that grows exponentially, and a deep one that does not.

    Args:
        bits: numbers of inputs, powers of two.

    >>> parity_sizes((8,)).check().rows
    ((8, 256, 128, 256, 21, 6, 256),)
    """
    rows: list[tuple[Any, ...]] = []
    for n in bits:
        u = torch.tensor(list(product((0.0, 1.0), repeat=n)))
        odd = u.sum(1) % 2
        shallow, deep = shallow_parity(n), parity_tree(n)
        right = [int((network(u)[:, 0] == odd).sum()) for network in (shallow, deep)]
        widths = deep.config.widths
        rows.append((n, 2**n, shallow.config.widths[1], right[0], sum(widths[1:]), len(widths) - 1, right[1]))
    return Result(
        "parity of n bits: units with one hidden layer and in a tree of XOR networks",
        ("n", "inputs", "hidden units", "right", "units of the tree", "its layers", "right in the tree"),
        rows,
        Claim("both networks are right on every input", all(row[1] == row[3] == row[6] for row in rows)),
        Claim("one hidden layer takes 2^(n-1) units, one for each odd input",
              all(row[2] == 2 ** (row[0] - 1) for row in rows)),
        Claim("the tree takes 3(n-1) units in 2 log2(n) layers",
              all((row[4], row[5]) == (3 * (row[0] - 1), 2 * int(math.log2(row[0]))) for row in rows)),
        plot=Plot("n", ("hidden units", "units of the tree"), log_x=True, log_y=True, y_label="units"),
    )  # fmt: skip


@experiment("N2.19")
def linear_piece_counts(layers: tuple[int, ...] = (1, 2, 3, 4, 5, 6), seeds: range = range(3)) -> Result:
    r"""Count the linear pieces of k ReLU layers of width 2 that iterate the tent map, and those of one hidden layer.

    One hidden ReLU layer of width w has at most w + 1 pieces, so that it needs $2^k - 1$ units for the $2^k$ pieces;
    random layers of the width of all k layers together, 2k, show how far they are from that.

    Notes: N2.19 (§2.1).
    Corrects: E25, the number of linear pieces is what a further layer can double.

    Args:
        layers: numbers k of hidden layers.
        seeds: random hidden layers for each k.

    >>> linear_piece_counts((5,)).check().rows
    ((5, 10, 32, 11, 32, 32),)
    """
    rows = []
    for k in layers:
        random = [
            cast(FNN, build("fnn", inputs=1, outputs=1, hidden=2 * k, activation="relu", seed=seed)) for seed in seeds
        ]
        with torch.no_grad():  # corners within [0, 1]: zero biases would put all of them at 0
            for seed, network in zip(seeds, random, strict=True):
                places = torch.rand(2 * k, generator=torch.Generator().manual_seed(seed))
                cast(Tensor, network.biases[0]).copy_(-network.weights[0][:, 0] * places)
        wide = shallow_tent_map(k)
        most = max(linear_pieces(network) for network in random)
        rows.append((k, 2 * k, linear_pieces(tent_map(k)), most, wide.config.widths[1], linear_pieces(wide)))
    return Result(
        "linear pieces on [0, 1]",
        ("k", "units", "pieces of k layers", "most in a random layer", "units of a layer that does it", "its pieces"),
        rows,
        Claim("k layers of width 2 have 2^k pieces", all(row[2] == 2 ** row[0] for row in rows)),
        Claim("one layer with as many units w has at most w + 1", all(row[3] <= row[1] + 1 for row in rows)),
        Claim("one layer that does the same has between 2^k - 1 and 2^k units",
              all(2 ** row[0] - 1 <= row[4] <= 2 ** row[0] and row[5] == row[2] for row in rows)),
        plot=Plot("k", ("pieces of k layers", "most in a random layer"), log_y=True, y_label="linear pieces"),
    )  # fmt: skip


@experiment("N2.20")
def composition(
    seeds: range = range(4), steps: int = 600, hidden: tuple[tuple[int, ...], ...] = ((197,), (16, 16, 16))
) -> Result:
    r"""Fit the tent map, iterated, with one hidden layer and with several of the same number of parameters.

    Adam on 257 equally spaced points, the error is measured at 1000 others. The last row has weights that are given:
    one layer of width 2 for each iteration.

    Notes: N2.20 (§2.1).

    Args:
        seeds: starting points.
        steps: updates with all points.
        hidden: the hidden widths of the shallow and of the deep network.
    """
    given = tent_map(3)
    u = torch.linspace(0, 1, 257)[:, None]
    elsewhere = torch.rand(1000, 1, generator=torch.Generator().manual_seed(seeds.start))
    with torch.no_grad():
        inside, targets, truth = 2 * u - 1, 2 * given(u) - 1, 2 * given(elsewhere) - 1
    rows: list[tuple[Any, ...]] = []
    errors = []
    for widths in hidden:
        networks = [build("fnn", inputs=1, outputs=1, hidden=widths, seed=seed) for seed in seeds]
        inputs, wanted = (t.expand(len(seeds), -1, 1) for t in (inside, targets))
        train_together(networks, inputs, wanted, mse_half, learning_rate=3e-3, steps=steps)
        errors.append([_rms(network, 2 * elsewhere - 1, truth) for network in networks])
        rows.append(
            ("-".join(map(str, (1, *widths, 1))), parameter_count((1, *widths, 1)), *_mean_and_spread(errors[-1]))
        )
    exact = 2 * _rms(given, elsewhere, (truth + 1) / 2)
    rows.append(("given, 3 layers of 2", parameter_count(given.config.widths), exact, 0.0))
    shallow, deep = errors
    return Result(
        f"the tent map iterated 3 times, ReLU, {steps} Adam steps, {len(seeds)} seeds: rms errors",
        ("network", "parameters", "error", "spread"),
        rows,
        Claim("the two have the same number of parameters, to 1 %", abs(rows[0][1] / rows[1][1] - 1) < 0.01),
        Claim.often("the deep one is better", [b < a for a, b in zip(shallow, deep, strict=True)]),
        Claim.often(
            "the deep one is better by a factor of 3", [3 * b < a for a, b in zip(shallow, deep, strict=True)], rate=0.3
        ),
        Claim(
            "a composition of layers is the map itself, with far fewer parameters",
            exact < 1e-6 and 10 * rows[2][1] < rows[1][1],
        ),
        plot=Plot("network", ("error",), "bars"),
    )


@experiment("N2.21")
def deep_and_shallow(
    seeds: range = range(3),
    epochs: int = 15,
    deep: tuple[int, ...] = (32, 32, 32),
    data: tuple[str, ...] = ("digits", "breast-cancer"),
) -> Result:
    r"""Train one and several hidden layers with equally many parameters on pictures and on a table.

    The notes observe that deep networks typically do better. This table reports; which one is ahead here is not
    claimed, since a few seeds of two small tasks can say nothing about what is typical.

    Notes: N2.21 (§2.1).

    Args:
        seeds: splits and starting points.
        epochs: passes through the training part with Adam.
        deep: the hidden widths of the deep network; the shallow one gets the width nearest in parameters.
        data: names of data sets.
    """
    rows: list[tuple[Any, ...]] = []
    ahead = {}
    for name in data:
        spec = load(name).spec
        n_in, n_out = math.prod(spec.inputs), spec.outputs
        budget = parameter_count((n_in, *deep, n_out))
        width = round((budget - n_out) / (n_in + 1 + n_out))
        for hidden in ((width,), deep):
            shares, majority = zip(*(_test_accuracy(name, hidden, epochs, seed) for seed in seeds), strict=True)
            widths = (n_in, *hidden, n_out)
            ahead[name, len(hidden)] = differences(shares, majority)
            rows.append(
                (name, "-".join(map(str, widths)), parameter_count(widths), *_mean_and_spread(shares), majority[0])
            )
    pairs = list(zip(rows[::2], rows[1::2], strict=True))
    return Result(
        f"test accuracy of one hidden layer and of {len(deep)}, ReLU, {epochs} epochs of Adam, {len(seeds)} seeds",
        ("data", "network", "parameters", "accuracy", "spread", "most frequent class"),
        rows,
        Claim("budgets are equal to 2 %", all(abs(a[2] / b[2] - 1) < 0.02 for a, b in pairs)),
        *(Claim.on_average(f"every network learns: with {layers} hidden layer{'s'[: layers > 1]} the accuracy on "
                           f"{name}, less that of the most frequent class,", each, least=0.2)
          for (name, layers), each in ahead.items()),
        plot=Plot("network", ("accuracy",), "bars", by=("data",)),
    )  # fmt: skip


def _test_accuracy(name: str, hidden: tuple[int, ...], epochs: int, seed: int) -> tuple[float, float]:
    """Return the share of right answers on the test part, and that of always naming the most frequent class."""
    split = load(name).split(seed=seed)  # type: ignore[attr-defined]
    spec = split.train.spec
    network = build("fnn", inputs=math.prod(spec.inputs), outputs=spec.outputs, hidden=hidden, seed=seed)
    recipe = Recipe(optimizer=Adam(3e-3), epochs=epochs, batch_size=32, seed=seed)
    trained, test = train(network, split, recipe), split.open_test()
    labels = trained.outputs(test)[1]
    return trained.accuracy(test), labels.bincount().max().item() / len(labels)


STARTS = (
    (2, "sigmoid", "xavier", 1.0),
    (20, "sigmoid", "xavier", 1.0),
    (20, "tanh", "xavier", 1.0),
    (20, "relu", "he", 1.0),
)
"""Depth L, activation, initialization and its scale."""


@experiment("N2.25")
def deep_training(
    seeds: range = range(3),
    count: int = 128,
    steps: int = 200,
    starts: tuple[tuple[int, str, str, float], ...] = STARTS,
    least: float = 0.9,
) -> Result:
    r"""Train networks of 2 and of 20 layers on two moons: where the first layers get no gradient, nothing is learned.

    Width 32, Adam with all points in every step, accuracy on 1000 other points. "gradient" is the ratio of the norms
    of the loss's gradients in the first and in the last weight matrix at the start, a geometric mean.

    Notes: N2.25 (§2.1).
    Corrects: E28, the ratio of weight gradients shows the trouble of the sigmoid, whose features do not vanish.

    Args:
        seeds: points and starting weights.
        count: training points.
        steps: updates.
        starts: what is compared: a network that is not deep, a deep one that does not learn, and deep ones that do.
        least: the accuracy that is expected of those.
    """
    rows: list[tuple[Any, ...]] = []
    shares, logs = [], []
    for depth, name, rule, scale in starts:
        networks = [
            build("fnn", inputs=2, outputs=2, hidden=(32,) * (depth - 1), activation=name, initialization=rule,
                  scale=scale, seed=seed)
            for seed in seeds
        ]  # fmt: skip
        found, ratios = _learn_moons(networks, count, steps, seeds)
        shares.append(found)
        logs.append([math.log10(ratio) for ratio in ratios])
        rows.append((depth, name, f"{rule} {scale:g}", geometric_mean(ratios), *summary(found)))
    flat, sigmoid, *others = shares
    return Result(
        f"two moons, width 32, {steps} Adam steps with {count} points, {len(seeds)} seeds",
        ("L", "activation", "start", "gradient", "accuracy", "spread", "least", "largest"),
        rows,
        Claim.on_average(f"{_named(rows[0])} learns something: its accuracy", flat, least=0.8, most=0.95),
        Claim.on_average(f"{_named(rows[1])} stays at chance: its accuracy", sigmoid, least=0.4, most=0.6),
        *(Claim.on_average(f"{_named(row)} learns the task: its accuracy", share, least=least)
          for row, share in zip(rows[2:], others, strict=True)),
        *(Claim.on_average(f"{_named(row)}: log10 of the gradient of the first layer, divided by that of the last,",
                           log, **({"most": -9.0} if row is rows[1] else {"least": -2.0}))
          for row, log in zip(rows, logs, strict=True)),
        plot=Plot("activation", ("accuracy",), "bars", by=("L",)),
    )  # fmt: skip


def _named(row: tuple[Any, ...]) -> str:
    return f"{row[1]} with L = {row[0]}"


def _weight_matrices(network: FNN | DenseResNet) -> list[Tensor]:
    """List the weight matrices of a plain network, or those of the branches of a residual one.

    >>> [tuple(W.shape) for W in _weight_matrices(build("dense-resnet", inputs=2, outputs=1, hidden=(3, 3)))]
    [(3, 2), (3, 3)]
    """
    if isinstance(network, FNN):
        return list(network.weights)
    return [cast(nn.Linear, layer.affine).weight for layer in network.layers]


def _learn_moons(
    networks: Sequence[nn.Module], count: int, steps: int, seeds: range
) -> tuple[list[float], list[float]]:
    """Train plain or residual networks on two moons, each on points of its own, with Adam and all points in every step.

    Args:
        networks: with 2 inputs and 2 outputs; their weights are changed.
        count: training points.
        steps: updates.
        seeds: of the points, one seed per network.

    Returns:
        The accuracy of each on 1000 other points, and the ratios of the gradients of the first and the last weight
        matrix before training.

    >>> shares, ratios = _learn_moons([build("fnn", inputs=2, outputs=2, hidden=8)], 32, steps=20, seeds=range(1))
    >>> 0.5 < shares[0] <= 1.0, 0.01 < ratios[0] < 100
    (True, True)
    """
    shares, ratios = [], []
    for seed, network in zip(seeds, networks, strict=True):
        points = moons(count, seed=seed)
        split = parts(points, test=moons(1000, seed=1000 + seed))
        weights = _weight_matrices(cast(FNN | DenseResNet, network))
        loss = negative_log_likelihood(network(Preprocess.fit(points).apply(points.inputs)), points.targets)
        first, last = torch.autograd.grad(loss, (weights[0], weights[-1]))
        ratios.append((first.double().norm() / last.double().norm()).item())
        trained = train(network, split, Recipe(optimizer=Adam(1e-3), epochs=steps, batch_size=count))
        shares.append(trained.accuracy(split.open_test()))
    return shares, ratios
