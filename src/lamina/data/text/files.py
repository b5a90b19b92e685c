r"""Files of texts: a table with a column of text, pairs in a TSV file, plain text; and which of them a file is.

What cannot be read gets one sentence that names the file, the line and the way out.
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lamina._errors import DataError, at_least, choice
from lamina.data._columns import find_target, open_table, read_groups, read_target
from lamina.data.cells import DELIMITERS, TEXTS, decoded, encoding_of, read_bytes, source_of
from lamina.data.paths import shown
from lamina.data.text.texts import PairDataset, RunningText, TextDataset, _equal_texts
from lamina.data.text.words import _is_punctuation, split_words

FORMS = ("table", "text", "pairs", "language", "series", "descriptions")
_SAMPLE = 2**16  # bytes that show what a file is


def load_text(
    path: Any,
    text: str | None = None,
    target: str | Sequence[str] | None = None,
    *,
    task: str | None = None,
    group: str | None = None,
    **form: Any,
) -> TextDataset:
    r"""Read a table with a column of text and a label or number for each.

    Args:
        path: a file of a table (see `lamina.data.cells.SUFFIXES`) or a table that a program holds, such as a DataFrame.
        text: the column of text; by default the one with most words.
        target: the column to predict, only one; by default one named target, label or class, else the last one.
        task: "classification" or "regression", as in `load_table`.
        group: a column whose rows of one value stay together in a split; by default equal texts do.
        form: how to read the table, as in `Format`: `delimiter`, `encoding`, `decimal`, `quote`, `header`, `sheet`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     rows = "label,review\n1,a fine film\n0,no fun at all\n1,see it\n0,what a bore\n"
    ...     _ = Path(folder, "films.csv").write_text(rows)
    ...     data = load_text(Path(folder, "films.csv"))
    >>> data.spec.classes, data.spec.notes[0]
    (('0', '1'), "The target is the column 'label', by its name.")
    """
    import polars as pl

    choice("task", task, (None, "classification", "regression"))
    cells = open_table(path, form, [(text, "text"), (group, "group")])
    frame, file = cells.frame, cells.name
    names = [name for name in frame.columns if name != group]
    if target is None and text is not None:
        names = [name for name in names if name != text] or names
    target, notes = find_target(target, names, file)
    others = [name for name in names if name != target and frame[name].dtype == pl.String]
    if text is None:
        if not others:
            raise DataError(f"{file} has no column of text besides the target {target!r}: name it with `text`.")
        text = max(others, key=lambda name: frame[name].str.count_matches(r"\S+").sum() or 0)
    if text == target:
        raise DataError(f"{file}: `text` and `target` must differ, got {text!r} for both.")
    labels, _, classes, more = read_target(frame[target], task, file)
    left = [name for name in names if name not in (text, target)]
    texts = frame[text].cast(pl.String).fill_null("").to_list()
    notes += [*more, *([f"Only the column {text!r} is read; {', '.join(left)} are not."] if left else [])]
    if empty := texts.count(""):
        notes.append(f"{empty} text{'s are' if empty > 1 else ' is'} empty.")
    groups = _equal_texts(texts) if group is None else read_groups(frame[[group]], file)
    return TextDataset.of(
        texts,
        labels,
        classes,
        source=source_of(path),
        groups=groups if len(groups.unique()) < len(texts) else None,
        notes=(*cells.notes, *notes),
        target=target,
        reading=cells.reading,
    )


def load_pairs(
    path: str | Path, *, reverse: bool = False, longest: int | None = None, encoding: str | None = None
) -> PairDataset:
    r"""Read pairs of texts: one pair per line, a tab between them; what follows a second tab is not read.

    Args:
        path: a .tsv or .txt file.
        reverse: read the second text and write the first.
        longest: leave out pairs of which a text has more words.
        encoding: how bytes mean letters; found out when not given.

    Returns:
        The pairs; those whose first texts have the same words stay together in a split.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "pairs.tsv").write_text("Hi.\tHallo!\nRun!\tLauf!\n")
    ...     len(load_pairs(Path(folder, "pairs.tsv")))
    2
    """
    file = shown(path)
    pairs = _read_pairs(decoded(read_bytes(path), encoding, file), file)
    return _as_pairs(pairs, str(path), reverse, longest)


def _read_pairs(text: str, file: str) -> list[tuple[str, str]]:
    """Cut lines into pairs; blank lines are passed over."""
    pairs, cells = [], 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("\t")]
        cells = cells or len(parts)
        if len(parts) < 2 or len(parts) != cells:
            wanted = f"{cells} as in the first" if cells > 1 else "at least 2"
            raise DataError(
                f"{file} has {len(parts)} text{'s' * (len(parts) > 1)} in line {number}, not {wanted}: put one tab "
                "between the two texts of a pair."
            )
        if not (parts[0] and parts[1]):
            side = "first" if not parts[0] else "second"
            raise DataError(f"{file}: the {side} text in line {number} is empty: fill it in or remove the line.")
        pairs.append((parts[0], parts[1]))
    if not pairs:
        raise DataError(f"{file} is empty: each pair of texts needs a line, with a tab between the two.")
    return pairs


def _as_pairs(
    pairs: Sequence[tuple[str, str]], source: str, reverse: bool, longest: int | None, notes: tuple[str, ...] = ()
) -> PairDataset:
    """Make a dataset of pairs, in one direction, of limited length, grouped by the words of what is read."""
    if reverse:
        pairs = [(second, first) for first, second in pairs]
    if longest is not None:
        at_least("longest", longest, 1)
        kept = [pair for pair in pairs if all(len(_words_in(text)) <= longest for text in pair)]
        if not kept:
            raise DataError(f"{source} has no pair of at most {longest} words: allow a larger `longest`.")
        notes = (*notes, f"{len(kept):,} of {len(pairs):,} pairs have at most {longest} words on both sides.")
        pairs = kept
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    groups = _equal_texts(" ".join(_words_in(text.casefold())) or text for text in first)
    few = len(first) > int(groups.max()) + 1
    return PairDataset.of(first, second, source=source, groups=groups if few else None, notes=notes)


def _words_in(text: str) -> list[str]:
    """Give the words of a text without its marks."""
    return [word for word in split_words(text) if not _is_punctuation(word)]


def load_running_text(path: str | Path, *, block: int = 256, encoding: str | None = None) -> RunningText:
    r"""Read a file as one running text, whose next characters are to be predicted.

    Args:
        path: any file of text.
        block: the length of an example.
        encoding: how bytes mean letters; found out when not given.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "poem.txt").write_text("To be,\nor not to be")
    ...     len(load_running_text(Path(folder, "poem.txt")).codes)
    19
    """
    file = shown(path)
    text = decoded(read_bytes(path), encoding, file)
    if not text.strip():
        raise DataError(f"{file} is empty: a running text needs some characters to learn from.")
    return RunningText.of(text, block=block, source=str(path))


# What a file is


def form_of(path: Path, options: Sequence[str], wanted: str | None = None) -> str:
    """Say how to read a file: as one of `FORMS`.

    Args:
        path: the file.
        options: the names of the options given: `window` is for series, `text` for texts, `block` for a running text.
        wanted: what the user asked for.

    >>> form_of(Path("nowhere.csv"), ["window"])
    'series'
    """
    if wanted is not None:
        choice("kind", wanted, FORMS)
        return wanted
    for option, form in (("window", "series"), ("text", "text"), ("block", "language"), ("reverse", "pairs")):
        if option in options:
            return form
    suffix = path.suffix.lower()
    if suffix not in TEXTS or not path.is_file():
        return "table"
    try:
        with path.open("rb") as stream:
            sample = stream.read(_SAMPLE)
    except OSError:  # whoever reads the table says it
        return "table"
    # the last line may be cut, within a letter too
    whole = sample[: sample.rfind(b"\n") + 1] if len(sample) == _SAMPLE else sample
    lines = sample.decode(encoding_of(whole), "replace").removeprefix("\ufeff").splitlines()
    lines = lines[:-1] if len(sample) == _SAMPLE else lines
    return _looks_like([line for line in lines if line.strip()][:400], suffix)


def _looks_like(lines: list[str], suffix: str) -> str:
    """Decide by the first lines; what is in doubt is a table."""
    tabbed = [line.split("\t") for line in lines if "\t" in line]
    if suffix != ".csv" and len(tabbed) >= 0.9 * len(lines) and _are_pairs(tabbed):
        return "pairs"
    rows = {
        mark: [row for row in csv.reader(io.StringIO("\n".join(lines)), delimiter=mark) if row] for mark in DELIMITERS
    }
    even = {mark: len(found[0]) for mark, found in rows.items() if found and len({len(row) for row in found}) == 1}
    mark = max(even, key=lambda mark: even[mark], default="")
    if suffix == ".txt" and even.get(mark, 1) == 1:
        letters = sum(c.isalpha() for line in lines for c in line)
        return "language" if 2 * letters > sum(not c.isspace() for line in lines for c in line) else "table"
    if even.get(mark) == 2 and len(rows[mark]) > 2:
        prose = [_is_prose([row[side].strip() for row in rows[mark][1:]]) for side in (0, 1)]
        return "text" if sum(prose) == 1 else "table"
    return "table"


def _are_pairs(rows: list[list[str]]) -> bool:
    """Say whether both of the first columns hold texts that mostly differ: no table could be learned from that."""
    if len(rows) < 2 or not all(2 <= len(row) <= 3 for row in rows[:1]):
        return False
    sides = [[row[side] for row in rows if len(row) > side] for side in (0, 1)]
    texts = all(sum(any(c.isalpha() for c in cell) for cell in side) >= 0.9 * len(side) for side in sides)
    return texts and 3 * len(set(sides[0])) > len(sides[0]) and 2 * len(set(sides[1])) > len(sides[1])


def _is_prose(cells: list[str]) -> bool:
    words = sum(len(cell.split()) for cell in cells)
    return words >= 3 * len(cells) and 2 * len(set(cells)) > len(cells)
