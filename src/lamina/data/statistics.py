"""What a preparation must know about the training rows of a table, gathered part by part in one pass.

A table that lies in memory is one part or a few; a table on disk comes block by block, and nothing but these numbers is
kept of it.
"""

import torch

from lamina._errors import DataError
from lamina._types import Num, Tensor
from lamina.data._dates import CYCLES, LINEAR, calendar
from lamina.data.dataset import Spec


class Moments:
    """Mean and standard deviation of each column over any number of parts, in float64.

    Parts are joined by the pairwise update of Chan, Golub and LeVeque, which does not cancel as a sum of squares does.

    Args:
        gaps: whether missing values (NaN) are left out; without that they are refused.

    >>> found = Moments()
    >>> for part in ([[1.0], [1.0]], [[7.0], [7.0]]):
    ...     found.add(torch.tensor(part))
    >>> found.mean.tolist(), found.std.tolist()
    ([4.0], [3.0])
    """

    def __init__(self, gaps: bool = False) -> None:
        self._gaps = gaps
        self.count = self._mean = self._squares = torch.zeros((), dtype=torch.float64)

    def add(self, part: Num[Tensor, "batch feature"]) -> None:
        """Take in some rows."""
        there = ~part.isnan() if self._gaps else torch.ones_like(part, dtype=torch.bool)
        n = there.sum(0).double()
        m = torch.where(there, part, 0.0).double().sum(0) / n.clamp(min=1)
        s = torch.where(there, part - m, 0.0).double().square().sum(0)
        total = (self.count + n).clamp(min=1)
        self._squares = self._squares + s + (m - self._mean).square() * self.count * n / total
        self._mean = self._mean + (m - self._mean) * n / total
        self.count = self.count + n

    @property
    def mean(self) -> Tensor:
        """The mean of each column; 0 where all values are missing."""
        if not bool((self._mean.isfinite() & self._squares.isfinite()).all()):
            raise DataError(
                "inputs and real targets must be finite, got NaN or infinity: correct or remove those examples."
            )
        return self._mean

    @property
    def std(self) -> Tensor:
        """The standard deviation of each column, with divisor N; 1 where it never changes."""
        std = (self._squares / self.count.clamp(min=1)).sqrt()
        constant = std <= 1e-12 * self.mean.abs()  # what rounding leaves of a feature that never changes
        return torch.where(constant, 1.0, std)


class TableStatistics:
    """The numbers of columns, categories, dates and targets that some rows of a table have.

    Args:
        spec: what the rows are.

    >>> spec = Spec("table", "classification", (2,), 2, features=("x", "c"), levels=((), ("a", "b")))
    >>> found = TableStatistics(spec)
    >>> found.add(torch.tensor([[1.0, 0.0], [3.0, torch.nan]]), torch.tensor([1, 1]))
    >>> found.rows, found.linear()[0].tolist(), found.counts[1].tolist(), found.missing, found.targets.tolist()
    (2, [2.0], [1, 0], (False, True), [0, 2])
    """

    def __init__(self, spec: Spec) -> None:
        self.spec, self.rows = spec, 0
        columns = enumerate(zip(spec.levels, spec.dates, strict=True))
        self._numbers = [j for j, (levels, date) in columns if not levels and not date]
        self._dates = [j for j, date in enumerate(spec.dates) if date]
        self._moments = Moments(gaps=True)
        self._origins: dict[int, float] = {}
        self._firsts: dict[int, float] = {}
        self._spans: dict[int, dict[str, tuple[float, float]]] = {j: {} for j in self._dates}
        self._gaps = torch.zeros(len(spec.levels), dtype=torch.bool)
        self.counts = [torch.zeros(len(levels), dtype=torch.int64) for levels in spec.levels]
        self.targets = torch.zeros(spec.outputs, dtype=torch.int64)
        self._target_moments = Moments()

    def add(self, inputs: Num[Tensor, "batch feature"], targets: Num[Tensor, "batch ..."] | None = None) -> None:
        """Take in some rows, and their targets where these are wanted too."""
        rows = inputs.double()
        self.rows += len(rows)
        self._gaps |= rows.isnan().any(0)
        dates = [column for j in self._dates for column in self._moments_of(j, rows[:, j])]
        self._moments.add(torch.cat([rows[:, self._numbers], *(column[:, None] for column in dates)], 1))
        for j, counts in enumerate(self.counts):
            if len(counts):
                there = rows[:, j][rows[:, j] >= 0].long()  # neither a gap nor a category without a number
                found = torch.bincount(there, minlength=len(counts))
                found[: len(counts)] += counts
                self.counts[j] = found
        if targets is None:
            return
        if self.spec.task == "classification":
            self.targets += torch.bincount(targets, minlength=self.spec.outputs)
        elif self.spec.task == "multilabel":
            self.targets += targets.sum(0).long()
        else:
            self._target_moments.add(targets.reshape(len(targets), -1))

    def _moments_of(self, j: int, seconds: Tensor) -> tuple[Tensor, Tensor]:
        """Give the years and days of a column of dates; days are counted from the first moment of the first rows."""
        there = ~seconds.isnan()
        if bool(there.any()):
            earliest = float(seconds[there].min())
            self._origins.setdefault(j, earliest)
            self._firsts[j] = min(earliest, self._firsts.get(j, earliest))
        parts, spans = calendar(seconds), self._spans[j]
        for name, part in parts.items() if bool(there.any()) else ():
            low, high = float(part[there].min()), float(part[there].max())
            before = spans.get(name, (low, high))
            spans[name] = min(low, before[0]), max(high, before[1])
        return parts["year"], (seconds - self._origins.get(j, 0.0)) / 86400

    @property
    def missing(self) -> tuple[bool, ...]:
        """Whether each column lacks values."""
        return tuple(self._gaps.tolist())

    @property
    def first(self) -> tuple[float, ...]:
        """The first moment of each column of dates, 0 for other columns."""
        return tuple(self._firsts.get(j, 0.0) for j in range(len(self.spec.dates)))

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The parts of each column of dates that differ; the days since the first are always one of them."""

        def differ(j: int, name: str) -> bool:
            low, high = self._spans[j].get(name, (0.0, 0.0))
            return name == "days" or low < high

        return tuple(
            tuple(name for name in (*LINEAR, *CYCLES) if differ(j, name)) if date else ()
            for j, date in enumerate(self.spec.dates)
        )

    def linear(self) -> tuple[Tensor, Tensor]:
        """Give mean and standard deviation of the columns of numbers, and of the years and days of dates."""
        mean, std, parts = self._moments.mean.clone(), self._moments.std, self.parts
        kept = list(range(len(self._numbers)))
        for turn, j in enumerate(self._dates):
            year = len(self._numbers) + 2 * turn
            mean[year + 1] += (self._origins.get(j, 0.0) - self._firsts.get(j, 0.0)) / 86400
            kept += [year + LINEAR.index(name) for name in LINEAR if name in parts[j]]
        return mean[kept], std[kept]

    def target_moments(self) -> tuple[Tensor, Tensor]:
        """Give mean and standard deviation of real targets."""
        return self._target_moments.mean, self._target_moments.std

    @property
    def balance(self) -> Tensor:
        """How many rows each class has, or for each label how many lack it and how many have it."""
        if self.spec.task == "classification":
            return self.targets
        return torch.stack([self.rows - self.targets, self.targets], 1)

    @property
    def known(self) -> list[tuple[int, ...]]:
        """The categories that the rows have, for each column."""
        return [tuple(counts.nonzero().flatten().tolist()) for counts in self.counts]
