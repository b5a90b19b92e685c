"""Read `catalogue.toml`, every item of the lecture notes with its code and tests, and `errata.toml`, where they slip.

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


@dataclass(frozen=True)
class Erratum:
    """One slip of the notes.

    Args:
        id: the name by which docstrings and pages cite it, such as `E70`.
        title: what it is about.
        kind: wrong, too strong, open or PyTorch differs; several are separated by commas.
        rows: the rows of the catalogue that it belongs to.
        says: what the notes say.
        right: what is right.
        code: the objects that do it right, as `module:name` or `docs/file.md`.
        page: the live pages that talk about it, as `ch5/gates`.
    """

    id: str
    title: str
    kind: str
    rows: tuple[str, ...]
    says: str
    right: str
    code: tuple[str, ...] = ()
    page: tuple[str, ...] = ()


@cache
def items() -> dict[str, Item]:
    """Return all rows by id, in the order of the notes.

    >>> len(items())
    313
    """
    return {key: Item(key, **row) for key, row in _read("catalogue.toml").items()}


@cache
def errata() -> dict[str, Erratum]:
    """Return all errata by id.

    >>> errata()["E70"].rows
    ('N5.37',)
    """
    return {key: Erratum(key, **row) for key, row in _read("errata.toml").items()}


def errata_of(row: str) -> list[Erratum]:
    """Return the errata that belong to a row of the catalogue.

    >>> [erratum.id for erratum in errata_of("N1.47")]
    ['E01', 'E02']
    """
    return [erratum for erratum in errata().values() if row in erratum.rows]


def _read(name: str) -> dict[str, dict[str, Any]]:
    tables = tomllib.loads(files("lamina").joinpath(name).read_text(encoding="utf-8"))
    return {
        key: {field: tuple(value) if isinstance(value, list) else value for field, value in table.items()}
        for key, table in tables.items()
    }
