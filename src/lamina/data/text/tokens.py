"""From texts to tokens: dictionaries fitted on the training part alone, and batches of tokens for a network.

`TextPreprocess` is to texts what `Preprocess` is to pictures and tables, `TokenSource` what `Source` is. The inputs of
every example end with END, so that even an empty text has one step; so do target texts. Padding is PAD = 0, which is
never a token of a text: `ragged.lengths_of(tokens)` are the lengths that a network asks for.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from lamina._errors import DataError, at_least
from lamina._types import Float, Int, Num, Tensor
from lamina.data.dataset import BaseDataset, Dataset, Spec, _check_fields
from lamina.data.ragged import Ragged
from lamina.data.source import Key, Source
from lamina.data.text.batching import _bucketed_order, sorted_order
from lamina.data.text.texts import answers_of, running_text_of, texts_of
from lamina.data.text.vocabulary import END, Vocabulary, Wording


@dataclass(frozen=True)
class TextPreprocess:
    """A fitted preparation of texts: the dictionaries of the training part; plain values that travel with a run.

    Args:
        spec: what the stored texts are.
        vocabulary: of the texts that are read.
        answer_vocabulary: of the texts that are written, for pairs.
        longest: how many tokens of a text are kept, END among them; None for all.
        target_mean: of real targets.
        target_std: of real targets.
        fitted_on: how many texts, or characters of a running text, the dictionary was made of; 0 where nobody knows.

    >>> from lamina.data.text.texts import TextDataset
    >>> data = TextDataset.of(["a fine film", "no fun"], torch.tensor([1, 0]), ("bad", "good"))
    >>> prepare = TextPreprocess.fit(data)
    >>> prepare.input_size, prepare.output_size, prepare.encode(data).take(torch.tensor([0, 1]))[0].tolist()
    (9, 2, [[4, 6, 5, 3], [8, 7, 3, 0]])
    """

    spec: Spec
    vocabulary: Vocabulary
    answer_vocabulary: Vocabulary | None = None
    longest: int | None = None
    target_mean: float = 0.0
    target_std: float = 1.0
    fitted_on: int = 0

    @classmethod
    def fit(
        cls,
        train: Dataset,
        wording: Wording | None = None,
        *,
        answers: Wording | None = None,
        shared: bool = False,
        longest: int | None = None,
    ) -> "TextPreprocess":
        """Fit to the training part.

        Args:
            train: the training part; no other text has an influence.
            wording: how texts become tokens; words by default, characters for a running text.
            answers: the same for the texts that are written; by default like those that are read.
            shared: whether one dictionary serves both texts of pairs.
            longest: how many tokens of a text to keep, END among them.
        """
        spec = train.spec
        if spec.kind not in ("text", "pairs"):
            raise DataError(f"a dictionary needs texts, got data of kind {spec.kind!r}: use `Preprocess`.")
        if not len(train):
            raise DataError("a dictionary must be fitted on at least 1 training text, got 0.")
        if longest is not None:
            at_least("longest", longest, 1)
        wording = wording or Wording("character" if spec.task == "language" else "word")
        texts = [running_text_of(train)] if spec.task == "language" else texts_of(train)
        count = len(texts[0]) if spec.task == "language" else len(texts)
        if spec.task == "translation":
            written = answers_of(train)
            first = Vocabulary.fit([*texts, *written] if shared else texts, wording)
            second = first if shared else Vocabulary.fit(written, answers or wording)
            return cls(spec, first, second, longest, fitted_on=count)
        vocabulary = Vocabulary.fit(texts, wording)
        if spec.task != "regression":
            return cls(spec, vocabulary, None, longest, fitted_on=count)
        values = torch.cat([train.take(part)[1] for part in torch.arange(len(train)).split(4096)]).double()
        std = values.std(correction=0).item() or 1.0
        return cls(spec, vocabulary, None, longest, values.mean().item(), std, count)

    @property
    def input_size(self) -> int:
        """How many entries the dictionary of the inputs has."""
        return len(self.vocabulary)

    @property
    def output_size(self) -> int:
        """How many outputs a network needs: classes, real targets, or entries of the dictionary that is written."""
        if self.spec.task in ("classification", "regression"):
            return self.spec.outputs
        return len(self.vocabulary if self.answer_vocabulary is None else self.answer_vocabulary)

    def read(self, texts: Iterable[str]) -> Int[Tensor, "batch time"]:
        """Give texts as padded tokens for a network, each with END."""
        rows = self._rows(self.vocabulary, texts)
        return rows.padded(torch.arange(len(rows)))

    def write(self, tokens: Int[Tensor, "batch time"]) -> list[str]:
        """Give the texts of tokens that a network wrote, for people: up to END, with capitals."""
        vocabulary = self.vocabulary if self.answer_vocabulary is None else self.answer_vocabulary
        return [vocabulary.decode(row, display=True) for row in tokens.cpu()]

    def encode(self, dataset: Dataset) -> "_TokenDataset":
        """Turn a part of the data into tokens."""
        if self.spec.task == "language":
            raise DataError("a running text is one row of tokens: use `stream`, and `stream_windows` for batches.")
        inputs = self._rows(self.vocabulary, texts_of(dataset))
        if self.answer_vocabulary is not None:
            answers = self._rows(self.answer_vocabulary, answers_of(dataset))
            return _TokenDataset(inputs, answers, self._spec(inputs))
        targets = [dataset.take(part)[1] for part in torch.arange(len(dataset)).split(4096)]
        return _TokenDataset(inputs, self.targets(torch.cat(targets)), self._spec(inputs))

    def stream(self, dataset: Dataset) -> Int[Tensor, " time"]:
        """Give a running text, or a part of one, as one row of tokens."""
        return self.vocabulary.encode(running_text_of(dataset))

    def targets(self, targets: Num[Tensor, " batch"]) -> Num[Tensor, " batch"]:
        """Prepare labels as int64 and real targets standardized, float32."""
        if self.spec.task == "classification":
            return targets.long()
        return ((targets.double() - self.target_mean) / self.target_std).float()

    def untargets(self, outputs: Float[Tensor, "batch ..."]) -> Float[Tensor, "batch ..."]:
        """Give real outputs of a network in the units of the stored targets, others as they are."""
        if self.spec.task != "regression":
            return outputs
        return (outputs.double() * self.target_std + self.target_mean).to(outputs.dtype)

    def source(self, dataset: Dataset, device: torch.device | str = "cpu") -> "TokenSource":
        """Give prepared batches of a part of the data on a device."""
        return TokenSource(self.encode(dataset), device)

    def as_dict(self) -> dict[str, Any]:
        """Give plain JSON values; `from_dict` takes them back."""
        answers = self.answer_vocabulary
        return {
            "spec": self.spec.as_dict(),
            "vocabulary": self.vocabulary.as_dict(),
            "answer_vocabulary": None if answers is None else answers.as_dict(),
            "longest": self.longest,
            "target_mean": self.target_mean,
            "target_std": self.target_std,
            "fitted_on": self.fitted_on,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TextPreprocess":
        """Make a preparation of what `as_dict` gave.

        >>> from lamina.data.text.texts import PairDataset
        >>> prepare = TextPreprocess.fit(PairDataset.of(["yes"], ["ja"]))
        >>> TextPreprocess.from_dict(prepare.as_dict()) == prepare
        True
        """
        _check_fields(cls, values, "preparation")
        parts = dict(values) | {"spec": Spec.from_dict(values["spec"])}
        for name in ("vocabulary", "answer_vocabulary"):
            if parts.get(name) is not None:
                parts[name] = Vocabulary.from_dict(parts[name])
        return cls(**parts)

    def _rows(self, vocabulary: Vocabulary, texts: Iterable[str]) -> Ragged:
        rows = vocabulary.encode_all(texts, end=True)
        if self.longest is None or rows.longest <= self.longest:
            return rows
        cut = (rows.row(i) for i in range(len(rows)))
        end = torch.tensor([END])
        short = (row if len(row) <= self.longest else torch.cat([row[: self.longest - 1], end]) for row in cut)
        return Ragged.of(short, rows.fill)

    def _spec(self, inputs: Ragged) -> Spec:
        return replace(self.spec, kind="tokens", inputs=(inputs.longest,), outputs=self.output_size)


@dataclass(frozen=True, eq=False, repr=False)
class _TokenDataset(BaseDataset):
    """Prepared examples: rows of tokens with labels, numbers, or rows of tokens as targets."""

    inputs: Ragged
    answers: Num[Tensor, " _"] | Ragged
    spec: Spec
    groups: None = None
    official_test: None = None

    @property
    def targets(self) -> Tensor:  # type: ignore[override]
        """All targets at once; those of texts padded."""
        return self.answers.padded(torch.arange(len(self))) if isinstance(self.answers, Ragged) else self.answers

    @property
    def lengths(self) -> Int[Tensor, "example text"]:
        """How many tokens each example has: in its input and, for pairs, in its target."""
        rows = [self.inputs, self.answers] if isinstance(self.answers, Ragged) else [self.inputs]
        return torch.stack([row.lengths for row in rows], 1)

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Give tokens padded to the longest of these examples, and the targets."""
        answers = self.answers
        return self.inputs.padded(indices), answers.padded(indices) if isinstance(answers, Ragged) else answers[indices]


class TokenSource(Source):
    """Batches of tokens on a device; all tokens lie there, and nothing waits for a GPU.

    Args:
        dataset: prepared examples.
        device: where batches are wanted.
        multiple: widths are rounded up to a multiple of this, so that a captured or compiled step sees few of them.

    >>> from lamina.data.text.texts import PairDataset
    >>> data = PairDataset.of(["good morning", "yes"], ["guten Morgen", "ja"])
    >>> source = TextPreprocess.fit(data).source(data)
    >>> inputs, targets = source.batch(torch.tensor([0, 1]))
    >>> inputs.tolist(), targets.tolist()
    ([[4, 5, 3], [6, 3, 0]], [[4, 6, 3], [5, 3, 0]])
    """

    def __init__(self, dataset: _TokenDataset, device: torch.device | str = "cpu", multiple: int = 1) -> None:
        at_least("multiple", multiple, 1)
        self.device, self.multiple, self.lengths = torch.device(device), multiple, dataset.lengths
        self._inputs, self._answers = dataset.inputs.to(device), dataset.answers.to(device)
        self.inputs, self.targets = self._inputs.values, None  # all of it is there; `batch` makes rows of it
        self.affine = self.augment = None

    def __len__(self) -> int:
        return len(self._inputs)

    def order(self, batch_size: int, seed: int, epoch: int, epochs: int | None = None) -> list[Int[Tensor, " _"]]:
        """Give the batches of a training epoch; see `_bucketed_order`."""
        return _bucketed_order(self.lengths, batch_size, seed, epoch)

    def in_order(self, batch_size: int) -> list[Int[Tensor, " _"]]:
        """Give the batches of an evaluation, short texts first; their indices say where results belong."""
        return sorted_order(self.lengths, batch_size)

    def batch(self, indices: Int[Tensor, " batch"], key: Key | None = None) -> tuple[Tensor, Tensor]:
        """Give prepared inputs and targets.

        Args:
            indices: which examples, on the CPU.
            key: (seed, step) as `Source.batch` takes it; nothing here is left to chance.
        """
        widths: Sequence[int] = self.lengths[indices].amax(0).tolist() if len(indices) else [0, 0]
        widths = [-(-width // self.multiple) * self.multiple for width in widths]
        there = indices.to(self.device, non_blocking=True)
        inputs = self._inputs.padded(there, widths[0])
        if isinstance(self._answers, Ragged):
            return inputs, self._answers.padded(there, widths[1])
        return inputs, self._answers[there]

    def close(self) -> None:
        """Do nothing: nothing is read ahead."""
