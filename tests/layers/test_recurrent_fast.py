"""Fused kernels against the readable loop: the same outputs, states and derivatives with every option."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import forward_ad
from torch.func import functional_call, jacfwd, jacrev, stack_module_state, vmap

from lamina.kernels import torch_recurrent
from lamina.layers._fused import recurrent_layer
from lamina.layers.recurrent import Recurrent

F64 = torch.float64
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]
KINDS = [
    ("gru", {}),
    ("gru", {"reset": "after"}),
    ("lstm", {}),
    ("rnn", {}),
    ("rnn", {"activation": "relu"}),
]
KIND_NAMES = ["gru", "gru-after", "lstm", "rnn-tanh", "rnn-relu"]


def make(kind, dtype=F64, device="cpu", seed=0, **options):
    """Make a network with biases away from zero."""
    cell, own = kind
    net = Recurrent(cell, 3, 4, seed=seed, **own, **options).to(device, dtype)
    g = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=g, dtype=F64).to(parameter))
    return net


def draw(net, batch=4, time=6, start=True, seed=0):
    """Return inputs and, where asked for, an initial state, all with gradient."""
    g = torch.Generator().manual_seed(seed)
    like = next(net.parameters())
    places = net.layers * net.directions
    count = 0 if not start else 2 if net.cell == "lstm" else 1
    shapes = [(batch, time, net.input_size)] + [(places, batch, net.hidden_size)] * count
    return [torch.randn(shape, generator=g, dtype=F64).to(like).detach().requires_grad_() for shape in shapes]


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


@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_a_population_takes_the_loop_and_equals_its_members(kind):
    nets = [make(kind, seed=seed, bidirectional=True) for seed in range(3)]
    params, buffers = stack_module_state(nets)
    (inputs,) = draw(nets[0], start=False)
    inputs = inputs.detach()
    stacked = vmap(lambda p, b: functional_call(nets[0], (p, b), (inputs, None, [6, 2, 4, 5]))[0])(params, buffers)
    for k, net in enumerate(nets):
        torch.testing.assert_close(stacked[k], net(inputs, lengths=[6, 2, 4, 5])[0], rtol=0, atol=1e-14)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, from forward mode
def test_jacobians_in_either_mode_take_the_loop():
    net = make(KINDS[0])
    u, h = (part.detach() for part in draw(net, 2, 4))

    def end(start):
        return net(u, start)[1]

    slow = torch.autograd.functional.jacobian(end, h)
    for transform in (jacrev, jacfwd):
        torch.testing.assert_close(transform(end)(h), slow, rtol=0, atol=1e-14)
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(end(forward_ad.make_dual(h, torch.ones_like(h)))).tangent
    torch.testing.assert_close(found, slow.sum((-3, -2, -1)), rtol=0, atol=1e-14)


def layer(net, inputs):
    return recurrent_layer(net, list(net.cells), inputs, [net.cells[0].initial_state(inputs[:, 0])])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, from forward mode
def test_the_loop_runs_where_no_kernel_computes_the_same():
    (inputs,) = draw(make(KINDS[0]), start=False)
    assert layer(make(("rnn", {"activation": "sigmoid"})), inputs) is None
    for kind in KINDS:
        net = make(kind)
        assert layer(net, inputs) is not None
        with forward_ad.dual_level():
            assert layer(net, inputs) is None
        assert layer(net, inputs[:0]) is None
        handle = net.cells[0].register_forward_hook(lambda *_: None)
        assert layer(net, inputs) is None
        handle.remove()
        assert layer(net, inputs) is not None


def test_a_hook_on_a_cell_sees_every_step():
    net, calls = make(KINDS[0]), []
    net.cells[0].register_forward_hook(lambda module, arguments, result: calls.append(result))
    outputs, _ = net(draw(net, time=5, start=False)[0])
    assert torch.equal(torch.stack(calls, 1), outputs)


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
