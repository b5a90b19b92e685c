"""Unrolled, deep and bidirectional networks against torch, and what the notes claim of them."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lamina._errors import ArgumentError, ShapeError
from lamina.layers.recurrent import Recurrent, _as_lengths, gru, lstm, rnn
from lamina.layers.torch_weights import from_torch

TORCH = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def count(module):
    return sum(p.numel() for p in module.parameters())


def make_torch(cell, generator, bound=0.7, sizes=(3, 4), **options):
    """Make a torch module in float64 with uniform parameters, without the global generator."""
    module = TORCH[cell](*sizes, batch_first=True, dtype=torch.float64, device="meta", **options)
    module.to_empty(device="cpu")
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-bound, bound, generator=generator)
    return module


def parts(state):
    return state if isinstance(state, tuple) else (state,)


def assert_states(ours, theirs, tolerance=1e-14):
    for a, b in zip(parts(ours), parts(theirs), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=tolerance)


@pytest.mark.notes("N5.05", "N5.18", "N5.21", "N5.22", "N5.37")
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_outputs_states_and_gradients_equal_torch(generator, cell, layers, bidirectional):
    theirs = make_torch(cell, generator, num_layers=layers, bidirectional=bidirectional)
    ours = from_torch(theirs)
    u = normal(generator, 2, 6, 3)
    start = tuple(normal(generator, layers * (1 + bidirectional), 2, 4) for _ in range(1 + (cell == "lstm")))
    start = start if cell == "lstm" else start[0]
    for state in (None, start):
        outputs, end = ours(u, state)
        expected, expected_end = theirs(u, state)
        assert outputs.shape == (2, 6, 4 * (1 + bidirectional))
        torch.testing.assert_close(outputs, expected, rtol=0, atol=1e-14)
        assert_states(end, expected_end)
    gradients = [
        torch.autograd.grad(net(x)[0].square().sum(), x)[0]
        for net in (ours, theirs)
        for x in [u.clone().requires_grad_()]
    ]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-13)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_lengths_equal_packed_sequences(generator, cell, layers, bidirectional):
    theirs = make_torch(cell, generator, num_layers=layers, bidirectional=bidirectional)
    ours = from_torch(theirs)
    u, lengths = normal(generator, 4, 6, 3), [3, 6, 1, 5]
    start = tuple(normal(generator, layers * (1 + bidirectional), 4, 4) for _ in range(1 + (cell == "lstm")))
    start = start if cell == "lstm" else start[0]
    for state in (None, start):
        packed, expected_end = theirs(pack_padded_sequence(u, lengths, batch_first=True, enforce_sorted=False), state)
        expected, _ = pad_packed_sequence(packed, batch_first=True, total_length=6)
        for given_lengths in (lengths, tuple(lengths), torch.tensor(lengths)):
            outputs, end = ours(u, state, given_lengths)
            torch.testing.assert_close(outputs, expected, rtol=0, atol=1e-14)
            assert_states(end, expected_end)
    assert not outputs[0, 3:].any() and not outputs[2, 1:].any()


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(["rnn", "gru", "lstm"]),
    st.booleans(),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.data(),
)
def test_a_padded_batch_is_its_sequences_one_by_one(cell, bidirectional, lengths, data):
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 2**31)))
    net = Recurrent(cell, 2, 3, layers=2, bidirectional=bidirectional, seed=generator).double()
    u = normal(generator, len(lengths), 5, 2)
    outputs, state = net(u, lengths=lengths)
    for k, length in enumerate(lengths):
        alone, end = net(u[k : k + 1, :length])
        torch.testing.assert_close(outputs[k : k + 1, :length], alone, rtol=0, atol=1e-14)
        assert_states(tuple(part[:, k : k + 1] for part in parts(state)), parts(end))


@pytest.mark.notes("N5.02", "N5.14")
@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_one_module_serves_all_lengths(generator, cell):
    net = Recurrent(cell, 3, 4).double()
    before = count(net)
    u = normal(generator, 2, 50, 3)
    short, short_state = net(u[:, :5])
    long, long_state = net(u)
    assert count(net) == before
    assert [part.shape for part in parts(short_state)] == [part.shape for part in parts(long_state)]
    torch.testing.assert_close(long[:, :5], short, rtol=0, atol=1e-14)


@pytest.mark.notes("N5.14")
def test_what_is_learned_on_short_sequences_holds_on_longer_ones(generator):
    """Repeat the input before: trained on up to 10 steps, right on 20."""
    net, W_out = gru(2, 12, seed=1), nn.Parameter(torch.zeros(2, 12))

    def batch(time):
        bits = torch.randint(2, (64, time), generator=generator)
        return nn.functional.one_hot(bits, 2).float(), bits

    def logits(u):
        return net(u)[0][:, 1:] @ W_out.T

    optimizer = torch.optim.Adam([*net.parameters(), W_out], 0.03)
    for step in range(120):
        u, bits = batch(2 + step % 9)
        loss = nn.functional.cross_entropy(logits(u).flatten(0, 1), bits[:, :-1].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    u, bits = batch(20)
    assert (logits(u).argmax(-1) == bits[:, :-1]).float().mean() > 0.99


def sensitivity(net, generator, draws=20):
    """Give the sensitivity of y<11> to u<1>, ..., u<21>, relative to the largest (check `bidirectional`)."""
    total = torch.zeros(21, dtype=torch.float64)
    for _ in range(draws):
        u = normal(generator, 21, 1, 3).transpose(0, 1).requires_grad_()
        total += torch.autograd.grad(net(u)[0][:, 10].square().sum(), u)[0].norm(dim=2)[0]
    return total / total.max()


@pytest.mark.notes("N5.18", "N5.19")
def test_one_direction_sees_the_past_and_two_see_all_most_strongly_nearby(generator):
    past = sensitivity(from_torch(make_torch("rnn", generator, 0.25, (3, 16))), generator)
    assert (past[11:] == 0).all() and (past[:11] > 0).all() and past.argmax() == 10
    both = sensitivity(from_torch(make_torch("rnn", generator, 0.25, (3, 16), bidirectional=True)), generator)
    assert (both > 0).all() and both.argmax() == 10
    assert both[[0, 9, 10, 11, 20]].tolist() == pytest.approx([4e-4, 0.22, 1, 0.19, 1.6e-3], rel=0.05)
    assert both[0] < both[5] < both[9] < both[10] > both[11] > both[15] > both[20]


@pytest.mark.notes("N5.22")
def test_deep_networks_count_one_bias_a_cell(generator):
    deep = rnn(3, 4, layers=3)
    assert count(deep) == 104 and count(make_torch("rnn", generator, num_layers=3)) == 116
    first, second = Recurrent("rnn", 3, 4).double(), Recurrent("rnn", 4, 4).double()
    stack = rnn(3, 4, layers=2).double()
    first.cells[0].load_state_dict(stack.cells[0].state_dict())
    second.cells[0].load_state_dict(stack.cells[1].state_dict())
    u = normal(generator, 2, 5, 3)
    assert torch.equal(stack(u)[0], second(first(u)[0])[0])


@pytest.mark.notes("N5.18", "N5.21")
def test_two_directions_are_two_networks_side_by_side(generator):
    both = lstm(3, 4, bidirectional=True).double()
    h_net, g_net = lstm(3, 4).double(), lstm(3, 4).double()
    h_net.cells[0].load_state_dict(both.cells[0].state_dict())
    g_net.cells[0].load_state_dict(both.cells[1].state_dict())
    u = normal(generator, 2, 5, 3)
    outputs, (h, c) = both(u)
    forward, ends = h_net(u)
    backward, starts = g_net(u.flip(1))
    torch.testing.assert_close(outputs, torch.cat([forward, backward.flip(1)], -1), rtol=0, atol=1e-14)
    assert_states((h, c), tuple(map(torch.cat, zip(ends, starts, strict=True))), 1e-15)
    assert outputs.shape[-1] == 2 * 4


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_masked_networks_pass_gradcheck(generator, cell, bidirectional):
    net = Recurrent(cell, 2, 2, layers=1 if bidirectional else 2, bidirectional=bidirectional).double()
    u = normal(generator, 2, 3, 2).requires_grad_()
    values = {name: p.detach().clone().requires_grad_() for name, p in net.named_parameters()}

    def call(inputs, *parameters):
        outputs, state = functional_call(net, dict(zip(values, parameters, strict=True)), (inputs, None, [3, 1]))
        return outputs, *parts(state)

    assert torch.autograd.gradcheck(call, (u, *values.values()))
    (gradient,) = torch.autograd.grad(net(u, lengths=[3, 1])[0].sum(), u)
    assert not gradient[1, 1:].any() and gradient[1, 0].all()


def test_dropout_acts_between_layers_in_training_with_its_own_number_at_each_place(generator):
    net = gru(3, 50, layers=3, dropout=0.5, seed=3).double()
    plain = gru(3, 50, layers=3, seed=3).double()
    u = normal(generator, 4, 5, 3)
    assert [drop.place for drop in net.dropouts] == [0, 1] and not plain.dropouts
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), plain.parameters(), strict=True))
    assert torch.equal(net.eval()(u)[0], plain(u)[0])

    seen = []
    for drop in net.dropouts:
        drop.register_forward_hook(lambda module, args, output: seen.append((output == 0).double()))
    outputs = net.train()(u)[0]
    assert seen[0].mean().item() == pytest.approx(0.5, abs=0.05) and not torch.equal(seen[0], seen[1])
    assert not (outputs == 0).any() and not torch.equal(outputs, plain(u)[0])
    assert [drop.counter.item() for drop in net.dropouts] == [1, 1]
    twin = gru(3, 50, layers=3, dropout=0.5, seed=3).double()
    assert torch.equal(twin(u)[0], outputs) and not torch.equal(twin(u)[0], outputs)


def test_a_population_equals_its_members(generator):
    members = [gru(3, 4, layers=2, bidirectional=True, dropout=0.3, seed=seed).double() for seed in range(3)]
    params, buffers = stack_module_state(members)
    params, buffers = ({k: v.detach().clone() for k, v in tensors.items()} for tensors in (params, buffers))
    u, lengths = normal(generator, 2, 5, 3), torch.tensor([5, 2])
    base = gru(3, 4, layers=2, bidirectional=True, dropout=0.3).to("meta")
    outputs, state = vmap(lambda p, b: functional_call(base, (p, b), (u, None, lengths)))(params, buffers)
    for k, member in enumerate(members):
        alone, end = member(u, lengths=lengths)
        torch.testing.assert_close(outputs[k], alone, rtol=0, atol=1e-14)
        torch.testing.assert_close(state[k], end, rtol=0, atol=1e-14)


def test_same_seed_same_network_and_options_reach_the_cells():
    assert torch.equal(lstm(3, 4, seed=1).cells[0].weight, lstm(3, 4, seed=1).cells[0].weight)
    assert not torch.equal(lstm(3, 4, seed=1).cells[0].weight, lstm(3, 4, seed=2).cells[0].weight)
    pair = rnn(3, 3, layers=2, bidirectional=True)
    assert len({cell.weight.sum().item() for cell in pair.cells}) == 4
    assert gru(3, 4, reset="after").cells[0].hidden_bias is not None
    assert rnn(3, 4, activation="relu").cells[0].activation.name == "relu"
    assert lstm(3, 4, memory_bias=2.0, layers=2).cells[1].bias[:4].tolist() == [2.0] * 4
    assert [type(make(3, 4).cells[0]).__name__ for make in (rnn, gru, lstm)] == ["RNNCell", "GRUCell", "LSTMCell"]
    assert "'gru', 3, 4, layers=2, directions=1" in repr(gru(3, 4, layers=2))


def test_members_of_a_population_may_have_lengths_of_their_own():
    lengths, inputs = torch.tensor([[1, 2, 3], [3, 2, 1]]), torch.zeros(2, 3, 4, 5)
    assert _as_lengths(lengths, inputs).equal(lengths)
    assert _as_lengths(torch.tensor([4, 2]), inputs).tolist() == [[4], [2]]
    with pytest.raises(ShapeError, match=r"one number for each of the 2 sequences, got shape \(3, 2\)"):
        _as_lengths(lengths.T, inputs)


def test_lengths_as_a_tensor_are_trusted(generator):
    net, u = gru(3, 4).double(), normal(generator, 2, 5, 3)
    assert torch.equal(net(u, lengths=torch.tensor([9, 5]))[0], net(u)[0])
    outputs, state = net(u, lengths=torch.tensor([5, 0]))
    assert not outputs[1].any() and not state[:, 1].any()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("mgu", 3, 4), {}, "`cell` must be one of 'rnn', 'gru', 'lstm', got 'mgu'"),
        (("gru", -3, 4), {}, "`input_size` must be at least 1, got -3"),
        (("gru", 3, 0), {}, "`hidden_size` must be at least 1, got 0"),
        (("gru", 3, 4), {"layers": 0}, "`layers` must be at least 1, got 0"),
        (("gru", 3, 4), {"layers": 2, "dropout": 1.0}, r"`dropout` must be in \[0, 1\), got 1.0"),
        (("gru", 3, 4), {"dropout": 0.5}, "`dropout` must be 0 with layers=1, got 0.5: it acts between layers"),
        (("rnn", 3, 4), {"memory_bias": 1.0}, "`memory_bias` is not an option of the cell 'rnn'"),
        (("lstm", 3, 4), {"reset": "after"}, "`reset` is not an option of the cell 'lstm': only 'gru' has it"),
        (("lstm", 3, 4), {"activation": "relu"}, "`activation` is not an option of the cell 'lstm': only 'rnn' has it"),
        (("gru", 3, 4), {"reset": "never"}, "`reset` must be one of 'before', 'after', got 'never'"),
    ],
)
def test_wrong_options_get_a_sentence(arguments, options, message):
    with pytest.raises(ArgumentError, match=message):
        Recurrent(*arguments, **options)


@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 5, 4), (2, 0, 3), (1, 2, 5, 3)])
def test_inputs_of_another_shape_get_a_sentence(shape):
    with pytest.raises(
        ShapeError, match=r"`inputs` must have the shape \[batch, time, 3\].*a single sequence needs a batch"
    ):
        gru(3, 4)(torch.zeros(shape))


def test_states_of_another_shape_get_a_sentence():
    u, h = torch.zeros(2, 5, 3), torch.zeros(1, 2, 4)
    for net, state in ((gru(3, 4), (h, h)), (gru(3, 4, layers=2), h), (gru(3, 4), h[0])):
        with pytest.raises(
            ShapeError, match=r"`state` must be one tensor h of shape \((1|2), 2, 4\).*or None for zeros"
        ):
            net(u, state)
    for state in (h, (h, h[:, :1])):
        with pytest.raises(ShapeError, match=r"`state` must be two tensors \(h, c\) of shape \(1, 2, 4\)"):
            lstm(3, 4)(u, state)


def test_wrong_lengths_get_a_sentence():
    u = torch.zeros(2, 5, 3)
    for lengths in ([5], torch.tensor([5]), torch.tensor([[5, 5]])):
        with pytest.raises(ShapeError, match="`lengths` must hold one number for each of the 2 sequences, got shape"):
            gru(3, 4)(u, lengths=lengths)
    for wrong in (0, 6, -1):
        with pytest.raises(
            ArgumentError, match=f"`lengths` must be between 1 and the 5 steps of `inputs`, got {wrong}"
        ):
            gru(3, 4)(u, lengths=[5, wrong])
