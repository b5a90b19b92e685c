"""Read `catalogue.toml`: every item of the lecture notes, which object implements it and which test checks it.

Imports no torch, so that commands and pages can list it at once.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Item:
    """One row of the catalogue.

    Args:
        id: the name by which code and tests cite it, such as `N5.32`.
        section: the section of the notes.
        place: where it stands there.
        kind: definition, equation, algorithm, example, table, figure, claim, remark, experiment or dataset.
        title: what it says, in short.
        owner: the issue that brings it, 1 to 7.
        code: the objects that implement it, as `module:name` or `docs/file.md`.
        test: the tests that check it, as `path::function`.
        page: the live pages that show it, as `ch1/perceptron`.
        pending: which of code, test and page are still to come.
    """

    id: str
    section: str
    place: str
    kind: str
    title: str
    owner: int
    code: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    page: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()


@cache
def items() -> dict[str, Item]:
    """Return all rows by id, in the order of the notes.

    >>> len(items())
    313
    """
    rows = tomllib.loads(files("lamina").joinpath("catalogue.toml").read_text(encoding="utf-8"))
    return {key: Item(key, **{name: _tuple(value) for name, value in row.items()}) for key, row in rows.items()}


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
