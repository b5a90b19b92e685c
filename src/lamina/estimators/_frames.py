"""DataFrames with categories, dates or missing cells, which no array of numbers holds: read as `lamina.load` does."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from lamina._errors import ArgumentError, DataError
from lamina._types import Tensor
from lamina.data.dataset import ArrayDataset, Spec
from lamina.data.frames import as_frame
from lamina.data.tables import load_table, read_rows

if TYPE_CHECKING:
    import polars as pl


def mixed(X: Any) -> "pl.DataFrame | None":
    """Give a DataFrame that holds more than numbers: text, categories, dates or missing cells; None for all else.

    >>> import polars as pl
    >>> mixed(pl.DataFrame({"x": [1.0, 2.0], "color": ["red", None]})).columns
    ['x', 'color']
    >>> mixed(pl.DataFrame({"x": [1.0, 2.0]})) is None
    True
    """
    if not hasattr(X, "columns") or (frame := as_frame(X)) is None:
        return None
    import polars as pl

    plain = all(kind.is_numeric() or kind == pl.Boolean for kind in frame.dtypes)
    numbers = [name for name, kind in frame.schema.items() if kind.is_float()]
    gaps = any(frame.null_count().row(0)) or any(frame[name].is_nan().any() for name in numbers)
    return None if plain and not gaps else frame


def as_dataset(frame: "pl.DataFrame", targets: Any, about: dict[str, Any]) -> ArrayDataset:
    """Make a dataset of a DataFrame and of targets that are labels or real numbers.

    Args:
        frame: one example per row.
        targets: [N] or [N, outputs].
        about: the task, and for labels the names of the classes.
    """
    import polars as pl

    columns = np.asarray(targets).reshape(len(targets), -1).T
    names = [_unused(f"target {number}", frame.columns) for number in range(len(columns))]
    whole = frame.with_columns(pl.Series(name, column) for name, column in zip(names, columns, strict=True))
    with _in_words_of_estimators():
        data = cast(ArrayDataset, load_table(whole, names, task=about["task"], stream=False))
    return replace(data, spec=replace(data.spec, classes=about.get("classes", ()), target=""))


def as_stored(X: Any, spec: Spec) -> Tensor:
    """Read the rows of a DataFrame as those of the training were."""
    if (frame := as_frame(X) if hasattr(X, "columns") else None) is None:
        raise ArgumentError(f"`X` must be a DataFrame with the columns of the training, got {type(X).__name__}.")
    return read_rows(frame, spec)


@contextmanager
def _in_words_of_estimators() -> Iterator[None]:
    """Say what the reader of tables says without the options that only it has."""

    def reworded(said: object) -> str:
        text = str(said).replace(" Insist with `keep`.", " Turn them into numbers or categories to insist.")
        return text.replace("leave it out with `drop`", "leave it out of `X`")

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            yield
        except DataError as error:
            raise DataError(reworded(error)) from error
    for each in heard:
        warnings.warn(reworded(each.message), each.category, stacklevel=4)


def _unused(name: str, names: list[str]) -> str:
    return _unused(f"{name}'", names) if name in names else name
