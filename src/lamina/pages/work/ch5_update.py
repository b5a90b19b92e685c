"""One update of a recurrent network with a clipped gradient, for the works of chapter 5."""

import torch
from torch import nn

from lamina._types import Float, Tensor
from lamina.functional.clipping import clip_by_global_norm


def update(
    network: nn.Module, loss: Float[Tensor, ""], optimizer: torch.optim.Optimizer, bound: float = 1.0
) -> None:  # fmt: skip
    """Differentiate a loss, clip the gradient at a norm, and take a step.

    Args:
        network: whose parameters the optimizer has.
        loss: computed with these parameters.
        optimizer: takes the step.
        bound: the largest norm of the whole gradient.

    >>> line = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.zeros_(line.weight)
    >>> loss = -100 * line(torch.ones(1, 1)).sum()
    >>> update(line, loss, torch.optim.SGD(line.parameters(), 0.5))
    >>> line.weight.item()
    0.5
    """
    parameters = dict(network.named_parameters())
    found = torch.autograd.grad(loss, list(parameters.values()))
    clipped = clip_by_global_norm(dict(zip(parameters, found, strict=True)), bound)
    for name, gradient in clipped.items():
        parameters[name].grad = gradient
    optimizer.step()
