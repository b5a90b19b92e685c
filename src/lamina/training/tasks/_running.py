"""A running text: each next character, or word, is learned from all before."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn

from lamina._errors import ArgumentError
from lamina._types import Tensor
from lamina.data.dataset import Dataset, Spec
from lamina.data.source import Source
from lamina.data.text.texts import running_text_of
from lamina.training.deployment import Deployed, Port, Steps, below
from lamina.training.packed import home_of
from lamina.training.predictions import Predictions
from lamina.training.recipe import Recipe
from lamina.training.tasks._batches import (
    WindowFeed,
    as_state,
    parts_of,
    readers,
    state_ports,
    stream_loss_and_score,
)
from lamina.training.tasks._streams import StreamSource
from lamina.training.tasks.feed import Feed
from lamina.training.tasks.recommended import _clipped
from lamina.training.tasks.task import Task, _Choice
from lamina.training.tasks.texts import continue_text
from lamina.training.tasks.tokens import _word_metrics, _Words

if TYPE_CHECKING:
    from lamina.training.run import Run


class RunningText(_Words):
    """One long text, read in windows by several readers at once."""

    writes = True
    many = 500_000
    level = "character"
    score_of = Task.score_of

    @classmethod
    def headline_of(cls, spec: Spec) -> str:
        return "perplexity"

    def _usual(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if not self._is_many:
            return {"hidden": 256, "embedding": 64, "cell": "lstm", "output_dropout": 0.1}
        sizes = {"hidden": 512, "layers": 2, "embedding": 64, "embedding_std": 0.3, "input_dropout": 0.1}
        between = {} if given.get("layers") == 1 else {"dropout": 0.5}
        return sizes | between | {"output_dropout": 0.5}

    def recommend(self, name: str, sizes: Mapping[str, Any]) -> _Choice:
        characters = len(running_text_of(self.split.train))
        window = 100 if characters > 100_000 else 50
        rows = max(1, min(64, characters // (4 * window)))
        most = 3200 if characters > self.many else 1500
        epochs = max(2, min(50, most // max(1, characters // (rows * window))))
        how = f"{rows} readers with windows of {window} steps, state carried on"
        return _clipped(0.003, epochs, rows, how, warmup=0.02, window=window)

    def updates(self, recipe: Recipe) -> int:
        return StreamSource(self.dictionary.stream(self.split.train), readers(recipe), recipe.window).windows

    def examples(self, recipe: Recipe) -> int:
        return readers(recipe)

    def source(self, part: Dataset, recipe: Recipe, device: torch.device | str, check: bool = False) -> Source:
        """Give the windows of a part of the text."""
        make = StreamSource.to_check if check else StreamSource
        return make(self.dictionary.stream(part), readers(recipe), recipe.window, device)

    def feed(self, source: Source, model: nn.Module, recipe: Recipe) -> Feed:
        """Give the windows of the training text in their order."""
        assert isinstance(source, StreamSource)
        return WindowFeed(source, recipe, model)

    def written(self, part: Dataset) -> Tensor:
        return self.dictionary.stream(part)[1:]

    def judge(self, run: "Run", test: Dataset) -> dict[str, Any]:
        recipe = home_of(run.folder).config()["recipe"]
        tokens = self.dictionary.stream(test)
        rows, window = int(recipe.get("batch_size", 64)), int(recipe.get("window", 100))
        source = StreamSource.to_check(tokens, rows, window, next(run.model.parameters()).device)
        metrics = _word_metrics(*stream_loss_and_score(run.model, source, run.objective))
        return {"examples": len(tokens), "metrics": metrics}

    def predict(self, run: "Run", what: Any, **options: Any) -> Predictions:
        """Refuse: a language model writes."""
        raise ArgumentError("the run is a language model, which continues a text: use `write`.")

    def write(self, run: "Run", prompt: str, steps: int, **options: Any) -> str:
        """Write on after a prompt."""
        return continue_text(run.model, self.dictionary, prompt, steps, **options)

    def deployed(self, model: nn.Module, prepared: bool = False) -> dict[str, Deployed]:
        """Read words from a state on, and give the state after them, so that a text can be continued."""
        state = state_ports(model, cast(Any, model).config.layers)
        words = Port("inputs", ("batch", "time"), below(self.input_size))
        after = tuple(f"{port.name}_after" for port in state)
        answer, name = (_probabilities, "probabilities") if prepared else (_read, "outputs")
        return {"": Deployed(Steps(model, answer), (words, *state), (name, *after))}

    @property
    def pipeline(self) -> str:
        return "text-generation"


def _read(network: Any, words: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
    """Go on from a state; return the outputs and the tensors of the state after the last word."""
    outputs, after = network.read(words, as_state(state))
    return outputs, *parts_of(after)


def _probabilities(network: Any, words: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
    """Go on from a state; return the probabilities of the next words and the state."""
    outputs, *after = _read(network, words, *state)
    return outputs.softmax(-1), *after
