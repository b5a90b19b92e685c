"""Recurrent networks by the shape of their task (Fig. 35 of the notes): one to many, many to one, many to many.

The fourth shape, many to many with other lengths, is in `architectures.seq2seq`. All read vectors or words: with an
`embedding` the inputs are integers, the positions of words in a dictionary of size `inputs`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError, above, at_least, between, choice
from lamina._types import Float, Int, Num, Seed, Tensor
from lamina.functional.random import as_generator
from lamina.functional.recurrent import State, hidden
from lamina.layers.cells import CellOptions
from lamina.layers.dropout import Dropout, WordDropout
from lamina.layers.encoding import Embedding, OneHot
from lamina.layers.initialized import linear
from lamina.layers.recurrent import Recurrent, check_stack

Lengths = Sequence[int] | Int[Tensor, "..."] | None
POOLING = ("last", "mean", "max")
"""What stands for a whole sequence."""


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


@dataclass(frozen=True)
class OneToManyConfig(RecurrentConfig):
    """The configuration of `OneToMany`: that of all recurrent networks, and what happens after the first step.

    Args:
        steps: the number of outputs.
        feedback: read the output before instead of zeros; needs as many outputs as inputs.
    """

    steps: int = 10
    feedback: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("steps", self.steps, 1)
        if self.feedback and self.inputs != self.outputs:
            raise ArgumentError(
                f"`outputs` must equal `inputs` ({self.inputs}) with feedback=True, got {self.outputs}: an output is "
                "the next input. The encoder-decoder reads and writes different things."
            )


@dataclass(frozen=True)
class ManyToOneConfig(RecurrentConfig):
    """The configuration of `ManyToOne`: that of all recurrent networks, the number of directions, and what is judged.

    Args:
        bidirectional: whether each layer also runs backward in time.
        pooling: what the output map reads: the "last" state as in the notes, or of each component the "mean" or the
            "max" over all steps.
    """

    bidirectional: bool = False
    pooling: str = "last"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("pooling", self.pooling, POOLING)


@dataclass(frozen=True)
class ManyToManyConfig(RecurrentConfig):
    """The configuration of `ManyToMany`: that of all recurrent networks, and the number of directions.

    Args:
        bidirectional: whether each layer also runs backward in time.
    """

    bidirectional: bool = False


class OneToMany(nn.Module):
    r"""Write a sequence from one input, as in describing an image.

    $$h^{<1>} = \mathrm{cell}(u, 0),\ h^{<t>} = \mathrm{cell}(v^{<t>}, h^{<t-1>}),\ y^{<t>} = W_{out} h^{<t>}$$
    with v = 0 as drawn in Fig. 35, or $v^{<t>} = y^{<t-1>}$ with feedback; for words the most probable one is read, and
    no gradient passes through that choice.

    Notes: N5.09 (§5).
    Corrects: E63, the notes do not say what is read after the first step.

    Args:
        config: sizes and choices.
        seed: an integer or a generator.

    >>> net = OneToMany(OneToManyConfig(inputs=8, outputs=3, hidden=16, steps=5))
    >>> net(torch.zeros(2, 8)).shape
    torch.Size([2, 5, 3])
    """

    stackable, leading = True, ("batch",)

    def __init__(self, config: OneToManyConfig, *, seed: Seed = 0) -> None:
        super().__init__()
        g = as_generator(seed)
        self.config = config
        self.encoding, size = make_encoding(config.inputs, config.embedding, g, config.embedding_std)
        self.recurrent = make_recurrent(config, size, g)
        self.output = linear(config.hidden, config.outputs, bias=config.output_bias, seed=g)
        self.input_dropout, self.output_dropout = make_dropouts(config, g)

    def forward(self, inputs: Num[Tensor, "..."], steps: int | None = None) -> Float[Tensor, "*batch time label"]:
        """Return `steps` outputs, or as many as the configuration says, for each of the `inputs`.

        Args:
            inputs: vectors of shape [batch, inputs], or words of shape [batch].
            steps: how many outputs, for another number than the configuration's.
        """
        config = self.config
        steps = config.steps if steps is None else steps
        at_least("steps", steps, 1)
        check_sequence("inputs", inputs, config.inputs, config.embedding, self.leading)
        first = self.input_dropout(self.encoding(inputs)).unsqueeze(-2)
        if not config.feedback:
            silence = first.new_zeros(*first.shape[:-2], steps - 1, first.shape[-1])
            return self.output(self.output_dropout(self.recurrent(torch.cat([first, silence], -2))[0]))
        read, state, outputs = first, None, []
        for _ in range(steps):
            states, state = self.recurrent(read, state)
            outputs.append(self.output(self.output_dropout(states)))
            read = outputs[-1] if config.embedding is None else self.encoding(outputs[-1].argmax(-1))
        return torch.cat(outputs, -2)


class ManyToOne(nn.Module):
    r"""Judge a whole sequence once, as in sentiment analysis.

    $$y = W_{out} h^{<T>}, \qquad\text{in both directions}\qquad y = W_{out} [h^{<T>}; g^{<1>}]$$
    where T is each sequence's own last step. With `pooling` the mean or the maximum over the steps of each component of
    [h; g] stands in the place of the last states.

    Notes: N5.10 (§5).
    Corrects: E66, how h and g are combined; E75, sentiment analysis reads texts, rarely videos.

    Args:
        config: sizes and choices.
        seed: an integer or a generator.

    >>> net = ManyToOne(ManyToOneConfig(inputs=100, outputs=2, embedding=8, bidirectional=True))
    >>> net(torch.tensor([[5, 7, 1], [9, 3, 0]]), lengths=[3, 2]).shape
    torch.Size([2, 2])
    """

    stackable, leading = True, ("batch",)

    def __init__(self, config: ManyToOneConfig, *, seed: Seed = 0) -> None:
        super().__init__()
        g = as_generator(seed)
        self.config = config
        self.encoding, size = make_encoding(config.inputs, config.embedding, g, config.embedding_std)
        self.recurrent = make_recurrent(config, size, g, config.bidirectional)
        width = config.hidden * self.recurrent.directions
        self.output = linear(width, config.outputs, bias=config.output_bias, seed=g)
        self.input_dropout, self.output_dropout = make_dropouts(config, g)

    def forward(self, inputs: Num[Tensor, "..."], lengths: Lengths = None) -> Float[Tensor, "*batch label"]:
        """Return the outputs (logits) of each sequence.

        Args:
            inputs: vectors of shape [batch, time, inputs], or words of shape [batch, time].
            lengths: how many steps each sequence has; see `layers.recurrent.Recurrent`.
        """
        check_sequence("inputs", inputs, self.config.inputs, self.config.embedding, (*self.leading, "time"))
        read = self.input_dropout(self.encoding(inputs))
        lengths = lengths_from(inputs, self.config.padding, lengths)
        states, state = self.recurrent(read, lengths=lengths)
        judged = _last(state, self.recurrent.directions)
        if self.config.pooling != "last":
            judged = pool_states(states, lengths, self.config.pooling)
        return self.output(self.output_dropout(judged))


class ManyToMany(nn.Module):
    r"""Answer every step of a sequence, as in tracking an object from frame to frame.

    $$y^{<t>} = W_{out} h^{<t>}, \qquad\text{in both directions}\qquad y^{<t>} = W_{out} [h^{<t>}; g^{<t>}]$$

    Notes: N5.12, N5.21 (§5, §5.1).
    Corrects: E66, how h and g are combined.

    Args:
        config: sizes and choices.
        seed: an integer or a generator.

    >>> net = ManyToMany(ManyToManyConfig(inputs=2, outputs=4, cell="lstm", layers=2))
    >>> net(torch.zeros(3, 7, 2)).shape
    torch.Size([3, 7, 4])
    """

    stackable, leading = True, ("batch",)

    def __init__(self, config: ManyToManyConfig, *, seed: Seed = 0) -> None:
        super().__init__()
        g = as_generator(seed)
        self.config = config
        self.encoding, size = make_encoding(config.inputs, config.embedding, g, config.embedding_std)
        self.recurrent = make_recurrent(config, size, g, config.bidirectional)
        width = config.hidden * self.recurrent.directions
        self.output = linear(width, config.outputs, bias=config.output_bias, seed=g)
        self.input_dropout, self.output_dropout = make_dropouts(config, g)

    def forward(self, inputs: Num[Tensor, "..."], lengths: Lengths = None) -> Float[Tensor, "*batch time label"]:
        """Return the outputs (logits) at each step; past a sequence's end they are those of the state zero.

        Args:
            inputs: vectors of shape [batch, time, inputs], or words of shape [batch, time].
            lengths: how many steps each sequence has; see `layers.recurrent.Recurrent`.
        """
        return self.read(inputs, None, lengths)[0]

    def read(
        self, inputs: Num[Tensor, "..."], state: State | None = None, lengths: Lengths = None
    ) -> tuple[Float[Tensor, "*batch time label"], State]:
        """Go on from a state: return the outputs and the state after the last step, as a language model does.

        Args:
            inputs: as in `forward`.
            state: what an earlier call returned; zeros when not given.
            lengths: as in `forward`.

        >>> net = ManyToMany(ManyToManyConfig(inputs=2, outputs=4))
        >>> u = torch.randn(1, 6, 2, generator=torch.Generator().manual_seed(0))
        >>> first, state = net.read(u[:, :4])
        >>> bool(torch.allclose(torch.cat([first, net.read(u[:, 4:], state)[0]], 1), net(u), atol=1e-6))
        True
        """
        check_sequence("inputs", inputs, self.config.inputs, self.config.embedding, (*self.leading, "time"))
        lengths = lengths_from(inputs, self.config.padding, lengths)
        states, state = self.recurrent(self.input_dropout(self.encoding(inputs)), state, lengths)
        return self.output(self.output_dropout(states)), state

    def write(self, words: Num[Tensor, "..."], state: State) -> tuple[Float[Tensor, "batch label"], State]:
        """Read one more word a sequence and return the outputs and the state; a `Writer` of `decoding`."""
        outputs, state = self.read(words[:, None], state)
        return outputs[:, 0], state


def make_encoding(size: int, embedding: int | str | None, seed: Seed, std: float = 1.0) -> tuple[nn.Module, int]:
    """Make the layer that turns inputs into vectors, and say how long these are.

    >>> make_encoding(100, "one-hot", seed=0)
    (OneHot(100), 100)
    """
    if embedding is None:
        return nn.Identity(), size
    if isinstance(embedding, str):
        return OneHot(size), size
    return Embedding(size, embedding, std=std, seed=seed), embedding


def make_recurrent(config: RecurrentConfig, input_size: int, seed: Seed, bidirectional: bool = False) -> Recurrent:
    """Make the recurrent part that a configuration describes.

    >>> make_recurrent(RecurrentConfig(inputs=3, outputs=1, hidden=4, cell="rnn"), 3, seed=0).cells[0]
    RNNCell(3, 4, activation='tanh')
    """
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
    """Make the dropout before the first cell and before the output map; nothing for rate 0.

    >>> make_dropouts(RecurrentConfig(inputs=3, outputs=1, output_dropout=0.5), seed=0)
    (Identity(), Dropout(place=1001))
    """
    masks = int(torch.randint(2**31, (), generator=as_generator(seed)))
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
    """Take the mean or the maximum of each component over the steps of each sequence.

    Args:
        states: of all steps; those past the end of a sequence do not count.
        lengths: how many steps each sequence has; all by default.
        pooling: "mean" or "max".

    >>> pool_states(torch.tensor([[[1.0], [3.0], [9.0]]]), [2], "mean").tolist()
    [[2.0]]
    """
    if lengths is None:
        return states.mean(-2) if pooling == "mean" else states.amax(-2)
    counts = torch.as_tensor(lengths, device=states.device)
    counts = counts.reshape(*counts.shape, *(1,) * (states.ndim - 1 - counts.ndim))  # the members share them
    valid = (torch.arange(states.shape[-2], device=states.device) < counts)[..., None]
    if pooling == "mean":
        return (states * valid).sum(-2) / counts.clamp(min=1).to(states.dtype)
    return states.masked_fill(~valid, -torch.inf).amax(-2).masked_fill(counts < 1, 0.0)


def lengths_from(inputs: Num[Tensor, "..."], padding: int | None, lengths: Lengths) -> Lengths:
    """Give the lengths, counted from the padding where they are not given; nothing waits for the device.

    >>> lengths_from(torch.tensor([[5, 7, 0], [4, 0, 0]]), 0, None).tolist()
    [2, 1]
    """
    if lengths is not None or padding is None:
        return lengths
    return (inputs != padding).sum(-1)


def check_embedding(name: str, embedding: int | str | None) -> None:
    """Raise unless `embedding` is a size, "one-hot" or None.

    >>> check_embedding("embedding", "word2vec")
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `embedding` must be one of 'one-hot', None or a size, got 'word2vec'.
    """
    if isinstance(embedding, str) and embedding != "one-hot":
        raise ArgumentError(f"`{name}` must be one of 'one-hot', None or a size, got {embedding!r}.")
    if isinstance(embedding, int):
        at_least(name, embedding, 1)


def check_sequence(name: str, values: Tensor, size: int, embedding: int | str | None, axes: tuple[str, ...]) -> None:
    """Raise unless a tensor holds vectors of length `size`, or with an embedding words, along the given axes.

    >>> check_sequence("inputs", torch.zeros(4, 7), 3, None, ("batch", "time"))
    Traceback (most recent call last):
    lamina._errors.ShapeError: `inputs` must be vectors, float of shape [batch, time, 3], got float32 of shape [4, 7].
    """
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


def node_counts(architecture: str, time_in: int, time_out: int) -> tuple[int, int, int]:
    """Count the nodes of an unrolled network in Fig. 35: inputs, cells, outputs.

    Notes: N5.13 (§5, Fig. 35).

    Args:
        architecture: "one_to_many", "many_to_one", "encoder_decoder" or "many_to_many".
        time_in: how many inputs are read.
        time_out: how many outputs are written.

    >>> node_counts("encoder_decoder", 3, 2)
    (3, 5, 2)
    """
    cells = {
        "one_to_many": (time_out, time_in == 1, "one input"),
        "many_to_one": (time_in, time_out == 1, "one output"),
        "encoder_decoder": (time_in + time_out, True, ""),
        "many_to_many": (time_in, time_in == time_out, "as many outputs as inputs"),
    }
    choice("architecture", architecture, cells)
    number, fits, rule = cells[architecture]
    if not fits:
        raise ArgumentError(f"{architecture} has {rule}, got time_in={time_in} and time_out={time_out}.")
    return time_in, number, time_out


def _last(state: State, directions: int) -> Tensor:
    """Join the last states of the top layer in each direction."""
    return torch.cat(hidden(state)[-directions:].unbind(0), -1)
