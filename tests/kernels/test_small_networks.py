"""The kernels of small networks against torch: on the CPU through an emulation, on a GPU as they are."""

import shutil

import pytest
import torch
from torch.nn import functional as F

from kernels.cuda_on_cpu import emulated
from lamina.data.augment import Augment, augment
from lamina.kernels import small_networks as module
from lamina.kernels.small_networks import Kernels, fits_convolution, fits_linear
from lamina.training._fused import FusedAdam
from lamina.training.executors._small import SmallLayers

DEVICES = [
    pytest.param("cpu", marks=pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")),
    pytest.param(
        "cuda",
        marks=[pytest.mark.cuda, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")],
    ),
]


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory):
    return Kernels(emulated("small_networks.cu", tmp_path_factory.mktemp("kernels")))


@pytest.fixture(params=DEVICES)
def kernels(request):
    made = request.getfixturevalue("on_cpu") if request.param == "cpu" else module.load(0)
    assert made is not None
    made.device = request.param
    return made


def normal(*shape, seed=0, device="cpu", **options):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), **options).to(device)


CHANGES = [
    None,
    Augment(translate=2),
    Augment(crop=3, flip=True),
    Augment(translate=4, flip=True, cutout=5),
    Augment(cutout=3),
]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_are_taken_changed_and_normalized_bit_for_bit(kernels, changes, channels):
    generator = torch.Generator().manual_seed(1)
    pictures = torch.randint(256, (9, channels, 7, 8), dtype=torch.uint8, generator=generator).to(kernels.device)
    targets = torch.randint(10, (9,), generator=generator).to(kernels.device)
    order = torch.randperm(9, generator=generator).to(kernels.device)
    cursor, count = (torch.tensor(v, device=kernels.device) for v in (3, 41))
    factor, shift = (normal(channels, seed=s, device=kernels.device) for s in (2, 3))
    c = changes or Augment()
    how = (c.crop, c.translate, int(c.flip), c.cutout)
    inputs, labels = kernels.take_pictures(pictures, targets, order, cursor, count, (factor, shift), 5, -17, how)
    chosen = order[3:8]
    expected = pictures[chosen]
    if changes is not None:
        expected = augment(expected, changes, -17, 41)
    expected = expected.float() * factor[:, None, None] + shift[:, None, None]
    assert torch.equal(inputs, expected) and torch.equal(labels, targets[chosen])


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("rows", [5, 300])
def test_a_batch_is_judged_and_counted(kernels, rows, smoothing):
    device = kernels.device
    logits = (3 * normal(rows, 10, device=device)).requires_grad_()
    labels = torch.randint(10, (rows,), generator=torch.Generator().manual_seed(1)).to(device)
    counters = [torch.full((), 2.0, dtype=torch.float64, device=device) for _ in range(3)]
    counters += [torch.full((), v, dtype=torch.int64, device=device) for v in (7, 100, 2)]
    steps, rate = torch.full((3,), 4.0, device=device), torch.zeros((), device=device)
    rates = torch.tensor([0.1, 0.2, 0.3, 0.4], device=device)
    gradient = kernels.judge(logits.detach(), labels, (*counters, steps, rate), rates, smoothing)
    loss = F.cross_entropy(logits, labels, label_smoothing=smoothing)
    loss.backward()
    torch.testing.assert_close(gradient, logits.grad, atol=2e-8, rtol=1e-5)
    right = (logits.argmax(1) == labels).sum()
    values = [float(c) for c in counters]
    assert values[0] == pytest.approx(2 + rows * loss.item(), rel=1e-6)
    assert values[1:] == pytest.approx([2 + right.item(), 2 + loss.item(), 8, 100 + rows, 3], rel=1e-6)
    assert steps.tolist() == [5, 5, 5] and rate.item() == pytest.approx(0.3)


def test_a_loss_that_is_not_finite_is_no_good_step(kernels):
    device = kernels.device
    counters = [torch.zeros((), dtype=torch.float64, device=device) for _ in range(3)]
    counters += [torch.zeros((), dtype=torch.int64, device=device) for _ in range(3)]
    counters += [torch.zeros(1, device=device), torch.zeros((), device=device)]
    labels, rates = torch.tensor([0, 1], device=device), torch.ones(9, device=device)
    for value in (1.0, float("nan"), 1.0):
        kernels.judge(torch.full((2, 3), value, device=device), labels, counters, rates)
    assert counters[3].item() == 1 and not counters[2].isfinite() and counters[5].item() == 3


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_adam_is_that_of_torch(kernels, decay):
    shapes = [(5, 7), (3,), (300, 2), (), (2, 3, 4, 5)] * 14  # more than one launch
    start = [normal(*shape, seed=i) for i, shape in enumerate(shapes)]
    ours = [torch.nn.Parameter(t.to(kernels.device)) for t in start]
    theirs = [torch.nn.Parameter(t.clone()) for t in start]
    reference = FusedAdam(theirs, 0.01, (0.8, 0.97), 1e-6, decay)
    state = [
        (torch.zeros((), device=kernels.device), torch.zeros_like(p.detach()), torch.zeros_like(p.detach()))
        for p in ours
    ]
    rate = torch.tensor(0.01, device=kernels.device)
    for step in range(4):
        for i, (p, q) in enumerate(zip(ours, theirs, strict=True)):
            q.grad = normal(*p.shape, seed=1000 * step + i)
            p.grad = q.grad.to(kernels.device)
        for count, _, _ in state:
            count.add_(1)
        kernels.adam(ours, state, rate, (0.8, 0.97, 1e-6, decay))
        reference.step()
    for p, q in zip(ours, theirs, strict=True):
        torch.testing.assert_close(p.detach().cpu(), q.detach(), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("rows,features,outputs", [(5, 3, 2), (33, 300, 20), (17, 16, 16), (40, 7, 65)])
@pytest.mark.parametrize("biased", [True, False])
def test_a_dense_layer_and_its_gradients(kernels, rows, features, outputs, biased):
    tensors = [normal(rows, features), normal(outputs, features, seed=1), normal(outputs, seed=2) if biased else None]
    ours, theirs = (
        [None if t is None else t.to(device, dtype, copy=True).requires_grad_() for t in tensors]
        for device, dtype in ((kernels.device, torch.float32), ("cpu", torch.float64))
    )
    slope = normal(rows, outputs, seed=3)
    with SmallLayers(kernels):
        assert fits_linear(*ours)
        found = F.linear(*ours)
        assert "_Linear" in found.grad_fn.name()
    expected = F.linear(*theirs)
    found.backward(slope.to(kernels.device))
    expected.backward(slope.double())
    assert_close(found, expected)
    for a, b in zip(ours, theirs, strict=True):
        if a is not None:
            assert_close(a.grad, b.grad)


@pytest.mark.parametrize(
    "shape,weight,padding",
    [
        ((3, 1, 9, 8), (6, 1, 5, 5), 2),
        ((2, 6, 7, 7), (16, 6, 5, 5), 0),
        ((1, 2, 34, 33), (3, 2, 3, 3), 1),  # more pixels than threads
        ((3, 3, 5, 6), (9, 3, 3, 3), 1),
        ((2, 2, 4, 4), (1, 2, 1, 1), 0),
    ],
)
def test_a_convolution_and_its_gradients(kernels, shape, weight, padding):
    tensors = [normal(*shape), normal(*weight, seed=1), normal(weight[0], seed=2)]
    ours, theirs = (
        [t.to(device, dtype, copy=True).requires_grad_() for t in tensors]
        for device, dtype in ((kernels.device, torch.float32), ("cpu", torch.float64))
    )
    with SmallLayers(kernels):
        found = F.conv2d(*ours, padding=padding)
        assert "_Convolution" in found.grad_fn.name()
    expected = F.conv2d(*theirs, padding=padding)
    slope = normal(*expected.shape, seed=3)
    found.backward(slope.to(kernels.device))
    expected.backward(slope.double())
    assert_close(found, expected)
    for a, b in zip(ours, theirs, strict=True):
        assert_close(a.grad, b.grad)


def assert_close(found, expected):
    """Compare with float64 relative to the largest entry."""
    error = (found.detach().cpu().double() - expected.detach()).abs().max() / expected.detach().abs().max()
    assert error < 2e-6, error


def test_layers_that_do_not_fit_are_left_to_torch():
    x, w = torch.zeros(2, 3), torch.zeros(4, 3)
    assert fits_linear(x, w)
    assert (
        not fits_linear(x.double(), w.double()) and not fits_linear(x[None], w) and not fits_linear(x[:, ::3], w[:, :1])
    )
    assert not fits_linear(torch.zeros(2**14, 1).expand(-1, 2**7), torch.zeros(2**7, 2**7))
    assert not fits_linear(torch.zeros(2**12, 2**7), torch.zeros(2**7, 2**7))
    middle = torch.zeros(2**11, 2**7), torch.zeros(2**7, 2**7)
    assert fits_linear(*middle)
    with torch.autocast("cpu", torch.bfloat16):
        assert fits_linear(x, w) and not fits_linear(*middle)
    x, w = torch.zeros(2, 3, 8, 8), torch.zeros(4, 3, 3, 3)
    assert fits_convolution(x, w, None, (1, 1), (1, 1))
    for options in ({"stride": 2}, {"padding": "same"}, {"padding": (1, 0)}, {"dilation": 2}, {"padding": 3}):
        assert not fits_convolution(x, w, **options), options
    assert not fits_convolution(torch.zeros(2, 64, 8, 8), torch.zeros(4, 64, 3, 3))
    assert not fits_convolution(torch.zeros(2, 4, 8, 8), torch.zeros(4, 2, 3, 3), groups=2)
    assert not fits_convolution(x[0], w) and not fits_convolution(x, torch.zeros(4, 3, 3, 1))
