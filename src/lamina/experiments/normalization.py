"""What batch normalization does for training (§2.3 of the notes)."""

import math
from typing import Any

from lamina.architectures.build import build
from lamina.data.synthetic import moons
from lamina.experiments.result import Claim, Plot, Result, experiment, mean_and_spread
from lamina.experiments.trained import train
from lamina.training.recipe import Adam, MiniBatch, Recipe

METHODS: dict[str, MiniBatch | Adam] = {
    "gradient descent": MiniBatch(learning_rate=0.1),
    "Adam": Adam(learning_rate=1e-3),
}
"""The two ways of training that are compared."""


@experiment("N2.43")
def batch_norm_training(
    seeds: int = 3, stds: tuple[float, float] = (0.01, 0.2), depth: int = 10, width: int = 100, epochs: int = 20
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
    rows: list[tuple[Any, ...]] = []
    for method, optimizer in METHODS.items():
        for std in stds:
            for normalized in (False, True):
                shares, diverged = [], 0
                for seed in range(seeds):
                    network = build(
                        "fnn", inputs=2, outputs=2, hidden=(width,) * (depth - 1), activation="relu",
                        initialization="gaussian", scale=std, batch_norm=normalized, seed=seed,
                    )  # fmt: skip
                    parts = moons(300, seed=seed).split(seed=seed)
                    recipe = Recipe(optimizer=optimizer, epochs=epochs, batch_size=50, seed=seed)
                    trained = train(network, parts, recipe)
                    diverged += trained.bad_step is not None
                    shares.append(trained.accuracy(parts.open_test()))
                mean, spread = mean_and_spread(shares)
                rows.append((method, std, "yes" if normalized else "no", mean, spread, min(shares), diverged))
    descent, adam = rows[:4], rows[4:]
    (small, small_bn), (large, large_bn) = descent[:2], descent[2:]
    return Result(
        f"two moons, {depth} ReLU layers of width {width}, {epochs} epochs, {seeds} seeds: test accuracy",
        ("method", "std", "batch norm", "accuracy", "spread", "least", "diverged"),
        tuple(rows),
        (
            Claim(f"from std {stds[0]:g} nothing is learned without batch norm: at most 0.6",
                  all(row[3] <= 0.6 for row in (small, adam[0]))),
            Claim(f"from std {stds[1]:g} gradient descent diverges without it, with every seed", large[6] == seeds),
            Claim("with batch norm every run of either method is right in 0.85 or more",
                  all(row[5] >= 0.85 and row[6] == 0 for row in (small_bn, large_bn, *adam[1::2]))),
            Claim(f"std sqrt(n) is below sqrt(2) for {stds[0]:g} and above it for {stds[1]:g}",
                  stds[0] * math.sqrt(width) < math.sqrt(2) < stds[1] * math.sqrt(width)),
        ),
        Plot("method", ("accuracy",), "bars", by=("std", "batch norm")),
    )  # fmt: skip
