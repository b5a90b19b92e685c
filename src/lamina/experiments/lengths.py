"""One set of weights for all times serves sequences of any length, even of unseen lengths (§5 of the notes)."""

from functools import partial

import torch

from lamina._errors import ShapeError
from lamina._types import Tensor
from lamina.architectures.fnn import FNN, FNNConfig
from lamina.architectures.recurrent import ManyToMany, ManyToManyConfig
from lamina.data.text.texts import IGNORE
from lamina.experiments.result import Claim, Plot, Result, experiment
from lamina.experiments.together import accuracies, cross_entropies, train_members


@experiment("N5.14")
def unseen_lengths(
    seeds: range = range(3),
    longest: int = 10,
    tested: tuple[int, ...] = (5, 10, 20, 50),
    steps: int = 300,
    hidden: int = 16,
) -> Result:
    r"""Train on short sequences to repeat the previous input, and try longer ones.

    Inputs are the signs 0 and 1 at random. Every update takes the next length from 2 to `longest`: 64 new sequences,
    Adam with learning rate 0.01. The accuracy is that of 256 new sequences of each length.

    Notes: N5.14 (§5).

    Args:
        seeds: starting points.
        longest: the largest length of the training.
        tested: the lengths that are tried after it.
        steps: the number of updates.
        hidden: the number n_h of components of a state.
    """
    g = torch.Generator().manual_seed(longest + seeds.start)
    rows, scores = [], []
    for cell in ("rnn", "gru", "lstm"):
        config = ManyToManyConfig(2, 2, hidden=hidden, cell=cell, embedding="one-hot")
        members = [ManyToMany(config, seed=seed) for seed in seeds]
        draw = partial(next, (_signs(64, 2 + k % (longest - 1), g) for k in range(steps)))
        trial = train_members(members, draw, cross_entropies, steps=steps, learning_rate=0.01)
        size = sum(p.numel() for p in trial.networks[0].parameters())
        for length in tested:
            right = trial.measure(accuracies, *_signs(256, length, g))
            scores += right
            rows.append((cell, size, length, length <= longest, sum(right) / len(seeds), min(right)))
    return Result(
        f"repeat the input before, trained on 2 to {longest} steps, n_h = {hidden}, {steps} steps, {len(seeds)} seeds",
        ("cell", "parameters", "length", "seen", "accuracy", "least"),
        rows,
        Claim.often(
            "the same weights are right for every length, seen or not, in more than 99 % of all answers",
            [score > 0.99 for score in scores],
        ),
        Claim("a feedforward network for one length refuses another", _refuses(longest)),
        plot=Plot("length", ("accuracy",), by=("cell",)),
    )


def _signs(count: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw signs, and as targets the ones before; nothing is asked at the first step."""
    signs = torch.randint(2, (count, length), generator=generator)
    return signs, torch.cat([torch.full((count, 1), IGNORE), signs[:, :-1]], 1)


def _refuses(length: int) -> bool:
    """Say whether a feedforward network made for sequences of one length accepts no other."""
    network = FNN(FNNConfig(2 * length, 2, hidden=4))
    network(torch.zeros(1, 2 * length))
    try:
        network(torch.zeros(1, 4 * length))
    except ShapeError:
        return True
    return False
