"""Results in the terminal: tables, colored and fitted to the window or tab-separated when piped, and JSON."""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any


def show(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print rows under a head; columns named in `right` are aligned to the right."""
    if sys.stdout.isatty():
        from rich.console import Console

        Console().print(drawn(head, rows, right))
        return
    for row in (head, *rows):
        print("\t".join(cell.replace("\n", " ") for cell in row))


def show_json(value: Any, indent: int | None = 1) -> None:
    """Print plain values as JSON; numbers that are not finite become null."""
    print(json.dumps(_finite(value), indent=indent, ensure_ascii=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def drawn(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> Any:
    """Draw rows under a head, as rich prints them."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, name in enumerate(head):
        table.add_column(name, justify="right" if index in right else "left", no_wrap=index == 0)
    for row in rows:
        table.add_row(*map(Text, row))
    return table
