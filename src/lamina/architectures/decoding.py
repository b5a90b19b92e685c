r"""Ways to write a sequence with a network that gives the probabilities of the next word.

A writer is a function: it takes the words written last and a state, and returns the logits of the next words and the
new state. `EncoderDecoder.write` is one, and so is that of a language model. All sequences of a batch are written
together; one that has ended is filled with the end word.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch

from lamina._errors import above, at_least, between
from lamina._types import Float, Int, Tensor
from lamina.functional.random import uniform
from lamina.functional.recurrent import State

Writer = Callable[[Tensor, State], tuple[Tensor, State]]
"""(words [batch], state) -> (logits [batch, word], state)."""

_SAMPLING = 0x53414D50  # the stream of random numbers that sampling uses


def greedy(
    write: Writer, state: State, start: Int[Tensor, " batch"], end: int, max_steps: int, never: Sequence[int] = ()
) -> Int[Tensor, "batch time"]:
    """Write the most probable word at each step and read it at the next, until all sequences have ended.

    Notes: N5.48 (§5.3).

    Args:
        write: the network.
        state: from which it starts, with the batch second.
        start: the word that is read first, for each sequence.
        end: the word after which a sequence is over; the rest of its row is filled with it.
        max_steps: how many words at most.
        never: words that are not written, for example the padding.

    Returns:
        As many words as the longest answer has, its end included.

    >>> def count(words, state):  # after word k comes word k + 1
    ...     return torch.nn.functional.one_hot(words + 1, 5).float(), state
    >>> greedy(count, torch.zeros(1, 1, 1), torch.tensor([1]), end=4, max_steps=9).tolist()
    [[2, 3, 4]]
    """
    return sample(write, state, start, end, max_steps, temperature=0.0, never=never)


@torch.no_grad()
def beam_search(
    write: Writer,
    state: State,
    start: Int[Tensor, " batch"],
    end: int,
    max_steps: int,
    *,
    beams: int = 5,
    length_penalty: float = 1.0,
    never: Sequence[int] = (),
) -> tuple[Int[Tensor, "batch time"], Float[Tensor, " batch"]]:
    r"""Keep the best few beginnings of every sequence and return the best whole one.

    A sequence of n words, its end counted, is worth $\log p / n^\alpha$ with alpha = `length_penalty`: 0 compares
    probabilities, which favours short answers, 1 compares means over words. One beam is `greedy`, and the
    arguments are those of `greedy` besides; `beams` is how many beginnings are kept.

    Returns:
        The words, and what each sequence is worth.

    >>> def flip(words, state):  # heads 0, tails 1, or the end 2, always with the same chances
    ...     return torch.tensor([0.3, 0.2, 0.5]).log().expand(len(words), 3), state
    >>> start, state = torch.tensor([0]), torch.zeros(1, 1, 1)
    >>> beam_search(flip, state, start, end=2, max_steps=3, length_penalty=0.0)[0].tolist()
    [[2]]
    """
    at_least("max_steps", max_steps, 1)
    at_least("beams", beams, 1)
    at_least("length_penalty", length_penalty, 0)
    batch, device = len(start), start.device
    state = _map(state, lambda t: t.repeat_interleave(beams, 1))
    words = start.repeat_interleave(beams)
    written = torch.empty((batch, beams, 0), dtype=torch.int64, device=device)
    # At first all beams are the same: only the first one counts.
    total = torch.full((batch, beams), -torch.inf, device=device)
    total[:, 0] = 0
    ended = torch.zeros((batch, beams), dtype=torch.bool, device=device)
    lengths = torch.zeros((batch, beams), device=device)
    first = torch.arange(batch, device=device)[:, None] * beams
    for _ in range(max_steps):
        logits, state = write(words, state)
        gains = _without(logits, never).float().log_softmax(-1).reshape(batch, beams, -1)
        size = gains.shape[2]
        # What has ended continues with its end token, at no cost.
        still = torch.full((size,), -torch.inf, device=device)
        still[end] = 0
        totals = total[:, :, None] + torch.where(ended[:, :, None], still, gains)
        longer = lengths + ~ended
        worth = totals / longer[:, :, None] ** length_penalty
        _, chosen = worth.flatten(1).topk(beams, 1)
        parent, word = chosen // size, chosen % size
        total = totals.flatten(1).gather(1, chosen)
        lengths, ended = longer.gather(1, parent), ended.gather(1, parent) | (word == end)
        written = torch.cat(
            [written.gather(1, parent[:, :, None].expand(-1, -1, written.shape[2])), word[:, :, None]], 2
        )
        words = word.flatten()
        state = _map(state, partial(torch.index_select, dim=1, index=(first + parent).flatten()))
        if bool(ended.all()):
            break
    worth = total / lengths**length_penalty
    value, best = worth.max(1)
    longest = int(lengths.gather(1, best[:, None]).max())
    return written[torch.arange(batch, device=device), best, :longest], value


@torch.no_grad()
def sample(
    write: Writer,
    state: State,
    start: Int[Tensor, " batch"],
    end: int | None,
    max_steps: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    seed: int = 0,
    never: Sequence[int] = (),
) -> Int[Tensor, "batch time"]:
    r"""Draw each word with the probability $\propto p^{1/\tau}$, tau = `temperature`, among the `top_k` best.

    The draws are a pure function of seed, step and place in the batch. Temperature 0 is `greedy`.

    Args:
        write: the network.
        state: from which it starts, with the batch second.
        start: the word that is read first, for each sequence.
        end: the word after which a sequence is over, or None for always `max_steps` words.
        max_steps: how many words at most.
        temperature: below 1 probable words become more probable, above 1 less.
        top_k: how many words may be drawn at each step; all by default.
        seed: which draw.
        never: words that are not written.

    >>> def flip(words, state):
    ...     return torch.zeros(len(words), 2), state
    >>> rows = sample(flip, torch.zeros(1, 1, 1), torch.zeros(1, dtype=torch.long), None, 1000)
    >>> rows.shape, bool((rows.float().mean() - 0.5).abs() < 0.05)
    (torch.Size([1, 1000]), True)
    """
    at_least("max_steps", max_steps, 1)
    if temperature:
        above("temperature", temperature, 0)
    if top_k is not None:
        at_least("top_k", top_k, 1)
    words, written = start, []
    ended = torch.zeros_like(start, dtype=torch.bool)
    for step in range(max_steps):
        logits, state = write(words, state)
        words = _draw(_without(logits, never), temperature, top_k, seed, step)
        if end is not None:
            words = torch.where(ended, end, words)
            ended = ended | (words == end)
        written.append(words)
        if end is not None and bool(ended.all()):
            break
    return torch.stack(written, 1)


def _draw(logits: Tensor, temperature: float, top_k: int | None, seed: int, step: int) -> Tensor:
    if not temperature:
        return logits.argmax(-1)
    if top_k is not None and top_k < logits.shape[1]:
        least = logits.topk(top_k, 1).values[:, -1:]
        logits = logits.masked_fill(logits < least, -torch.inf)
    shares = (logits.double() / temperature).softmax(-1).cumsum(-1)
    chance = uniform((len(logits),), seed, _SAMPLING, step, logits.device).double()
    # The last share is 1 up to rounding; divided by itself it is 1, above every chance.
    return torch.searchsorted(shares / shares[:, -1:], chance[:, None], right=True).squeeze(1)


def _without(logits: Tensor, never: Sequence[int]) -> Tensor:
    """Make some words impossible."""
    for word in never:
        between("never", word, 0, logits.shape[1] - 1)
    if not never:
        return logits
    return logits.index_fill(1, torch.tensor(list(never), device=logits.device), -torch.inf)


def _map(state: State, function: Callable[[Tensor], Tensor]) -> State:
    """Apply a function to the tensors of a state."""
    return function(state) if isinstance(state, Tensor) else (function(state[0]), function(state[1]))
