"""`lamina catalogue` and `lamina errata`: find what the notes say by id or by word, with its code, tests and pages."""

import json
import re
from collections import Counter
from dataclasses import asdict, replace
from difflib import get_close_matches
from functools import cache
from typing import Annotated

import typer

from lamina._catalogue import Erratum, Item, errata, errata_of, items
from lamina._errors import ArgumentError
from lamina.cli._voice import say

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
_WORTH = {"equation": 6, "algorithm": 6, "definition": 3, "example": 3}
"""How much the kind of a row counts in a search by words; a matching name in the code counts 3, a matching title 2."""


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
    chosen = _find_rows(words or [])
    if not chosen:
        raise ArgumentError(
            "`ID` must be an id of the catalogue, N1.01 to N5.49 or E01 to E77, or words that occur in it, "
            f"got {' '.join(words or [])!r}.{_nearest(words or [])}"
        )
    if as_json:
        rows = [asdict(row) | {"errata": [slip.id for slip in errata_of(row.id)]} for row in chosen]
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    elif len(chosen) > 1:
        from lamina.cli._tables import show

        show(("id", "kind", "title", "code"), [(r.id, r.kind, r.title, "\n".join(r.code)) for r in chosen])
    else:
        row = chosen[0]
        say(f"{row.id}  {row.kind}, §{row.section}, {row.place}\n{row.title}")
        for part in ("code", "test", "page"):
            for name in getattr(row, part) or ((f"pending (issue {7 if part == 'page' else row.owner})",)):
                say(f"  {part:7} {name}")
        for slip in errata_of(row.id):
            say(f"  erratum {slip.id}  The notes: {slip.says} Right: {slip.right}")


def show_errata(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID|WORDS]", help="An id such as E70, a row such as N5.37, or words to find."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List where the notes slip: what they say, what is right, and the code that gets it right."""
    chosen = _find_errata(words or [])
    if not chosen:
        raise ArgumentError(
            f"`ID` must be an erratum, E01 to E77, or words that occur in one, got {' '.join(words or [])!r}."
            + _nearest(words or [])
        )
    if as_json:
        print(json.dumps([asdict(slip) for slip in chosen], indent=1, ensure_ascii=False))
    elif len(chosen) > 1:
        from lamina.cli._tables import show

        show(("id", "notes", "title", "right"), [(s.id, " ".join(s.rows), s.title, s.right) for s in chosen])
    else:
        slip = chosen[0]
        say(f"{slip.id}  {slip.title} ({slip.kind})\n  notes   {slip.says}\n  right   {slip.right}")
        for key in slip.rows:
            say(f"  row     {key}: {items()[key].title}")
        for part in ("code", "page"):
            for name in getattr(slip, part):
                say(f"  {part:7} {name}")


def _find_rows(words: list[str]) -> list[Item]:
    """Return the rows that have all words; what fits best comes first, among rows and within one.

    >>> [(row.id, row.code[0]) for row in _find_rows(["bottleneck"])][:1]
    [('N4.19', 'lamina.layers.bottleneck:OriginalBottleneck')]
    """
    rows = items().values()
    found = [row for row in rows if all(_has(word, row.id, _text(row)) for word in words)]
    asked = [word for word in words if not _is_id(word)]
    if not asked:
        return found
    often = Counter(name for row in rows for name in row.code)

    def about(text: str) -> bool:
        return _has("".join(asked), "", text) or all(_has(word, "", text) for word in asked)

    def place(name: str) -> tuple[bool, int]:
        module, _, own = name.rpartition(":")
        return not about(own), -often[name] if about(module.rpartition(".")[2]) and not about(own) else 0

    def worth(row: Item) -> int:
        named = about(row.code[0].rpartition(":")[2])
        return 3 * named + 2 * about(row.title) + _WORTH.get(row.kind.partition(",")[0], 0)

    found = [replace(row, code=tuple(sorted(row.code, key=place))) for row in found]
    return sorted(found, key=worth, reverse=True)


def _nearest(words: list[str]) -> str:
    """Name the word of the catalogue that comes nearest to one that is not there.

    >>> _nearest(["xaver"]), _nearest(["qqqq"])
    (" Did you mean 'xavier'?", '')
    """
    rows: list[Item | Erratum] = [*items().values(), *errata().values()]
    known = {part for row in rows for part in _parts(_text(row)) if len(part) > 2}
    for word in words:
        if near := get_close_matches(word.lower(), sorted(known), 1, 0.75):
            return f" Did you mean {near[0]!r}?" if near[0] != word.lower() else ""
    return ""


def _find_errata(words: list[str]) -> list[Erratum]:
    """Return the errata that have all words, or belong to the rows that are named.

    >>> [slip.id for slip in _find_errata(["N1.47"])]
    ['E01', 'E02']
    """
    return [
        slip
        for slip in errata().values()
        if all(any(_has(word, key, _text(slip)) for key in (slip.id, *slip.rows)) for word in words)
    ]


def _text(row: Item | Erratum) -> str:
    words = (row.place,) if isinstance(row, Item) else (row.says, row.right)
    return " ".join((row.title, row.kind, *words, *(re.split(r"\W", name, maxsplit=2)[-1] for name in row.code)))


def _is_id(word: str) -> bool:
    return re.fullmatch(r"(N[1-5](\.\d{0,2})?|E\d\d?)", word, re.IGNORECASE) is not None


@cache
def _parts(text: str) -> list[str]:
    """Split a text into its words, and names into theirs.

    >>> _parts("k-means: KMeansFit of GRUCell, leaky_relu")
    ['k', 'means', 'k', 'means', 'fit', 'of', 'gru', 'cell', 'leaky', 'relu']
    """
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+", text)]


def _has(word: str, key: str, text: str) -> bool:
    """Say whether an id begins with `word`, or `word` begins at a word of the text; gaps and hyphens do not count.

    >>> _has("n5", "N5.32", ""), _has("gru", "N5.32", "GRUCell gru_step"), _has("ru", "N5.32", "gru_step")
    (True, True, False)
    >>> _has("kmeans", "", "k-means"), _has("k-means", "", "KMeansFit")
    (True, True)
    """
    if _is_id(word):
        return key.startswith(word.upper())
    asked, parts = "".join(_parts(word.lower())), _parts(text)
    return bool(asked) and any(
        "".join(parts[start : start + len(asked)]).startswith(asked) for start in range(len(parts))
    )
