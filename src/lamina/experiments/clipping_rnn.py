"""What gradient clipping cures and what it does not (§5.2 of the notes)."""

import math
from typing import cast

import torch

from lamina._types import Tensor
from lamina.architectures.recurrent import ManyToOne, ManyToOneConfig
from lamina.data.sequences import FILLERS, adding, agreement
from lamina.experiments.result import Claim, Plot, Result, _mean_and_spread, experiment
from lamina.experiments.together import accuracies, cross_entropies, draws, squared_errors, train_members
from lamina.layers.recurrent import Recurrent

HIDDEN = 16
"""The number n_h of components of a state."""


@experiment("N5.28")
def clipping_and_memory(seeds: range = range(3), steps: int = 300, length: int = 40, gap: int = 60) -> Result:
    r"""Train an RNN whose gradients explode and one whose gradients vanish, each with clipping and without.

    The first adds two marked numbers of a sequence with ReLU cells whose recurrent weights are twice an orthogonal
    matrix; its numbers are mean squared errors, and 1/6 is that of the constant answer 1. The second chooses was or
    were after a gap with tanh cells whose recurrent weights are half an orthogonal matrix; its numbers are cross
    entropies, ln 2 for guessing. Stochastic gradient descent with learning rate 0.01 and 0.1 on new batches of 64.
    "end" is the mean of the last tenth of the updates; a run has diverged when a loss is not finite.

    Notes: N5.28 (§5.2).

    Args:
        seeds: starting points.
        steps: the number of updates.
        length: the number of steps of the first task.
        gap: how many words stand between noun and verb in the second.
    """
    bounds = torch.tensor([math.inf] * len(seeds) + [1.0] * len(seeds))
    g = torch.Generator().manual_seed(length + seeds.start)
    wild = [_member(2, 1, "relu", 2.0, seed) for seed in seeds] * 2
    calm = [_member(3 + len(FILLERS), 2, "tanh", 0.5, seed) for seed in seeds] * 2
    exploding, vanishing = (
        train_members(members, draw, loss, steps=steps, learning_rate=rate, optimizer="sgd", bound=bounds)
        for members, draw, loss, rate in (
            (wild, draws(adding, 64, length, seed=g), squared_errors, 0.01),
            (calm, draws(agreement, 64, gap, seed=g), cross_entropies, 0.1),
        )
    )
    right = vanishing.measure(accuracies, *draws(agreement, 1000, gap, seed=g)())
    rows, diverged = [], []
    for name, trial in (("exploding", exploding), ("vanishing", vanishing)):
        for place, clipped in enumerate((False, True)):
            losses = trial.losses[:, place * len(seeds) : (place + 1) * len(seeds)]
            ends = losses[-max(steps // 10, 1) :].mean(0)
            diverged.append((~losses.isfinite().all(0)).tolist())
            rows.append((name, clipped, losses[0].mean().item(), *_mean_and_spread(ends.tolist()), sum(diverged[-1])))
    pairs = zip(vanishing.networks[: len(seeds)], vanishing.networks[len(seeds) :], strict=True)
    return Result(
        f"losses of a plain RNN, n_h = {HIDDEN}, {steps} gradient steps, {len(seeds)} seeds, clipped at 1",
        ("gradients", "clipped", "start", "end", "spread", "diverged"),
        rows,
        Claim.often("exploding gradients without clipping make the run diverge", diverged[0], rate=0.75),
        Claim.often("exploding gradients with clipping do not", [not bad for bad in diverged[1]]),
        Claim.on_average("vanishing gradients, nothing is learned: the accuracy without clipping",
                         right[: len(seeds)], least=0.4, most=0.6),
        Claim.on_average("the same with clipping", right[len(seeds) :], least=0.4, most=0.6),
        Claim("vanishing: clipping changes no weight, no gradient is that long",
              all(torch.equal(p, q) for one, other in pairs
                  for p, q in zip(one.parameters(), other.parameters(), strict=True))),
        plot=Plot("gradients", ("start", "end"), "bars", by=("clipped",), log_y=True, y_label="loss"),
    )  # fmt: skip


def _member(inputs: int, outputs: int, activation: str, factor: float, seed: int) -> ManyToOne:
    """Make a plain network whose recurrent weights are an orthogonal matrix times a factor."""
    embedding = None if inputs == 2 else "one-hot"
    config = ManyToOneConfig(inputs, outputs, hidden=HIDDEN, cell="rnn", embedding=embedding, output_bias=True)
    network = ManyToOne(config, seed=seed)
    network.recurrent = Recurrent("rnn", inputs, HIDDEN, activation=activation, seed=seed)
    with torch.no_grad():
        orthogonal, _ = torch.linalg.qr(torch.randn(HIDDEN, HIDDEN, generator=torch.Generator().manual_seed(seed)))
        cast(Tensor, network.recurrent.cells[0].weight)[:, :HIDDEN] = factor * orthogonal
    return network
