"""The tables of docs/faults.md: what was injected, how often, and what came of it, from the records."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

Records = Callable[[str], dict[str, Any] | None]


def _table(head: tuple[str, ...], rows: list[tuple[Any, ...]], left: int = 1) -> str:
    marks = ["---"] * left + ["---:"] * (len(head) - left)
    shown = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, marks, *shown))


def kills(recorded: Records) -> str:
    """Show what signals did to commands."""
    if (record := recorded("kills")) is None:
        return ""
    signals = list(dict.fromkeys(row["signal"] for row in record["rows"]))
    rows = []
    for verb in dict.fromkeys(row["verb"] for row in record["rows"]):
        those = [row for row in record["rows"] if row["verb"] == verb]
        count = Counter(row["signal"] for row in those)
        bad = sum(bool(row["fault"]) for row in those)
        rows.append(
            (verb, *(count[name] for name in signals), sum(row["ended"] == "ended before" for row in those), bad)
        )
    head = ("command", *signals, "ended before it came", "lost, corrupt or other bytes")
    total = record["total"]
    note = (
        f"{total['faults']:,} faults, {total['while it ran']:,} of them while the command ran; `benchmarks/kills.py`."
    )
    return f"{_table(head, rows)}\n\n{note}"


def fuzz(recorded: Records) -> str:
    """Show what became of hostile inputs."""
    if (record := recorded("fuzz")) is None:
        return ""
    keys = "inputs", "read", "refused", "tracebacks", "hangs", "deaths"
    rows = [
        (row["parser"], *(row[key] for key in keys), f"{row['slowest_seconds']:.2f} s", f"{row['megabytes']} MB")
        for row in record["rows"]
    ]
    head = ("parser", "inputs", "read", "refused", "tracebacks", "over 2 s", "ended the process", "slowest", "memory")
    total = record["total"]
    note = (
        f"{total['inputs']:,} inputs, seed {record['seed']}. Memory is the most that a process held, torch and all of "
        "Lamina included; that of the page messages is the visitor's, whose server may hold 1,500 MB. "
        "`benchmarks/fuzz.py`."
    )
    return f"{_table(head, rows)}\n\n{note}"


def damage(recorded: Records) -> str:
    """Show whether damaged bytes were noticed."""
    if (record := recorded("damage")) is None:
        return ""
    keys = "places", "said", "repair", "nothing changed", "silent", "traceback"
    rows = [(f"a {row['of']} of {row['bytes']:,} bytes", *(row[key] for key in keys)) for row in record["rows"]]
    head = ("folder", "damaged bytes", "said", "found by `lamina repair`", "no effect", "silent", "tracebacks")
    note = (
        "Nine of ten places lie in the small files, the others anywhere, in checkpoints and reports too. No effect is "
        "allowed for manifest.jsonl alone: everything that is read is as it was. `benchmarks/damage.py`."
    )
    return f"{_table(head, rows)}\n\n{note}"


def soak(recorded: Records) -> str:
    """Show what grew or stayed behind."""
    if (record := recorded("soak")) is None:
        return ""
    rows = []
    for row in record["rows"]:
        at_once = row.get("processes at once")
        what = row["work"] + (f", in each of {at_once} processes" if at_once else "")
        first, last = row["megabytes"][min(1, len(row["megabytes"]) - 1)], row["megabytes"][-1]
        kept = (row[key] for key in ("files", "threads", "processes", "left"))
        rows.append((what, row["count"], f"{first:.0f} MB", f"{last:.0f} MB", f"{row['growth']:+.1%}", *kept))
    head = ("work", "times", "memory after a fifth", "in the end", "growth", "open files", "threads", "processes",
            "temporary files")  # fmt: skip
    missing = f"Not yet measured: {', '.join(record['missing'])}. " if record["missing"] else ""
    return f"{_table(head, rows)}\n\nThe last four columns count what stayed behind. {missing}`benchmarks/soak.py`."


def hostile(recorded: Records) -> str:
    """Show how long honest visitors wait beside hostile ones."""
    if (record := recorded("hostile_visitors")) is None:
        return ""
    timed = [row for row in record["rows"] if "seconds" in row]
    rows = [(row["what"], *(f"{row[key]:.2f} s" for key in ("seconds", "p95", "most")), row["n"]) for row in timed]
    memory = next(row for row in record["rows"] if "before" in row)
    broken = next(row for row in record["rows"] if row["what"].startswith("tracebacks"))
    note = (
        f"{record['cores']} cores, {record['seconds']:.0f} s; memory of the server {memory['before']:.0f} MB before, "
        f"{memory['most']:.0f} MB at most; {broken['count']} tracebacks of the server. "
        "`benchmarks/hostile_visitors.py`."
    )
    return f"{_table(('who', 'median', '95 %', 'longest', 'moves'), rows)}\n\n{note}"


def tables(recorded: Records) -> Iterator[tuple[str, Callable[[], str]]]:
    """Give the tables with the names of their marks."""
    for make in (kills, fuzz, damage, soak, hostile):
        yield f"faults, {make.__name__}", lambda make=make: make(recorded)
