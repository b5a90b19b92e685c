"""Tables in the terminal: colored and fitted to the window, or plain tab-separated text when piped."""

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
