"""What the recurrent networks share: their options, the layers made of them, lengths and checks."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError, above, at_least, between, choice
from lamina._types import Float, Int, Num, Seed, Tensor
from lamina.functional.random import as_generator
from lamina.layers.cells import CellOptions
from lamina.layers.dropout import Dropout, WordDropout
from lamina.layers.encoding import Embedding, OneHot
from lamina.layers.recurrent import Recurrent, check_stack

Lengths = Sequence[int] | Int[Tensor, "..."] | None
POOLING = ("last", "mean", "max")
"""What represents a whole sequence."""


@dataclass(frozen=True)
class RecurrentConfig:
    """What the recurrent architectures share.

    Args:
        inputs: the number of features of an input, or of words in the dictionary.
        outputs: the number of outputs at a time step.
        hidden: the number of components of a state.
        cell: "rnn", "gru" or "lstm".
        layers: how many cells are stacked.
        dropout: the probability of dropping a state between two layers.
        memory_bias: how far the memory of a gated cell starts open; None for not at all.
        reset: where a GRU resets its state: "before" the product as in the notes, or "after" it as in torch.
        embedding: None for vectors as inputs; for words the size of their learned vectors, or "one-hot".
        output_bias: whether the output map has a bias; it has none in the notes.
        padding: the word that fills rows after the end of a sequence, so that lengths need not be given; None for none.
        input_dropout: the probability of dropping a component of an input on its way to the first cell.
        output_dropout: the probability of dropping a state on its way to the output map.
        word_dropout: the probability of dropping a whole input on its way to the first cell.
        embedding_std: the standard deviation of the words' vectors at the start; below 1 rare words disturb less.
    """

    inputs: int
    outputs: int
    hidden: int = 64
    cell: str = "gru"
    layers: int = 1
    dropout: float = 0.0
    memory_bias: float | None = None
    reset: str = "before"
    embedding: int | str | None = None
    output_bias: bool = False
    padding: int | None = None
    input_dropout: float = 0.0
    output_dropout: float = 0.0
    word_dropout: float = 0.0
    embedding_std: float = 1.0

    def __post_init__(self) -> None:
        for name in ("inputs", "outputs", "hidden"):
            at_least(name, getattr(self, name), 1)
        for name in ("input_dropout", "output_dropout", "word_dropout"):
            between(name, getattr(self, name), 0, 1, open_high=True)
        above("embedding_std", self.embedding_std, 0)
        if self.padding is not None:
            between("padding", self.padding, 0, self.inputs - 1)
            if self.embedding is None:
                raise ArgumentError("`padding` needs words as inputs, got embedding=None: give `lengths` for vectors.")
        choice("reset", self.reset, ("before", "after"))
        check_stack(self.cell, self.layers, self.dropout, tuple(self.cell_options))
        check_embedding("embedding", self.embedding)

    @property
    def cell_options(self) -> CellOptions:
        """The options that go to the cells."""
        options: CellOptions = {}
        if self.memory_bias is not None:
            options["memory_bias"] = self.memory_bias
        if self.reset == "after":
            options["reset"] = self.reset
        return options


def make_encoding(size: int, embedding: int | str | None, seed: Seed, std: float = 1.0) -> tuple[nn.Module, int]:
    """Make the layer that turns inputs into vectors, and say how long these are."""
    if embedding is None:
        return nn.Identity(), size
    if isinstance(embedding, str):
        return OneHot(size), size
    return Embedding(size, embedding, std=std, seed=seed), embedding


def make_recurrent(config: RecurrentConfig, input_size: int, seed: Seed, bidirectional: bool = False) -> Recurrent:
    """Make the recurrent part that a configuration describes."""
    return Recurrent(
        config.cell,
        input_size,
        config.hidden,
        layers=config.layers,
        bidirectional=bidirectional,
        dropout=config.dropout,
        seed=seed,
        **config.cell_options,
    )


def make_dropouts(config: RecurrentConfig, seed: Seed) -> tuple[nn.Module, nn.Module]:
    """Make the dropout before the first cell and before the output map; nothing for rate 0."""
    masks = int(torch.randint(2**31, (), generator=as_generator(seed), device="cpu"))
    # Far from the places of the dropouts between layers.
    before, after = (
        Dropout(rate, seed=masks, place=place) if rate else nn.Identity()
        for rate, place in ((config.input_dropout, 1000), (config.output_dropout, 1001))
    )
    if not config.word_dropout:
        return before, after
    words = WordDropout(config.word_dropout, seed=masks, place=1002)
    return nn.Sequential(words, before) if config.input_dropout else words, after


def pool_states(
    states: Float[Tensor, "*batch time hidden"], lengths: Lengths, pooling: str
) -> Float[Tensor, "*batch hidden"]:
    """Take the mean or the maximum of each component over the steps of each sequence."""
    if lengths is None:
        return states.mean(-2) if pooling == "mean" else states.amax(-2)
    counts = torch.as_tensor(lengths, device=states.device)
    counts = counts.reshape(*counts.shape, *(1,) * (states.ndim - 1 - counts.ndim))  # the members share them
    valid = (torch.arange(states.shape[-2], device=states.device) < counts)[..., None]
    if pooling == "mean":
        return (states * valid).sum(-2) / counts.clamp(min=1).to(states.dtype)
    return states.masked_fill(~valid, -torch.inf).amax(-2).masked_fill(counts < 1, 0.0)


def lengths_from(inputs: Num[Tensor, "..."], padding: int | None, lengths: Lengths) -> Lengths:
    """Give the lengths, counted from the padding where they are not given; nothing waits for the device."""
    if lengths is not None or padding is None:
        return lengths
    return (inputs != padding).sum(-1)


def check_embedding(name: str, embedding: int | str | None) -> None:
    """Raise unless `embedding` is a size, "one-hot" or None."""
    if isinstance(embedding, str) and embedding != "one-hot":
        raise ArgumentError(f"`{name}` must be one of 'one-hot', None or a size, got {embedding!r}.")
    if isinstance(embedding, int):
        at_least(name, embedding, 1)


def check_sequence(name: str, values: Tensor, size: int, embedding: int | str | None, axes: tuple[str, ...]) -> None:
    """Raise unless a tensor holds vectors of length `size`, or with an embedding words, along the given axes."""
    got = f"{str(values.dtype).removeprefix('torch.')} of shape {list(values.shape)}"
    if embedding is None:
        fits = values.is_floating_point() and values.ndim == len(axes) + 1 and values.shape[-1] == size
        if not fits:
            shape = ", ".join((*axes, str(size)))
            raise ShapeError(f"`{name}` must be vectors, float of shape [{shape}], got {got}.")
    elif values.is_floating_point() or values.ndim != len(axes):
        raise ShapeError(
            f"`{name}` must be words, integers of shape [{', '.join(axes)}], got {got}: with embedding=None the "
            "network reads vectors."
        )
