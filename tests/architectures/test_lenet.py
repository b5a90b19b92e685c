import pytest
import torch
from torch import nn
from torch.nn.functional import avg_pool2d, conv2d, linear, max_pool2d

from lamina._errors import ArgumentError, ShapeError
from lamina.architectures.lenet import LeNet5, LeNet5Config, LeNet5Original, LeNet5OriginalConfig
from lamina.layers.detector import Detector, scaled_tanh
from lamina.layers.dropout import Dropout
from lamina.layers.partial import LENET5_TABLE


def count(module):
    return sum(p.numel() for p in module.parameters())


def pictures(generator, *shape):
    return torch.randn(shape, generator=generator, dtype=torch.float64)


@pytest.mark.notes("N3.07")
def test_parameters_are_those_of_the_notes():
    net = LeNet5(LeNet5Config())
    counts = [count(part) for part in [*net.features, *net.classifier] if count(part)]
    assert counts == [156, 2416, 48120, 10164, 850] and count(net) == 61706
    assert LeNet5Config().flat_size == 400


@pytest.mark.notes("N3.06", "N3.07", "N3.09", "N3.10")
def test_convolution_detector_and_pooling_are_layers_of_their_own():
    net, y, shapes = LeNet5(LeNet5Config()), torch.zeros(1, 1, 28, 28), []
    for layer in net.features:
        y = layer(y)
        shapes.append(tuple(y.shape[1:]))
    assert shapes == [(6, 28, 28), (6, 28, 28), (6, 14, 14), (16, 10, 10), (16, 10, 10), (16, 5, 5)]
    assert [type(layer) for layer in net.features] == [nn.Conv2d, Detector, nn.AvgPool2d] * 2
    dense = [layer.out_features for layer in net.classifier if isinstance(layer, nn.Linear)]
    assert dense == [120, 84, 10]


@pytest.mark.notes("N3.07")
@pytest.mark.parametrize(("activation", "pooling"), [("sigmoid", "average"), ("relu", "max"), ("tanh", "average")])
def test_values_are_those_of_the_written_out_network(activation, pooling, generator):
    net = LeNet5(LeNet5Config(activation=activation, pooling=pooling), seed=generator).double()
    for parameter in net.parameters():
        if parameter.dim() == 1:
            parameter.data.copy_(torch.randn(parameter.shape, generator=generator))
    act = {"sigmoid": torch.sigmoid, "relu": torch.relu, "tanh": torch.tanh}[activation]
    pool = {"average": avg_pool2d, "max": max_pool2d}[pooling]
    c1, b1, c2, b2, w1, d1, w2, d2, w3, d3 = net.parameters()
    u = pictures(generator, 3, 1, 28, 28)
    y = pool(act(conv2d(u, c1, b1, padding=2)), 2)
    y = pool(act(conv2d(y, c2, b2)), 2).flatten(1)
    y = linear(act(linear(act(linear(y, w1, d1)), w2, d2)), w3, d3)
    assert torch.allclose(net(u), y, rtol=0, atol=1e-12)


@pytest.mark.notes("N3.58")
@pytest.mark.parametrize(
    ("inputs", "paddings", "flat"),
    [
        ((1, 28, 28), (2, 0), 400),
        ((3, 32, 32), (0, 0), 400),  # 14, 10, 5 as in 1998
        ((3, 28, 28), (2, 0), 400),
        ((1, 12, 12), (2, 0), 16),
        ((2, 40, 33), (2, 0), 16 * 8 * 6),
        ((1, 8, 8), (2, 2), 64),
        ((1, 4, 30), (2, 2), 16 * 1 * 7),
    ],
)
def test_other_pictures(inputs, paddings, flat, generator):
    config = LeNet5Config(inputs, 7, activation="relu")
    net = LeNet5(config).double()
    assert config.paddings == paddings and config.flat_size == flat == net.classifier[1].in_features
    u = pictures(generator, 2, *inputs)
    logits = net(u)
    assert logits.shape == (2, 7)
    logits.square().sum().backward()
    assert all(p.grad.isfinite().all() and p.grad.abs().sum() > 0 for p in net.parameters() if p.dim() > 1)
    # one picture does not depend on the other
    assert torch.allclose(net(u[:1]), logits[:1], rtol=0, atol=1e-12)


def test_padding_can_be_chosen():
    assert LeNet5Config((1, 8, 8), padding=(4, 0)).flat_size == 16  # 8 -> 12 -> 6 -> 2 -> 1
    assert LeNet5(LeNet5Config((1, 16, 16), padding=(0, 0))).classifier[1].in_features == 16


def test_dropout_sits_behind_hidden_dense_layers_and_leaves_the_weights_alone(generator):
    plain, dropped = LeNet5(LeNet5Config(), seed=3), LeNet5(LeNet5Config(dropout=0.5), seed=3)
    for (name, one), (other, two) in zip(plain.named_parameters(), dropped.named_parameters(), strict=True):
        assert name == other and torch.equal(one, two)
    layers = [layer for layer in dropped.classifier if isinstance(layer, Dropout)]
    assert [layer.place for layer in layers] == [0, 1] and layers[0].seed == layers[1].seed
    u = pictures(generator, 4, 1, 28, 28).float()
    assert not torch.equal(dropped(u), plain(u))
    assert torch.equal(dropped.eval()(u), plain.eval()(u))
    one, two = (LeNet5(LeNet5Config(dropout=0.5), seed=3)(u) for _ in range(2))
    assert torch.equal(one, two)


def test_rule_for_weights():
    xavier, he = LeNet5(LeNet5Config()), LeNet5(LeNet5Config(activation="relu"))
    assert torch.allclose(he.classifier[1].weight, xavier.classifier[1].weight * 2**0.5)
    assert xavier.classifier[1].weight.std().item() == pytest.approx(1 / 20, rel=0.02)
    constant = LeNet5(LeNet5Config(initialization="constant", scale=0.25))
    assert constant.features[0].weight.unique().item() == 0.25 and not constant.features[0].bias.any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": (1, 3, 28)}, r"at least 4 x 4 pixels, got 3 x 28: enlarge the pictures or set `padding`"),
        ({"inputs": (1, 8, 8), "padding": (2, 0)}, r"at least 12 x 12 pixels, got 8 x 8: .* for example to \(2, 2\)"),
        ({"padding": (-1, 0)}, "`padding` must be at least 0, got -1"),
        ({"pooling": "median"}, "`pooling` must be one of 'average', 'max', got 'median'"),
        ({"activation": "softmax"}, "`activation` must be one of .*, got 'softmax'"),
        ({"dropout": 1.0}, r"`dropout` must be in \[0, 1\), got 1.0"),
        ({"outputs": 0}, "`outputs` must be at least 1, got 0"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ArgumentError, match=message):
        LeNet5Config(**options)


def test_pictures_of_another_size_are_refused():
    with pytest.raises(
        ShapeError, match=r"the shape \(1, 28, 28\) that the network was built for, got .*\(2, 1, 32, 32\)"
    ):
        LeNet5(LeNet5Config())(torch.zeros(2, 1, 32, 32))
    with pytest.raises(
        ShapeError, match=r"the shape \(1, 32, 32\) that the network was built for, got .*\(2, 1, 28, 28\)"
    ):
        LeNet5Original(LeNet5OriginalConfig())(torch.zeros(2, 1, 28, 28))


@pytest.mark.notes("N3.07")
def test_parameters_of_1998():
    net = LeNet5Original(LeNet5OriginalConfig())
    counts = {name: count(part) for name, part in net.body.named_children() if count(part)}
    assert counts == {"C1": 156, "S2": 12, "C3": 1516, "S4": 32, "C5": 48120, "F6": 10164}
    assert count(net) == 60000 and not list(net.output.parameters())


def test_shapes_of_1998():
    net, y, shapes = LeNet5Original(LeNet5OriginalConfig()), torch.zeros(1, 1, 32, 32), {}
    for name, layer in net.body.named_children():
        y = layer(y)
        shapes[name] = tuple(y.shape[1:])
    expected = {
        "C1": (6, 28, 28),
        "S2": (6, 14, 14),
        "C3": (16, 10, 10),
        "S4": (16, 5, 5),
        "C5": (120, 1, 1),
        "F6": (84,),
    }
    assert {name: shapes[name] for name in expected} == expected


@pytest.mark.notes("N3.07")
def test_values_of_1998_are_those_of_the_written_out_network(generator):
    net = LeNet5Original(LeNet5OriginalConfig(), seed=generator).double()
    for parameter in net.parameters():
        if parameter.dim() == 1:
            parameter.data.copy_(torch.randn(parameter.shape, generator=generator))
    u, body = pictures(generator, 2, 1, 32, 32), net.body

    def subsample(part, y):
        total = y[..., ::2, ::2] + y[..., 1::2, ::2] + y[..., ::2, 1::2] + y[..., 1::2, 1::2]
        return scaled_tanh(part.weight[:, None, None] * total + part.bias[:, None, None])

    y = subsample(body.S2, scaled_tanh(conv2d(u, body.C1.weight, body.C1.bias)))
    kernels, place = torch.zeros(16, 6, 5, 5, dtype=torch.float64), 0
    for k, row in enumerate(LENET5_TABLE):
        for c in row:
            kernels[k, c], place = body.C3.weight[place], place + 1
    y = subsample(body.S4, scaled_tanh(conv2d(y, kernels, body.C3.bias)))
    y = scaled_tanh(y.flatten(1) @ body.C5.weight.flatten(1).T + body.C5.bias)
    y = scaled_tanh(y @ body.F6.weight.T + body.F6.bias)
    distances = torch.stack([((y - code) ** 2).sum(1) for code in net.output.codes], 1)
    assert torch.allclose(net(u), -distances, rtol=1e-12)


def test_pictures_of_28_are_padded_with_the_background(generator):
    inner = pictures(generator, 2, 1, 28, 28)
    outer = torch.full((2, 1, 32, 32), -0.1, dtype=torch.float64)
    outer[:, :, 2:30, 2:30] = inner
    small = LeNet5Original(LeNet5OriginalConfig((1, 28, 28), background=-0.1), seed=5).double()
    large = LeNet5Original(LeNet5OriginalConfig(), seed=5).double()
    assert torch.equal(small(inner), large(outer))
    assert small.state_dict().keys() == large.state_dict().keys()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": (3, 32, 32)}, r"`inputs` must be \(1, 32, 32\), or .* got \(3, 32, 32\): .* LeNet5 takes others"),
        ({"outputs": 5}, "`outputs` must be 10, got 5: the output codes are the ten digits"),
    ],
)
def test_sizes_of_1998_are_fixed(options, message):
    with pytest.raises(ArgumentError, match=message):
        LeNet5OriginalConfig(**options)


@pytest.mark.parametrize(
    "make", [lambda s: LeNet5(LeNet5Config(), seed=s), lambda s: LeNet5Original(LeNet5OriginalConfig(), seed=s)]
)
def test_same_seed_same_network(make):
    one, two, other = (make(seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert any(not torch.equal(one[key], other[key]) for key in one)


@pytest.mark.notes("N3.32")
def test_channels_grow_while_maps_shrink_but_are_no_powers_of_two():
    channels = [layer.out_channels for layer in LeNet5(LeNet5Config()).features if isinstance(layer, nn.Conv2d)]
    assert channels == [6, 16] and [c & (c - 1) == 0 for c in channels] == [False, True]
