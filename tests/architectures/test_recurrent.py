"""Recurrent networks by the shape of their task: what they compute, and the nodes of Fig. 35."""

from dataclasses import FrozenInstanceError

import pytest
import torch

from lamina._errors import ArgumentError, ShapeError
from lamina.architectures._sequences import RecurrentConfig
from lamina.architectures.recurrent import (
    ManyToMany,
    ManyToManyConfig,
    ManyToOne,
    ManyToOneConfig,
    OneToMany,
    OneToManyConfig,
    node_counts,
)
from lamina.architectures.seq2seq import EncoderDecoder, EncoderDecoderConfig
from lamina.functional.recurrent import output_step, rnn_step

ALL = [(OneToMany, OneToManyConfig), (ManyToOne, ManyToOneConfig), (ManyToMany, ManyToManyConfig)]


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def words(generator, size, *shape):
    return torch.randint(size, shape, generator=generator)


def count_steps(network, *inputs):
    """Run a network and count the steps of its cells and the states from which outputs are read."""
    steps, read = [], []
    handles = [
        module.register_forward_hook(lambda *_: steps.append(1))
        for module in network.modules()
        if hasattr(module, "initial_state")
    ]
    handles.append(network.output.register_forward_hook(lambda module, args, output: read.append(args[0][0].numel())))
    network(*inputs)
    for handle in handles:
        handle.remove()
    return len(steps), sum(read) // network.config.hidden


@pytest.mark.notes("N5.13", "N5.09", "N5.10", "N5.11", "N5.12")
@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_nodes_of_figure_35_are_those_of_the_real_networks(generator, cell):
    sizes = {"inputs": 2, "outputs": 4, "hidden": 3, "cell": cell}
    u = normal(generator, 1, 3, 2).float()
    drawn = {
        "one_to_many": (OneToMany(OneToManyConfig(**sizes, steps=3)), (u[:, 0],), (1, 3, 3)),
        "many_to_one": (ManyToOne(ManyToOneConfig(**sizes)), (u,), (3, 3, 1)),
        "many_to_many": (ManyToMany(ManyToManyConfig(**sizes)), (u,), (3, 3, 3)),
    }
    for mode in ("feedback", "notes"):
        network = EncoderDecoder(EncoderDecoderConfig(**sizes, embedding=None, mode=mode))
        drawn[f"encoder_decoder {mode}"] = (network, (u, torch.zeros(1, 2, 4)), (3, 5, 2))
    for name, (network, inputs, (read, cells, written)) in drawn.items():
        assert count_steps(network, *inputs) == (cells, written)
        assert node_counts(name.split()[0], read, written) == (read, cells, written)


@pytest.mark.notes("N5.13")
def test_node_counts_refuse_other_shapes():
    with pytest.raises(
        ArgumentError, match="`architecture` must be one of 'one_to_many', 'many_to_one', 'encoder_decoder'"
    ):
        node_counts("many", 3, 3)
    for name, time_in, time_out, rule in (
        ("one_to_many", 2, 3, "one input"),
        ("many_to_one", 3, 2, "one output"),
        ("many_to_many", 3, 2, "as many outputs as inputs"),
    ):
        with pytest.raises(ArgumentError, match=f"{name} has {rule}, got time_in={time_in} and time_out={time_out}"):
            node_counts(name, time_in, time_out)


@pytest.mark.notes("N5.12", "N5.05")
def test_many_to_many_is_the_two_equations_at_each_step(generator):
    network = ManyToMany(ManyToManyConfig(inputs=2, outputs=4, hidden=3, cell="rnn")).double()
    cell, W_out = network.recurrent.cells[0], network.output.weight
    assert network.output.bias is None
    u, h = normal(generator, 5, 6, 2), torch.zeros(5, 3, dtype=torch.float64)
    y = network(u)
    assert y.shape == (5, 6, 4)
    for t in range(6):
        h = rnn_step(u[:, t], h, cell.weight, cell.bias)
        torch.testing.assert_close(y[:, t], output_step(h, W_out), rtol=0, atol=1e-14)


@pytest.mark.notes("N5.09")
def test_one_to_many_reads_once_and_then_zeros(generator):
    network = OneToMany(OneToManyConfig(inputs=2, outputs=4, hidden=3, cell="rnn", steps=5)).double()
    cell, u = network.recurrent.cells[0], normal(generator, 6, 2)
    h, v, expected = torch.zeros(6, 3, dtype=torch.float64), u, []
    for _ in range(5):
        h, v = rnn_step(v, h, cell.weight, cell.bias), torch.zeros_like(u)
        expected.append(output_step(h, network.output.weight))
    y = network(u)
    assert y.shape == (6, 5, 4)
    torch.testing.assert_close(y, torch.stack(expected, 1), rtol=0, atol=1e-14)
    torch.testing.assert_close(network(u, steps=2), y[:, :2], rtol=0, atol=1e-14)  # products of other shapes
    assert network(u, steps=9).shape == (6, 9, 4)


@pytest.mark.notes("N5.09")
def test_one_to_many_with_feedback_reads_what_it_wrote(generator):
    network = OneToMany(OneToManyConfig(inputs=3, outputs=3, hidden=4, cell="rnn", steps=5, feedback=True)).double()
    cell, v = network.recurrent.cells[0], normal(generator, 6, 3)
    y, h = network(v), torch.zeros(6, 4, dtype=torch.float64)
    for t in range(5):
        h = rnn_step(v, h, cell.weight, cell.bias)
        v = output_step(h, network.output.weight)
        torch.testing.assert_close(y[:, t], v, rtol=0, atol=1e-14)


@pytest.mark.notes("N5.09")
@pytest.mark.parametrize("embedding", [5, "one-hot"])
def test_one_to_many_of_words_feeds_back_the_most_probable_one(generator, embedding):
    config = OneToManyConfig(inputs=7, outputs=7, hidden=4, steps=4, feedback=True, embedding=embedding)
    network = OneToMany(config, seed=1).double()
    first = words(generator, 7, 6)
    y = network(first)
    read = torch.cat([first[:, None], y.argmax(-1)[:, :-1]], 1)
    states, _ = network.recurrent(network.encoding(read))
    torch.testing.assert_close(y, network.output(states), rtol=0, atol=1e-14)
    silent = OneToMany(OneToManyConfig(inputs=7, outputs=2, hidden=4, steps=4, embedding=embedding), seed=1).double()
    states, _ = silent.recurrent(
        torch.cat([silent.encoding(first)[:, None], torch.zeros(6, 3, silent.recurrent.input_size).double()], 1)
    )
    torch.testing.assert_close(silent(first), silent.output(states), rtol=0, atol=1e-14)


@pytest.mark.notes("N5.10")
@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_many_to_one_reads_the_last_valid_state(generator, cell):
    network = ManyToOne(ManyToOneConfig(inputs=2, outputs=4, hidden=3, cell=cell, layers=2)).double()
    u = normal(generator, 3, 6, 2)
    lengths = [6, 2, 4]
    states, _ = network.recurrent(u)
    last = torch.stack([states[k, length - 1] for k, length in enumerate(lengths)])
    torch.testing.assert_close(network(u, lengths), network.output(last), rtol=0, atol=1e-14)
    assert network(u).shape == (3, 4) and torch.equal(network(u), network.output(states[:, -1]))


@pytest.mark.notes("N5.10", "N5.21")
@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_many_to_one_in_both_directions_reads_last_forward_and_first_backward(generator, cell):
    config = ManyToOneConfig(inputs=2, outputs=4, hidden=3, cell=cell, layers=2, bidirectional=True)
    network = ManyToOne(config).double()
    u, lengths = normal(generator, 3, 6, 2), [6, 2, 4]
    states, _ = network.recurrent(u, lengths=lengths)
    forward = torch.stack([states[k, length - 1, :3] for k, length in enumerate(lengths)])
    expected = network.output(torch.cat([forward, states[:, 0, 3:]], -1))
    torch.testing.assert_close(network(u, lengths), expected, rtol=0, atol=1e-14)
    for k, length in enumerate(lengths):
        torch.testing.assert_close(network(u, lengths)[k], network(u[k : k + 1, :length])[0], rtol=0, atol=1e-14)


@pytest.mark.notes("N5.12", "N5.21")
def test_many_to_many_in_both_directions_ignores_padding(generator):
    config = ManyToManyConfig(inputs=2, outputs=4, hidden=3, bidirectional=True, output_bias=True)
    network = ManyToMany(config).double()
    with torch.no_grad():
        network.output.bias.copy_(torch.arange(4.0))
    u = normal(generator, 2, 6, 2)
    y = network(u, lengths=[6, 3])
    torch.testing.assert_close(y[1, :3], network(u[1:, :3])[0], rtol=0, atol=1e-14)
    assert y[1, 3:].tolist() == [[0.0, 1.0, 2.0, 3.0]] * 3
    assert torch.equal(network(u, lengths=torch.tensor([6, 3])), y)


@pytest.mark.parametrize("embedding", [5, "one-hot"])
def test_words_are_read_through_their_vectors(generator, embedding):
    network = ManyToMany(ManyToManyConfig(inputs=7, outputs=2, hidden=3, embedding=embedding)).double()
    w = words(generator, 7, 4, 6)
    vectors = network.encoding(w)
    assert vectors.shape == (4, 6, 5 if embedding == 5 else 7) and vectors.dtype == torch.float64
    assert torch.equal(network(w), network.output(network.recurrent(vectors)[0]))
    if embedding == "one-hot":
        assert torch.equal(vectors.argmax(-1), w) and not list(network.encoding.parameters())


@pytest.mark.parametrize(("network", "config"), ALL)
def test_options_reach_the_network(network, config):
    net = network(
        config(inputs=2, outputs=4, hidden=3, cell="gru", layers=2, dropout=0.5, reset="after", memory_bias=2.0)
    )
    assert [drop.rate.item() for drop in net.recurrent.dropouts] == [0.5]
    assert net.recurrent.cells[1].reset == "after" and net.recurrent.cells[1].bias[3:6].tolist() == [-2.0] * 3
    plain = network(config(inputs=2, outputs=4, hidden=3), seed=4)
    same, other = (network(config(inputs=2, outputs=4, hidden=3), seed=seed) for seed in (4, 5))
    assert torch.equal(plain.output.weight, same.output.weight)
    assert not torch.equal(plain.output.weight, other.output.weight)
    with pytest.raises(FrozenInstanceError):
        plain.config.hidden = 5


def test_parameters_are_those_of_the_formulas():
    net = ManyToMany(ManyToManyConfig(inputs=64, outputs=10, hidden=128, cell="rnn"))
    assert sum(p.numel() for p in net.parameters()) == 24_704 + 10 * 128
    net = ManyToOne(ManyToOneConfig(inputs=50, outputs=2, hidden=8, embedding=4, bidirectional=True, output_bias=True))
    assert sum(p.numel() for p in net.parameters()) == 50 * 4 + 2 * 3 * (8 * 12 + 8) + 2 * 16 + 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": 0}, "`inputs` must be at least 1, got 0"),
        ({"outputs": -1}, "`outputs` must be at least 1, got -1"),
        ({"hidden": 0}, "`hidden` must be at least 1, got 0"),
        ({"layers": 0}, "`layers` must be at least 1, got 0"),
        ({"cell": "mgu"}, "`cell` must be one of 'rnn', 'gru', 'lstm', got 'mgu'"),
        ({"layers": 2, "dropout": -0.1}, r"`dropout` must be in \[0, 1\), got -0.1"),
        ({"dropout": 0.1}, "`dropout` must be 0 with layers=1, got 0.1"),
        ({"reset": "never"}, "`reset` must be one of 'before', 'after', got 'never'"),
        ({"cell": "lstm", "reset": "after"}, "`reset` is not an option of the cell 'lstm': only 'gru' has it"),
        ({"cell": "rnn", "memory_bias": 1.0}, "`memory_bias` is not an option of the cell 'rnn'"),
        ({"embedding": 0}, "`embedding` must be at least 1, got 0"),
        ({"embedding": "word2vec"}, "`embedding` must be one of 'one-hot', None or a size, got 'word2vec'"),
    ],
)
def test_wrong_configurations_get_a_sentence(options, message):
    for config in (RecurrentConfig, OneToManyConfig, ManyToOneConfig, ManyToManyConfig, EncoderDecoderConfig):
        with pytest.raises(ArgumentError, match=message):
            config(**{"inputs": 2, "outputs": 4, **options})


def test_wrong_steps_and_feedback_get_a_sentence():
    with pytest.raises(ArgumentError, match="`steps` must be at least 1, got 0"):
        OneToManyConfig(inputs=2, outputs=4, steps=0)
    with pytest.raises(ArgumentError, match=r"`outputs` must equal `inputs` \(2\) with feedback=True, got 4"):
        OneToManyConfig(inputs=2, outputs=4, feedback=True)
    with pytest.raises(ArgumentError, match="`steps` must be at least 1, got -1"):
        OneToMany(OneToManyConfig(inputs=2, outputs=4))(torch.zeros(1, 2), steps=-1)


@pytest.mark.parametrize(("network", "config"), ALL)
def test_wrong_inputs_get_a_sentence(network, config):
    axes = "batch" if network is OneToMany else "batch, time"
    time = () if network is OneToMany else (5,)
    vectors, reader = network(config(inputs=2, outputs=4)), network(config(inputs=2, outputs=4, embedding=3))
    for wrong in (torch.zeros(3), torch.zeros(3, *time, 7), torch.zeros(3, *time, 2, dtype=torch.long)):
        with pytest.raises(
            ShapeError, match=rf"`inputs` must be vectors, float of shape \[{axes}, 2\], got .*{len(wrong)}"
        ):
            vectors(wrong)
    for wrong in (torch.zeros(3, *time), torch.zeros(3, *time, 2, dtype=torch.long)):
        with pytest.raises(
            ShapeError, match=rf"`inputs` must be words, integers of shape \[{axes}\], got .*with embedding=None"
        ):
            reader(wrong)


def test_wrong_lengths_get_a_sentence():
    for network in (ManyToOne(ManyToOneConfig(inputs=2, outputs=4)), ManyToMany(ManyToManyConfig(inputs=2, outputs=4))):
        with pytest.raises(ArgumentError, match="`lengths` must be between 1 and the 5 steps of `inputs`, got 6"):
            network(torch.zeros(1, 5, 2), lengths=[6])


@pytest.mark.notes("N5.10")
@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_pooling_judges_all_states_up_to_the_end(generator, cell, pooling):
    options = {"inputs": 9, "outputs": 2, "hidden": 3, "embedding": 4, "cell": cell, "bidirectional": True}
    net = ManyToOne(ManyToOneConfig(**options, pooling=pooling, padding=0), seed=1).double()
    padded = torch.tensor([[3, 5, 7, 0, 0], [8, 2, 1, 4, 6]])
    for row, length in zip(padded, (3, 5), strict=True):
        states = net.recurrent(net.encoding(row[None, :length]))[0][0]
        judged = states.mean(0) if pooling == "mean" else states.max(0).values
        expected = net.output.weight @ judged
        both = net(padded)[[3, 5].index(length)], net(row[None, :length])[0]
        for found in both:
            torch.testing.assert_close(found, expected)
    without = ManyToOne(ManyToOneConfig(**options, pooling=pooling), seed=1).double()
    torch.testing.assert_close(without(padded[1:]), net(padded[1:]))


def test_other_ways_of_pooling_get_a_sentence():
    with pytest.raises(ArgumentError, match="`pooling` must be one of 'last', 'mean', 'max', got 'sum'"):
        ManyToOneConfig(inputs=2, outputs=1, pooling="sum")


def test_word_dropout_takes_whole_words_and_only_in_training():
    config = ManyToManyConfig(inputs=9, outputs=2, embedding=4, word_dropout=0.5, input_dropout=0.25, hidden=3)
    net = ManyToMany(config)
    seen = []
    net.recurrent.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    tokens = torch.arange(9).repeat(50, 1)
    net(tokens)
    net.eval()(tokens)
    vectors = net.encoding(tokens)
    assert torch.equal(seen[1], vectors)
    gone = (seen[0] == 0).all(-1)
    # A word is gone with probability 1/2, or when each of its 4 components is dropped.
    assert abs(gone.double().mean() - (0.5 + 0.5 * 0.25**4)) < 0.05
    kept = seen[0][~gone]
    part, whole = kept != 0, vectors[~gone]
    torch.testing.assert_close(kept[part], whole[part] / (0.5 * 0.75))
    assert abs(part.double().mean() - 0.75) < 0.05
    with pytest.raises(ArgumentError, match=r"`word_dropout` must be in \[0, 1\), got 1"):
        ManyToManyConfig(inputs=9, outputs=2, embedding=4, word_dropout=1.0)
