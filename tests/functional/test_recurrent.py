"""The steps of the recurrent cells against torch, Keras' equations and the notes' own claims."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lamina._errors import ArgumentError
from lamina.functional.recurrent import gru_step, lstm_step, output_step, rnn_step, unroll, valid_steps

OPEN, SHUT = 1e3, -1e3  # sigmoid gives exactly 1 and 0


def normal(generator, *shape, scale=1.0):
    return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)


def make(kind, *sizes, generator, bound=0.5, **options):
    """Make a torch module in float64 with uniform parameters, without the global generator."""
    module = kind(*sizes, dtype=torch.float64, device="meta", **options).to_empty(device="cpu")
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-bound, bound, generator=generator)
    return module


def run(step, inputs, *state):
    """Unroll by hand, time first, and return all hidden states."""
    outputs = []
    for u in inputs:
        state = step(u, *state)
        state = state if isinstance(state, tuple) else (state,)
        outputs.append(state[0])
    return torch.stack(outputs)


# The plain cell


@pytest.mark.notes("N5.05", "N5.07")
def test_rnn_step_is_torch_with_one_weight_on_state_then_input(generator):
    theirs = make(nn.RNN, 3, 4, generator=generator)
    W_in = torch.cat([theirs.weight_hh_l0, theirs.weight_ih_l0], 1)
    b = theirs.bias_ih_l0 + theirs.bias_hh_l0
    u = normal(generator, 6, 3)
    ours = run(lambda x, h: rnn_step(x, h, W_in, b), u, torch.zeros(4, dtype=torch.float64))
    assert (ours - theirs(u[:, None])[0][:, 0]).abs().max() <= 1e-14
    assert W_in.numel() + b.numel() == 4 * (4 + 3) + 4 == 32
    assert sum(p.numel() for p in theirs.parameters()) == 36


@pytest.mark.notes("N5.05")
def test_rnn_step_and_output_by_hand():
    W_in, b = torch.tensor([[0.5, 1.0, -1.0]], dtype=torch.float64), torch.tensor([0.25], dtype=torch.float64)
    h = rnn_step(torch.tensor([2.0, 1.0]).double(), torch.tensor([0.5]).double(), W_in, b)
    assert h.item() == pytest.approx(math.tanh(0.5 * 0.5 + 2 - 1 + 0.25), abs=1e-14)
    W_out = torch.tensor([[2.0], [-1.0]], dtype=torch.float64)
    assert output_step(h, W_out).tolist() == [2 * h.item(), -h.item()]
    shifted = output_step(h, W_out, torch.tensor([1.0, 1.0]).double()).tolist()
    assert shifted == pytest.approx([2 * h.item() + 1, 1 - h.item()], abs=1e-14)


@pytest.mark.notes("N5.08")
def test_softmax_of_the_output_sums_to_one(generator):
    h, W_out = normal(generator, 5, 4), normal(generator, 7, 4, scale=3.0)
    p = output_step(h, W_out, softmax=True)
    assert (p.sum(-1) - 1).abs().max() < 1e-14 and (p > 0).all()
    torch.testing.assert_close(p, torch.softmax(output_step(h, W_out), -1), rtol=0, atol=0)


@pytest.mark.notes("N5.21")
def test_output_of_two_directions_reads_their_concatenation(generator):
    h, g, W = normal(generator, 4), normal(generator, 4), normal(generator, 3, 8)
    expected = W[:, :4] @ h + W[:, 4:] @ g
    torch.testing.assert_close(output_step(torch.cat([h, g]), W), expected, rtol=0, atol=1e-14)


@pytest.mark.notes("N5.15")
def test_default_activation_is_tanh_and_the_gates_are_sigmoids(generator):
    u, h, W, b = normal(generator, 3), normal(generator, 4), normal(generator, 4, 7), normal(generator, 4)
    z = W @ torch.cat([h, u]) + b
    torch.testing.assert_close(rnn_step(u, h, W, b), torch.tanh(z), rtol=0, atol=1e-14)
    torch.testing.assert_close(rnn_step(u, h, W, b, torch.relu), torch.relu(z), rtol=0, atol=1e-14)
    # Output gate of an LSTM with the memory full: h' = sigmoid(z) tanh(c') shows the gate itself.
    weight = torch.cat([torch.zeros(8, 7).double(), W, torch.zeros(4, 7).double()])
    bias = torch.cat([torch.full((4,), OPEN).double(), torch.full((4,), SHUT).double(), b, torch.zeros(4).double()])
    full = torch.full((4,), 50.0, dtype=torch.float64)
    torch.testing.assert_close(lstm_step(u, (h, full), weight, bias)[0], 1 / (1 + torch.exp(-z)), rtol=1e-14, atol=0)


def sensitivities(step, state, generator, count):
    """Give the norm of dh<t>/du<1> for t = 1, 2, ...; later inputs are small noise (check `rnn_sensitivity`)."""
    u1 = normal(generator, 4).requires_grad_()
    norms, state = [], step(u1, state)
    for _ in range(count):
        h = state[0] if isinstance(state, tuple) else state
        rows = [torch.autograd.grad(component, u1, retain_graph=True)[0] for component in h]
        norms.append(torch.stack(rows).norm().item())
        state = step(normal(generator, 4, scale=0.1), state)
    return norms


@pytest.mark.notes("N5.26", "N5.31")
def test_sensitivity_to_the_first_input_decays_explodes_or_stays(generator):
    zero, none = torch.zeros(16, dtype=torch.float64), torch.zeros(16, dtype=torch.float64)
    decay = {}
    for radius in (0.5, 0.9, 2.5):
        A = normal(generator, 16, 16)
        A = A * radius / torch.linalg.eigvals(A).abs().max()
        B = normal(generator, 16, 4, scale=0.3)
        W = torch.cat([A, B], 1)
        decay[radius] = sensitivities(lambda u, h, W=W: rnn_step(u, h, W, none), zero, generator, 30)
    measured = [1.8, 0.92, 0.49, 0.21, 0.11, 0.047, 0.021]
    assert decay[0.5][:7] == pytest.approx(measured, rel=0.05)
    assert decay[0.5][29] == pytest.approx(2.2e-9, rel=0.05)
    assert all(a > b for a, b in zip(decay[0.5], decay[0.5][1:], strict=False))
    assert decay[2.5][29] > 100 * decay[2.5][0]

    growth = torch.linalg.qr(normal(generator, 16, 16))[0] * 1.3  # all singular values 1.3
    linear = torch.cat([growth, B], 1)
    norms = sensitivities(lambda u, h: rnn_step(u, h, linear, none, lambda z: z), zero, generator, 30)
    assert [norm / norms[0] for norm in norms] == pytest.approx([1.3**t for t in range(30)], rel=1e-12)

    cell = make(nn.LSTMCell, 4, 16, generator=generator, bound=0.25)
    i, f, c, o = torch.cat([cell.weight_hh, cell.weight_ih], 1).detach().chunk(4)
    bias_ih = cell.bias_ih.detach().clone()
    bias_ih[16:32] = 6.0  # the memory stays open
    bi, bf, bc, bo = (bias_ih + cell.bias_hh.detach()).chunk(4)
    weight, bias = torch.cat([f, i, o, c]), torch.cat([bf, bi, bo, bc])
    norms = sensitivities(lambda u, s: lstm_step(u, s, weight, bias), (zero, zero), generator, 30)
    assert [norms[0], norms[6], norms[29]] == pytest.approx([0.25, 0.22, 0.12], rel=0.05)


# The gated recurrent unit


def draw_gru(generator, hidden, features, scale=1.5):
    weight, bias = normal(generator, 3 * hidden, hidden + features, scale=scale), normal(generator, 3 * hidden)
    return weight, bias


def open_gates(hidden, reset, update):
    """Give GRU biases that hold both gates at given values, with a free candidate."""
    gates = torch.tensor([reset, update, 0.0], dtype=torch.float64)
    return gates.repeat_interleave(hidden)


@pytest.mark.notes("N5.32")
def test_gru_step_is_the_equations_of_the_notes(generator):
    u, h = normal(generator, 3), normal(generator, 4)
    weight, bias = draw_gru(generator, 4, 3)
    (W_r, W_u, W_c), (b_r, b_u, b_c) = weight.chunk(3), bias.chunk(3)
    hu = torch.cat([h, u])
    G_r, G_u = 1 / (1 + torch.exp(-(W_r @ hu + b_r))), 1 / (1 + torch.exp(-(W_u @ hu + b_u)))
    candidate = torch.tanh(W_c @ torch.cat([G_r * h, u]) + b_c)
    expected = G_u * candidate + (1 - G_u) * h
    torch.testing.assert_close(gru_step(u, h, weight, bias), expected, rtol=0, atol=1e-14)


@pytest.mark.notes("N5.32")
@pytest.mark.parametrize("hidden", [1, 2, 16])
def test_gru_equals_keras_without_reset_after(generator, hidden):
    """The equations of keras.layers.GRU(reset_after=False): row vectors, kernels W, recurrent kernels U, z first."""
    W, U = normal(generator, 3, 3 * hidden), normal(generator, hidden, 3 * hidden)
    b = normal(generator, 3 * hidden)
    (Wz, Wr, Wh), (Uz, Ur, Uh), (bz, br, bh) = W.chunk(3, 1), U.chunk(3, 1), b.chunk(3)
    x, h = normal(generator, 50, 3), torch.tanh(normal(generator, 50, hidden))
    z = torch.sigmoid(x @ Wz + h @ Uz + bz)
    r = torch.sigmoid(x @ Wr + h @ Ur + br)
    hh = torch.tanh(x @ Wh + (r * h) @ Uh + bh)
    keras = z * h + (1 - z) * hh
    weight = torch.cat([torch.cat([Ur, Wr]), -torch.cat([Uz, Wz]), torch.cat([Uh, Wh])], 1).T
    bias = torch.cat([br, -bz, bh])
    torch.testing.assert_close(gru_step(x, h, weight, bias), keras, rtol=0, atol=1e-14)


def mapped_to_torch(weight, bias, hidden, features):
    """Map a GRU of the notes to torch as well as possible: negate the update gate, copy the rest, b_hn = 0 (E69)."""
    r, u, c = weight.chunk(3)
    br, bu, bc = bias.chunk(3)
    cell = nn.utils.skip_init(nn.GRUCell, features, hidden, dtype=torch.float64)
    with torch.no_grad():
        rows = torch.cat([r, -u, c])
        cell.weight_hh.copy_(rows[:, :hidden])
        cell.weight_ih.copy_(rows[:, hidden:])
        cell.bias_ih.copy_(torch.cat([br, -bu, bc]))
        cell.bias_hh.zero_()
    return cell


@pytest.mark.notes("N5.32")
@pytest.mark.parametrize(("hidden", "diagonal"), [(1, False), (4, True), (2, False), (4, False), (16, False)])
def test_notes_gru_equals_torch_only_for_one_unit_or_diagonal_weights(generator, hidden, diagonal):
    weight, bias = draw_gru(generator, hidden, 3)
    if diagonal:
        weight[2 * hidden :, :hidden] = torch.diag(torch.diag(weight[2 * hidden :, :hidden]))
    u, h = normal(generator, 500, 3), torch.tanh(normal(generator, 500, hidden))
    difference = (gru_step(u, h, weight, bias) - mapped_to_torch(weight, bias, hidden, 3)(u, h)).abs().max()
    assert difference < 1e-14 if hidden == 1 or diagonal else difference > 0.1


@pytest.mark.notes("N5.32")
def test_no_torch_gru_computes_the_notes_candidate():
    """The instance of E69: rows (1, 1) on h, W_r = a I. At h = (1, -1) the product before the reset is 0."""
    a = 2.0
    weight = torch.zeros(6, 3, dtype=torch.float64)
    weight[0, 0] = weight[1, 1] = a
    weight[4, :2] = 1.0
    bias = torch.tensor([0.0, 0.0, OPEN, OPEN, 0.0, 0.0], dtype=torch.float64)
    u, h = torch.zeros(1, dtype=torch.float64), torch.tensor([1.0, -1.0], dtype=torch.float64)
    notes, torch_like = gru_step(u, h, weight, bias)[0], gru_step(u, h, weight, bias, reset="after")[0]
    assert notes.item() == pytest.approx(math.tanh(math.tanh(a / 2)), abs=1e-14) and math.tanh(a / 2) > 0.76
    assert torch_like.item() == 0


@pytest.mark.notes("N5.32")
@pytest.mark.parametrize("hidden", [1, 2, 16])
def test_reset_after_equals_torch(generator, hidden):
    theirs = make(nn.GRUCell, 3, hidden, generator=generator, bound=1.5)
    W = torch.cat([theirs.weight_hh, theirs.weight_ih], 1)
    (W_r, W_z, W_n), (b_r, b_z, _) = W.chunk(3), (theirs.bias_ih + theirs.bias_hh).chunk(3)
    weight, bias = torch.cat([W_r, -W_z, W_n]), torch.cat([b_r, -b_z, theirs.bias_ih.chunk(3)[2]])
    u, h = normal(generator, 50, 3), torch.tanh(normal(generator, 50, hidden))
    ours = gru_step(u, h, weight, bias, reset="after", hidden_bias=theirs.bias_hh.chunk(3)[2])
    assert (ours - theirs(u, h)).abs().max() < 1e-14  # sums of 19 terms in another order
    assert (gru_step(u, h, weight, bias, reset="after") - theirs(u, h)).abs().max() > 1e-3  # the bias matters
    wrong_sign = gru_step(u, h, W, torch.cat([b_r, b_z, bias.chunk(3)[2]]), "after", theirs.bias_hh.chunk(3)[2])
    assert (wrong_sign - theirs(u, h)).abs().max() > 0.1


@pytest.mark.notes("N5.33", "N5.30")
def test_gru_gates_at_their_ends_are_exact(generator):
    u, h, other = normal(generator, 5, 3), normal(generator, 5, 4), normal(generator, 5, 4)
    weight = torch.cat([torch.zeros(8, 7, dtype=torch.float64), normal(generator, 4, 7)])
    assert torch.equal(gru_step(u, h, weight, open_gates(4, 0.0, SHUT)), h)
    candidate = torch.tanh(torch.cat([0.5 * h, u], -1) @ weight[8:].T)
    assert torch.equal(gru_step(u, h, weight, open_gates(4, 0.0, OPEN)), candidate)
    forgetful = open_gates(4, SHUT, OPEN)
    assert torch.equal(gru_step(u, h, weight, forgetful), gru_step(u, other, weight, forgetful))
    assert not torch.equal(gru_step(u, h, weight, forgetful), gru_step(other[:, :3], h, weight, forgetful))


@pytest.mark.notes("N5.34")
def test_gru_with_open_gates_is_the_plain_cell(generator):
    u, h, W_in = normal(generator, 5, 3), normal(generator, 5, 4), normal(generator, 4, 7)
    weight = torch.cat([torch.zeros(8, 7, dtype=torch.float64), W_in])
    b = normal(generator, 4)
    bias = open_gates(4, OPEN, OPEN) + torch.cat([torch.zeros(8).double(), b])
    assert torch.equal(gru_step(u, h, weight, bias), rnn_step(u, h, W_in, b))


@pytest.mark.notes("N5.30")
@settings(deadline=None)
@given(st.integers(0, 2**31), st.floats(0.1, 5.0))
def test_gated_states_lie_between_the_old_state_and_the_candidate(seed, scale):
    generator = torch.Generator().manual_seed(seed)
    u, h, c = (normal(generator, 4, n, scale=scale) for n in (3, 2, 2))
    new = gru_step(u, h, *draw_gru(generator, 2, 3, scale))
    assert (new.abs() <= h.abs().clamp(min=1) + 1e-12).all()
    h_new, c_new = lstm_step(u, (h, c), normal(generator, 8, 5, scale=scale), normal(generator, 8))
    assert (c_new.abs() <= c.abs() + 1).all() and (h_new.abs() <= torch.tanh(c_new).abs()).all()
    assert torch.equal(h_new.sign(), c_new.sign())  # the output gate is positive


# The long short-term memory cell


def draw_lstm(generator):
    theirs = make(nn.LSTM, 3, 4, generator=generator, bound=1.5)
    i, f, g, o = torch.cat([theirs.weight_hh_l0, theirs.weight_ih_l0], 1).chunk(4)
    bi, bf, bg, bo = (theirs.bias_ih_l0 + theirs.bias_hh_l0).chunk(4)
    return theirs, torch.cat([f, i, o, g]), torch.cat([bf, bi, bo, bg])


@pytest.mark.notes("N5.37")
def test_lstm_step_is_torch_with_rows_reordered_and_the_printed_form_is_not(generator):
    theirs, weight, bias = draw_lstm(generator)
    u, zero = normal(generator, 12, 3), torch.zeros(4, dtype=torch.float64)
    expected, (h_end, c_end) = theirs(u[:, None])
    state, states = (zero, zero), []
    for x in u:
        state = lstm_step(x, state, weight, bias)
        states.append(state[0])
    assert (torch.stack(states) - expected[:, 0]).abs().max() < 1e-14
    assert (state[0] - h_end[0, 0]).abs().max() < 1e-14 and (state[1] - c_end[0, 0]).abs().max() < 1e-14

    def printed(x, h, old):  # E70: the forget gate multiplies the old candidate
        f, i, o, c = (weight @ torch.cat([h, x]) + bias).chunk(4)
        new = torch.tanh(c)
        return torch.sigmoid(o) * torch.tanh(torch.sigmoid(f) * old + torch.sigmoid(i) * new), new

    assert (run(printed, u, zero, zero) - expected[:, 0]).abs().max() > 0.1


@pytest.mark.notes("N5.37")
def test_lstm_step_by_hand():
    bias = torch.tensor([0.5, -0.5, 1.0, 0.25], dtype=torch.float64)
    u, h, c = (torch.tensor([value], dtype=torch.float64) for value in (2.0, 0.5, -1.0))
    weight = torch.tensor([[1.0, 0.5], [0.5, 1.0], [-1.0, 0.5], [1.0, -0.5]], dtype=torch.float64)
    s = lambda z: 1 / (1 + math.exp(-z))  # noqa: E731
    cell = s(2.0) * -1 + s(1.75) * math.tanh(-0.25)
    h_new, c_new = lstm_step(u, (h, c), weight, bias)
    assert c_new.item() == pytest.approx(cell, abs=1e-14)
    assert h_new.item() == pytest.approx(s(1.5) * math.tanh(cell), abs=1e-14)


def lstm_gates(forget, write, read, hidden=4):
    return torch.tensor([forget, write, read, 0.0], dtype=torch.float64).repeat_interleave(hidden)


@pytest.mark.notes("N5.37")
@pytest.mark.parametrize(("forget", "write"), [(OPEN, OPEN), (OPEN, SHUT), (SHUT, OPEN), (SHUT, SHUT)])
def test_forget_and_input_gate_are_independent(generator, forget, write):
    """In a coupled cell one gate would be one minus the other: both could be neither open nor shut."""
    weight = torch.cat([torch.zeros(12, 7, dtype=torch.float64), normal(generator, 4, 7)])
    u, h, c = normal(generator, 3), normal(generator, 4), normal(generator, 4)
    candidate = torch.tanh(weight[12:] @ torch.cat([h, u]))
    h_new, c_new = lstm_step(u, (h, c), weight, lstm_gates(forget, write, OPEN))
    expected = (forget == OPEN) * c + (write == OPEN) * candidate
    torch.testing.assert_close(c_new, expected, rtol=0, atol=1e-15)
    torch.testing.assert_close(h_new, torch.tanh(expected), rtol=0, atol=1e-15)


@pytest.mark.notes("N5.38")
def test_the_conveyor_belt_keeps_its_load_exactly(generator):
    weight = torch.cat([torch.zeros(12, 7, dtype=torch.float64), normal(generator, 4, 7)])
    h, c = normal(generator, 4), torch.full((4,), 0.9, dtype=torch.float64)
    state, previous_candidate = (h, c), c
    for _ in range(50):
        u = normal(generator, 3)
        candidate = torch.tanh(weight[12:] @ torch.cat([state[0], u]))
        printed = 1.0 * previous_candidate + 0.0 * candidate  # E70: what the printed formula would keep
        state, previous_candidate = lstm_step(u, state, weight, lstm_gates(OPEN, SHUT, OPEN)), candidate
    assert torch.equal(state[1], c)
    assert not torch.isclose(printed, c).any()


@pytest.mark.notes("N5.41")
def test_lstm_without_gates_is_a_residual_sum(generator):
    weight = torch.cat([torch.zeros(12, 7, dtype=torch.float64), normal(generator, 4, 7)])
    weight[12:, :4] = 0  # no path through h, so that the derivative along the belt is seen alone
    bias = lstm_gates(OPEN, OPEN, OPEN)
    start = normal(generator, 4).requires_grad_()
    inputs = normal(generator, 20, 3)
    state = (torch.zeros(4, dtype=torch.float64), start)
    for u in inputs:
        state = lstm_step(u, state, weight, bias)
        torch.testing.assert_close(state[0], torch.tanh(state[1]), rtol=0, atol=0)
    candidates = torch.tanh(inputs @ weight[12:, 4:].T)
    torch.testing.assert_close(state[1], start + candidates.sum(0), rtol=0, atol=1e-13)
    assert torch.equal(torch.autograd.grad(state[1].sum(), start)[0], torch.ones(4, dtype=torch.float64))


@pytest.mark.notes("N5.35", "N5.39")
def test_gated_cells_have_three_and_four_times_the_numbers_of_the_plain_one():
    hidden, features = 128, 64
    h, u = torch.zeros(hidden), torch.zeros(features)
    counts = []
    for step, gates, state in ((rnn_step, 1, h), (gru_step, 3, h), (lstm_step, 4, (h, h))):
        weight, bias = torch.zeros(gates * hidden, hidden + features), torch.zeros(gates * hidden)
        step(u, state, weight, bias)  # these shapes and no others fit
        counts.append(weight.numel() + bias.numel())
    assert counts == [24_704, 74_112, 98_816]


@pytest.mark.parametrize("kind", ["rnn", "gru", "after", "lstm"])
def test_steps_pass_gradcheck(generator, kind):
    u, h, c = normal(generator, 2, 3), normal(generator, 2, 4), normal(generator, 2, 4)
    gates = {"rnn": 1, "gru": 3, "after": 3, "lstm": 4}[kind]
    weight, bias, extra = normal(generator, 4 * gates, 7), normal(generator, 4 * gates), normal(generator, 4)
    function, arguments = {
        "rnn": (rnn_step, (u, h, weight, bias)),
        "gru": (gru_step, (u, h, weight, bias)),
        "after": (lambda *a: gru_step(*a[:4], "after", a[4]), (u, h, weight, bias, extra)),
        "lstm": (lambda *a: lstm_step(a[0], (a[1], a[4]), a[2], a[3]), (u, h, weight, bias, c)),
    }[kind]
    assert torch.autograd.gradcheck(function, tuple(a.requires_grad_() for a in arguments))


def test_gru_step_refuses_what_it_cannot_do(generator):
    weight, bias = draw_gru(generator, 2, 3)
    u, h = normal(generator, 3), normal(generator, 2)
    with pytest.raises(ArgumentError, match="`reset` must be one of 'before', 'after', got 'never'"):
        gru_step(u, h, weight, bias, reset="never")
    with pytest.raises(ArgumentError, match="`hidden_bias` must be None with reset='before'"):
        gru_step(u, h, weight, bias, hidden_bias=bias[:2])


# The loop over time


def total(u, h):
    return h + u


@pytest.mark.notes("N5.02", "N5.14")
@settings(deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**31))
def test_a_sequence_in_two_parts_is_the_sequence(first, second, seed):
    generator = torch.Generator().manual_seed(seed)
    weight, bias = normal(generator, 2, 5), normal(generator, 2)
    step = lambda u, h: rnn_step(u, h, weight, bias)  # noqa: E731
    u, h = normal(generator, 3, first + second, 3), normal(generator, 3, 2)
    whole, end = unroll(step, u, h)
    head, middle = unroll(step, u[:, :first], h)
    tail, last = unroll(step, u[:, first:], middle)
    assert end.shape == (3, 2) and torch.equal(whole, torch.cat([head, tail], 1)) and torch.equal(end, last)
    backward, start = unroll(step, u, h, reverse=True)
    mirrored, same = unroll(step, u.flip(1), h)
    assert torch.equal(backward, mirrored.flip(1)) and torch.equal(start, same)


@pytest.mark.notes("N5.14")
def test_valid_steps_are_those_before_the_length():
    expected = [[False, False, False], [True, False, False], [True, True, False], [True] * 3, [True] * 3]
    assert valid_steps(torch.tensor([0, 1, 2, 3, 5]), 3).tolist() == expected


def test_mask_freezes_the_state_and_silences_the_output():
    u = torch.tensor([[[1.0], [2.0], [4.0]], [[1.0], [torch.nan], [torch.inf]]])
    mask = valid_steps(torch.tensor([3, 1]), 3)
    outputs, state = unroll(total, u, torch.zeros(2, 1), mask)
    assert outputs[..., 0].tolist() == [[1.0, 3.0, 7.0], [1.0, 0.0, 0.0]] and state.tolist() == [[7.0], [1.0]]
    outputs, state = unroll(total, u, torch.zeros(2, 1), mask, reverse=True)
    assert outputs[..., 0].tolist() == [[7.0, 6.0, 4.0], [1.0, 0.0, 0.0]] and state.tolist() == [[7.0], [1.0]]


def test_padding_of_any_content_leaves_gradients_finite(generator):
    weight, bias = normal(generator, 8, 5).requires_grad_(), normal(generator, 8).requires_grad_()
    u = normal(generator, 2, 4, 3)
    u[1, 2:] = torch.nan
    zero = torch.zeros(2, 2, dtype=torch.float64)
    outputs, _ = unroll(
        lambda x, s: lstm_step(x, s, weight, bias), u, (zero, zero), valid_steps(torch.tensor([4, 2]), 4)
    )
    outputs.square().sum().backward()
    assert weight.grad.isfinite().all() and bias.grad.isfinite().all() and weight.grad.abs().max() > 0
