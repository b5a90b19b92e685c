"""`lamina catalogue` and `lamina errata`: find what the notes say by id or by word, with its code, tests and pages."""

import json
import re
from dataclasses import asdict
from typing import Annotated

import typer

from lamina._catalogue import Erratum, Item, errata, errata_of, items
from lamina._errors import ArgumentError

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
_KINDS = ("equation", "algorithm", "definition", "example")


def catalogue(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID|WORDS]", help="An id such as N5.32 or E70, a chapter such as N5, or words to find."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say where an item of the notes lives: the code that implements it and the test that checks it."""
    if words and re.fullmatch(r"[Ee]\d\d?", words[0]):
        show_errata(words, as_json)
        return
    chosen = find_rows(words or [])
    if not chosen:
        raise ArgumentError(
            "`ID` must be an id of the catalogue, N1.01 to N5.49 or E01 to E77, or words that occur in it, "
            f"got {' '.join(words or [])!r}."
        )
    if as_json:
        rows = [asdict(row) | {"errata": [slip.id for slip in errata_of(row.id)]} for row in chosen]
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    elif len(chosen) > 1:
        from lamina.cli.tables import show

        show(("id", "kind", "title", "code"), [(r.id, r.kind, r.title, "\n".join(r.code)) for r in chosen])
    else:
        row = chosen[0]
        print(f"{row.id}  {row.kind}, §{row.section}, {row.place}\n{row.title}")
        for part in ("code", "test", "page"):
            for name in getattr(row, part) or ((f"pending (issue {7 if part == 'page' else row.owner})",)):
                print(f"  {part:7} {name}")
        for slip in errata_of(row.id):
            print(f"  erratum {slip.id}  The notes: {slip.says} Right: {slip.right}")


def show_errata(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID|WORDS]", help="An id such as E70, a row such as N5.37, or words to find."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List where the notes slip: what they say, what is right, and the code that does it right."""
    chosen = find_errata(words or [])
    if not chosen:
        raise ArgumentError(
            f"`ID` must be an erratum, E01 to E77, or words that occur in one, got {' '.join(words or [])!r}."
        )
    if as_json:
        print(json.dumps([asdict(slip) for slip in chosen], indent=1, ensure_ascii=False))
    elif len(chosen) > 1:
        from lamina.cli.tables import show

        show(("id", "notes", "title", "right"), [(s.id, " ".join(s.rows), s.title, s.right) for s in chosen])
    else:
        slip = chosen[0]
        print(f"{slip.id}  {slip.title} ({slip.kind})\n  notes   {slip.says}\n  right   {slip.right}")
        for key in slip.rows:
            print(f"  row     {key}: {items()[key].title}")
        for part in ("code", "page"):
            for name in getattr(slip, part):
                print(f"  {part:7} {name}")


def find_rows(words: list[str]) -> list[Item]:
    """Return the rows that have all words, the ones whose own code is named so and equations first.

    >>> [row.id for row in find_rows(["gru"])][:2]
    ['N5.32', 'N5.30']
    """

    def rank(row: Item) -> tuple[bool, int]:
        own = row.code[0].rpartition(":")[2] if row.code else ""
        kind = row.kind.partition(",")[0]
        named = all(_has(word, row.id, own) for word in words)
        return not named, _KINDS.index(kind) if kind in _KINDS else len(_KINDS)

    found = [row for row in items().values() if all(_has(word, row.id, _text(row)) for word in words)]
    return sorted(found, key=rank) if any(not _is_id(word) for word in words) else found


def find_errata(words: list[str]) -> list[Erratum]:
    """Return the errata that have all words, or belong to the rows that are named.

    >>> [slip.id for slip in find_errata(["N1.47"])]
    ['E01', 'E02']
    """
    return [
        slip
        for slip in errata().values()
        if all(any(_has(word, key, _text(slip)) for key in (slip.id, *slip.rows)) for word in words)
    ]


def _text(row: Item | Erratum) -> str:
    if isinstance(row, Item):
        return " ".join((row.title, row.kind, row.place, *(name.rpartition(":")[2] for name in row.code)))
    return " ".join((row.title, row.kind, row.says, row.right, *(name.rpartition(":")[2] for name in row.code)))


def _is_id(word: str) -> bool:
    return re.fullmatch(r"(N[1-5](\.\d{0,2})?|E\d\d?)", word, re.IGNORECASE) is not None


def _has(word: str, key: str, text: str) -> bool:
    """Say whether an id begins with `word`, or `word` begins a word of the text.

    >>> _has("n5", "N5.32", ""), _has("gru", "N5.32", "GRUCell gru_step"), _has("ru", "N5.32", "gru_step")
    (True, True, False)
    """
    if _is_id(word):
        return key.startswith(word.upper())
    return re.search(rf"(?<![a-z]){re.escape(word.lower())}", text.lower()) is not None
