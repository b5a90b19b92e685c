"""What convolutional networks assume about pictures, and what becomes of them where it is not so (§3 of the notes)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn

from lamina._types import Float, Int, Tensor
from lamina.experiments.result import Claim, Plot, Result, experiment, quotients, summary
from lamina.experiments.together import Check, accuracies, batches, cross_entropies, train_members
from lamina.functional.convolution import receptive_field
from lamina.functional.random import as_generator
from lamina.layers.detector import Detector
from lamina.layers.initialized import conv2d, linear

Batch = tuple[Tensor, Tensor]
"""Pictures and their labels."""


def place_patterns(
    patterns: Float[Tensor, "pattern rows columns"],
    labels: Int[Tensor, " batch"],
    corners: Int[Tensor, "batch 2"],
    size: int,
) -> Float[Tensor, "batch 1 height width"]:
    """Draw one pattern into each of some black pictures.

    Args:
        patterns: the patterns, one per label.
        labels: which one a picture shows.
        corners: the row and the column of its upper left pixel.
        size: the height and width of the pictures.

    >>> place_patterns(torch.ones(1, 1, 2), torch.tensor([0]), torch.tensor([[2, 1]]), 3)[0, 0].tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    """
    down, right = (torch.arange(n) for n in patterns.shape[1:])
    rows = corners[:, 0, None, None] + down[:, None]
    columns = corners[:, 1, None, None] + right
    inputs = patterns.new_zeros(len(labels), 1, size, size)
    inputs[torch.arange(len(labels))[:, None, None], 0, rows, columns] = patterns[labels]
    return inputs


def _somewhere(patterns: Tensor, count: int, size: int, noise: float, generator: torch.Generator) -> Batch:
    """Draw patterns at random places, with noise in every pixel."""
    labels = torch.randint(len(patterns), (count,), generator=generator)
    corners = torch.randint(size - patterns.shape[1] + 1, (count, 2), generator=generator)
    inputs = place_patterns(patterns, labels, corners, size)
    return inputs + noise * torch.randn(inputs.shape, generator=generator, dtype=inputs.dtype), labels


def _finder(filters: int, kernel: int, outputs: int, pool: type[nn.Module], seed: int) -> nn.Module:
    """Make a network that looks for features anywhere: convolution, ReLU, one number for each map, dense layer."""
    g = as_generator(seed)
    return nn.Sequential(
        conv2d(1, filters, kernel, seed=g), Detector("relu"), pool(1), nn.Flatten(), linear(filters, outputs, seed=g)
    ).double()


def _dense(pixels: int, hidden: int, outputs: int, seed: int) -> nn.Module:
    """Make a network with one hidden layer that reads pictures as vectors."""
    g = as_generator(seed)
    return nn.Sequential(
        nn.Flatten(), linear(pixels, hidden, initialization="he", seed=g), Detector("relu"),
        linear(hidden, outputs, seed=g),
    ).double()  # fmt: skip


@experiment("N3.03")
def pixel_permutation(
    seeds: range = range(3), steps: int = 120, size: int = 16, kernel: int = 5, classes: int = 8
) -> Result:
    r"""Recognize patterns at random places, with the pixels in order and permuted in the same way in all pictures.

    To a dense network the order of its inputs means nothing: $W_{:,P}\,u_P = W u$, so that from initial weights in the
    new order it learns the same. A convolution reads neighbors, and after the change there are none left. Adam with
    step size 0.01 on batches of 64; accuracy on 500 other pictures.

    Notes: N3.03 (§3).

    Args:
        seeds: patterns, pictures, orders and initial weights.
        steps: updates.
        size: the height and width of a picture.
        kernel: the height and width of patterns and kernels.
        classes: how many patterns there are.
    """
    found: dict[tuple[str, str], list[float]] = {}
    for seed in seeds:
        g = as_generator(seed)
        patterns = 2.0 * torch.randint(2, (classes, kernel, kernel), generator=g).double() - 1
        seen, unseen = (_somewhere(patterns, n, size, 0.3, g) for n in (512, 500))
        order = torch.randperm(size * size, generator=g)
        for name in ("CNN", "FNN"):
            for pixels in ("as they are", "permuted"):
                permuted = pixels == "permuted"
                network = (
                    _finder(16, kernel, classes, nn.AdaptiveMaxPool2d, seed)
                    if name == "CNN"
                    else _dense(size**2, 64, classes, seed)
                )
                if permuted and name == "FNN":
                    first = network.get_parameter("1.weight")
                    first.data = first.data[:, order]
                data = [(u.flatten(1)[:, order].reshape(u.shape), s) if permuted else (u, s) for u, s in (seen, unseen)]
                found.setdefault((name, pixels), []).append(_accuracy(network, *data, steps=steps, seed=seed))
    rows = tuple((*key, *summary(each)) for key, each in found.items())
    cnn, cnn_permuted, fnn, fnn_permuted = found.values()
    return Result(
        f"{classes} patterns of {kernel} x {kernel} pixels anywhere in {size} x {size}, {len(seeds)} seeds: accuracy",
        ("network", "pixels", "accuracy", "spread", "least", "largest"),
        rows,
        Claim.on_average("the convolutional network finds the patterns: its accuracy", cnn, least=0.9),
        Claim.on_average(
            "with permuted pixels it loses more than half of that: its accuracy, divided by the one before,",
            quotients(cnn_permuted, cnn),
            most=0.5,
        ),
        Claim("the dense network learns exactly the same from permuted pixels", fnn == fnn_permuted),
        Claim.on_average(
            "it does not use the structure at all: its accuracy, divided by that of the convolutional network,",
            quotients(fnn, cnn),
            most=0.5,
        ),
        plot=Plot("pixels", ("accuracy",), "bars", by=("network",)),
    )


def _accuracy(network: nn.Module, seen: Batch, unseen: Batch, *, steps: int, seed: int) -> float:
    """Train on some pictures and return the share of right answers on others."""
    draw = batches(*seen, 64, 1000 + seed)
    check = Check(lambda: unseen, accuracies, every=steps)
    trial = train_members([network], draw, cross_entropies, steps=steps, learning_rate=0.01, bound=None, check=check)
    return trial.scores[-1][1][0]


SIZE = 8
"""The height and width of the pictures in which two pixels decide."""


def _two_pixels(count: int, far: bool, generator: torch.Generator) -> Batch:
    """Draw black and white pictures; the label says whether two pixels differ, in opposite corners or neighbors."""
    inputs = 2.0 * torch.randint(2, (count, 1, SIZE, SIZE), generator=generator).double() - 1
    place = SIZE - 1 if far else 1
    return inputs, (inputs[:, 0, 0, 0] != inputs[:, 0, place, place]).long()


def _left_or_right(count: int, generator: torch.Generator) -> Batch:
    """Draw a cross that lies in the left or in the right half of a picture, which is the label.

    It keeps a distance of two pixels to the border, so that every 3 x 3 window that sees a part of it is there.
    """
    cross = torch.tensor([[0.0, 1, 0], [1, 1, 1], [0, 1, 0]], dtype=torch.float64)[None]
    labels = torch.arange(count) % 2
    near = torch.randint(3, (count,), generator=generator)
    corners = torch.stack([torch.randint(2, 10, (count,), generator=generator), 2 + 6 * labels + near], 1)
    return place_patterns(cross, torch.zeros_like(labels), corners, 15), labels


def _patches(seed: int) -> nn.Module:
    """Make a network that adds up what it sees in patches of 5 x 5 pixels: two convolutions and one dense layer."""
    g = as_generator(seed)
    return nn.Sequential(
        conv2d(1, 8, 3, padding=1, seed=g), Detector("relu"), conv2d(8, 8, 3, padding=1, seed=g), Detector("relu"),
        nn.Flatten(), linear(8 * SIZE**2, 2, seed=g),
    ).double()  # fmt: skip


@experiment("N3.46")
def assumptions(seeds: range = range(3), steps: int = 150) -> Result:
    r"""Pose tasks in which distant pixels interact, or in which it matters where something is.

    Whether two pixels differ is asked of a network that adds up what it finds in patches of 5 x 5 pixels: neighbors
    lie in one patch, opposite corners never do, and no sum of functions of each of them tells whether they differ. In
    which half of a picture a cross lies is asked of a network that takes the mean of each map over all places, which
    is the same number wherever the cross is. A dense network solves both. Adam on new pictures in each step; accuracy
    on 1000 others.

    Notes: N3.46 (§3.4, Rem. 3.8).

    Args:
        seeds: initial weights.
        steps: updates with 128 pictures each.
    """
    averaging = partial(_finder, 8, 3, 2, nn.AdaptiveAvgPool2d)
    tasks: list[tuple[str, str, Callable[[int, torch.Generator], Batch], Callable[[int], nn.Module]]] = [
        ("two neighbors", "CNN, patches", lambda n, g: _two_pixels(n, False, g), _patches),
        ("two far pixels", "CNN, patches", lambda n, g: _two_pixels(n, True, g), _patches),
        ("two far pixels", "FNN", lambda n, g: _two_pixels(n, True, g), lambda k: _dense(SIZE**2, 64, 2, k)),
        ("left or right", "CNN, mean of maps", _left_or_right, averaging),
        ("left or right", "FNN", _left_or_right, lambda k: _dense(15**2, 64, 2, k)),
    ]
    rows: list[tuple[Any, ...]] = []
    scores = []
    for task, name, draw, make in tasks:
        g = as_generator(seeds.start)
        check = Check(partial(draw, 1000, as_generator(seeds.start + 1)), accuracies, every=steps)
        trial = train_members(
            [make(seed) for seed in seeds], partial(draw, 128, g), cross_entropies, steps=steps,
            learning_rate=0.01 if name == "FNN" else 0.003, bound=None, check=check,
        )  # fmt: skip
        found = trial.scores[-1][1]
        scores.append(found)
        rows.append((task, name, *summary(found)))
    near, far, far_dense, place, place_dense = scores
    seen = receptive_field([3, 3], [1, 1])
    return Result(
        f"tasks against the assumptions of convolutional networks, {steps} Adam steps, {len(seeds)} seeds: accuracy",
        ("task", "network", "accuracy", "spread", "least", "largest"),
        rows,
        Claim(f"the receptive field, {seen} x {seen}, is smaller than a picture, {SIZE} x {SIZE}", seen < SIZE),
        Claim.on_average("pixels within the receptive field interact: the accuracy", near, least=0.97),
        Claim.on_average("pixels farther apart do not: the accuracy", far, least=0.45, most=0.55),
        Claim("after a mean over all places the position is lost: exactly chance", set(place) == {0.5}),
        Claim.on_average("a dense network solves the task with far pixels: its accuracy", far_dense, least=0.97),
        Claim.on_average("it solves left or right too: its accuracy", place_dense, least=0.97),
        plot=Plot("task", ("accuracy",), "bars", by=("network",)),
    )
