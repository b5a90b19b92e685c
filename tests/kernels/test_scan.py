"""K recurrent cells along a sequence in one call on the CPU: any sizes, any member, bit for bit by itself."""

import pytest
import torch

from lamina.functional.activations import get_activation
from lamina.kernels import native
from lamina.kernels.scan import ACTIVATIONS, run

pytestmark = pytest.mark.skipif(not native.works(), reason="needs g++")

F64 = torch.float64
K, T = 3, 4
KINDS = [("lstm", ""), ("gru", ""), *(("rnn", name) for name in ACTIVATIONS)]
ROWS = {"lstm": 4, "gru": 3, "rnn": 1}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("kind", "activation"), KINDS)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("batch", "hidden", "features"), [(1, 1, 1), (16, 8, 3), (33, 7, 40), (50, 19, 5)])
def test_lines_of_any_length_and_float32(kind, activation, batch, hidden, features, shared, reverse, generator):
    """What does not fill a vector is padded: no padding gets into a state, a gradient or a sum."""
    rows = ROWS[kind] * hidden
    states = [(K, hidden, batch)] * (2 if kind == "lstm" else 1)
    shapes = (1 if shared else K, T, features, batch), (K, rows, hidden + features), (K, rows), *states
    drawn = [torch.randn(shape, generator=generator, dtype=F64) / 2 for shape in shapes]
    drawn[1] /= (hidden + features) ** 0.5  # values of moderate size, where float32 is near
    mask = torch.rand(batch, K, T, generator=generator) < 0.7  # each member has sequences of its own
    found = []
    for dtype in (F64, torch.float32):
        inputs, weight, bias, *state = leaves = [each.to(dtype).requires_grad_() for each in drawn]
        states, h, c = run(inputs, weight, bias, state, mask, kind, activation, reverse)
        assert torch.equal(h, states[:, :, 0 if reverse else -1])
        loss = states.cos().sum() + (h if c is None else c).sin().sum()
        found.append([states, *torch.autograd.grad(loss, leaves)])
    expected = stepped(kind, activation, drawn, mask, reverse)
    for exact, short, wanted in zip(*found, expected, strict=True):
        torch.testing.assert_close(exact, wanted, rtol=1e-11, atol=1e-11)
        torch.testing.assert_close(short.double(), wanted, rtol=2e-4, atol=2e-5)


def stepped(kind, activation, drawn, mask, reverse):
    """The states and derivatives of `run`, one step and one operation after another."""
    inputs, whole, bias, *state = leaves = [each.clone().requires_grad_() for each in drawn]
    n, states, parts = state[0].shape[1], [None] * T, list(state)
    weight, own = whole[:, :, :n], whole[:, :, n:]
    read = torch.stack([own @ inputs[:, t] + bias[:, :, None] for t in range(T)], 2)
    for t in range(T)[:: -1 if reverse else 1]:
        h, valid = parts[0], mask[:, :, t].T[:, None]
        z = read[:, :, t] if kind == "gru" else read[:, :, t] + weight @ h
        if kind == "gru":
            r, u = torch.sigmoid(z[:, : 2 * n] + weight[:, : 2 * n] @ h).chunk(2, 1)
            new = [(1 - u) * h + u * torch.tanh(z[:, 2 * n :] + weight[:, 2 * n :] @ (r * h))]
        elif kind == "lstm":
            f, i, o = torch.sigmoid(z[:, : 3 * n]).chunk(3, 1)
            c = f * parts[1] + i * torch.tanh(z[:, 3 * n :])
            new = [o * torch.tanh(c), c]
        else:
            new = [get_activation(activation).function(z)]
        parts = [torch.where(valid, after, before) for after, before in zip(new, parts, strict=True)]
        states[t] = parts[0]
    found = torch.stack(states, 2)
    loss = found.cos().sum() + parts[-1].sin().sum()
    return [found, *torch.autograd.grad(loss, leaves)]


@pytest.mark.parametrize(("kind", "activation"), KINDS)
def test_bits_depend_neither_on_the_members_nor_on_the_place(kind, activation, generator):
    members, hidden, features, batch = 5, 9, 4, 19
    rows = ROWS[kind] * hidden
    shapes = (T, features, batch), (rows, hidden + features), (rows,), *[(hidden, batch)] * (1 + (kind == "lstm"))
    drawn = [torch.randn(members, *shape, generator=generator) for shape in shapes]

    def of(*which):
        inputs, weight, bias, *state = leaves = [each[list(which)].clone().requires_grad_() for each in drawn]
        states, h, c = run(inputs, weight, bias, state, None, kind, activation)
        loss = states.square().sum() + h.sum() + (0 if c is None else c.sum())
        return [states, *torch.autograd.grad(loss, leaves)]

    together, turned = of(0, 1, 2, 3, 4), of(4, 3, 2, 1, 0)
    for k in range(members):
        for one, all_of_them, others in zip(of(k), together, turned, strict=True):
            assert torch.equal(one[0], all_of_them[k]) and torch.equal(one[0], others[members - 1 - k])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("kind", "activation"), KINDS)
def test_who_reads_the_last_state_alone_gets_the_same_gradients(kind, activation, reverse, generator):
    shapes = (K, T, 2, 5), (K, ROWS[kind] * 3, 5), (K, ROWS[kind] * 3), *[(K, 3, 5)] * (1 + (kind == "lstm"))
    inputs, weight, bias, *state = leaves = [
        torch.randn(shape, generator=generator, dtype=F64).requires_grad_() for shape in shapes
    ]
    states, h, _ = run(inputs, weight, bias, state, None, kind, activation, reverse)
    (alone, among) = (
        torch.autograd.grad(end.square().sum(), leaves, retain_graph=True)
        for end in (h, states[:, :, 0 if reverse else -1])
    )
    for one, other in zip(alone, among, strict=True):
        assert torch.equal(one, other) and one.any()


def test_numbers_that_are_none_reach_the_state_and_the_gradients():
    inputs = torch.zeros(2, 2, 1, 4)
    inputs[0, 0, 0, 1] = torch.nan
    weight, bias = torch.ones(2, 3, 2, requires_grad=True), torch.zeros(2, 3)
    states, _, _ = run(inputs, weight, bias, [torch.ones(2, 1, 4)], None, "gru")
    assert states.isnan().nonzero().tolist() == [[0, 0, 0, 1], [0, 0, 1, 1]]
    (slopes,) = torch.autograd.grad(states.sum(), weight)
    assert slopes[0].isnan().all() and slopes[1].isfinite().all()
