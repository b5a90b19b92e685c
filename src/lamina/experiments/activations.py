"""Claims about activation functions (§1 of the notes) that show in training."""

import math
import statistics
import time
from collections.abc import Callable
from typing import Any, cast

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lamina._types import Tensor
from lamina.architectures.fnn import FNN, FNNConfig
from lamina.data.synthetic import moons
from lamina.experiments.result import Claim, Plot, Result, _mean_and_spread, differences, experiment
from lamina.experiments.together import train_together
from lamina.experiments.trained import parts, train
from lamina.functional.activations import get_activation
from lamina.functional.dense import affine
from lamina.functional.losses import negative_log_likelihood
from lamina.training.recipe import Adam, Recipe

FORMULAS: dict[str, Callable[[Tensor], Tensor]] = {
    "heaviside": lambda y: y >= 0,
    "relu": lambda y: y.clamp(min=0),
    "leaky_relu": lambda y: torch.maximum(0.1 * y, y),
    "sigmoid": lambda y: 1 / (1 + torch.exp(-y)),
    "tanh": lambda y: (torch.exp(y) - torch.exp(-y)) / (torch.exp(y) + torch.exp(-y)),
}
"""The activations written as in the notes, operation by operation."""


class _Operations(TorchDispatchMode):
    """Note each operation on tensors by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def operations(formula: Callable[[Tensor], Tensor]) -> list[str]:
    """List the elementary operations that a formula makes on each number, in order.

    >>> operations(lambda y: 1 / (1 + torch.exp(-y)))
    ['neg', 'exp', 'add', 'reciprocal', 'mul']
    """
    y = torch.zeros(1)
    with _Operations() as seen:
        formula(y)
    return seen.names


@experiment("N1.13")
def activation_cost(numbers: int = 10_000, repeats: int = 25) -> Result:
    r"""Count what each activation computes, and measure its cost relative to ReLU.

    The operations are those of the notes' formulas, literally. The times are those of the library's functions, which
    torch evaluates in one pass; they depend on the machine, on the number of values and on what else runs, so that no
    claim rests on them: on one CPU sigmoid took 2.5 times and tanh twice as long as ReLU for numbers in the cache, and
    all the same time for ten million numbers, which wait for the memory. `benchmarks/activations.py` measures more.

    Notes: N1.13 (§1).
    Corrects: E62, how much more exp costs is a matter of the machine, and may be nothing.

    Args:
        numbers: how many values an activation is applied to at once.
        repeats: how many times, in turn with the others; the median counts.

    >>> activation_cost(numbers=100, repeats=1).column("exp")
    [0, 0, 0, 1, 4]
    """
    counted = {name: operations(formula) for name, formula in FORMULAS.items()}
    y = torch.linspace(-5, 5, numbers)
    times: dict[str, list[float]] = {name: [] for name in counted}
    for _ in range(repeats + 1):
        for name, found in times.items():
            sigma = get_activation(name).function
            start = time.perf_counter()
            sigma(y)
            found.append(time.perf_counter() - start)
    median = {name: statistics.median(found[1:]) for name, found in times.items()}  # the first warms up
    exps = {name: names.count("exp") for name, names in counted.items()}
    rows = [
        (name, len(names), exps[name], median[name] * 1e6, median[name] / median["relu"])
        for name, names in counted.items()
    ]
    with_exp = [name for name, count in exps.items() if count]
    return Result(
        f"what an activation costs for {numbers:,} numbers, median of {repeats}; nothing is claimed of the times",
        ("activation", "operations", "exp", "microseconds", "of ReLU"),
        rows,
        Claim("sigmoid and tanh compute exp, the others do not", with_exp == ["sigmoid", "tanh"]),
        Claim(
            "what computes exp makes more operations on each number than ReLU",
            all(len(counted[name]) > len(counted["relu"]) for name in with_exp),
        ),
        plot=Plot("activation", ("operations", "exp"), "bars", y_label="operations per number"),
    )


@experiment("N1.14")
def tanh_against_sigmoid(
    seeds: range = range(3), steps: int = 400, activations: tuple[str, str] = ("tanh", "sigmoid")
) -> Result:
    r"""Compare how fast networks with two activations learn two moons.

    tanh has the value 0 and the slope 1 at 0, as the identity; the sigmoid has 1/2 and 1/4. Two hidden layers of 32
    units, Xavier's start, all 512 points in each of `steps` Adam steps, accuracy on 1000 other points.

    Notes: N1.14 (§1).

    Args:
        seeds: how many times, each with its own points and initial weights.
        steps: updates.
        activations: the one that is said to be faster, and the other.

    >>> tanh_against_sigmoid(seeds=1, steps=10).column("slope")
    [1.0, 0.25]
    """
    rows = []
    accuracies: dict[str, list[float]] = {}
    steps_to: dict[str, list[float]] = {}
    for name in activations:
        histories = [_learn_moons(name, seed, steps) for seed in seeds]
        accuracies[name] = [history[-1][1] for history in histories]
        reached = [next((k for k, accuracy in history if accuracy >= 0.95), math.inf) for history in histories]
        steps_to[name] = reached
        mean, spread = _mean_and_spread(accuracies[name])
        sigma, zero = get_activation(name), torch.zeros(1, dtype=torch.float64)
        value, slope = sigma(zero).item(), sigma.derivative(zero).item()
        rows.append((name, value, slope, mean, spread, min(accuracies[name]), sum(reached) / len(seeds)))
    first, second = activations
    gains = differences(accuracies[first], accuracies[second])
    sooner = [a < b for a, b in zip(steps_to[first], steps_to[second], strict=True)]
    return Result(
        f"two moons, two hidden layers, {steps} Adam steps, {len(seeds)} seeds",
        ("activation", "at 0", "slope", "accuracy", "spread", "lowest", "steps to 95%"),
        rows,
        Claim(f"{first} has the value and the slope of the identity at 0", rows[0][1:3] == (0.0, 1.0)),
        Claim.on_average(f"the accuracy with {first} less that with {second}", gains, least=0.03),
        Claim.often(f"{first} reaches 95% in fewer steps than {second}", sooner),
        plot=Plot("activation", ("accuracy", "lowest"), "bars", y_label="accuracy"),
    )


def _learn_moons(activation: str, seed: int, steps: int) -> list[tuple[int, float]]:
    """Return pairs (step, accuracy)."""
    network = FNN(FNNConfig(2, 2, hidden=(32, 32), activation=activation), seed=seed)
    recipe = Recipe(Adam(1e-3), epochs=steps, batch_size=512, check_every=10, seed=seed)
    trained = train(network, parts(moons(512, seed=2 * seed), moons(1000, seed=2 * seed + 1)), recipe, watch=True)
    return [(row["step"], row["validation_accuracy"]) for row in trained.rows]


@experiment("N1.17")
def dead_units(
    seeds: range = range(5), steps: int = 600, activations: tuple[str, str] = ("relu", "leaky_relu")
) -> Result:
    r"""Start a layer whose units are all dead, and see whether gradient descent revives it.

    One hidden layer; its biases are so low that every pre-activation is negative on every point of two moons. The
    gradient of the output with respect to the weights of a unit is $\sigma'(z)$ times that of a linear unit: 0 with
    ReLU, $\alpha$ = 0.1 of it with leaky ReLU.

    Notes: N1.17 (§1).

    Args:
        seeds: how many times, each with its own points and initial weights.
        steps: updates of gradient descent with step size 1.
        activations: the one that stays dead, and the one that recovers.

    >>> [round(share, 12) for share in dead_units(seeds=1, steps=1).column("gradient, of linear")]
    [0.0, 0.1]
    """
    rows, least, alive, learned = [], {}, {}, {}
    sets = [moons(256, seed=seed) for seed in seeds]
    inputs, labels = torch.stack([data.inputs.double() for data in sets]), torch.stack([d.targets for d in sets])
    for name in activations:
        networks = [_dead(name, u, seed) for seed, u in zip(seeds, inputs, strict=True)]
        slopes = [_slope(network, u) for network, u in zip(networks, inputs, strict=True)]
        linear = [_slope(_dead("identity", u, seed), u) for seed, u in zip(seeds, inputs, strict=True)]
        shares = [slope / full for slope, full in zip(slopes, linear, strict=True)]
        before = sum(_active(network, u) for network, u in zip(networks, inputs, strict=True))
        train_together(
            networks, inputs, labels, negative_log_likelihood, learning_rate=1.0, steps=steps, optimizer="sgd"
        )
        alive[name] = [_active(network, u) for network, u in zip(networks, inputs, strict=True)]
        right = [(network(u).argmax(1) == s).double().mean().item()
                 for network, u, s in zip(networks, inputs, labels, strict=True)]  # fmt: skip
        least[name], learned[name] = min(shares), right
        rows.append((name, max(shares), before, sum(alive[name]) / len(seeds), *_mean_and_spread(right)))
    dead, leaky = rows
    alpha = get_activation(activations[1]).derivative(-torch.ones(1, dtype=torch.float64)).item()
    return Result(
        f"a hidden layer of 16 dead units, two moons, {steps} steps of gradient descent, {len(seeds)} seeds",
        ("activation", "gradient, of linear", "alive before", "alive after", "accuracy", "spread"),
        rows,
        Claim("no unit is active at the start", dead[2] == leaky[2] == 0),
        Claim(f"with {dead[0]} the gradient of the dead units is exactly 0", dead[1] == 0.0),
        Claim(
            f"with {leaky[0]} it is {alpha:g} of that of linear units, and not 0",
            alpha > 0 and abs(leaky[1] - alpha) < 1e-12 and abs(least[leaky[0]] - alpha) < 1e-12,
        ),
        Claim(f"with {dead[0]} no unit ever recovers", dead[3] == 0),
        Claim.often(f"with {leaky[0]} units recover", [count > 0 for count in alive[leaky[0]]]),
        Claim.on_average(
            f"what the network learns with {leaky[0]}, its accuracy less that with {dead[0]},",
            differences(learned[leaky[0]], learned[dead[0]]),
            least=0.2,
        ),
        plot=Plot("activation", ("alive after",), "bars", y_label="units alive after training"),
    )


@torch.no_grad()
def _dead(activation: str, inputs: Tensor, seed: int) -> FNN:
    """Make a network whose first layer has negative pre-activations for all inputs."""
    network = FNN(FNNConfig(2, 2, 16, activation, initialization="he"), seed=seed).double()
    cast(Tensor, network.biases[0]).copy_(-(inputs @ network.weights[0].T).amax(0) - 0.1)
    return network


def _slope(network: FNN, inputs: Tensor) -> float:
    """Return the norm of the derivative of the mean first output with respect to the first weights."""
    (slope,) = torch.autograd.grad(network(inputs)[:, 0].mean(), network.weights[0])
    return slope.norm().item()


@torch.no_grad()
def _active(network: FNN, inputs: Tensor) -> int:
    """Count the hidden units that are positive for some input."""
    z = affine(inputs, network.weights[0], network.biases[0])
    return int((z > 0).any(0).sum())
