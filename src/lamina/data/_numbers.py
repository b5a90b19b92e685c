r"""Numbers as people write them: "1.234,56", "€6,866", "6.866 €", "62 %", "1 234,5", "1'234.50", "(1,200)", "12,50-".

A number may have a sign (before or behind it, or parentheses for minus), groups of three digits with one kind of mark
between them, and a currency or a percent sign at one end. The percent sign is dropped: 62 % is 62. A column tells by
itself whether a comma or a point is its decimal mark, unless all of its marks could stand before thousands, as in
"1,234". Beside a currency they do: money has no three decimals. Otherwise what was said decides, else the other
columns, else the file that was read before. When none of them tells, the point is the decimal mark, but for commas in a
file whose cells are separated by semicolons.

A unit behind the numbers, as in "179 m²" or "12 kg", is dropped where all cells of a column have the same one.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

FEW = 20  # in a column with more different values, a few that are no number are mistakes
_SAMPLE = 1000  # cells that show whether a column can be one of numbers
_CODES = (
    "EUR USD GBP CHF JPY CNY INR AUD CAD NZD SEK NOK DKK PLN CZK HUF RON TRY RUB BRL MXN ZAR KRW SGD HKD kr zł Kč Ft"
)
_MONEY = rf"(?:(?:US|AU?|CA?|NZ|HK|R)?\$|\p{{Sc}}|{'|'.join(_CODES.split())})"
_UNIT = f"(?:%|{_MONEY})"
_MINUS = "[-−–]"
_MEASURE = r"((?:[\p{L}\p{Sc}°Ω\"′″][\p{L}°Ω²³⁻¹/·^*.]*[23]?)(?: \p{L}+[23²³]?)?)"
"""What a unit looks like: "kg", "m²", "m2", "km/h", "°C", "€/m²", "sq ft"."""

_CLOSE = (
    "kg g mg lb lbs oz km m cm mm nm mi ft in yd h hr hrs min s sec ms l ml cl W kW MW kWh V mV mA Hz kHz MHz GHz Pa "
    "hPa kPa bar mbar psi kJ cal kcal Nm kB KB MB GB TB px m2 m3 km2 cm2 cm3 ccm qm sqm ha sqft km/h kmh mph m/s rpm "
    "PS hp yrs years days hours mins"
).split()
"""Units that may follow their number without a space; without this list, house numbers such as 12a would be numbers."""

_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def _pattern(mark: str) -> str:
    """Write the grammar of numbers with a decimal mark as a regular expression."""
    point, other = ("\\.", ",") if mark == "." else (",", "\\.")
    grouped = "|".join(rf"[1-9]\d{{0,2}}(?:{between}\d{{3}})+" for between in (other, "['’]", r"\s"))
    if mark == ".":
        grouped += r"|[1-9]\d?(?:,\d{2})+,\d{3}"  # lakh and crore
    number = rf"(?:(?:\d+|{grouped})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"
    unsigned = rf"(?:{_UNIT}\s*)?{number}(?:\s*{_UNIT})?"
    signed = rf"(?:(?:\+|{_MINUS})\s*)?(?:{_UNIT}\s*)?(?:\+|{_MINUS})?{number}(?:\s*{_UNIT})?"
    return rf"^(?:{signed}|{unsigned}\s*{_MINUS}(?:\s*{_UNIT})?|\({unsigned}\))$"


PATTERNS = {mark: _pattern(mark) for mark in ".,"}


@dataclass(frozen=True)
class Marks:
    """What was found out about the numbers of a table.

    Args:
        decimal: the decimal mark of the table; None when no number tells.
        decimals: the columns that have the other one.
        units: the columns whose numbers all have a unit behind them, and which.
        notes: what was decided, as sentences.
        doubts: sentences about what might be wrong.
    """

    decimal: str | None
    decimals: tuple[tuple[str, str], ...] = ()
    units: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Written:
    """A column of text that holds numbers: whether Python could read them, and the mark if the column tells it."""

    column: "pl.Series"
    plain: bool
    mark: str | None
    doubtful: str | None = None  # a cell that can be read in two ways
    unit: str = ""


def plain_numbers(
    frame: "pl.DataFrame",
    *,
    said: str | None = None,
    before: Marks | None = None,
    semicolons: bool = False,
    known: Collection[str] | None = None,
) -> tuple["pl.DataFrame", Marks]:
    """Write the numbers of a table as Python does: "1.234,56 €" becomes "1234.56".

    Args:
        frame: columns of any kind; only text is looked at.
        said: the decimal mark that the user named.
        before: what was found in an earlier table of this kind.
        semicolons: whether semicolons separate the cells.
        known: the columns that hold numbers; by default those in which every cell is one, or nearly every cell and
            more than 20 different ones.

    >>> import polars as pl
    >>> found, marks = plain_numbers(pl.DataFrame({"a": ["1.234,56 €", "-7"], "b": ["62 %", "70%"], "c": ["x", "1"]}))
    >>> found.rows(), marks.decimal
    ([('1234.56', '62', 'x'), ('-7', '70', '1')], ',')
    """
    import polars as pl

    schema, earlier = frame.schema, before or Marks(None)
    units, bare = dict(earlier.units), bare_numbers(frame)
    digits = with_digits(frame)
    written = [
        found
        for name in (schema if known is None else known)
        if schema[name] == pl.String
        and (known is not None or name in bare or name in digits)
        and (
            found := _Written(frame[name], True, None)
            if name in bare and name not in units
            else _written(frame[name], known is not None, units.get(name))
        )
        is not None
    ]
    expected = "," in (said, earlier.decimal, *dict(earlier.decimals).values())
    if expected or any(found.mark == "," or found.doubtful for found in written):
        # A plain "1.234" means 1234 where commas are decimal marks.
        written = [_with_points(found) if found.plain else found for found in written]
    votes = [found.mark for found in written if found.mark]
    decimal = said or _majority(votes, earlier.decimal)
    sure = decimal is not None
    if decimal is None and written:
        comma = semicolons and any("," in (found.doubtful or "") for found in written)
        decimal = "," if comma else "."
    usual = {} if said else dict(earlier.decimals)
    marks = {found.column.name: found.mark or usual.get(found.column.name, decimal) or "." for found in written}
    columns = [
        _plain(found.column, marks[found.column.name])
        for found in written
        if not found.plain or found.unit or (found.doubtful and marks[found.column.name] == ",")
    ]
    decimals = tuple((name, mark) for name, mark in marks.items() if mark != decimal)
    told = [_doubt(found, marks[found.column.name]) for found in written if found.doubtful]
    notes, mixed = _said(written)
    measured = tuple((found.column.name, found.unit) for found in written if found.unit)
    if sure:
        return frame.with_columns(columns), Marks(decimal, decimals, measured, (*told, *notes), mixed)
    return frame.with_columns(columns), Marks(decimal, decimals, measured, notes, (*told, *mixed))


def bare_numbers(frame: "pl.DataFrame") -> frozenset[str]:
    """Name the columns of text in which Python can read every value, of which there are some; all at once.

    >>> import polars as pl
    >>> sorted(bare_numbers(pl.DataFrame({"a": ["1", None], "b": ["1,5", "2"], "c": [1, 2], "d": ["-1e5", "nan"]})))
    ['a', 'd']
    """
    import polars as pl

    texts = frame.select(pl.col(pl.String))
    if not texts.width:
        return frozenset()
    gaps = texts.null_count().row(0)
    after = texts.select(pl.all().cast(pl.Float64, strict=False).null_count()).row(0)
    there = zip(texts.columns, gaps, after, strict=True)
    return frozenset(name for name, before, now in there if before == now < frame.height)


def with_digits(frame: "pl.DataFrame") -> frozenset[str]:
    """Name the columns of text that have a digit somewhere; all at once, since a table may have thousands.

    >>> import polars as pl
    >>> sorted(with_digits(pl.DataFrame({"a": ["x", "route 66"], "b": ["y", None], "c": [1, 2]})))
    ['a']
    """
    import polars as pl

    texts = frame.select(pl.col(pl.String))
    found = texts.select(pl.all().str.contains(r"\d").any()).row(0) if texts.width else ()
    return frozenset(name for name, there in zip(texts.columns, found, strict=True) if there)


def _said(written: list[_Written]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Say where the comma is the decimal mark and which signs were dropped; and where several currencies were."""
    notes = []
    if commas := [found.column.name for found in written if found.mark == ","]:
        notes.append(f"The comma is the decimal mark in {_listed(commas)}.")
    units = {found.column.name: _units(found.column) for found in written if not found.plain}
    if percent := [name for name, signs in units.items() if "%" in signs]:
        notes.append(f"The percent sign is dropped in {_listed(percent)}: 62 % is read as 62.")
    if measured := [f"{found.unit} in {found.column.name!r}" for found in written if found.unit]:
        notes.append(f"Units behind numbers are dropped: {', '.join(measured)}.")
    mixed = (
        f"Column {name!r} mixes {' and '.join(sorted(signs))}: the numbers are read as they are written."
        for name, signs in units.items()
        if len(signs) > 1
    )
    return tuple(notes), tuple(mixed)


def is_number(cell: str) -> bool:
    """Say whether a cell is a number as people write them.

    >>> is_number("-1.234,5 €"), is_number("2024-01-01"), is_number("1e5")
    (True, False, True)
    """
    import polars as pl

    text = pl.Series([cell])
    return bool(text.cast(pl.Float64, strict=False).is_not_null()[0]) or any(
        text.str.contains(pattern)[0] for pattern in PATTERNS.values()
    )


def _written(column: "pl.Series", known: bool, unit: str | None = None) -> _Written | None:
    """Find out whether a column of text holds numbers, which may have a unit, and whether it tells its decimal mark."""
    found = None if unit is not None else _bare(column, known)
    if found is not None and not known:
        return found
    unit = unit or _unit(column)
    if not unit:
        return found
    without = column.str.replace(rf"\s*{re.escape(unit)}\s*$", "")
    measured = _bare(without, known)
    return found if measured is None else replace(measured, unit=unit)


def _unit(column: "pl.Series") -> str:
    """Give the unit that stands behind all numbers of a column, or nothing."""
    units = column.drop_nulls().str.extract_groups(rf"\d[.,]?(\s*){_MEASURE}\s*$").struct.unnest()
    different = units["2"].unique()
    if len(different) != 1 or different[0] is None:
        return ""
    unit = str(different[0])
    close = unit in _CLOSE or not unit.isascii()
    return unit if unit[:3] not in _MONTHS and (close or (units["1"] != "").all()) else ""


def _bare(column: "pl.Series", known: bool) -> _Written | None:
    """Find out whether a column of text holds numbers without a unit."""
    import polars as pl

    there = column.drop_nulls()
    sample = there.gather_every(max(1, len(there) // _SAMPLE))
    if not len(there):
        return None
    if sample.cast(pl.Float64, strict=False).null_count() == 0:
        if there.cast(pl.Float64, strict=False).null_count() == 0:
            return _Written(column, True, None)
    elif not known and max(sample.str.contains(pattern).sum() for pattern in PATTERNS.values()) < len(sample) / 2:
        return None
    fits = {mark: there.str.contains(pattern) for mark, pattern in PATTERNS.items()}
    point, comma = int(fits["."].sum()), int(fits[","].sum())
    most = max(point, comma)
    if not known and most < len(there) and (most < 0.9 * len(there) or there.n_unique() <= FEW):
        return None
    if point != comma:
        return _Written(column, False, "." if point > comma else ",")
    marked = there.filter(fits["."] & there.str.contains("[.,]"))
    if len(marked) and marked.str.contains(_MONEY).all():
        return _Written(column, False, "." if "," in marked[0] else ",")
    return _Written(column, False, None, marked[0] if len(marked) else None)


def _with_points(found: _Written) -> _Written:
    """Say of a column that Python can read whether its points are decimal marks, or could stand before thousands."""
    there = found.column.drop_nulls()
    points = there.filter(there.str.contains(".", literal=True))
    if not len(points):
        return found
    clear = not points.str.contains(PATTERNS[","]).all()
    return replace(found, mark="." if clear else None, doubtful=None if clear else points[0])


def _majority(votes: list[str], earlier: str | None) -> str | None:
    commas = votes.count(",")
    if 2 * commas == len(votes):  # none, or as many of each
        return earlier or (votes[0] if votes else None)
    return "," if 2 * commas > len(votes) else "."


def _plain(column: "pl.Series", mark: str) -> "pl.Series":
    """Rewrite the cells that are numbers."""
    import polars as pl

    negative = pl.col("t").str.contains(rf"^\(|^[^\d.,]*{_MINUS}|\d[^\deE]*{_MINUS}[^\d]*$")
    digits = pl.col("t").str.extract(r"([\d.,](?:[\d.,'’\s]*[\d.,])?(?:[eE][+-]?\d+)?)")
    digits = digits.str.replace_all(r"[,'’\s]" if mark == "." else r"[.'’\s]", "").str.replace(mark, ".", literal=True)
    number = pl.when(negative).then("-" + digits).otherwise(digits)
    rewritten = pl.when(pl.col("t").str.contains(PATTERNS[mark])).then(number).otherwise(pl.col("t"))
    return column.to_frame("t").select(rewritten.alias(column.name)).to_series()


def _units(column: "pl.Series") -> set[str]:
    """Give the currencies and percent signs that stand beside the numbers."""
    return set(column.str.extract(rf"({_UNIT})").drop_nulls().unique().to_list())


def _doubt(found: _Written, mark: str) -> str:
    import polars as pl

    cell, other = found.doubtful, "." if mark == "," else ","
    values = [_plain(pl.Series("t", [cell]), each)[0] for each in (mark, other)]
    return (
        f"{cell!r} in column {found.column.name!r} could mean {values[0]} or {values[1]}: it is read as {values[0]} "
        f"(decimal={other!r} for the other)."
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"the column{'s' * (len(names) > 1)} {', '.join(map(repr, names[:5]))}{more}"
