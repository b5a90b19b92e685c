"""The GRU along a sequence in one operation: against the readable loop, against autograd, against numbers by hand."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ShapeError
from lamina.functional.recurrent import gru_step, unroll
from lamina.kernels.gru_scan import gru_scan, scan_backward, scan_forward

F64 = torch.float64
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]


def draw(time, batch, feature, hidden, seed=0, dtype=F64, device="cpu"):
    """Return inputs, state, weight and bias with gradient, of standard deviation near 1 in each gate."""
    g = torch.Generator().manual_seed(seed)
    shapes = (time, batch, feature), (batch, hidden), (3 * hidden, hidden + feature), (3 * hidden,)
    u, h, W, b = (torch.randn(shape, generator=g, dtype=F64).to(device, dtype) for shape in shapes)
    return [part.requires_grad_() for part in (u, h, W / (hidden + feature) ** 0.5, b)]


def steps(lengths, time):
    return torch.arange(time)[:, None] < torch.tensor(lengths)


def readable(u, h, W, b, mask=None, reverse=False):
    mask = None if mask is None else mask.T
    outputs, end = unroll(lambda x, s: gru_step(x, s, W, b), u.transpose(0, 1), h, mask, reverse)
    return outputs.transpose(0, 1), end


def assert_same(tensors, mask=None, reverse=False, tolerance=1e-12, seed=1):
    """Compare outputs, the last state and all derivatives, with random derivatives arriving at both."""
    g = torch.Generator().manual_seed(seed)
    results = []
    arriving = None
    for scan in (gru_scan, readable):
        outputs, end = scan(*tensors, mask, reverse)
        if arriving is None:
            arriving = [torch.randn(part.shape, generator=g, dtype=F64).to(part) for part in (outputs, end)]
        results.append([outputs, end, *torch.autograd.grad((outputs, end), tensors, arriving)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.notes("N5.32")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("lengths", [None, [3, 7, 1, 5], [0, 7, 7, 2]])
def test_outputs_last_state_and_derivatives_equal_the_readable_loop(lengths, reverse, device):
    mask = None if lengths is None else steps(lengths, 7).to(device)
    assert_same(draw(7, 4, 3, 5, device=device), mask, reverse)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_any_sizes_equal_the_readable_loop(data):
    time, batch, feature, hidden = (data.draw(st.integers(1, 6)) for _ in range(4))
    lengths = data.draw(st.none() | st.lists(st.integers(0, time), min_size=batch, max_size=batch))
    mask = None if lengths is None else steps(lengths, time)
    tensors = draw(time, batch, feature, hidden, data.draw(st.integers(0, 2**31)))
    assert_same(tensors, mask, data.draw(st.booleans()))


@pytest.mark.parametrize("which", [0, 1], ids=["outputs", "last state"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("lengths", [None, [4, 1, 2]])
def test_gradcheck_through_either_result(which, reverse, lengths):
    mask = None if lengths is None else steps(lengths, 4)
    assert torch.autograd.gradcheck(lambda *parts: gru_scan(*parts, mask, reverse)[which], draw(4, 3, 2, 3))


def test_derivatives_of_derivatives():
    mask = steps([3, 2], 3)
    tensors = draw(3, 2, 2, 2)
    assert torch.autograd.gradgradcheck(lambda *parts: gru_scan(*parts, mask)[0], tensors)
    assert torch.autograd.gradgradcheck(lambda *parts: gru_scan(*parts, reverse=True)[1], tensors)


@pytest.mark.notes("N5.32", "N5.33")
def test_two_steps_by_hand():
    # r = 1/2, z = 1/4, c = tanh(x): h' = 3/4 h + 1/4 c
    third = torch.log(torch.tensor(3.0, dtype=F64))
    W, b = torch.zeros(3, 2, dtype=F64), torch.stack([0 * third, -third, 0 * third])
    W[2, 1] = 1.0
    u, h = torch.tensor([[[0.5]], [[-2.0]]], dtype=F64), torch.tensor([[0.8]], dtype=F64)
    first = 0.75 * 0.8 + 0.25 * torch.tanh(u[0, 0, 0])
    second = 0.75 * first + 0.25 * torch.tanh(u[1, 0, 0])
    outputs, end = gru_scan(u, h, W, b)
    torch.testing.assert_close(outputs.flatten(), torch.stack([first, second]), rtol=0, atol=1e-14)
    assert end.item() == outputs[1].item()


def test_the_derivative_of_one_step_by_hand():
    # h = 0.5, r = 0.25, z = 0.5, c = 0.2; W_r = 2, W_u = 3, W_c = 4; one arrives.
    r, z, c = (torch.full((1, 1, 1), value, dtype=F64) for value in (0.25, 0.5, 0.2))
    h0, W_h = torch.full((1, 1), 0.5, dtype=F64), torch.tensor([[2.0], [3.0], [4.0]], dtype=F64)
    grad_pre, grad_h0 = scan_backward(torch.ones(1, 1, 1, dtype=F64), W_h, h0, h0[None], (r, z, c))
    x_c = 0.5 * (1 - 0.04)
    x_u = (0.2 - 0.5) * 0.25
    x_r = 4 * x_c * 0.5 * 0.25 * 0.75
    assert grad_pre.flatten().tolist() == pytest.approx([x_r, x_u, x_c], abs=1e-14)
    assert grad_h0.item() == pytest.approx(0.5 + 4 * x_c * 0.25 + 2 * x_r + 3 * x_u, abs=1e-14)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_loops_alone_equal_autograd(reverse):
    time, batch, hidden = 5, 3, 4
    g = torch.Generator().manual_seed(3)
    pre = torch.randn(time, batch, 3 * hidden, generator=g, dtype=F64).requires_grad_()
    W_h = torch.randn(3 * hidden, hidden, generator=g, dtype=F64)
    h0 = torch.randn(batch, hidden, generator=g, dtype=F64).requires_grad_()
    arriving = torch.randn(time, batch, hidden, generator=g, dtype=F64)
    states, gates = scan_forward(pre.detach().clone(), W_h, h0.detach(), reverse)
    # With the identity for the columns of the inputs, `pre` itself is the input.
    W = torch.cat([W_h, torch.eye(3 * hidden, dtype=F64)], 1)
    expected, _ = readable(pre, h0, W, torch.zeros(3 * hidden, dtype=F64), reverse=reverse)
    torch.testing.assert_close(states, expected, rtol=0, atol=1e-14)
    found = scan_backward(arriving, W_h, h0.detach(), states, gates, reverse)
    for ours, theirs in zip(found, torch.autograd.grad(expected, (pre, h0), arriving), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-13)


def test_padding_is_never_read_and_stops_the_derivative():
    u, h, W, b = draw(5, 3, 2, 4)
    mask = steps([2, 5, 0], 5)
    spoiled = u.detach().clone()
    spoiled[~mask] = torch.nan
    outputs, end = gru_scan(spoiled.requires_grad_(), h, W, b, mask)
    assert not outputs[2:, 0].any() and not outputs[:, 2].any()
    assert torch.equal(end[0], outputs[1, 0]) and torch.equal(end[2], h[2])
    (grad,) = torch.autograd.grad(end.sum() + outputs.sum(), spoiled)
    assert not grad[~mask].any() and grad[mask].ne(0).all()


def test_only_what_is_asked_for_is_differentiated():
    u, h, W, b = draw(4, 2, 3, 3)
    expected = torch.autograd.grad(gru_scan(u, h, W, b)[0].sum(), (W, b))
    plain = torch.autograd.grad(gru_scan(u.detach(), h.detach(), W, b)[0].sum(), (W, b))
    assert all(torch.equal(one, other) for one, other in zip(plain, expected, strict=True))
    assert not gru_scan(*(part.detach() for part in (u, h, W, b)))[0].requires_grad


def test_a_long_sequence_of_float32_stays_close_to_float64():
    tensors = draw(200, 4, 8, 16)
    exact, end = gru_scan(*tensors)
    single, single_end = gru_scan(*(part.detach().float() for part in tensors))
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), exact, rtol=0, atol=1e-5)
    torch.testing.assert_close(single_end.double(), end, rtol=0, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("lengths", [None, [20, 3, 11, 20]])
def test_bfloat16_products_under_autocast_stay_close_to_float64(lengths, device):
    mask = None if lengths is None else steps(lengths, 20).to(device)
    exact = draw(20, 4, 8, 16, device=device)
    single = [part.detach().float().requires_grad_() for part in exact]
    with torch.autocast(device, torch.bfloat16):
        outputs, end = gru_scan(*single, mask)
    assert outputs.dtype == end.dtype == torch.float32
    expected = readable(*exact, mask)
    relative(outputs, expected[0], 1e-2)
    relative(end, expected[1], 1e-2)
    grads = torch.autograd.grad(outputs.sum(), single), torch.autograd.grad(expected[0].sum(), exact)
    for ours, theirs in zip(*grads, strict=True):
        assert ours.dtype == torch.float32
        relative(ours, theirs, 3e-2)


@pytest.mark.parametrize("device", DEVICES)
def test_a_network_of_bfloat16_keeps_its_type(device):
    exact = draw(20, 4, 8, 16, device=device)
    low = [part.detach().bfloat16().requires_grad_() for part in exact]
    outputs, end = gru_scan(*low, reverse=True)
    assert outputs.dtype == end.dtype == torch.bfloat16
    relative(outputs, readable(*exact, reverse=True)[0], 1e-2)
    grads = torch.autograd.grad(outputs.float().sum(), low)
    assert [grad.dtype for grad in grads] == [torch.bfloat16] * 4
    for ours, theirs in zip(grads, torch.autograd.grad(readable(*exact, reverse=True)[0].sum(), exact), strict=True):
        relative(ours, theirs, 3e-2)


def relative(found, expected, bound):
    error = (found.double() - expected).norm() / expected.norm()
    assert error <= bound, f"{error:.1e} is above {bound}"


def test_sizes_that_do_not_fit_are_named():
    u, h, W, b = (part.detach() for part in draw(4, 2, 3, 5))
    with pytest.raises(ShapeError, match=r"must fit, with time at least 1, got \[2, 4, 3\], \[2, 5\] and"):
        gru_scan(u.transpose(0, 1), h, W, b)
    with pytest.raises(ShapeError, match=r"got \[0, 2, 3\], \[2, 5\] and \[15, 8\]"):
        gru_scan(u[:0], h, W, b)
    with pytest.raises(RuntimeError, match="same dtype|Float"):
        gru_scan(u.float(), h, W, b)


@pytest.mark.cuda
@pytest.mark.parametrize(("time", "batch", "hidden"), [(16, 32, 64), (9, 7, 100), (12, 128, 512)])
@pytest.mark.parametrize("tf32", [False, True])
def test_kernels_on_cuda_equal_float64(time, batch, hidden, tf32):
    exact = draw(time, batch, 40, hidden, device="cuda")
    single = [part.detach().float().requires_grad_() for part in exact]
    mask = steps([1 + k % time for k in range(batch)], time).cuda()
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    try:
        for reverse in (False, True):
            outputs, end = gru_scan(*single, mask, reverse, on_chip=True)
            expected = readable(*exact, mask, reverse)
            grads = torch.autograd.grad(outputs.square().sum() + end.sum(), single)
            wanted = torch.autograd.grad(expected[0].square().sum() + expected[1].sum(), exact)
            for ours, theirs in zip((outputs, end, *grads), (*expected, *wanted), strict=True):
                relative(ours, theirs, 3e-3 if tf32 else 1e-5)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


@pytest.mark.cuda
def test_a_captured_update_replays_to_the_same_numbers():
    tensors = [part.detach().float().requires_grad_() for part in draw(10, 16, 8, 64, device="cuda")]
    mask = steps([1 + k % 10 for k in range(16)], 10).cuda()

    def update():
        outputs, end = gru_scan(*tensors, mask, on_chip=True)
        return outputs.detach(), *torch.autograd.grad(outputs.square().sum() + end.sum(), tensors)

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        update()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = update()
    graph.replay()
    for ours, theirs in zip(captured, update(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
