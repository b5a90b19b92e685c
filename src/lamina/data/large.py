r"""A Parquet table that stays on disk: read block by block, whatever its size, as the resident reader would read it.

*Deciding.* What a column holds is decided by the rules of `lamina.data.tables` on a sample of up to 100,000 rows that
is spread evenly over the table (all rows of a smaller one), to which every category and class of the whole table is
added; whether a column is constant is asked of all rows.

*Splitting.* The part of a row is a hash of the seed and of its number, so that nothing has to be kept for it: each part
gets its share up to chance, and so does each class. The validation and the test part have about 200,000 rows each at
most (and 256 MiB) and lie in memory; all others train. One pass over the table fits the numbers of the preparation to
the training part and collects the two others.

*Reading.* A block has at most 65,536 rows. `lamina.data.block_source` shuffles and reads them ahead.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lamina._errors import DataError, DataWarning
from lamina._system import free_memory, give_back
from lamina._types import Int, Seed, Tensor
from lamina.data._columns import check_column, find_targets
from lamina.data._progress import tell
from lamina.data.cells import MISSING, Cells, Format, check_names, tidied
from lamina.data.dataset import ArrayDataset, BaseDataset, Dataset, Spec
from lamina.data.labeled import answered, coded_targets, target_columns
from lamina.data.parquet import Block, Parquet, parquet_files
from lamina.data.statistics import TableStatistics
from lamina.data.tables import coded_rows, decided, number_columns

if TYPE_CHECKING:
    import polars as pl

BLOCK = 2**16  # rows that are read together
SAMPLE = 100_000  # rows that show what the columns hold
HELD, HELD_BYTES = 200_000, 2**28  # rows of the validation and of the test part, and the bytes of each
LEVELS = 100_000  # categories that a column may have
_EXPANDS = 24  # bytes of memory that a number needs while a resident table is read


def reads_blocks(path: Any, asked: bool | None) -> bool:
    """Say whether a table is read block by block: as asked, or since it would fill more than half of the free memory.

    >>> reads_blocks("rows.csv", None)
    False
    """
    if asked is False:
        return False
    files = parquet_files(path)
    if files is None:
        if asked:
            raise DataError(
                "`stream` reads Parquet block by block, and no other format: convert the table once, for example by "
                'polars.scan_csv("big.csv").sink_parquet("big.parquet").'
            )
        return False
    if asked:
        return True
    if sum(file.stat().st_size for file in files if file.exists()) < free_memory() // (4 * _EXPANDS):
        return False
    table = Parquet(path)
    return len(table) * len(table.columns) * _EXPANDS > free_memory() // 2


class LargeTable(BaseDataset):
    """A Parquet table on disk.

    Args:
        path: a file, a folder of files or a pattern; see `lamina.data.parquet.parquet_files`.
        target: the column to predict, or several, as for `load_table`.
        task: "classification", "multilabel" or "regression".
        drop: columns to leave out.
        keep: columns to learn from that would be left out.
        day_first: whether 1/2/2024 is in February.
        unknown: "other" or "error".
        refused: options that were given and need all rows at once.
        asked: names of columns, each with the argument that names it.
    """

    groups = official_test = None
    streamed = True

    def __init__(
        self,
        path: str | Path,
        target: str | Sequence[str] | None = None,
        *,
        task: str | None = None,
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        day_first: bool | None = None,
        unknown: str = "other",
        refused: Sequence[str] = (),
        asked: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.file = Parquet(path)
        name = self.file.name
        for option in refused:
            raise DataError(
                f"{name} is read block by block, but `{option}` needs all rows at once: leave it out, or read the "
                "whole table with stream=False."
            )
        if len(self.file) < 2:
            raise DataError(
                f"{name} has too few rows ({len(self.file)}): at least 2 are needed to load and 6 to split."
            )
        check_names(self.file.columns, name)
        for column, argument in asked:
            check_column(column, self.file.columns, name, argument)
        names = [column for column in self.file.columns if column not in drop]
        targets, _ = find_targets(target, names, name)
        self.gone = self._without(targets)
        sample = self._sample(targets)
        how: dict[str, Any] = {"task": task, "drop": drop, "day_first": day_first, "unknown": unknown}
        keep = [*keep, *self._varying(sample, names, targets)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            first = self._decided(sample, target, str(path), keep=keep, **how)
        whole = self._with_all_values(sample, first, targets)
        self.spec = self._noted(self._decided(whole, target, str(path), keep=keep, **how))
        self.blocks = self.file.blocks(BLOCK)
        self._targets = target_columns(self.spec, self.file.columns, name)
        self._columns = list(dict.fromkeys((*self.spec.features, *self._targets)))

    def _without(self, targets: Sequence[str]) -> int:
        """Count the rows that lack a target."""
        import polars as pl

        found = self.file.summary([pl.any_horizontal(_missing(self.file.schema, name) for name in targets).sum()])
        gone = int(found.item())
        if len(self.file) - gone < 2:
            raise DataError(
                f"{self.file.name}: the target {', '.join(map(repr, targets))} is missing in {gone} of "
                f"{len(self.file)} rows: at least 2 rows must have it."
            )
        return gone

    def _sample(self, targets: Sequence[str]) -> "pl.DataFrame":
        """Read rows with a target from all over the table."""
        import polars as pl

        sample = self.file.sample(SAMPLE)
        found = sample.filter(~pl.any_horizontal(_missing(sample.schema, name) for name in targets))
        if found.height < 2:
            raise DataError(
                f"{self.file.name}: hardly any of {sample.height} rows that were looked at has the target "
                f"{', '.join(map(repr, targets))}: choose another target, or leave rows without it out."
            )
        return found

    def _varying(self, sample: "pl.DataFrame", names: Sequence[str], targets: Sequence[str]) -> list[str]:
        """Name the columns that look constant in the sample, but are not."""
        import polars as pl

        same = [name for name in names if name not in targets and not sample[name].dtype.is_nested()]
        same = [name for name in same if sample[name].n_unique() == 1]
        if not same or sample.height == len(self.file):
            return []
        ends = self.file.summary(
            [(pl.col(name).min() != pl.col(name).max()).fill_null(False).alias(name) for name in same]
        )
        return [name for name in same if ends[name].item()]

    def _decided(self, frame: "pl.DataFrame", target: Any, source: str, **how: Any) -> ArrayDataset:
        """Let the rules of a resident table decide what the columns hold."""
        tidy, marks = tidied(frame, Format())
        found = {"decimal": marks.decimal, "decimals": marks.decimals, "units": marks.units}
        reading = tuple((key, value) for key, value in found.items() if value not in (None, ()))
        cells = Cells(tidy, self.file.name, reading, (*marks.notes, *marks.doubts))
        return decided(cells, source, target, **how)

    def _with_all_values(self, sample: "pl.DataFrame", first: ArrayDataset, targets: Sequence[str]) -> "pl.DataFrame":
        """Add rows to a sample, so that it has every category and every class of the whole table."""
        import polars as pl

        spec = first.spec
        columns = [name for name, levels in zip(spec.features, spec.levels, strict=True) if levels]
        columns += [name for name in targets if spec.task != "regression" and not sample[name].dtype.is_float()]
        if sample.height == len(self.file) - self.gone:
            return sample
        new: dict[str, pl.Series] = {}
        for name in columns:
            found = self.file.counted(name)["value"]
            if len(found) > LEVELS:
                raise DataError(
                    f"{self.file.name}: column {name!r} has {len(found)} different values, more than {LEVELS} "
                    "categories can be: leave it out with `drop`."
                )
            new[name] = found.filter(found.is_not_null() & ~found.is_in(sample[name].unique().implode()))
        count = max((len(values) for values in new.values()), default=0)
        rows = sample[[i % sample.height for i in range(count)]]
        full = {name: pl.concat([values, rows[name][len(values) :]]) for name, values in new.items()}
        return pl.concat([sample, rows.with_columns(**full)], how="vertical_relaxed") if count else sample

    def _noted(self, data: ArrayDataset) -> Spec:
        """Say in the spec how the table is read."""
        lacking = (
            f"{self.gone} row{'s' * (self.gone > 1)} without the target {'are' if self.gone > 1 else 'is'} left out."
        )
        if self.gone:
            warnings.warn(f"{self.file.name}: {lacking}", DataWarning, stacklevel=5)
        size = f"{len(self.file):,} rows in {len(self.file.files)} file{'s' * (len(self.file.files) > 1)}"
        streamed = f"{size} ({self.file.bytes / 2**20:,.1f} MiB) are read block by block while training."
        return replace(data.spec, notes=(*data.spec.notes, *([lacking] if self.gone else []), streamed))

    def __len__(self) -> int:
        return len(self.file) - self.gone

    def read(self, block: Block, inputs: bool = True) -> tuple[Tensor, Tensor, np.ndarray]:
        """Read a block: stored inputs and targets of the rows that have a target, and the numbers of these rows.

        Args:
            block: which rows.
            inputs: whether inputs are wanted; without them only the targets are read.
        """
        spec, file = self.spec, self.file.name
        frame = self.file.read(block, self._columns if inputs else self._targets)
        frame, _ = tidied(frame, Format(before=spec.reading), number_columns(spec))
        there = answered(frame, self._targets, file, numbers=spec.task == "regression")
        kept = there.to_numpy()
        frame = frame if bool(kept.all()) else frame.filter(there)
        numbers = block.first + np.flatnonzero(kept)
        if not len(numbers):
            nothing = torch.zeros(0, *spec.inputs, dtype=torch.float64)
            return nothing, coded_targets(frame, self._targets, spec, file), numbers
        rows = coded_rows(frame, spec, file)[0] if inputs else torch.zeros(len(numbers), 0)
        return rows, coded_targets(frame, self._targets, spec, file), numbers

    @cached_property
    def whole(self) -> "LargePart":
        """All rows with a target as one part."""
        rows = [block.rows if not self.gone else len(self.read(block, inputs=False)[2]) for block in self.blocks]
        return LargePart(self, np.array(rows), 0, (0.0, 0.0), None)

    @property
    def targets(self) -> Tensor:  # type: ignore[override]
        """All targets, which are read for this."""
        return self.whole.targets

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give the stored inputs and targets at `indices`."""
        return self.whole.take(indices)

    def divide(self, seed: Seed, ratios: tuple[int, int, int]) -> tuple[Dataset, Dataset, Dataset, str]:
        """Deal the rows to the parts by a hash of their numbers, and gather what the preparation needs."""
        if not isinstance(seed, int):
            raise DataError("a table that is read block by block is split by a whole number: give it as `seed`.")
        most = max(1, min(HELD, HELD_BYTES // (8 * len(self.spec.features))))
        held = [min(share / sum(ratios), most / len(self.file)) for share in ratios[1:]]
        shares = held[0], held[1]
        found, counts = TableStatistics(self.spec), np.zeros(len(self.blocks), np.int64)
        others: list[list[tuple[Tensor, Tensor]]] = [[], []]
        for number, block in enumerate(self.blocks):
            inputs, targets, rows = self.read(block)
            parts = torch.from_numpy(part_of(rows, seed, shares))
            training = parts == 0
            counts[number] = int(training.sum())
            found.add(inputs[training], targets[training])
            for other, kept in enumerate(others, 1):
                kept.append((inputs[parts == other], targets[parts == other]))
            if number % 16 == 15:
                give_back()
            tell("reading rows", block.first + block.rows, len(self.file))
        train = LargePart(self, counts, seed, shares, found)
        validation, test = (
            ArrayDataset(torch.cat([rows for rows, _ in kept]), torch.cat([wanted for _, wanted in kept]), self.spec)
            for kept in others
        )
        del others
        give_back()
        for part, share in ((train, ratios[0]), (validation, ratios[1]), (test, ratios[2])):
            if share and not len(part):
                raise DataError(
                    f"{self.file.name} has {len(self)} rows, too few to split {':'.join(map(str, ratios))} by chance: "
                    "read the whole table with stream=False."
                )
        return train, validation, test, f"by a hash of the row number, seed {seed}"


class LargePart(BaseDataset):
    """The rows of a large table that belong to one part, of which only the number in each block is known.

    Args:
        table: the table.
        counts: how many rows of each block belong to the part.
        seed: of the split.
        shares: of the validation and of the test part.
        statistics: what the preparation needs to know about the rows.
    """

    groups = official_test = None

    def __init__(
        self,
        table: LargeTable,
        counts: np.ndarray,
        seed: int,
        shares: tuple[float, float],
        statistics: TableStatistics | None,
    ) -> None:
        self.table, self.counts, self.statistics = table, torch.from_numpy(counts), statistics
        self._seed, self._shares = seed, shares
        self.starts = torch.cat([torch.zeros(1, dtype=torch.int64), self.counts.cumsum(0)])

    @property
    def spec(self) -> Spec:  # type: ignore[override]
        """The same as of the whole table."""
        return self.table.spec

    def __len__(self) -> int:
        return int(self.starts[-1])

    def read(self, number: int, inputs: bool = True) -> tuple[Tensor, Tensor]:
        """Give the stored inputs and targets of all rows of the part that are in a block."""
        rows, targets, numbers = self.table.read(self.table.blocks[number], inputs)
        mine = torch.from_numpy(part_of(numbers, self._seed, self._shares) == 0)
        if int(mine.sum()) != int(self.counts[number]):
            raise DataError(f"{self.table.file.name} changed since it was split: split it again.")
        return rows[mine], targets[mine]

    def block_of(self, indices: Int[Tensor, " batch"]) -> Int[Tensor, " batch"]:
        """Give the number of the block that holds each row."""
        return torch.searchsorted(self.starts, indices, right=True) - 1

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give the stored inputs and targets at `indices`; each block that holds one of them is read once."""
        homes, parts = self.block_of(indices), []
        order = homes.argsort(stable=True)
        for number, places in _runs(homes[order], order):
            rows, targets = self.read(number)
            within = indices[places] - self.starts[number]
            parts.append((rows[within], targets[within]))
        if not parts:
            rows, targets = self.read(0)
            return rows[:0], targets[:0]
        back = order.argsort()
        return torch.cat([rows for rows, _ in parts])[back], torch.cat([wanted for _, wanted in parts])[back]

    @property
    def targets(self) -> Tensor:  # type: ignore[override]
        """The targets of all rows, which are read for this."""
        return torch.cat([self.read(number, inputs=False)[1] for number in range(len(self.counts))])


def _runs(homes: Tensor, places: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Give each block of sorted ones with the places that are in it."""
    numbers, counts = homes.unique_consecutive(return_counts=True)
    yield from zip(numbers.tolist(), places.split(counts.tolist()), strict=True)


def part_of(rows: np.ndarray, seed: int, shares: tuple[float, float]) -> np.ndarray:
    """Say of rows, given by their numbers, to which part they belong: 0 to training, 1 to validation, 2 to test.

    >>> part_of(np.arange(8), 0, (0.25, 0.25)).tolist() == part_of(np.arange(9), 0, (0.25, 0.25)).tolist()[:8]
    True
    """
    bits = rows.astype(np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64) + np.uint64(0x632BE59BD9B4E019)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    chance = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.where(chance < shares[0], 1, np.where(chance < sum(shares), 2, 0)).astype(np.int8)


def every_so_many(path: str | Path) -> "pl.DataFrame":
    """Read at most 200,000 rows of a table, spread evenly over it, and say so."""
    import polars as pl

    table = Parquet(path)
    step = -(-len(table) // HELD)
    frames = []
    for block in table.blocks(BLOCK):
        frames.append(table.read(block).gather_every(step, offset=-block.first % step))
        tell("reading rows", block.first + block.rows, len(table))
    found = pl.concat(frames, how="vertical_relaxed")
    if step > 1:
        warnings.warn(
            f"{table.name} has {len(table):,} rows: every {step}th of them is judged, {found.height:,} in all.",
            DataWarning,
            stacklevel=4,
        )
    return found


def _missing(schema: Any, name: str) -> "pl.Expr":
    """Ask whether a cell has no value."""
    import polars as pl

    cell, kind = pl.col(name), schema[name]
    if kind.is_float():
        return cell.is_null() | cell.is_nan()
    return cell.is_null() | cell.str.strip_chars().is_in(MISSING) if kind == pl.String else cell.is_null()
