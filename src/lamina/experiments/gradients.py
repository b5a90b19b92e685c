"""Vanishing and exploding gradients in deep networks, plain and residual (§4 of the notes)."""

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import nn

from lamina._types import Tensor
from lamina.architectures.build import build
from lamina.architectures.dense_resnet import DenseResNet
from lamina.experiments.initialization import Flow, flow, network_flow
from lamina.experiments.result import Claim, Plot, Result, experiment, geometric_mean
from lamina.functional.activations import get_activation
from lamina.functional.chain_rule import chain_product, layer_jacobian
from lamina.functional.random import as_generator

F64 = torch.float64

FACTORS: dict[str, Callable[[int], float]] = {
    "1/2": lambda j: 0.5,
    "1 - 1/(j+1)^2": lambda j: 1 - 1 / (j + 1) ** 2,
    "-2": lambda j: -2.0,
    "1 + 1/j^2": lambda j: 1 + 1 / j**2,
    "3/2": lambda j: 1.5,
}
"""Factors of a product over the layers j = 1, 2, ..., below 1 and above."""


@experiment("N4.02", "N4.03")
def products(depths: tuple[int, ...] = (10, 100, 1000)) -> Result:
    r"""Multiply factors that are all below 1, or all above 1, over more and more layers.

    "bound" is the largest absolute value where all are below 1, and the least one where all are above: the product
    vanishes or explodes if the bound stays away from 1, whatever the depth. Factors that tend to 1 give neither,
    $\prod(1 - 1/(j+1)^2) \to 1/2$ and $\prod(1 + 1/j^2) \to \sinh(\pi)/\pi$, and a factor of -2 is below 1.

    Notes: N4.02, N4.03 (§4).
    Corrects: E54, the criteria need absolute values and one bound for all layers.

    Args:
        depths: numbers of layers, increasing.

    >>> products((4,)).column("L = 4")[2]
    16.0
    """
    rows: list[tuple[Any, ...]] = []
    for name, factor in FACTORS.items():
        values = [factor(j) for j in range(1, depths[-1] + 1)]
        below = max(values) < 1
        sizes = [abs(value) for value in values]
        rows.append((name, below, max(sizes) if below else min(sizes), *(math.prod(values[:d]) for d in depths)))
    half, low, negative, high, large = rows
    limit = math.sinh(math.pi) / math.pi
    return Result(
        f"products of factors over up to {depths[-1]} layers",
        ("factor", "all below 1", "bound", *(f"L = {d}" for d in depths)),
        rows,
        Claim("absolute values of at most q = 1/2: the product vanishes", half[-1] <= 0.5 ** depths[-1]),
        Claim("at least q = 3/2: it explodes", large[-1] >= 1.5 ** depths[-1] * (1 - 1e-9)),
        Claim("below 1, but not by a fixed amount: it tends to 1/2", low[1] and abs(low[-1] - 0.5) < 1 / depths[-1]),
        Claim("above 1, but not by a fixed amount: it tends to 3.676", abs(high[-1] - limit) < 4 / depths[-1]),
        Claim("-2 is below 1, and the product explodes", negative[1] and abs(negative[-1]) >= 2 ** depths[-1]),
        plot=Plot("factor", tuple(f"L = {d}" for d in depths), "bars", log_y=True, y_label="product"),
    )  # fmt: skip


BOUNDS = (
    ("states", "sigmoid FNN", "sigmoid, Xavier: they vanish in the FNN", -13.0, -12.2),
    ("states", "tanh FNN", "tanh, 0.01: they vanish in the FNN", -22.3, -21.6),
    ("states", "sigmoid ResNet", "sigmoid, Xavier: they do not in the ResNet", -0.1, 0.2),
    ("states", "tanh ResNet", "tanh, 0.01: they do not in the ResNet", -0.1, 0.2),
    ("weights", "sigmoid FNN", "sigmoid, Xavier, FNN", -12.8, -12.0),
    ("weights", "sigmoid ResNet", "sigmoid, Xavier, ResNet", -2.0, -1.0),
)
"""Gradients of what, in which network, what is claimed of them and the bounds of their decimal logarithms."""

STARTS = (("sigmoid", "Xavier", 0.0), ("tanh", "0.01", 0.01))
"""Activations and standard deviations of the weights; 0 stands for 1/sqrt(width)."""


def _deep_flow(kind: str, activation: str, std: float, depth: int, width: int, seed: int) -> Flow:
    """Send normal inputs through a deep square network, plain ("FNN") or residual ("ResNet"), and gradients back."""
    if kind == "FNN":
        return flow(activation, std, depth, width, 128, seed)
    return network_flow(_residual(width, depth, activation, seed, "gaussian", std), 128, seed)


@experiment("N4.12")
def gradients_by_layer(seeds: range = range(5), depth: int = 20) -> Result:
    r"""Follow the gradient of the loss back through deep networks with and without skip connections.

    The numbers are $\|\partial\mathscr L/\partial y^{[l]}\| / \|\partial\mathscr L/\partial y^{[L]}\|$, geometric means
    over the seeds. Sigmoid networks start with Xavier's weights, tanh networks with standard deviation 0.01.

    Notes: N4.12 (§4).

    Args:
        seeds: weights, inputs and targets.
        depth: the number L of layers.
    """
    columns: dict[str, list[float]] = {}
    logs: dict[str, dict[str, list[float]]] = {"states": {}, "weights": {}}
    for activation, _, std in STARTS:
        for kind in ("FNN", "ResNet"):
            name = f"{activation} {kind}"
            runs = [_deep_flow(kind, activation, std or 64**-0.5, depth, 64, seed) for seed in seeds]
            shares = [[state / run.states[-1] for state in run.states] for run in runs]
            columns[name] = [geometric_mean(layer) for layer in zip(*shares, strict=True)]
            logs["states"][name] = [math.log10(run.states[0] / run.states[-1]) for run in runs]
            logs["weights"][name] = [math.log10(run.weights[0] / run.weights[-1]) for run in runs]
    return Result(
        f"state gradients, relative to the last layer, depth {depth}, width 64, {len(seeds)} seeds",
        ("layer", *columns),
        zip(range(depth + 1), *columns.values(), strict=True),
        *(Claim.on_average(f"{start}: log10 of the {what} gradient of the first layer, relative to the last,",
                           logs[what][name], least=low, most=high)
          for what, name, start, low, high in BOUNDS),
        plot=Plot("layer", tuple(columns), log_y=True, y_label="gradient of the state"),
    )  # fmt: skip


@experiment("N4.11")
def residual_exceptions(seeds: range = range(5), depth: int = 20, width: int = 64) -> Result:
    r"""Find residual networks whose gradients vanish, and those whose gradients explode.

    Every row gives $\|\partial\mathscr L/\partial y^{[0]}\| / \|\partial\mathscr L/\partial y^{[L]}\|$ and the norm of
    $\partial\mathscr L/\partial W^{[0]}$, geometric means over the seeds. With one unit and the weight -0.9 each
    factor is 1 - 0.9 at first; dead ReLU units pass the state but give their weights no gradient; and He's weights
    double the signal with every layer, unless a step size of 1/L holds it.

    Notes: N4.11 (§4).
    Corrects: E56, that residual networks have no vanishing gradients is what typically happens, not a theorem.

    Args:
        seeds: weights and inputs.
        depth: the number L of layers.
        width: units of every layer but in the first row.
    """
    cases: dict[str, Callable[[int], DenseResNet]] = {
        "one unit, tanh, weight -0.9": lambda seed: _filled(_residual(1, depth, "tanh", seed), weight=-0.9),
        "dead ReLU units": lambda seed: _filled(_residual(width, depth, "relu", seed), bias=-1e6),
        "ReLU, He": lambda seed: _residual(width, depth, "relu", seed),
        "ReLU, He, step size 1/L": lambda seed: _residual(width, depth, "relu", seed, step_size="1/L"),
    }
    rows: list[tuple[Any, ...]] = []
    logs = {}
    for name, make in cases.items():
        flows = [network_flow(make(seed), 128, seed, scale=1e-6 if "-0.9" in name else 1.0) for seed in seeds]
        first = [flow.weights[0] for flow in flows]
        states = [flow.states[0] / flow.states[-1] for flow in flows]
        logs[name] = [math.log10(state) for state in states], [math.log10(norm) for norm in first if norm > 0]
        rows.append((name, geometric_mean(states), geometric_mean(first) if min(first) > 0 else max(first)))
    dead, (negative, _, large, small) = rows[1], logs.values()
    return Result(
        f"residual networks of {depth} layers, width {width}, {len(seeds)} seeds",
        ("network", "state gradient", "first weights"),
        rows,
        Claim.on_average("derivatives of -0.9: gradients vanish; log10 of the state gradient", negative[0],
                         least=-depth - 1.0, most=-depth + 1.0),
        Claim("dead units: the state's gradient passes, that of the weights is exactly 0",
              abs(dead[1] - 1) < 1e-9 and dead[2] == 0.0),
        Claim.on_average("ReLU with He's weights: explosion; log10 of the gradient of the first weights", large[1],
                         least=0.45 * depth),
        Claim.on_average("a step size of 1/L holds it: log10 of the state gradient", small[0], least=0.0, most=0.6),
        plot=Plot("network", ("state gradient", "first weights"), "bars", log_y=True, y_label="norm of gradients"),
    )  # fmt: skip


def _residual(width: int, depth: int, activation: str, seed: int, rule: str = "he", scale: float = 1.0,
              step_size: float | str = 1.0) -> DenseResNet:  # fmt: skip
    network = build(
        "dense-resnet", inputs=width, outputs=width, hidden=(width,) * depth, activation=activation,
        initialization=rule, scale=scale, step_size=step_size, seed=seed,
    )  # fmt: skip
    return cast(DenseResNet, network.double())


@torch.no_grad()
def _filled(network: DenseResNet, weight: float | None = None, bias: float | None = None) -> DenseResNet:
    """Set all weights or biases of the branches to one number."""
    for layer in network.layers:
        affine = cast(nn.Linear, layer.affine)
        for tensor, value in ((affine.weight, weight), (affine.bias, bias)):
            if value is not None:
                tensor.fill_(value)
    return network


@experiment("N4.10")
def identity_term(seeds: range = range(3), depths: tuple[int, ...] = (1, 3, 10, 30), width: int = 8) -> Result:
    r"""Compare the derivative of a residual network, with biases, with the product $\prod_j (\mathbb I + J_j)$.

    $J_j = \partial a^{[j]} / \partial y^{[j-1]}$ is the Jacobian of a branch; without the identity their product is
    that of the plain network, which vanishes.

    Notes: N4.10 (§4, Eq. (10)).

    Args:
        seeds: weights, biases and inputs.
        depths: numbers L of layers.
        width: units of every layer.
    """
    sigma = get_activation("tanh")
    rows: list[tuple[Any, ...]] = []
    logs = {}
    for depth in depths:
        apart, sizes, plain = [], [], []
        for seed in seeds:
            network, g = _residual(width, depth, "tanh", seed, "gaussian", 0.2), as_generator(seed)
            affine = [cast(nn.Linear, layer.affine) for layer in network.layers]
            for part in affine:
                part.bias.data = torch.randn(width, generator=g, dtype=F64)
            u = torch.randn(width, generator=g, dtype=F64)
            y = [state.detach() for state in network.features(u)]
            factors = {
                residual: [
                    layer_jacobian(part(state).detach(), part.weight.detach(), sigma.derivative, residual)
                    for part, state in zip(affine, y, strict=False)
                ]
                for residual in (True, False)
            }
            eye = torch.eye(width, dtype=F64)
            product = chain_product(eye, factors[True])
            whole = cast(Tensor, torch.autograd.functional.jacobian(network.layers, u))
            apart.append((whole - product).abs().max().item())
            sizes.append(product.norm().item())
            plain.append(chain_product(eye, factors[False]).norm().item())
        logs[depth] = [math.log10(size) for size in sizes], [math.log10(size) for size in plain]
        rows.append((depth, geometric_mean(sizes), geometric_mean(plain), max(apart)))
    return Result(
        f"Jacobians of tanh networks with biases, width {width}, {len(seeds)} seeds",
        ("L", "with the identity", "without", "autograd apart"),
        rows,
        Claim(
            "the product is the derivative, relative to its size to 1e-12",
            all(row[3] < 1e-12 * max(1.0, row[1]) for row in rows),
        ),
        *Claim.averages(
            "with the identity it does not vanish: log10 of its norm for L = {}",
            {depth: logs[depth][0] for depth in depths},
            least=0.0,
        ),
        Claim.on_average(
            f"without the identity it does: log10 of its norm for L = {depths[-1]}",
            logs[depths[-1]][1],
            most=-0.3 * depths[-1],
        ),
        plot=Plot("L", ("with the identity", "without"), log_x=True, log_y=True, y_label="norm of the Jacobian"),
    )
