"""Train several networks of one form at once, each update on the next examples of a stream.

Unlike a recipe, a stream has no epochs and no preparation: the experiments of §5 read new sequences in every update,
and others give each network examples of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from lamina._types import Float, Num, Tensor
from lamina.data.dataset import ArrayDataset
from lamina.data.text.texts import IGNORE
from lamina.functional.clipping import clip_by_global_norm
from lamina.functional.optimizers import Number, Params
from lamina.functional.random import as_generator
from lamina.populations.population import Population
from lamina.training.loop import events

Draw = Callable[[], tuple[Tensor, ...]]
"""A function that draws the next batch: what a network reads, and last the targets."""

Measure = Callable[[Tensor, Tensor], Tensor]
"""A function of outputs [batch, member, ...] and targets [batch, ...] that gives one number per member."""

Loss = Callable[[Tensor, Tensor], Tensor]
"""A function of one network's outputs and targets that gives one number."""

OPTIMIZERS: dict[str, Callable[[list[Tensor], float], torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "sgd": torch.optim.SGD,
}


def draws(make: Callable[..., ArrayDataset], *sizes: Any, seed: torch.Generator) -> Draw:
    """Draw examples of a synthetic set, new ones with every call.

    >>> from lamina.data.sequences import agreement
    >>> [tuple(part.shape) for part in draws(agreement, 64, 3, seed=torch.Generator())()]
    [(64, 5), (64,)]
    """

    def draw() -> tuple[Tensor, Tensor]:
        data = make(*sizes, seed=seed)
        return data.inputs, data.targets

    return draw


def batches(inputs: Num[Tensor, "example ..."], targets: Num[Tensor, "example ..."], size: int, seed: int) -> Draw:
    """Draw batches of some examples, with replacement.

    >>> draw = batches(torch.arange(3), 2 * torch.arange(3), 8, seed=0)
    >>> [bool((2 * inputs == targets).all()) for inputs, targets in (draw(), draw())]
    [True, True]
    """
    g = as_generator(seed)

    def draw() -> tuple[Tensor, Tensor]:
        chosen = torch.randint(len(targets), (size,), generator=g)
        return inputs[chosen], targets[chosen]

    return draw


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
        networks: one per member, with the weights of the last update.
        losses: the loss of every member before each update.
        scores: for every check the number of updates made and the score of each member.
    """

    networks: list[nn.Module]
    losses: Float[Tensor, "time member"]
    scores: list[tuple[int, list[float]]]

    @torch.no_grad()
    def measure(self, score: Measure, *batch: Tensor) -> list[float]:
        """Measure every member with one batch, of which the last tensor holds the targets."""
        *read, targets = batch
        found: list[float] = score(torch.stack([network(*read) for network in self.networks], 1), targets).tolist()
        return found

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
    own: bool = False,
) -> Trial:
    """Train networks of one form at once, in every update on the next batch.

    The result is that of separate runs: no member's loss depends on another's weights, each gradient is clipped by
    itself, and the two optimizers work number by number.

    Args:
        networks: the members; they are copied.
        draw: gives the next batch.
        loss: what is minimized.
        steps: the number of updates.
        learning_rate: of the optimizer.
        optimizer: "adam" or "sgd".
        bound: clip a member's gradient at this norm; one number for all or one per member, inf for not at all.
        check: when to look, and when to end early.
        own: whether each network has a batch of its own, [batch, member, ...]; else all have the same.

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
    moving = OPTIMIZERS[optimizer](list(population.network.parameters()), learning_rate)
    bounds = None if bound is None else torch.as_tensor(bound).expand(len(networks))
    stream = _Stream(population, draw, loss, moving, bounds, own, steps)
    scores: list[tuple[int, list[float]]] = []
    for event in events(stream, epochs=1, max_steps=steps, check=lambda *_: {}):
        if check is not None and event.row is None and (event.step % check.every == 0 or event.step == steps):
            scores.append((event.step, _score(population, check)))
            if min(scores[-1][1]) >= check.goal:
                break
    history = torch.stack(stream.losses) if stream.losses else torch.empty(0, len(networks))
    return Trial([population.member(k) for k in range(len(networks))], history, scores)


@dataclass
class _Stream:
    """Networks on their way through a stream of batches, as the loop of all training sees them."""

    population: Population
    draw: Draw
    loss: Measure
    optimizer: torch.optim.Optimizer
    bounds: Tensor | None
    own: bool
    batches: int
    losses: list[Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.parameters = dict(self.population.network.named_parameters())

    @property
    def step(self) -> int:
        """How many updates were made."""
        return len(self.losses)

    def begin(self, epoch: int, batch: int = 0) -> None:
        """Need nothing: a stream has no order."""

    def __call__(self) -> None:
        """Make one update of all members, each with its own gradient; one that has diverged goes on."""
        *read, targets = self.draw()
        each = self.loss(self.population(*read, own=self.own), targets)
        self.losses.append(each.detach())
        found = torch.autograd.grad(each.sum(), list(self.parameters.values()))
        gradients = dict(zip(self.parameters, found, strict=True))
        if self.bounds is not None:
            gradients = _clipped(gradients, self.bounds)
        for name, gradient in gradients.items():
            self.parameters[name].grad = gradient
        self.optimizer.step()


def train_together(
    networks: Sequence[nn.Module],
    inputs: Float[Tensor, "member batch feature"],
    targets: Num[Tensor, "member batch ..."],
    loss: Loss,
    *,
    learning_rate: float,
    steps: int,
    optimizer: str = "adam",
) -> Float[Tensor, " member"]:
    """Train networks of one form at once, each on all of its own examples in every step.

    Args:
        networks: their weights are changed.
        inputs: the examples of each network.
        targets: their targets.
        loss: a function of outputs and targets that gives one number.
        learning_rate: of the optimizer.
        steps: the number of updates.
        optimizer: "adam" or "sgd", which is gradient descent here.

    Returns:
        The loss of each network after the last step.

    >>> import lamina
    >>> from lamina.functional.losses import mse_half
    >>> members = [lamina.build("perceptron", inputs=1, activation="identity", seed=seed) for seed in range(3)]
    >>> u = torch.linspace(-1, 1, 9)[:, None].expand(3, 9, 1)
    >>> ends = train_together(members, u, 2 * u + 1, mse_half, learning_rate=1.0, steps=60, optimizer="sgd")
    >>> bool(ends.max() < 1e-9)
    True
    """
    batch = inputs.movedim(0, 1), targets

    def losses(outputs: Tensor, wanted: Tensor) -> Tensor:
        return torch.vmap(loss)(outputs.movedim(1, 0), wanted)

    trial = train_members(
        networks, lambda: batch, losses, steps=steps, learning_rate=learning_rate, optimizer=optimizer, bound=None,
        own=True,
    )  # fmt: skip
    for network, trained in zip(networks, trial.networks, strict=True):
        network.load_state_dict(trained.state_dict())
    with torch.no_grad():
        return losses(Population(trial.networks)(batch[0], own=True), targets)


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
    outputs: Float[Tensor, "batch member ..."], targets: Float[Tensor, "batch ..."]
) -> Float[Tensor, " member"]:
    """Compute the mean squared error of each member.

    >>> squared_errors(torch.tensor([[[1.0], [2.0]]]), torch.tensor([1.5])).tolist()
    [0.25, 0.25]
    """
    return (outputs.flatten(2) - targets.reshape(len(targets), 1, -1)).square().mean((0, 2))
