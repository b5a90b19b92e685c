import pytest
import torch
from torch import nn

from lamina._errors import ArgumentError, ShapeError
from lamina.architectures.resnet import CifarResNet, CifarResNetConfig
from lamina.layers.bottleneck import OriginalBottleneck, PreActBottleneck
from lamina.layers.residual_blocks import OriginalBlock, PreActBlock
from lamina.layers.shortcuts import ZeroPadShortcut


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.notes("N4.28")
@pytest.mark.parametrize(
    ("depth", "block", "parameters"),
    [
        (20, "original", 269722),
        (110, "original", 1727962),
        (164, "preactivation", 1703258),
        (1001, "preactivation", 10327706),
        # no published figures, but fixed by the formula: both orders agree for two-weight blocks (the first and the
        # last normalization change places), and differ by those of the projections for bottlenecks
        (20, "preactivation", 269722 - 2 * 16 - 2 * (16 + 32 + 64) + 2 * (16 + 16 + 32) + 2 * 64),
        (
            164,
            "original",
            1703258 + 2 * 16 + 2 * (64 + 128 + 256) + 2 * (64 + 128 + 256) - 2 * (16 + 64 + 128) - 2 * 256,
        ),
    ],
)
def test_published_counts(depth, block, parameters):
    assert count(CifarResNet(CifarResNetConfig(depth=depth, block=block))) == parameters


def test_without_options_it_is_resnet20():
    assert CifarResNetConfig() == CifarResNetConfig((3, 32, 32), 10, depth=20, block="original", width=1.0)
    assert count(CifarResNet(CifarResNetConfig())) == 269722


@pytest.mark.notes("N4.28")
@pytest.mark.parametrize("depth", [20, 32, 44, 56, 110, 164, 1001])
def test_depth_is_the_number_of_layers_with_weights(depth):
    net = CifarResNet(CifarResNetConfig(depth=depth, width=1 / 16))
    layers = [name for name, part in net.named_modules() if isinstance(part, nn.Conv2d | nn.Linear)]
    assert sum("downsample" not in name for name in layers) == depth


@pytest.mark.notes("N4.28")
def test_1001_needs_bottlenecks():
    assert (1001 - 2) % 6 and (1001 - 2) // 9 == 111 and (1001 - 2) % 9 == 0
    config = CifarResNetConfig(depth=1001)
    assert config.plan.bottleneck and config.plan.counts == (111, 111, 111)
    with pytest.raises(ArgumentError, match="got 1001: three equal stages of 2-weight blocks"):
        CifarResNetConfig(depth=1001, bottleneck=False)


def test_published_choice_of_blocks_and_shortcuts():
    chosen = {depth: CifarResNetConfig(depth=depth).plan.bottleneck for depth in (8, 20, 56, 110, 164, 1001, 1202)}
    assert chosen == {8: False, 20: False, 56: False, 110: False, 164: True, 1001: True, 1202: False}
    assert CifarResNetConfig(depth=110, bottleneck=True).plan.counts == (12, 12, 12)
    kinds = {
        (block, bottleneck): {
            type(b) for b in CifarResNet(CifarResNetConfig(depth=20, block=block, bottleneck=bottleneck)).layer1
        }
        for block in ("original", "preactivation")
        for bottleneck in (False, True)
    }
    assert kinds == {
        ("original", False): {OriginalBlock}, ("original", True): {OriginalBottleneck},
        ("preactivation", False): {PreActBlock}, ("preactivation", True): {PreActBottleneck},
    }  # fmt: skip
    skips = [type(CifarResNet(CifarResNetConfig(depth=20, bottleneck=b)).layer2[0].downsample) for b in (False, True)]
    assert skips == [ZeroPadShortcut, nn.Sequential]
    # Option B: the two projections with their normalization.
    projected = CifarResNet(CifarResNetConfig(depth=20, shortcut="projection"))
    assert count(projected) == 269722 + 16 * 32 + 64 + 32 * 64 + 128


@pytest.mark.parametrize("block", ["original", "preactivation"])
@pytest.mark.parametrize("depth", [8, 11])
def test_the_network_is_stem_blocks_pooling_and_a_dense_layer(block, depth, generator):
    config = CifarResNetConfig(depth=depth, block=block, bottleneck=depth == 11, width=0.25)
    net = CifarResNet(config, seed=generator).double()
    u = torch.randn(3, 3, 32, 32, generator=generator, dtype=torch.float64)
    net(u)  # statistics that are not 0 and 1
    net.eval()
    y = nn.functional.conv2d(u, net.conv1.weight, padding=1)
    if block == "original":
        y = torch.relu(net.bn1(y))
    shapes = []
    for part in (net.layer1, net.layer2, net.layer3):
        for member in part:
            y = member(y)
        shapes.append(tuple(y.shape[1:]))
    assert shapes == [(c, s, s) for c, s in zip(config.channels, (32, 16, 8), strict=True)]
    if block == "preactivation":
        y = torch.relu(net.bn(y))
    assert torch.allclose(net(u), y.mean((2, 3)) @ net.fc.weight.T + net.fc.bias, rtol=0, atol=1e-12)


@pytest.mark.parametrize("block", ["original", "preactivation"])
def test_zero_branch_makes_the_network_shallow(block, generator):
    net = CifarResNet(CifarResNetConfig(depth=20, block=block, zero_branch=True), seed=generator).double().eval()
    u = torch.randn(2, 3, 16, 16, generator=generator, dtype=torch.float64)
    y = net.conv1(u)
    y = torch.relu(net.bn1(y)) if block == "original" else y
    y = torch.cat([y[:, :, ::4, ::4], torch.zeros(2, 48, 4, 4, dtype=torch.float64)], 1)
    y = y if block == "original" else torch.relu(net.bn(y))
    assert torch.allclose(net(u), net.fc(y.mean((2, 3))), rtol=0, atol=1e-12)


@pytest.mark.parametrize("depth", [18, 2, 0, 21])
def test_other_depths_are_refused(depth):
    message = (
        r"`depth` must be 6n\+2 \(20, 32, 44, 56, 110, ...\) or, with bottleneck blocks, 9n\+2 \(164, 1001\), "
        f"got {depth}: three equal stages of 2-weight blocks"
    )
    with pytest.raises(ArgumentError, match=message):
        CifarResNetConfig(depth=depth)
    with pytest.raises(ArgumentError, match=f"got {depth}: three equal stages of 3-weight blocks"):
        CifarResNetConfig(depth=depth, bottleneck=True)
    assert CifarResNetConfig(depth=50).plan.counts == (8, 8, 8)  # 50 = 6*8+2 is a depth of this family, too


def test_options_are_checked():
    with pytest.raises(ArgumentError, match="`block` must be one of 'original', 'preactivation', got 'both'"):
        CifarResNetConfig(block="both")
    with pytest.raises(ArgumentError, match="`shortcut` must be one of 'projection', 'zero-pad', got 'none'"):
        CifarResNetConfig(shortcut="none")
    with pytest.raises(ShapeError, match="must have 3 channels that the network was built for"):
        CifarResNet(CifarResNetConfig(depth=8))(torch.zeros(1, 1, 32, 32))


def test_same_seed_same_network():
    one, two, other = (CifarResNet(CifarResNetConfig(depth=8), seed=s).state_dict() for s in (1, 1, 2))
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert not torch.equal(one["fc.weight"], other["fc.weight"])


@pytest.mark.slow
@pytest.mark.notes("N4.28")
@pytest.mark.parametrize("block", ["original", "preactivation"])
def test_1001_layers_pass_signal_and_gradient(block, generator):
    net = CifarResNet(CifarResNetConfig(depth=1001, block=block), seed=generator)
    u = torch.randn(2, 3, 32, 32, generator=generator)
    logits = net(u)
    nn.functional.cross_entropy(logits, torch.tensor([1, 2])).backward()
    assert logits.shape == (2, 10) and logits.isfinite().all() and logits.std() > 0
    assert all(p.grad is not None and p.grad.isfinite().all() for p in net.parameters())
    assert net.conv1.weight.grad.abs().max() > 0


def test_recomputing_gives_the_same_gradients(generator):
    nets = [
        CifarResNet(CifarResNetConfig(depth=20, width=0.25, block="preactivation", recompute=n)).double()
        for n in (0, 2)
    ]
    u = torch.randn(3, 3, 16, 16, generator=generator, dtype=torch.float64)
    for net in nets:
        net(u).square().sum().backward()
    plain, again = nets
    assert all(torch.equal(p.grad, q.grad) for p, q in zip(plain.parameters(), again.parameters(), strict=True))
    state = again.state_dict()
    assert all(torch.equal(t, state[name]) for name, t in plain.state_dict().items())
    with pytest.raises(ArgumentError, match="`recompute` must be at least 0, got -1"):
        CifarResNetConfig(recompute=-1)
