"""An example input for a network: from its configuration, from a shape, or as given."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from lamina._errors import ArgumentError, at_least
from lamina._types import Num, Seed, Tensor
from lamina.functional.random import as_generator
from lamina.layers.recurrent import Recurrent

STEPS = 10
"""How many time steps an example has by default."""

Inputs = int | Sequence[Any] | Tensor | None
"""The shape of one example (a number of features, or axes), a batch of examples, or several for several arguments."""


def example_inputs(model: nn.Module, inputs: Inputs = None, batch: int = 1) -> tuple[Tensor, ...]:
    """Make the arguments of a call of a network."""
    at_least("batch", batch, 1)
    if isinstance(inputs, Tensor):
        return (inputs,)
    if isinstance(inputs, Sequence) and inputs and all(isinstance(part, Tensor) for part in inputs):
        return tuple(inputs)
    shape = None if inputs is None else _as_shape(inputs)
    config = getattr(model, "config", None)
    if config is not None and hasattr(config, "cell"):
        return _sequences(config, shape, batch, _dtype(model))
    if shape is None:
        shape = _own_shape(model)
    return (torch.zeros(_with_batch(model, shape, batch), dtype=_dtype(model)),)


def _as_shape(inputs: Any) -> tuple[int, ...]:
    sizes = (inputs,) if isinstance(inputs, int) else tuple(inputs)
    if not sizes or not all(isinstance(size, int) for size in sizes):
        raise ArgumentError(
            f"`inputs` must be a shape such as (1, 28, 28), a tensor or a tuple of tensors, got {inputs!r}."
        )
    for size in sizes:
        at_least("inputs", size, 1)
    return sizes


def _own_shape(model: nn.Module) -> tuple[int, ...]:
    config = getattr(model, "config", None)
    if isinstance(getattr(config, "inputs", None), int | tuple):
        return _as_shape(config.inputs)  # type: ignore[union-attr]
    first = next((m for m in model.modules() if isinstance(m, nn.Linear | nn.RNNBase | nn.modules.conv._ConvNd)), None)
    if isinstance(first, nn.Linear):
        return (first.in_features,)
    if isinstance(first, nn.RNNBase):
        return STEPS, first.input_size
    raise ArgumentError(
        f"`inputs` is missing: {type(model).__name__} does not say what it reads. Give the shape of one example, such "
        "as (3, 32, 32)."
    )


def _with_batch(model: nn.Module, shape: tuple[int, ...], batch: int) -> tuple[int, ...]:
    if time_first(model):
        return shape[0], batch, *shape[1:]
    return (batch, *shape)


def time_first(model: nn.Module) -> bool:
    """Say whether a network is one of torch's recurrent ones, whose time axis comes before the batch."""
    return isinstance(model, nn.RNNBase) and not model.batch_first


def _sequences(config: Any, shape: tuple[int, ...] | None, batch: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    """Make words or vectors for a recurrent network of ours; two for an encoder and decoder."""
    steps: tuple[int, ...] = (STEPS,)
    if hasattr(config, "steps"):  # one to many reads a single vector or word
        steps = ()
    elif shape is not None and (len(shape) > 1 or config.embedding is not None):
        steps = shape[:1]
    source = _words_or_vectors(config.embedding, config.inputs, (batch, *steps), dtype)
    if not hasattr(config, "mode"):
        return (source,)
    return source, _words_or_vectors(config.target, config.outputs, (batch, *steps), dtype)


def _words_or_vectors(embedding: Any, size: int, axes: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    if embedding is None:
        return torch.zeros(*axes, size, dtype=dtype)
    return torch.ones(axes, dtype=torch.long) * min(1, size - 1)


def random_batch(
    model: nn.Module, inputs: Inputs = None, batch: int = 32, seed: Seed = 0
) -> tuple[Num[Tensor, "batch ..."], Num[Tensor, "batch ..."]]:
    """Draw inputs and labels for a network when there are no data at hand: normal numbers or words, classes at random.

    Args:
        model: a network that reads one tensor.
        inputs: as in `example_inputs`; given tensors are taken as they are.
        batch: how many examples.
        seed: an integer or a generator.

    Returns:
        Inputs, and classes for networks with several outputs, else normal numbers.

    >>> from lamina.architectures.build import build
    >>> u, labels = random_batch(build("lenet5"), batch=4)
    >>> u.shape, labels.shape, labels.dtype
    (torch.Size([4, 1, 28, 28]), torch.Size([4]), torch.int64)
    """
    example = example_inputs(model, inputs, batch)
    if len(example) > 1:
        raise ArgumentError(
            f"`model` must read one tensor, but {type(model).__name__} reads {len(example)}: give a batch yourself."
        )
    generator, u = as_generator(seed), example[0]
    if u.is_floating_point():
        u = torch.randn(u.shape, generator=generator, dtype=u.dtype)
    else:
        u = torch.randint(model.config.inputs, u.shape, generator=generator)  # type: ignore[union-attr, arg-type]
    with torch.no_grad(), evaluating(model):
        outputs = model(u)
    if outputs.shape[-1] == 1:
        return u, torch.randn(outputs.shape, generator=generator, dtype=outputs.dtype)
    return u, torch.randint(outputs.shape[-1], outputs.shape[:-1], generator=generator)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a network into evaluation mode, and each of its parts back into its own mode at the end."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


@contextmanager
def hooked(handles: Iterable[RemovableHandle]) -> Iterator[None]:
    """Take hooks away at the end."""
    made = list(handles)
    try:
        yield
    finally:
        for handle in made:
            handle.remove()


def _dtype(model: nn.Module) -> torch.dtype:
    return next((p.dtype for p in model.parameters() if p.is_floating_point()), torch.get_default_dtype())


def followed_axes(model: nn.Module, example: Tensor) -> tuple[int, ...]:
    """Say along which axes of the input receptive fields are measured: height and width, time, or features."""
    if example.ndim >= 4:
        return tuple(range(2, example.ndim))
    if time_first(model):
        return (0,)
    if example.ndim == 3:  # channels and places, unless it reads vectors along time
        modules = list(model.modules())
        vectors = any(isinstance(m, nn.Linear | nn.RNNBase | Recurrent) for m in modules)
        return (2,) if any(type(m).__name__.endswith("1d") for m in modules) or not vectors else (1,)
    return (1,) if example.ndim >= 2 else ()
