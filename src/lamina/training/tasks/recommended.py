"""What `lamina train ARCH` does when nothing is said: which data fit, sizes for them, and a recipe with its reason."""

import math
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

from lamina._errors import ArgumentError
from lamina.architectures.build import find
from lamina.architectures.table import Entry
from lamina.data.augment import Augment
from lamina.data.dataset import Spec
from lamina.training.recipe import Adam, Clip, MiniBatch, Penalty, Recipe, Schedule
from lamina.training.tasks.task import _Choice

SEQUENCES = ("one-to-many", "many-to-one", "many-to-many", "seq2seq")
"""The architectures that read or write sequences."""

CLASSES = ("classification", "multilabel")
"""The tasks whose outputs are logits."""

MANY = 2000
"""Rows of numbers from which on a network learns longer, faster and with a weaker prior."""

FITTING = {
    ("text", "classification"): ("many-to-one", "texts with labels"),
    ("text", "regression"): ("many-to-one", "texts with numbers"),
    ("text", "language"): ("many-to-many", "a running text"),
    ("pairs", "translation"): ("seq2seq", "pairs of texts"),
    ("tokens", "classification"): ("many-to-one", "rows of tokens with a label each"),
    ("tokens", "tagging"): ("many-to-many", "rows of tokens with a label at every step"),
    ("series", "classification"): ("many-to-one", "series with a label each"),
    ("series", "regression"): ("many-to-one", "a series with values to forecast"),
    ("series", "structured"): ("many-to-many", "a series with an answer at every step"),
    ("image", "description"): ("one-to-many", "pictures with a text to write"),
    ("table", "description"): ("one-to-many", "rows of a table with a text to write"),
    ("vector", "description"): ("one-to-many", "vectors with a text to write"),
}
"""Which recurrent architecture fits data of a kind and a task, and what such data are."""


def check_fit(name: str, spec: Spec) -> None:
    """Raise unless an architecture fits the data, naming one that does.

    >>> check_fit("fnn", Spec("pairs", "translation", (9,), 1))
    Traceback (most recent call last):
    lamina._errors.ArgumentError: fnn does not read pairs of texts: use seq2seq.
    """
    fits, what = FITTING.get((spec.kind, spec.task), ("", ""))
    if not fits:
        if name == "one-to-many":
            raise ArgumentError(
                f"one-to-many writes a text for each thing, but the data of kind {spec.kind!r} have no texts to learn "
                "from: choose another architecture, or a table with a column of text and --read kind=descriptions."
            )
        if name in SEQUENCES:
            raise ArgumentError(
                f"{name} reads sequences, but the data are of kind {spec.kind!r}: choose another architecture, or say "
                "how to read a table with --read kind=series or kind=text."
            )
        return
    if name != fits and (name in SEQUENCES or spec.kind != "series"):
        raise ArgumentError(f"{name} does not read {what}: use {fits}.")


def network_options(name: str, spec: Spec, prepared: tuple[int, ...], given: dict[str, Any]) -> dict[str, Any]:
    """Choose the sizes of a network for some data, unless they are given.

    Args:
        name: a name from `lamina list`.
        spec: what the data are.
        prepared: the shape of one prepared example.
        given: options of the user, which win.

    >>> network_options("lenet5", Spec("image", "classification", (1, 8, 8), 10), (1, 8, 8), {})
    {'outputs': 10, 'inputs': (1, 28, 28)}
    """
    entry = find(name)
    check_fit(name, spec)
    if name == "logic-gate":
        raise ArgumentError("logic-gate has fixed weights and cannot be trained: train fnn on --data xor instead.")
    config = getattr(import_module(entry.module), entry.config)
    options: dict[str, Any] = {"outputs": spec.outputs}
    if name == "perceptron" and "activation" not in given:
        options["activation"] = "identity"  # its step cannot be learned through; the loss brings the sigmoid
        options["outputs"] = 1 if spec.task == "classification" and spec.outputs == 2 else spec.outputs
    default = entry.options.get("inputs") or next((f.default for f in fields(config) if f.name == "inputs"), None)
    if isinstance(default, tuple) and len(default) == 3:
        options |= _picture(entry, spec, default)
    else:
        options["inputs"] = math.prod(prepared)
    return options | given


def _picture(entry: Entry, spec: Spec, default: tuple[int, ...]) -> dict[str, Any]:
    if spec.kind != "image":
        raise ArgumentError(
            f"{entry.name} reads pictures, but the data are of kind {spec.kind!r}: use fnn or dense-resnet."
        )
    channels, height, width = spec.inputs
    if entry.network in ("AlexNet", "LeNet5Original"):
        own = 1 if entry.network == "LeNet5Original" else channels
        return {"inputs": (own, *default[1:])}
    if entry.network == "ResNet":
        small = max(height, width) <= 64
        stem = {"stem": "cifar"} if small and "stem" not in entry.options else {}
        size = (height, width) if small else (min(height, 224), min(width, 224))
        return {"inputs": (channels, *size), **stem}
    if min(height, width) < min(default[1:]) or max(height, width) > 2 * max(default[1:]):
        return {"inputs": (channels, *default[1:])}
    return {"inputs": (channels, height, width)}


def recommend(name: str, spec: Spec, examples: int, options: dict[str, Any]) -> _Choice:
    """Choose a recipe for an architecture and data of some size.

    >>> recommend("fnn", Spec("table", "classification", (4,), 3), 100, {}).recipe.optimizer
    Adam(learning_rate=0.003, beta1=0.9, beta2=0.999, eps=1e-08)
    """
    entry = find(name)
    gray = spec.kind == "image" and spec.inputs[0] == 1
    photo = spec.kind == "image" and not gray
    shift = max(1, min(options.get("inputs", spec.inputs)[1:]) // 14) if gray and _takes_pictures(entry) else 0
    augment = (
        Augment(translate=shift) if shift else Augment(flip=True, crop=4) if photo and _takes_pictures(entry) else None
    )
    penalty = _prior(spec, examples, options)
    large = examples > (MANY if penalty else 20_000)
    batch_size = 128 if large else 64 if examples > 500 else 16
    updates = (8000 if large else 2000) if penalty else 800  # it makes more of them safe
    epochs = min(200, max(10, math.ceil(updates / max(1, examples // batch_size))))
    cycle = Schedule("one-cycle", warmup=0.3)
    if entry.network in ("ResNet", "CifarResNet", "AlexNet"):
        rate = 0.01 if entry.network == "AlexNet" else 0.1
        recipe = Recipe(
            MiniBatch(rate, momentum=0.9, nesterov=True),
            max(epochs, 30),
            batch_size,
            cycle,
            Penalty(2.5e-4),
            augment=augment,
        )
        how = f"mini batches with momentum, rate up to {rate:g} in one cycle, penalty 2.5e-4"
    else:
        smooth = options.get("activation", "sigmoid") in ("sigmoid", "tanh")
        # Many rows bear a higher rate: chosen together with the penalty on generated tables, as docs/tables.md says.
        fast = 0.015 if spec.task in CLASSES else 0.03
        rate = (fast if large and penalty else 0.003) if entry.network == "FNN" else 0.01 if smooth else 0.003
        rate = 0.03 if entry.network == "Perceptron" else rate  # its loss is convex
        recipe = Recipe(Adam(rate), epochs, batch_size, cycle, Penalty(penalty), augment=augment)
        how = f"Adam, rate up to {rate:g} in one cycle" + (f", penalty {penalty:g}" if penalty else "")
    changes = (
        f", pictures shifted by up to {shift} pixels" if shift else ", pictures flipped and cropped" if augment else ""
    )
    return _Choice(recipe, f"{how}; {recipe.epochs} epochs of batches of {batch_size}{changes}")


def _prior(spec: Spec, examples: int, options: Mapping[str, Any]) -> float:
    r"""Choose the penalty of a network that reads rows of numbers: a normal prior on its weights.

    Weights $w \sim \mathcal N(0, v/d)$ make of d standardized inputs an output of variance v: 1, as that of a
    standardized target is, or 4 for logits, with which most probabilities of two classes lie between 2 % and 98 %. With
    the loss as the negative logarithm of a likelihood (of errors with variance s) the most probable weights for N rows
    minimize the mean loss plus $\lambda \|\theta\|^2$ with $\lambda = sd/(2vN)$: many rows outweigh the prior. The
    variance s is 1, as if nothing of the target were explained, but 0.3 for the numbers of more than 2,000 rows, from
    which a network learns most of what there is to learn. The penalty is at most 0.02, since layers on layers of small
    weights vanish. Without a penalty, the best of many checks on a small validation part is an early one, by luck.
    """
    if spec.kind == "image" or spec.complete:
        return 0.0
    inputs = options.get("inputs", spec.inputs)
    columns = inputs if isinstance(inputs, int) else math.prod(inputs)
    variance = 4 if spec.task in CLASSES else 1
    errors = 0.3 if spec.task not in CLASSES and examples > MANY else 1
    return float(f"{min(0.02, errors * columns / (2 * variance * max(1, examples))):.2g}")


def _takes_pictures(entry: Entry) -> bool:
    return entry.network in ("LeNet5", "LeNet5Original", "AlexNet", "ResNet", "CifarResNet")


def _series_options(name: str, spec: Spec, given: Mapping[str, Any]) -> dict[str, Any]:
    """Choose the sizes of a recurrent network for a series, unless they are given."""
    check_fit(name, spec)
    outputs = spec.target_shape[-1] if spec.task == "structured" else spec.outputs
    return {"inputs": spec.inputs[-1], "outputs": outputs, "hidden": 32, "output_bias": True, **given}


def _clipped(
    rate: float,
    epochs: int,
    batch: int,
    how: str = "",
    smoothing: float = 0.0,
    penalty: float = 0.0,
    warmup: float = 0.0,
    window: int = 100,
) -> _Choice:
    """Choose Adam along a cosine with clipped gradients, as recurrent networks want it, and say so."""
    cosine = Schedule("cosine", warmup=warmup)
    recipe = Recipe(Adam(rate), epochs, batch, cosine, Penalty(penalty), Clip(1.0), label_smoothing=smoothing,
                    window=window)  # fmt: skip
    more = f", labels smoothed by {smoothing:g}" if smoothing else ""
    more += f", penalty {penalty:g}" if penalty else ""
    words = f"Adam, rate {rate:g} falling along a cosine, gradients clipped at 1{more}"
    return _Choice(recipe, f"{words}; {epochs} epochs, {how or f'batches of {batch}'}")


def _recommend_series(examples: int) -> _Choice:
    """Choose a recipe for a recurrent network that reads a series or tokens."""
    batch = 64 if examples > 500 else 16
    return _clipped(0.005, max(10, min(100, 1500 * batch // max(1, examples))), batch)
