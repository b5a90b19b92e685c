"""The two checks that every method on a data set makes before it starts."""

from lamina._errors import ArgumentError, ShapeError
from lamina._types import Tensor


def finite(name: str, values: Tensor) -> None:
    """Raise unless all `values` are finite numbers.

    >>> import torch
    >>> finite("points", torch.tensor([1.0, float("nan")]))
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `points` must be finite, got 1 NaN or infinite values: leave out or fill in these.
    """
    wrong = int((~values.isfinite()).sum())
    if wrong:
        raise ArgumentError(f"`{name}` must be finite, got {wrong} NaN or infinite values: leave out or fill in these.")


def same_length(first: str, one: Tensor, second: str, other: Tensor) -> None:
    """Raise unless there are examples and both tensors hold the same number of them along their first axis.

    >>> import torch
    >>> same_length("inputs", torch.zeros(3, 2), "targets", torch.zeros(4))
    Traceback (most recent call last):
    lamina._errors.ShapeError: `inputs` and `targets` must hold the same number of examples, got 3 and 4.
    """
    if len(one) != len(other):
        raise ShapeError(
            f"`{first}` and `{second}` must hold the same number of examples, got {len(one)} and {len(other)}."
        )
    if len(one) == 0:
        raise ShapeError(f"`{first}` must hold at least 1 example, got 0.")
