r"""Time series: windows of measurements and what comes after them, from a table whose rows are moments.

An example is a window of the past; its target is the next `horizon` values of the target columns, or with `each_step`
for every step of the window the value `horizon` steps later. A split never lets the future train: the parts are
stretches of time, and an example belongs to the part that holds all its targets.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from lamina._errors import DataError, at_least, brief
from lamina._types import Float, Int, Seed, Tensor
from lamina.data._columns import check_column, read_column
from lamina.data.cells import Format, read_cells, source_of
from lamina.data.dataset import BaseDataset, Dataset, Spec, Subset
from lamina.data.moments import goes_back

_TIMES = ("date", "time", "datetime", "timestamp", "month", "day", "year", "week", "hour")


@dataclass(frozen=True, eq=False, repr=False)
class SeriesDataset(BaseDataset):
    """Windows of a series.

    Args:
        values: the measurements, one moment per row.
        wanted: which columns are to be predicted.
        window: how many moments are read.
        horizon: how many are predicted, or with `each_step` how far ahead every step looks.
        each_step: whether an answer is asked for at every step of the window.
        spec: what they are; `series_spec` makes it.
        moments: what the rows are called, such as dates; () when they have no names.

    >>> data = _as_series(torch.arange(6.0)[:, None], window=3, horizon=2)
    >>> len(data), [part[0].flatten().tolist() for part in data.take(torch.tensor([1]))]
    (2, [[1.0, 2.0, 3.0], [4.0, 5.0]])
    """

    values: Float[Tensor, "time feature"]
    wanted: tuple[int, ...]
    window: int
    horizon: int
    each_step: bool
    spec: Spec
    moments: tuple[str, ...] = ()
    groups: None = None
    official_test: None = None

    @cached_property
    def targets(self) -> Float[Tensor, "example ..."]:  # type: ignore[override]
        """The targets of all windows."""
        return self.take(torch.arange(len(self)))[1]

    def __len__(self) -> int:
        return len(self.values) - self.window - self.horizon + 1

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give windows [batch, window, feature] and what comes after them."""
        begin = indices[:, None]
        inputs = self.values[begin + torch.arange(self.window)]
        steps = torch.arange(self.window) + self.horizon if self.each_step else self.window + torch.arange(self.horizon)
        targets = self.values[begin + steps][..., list(self.wanted)]
        return inputs, targets if self.each_step else targets.flatten(1)

    def earliest(self, part: int, of: int) -> "SeriesDataset":
        """Give the first `part` of `of` equal stretches of time."""
        time = len(self.values) * part // of
        if time < self.window + self.horizon:
            raise DataError(
                f"a series of {len(self.values)} moments is too short for {of - 1} folds with window {self.window} and "
                f"horizon {self.horizon}: use fewer folds, a longer series or a smaller window."
            )
        return replace(self, values=self.values[:time])

    def divide(self, seed: Seed, ratios: tuple[int, int, int]) -> tuple[Dataset, Dataset, Dataset, str]:
        """Cut time into three stretches; windows may look back across a cut, targets lie on one side of it."""
        time, total = len(self.values), sum(ratios)
        cuts = [time * sum(ratios[: i + 1]) // total for i in range(3)]
        begins = torch.arange(len(self)) + (self.horizon if self.each_step else self.window)  # the first target
        ends = torch.arange(len(self)) + self.window + self.horizon  # behind the last target
        parts = [
            Subset(self, ((begins >= low) & (ends <= high)).nonzero().flatten())
            for low, high in zip((0, *cuts), cuts, strict=False)
        ]
        for part, name, share in zip(parts, ("training", "validation", "test"), ratios, strict=True):
            if share and not len(part):
                raise DataError(
                    f"a series of {time} moments is too short to split {':'.join(map(str, ratios))} with window "
                    f"{self.window} and horizon {self.horizon}, the {name} part would be empty: use a longer series, a "
                    "smaller window or other `ratios`."
                )
        train, validation, test = parts
        return train, validation, test, "in order of time"


def moments_of(data: Dataset) -> list[str]:
    """Name the moment of the first target of each window; [] for data whose moments have no names.

    >>> data = _as_series(torch.arange(4.0)[:, None], window=2, moments=("Mo", "Tu", "We", "Th"))
    >>> moments_of(data.split(ratios=(1, 0, 0)).train)
    ['We', 'Th']
    """
    indices = torch.arange(len(data))
    while isinstance(data, Subset):
        indices, data = data.indices[indices], data.dataset
    if not isinstance(data, SeriesDataset) or not data.moments:
        return []
    first = data.horizon if data.each_step else data.window
    return [data.moments[i + first] for i in indices.tolist()]


def _as_series(
    values: Float[Tensor, "time feature"],
    window: int = 24,
    horizon: int = 1,
    *,
    wanted: Sequence[int] | None = None,
    each_step: bool = False,
    features: Sequence[str] = (),
    source: str = "",
    notes: tuple[str, ...] = (),
    reading: tuple[tuple[str, Any], ...] = (),
    time_name: str = "",
    moments: Sequence[str] = (),
) -> SeriesDataset:
    """Make windows of measurements."""
    at_least("window", window, 1)
    at_least("horizon", horizon, 1)
    time, columns = values.shape
    if time < window + horizon:
        raise DataError(
            f"a series of {time} moments has no window of {window} with {horizon} after it: use at least "
            f"{window + horizon} moments or a smaller window."
        )
    wanted = tuple(range(columns)) if wanted is None else tuple(wanted)
    names = tuple(features) or tuple(f"x{i + 1}" for i in range(columns))
    shape = (window, len(wanted)) if each_step else ()
    spec = Spec(
        "series",
        "structured" if each_step else "regression",
        (window, columns),
        len(wanted) * (window if each_step else horizon),
        features=names,
        target=", ".join(names[i] for i in wanted),
        source=source,
        target_shape=shape,
        notes=notes,
        reading=reading,
        time=time_name,
        horizon=horizon,
    )
    return SeriesDataset(values, wanted, window, horizon, each_step, spec, tuple(moments))


def load_series(
    path: Any,
    window: int = 24,
    horizon: int = 1,
    *,
    target: str | Sequence[str] | None = None,
    time: str | None = None,
    each_step: bool = False,
    **form: Any,
) -> SeriesDataset:
    r"""Read a table whose rows are moments, the earliest first.

    Args:
        path: a file of a table (see `lamina.data.cells.SUFFIXES`) or a table that a program holds, such as a DataFrame.
        window: how many moments are read.
        horizon: how many are predicted, or with `each_step` how far ahead every step looks.
        target: the column, or columns, to predict; all columns of numbers when not given.
        time: the column that names the moments, which is not a measurement; by default one of dates, or one named date,
            time or the like. Its values must not go back.
        each_step: whether an answer is asked for at every step of the window.
        form: how to read the table, as in `Format`: `delimiter`, `encoding`, `decimal`, `quote`, `header`, `sheet`.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     rows = "date,sales\n2024-01,1\n2024-02,2\n2024-03,4\n2024-04,8\n"
    ...     _ = Path(folder, "sales.csv").write_text(rows)
    ...     data = load_series(Path(folder, "sales.csv"), window=2)
    >>> [part.flatten().tolist() for part in data.take(torch.tensor([1]))]
    [[2.0, 4.0], [8.0]]
    """
    cells = read_cells(path, Format(**form))
    frame, file = cells.frame, cells.name
    if time is not None:
        check_column(time, frame.columns, file, "time")
    times = (name for name in frame.columns if name.lower() in _TIMES or frame[name].dtype.is_temporal())
    time = time or next(times, None)
    moments = () if time is None else tuple(map(str, frame[time].to_list()))
    back = goes_back(moments)
    if back is not None:
        raise DataError(
            f"{file}: column {time!r} goes back from {brief(moments[back - 1])} to {brief(moments[back])} in row "
            f"{back + 1}: sort the rows by time, the earliest first."
        )
    names = [name for name in frame.columns if name != time]
    if not names:
        raise DataError(f"{file} has no column beside {time!r}, which names the moments: a series needs numbers.")
    wanted = [target] if isinstance(target, str) else list(target or names)
    for name in wanted:
        check_column(name, names, file, "target")
    columns = [read_column(frame[name], file) for name in names]
    for column in columns:
        if column.levels:
            raise DataError(
                f"{file}: column {column.name!r} holds text, such as {brief(column.levels[0])}, where a series has "
                f"numbers: remove it, or give time={column.name!r} if it names the moments."
            )
        gaps = column.missing.nonzero()
        if len(gaps):
            raise DataError(
                f"{file}: column {column.name!r} has no value in row {int(gaps[0]) + 1}: a series must have no gaps; "
                "fill it in."
            )
    notes = [*cells.notes, *([f"The column {time!r} names the moments and is not learned from."] if time else [])]
    values = torch.stack([column.values for column in columns], 1)
    places = [names.index(name) for name in wanted]
    return _as_series(
        values,
        window,
        horizon,
        wanted=places,
        each_step=each_step,
        features=names,
        source=source_of(path),
        notes=tuple(notes),
        reading=cells.reading,
        time_name=time or "",
        moments=moments,
    )


def series_like(path: Any, spec: Spec, *, scored: bool = False, **form: Any) -> SeriesDataset:
    """Read a series as the one of a run was read.

    Args:
        path: a table whose rows are moments, in a file or held by a program.
        spec: what the training series was, and how it was read.
        scored: make the windows of the run and what comes after them; else every moment is a window of its own.
        form: how to read the table, as in `Format`: `delimiter`, `encoding`, `decimal`, `quote`, `header`, `sheet`.
    """
    form = {"before": spec.reading, **form}
    columns, wanted = read_cells(path, Format(**form)).frame.columns, spec.target.split(", ")
    how: dict[str, Any] = {"window": 1}
    if scored:
        how = {"window": spec.inputs[0], "horizon": ahead(spec), "each_step": spec.task == "structured"}
        how |= {"target": wanted} if set(wanted) <= set(columns) else {}
    data = load_series(path, time=spec.time if spec.time in columns else None, **how, **form)
    if data.spec.features != spec.features:
        raise DataError(
            f"{_named(path)} must have the columns {', '.join(spec.features)} of the training series, got "
            f"{', '.join(data.spec.features)}."
        )
    return data


def _named(what: Any) -> str:
    return Path(what).name if isinstance(what, str | Path) else "the table"


def ahead(spec: Spec) -> int:
    """Return how far a network looks ahead; runs of version 0.1 did not write it down."""
    return spec.horizon or (max(1, spec.outputs // len(spec.target.split(", "))) if spec.task == "regression" else 1)
