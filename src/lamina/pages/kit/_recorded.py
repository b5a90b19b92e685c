"""Results of experiments that take longer than a reader waits: recorded once, shown at once.

A record is a file `shipped/experiments/NAME.json` with exactly what `lamina experiment NAME --json` prints. To record
another one, or the same one again, write the output of that command there.
"""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from lamina._errors import ArgumentError, choice
from lamina._markup import Markup, tag
from lamina.experiments.result import Claim, Result

if TYPE_CHECKING:
    from marimo import Html

_FOLDER = files("lamina.pages").joinpath("shipped").joinpath("experiments")


def names() -> tuple[str, ...]:
    """List the experiments with a recorded result.

    >>> "order_counts" in names()
    True
    """
    found = (path.name for path in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in found if name.endswith(".json")))


@cache
def recorded_result(name: str) -> Result:
    """Read a recorded result.

    Args:
        name: of the experiment's function.

    >>> recorded_result("order_counts").column("network")
    ['counts', 'rnn', 'gru', 'lstm']
    """
    if name not in names():
        raise ArgumentError(
            f"`name` must be one of {', '.join(names())}, got {name!r}: "
            f"record it with `lamina experiment {name} --json`."
        )
    values = json.loads(_FOLDER.joinpath(f"{name}.json").read_text(encoding="utf-8"))
    columns = tuple(values["rows"][0])
    rows = tuple(tuple(row[column] for column in columns) for row in values["rows"])
    claims = tuple(Claim(claim["sentence"], claim["holds"]) for claim in values["claims"])
    return Result(values["title"], columns, rows, *claims)


def recorded(name: str, columns: Sequence[str] | None = None) -> "Html":
    """Show a recorded result: its table, what was claimed and whether it held, and the command that tries it again.

    Args:
        name: of the experiment's function.
        columns: which columns; all by default.
    """
    from lamina.pages.kit import _blocks as blocks

    found = recorded_result(name)
    shown = found.columns if columns is None else tuple(columns)
    for column in shown:
        choice("columns", column, found.columns)
    places = [found.columns.index(column) for column in shown]
    rows = [[_cell(row[place]) for place in places] for row in found.rows]
    numbers = [i for i, place in enumerate(places) if any(_is_number(row[place]) for row in found.rows)]
    claims = tag("ul", [tag("li", _claim(claim)) for claim in found.claims], class_="lamina-claims")
    again = tag("p", "Measured with ", tag("code", f"lamina experiment {name}"), class_="lamina-again")
    return blocks.column(blocks.table(shown, rows, caption=found.title, right=numbers), Markup(claims + again))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> Any:
    """Write a cell for people.

    >>> _cell(None), _cell(True), _cell(0.25)
    ('–', 'yes', 0.25)
    """
    if value is None:
        return "–"
    return ("yes" if value else "no") if isinstance(value, bool) else value


def _claim(claim: Claim) -> str:
    return f"{'✓' if claim.holds else '✗'} {claim.sentence}"
