"""Bring a network together with data of any kind: which preparation, which objective and which step they ask for.

Texts get dictionaries (`TextPreprocess`), everything else numbers (`Preprocess`). Whole numbers along time ("tokens")
stay what they are, and so do the axes of time of a series.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from lamina._errors import ShapeError
from lamina._types import Tensor
from lamina.architectures.recurrent import ManyToMany, ManyToOne, OneToMany
from lamina.architectures.seq2seq import EncoderDecoder, teacher_inputs
from lamina.data.dataset import Dataset, Spec, all_targets
from lamina.data.descriptions import DescriptionPreprocess
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.data.tokens import TextPreprocess, TokenSource
from lamina.data.vocabulary import START
from lamina.training.captured_sequence import make_sequence_step
from lamina.training.objective import Objective
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime
from lamina.training.sequence_objective import sequence_objective
from lamina.training.sequence_step import SequenceStep, readers
from lamina.training.streams import StreamSource
from lamina.training.tuning import threads_for

Preparation = Preprocess | TextPreprocess  # a `DescriptionPreprocess` is a `Preprocess` with a dictionary
WIDTHS = 8  # on a GPU widths are multiples of this, so that there are few shapes to record


def of_texts(spec: Spec) -> bool:
    """Say whether data need a dictionary."""
    return spec.kind in ("text", "pairs")


def of_words(spec: Spec) -> bool:
    """Say whether a network reads or writes whole numbers: words of a dictionary, or tokens.

    >>> of_words(Spec("series", "regression", (5, 1), 1)), of_words(Spec("tokens", "classification", (5,), 2))
    (False, True)
    """
    return of_texts(spec) or spec.kind == "tokens" or spec.task == "description"


def reads_sequences(model: nn.Module) -> bool:
    """Say whether a network is one of the recurrent ones, whose number of inputs is that of a step."""
    return isinstance(model, OneToMany | ManyToOne | ManyToMany | EncoderDecoder)


def fit_preparation(train: Dataset, model: nn.Module) -> Preparation:
    """Fit the preparation that data and network ask for to the training part."""
    if of_texts(train.spec):
        return TextPreprocess.fit(train)
    if train.spec.task == "description":
        return DescriptionPreprocess.of(train)
    shape = getattr(getattr(model, "config", None), "inputs", None)
    return Preprocess.fit(train, None if train.spec.kind == "tokens" or reads_sequences(model) else shape)


def read_preparation(values: Mapping[str, Any]) -> Preparation:
    """Make a preparation of what its `as_dict` gave."""
    if "vocabulary" not in values:
        return Preprocess.from_dict(values)
    return (DescriptionPreprocess if "steps" in values else TextPreprocess).from_dict(values)


def step_for_words(
    model: nn.Module, split: Split, preprocess: Preparation, recipe: Recipe, runtime: Runtime
) -> SequenceStep:
    """Make the step of a network that reads words."""
    model.to(runtime.device, recipe.dtype)
    objective = objective_for_words(model, split.train, preprocess, recipe)
    train = words_source(preprocess, split.train, recipe, runtime.device)
    validation = words_source(preprocess, split.validation, recipe, runtime.device, check=True)
    return make_sequence_step(model, train, validation, objective, recipe, runtime.step)


def words_source(
    preprocess: Preparation, part: Dataset, recipe: Recipe, device: torch.device | str, check: bool = False
) -> Any:
    """Give the batches of a part of the data; None for an empty one.

    Args:
        preprocess: fitted to the training part.
        part: of the data.
        recipe: says how many readers go along a running text, and how long their windows are.
        device: where batches are wanted.
        check: whether it is to be judged, not trained on.
    """
    if not len(part):
        return None
    if isinstance(preprocess, Preprocess):
        return preprocess.source(part, device)
    if preprocess.spec.task == "language":
        make = StreamSource.to_check if check else StreamSource
        return make(preprocess.stream(part), readers(recipe), recipe.window, device)
    return TokenSource(preprocess.encode(part), device, WIDTHS if torch.device(device).type == "cuda" else 1)


def objective_for_words(model: nn.Module, train: Dataset, preprocess: Preparation, recipe: Recipe) -> Objective:
    """Look at what the network gives for one example and choose the loss of the task."""
    check_dictionary(model, preprocess)
    spec = train.spec
    was_training = model.training
    outputs = first_outputs(model, preprocess)
    model.train(was_training)
    written = isinstance(preprocess, TextPreprocess | DescriptionPreprocess)
    wanted = preprocess.output_size if written else spec.outputs  # type: ignore[union-attr]
    chosen = sequence_objective(
        spec.task,
        outputs,
        wanted,
        loss=recipe.loss,
        class_weights=recipe.class_weights,
        smoothing=recipe.label_smoothing,
        labels=all_targets(train) if recipe.class_weights else None,
    )
    device = next(model.parameters()).device
    return chosen if chosen.weights is None else replace(chosen, weights=chosen.weights.to(device, recipe.dtype))


@torch.no_grad()
def first_outputs(model: nn.Module, preprocess: Preparation) -> Tensor:
    """Return what a network gives for one example of a few words, or for one thing to describe."""
    if isinstance(preprocess, DescriptionPreprocess):
        return first_description(model, preprocess)
    words = torch.ones((1, 3), dtype=torch.int64, device=next(model.parameters()).device)
    pairs = preprocess.spec.task == "translation"
    if pairs != isinstance(model, EncoderDecoder) and reads_sequences(model):
        fits = "seq2seq" if pairs else "many-to-one or many-to-many"
        raise ShapeError(f"a {preprocess.spec.task} task does not fit {type(model).__name__}: use {fits}.")
    outputs = model.eval()(*((words, teacher_inputs(words, START)) if pairs else (words,)))
    if not isinstance(outputs, Tensor) or len(outputs) != 1:
        raise ShapeError("the network must return one tensor with one row an example.")
    return outputs


def first_description(model: nn.Module, preprocess: DescriptionPreprocess) -> Tensor:
    """Return what a network gives for one thing to describe, after a check that it writes as many steps."""
    parameter = next(model.parameters())
    if reads_sequences(model) and not isinstance(model, OneToMany):
        raise ShapeError(f"a description task does not fit {type(model).__name__}: use one-to-many.")
    outputs = model.eval()(torch.zeros(1, *preprocess.inputs, dtype=parameter.dtype, device=parameter.device))
    if not isinstance(outputs, Tensor) or outputs.ndim != 3 or outputs.shape[:2] != (1, preprocess.steps):
        shape = list(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise ShapeError(
            f"the network must write {preprocess.steps} steps, as many as the longest text of the training part has, "
            f"got outputs of shape {shape}: build it with steps={preprocess.steps}."
        )
    return outputs


def check_dictionary(model: nn.Module, preprocess: Preparation) -> None:
    """Raise unless a network of ours reads the words of the dictionary, or the tokens of the data."""
    config = getattr(model, "config", None)
    if not reads_sequences(model) or config is None or isinstance(preprocess, DescriptionPreprocess):
        return
    if config.embedding is None:
        raise ShapeError("the network reads vectors, but the data are words: build it with embedding=32, say.")
    size = input_size(preprocess)
    if config.inputs < size:
        raise ShapeError(
            f"the network reads {config.inputs} words, but the data have {size}: build it with inputs={size}."
        )


def input_size(preprocess: Preparation) -> int:
    """Return how many words or tokens there are, or how many features a step of a series has."""
    if isinstance(preprocess, TextPreprocess):
        return preprocess.input_size
    spec = preprocess.spec
    if spec.task == "description":
        return preprocess.inputs[0]
    return len(spec.symbols) or spec.outputs if spec.kind == "tokens" else spec.inputs[-1]


def with_threads_for_words(runtime: Runtime, model: nn.Module, train: Dataset, recipe: Recipe) -> Runtime:
    """Fill in the number of threads on the CPU, unless it is given: by a fixed rule from the work of one time step.

    Time steps come one after the other, so threads meet after every product: the largest one decides.
    """
    if runtime.threads or runtime.device != "cpu":
        return runtime
    tables = ("encoding.weight", "source_encoding.weight", "target_encoding.weight", "output.weight")
    sizes = [p.numel() for name, p in model.named_parameters() if p.ndim > 1 and name not in tables]
    work = 2 * max(sizes, default=0) * min(recipe.batch_size, len(train))
    return replace(runtime, threads=threads_for(work, torch.get_num_threads()))
