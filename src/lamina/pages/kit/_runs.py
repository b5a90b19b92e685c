"""Recorded runs: what a page shows before its button has been pressed.

A record is a file `shipped/recorded/CHAPTER.PAGE.WORK.json` with the settings of the page's first view and the rows
that the work gave with them; `tools/record_runs.py` writes it. With other settings there is nothing to show.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

_FOLDER = files("lamina.pages").joinpath("shipped").joinpath("recorded")
_CHAPTERS = "lamina.pages.chapters."


def name_of(work: Callable[..., Any]) -> str:
    """Name the record of a work.

    >>> from lamina.pages.chapters.ch5.translation._work import by_heart
    >>> name_of(by_heart)
    'ch5.translation.by_heart'
    """
    return f"{work.__module__.removeprefix(_CHAPTERS).removesuffix('._work')}.{work.__qualname__}"


def plain(value: Any, digits: int = 5) -> Any:
    """Give settings or a row as JSON has them: numbers rounded, tensors as lists, what is not finite as None.

    >>> plain({"a": (1.23456789, float("nan")), 2: "b"})
    {'a': [1.2346, None], '2': 'b'}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(part, digits) for key, part in value.items()}
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else None
    if isinstance(value, Sequence):
        return [plain(part, digits) for part in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist(), digits)
    return repr(value)


def settled(settings: Mapping[str, Any]) -> Any:
    """Give settings as a record has them, without the place where a visitor's files lie.

    >>> settled({"epochs": 3, "shelf": "/tmp/lamina-1"})
    {'epochs': 3}
    """
    return plain({name: value for name, value in settings.items() if name != "shelf"})


@cache
def _record(name: str) -> dict[str, Any]:
    path = _FOLDER.joinpath(f"{name}.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def recorded_rows(work: Callable[..., Any], settings: Mapping[str, Any]) -> list[Any]:
    """Give the rows that were recorded of a work with these settings; none if there is no such record.

    Args:
        work: the generator function.
        settings: what it is called with.

    >>> recorded_rows(dict, {})
    []
    """
    found = _record(name_of(work))
    same = bool(found) and found["settings"] == settled(settings)
    return list(found["rows"]) if same else []
