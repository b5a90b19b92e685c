"""What batch normalization does for training (§2.3 of the notes)."""

import math
from itertools import product

from lamina.architectures.build import build
from lamina.data.synthetic import moons
from lamina.experiments.result import Claim, Plot, Result, experiment, summary
from lamina.experiments.trained import train
from lamina.training.recipe import Adam, MiniBatch, Recipe

METHODS: dict[str, MiniBatch | Adam] = {
    "gradient descent": MiniBatch(learning_rate=0.1),
    "Adam": Adam(learning_rate=1e-3),
}
"""The two ways of training that are compared."""


@experiment("N2.43")
def batch_norm_training(
    seeds: range = range(3),
    stds: tuple[float, float] = (0.01, 0.2),
    depth: int = 10,
    width: int = 100,
    epochs: int = 20,
) -> Result:
    r"""Train a deep ReLU network from badly scaled Gaussian weights, with and without batch normalization.

    Two moons, mini batches of 50 out of 200 training points, accuracy on the test part. Small weights stall, large ones
    make mini batch gradient descent diverge within a few steps; with batch normalization both train, since it makes the
    scale of the weights before it irrelevant. Adam, whose steps do not depend on the size of the gradient, copes with
    the large weights at this depth by itself: there batch normalization is not needed.

    Notes: N2.43 (§2.3).
    Corrects: E27, whether a standard deviation is small or large depends on the width: here std * sqrt(n) is 0.1 and 2.

    Args:
        seeds: points, splits and starting weights.
        stds: a small and a large standard deviation.
        depth: the number of layers.
        width: units of every hidden layer.
        epochs: passes through the training part.
    """
    found: dict[tuple[str, float, bool], list[float]] = {}
    bad: dict[tuple[str, float, bool], list[bool]] = {}
    for case in product(METHODS, stds, (False, True)):
        method, std, normalized = case
        options = {
            "hidden": (width,) * (depth - 1),
            "initialization": "gaussian",
            "scale": std,
            "batch_norm": normalized,
        }
        for seed in seeds:
            network = build("fnn", inputs=2, outputs=2, activation="relu", seed=seed, **options)
            split = moons(300, seed=seed).split(seed=seed)
            trained = train(network, split, Recipe(METHODS[method], epochs=epochs, batch_size=50, seed=seed))
            bad.setdefault(case, []).append(trained.reason.failed)
            found.setdefault(case, []).append(trained.accuracy(split.open_test()))
    rows = [
        (method, std, "yes" if normalized else "no", *summary(shares)[:3], sum(bad[method, std, normalized]))
        for (method, std, normalized), shares in found.items()
    ]
    small, large = stds
    return Result(
        f"two moons, {depth} ReLU layers of width {width}, {epochs} epochs, {len(seeds)} seeds: test accuracy",
        ("method", "std", "batch norm", "accuracy", "spread", "least", "diverged"),
        rows,
        *Claim.averages(
            f"from std {small:g} nothing is learned without batch norm: the accuracy of {{}}",
            {method: found[method, small, False] for method in METHODS},
            most=0.6,
        ),
        Claim.often(
            f"from std {large:g} gradient descent diverges without it", bad["gradient descent", large, False], rate=0.75
        ),
        *Claim.averages(
            "with batch norm both methods learn: the accuracy of {} from std {:g}",
            {(method, std): found[method, std, True] for method in METHODS for std in stds},
            least=0.85,
        ),
        Claim.often(
            "with batch norm no training diverges", [not each for case in bad if case[2] for each in bad[case]]
        ),
        Claim(
            f"std sqrt(n) is below sqrt(2) for {small:g} and above it for {large:g}",
            small * math.sqrt(width) < math.sqrt(2) < large * math.sqrt(width),
        ),
        plot=Plot("method", ("accuracy",), "bars", by=("std", "batch norm")),
    )
