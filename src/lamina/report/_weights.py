"""The trained tensors of a network: name, shape, count, norm and share."""

import math
from collections import defaultdict
from collections.abc import Sequence

from lamina._tables import Table
from lamina.report._formatting import number, percent, shape
from lamina.report._tensors import Weight

LIMIT = 40
"""A table longer than this shows parts of the network instead of single tensors."""
NO_SHAPE = "several"


def table(tensors: Sequence[Weight], limit: int | None = LIMIT) -> Table:
    """List the trained tensors, or the parts of a network that has more than `limit`."""
    groups = tensors if limit is None or len(tensors) <= limit else grouped(tensors, limit)
    total = sum(w.count for w in groups)
    rows = [
        (w.name, shape(w.shape) if w.shape else NO_SHAPE, number(w.count), number(w.norm), percent(w.count / total))
        for w in groups
    ]
    norm = math.sqrt(sum(w.norm**2 for w in groups))
    rows.append(("total", "", number(total), number(norm), "100%"))
    bars = ((4, (*(w.count / total for w in groups), 0.0)),)
    return Table(("name", "shape", "count", "norm", "share"), tuple(rows), (2, 3, 4), (0, 1), bars)


def grouped(tensors: Sequence[Weight], limit: int) -> list[Weight]:
    """Join tensors under the longest common names that leave few enough rows."""
    deepest = max(w.name.count(".") for w in tensors) + 1
    found: dict[str, list[Weight]] = {}
    for depth in range(1, deepest + 1):
        groups: dict[str, list[Weight]] = defaultdict(list)
        for w in tensors:
            groups[".".join(w.name.split(".")[:depth])].append(w)
        if found and len(groups) > limit:
            break
        found = groups
    return [
        parts[0]
        if len(parts) == 1
        else Weight(name, (), sum(w.count for w in parts), math.sqrt(sum(w.norm**2 for w in parts)))
        for name, parts in found.items()
    ]
