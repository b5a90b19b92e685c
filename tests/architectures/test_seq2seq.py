"""Encoder and decoder: what is handed over, what is read, and that greedy writing stops by itself."""

import pytest
import torch
from torch import nn

import lamina
from lamina._errors import ArgumentError, ShapeError
from lamina.architectures.seq2seq import Bridge, EncoderDecoder, EncoderDecoderConfig, teacher_inputs

CELLS = ["rnn", "gru", "lstm"]


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def words(generator, size, *shape):
    return torch.randint(size, shape, generator=generator)


def make(seed=0, **options):
    return EncoderDecoder(
        EncoderDecoderConfig(**{"inputs": 9, "outputs": 7, "hidden": 4, **options}), seed=seed
    ).double()


@pytest.mark.notes("N5.11")
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_the_decoder_starts_from_the_last_state_and_reads_the_targets(generator, cell, layers):
    network = make(cell=cell, layers=layers, embedding=3)
    source, read = words(generator, 9, 2, 5), words(generator, 7, 2, 4)
    _, state = network.encoder(network.source_encoding(source))
    states, _ = network.decoder(network.target_encoding(read), state)
    logits = network(source, read)
    assert logits.shape == (2, 4, 7) and torch.equal(logits, states @ network.output.weight.T)
    changed = network(source.flip(1), read)
    assert not torch.allclose(logits, changed)  # the source matters
    later = torch.cat([read[:, :2], (read[:, 2:] + 1) % 7], 1)
    assert torch.equal(network(source, later)[:, :2], logits[:, :2])  # and no step sees what comes after it


@pytest.mark.notes("N5.11")
def test_each_source_is_read_to_its_own_end(generator):
    for bidirectional in (False, True):
        network = make(cell="lstm", bidirectional=bidirectional)
        source, read = words(generator, 9, 2, 5), words(generator, 7, 2, 4)
        padded = network(source, read, lengths=[5, 3])
        torch.testing.assert_close(padded[1:], network(source[1:, :3], read[1:]), rtol=0, atol=1e-14)


@pytest.mark.notes("N5.11", "N5.13")
@pytest.mark.parametrize("cell", CELLS)
def test_notes_mode_is_one_network_that_goes_on_with_zeros(generator, cell):
    network = make(cell=cell, embedding="one-hot", mode="notes", layers=2)
    assert not hasattr(network, "decoder")
    source = words(generator, 9, 2, 3)
    vectors = nn.functional.one_hot(source, 9).double()
    whole, _ = network.encoder(torch.cat([vectors, torch.zeros(2, 2, 9).double()], 1))
    expected = whole[:, 3:] @ network.output.weight.T
    for read in (words(generator, 7, 2, 2), torch.zeros(2, 2, 7)):  # only its number of steps counts
        torch.testing.assert_close(network(source, read), expected, rtol=0, atol=1e-14)
    torch.testing.assert_close(network.rollout(source, 2), expected, rtol=0, atol=1e-14)
    default = make(cell=cell, layers=2)
    assert not torch.equal(default.encoder.cells[1].weight, default.decoder.cells[1].weight)  # two networks


@pytest.mark.notes("N5.11")
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_a_bidirectional_encoder_hands_over_through_the_bridge(generator, cell, layers):
    network = make(cell=cell, layers=layers, bidirectional=True)
    source, read = words(generator, 9, 2, 5), words(generator, 7, 2, 4)
    _, end = network.encoder(network.source_encoding(source))
    h = end[0] if cell == "lstm" else end
    expected = []
    for layer, W in enumerate(network.bridge.hidden_maps):
        expected.append(torch.tanh(torch.cat([h[2 * layer], h[2 * layer + 1]], -1) @ W.weight.T + W.bias))
    start = network.encode(source)
    got = start[0] if cell == "lstm" else start
    assert got.shape == (layers, 2, 4)
    torch.testing.assert_close(got, torch.stack(expected), rtol=0, atol=1e-14)
    if cell == "lstm":
        joined = torch.cat([end[1][0], end[1][1]], -1)
        torch.testing.assert_close(start[1][0], network.bridge.cell_maps[0](joined), rtol=0, atol=1e-14)
    states, _ = network.decoder(network.target_encoding(read), start)
    assert torch.equal(network(source, read), network.output(states))
    network(source, read).square().sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in network.parameters())


def test_a_bridge_has_maps_for_each_layer():
    assert sum(p.numel() for p in Bridge(3, 4, cell_state=True, seed=0).parameters()) == 2 * 3 * (8 * 4 + 4)
    assert not list(Bridge(3, 4, cell_state=False, seed=0).cell_maps)


@pytest.mark.parametrize("mode", ["feedback", "notes"])
def test_greedy_words_are_those_that_teacher_forcing_would_choose(generator, mode):
    network = make(seed=2, mode=mode)
    source = words(generator, 9, 5, 6)
    written = network.generate(source, start=0, end=6, max_steps=8)
    assert written.shape[0] == 5 and 1 <= written.shape[1] <= 8
    chosen = network(source, teacher_inputs(written, start=0)).argmax(-1)
    over = (written == 6).cumsum(1) - (written == 6).int() > 0  # after the first end
    assert torch.equal(chosen[~over], written[~over]) and (written[over] == 6).all()
    if written.shape[1] < 8:
        assert (written[:, -1] == 6).all()


def test_writing_stops_when_all_have_ended(generator):
    network, source = make(output_bias=True), words(generator, 9, 3, 5)
    with torch.no_grad():
        network.output.bias[6] = 100.0
    assert network.generate(source, start=0, end=6, max_steps=8).tolist() == [[6]] * 3
    assert network.generate(source, start=0, end=5, max_steps=8).tolist() == [[6] * 8] * 3
    assert network.generate(source, start=0, end=6, max_steps=8, lengths=[5, 1, 2]).tolist() == [[6]] * 3


@pytest.mark.notes("N5.11")
def test_vectors_are_read_and_written_too(generator):
    network = make(inputs=3, outputs=2, embedding=None)
    source, v = normal(generator, 4, 5, 3), torch.zeros(4, 1, 2, dtype=torch.float64)
    written = network.rollout(source, 3)
    assert written.shape == (4, 3, 2)
    torch.testing.assert_close(network(source, torch.cat([v, written[:, :-1]], 1)), written, rtol=0, atol=1e-14)
    start = normal(generator, 4, 2)
    assert torch.equal(network.rollout(source, 3, start)[:, :1], network(source, start[:, None]))
    assert not torch.allclose(network.rollout(source, 3, start), written)
    describe = make(inputs=3, outputs=7, embedding=None, target_embedding="one-hot")  # an image to words
    assert describe(source[:, :1], words(generator, 7, 4, 6)).shape == (4, 6, 7)
    assert describe.generate(source[:, :1], 0, 6, 4).shape[0] == 4


@pytest.mark.notes("N5.03")
def test_the_example_sentences_have_five_and_four_words():
    source, target = "the sun is shining today".split(), "heute scheint die sonne".split()
    assert (len(source), len(target)) == (5, 4)
    dictionaries = [["<end>", *sorted(sentence)] for sentence in (source, target)]
    u, y = (
        torch.tensor([[dictionary.index(word) for word in (*sentence, "<end>")]])
        for dictionary, sentence in zip(dictionaries, (source, target), strict=True)
    )
    assert u.shape == (1, 6) and y.shape == (1, 5)
    network = make(inputs=6, outputs=5)
    assert network(u, teacher_inputs(y, start=0)).shape == (1, 5, 5)
    assert network(u[:, :5], teacher_inputs(y[:, :4], start=0)).shape == (1, 4, 5)


@pytest.mark.notes("N5.11")
@pytest.mark.parametrize(
    "options", [{"cell": "gru"}, {"cell": "lstm", "bidirectional": True}, {"cell": "gru", "mode": "notes"}]
)
def test_three_sentences_are_learned_by_heart_and_end_by_themselves(options):
    end, start = 0, 1
    source = torch.tensor([[2, 3, 4, 5, 6], [2, 4, 3, 7, 0], [8, 2, 0, 0, 0]])
    lengths = torch.tensor([5, 4, 2])
    targets = torch.tensor([[5, 4, 3, 2, end], [2, 6, end, end, end], [3, 3, 3, end, end]])
    mask = (targets != end) | ((targets == end).cumsum(1) == 1)  # up to the first end
    network = EncoderDecoder(EncoderDecoderConfig(inputs=9, outputs=7, hidden=24, embedding=12, **options))
    optimizer = torch.optim.Adam(network.parameters(), 0.02)
    for _ in range(150):
        logits = network(source, teacher_inputs(targets, start), lengths)
        loss = nn.functional.cross_entropy(logits[mask], targets[mask])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.05
    network.eval()
    written = network.generate(source, start, end, max_steps=12, lengths=lengths)
    assert written.tolist() == targets.tolist()
    assert network.generate(source[2:, :2], start, end, max_steps=12).tolist() == [[3, 3, 3, end]]


def test_teacher_inputs_shift_words_and_vectors(generator):
    assert teacher_inputs(torch.tensor([[5, 6, 7], [1, 2, 3]]), start=4).tolist() == [[4, 5, 6], [4, 1, 2]]
    v = normal(generator, 2, 3, 4)
    shifted = teacher_inputs(v, start=0)
    assert torch.equal(shifted[:, 1:], v[:, :-1]) and not shifted[:, 0].any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "attention"}, "`mode` must be one of 'feedback', 'notes', got 'attention'"),
        ({"target_embedding": 0}, "`target_embedding` must be at least 1, got 0"),
        ({"target_embedding": "other"}, "`target_embedding` must be one of 'one-hot', None or a size, got 'other'"),
        ({"mode": "notes", "bidirectional": True}, "`bidirectional` must be False with mode='notes'"),
        ({"mode": "notes", "target_embedding": 3}, "`target_embedding` must be 'same' with mode='notes'"),
    ],
)
def test_wrong_configurations_get_a_sentence(options, message):
    with pytest.raises(ArgumentError, match=message):
        EncoderDecoderConfig(inputs=9, outputs=7, **options)


def test_wrong_inputs_get_a_sentence():
    network, source = make(), torch.zeros(2, 5, dtype=torch.long)
    with pytest.raises(ShapeError, match=r"`source` must be words, integers of shape \[batch, time\], got float32"):
        network(torch.zeros(2, 5, 9), source)
    with pytest.raises(
        ShapeError, match=r"`target_inputs` must be words, integers of shape \[batch, time\], got float32"
    ):
        network(source, torch.zeros(2, 5, 7))
    for wrong in (source[0], source[:1]):
        with pytest.raises(
            ShapeError, match=r"`target_inputs` must have the shape .* with the batch of `source`, which is 2"
        ):
            network(source, wrong)
    with pytest.raises(ArgumentError, match="`lengths` must be between 1 and the 5 steps of `inputs`, got 0"):
        network(source, source, lengths=[0, 5])
    with pytest.raises(ArgumentError, match="`max_steps` must be at least 1, got 0"):
        network.generate(source, 0, 1, max_steps=0)
    with pytest.raises(ArgumentError, match=r"`start` must be in \[0, 6\], got 7"):
        network.generate(source, 7, 1, max_steps=3)
    with pytest.raises(ArgumentError, match=r"`end` must be in \[0, 6\], got -1"):
        network.generate(source, 0, -1, max_steps=3)
    with pytest.raises(ArgumentError, match="`target_embedding` must be None to roll out vectors, got 32: `generate`"):
        network.rollout(source, 3)
    vectors = make(inputs=3, outputs=2, embedding=None)
    with pytest.raises(ArgumentError, match="`target_embedding` must not be None to generate words: `rollout`"):
        vectors.generate(torch.zeros(2, 5, 3, dtype=torch.float64), 0, 1, max_steps=3)
    with pytest.raises(ArgumentError, match="`steps` must be at least 1, got 0"):
        vectors.rollout(torch.zeros(2, 5, 3, dtype=torch.float64), 0)
    with pytest.raises(ShapeError, match=r"`target_inputs` must be vectors, float of shape \[batch, time, 2\]"):
        vectors(torch.zeros(2, 5, 3, dtype=torch.float64), torch.zeros(2, 4, 3, dtype=torch.float64))


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_context_is_read_at_every_step_and_carried_in_the_state(cell, bidirectional):
    """Whole targets at once, and word by word through `write`, give the same logits; by hand for the first step."""
    net = lamina.build(
        "seq2seq",
        inputs=9,
        outputs=7,
        hidden=5,
        cell=cell,
        context=True,
        bidirectional=bidirectional,
        padding=0,
        seed=3,
    ).double()
    source, target = torch.tensor([[1, 4, 2], [8, 3, 0]]), torch.tensor([[1, 2, 6], [1, 5, 3]])
    whole, state = net(source, target), net.encode(source)
    h = state if cell == "gru" else state[0]
    assert h.shape == (2, 2, 5) and h[0].equal(h[1])
    words = net.target_encoding(target[:, :1])
    first, _ = net.decoder(torch.cat([words, h[1][:, None]], -1), h[:1] if cell == "gru" else (h[:1], state[1][:1]))
    expected = torch.cat([first[:, 0], h[1]], -1) @ net.output.weight.T
    torch.testing.assert_close(whole[:, 0], expected, atol=1e-12, rtol=1e-12)
    for t in range(3):
        step, state = net.write(target[:, t], state)
        torch.testing.assert_close(step, whole[:, t], atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("context", ["mean", "max"])
def test_a_pooled_context_sums_up_all_states_of_the_encoder(cell, context):
    options = {"inputs": 9, "outputs": 7, "hidden": 5, "cell": cell, "bidirectional": True, "padding": 0, "seed": 3}
    net = lamina.build("seq2seq", context=context, **options).double()
    source, target = torch.tensor([[1, 4, 2], [8, 3, 0]]), torch.tensor([[1, 2, 6], [1, 5, 3]])
    state = net.encode(source)
    kept = (state if cell == "gru" else state[0])[-1]
    for row, length in enumerate((3, 2)):
        states = net.encoder(net.source_encoding(source[row : row + 1, :length]))[0][0]
        pooled = states.mean(0) if context == "mean" else states.max(0).values
        expected = torch.tanh(net.summary.weight @ pooled + net.summary.bias)
        torch.testing.assert_close(kept[row], expected, atol=1e-12, rtol=1e-12)
    whole = net(source, target)
    for t in range(3):
        step, state = net.write(target[:, t], state)
        torch.testing.assert_close(step, whole[:, t], atol=1e-12, rtol=1e-12)
    last, true = (lamina.build("seq2seq", context=way, **options).double() for way in ("last", True))
    assert torch.equal(last(source, target), true(source, target))
    with pytest.raises(ArgumentError, match="`context` must be one of .* got 'sum'"):
        lamina.build("seq2seq", context="sum", **options)


def test_tied_words_share_their_vectors():
    net = lamina.build("seq2seq", inputs=9, outputs=7, hidden=5, embedding=4, tied=True, padding=0, seed=3).double()
    source, target = torch.tensor([[1, 4, 2]]), torch.tensor([[1, 2]])
    states, _ = net.decoder(net.target_encoding(target), net.encode(source))
    expected = states @ net.output.weight.T @ net.target_encoding.weight.T
    torch.testing.assert_close(net(source, target), expected, atol=1e-12, rtol=1e-12)
    assert net.output.weight.shape == (4, 5)


def test_padding_stands_for_lengths():
    net = lamina.build("seq2seq", inputs=9, outputs=7, hidden=5, padding=0, seed=3).double()
    source, target = torch.tensor([[1, 4, 2], [8, 0, 0]]), torch.tensor([[1, 2], [3, 4]])
    torch.testing.assert_close(net(source, target), net(source, target, lengths=[3, 1]), atol=1e-14, rtol=0)
    for name in ("many-to-one", "many-to-many"):
        plain = lamina.build(name, inputs=9, outputs=2, embedding=3, hidden=4, seed=1).double()
        padded = lamina.build(name, inputs=9, outputs=2, embedding=3, hidden=4, seed=1, padding=0).double()
        torch.testing.assert_close(padded(source), plain(source, [3, 1]), atol=1e-14, rtol=0)


def test_dropout_at_input_and_output_acts_in_training_only():
    net = lamina.build("many-to-one", inputs=9, outputs=2, embedding=30, hidden=40, input_dropout=0.5, seed=1)
    plain = lamina.build("many-to-one", inputs=9, outputs=2, embedding=30, hidden=40, seed=1)
    source = torch.tensor([[1, 4, 2]])
    torch.testing.assert_close(net.eval()(source), plain(source))
    assert not torch.allclose(net.train()(source), plain(source))
    late = lamina.build("many-to-many", inputs=9, outputs=2, embedding=30, hidden=40, output_dropout=0.5, seed=1)
    states, _ = late.recurrent(late.encoding(source))
    masked = late.train().output_dropout(states)
    assert set((masked / states).round(decimals=3).unique().tolist()) == {0.0, 2.0}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"mode": "notes", "context": True}, "`context` must be False with mode='notes'"),
        ({"mode": "notes", "tied": True}, "`tied` must be False with mode='notes'"),
        ({"tied": True, "target_embedding": "one-hot"}, "`tied` needs learned vectors of the target words"),
        ({"padding": 9}, r"`padding` must be in \[0, 8\], got 9"),
        ({"embedding": None, "padding": 0}, "`padding` needs words as inputs, got embedding=None"),
        ({"input_dropout": 1.0}, r"`input_dropout` must be in \[0, 1\), got 1"),
    ],
)
def test_new_choices_are_checked(options, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        lamina.build("seq2seq", **{"inputs": 9, "outputs": 7, **options})
