"""Training deep networks with and without skip connections, and with both kinds of blocks (§4 of the notes)."""

from typing import Any

import torch
from torch import nn

from lamina._errors import choice
from lamina._types import Float, Int, Tensor
from lamina.architectures.build import build
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.experiments.depth import _learn_moons
from lamina.experiments.result import (
    Claim,
    Plot,
    Result,
    _mean_and_spread,
    differences,
    experiment,
    geometric_mean,
    quotients,
    summary,
)
from lamina.experiments.together import Trial, batches, cross_entropies, train_members
from lamina.functional.random import as_generator
from lamina.layers.dense_blocks import DenseOriginalBlock, DensePreActBlock
from lamina.layers.initialized import linear

STARTS: dict[str, dict[str, Any]] = {
    "sigmoid, Xavier": {"activation": "sigmoid", "initialization": "xavier"},
    "tanh, 0.01": {"activation": "tanh", "initialization": "gaussian", "scale": 0.01},
}
"""Activations and initial weights with which the gradients of deep plain networks vanish."""


@experiment("N4.13")
def deep_residual_training(seeds: range = range(2), count: int = 128, steps: int = 250, least: float = 0.9) -> Result:
    r"""Train plain and residual networks of 20 layers on two moons, from weights that make gradients vanish.

    Width 32, Adam with all points in every step, accuracy on 1000 other points. "gradient" is the ratio of the norms
    of the gradients of the first and the last weight matrix at the start, a geometric mean.

    Notes: N4.13 (§4).

    Args:
        seeds: points and initial weights.
        count: training points.
        steps: updates.
        least: the accuracy that is expected of residual networks; with 512 points and 400 steps it is 0.98.
    """
    rows: list[tuple[Any, ...]] = []
    found: dict[tuple[str, str], list[float]] = {}
    for start, options in STARTS.items():
        for kind, name in (("FNN", "fnn"), ("ResNet", "dense-resnet")):
            hidden = (32,) * (19 if name == "fnn" else 20)
            networks = [build(name, inputs=2, outputs=2, hidden=hidden, seed=seed, **options) for seed in seeds]
            shares, ratios = _learn_moons(networks, count, steps, seeds)
            found[start, kind] = shares
            rows.append((start, kind, geometric_mean(ratios), *summary(shares)))
    return Result(
        f"two moons, 20 layers of width 32, {steps} Adam steps with {count} points, {len(seeds)} seeds",
        ("start", "network", "gradient", "accuracy", "spread", "least", "largest"),
        rows,
        *Claim.averages(
            "plain networks stay at chance: the accuracy with {}",
            {start: found[start, "FNN"] for start in STARTS},
            least=0.4,
            most=0.6,
        ),
        *Claim.averages(
            "residual networks learn the task: the accuracy with {}",
            {start: found[start, "ResNet"] for start in STARTS},
            least=least,
        ),
        plot=Plot("start", ("accuracy",), "bars", by=("network",)),
    )


KINDS = ("plain", "original", "preactivation")
"""Blocks of two dense layers with batch normalization: without a skip connection, and with it in two orders."""


def stacked_blocks(
    kind: str, depth: int, width: int = 32, *, inputs: int = 64, outputs: int = 10, seed: int = 0
) -> nn.Module:
    r"""Stack blocks of two dense layers between a first and a last dense layer: 2n + 2 layers with weights.

    The three kinds have the same matrices at the start. Plain blocks are original ones without their skip connection.

    Notes: N4.20 (§4.1).

    Args:
        kind: a name of `KINDS`.
        depth: the number of layers, an even one.
        width: units of every hidden layer.
        inputs: the size of one example.
        outputs: the number of classes.
        seed: an integer.

    >>> sum(isinstance(part, nn.Linear) for part in stacked_blocks("original", 110).modules())
    110
    """
    choice("kind", kind, KINDS)
    g, blocks = as_generator(seed), (depth - 2) // 2
    first = linear(inputs, width, bias=False, initialization="he", seed=g)
    if kind == "preactivation":
        middle: list[nn.Module] = [DensePreActBlock(width, seed=g) for _ in range(blocks)]
        parts = [first, *middle, nn.BatchNorm1d(width), nn.ReLU()]
    elif kind == "original":
        middle = [DenseOriginalBlock(width, seed=g) for _ in range(blocks)]
        parts = [first, nn.BatchNorm1d(width), nn.ReLU(), *middle]
    else:
        layers = [linear(width, width, bias=False, initialization="he", seed=g) for _ in range(2 * blocks)]
        middle = [part for layer in layers for part in (layer, nn.BatchNorm1d(width), nn.ReLU())]
        parts = [first, nn.BatchNorm1d(width), nn.ReLU(), *middle]
    return nn.Sequential(*parts, linear(width, outputs, seed=g))


Digits = tuple[Tensor, Tensor]
"""Prepared pictures and their labels."""


def _digits(seed: int) -> tuple[Digits, Digits]:
    """Give 1200 of the embedded digits to train with and the others."""
    data = load("digits")
    source = Preprocess.fit(data, 64).source(data)
    order = torch.randperm(len(data), generator=as_generator(seed))
    seen, other = source.batch(order[:1200]), source.batch(order[1200:])
    return (seen[0], seen[1]), (other[0], other[1])


def _train(networks: list[nn.Module], seen: Digits, steps: int, seed: int) -> Trial:
    """Train by Adam with step size 0.001 on batches of 64, all members at once."""
    draw = batches(*seen, 64, seed + 1)
    return train_members(networks, draw, cross_entropies, steps=steps, learning_rate=1e-3, bound=None)


@torch.no_grad()
def _error(network: nn.Module, inputs: Float[Tensor, "batch ..."], labels: Int[Tensor, " batch"]) -> float:
    """Return the share of wrong answers of a network with its running statistics."""
    return (network.eval()(inputs).argmax(1) != labels).double().mean().item()


@experiment("N4.20")
def training_error_by_depth(
    seeds: range = range(2), depths: tuple[int, ...] = (4, 12, 28), steps: int = 100, kinds: tuple[str, ...] = KINDS
) -> Result:
    r"""Train deeper and deeper stacks of blocks on digits, without and with skip connections.

    All layers are normalized, so that neither signals nor gradients vanish at the start. Still the training loss of
    plain networks grows with their depth, which a deeper network could avoid by identities: this degradation is what
    residual networks were made against. The loss is the mean over the last 20 batches and the seeds, after `steps`
    updates of Adam with step size 0.001.

    Notes: N4.20 (§4.1).
    Corrects: E75, the trouble of deep plain networks with batch normalization is their training error.

    Args:
        seeds: initial weights.
        depths: numbers of layers with weights, even and increasing.
        steps: updates with 64 pictures each.
        kinds: names of `KINDS`.
    """
    seen, _ = _digits(seeds.start)
    rows: list[tuple[Any, ...]] = []
    by = {}
    for kind in kinds:
        for depth in depths:
            networks = [stacked_blocks(kind, depth, seed=seed) for seed in seeds]
            trial = _train(networks, seen, steps, seeds.start)
            by[kind, depth] = losses = trial.losses[-20:].mean(0).tolist()
            errors = [_error(network, *seen) for network in trial.networks]
            rows.append((kind, depth, *summary(losses), _mean_and_spread(errors)[0]))
    shallow, deep = depths[0], depths[-1]
    residual = [kind for kind in kinds if kind != "plain"]
    grown = {kind: differences(by[kind, deep], by[kind, shallow]) for kind in kinds}
    return Result(
        f"digits, blocks of two dense layers of width 32 with batch norm, {steps} Adam steps, {len(seeds)} seeds",
        ("block", "depth", "training loss", "spread", "least", "largest", "training error"),
        rows,
        Claim.on_average(
            f"the training loss of a plain network of {deep} layers, less that of one of {shallow},",
            grown["plain"],
            least=0.5,
        ),
        *Claim.averages(
            f"at {deep} layers the training loss of {{}} blocks, less that of plain ones,",
            {kind: differences(by[kind, deep], by["plain", deep]) for kind in residual},
            most=-0.3,
        ),
        *Claim.averages(
            "with skip connections depth costs less: what {} blocks lose by it, divided by what plain ones lose,",
            {kind: quotients(grown[kind], grown["plain"]) for kind in residual},
            most=0.5,
        ),
        plot=Plot("depth", ("training loss",), by=("block",)),
    )


@experiment("N4.28")
def both_blocks(seeds: range = range(3), depth: int = 110, steps: int = 60, every: int = 20) -> Result:
    r"""Train very deep networks of original and of pre-activation blocks on digits.

    The blocks have dense layers. The training loss is the mean over the last `every` batches of 64, the test error that
    on the 597 other digits, both after `steps` updates of Adam with step size 0.001. The original block rectifies the
    sum, and signals cannot pass it unchanged; the other one leaves a free way through all blocks. `block_histories`
    compares convolutional networks of this depth, with one seed: after 300 updates their training loss is 0.106 with
    original blocks and 0.0005 with the others.

    Notes: N4.28 (§4.1).
    Corrects: E59, ResNet-1001 has bottleneck blocks; here the drawn blocks of two weights make 2n+2 layers.

    Args:
        seeds: initial weights.
        depth: the number of layers with weights, an even one.
        steps: updates.
        every: the number of batches over which the loss is averaged.
    """
    seen, other = _digits(seeds.start)
    rows: list[tuple[Any, ...]] = []
    for kind in ("original", "preactivation"):
        trial = _train([stacked_blocks(kind, depth, 32, seed=seed) for seed in seeds], seen, steps, seeds.start)
        first, last = (part.mean(0).tolist() for part in (trial.losses[:every], trial.losses[-every:]))
        errors = [_error(network, *other) for network in trial.networks]
        rows += [(kind, *row) for row in zip(seeds, first, last, errors, strict=True)]
    original, better = rows[: len(seeds)], rows[len(seeds) :]
    return Result(
        f"digits, {depth} layers of width 32, {steps} Adam steps: both blocks",
        ("block", "seed", "first loss", "training loss", "test error"),
        rows,
        *(
            Claim.on_average(
                f"the {name} is lower with pre-activation: that with it, less that with original blocks,",
                [b[place] - a[place] for a, b in zip(original, better, strict=True)],
                most=bound,
            )
            for name, place, bound in (("training loss", 3, -0.1), ("test error", 4, -0.05))
        ),
        plot=Plot("seed", ("training loss",), "bars", by=("block",)),
    )
