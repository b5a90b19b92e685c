"""The kinds of supervised learning (§1.1 of the notes), told apart by what the supervision is."""

import math
from collections.abc import Sequence

from torch import Tensor

from lamina._errors import ArgumentError, ShapeError


def supervision_kind(targets: Tensor | Sequence[object]) -> str:
    r"""Say which kind of task the supervisions of a data set make.

    One whole number $S(u) \in \mathbb N$ for each example is a label: classification. One real number
    $S(u) \in \mathbb R$ is regression. Anything else, such as a vector, a picture or a sentence, is structured output.

    Notes: N1.21 (§1.1).

    Args:
        targets: the supervision of all examples: a tensor whose first axis counts them, or one object for each.

    Returns:
        "classification", "regression" or "structured".

    >>> import torch
    >>> supervision_kind(torch.tensor([3, 1, 4])), supervision_kind(torch.rand(3)), supervision_kind(["a word", "two"])
    ('classification', 'regression', 'structured')
    >>> supervision_kind(torch.zeros(2, 256, 256))
    'structured'
    """
    if len(targets) == 0:
        raise ArgumentError("`targets` must hold at least 1 example, got 0.")
    if not isinstance(targets, Tensor):
        kinds = {_kind_of_one(target) for target in targets}
        return kinds.pop() if len(kinds) == 1 else "structured"
    if target_size(targets) > 1:
        return "structured"
    if targets.is_floating_point():
        return "regression"
    if (targets < 0).any():
        raise ArgumentError(f"`targets` must be labels from 0 on, got {targets.min().item()}: number the classes.")
    return "classification"


def target_size(targets: Tensor) -> int:
    """Count the numbers in the supervision of one example.

    Notes: N1.21 (§1.1).
    Corrects: E11, a grey picture of 256 x 256 pixels is a point of [0, 1]^(256 x 256), not of [0, 1]^256.

    >>> import torch
    >>> target_size(torch.zeros(10, 256, 256))
    65536
    """
    if targets.ndim == 0:
        raise ShapeError(
            "`targets` must have an axis that counts the examples, got a single number: use targets[None]."
        )
    return math.prod(targets.shape[1:])


def _kind_of_one(target: object) -> str:
    if isinstance(target, Tensor):
        return supervision_kind(target[None])
    if isinstance(target, int):
        if target < 0:
            raise ArgumentError(f"`targets` must be labels from 0 on, got {target}: number the classes.")
        return "classification"
    return "regression" if isinstance(target, float) else "structured"
