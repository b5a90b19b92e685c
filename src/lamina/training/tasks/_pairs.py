"""Pairs of texts: the second is learned from the first."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from torch import nn

from lamina._errors import MissingExtraError
from lamina._types import Tensor
from lamina.architectures.seq2seq import teacher_inputs
from lamina.data.dataset import Dataset, Spec
from lamina.data.source import Source
from lamina.data.text.texts import answers_of, text_of, texts_of
from lamina.data.text.tokens import TokenSource
from lamina.data.text.vocabulary import PAD, START
from lamina.functional.translation_metrics import bleu, chrf, exact_share
from lamina.training.deployment import Deployed, Port, Steps, below
from lamina.training.predictions import Predictions
from lamina.training.recipe import Recipe
from lamina.training.tasks._batches import PairFeed, as_state, parts_of, state_ports
from lamina.training.tasks.feed import Feed
from lamina.training.tasks.recommended import _clipped
from lamina.training.tasks.task import SHOWN, Task, _Choice, wrong
from lamina.training.tasks.texts import translate
from lamina.training.tasks.tokens import _word_metrics, _Words, units

if TYPE_CHECKING:
    from lamina.training.run import Run


class Pairs(_Words):
    """Translations, or any text for a text."""

    takes = ("seq2seq", "EncoderDecoder")
    many = 20_000
    says = ("label_smoothing",)
    score_of = Task.score_of

    @classmethod
    def headline_of(cls, spec: Spec) -> str:
        return "exact"

    def _usual(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if not self._is_many or given.get("mode") == "notes":
            return {"hidden": 192, "embedding": 64, "padding": PAD, "input_dropout": 0.1, "output_dropout": 0.1}
        sizes = {"hidden": 768, "embedding": 384, "padding": PAD, "input_dropout": 0.5, "output_dropout": 0.5}
        learned = isinstance(given.get("target_embedding", given.get("embedding", 384)), int)
        return sizes | {"embedding_std": 0.1, "bidirectional": True, "context": "mean", "tied": learned}

    def recommend(self, name: str, sizes: Mapping[str, Any]) -> _Choice:
        examples = len(self.split.train)
        few = examples <= self.many
        batch, rate, smoothing = (32, 0.003, 0.0) if few else (64, 0.002, 0.1)
        epochs = max(5, min(40, round(14 * (8000 if few else 29_000) / max(1, examples))))
        return _clipped(rate, epochs, batch, smoothing=smoothing)

    def notes(self, sizes: Mapping[str, Any]) -> tuple[str, ...]:
        read, written = self.dictionary.vocabulary, self.dictionary.answer_vocabulary or self.dictionary.vocabulary
        words = units(read.wording.level)
        return (f"dictionaries: {len(read.words):,} {words} to read, {len(written.words):,} to write",)

    def example(self, model: nn.Module) -> tuple[Tensor, ...]:
        """Give one row of a few words, and what the decoder hears."""
        (words,) = super().example(model)
        return words, teacher_inputs(words, START)

    def feed(self, source: Source, model: nn.Module, recipe: Recipe) -> Feed:
        return PairFeed(source, recipe)

    def truth(self, target: Tensor) -> str:
        """Say what is right for an example: its text."""
        return text_of(target)

    def written(self, part: Dataset) -> Tensor:
        return self.dictionary.encode(part).targets

    def judge(self, run: "Run", test: Dataset) -> dict[str, Any]:
        source = TokenSource(self.dictionary.encode(test), next(run.model.parameters()).device)
        metrics = _word_metrics(**PairFeed(source, Recipe()).check(run.model, source, run.objective))
        texts, answers = texts_of(test), answers_of(test)
        written, worth = translate(run.model, self.dictionary, texts)
        metrics["exact"] = exact_share(written, answers)
        try:
            metrics["bleu"], metrics["chrf"] = bleu(written, answers).score, chrf(written, answers).score
        except MissingExtraError:
            pass  # the extra `language` brings them
        worst = [
            {"index": i, "text": texts[i][:SHOWN], "target": answers[i][:SHOWN], "output": written[i][:SHOWN]}
            for i in wrong(worth.argsort(descending=True).tolist(), written, answers)
        ]
        return {"examples": len(test), "metrics": metrics, "worst": worst}

    def deployed(self, model: nn.Module, prepared: bool = False) -> dict[str, Deployed]:
        """Give the encoder, which reads a text, and the decoder, which writes one word after another."""
        read, config = self.input_size, cast(Any, model).config
        state = state_ports(model, config.layers + bool(config.context))
        names = tuple(port.name for port in state)
        source = Port("inputs", ("batch", "time"), below(read))
        before = Port("before", ("batch",), below(self.output_size))
        encoder = Steps(model, lambda network, words: tuple(parts_of(network.encode(words))))
        decoder = Steps(model, _write)
        return {
            "encoder": Deployed(encoder, (source,), names),
            "decoder": Deployed(decoder, (before, *state), ("outputs", *(f"{name}_after" for name in names))),
        }

    @property
    def pipeline(self) -> str:
        return "translation"

    def say(self, run: "Run", texts: list[str], **options: Any) -> Predictions:
        """Translate texts."""
        written, worth = translate(run.model, self.dictionary, texts, **options)
        return Predictions(tuple(texts), (), worth[:, None], tuple(written))


def _write(network: Any, before: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
    """Advance a decoder by one word; return the outputs and the tensors of its state."""
    outputs, after = network.write(before, as_state(state))
    return outputs, *parts_of(after)
