"""Two directions: what they see, and a task that needs them (§5.1 of the notes)."""

import torch

from lamina._types import Float, Tensor
from lamina.architectures.recurrent import ManyToMany, ManyToManyConfig
from lamina.data.sequences import next_input
from lamina.experiments.result import Claim, Plot, Result, experiment, summary
from lamina.experiments.together import Check, accuracies, cross_entropies, draws, train_members
from lamina.layers.recurrent import Recurrent


@experiment("N5.18", "N5.19")
def seen_from_the_middle(seeds: range = range(5), time: int = 21) -> Result:
    r"""Measure how strongly the output in the middle of a sequence depends on the input at each time.

    The sensitivity to the input at time t is $\lVert \partial \lVert y^{<m>} \rVert^2 / \partial u^{<t>} \rVert$,
    summed over random inputs of three components and divided by its largest value; means over the seeds.

    Notes: N5.18, N5.19 (§5.1).
    Corrects: E66, the output in the middle is the concatenation [h; g].

    Args:
        seeds: random weights.
        time: the number of steps, an odd one.
    """
    middle = time // 2
    found = {
        directions: torch.stack(
            [
                _relative(
                    Recurrent("rnn", 3, 16, bidirectional=directions == 2, scale=0.6, seed=seed), time, 20, seeds.start
                )
                for seed in seeds
            ]
        )
        for directions in (1, 2)
    }
    one, two = found[1], found[2]
    rows = tuple((t + 1, one[:, t].mean().item(), two[:, t].mean().item()) for t in range(time))
    away = two[:, middle:].diff(), two[:, : middle + 1].flip(1).diff()  # later and earlier, step by step
    return Result(
        f"relative sensitivity of the output at time {middle + 1}, plain cell, n_h = 16, {len(seeds)} seeds",
        ("time", "forward", "both directions"),
        rows,
        Claim("forward, the output does not depend on later inputs at all, exactly",
              bool((one[:, middle + 1 :] == 0).all() and (one[:, : middle + 1] > 0).all())),
        Claim("in both directions it depends on all inputs", bool((two > 0).all())),
        Claim.often("it is most sensitive at its own time", (two.argmax(1) == middle).tolist()),
        Claim.on_average("the share of steps away from it at which the sensitivity falls",
                         torch.cat([part < 0 for part in away], 1).double().mean(1).tolist(), least=0.9),
        plot=Plot("time", ("forward", "both directions"), y_label="relative sensitivity"),
    )  # fmt: skip


def _relative(network: Recurrent, time: int, draws: int, seed: int) -> Float[Tensor, " time"]:
    """Compute the sensitivity of the middle output to every input, relative to the largest."""
    inputs = torch.randn(draws, time, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    inputs.requires_grad_()
    outputs, _ = network.double()(inputs)
    (slopes,) = torch.autograd.grad(outputs[:, time // 2].square().sum(), inputs)
    total = slopes.norm(dim=2).sum(0)
    return total / total.max()


@experiment("N5.20")
def next_input_task(
    seeds: range = range(3),
    length: int = 12,
    symbols: int = 4,
    steps: int = 300,
    cells: tuple[str, ...] = ("rnn", "gru", "lstm"),
) -> Result:
    r"""Ask networks with one direction and with two for the next input, at every step.

    The inputs are random, so that nothing about the next one is known before it is read: a forward network is right
    in 1/`symbols` of all cases, whatever it does. Adam with learning rate 0.01 on new batches of 64; accuracy is that
    of 1000 new sequences.

    Notes: N5.20 (§5.1).

    Args:
        seeds: starting points.
        length: the number of steps.
        symbols: how many different inputs there are.
        steps: updates at most; a run ends when all its members are right.
        cells: which cells.
    """
    g = torch.Generator().manual_seed(length + seeds.start)
    rows, scores = [], {}
    for cell in cells:
        for both in (False, True):
            config = ManyToManyConfig(symbols, symbols, hidden=16, cell=cell, embedding="one-hot", bidirectional=both)
            members = [ManyToMany(config, seed=seed) for seed in seeds]
            check = Check(draws(next_input, 1000, length, symbols, seed=g), accuracies, goal=0.999)
            draw = draws(next_input, 64, length, symbols, seed=g)
            trial = train_members(members, draw, cross_entropies, steps=steps, learning_rate=0.01, check=check)
            updates, last = trial.scores[-1]
            scores[cell, both] = last
            rows.append((cell, 2 if both else 1, *summary(last), updates))
    chance = 1 / symbols
    return Result(
        f"name the next input, {symbols} symbols, n_h = 16, at most {steps} Adam steps, {len(seeds)} seeds",
        ("cell", "directions", "accuracy", "spread", "least", "largest", "steps"),
        rows,
        *(Claim.on_average(f"one direction guesses: the accuracy of a forward {cell}", scores[cell, False],
                           least=chance - 0.02, most=chance + 0.02) for cell in cells),
        Claim.often("two directions solve it, with more than 99 % of right answers",
                    [score > 0.99 for cell in cells for score in scores[cell, True]]),
        plot=Plot("cell", ("accuracy",), "bars", by=("directions",)),
    )  # fmt: skip
