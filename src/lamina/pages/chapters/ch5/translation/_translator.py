"""Follow an encoder-decoder while it translates: what it reads and writes at each step, and its states."""

from dataclasses import dataclass

import torch

from lamina._errors import DataError
from lamina._types import Float, Tensor
from lamina.architectures.seq2seq import EncoderDecoder
from lamina.data.text.tokens import TextPreprocess
from lamina.data.text.vocabulary import END, PAD, START
from lamina.functional.recurrent import hidden
from lamina.training.tasks.texts import copied, unknown_words

LONGEST = 40
"""Words of a sentence that a page follows."""


@dataclass(frozen=True)
class Step:
    """One step of writing.

    Args:
        reads: the word that was written before, or the start token.
        writes: the most probable word.
        best: the most probable words with their probabilities, the first of which is written.
    """

    reads: str
    writes: str
    best: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Translation:
    """A translation, step by step.

    Args:
        words: what was read, the end token last.
        read_states: the state of the encoder after each of them.
        steps: what was written.
        written_states: the state of the decoder at each of these steps.
        text: the whole, for people.
        unknown: the words of the sentence that the dictionary does not have.
    """

    words: tuple[str, ...]
    read_states: Float[Tensor, "_ hidden"]
    steps: tuple[Step, ...]
    written_states: Float[Tensor, "_ hidden"]
    text: str
    unknown: tuple[str, ...]

    @property
    def ended(self) -> bool:
        """Whether the network ended the sentence by itself."""
        return self.steps[-1].writes == "<end>"


@torch.no_grad()
def follow(network: EncoderDecoder, preprocess: TextPreprocess, text: str, candidates: int = 3) -> Translation:
    """Translate one sentence, taking the most probable word at each step, and keep everything on the way.

    Notes: N5.03, N5.49 (§5, Ex. 5.1; §5.3).

    Args:
        network: an encoder-decoder in evaluation mode, of one layer and without a context of its own.
        preprocess: with the dictionaries of both sides.
        text: the sentence.
        candidates: how many of the most probable words are kept at each step.

    >>> from lamina.pages.kit._shipped import shipped
    >>> network, record = shipped("seq2seq-phrasebook")
    >>> found = follow(network, record.preprocess, "The sun is shining today")
    >>> found.text, len(found.words), len(found.steps)
    ('Heute scheint die Sonne', 6, 5)
    """
    tokens = preprocess.read([text])
    if tokens.shape[1] > LONGEST + 1:
        raise DataError(f"the sentence has {tokens.shape[1] - 1} words, at most {LONGEST} fit: shorten it.")
    reading, writing = preprocess.vocabulary, preprocess.answer_vocabulary
    assert writing is not None
    read_states, _ = network.encoder(network.source_encoding(tokens))
    state, before, written, states, steps = network.encode(tokens), START, [], [], []
    for _ in range(2 * tokens.shape[1] + 20):
        logits, state = network.write(torch.tensor([before]), state)
        logits[:, [PAD, START]] = -torch.inf
        shares, best = logits[0].softmax(-1).topk(candidates)
        names = [writing.tokens[i] for i in best.tolist()]
        steps.append(Step(writing.tokens[before], names[0], tuple(zip(names, shares.tolist(), strict=True))))
        states.append(hidden(state)[-1, 0])
        before = int(best[0])
        written.append(before)
        if before == END:
            break
    unknown = unknown_words(reading, text)
    return Translation(
        tuple(reading.tokens[i] for i in tokens[0].tolist()),
        read_states[0],
        tuple(steps),
        torch.stack(states),
        copied(writing.decode(written, display=True), unknown),
        tuple(unknown),
    )
