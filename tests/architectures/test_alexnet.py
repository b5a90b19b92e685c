import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d, linear, local_response_norm, max_pool2d

from architectures.torchvision_reference import reference
from lamina._errors import ArgumentError, ShapeError
from lamina.architectures.alexnet import FORMS, AlexNet, AlexNetConfig
from lamina.cli._values import settings
from lamina.functional.random import dropout
from lamina.layers.detector import Detector
from lamina.layers.dropout import Dropout, run_state
from lamina.layers.normalization import LocalResponseNorm
from lamina.training.plan import option_types


def count(module):
    return sum(p.numel() for p in module.parameters())


def small(form, **options):
    return AlexNetConfig((3, 67, 67), 10, form=form, width=1 / 16, **options)


@pytest.fixture(scope="module")
def one_column():
    """The whole network, 250 MB, built once."""
    return AlexNet(AlexNetConfig()).eval()


@pytest.mark.notes("N3.49", "N3.50", "N3.58")
def test_one_column_shapes_and_parameters(one_column):
    assert count(one_column) == 62378344
    y, shapes = torch.zeros(1, 3, 227, 227), []
    with torch.no_grad():
        for layer in [*one_column.features, nn.Flatten(), *one_column.classifier]:
            y = layer(y)
            if isinstance(layer, nn.Conv2d | nn.MaxPool2d | nn.Linear):
                shapes.append(tuple(y.shape[1:]))
    assert shapes == [
        (96, 55, 55), (96, 27, 27), (256, 27, 27), (256, 13, 13), (384, 13, 13), (384, 13, 13), (256, 13, 13),
        (256, 6, 6), (4096,), (4096,), (1000,),
    ]  # fmt: skip


@pytest.mark.notes("N3.50")
def test_two_groups_have_the_parameters_of_2012(one_column):
    net = AlexNet(AlexNetConfig(form="two-group"))
    assert count(net) == 60965224
    # Convolutions 2, 4 and 5 lose half their kernels.
    lost = sum(layer.weight.numel() for layer in (one_column.features[i] for i in (4, 10, 12))) // 2
    assert count(one_column) - lost == 60965224


@pytest.mark.notes("N3.50")
def test_values_of_2012_are_those_of_the_written_out_network(generator):
    for form, g in (("one-column", 1), ("two-group", 2)):
        net = AlexNet(small(form), seed=generator).double().eval()
        for parameter in net.parameters():
            if parameter.dim() == 1:
                parameter.data.copy_(torch.randn(parameter.shape, generator=generator))
        c1, b1, c2, b2, c3, b3, c4, b4, c5, b5, w6, b6, w7, b7, w8, b8 = net.parameters()
        u = 30 * torch.randn(2, 3, 67, 67, generator=generator, dtype=torch.float64)
        y = local_response_norm(torch.relu(conv2d(u, c1, b1, stride=4)), 5, 5e-4, 0.75, 2.0)
        y = conv2d(max_pool2d(y, 3, 2), c2, b2, padding=2, groups=g)
        y = max_pool2d(local_response_norm(torch.relu(y), 5, 5e-4, 0.75, 2.0), 3, 2)
        y = torch.relu(conv2d(y, c3, b3, padding=1))
        y = torch.relu(conv2d(y, c4, b4, padding=1, groups=g))
        y = max_pool2d(torch.relu(conv2d(y, c5, b5, padding=1, groups=g)), 3, 2).flatten(1)
        y = linear(torch.relu(linear(torch.relu(linear(y, w6, b6)), w7, b7)), w8, b8)
        assert torch.allclose(net(u), y, rtol=1e-12, atol=1e-12)


@pytest.mark.notes("N3.52")
@pytest.mark.parametrize("form", FORMS)
def test_response_normalization_follows_the_relu_of_convolutions_1_and_2(form):
    kinds = [type(layer) for layer in AlexNet(small(form)).features]
    head = (
        [nn.Conv2d, Detector, nn.MaxPool2d]
        if form == "torchvision"
        else [nn.Conv2d, Detector, LocalResponseNorm, nn.MaxPool2d]
    )
    assert kinds == head * 2 + [nn.Conv2d, Detector] * 3 + [nn.MaxPool2d]
    for layer in AlexNet(small(form)).features:
        if isinstance(layer, LocalResponseNorm):
            assert (layer.size, layer.kappa, layer.gamma, layer.beta) == (5, 2.0, 1e-4, 0.75)
        if isinstance(layer, nn.MaxPool2d):
            assert (layer.kernel_size, layer.stride) == (3, 2)  # overlapping
        if isinstance(layer, Detector):
            assert layer.activation == "relu"


@pytest.mark.notes("N3.50")
def test_dropout_on_the_dense_part(generator):
    kinds = {form: [type(layer).__name__ for layer in AlexNet(small(form)).classifier] for form in FORMS}
    assert kinds["one-column"] == kinds["two-group"] == ["Linear", "Detector", "Dropout"] * 2 + ["Linear"]
    assert kinds["torchvision"] == ["Dropout", "Linear", "Detector"] * 2 + ["Linear"]
    net = AlexNet(small("one-column"), seed=generator)
    drops = [layer for layer in net.classifier if isinstance(layer, Dropout)]
    assert [(d.rate.item(), d.place) for d in drops] == [(0.5, 0), (0.5, 1)]
    u = torch.randn(2, 3, 67, 67, generator=generator)
    w6, w7, w8 = (layer for layer in net.classifier if isinstance(layer, nn.Linear))
    seed = drops[0].seed
    y = dropout(torch.relu(w6(net.features(u).flatten(1))), 0.5, seed, 0, 0)
    y = dropout(torch.relu(w7(y)), 0.5, seed, 1, 0)
    assert torch.allclose(net(u), w8(y), atol=1e-5)
    plain = AlexNet(small("one-column", dropout=0.0))
    assert not any(isinstance(layer, Dropout) for layer in plain.modules())
    assert torch.equal(plain.classifier[6].weight, AlexNet(small("one-column")).classifier[6].weight)


@pytest.mark.notes("N3.50")
def test_torchvision_layout_has_its_names_and_values(generator):
    net = AlexNet(AlexNetConfig((3, 64, 64), form="torchvision"), seed=generator)
    assert count(net) == 61100840
    for parameter in net.parameters():
        if parameter.dim() == 1:
            parameter.data.copy_(torch.randn(parameter.shape, generator=generator))
    theirs = reference("alexnet", net.state_dict())  # strict: the same names and shapes
    assert net.classifier[0].counter.item() == 0 and len(theirs.state_dict()) == 16
    u = torch.randn(1, 3, 64, 64, generator=generator, dtype=torch.float64)
    with torch.no_grad():  # in place: both share the tensors, and 61 million numbers need room
        for ours, other in zip(net.parameters(), theirs.parameters(), strict=True):
            ours.data = other.data = ours.data.double()
        assert torch.allclose(net.eval()(u), theirs(u), rtol=1e-12, atol=1e-12)
        u = torch.randn(1, 3, 90, 75, generator=generator, dtype=torch.float64)
        assert torch.allclose(net(u), theirs(u), rtol=1e-12, atol=1e-12)


def test_torchvision_weights_load_and_keep_our_dropout(generator):
    net, other = (AlexNet(small("torchvision"), seed=seed) for seed in (0, 1))
    weights = {name: p.detach() for name, p in other.named_parameters()}
    kept = dict(weights)
    net.load_state_dict(weights, strict=True)
    assert weights.keys() == kept.keys()  # the caller's dictionary is not touched
    assert all(torch.equal(p, weights[name]) for name, p in net.named_parameters())
    assert net.classifier[0].rate.item() == 0.5
    holder = nn.ModuleDict({"net": AlexNet(small("torchvision"))})
    holder.load_state_dict({f"net.{name}": p for name, p in weights.items()}, strict=True)
    assert torch.equal(holder["net"].classifier[6].weight, weights["classifier.6.weight"])
    with pytest.raises(RuntimeError, match="Missing key"):
        net.load_state_dict({name: p for name, p in weights.items() if name != "classifier.6.bias"})


@pytest.mark.notes("N3.50", "N3.58")
def test_224_pixels_need_a_padding_of_two():
    sizes = {n: AlexNetConfig((3, n, n)) for n in (224, 227)}
    assert [(c.padding, c.flat_size) for c in sizes.values()] == [(2, 9216), (0, 9216)]
    conv = AlexNet(AlexNetConfig((3, 224, 224), 10, width=1 / 16)).features[0]
    assert conv(torch.zeros(1, 3, 224, 224)).shape[-1] == 55
    assert conv2d(torch.zeros(1, 3, 224, 224), conv.weight, stride=4).shape[-1] == 54


@pytest.mark.notes("N3.32")
def test_channels_are_no_growing_powers_of_two():
    channels = AlexNetConfig().channels
    assert channels == (96, 256, 384, 384, 256) and list(channels) != sorted(channels)
    assert [c for c in channels if c & (c - 1) == 0] == [256, 256]
    assert AlexNetConfig(form="torchvision").channels == (64, 192, 384, 256, 256)
    assert small("two-group").channels == (6, 16, 24, 24, 16)


def test_pictures_must_fit():
    for form, least in (("one-column", 67), ("two-group", 67), ("torchvision", 63)):
        AlexNetConfig((1, least, least), form=form)
        with pytest.raises(
            ArgumentError, match=f"at least {least} x {least} pixels, got {least} x {least - 1}: enlarge"
        ):
            AlexNetConfig((1, least, least - 1), form=form)
    net = AlexNet(small("one-column"))
    with pytest.raises(ShapeError, match=r"the shape \(3, 67, 67\) that the network was built for"):
        net(torch.zeros(1, 3, 99, 99))
    assert AlexNet(small("torchvision")).eval()(torch.zeros(1, 3, 99, 80)).shape == (1, 10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "alexnet2"}, "`form` must be one of 'one-column', 'two-group', 'torchvision', got 'alexnet2'"),
        ({"dropout": -0.1}, r"`dropout` must be in \[0, 1\), got -0.1"),
        ({"width": 0.0}, "`width` must be greater than 0, got 0.0"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ArgumentError, match=message):
        AlexNetConfig(**options)


def test_same_seed_same_network():
    one, two, other = (run_state(AlexNet(small("two-group"), seed=seed)) for seed in (1, 1, 2))
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert not torch.equal(one["classifier.2.seed"], other["classifier.2.seed"])
    assert one["features.4.weight"].shape == (16, 3, 5, 5)


@pytest.mark.notes("N3.50", "N3.52")
@pytest.mark.parametrize("normalization", ["response", "batch", None])
def test_values_for_small_pictures_are_those_of_the_written_out_network(normalization, generator):
    config = AlexNetConfig((3, 32, 32), 10, stem="cifar", width=1 / 16, normalization=normalization)
    net = AlexNet(config, seed=generator).double().eval()
    for name, tensor in net.state_dict().items():
        if tensor.dim() == 1:
            drawn = torch.randn(tensor.shape, generator=generator)
            tensor.copy_(drawn.abs() + 0.5 if name.endswith("var") else drawn)
    convolutions = [layer for layer in net.features if isinstance(layer, nn.Conv2d)]
    norms = iter([layer for layer in net.features if isinstance(layer, nn.BatchNorm2d)])
    assert [layer.kernel_size[0] for layer in convolutions] == [5, 5, 3, 3, 3]
    u = y = 30 * torch.randn(2, 3, 32, 32, generator=generator, dtype=torch.float64)
    for number, layer in enumerate(convolutions):
        y = conv2d(y, layer.weight, layer.bias, padding=layer.kernel_size[0] // 2)
        if normalization == "batch":
            norm = next(norms)
            mean, var, gain, shift = (t[:, None, None] for t in (
                norm.running_mean, norm.running_var, norm.weight, norm.bias
            ))  # fmt: skip
            y = (y - mean) / (var + norm.eps).sqrt() * gain + shift
        y = torch.relu(y)
        if normalization == "response" and number < 2:
            y = local_response_norm(y, 5, 5e-4, 0.75, 2.0)
        if number in (0, 1, 4):
            y = max_pool2d(y, 3, 2)
    w6, w7, w8 = (layer for layer in net.classifier if isinstance(layer, nn.Linear))
    y = w8(torch.relu(w7(torch.relu(w6(y.flatten(1))))))
    assert torch.allclose(net(u), y, rtol=1e-12, atol=1e-12) and next(norms, None) is None


def test_the_normalization_of_a_form_can_be_exchanged():
    assert [small(form).normalizes for form in FORMS] == ["response", "response", None]
    assert small("torchvision", normalization="batch").normalizes == "batch"
    assert settings(["normalization=none"], option_types("alexnet-cifar")) == {"normalization": None}
    with pytest.raises(ArgumentError, match="`normalization` must be one of 'form', 'response', 'batch', got 'layer'"):
        small("one-column", normalization="layer")
    with pytest.raises(ArgumentError, match="`stem` must be one of 'imagenet', 'cifar', got 'mnist'"):
        small("one-column", stem="mnist")
