import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import conv2d

from lamina.functional.normalization import batch_norm
from lamina.layers.bottleneck import OriginalBottleneck, PreActBottleneck
from lamina.layers.dense_blocks import DenseOriginalBlock, DensePreActBlock
from lamina.layers.residual_blocks import OriginalBlock, PreActBlock
from layers.block_formulas import maps, norm, scramble

ORIGINAL = [OriginalBlock, OriginalBottleneck]
PREACTIVATION = [PreActBlock, PreActBottleneck]


@pytest.mark.notes("N4.18", "N4.19", "N4.21")
@pytest.mark.parametrize("stride", [1, 2])
def test_original_block_is_its_formula(stride, generator):
    block = scramble(OriginalBlock(4, 4, stride=stride, seed=generator), generator)
    y = maps(generator)
    hidden = torch.relu(norm(block.bn1, conv2d(y, block.conv1.weight, stride=stride, padding=1)))
    branch = norm(block.bn2, conv2d(hidden, block.conv2.weight, padding=1))
    skip = y if stride == 1 else norm(block.downsample[1], conv2d(y, block.downsample[0].weight, stride=2))
    assert torch.allclose(block(y), torch.relu(skip + branch), rtol=0, atol=1e-12)


@pytest.mark.notes("N4.22", "N4.23")
@pytest.mark.parametrize(
    ("out_channels", "stride", "shortcut"), [(4, 1, "projection"), (6, 2, "projection"), (6, 2, "zero-pad")]
)
def test_preactivation_block_is_its_formula(out_channels, stride, shortcut, generator):
    block = scramble(PreActBlock(4, out_channels, stride=stride, shortcut=shortcut, seed=generator), generator)
    y = maps(generator)
    active = torch.relu(norm(block.bn1, y))
    hidden = torch.relu(norm(block.bn2, conv2d(active, block.conv1.weight, stride=stride, padding=1)))
    skip = y
    if shortcut == "zero-pad":
        skip = torch.cat([y[:, :, ::2, ::2], torch.zeros(5, 2, 3, 3, dtype=torch.float64)], 1)
    elif stride == 2:
        skip = conv2d(active, block.downsample.weight, stride=2)
    assert torch.allclose(block(y), skip + conv2d(hidden, block.conv2.weight, padding=1), rtol=0, atol=1e-12)


@pytest.mark.notes("N4.19", "N4.23", "N4.24")
@pytest.mark.parametrize("make", ORIGINAL + PREACTIVATION)
def test_zero_weights_leave_relu_or_the_identity(make, generator):
    block, y = make(4, 4).double(), maps(generator)
    for name, weight in block.named_parameters():
        if "conv" in name:
            weight.data.zero_()
    assert torch.equal(block(y), torch.relu(y) if make in ORIGINAL else y)


@pytest.mark.notes("N4.19", "N4.23", "N4.24")
def test_only_the_original_block_ends_with_an_activation(generator):
    y = maps(generator)
    for make in ORIGINAL:
        assert (make(4, 8, stride=2, seed=generator).double()(y) >= 0).all()
    for make in PREACTIVATION:
        assert (make(4, 8, stride=2, seed=generator).double()(y) < 0).any()


@pytest.mark.notes("N4.21")
def test_only_the_preactivation_block_is_a_step_of_an_ode(generator):
    y, tau = maps(generator), 0.25
    steps = {}
    for make, last in ((OriginalBlock, "bn2"), (PreActBlock, "conv2")):
        block = scramble(make(4, 4, seed=generator), generator)
        whole = block(y) - y
        for parameter in getattr(block, last).parameters():
            parameter.data.mul_(tau)  # the branch becomes tau times itself
        steps[make] = (block(y) - y - tau * whole).abs().max().item()
    assert steps[PreActBlock] < 1e-13
    assert steps[OriginalBlock] > 0.1


@pytest.mark.notes("N4.18", "N4.22")
@pytest.mark.parametrize(
    ("make", "order"),
    [
        (OriginalBlock, ["conv1", "bn1", "conv2", "bn2"]),
        (PreActBlock, ["bn1", "conv1", "bn2", "conv2"]),
        (OriginalBottleneck, ["conv1", "bn1", "conv2", "bn2", "conv3", "bn3"]),
        (PreActBottleneck, ["bn1", "conv1", "bn2", "conv2", "bn3", "conv3"]),
    ],
)
def test_order_of_weights_and_normalizations(make, order, generator):
    block, seen = make(4, 4), []
    for name, part in block.named_children():
        if name != "downsample":
            part.register_forward_hook(lambda *_, name=name: seen.append(name))
    block(maps(generator).float())
    assert seen == order
    assert all(getattr(block, name).bias is None for name in order if name.startswith("conv"))


@settings(max_examples=25, deadline=None)
@given(
    make=st.sampled_from([*ORIGINAL, *PREACTIVATION, DenseOriginalBlock, DensePreActBlock]),
    channels=st.sampled_from([4, 8]),
    size=st.integers(1, 6),
    seed=st.integers(0, 2**31 - 1),
    training=st.booleans(),
)
def test_a_zero_branch_returns_a_nonnegative_input_unchanged(make, channels, size, seed, training):
    dense = make in (DenseOriginalBlock, DensePreActBlock)
    block = (make(channels, seed=seed) if dense else make(channels, channels, seed=seed)).double().train(training)
    block.zero_branch()
    shape = (3, channels) if dense else (3, channels, size, size)
    y = torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    assert torch.equal(block(y), y)


@pytest.mark.parametrize("make", ORIGINAL + PREACTIVATION)
@pytest.mark.parametrize("shortcut", ["projection", "zero-pad"])
def test_a_zero_branch_leaves_the_shortcut(make, shortcut, generator):
    block, y = make(4, 8, stride=2, shortcut=shortcut, seed=generator).double().eval(), maps(generator)
    block.zero_branch()
    active = torch.relu(block.bn1(y)) if make in PREACTIVATION and shortcut == "projection" else y
    skip = block.downsample(active)
    assert torch.equal(block(y), torch.relu(skip) if make in ORIGINAL else skip)


def test_evaluation_uses_the_running_statistics(generator):
    block, y = OriginalBlock(4, 4, seed=generator).double(), maps(generator)
    block(y)
    assert block.bn1.num_batches_tracked.item() == 1
    first = block.conv1(y)
    expected = 0.9 * torch.ones(4) + 0.1 * first.var((0, 2, 3))
    assert torch.allclose(block.bn1.running_var, expected.double(), atol=1e-12)
    assert torch.allclose(block.eval()(y[:1]), block(y)[:1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("make", ORIGINAL + PREACTIVATION)
def test_gradients_and_seeds(make, generator):
    y = torch.randn(2, 4, 3, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(make(4, 8, stride=2).double(), (y,))
    one, two, other = (make(4, 8, stride=2, seed=seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert not torch.equal(one["conv1.weight"], other["conv1.weight"])
    assert not torch.equal(one["conv1.weight"][:4, :4].flatten()[:8], one["conv2.weight"].flatten()[:8])


def test_our_batch_norm_is_the_blocks_batch_norm(generator):
    y, part = maps(generator), scramble(nn.BatchNorm2d(4), generator)
    assert torch.allclose(batch_norm(y, part.weight, part.bias, part.eps), norm(part, y), rtol=0, atol=1e-12)
    assert torch.allclose(part(y), norm(part, y), rtol=0, atol=1e-12)


@pytest.mark.parametrize("make", ORIGINAL + PREACTIVATION)
def test_kernels_start_by_the_rule_of_he(make):
    """The mean square is 2 / fan-in, to four standard deviations of a mean of so many squares."""
    convolutions = [part for part in make(32, 64, stride=2).modules() if isinstance(part, nn.Conv2d)]
    assert len(convolutions) == 3 + (make in (OriginalBottleneck, PreActBottleneck))
    for part in convolutions:
        expected, number = 2 / part.weight[0].numel(), part.weight.numel()
        assert part.weight.square().mean().item() == pytest.approx(expected, rel=4 * (2 / number) ** 0.5)
