"""The two checks that every method on a data set makes before it starts."""

from lamina._errors import ArgumentError, ShapeError
from lamina._types import Tensor


def finite(name: str, values: Tensor) -> None:
    """Raise unless all `values` are finite numbers."""
    wrong = int((~values.isfinite()).sum())
    if wrong:
        raise ArgumentError(
            f"`{name}` must be finite, got {wrong} NaN or infinite values: remove them or fill them in."
        )


def same_length(first: str, one: Tensor, second: str, other: Tensor) -> None:
    """Raise unless there are examples and both tensors hold the same number of them along their first axis."""
    if len(one) != len(other):
        raise ShapeError(
            f"`{first}` and `{second}` must hold the same number of examples, got {len(one)} and {len(other)}."
        )
    if len(one) == 0:
        raise ShapeError(f"`{first}` must hold at least 1 example, got 0.")
