"""Recurrent networks by the shape of their task (Fig. 35 of the notes): one to many, many to one, many to many.

The fourth shape, many to many with other lengths, is in `architectures.seq2seq`. All read vectors or words: with an
`embedding` the inputs are integers, the positions of words in a dictionary of size `inputs`.
"""

from dataclasses import dataclass

import torch

from lamina._errors import ArgumentError, at_least, choice
from lamina._types import Float, Num, Seed, Tensor
from lamina.architectures import _sequences as sequences
from lamina.architectures._network import Network
from lamina.functional.random import as_generator
from lamina.functional.recurrent import State, hidden
from lamina.layers.initialized import linear


@dataclass(frozen=True)
class OneToManyConfig(sequences.RecurrentConfig):
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
class ManyToOneConfig(sequences.RecurrentConfig):
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
        choice("pooling", self.pooling, sequences.POOLING)


@dataclass(frozen=True)
class ManyToManyConfig(sequences.RecurrentConfig):
    """The configuration of `ManyToMany`: that of all recurrent networks, and the number of directions.

    Args:
        bidirectional: whether each layer also runs backward in time.
    """

    bidirectional: bool = False


class _Network(Network):
    """What the three networks share: encoding, cells, output map and dropouts, drawn in this order."""

    leading = ("batch",)

    def __init__(self, config: sequences.RecurrentConfig, *, seed: Seed = 0) -> None:
        super().__init__()
        g = as_generator(seed)
        self.config = config
        self.encoding, size = sequences.make_encoding(config.inputs, config.embedding, g, config.embedding_std)
        self.recurrent = sequences.make_recurrent(config, size, g, getattr(config, "bidirectional", False))
        width = config.hidden * self.recurrent.directions
        self.output = linear(width, config.outputs, bias=config.output_bias, seed=g)
        self.input_dropout, self.output_dropout = sequences.make_dropouts(config, g)


class OneToMany(_Network):
    r"""Write a sequence from one input, as in describing an image.

    $$h^{<1>} = \mathrm{cell}(u, 0),\ h^{<t>} = \mathrm{cell}(v^{<t>}, h^{<t-1>}),\ y^{<t>} = W_{out} h^{<t>}$$
    with v = 0 as drawn in Fig. 35, or $v^{<t>} = y^{<t-1>}$ with feedback; for words the most probable one is read, and
    no gradient passes through that choice.

    Notes: N5.09 (§5).
    Corrects: E63, the notes do not say what is read after the first step.

    >>> net = OneToMany(OneToManyConfig(inputs=8, outputs=3, hidden=16, steps=5))
    >>> net(torch.zeros(2, 8)).shape
    torch.Size([2, 5, 3])
    """

    stackable = True
    config: OneToManyConfig

    def forward(self, inputs: Num[Tensor, "..."], steps: int | None = None) -> Float[Tensor, "*batch time label"]:
        """Return `steps` outputs, or as many as the configuration says, for each of the `inputs`.

        Args:
            inputs: vectors of shape [batch, inputs], or words of shape [batch].
            steps: how many outputs, for another number than the configuration's.
        """
        config = self.config
        steps = config.steps if steps is None else steps
        at_least("steps", steps, 1)
        sequences.check_sequence("inputs", inputs, config.inputs, config.embedding, self.leading)
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


class ManyToOne(_Network):
    r"""Judge a whole sequence once, as in sentiment analysis.

    $$y = W_{out} h^{<T>}, \qquad\text{in both directions}\qquad y = W_{out} [h^{<T>}; g^{<1>}]$$
    where T is each sequence's own last step. With `pooling` the mean or the maximum over the steps of each component of
    [h; g] stands in the place of the last states.

    Notes: N5.10 (§5).
    Corrects: E66, how h and g are combined; E75, sentiment analysis reads texts, rarely videos.

    >>> net = ManyToOne(ManyToOneConfig(inputs=100, outputs=2, embedding=8, bidirectional=True))
    >>> net(torch.tensor([[5, 7, 1], [9, 3, 0]]), lengths=[3, 2]).shape
    torch.Size([2, 2])
    """

    stackable = True
    config: ManyToOneConfig

    def forward(self, inputs: Num[Tensor, "..."], lengths: sequences.Lengths = None) -> Float[Tensor, "*batch label"]:
        """Return the outputs (logits) of each sequence.

        Args:
            inputs: vectors of shape [batch, time, inputs], or words of shape [batch, time].
            lengths: how many steps each sequence has; see `layers.recurrent.Recurrent`.
        """
        sequences.check_sequence("inputs", inputs, self.config.inputs, self.config.embedding, (*self.leading, "time"))
        read = self.input_dropout(self.encoding(inputs))
        lengths = sequences.lengths_from(inputs, self.config.padding, lengths)
        states, state = self.recurrent(read, lengths=lengths)
        judged = _last(state, self.recurrent.directions)
        if self.config.pooling != "last":
            judged = sequences.pool_states(states, lengths, self.config.pooling)
        return self.output(self.output_dropout(judged))


class ManyToMany(_Network):
    r"""Answer every step of a sequence, as in tracking an object from frame to frame.

    $$y^{<t>} = W_{out} h^{<t>}, \qquad\text{in both directions}\qquad y^{<t>} = W_{out} [h^{<t>}; g^{<t>}]$$

    Notes: N5.12, N5.21 (§5, §5.1).
    Corrects: E66, how h and g are combined.

    >>> net = ManyToMany(ManyToManyConfig(inputs=2, outputs=4, cell="lstm", layers=2))
    >>> net(torch.zeros(3, 7, 2)).shape
    torch.Size([3, 7, 4])
    """

    stackable = True
    config: ManyToManyConfig

    def forward(
        self, inputs: Num[Tensor, "..."], lengths: sequences.Lengths = None
    ) -> Float[Tensor, "*batch time label"]:
        """Return the outputs (logits) at each step; past a sequence's end they are those of the state zero.

        Args:
            inputs: vectors of shape [batch, time, inputs], or words of shape [batch, time].
            lengths: how many steps each sequence has; see `layers.recurrent.Recurrent`.
        """
        return self.read(inputs, None, lengths)[0]

    def read(
        self, inputs: Num[Tensor, "..."], state: State | None = None, lengths: sequences.Lengths = None
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
        sequences.check_sequence("inputs", inputs, self.config.inputs, self.config.embedding, (*self.leading, "time"))
        lengths = sequences.lengths_from(inputs, self.config.padding, lengths)
        states, state = self.recurrent(self.input_dropout(self.encoding(inputs)), state, lengths)
        return self.output(self.output_dropout(states)), state

    def write(self, words: Num[Tensor, "..."], state: State) -> tuple[Float[Tensor, "batch label"], State]:
        """Read one more word per sequence and return the outputs and the state; a `Writer` of `decoding`."""
        outputs, state = self.read(words[:, None], state)
        return outputs[:, 0], state


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
