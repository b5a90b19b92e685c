import pytest
import torch
from torch import nn

from architectures.torchvision_reference import reference
from lamina._errors import ArgumentError, ShapeError
from lamina.architectures.resnet import ResNet, ResNetConfig
from lamina.drawing._model_layers import layers_of
from lamina.inspection.activations import feature_maps
from lamina.inspection.gradient_field import autograd_field
from lamina.inspection.receptive_field import receptive_field
from lamina.layers.bottleneck import OriginalBottleneck, PreActBottleneck
from lamina.layers.residual_blocks import OriginalBlock, PreActBlock
from lamina.training._look import look


def count(module):
    return sum(p.numel() for p in module.parameters())


def scramble(net, generator):
    """Give every normalization its own scale, shift and statistics, so that no mistake can hide."""
    for part in net.modules():
        if isinstance(part, nn.BatchNorm2d):
            for tensor in (part.weight.data, part.running_var):
                tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
            for tensor in (part.bias.data, part.running_mean):
                tensor.copy_(0.1 * torch.randn(tensor.shape, generator=generator))
    return net.double().eval()


@pytest.fixture(scope="module")
def resnet18():
    return ResNet(ResNetConfig()).eval()


@pytest.mark.notes("N4.20", "N4.33")
def test_resnet18_counts_by_block(resnet18):
    blocks = {
        "A": count(resnet18.conv1) + count(resnet18.bn1),
        **{name: count(getattr(resnet18, f"layer{i}")) for i, name in enumerate("BCDE", 1)},
        "FC": count(resnet18.fc),
    }
    assert blocks == {"A": 9536, "B": 147968, "C": 525568, "D": 2099712, "E": 8393728, "FC": 513000}
    assert count(resnet18) == sum(blocks.values()) == 11689512 > 10_000_000


@pytest.mark.notes("N4.33", "N4.36", "N4.37")
def test_resnet18_counts_for_other_pictures_and_labels(resnet18):
    ten = ResNet(ResNetConfig(outputs=10))
    gray = ResNet(ResNetConfig((1, 224, 224), 10))
    cifar = ResNet(ResNetConfig((3, 32, 32), 10, stem="cifar"))
    assert [count(net) for net in (ten, gray, cifar)] == [11181642, 11175370, 11173962]
    assert (count(resnet18.conv1), count(gray.conv1), count(cifar.conv1)) == (9408, 3136, 1728)
    assert count(ten.fc) == 5130


@pytest.mark.notes("N4.33")
@pytest.mark.parametrize(("depth", "parameters"), [(34, 21797672), (50, 25557032)])
def test_deeper_counts(depth, parameters):
    assert count(ResNet(ResNetConfig(depth=depth))) == parameters


@pytest.mark.notes("N4.31")
@pytest.mark.parametrize("block", ["original", "preactivation"])
@pytest.mark.parametrize(("depth", "convolutions", "projections"), [(18, 20, 3), (34, 36, 3), (50, 53, 4)])
def test_depth_counts_weights_but_no_projections(depth, convolutions, projections, block):
    net = ResNet(ResNetConfig((3, 32, 32), 10, depth=depth, block=block, width=1 / 16))
    kinds = [name for name, part in net.named_modules() if isinstance(part, nn.Conv2d)]
    skips = [name for name in kinds if "downsample" in name]
    dense = [name for name, part in net.named_modules() if isinstance(part, nn.Linear)]
    assert (len(kinds), len(skips), len(dense)) == (convolutions, projections, 1)
    assert len(kinds) - len(skips) + len(dense) == depth


@pytest.mark.notes("N4.31")
def test_batch_normalization_has_9600_parameters_and_convolutions_no_bias(resnet18):
    norms = [part for part in resnet18.modules() if isinstance(part, nn.BatchNorm2d)]
    assert sum(map(count, norms)) == 9600 and len(norms) == 20
    assert all(part.bias is None for part in resnet18.modules() if isinstance(part, nn.Conv2d))
    full = sum(part.num_features**2 + part.num_features for part in norms)
    assert count(resnet18) - 9600 + full == 13425512  # if the notes' full matrices were meant


@pytest.mark.notes("N3.32", "N4.30", "N4.32")
def test_shapes_at_224_and_global_average_pooling(resnet18):
    shapes = {}
    for name, part in resnet18.named_children():
        part.register_forward_hook(lambda _, __, y, name=name: shapes.update({name: tuple(y.shape[1:])}))
    with torch.no_grad():
        resnet18(torch.zeros(1, 3, 224, 224))
    expected = {"conv1": (64, 112, 112), "maxpool": (64, 56, 56), "layer1": (64, 56, 56), "layer2": (128, 28, 28),
                "layer3": (256, 14, 14), "layer4": (512, 7, 7), "avgpool": (512, 1, 1), "fc": (1000,)}  # fmt: skip
    assert {name: shapes[name] for name in expected} == expected
    assert 512 * 7 * 7 * 1000 + 1000 == 25_089_000 > count(resnet18)  # what flattening without pooling would cost
    channels = resnet18.config.channels
    assert list(channels) == sorted(channels) and all(c & (c - 1) == 0 for c in channels)


@pytest.mark.notes("N4.20", "N4.34")
@pytest.mark.parametrize("depth", [18, 34, 50])
def test_names_and_values_are_torchvisions(depth, generator):
    net = scramble(ResNet(ResNetConfig(depth=depth), seed=generator), generator)
    theirs = reference(f"resnet{depth}", net.state_dict())
    assert list(net.state_dict()) == list(theirs.state_dict())
    assert all(theirs.state_dict()[name].shape == tensor.shape for name, tensor in net.state_dict().items())
    u = torch.randn(2, 3, 64, 64, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        ours, other = net(u), theirs(u)
    assert ours.std() > 0.1 and torch.allclose(ours, other, rtol=1e-12, atol=1e-12)


def test_torchvisions_training_step_is_ours(generator):
    net = scramble(ResNet(ResNetConfig(outputs=10), seed=generator), generator)
    theirs = reference("resnet18", {name: tensor.clone() for name, tensor in net.state_dict().items()}, num_classes=10)
    u = torch.randn(2, 3, 64, 64, generator=generator, dtype=torch.float64)
    assert torch.allclose(net.train()(u), theirs.train()(u), rtol=1e-10, atol=1e-10)
    for (name, ours), other in zip(net.named_buffers(), theirs.buffers(), strict=True):
        assert torch.allclose(ours, other, rtol=1e-10, atol=1e-12), name


@pytest.mark.notes("N4.25", "N4.34")
@pytest.mark.parametrize(("depth", "kind"), [(18, PreActBlock), (50, PreActBottleneck)])
def test_preactivation_form_normalizes_before_the_pooling(depth, kind, generator):
    config = ResNetConfig((3, 48, 40), 10, depth=depth, block="preactivation", width=1 / 8)
    net = scramble(ResNet(config, seed=generator), generator)
    u = torch.randn(2, 3, 48, 40, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        y = nn.functional.max_pool2d(nn.functional.conv2d(u, net.conv1.weight, stride=2, padding=3), 3, 2, 1)
        for part in net.modules():
            if isinstance(part, kind):
                y = part(y)
        assert (y < 0).any()
        mean, variance = net.bn.running_mean[:, None, None], net.bn.running_var[:, None, None]
        y = (y - mean) / (variance + 1e-5).sqrt() * net.bn.weight[:, None, None] + net.bn.bias[:, None, None]
        by_hand = torch.relu(y).mean((2, 3)) @ net.fc.weight.T + net.fc.bias
        assert torch.allclose(net(u), by_hand, rtol=1e-12, atol=1e-12)
    assert not list(net.bn1.parameters())


@pytest.mark.notes("N4.34")
def test_the_configuration_says_which_block():
    kinds = {"original": (OriginalBlock, OriginalBottleneck), "preactivation": (PreActBlock, PreActBottleneck)}
    for block, (two, three) in kinds.items():
        for depth, kind, blocks in ((18, two, 8), (34, two, 16), (50, three, 16)):
            net = ResNet(ResNetConfig((1, 32, 32), 2, depth=depth, block=block, width=1 / 16))
            assert sum(isinstance(part, kind) for part in net.modules()) == blocks
    assert count(ResNet(ResNetConfig(block="preactivation"))) == 11687720


def test_cifar_stem_keeps_the_size(generator):
    net = scramble(ResNet(ResNetConfig((3, 32, 32), 10, stem="cifar", width=1 / 16), seed=generator), generator)
    u = torch.randn(2, 3, 32, 32, generator=generator, dtype=torch.float64)
    y = torch.relu(net.bn1(nn.functional.conv2d(u, net.conv1.weight, padding=1)))
    y = net.layer4(net.layer3(net.layer2(net.layer1(y))))
    assert y.shape == (2, 32, 4, 4)
    assert torch.allclose(net(u), y.mean((2, 3)) @ net.fc.weight.T + net.fc.bias, rtol=0, atol=1e-12)


@pytest.mark.parametrize("depth", [18, 50])
def test_zero_branch_makes_every_block_its_shortcut(depth, generator):
    net = ResNet(ResNetConfig((3, 32, 32), 10, depth=depth, zero_branch=True, width=1 / 16), seed=generator).double()
    y = torch.rand(2, net.config.channels[0], 8, 8, generator=generator, dtype=torch.float64)
    for block in list(net.layer1)[1:]:
        assert torch.equal(block(y), y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 101}, "`depth` must be one of 18, 34, 50, got 101"),
        ({"block": "v2"}, "`block` must be one of 'original', 'preactivation', got 'v2'"),
        ({"stem": "small"}, "`stem` must be one of 'imagenet', 'cifar', got 'small'"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ArgumentError, match=message):
        ResNetConfig(**options)


def test_any_size_but_the_right_channels():
    net = ResNet(ResNetConfig((3, 64, 64), 10, width=1 / 16)).eval()
    assert net(torch.zeros(1, 3, 90, 50)).shape == (1, 10)
    with pytest.raises(ShapeError, match="must have 3 channels that the network was built for"):
        net(torch.zeros(1, 1, 64, 64))


def test_same_seed_same_network():
    one, two, other = (ResNet(ResNetConfig((3, 32, 32), 10, width=1 / 16), seed=s).state_dict() for s in (1, 1, 2))
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert not torch.equal(one["fc.weight"], other["fc.weight"])


def test_recomputing_gives_the_same_gradients(generator):
    nets = [
        ResNet(ResNetConfig(inputs=(3, 16, 16), outputs=4, width=1 / 16, stem="cifar", recompute=n)).double()
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
        ResNetConfig(recompute=-1)


def test_a_mirrored_answer_is_the_mean_over_a_picture_and_its_mirror_image(generator):
    options = {"inputs": (3, 16, 16), "outputs": 4, "width": 1 / 16, "stem": "cifar"}
    plain, mirrored = (scramble(ResNet(ResNetConfig(**options, mirror=on)), generator) for on in (False, True))
    mirrored.load_state_dict(plain.state_dict())
    u = torch.randn(2, 3, 16, 16, generator=generator, dtype=torch.float64)
    expected = (plain(u) + plain(u.flip(3))) / 2
    assert torch.allclose(mirrored(u), expected, rtol=1e-12) and not torch.allclose(plain(u), expected)
    assert torch.allclose(mirrored(u), mirrored(u.flip(3)), rtol=1e-12)
    assert torch.equal(mirrored.train()(u), plain.train()(u))


def test_who_looks_inside_a_mirrored_network_sees_one_pass():
    options = {"inputs": (3, 16, 16), "outputs": 4, "width": 1 / 16, "stem": "cifar"}
    plain, mirrored = (ResNet(ResNetConfig(**options, mirror=on), seed=1) for on in (False, True))
    u = torch.rand(1, 3, 16, 16)
    names = [[layer.name for layer in feature_maps(net, u).layers] for net in (plain, mirrored)]
    assert names[0] == names[1] and len(set(names[1])) == len(names[1])
    assert layers_of(plain, (3, 16, 16)) == layers_of(mirrored, (3, 16, 16))
    fields = [autograd_field(net, at=(2, 2), layer="conv1").nonzero().tolist() for net in (plain, mirrored)]
    assert fields[0] == fields[1] == [[row, column] for row in (1, 2, 3) for column in (1, 2, 3)]
    tables = [receptive_field(net).rows() for net in (plain, mirrored)]
    assert tables[0] == tables[1]
    assert look(plain, u).operations == look(mirrored, u).operations and mirrored.mirror
