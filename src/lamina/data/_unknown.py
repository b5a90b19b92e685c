"""Categories of a table that the training part does not have: they count as other, and are counted or refused."""

from collections.abc import Sequence

import torch

from lamina._errors import DataError
from lamina._types import Tensor
from lamina.data.dataset import Spec


def unknown_rows(spec: Spec, rows: Tensor, known: Sequence[Sequence[int]]) -> dict[str, int]:
    """Count, for each column, the rows whose category is not one of the known ones."""
    found = {name: len(_unknown(rows[:, j], known[j])) for j, name in enumerate(spec.features) if spec.levels[j]}
    return {name: count for name, count in found.items() if count}


def refuse_unknown(spec: Spec, rows: Tensor, known: Sequence[Sequence[int]]) -> None:
    """Raise for the first category that is not one of the known ones."""
    for column, (name, levels) in enumerate(zip(spec.features, spec.levels, strict=True)):
        new = _unknown(rows[:, column], known[column]).tolist() if levels else []
        if new:
            value = int(new[0])
            text = repr(levels[value]) if 0 <= value < len(levels) else f"the value number {value}"
            values = some([repr(levels[i]) for i in known[column]])
            raise DataError(
                f"column {name!r} holds {text}, which is not in the training rows (known values are {values}): "
                "correct the value or leave it empty."
            )


def categories(spec: Spec, rows: Tensor) -> list[tuple[int, ...]]:
    """Give the categories that some rows have, for each column."""
    found = (rows[:, j].unique().tolist() if levels else [] for j, levels in enumerate(spec.levels))
    return [tuple(int(value) for value in values if value >= 0) for values in found]


def some(texts: Sequence[str]) -> str:
    """Join the first ten of some texts.

    >>> some([*"abcdefghijkl"])
    'a, b, c, d, e, f, g, h, i, j and 2 more'
    """
    return ", ".join(texts[:10]) + (f" and {len(texts) - 10} more" if len(texts) > 10 else "")


def _unknown(values: Tensor, known: Sequence[int]) -> Tensor:
    return values[~torch.isin(values, torch.tensor(known, dtype=values.dtype, device=values.device)) & ~values.isnan()]
