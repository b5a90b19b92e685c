"""Tokens: rows of whole numbers along time, and texts that a dictionary makes of them, with something to learn."""

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn

from lamina._errors import DataError, ShapeError
from lamina._types import Tensor
from lamina.data.cells import SUFFIXES as TABLES
from lamina.data.dataset import Dataset, Spec, all_targets
from lamina.data.labeled import labeled_texts
from lamina.data.source import Source
from lamina.data.splits import Split
from lamina.data.text.texts import IGNORE, text_of
from lamina.data.text.tokens import TextPreprocess, TokenSource
from lamina.data.text.vocabulary import PAD, Wording
from lamina.functional.metrics import sequence_accuracy
from lamina.training.deployment import Deployed, Port, Steps, below
from lamina.training.explanations import Seen
from lamina.training.objective import Objective
from lamina.training.predictions import Predictions
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks._baselines import Baseline, unigram
from lamina.training.tasks._batches import SequenceFeed
from lamina.training.tasks.arrays import Arrays, Examples, _reads_sequences
from lamina.training.tasks.feed import Feed
from lamina.training.tasks.recommended import _clipped, _recommend_series, check_fit
from lamina.training.tasks.task import SHOWN, Task, _Choice, _on_device
from lamina.training.tasks.texts import _text_outputs, read_texts
from lamina.training.tasks.word_objective import _sequence_objective

if TYPE_CHECKING:
    from lamina.training.run import Run

WORDING: dict[str, Any] = {field.name: field.type for field in fields(Wording)} | {
    "longest": int | None,
    "shared": bool,
}
"""Options that say how texts become tokens, and what each is declared to be."""

WIDTHS = 8  # on a GPU widths are multiples of this, so that there are few shapes to record
_TABLES = ("encoding.weight", "source_encoding.weight", "target_encoding.weight", "output.weight")


class _Tokens(Arrays):
    """Rows of tokens, which stay the whole numbers they are."""

    stacks = False
    takes: tuple[str, ...] = ("many-to-one or many-to-many", "ManyToOne", "ManyToMany")
    """What fits, in words, and the networks of ours that do."""

    def for_network(self, model: nn.Module) -> "_Tokens":
        """Give the task with examples of the shape that a network takes: all as they are."""
        return self

    @property
    def input_size(self) -> int:
        """How many tokens there are."""
        return len(self.spec.symbols) or self.spec.outputs

    @property
    def output_size(self) -> int:
        """How many outputs a network needs."""
        return self.spec.outputs

    def sizes(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        check_fit(name, self.spec)
        options = {"inputs": self.input_size, "outputs": self.output_size, **self._usual(given), "output_bias": True}
        if given.get("cell") == "rnn":
            options.pop("memory_bias", None)
        return {**options, **given}

    def _usual(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"hidden": 64, "embedding": 16, "memory_bias": 3.0}  # E67: gates that start open remember

    def recommend(self, name: str, sizes: Mapping[str, Any]) -> _Choice:
        return _recommend_series(len(self.split.train))

    def notes(self, sizes: Mapping[str, Any]) -> tuple[str, ...]:
        """Say nothing."""
        return ()

    def threads(self, runtime: Runtime, model: nn.Module, recipe: Recipe) -> Runtime:
        """Fill in the number of threads on the CPU, unless it is given: by a fixed rule from the work of one time step.

        Time steps come one after the other, so threads meet after every product: the largest one decides.
        """
        sizes = [p.numel() for name, p in model.named_parameters() if p.ndim > 1 and name not in _TABLES]
        return runtime.with_threads(2 * max(sizes, default=0) * min(recipe.batch_size, len(self.split.train)))

    def example(self, model: nn.Module) -> tuple[Tensor, ...]:
        """Give one row of a few words."""
        if _reads_sequences(model) and type(model).__name__ not in self.takes[1:]:
            raise ShapeError(f"a {self.spec.task} task does not fit {type(model).__name__}: use {self.takes[0]}.")
        return (torch.ones((1, 3), dtype=torch.int64, device=next(model.parameters()).device),)

    def objective(self, model: nn.Module, recipe: Recipe) -> Objective:
        self.check_dictionary(model)
        chosen = _sequence_objective(
            self.spec.task,
            self.look(model).outputs,
            self.output_size,
            recipe,
            labels=all_targets(self.split.train) if recipe.class_weights else None,
        )
        return _on_device(self._measuring(chosen, recipe), model, recipe)

    def objective_again(self, model: nn.Module, recipe: Recipe) -> Objective:
        outputs, plain = self.look(model).outputs, replace(recipe, class_weights=None, label_smoothing=0.0)
        chosen = _sequence_objective(self.spec.task, outputs, outputs.shape[-1], plain)
        return replace(self._measuring(chosen, recipe), scale=1.0)

    def check_dictionary(self, model: nn.Module) -> None:
        """Raise unless a network of ours reads the words of the dictionary, or the tokens of the data."""
        config = getattr(model, "config", None)
        if not _reads_sequences(model) or config is None:
            return
        if config.embedding is None:
            raise ShapeError(
                "the network reads vectors, but the data are words: build it with, for example, embedding=32."
            )
        size = self.input_size
        if config.inputs < size:
            raise ShapeError(
                f"the network reads {config.inputs} words, but the data have {size}: build it with inputs={size}."
            )

    def source(self, part: Dataset, recipe: Recipe, device: torch.device | str, check: bool = False) -> Source:
        return self.preprocess.source(part, device)

    def feed(self, source: Source, model: nn.Module, recipe: Recipe) -> Feed:
        return SequenceFeed(source, recipe)

    @classmethod
    def score_of(cls, spec: Spec) -> str:
        return "token_accuracy" if spec.task == "tagging" else super().score_of(spec)

    def judge(self, run: "Run", test: Dataset) -> dict[str, Any]:
        if self.spec.task != "tagging":
            return super().judge(run, test)
        inputs, targets = test.take(torch.arange(len(test)))
        outputs = self.outputs(run.model, inputs)
        metrics = _judged_words(run.objective, outputs, targets)
        metrics["exact"] = sequence_accuracy(outputs.argmax(-1), targets, cast(Any, run.objective).ignore)
        wrong = (outputs.argmax(-1) != targets) & (targets != IGNORE)
        return {"examples": len(test), "metrics": metrics, "costs": wrong.sum(-1).double()}

    def usual(self, train: Dataset) -> dict[str, Any]:
        if self.spec.task != "tagging":
            return super().usual(train)
        labels = all_targets(train)
        return {"label": int(torch.bincount(labels[labels != IGNORE]).argmax())}

    def baselines(self, usual: Mapping[str, Any], test: Dataset) -> list[Baseline]:
        """Judge the majority class or the mean, and for a label at every step the most frequent label."""
        if self.spec.task != "tagging":
            return super().baselines(usual, test)
        targets = all_targets(test)
        counted = targets != IGNORE
        wrong = ((targets != usual["label"]) & counted).sum(-1).double()
        name = f"always {self.spec.classes[usual['label']]!r}, the most frequent label in training"
        share = 1 - wrong.sum().item() / max(1, int(counted.sum()))
        return [Baseline(name, {"token_accuracy": share}, wrong.mean().item(), wrong)]

    def told(self, names: tuple[str, ...], outputs: Tensor) -> Predictions:
        if self.spec.task != "tagging":
            return super().told(names, outputs)
        sure, labels = self.values(outputs).max(-1)
        tags = tuple(" ".join(self.spec.classes[i] for i in row) for row in labels.tolist())
        return Predictions(names, (), sure.mean(1, keepdim=True), tags)

    def values(self, outputs: Tensor) -> Tensor:
        """Give the probabilities of the classes, or of the labels at every step, or numbers in units of the data."""
        return outputs.softmax(-1) if self.spec.task == "tagging" else super().values(outputs)

    def deployed(self, model: nn.Module, prepared: bool = False) -> dict[str, Deployed]:
        """Read rows of tokens of any length; a dictionary that makes tokens of texts stays outside."""
        port = Port("inputs", ("batch", "time"), below(self.input_size))
        if not prepared:
            return {"": Deployed(model, (port,))}
        answers, classes = ("probabilities",) if self.spec.classes else ("values",), self.spec.classes
        return {
            "": Deployed(Steps(model, lambda network, tokens: self.values(network(tokens))), (port,), answers, classes)
        }

    @property
    def pipeline(self) -> str:
        if self.spec.task == "tagging":
            return "token-classification"
        return "text-classification" if self.reads_texts else super().pipeline

    def truth(self, target: Tensor) -> str:
        if self.spec.task != "tagging":
            return super().truth(target)
        return " ".join("-" if i == IGNORE else self.spec.classes[i] for i in target.tolist())

    def read_file(self, path: Path) -> Examples:
        """Refuse files."""
        raise DataError(f"the run was trained on tokens of {self.spec.source}: give an array of them.")

    def shown(self, example: Tensor) -> dict[str, Any]:
        """Give what a report shows of an example: its tokens."""
        symbols = self.spec.symbols
        words = [symbols[i] if i < len(symbols) else str(i) for i in example.tolist()]
        return {"values": {"tokens": " ".join(words)[:SHOWN]}}


class _Texts(_Tokens):
    """Texts with a label or a number each."""

    wording = tuple(WORDING)
    reads_texts = True
    many = 2000
    """With more texts a larger network or more dropout is worth its time, and rare words are left out."""
    level = "word"
    """What a token is by default."""

    @property
    def dictionary(self) -> Any:
        """How texts become tokens: a `TextPreprocess`, or another with a dictionary."""
        return self.preprocess

    @classmethod
    def fit(cls, split: Split, **wording: Any) -> "_Texts":
        """Fit the dictionary to the training part."""
        how, rest = cls._wording(len(split.train), wording)
        return cls(TextPreprocess.fit(split.train, how, **rest), split)

    @classmethod
    def _wording(cls, examples: int, options: Mapping[str, Any]) -> tuple[Wording | None, dict[str, Any]]:
        known = {field.name for field in fields(Wording)}
        how = {key: value for key, value in options.items() if key in known}
        if cls.level == "word" and examples > cls.many and how.get("level", "word") == "word":
            how.setdefault("min_count", 2)  # of a word that occurs once nothing is learned but noise
        if how and "level" not in how:
            how["level"] = cls.level
        rest = {key: value for key, value in options.items() if key not in known}
        return Wording(**how) if how else None, rest

    def said(self) -> dict[str, Any]:
        """Give the options of the dictionary that a command must say to make it again."""
        found = self.dictionary.vocabulary.wording
        natural = Wording(self.level)
        said = {f.name: value for f in fields(Wording) if (value := getattr(found, f.name)) != getattr(natural, f.name)}
        longest = getattr(self.dictionary, "longest", None)
        return said | ({} if longest is None else {"longest": longest})

    @property
    def input_size(self) -> int:
        """How many words there are."""
        size: int = self.dictionary.input_size
        return size

    @property
    def output_size(self) -> int:
        size: int = self.dictionary.output_size
        return size

    def _usual(self, given: Mapping[str, Any]) -> dict[str, Any]:
        sizes = {"hidden": 64, "embedding": 64, "padding": PAD, "bidirectional": True, "embedding_std": 0.1}
        strong = {"input_dropout": 0.6, "output_dropout": 0.6, "word_dropout": 0.3}
        return sizes | (strong if self._is_many else {"input_dropout": 0.4, "output_dropout": 0.4})

    @property
    def _is_many(self) -> bool:
        return int(self.dictionary.fitted_on) > self.many

    def recommend(self, name: str, sizes: Mapping[str, Any]) -> _Choice:
        batch, epochs, penalty = (64, 8, 1e-5) if len(self.split.train) > self.many else (16, 30, 0.0)
        return _clipped(0.002, epochs, batch, penalty=penalty)

    def notes(self, sizes: Mapping[str, Any]) -> tuple[str, ...]:
        """Say how many words there are."""
        words = self.dictionary.vocabulary
        return (f"dictionary: {len(words.words):,} {units(words.wording.level)} of the training texts",)

    def source(self, part: Dataset, recipe: Recipe, device: torch.device | str, check: bool = False) -> Source:
        return TokenSource(self.dictionary.encode(part), device, WIDTHS if torch.device(device).type == "cuda" else 1)

    def outputs(self, model: nn.Module, inputs: Tensor, batch_size: int = 256) -> Tensor:
        """Return what a network gives for stored texts, before any softmax."""
        return _text_outputs(model, self.dictionary, [text_of(row) for row in inputs])

    def labeled(self, what: Any, options: Mapping[str, Any]) -> Dataset:
        """Read new texts with their labels or numbers: a table of them, else what `load` knows."""
        path = Path(what) if isinstance(what, str | Path) else None
        if path is None or path.suffix.lower() not in TABLES or not path.exists():
            return super().labeled(what, options)
        return labeled_texts(path, self.spec, options)

    def predict(self, run: "Run", what: Any, **options: Any) -> Predictions:
        """Predict texts, or the texts of files; a blank line has no answer, but keeps its place."""
        texts, table = read_texts(what, self.spec.reading)
        there = {i: text for i, text in enumerate(texts) if text is not None}
        found = self.say(run, list(there.values()), **options)
        return replace(found.spread(list(there), [text or "" for text in texts]), read=table, called="text")

    def say(self, run: "Run", texts: list[str], **options: Any) -> Predictions:
        """Predict texts."""
        return self.told(tuple(texts), _text_outputs(run.model, self.dictionary, texts))

    def seen(self, model: nn.Module, what: Any) -> list[Seen]:
        """Read texts as a network takes them, with their words."""
        if self.spec.task not in ("classification", "regression"):
            return Task.seen(self, model, what)
        dictionary, device, found = self.dictionary, next(model.parameters()).device, []
        for text in read_texts(what, self.spec.reading)[0]:
            if text is not None:
                words = tuple(dictionary.vocabulary.split(text))
                tokens = dictionary.read([text])
                found.append(Seen(text, tokens.to(device), words=(*words, "end")[: tokens.shape[1]]))
        return found

    def answers(self, run: "Run", inputs: Tensor) -> Predictions:
        return self.say(run, [text_of(row) for row in inputs])

    def shown(self, example: Tensor) -> dict[str, Any]:
        """Give what a report shows of an example: its text."""
        return {"values": {"text": text_of(example)[:SHOWN]}}


def units(level: str) -> str:
    """Name what a dictionary holds."""
    return {"word": "words", "character": "characters", "subword": "pieces of words"}[level]


class _Words(_Texts):
    """What writes words: each next one is learned, and judged against how frequent words are."""

    labeled = Task.labeled

    @property
    def unit(self) -> str:
        return ""

    def written(self, part: Dataset) -> Tensor:
        """Give the words to write of a part of the data, padded or one after the other."""
        raise NotImplementedError

    def usual(self, train: Dataset) -> dict[str, Any]:
        """Count the words of the training part."""
        words = self.written(train).flatten()
        return {"counts": torch.bincount(words[words != PAD], minlength=self.output_size).tolist()}

    def baselines(self, usual: Mapping[str, Any], test: Dataset) -> list[Baseline]:
        """Judge the frequencies of words."""
        words, dictionary = self.written(test).flatten(), self.dictionary
        vocabulary = getattr(dictionary, "answer_vocabulary", None) or dictionary.vocabulary
        return [unigram(usual["counts"], words[words != PAD], units(vocabulary.wording.level))]


def _word_metrics(loss: float, score: float) -> dict[str, float]:
    """Give the metrics of an answer at every step."""
    return {"loss": loss, "perplexity": math.exp(min(loss, 700.0)), "token_accuracy": score}


def _judged_words(objective: Objective, outputs: Tensor, targets: Tensor) -> dict[str, float]:
    """Judge outputs that have an answer at every step."""
    loss, score = float(objective.loss(outputs, targets)), int(objective.score(outputs, targets))
    return _word_metrics(loss, score / max(1, int(objective.count(targets))))
