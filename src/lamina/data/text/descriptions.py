r"""One thing, described by a text: pictures with their words, rows of a table with a sentence each (one to many).

    data = load("digit-words")                          # pictures of digits, and "seven" to be written
    data = load("names.csv", kind="descriptions")       # a class or a few columns, and a column of text
    prepare = DescriptionPreprocess.of(split.train)     # inputs as `Preprocess`, texts by a dictionary

Inputs are stored as pictures and tables are, the texts as code points; tokens are made of them when batches are.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import torch

from lamina._errors import DataError, DataWarning, choice
from lamina._types import Int, Num, Tensor
from lamina.data._columns import open_table, read_features, read_groups
from lamina.data.cells import source_of
from lamina.data.dataset import ArrayDataset, BaseDataset, Dataset, Spec
from lamina.data.preprocess import Preprocess
from lamina.data.ragged import Ragged
from lamina.data.text.texts import _codes_of, answers_of, text_of
from lamina.data.text.vocabulary import END, Vocabulary, Wording

DIGITS = {
    "english": "zero one two three four five six seven eight nine".split(),
    "german": "null eins zwei drei vier fünf sechs sieben acht neun".split(),
}


@dataclass(frozen=True, eq=False, repr=False)
class DescriptionDataset(BaseDataset):
    """Examples of any kind with a text each, which is to be written.

    Notes: N5.09 (§5).

    Args:
        things: what is read; its targets are not looked at.
        answers: the texts, as `_codes_of` stores them.

    >>> things = ArrayDataset(torch.eye(2), torch.arange(2), Spec("vector", "classification", (2,), 2))
    >>> data = DescriptionDataset.of(things, ["yes", "no"])
    >>> data.spec.task, answers_of(data)
    ('description', ['yes', 'no'])
    """

    things: Dataset
    answers: Ragged
    spec: Spec
    official_test: None = None

    @classmethod
    def of(cls, things: Dataset, texts: Sequence[str]) -> "DescriptionDataset":
        """Make a dataset of things and strings."""
        if len(texts) != len(things):
            raise DataError(f"`texts` must have one entry for each of the {len(things)} things, got {len(texts)}.")
        spec = replace(things.spec, task="description", outputs=1, classes=())
        return cls(things, _codes_of(texts), spec)

    @property
    def groups(self) -> Tensor | None:  # type: ignore[override]
        """The groups of the things."""
        return getattr(self.things, "groups", None)

    @cached_property
    def targets(self) -> Int[Tensor, "batch time"]:  # type: ignore[override]
        """All texts as one padded tensor."""
        return self.answers.padded(torch.arange(len(self)))

    def __len__(self) -> int:
        return len(self.answers)

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give stored things, and the code points of their texts padded with -1."""
        return self.things.take(indices)[0], self.answers.padded(indices, self.answers.longest)

    def fingerprints(self) -> Int[Tensor, " batch"] | None:
        """Give the numbers of the things: equal ones stay together in a split."""
        return self.things.fingerprints() if isinstance(self.things, BaseDataset) else None


@dataclass(frozen=True)
class DescriptionPreprocess(Preprocess):
    """A preparation of things, and the dictionary of the texts that describe them.

    Args:
        vocabulary: of the texts of the training part.
        steps: how many tokens the longest of them has, END among them; longer ones are cut.

    >>> things = ArrayDataset(torch.eye(2), torch.arange(2), Spec("vector", "classification", (2,), 2))
    >>> data = DescriptionDataset.of(things, ["ja", "nein"])
    >>> prepare = DescriptionPreprocess.of(data)
    >>> prepare.steps, prepare.write(prepare.targets(data.targets))
    (5, ['ja', 'nein'])
    """

    vocabulary: Vocabulary = field(default_factory=lambda: Vocabulary(Wording("character"), (), {}))
    steps: int = 1

    @classmethod
    def of(cls, train: Dataset, wording: Wording | None = None) -> "DescriptionPreprocess":
        """Fit to the training part: inputs as one row of numbers, texts as characters unless said otherwise."""
        plain = Preprocess.fit(train)
        vocabulary = Vocabulary.fit(answers_of(train), wording or Wording("character"))
        steps = vocabulary.encode_all(answers_of(train), end=True).longest
        values = {each.name: getattr(plain, each.name) for each in fields(Preprocess)}
        return cls(**values | {"inputs": (math.prod(plain.inputs),)}, vocabulary=vocabulary, steps=steps)

    @property
    def output_size(self) -> int:
        """How many outputs a network needs at each step."""
        return len(self.vocabulary)

    def targets(self, targets: Num[Tensor, "batch ..."]) -> Num[Tensor, "batch ..."]:
        """Prepare stored texts as tokens [batch, steps], with END and padding."""
        rows = self.vocabulary.encode_all([text_of(row) for row in targets], end=True)
        tokens = rows.padded(torch.arange(len(rows)), max(rows.longest, self.steps))[:, : self.steps]
        cut = (tokens[:, -1:] != 0) & (tokens[:, -1:] != END)
        return torch.cat([tokens[:, :-1], torch.where(cut, END, tokens[:, -1:])], 1)

    def untargets(self, outputs: Num[Tensor, "batch ..."]) -> Num[Tensor, "batch ..."]:
        """Give outputs as they are."""
        return outputs

    def write(self, tokens: Int[Tensor, "batch time"]) -> list[str]:
        """Give the texts of tokens that a network wrote, up to END."""
        return [self.vocabulary.decode(row, display=True) for row in tokens.cpu()]

    def as_dict(self) -> dict[str, Any]:
        """Give plain JSON values; `from_dict` takes them back."""
        return {**super().as_dict(), "vocabulary": self.vocabulary.as_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "DescriptionPreprocess":
        """Make a preparation of what `as_dict` gave."""
        own = ("vocabulary", "steps")
        plain = Preprocess.from_dict({name: value for name, value in values.items() if name not in own})
        rest = {each.name: getattr(plain, each.name) for each in fields(Preprocess)}
        return cls(**rest, vocabulary=Vocabulary.from_dict(values["vocabulary"]), steps=values["steps"])


def digit_words(language: str = "english") -> DescriptionDataset:
    """Give the handwritten digits of scikit-learn, 8 x 8, with their words.

    Args:
        language: "english" or "german".

    >>> data = digit_words("german")
    >>> answers_of(data)[:3], data.spec.inputs
    (['null', 'eins', 'zwei'], (1, 8, 8))
    """
    from lamina.data.load import digits

    choice("language", language, tuple(DIGITS))
    things = digits()
    words = [DIGITS[language][label] for label in things.targets.tolist()]
    about = replace(things, spec=replace(things.spec, source="digit-words"))
    return DescriptionDataset.of(about, words)


def load_descriptions(
    path: Any, target: str | None = None, *, group: str | None = None, drop: Sequence[str] = (), **form: Any
) -> DescriptionDataset:
    r"""Read a table with a column of text that is to be written when the others were read.

    Args:
        path: a file of a table (see `lamina.data.cells.SUFFIXES`) or a table that a program holds, such as a DataFrame.
        target: the column of text; by default the one with most letters.
        group: a column whose rows of one value stay together in a split; it is not read.
        drop: columns to leave out.
        form: how to read the table, as in `Format`: `delimiter`, `encoding`, `decimal`, `quote`, `header`, `sheet`.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "sounds.csv").write_text("animal,says\ncat,meow\ndog,woof woof\ncat,meow\n")
    ...     data = load_descriptions(Path(folder, "sounds.csv"))
    >>> data.spec.levels, answers_of(data)
    ((('cat', 'dog'),), ['meow', 'woof woof', 'meow'])
    """
    import polars as pl

    cells = open_table(path, form, [(target, "target"), (group, "group"), *((name, "drop") for name in drop)])
    frame, file = cells.frame, cells.name
    names = [name for name in frame.columns if name != group and name not in drop]
    if target is None:
        texts = (frame[name] for name in names if frame[name].dtype == pl.String)
        letters = {column.name: int(column.str.count_matches(r"\p{L}").sum() or 0) for column in texts}
        target = max(letters, key=lambda name: letters[name], default="")
        if not letters.get(target):
            raise DataError(f"{file} has no column of text to write: name the column with `target`.")
    written = frame[target].cast(pl.String)
    if written.null_count():
        row = int(written.is_null().arg_true()[0]) + 1
        raise DataError(f"{file}: the text {target!r} is missing in row {row}: fill it in or remove the row.")
    kept, odd = read_features(frame, [name for name in names if name != target], file)
    if not kept:
        raise DataError(f"{file} has no column to read besides the text {target!r}: check the delimiter.")
    if odd:
        warnings.warn(f"{file}: {' '.join(odd)}", DataWarning, stacklevel=2)
    features, levels, dates = zip(*((column.name, column.levels, column.date) for column in kept), strict=True)
    notes = (*cells.notes, f"The column {target!r} is to be written.", *odd)
    spec = Spec(
        "table",
        "regression",
        (len(kept),),
        1,
        features=features,
        target=target,
        source=source_of(path),
        levels=levels,
        notes=notes,
        dates=dates,
        reading=cells.reading,
    )
    rows = torch.stack([column.values for column in kept], 1)
    groups = None if group is None else read_groups(frame[[group]], file)
    return DescriptionDataset.of(ArrayDataset(rows, torch.zeros(len(rows)), spec, groups), written.to_list())
