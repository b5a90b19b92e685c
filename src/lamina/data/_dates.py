"""Dates and times: columns of them found by their spelling, moments as seconds since 1970, their parts as inputs.

The order of day, month and year is decided by a whole column: a number above 12 is a day. Moments with a time zone are
given in UTC, so that one moment is one number.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import torch

from lamina._types import Tensor

if TYPE_CHECKING:
    import polars as pl

LINEAR, CYCLES = ("year", "days"), {"month": 12, "weekday": 7, "hour": 24}
"""The parts of a moment: numbers, and the lengths of cycles."""

_YEAR, _DAY, _MONTH = r"(?<year>\d{4}|\d{2})", r"(?<day>\d{1,2})", r"(?<month>\d{1,2})"
_CLOCK = (
    r"(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2}(?:[.,]\d+)?))?(?: ?(?<half>[AaPp])\.?[Mm]\.?)?(?: ?Uhr)?"
    r" ?(?<zone>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?"
)
_SPELLINGS = {
    "year-month-day": rf"^(?<year>\d{{4}})[-/.]{_MONTH}(?:[-/.]{_DAY})?(?:(?:T|,? ){_CLOCK})?$",
    "day-month-year": rf"^{_DAY}[-/.]{_MONTH}[-/.]{_YEAR}(?:,? {_CLOCK})?$",
    "month-day-year": rf"^{_MONTH}[-/.]{_DAY}[-/.]{_YEAR}(?:,? {_CLOCK})?$",
    "hour:minute": rf"^{_CLOCK}$",
}
MONTHS = r"^\d{4}\.\d{1,2}$"
"""The only dates that are also numbers."""
_TIME = ("hour", "minute", "second")
_ENOUGH = 0.9  # of the texts must be dates


@dataclass(frozen=True)
class Dates:
    """Moments in seconds, NaN where there is none, how they are written, and whether that was a guess."""

    seconds: Tensor
    spelling: str
    unreadable: tuple[str, ...] = ()
    guessed: bool = False


def find_dates(series: "pl.Series", day_first: bool | None = None) -> Dates | None:
    """Read a column as one of dates, if it is one: by its type, or since nine of ten texts are dates of one spelling.

    >>> import polars as pl
    >>> find_dates(pl.Series(["1.2.1970", "13.2.1970", "14.2.1970"])).spelling
    'day-month-year'
    >>> find_dates(pl.Series(["red", "blue"]))
    """
    import polars as pl

    if series.dtype.is_temporal() and series.dtype != pl.Duration:
        return Dates(_typed(series), "hour:minute" if series.dtype == pl.Time else "year-month-day")
    if series.dtype != pl.String:
        return None
    there = series.drop_nulls()
    if not there.str.contains(r"\d").any():
        return None
    found = {name: int(there.str.contains(pattern).sum()) for name, pattern in _SPELLINGS.items()}
    spelling = max(found, key=lambda name: found[name])
    if found[spelling] < max(1, _ENOUGH * len(there)):
        return None
    guessed = False
    if spelling in ("day-month-year", "month-day-year"):
        spelling, guessed = _order(there, day_first)
    dates = read_dates(series, spelling)
    enough = len(dates.unreadable) <= (1 - _ENOUGH) * len(there)
    return Dates(dates.seconds, spelling, dates.unreadable, guessed) if enough else None


def read_dates(series: "pl.Series", spelling: str) -> Dates:
    """Read moments that are written in a known way, or with the year first; what is unreadable is missing."""
    import polars as pl

    if series.dtype.is_temporal() and series.dtype != pl.Duration:
        return Dates(_typed(series), spelling)
    text = series.cast(pl.String)
    values = _seconds(text, spelling)
    if spelling in ("day-month-year", "month-day-year"):
        values = values.zip_with(values.is_not_null(), _seconds(text, "year-month-day"))
    bad = text.filter(values.is_null() & text.is_not_null())
    return Dates(torch.from_numpy(values.fill_null(float("nan")).to_numpy().copy()), spelling, tuple(sorted(bad)))


def moment(seconds: float, spelling: str = "year-month-day") -> str:
    """Write a moment, without the time at midnight.

    >>> moment(86400 * 365.5), moment(86400.0), moment(3600, "hour:minute")
    ('1971-01-01 12:00:00', '1970-01-02', '01:00:00')
    """
    when = (datetime(1970, 1, 1) + timedelta(seconds=seconds)).replace(microsecond=0)
    if spelling == "hour:minute":
        return str(when.time())
    return str(when.date()) if seconds % 86400 == 0 else str(when)


def calendar(seconds: Tensor) -> dict[str, Tensor]:
    """Give the year and the places in the cycles of a year, a week and a day, all from 0; NaN where no moment is.

    >>> {name: values.tolist() for name, values in calendar(torch.tensor([5400.0 + 31 * 86400])).items()}
    {'year': [1970.0], 'month': [1.0], 'weekday': [6.0], 'hour': [1.5]}
    """
    gone, values = seconds.isnan(), seconds.double().cpu().nan_to_num().numpy()
    days = np.floor(values / 86400)
    months = days.astype(np.int64).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    # the first of January 1970 was a Thursday
    parts = {
        "year": 1970 + months // 12,
        "month": months % 12,
        "weekday": (days + 3) % 7,
        "hour": values % 86400 / 3600,
    }
    found = {
        name: torch.from_numpy(np.asarray(part, dtype=np.float64)).to(seconds.device) for name, part in parts.items()
    }
    return {name: torch.where(gone, torch.nan, part) for name, part in found.items()}


def linear_parts(seconds: Tensor, parts: tuple[str, ...], first: float) -> list[Tensor]:
    """Give the parts that are numbers: the year, and the days since the first moment of the training data."""
    values = {"year": calendar(seconds)["year"], "days": (seconds.double() - first) / 86400} if parts else {}
    return [values[name] for name in LINEAR if name in parts]


def cyclic_parts(seconds: Tensor, parts: tuple[str, ...]) -> list[Tensor]:
    """Give the parts that return as points of a circle, so that December is next to January; a gap is its center."""
    found = calendar(seconds) if parts else {}
    angles = [2 * torch.pi * found[name] / cycle for name, cycle in CYCLES.items() if name in parts]
    return [way(angle).nan_to_num() for angle in angles for way in (torch.sin, torch.cos)]


def _typed(series: "pl.Series") -> Tensor:
    """Give typed moments in seconds since 1970, times of a day in seconds since midnight."""
    import polars as pl

    if series.dtype == pl.Time:
        values = series.cast(pl.Int64) / 1e9
    else:
        values = (series.cast(pl.Datetime("us")) if series.dtype == pl.Date else series).dt.epoch("us") / 1e6
    return torch.from_numpy(values.cast(pl.Float64).fill_null(float("nan")).to_numpy().copy())


def _order(there: "pl.Series", day_first: bool | None) -> tuple[str, bool]:
    """Decide between day and month by the numbers above 12, else by what is usual, which is a guess unless dotted."""
    import polars as pl

    groups = there.str.extract_groups(r"^(\d+)([-/.])(\d+)").struct.unnest()
    first, second = (int((groups[name].cast(pl.Int32, strict=False) > 12).sum()) for name in ("1", "3"))
    dots, slashes = (int((groups["2"] == mark).sum()) for mark in "./")
    day = (2 * slashes <= len(there) if day_first is None else day_first) if first == second else first > second
    return "day-month-year" if day else "month-day-year", first == second and day_first is None and 2 * dots < len(
        there
    )


def _seconds(text: "pl.Series", spelling: str) -> "pl.Series":
    """Give texts of one spelling as seconds since 1970, null where they are none."""
    import polars as pl

    found = text.str.extract_groups(_SPELLINGS[spelling]).struct.unnest()
    clock = (pl.col(name).str.replace(",", ".", literal=True).cast(pl.Float64).fill_null(0.0) for name in _TIME)
    hour, minute, second = clock
    half = pl.col("half").str.to_lowercase()
    hour = pl.when(half.is_null()).then(hour).when(hour > 12).then(None).otherwise(hour % 12 + 12 * (half == "p"))
    right = (hour < 24) & (minute < 60) & (second < 60)
    zone = pl.col("zone").str.extract_groups(r"^([+-])(\d{2}):?(\d{2})?$").struct
    offset = zone.field("2").cast(pl.Float64) * 3600 + zone.field("3").cast(pl.Float64).fill_null(0.0) * 60
    offset = pl.when(zone.field("1") == "-").then(-offset).otherwise(offset).fill_null(0.0)
    if spelling == "hour:minute":
        days = pl.when(pl.col("hour").is_not_null()).then(0)
    else:
        year = pl.col("year").cast(pl.Int32)
        year = pl.when(pl.col("year").str.len_chars() > 2).then(year).otherwise(year + 2000 - 100 * (year > 68))
        whole = [year.cast(pl.String), *(pl.col(name).fill_null("1").str.zfill(2) for name in ("month", "day"))]
        short = (pl.col("year").str.len_chars() == 2) & (text.str.len_chars() < 8)  # 1.2.10 is a version
        short |= pl.col("day").is_null() & text.str.contains(".", literal=True)  # and 2024.5 a number
        date = pl.concat_str(whole, separator="-").str.to_date("%Y-%m-%d", strict=False)
        days = pl.when(~short & (year > 0)).then(date.cast(pl.Int32))
    moments = days * 86400.0 + hour * 3600 + minute * 60 + second - offset
    return found.select(pl.when(right).then(moments).alias("seconds"))["seconds"]
