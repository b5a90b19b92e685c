"""Tables in the terminal: colored and fitted to the window, or plain tab-separated text when piped."""

import sys
from collections.abc import Sequence


def show(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print rows under a head; columns named in `right` are aligned to the right."""
    if not sys.stdout.isatty():
        for row in (head, *rows):
            print("\t".join(cell.replace("\n", " ") for cell in row))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, name in enumerate(head):
        table.add_column(name, justify="right" if index in right else "left", no_wrap=index == 0)
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)
