r"""Texts as data: labeled texts, pairs of texts, one running text; and what the modules around them are for.

A text is stored as its Unicode code points (int32, -1 after its end), so that `Subset`, `split`, `Sealed` and
fingerprints work on texts as on pictures, and nothing about words is decided before the training part is known:

    data = load("reviews.csv")           # files: a table with a column of text, pairs in a TSV file, plain text;
                                         # corpora: the published sets; phrasebook, sequences: made ones
    split = data.split()                 # official parts where there are any, grouped, or in order
    prepare = TextPreprocess.fit(split.train)        # tokens: dictionaries of the training part, saved with a run
    source = prepare.source(split.train, device)     # tokens: int64 batches, padded with PAD = 0
    for indices in source.order(batch_size, seed, epoch):           # batching: alike lengths together
        inputs, targets = source.batch(indices)

What `batch` gives, by `spec.task`: "classification" tokens [batch, time] with END at the end and labels [batch];
"translation" tokens [batch, time] of both texts, each with END at its end (`teacher_inputs(targets, START)` is what a
decoder reads). `lengths_of(tokens)` counts without the padding. "language" has no batches of its
own: `prepare.stream(split.train)` is one long row of tokens for `batching.stream_windows`. Synthetic tasks of kind
"tokens" and "series" are arrays already and go through `Preprocess`; steps without an answer have the target IGNORE.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch

from lamina._errors import DataError, at_least
from lamina._types import Int, Num, Seed, Tensor
from lamina.data.dataset import BaseDataset, Dataset, Spec, Subset
from lamina.data.ragged import Ragged

IGNORE = -100
"""The target of a step at which no answer is asked for, as in torch's losses."""

Divided = tuple[Dataset, Dataset, Dataset, str]
"""Training, validation and test part, and how they were made."""

_PAST = -1  # what stands after the end of a text
_PART = 2048  # texts read at a time


def _codes_of(texts: Iterable[str]) -> Ragged:
    """Store texts as code points."""
    texts = list(texts)
    data = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), "<i4")
    lengths = torch.tensor([len(text) for text in texts], dtype=torch.int64)
    return Ragged.by_lengths(torch.from_numpy(data.astype(np.int32)), lengths, _PAST)


def text_of(codes: Int[Tensor, " time"]) -> str:
    """Give the text of stored code points.

    >>> text_of(torch.tensor([72, 105, -1]))
    'Hi'
    """
    return _decoded(codes[None])[0]


def texts_of(dataset: Dataset) -> list[str]:
    """Give the input texts of a dataset of texts or of any part of one.

    >>> texts_of(TextDataset.of(["good", "bad"], torch.tensor([1, 0]), ("no", "yes")))
    ['good', 'bad']
    """
    return [text for part in _parts(dataset) for text in _decoded(dataset.take(part)[0])]


def answers_of(dataset: Dataset) -> list[str]:
    """Give the target texts of a dataset of pairs or of any part of one.

    >>> answers_of(PairDataset.of(["yes"], ["ja"]))
    ['ja']
    """
    return [text for part in _parts(dataset) for text in _decoded(dataset.take(part)[1])]


def running_text_of(dataset: Dataset) -> str:
    """Give the text of a running text or of any part of one.

    >>> running_text_of(RunningText.of("To be, or not to be", block=4))
    'To be, or not to be'
    """
    return "".join(texts_of(dataset))


def _equal_texts(texts: Iterable[str]) -> Int[Tensor, " batch"]:
    """Give each text a number, equal for equal texts."""
    numbers: dict[str, int] = {}
    return torch.tensor([numbers.setdefault(text, len(numbers)) for text in texts], dtype=torch.int64)


class _Texts(BaseDataset):
    """What labeled texts and pairs share: `texts`, of which equal ones are found, and parts that were published."""

    texts: Ragged
    official_validation: Dataset | None

    def _check(self, *names: str) -> None:
        for name in names:
            others = getattr(self, name)
            if others is not None and len(others) != len(self):
                raise DataError(f"`{name}` must have one entry for each of the {len(self)} texts, got {len(others)}.")

    def __len__(self) -> int:
        return len(self.texts)

    def fingerprints(self) -> Int[Tensor, " batch"]:
        """Give a 64-bit number for each text that is read, equal for equal ones."""
        rows = (self.texts.row(i).numpy().tobytes() for i in range(len(self)))
        marks = b"".join(hashlib.blake2b(row, digest_size=8).digest() for row in rows)
        return torch.from_numpy(np.frombuffer(marks, "<i8").astype(np.int64))

    def divide(self, seed: Seed, ratios: tuple[int, int, int]) -> Divided | None:
        """Keep the published parts, if all three were published."""
        if self.official_validation is None or self.official_test is None:
            return None
        whole = Subset(cast(Dataset, self), torch.arange(len(self)))
        return whole, self.official_validation, self.official_test, "as published"


@dataclass(frozen=True, eq=False)
class TextDataset(_Texts):
    """Texts with a label or a number each.

    Args:
        texts: as `_codes_of` stores them.
        targets: int64 labels or real targets.
        spec: what they are.
        groups: a number for each text; texts of one number stay in one part of a split.
        official_validation: a validation set that came with the data, together with a test set.
        official_test: a test set that came with the data.

    >>> data = TextDataset.of(["fine film", "no"], torch.tensor([1, 0]), ("bad", "good"), source="two")
    >>> data.spec.kind, data.take(torch.tensor([1]))
    ('text', (tensor([[110, 111]], dtype=torch.int32), tensor([0])))
    """

    texts: Ragged
    targets: Num[Tensor, "..."]
    spec: Spec
    groups: Int[Tensor, " _"] | None = None
    official_validation: Dataset | None = None
    official_test: Dataset | None = None

    def __post_init__(self) -> None:
        self._check("targets", "groups")

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        targets: Num[Tensor, "..."],
        classes: Sequence[str] = (),
        *,
        source: str = "",
        groups: Int[Tensor, " _"] | None = None,
        notes: tuple[str, ...] = (),
        target: str = "",
        reading: tuple[tuple[str, Any], ...] = (),
    ) -> "TextDataset":
        """Make a dataset of strings and their labels, or of real targets when no classes are named."""
        rows = _codes_of(texts)
        spec = Spec(
            "text",
            "classification" if classes else "regression",
            (rows.longest,),
            max(1, len(classes)),
            tuple(classes),
            target=target,
            source=source,
            notes=notes,
            reading=reading,
        )
        return cls(rows, targets, spec, groups)

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give the code points of texts, padded with -1, and the targets."""
        return self.texts.padded(indices), self.targets[indices]


@dataclass(frozen=True, eq=False)
class PairDataset(_Texts):
    """Pairs of texts, the second of which is to be written when the first was read.

    Notes: N5.03 (§5, Ex. 5.1).

    Args:
        texts: the first ones, as `_codes_of` stores them.
        answers: the second ones.
        spec: what they are.
        groups: a number for each pair; pairs of one number stay in one part of a split.
        official_validation: a validation set that came with the data, together with a test set.
        official_test: a test set that came with the data.
        division: a rule of its own for splitting: of the data, a seed and ratios it makes what `divide` gives.

    >>> data = PairDataset.of(["The sun is shining today"], ["Heute scheint die Sonne"])
    >>> data.spec.task, [text_of(row[0]) for row in data.take(torch.tensor([0]))]
    ('translation', ['The sun is shining today', 'Heute scheint die Sonne'])
    """

    texts: Ragged
    answers: Ragged
    spec: Spec
    groups: Int[Tensor, " _"] | None = None
    official_validation: Dataset | None = None
    official_test: Dataset | None = None
    division: "Callable[[PairDataset, Seed, tuple[int, int, int]], Divided] | None" = None

    def __post_init__(self) -> None:
        self._check("answers", "groups")

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        answers: Sequence[str],
        *,
        source: str = "",
        target: str = "",
        groups: Int[Tensor, " _"] | None = None,
        notes: tuple[str, ...] = (),
        division: "Callable[[PairDataset, Seed, tuple[int, int, int]], Divided] | None" = None,
    ) -> "PairDataset":
        """Make a dataset of pairs of strings; equal first texts are kept together unless other groups are given."""
        rows = _codes_of(texts)
        if groups is None:
            numbers = _equal_texts(texts)
            groups = numbers if len(texts) and int(numbers.max()) + 1 < len(texts) else None
        spec = Spec("pairs", "translation", (rows.longest,), 1, target=target, source=source, notes=notes)
        return cls(rows, _codes_of(answers), spec, groups, division=division)

    @cached_property
    def targets(self) -> Int[Tensor, "batch time"]:  # type: ignore[override]
        """All second texts as one padded tensor."""
        return self.answers.padded(torch.arange(len(self)))

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give the code points of both texts, padded with -1."""
        return self.texts.padded(indices), self.answers.padded(indices)

    def divide(self, seed: Seed, ratios: tuple[int, int, int]) -> Divided | None:
        """Keep the published parts, if all three were published; else follow `division`, if there is one."""
        if self.division is not None:
            return self.division(self, seed, ratios)
        return super().divide(seed, ratios)


@dataclass(frozen=True, eq=False, repr=False)
class RunningText(BaseDataset):
    """One long text, of which every next character is to be predicted; its examples are blocks in order.

    Args:
        codes: the code points of the text.
        spec: what it is.
        block: the length of an example; the last one may be shorter.
        shares: the fixed shares of training, validation and test text, for a set that has them; without a test share
            the validation text is the test text too, as published figures have it.

    >>> data = RunningText.of("To be, or not to be", block=5)
    >>> len(data), [text_of(row[0]) for row in data.take(torch.tensor([1]))]
    (4, [', or ', ' or n'])
    """

    codes: Int[Tensor, " time"]
    spec: Spec
    block: int = 256
    shares: tuple[int, int, int] | None = None
    groups: None = None
    official_test: None = None

    def __post_init__(self) -> None:
        at_least("block", self.block, 1)

    @classmethod
    def of(
        cls,
        text: str,
        *,
        block: int = 256,
        source: str = "",
        notes: tuple[str, ...] = (),
        shares: tuple[int, int, int] | None = None,
    ) -> "RunningText":
        """Make a dataset of one string."""
        codes = _codes_of([text]).values
        spec = Spec("text", "language", (min(block, len(codes)),), 1, source=source, notes=notes)
        return cls(codes, spec, block, shares)

    @cached_property
    def targets(self) -> Int[Tensor, "batch time"]:  # type: ignore[override]
        """The next characters of all blocks as one padded tensor."""
        return self.take(torch.arange(len(self)))[1]

    def __len__(self) -> int:
        return -(-len(self.codes) // self.block)

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give blocks of code points, and the same moved on by one character; -1 after the end of the text."""
        places = indices[:, None] * self.block + torch.arange(self.block + 1)
        codes = torch.nn.functional.pad(self.codes, (0, 1), value=_PAST)[places.clamp(max=len(self.codes))]
        return codes[:, :-1], codes[:, 1:]

    def divide(self, seed: Seed, ratios: tuple[int, int, int]) -> Divided:
        """Cut the text in order: what comes later is never trained on."""
        shares = self.shares or ratios
        ends = [len(self.codes) * sum(shares[: i + 1]) // sum(shares) for i in range(3)]
        train, validation, test = (replace(self, codes=self.codes[a:b]) for a, b in zip((0, *ends), ends, strict=False))
        sizes = [f"{len(part.codes):,}" for part, share in zip((train, validation, test), shares, strict=True) if share]
        how = f"in order ({', '.join(sizes)} characters)"
        if not shares[2]:
            test, how = validation, how + "; the validation text is also the test text"
        if min(len(part.codes) for part in (train, validation, test)) < 2:
            raise DataError(
                f"a text of {len(self.codes)} characters is too short to split {':'.join(map(str, shares))}, since "
                "each part needs at least 2: use a longer text or other `ratios`."
            )
        return train, validation, test, how


def _decoded(codes: Tensor) -> list[str]:
    """Give the texts of padded code points."""
    rows = codes.cpu().numpy().astype("<i4")
    there = rows != _PAST
    text = rows[there].tobytes().decode("utf-32-le", "surrogatepass")
    ends = there.sum(1).cumsum().tolist()
    return [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def _parts(dataset: Dataset) -> Sequence[Tensor]:
    return torch.arange(len(dataset)).split(_PART) if len(dataset) else ()
