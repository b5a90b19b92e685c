"""Decoding against exhaustive search, by hand, and against frequencies."""

import itertools
import math

import pytest
import torch

import lamina
from lamina._errors import ArgumentError
from lamina.architectures.decoding import beam_search, greedy, sample

END = 3


def markov(table):
    """A writer whose next word depends on the last one; the state counts the steps."""
    logits = torch.tensor(table).log()
    return lambda words, state: (logits[words], state + 1)


TABLE = [[0.1, 0.5, 0.3, 0.1], [0.4, 0.1, 0.45, 0.05], [0.05, 0.35, 0.3, 0.3], [0.25, 0.25, 0.25, 0.25]]
START, STATE = torch.tensor([0]), torch.zeros(1, 1, 1)


def exhaustive(table, start, max_steps, alpha):
    """The best of all sequences that end, or have the greatest length."""
    best, worth = None, -math.inf
    for n in range(1, max_steps + 1):
        for body in itertools.product(range(3), repeat=n - 1):
            lasts = [END] if n < max_steps else range(4)
            for last in lasts:
                words = (*body, last)
                total = sum(math.log(table[a][b]) for a, b in itertools.pairwise((start, *words)))
                if total / n**alpha > worth:
                    best, worth = words, total / n**alpha
    return best, worth


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("start", [0, 1, 2])
def test_enough_beams_find_the_best_sequence(alpha, start):
    words, value = beam_search(markov(TABLE), STATE, torch.tensor([start]), END, 4, beams=200, length_penalty=alpha)
    best, worth = exhaustive(TABLE, start, 4, alpha)
    found = words[0].tolist()
    assert tuple(found[: len(best)]) == best and set(found[len(best) :]) <= {END}
    assert value.item() == pytest.approx(worth, rel=1e-5)


def test_one_beam_is_greedy_and_batches_do_not_mix():
    starts, states = torch.tensor([0, 1, 2]), torch.zeros(1, 3, 1)
    rows = greedy(markov(TABLE), states, starts, END, 6)
    assert rows[0].tolist() == [1, 2, 1, 2, 1, 2]
    torch.testing.assert_close(beam_search(markov(TABLE), states, starts, END, 6, beams=1)[0], rows)
    together = beam_search(markov(TABLE), states, starts, END, 6, beams=4)
    for i, start in enumerate(starts):
        alone, value = beam_search(markov(TABLE), STATE, start.reshape(1), END, 6, beams=4)
        assert together[0][i, : alone.shape[1]].tolist() == alone[0].tolist()
        assert together[1][i] == pytest.approx(value.item(), rel=1e-6)


@pytest.mark.notes("N5.48")
def test_writing_stops_at_the_end_and_the_row_is_filled_with_it():
    def count(words, state):
        return torch.nn.functional.one_hot((words + 1).clamp(max=END), 4).float() * 50, state

    rows = greedy(count, torch.zeros(1, 2, 1), torch.tensor([0, 1]), END, 9)
    assert rows.tolist() == [[1, 2, 3], [2, 3, 3]]
    assert beam_search(count, torch.zeros(1, 2, 1), torch.tensor([0, 1]), END, 9, beams=2)[0].tolist() == rows.tolist()


@pytest.mark.notes("N5.48")
def test_after_its_end_a_row_holds_nothing_else_whatever_the_network_says():
    """After END this network would begin to count again; the shorter answer must not."""

    def cycle(words, state):
        return torch.nn.functional.one_hot((words + 1) % 4, 4).float() * 50, state

    states, starts, expected = torch.zeros(1, 2, 1), torch.tensor([0, 2]), [[1, 2, END], [END, END, END]]
    assert greedy(cycle, states, starts, END, 9).tolist() == expected
    assert sample(cycle, states, starts, END, 9).tolist() == expected
    words, value = beam_search(cycle, states, starts, END, 9, beams=2)
    assert words.tolist() == expected
    assert value.tolist() == pytest.approx([0.0, 0.0], abs=1e-6)  # all that follows the end is free


def test_forbidden_words_are_never_written():
    rows = greedy(markov(TABLE), STATE, START, END, 5, never=[1])
    assert 1 not in rows[0].tolist() and rows[0, 0] == 2
    assert 1 not in beam_search(markov(TABLE), STATE, START, END, 5, never=[1, 2])[0][0].tolist()
    with pytest.raises(ArgumentError, match="`never` must be in \\[0, 3\\], got 4"):
        greedy(markov(TABLE), STATE, START, END, 5, never=[4])


def test_the_states_of_beams_follow_their_words():
    """Each state holds the sum of the words read, so the logits are right only if states move with their beams."""

    def write(words, state):
        total = state + words[None, :, None].float()
        ways = torch.tensor([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]).log()
        return ways[total[0, :, 0].long() % 3], total

    words, value = beam_search(write, STATE, torch.tensor([1]), end=2, max_steps=4, beams=81, length_penalty=0.0)
    total, expected = 1, 0.0
    ways = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]
    for word in words[0].tolist():
        expected += math.log(ways[total % 3][word])
        total += word
        if word == 2:
            break
    assert value.item() == pytest.approx(expected, rel=1e-5)


def test_sampling_has_the_right_frequencies():
    states, starts = torch.zeros(1, 20_000, 1), torch.zeros(20_000, dtype=torch.long)
    for temperature, power in ((1.0, 1.0), (0.5, 2.0)):
        rows = sample(markov(TABLE), states, starts, None, 1, temperature=temperature, seed=4)
        expected = torch.tensor(TABLE[0]) ** power
        shares = torch.bincount(rows[:, 0], minlength=4) / 20_000
        torch.testing.assert_close(shares, expected / expected.sum(), atol=0.012, rtol=0)
    rows = sample(markov(TABLE), states, starts, None, 1, top_k=2, seed=4)
    shares = torch.bincount(rows[:, 0], minlength=4) / 20_000
    torch.testing.assert_close(shares, torch.tensor([0, 0.625, 0.375, 0]), atol=0.012, rtol=0)


def test_sampling_is_a_function_of_its_seed_and_ends():
    starts, states = torch.tensor([0, 1]), torch.zeros(1, 2, 1)
    first, again, other = (sample(markov(TABLE), states, starts, END, 50, seed=s) for s in (1, 1, 2))
    assert first.equal(again) and not (first.shape == other.shape and first.equal(other))
    for row in first.tolist():
        assert END in row and set(row[row.index(END) :]) == {END}
    assert sample(markov(TABLE), states, starts, END, 6, temperature=0).equal(
        greedy(markov(TABLE), states, starts, END, 6)
    )


def test_bad_numbers_are_refused():
    for options, sentence in (
        ({"beams": 0}, "`beams` must be at least 1, got 0"),
        ({"length_penalty": -1.0}, "`length_penalty` must be at least 0, got -1"),
    ):
        with pytest.raises(ArgumentError, match=sentence):
            beam_search(markov(TABLE), STATE, START, END, 5, **options)
    with pytest.raises(ArgumentError, match="`temperature` must be greater than 0, got -1"):
        sample(markov(TABLE), STATE, START, END, 5, temperature=-1.0)
    with pytest.raises(ArgumentError, match="`top_k` must be at least 1, got 0"):
        sample(markov(TABLE), STATE, START, END, 5, top_k=0)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("mode", ["feedback", "notes"])
def test_an_encoder_decoder_writes_with_beams(cell, mode):
    net = lamina.build("seq2seq", inputs=9, outputs=7, hidden=5, cell=cell, mode=mode, seed=3).eval()
    source = torch.tensor([[1, 4, 2], [8, 3, 5]])
    state, start = net.encode(source), torch.tensor([1, 1])
    rows = net.generate(source, start=1, end=0, max_steps=6)
    assert greedy(net.write, state, start, 0, 6).equal(rows)
    wide, value = beam_search(net.write, state, start, 0, 6, beams=4, length_penalty=0.0)
    _, narrow = beam_search(net.write, state, start, 0, 6, beams=1, length_penalty=0.0)
    assert bool((value >= narrow - 1e-6).all())
    read = torch.cat([start[:, None], wide[:, :-1]], 1)
    steps = net(source, read).log_softmax(-1).gather(2, wide[:, :, None]).squeeze(2)
    alive = (wide == 0).cumsum(1) - (wide == 0).long() == 0  # up to the first end
    torch.testing.assert_close((steps * alive).sum(1), value, atol=1e-5, rtol=1e-5)
