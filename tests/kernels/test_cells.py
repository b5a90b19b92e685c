"""K recurrent cells along a sequence by compiled steps, against the readable cells of each member."""

import pytest
import torch

from lamina.functional.activations import get_activation
from lamina.functional.recurrent import gru_step, hidden, lstm_step, rnn_step, unroll
from lamina.kernels import native
from lamina.kernels.cells import ACTIVATIONS, can_scan, scan
from lamina.kernels.scan import run

F64 = torch.float64
K, B, T, F, N = 3, 5, 4, 2, 3
KINDS = [("lstm", ""), ("gru", ""), *(("rnn", name) for name in ACTIVATIONS)]
ROWS = {"lstm": 4, "gru": 3, "rnn": 1}
STEPS = {"lstm": lstm_step, "gru": gru_step, "rnn": rnn_step}
needs_compiler = pytest.mark.skipif(not native.works(), reason="needs g++")
DEVICES = [
    pytest.param("cpu", marks=needs_compiler),
    pytest.param("cuda", marks=pytest.mark.cuda),
]


def readable(kind, activation, u, W, b, state, mask, reverse):
    """Unroll one member: inputs [batch, time, feature]."""
    own = {"activation": get_activation(activation).function} if kind == "rnn" else {}
    outputs, end = unroll(lambda x, h: STEPS[kind](x, h, W, b, **own), u, state, mask, reverse)
    return outputs, hidden(end), *([] if kind != "lstm" else [end[1]])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("kind", "activation"), KINDS)
def test_states_and_derivatives_are_those_of_each_member(kind, activation, masked, reverse, device, generator):
    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=F64).to(device).requires_grad_()

    u, W, b = draw(K, B, T, F), draw(K, ROWS[kind] * N, N + F), draw(K, ROWS[kind] * N)
    starts = [draw(K, B, N) for _ in range(2 if kind == "lstm" else 1)]
    lengths = torch.tensor([4, 1, 3, 0, 2], device=device)
    mask = torch.arange(T, device=device) < lengths[:, None] if masked else None
    assert can_scan(u, kind, activation, "before")
    state = [part.transpose(1, 2).contiguous() for part in starts]
    given = None if mask is None else mask[:, None]
    if device == "cpu":
        states, _, c = run(u.permute(0, 2, 3, 1), W, b, state, given, kind, activation, reverse)
    else:
        read = torch.einsum("kbtf,krf->krtb", u, W[:, :, N:]) + b[:, :, None, None]
        states, c = scan(read.contiguous(), W[:, :, :N], state, given, kind, activation, reverse)
    outputs = states.permute(0, 3, 2, 1)
    outputs = outputs if mask is None else torch.where(mask[:, :, None], outputs, 0.0)
    found = [outputs, states[:, :, 0 if reverse else -1].mT, *([] if c is None else [c.mT])]
    each = []
    for k in range(K):
        start = starts[0][k] if kind != "lstm" else (starts[0][k], starts[1][k])
        each.append(readable(kind, activation, u[k], W[k], b[k], start, mask, reverse))
    expected = [torch.stack(parts) for parts in zip(*each, strict=True)]
    leaves = [u, W, b, *starts]
    results = [
        [*parts, *torch.autograd.grad([part.cos().sum() for part in parts], leaves)] for parts in (found, expected)
    ]
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-11)


def test_what_has_no_compiled_step():
    like = torch.zeros(1, dtype=F64)
    assert not can_scan(like, "gru", "", "after") and not can_scan(like, "rnn", "leaky_relu", "")
    assert not can_scan(like.half(), "lstm", "", "")
