"""Sequence to sequence (third picture of Fig. 35): read a whole sequence, then write another of its own length."""

from dataclasses import dataclass
from typing import cast

import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError, at_least, between, choice
from lamina._types import Float, Int, Num, Seed, Tensor
from lamina.architectures import _sequences as sequences
from lamina.architectures._network import Network
from lamina.architectures.decoding import greedy
from lamina.functional.random import as_generator
from lamina.functional.recurrent import State, hidden
from lamina.layers.initialized import linear


@dataclass(frozen=True)
class EncoderDecoderConfig(sequences.RecurrentConfig):
    """The configuration of `EncoderDecoder`: that of all recurrent networks, and how the second sequence is written.

    Args:
        embedding: as in all recurrent networks, for the source; words by default.
        bidirectional: whether the encoder also reads backward.
        target_embedding: how the targets are read: a size, "one-hot", None for vectors, or "same" as the source.
        mode: "feedback" for two networks, of which the second reads what was written before; "notes" for one network
            that continues with zeros as inputs, as drawn in Fig. 35.
        context: whether the decoder and the output map also read a summary of the source at every step, not only at
            the first; the decoder then forgets less. True or "last" for the encoder's last state, "mean" or "max" for
            a map of the mean or the maximum of its states over all steps.
        tied: whether the output map uses the vectors of the target words as its rows, through a linear map to their
            size.
    """

    embedding: int | str | None = 32
    bidirectional: bool = False
    target_embedding: int | str | None = "same"
    mode: str = "feedback"
    context: bool | str = False
    tied: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("mode", self.mode, ("feedback", "notes"))
        choice("context", self.context, (False, True, *sequences.POOLING))
        if self.target_embedding != "same":
            sequences.check_embedding("target_embedding", self.target_embedding)
        if self.mode == "notes" and self.bidirectional:
            raise ArgumentError(
                "`bidirectional` must be False with mode='notes': one cell reads first and then writes."
            )
        if self.mode == "notes" and self.target_embedding != "same":
            raise ArgumentError("`target_embedding` must be 'same' with mode='notes': no targets are read there.")
        for name in ("context", "tied"):
            if self.mode == "notes" and getattr(self, name):
                raise ArgumentError(f"`{name}` must be False with mode='notes': the notes' network has no such part.")
        if self.tied and not isinstance(self.target, int):
            raise ArgumentError(f"`tied` needs learned vectors of the target words, got {self.target!r}: give a size.")

    @property
    def target(self) -> int | str | None:
        """How the targets are read, with "same" resolved."""
        return self.embedding if self.target_embedding == "same" else self.target_embedding


class EncoderDecoder(Network):
    r"""Translate a sequence into another: an encoder reads it, its last state starts a decoder, which writes.

    $$h^{<t>} = \mathrm{enc}(u^{<t>}, h^{<t-1>}),\ t \le T_{in}; \qquad s^{<0>} = h^{<T_{in}>}, \quad
    s^{<t>} = \mathrm{dec}(y^{<t-1>}, s^{<t-1>}), \quad y^{<t>} = W_{out} s^{<t>},\ t \le T_{out}$$

    In training the decoder reads the true word before, not its own (teacher forcing); `teacher_inputs` shifts the
    targets. With `mode="notes"` one network does both and reads zeros while it writes. A bidirectional encoder hands
    over through a bridge, $s^{<0>} = \tanh(W [h^{<T_{in}>}; g^{<1>}] + b)$ for each layer.

    Notes: N5.03, N5.11 (§5, Ex. 5.1).
    Corrects: E63, the notes leave open what is read after T_in, and draw one cell where practice has two.

    >>> net = EncoderDecoder(EncoderDecoderConfig(inputs=50, outputs=60, hidden=16))
    >>> source, targets = torch.ones(2, 5, dtype=torch.long), torch.ones(2, 4, dtype=torch.long)
    >>> net(source, teacher_inputs(targets, start=0)).shape
    torch.Size([2, 4, 60])
    """

    stackable, leading = True, ("batch",)

    def __init__(self, config: EncoderDecoderConfig, *, seed: Seed = 0) -> None:
        super().__init__()
        g = as_generator(seed)
        self.config = config
        self.source_encoding, size = sequences.make_encoding(config.inputs, config.embedding, g, config.embedding_std)
        self.encoder = sequences.make_recurrent(config, size, g, config.bidirectional)
        if config.mode == "feedback":
            self.bridge = (
                Bridge(config.layers, config.hidden, config.cell == "lstm", g) if config.bidirectional else None
            )
            self.target_encoding, size = sequences.make_encoding(config.outputs, config.target, g, config.embedding_std)
            self.decoder = sequences.make_recurrent(config, size + (config.hidden if config.context else 0), g)
        width = config.hidden * (2 if config.context else 1)
        # Tied: the states are brought to the size of the target words' vectors, which are the rows of the last map.
        self.output = linear(width, size if config.tied else config.outputs, bias=config.output_bias, seed=g)
        if config.context in ("mean", "max"):
            self.summary = linear(config.hidden * self.encoder.directions, config.hidden, seed=g)
        self.input_dropout, self.output_dropout = sequences.make_dropouts(config, g)

    def forward(
        self, source: Num[Tensor, "..."], target_inputs: Num[Tensor, "..."], lengths: sequences.Lengths = None
    ) -> Float[Tensor, "*batch time label"]:
        """Return the outputs (logits) of every step of the target, given the true ones before.

        Args:
            source: words of shape [batch, time], or vectors of shape [batch, time, inputs].
            target_inputs: what the decoder reads: words of shape [batch, time], or vectors of shape [batch, time,
                outputs]. With mode="notes" only its number of steps counts.
            lengths: how many steps each source has; see `layers.recurrent.Recurrent`.
        """
        if target_inputs.ndim < 2 or target_inputs.shape[0] != source.shape[0]:
            raise ShapeError(
                "`target_inputs` must have the shape [batch, time, ...] with the batch of `source`, which is "
                f"{source.shape[0]}, got {list(target_inputs.shape)}."
            )
        if self.config.mode == "feedback":
            axes = (*self.leading, "time")
            sequences.check_sequence("target_inputs", target_inputs, self.config.outputs, self.config.target, axes)
        return self._decode(target_inputs, self.encode(source, lengths))[0]

    def encode(self, source: Num[Tensor, "..."], lengths: sequences.Lengths = None) -> State:
        r"""Read a batch of sequences and return the state from which the decoder starts.

        With `context` the last row of the state is what the decoder reads at every step: the last state, or
        $\tanh(W m + b)$ with the mean or maximum m of the encoder's states over all steps.
        """
        config = self.config
        sequences.check_sequence("source", source, config.inputs, config.embedding, (*self.leading, "time"))
        read = self.input_dropout(self.source_encoding(source))
        lengths = sequences.lengths_from(source, config.padding, lengths)
        states, state = self.encoder(read, lengths=lengths)
        if config.mode == "feedback" and self.bridge is not None:
            state = self.bridge(state)
        if not config.context:
            return state
        h = hidden(state)
        kept = h[-1:]
        if isinstance(config.context, str) and config.context != "last":
            kept = torch.tanh(self.summary(sequences.pool_states(states, lengths, config.context)))[None]
        h = torch.cat([h, kept])
        return h if isinstance(state, Tensor) else (h, torch.cat([state[1], torch.zeros_like(h[-1:])]))

    @torch.no_grad()
    def generate(
        self, source: Num[Tensor, "..."], start: int, end: int, max_steps: int, lengths: sequences.Lengths = None
    ) -> Int[Tensor, "batch time"]:
        """Write the most probable word at each step and read it at the next, until all sequences have ended.

        Call `eval()` first, or dropout stays on. With mode="notes" nothing is read and `start` has no effect.

        Args:
            source: as in `forward`.
            start: the word read at the first step.
            end: the word after which a sequence is over; the rest of its row is filled with it.
            max_steps: how many words at most.
            lengths: how many steps each source has.

        Returns:
            As many words as the longest answer has, its end included.

        >>> net = EncoderDecoder(EncoderDecoderConfig(inputs=50, outputs=60, hidden=16)).eval()
        >>> net.generate(torch.ones(2, 5, dtype=torch.long), start=1, end=0, max_steps=7).shape
        torch.Size([2, 7])
        """
        at_least("max_steps", max_steps, 1)
        for name, word in (("start", start), ("end", end)):
            between(name, word, 0, self.config.outputs - 1)
        if self.config.mode == "feedback" and self.config.target is None:
            raise ArgumentError("`target_embedding` must not be None to generate words: `rollout` writes vectors.")
        words = torch.full((source.shape[0],), start, device=source.device)
        return greedy(self.write, self.encode(source, lengths), words, end, max_steps)

    def write(self, before: Num[Tensor, "..."], state: State) -> tuple[Float[Tensor, "batch label"], State]:
        """Advance the decoder by one step that reads what was written before; a `Writer` of `decoding`."""
        outputs, state = self._decode(before[:, None], state)
        return outputs[:, 0], state

    def rollout(
        self,
        source: Num[Tensor, "..."],
        steps: int,
        start: Float[Tensor, "batch label"] | None = None,
        lengths: sequences.Lengths = None,
    ) -> Float[Tensor, "batch time label"]:
        """Write vectors for a number of steps, reading the one before at each.

        Args:
            source: as in `forward`.
            steps: how many vectors.
            start: the vector read at the first step; zeros when not given.
            lengths: how many steps each source has.

        >>> net = EncoderDecoder(EncoderDecoderConfig(inputs=3, outputs=2, hidden=16, embedding=None))
        >>> net.rollout(torch.zeros(4, 5, 3), steps=6).shape
        torch.Size([4, 6, 2])
        """
        at_least("steps", steps, 1)
        if self.config.mode == "feedback" and self.config.target is not None:
            raise ArgumentError(
                f"`target_embedding` must be None to roll out vectors, got {self.config.target!r}: `generate` writes "
                "words."
            )
        state, written = self.encode(source, lengths), []
        values = self.output.weight.new_zeros(source.shape[0], self.config.outputs) if start is None else start
        for _ in range(steps):
            values, state = self.write(values, state)
            written.append(values)
        return torch.stack(written, 1)

    def _decode(self, read: Tensor, state: State) -> tuple[Tensor, State]:
        """Run the decoder along what it reads; return the outputs and the state after it."""
        config = self.config
        if config.mode == "notes":
            leading = hidden(state).shape[1:-1]
            silence = self.output.weight.new_zeros(*leading, read.shape[len(leading)], self.encoder.input_size)
            states, state = self.encoder(silence, state)
            return self.output(self.output_dropout(states)), state
        words = self.input_dropout(self.target_encoding(read))
        if not config.context:
            states, state = self.decoder(words, state)
            return self._words(states), state
        kept, state = hidden(state)[-1:], _rows(state, slice(0, -1))
        context = kept[0].unsqueeze(-2).expand(*kept.shape[1:-1], words.shape[-2], -1)
        # Words that the members of a population share are each member's here.
        words = words.expand(*context.shape[:-1], -1)
        states, state = self.decoder(torch.cat([words, context], -1), state)
        outputs = self._words(torch.cat([states, context], -1))
        if isinstance(state, Tensor):
            return outputs, torch.cat([state, kept])
        return outputs, (torch.cat([state[0], kept]), torch.cat([state[1], torch.zeros_like(kept)]))

    def _words(self, states: Tensor) -> Tensor:
        """Map states to the logits of words."""
        outputs = self.output(self.output_dropout(states))
        return self.target_encoding(outputs, reverse=True) if self.config.tied else outputs


class Bridge(nn.Module):
    r"""Turn the last states of a bidirectional encoder into the first state of a decoder of the same depth.

    $$s_l = \tanh(W_l [h_l; g_l] + b_l), \qquad c_l = V_l [c_l^{h}; c_l^{g}] + d_l$$
    for each layer l, the second for the cell states of an LSTM.

    Notes: N5.11 (§5).
    Corrects: E63, E66, the notes leave both open.

    Args:
        layers: how many states.
        hidden: the size of each.
        cell_state: whether there are cell states too.
        seed: an integer or a generator.

    >>> Bridge(1, 4, cell_state=False, seed=0)(torch.zeros(2, 3, 4)).shape
    torch.Size([1, 3, 4])
    """

    stackable = True

    def __init__(self, layers: int, hidden: int, cell_state: bool, seed: Seed) -> None:
        super().__init__()
        g = as_generator(seed)
        self.hidden_maps = nn.ModuleList(linear(2 * hidden, hidden, seed=g) for _ in range(layers))
        self.cell_maps = nn.ModuleList(linear(2 * hidden, hidden, seed=g) for _ in range(layers if cell_state else 0))

    def forward(self, state: State) -> State:
        """Return one state per layer from the states of both directions, ordered as `Recurrent` returns them."""
        if isinstance(state, Tensor):
            return torch.tanh(_merge(self.hidden_maps, state))
        return torch.tanh(_merge(self.hidden_maps, state[0])), _merge(self.cell_maps, state[1])


def _rows(state: State, rows: slice) -> State:
    """Take some layers of a state."""
    return state[rows] if isinstance(state, Tensor) else (state[0][rows], state[1][rows])


def _merge(maps: nn.ModuleList, states: Tensor) -> Tensor:
    """Apply each layer's map to its two directions, joined."""
    forward, backward = states[0::2], states[1::2]
    return torch.stack([cast(Tensor, W(torch.cat(pair, -1))) for W, *pair in zip(maps, forward, backward, strict=True)])


def teacher_inputs(targets: Num[Tensor, "batch time *feature"], start: float) -> Num[Tensor, "batch time *feature"]:
    """Shift targets by one step, so that a decoder reads at each step what should have been written before.

    Notes: N5.11 (§5).

    Args:
        targets: the words or vectors to be written.
        start: what is read at the first step.

    >>> teacher_inputs(torch.tensor([[5, 6, 7]]), start=0).tolist()
    [[0, 5, 6]]
    """
    return torch.cat([torch.full_like(targets[:, :1], start), targets[:, :-1]], 1)
