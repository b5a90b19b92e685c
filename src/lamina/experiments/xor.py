"""Whether training finds the weights for XOR that the notes give (§2 of the notes)."""

import math
from typing import Any

import torch

from lamina._types import Tensor
from lamina.architectures.build import build
from lamina.architectures.logic import logic_gate
from lamina.data.synthetic import truth_table
from lamina.experiments.result import Claim, Plot, Result, experiment
from lamina.experiments.together import train_together
from lamina.functional.losses import binary_cross_entropy

GIVEN = (0.007, 0.992, 0.992, 0.007)
"""What the notes' weights give with the sigmoid and gain 10, to three digits."""


@experiment("N2.14")
def xor_training(seeds: range = range(100), steps: int = 1000, scales: tuple[float, float] = (1.0, 0.5)) -> Result:
    r"""Train the 2-2-1 network on XOR from many starting points and count how many reach all four answers.

    Gradient descent on the binary cross entropy, all four inputs in every step, Xavier's weights times a scale. A
    network that gives two of the inputs one common value has at best the loss $\tfrac12\ln 2 = 0.347$; the descents
    that fail end there or at $\tfrac34 \ln 3 - \tfrac12 \ln 2 = 0.477$, where three inputs share theirs. The last row
    is the network that the notes give, with margins and the sigmoid sharpened tenfold.

    Notes: N2.14 (§2).
    Corrects: E21, the given weights need a margin before the step function may be replaced by a sigmoid.

    Args:
        seeds: starting points for each activation and scale.
        steps: updates.
        scales: factors on Xavier's weights; claims are made for sigmoid with the first and tanh with the second.
    """
    rows: list[tuple[Any, ...]] = []
    runs = {}
    for name in ("sigmoid", "tanh"):
        right, losses = _train(name, seeds, steps, scales)
        for scale, good, loss in zip(scales, right, losses, strict=True):
            runs[name, scale] = good, loss
            share = good.double().mean().item()
            rows.append((name, f"Xavier x {scale:g}", share, 1 - share, *_ends(loss[good], loss[~good])))
    table = truth_table("xor")
    given = logic_gate("xor", robust=True, activation="sigmoid", gain=10.0).double()(table.inputs.double())
    given_loss = binary_cross_entropy(given.logit(), table.targets.double()[:, None]).item()
    rows.append(("sigmoid", "given, gain 10", 1.0, 0.0, given_loss, math.nan))
    as_it_should = torch.cat([torch.where(good, loss <= 0.1, loss >= math.log(2) / 2) for good, loss in runs.values()])
    return Result(
        f"XOR with 2-2-1, {steps} steps of gradient descent, {len(seeds)} starting points each",
        ("hidden", "start", "all right", "stuck", "largest loss if right", "least loss if stuck"),
        rows,
        *(
            Claim.often(
                f"a {name} network from Xavier x {scale:g} reaches 4 of 4", runs[name, scale][0].tolist(), rate=0.5
            )
            for name, scale in zip(("sigmoid", "tanh"), scales, strict=True)
        ),
        *(
            Claim.often(f"a {name} network from Xavier x {scale:g} gets stuck", (~good).tolist(), rate=0.05)
            for (name, scale), (good, _) in runs.items()
        ),
        Claim.often(
            "a stuck network has a loss of ln 2 / 2 or more, and another one of 0.1 or less", as_it_should.tolist()
        ),
        Claim(
            f"the given weights with gain 10 give {', '.join(map(str, GIVEN))}",
            tuple(round(value, 3) for value in given.flatten().tolist()) == GIVEN,
        ),
        plot=Plot("hidden", ("all right", "stuck"), "bars", by=("start",), y_label="networks"),
    )


def _train(name: str, seeds: range, steps: int, scales: tuple[float, ...]) -> tuple[list[Tensor], list[Tensor]]:
    """Return for each scale which networks are right everywhere, and their losses."""
    table = truth_table("xor")
    networks = [
        build("fnn", inputs=2, outputs=1, hidden=2, activation=name, initialization="xavier", scale=scale, seed=seed)
        for scale in scales
        for seed in seeds
    ]
    u, s = table.inputs.expand(len(networks), 4, 2), table.targets.float()[:, None].expand(len(networks), 4, 1)
    losses = train_together(networks, u, s, binary_cross_entropy, learning_rate=3.0, steps=steps, optimizer="sgd")
    with torch.no_grad():
        answers = torch.stack([network(table.inputs)[:, 0] >= 0 for network in networks])
    right = (answers == table.targets.bool()).all(1)
    return list(right.split(len(seeds))), list(losses.split(len(seeds)))


def _ends(right: Tensor, stuck: Tensor) -> tuple[float, float]:
    """Return the largest loss of those that are right and the least of those that are stuck, NaN if there are none."""
    return max(right.tolist(), default=math.nan), min(stuck.tolist(), default=math.nan)
