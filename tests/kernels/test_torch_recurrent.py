"""Fused kernels against the readable loop: the same outputs, states and derivatives with every option."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.kernels import torch_recurrent
from lamina.layers.recurrent import Recurrent
from layers.recurrent_nets import F64, KIND_NAMES, KINDS, draw, make

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]


def run(net, tensors, lengths=None, fast=True):
    """Return the outputs and the parts of the last state, by the fused kernels or by the loop."""
    inputs, *state = tensors
    net.fast = fast
    if net.training:
        for dropout in net.dropouts:
            dropout.counter.zero_()
    start = None if not state else state[0] if len(state) == 1 else tuple(state)
    outputs, end = net(inputs, start, lengths)
    return [outputs, *([end] if isinstance(end, torch.Tensor) else end)]


def assert_same(net, tensors, lengths=None, tolerance=1e-12):
    """Compare results and all derivatives, with random derivatives arriving at all results."""
    g = torch.Generator().manual_seed(9)
    wanted = [*tensors, *net.parameters()]
    found = [run(net, tensors, lengths, fast) for fast in (True, False)]
    arriving = [torch.randn(part.shape, generator=g, dtype=F64).to(part) for part in found[0]]
    grads = [torch.autograd.grad(results, wanted, arriving) for results in found]
    for ours, theirs in zip((*found[0], *grads[0]), (*found[1], *grads[1]), strict=True):
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.notes("N5.14", "N5.18", "N5.22")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("lengths", [None, [3, 6, 1, 5]])
@pytest.mark.parametrize("options", [{}, {"layers": 2, "bidirectional": True}], ids=["plain", "deep both ways"])
@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_equals_the_readable_loop(kind, options, lengths, device):
    net = make(kind, device=device, **options)
    for start in (True, False):
        assert_same(net, draw(net, start=start), lengths)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(KINDS), st.booleans(), st.integers(1, 2), st.data())
def test_any_lengths_equal_the_readable_loop(kind, bidirectional, layers, data):
    net = make(kind, bidirectional=bidirectional, layers=layers)
    batch, time = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    # As a tensor, lengths may be 0 (no step) or too large (all steps).
    lengths = data.draw(st.none() | st.lists(st.integers(0, time + 1), min_size=batch, max_size=batch))
    tensors = draw(net, batch, time, data.draw(st.booleans()), data.draw(st.integers(0, 99)))
    assert_same(net, tensors, None if lengths is None else torch.tensor(lengths))


@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_dropout_between_layers_is_the_same(kind):
    net = make(kind, layers=3, bidirectional=True, dropout=0.5).train()
    assert_same(net, draw(net), [6, 2, 4, 5])
    assert run(net, draw(net))[0].ne(run(net.eval(), draw(net))[0]).any()


@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_padding_is_not_read(kind):
    net = make(kind, layers=2, bidirectional=True)
    tensors = draw(net)
    lengths = [3, 6, 1, 5]
    expected = run(net, tensors, lengths)
    with torch.no_grad():
        for k, length in enumerate(lengths):
            tensors[0][k, length:] = torch.nan
    found = run(net, tensors, lengths)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_single_precision_and_evaluation(kind):
    net = make(kind, torch.float32, layers=2).eval()
    assert_same(net, draw(net), [6, 1, 2, 3], tolerance=2e-5)
    with torch.no_grad():
        expected = run(net, draw(net), fast=False)
        for ours, theirs in zip(run(net, draw(net)), expected, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("lengths", [None, [3, 6, 1, 5]])
@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_autocast_keeps_the_type_and_is_close(kind, lengths, device):
    net = make(kind, torch.float32, device, layers=2, bidirectional=True)
    tensors = draw(net)
    exact = run(net, tensors, lengths, fast=False)
    grads = torch.autograd.grad(exact[0].sum(), list(net.parameters()))
    with torch.autocast(device, torch.bfloat16):
        found = run(net, tensors, lengths)
    assert {part.dtype for part in found} == {torch.float32}
    for ours, theirs in zip(found, exact, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0.03)
    for ours, theirs in zip(torch.autograd.grad(found[0].sum(), list(net.parameters())), grads, strict=True):
        assert (ours - theirs).norm() <= 0.05 * theirs.norm()


def test_a_cpu_without_an_lstm_in_bfloat16_takes_the_loop(monkeypatch):
    def refuse(*_):
        raise RuntimeError("could not create a primitive descriptor for the LSTM forward propagation primitive")

    torch_recurrent.has_lstm.cache_clear()
    monkeypatch.setattr(torch._VF, "lstm", refuse)
    net, u = Recurrent("lstm", 3, 4), torch.linspace(-1, 1, 30).reshape(2, 5, 3)
    with torch.autocast("cpu", torch.bfloat16):
        found, _ = net(u)
    with pytest.raises(RuntimeError, match="primitive descriptor"):
        net(u)
    monkeypatch.undo()
    torch_recurrent.has_lstm.cache_clear()
    torch.testing.assert_close(found.float(), net(u)[0], rtol=0, atol=0.03)


@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_derivatives_of_derivatives(kind):
    net = make(kind, layers=1)
    (inputs,) = draw(net, 2, 3, start=False)
    inputs = inputs.detach() + 0.1
    results = []
    for fast in (True, False):
        net.fast = fast
        x = inputs.clone().requires_grad_()
        (grad,) = torch.autograd.grad(net(x)[0].square().sum(), x, create_graph=True)
        results.append(torch.autograd.grad(grad.square().sum(), [x, *net.parameters()]))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.cuda
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_a_captured_update_replays_to_the_same_numbers(kind, lengths):
    net = make(kind, torch.float32, "cuda", layers=2, bidirectional=True)
    (inputs,) = draw(net, start=False)
    many = torch.tensor([3, 6, 1, 5], device="cuda") if lengths else None

    def update():
        outputs, _ = net(inputs, None, many)
        return outputs.detach(), *torch.autograd.grad(outputs.square().sum(), [inputs, *net.parameters()])

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(2):
            update()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = update()
    graph.replay()
    for ours, theirs in zip(captured, update(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
