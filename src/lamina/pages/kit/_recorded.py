"""Results of experiments that take longer than a reader waits: recorded once, shown at once.

A record is a file `shipped/experiments/NAME.json` with exactly what `lamina experiment NAME --json` prints. To record
another one, or the same one again, write the output of that command there.
"""

import json
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from lamina._errors import ArgumentError, choice
from lamina._markup import Markup, tag
from lamina.experiments.plots import plot
from lamina.experiments.result import Claim, Plot, Result
from lamina.pages.kit import _blocks as blocks

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
    drawn: dict[str, Any] = {
        key: tuple(part) if isinstance(part, list) else part for key, part in (values["draw"] or {}).items()
    }
    return Result(values["title"], columns, rows, *claims, plot=Plot(**drawn) if drawn else None)


def recorded(
    name: str, sentence: str, columns: Sequence[str] | None = None, *, picture: "Html | None" = None
) -> "Html":
    """Show a recorded result: one sentence, one chart, and in a drawer the table, the claims and the command.

    Args:
        name: of the experiment's function.
        sentence: what it says, Markdown; `{accuracy[0]:.0%}` is the first number of a column, as `str.format` has it.
        columns: which columns the table has; all by default.
        picture: another chart than that of the experiment.
    """
    shown = None if columns is None else tuple(columns)
    if picture is not None or blocks.collected is not None:
        return blocks.html(_finding(name, sentence, shown, picture))
    return blocks.html(_recorded(name, sentence, shown))


@lru_cache(512)
def _recorded(name: str, sentence: str, columns: tuple[str, ...] | None) -> str:
    """Give what is the same for every reader."""
    return _finding(name, sentence, columns)


def _finding(name: str, sentence: str, columns: tuple[str, ...] | None, picture: "Html | None" = None) -> str:
    found = recorded_result(name)
    return finding(found, sentence, columns, picture=picture, again=f"lamina experiment {name}").text


def said(result: Result, sentence: str) -> str:
    """Put numbers of a table into a sentence, powers of ten as people write them.

    >>> powers = Result("powers", ("n", "2^n"), ((1, 2), (10, 1024)))
    >>> said(powers, "It grows to {2^n[1]:,}, or {2^n[1]:.0e}, by {n[0]:.0%}.")
    'It grows to 1,024, or 10³, by 100%.'
    """
    words = sentence.format(**{column: result.column(column) for column in result.columns})
    return blocks.powers(words)


def finding(
    result: Result,
    sentence: str,
    columns: Sequence[str] | None = None,
    *,
    picture: "Html | None" = None,
    again: str = "",
) -> "Html":
    """Show what an experiment gave: one sentence, the chart that its `plot` names, and a drawer with all the rest.

    Args:
        result: what it gave.
        sentence: what that says, as `recorded` takes it.
        columns: which columns the table has; all by default.
        picture: another chart than that of the experiment.
        again: the command that measures it again.
    """
    shown = result.columns if columns is None else tuple(columns)
    for column in shown:
        choice("columns", column, result.columns)
    places = [result.columns.index(column) for column in shown]
    rows = [[_cell(row[place]) for place in places] for row in result.rows]
    numbers = [i for i, place in enumerate(places) if any(_is_number(row[place]) for row in result.rows)]
    claims = tag("ul", [tag("li", _claim(claim)) for claim in result.claims], class_="lamina-claims")
    command = tag("p", "Measured with ", tag("code", again), class_="lamina-again") if again else None
    held = sum(claim.holds for claim in result.claims)
    handle = tag("summary", f"Table, and {held} of {len(result.claims)} claims that hold")
    table = Markup(blocks.table(shown, rows, caption=result.title, right=numbers).text)
    if picture is None and result.plot is not None:
        picture = blocks.svg(plot(result), f"{result.title}: {result.plot.label} by {result.plot.x}")
    chart = None if picture is None else Markup(picture.text)
    words = Markup(blocks.prose(said(result, sentence)).text)
    drawer = tag("details", handle, table, claims, command, class_="lamina-drawer")
    return blocks.html(tag("div", words, chart, drawer, class_="lamina-measured"))


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
