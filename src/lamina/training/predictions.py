"""What a network says about some examples, as labels, as a table, as a file."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from lamina._errors import ArgumentError
from lamina._system import replace as replace_file
from lamina._tables import Table
from lamina._types import Float, Tensor

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl")
"""Of files that `Predictions.save` writes."""


@dataclass(frozen=True, repr=False)
class Predictions:
    """What a network says about some examples.

    Args:
        names: what each example is called.
        classes: the names of the classes or labels, none for real outputs.
        values: probabilities of the classes, or of each label by itself, or real outputs in the units of the training
            targets; of translations the mean logarithm of the probability of a word, of labels at every step their
            mean probability. NaN where there was nothing to predict from: a blank line among texts.
        texts: what was written, for translations and labels at every step; of several labels those from one half on.
        lower: the lower ends of intervals around real outputs, where a coverage was asked for.
        upper: their upper ends.
        sets: for each example the classes that hold the truth with the coverage asked for, the most likely first.
        moments: for forecasts the moments of each, one per step, as far as the series names its own.
        columns: the names of what is forecast.
        read: the columns that the examples were read from, a polars frame; predictions stand beside them in a file.
        called: what the column of names is called where nothing was read.

    >>> found = Predictions(("a.png", "b.png"), ("cat", "dog"), torch.tensor([[0.75, 0.25], [0.5, 0.5]]))
    >>> found
    Predictions(2 examples: cat, cat)
    >>> found.frame().rows()
    [('a.png', 'cat', 0.75, 0.75, 0.25), ('b.png', 'cat', 0.5, 0.5, 0.5)]
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    values: Float[Tensor, "batch label"]
    texts: tuple[str, ...] = ()
    lower: Float[Tensor, "batch label"] | None = None
    upper: Float[Tensor, "batch label"] | None = None
    sets: tuple[tuple[str, ...], ...] = ()
    moments: tuple[tuple[str, ...], ...] = ()
    columns: tuple[str, ...] = ()
    read: Any = None
    called: str = "name"

    def top(self, count: int = 5) -> list[list[tuple[str, float]]]:
        """List, for each example, the most likely classes with their probabilities; none for a blank one."""
        best = self.values.topk(min(count, self.values.shape[1]), dim=1)
        return [
            [(self.classes[i], p) for i, p in zip(row.tolist(), prob.tolist(), strict=True) if p == p]
            for row, prob in zip(best.indices, best.values, strict=True)
        ]

    @property
    def labels(self) -> list[str]:
        """The most likely class of each example, or all its labels; "" for a blank one."""
        if self.texts:
            return list(self.texts)
        blank = self.values.isnan().any(1).tolist()
        best = self.values.argmax(1).tolist()
        return ["" if nothing else self.classes[i] for i, nothing in zip(best, blank, strict=True)]

    @property
    def answers(self) -> list[str]:
        """What is predicted for each example, in words: a class, a text, or numbers."""
        if self.texts or self.classes:
            return list(self.texts) or self.labels
        return [_spelled(*row) for row in zip(self.values.tolist(), self.intervals or [[]] * len(self), strict=True)]

    def lines(self, top: int = 5) -> list[tuple[str, str]]:
        """Name each example, or each moment of a forecast, and say what is predicted, with what is known about it.

        >>> Predictions(("a.png",), ("cat", "dog"), torch.tensor([[0.75, 0.25]])).lines()
        [('a.png', 'cat 75.0%, dog 25.0%')]
        """
        if steps := self.forecasts():
            ends: list[Any] = [()] * len(steps)
            if self.lower is not None and self.upper is not None:
                both = zip(self.forecasts(self.lower), self.forecasts(self.upper), strict=True)
                ends = [list(zip(low, high, strict=True)) for (*_, low), (*_, high) in both]
            names = [moment if len(self) == 1 else f"{name} {moment}" for name, moment, _ in steps]
            return [(name, _spelled(step[2], end)) for name, step, end in zip(names, steps, ends, strict=True)]
        words = self.answers
        if self.classes:
            ranked = self.top(top)
            if self.texts:
                ranked = [list(zip(self.classes, row, strict=True)) for row in self.values.tolist()]
            shares = [", ".join(f"{label} {share:.1%}" for label, share in row) for row in ranked]
            sets = [f"{{{', '.join(classes)}}}; " for classes in self.sets] or [""] * len(self)
            held = [f"{text} ({part})" for text, part in zip(words, shares, strict=True)]
            words = held if self.texts else [before + part for before, part in zip(sets, shares, strict=True)]
        return list(zip(self.names, words, strict=True))

    @property
    def intervals(self) -> list[list[tuple[float, float]]]:
        """The ends of the intervals around the outputs of each example; none where no coverage was asked for."""
        if self.lower is None or self.upper is None:
            return []
        rows = zip(self.lower.tolist(), self.upper.tolist(), strict=True)
        return [list(zip(low, high, strict=True)) for low, high in rows]

    def forecasts(self, of: Float[Tensor, "batch label"] | None = None) -> list[tuple[str, str, list[float]]]:
        """List name, moment and values (or ends of intervals) of every step of forecasts whose moments have names."""
        if not self.moments or not all(self.moments):
            return []
        rows = []
        for name, moments, row in zip(self.names, self.moments, self.values if of is None else of, strict=True):
            steps = row.reshape(len(moments), -1).tolist()
            rows += [(name, moment, values) for moment, values in zip(moments, steps, strict=True)]
        return rows

    def frame(self) -> "pl.DataFrame":
        """Give a polars table: what was read, or names, and beside it the predictions.

        Predictions are in the columns `predicted`, `probability` and `p(CLASS)`; of real outputs in `predicted`,
        `predicted 2`, ...; of texts in `predicted` and `value`; of several labels in `predicted` and `p(LABEL)`;
        with a coverage also in `lower` and `upper`, or `set`. Where the examples have such a column, a mark is added.
        A forecast has a row for each moment and a column for each target.
        """
        import polars as pl

        if steps := self.forecasts():
            table: dict[str, list[Any]] = {
                self.called: [step[0] for step in steps],
                "moment": [step[1] for step in steps],
            }
            for word, ends in (("", None), ("lower ", self.lower), ("upper ", self.upper)):
                if not word or ends is not None:
                    rows = [values for _, _, values in self.forecasts(ends)]
                    table |= {word + name: [row[j] for row in rows] for j, name in enumerate(self.columns)}
            return pl.DataFrame(table)
        beside = pl.DataFrame({self.called: list(self.names)}) if self.read is None else self.read
        columns = []
        for name, values in self._columns():
            while name in beside.columns:
                name += "*"
            blank = [None if value != value or value == "" else value for value in values]
            columns.append(pl.Series(name, blank))
        return beside.with_columns(columns)

    def _columns(self) -> Iterator[tuple[str, list[Any]]]:
        columns = [column.tolist() for column in self.values.unbind(1)]
        if self.texts and not self.classes:
            yield from (("predicted", list(self.texts)), ("value", columns[0]))
        elif self.classes:
            yield "predicted", self.labels
            if not self.texts:
                yield "probability", self.values.amax(1).tolist()
            yield from ((f"p({label})", column) for label, column in zip(self.classes, columns, strict=True))
            if self.sets:
                yield "set", ["; ".join(classes) for classes in self.sets]
        else:
            for word, values in (("predicted", self.values), ("lower", self.lower), ("upper", self.upper)):
                for j, column in enumerate([] if values is None else values.unbind(1)):
                    yield f"{word} {j + 1}" if j else word, column.tolist()

    def save(self, path: str | Path) -> Path:
        """Write the table of `frame` to a .csv, .tsv, .parquet or .jsonl file."""
        path = Path(path)
        check_suffix(path)
        frame = self.frame()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".parquet":
                frame.write_parquet(path)
            elif path.suffix == ".jsonl":
                frame.write_ndjson(path)
            else:
                frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
        except OSError as error:
            raise ArgumentError(f"predictions cannot be written to `{path}` ({error}): choose another file.") from error
        return path

    def spread(self, places: Sequence[int], names: Sequence[str]) -> "Predictions":
        """Give each prediction its place among more examples, the others of which have none.

        >>> found = Predictions(("a",), (), torch.tensor([[1.0]])).spread([1], ["", "a"])
        >>> found.values.flatten().tolist(), found.answers
        ([nan, 1.0], ['', '1'])
        """
        values = torch.full((len(names), self.values.shape[1]), torch.nan, dtype=self.values.dtype)
        values[list(places)] = self.values
        written = dict(zip(places, self.texts, strict=True)) if self.texts else None
        texts = () if written is None else tuple(written.get(i, "") for i in range(len(names)))
        return replace(self, names=tuple(names), values=values, texts=texts)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        first = ", ".join(self.answers[:5]) + (", ..." if len(self) > 5 else "")
        return f"Predictions({len(self)} example{'s' * (len(self) != 1)}: {first})"

    def _repr_html_(self) -> str:
        frame = self.frame().head(10)
        rows = tuple(tuple("" if cell is None else _short(cell) for cell in row) for row in frame.iter_rows())
        right = [j for j, kind in enumerate(frame.dtypes) if kind.is_numeric()]
        return str(Table(tuple(frame.columns), rows, right).html())


def save_parts(parts: Iterable[Predictions], path: str | Path) -> int:
    """Write predictions that come part by part to one file, as `Predictions.save` would; only one part is held.

    Args:
        parts: the predictions, with the same columns in all parts.
        path: a .csv, .tsv, .parquet or .jsonl file; what was there is replaced when all is written.

    Returns:
        How many were written.
    """
    path, count = Path(path), 0
    check_suffix(path)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        frames = _alike(part.frame() for part in parts)
        if path.suffix == ".parquet":
            count = _save_parquet(frames, unfinished)
        else:
            with unfinished.open("wb") as file:
                for frame in frames:
                    if path.suffix == ".jsonl":
                        frame.write_ndjson(file)
                    else:
                        frame.write_csv(
                            file, separator="\t" if path.suffix == ".tsv" else ",", include_header=not count
                        )
                    count += frame.height
        replace_file(unfinished, path)
    except OSError as error:
        raise ArgumentError(f"predictions cannot be written to `{path}` ({error}): choose another file.") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return count


def _alike(frames: "Iterable[pl.DataFrame]") -> "Iterator[pl.DataFrame]":
    """Give all frames the types of the first."""
    schema: Any = None
    for frame in frames:
        schema = frame.schema if schema is None else schema
        yield frame.cast(dict(schema))


def _save_parquet(frames: "Iterator[pl.DataFrame]", path: Path) -> int:
    """Let polars write frames as they come; what goes wrong while they are made is raised as it is."""
    from polars.io.plugins import register_io_source

    first = next(frames, None)
    if first is None:
        return 0
    count, wrong = 0, list[BaseException]()

    def given(*_: Any) -> "Iterator[pl.DataFrame]":
        nonlocal count
        try:
            for frame in chain([first], frames):
                count += frame.height
                yield frame
        except BaseException as error:
            wrong.append(error)
            raise

    try:
        register_io_source(given, schema=first.schema).sink_parquet(path)
    except Exception as error:
        raise (wrong or [error])[0] from None
    return count


def _spelled(values: Sequence[float], intervals: Sequence[tuple[float, float]] = ()) -> str:
    """Write numbers, each with its interval if it has one; what is no number is left out.

    >>> _spelled([1.5, 2.0], [(1.0, 2.0), (1.5, 2.5)])
    '1.5 [1, 2], 2 [1.5, 2.5]'
    """
    ends = [f" [{low:.6g}, {high:.6g}]" for low, high in intervals] or [""] * len(values)
    return ", ".join(f"{value:.6g}{end}" for value, end in zip(values, ends, strict=True) if value == value)


def check_suffix(path: str | Path) -> None:
    """Refuse a file that predictions cannot be written to."""
    if Path(path).suffix not in SUFFIXES:
        raise ArgumentError(
            f"predictions are written to files that end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, got "
            f"`{Path(path).as_posix()}`: choose one of these endings."
        )


def _short(cell: Any) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)
