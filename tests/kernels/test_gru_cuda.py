"""The GRU's CUDA kernels against a plain loop in float64; the choice of a plan, which needs no GPU."""

import dataclasses
import itertools

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.kernels import gru_cuda
from lamina.kernels.gru_cuda import Plan, choose

H200 = {"processors": 132, "shared_memory": 232448}
TOLERANCE = {torch.float32: 6e-7, torch.bfloat16: 4e-3, torch.float16: 5e-4}
NAMES = ("states", "gradient of pre", "gradient of h0")


def sequences(time, batch, hidden, dtype=torch.float32, masked=False, seed=0):
    generator = torch.Generator().manual_seed(seed)
    pre, weight, h0, grad = (
        torch.randn(shape, generator=generator)
        for shape in ((time, batch, 3 * hidden), (3 * hidden, hidden), (batch, hidden), (time, batch, hidden))
    )
    lengths = torch.randint(0, time + 1, (batch,), generator=generator)
    mask = (torch.arange(time)[:, None] < lengths).cuda() if masked else None
    return pre.cuda(), (weight / hidden**0.5).to(dtype).cuda(), 0.5 * h0.cuda(), grad.cuda(), mask


def loop(pre, weight, h0, grad, mask):
    """The same by the formulas of `gru_step`, in float64 and differentiated by torch."""
    pre, h0 = pre.double().requires_grad_(), h0.double().requires_grad_()
    h, n, outputs = h0, h0.shape[1], []
    W_gates, W_c = weight.double()[: 2 * n], weight.double()[2 * n :]
    for t, u in enumerate(pre):
        r, z = torch.sigmoid(u[:, : 2 * n] + h @ W_gates.T).chunk(2, -1)
        new = z * torch.tanh(u[:, 2 * n :] + (r * h) @ W_c.T) + (1 - z) * h
        h = new if mask is None else torch.where(mask[t, :, None], new, h)
        outputs.append(h)
    states = torch.stack(outputs)
    return states.detach(), *torch.autograd.grad(states, (pre, h0), grad.double())


def scan(pre, weight, h0, grad, mask):
    states, gates = gru_cuda.scan_forward(pre, weight, h0, mask)
    return states, *gru_cuda.scan_backward(grad, weight, h0, states, gates, mask)


def assert_near(found, expected, tolerance):
    for name, a, b in zip(NAMES, found, expected, strict=True):
        error = ((a.double() - b).norm() / b.norm()).item()
        assert error < tolerance, f"{name}: {error:.1e}"


@pytest.fixture
def tf32():
    """Let a test set the policy for float32 products."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    yield lambda allowed: setattr(torch.backends.cuda.matmul, "allow_tf32", allowed)
    torch.backends.cuda.matmul.allow_tf32 = before


# ---------------------------------------------------------------- plans


def test_the_plan_is_the_one_that_was_fastest_when_measured():
    fastest = {(128, 512, 0): (16, 32), (64, 1024, 0): (32, 16), (128, 512, 2): (16, 32), (64, 1024, 2): (16, 32)}
    for (batch, hidden, mode), cut in fastest.items():
        plan = choose(batch, hidden, mode, **H200)
        assert (plan.rows, plan.cols) == cut


def test_a_plan_counts_its_shared_memory_by_hand():
    plan = Plan(hidden=512, mode=0, rows=32, cols=16, warps=8, buffers=2, groups=4)
    assert (plan.words, plan.parts) == (512, 32)
    assert plan.shared_memory == 3 * 16 * 512 * 4 + 2 * 8 * 32 * 16 * 4
    half = dataclasses.replace(plan, mode=2, hidden=500)
    assert (half.words, half.parts, half.shared_memory) == (256, 32, 3 * 16 * 256 * 4 + 2 * 8 * 32 * 16 * 4)


@pytest.mark.parametrize("mode", range(4))
def test_every_plan_fits_the_device_and_covers_the_state(mode):
    for batch, hidden in itertools.product((1, 16, 33, 64, 500, 4096), (1, 7, 64, 100, 256, 512, 777, 1024)):
        plan = choose(batch, hidden, mode, **H200)
        assert plan.groups >= 1
        assert plan.groups * plan.parts <= 132
        assert plan.shared_memory <= 232448
        assert plan.parts * plan.cols >= hidden
        assert plan.parts * plan.cols >= plan.words * plan.pack  # every word that is read is also written


def test_there_is_no_plan_for_weights_that_do_not_fit_or_for_no_sequence():
    assert choose(64, 2048, 0, **H200) is None
    assert choose(64, 2048, 2, **H200) is not None
    assert choose(64, 1024, 0, processors=108, shared_memory=166912) is None  # an A100
    assert choose(64, 512, 0, processors=108, shared_memory=166912) is not None
    assert choose(0, 512, 0, **H200) is None


def test_precision_follows_the_weight_and_the_policy_of_torch(tf32):
    assert gru_cuda._mode(torch.float32) == gru_cuda._FLOAT32
    tf32(True)
    assert gru_cuda._mode(torch.float32) == gru_cuda._TF32
    assert gru_cuda._mode(torch.bfloat16) == gru_cuda._BFLOAT16
    assert gru_cuda._mode(torch.float16) == gru_cuda._FLOAT16


def test_precision_follows_the_newer_name_of_the_policy_too(tf32):
    before = torch.backends.cuda.matmul.fp32_precision
    try:
        torch.backends.cuda.matmul.fp32_precision = "tf32"
        assert gru_cuda._mode(torch.float32) == gru_cuda._TF32
    finally:
        torch.backends.cuda.matmul.fp32_precision = before


def test_other_dtypes_and_devices_are_not_served():
    assert not gru_cuda.available(torch.float64, 4, 8)
    with pytest.raises(ArgumentError, match=r"must be on a CUDA device.*got a state of 8 components on cpu.*gru_scan"):
        gru_cuda.scan_forward(torch.zeros(2, 4, 24), torch.zeros(24, 8), torch.zeros(4, 8))


# ---------------------------------------------------------------- kernels


@pytest.mark.cuda
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("time", "batch", "hidden", "masked"),
    [(5, 4, 16, False), (7, 33, 40, True), (3, 300, 37, True), (4, 64, 1000, False), (1, 1, 1, False)],
)
def test_scans_equal_the_plain_loop(tf32, dtype, time, batch, hidden, masked):
    assert gru_cuda.available(dtype, batch, hidden)
    given = sequences(time, batch, hidden, dtype, masked)
    assert_near(scan(*given), loop(*given), TOLERANCE[dtype])


@pytest.mark.cuda
def test_tf32_rounds_the_factors_only_where_allowed(tf32):
    given = sequences(6, 20, 256)
    expected = loop(*given)
    assert_near(scan(*given), expected, TOLERANCE[torch.float32])
    tf32(True)
    rounded = scan(*given)
    assert_near(rounded, expected, 6e-4)
    assert (rounded[0] - expected[0]).abs().max() > 2e-5


@pytest.mark.cuda
def test_float32_is_as_exact_as_a_loop_in_float32(tf32):
    pre, weight, h0, _, _ = sequences(6, 64, 1024)
    exact = loop(pre, weight, h0, torch.ones_like(pre[..., :1024]), None)[0]
    h, plain = h0, []
    for u in pre:
        r, z = torch.sigmoid(u[:, :2048] + h @ weight[:2048].T).chunk(2, -1)
        h = z * torch.tanh(u[:, 2048:] + (r * h) @ weight[2048:].T) + (1 - z) * h
        plain.append(h)
    error = (gru_cuda.scan_forward(pre, weight, h0)[0] - exact).norm()
    assert error < 2 * (torch.stack(plain) - exact).norm()


@pytest.mark.cuda
@pytest.mark.parametrize("hidden", [64, 100])
def test_more_sequences_than_the_device_holds_at_once(tf32, monkeypatch, hidden):
    plan = dataclasses.replace(choose(100, hidden, 1, **H200), rows=16, groups=2)
    monkeypatch.setattr(gru_cuda, "_plan", lambda *_: plan)
    given = sequences(5, 100, hidden, masked=True)
    assert_near(scan(*given), loop(*given), TOLERANCE[torch.float32])


@pytest.mark.cuda
def test_padding_is_not_read_and_leaves_zeros_where_gates_are(tf32):
    pre, weight, h0, grad, mask = sequences(6, 20, 64, masked=True)
    outside = ~mask[..., None]
    broken = pre.masked_fill(outside, torch.nan)
    for a, b in zip(scan(broken, weight, h0, grad, mask), scan(pre, weight, h0, grad, mask), strict=True):
        assert torch.equal(a, b)
    for gate in gru_cuda.scan_forward(broken, weight, h0, mask)[1]:
        assert torch.equal(gate == 0, outside.expand_as(gate))


@pytest.mark.cuda
def test_nan_passes_through_and_stays_in_its_sequence(tf32):
    pre, weight, h0, _, _ = sequences(4, 20, 64)
    pre[1, 3, 5] = torch.nan
    h0[7, 2] = torch.inf
    states = gru_cuda.scan_forward(pre, weight, h0)[0]
    rows = torch.arange(20, device="cuda")
    assert torch.equal(states.isfinite().all(-1).all(0), (rows != 3) & (rows != 7))
    assert states[0, 3].isfinite().all()


@pytest.mark.cuda
def test_every_run_gives_the_same_bits_also_in_a_cuda_graph():
    given = sequences(40, 48, 256, torch.bfloat16, masked=True)
    first = scan(*given)
    for _ in range(5):
        assert all(torch.equal(a, b) for a, b in zip(scan(*given), first, strict=True))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = scan(*given)
    for _ in range(2):
        for part in captured:
            part.fill_(torch.nan)
        graph.replay()
        assert all(torch.equal(a, b) for a, b in zip(captured, first, strict=True))


@pytest.mark.cuda
def test_no_step_leaves_the_gradient_of_the_start_at_zero():
    pre, weight, h0, grad, _ = sequences(0, 3, 8)
    states, grad_pre, grad_h0 = scan(pre, weight, h0, grad, None)
    assert states.numel() == grad_pre.numel() == 0
    assert torch.equal(grad_h0, torch.zeros_like(h0))


@pytest.mark.cuda
def test_a_kernel_that_does_not_compile_is_reported_and_not_used(monkeypatch):
    def refuse(*_):
        raise RuntimeError("NVRTC refused a kernel: no such architecture")

    monkeypatch.setattr(gru_cuda.nvrtc, "compile_kernels", refuse)
    with pytest.warns(RuntimeWarning, match="gru.cu cannot be compiled, torch.s kernels are used: NVRTC refused"):
        assert not gru_cuda.available(torch.bfloat16, 3, 11)
