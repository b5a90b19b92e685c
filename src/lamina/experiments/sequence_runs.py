"""Train several recurrent networks at once, each update on new sequences, for the experiments of §5."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from lamina._types import Float, Num, Tensor
from lamina.data.text import IGNORE
from lamina.functional.clipping import clip_by_global_norm
from lamina.functional.optimizers import Number, Params
from lamina.populations.population import Population

Draw = Callable[[], tuple[Tensor, ...]]
"""A function that draws the next batch: what a network reads, and last the targets."""

Measure = Callable[[Tensor, Tensor], Tensor]
"""A function of outputs [batch, member, ...] and targets [batch, ...] that gives one number a member."""

OPTIMIZERS: dict[str, Callable[[list[Tensor], float], torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "sgd": torch.optim.SGD,
}


@dataclass(frozen=True)
class Check:
    """When a run is looked at, and when it may end.

    Args:
        draw: gives sequences that are not trained on.
        score: what is measured; more is better.
        every: after how many updates.
        goal: training ends when every member has it.
    """

    draw: Draw
    score: Measure
    every: int = 50
    goal: float = float("inf")


@dataclass(frozen=True)
class Trial:
    """What became of the members.

    Args:
        networks: one a member, with the weights of the last update.
        losses: the loss of every member before each update.
        scores: for every check the number of updates made and the score of each member.
    """

    networks: list[nn.Module]
    losses: Float[Tensor, "time member"]
    scores: list[tuple[int, list[float]]]

    def reached(self, member: int, goal: float) -> int | None:
        """Return the number of updates at the first check at which a member had the goal; None for never."""
        return next((step for step, scores in self.scores if scores[member] >= goal), None)


def train_members(
    networks: Sequence[nn.Module],
    draw: Draw,
    loss: Measure,
    *,
    steps: int,
    learning_rate: float,
    optimizer: str = "adam",
    bound: Number | None = 1.0,
    check: Check | None = None,
) -> Trial:
    """Train networks of one form at once, all on the same new batch in every update.

    The result is that of separate runs: no member's loss depends on another's weights, each gradient is clipped by
    itself, and the two optimizers work number by number.

    Args:
        networks: the members; they are copied.
        draw: gives the next batch.
        loss: what is minimized.
        steps: the number of updates.
        learning_rate: of the optimizer.
        optimizer: "adam" or "sgd".
        bound: clip a member's gradient at this norm; one number for all or one a member, inf for not at all.
        check: when to look, and when to end early.

    >>> from lamina.architectures.recurrent import ManyToOne, ManyToOneConfig
    >>> from lamina.data.sequences import agreement
    >>> data = agreement(32, gap=2)
    >>> config = ManyToOneConfig(13, 2, hidden=8, cell="rnn", embedding="one-hot")
    >>> members = [ManyToOne(config, seed=seed) for seed in range(2)]
    >>> batch = data.inputs, data.targets
    >>> trial = train_members(members, lambda: batch, cross_entropies, steps=40, learning_rate=0.03)
    >>> bool((trial.losses[-1] < 0.05).all())
    True
    """
    population = Population(networks)
    parameters = dict(population.network.named_parameters())
    update = OPTIMIZERS[optimizer](list(parameters.values()), learning_rate)
    bounds = None if bound is None else torch.as_tensor(bound).expand(len(networks))
    losses: list[Tensor] = []
    scores: list[tuple[int, list[float]]] = []
    for step in range(1, steps + 1):
        *read, targets = draw()
        each = loss(population(*read), targets)
        losses.append(each.detach())
        found = torch.autograd.grad(each.sum(), list(parameters.values()))
        gradients = dict(zip(parameters, found, strict=True))
        if bounds is not None:
            gradients = _clipped(gradients, bounds)
        for name, gradient in gradients.items():
            parameters[name].grad = gradient
        update.step()
        if check is not None and (step % check.every == 0 or step == steps):
            scores.append((step, _score(population, check)))
            if min(scores[-1][1]) >= check.goal:
                break
    return Trial([population.member(k) for k in range(len(networks))], torch.stack(losses), scores)


def _clipped(gradients: Params, bounds: Tensor) -> Params:
    """Clip the gradient of each member; where the bound is inf it stays as it is, even when its norm overflows."""
    clipped = clip_by_global_norm(gradients, bounds)
    free = bounds.isinf()
    return {
        name: torch.where(free.view(-1, *(1,) * (gradient.ndim - 1)), gradient, clipped[name])
        for name, gradient in gradients.items()
    }


@torch.no_grad()
def _score(population: Population, check: Check) -> list[float]:
    *read, targets = check.draw()
    found: list[float] = check.score(population(*read), targets).tolist()
    return found


def cross_entropies(
    outputs: Float[Tensor, "batch member ..."], targets: Num[Tensor, "batch ..."]
) -> Float[Tensor, " member"]:
    """Compute the mean cross entropy of each member, over all answers that are asked for.

    >>> cross_entropies(torch.zeros(3, 2, 4), torch.tensor([0, 1, IGNORE])).exp().round(decimals=4).tolist()
    [4.0, 4.0]
    """
    asked = targets != IGNORE
    logits = outputs.movedim(1, 0)[:, asked]  # [member, answer, label]
    log_p = torch.log_softmax(logits, -1)
    wanted = targets[asked].expand(len(logits), -1)[..., None]
    return -log_p.gather(-1, wanted)[..., 0].mean(1)


def accuracies(
    outputs: Float[Tensor, "batch member ..."], targets: Num[Tensor, "batch ..."]
) -> Float[Tensor, " member"]:
    """Compute the share of right answers of each member, among those that are asked for.

    >>> accuracies(torch.tensor([[[0.0, 1.0]], [[0.0, 1.0]]]), torch.tensor([1, 0])).tolist()
    [0.5]
    """
    asked = targets != IGNORE
    return (outputs.movedim(1, 0)[:, asked].argmax(-1) == targets[asked]).float().mean(1)


def squared_errors(
    outputs: Float[Tensor, "batch member 1"], targets: Float[Tensor, " batch"]
) -> Float[Tensor, " member"]:
    """Compute the mean squared error of each member.

    >>> squared_errors(torch.tensor([[[1.0], [2.0]]]), torch.tensor([1.5])).tolist()
    [0.25, 0.25]
    """
    return (outputs[..., 0] - targets[:, None]).square().mean(0)
