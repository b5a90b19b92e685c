"""What the starting weights decide (§2.2 of the notes): symmetry, vanishing and exploding signals, Xavier's rule."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import torch
from torch import nn

from lamina._types import Float, Tensor
from lamina.architectures.build import build
from lamina.architectures.dense_resnet import DenseResNet
from lamina.architectures.fnn import FNN, fnn_from_weights
from lamina.data.synthetic import curve
from lamina.experiments.depth import _learn_moons, _weight_matrices
from lamina.experiments.result import (
    Claim,
    Plot,
    Result,
    _mean_and_spread,
    _ratios_of_pairs,
    experiment,
    geometric_mean,
    quotients,
    summary,
)
from lamina.experiments.together import train_together
from lamina.functional.activations import get_activation
from lamina.functional.initialization import draw, gaussian, glorot, xavier
from lamina.functional.losses import mse_half
from lamina.functional.random import as_generator

F64 = torch.float64


@experiment("N2.26")
def starting_points(seeds: range = range(8), steps: int = 500, hidden: tuple[int, ...] = (4, 4)) -> Result:
    r"""Train one network from different starting points, among them the one where all weights are zero.

    The points are 64 of a sine without noise, the method is Adam with all of them. From zero weights every gradient
    but that of the last bias is exactly zero, and stays so: what is learned is the best constant.

    Notes: N2.26 (§2.2).
    Corrects: E26, of a network with ReLU or tanh and zero weights only the last bias moves.

    Args:
        seeds: random starting points for each activation.
        steps: updates.
        hidden: the hidden widths.
    """
    data = curve(64, noise=0.0, seed=seeds.start)
    members = len(seeds) + 1
    u, s = ((2 * data.inputs - 1).expand(members, -1, 1), data.targets[:, None].expand(members, -1, 1))
    rows: list[tuple[Any, ...]] = []
    pairs = {}
    for name in ("tanh", "relu"):
        starts = [("xavier" if name == "tanh" else "he", 1.0, seed) for seed in seeds] + [("constant", 0.0, 0)]
        networks = [
            build("fnn", inputs=1, outputs=1, hidden=hidden, activation=name, initialization=rule, scale=scale,
                  seed=seed).double()
            for rule, scale, seed in starts
        ]  # fmt: skip
        gradients = [_norms(network, u[0], s[0]) for network in networks]
        losses = train_together(networks, u, s, mse_half, learning_rate=0.02, steps=steps).tolist()
        pairs[name] = _ratios_of_pairs(losses[:-1])
        for start, part in (("random", slice(len(seeds))), ("zero", slice(len(seeds), None))):
            inner, last = (max(values) for values in zip(*gradients[part], strict=True))
            ends = losses[part]
            rows.append((name, start, inner, last, *summary(ends)))
    constant = (s[0] - s[0].mean()).square().mean().item() / 2
    zero = rows[1::2]
    return Result(
        f"{'-'.join(map(str, (1, *hidden, 1)))} on a sine, {steps} Adam steps, {len(seeds)} random starting points",
        ("activation", "start", "largest gradient", "of the last bias", "last loss", "spread", "least", "largest"),
        rows,
        *Claim.averages(
            "different starting points lead to different results with {}: log10 of the larger last loss of two, "
            "divided by the smaller,",
            {name: [math.log10(ratio) for ratio in each] for name, each in pairs.items()},
            least=0.05,
        ),
        Claim(
            "from zero weights all gradients but the last bias's are zero",
            all(row[2] == 0 and row[3] > 0 for row in zero),
        ),
        Claim(
            "and the network converges to the best constant only",
            all(abs(row[4] - constant) < 1e-3 * constant for row in zero),
        ),
        plot=Plot("activation", ("last loss",), "bars", by=("start",)),
    )


def _norms(network: nn.Module, inputs: Tensor, targets: Tensor) -> tuple[float, float]:
    """Return the largest gradient entry of all parameters but the last bias, and of that."""
    gradients = torch.autograd.grad(mse_half(network(inputs), targets), list(network.parameters()))
    *others, last = (gradient.abs().max().item() for gradient in gradients)
    return max(others), last


@experiment("N2.27", "N2.28", "N2.29")
def symmetry(seeds: range = range(3), steps: int = 300) -> Result:
    r"""Start a 3-4-1 tanh network with equal and with random weights and zero biases, and look at its hidden neurons.

    A row of $\partial\mathscr L/\partial W^{[0]}$ belongs to a neuron, a column to an input. Distances are the largest
    between any two rows (columns), in the mean over the seeds; the rank is that of $W^{[0]}$ after training.

    Notes: N2.27, N2.28, N2.29 (§2.2).
    Corrects: E26, weights into different neurons share their gradient; those from different inputs do not.

    Args:
        seeds: data, and random weights.
        steps: updates of gradient descent with step size 0.2.
    """
    generators = [as_generator(seed) for seed in seeds]
    u = torch.stack([torch.randn(32, 3, generator=g, dtype=F64) for g in generators])
    s = torch.stack([torch.randn(32, 1, generator=g, dtype=F64) for g in generators])
    rows: list[tuple[Any, ...]] = []
    found: list[tuple[Any, ...]] = []
    for start, rule, scale in (("all weights 0.5", "constant", 0.5), ("random weights", "xavier", 1.0)):
        networks = [
            cast(FNN, build("fnn", inputs=3, outputs=1, hidden=4, activation="tanh", initialization=rule, scale=scale,
                            seed=seed)).double()
            for seed in seeds
        ]  # fmt: skip
        before = [network.weights[0].detach().clone() for network in networks]
        gradients = [
            torch.autograd.grad(mse_half(network(a), b), network.weights[0])[0]
            for network, a, b in zip(networks, u, s, strict=True)
        ]
        train_together(networks, u, s, mse_half, learning_rate=0.2, steps=steps, optimizer="sgd")
        after = [network.weights[0].detach() for network in networks]
        moves = [(a - b).abs().max().item() for a, b in zip(before, after, strict=True)]
        ranks = [int(torch.linalg.matrix_rank(W, atol=1e-8)) for W in after]
        distances = [
            [torch.pdist(matrix).max().item() for matrix in matrices]  # the largest distance of two rows
            for matrices in (gradients, [g.T for g in gradients], after)
        ]
        found.append((*distances, moves, ranks))
        means = [_mean_and_spread(each)[0] for each in distances]
        rows.append((start, *means, min(moves), "/".join(map(str, sorted(set(ranks))))))
    constant, random = found
    return Result(
        f"hidden neurons of 3-4-1 tanh, {steps} steps of gradient descent, {len(seeds)} seeds",
        ("start", "gradient rows apart", "columns apart", "neurons apart at the end", "least change", "rank"),
        rows,
        Claim("equal weights: the gradients of the neurons are equal, with every seed", max(constant[0]) < 1e-12),
        Claim.on_average("the largest distance between the gradients of two inputs", constant[1], least=0.02),
        Claim(
            "after training the neurons are identical still, and the rank of W0 is 1, with every seed",
            max(constant[2]) < 1e-10 and set(constant[4]) == {1},
        ),
        Claim.on_average("although they do train: the largest change of a weight", constant[3], least=0.05),
        Claim.on_average(
            "random weights with zero biases: the largest distance between the gradients of two neurons",
            random[0],
            least=0.05,
        ),
        Claim.on_average("after training the largest distance between two neurons", random[2], least=0.5),
        Claim.often("the neurons stay different, and W0 keeps its full rank 3", [rank == 3 for rank in random[4]]),
        plot=Plot("start", ("gradient rows apart", "neurons apart at the end"), "bars", y_label="largest distance"),
    )


@dataclass(frozen=True)
class Flow:
    """What passes through a deep network: features forward, gradients backward, all as norms or tensors."""

    weights: list[float]
    states: list[float]
    features: list[Tensor]


def flow(activation: str, std: float, depth: int, width: int, samples: int, seed: int) -> Flow:
    r"""Send normal inputs through a square network with Gaussian weights and zero biases, and the loss's gradient back.

    The loss is half the mean squared error to normal targets.

    Args:
        activation: of all layers, the last included.
        std: the standard deviation of the weights.
        depth: the number L of layers.
        width: the number of units of every layer.
        samples: how many inputs.
        seed: which weights, inputs and targets.

    Returns:
        The norms of the gradients of $W^{[0]}, ..., W^{[L-1]}$ and of $y^{[0]}, ..., y^{[L]}$, and the features.

    >>> linear = flow("identity", 0.25, depth=2, width=16, samples=4, seed=0)
    >>> len(linear.weights), len(linear.states), linear.features[-1].shape
    (2, 3, torch.Size([4, 16]))
    """
    return network_flow(_square(activation, std, depth, width, seed).double(), samples, seed)


def _square(activation: str, std: float, depth: int, width: int, seed: int) -> FNN:
    """Make a network of equally wide layers with Gaussian weights and zero biases."""
    network = build(
        "fnn", inputs=width, outputs=width, hidden=(width,) * (depth - 1), activation=activation,
        last_activation=activation, initialization="gaussian", scale=std, seed=seed,
    )  # fmt: skip
    return cast(FNN, network)


def network_flow(network: FNN | DenseResNet, samples: int, seed: int, scale: float = 1.0) -> Flow:
    """Send normal inputs through a network and the gradient of half the mean squared error to normal targets back.

    The output of a residual network is its last state; the read-out is left out.

    Args:
        network: plain or residual, in float64.
        samples: how many inputs.
        seed: which inputs and targets.
        scale: the standard deviation of the inputs.
    """
    generator = as_generator(1000 + seed)
    n_in, n_out = network.config.widths[0], network.config.widths[-1 if isinstance(network, FNN) else -2]
    u = scale * torch.randn(samples, n_in, generator=generator, dtype=F64)
    s = torch.randn(samples, n_out, generator=generator, dtype=F64)
    features = network.features(u.requires_grad_())
    weights = _weight_matrices(network)
    gradients = torch.autograd.grad(mse_half(features[-1], s), [*weights, *features])
    norms, depth = [gradient.norm().item() for gradient in gradients], len(weights)
    return Flow(norms[:depth], norms[depth:], [y.detach() for y in features])


@experiment("N2.30")
def small_weights(
    seeds: range = range(5), depth: int = 20, width: int = 64, trained: int = 2, steps: int = 150
) -> Result:
    r"""Follow gradients through a deep tanh network with Gaussian weights of standard deviation 0.01.

    The state gradient $\|\partial\mathscr L/\partial y^{[0]}\| / \|\partial\mathscr L/\partial y^{[L]}\|$ vanishes. The
    weight gradients are tiny in all layers alike, first and last, since the features decay forward as fast as the
    gradient does backward. Numbers are geometric means; the accuracy is that on two moons (width 32) after training.

    Notes: N2.30 (§2.2).
    Corrects: E27, what counts is std * sqrt(n), here 0.08, and learning stalls, it does not diverge; E28, the ratio of
        the first and the last weight gradient is 1 and shows nothing, the state gradient does.

    Args:
        seeds: weights, inputs and targets.
        depth: the number of layers.
        width: units of every layer.
        trained: how many networks are trained on two moons.
        steps: Adam steps for that.
    """
    rows: list[tuple[Any, ...]] = []
    accuracies, logs = [], []
    for start, std in (("0.01", 0.01), ("Xavier", 1 / math.sqrt(width))):
        runs = [flow("tanh", std, depth, width, 128, seed) for seed in seeds]
        numbers = [[run.states[0] / run.states[-1], run.weights[0], run.weights[-1]] for run in runs]
        state, first, last = (geometric_mean(column) for column in zip(*numbers, strict=True))
        options = {"initialization": "xavier"} if start == "Xavier" else {"initialization": "gaussian", "scale": std}
        networks = [
            build("fnn", inputs=2, outputs=2, hidden=(32,) * (depth - 1), activation="tanh", seed=seed, **options)
            for seed in seeds[:trained]
        ]
        accuracies.append(_learn_moons(networks, 128, steps, seeds[:trained])[0])
        logs.append([[math.log10(number) for number in column] for column in zip(*numbers, strict=True)])
        rows.append(
            (start, std * math.sqrt(width), state, first, last, first / last, *_mean_and_spread(accuracies[-1]))
        )
    small, good = logs
    return Result(
        f"tanh, depth {depth}, width {width}, {len(seeds)} seeds; {steps} Adam steps",
        ("std", "std sqrt(n)", "state gradient", "first weights", "last weights", "ratio", "accuracy", "spread"),
        rows,
        Claim.on_average("the state gradient vanishes: its log10", small[0], least=-22.5, most=-21.5),
        *Claim.averages(
            "all weight gradients are tiny, first and last alike: log10 of the {}",
            dict(zip(("first", "last"), small[1:], strict=True)),
            least=-20.6,
            most=-19.6,
        ),
        Claim.on_average("training stays at chance: the accuracy", accuracies[0], least=0.4, most=0.6),
        *Claim.averages(
            "with Xavier's weights it does not vanish: log10 of the {} gradient",
            dict(zip(("state", "first weight"), good, strict=False)),
            least=-3.0,
        ),
        Claim.on_average("and training succeeds: the accuracy", accuracies[1], least=0.9),
        plot=Plot("std", ("state gradient", "first weights", "last weights"), "bars", log_y=True, y_label="gradient"),
    )


@experiment("N2.31")
def large_weights(seeds: range = range(10), widths: tuple[int, ...] = (10, 25, 100, 256), std: float = 0.2) -> Result:
    r"""Send signals through 20 layers with Gaussian weights of standard deviation 0.2, for several widths.

    Columns "linear" and "ReLU" are mean squares of $y^{[20]}$ for inputs of mean square 1, geometric means over the
    seeds. The last column is the share of NaN in $\partial\mathscr L/\partial W^{[0]}$ of 100 ReLU layers in float32.

    Notes: N2.31 (§2.2).
    Corrects: E27, 0.2 is large or small by std * sqrt(n): the thresholds are 1 (linear, tanh) and sqrt(2) (ReLU).

    Args:
        seeds: weights and inputs.
        widths: units of every layer.
        std: the standard deviation of all weights.
    """
    rows: list[tuple[Any, ...]] = []
    logs, nan = {}, {}
    for n in widths:
        squares = {
            title: [flow(name, std, 20, n, 32, seed).features[-1].square().mean().item() for seed in seeds]
            for title, name in (("linear", "identity"), ("ReLU", "relu"))
        }
        logs[n] = {title: [math.log10(square) for square in each] for title, each in squares.items()}
        nan[n] = [_share_of_nan(n, std, seed) for seed in seeds]
        rows.append((n, std * math.sqrt(n), *map(geometric_mean, squares.values()), _mean_and_spread(nan[n])[0]))
    low = [n for n in widths if std * math.sqrt(n) < 1]
    high = [n for n in widths if std * math.sqrt(n) > math.sqrt(2)]
    return Result(
        f"standard deviation {std:g}: mean square after 20 layers, NaN after 100",
        ("width", "std sqrt(n)", "linear", "ReLU", "NaN in float32"),
        rows,
        Claim("some widths lie below std sqrt(n) = 1, others above sqrt(2)", bool(low and high)),
        *Claim.averages(
            "below 1 signals vanish in spite of the large weights: log10 of the mean square, {}, n = {},",
            {(title, n): each for n in low for title, each in logs[n].items()},
            most=-4.0,
        ),
        *Claim.averages(
            "above sqrt(2) they explode: log10 of the mean square, {}, n = {},",
            {(title, n): each for n in high for title, each in logs[n].items()},
            least=4.0,
        ),
        *(
            Claim.on_average(f"log10 of the mean square with ReLU, n = {n},", logs[n]["ReLU"], least=low_, most=high_)
            for n, (low_, high_) in {10: (-20.0, -12.0), 100: (5.0, 7.0)}.items()
            if n in logs
        ),
        Claim.on_average(
            "deep and wide enough, the share of first gradients that are NaN in float32", nan[widths[-1]], least=0.9
        ),
        plot=Plot("width", ("linear", "ReLU"), log_x=True, log_y=True, y_label="mean square after 20 layers"),
    )


def _share_of_nan(width: int, std: float, seed: int) -> float:
    """Return the share of NaN in the gradient of the first matrix of 100 ReLU layers in float32."""
    network = _square("relu", std, 100, width, seed)
    outputs = network(torch.randn(8, width, generator=as_generator(1000 + seed)))
    gradient = torch.autograd.grad(mse_half(outputs, torch.zeros_like(outputs)), network.weights[0])[0]
    return gradient.isnan().double().mean().item()


@experiment("N2.32")
def saturation(
    seeds: range = range(2), widths: tuple[int, int] = (25, 400), stds: tuple[float, ...] = (0.05, 0.2, 2.0)
) -> Result:
    r"""Count saturated tanh units under large weights, and see which gradients vanish because of it and which do not.

    A unit counts as saturated when $|y| > 0.99$; it passes less than 0.02 of a gradient. The first rows are 20 layers
    with standard deviation 0.2, the others one hidden layer with Xavier's output weights. There the gradient of the
    weights vanishes, as the notes say. In the deep network it does not: what saturated units let through is multiplied
    by large weights, and the product grows towards the first layer.

    Notes: N2.32 (§2.2).
    Corrects: E27, saturation depends on std * sqrt(n), not on the standard deviation alone.

    Args:
        seeds: weights, inputs and targets.
        widths: units of every layer of the deep networks.
        stds: standard deviations of the hidden weights of the shallow ones, increasing.
    """
    deep = [[flow("tanh", 0.2, 20, n, 32, seed) for seed in seeds] for n in widths]
    rows = [_saturated(20, n, 0.2, runs, layer=20) for n, runs in zip(widths, deep, strict=True)]
    n, hidden = widths[1], []
    for std in stds:
        runs = []
        for seed in seeds:
            g = as_generator(seed)
            weights = [gaussian((n, n), std, g).to(F64), xavier((n, n), g).to(F64)]
            runs.append(network_flow(fnn_from_weights(weights, [torch.zeros(n, dtype=F64)] * 2, "tanh"), 32, seed))
        rows.append(_saturated(2, n, std, runs, layer=1))
        hidden.append([run.weights[0] for run in runs])
    narrow, wide = ([_share(run.features[20]) for run in runs] for runs in deep)
    return Result(
        f"saturated tanh units and gradients, {len(seeds)} seeds",
        ("L", "width", "std", "saturated", "mean derivative", "first weight gradient", "last"),
        rows,
        Claim.on_average("20 wide layers: the share of the last units that are saturated", wide, least=0.4, most=0.5),
        Claim.on_average("20 narrow layers: the same share", narrow, most=0.001),
        *Claim.averages(
            "one hidden layer, the larger its weights, the smaller their gradient: that with std {1:g}, divided by "
            "that with {0:g},",
            {case: quotients(b, a) for case, (a, b) in zip(pairwise(stds), pairwise(hidden), strict=True)},
            most=0.9,
        ),
        Claim.on_average(
            f"that with std {stds[-1]:g}, divided by that with {stds[0]:g},",
            quotients(hidden[-1], hidden[0]),
            most=0.25,
        ),
        Claim.on_average(
            "20 wide layers: log10 of the first gradient, divided by the last, in spite of saturation",
            [math.log10(run.weights[0] / run.weights[-1]) for run in deep[1]],
            least=2.0,
        ),
        plot=Plot("std", ("saturated", "mean derivative"), "points", by=("L", "width"), log_x=True, y_label="share"),
    )


def _saturated(depth: int, width: int, std: float, runs: list[Flow], layer: int) -> tuple[Any, ...]:
    y = torch.stack([run.features[layer] for run in runs])
    slopes = get_activation("tanh").derivative(y.atanh()).mean().item()
    return (depth, width, std, _share(y), slopes, *(geometric_mean([run.weights[i] for run in runs]) for i in (0, -1)))


def _share(y: Tensor) -> float:
    return (y.abs() > 0.99).double().mean().item()


@experiment("N2.33")
def xavier_rule(
    shapes: tuple[tuple[int, int], ...] = ((100, 100), (100, 400), (784, 10)), seeds: range = range(10)
) -> Result:
    r"""Compare the notes' Xavier rule, std $1/\sqrt{n_{in}}$, with torch's rule of that name.

    Notes: N2.33 (§2.2).
    Corrects: E42, the notes' rule is LeCun's; Glorot's counts outputs too: $\sqrt{2/(n_{in}+n_{out})}$.

    Args:
        shapes: (inputs, outputs) of layers.
        seeds: drawn weights for the measured standard deviations.

    >>> print("\n".join(str(xavier_rule(((100, 400),), seeds=3)).splitlines()[:3]))
    standard deviations of drawn weights, means of 3
     inputs  outputs  1/sqrt(n_in)  xavier  sqrt(2/(n_in+n_out))   glorot  torch xavier_normal_
        100      400           0.1  0.1002               0.06325  0.06335               0.06335
    """
    rows, shares = [], {}
    for n_in, n_out in shapes:
        torchs = [nn.init.xavier_normal_(torch.empty(n_out, n_in), generator=as_generator(seed)) for seed in seeds]
        drawn = [[rule((n_out, n_in), seed).std().item() for seed in seeds] for rule in (xavier, glorot)]
        drawn.append([weight.std().item() for weight in torchs])
        stds, rules = (
            [_mean_and_spread(each)[0] for each in drawn],
            (1 / math.sqrt(n_in), math.sqrt(2 / (n_in + n_out))),
        )
        rows.append((n_in, n_out, rules[0], stds[0], rules[1], stds[1], stds[2]))
        for name, rule, each in zip(("xavier", "glorot"), rules, drawn, strict=False):
            shares[name, n_in, n_out] = [std / rule for std in each]
    return Result(
        f"standard deviations of drawn weights, means of {len(seeds)}",
        ("inputs", "outputs", "1/sqrt(n_in)", "xavier", "sqrt(2/(n_in+n_out))", "glorot", "torch xavier_normal_"),
        rows,
        *Claim.averages(
            "the standard deviation of weights drawn by {} for {} inputs and {} outputs, divided by that of its rule,",
            shares,
            least=0.98,
            most=1.02,
        ),
        Claim("torch's xavier_normal_ is our glorot", all(row[5] == row[6] for row in rows)),
        Claim(
            "the rules agree for as many outputs as inputs and for nothing else",
            all((abs(row[2] / row[4] - 1) < 1e-12) == (row[0] == row[1]) for row in rows),
        ),
        plot=Plot("inputs", ("xavier", "glorot"), "points", log_x=True, log_y=True, y_label="standard deviation"),
    )


@experiment("N2.34", "N2.35")
def variance_by_layer(seeds: range = range(5), width: int = 512, samples: int = 256) -> Result:
    r"""Follow variance, second moment and mean of the features through 20 layers.

    Normal inputs, zero biases; numbers are means over the seeds. Xavier's rule keeps the variance of the identity, and
    of nothing else: tanh shrinks it, ReLU halves the second moment in every layer, the sigmoid has the mean 1/2. He's
    rule keeps the second moment of ReLU.

    Notes: N2.34, N2.35 (§2.2).
    Corrects: E29, the variance is kept for the identity and inputs of mean zero only.

    Args:
        seeds: weights and inputs.
        width: units of every layer.
        samples: inputs.
    """
    table = {
        (name, rule): _moments(name, rule, seeds, width, samples)
        for name, rule in (
            ("identity", "xavier"),
            ("tanh", "xavier"),
            ("sigmoid", "xavier"),
            ("relu", "xavier"),
            ("relu", "he"),
        )
    }
    identity, tanh, sigmoid, relu, he = table.values()
    measured = {0: 0.395, 4: 0.104, 19: 0.026}
    return Result(
        f"features of width {width}, {samples} inputs, {len(seeds)} seeds",
        ("activation", "weights", "Var 1", "Var 5", "Var 20", "E y^2 1", "E y^2 5", "E y^2 20", "E y 20"),
        (
            (*key, *found.mean(0)[:2, [0, 4, 19]].flatten().tolist(), found.mean(0)[2, 19].item())
            for key, found in table.items()
        ),
        Claim.on_average("identity: the variance after 20 layers", identity[:, 0, 19].tolist(), least=0.5, most=1.5),
        *(
            Claim.on_average(
                f"tanh: the variance after layer {layer + 1}",
                tanh[:, 0, layer].tolist(),
                least=0.85 * value,
                most=1.15 * value,
            )
            for layer, value in measured.items()
        ),
        Claim.on_average(
            "ReLU: the second moment of a layer, divided by that of the layer before,",
            (relu[:, 1, 1:] / relu[:, 1, :-1]).mean(1).tolist(),
            least=0.47,
            most=0.53,
        ),
        Claim.on_average(
            "sigmoid: the largest distance of a layer's mean from 1/2",
            (sigmoid[:, 2] - 0.5).abs().amax(1).tolist(),
            most=0.05,
        ),
        Claim.on_average(
            "ReLU with He's rule: log2 of the second moment after 20 layers",
            he[:, 1, 19].log2().tolist(),
            least=-1.5,
            most=1.5,
        ),
        plot=Plot(
            "activation", ("E y^2 1", "E y^2 5", "E y^2 20"), "bars", by=("weights",), log_y=True, y_label="mean square"
        ),
    )


def _moments(name: str, rule: str, seeds: range, width: int, samples: int) -> Float[Tensor, "seed 3 20"]:
    """Return variance, second moment and mean of the features of the layers 1 to 20."""
    found = []
    for seed in seeds:
        generator, sigma = as_generator(seed), get_activation(name)
        y = torch.randn(samples, width, generator=generator)
        for _ in range(20):
            y = sigma(y @ draw(rule, (width, width), generator).T)
            wide = y.double()
            found.append(torch.stack([wide.var(), wide.square().mean(), wide.mean()]))
    return torch.stack(found).reshape(len(seeds), 20, 3).mT
