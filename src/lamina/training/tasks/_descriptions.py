"""Descriptions: a text is learned for each thing, a picture or a row of numbers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError
from lamina._types import Tensor
from lamina.data.dataset import Dataset, Spec, all_targets
from lamina.data.source import Source
from lamina.data.splits import Split
from lamina.data.text.descriptions import DescriptionPreprocess
from lamina.data.text.texts import answers_of, text_of
from lamina.functional.translation_metrics import exact_share
from lamina.training._look import Look
from lamina.training.deployment import Deployed
from lamina.training.predictions import Predictions
from lamina.training.recipe import Recipe
from lamina.training.tasks.arrays import Arrays
from lamina.training.tasks.recommended import _clipped
from lamina.training.tasks.task import SHOWN, Task, _Choice, wrong
from lamina.training.tasks.texts import describe, most_probable
from lamina.training.tasks.tokens import _judged_words, _Words, units

if TYPE_CHECKING:
    from lamina.training.run import Run


class Descriptions(_Words):
    """Things with a text to write for each; they are read as arrays, and their texts written as tokens."""

    takes = ("one-to-many", "OneToMany")
    reads_texts = False
    level = "character"
    score_of = Task.score_of

    @classmethod
    def headline_of(cls, spec: Spec) -> str:
        return "exact"

    @property
    def things(self) -> DescriptionPreprocess:
        """How things and texts are prepared."""
        return cast(DescriptionPreprocess, self.preprocess)

    @classmethod
    def fit(cls, split: Split, **wording: Any) -> "Descriptions":
        """Fit the preparation and the dictionary to the training part."""
        how, rest = cls._wording(len(split.train), wording)
        if rest:
            raise ArgumentError(f"`{next(iter(rest))}` is not for descriptions, whose steps the training part gives.")
        return cls(DescriptionPreprocess.of(split.train, how), split)

    @property
    def input_size(self) -> int:
        """How many numbers a thing has."""
        return self.things.inputs[0]

    def _usual(self, given: Mapping[str, Any]) -> dict[str, Any]:
        dropout = {"input_dropout": 0.2} if self.spec.kind == "image" else {}
        return {"steps": self.things.steps, "hidden": 64, **dropout}

    def recommend(self, name: str, sizes: Mapping[str, Any]) -> _Choice:
        examples = len(self.split.train)
        batch = 64 if examples > 500 else 16
        return _clipped(0.005, max(30, min(100, 600 * batch // max(1, examples))), batch)

    def notes(self, sizes: Mapping[str, Any]) -> tuple[str, ...]:
        """Say how many words there are, and how long texts may be."""
        words = self.things.vocabulary
        count = f"{len(words.words):,} {units(words.wording.level)}"
        return (f"dictionary: {count} to write, texts of up to {self.things.steps} steps",)

    def example(self, model: nn.Module) -> tuple[Tensor, ...]:
        """Give one thing."""
        super().example(model)  # whether the network fits
        parameter = next(model.parameters())
        return (torch.zeros(1, *self.things.inputs, dtype=parameter.dtype, device=parameter.device),)

    def look(self, model: nn.Module) -> Look:
        """Run a network with one thing, and check that it writes as many steps as the longest text has."""
        found = super().look(model)
        if found.outputs.ndim != 3 or found.outputs.shape[1] != self.things.steps:
            raise ShapeError(
                f"the network must write {self.things.steps} steps, as many as the longest text of the training part "
                f"has, got outputs of shape {list(found.outputs.shape)}: build it with steps={self.things.steps}."
            )
        return found

    def check_dictionary(self, model: nn.Module) -> None:
        """Need nothing: the network reads numbers."""

    def source(self, part: Dataset, recipe: Recipe, device: torch.device | str, check: bool = False) -> Source:
        return self.things.source(part, device)

    def outputs(self, model: nn.Module, inputs: Tensor, batch_size: int = 256) -> Tensor:
        """Return what a network gives for stored things, before any softmax."""
        return Arrays.outputs(self, model, inputs, batch_size)

    def written(self, part: Dataset) -> Tensor:
        return self.things.targets(all_targets(part))

    def judge(self, run: "Run", test: Dataset) -> dict[str, Any]:
        inputs, answers = test.take(torch.arange(len(test)))[0], answers_of(test)
        outputs = self.outputs(run.model, inputs)
        metrics = _judged_words(run.objective, outputs, self.things.targets(all_targets(test)))
        written, sure = describe(self.things, outputs)
        metrics["exact"] = exact_share(written, answers)
        worst = [
            {"index": i, "target": answers[i][:SHOWN], "output": written[i][:SHOWN], **self.shown(inputs[i])}
            for i in wrong(sure.argsort(descending=True).tolist(), written, answers)
        ]
        return {"examples": len(test), "metrics": metrics, "worst": worst}

    def predict(self, run: "Run", what: Any, **options: Any) -> Predictions:
        """Describe things."""
        names, inputs, table = self.read(what)
        return replace(self.told(names, self.outputs(run.model, inputs)), read=table)

    def told(self, names: tuple[str, ...], outputs: Tensor) -> Predictions:
        written, worth = describe(self.things, outputs)
        return Predictions(names, (), worth[:, None], tuple(written))

    def truth(self, target: Tensor) -> str:
        """Say what is right for an example: its text."""
        return text_of(target)

    answers = Arrays.answers

    read_files = Arrays.read_files
    read_file = Arrays.read_file
    read_table = Arrays.read_table
    shown = Arrays.shown

    def deployed(self, model: nn.Module, prepared: bool = False) -> dict[str, Deployed]:
        """Read things; answer with the tokens of their texts, which a dictionary outside makes words of."""
        (found,) = Arrays.deployed(self, model, prepared).values()
        return {"": replace(found, outputs=("words",), classes=()) if prepared else found}

    def values(self, outputs: Tensor) -> Tensor:
        """Give the most probable token at each step."""
        return most_probable(outputs).indices

    _answer, _stored = Arrays._answer, Arrays._stored

    @property
    def pipeline(self) -> str:
        return "image-to-text" if self.spec.kind == "image" else "text-generation"
